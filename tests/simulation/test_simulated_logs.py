"""Simulated logs against what can be counted in them by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.log.outages import system_outages_of
from relfit.simulation import simulate_log


def test_records_say_what_failed() -> None:
    known = rf.Parameters(
        mtbf={"node": "100h", "rack": "500h", "system": "300h"}, mttr="30h", fleet={"nodes": 12, "racks": 3}
    )
    log = simulate_log(known, "30000h", rng=4)
    events = log.events
    scope, start = events["scope"].astype(str).to_numpy(), events["start"].to_numpy()
    assert set(scope) == {"node", "group", "system"}
    # a failure of the system takes down what works then: sometimes one node alone
    outages = np.unique(start[scope == "system"])
    hit = np.array([(start[scope == "system"] == one).sum() for one in outages])
    assert (hit < 6).any()
    rate = outages.size / 30_000.0  # what begins while all are down is not there
    assert 0.6 / 300.0 < rate <= 1.3 / 300.0
    joined = rf.incidents(log, "0h").table
    assert (joined["scope"] == "system").sum() >= outages.size
    of_system = joined[joined["start"].isin(events["start"][scope == "system"])]
    assert (of_system["scope"] == "system").all()
    assert len(of_system) == outages.size
    assert system_outages_of(log).start.size > 0.8 * outages.size  # those that overlap are one


def test_the_model_of_a_simulated_log_has_its_outages_of_the_system() -> None:
    known = rf.Parameters(mtbf={"node": "1000h", "system": "250h"}, mttr="12h", fleet={"nodes": 40})
    log = simulate_log(known, "20000h", rng=1)
    scope = log.events["scope"].astype(str).to_numpy()
    counted = np.unique(log.events["start"].to_numpy()[scope == "system"]).size
    found = rf.calibrate(log, period="all", parts=("mtbf", "mttr"), window="0h", at="long run")
    assert found.mtbf.system is not None
    assert found.mtbf.system.events == counted
    assert found.mtbf.system.low < 250.0 < found.mtbf.system.high
    assert found.mtbf.node.low < 1000.0 < found.mtbf.node.high
    assert found.mttr.system.low < 12.0 < found.mttr.system.high


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("exponential", {"rate": 1 / 1138}),
        ("weibull", {"shape": 0.7, "scale": 900.0}),
        ("lognormal", {"meanlog": 6.0, "sdlog": 1.0}),
        ("gamma", {"shape": 0.6, "scale": 2000.0}),
    ],
)
def test_nodes_fail_as_often_as_their_mean_says_whatever_was_fitted(family: str, parameters: dict[str, float]) -> None:
    """The fit is of years, the mean that of the next 90 days."""
    known = rf.Parameters(
        mtbf={"node": "400h"}, mttr="20h", fleet={"nodes": 100}, failure={"family": family, "parameters": parameters}
    )
    counts = [len(simulate_log(known, "84000h", rng=seed)) for seed in range(3)]
    assert np.mean(counts) == pytest.approx(100 * 84_000 / 420, rel=0.02)


def test_repairs_are_those_of_the_scope_that_failed() -> None:
    """All were drawn alike, and nodes of a rack were always back at once."""
    known = rf.Parameters(
        mtbf={"node": "2000h", "rack": "600h", "system": "400h"},
        mttr={"node": "3h", "rack": "9h", "rack_node": "6h", "system": "20h"},
        fleet={"nodes": 60, "racks": 20, "rack_share": 0.8},
    )
    log = simulate_log(known, "40000h", rng=2)
    events = log.events
    hours = ((events["end"] - events["start"]).dt.total_seconds() / 3600.0).to_numpy()
    scope = events["scope"].astype(str).to_numpy()
    assert hours[scope == "node"].mean() == pytest.approx(3.0, rel=0.1)
    assert hours[scope == "group"].mean() == pytest.approx(6.0, rel=0.1)
    assert hours[scope == "system"].mean() == pytest.approx(20.0, rel=0.3)
    racks = pd.DataFrame({"start": events["start"], "hours": hours})[scope == "group"].groupby("start")["hours"]
    last, nodes = racks.max()[racks.size() > 1], racks.size()
    assert last.mean() == pytest.approx(9.0, rel=0.1)
    assert nodes[nodes > 1].mean() == pytest.approx(0.8 * 3, rel=0.1)  # it was two of three in every rack, or all
