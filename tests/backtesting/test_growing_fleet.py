"""Counts that forecasts are compared with, in a fleet whose number of nodes changes."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.backtesting.origins import NodeNumbers
from relfit.backtesting.prediction_scores import counted
from tests.factories import make_log

DAY = 24 * 3_600_000_000_000


def fleet(grown: bool) -> rf.FailureLog:
    """A hundred nodes for two years, and in the second a hundred more; each fails once in fifty days."""
    rng = np.random.default_rng(2)
    people, rows = [], []
    for i in range(200 if grown else 100):
        entered = 0.0 if i < 100 else 365.0 * 24.0
        name, rack = f"n{i:03d}", f"r{i // 100}"
        people.append({"node": name, "rack": rack, "entered": entered, "entered_known": i >= 100})
        times = entered + np.sort(
            rng.uniform(0.0, 730.0 * 24.0 - entered, rng.poisson((730.0 - entered / 24.0) / 50.0))
        )
        rows += [{"node": name, "rack": rack, "start": t, "cause": "disk"} for t in times]
    return make_log(sorted(rows, key=lambda row: row["start"]), people, window=(0.0, 730.0 * 24.0))


def test_a_count_is_one_per_node_hour() -> None:
    nodes = NodeNumbers(np.array([0, 0, 60 * DAY]), np.array([90 * DAY] * 3))
    at = np.array([5, 10, 35, 40, 65, 70, 75]) * DAY
    # windows of 2, 2 and 3 records by 2, 2 and 3 nodes; 3 nodes at the origin
    mean, variance = counted(at, 0, 90 * DAY, 30 * DAY, 3, nodes)
    assert mean == pytest.approx((3.0 + 3.0 + 3.0) / 3.0)
    assert variance == pytest.approx(0.0)
    assert counted(at, 0, 90 * DAY, 30 * DAY, 3)[0] == pytest.approx(7.0 / 3.0)
    # no complete window: all of the past, by its node-hours
    assert counted(at, 0, 90 * DAY, 120 * DAY, 3, nodes)[0] == pytest.approx(7.0 / (210.0 / 120.0 / 3.0))


def test_small_changes_and_windows_without_nodes() -> None:
    nodes = NodeNumbers(np.array([0] * 40 + [60 * DAY]), np.array([90 * DAY] * 41))
    edges = np.array([30, 60, 90]) * DAY
    assert nodes.scales(edges).tolist() == [1.0, 1.0]  # 2.5 %
    late = NodeNumbers(np.array([60 * DAY]), np.array([90 * DAY]))
    at = np.array([65, 70]) * DAY
    assert counted(at, 0, 90 * DAY, 30 * DAY, 3, late) == (2.0, 2.0)


def test_counts_follow_the_number_of_nodes() -> None:
    tested = rf.backtest(fleet(grown=True), horizons="30d", parts="forecasts", every="30d").table
    rows = tested[tested["of"] == "all"]
    after = rows[rows["origin"] > "2002-01-03"]  # once the nodes of the second year are there
    assert len(after) == 12
    # 200 nodes, 30 days, once in 50 days: 120 failures; unscaled counts would be 60 to 120
    assert after["count_1"].mean() == pytest.approx(120.0, rel=0.1)
    assert after["count_1"].min() > 100.0
    racks = tested[(tested["of"] == "rack") & (tested["name"] == "r0")]
    assert racks["count_1"].mean() == pytest.approx(60.0, rel=0.1)


def test_the_group_has_its_name() -> None:
    log = fleet(grown=False)
    population = log.population.rename(columns={"rack": "Site"}).assign(Site=["FRA", "HAM"] * 50)
    log = rf.FailureLog(log.events.drop(columns="rack"), population, log.window)
    tested = rf.backtest(log, horizons="30d", parts="forecasts", group="Site", every="30d")
    assert any("by Site" in text for text in tested.findings)
    assert not any("by rack" in text for text in tested.findings)
