"""The line of a release has the numbers that the benchmarks printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.history import COLUMNS, measured, with_line

PRINTED = """\
== calibration
nodes   outages  by hand  mtbf,mttr  +kinds,families  all parts  1000 draws   (ms of processor time)
   72       123     1.02       12.3             45.6        789        1.10
 9216     12345     3.21       99.9            456.7       3812        2.20

== reading
made trace, 9.0 MB decompressed, median of 7 rounds
  relfit.read         0.450 s
  pandas, C engine    0.300 s   relfit takes 1.50 times that (limit 2)
  pandas, pyarrow     0.230 s   relfit takes 1.96 times that (limit 2)

== startup
relfit --help 169 ms, import numpy 93 ms: ratio 1.82 (limit 2)

== time
LANL system 18: 1024 nodes, 3899 events
  dependence                            0.40 s wall     0.40 s processor
  together                              1.27 s wall     1.20 s processor; peak memory 0.3 GB
simulated: 100000 nodes, 5000000 events
  together                             78.60 s wall    77.10 s processor; peak memory 4.1 GB

== system
by_size of lognormal nodes: 9.99 s
"""


def test_numbers_are_read_from_what_was_printed() -> None:
    row = measured(PRINTED)
    assert list(row) == list(COLUMNS)
    assert {name: value for name, value in row.items() if value} == {
        "calibrate_9216_nodes_s": "3.812",
        "read_fta_ratio_pyarrow": "1.96",
        "startup_s": "0.169",
        "lanl18_analyses_s": "1.27",
        "analyses_5m_events_s": "78.6",
    }


def test_every_column_has_a_benchmark_that_is_there(root: Path) -> None:
    for column, (benchmark, _, _) in COLUMNS.items():
        assert (root / "benchmarks" / f"bench_{benchmark}.py").is_file(), column


def test_the_file_has_these_columns(root: Path) -> None:
    head = (root / "benchmarks" / "history.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head.split(",") == ["version", "date", "commit", *COLUMNS]


def test_a_version_has_one_line() -> None:
    rows = [{"version": "0.2.0", "startup_s": "1"}, {"version": "0.3.0", "startup_s": "2"}]
    new = {"version": "0.3.0", "startup_s": "3"}
    with pytest.raises(SystemExit, match=r"0\.3\.0 has a line in history\.csv; add --replace"):
        with_line(rows, new, replace=False)
    assert with_line(rows, new, replace=True) == [rows[0], new]
    assert with_line(rows, {"version": "0.4.0"}, replace=False) == [*rows, {"version": "0.4.0"}]
