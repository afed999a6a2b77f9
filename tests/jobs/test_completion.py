from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from relfit.errors import ArgumentError
from relfit.families import Exponential, Gamma, Lognormal, Weibull
from relfit.jobs import Checkpoint, Job, completion_time, simulate_completion
from relfit.jobs.job_checkpoints import expected_exponential, expected_paper, expected_with_checkpoints
from relfit.jobs.restart_distribution import RestartDistribution
from relfit.system import System


def fixed(hours: float) -> Job:
    return Job(hours, lambda k: np.ones_like(k))


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.8, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("length", [1e-3, 1.0, 30.0])
def test_expected_agrees_with_mpmath(shape: float, length: float) -> None:
    with mp.workdps(40):
        b, t = mp.mpf(shape), mp.mpf(length)
        hazard = 3 * t**b
        part = mp.gammainc(1 / b, 0, hazard) / b * 3 ** (-1 / b)
        wanted = mp.log(part * mp.exp(hazard) + 2 * mp.expm1(hazard))
    done = completion_time(System(Weibull(shape, [1.0] * 3)), Job(length, lambda k: np.ones_like(k), 2.0))
    assert done.log_expected == pytest.approx(float(wanted), rel=1e-9, abs=1e-9)


def test_exponential_closed_form_and_papers_convention() -> None:
    system = System(Exponential([0.001, 0.002, 0.003]))
    job = Job("600h", None, "2h")
    mean, length = 1.0 / 0.006, 200.0
    growth = np.expm1(length / mean)
    assert completion_time(system, job).expected == pytest.approx((mean + 2.0) * growth, rel=1e-10)
    paper = completion_time(system, job, convention="paper")
    assert paper.expected == pytest.approx(length + (mean + 2.0) * growth, rel=1e-10)
    assert paper.lost == pytest.approx(mean)
    exact = completion_time(system, job)
    assert length + (exact.lost + 2.0) * exact.failures == pytest.approx(exact.expected, rel=1e-10)


MIXED = System(
    [Weibull(0.6, 400.0), Weibull(1.8, 300.0), Lognormal(5.5, 1.2), Gamma(0.7, 500.0), Exponential(2e-3)],
    ages=[50.0, 100.0, 10.0, 0.0, 7.0],
)


@pytest.mark.parametrize("plan", [None, Checkpoint(9.0, 0.4, 0.7)])
@pytest.mark.parametrize("after", ["same", "as_new"])
def test_agrees_with_simulation(plan: Checkpoint | None, after: str) -> None:
    job = Job(60.0, lambda k: np.ones_like(k), 1.5, plan)
    done = completion_time(MIXED, job, after_failure=after)
    runs = simulate_completion(MIXED, 60.0, restart=1.5, checkpoint=plan, after_failure=after, runs=20_000, rng=4)
    error = runs.times.std() / np.sqrt(runs.times.size)
    assert abs(done.expected - runs.times.mean()) < 4.0 * error
    assert abs(done.failures - runs.failures.mean()) < 4.0 * runs.failures.std() / np.sqrt(runs.times.size)
    if plan is None:
        for p in (0.5, 0.9, 0.99):
            at = float(done.quantile(p))
            share = (runs.times <= at + 1e-9).mean()
            wanted = max(p, done.success)
            assert abs(share - wanted) < 4.0 * np.sqrt(wanted * (1.0 - wanted) / runs.times.size)


def test_nodes_that_go_on_ageing() -> None:
    # exponential nodes have no age: the simulation must give the closed form
    system = System(Exponential([2e-3] * 5))
    aged = completion_time(system, fixed(100.0), after_failure="ageing", runs=20_000, rng=1)
    assert aged.method == "simulation"
    assert abs(aged.expected - completion_time(system, fixed(100.0)).expected) < 4.0 * aged.standard_error
    # one node that wears out: as after every failure it is new, the same as a system as new
    one = System(Weibull(3.0, [100.0]), ages=60.0)
    aged = completion_time(one, fixed(50.0), after_failure="ageing", runs=20_000, rng=2)
    assert (
        abs(aged.expected - completion_time(one, fixed(50.0), after_failure="as_new").expected)
        < 4.0 * aged.standard_error
    )


