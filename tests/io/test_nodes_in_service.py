"""Lists of nodes with the times at which these entered and left, under whatever names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.recurrence import availability
from relfit.cli.app import main

FAILURES = "node,start\na,2024-01-03\nb,2024-01-08\na,2024-01-21\n"
WINDOW = {"window_start": "2024-01-01", "window_end": "2024-01-31"}


def _log(tmp_path: Path, nodes: str, failures: str = FAILURES, **options: object) -> rf.FailureLog:
    (tmp_path / "log.csv").write_text(failures)
    (tmp_path / "nodes.csv").write_text(nodes)
    return rf.read(tmp_path / "log.csv", population=tmp_path / "nodes.csv", **options)


def _hours(log: rf.FailureLog) -> list[float]:
    people = log.population
    return ((people["left"] - people["entered"]).dt.total_seconds() / 3600.0).tolist()


@pytest.mark.parametrize(
    ("entered", "left"),
    [
        ("in_service_since", "decommissioned"),
        ("Commissioned At", "retired_at"),
        ("install_date", "removed"),
        ("since", "out_of_service"),
        ("deployed-at", "removed_at"),
        ("added", "Retired"),
    ],
)
def test_usual_names_of_the_time_in_service(tmp_path: Path, entered: str, left: str) -> None:
    log = _log(tmp_path, f"node,rack,{entered},{left}\na,r1,2024-01-01,\nb,r1,2024-01-06,2024-01-16\n", **WINDOW)
    assert _hours(log) == [30 * 24.0, 10 * 24.0]
    assert log.attributes == ("rack",)
    assert f"nodes entered as {entered!r} says, nodes left as {left!r} says" in log.source.notes
    assert (log.info()["nodes_entered_later"], log.info()["nodes_left_early"]) == (1, 1)


def test_a_column_of_flags_is_no_time_in_service(tmp_path: Path) -> None:
    log = _log(tmp_path, "node,added,retired,since\na,yes,no,2019\nb,no,no,2021\n", **WINDOW)
    assert _hours(log) == [30 * 24.0] * 2
    assert log.attributes == ("added", "retired", "since")


def test_a_column_can_be_named_or_switched_off(tmp_path: Path) -> None:
    nodes = "node,racked,installed\na,2024-01-01,2024-01-01\nb,2024-01-11,2024-01-02\n"
    assert _hours(_log(tmp_path, nodes, entered="racked", **WINDOW)) == [30 * 24.0, 20 * 24.0]
    assert _hours(_log(tmp_path, nodes, entered="", **WINDOW)) == [30 * 24.0] * 2
    with pytest.raises(rf.ReadError, match="no column 'raked' for entered; did you mean racked"):
        _log(tmp_path, nodes, entered="raked")
    with pytest.raises(rf.ArgumentError, match="there is none; give population"):
        rf.read(tmp_path / "log.csv", entered="racked")


def test_other_columns_of_dates_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = _log(tmp_path, "node,racked,kind\na,2024-01-01,x\nb,2024-01-11,y\n")
    note = (
        "column 'racked' of the list of nodes holds dates and is only an attribute: --column entered=racked if nodes "
        "entered then, or --column left=racked if nodes left then"
    )
    assert [text for text in log.source.notes if "racked" in text] == [note]
    arguments = ["info", str(tmp_path / "log.csv"), "--population", str(tmp_path / "nodes.csv")]
    main(arguments)
    assert "holds dates and is only an attribute" in " ".join(capsys.readouterr().out.split())
    main([*arguments, "--column", "entered=racked"])
    assert "1 of 2 nodes entered later, first on 2024-01-11" in capsys.readouterr().out


def test_dates_are_not_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = [f"n{i}" for i in range(60)]
    begun = pd.Timestamp("2024-01-01")
    rows = [
        (names[i], begun + pd.Timedelta(hours=float(h)))
        for i, h in zip(rng.integers(0, 60, 400), rng.uniform(0, 8000, 400), strict=True)
    ]
    failures = pd.DataFrame(rows, columns=["node", "start"]).to_csv(index=False)
    nodes = pd.DataFrame({"node": names, "bios": ["2023-01-01", "2023-05-01"] * 30, "kind": ["x"] * 30 + ["y"] * 30})
    log = _log(tmp_path, nodes.to_csv(index=False), failures)
    effects = rf.regression.attribute_effects(log, measures=("failures",))
    assert effects.answered["attribute"].tolist() == ["kind"]
    assert effects.unanswered == ("failures by bios: its values are dates, which are no categories.",)


def test_nodes_installed_long_before_the_first_record_are_watched_from_it(tmp_path: Path) -> None:
    days = [f"{'ab'[day % 2]},2024-01-{day:02d}" for day in range(1, 31)]
    failures = "\n".join(["node,start", *days]) + "\n"
    nodes = "node,installed\na,2019-06-01\nb,2024-01-11\n"
    log = _log(tmp_path, nodes, failures)
    assert log.window.start == pd.Timestamp("2024-01-01", tz="UTC")  # 30 records in a month, none in four years
    assert _hours(log) == [29 * 24.0, 19 * 24.0]
    assert log.population["entered_known"].tolist() == [False, True]
    assert any("long before the first record" in note for note in log.source.notes)
    soon = _log(tmp_path, nodes.replace("2019-06-01", "2023-12-31"), failures)
    assert soon.window.start == pd.Timestamp("2023-12-31", tz="UTC")
    assert _hours(soon) == [30 * 24.0, 19 * 24.0]


def test_a_date_of_leaving_after_the_window_is_its_end(tmp_path: Path) -> None:
    nodes = "node,entered,left\na,2024-01-01,2028-10-01\nb,2024-01-06,2024-01-16\nc,2024-01-11,2024-02-10\n"
    declared = _log(tmp_path, nodes, **WINDOW)
    assert _hours(declared) == [30 * 24.0, 10 * 24.0, 20 * 24.0]
    assert declared.population["left_known"].all()
    assert declared.between(until="2024-01-31").population["left"].equals(declared.population["left"])
    seen = _log(tmp_path, nodes.replace("2028-10-01", ""), window_start="2024-01-01")
    assert _hours(seen) == [20 * 24.0, 10 * 24.0, 10 * 24.0]  # the last record is of the 21st
    assert seen.population["left_known"].tolist() == [False, True, False]


def test_a_date_of_entering_after_the_last_record_does_not_end_the_window_later(tmp_path: Path) -> None:
    log = _log(tmp_path, "node,entered\na,2024-01-01\nb,2024-01-01\nc,2024-01-16\nd,2026-01-01\ne,2026-01-01\n")
    assert (log.window.end, log.window.end_known) == (pd.Timestamp("2024-01-21", tz="UTC"), False)
    assert _hours(log) == [20 * 24.0, 20 * 24.0, 5 * 24.0]
    note = "2 nodes of the list were not there within the window, which ends with the last record"
    assert [text for text in log.source.notes if note in text]


def test_the_last_date_of_leaving_ends_the_window_unless_records_stop_long_before(tmp_path: Path) -> None:
    days = [f"{'ab'[day % 2]},2024-01-{day:02d}" for day in range(1, 31)]
    failures = "\n".join(["node,start", *days]) + "\n"
    nodes = "node,installed,retired\na,2024-01-01,2024-01-11\nb,2024-01-01,2024-02-01\n"
    log = _log(tmp_path, nodes, failures)
    assert (log.window.end, log.window.end_known) == (pd.Timestamp("2024-02-01", tz="UTC"), True)
    for later in ("2025-06-01", "2199-01-01"):  # 30 records in a month and none for years; nobody has seen the future
        log = _log(tmp_path, nodes.replace("2024-02-01", later), failures)
        assert (log.window.end, log.window.end_known) == (pd.Timestamp("2024-01-30", tz="UTC"), False)
        assert _hours(log) == [10 * 24.0, 29 * 24.0]
        assert any("long after the last record" in note for note in log.source.notes)


def test_failures_outside_of_the_time_in_service_are_left_out_with_a_note(tmp_path: Path) -> None:
    failures = (
        "node,start,end\na,2024-01-03,2024-01-04\na,2024-01-09 12:00,2024-01-12\na,2024-01-20,2024-01-21\n"
        "b,2024-01-05,2024-01-06\nb,2024-01-16,2024-01-17\nb,2024-01-18,2024-01-19\n"
    )
    log = _log(tmp_path, "node,entered,left\na,2024-01-10,\nb,2024-01-01,2024-01-16\n", failures, **WINDOW)
    assert log.events["line"].tolist() == [3, 4, 5, 6]
    cut = log.events["start_cut"].to_numpy()
    assert log.events["start"][cut].tolist() == [pd.Timestamp("2024-01-10", tz="UTC")]  # in repair as it entered
    assert log.source.left_out == (("outside the time in service of their nodes", 2),)
    note = "2 events lie outside the time in service of their nodes, as that of a on 2024-01-03: left out"
    assert [text for text in log.source.notes if text.startswith(note)]
    times = log.ttf("all")
    assert (times.total_time.sum(), times.observed.sum()) == ((21 + 15) * 24.0, 3)
    assert "2 events left out (outside the time in service of their nodes)" in log.source.omissions


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_an_outage_that_reaches_into_the_declared_window_counts_as_downtime(tmp_path: Path, zone: str) -> None:
    failures = "".join(
        f"n{i},2024-09-2{i} 00:00,2024-10-{10 + i} 00:00\nn{i},2024-10-25 0{i}:00,2024-10-25 0{i + 1}:00\n"
        for i in range(9)
    )
    failures += "n9,2024-09-20 00:00,2024-09-21 00:00\nn9,2024-09-30 00:00,\n"
    (tmp_path / "log.csv").write_text(f"node,start,end\n{failures}")
    span = {"window_start": "2024-10-01", "window_end": "2024-11-01", "timezone": zone}
    log = rf.read(tmp_path / "log.csv", n_nodes=10, **span)
    assert (len(log), int(log.events["start_cut"].sum()), int(log.events["end_cut"].sum())) == (19, 10, 1)
    assert log.source.left_out == (("before the declared start", 1),)
    hours = log.window.hours  # an hour more where clocks go back, which n9 is down for as well
    down = sum(24 * (9 + i) + 1 for i in range(9)) + hours
    assert availability(log).operational[0] == pytest.approx(1.0 - down / (10 * hours))
    assert log.ttf("all").observed.sum() == 9


def test_a_file_of_a_month_without_a_failure_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("node,start\na,2024-01-03\n")
    (tmp_path / "2.csv").write_text("node,start\n")
    (tmp_path / "3.csv").write_text("node,start\nb,2024-03-03\n")
    span = {"window_start": "2024-01-01", "window_end": "2024-04-01", "n_nodes": 3}
    log = rf.read(tmp_path / "*.csv", **span)
    assert (len(log), log.n_nodes, log.window.hours) == (2, 3, 91 * 24.0)
    assert "1 of 3 files has no row: 2.csv" in log.source.notes
    with pytest.raises(rf.ReadError, match=r"2.csv, line 1: there is a header but no row"):
        rf.read(tmp_path / "2.csv", **span)


@pytest.mark.parametrize(
    "nodes", ["node,entered\na,2026-01-01\nb,2026-01-01\n", "node,left\na,2020-01-01\nb,2020-01-01\n"]
)
def test_a_list_of_which_no_node_was_there_is_refused(tmp_path: Path, nodes: str) -> None:
    with pytest.raises(
        rf.ReadError, match=r"nodes\.csv: no node of the list was in service from 2024-01-03 to 2024-01-21"
    ):
        _log(tmp_path, nodes)
