"""Failures of a log replayed to a workload: by the calendar of both, and what a run says of it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.io.workloads import Workload
from relfit.simulation.batch import CalibratedFailures, NodeClass, ReplayedFailures, SystemFailures
from relfit.simulation.batch._simulate_batch import replayed_dates

HOUR = 3600.0
OUTAGES = pd.DataFrame(
    {
        "node": ["a", "b", "a"],
        "start": ["2025-01-01 02:00", "2025-01-01 05:00", "2025-01-01 12:00"],
        "end": ["2025-01-01 03:00", "2025-01-01 09:00", "2025-01-01 13:00"],
    }
)


def log_of(timezone: str = "UTC") -> rf.FailureLog:
    """Outages of two nodes: at 2, 5 and 12 o'clock, of 1, 4 and 1 hours."""
    return rf.read(OUTAGES, window_start="2025-01-01", window_end="2025-01-02", timezone=timezone)


def jobs_from(origin: str | None, **more: object) -> Workload:
    """A job of both nodes and 20 hours, submitted at second 0."""
    start = None if origin is None else pd.Timestamp(origin, tz="UTC")
    return Workload([1], [0.0], [2], [20 * HOUR], n_nodes=2, origin=start, **more)


def test_failures_strike_at_their_dates() -> None:
    """Jobs from 6 o'clock: node b is down up to 9; the job starts then, is killed at 12, restarts at 13, ends at 33."""
    failures = ReplayedFailures.from_log(log_of())
    run = rf.simulate_batch(jobs_from("2025-01-01 06:00"), failures=failures)
    assert run.jobs[["first_start", "starting_time", "finish_time"]].iloc[0].tolist() == [
        3 * HOUR,
        7 * HOUR,
        27 * HOUR,
    ]
    assert run.summary["waste_node_hours"] == 2 * 3.0
    assert run.notes[-1] == (
        "Failures are those of the log from 2025-01-01 to 2025-01-02, by the dates of the jobs. "
        "The run goes on for 9 hours after the end of the log, without its failures."
    )
    zoned = ReplayedFailures.from_log(log_of("Europe/Berlin"))  # an hour earlier
    assert rf.simulate_batch(jobs_from("2025-01-01 06:00"), failures=zoned).jobs["first_start"].tolist() == [2 * HOUR]
    early = rf.simulate_batch(jobs_from("2024-12-31 22:00"), failures=failures)
    assert early.jobs["first_start"].tolist() == [0.0]
    assert "The run begins 2 hours before the log" in early.notes[-1]


def test_a_run_longer_than_its_log_says_what_it_lacks_at_both_ends() -> None:
    dates = ("2024-01-01T00Z", "2024-01-31T00Z")
    month = ReplayedFailures(np.ones(1), np.zeros(1), np.ones(1), dates=dates, origin="2023-12-30T00Z")
    assert replayed_dates(month, 0.0, 42 * 24 * HOUR) == (
        "Failures are those of the log from 2024-01-01 to 2024-01-31, by the dates of the jobs. The run begins 48 "
        "hours before the log and goes on for 10 days after its end, without its failures."
    )


@pytest.mark.parametrize("origin", [None, "2019-06-01"])
def test_without_common_dates_the_log_starts_with_the_jobs(origin: str | None) -> None:
    """Killed at 2, 5 and 12 o'clock of the log: 2, 2 and 3 hours of two nodes are lost."""
    run = rf.simulate_batch(jobs_from(origin), failures=ReplayedFailures.from_log(log_of()))
    assert run.summary["waste_node_hours"] == 2 * (2 + 2 + 3)
    assert "2025-01-01 to 2025-01-02, whose start is second 0 of the jobs." in run.notes[-1]


def test_the_instant_of_second_0_can_be_set() -> None:
    failures = ReplayedFailures.from_log(log_of(), origin="2025-01-01 04:00")
    assert (failures.time.tolist(), failures.repair.tolist()) == ([HOUR, 8 * HOUR], [4 * HOUR, HOUR])
    for origin in (None, "2025-01-01 06:00"):
        run = rf.simulate_batch(jobs_from(origin), failures=failures)
        assert run.summary["waste_node_hours"] == 2 * (1 + 3)


@pytest.mark.parametrize("names", [["cpu"], ["cpu:1+gpu:1"]])
def test_classes_of_nodes_keep_the_calendar(names: list[str]) -> None:
    failures = ReplayedFailures.from_log(log_of())
    jobs = jobs_from("2025-01-01 06:00", node_class=np.array(names, dtype=object))
    sizes = {"cpu": 2, "gpu": 1} if names == ["cpu"] else {"cpu": 1, "gpu": 1}
    run = rf.simulate_batch(jobs, [NodeClass(name=name, nodes=n) for name, n in sizes.items()], failures=failures)
    assert run.jobs["finish_time"].tolist() == [27 * HOUR]


def test_what_is_no_source_of_failures_is_refused() -> None:
    jobs, log = jobs_from(None), log_of()
    parameters = rf.Parameters(mtbf={"node": "1000h"}, mttr={"mean": "2h"})
    for wrong, remedy in (
        ("24h", 'SystemFailures(mtbf="24h"'),
        (24.0, 'SystemFailures(mtbf="24h"'),
        (SystemFailures, 'SystemFailures(mtbf="24h"'),
        ([SystemFailures(mtbf="9h"), log], "ReplayedFailures.from_log(log)"),
        (log, "ReplayedFailures.from_log(log)"),
        (parameters, "CalibratedFailures(parameters=...)"),
    ):
        with pytest.raises(ArgumentError, match=re.escape(remedy)):
            rf.simulate_batch(jobs, failures=wrong)
    with pytest.raises(ArgumentError, match="parameters are Parameters, not a str"):
        CalibratedFailures(parameters="x")
