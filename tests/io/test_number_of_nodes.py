"""The number of nodes of a fleet whose tables name only those that failed: of all files together, by count."""

from __future__ import annotations

from pathlib import Path

import pytest

import relfit as rf
from relfit.base.errors import ArgumentError

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
    with pytest.raises(rf.ReadError, match="n_nodes: for tables only, and this is relfit") as caught:
        rf.read(place, n_nodes=10)
    assert "leave out --n-nodes" in caught.value.in_options()
