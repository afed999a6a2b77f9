"""What the first screen of a report says of racks and of the whole system."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.reporting.first_screen import fleet_summary
from relfit.reporting.report_data import ReportData
from tests.reporting.logs import log_of

FAMILIES = ("exponential", "weibull")


@pytest.mark.parametrize("rack_failures", [0, 12])
def test_failures_of_the_whole_system_are_no_failures_of_racks(rack_failures: int) -> None:
    rng, day = np.random.default_rng(3), pd.Timedelta("1d")
    starts = [(i, t) for i in range(60) for t in rng.uniform(0, 360, 15)]
    for size, number in ((60, 6), (10, rack_failures)):
        for t in rng.uniform(0, 360, number):
            first = 10 * int(rng.integers(6)) if size == 10 else 0
            starts += [(i, t + rng.uniform(0, 0.001)) for i in range(first, first + size)]
    rows: list[Any] = []
    for i, t in sorted(starts, key=lambda start: start[1]):
        begun = pd.Timestamp("2020-01-02") + t * day
        rows.append((f"n{i:02d}", begun, begun + 0.01 * day, "disk"))
    log = log_of(rows, nodes=[f"n{i:02d}" for i in range(60)])
    log = rf.FailureLog(
        log.events,
        log.population.assign(rack=[f"r{i // 10}" for i in range(60)]),
        log.window,
        source=log.source,
    )
    said = " ".join(point.text for point in fleet_summary(ReportData(rf.Study(log, "all"), FAMILIES)).limits)
    assert "The whole system failed 6 times (disk), 60 of its 60 nodes each time." in said
    assert ("nodes of one rack fail together" in said) == bool(rack_failures)
    assert said.count("Do not multiply single-node reliabilities.") == 1
