"""The number of nodes of a fleet whose tables name only those that failed: of all files together, by count."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.io import FORMATS
from tests.io.made import good_files

WINDOW = {"window_start": "2024-01-01", "window_end": "2024-07-01"}
FIRST = "node,start,end\nn1,2024-01-10,2024-01-11\nn2,2024-02-10,2024-02-11\nn3,2024-03-10,2024-03-11\n"
SECOND = "node,start,end\nn3,2024-04-10,2024-04-11\nn4,2024-05-10,2024-05-11\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name, text in (("a", FIRST), ("b", SECOND)):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return [tmp_path / "a.csv", tmp_path / "b.csv"]


def test_the_number_of_nodes_is_that_of_all_files(files: list[Path]) -> None:
    """Four nodes are named, so six remain without a name of ten; all are watched for 182 days."""
    log = rf.read(files, n_nodes=10, **WINDOW)
    assert log.n_nodes == 10
    assert [name for name in log.population["node"].astype(str) if "not seen" in name] == [
        f"not seen {i}" for i in range(1, 7)
    ]
    found = rf.calibrate(log, parts=("mtbf",), period="all", at="long run").mtbf.node
    assert found is not None
    assert found.exposure == 10 * 182 * 24 - 5 * 24
    assert rf.read(files, mapping={"n_nodes": 10}, **WINDOW).n_nodes == 10


def test_without_a_window_all_nodes_are_watched_from_the_first_to_the_last_time_of_all_files(files: list[Path]) -> None:
    people = rf.read(files, n_nodes=5).population
    assert len(people) == 5
    assert set(people["entered"].astype(str)) == {"2024-01-10 00:00:00+00:00"}
    assert set(people["left"].astype(str)) == {"2024-05-11 00:00:00+00:00"}


def test_too_few_nodes_for_all_files_are_refused(files: list[Path]) -> None:
    with pytest.raises(ArgumentError, match="n_nodes=3: the log names 4 nodes"):
        rf.read(files, n_nodes=3, **WINDOW)


def test_merged_logs_have_the_largest_number_of_nodes_of_any(files: list[Path], tmp_path: Path) -> None:
    parts = [rf.read(file, n_nodes=10, **WINDOW) for file in files]
    assert [part.n_nodes for part in parts] == [10, 10]
    assert rf.io.merge(parts).n_nodes == 10
    (tmp_path / "both").mkdir()
    for part, name in zip(parts, "ab", strict=True):
        rf.write(part, tmp_path / "both" / f"{name}.parquet")
    assert rf.read(tmp_path / "both").n_nodes == 10


def test_options_of_tables_are_named_where_they_do_not_apply(files: list[Path], tmp_path: Path) -> None:
    place = rf.write(rf.read(files), tmp_path / "log.parquet")
    with pytest.raises(rf.ReadError, match="failures: for tables only, and this is relfit") as caught:
        rf.read(place, failures="cause=disk")
    assert "leave out --failures" in caught.value.in_options()


EVENTS = (
    "Cluster|ClusterNodes|NodeName|TimeStart|TimeEnd|State|StateRaw|Reason|User\n"
    "c||n1|2024-01-10T00:00:00|2024-01-11T00:00:00|DOWN*|1|Kernel panic|root\n"
    "c||n2|2024-02-10T00:00:00|2024-02-11T00:00:00|DOWN*|1|PSU fault|root\n"
    "c||n3|2024-03-10T00:00:00|Unknown|DOWN*|1|PSU fault|root\n"
)
LIST = "Node,rack\nn1,a\nn2,a\nn3,b\nn4,b\nn5,b\n"


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_the_number_of_nodes_and_the_window(name: str, tmp_path: Path) -> None:
    path = good_files(tmp_path)[name]
    log = rf.read(path)
    since, until = log.window.start - pd.Timedelta("2D"), log.window.end + pd.Timedelta("3D")
    said = {"n_nodes": log.n_nodes + 4, "window_start": since, "window_end": until}
    if log.lifetimes is not None or len(log.systems) > 1:
        with pytest.raises(ArgumentError, match=r"complete lifetimes|the log names 2 systems"):
            rf.read(path, **said)
        return
    wider = rf.read(path, **said)
    assert (wider.source.format, wider.n_nodes) == (log.source.format, log.n_nodes + 4)
    assert (wider.window.start, wider.window.end, wider.window.end_known) == (since, until, True)
    assert len(wider) == len(log)
    assert set(wider.population["declared"].tail(4)) == {True}


def test_slurm_takes_a_list_of_nodes_a_number_and_a_window(tmp_path: Path) -> None:
    """Five nodes for 182 days, less the days down: 1 and 1, and 113 of the outage that goes on."""
    (tmp_path / "events.txt").write_text(EVENTS, encoding="utf-8")
    (tmp_path / "nodes.csv").write_text(LIST, encoding="utf-8")
    path, nodes = tmp_path / "events.txt", tmp_path / "nodes.csv"
    by_list, by_number = rf.read(path, population=nodes, **WINDOW), rf.read(path, n_nodes=5, **WINDOW)
    for log in (by_list, by_number):
        assert (log.source.format, log.systems, log.n_nodes, len(log)) == ("slurm_events", ("c",), 5, 3)
        assert log.question is None
        node = rf.calibrate(log, parts=("mtbf",), period="all", at="long run").mtbf.node
        assert node is not None
        assert node.exposure == (5 * 182 - 2 - 113) * 24
    assert by_list.where(rack="b").n_nodes == 3
    part = rf.read(path, n_nodes=5, window_start="2024-02-01", window_end="2024-03-01", timezone="Europe/Berlin")
    assert (len(part), part.n_nodes, str(part.window.start)) == (1, 5, "2024-02-01 00:00:00+01:00")
    assert part.source.left_out == (("before the declared start", 1), ("after the declared end", 1))
    with pytest.raises(ArgumentError, match="names 3 nodes"):
        rf.read(path, n_nodes=2)
    with pytest.raises(rf.ReadError, match="node_name: for tables only, and this is slurm_events"):
        rf.read(path, node_name="n1")


def test_a_log_that_names_no_system_takes_one(tmp_path: Path) -> None:
    header = "JobID|State|End|NodeList\n"
    (tmp_path / "jobs.txt").write_text(
        f"{header}1|NODE_FAIL|2024-01-10T00:00:00|n1\n2|COMPLETED|2024-02-10T00:00:00|n2\n"
    )
    log = rf.read(tmp_path / "jobs.txt", system_name="atlas", n_nodes=4)
    assert (log.systems, log.n_nodes, len(log)) == (("atlas",), 4, 1)
    (tmp_path / "events.txt").write_text(EVENTS, encoding="utf-8")
    with pytest.raises(ArgumentError, match="this log names its systems, c"):
        rf.read(tmp_path / "events.txt", system_name="atlas")
