"""The simulator against a slow, obvious one, setting by setting: means and spreads of every output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relfit as rf
from relfit.training import training_parameters
from tests.training.slow_reference import slow_runs

BASE: dict[str, Any] = {
    "job_size": 24, "warm_standbys": 3, "working_pool_size": 30, "spare_pool_size": 6, "job_length": 30 * 1440,
    "random_failure_rate": 0.05 / 1440,
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "no standbys": {"warm_standbys": 0},
    "many standbys": {"warm_standbys": 6, "spare_pool_size": 0},
    "tight pools": {"working_pool_size": 27, "spare_pool_size": 2},
    "stalls": {"working_pool_size": 27, "spare_pool_size": 0, "manual_repair_time": 6000},
    "slow recovery": {"recovery_time": 120, "host_selection_time": 30, "preemption_wait_time": 200},
    "rates": {"random_failure_rate": 0.15 / 1440, "systematic_failure_rate_multiplier": 10,
              "systematic_failure_fraction": 0.4},
    "missed": {"diagnosis_probability": 0.6},
    "wrong": {"diagnosis_uncertainty": 0.5, "diagnosis_probability": 0.9, "warm_standbys": 1},
    "window": {"retirement": {"max_failures": 2}, "random_failure_rate": 0.1 / 1440},
    "score": {"retirement": {"policy": "score", "failure_penalty": 45}, "random_failure_rate": 0.1 / 1440},
    "repairs": {"prob_auto_to_manual": 0.3, "auto_repair_fail_prob": 0.9, "manual_repair_fail_prob": 0.9},
    "tiny": {"job_size": 2, "warm_standbys": 1, "working_pool_size": 4, "spare_pool_size": 1,
             "random_failure_rate": 1 / 1440, "diagnosis_uncertainty": 0.3},
}  # fmt: skip
OUTPUTS = (
    "total_training_time", "total_failures", "random_failures", "systematic_failures", "auto_repairs",
    "manual_repairs", "preemption_count", "host_selection_count", "job_stall_count", "servers_retired",
    "total_wait_time", "depleted",
)  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_every_output_is_that_of_the_slow_one(name: str) -> None:
    compare(name, 60, 1000)


@pytest.mark.verify
@pytest.mark.parametrize("name", SETTINGS)
def test_every_output_is_that_of_the_slow_one_to_a_percent(name: str) -> None:
    compare(name, 1500, 6000)


def compare(name: str, n_slow: int, n_fast: int) -> None:
    params = training_parameters({**BASE, **SETTINGS[name]}).as_program()
    fast = rf.simulate_training(params, n_replications=n_fast, rng=1).replications
    slow = list(slow_runs(params, n_slow))
    for output in OUTPUTS:
        theirs = np.array([float(run.get(output, 0.0)) for run in slow])
        ours = fast[output].to_numpy()
        error = np.sqrt(theirs.var(ddof=1) / n_slow + ours.var(ddof=1) / n_fast)
        assert abs(ours.mean() - theirs.mean()) <= 4.0 * error + 1e-9, (output, ours.mean(), theirs.mean(), error)
        if ours.std() > 0.0 and theirs.std() > 0.0:
            fourth = np.mean((ours - ours.mean()) ** 4) / ours.var() ** 2
            error = np.sqrt((fourth - 1.0) / 4.0 * (1.0 / n_slow + 1.0 / n_fast))  # of the log of the ratio
            ratio = ours.std(ddof=1) / theirs.std(ddof=1)
            assert abs(np.log(ratio)) < 5.0 * error, (output, ours.std(), theirs.std(), error)
