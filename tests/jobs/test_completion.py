from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

from relfit.base.errors import ArgumentError, DataError
from relfit.fitting.families import Exponential, Gamma, Loglogistic, Lognormal, Weibull
from relfit.system import System
from relfit.system.jobs import (
    Amdahl,
    Checkpoint,
    Job,
    best_size,
    completion_distribution,
    completion_time,
    expected_time,
    time_to_failure,
)
from relfit.system.jobs._time_to_failure import has_constant_rates, table_of
from relfit.system.jobs.checkpoint import expected_exponential, slowdown_exponential
from relfit.system.jobs.completion import expected_paper
from relfit.system.jobs.completion_distribution import RestartDistribution

ONE_SPEED = Amdahl(0.0)


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.8, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("length", [1e-3, 1.0, 30.0])
def test_expected_agrees_with_mpmath(shape: float, length: float) -> None:
    with mp.workdps(40):
        b, t = mp.mpf(shape), mp.mpf(length)
        hazard = 3 * t**b
        part = mp.gammainc(1 / b, 0, hazard) / b * 3 ** (-1 / b)
        wanted = mp.log(part * mp.exp(hazard) + 2 * mp.expm1(hazard))
    done = completion_time(System(Weibull(shape, [1.0] * 3)), Job(length, ONE_SPEED, 2.0))
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


def test_rates_that_never_change() -> None:
    equal = System(Exponential([0.01, 0.02]))
    assert has_constant_rates(equal)
    assert not has_constant_rates(System(Exponential([0.01, 0.02]), tolerance=1))  # two nodes on, then one
    assert not has_constant_rates(System([Exponential(0.01), Weibull(0.7, 100.0)]))
    assert float(slowdown_exponential(np.inf, 2.0, 0.5, 0.1, 0.1)) == 1.25  # without failures only the saves


def test_lost_hours_of_failures_that_hardly_happen() -> None:
    done = completion_time(System(Exponential([1e-13])), Job(10.0, ONE_SPEED, 2.0))
    assert done.lost == 5.0  # a failure of a constant rate is as likely at any hour


def test_the_papers_convention_has_the_papers_interval() -> None:
    system, job = System(Weibull(0.6, [300.0] * 2)), Job(500.0, ONE_SPEED, 1.0, Checkpoint(save=0.5, restore=0.25))
    plan = completion_time(system, job, convention="paper").job.checkpoint
    assert plan is not None
    mean = float(system.mttf())
    a = mean + 1.25  # as in the sparing paper's appendix C
    assert plan.every == pytest.approx(mean * (1.0 + mp.lambertw((0.5 / a - 1.0) / mp.e).real), rel=1e-10)


MIXED = System(
    [Weibull(0.6, 400.0), Weibull(1.8, 300.0), Lognormal(5.5, 1.2), Gamma(0.7, 500.0), Exponential(2e-3)],
    ages=[50.0, 100.0, 10.0, 0.0, 7.0],
)