def test_distribution_against_fine_recursion_and_tail() -> None:
    rate, length, restart = 0.02, 30.0, 7.3
    law = RestartDistribution(lambda x: rate * np.asarray(x), length, restart)
    # two failures at most: by the density of sums of truncated exponentials
    x = np.linspace(0.0, length, 4001)
    density = rate * np.exp(-rate * x)
    alive = np.exp(-rate * length)
    for late in (5.0, 10.0, 14.0):
        one = 1.0 - np.exp(-rate * np.clip(late - restart, 0.0, length))
        assert float(law.cdf(length + late)) == pytest.approx(alive * (1.0 + one), abs=2e-7)
    late = 20.0
    inside = x[x <= late - 2 * restart]
    two = np.trapezoid(density[: inside.size] * -np.expm1(-rate * (late - 2 * restart - inside)), inside)
    one = 1.0 - np.exp(-rate * (late - restart))
    assert float(law.cdf(length + late)) == pytest.approx(alive * (1.0 + one + two), abs=2e-5)
    # far out the tail is exponential, and the mean of the distribution is the expected time
    t = np.linspace(length, 3000.0, 60_001)
    mean = length + np.trapezoid(law.sf(t), t)
    assert mean == pytest.approx((1.0 / rate + restart) * np.expm1(rate * length), rel=1e-4)
    assert law.quantile(law.cdf([60.0, 200.0, 900.0])) == pytest.approx([60.0, 200.0, 900.0], rel=1e-3)


def test_never_finishing_is_said_and_does_not_overflow() -> None:
    done = completion_time(System(Weibull(0.8, [10.0] * 1000)), fixed(1e5))
    assert done.status == "never"
    assert not done.finishes
    assert np.isinf(done.expected)
    assert np.isfinite(done.log_expected)
    assert "will not finish" in done.sentence
    assert done.to_dict()["expected"] is None
    assert float(done.finish_probability(1e9)) == 0.0
    assert completion_time(System(Exponential([1.0])), Job(5000.0, None, 0.0, Checkpoint(2000.0))).status == "never"


@pytest.mark.parametrize("rate", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("plan", [Checkpoint(4.0, 0.1, 0.3), Checkpoint(1000.0, 0.1), Checkpoint(7.3)])
def test_checkpoints_of_exponential_systems(rate: float, plan: Checkpoint) -> None:
    walked = expected_with_checkpoints(lambda x: rate * np.asarray(x), 100.0, plan, 0.5)
    assert walked == pytest.approx(float(expected_exponential(rate, 100.0, plan, 0.5)), rel=1e-9)
    if plan.interval >= 100.0:  # a single segment is a restart from zero, but for the read
        assert walked == pytest.approx((1.0 / rate + 0.5) * np.expm1(rate * 100.0), rel=1e-9)


def test_checkpoints_as_in_the_paper() -> None:
    plan = Checkpoint(250.0 / 3600.0, 0.05 / 3600.0, 360.0 / 3600.0)
    rate = 0.3
    efficiency = plan.interval / (
        np.expm1(rate * plan.interval) * (1.0 / rate + 60.0 / 3600.0 + plan.restore) + plan.save
    )
    assert float(expected_paper(1.0 / rate, 40.0, plan, 60.0 / 3600.0)) == pytest.approx(40.0 / efficiency, rel=1e-12)


def test_interval_holds_the_estimate() -> None:
    import relfit as rf

    lives = Weibull([[0.8]], 1000.0).sample((60,), rng=3).reshape(1, -1)
    system = System.from_fits(rf.fit(lives, "weibull"), nodes=10, ages=50.0)
    done = completion_time(system, "500h", interval=0.9, draws=99, rng=1)
    assert done.low < done.expected < done.high
    assert done.low > done.length
    again = completion_time(system, "500h", interval=0.9, draws=99, rng=1)
    assert (again.low, again.high) == (done.low, done.high)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"work": "0h"}, "work is 0 hours"),
        ({"work": 10.0, "restart": -1.0}, "restart takes -1 hours"),
        ({"work": 10.0, "convention": "other"}, "'exact' or 'paper'"),
        ({"work": 10.0, "after_failure": "gone"}, "use one of same, as_new, ageing"),
        ({"work": 10.0, "after_failure": "as_new", "convention": "paper"}, "knows only"),
        ({"work": 10.0, "size": 9}, "size is 9 of 5 nodes"),
        ({"work": 10.0, "interval": 95}, "not between 0 and 1"),
        ({"work": 10.0, "checkpoint": 3.0}, "give Checkpoint"),
    ],
)
def test_bad_input(arguments, text) -> None:
    with pytest.raises(ArgumentError, match=text):
        completion_time(MIXED, **arguments)
    with pytest.raises(ArgumentError, match="interval of the checkpoints"):
        Checkpoint(0.0)
