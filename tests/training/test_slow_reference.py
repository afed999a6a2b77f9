"""The simulator against a slow, obvious one: means and spreads of every output, in set cases and in any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relfit as rf
from relfit.simulation.training import Retirement, TrainingParameters, training_parameters
from tests.examples import examples
from tests.training.slow_reference import slow_runs
from tests.training.trace_replay import Replay

BASE: dict[str, Any] = {
    "job_size": 24,
    "warm_standbys": 3,
    "working_pool_size": 30,
    "spare_pool_size": 6,
    "job_length": 30 * 1440,
    "random_failure_rate": 0.05 / 1440,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "no standbys": {"warm_standbys": 0},
    "many standbys": {"warm_standbys": 6, "spare_pool_size": 0},
    "tight pools": {"working_pool_size": 27, "spare_pool_size": 2},
    "stalls": {"working_pool_size": 27, "spare_pool_size": 0, "manual_repair_time": 6000},
    "slow recovery": {"recovery_time": 120, "host_selection_time": 30, "preemption_wait_time": 200},
    "rates": {
        "random_failure_rate": 0.15 / 1440,
        "systematic_failure_rate_multiplier": 10,
        "systematic_failure_fraction": 0.4,
    },
    "missed": {"diagnosis_probability": 0.6},
    "wrong": {"diagnosis_uncertainty": 0.5, "diagnosis_probability": 0.9, "warm_standbys": 1},
    "window": {"retirement": {"max_failures": 2}, "random_failure_rate": 0.1 / 1440},
    "score": {"retirement": {"policy": "score", "failure_penalty": 45}, "random_failure_rate": 0.1 / 1440},
    "repairs": {"prob_auto_to_manual": 0.3, "auto_repair_fail_prob": 0.9, "manual_repair_fail_prob": 0.9},
    "history": {
        "repeated_repairs": {
            "auto_repair_time": [60, 300],
            "manual_repair_time": [1000, 2000, 4000],
            "prob_auto_to_manual": [0.2, 0.9],
            "auto_repair_fail_prob": [0.1, 0.8],
            "manual_repair_fail_prob": [0.3, 0.1, 0.6],
        },
        "random_failure_rate": 0.1 / 1440,
    },
    "beyond repair": {"beyond_repair_prob": [0.02, 0.15], "spare_pool_size": 12},
    "replaced": {
        "beyond_repair_prob": [0.1, 0.3, 0.6],
        "replacement_time": "6 days",
        "working_pool_size": 27,
        "spare_pool_size": 0,
        "systematic_failure_fraction": 0.4,
    },
    "retired and replaced": {
        "retirement": {"max_failures": 2},
        "replacement_time": "3 days",
        "random_failure_rate": 0.1 / 1440,
    },
    "tiny": {
        "job_size": 2,
        "warm_standbys": 1,
        "working_pool_size": 4,
        "spare_pool_size": 1,
        "random_failure_rate": 1 / 1440,
        "diagnosis_uncertainty": 0.3,
    },
}

OUTPUTS = (
    "total_training_time",
    "total_failures",
    "random_failures",
    "systematic_failures",
    "auto_repairs",
    "manual_repairs",
    "preemption_count",
    "host_selection_count",
    "job_stall_count",
    "servers_retired",
    "total_wait_time",
    "depleted",
)
REPLACEMENTS = ("servers_beyond_repair", "servers_replaced")


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.slow
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
    for output in [*OUTPUTS, *(name for name in REPLACEMENTS if name in fast)]:
        theirs = np.array([float(run.get(output, 0.0)) for run in slow])
        ours = fast[output].to_numpy()
        error = np.sqrt(theirs.var(ddof=1) / n_slow + ours.var(ddof=1) / n_fast)
        assert abs(ours.mean() - theirs.mean()) <= 4.0 * error + 1e-9, (output, ours.mean(), theirs.mean(), error)
        if ours.std() > 0.0 and theirs.std() > 0.0:
            fourth = np.mean((ours - ours.mean()) ** 4) / ours.var() ** 2
            error = np.sqrt((fourth - 1.0) / 4.0 * (1.0 / n_slow + 1.0 / n_fast))  # of the log of the ratio
            ratio = ours.std(ddof=1) / theirs.std(ddof=1)
            assert abs(np.log(ratio)) < 5.0 * error, (output, ours.std(), theirs.std(), error)


PROBABILITY = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
RETIREMENT = st.one_of(
    st.just(Retirement(policy="never")),
    st.builds(Retirement, max_failures=st.integers(1, 4), window_minutes=st.sampled_from([2000.0, 20_000.0])),
    st.builds(
        Retirement,
        policy=st.just("score"),
        failure_penalty=st.sampled_from([30.0, 60.0, 100.0]),
        time_period=st.sampled_from([100.0, 1440.0]),
    ),
)


@st.composite
def configurations(draw: st.DrawFn) -> TrainingParameters:
    """Small clusters with some dozens of failures, as the program has them."""
    size, standbys = draw(st.integers(1, 10)), draw(st.integers(0, 4))
    times = {name: draw(st.sampled_from([0.0, 20.0, 300.0])) for name in ("recovery_time", "preemption_wait_time")}
    chances = {
        name: draw(PROBABILITY)
        for name in (
            "systematic_failure_fraction",
            "prob_auto_to_manual",
            "auto_repair_fail_prob",
            "manual_repair_fail_prob",
            "diagnosis_probability",
            "diagnosis_uncertainty",
        )
    }
    return TrainingParameters(
        job_size=size,
        warm_standbys=standbys,
        working_pool_size=size + standbys + draw(st.integers(0, 3)),
        spare_pool_size=draw(st.integers(0, 4)),
        random_failure_rate=draw(st.sampled_from([10, 40])) / 14_400 / size,
        systematic_failure_rate_multiplier=draw(st.sampled_from([0.5, 5.0])),
        job_length=14_400,
        host_selection_time=draw(st.sampled_from([0.0, 30.0])),
        auto_repair_time=draw(st.sampled_from([60.0, 600.0])),
        manual_repair_time=draw(st.sampled_from([300.0, 3000.0])),
        retirement=draw(RETIREMENT),
        **times,
        **chances,
    ).as_program()


@pytest.mark.slow
@examples(15, derandomize=True)
@given(configurations())
def test_any_cluster_does_as_the_slow_one(params: TrainingParameters) -> None:
    means_agree(params, 100, 400)


@pytest.mark.verify
@examples(150, derandomize=True)
@given(configurations())
def test_many_clusters_do_as_the_slow_one(params: TrainingParameters) -> None:
    means_agree(params, 400, 3000)


@examples(60, derandomize=True)
@given(configurations())
@pytest.mark.slow
def test_every_event_is_what_the_rules_say(params: TrainingParameters) -> None:
    params = params.but(retirement=Retirement(policy="never"))
    result = rf.simulate_training(params, n_replications=1, rng=1, trace=True)
    assert result.trace is not None
    replay = Replay(params)
    replay.run(result.trace)
    run = result.replications.iloc[0]
    counted = {
        "total_recovery_time": replay.spent["recovery"],
        "total_host_selection_time": replay.spent["selection"],
        "total_wait_time": replay.spent["waiting"],
        "total_stall_time": replay.spent["stalled"],
        "total_compute_time": replay.spent["running"],
        "auto_repairs": replay.count["auto_repair"],
        "manual_repairs": replay.count["manual_repair"],
        **{
            name: replay.count[name]
            for name in (
                "total_training_time",
                "total_failures",
                "host_selection_count",
                "preemption_count",
                "standby_swaps",
            )
        },
    }
    assert {name: float(run[name]) for name in counted} == pytest.approx(counted)


def means_agree(params: TrainingParameters, n_slow: int, n_fast: int) -> None:
    """Every output has one mean; the variance is that of both, for the slow one may have missed what is rare."""
    fast = rf.simulate_training(params, n_replications=n_fast, rng=1).replications
    slow = list(slow_runs(params, n_slow))
    for output in [*OUTPUTS, *(name for name in REPLACEMENTS if name in fast)]:
        theirs = np.array([float(run.get(output, 0.0)) for run in slow])
        ours = fast[output].to_numpy()
        error = np.sqrt(np.concatenate([theirs, ours]).var() * (1.0 / n_slow + 1.0 / n_fast))
        apart = abs(ours.mean() - theirs.mean())
        assert apart <= 5.0 * error + 1e-6 * abs(ours.mean()), (output, ours.mean(), theirs.mean())