def followed(
    system: System, later: System, work: float, plan: Checkpoint | None, restart: float, runs: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Times and failures of runs of one job, one event after the other."""
    rng = np.random.default_rng(seed)
    lives = [iter(one.sample(runs * 8, rng).tolist()) for one in (system, later)]
    every = np.inf if plan is None else plan.every
    times, failures = np.zeros(runs), np.zeros(runs)
    for run in range(runs):
        clock, saved, read = 0.0, 0.0, 0.0
        life = next(lives[0])
        while True:
            at = read
            while saved + every < work and at + every + plan.save <= life:
                saved, at = saved + every, at + every + plan.save
            if at + min(every, work - saved) <= life and saved + every >= work:
                break
            clock, failures[run] = clock + life + restart, failures[run] + 1
            read = 0.0 if plan is None else plan.restore
            life = next(lives[1])
        times[run] = clock + at + work - saved
    return times, failures


@pytest.mark.parametrize("plan", [None, Checkpoint(9.0, 0.4, 0.7)])
@pytest.mark.parametrize("after", ["same", "as_new"])
@pytest.mark.slow
def test_agrees_with_jobs_followed(plan: Checkpoint | None, after: str) -> None:
    job = Job(60.0, ONE_SPEED, 1.5, plan)
    done = completion_time(MIXED, job, after_failure=after)
    later = MIXED if after == "same" else MIXED.at_age(0.0)
    times, failures = followed(MIXED, later, 60.0, plan, 1.5, 10_000, 4)
    assert abs(done.expected - times.mean()) < 4.0 * times.std() / 100.0
    assert abs(done.failures - failures.mean()) < 4.0 * failures.std() / 100.0
    for p in (0.5, 0.9, 0.99):
        at = float(done.quantile(p))
        chance = max(p, done.success) if plan is None else p
        # with checkpoints the quantile is that of 10 000 runs itself
        width = 4.0 * np.sqrt(chance * (1.0 - chance) / 10_000) * (1.0 if plan is None else 1.5)
        assert abs((times <= at + 1e-9).mean() - chance) < width


def test_asynchronous_saves_have_no_completion_time() -> None:
    with pytest.raises(ArgumentError, match="stop the work"):
        expected_time(24.0, 100.0, Checkpoint(2.0, 0.1, slowed=0.5))
    with pytest.raises(ArgumentError, match="checkpoint interval is not known"):
        expected_time(24.0, 100.0, Checkpoint(save=0.1))


@pytest.mark.parametrize("restart", [0.0, 7.3, 400.0])
def test_distribution_by_hand_and_in_the_tail(restart: float) -> None:
    rate, length = 0.02, 30.0
    life = time_to_failure(Weibull(1.0, 1.0 / rate))
    law = RestartDistribution(life, life, length, restart)
    alive = np.exp(-rate * length)
    for late in (5.0, 7.8, 10.0, 14.0):
        if late < 2.0 * restart:  # one failure at most
            one = 1.0 - np.exp(-rate * max(late - restart, 0.0)) if late > restart else 0.0
            assert float(law.cdf(length + late)) == pytest.approx(alive * (1.0 + one), abs=1e-8)
    if restart == 7.3:  # two failures at most: by the density of the sum of two
        late = 20.0
        x = np.linspace(0.0, late - 2 * restart, 4001)
        two = integrate.trapezoid(rate * np.exp(-rate * x) * -np.expm1(-rate * (late - 2 * restart - x)), x)
        one = 1.0 - np.exp(-rate * (late - restart))
        assert float(law.cdf(length + late)) == pytest.approx(alive * (1.0 + one + two), abs=1e-6)
    # the mean of the distribution is the expected time
    expected = (1.0 / rate + restart) * np.expm1(rate * length)
    t = np.linspace(length, length + 40.0 * expected, 200_001)
    assert length + integrate.trapezoid(law.sf(t), t) == pytest.approx(expected, rel=2e-4)
    if restart == 7.3:  # elsewhere there are times at which no job ends
        assert law.quantile(law.cdf([60.0, 200.0, 900.0])) == pytest.approx([60.0, 200.0, 900.0], rel=1e-3)


@pytest.mark.parametrize("length", [100.0, 220.0])
def test_mean_of_the_distribution_where_most_attempts_fail(length: float) -> None:
    life = time_to_failure(Weibull(1.0, 50.0))
    law = RestartDistribution(life, life, length, 4.0)
    expected = 54.0 * np.expm1(length / 50.0)
    t = np.linspace(length, length + 40.0 * expected, 400_001)
    assert length + integrate.trapezoid(law.sf(t), t) == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("pooled", [False, True])
def test_limits_are_reflected_but_for_pooled_nodes(pooled: bool) -> None:
    import relfit as rf
    from relfit.fitting import pool
    from relfit.system.jobs.completion import limits_of_draws

    times = rf.LifeData.from_array(Weibull(0.8, 1000.0).sample((4, 50), rng=3))
    fits = pool(Weibull, times) if pooled else rf.fit(times, "weibull")
    system = (getattr(rf, "system_from_fits", None) or System.from_fits)(fits)
    # what failures add is drawn from 1 to 16 hours around 2, evenly on the log scale
    add = np.exp(np.linspace(np.log(1.0), np.log(16.0), 10_001))
    low, high = limits_of_draws(system, np.log([12.0]), np.log(10.0 + add)[:, None], np.log([10.0]), 0.5)
    wanted = (10.0 + 2.0, 10.0 + 8.0) if pooled else (10.0 + 4.0 / 8.0, 10.0 + 4.0 / 2.0)
    assert (low[0], high[0]) == pytest.approx(wanted, rel=1e-3)


def test_quantiles_far_out_follow_the_number_of_attempts() -> None:
    # almost no attempt succeeds: the completion time is as good as exponential
    done = completion_time(System(Exponential([0.3])), Job(100.0, None, 1.0))
    assert done.status == "ok"
    assert float(done.quantile(0.5)) == pytest.approx(np.log(2.0) * done.expected, rel=1e-6)


def test_never_finishing_is_said_and_does_not_overflow() -> None:
    done = completion_time(System(Weibull(0.8, [10.0] * 1000)), Job(1e5, ONE_SPEED))
    assert done.status == "never"
    assert done.status == "never"
    assert np.isinf(done.expected)
    assert np.isfinite(done.log_expected)
    assert "will not finish" in done.headline
    assert done.to_dict()["expected"] is None
    assert float(done.finish_probability(1e9)) == 0.0


def test_a_job_is_done_some_time() -> None:
    done = completion_time(System(Weibull(0.8, [500.0] * 3)), Job(20.0, ONE_SPEED))
    assert done.finish_probability([0.0, np.inf]).tolist() == [0.0, 1.0]


def test_no_job_is_done_before_its_work_and_saves_are() -> None:
    done = completion_time(System(Weibull(0.8, [500.0] * 3)), Job(20.0, ONE_SPEED, 0.0, Checkpoint(7.0, 0.5)))
    assert done.least == 20.0 + 2 * 0.5  # the end of the work needs no save
    assert done.finish_probability([done.least - 1e-9, done.least]) == pytest.approx([0.0, done.success], abs=0.02)


@pytest.mark.parametrize(
    ("settings", "hours"),
    [({}, 14.5), ({"exposed": ()}, 10.0), ({"convention": "paper"}, 10.0)],
)
def test_no_failure_in_saves_either(settings, hours) -> None:
    how = dict(settings)
    convention = how.pop("convention", "exact")
    plan = Checkpoint("1h", "30min", "10min", **how)
    job, system = Job("80h", checkpoint=plan), System(Weibull(0.8, [1000.0] * 8), ages=600.0)
    alive = np.exp(-8.0 * (((600.0 + hours) / 1000.0) ** 0.8 - 0.6**0.8))
    done = completion_time(system, job, convention=convention)
    assert done.success == pytest.approx(alive, rel=1e-9)
    assert f"no failure with probability {alive:.3f}" in done.headline
    assert best_size(system, job, convention=convention).success[-1] == pytest.approx(alive, rel=1e-7)


def test_a_job_that_never_saves_is_one_segment() -> None:
    plan = Checkpoint(None, 0.1, 0.2)
    never, once = (expected_exponential(24.0, 10.0, every, plan, 0.3) for every in (np.inf, 10.0))
    assert float(never) == float(once) == pytest.approx(24.3 * np.exp(0.2 / 24.0) * np.expm1(10.0 / 24.0))


def test_a_table_of_hazards_between_and_beside_its_points() -> None:
    """Beside a life that begins at five hours no polynomial goes through the points: lines do."""
    table = table_of(lambda time: np.maximum(time - 5.0, 0.0) / 10.0, 1.0, 100.0)
    on_points = np.exp(table.first + 0.2 * np.arange(89, 92))
    for time, rel in ((on_points, 1e-12), (np.linspace(7.5, 11.0, 30), 0.06), (np.linspace(14.0, 100.0, 30), 1e-4)):
        assert table(np.array([0]), time[None])[0] == pytest.approx((time - 5.0) / 10.0, rel=rel)
    power = table_of(lambda time: 0.1 * time**0.7, 1.0, 100.0)
    far = np.array([1e-12, 1e-9, 1e-3, 90.0, 1e3])
    assert power(np.array([0]), far[None])[0] == pytest.approx(0.1 * far**0.7, rel=1e-9)


def test_a_long_run_needs_a_finite_mean() -> None:
    assert time_to_failure(Loglogistic(3.0, 100.0)).mean() == pytest.approx(float(Loglogistic(3.0, 100.0).mean()))
    with pytest.raises(DataError, match="the long run never comes"):
        time_to_failure(Loglogistic(0.9, 100.0)).mean()
    assert completion_time(System(Exponential([1.0])), Job(5000.0, None, 0.0, Checkpoint(2000.0))).status == "never"


@pytest.mark.parametrize("n", [3, 1500])
def test_first_failures_are_drawn_from_their_distribution(n: int) -> None:
    ages = np.linspace(0.0, 900.0, n)
    life = time_to_failure(Weibull(0.7, np.full(n, 500.0 * n)), ages=ages)
    drawn = life.draw(2000, np.random.default_rng(4))
    assert drawn.shape == (2000,)
    assert stats.kstest(drawn, lambda time: 1.0 - life.sf(time)).pvalue > 1e-3


EXPOSED = [("save", "restore"), (), ("save",), ("restore",)]


@pytest.mark.parametrize("rate", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("plan", [(4.0, 0.1, 0.3), (1000.0, 0.1), (7.3,)])
@pytest.mark.parametrize("exposed", EXPOSED)
def test_any_life_agrees_with_the_closed_form_of_exponential_ones(rate: float, plan, exposed) -> None:
    plan = Checkpoint(*plan, exposed=exposed)
    hidden = Weibull(1.0, 1.0 / rate)  # exponential, but not known as such
    for last_save in (False, True):
        walked = expected_time(hidden, 100.0, plan, 0.5, last_save=last_save)
        assert walked == pytest.approx(expected_time(1.0 / rate, 100.0, plan, 0.5, last_save=last_save), rel=1e-9)
    if plan.every >= 100.0 and exposed == EXPOSED[0]:  # a single segment is a restart from zero, but for the restore
        assert expected_time(hidden, 100.0, plan, 0.5) == pytest.approx((1.0 / rate + 0.5) * np.expm1(rate * 100.0))


def test_first_stretch_has_the_ages_of_now() -> None:
    plan = Checkpoint(2.0, 0.1, 0.5)
    old = expected_time(Weibull(0.5, 24.0), 50, plan, ages="30 days", later=Weibull(0.5, 24.0))
    new = expected_time(Weibull(0.5, 24.0), 50, plan)
    assert old < 0.97 * new
    # a single attempt is enough: then the first life alone counts
    sure = expected_time(Weibull(0.5, 24.0), 50, plan, ages=1e12, later=Weibull(0.5, 5.0))
    assert sure == pytest.approx(50 + 24 * 0.1, rel=1e-3)


def test_later_attempts_meet_another_rate() -> None:
    first, later, work, restart = 24.0, 8.0, 10.0, 0.5
    failure = -np.expm1(-work / first)
    again = (later + restart) * np.expm1(work / later)
    expected = first * failure + failure * (restart + again)
    assert expected_time(first, work, None, restart, later=later) == pytest.approx(expected, rel=1e-9)
    assert expected_time(first, work, Checkpoint(work), restart, later=later) == pytest.approx(expected, rel=1e-9)


def test_long_jobs_go_on_with_the_slope() -> None:
    long = expected_time(Weibull(1.0, 24.0), 120_000, Checkpoint(2.0, 0.1, 0.3), 0.1)
    assert long == pytest.approx(expected_time(24.0, 120_000, Checkpoint(2.0, 0.1, 0.3), 0.1), rel=1e-8)


def test_no_segment_can_be_done() -> None:
    assert expected_time(Weibull(400.0, 1.0), 10, Checkpoint(1, 2.0)) > 1e200
    assert expected_time(24.0, 0.0, Checkpoint(1.0)) == 0.0


def test_runs_follow_the_costs() -> None:
    life = time_to_failure(Weibull(0.6, 24.0), 100.0)
    for exposed in EXPOSED:
        plan = Checkpoint(2.0, 0.1, 0.5, exposed=exposed)
        times = RestartDistribution(life, life, 101.0, 0.2).simulated(plan, 20_000, rng=5)
        mean = expected_time(life, 101.0, plan, 0.2)
        assert abs(times.mean() - mean) < 4.5 * times.std() / np.sqrt(20_000)


def test_checkpoints_as_in_the_paper() -> None:
    plan = Checkpoint(250.0 / 3600.0, 0.05 / 3600.0, 360.0 / 3600.0)
    rate = 0.3
    efficiency = plan.every / (np.expm1(rate * plan.every) * (1.0 / rate + 60.0 / 3600.0 + plan.restore) + plan.save)
    assert float(expected_paper(1.0 / rate, 40.0, plan, 60.0 / 3600.0)) == pytest.approx(40.0 / efficiency, rel=1e-12)


def test_interval_holds_the_estimate() -> None:
    import relfit as rf

    lives = Weibull([[0.8]], 1000.0).sample((60,), rng=3).reshape(1, -1)
    system = rf.system_from_fits(rf.fit(lives, "weibull"), nodes=10, ages=50.0)
    done = completion_time(system, "500h", level=0.9, n_draws=99, rng=1)
    assert done.low < done.expected < done.high
    assert done.low > done.length
    again = completion_time(system, "500h", level=0.9, n_draws=99, rng=1)
    assert (again.low, again.high) == (done.low, done.high)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"work": "0h"}, "work is 0 hours"),
        ({"work": 10.0, "restart": -1.0}, "restart takes -1 hours"),
        ({"work": 10.0, "convention": "other"}, "'exact' or 'paper'"),
        ({"work": 10.0, "after_failure": "gone"}, "use 'same' or 'as_new'"),
        ({"work": 10.0, "after_failure": "as_new", "convention": "paper"}, "knows only"),
        ({"work": 10.0, "size": 9}, "size is 9 of 5 nodes"),
        ({"work": 10.0, "level": 95}, "level is 95"),
        ({"work": 10.0, "checkpoint": 3.0}, "give Checkpoint"),
    ],
)
def test_bad_input(arguments, text) -> None:
    with pytest.raises(ArgumentError, match=text):
        completion_time(MIXED, **arguments)
    with pytest.raises(ArgumentError, match="every of the checkpoints"):
        Checkpoint(0.0)


@pytest.mark.parametrize(("delay", "length"), [(7, 5), (5, 5), (9, 2), (3, 5)])
def test_the_renewal_equation_solved_in_blocks_is_that_of_one_step_after_the_other(delay: int, length: int) -> None:
    rng = np.random.default_rng(delay)
    source, kernel = rng.random(60), 0.5 * rng.random(length)
    expected = source.copy()
    for i in range(60):
        expected[i] += sum(kernel[j] * expected[i - delay - j] for j in range(length) if i - delay - j >= 0)
    np.testing.assert_allclose(completion_distribution._renewal(source, kernel, delay), expected, rtol=1e-10)


def test_of_nodes_of_one_age_the_first_to_fail_is_that_of_as_many_hazards() -> None:
    """Four nodes of 50 hours: the cumulative hazard is four times what one gathers from then on."""
    life = time_to_failure(Weibull(1.7, 100.0), ages=50.0, nodes=4)
    x = np.array([1.0, 30.0, 90.0])
    spent = 4.0 * (((50.0 + x) / 100.0) ** 1.7 - 0.5**1.7)
    np.testing.assert_allclose(life.log_sf(x), -spent, rtol=1e-12)
    np.testing.assert_allclose(life.hazard(x), 4.0 * 1.7 / 100.0 * ((50.0 + x) / 100.0) ** 0.7, rtol=1e-12)
    drawn = life.draw(20_000, np.random.default_rng(5))
    share = -np.expm1(-4.0 * (((50.0 + drawn) / 100.0) ** 1.7 - 0.5**1.7))
    assert stats.kstest(share, "uniform").pvalue > 1e-3


def test_failures_of_a_step_are_split_so_that_its_mean_is_kept() -> None:
    """A hazard of the square root of time: the first step in closed form."""
    life = time_to_failure(Weibull(0.5, 1.0))
    law = RestartDistribution(life, life, 16.0, 0.0)
    near, outer, alive = law._masses(np.sqrt)
    root = np.sqrt(law._step)
    mean = 2.0 * (1.0 - (1.0 + root) * np.exp(-root)) / law._step
    assert alive[1] == pytest.approx(np.exp(-root))
    assert outer[1] == pytest.approx(mean - np.exp(-root), rel=1e-5)
    assert near[0] == pytest.approx(1.0 - mean, rel=1e-5)
