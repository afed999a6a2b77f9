"""Names of columns: usual pairs are recognised, the nearest is named, and a rack may be in the list of nodes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import relfit as rf


@pytest.mark.parametrize("pair", [("Outage Start", "Outage End"), ("down_since", "up_again")])
def test_pairs_of_times_are_recognised(tmp_path: Path, pair: tuple[str, str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        f"node,{pair[0]},{pair[1]}\na,2024-05-01 04:00,2024-05-01 06:00\nb,2024-05-02 04:00,2024-05-02 05:00\n"
    )
    log = rf.read(path)
    assert (log.events["end"] - log.events["start"]).tolist() == [pd.Timedelta("2h"), pd.Timedelta("1h")]


def test_the_nearest_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("server,down_since,up_again\na,2024-05-01 04:00,2024-05-01 06:00\n")
    with pytest.raises(rf.ReadError, match=r"no column 'down' for start; did you mean down_since\?"):
        rf.read(path, start="down")


def test_a_rack_may_be_in_the_list_of_nodes(tmp_path: Path) -> None:
    path, nodes = tmp_path / "log.csv", tmp_path / "nodes.csv"
    path.write_text("node,start,end\na,2024-05-01 04:00,2024-05-01 06:00\nb,2024-05-02 04:00,2024-05-02 05:00\n")
    nodes.write_text("node,leaf\na,l0\nb,l0\nc,l1\n")
    log = rf.read(path, population=nodes, rack="leaf")
    assert log.population.set_index("node")["rack"].to_dict() == {"a": "l0", "b": "l0", "c": "l1"}
    with pytest.raises(rf.ReadError, match="no column 'shelf' for rack"):
        rf.read(path, population=nodes, rack="shelf")


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ({"n_nodes": "ten"}, "give a whole number"),
        ({"n_nodes": 2.5}, "give a whole number"),
        ({"day_first": "maybe"}, "give true or false"),
        ({"decimal": ";"}, "'.' or ','; give one of these"),
        ({"system_name": 3}, "give text"),
        ({"start": 3}, "give the name of a column"),
    ],
)
def test_a_wrong_value_of_an_option_is_told_by_its_kind(option: dict[str, object], remedy: str) -> None:
    with pytest.raises(rf.ArgumentError, match=remedy):
        rf.read(pd.DataFrame({"node": ["a"], "start": ["2024-01-01"]}), **option)


def test_several_tables_in_memory_are_not_printed() -> None:
    table = pd.DataFrame({"node": ["a"], "start": ["2024-01-01"]})
    with pytest.raises(rf.ArgumentError) as caught:
        rf.read([table, table])
    assert str(caught.value).startswith("a list of DataFrame is not a path; ")
    assert "pandas.concat joins several" in str(caught.value)


def test_an_export_of_a_ticket_system_names_its_items() -> None:
    rows = {
        "Configuration item": ["gpu-1", "gpu-2"],
        "Opened": ["2025-01-03 04:00", "2025-01-05 04:00"],
        "Closed": ["2025-01-03 12:00", None],
        "State": ["Closed", "Open"],
    }
    events = rf.read(pd.DataFrame(rows)).events
    assert events["node"].tolist() == ["gpu-1", "gpu-2"]
    assert events["end"].notna().tolist() == [True, False]


def test_went_down_and_back_up_are_times_of_an_outage(tmp_path: Path) -> None:
    """They were not recognised."""
    (tmp_path / "log.csv").write_text("Node,Went Down,Back Up\na,2024-01-03 10:00,2024-01-03 12:00\n", encoding="utf-8")
    (row,) = rf.read(tmp_path / "log.csv").events.to_dict("records")
    assert (row["end"] - row["start"]) == pd.Timedelta("2h")
