"""One model of failures by scope: what a scope meets and how long it is down, and that its users agree."""

from __future__ import annotations

import numpy as np
import pytest

from relfit.fleet.calibration import FailuresByScope, Parameters
from relfit.planning.job_rate import rate_of_job
from relfit.simulation import simulate_log
from relfit.simulation.training.parameters import training_parameters

KNOWN = Parameters(
    mtbf={"node": "1000h", "rack": "500h", "system": "2000h"},
    mttr={"mean": "3h", "rack": "8h", "rack_node": "4h"},
    fleet={"nodes": 64, "racks": 4, "rack_share": 0.25},
)


def test_what_jobs_meet_and_wait_for_by_counting() -> None:
    node, rack, system = FailuresByScope.of_parameters(KNOWN).scopes
    assert node.rate_of([1, 10]).tolist() == [0.001, 0.01]
    # four nodes of sixteen, two racks for 32 nodes; 13 nodes of a rack are always hit, one in a quarter of the cases
    assert rack.rate_of([1, 13, 32]) == pytest.approx([0.25 / 500, 1 / 500, 2 / 500])
    assert system.rate_of([1, 64]).tolist() == [1 / 2000, 1 / 2000]
    # a job on one node waits for one, on a whole rack for all four that are hit
    assert rack.repair_of([1, 16]) == pytest.approx([4.0, 8.0])
    assert (node.repair_of([5]).tolist(), system.repair_of([5]).tolist()) == ([3.0], [3.0])


def test_outages_of_nodes_hold_the_failures_of_racks_everywhere() -> None:
    """Racks were added to outages that count them already in simulated logs and training, and not in plans."""
    params = Parameters(mtbf={"outage": "1000h", "rack": "50h"}, fleet={"nodes": 64, "racks": 4})
    assert [scope.name for scope in FailuresByScope.of_parameters(params).scopes] == ["node"]
    assert float(rate_of_job(params).mtbf) == pytest.approx(1000 / 64)
    log = simulate_log(params, "5000h", rng=1)
    assert set(log.events["scope"].astype(str)) == {"node"}
    assert len(log) == pytest.approx(64 * 5, rel=0.25)
    assert training_parameters(calibrated=params).rack_failure_rate == 0.0


def test_rates_of_unequal_nodes_have_the_mean_of_all() -> None:
    params = Parameters(mtbf="1000h", bad_nodes={"fraction": 0.1, "factor": 4.0})
    rates = FailuresByScope.of_parameters(params).relative_rates(np.random.default_rng(1), 50)
    assert rates.mean() == pytest.approx(1.0)
    assert sorted(set(rates.round(6))) == pytest.approx([1 / 1.3, 4 / 1.3])
