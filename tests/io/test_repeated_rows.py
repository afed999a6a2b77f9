"""Rows of a table that are one record: the same node, times and cause, whoever handled the ticket."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main

TICKETS = """node,start,end,cause,Priority
a,2024-01-03 10:00,2024-01-03 12:00,disk,P1
a,2024-01-03 10:00,2024-01-03 12:00,disk,P3
a,2024-01-03 10:00,2024-01-03 12:00,fan,P1
a,2024-01-03 10:00,2024-01-03 13:00,disk,P1
b,2024-01-03 10:00,2024-01-03 12:00,disk,P1
a,2024-01-03 10:00,2024-01-03 12:00,disk,P1
b,2024-01-05 10:00,,disk,P1
a,2024-01-03 10:00,2024-01-03 12:00,disk,P2
b,2024-01-05 10:00,,disk,P2
b,2024-02-05 10:00,2024-02-05 12:00,disk,P2
"""


def test_the_same_node_times_and_cause_count_once(tmp_path: Path) -> None:
    path = tmp_path / "tickets.csv"
    path.write_text(TICKETS)
    log = rf.read(path)
    assert log.events["line"].tolist() == [2, 4, 5, 6, 8, 11]
    reasons = dict(zip(log.rejected["line"], log.rejected["reason"], strict=True))
    same = "the same node, times and cause as line"
    assert reasons == {3: f"{same} 2", 7: "duplicate of an earlier row", 9: f"{same} 2", 10: f"{same} 8"}
    assert log.source.rows_read == log.source.rows_kept + len(log.rejected)


def test_the_watch_stores_as_many_records_as_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tickets.csv").write_text(TICKETS.replace("a,2024-01-03 10:00,2024-01-03 13:00,disk,P1\n", ""))
    settings = str(tmp_path / "watch.toml")
    main(["watch", "init", str(tmp_path / "tickets.csv"), "--out", settings])
    assert "5 kept, 4 rejected" in " ".join(capsys.readouterr().out.split())
    main(["watch", "run", settings])
    assert "5 records, 5 new" in capsys.readouterr().out


def test_units_within_a_node_fail_apart() -> None:
    rows = pd.DataFrame({"node": ["a"] * 3, "start": ["2024-01-03"] * 3, "slot": [1, 2, 2], "who": ["x", "y", "z"]})
    assert rf.read(rows).events["slot"].tolist() == [1, 2]


def test_without_causes_details_tell_records_apart() -> None:
    rows = pd.DataFrame(
        {"node": ["a"] * 3, "start": ["2024-01-03"] * 3, "detail": ["fan", "cpu", "cpu"], "who": ["x", "y", "z"]}
    )
    assert rf.read(rows).events["detail"].tolist() == ["fan", "cpu"]


def test_records_without_a_node_stay() -> None:
    rows = pd.DataFrame({"node": [None, None, "a"], "start": ["2024-01-03"] * 3, "rack": ["r1", "r2", "r1"]})
    assert len(rf.read(rows, nodeless="node")) == 3


def test_a_row_from_before_an_outage_ended_is_the_same_record() -> None:
    rows = pd.DataFrame(
        {
            "node": ["a", "a", "b", "b"],
            "start": ["2024-01-03"] * 4,
            "end": [None, "2024-01-04", "2024-01-05", None],
            "cause": ["x", "x", "x", "y"],
        }
    )
    log = rf.read(rows, window_start="2024-01-01", window_end="2024-02-01")
    assert log.events["line"].tolist() == [2, 3, 4]
    assert log.rejected[["line", "reason"]].to_numpy().tolist() == [[1, "the same outage as line 2, which has its end"]]


@pytest.mark.parametrize("span", [{"window_start": "2024-01-01", "window_end": "2024-04-01"}, {}])
def test_an_outage_that_one_file_leaves_open_ends_as_another_says(tmp_path: Path, span: dict[str, str]) -> None:
    further = "".join(f"d,2024-01-{day:02d} 00:00,2024-01-{day:02d} 02:00\n" for day in range(1, 11))
    (tmp_path / "1.csv").write_text(
        f"node,start,end\n{further}a,2024-01-31 23:00,\nb,2024-01-31 23:00,\nc,2024-01-31 23:00,\n"
    )
    (tmp_path / "2.csv").write_text(
        "node,start,end\na,2024-01-31 23:00,2024-02-01 03:00\nb,2024-02-10 00:00,2024-02-10 06:00\n"
        "d,2024-02-20 00:00,2024-02-21 00:00\n"
    )
    log = rf.read(tmp_path / "*.csv", **span)
    some = log.events[log.events["start"] > pd.Timestamp("2024-01-31", tz="UTC")].set_index("node")
    hours = (some["end"] - some["start"]).dt.total_seconds() / 3600.0
    assert hours["a"] == 4.0
    assert not some["end_cut"]["a"]
    if span:  # the file of January does not know that b failed again; c goes on
        assert hours["b"].fillna(0.0).tolist() == [0.0, 6.0]
        assert (hours["c"], bool(some["end_cut"]["c"])) == (60 * 24.0 + 1.0, True)  # February and March of 2024
        assert "1 outage still going on when observation ended" in log.source.notes
        assert (
            "1 outage without an end, after which the node failed again: their ends are not known" in log.source.notes
        )
