"""The training simulator beside the sparing Monte-Carlo, where both have the same cluster and where they differ."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit.planning import plan_checkpoints
from relfit.planning.sparing import Cluster, DeviceFailures, Recovery, Strategies
from relfit.simulation import simulate_sparing
from relfit.system.jobs import Checkpoint

# servers are trays; none is bad, and nothing but repairs takes time
PLAIN: dict[str, Any] = {
    "systematic_failure_fraction": 0.0,
    "spare_pool_size": 0,
    "recovery_time": 0.0,
    "host_selection_time": 0.0,
}


def agree(values: Any, expected: float) -> None:
    """The mean is what is expected, within four standard errors, and those are small."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(values.size)
    assert error < 0.03 * expected, (expected, error)
    assert abs(values.mean() - expected) < 4.0 * error, (values.mean(), expected, error)


@pytest.mark.verify
def test_servers_without_spares_are_one_block_of_trays() -> None:
    # a failure stops everything until it is repaired: an alternating renewal process; full segments count
    n, mtbf, mttr, every, save = 40, 2000.0, 10.0, 4.0, 0.25
    rate, segment = n / mtbf, every + save
    cycle = 1.0 / rate + mttr
    stalled = mttr / cycle
    useful = every / np.expm1(rate * segment) / cycle
    survives = np.exp(-rate * segment)
    lost = (-np.expm1(-rate * every) / rate - every * survives) / (1.0 - survives) / cycle

    training = rf.simulate_training(
        {
            **PLAIN,
            "job_size": n,
            "warm_standbys": 0,
            "working_pool_size": n,
            "random_failure_rate": 1 / (60 * mtbf),
            "auto_repair_time": 60 * mttr,
            "prob_auto_to_manual": 0.0,
            "checkpoint_every": 60 * every,
            "checkpoint_save": 60 * save,
            "job_length": 60 * 2e5,
        },
        n_replications=20,
        rng=1,
    ).replications
    sparing = simulate_sparing(
        Cluster(zones=1, racks=1, trays=n),
        Strategies(n, 0, 0),
        DeviceFailures(mtbf, np.inf, mttr),
        Recovery(every, save),
        years=25,
        n_resamples=20,
        rng=1,
    ).replications
    time = training["total_training_time"]
    for ours, theirs, expected in (
        (training["total_stall_time"] / time, "blocked", stalled),
        (training["total_lost_time"] / time, "rework", lost),
        (training["etr"], "useful", useful),
    ):
        agree(ours, expected)
        agree(sparing[theirs], expected)


@pytest.mark.slow
@pytest.mark.parametrize("to_manual", [0.0, 0.8])
def test_spares_fail_in_the_sparing_simulation_only(to_manual: float) -> None:
    # training: servers that stand by, and those of a stalled job, do not fail, so that the servers in repair are
    # Erlang's loss system, whatever the distribution of repairs; sparing: all trays fail always, a binomial number
    n, spares, automatic, manual = 50, 2, 2.0, 10.0
    mttr = automatic + to_manual * manual
    mtbf = 100.0 * mttr
    load = (n - spares) * mttr / mtbf
    terms = [load**k / factorial(k) for k in range(spares + 2)]
    stalled = terms[-1] / sum(terms)
    blocked = float(stats.binom.sf(spares, n, mttr / (mttr + mtbf)))
    assert blocked > 1.15 * stalled

    training = rf.simulate_training(
        {
            **PLAIN,
            "job_size": n - spares,
            "warm_standbys": spares,
            "working_pool_size": n,
            "random_failure_rate": 1 / (60 * mtbf),
            "auto_repair_time": 60 * automatic,
            "manual_repair_time": 60 * manual,
            "prob_auto_to_manual": to_manual,
            "job_length": 60 * 600 * mtbf,
        },
        n_replications=20,
        rng=2,
    ).replications
    sparing = simulate_sparing(
        Cluster(zones=1, racks=n),
        Strategies(1, 0, spares),
        DeviceFailures(mtbf, np.inf, mttr),
        Recovery("1h"),
        years=600 * mtbf / 8760,
        n_resamples=20,
        rng=2,
    ).replications
    agree(training["total_stall_time"] / training["total_training_time"], stalled)
    agree(1.0 - training["etr"], stalled)
    agree(sparing["blocked"] / (1 - spares / n), blocked)


def test_a_job_without_spares_waits_one_repair_here_and_for_further_failures_in_a_plan() -> None:
    """The numbers of docs/training.md: servers fail only while they run, nodes of a plan while they wait, too."""
    small = {"job_size": 56, "working_pool_size": 56, "spare_pool_size": 0, "warm_standbys": 0, "job_length": "20 days"}
    kinds = {"systematic_failure_fraction": 0, "prob_auto_to_manual": 0, "auto_repair_time": "8.45h"}
    saves = {"checkpoint_every": "1h", "checkpoint_save": "2min", "recovery_time": "10min", "host_selection_time": 0}
    params = rf.training.TrainingParameters(**small, **kinds, **saves, random_failure_rate="1 per 639 h")
    mean = rf.simulate_training(params, n_replications=200, rng=1).outputs["mean"]
    assert mean["total_stall_time"] / mean["total_failures"] / 60 == pytest.approx(8.2, abs=0.25)
    assert mean["total_training_time"] / 1440 == pytest.approx(37, abs=0.6)
    mu = 639 / 56
    wait = mu * np.expm1(8.45 / mu)
    days = 20 * (mu + wait) * np.exp(10 / 60 / mu) * np.expm1((1 + 2 / 60) / mu)
    assert (round(wait, 1), round(days)) == (12.5, 46)
    plan = plan_checkpoints("639h", Checkpoint("1h", "2min", "10min"), nodes=56, repair="8.45h")
    assert 20 / (1 - plan.own_waste) == pytest.approx(days, rel=1e-3)
