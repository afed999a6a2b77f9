"""Jobs on all or nearly all nodes of a fleet, whose nodes are hardly ever all up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf

HOURS = 6.0


@pytest.fixture(scope="module")
def model() -> rf.FleetModel:
    """Fifty nodes that fail every 600 h and are down for 30 h each time; two retire after a third of the year."""
    rng = np.random.default_rng(12)
    start, rows = pd.Timestamp("2024-01-01"), []
    for node in range(50):
        hour, last = rng.exponential(600.0), 2900.0 if node >= 48 else 8760.0
        while hour < last:
            end = hour + rng.exponential(30.0)
            rows.append((f"n{node:02d}", start + pd.Timedelta(hour, "h"), start + pd.Timedelta(min(end, last), "h")))
            hour = end + rng.exponential(600.0)
    nodes = pd.DataFrame({"node": [f"n{node:02d}" for node in range(50)]})
    nodes["left"] = [pd.Timestamp("2024-04-30 20:00") if node >= 48 else pd.NaT for node in range(50)]
    events = pd.DataFrame(rows, columns=["node", "start", "end"])
    window = {"window_start": "2024-01-01", "window_end": "2024-12-31"}
    return rf.fleet_model(rf.read(events, population=nodes, **window))


def test_more_nodes_run_no_longer_and_limits_stay_finite(model: rf.FleetModel) -> None:
    sizes = [8, 16, 32, 40, 44, 46, 48]
    through = [model.interval("reliability", HOURS, size=size) for size in sizes]
    between = [model.interval("mtbf", size=size) for size in sizes]
    for each in (through, between):
        values = np.array([float(one.estimate) for one in each])
        assert (values[1:] < 1.02 * values[:-1]).all()
        highs = np.array([float(one.high) for one in each])
        assert (highs[1:] < 1.1 * highs[:-1]).all()
    # few days have 46 nodes up: independent nodes go on in proportion to their number
    assert float(through[-1].estimate) == pytest.approx(float(through[-2].estimate) ** (48 / 46), rel=1e-3)
    # independent nodes: the rate of 48 is 48 times that of one
    assert float(through[-1].low) < np.exp(-48 * HOURS / 600.0) < float(through[-1].high)


def test_nodes_that_retired_take_no_jobs(model: rf.FleetModel) -> None:
    with pytest.raises(rf.ArgumentError, match="a job of 49 nodes on a system of 48"):
        model.interval("reliability", HOURS, size=49)
