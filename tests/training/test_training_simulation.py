"""The training-cluster simulator against given figures, closed forms, and what cannot be otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.simulation.training import (
    Retirement,
    Server,
    Servers,
    TrainingJob,
    states_over_time,
    training_parameters,
    transitions,
)
from relfit.simulation.training.cluster_state import TIMES
from relfit.simulation.training.repair_events import shift_end
from relfit.simulation.training.training_simulation import _TIME_NAMES, TrainingSimulation
from tests.examples import examples

SMALL: dict[str, Any] = {
    "job_size": 40,
    "warm_standbys": 4,
    "working_pool_size": 48,
    "spare_pool_size": 6,
    "job_length": "20 days",
    "random_failure_rate": 0.05 / 1440,
}

VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "at once": {"return_borrowed": "at_once"},
    "ages": {"failure_distribution": "weibull", "weibull_shape": 0.7},
    "redrawn": {"failure_distribution": "lognormal", "renew_on_restart": True},
    "diagnosis": {"diagnosis_probability": 0.7, "diagnosis_uncertainty": 0.3, "missed_diagnosis": "swapped"},
    "no standbys": {"warm_standbys": 0},
    "score": {"retirement": Retirement(policy="score", failure_penalty=60), "host_selection": "highest_score"},
    "window": {"retirement": Retirement(max_failures=3), "host_selection": "fewest_failures", "minimum_size": 10},
    "bad again": {
        "bad_server_regeneration": True,
        "bad_server_regen_interval": 1440,
        "weibull_shape": 2.0,
        "failure_distribution": "weibull",
        "host_selection": "most_reliable",
    },
    "crews": {"auto_crews": 1, "manual_crews": 2, "manual_hours": (8, 18), "manual_days": (0, 1, 2, 3, 4)},
    "racks": {"rack_failure_rate": 1e-5, "cluster_failure_rate": 1e-4, "host_selection": "packed"},
    "checkpoints": {"checkpoint_every": 120, "checkpoint_save": 5, "corruption_rate": 1e-6, "corruption_delay": 500},
    "jobs": {
        "jobs": (
            TrainingJob(name="a", job_size=20, job_length=9000, warm_standbys=2),
            TrainingJob(name="b", job_size=24, job_length=9000, minimum_size=8),
        ),
        "working_pool_size": 44,
        "rack_failure_rate": 1e-5,
    },
}


# minutes, failures, manual repairs, host selections and preemptions of the first run, as version 0.3.0 had them
TRAJECTORIES: dict[tuple[str, bool], tuple[float, ...]] = {
    ("paper", False): (29769.0, 48, 35, 3, 0),
    ("at once", True): (29769.0, 48, 36, 3, 0),
    ("ages", False): (30195.0, 65, 50, 5, 4),
    ("ages", True): (37569.34585778973, 166, 136, 17, 6),
    ("redrawn", False): (29123.0, 16, 14, 1, 0),
    ("diagnosis", True): (29926.0, 56, 30, 2, 0),
    ("no standbys", False): (29907.0, 48, 34, 49, 0),
    ("crews", False): (95787.35423870641, 47, 23, 29, 119),
    ("crews", True): (100793.89015605647, 48, 36, 8, 6),
    ("checkpoints", False): (34822.13336448638, 55, 39, 3, 0),
    ("jobs", False): (9206.0, 9, 6, 2, 1),
}


@pytest.mark.parametrize(("name", "program"), TRAJECTORIES)
@pytest.mark.slow
@pytest.mark.long
def test_a_seed_gives_the_runs_that_it_always_gave(name: str, program: bool) -> None:
    params = {**SMALL, **VARIANTS[name]}
    run = rf.simulate_training(params, n_replications=1, rng=2, program_semantics=program).replications.iloc[0]
    names = ["total_training_time", "total_failures", "manual_repairs", "host_selection_count", "preemption_count"]
    assert run[names].tolist() == pytest.approx(TRAJECTORIES[name, program], rel=1e-12)


@pytest.mark.parametrize("program", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_is_lost_or_doubled(name: str, program: bool) -> None:
    if program and "jobs" in VARIANTS[name]:
        pytest.skip("the program has one job")
    params = training_parameters({**SMALL, **VARIANTS[name]})
    result = rf.simulate_training(params, n_replications=3, rng=2, program_semantics=program, check=True, trace=True)
    runs = result.replications
    spent = sum(runs[_TIME_NAMES[part]] for part in TIMES)
    np.testing.assert_array_equal(spent, runs["total_training_time"])
    assert (runs["random_failures"] + runs["systematic_failures"] == runs["total_failures"]).all()
    finished = runs[runs["depleted"] == 0]
    length = params.all_jobs[0].job_length if len(params.all_jobs) == 1 else 9000.0
    assert (finished["total_compute_time"] > 0.999 * length).all()
    states = states_over_time(result)
    assert (states.sum(axis=1) == params.working_pool_size + params.spare_pool_size).all()
    assert (states >= 0).to_numpy().all()
    assert {"active", "idle"} <= set(transitions(result)["after"])


def test_without_failures_only_the_first_selection_costs() -> None:
    for program in (False, True):
        result = rf.simulate_training(
            {**SMALL, "random_failure_rate": 0.0}, n_replications=2, program_semantics=program
        )
        assert result.outputs.loc["total_training_time", ["mean", "sd"]].tolist() == [20 * 1440 + 3.0, 0.0]


def close(values: Any, expected: float, z: float = 4.0) -> None:
    """The mean of the values is what is expected, within so many standard errors."""
    values = np.asarray(values, dtype=float)
    assert abs(values.mean() - expected) < z * values.std(ddof=1) / np.sqrt(values.size), (values.mean(), expected)


NO_REPAIRS: dict[str, Any] = {
    "systematic_failure_fraction": 0.0,
    "recovery_time": 0.0,
    "host_selection_time": 0.0,
    "auto_repair_time": 0.0,
    "prob_auto_to_manual": 0.0,
    "retirement": Retirement(max_failures=1),
    "spare_pool_size": 0,
    "job_length": 1e9,
}


@pytest.mark.slow
def test_a_server_beyond_repair_is_waited_for_as_long_as_its_delivery_takes() -> None:
    # one server runs, and every repair ends in an order of 500 minutes: the job stalls for just that each time
    base = {
        **NO_REPAIRS,
        "retirement": Retirement(policy="never"),
        "random_failure_rate": 1e-3,
        "job_size": 1,
        "working_pool_size": 1,
        "warm_standbys": 0,
        "job_length": 20_000,
        "beyond_repair_prob": 1.0,
    }
    runs = rf.simulate_training({**base, "replacement_time": 500}, n_replications=60, rng=2, check=True).replications
    assert (runs["servers_replaced"] == runs["total_failures"]).all()
    assert runs["total_training_time"].to_numpy() == pytest.approx(20_000 + 500.0 * runs["servers_replaced"])
    close(runs["servers_replaced"], 20.0)
    gone = rf.simulate_training(base, n_replications=20, rng=2).replications
    assert gone[["depleted", "servers_beyond_repair", "servers_replaced"]].drop_duplicates().to_numpy().tolist() == [
        [1, 1, 0]
    ]
    # beyond repair at the third repair alone, at once: the pools of 3 servers last for 9 failures
    third = {**base, "working_pool_size": 3, "beyond_repair_prob": [0.0, 0.0, 1.0], "job_length": 1e9}
    runs = rf.simulate_training(third, n_replications=20, rng=2).replications
    assert runs["total_failures"].tolist() == [9.0] * 20


def test_what_is_asked_of_repairs_by_their_history_is_checked() -> None:
    fitted = {"family": "exponential", "parameters": {"rate": 0.1}}
    for key, values, said in (
        ("beyond_repair_prob", [0.1, 1.1], r"beyond_repair_prob\[1\]"),
        ("replacement_time", "3 dys", "replacement_time: '3 dys' is not a duration"),
        ("repeated_repairs", {"auto_repair_tim": [1]}, "did you mean auto_repair_time"),
        ("repeated_repairs", {"auto_repair_time": []}, "repeated_repairs.auto_repair_time"),
    ):
        with pytest.raises(ArgumentError, match=said):
            training_parameters({key: values})
    with pytest.raises(ArgumentError, match="auto_repair is a fitted family"):
        training_parameters(auto_repair=fitted, repeated_repairs={"auto_repair_time": ["1h", "2h"]})
    assert training_parameters(repeated_repairs={"auto_repair_time": ["1h", 90]}).repeated_repairs.auto_repair_time == (
        60.0,
        90.0,
    )


@pytest.mark.slow
def test_servers_that_are_never_repaired_are_order_statistics() -> None:
    # 20 run, 5 stand by: the 26th server is missing after 6 failures at the rate of 20; no server lost but retired
    rate = 1e-3
    base = {**NO_REPAIRS, "random_failure_rate": rate, "job_size": 20, "working_pool_size": 25, "warm_standbys": 5}
    runs = rf.simulate_training(base, n_replications=1500, rng=3).replications
    close(runs["total_training_time"], 6 / (20 * rate))
    assert (runs["depleted"] == 1).all()
    assert (runs["servers_retired"] == 6).all()
    # an elastic job without standbys goes on until the last of 20 has failed: the mean of the largest of 20
    shrinking = {**base, "working_pool_size": 20, "warm_standbys": 0, "minimum_size": 1}
    runs = rf.simulate_training(shrinking, n_replications=1500, rng=3).replications
    close(runs["total_training_time"], sum(1 / (i * rate) for i in range(1, 21)))
    # the largest of 20 weibull lives that age with the job
    shape = 2.0
    aged = {**shrinking, "failure_distribution": "weibull", "weibull_shape": shape}
    runs = rf.simulate_training(aged, n_replications=1500, rng=3).replications
    scale = 1 / rate / math.gamma(1 + 1 / shape)
    largest = scale * np.random.default_rng(1).weibull(shape, (200_000, 20)).max(axis=1)
    close(runs["total_training_time"], largest.mean())


@pytest.mark.slow
def test_a_repair_shop_with_few_crews_is_a_queue() -> None:
    # failures of 50 servers at a constant rate, spares without end: M/M/c with c = 3
    rate, mean, crews = 1e-3, 50.0, 3
    params = {
        **NO_REPAIRS,
        "retirement": Retirement(policy="never"),
        "random_failure_rate": rate,
        "job_size": 50,
        "working_pool_size": 400,
        "warm_standbys": 0,
        "auto_repair_time": mean,
        "auto_crews": crews,
        "job_length": 1e5,
    }
    result = rf.simulate_training(params, n_replications=8, rng=4, trace=True)
    load = 50 * rate * mean
    terms = [load**k / float(np.prod(np.arange(1, k + 1))) for k in range(crews + 1)]
    waits = terms[-1] * crews / (crews - load)
    queue = waits / (sum(terms[:-1]) + waits) * load / (crews - load)
    lengths = []
    for i in range(8):
        states = states_over_time(result, i)
        spans = np.diff(states.index.to_numpy())
        lengths.append(float(np.average(states["auto_queue"].to_numpy()[:-1], weights=spans)))
    close(lengths, queue)


def test_checkpoints_cost_what_renewal_theory_says() -> None:
    # one server class, instant repair: segments of 100 min and a save of 5, recovery 20: the exact expected time of a
    # segment is (e^(lambda (100 + 5)) - 1) (1 / lambda + 20) where failures during the recovery cannot happen
    rate, size, every, save, recovery, segments = 1e-4, 20, 100.0, 5.0, 20.0, 40
    params = {
        "random_failure_rate": rate,
        "systematic_failure_fraction": 0.0,
        "job_size": size,
        "warm_standbys": 60,
        "working_pool_size": 400,
        "spare_pool_size": 0,
        "auto_repair_time": 0.0,
        "prob_auto_to_manual": 0.0,
        "recovery_time": recovery,
        "host_selection_time": 0.0,
        "checkpoint_every": every,
        "checkpoint_save": save,
        "job_length": segments * every,
    }
    total = rate * size
    expected = (segments - 1) * np.expm1(total * (every + save)) * (1 / total + recovery)
    expected += np.expm1(total * every) * (1 / total + recovery)
    runs = rf.simulate_training(params, n_replications=2000, rng=5).replications
    close(runs["total_training_time"], expected)
    assert (runs["total_compute_time"] - segments * every).abs().max() < 1e-6


def test_weibull_lives_that_are_drawn_anew_are_the_least_of_many() -> None:
    rate, size, shape = 1e-3, 30, 0.6
    params = {
        **NO_REPAIRS,
        "retirement": Retirement(policy="never"),
        "random_failure_rate": rate,
        "job_size": size,
        "working_pool_size": 60,
        "failure_distribution": "weibull",
        "weibull_shape": shape,
        "renew_on_restart": True,
        "job_length": 2e4,
    }
    runs = rf.simulate_training(params, n_replications=200, rng=6).replications
    close(runs["total_failures"], 2e4 * rate * size ** (1 / shape), z=5.0)


@pytest.mark.parametrize(("family", "bad"), [("weibull", 0.0), ("lognormal", 0.0), ("weibull", 0.25)])
def test_servers_that_have_long_been_running_fail_at_the_rate_of_a_log(family: str, bad: float) -> None:
    """In steady operation the mean number of failures is time over mean life, whatever the family."""
    rate, size = 1e-4, 40
    params = {
        **NO_REPAIRS,
        "retirement": Retirement(policy="never"),
        "random_failure_rate": rate,
        "job_size": size,
        "working_pool_size": size,
        "spare_pool_size": 0,
        "failure_distribution": family,
        "weibull_shape": 0.6,
        "lognormal_sigma": 1.5,
        "systematic_failure_fraction": bad,
        "job_length": 2000.0,
        "auto_repair_fail_prob": 1.0,
        "manual_repair_fail_prob": 1.0,
    }
    steady = rf.simulate_training({**params, "ages": "steady"}, n_replications=1500, rng=6).replications
    expected = 2000.0 * rate * size * (1.0 + 5.0 * bad)
    close(steady["total_failures"], expected, z=4.5)
    new = rf.simulate_training(params, n_replications=300, rng=6).replications
    assert abs(new["total_failures"].mean() - expected) > 0.3 * expected


def test_the_same_seed_gives_the_same_runs() -> None:
    one = rf.simulate_training(SMALL, n_replications=9, rng=7, workers=1)
    two = rf.simulate_training(SMALL, n_replications=9, rng=7, workers=3)
    assert one.replications.equals(two.replications)
    assert not one.replications.equals(rf.simulate_training(SMALL, n_replications=9, rng=8).replications)
    assert one.replications[:4].equals(rf.simulate_training(SMALL, n_replications=4, rng=7).replications)


def test_policies_of_the_users_own_do_as_the_built_in_ones() -> None:
    def fewest_failures(servers: Servers, minute: float) -> np.ndarray:
        assert minute >= 0.0
        return servers.failures

    class Window:
        """Three failures in a week."""

        def __call__(self, server: Server, minute: float) -> bool:
            return len(server.failure_times) == 3 and server.failure_times[0] >= minute - 7 * 1440

    base = {**SMALL, "random_failure_rate": 0.3 / 1440}
    built_in = {**base, "host_selection": "fewest_failures", "retirement": Retirement(max_failures=3)}
    theirs = rf.simulate_training(built_in, n_replications=4, rng=9)
    ours = rf.simulate_training(
        {**base, "retirement": Retirement(policy="never", max_failures=3)},
        n_replications=4,
        rng=9,
        host_selection=fewest_failures,
        retirement=Window(),
    )
    assert theirs.replications.equals(ours.replications)
    assert theirs.outputs.loc["servers_retired", "mean"] > 0.0


def test_a_policy_gives_a_key_per_server() -> None:
    with pytest.raises(ArgumentError, match=r"keys of shape \(3,\); give 54, one per server"):
        rf.simulate_training(SMALL, n_replications=1, host_selection=lambda servers, _: servers.age[:3])


def test_a_policy_of_the_users_own_serves_several_jobs() -> None:
    jobs = tuple(TrainingJob(name=name, job_size=16, job_length=5_000) for name in "ab")
    shared = {**SMALL, "jobs": jobs}
    own = rf.simulate_training(
        shared, n_replications=2, rng=1, check=True, host_selection=lambda servers, _: servers.age
    )
    assert (own.replications["depleted"] == 0).all()


def test_more_replications_until_the_time_is_known() -> None:
    loose = rf.simulate_training(SMALL, n_replications=2, rng=1, relative_accuracy=0.05)
    precise = rf.simulate_training(SMALL, n_replications=2, rng=1, relative_accuracy=0.002)
    row = precise.outputs.loc["total_training_time"]
    assert row["high"] - row["mean"] <= 0.002 * row["mean"]
    assert len(precise.replications) > len(loose.replications)


def test_the_time_of_few_runs_is_not_below_the_work() -> None:
    two_days = {**SMALL, "jobs": (), "job_length": 2880.0, "random_failure_rate": 1e-5}
    cut = 0
    for seed in range(8):
        times = rf.simulate_training(two_days, n_replications=3, rng=seed).outputs.loc["total_training_time"]
        student = times["mean"] - 4.302653 * times["sd"] / np.sqrt(3.0)
        assert times["low"] == pytest.approx(max(student, 2880.0), rel=1e-6)
        assert times["low"] <= times["mean"] <= times["high"]
        cut += student < 2880.0
    assert cut > 2
    jobs = tuple(TrainingJob(name=name, job_size=20, job_length=length) for name, length in (("a", 2000), ("b", 4000)))
    both = rf.simulate_training({**SMALL, "jobs": jobs}, n_replications=3, rng=1)
    for times, work in ((both.of_job("a"), 2000.0), (both.of_job("b"), 4000.0), (both.outputs, 4000.0)):
        assert times.loc["total_training_time", "low"] >= work
    one = rf.simulate_training(two_days, n_replications=1).outputs.loc["total_training_time"]
    assert np.isnan(one["low"])


def test_a_job_that_hardly_gets_on_ends_with_a_message() -> None:
    stuck = {**SMALL, "checkpoint_every": 10_000, "random_failure_rate": 0.1, "max_events": 20_000}
    with pytest.raises(DataError, match=r"no end after 20,000 events.*raise max_events"):
        rf.simulate_training(stuck, n_replications=1)


def test_the_first_of_several_jobs_comes_first() -> None:
    jobs = tuple(TrainingJob(name=name, job_size=20, job_length=20_000, minimum_size=4) for name in "ab")
    shared = {**SMALL, "working_pool_size": 40, "spare_pool_size": 0, "jobs": jobs}
    result = rf.simulate_training(shared, n_replications=20, rng=10)
    first, second = (result.of_job(name).loc["total_training_time", "mean"] for name in "ab")
    assert first < second
    assert result.of_job("b").loc["interruptions", "mean"] >= 0.0
    assert set(result.to_dict()["jobs"]) == {"a", "b"}
    assert result.findings[1].startswith("jobs: a takes ")


def test_a_job_of_higher_priority_takes_servers_rather_than_waiting() -> None:
    """Each failed server is away for the rest of the run: the second job always has enough for the first."""
    jobs = tuple(TrainingJob(name=name, job_size=10, job_length=10_000, minimum_size=10) for name in "ab")
    shared = {**SMALL, "working_pool_size": 24, "spare_pool_size": 0, "random_failure_rate": 5e-5, "jobs": jobs}
    away = {"auto_repair_time": 1e6, "systematic_failure_fraction": 0.0}
    result = rf.simulate_training({**shared, **away}, n_replications=5, rng=1)
    assert result.of_job("a").loc["job_stall_count", "mean"] == 0.0


def test_shifts_of_manual_repairs_by_hand() -> None:
    def ends(now: float, work: float, begin: float = 480.0, end: float = 1080.0, days: int = 0b0011111) -> float:
        return float(shift_end(now, work, begin, end, days))

    day = 1440.0
    assert ends(600.0, 60.0) == 660.0  # within the shift
    assert ends(0.0, 60.0) == 540.0  # before it
    assert ends(1050.0, 60.0) == day + 510.0  # over night
    assert ends(4 * day + 1050.0, 60.0) == 7 * day + 510.0  # over the weekend
    assert ends(5 * day, 1200.0) == 8 * day + 1080.0  # two full shifts, from a Saturday on
    assert ends(12.5, 30.0, 0.0, day, 127) == 42.5


def test_silent_corruptions_cost_what_ran_until_they_were_found() -> None:
    # nothing else fails and progress is kept at every moment: each corruption loses the running time until it is found
    delay, recovery = 300.0, 20.0
    params = {
        **SMALL,
        "random_failure_rate": 0.0,
        "corruption_rate": 2e-6,
        "corruption_delay": delay,
        "recovery_time": recovery,
        "job_length": 400_000,
        "warm_standbys": 8,
    }
    runs = rf.simulate_training(params, n_replications=60, rng=11).replications
    close(runs["total_lost_time"] / runs["corruptions_found"], delay)
    close(runs["corruptions_found"] + runs["undetected_corruptions"], 2e-6 * 40 * 400_000)
    assert (runs["total_recovery_time"] == recovery * runs["corruptions_found"]).all()


def test_racks_and_the_whole_cluster_fail_at_their_rates() -> None:
    params = {
        **SMALL,
        "random_failure_rate": 0.0,
        "rack_size": 6,
        "rack_failure_rate": 2e-5,
        "rack_repair_time": 60.0,
        "cluster_failure_rate": 1e-4,
        "cluster_repair_time": 200.0,
        "job_length": 100_000,
        "return_borrowed": "never",
    }
    runs = rf.simulate_training(params, n_replications=80, rng=12).replications
    # a cluster failure is counted where it stops the job, whose time down is at most that of the cluster
    running = runs["total_compute_time"]
    close(runs["cluster_failures"] / running, 1e-4)
    close(runs["total_down_time"] / runs["cluster_failures"], 200.0, z=5.0)
    assert (runs["rack_failures"] > 0).all()
    assert runs["rack_failures"].mean() < 9 * 2e-5 * running.mean()
    # where one of its six servers fails, 40 of 54 such failures hit the job
    runs = rf.simulate_training({**params, "rack_share": 1 / 6}, n_replications=80, rng=12, check=True).replications
    assert runs["rack_failures"].mean() == pytest.approx(
        9 * 2e-5 * runs["total_compute_time"].mean() * 40 / 54, rel=0.1
    )


SCORED = Retirement(policy="score")
PROBABILITY = st.sampled_from([0.0, 0.3, 0.8, 1.0])
CONFIGURATIONS = st.fixed_dictionaries(
    {
        "job_size": st.integers(1, 12),
        "warm_standbys": st.integers(0, 4),
        "working_pool_size": st.integers(16, 20),
        "spare_pool_size": st.integers(0, 5),
        "random_failure_rate": st.sampled_from([0.0, 1e-4, 1e-3]),
        "systematic_failure_fraction": PROBABILITY,
        "failure_distribution": st.sampled_from(["exponential", "weibull"]),
        "weibull_shape": st.sampled_from([0.6, 2.0]),
        "renew_on_restart": st.booleans(),
        "diagnosis_probability": PROBABILITY,
        "diagnosis_uncertainty": PROBABILITY,
        "prob_auto_to_manual": PROBABILITY,
        "return_borrowed": st.sampled_from(["never", "at_selection", "at_once"]),
        "rack_size": st.integers(1, 9),
        "missed_diagnosis": st.sampled_from(["stays", "swapped"]),
        "refill_standbys": st.sampled_from(["own", "any"]),
        "host_selection": st.sampled_from(["random", "fewest_failures", "highest_score", "most_reliable", "packed"]),
        "rack_failure_rate": st.sampled_from([0.0, 1e-5]),
        "cluster_failure_rate": st.sampled_from([0.0, 1e-4]),
        "corruption_rate": st.sampled_from([0.0, 1e-5]),
        "checkpoint_every": st.sampled_from([0.0, 200.0]),
        "auto_crews": st.sampled_from([None, 1]),
        "minimum_size": st.sampled_from([None, 1]),
        "retirement": st.sampled_from([Retirement(policy="never"), Retirement(max_failures=2), SCORED]),
        "bad_server_regeneration": st.booleans(),
        "bad_server_regen_interval": st.just(900.0),
        "recovery_time": st.sampled_from([0.0, 30.0]),
        "job_length": st.just(5000.0),
        "max_events": st.just(200_000),
    }
)


@pytest.mark.slow
@examples(40, derandomize=True)
@given(CONFIGURATIONS, st.booleans())
def test_any_configuration_keeps_its_servers_and_minutes(values: dict[str, Any], program: bool) -> None:
    result = rf.simulate_training(values, n_replications=2, rng=1, program_semantics=program, check=True)
    runs = result.replications
    assert (runs["total_training_time"] >= runs["total_compute_time"]).all()
    finished = runs[runs["depleted"] == 0]
    assert (finished["total_compute_time"] * 1.0001 >= 5000.0).all()


def test_a_cluster_that_empties_says_so_and_no_limit_is_negative() -> None:
    # three servers can be lost; every repaired one is retired
    empties = {
        "job_size": 10,
        "warm_standbys": 1,
        "working_pool_size": 12,
        "spare_pool_size": 1,
        "job_length": "300 days",
        "random_failure_rate": 1e-4,
        "retirement": Retirement(max_failures=1, window_minutes="900 days"),
    }
    for n in (1, 2, 3, 9):
        result = rf.simulate_training(empties, n_replications=n, rng=3)
        assert result.outputs.loc["depleted", "mean"] == 1.0
        assert result.headline.startswith("training does not finish: after ")
        limits = result.outputs[["low", "high"]]
        assert not (limits < 0.0).to_numpy().any()
        assert not (limits.loc[["etr", "goodput", "depleted"]] > 1.0).to_numpy().any()


def test_a_time_that_is_none_asks_for_minutes() -> None:
    with pytest.raises(ArgumentError, match=r"job_length: '3 dys' is not a duration; give minutes as a number"):
        training_parameters(job_length="3 dys")
    for key, wanted in (
        ("job_size", "a whole number"),
        ("diagnosis_probability", "a number"),
        ("renew_on_restart", "true or false"),
    ):
        with pytest.raises(ArgumentError, match=f"{key}: this cannot be 'many'; it must be {wanted}"):
            training_parameters({key: "many"})


def test_without_a_failure_there_is_no_time_until_one() -> None:
    quiet = {**SMALL, "random_failure_rate": 1e-12, "systematic_failure_rate_multiplier": 0.0, "job_length": "1h"}
    result = rf.simulate_training(quiet, n_replications=3, rng=1)
    assert result.outputs.loc["total_failures", "max"] == 0.0
    assert result.outputs.loc["avg_run"].isna().all()
    assert result.to_dict()["outputs"]["avg_run"]["mean"] is None
    some = rf.simulate_training({**quiet, "random_failure_rate": 2e-4}, n_replications=20, rng=1)
    failed = some.replications["total_failures"] > 0
    assert 0 < failed.sum() < 20
    assert some.outputs.loc["avg_run", "mean"] == pytest.approx(some.replications["avg_run"][failed].mean())
    assert some.outputs.loc["avg_run", "min"] > 0.0


def test_shares_of_time_are_those_of_the_ratio() -> None:
    run = rf.simulate_training({"job_size": 4, "working_pool_size": 5, "job_length": "2 days"}, n_replications=2, rng=1)
    table = run.replications.copy()
    times = [name for name in table if str(name).startswith("total_") and str(name).endswith("_time")]
    table[times] = 0.0
    table["total_compute_time"], table["total_lost_time"] = [60.0, 820.0], [40.0, 180.0]
    table["total_training_time"], table["etr"] = [100.0, 1000.0], [0.6, 0.82]
    told = TrainingSimulation(run.parameters, table, 0.95, 0.0).findings
    assert "effective training ratio 71 %" in told[0]
    assert told[2] == "Time: compute 71 %, lost 29 %."  # not 80 %, of both runs together
