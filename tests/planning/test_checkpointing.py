"""Checkpoint intervals against mpmath, numerical search, published examples, limits and jobs followed by events."""

from __future__ import annotations

import json

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize

from relfit.calibration import Parameters
from relfit.errors import ArgumentError, DataError
from relfit.families import Exponential, Gamma, Loglogistic, Lognormal, Weibull
from relfit.jobs import time_to_failure
from relfit.planning import plan_checkpoints
from relfit.planning.checkpointing import exponential_failures as exact
from relfit.planning.checkpointing.ageing_nodes import simulate_ageing_nodes
from relfit.planning.checkpointing.checkpoint_simulation import simulate_checkpoints
from relfit.planning.checkpointing.renewal_failures import best_fixed_interval, job_time, lattice_sum, renewal_waste
from relfit.planning.checkpointing.schedules import best_schedule, schedule_by_hazard
from relfit.planning.checkpointing.two_level import best_two_levels, two_level_waste, two_level_waste_of
from relfit.planning.job_rate import rate_of_job

EXPOSED = [("save", "restore"), (), ("save",), ("restore",)]
LIVES = [Weibull(0.6, 24.0), Weibull(3.0, 24.0), Lognormal(2.0, 1.5), Loglogistic(3.0, 10.0)]
RUNS = {"runs": 150, "failures": 800}


def within(simulated: tuple[float, float, float], waste: float, level: float = 0.95) -> bool:
    """Whether the exact value lies within some 4.5 standard errors of the simulated one."""
    value, low, high = simulated
    del level
    return abs(value - waste) < 4.5 * (high - low) / 3.92


def three(found: object) -> tuple[float, float, float]:
    return found.waste, found.low, found.high  # type: ignore[attr-defined]


# ------------------------------------------------------------- closed forms


@pytest.mark.parametrize("exposed", EXPOSED)
@pytest.mark.parametrize("save", [1e-15, 1e-9, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 30.0])
def test_optimum_and_expected_time_against_mpmath(save: float, exposed: tuple[str, ...]) -> None:
    with mpmath.workdps(60):
        c, r, d = mpmath.mpf(save), mpmath.mpf("0.3"), mpmath.mpf("0.1")
        cost = (1 + d) * mpmath.exp(r) if "restore" in exposed else 1 + d + r
        inside = c if "save" in exposed else mpmath.mpf(0)
        z = -mpmath.exp(-1 - c) if "save" in exposed else (c / cost - 1) / mpmath.e
        best = 1 + mpmath.lambertw(z).real
        time = (cost * mpmath.expm1(best + inside) + (c - inside)) / best
        found = exact.best_interval(1.0, save, 0.3, 0.1, exposed=exposed)
        assert float(found) == pytest.approx(float(best), rel=1e-14)
        slow = exact.slowdown(1.0, float(best), save, 0.3, 0.1, exposed=exposed)
        assert float(slow) == pytest.approx(float(time), rel=1e-14)


@pytest.mark.parametrize("exposed", EXPOSED)
def test_optimum_against_numerical_search(exposed: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    mu = np.exp(rng.uniform(-3, 8, 40))
    save, restore, downtime = (mu * np.exp(rng.uniform(-8, 1, 40)) for _ in range(3))
    best = exact.best_interval(mu, save, restore, downtime, exposed=exposed)
    at_best = exact.slowdown(mu, best, save, restore, downtime, exposed=exposed)
    for i in range(mu.size):

        def time(log: float, i: int = i) -> float:
            return float(exact.slowdown(mu[i], np.exp(log), save[i], restore[i], downtime[i], exposed=exposed))

        searched = optimize.minimize_scalar(time, bounds=(np.log(mu[i]) - 8, np.log(mu[i]) + 3), method="bounded")
        assert at_best[i] <= searched.fun * (1 + 1e-12)
        assert np.log(best[i]) == pytest.approx(searched.x, abs=2e-3)


def test_dalys_published_examples() -> None:
    minutes = 60 * exact.daly_interval(["24h", "6h", "15min"], "5min", "10min")
    assert minutes.round(1).tolist() == [116.7, 56.7, 9.1]  # printed: 117, 57, 9.1
    assert minutes / 60 == pytest.approx(exact.best_interval(["24h", "6h", "15min"], "5min"), rel=0.01)
    assert exact.daly_interval(1.0, 2.0) == 1.0  # from a save of twice the mean time on
    assert exact.daly_interval(24, 1, 12, order="first") == pytest.approx(np.sqrt(72))


def test_sparing_papers_form() -> None:
    # sparing paper, appendix C, corrected: x = 1 + W0((T_s/A - 1)/e), eff = T_c / ((e^x - 1) A + T_s)
    rate, save, other = 0.5, 0.01, 0.1
    a = 1 / rate + other
    x = 1 + float(mpmath.lambertw((save / a - 1) / mpmath.e).real)
    found = exact.best_interval(1 / rate, save, other, exposed=())
    assert float(found) == pytest.approx(x / rate, rel=1e-12)
    efficiency = x / rate / (np.expm1(x) * a + save)
    assert float(exact.best_waste(1 / rate, save, other, exposed=())) == pytest.approx(1 - efficiency, rel=1e-12)


def test_limits() -> None:
    assert exact.best_interval(24.0, 0.0) == 0.0
    assert exact.best_waste(24.0, 0.0) == pytest.approx(0.0, abs=1e-12)
    assert exact.best_interval(np.inf, 1.0) == np.inf
    assert exact.waste(np.inf, 9.0, 1.0) == pytest.approx(0.1)
    small = exact.best_interval(1e12, 1e-3)
    assert small == pytest.approx(np.sqrt(2e9), rel=1e-6)  # Young
    assert exact.best_waste(1e-3, 10.0) == 1.0
    assert exact.slowdown(1e-3, 1.0, 10.0) == np.inf
    assert exact.expected_time(0.0, 24, 1, 0.1) == 0.0


def test_first_order_waste_and_where_it_ends() -> None:
    best = exact.young_interval(24, 0.1)
    assert exact.first_order_waste(24, best, 0.1, 0.2, 0.3) == pytest.approx(
        exact.first_order_best_waste(24, 0.1, 0.2, 0.3)
    )
    save, both = 0.7, 0.9  # the paper's closed form for nu
    nu = (-np.sqrt(2 * save) + np.sqrt(2 * save + 4 * both)) / (2 * both)
    assert exact.least_mtbf(save, both) == pytest.approx(1 / nu**2)
    assert exact.least_mtbf(save, 0.0) == pytest.approx(2 * save)
    with pytest.raises(ArgumentError, match=r"a save takes 0\.5 hours, its period 0\.4"):
        exact.first_order_waste(24, 0.4, 0.5)


def test_grids_of_cases() -> None:
    mu, save = np.geomspace(1, 1000, 30)[:, None], np.geomspace(0.01, 1, 20)
    best = exact.best_interval(mu, save)
    assert best.shape == (30, 20)
    assert best[3, 4] == exact.best_interval(mu[3, 0], save[4])
    assert np.all(np.diff(best, axis=0) > 0)
    assert np.all(np.diff(best, axis=1) > 0)
    with pytest.raises(ArgumentError, match="cases do not go together"):
        exact.best_interval([1.0, 2.0], [1.0, 2.0, 3.0])


# ---------------------------------------------------------- any distribution


@pytest.mark.parametrize("family", [*LIVES, Weibull(30.0, 7.0), Gamma(0.5, 40.0)])
def test_means_and_lattice_sums(family: Weibull) -> None:
    stretch = time_to_failure(family)
    assert stretch.mean() == pytest.approx(float(family.mean()), rel=1e-9)
    step = 0.01 * float(family.mean())
    count = np.arange(1, 200_001)
    rest = float(stretch.area_from(step * (1 + count[-1]))) / step
    summed = float(family.sf(step * (1 + count)).sum()) + rest
    assert float(lattice_sum(stretch, step, step)) == pytest.approx(summed, rel=1e-7)


def test_joint_stretch_of_nodes() -> None:
    # reliability-aware allocation, chapter 4: three nodes, a = 1542, b = 0.8606
    for x, age, reliability, mttf in [(100, 0, 0.7521, 464.4902), (500, 300, 0.3782, 536.8430)]:
        joint = time_to_failure(Weibull(0.8606, 1542.0), ages=[float(age)] * 3)
        alike = time_to_failure(Weibull(0.8606, 1542.0), ages=age, nodes=3)
        for stretch in (joint, alike):
            assert round(float(stretch.sf(x)), 4) == reliability
            assert stretch.mean() == pytest.approx(mttf, abs=6e-5)
    drawn = joint.draw(40_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(536.843, abs=4.5 * drawn.std() / 200)


def test_of_a_system() -> None:
    from relfit.system import System

    system = System(Weibull(np.array([0.7, 1.4]), np.array([100.0, 80.0])), ages=np.array([50.0, 10.0]))
    direct = time_to_failure(Weibull(np.array([0.7, 1.4]), np.array([100.0, 80.0])), ages=[50.0, 10.0])
    assert time_to_failure(system).mean() == pytest.approx(direct.mean(), rel=1e-9)
    assert float(renewal_waste(system, 2, 0.1, 0.2)) == pytest.approx(float(renewal_waste(direct, 2, 0.1, 0.2)))


@pytest.mark.parametrize("exposed", EXPOSED)
def test_renewal_equals_closed_form_for_exponential_lives(exposed: tuple[str, ...]) -> None:
    args = (0.3, 0.5, 0.2)
    hidden = Weibull(1.0, 24.0)  # exponential, but not known as such
    w = np.array([0.5, 2.0, 9.0])
    expected = exact.waste(24, w, *args, exposed=exposed)
    assert renewal_waste(hidden, w, *args, exposed=exposed) == pytest.approx(expected, rel=1e-10)
    assert renewal_waste(24, w, *args, exposed=exposed) == pytest.approx(expected, rel=1e-10)
    best = best_fixed_interval(hidden, *args, exposed=exposed)
    assert best.interval == pytest.approx(float(exact.best_interval(24, *args, exposed=exposed)), rel=1e-4)
    whole = job_time(hidden, 101, 2, *args, exposed=exposed)
    assert whole == pytest.approx(float(exact.expected_time(101, 24, 2, *args, exposed=exposed)), rel=1e-9)


def test_long_jobs_go_on_with_the_slope() -> None:
    long = job_time(Weibull(1.0, 24.0), 20_000, 2, 0.1, 0.3, 0.1)
    assert long == pytest.approx(float(exact.expected_time(20_000, 24, 2, 0.1, 0.3, 0.1)), rel=1e-8)
    per_hour = job_time(Weibull(0.6, 24.0), 30_000, 2, 0.1, 0.3, 0.1) / 30_000
    assert 1 - 1 / per_hour == pytest.approx(float(renewal_waste(Weibull(0.6, 24.0), 2, 0.1, 0.3, 0.1)), abs=1e-4)


@pytest.mark.parametrize("family", LIVES)
@pytest.mark.parametrize("exposed", EXPOSED)
def test_renewal_against_jobs_followed(family: Weibull, exposed: tuple[str, ...]) -> None:
    found = simulate_checkpoints(family, 2, 0.2, 0.5, 0.2, exposed=exposed, rng=3, **RUNS)
    assert within(three(found), float(renewal_waste(family, 2, 0.2, 0.5, 0.2, exposed=exposed)))


@pytest.mark.parametrize("slowed", [0.0, 0.3, 1.0])
def test_asynchronous_saves_against_jobs_followed(slowed: float) -> None:
    for family in (Weibull(0.6, 24.0), Weibull(1.0, 24.0)):
        found = simulate_checkpoints(family, 1, 0.7, 0.5, 0.2, slowed=slowed, rng=4, **RUNS)
        assert within(three(found), float(renewal_waste(family, 1, 0.7, 0.5, 0.2, slowed=slowed)))
    plan = plan_checkpoints(24, 0.7, 0.5, 0.2, slowed=slowed)
    other = best_fixed_interval(24, 0.7, 0.5, 0.2, slowed=slowed)
    assert plan.interval == pytest.approx(other.interval, rel=1e-3)
    assert (plan.interval == 0.0) == (slowed == 0.0)
    assert plan.waste == pytest.approx(other.waste, rel=1e-9)
    assert plan.waste <= exact.best_waste(24, 0.7, 0.5, 0.2) + 1e-12


def test_time_of_a_job_against_jobs_followed() -> None:
    for exposed in EXPOSED:
        found = simulate_checkpoints(
            Weibull(0.6, 24.0), 2, 0.1, 0.5, 0.2, ages=100.0, work=101, runs=8000, failures=100, exposed=exposed, rng=5
        )
        assert found.finished.all()
        mean = job_time(Weibull(0.6, 24.0), 101, 2, 0.1, 0.5, 0.2, ages=100.0, after=100.0, exposed=exposed)
        assert found.time.mean() == pytest.approx(mean, abs=4.5 * found.time.std() / np.sqrt(8000))


def test_first_stretch_has_the_ages_of_now() -> None:
    old = job_time(Weibull(0.5, 24.0), 50, 2, 0.1, 0.5, ages="30 days")
    new = job_time(Weibull(0.5, 24.0), 50, 2, 0.1, 0.5)
    assert old < 0.97 * new


def test_no_progress() -> None:
    sure = Weibull(60.0, 1.0)  # always about an hour: a save of two never ends
    assert best_fixed_interval(sure, 2.0).status == "no_progress"
    assert job_time(Weibull(400.0, 1.0), 10, 1, 2.0) == np.inf or job_time(Weibull(400.0, 1.0), 10, 1, 2.0) > 1e200
    plan = plan_checkpoints("1min", "2h")
    assert plan.status == "no_progress"
    assert plan.sentence.startswith("No interval makes progress")
    never = best_schedule(Weibull(20.0, 1.0), 5.0)
    assert never.status == "no_progress"
    assert never.sentence.startswith("No schedule makes progress")
    with pytest.raises(DataError, match="infinite"):
        best_fixed_interval(Loglogistic(0.9, 10.0), 0.1)


def test_ageing_nodes_against_exact_cases() -> None:
    # one node is a renewal process; exponential nodes never age
    found = simulate_ageing_nodes(Weibull(0.6, 24.0), 2, 0.2, 0.5, 0.2, runs=150, failures=800, rng=6)
    assert within(three(found), float(renewal_waste(Weibull(0.6, 24.0), 2, 0.2, 0.5, 0.2)))
    for exposed in EXPOSED:
        found = simulate_ageing_nodes(
            Weibull(1.0, 2400.0), 2, 0.2, 0.5, 0.2, nodes=100, exposed=exposed, runs=100, failures=500, rng=7
        )
        assert within(three(found), float(exact.waste(24, 2, 0.2, 0.5, 0.2, exposed=exposed)))
    found = simulate_ageing_nodes(Weibull(1.0, 2400.0), "by hazard", 0.2, 0.5, 0.2, nodes=100, failures=500, rng=8)
    young = float(exact.young_interval(24, 0.2))
    assert within(three(found), float(exact.waste(24, young, 0.2, 0.5, 0.2)))


def test_ageing_nodes_in_the_long_run_and_by_hazard() -> None:
    # many nodes, each new after its own failure only: in the long run nearly exponential
    family = Weibull(0.7, 2000.0)
    given = {"ages": np.full(100, 1.0), "runs": 30, "failures": 3000, "rng": 6}
    found = simulate_ageing_nodes(family, 3, 0.1, 0.2, **given)
    assert found.waste == pytest.approx(float(exact.waste(float(family.mean()) / 100, 3, 0.1, 0.2)), rel=0.06)
    assert simulate_ageing_nodes(family, 3, 0.1, 0.2, **given, workers=1).waste == found.waste
    # new nodes that fail early: to follow the hazard beats any fixed interval
    early = {"nodes": 50, "runs": 60, "failures": 100, "rng": 9}
    moving = simulate_ageing_nodes(Weibull(0.4, 3000.0), "by hazard", 0.1, 0.2, **early)
    fixed = min(simulate_ageing_nodes(Weibull(0.4, 3000.0), w, 0.1, 0.2, **early).waste for w in (1, 2, 4, 6, 8, 12))
    assert moving.waste < 0.97 * fixed


def test_ageing_nodes_of_a_system() -> None:
    from relfit.system import System

    system = System([Weibull(0.7, 500.0), Weibull(0.7, 500.0), Lognormal(5.0, 1.0)], ages=np.array([10.0, 90.0, 0.0]))
    found = simulate_ageing_nodes(system, 2, 0.2, 0.5, failures=200, rng=10)
    alike = simulate_ageing_nodes(system, "by hazard", 0.2, 0.5, failures=200, rng=10)
    assert 0.0 < alike.waste < found.waste
    with pytest.raises(ArgumentError, match="cannot follow nodes"):
        simulate_ageing_nodes(24.0, 2, 0.2)
    with pytest.raises(ArgumentError, match="save is 0 hours"):
        simulate_ageing_nodes(Weibull(0.7, 500.0), "by hazard", 0.0)


# ----------------------------------------------------------------- schedules


@pytest.mark.parametrize(
    ("family", "save"), [(Weibull(0.7, 2.0), 1.0), (Weibull(4.0, 24.0), 0.5), (Lognormal(2, 0.7), 3)]
)
def test_best_schedule_against_direct_search(family: Weibull, save: float) -> None:
    plan = best_schedule(family, save, 0.3)
    mean = float(family.mean())

    def minus_kept(logs: np.ndarray) -> float:
        ends = 0.3 + np.cumsum(np.exp(logs) + save)
        return -float((np.exp(logs) * family.sf(ends)).sum())

    start = np.log(schedule_by_hazard(family, save, 0.3).work)
    start = np.concatenate([start, np.full(4, start[-1])])
    searched = optimize.minimize(minus_kept, start, method="L-BFGS-B", options={"maxiter": 300, "maxfun": 10**6})
    assert 1 - plan.waste >= -searched.fun / mean * (1 - 1e-5)
    assert plan.waste <= plan.fixed_waste + 1e-12


@pytest.mark.parametrize("family", LIVES)
def test_schedules_gain_and_are_what_jobs_followed_find(family: Weibull) -> None:
    best, rule = best_schedule(family, 0.2, 0.5, 0.2), schedule_by_hazard(family, 0.2, 0.5, 0.2)
    assert best.waste <= rule.waste + 1e-9
    assert best.waste < best.fixed_waste
    assert rule.waste < rule.fixed_waste + 2e-3
    for plan in (best, rule):
        found = simulate_checkpoints(family, plan.work, 0.2, 0.5, 0.2, rng=7, **RUNS)
        assert within(three(found), plan.waste)
    falling = np.all(np.diff(best.work) < 0)
    assert falling == (family is LIVES[1])


def test_schedule_of_exponential_lives_is_fixed() -> None:
    plan = best_schedule(Exponential(0.05), 0.1, 0.1)
    best = float(exact.best_interval(20, 0.1))
    assert plan.work == pytest.approx(np.full(len(plan), best), rel=2e-3)
    assert plan.waste == pytest.approx(float(exact.best_waste(20, 0.1, 0.1)), rel=1e-6)
    assert "gain nothing" in plan.sentence
    assert plan_checkpoints(24, 0, slowed=0.5).interval == 0.0


def test_schedule_of_aged_nodes() -> None:
    young = best_schedule(Weibull(0.5, 500.0), 0.1, ages=[0.0] * 10, running=True)
    old = best_schedule(Weibull(0.5, 500.0), 0.1, ages=[5000.0] * 10, running=True)
    assert old.work[0] > 3 * young.work[0]
    json.dumps(old.to_dict(), allow_nan=False)


# ------------------------------------------------------------------ two levels


def test_two_levels_reduce_to_one() -> None:
    one = exact.waste(24, 1.0, 0.1, 0.2, 0.05)
    assert two_level_waste(24, 1.0, 1, 0.1, 0.1, 0.2, 0.2, 0.3, 0.05) == pytest.approx(float(one))
    assert two_level_waste(24, 1.0, 7, 0.1, 0.1, 0.2, 0.2, 0.0, 0.05) == pytest.approx(float(one))


@pytest.mark.parametrize("every", [1, 2, 9])
def test_two_levels_chain_and_closed_form_and_jobs_followed(every: int) -> None:
    costs = (0.02, 0.2, 0.3, 1.0, 0.2, 0.1)
    closed = float(two_level_waste(5.0, 1.0, every, *costs))
    assert two_level_waste_of(Weibull(1.0, 5.0), 1.0, every, *costs) == pytest.approx(closed, rel=1e-9)
    for family in (Weibull(1.0, 5.0), Weibull(0.6, 5.0), Weibull(2.0, 5.0)):
        found = simulate_checkpoints(
            family,
            1.0,
            0.02,
            0.3,
            0.1,
            every=every,
            global_save=0.2,
            global_restore=1.0,
            share_global=0.2,
            rng=8,
            **RUNS,
        )
        assert within(three(found), two_level_waste_of(family, 1.0, every, *costs))


def test_best_two_levels_against_exhaustive_search() -> None:
    rng = np.random.default_rng(2)
    ks, ws = np.arange(1, 2001)[:, None], np.exp(np.linspace(-8, 6, 400))
    for _ in range(8):
        mu, c1, ratio = np.exp(rng.uniform(0, 7)), np.exp(rng.uniform(-6, -2)), np.exp(rng.uniform(0, 4))
        args = (c1, c1 * ratio, c1, c1 * ratio, rng.uniform(0.01, 1))
        plan = best_two_levels(mu, *args)
        least = two_level_waste(mu, ws, ks, *args).min()
        assert least - 1e-3 * least < plan.waste <= least + 1e-12
        assert plan.waste <= plan.global_only + 1e-12


# ------------------------------------------------------------------ the plan


def test_plan_holds_the_closed_forms() -> None:
    plan = plan_checkpoints("20000h", "5min", "10min", "3min", nodes=1000, period="2h", work="500h")
    assert plan.interval == pytest.approx(float(exact.best_interval(20, 1 / 12)))
    assert plan.given is not None
    assert plan.given["waste"] == pytest.approx(float(exact.waste(20, 2 - 1 / 12, 1 / 12, 1 / 6, 0.05)))
    assert plan.hours_of_job == pytest.approx(float(exact.expected_time(500, 20, plan.interval, 1 / 12, 1 / 6, 0.05)))
    assert np.isnan(plan.interval_low)
    assert plan.rules["excess"].min() == 0.0
    json.dumps(plan.to_dict(), allow_nan=False)
    assert "<table" in plan._repr_html_()


def test_limits_of_a_count() -> None:
    rate = rate_of_job(100.0, 1, events=20, draws=40_000, rng=1)
    assert rate.draws is not None
    from scipy import stats

    low = 20 * 100 / stats.gamma.ppf(0.95, 20.5)
    assert np.quantile(rate.draws, 0.05) == pytest.approx(low, rel=0.01)
    few, many = (plan_checkpoints(100.0, "5min", events=n) for n in (5, 500))
    for plan in (few, many):
        assert plan.interval_low < plan.interval < plan.interval_high
        assert plan.waste_low < plan.waste < plan.waste_high
    assert few.interval_high / few.interval_low > 3 * (many.interval_high / many.interval_low - 1) + 1


def test_plan_by_the_fitted_family() -> None:
    fitted = {
        "family": "weibull",
        "parameters": {"shape": 0.7, "scale": 1000.0},
        "covariance": [[0.05**2, 0.0], [0.0, 100.0**2]],
    }
    known = Parameters(failure=fitted, mtbf="1200h")
    plan = plan_checkpoints(known, "5min", "10min", nodes=20, ages="100h", by_family=True, draws=60, interval=4)
    direct = plan_checkpoints(Weibull(0.7, 1000.0), "5min", "10min", nodes=20, ages="100h")
    assert plan.interval == pytest.approx(direct.interval)
    assert plan.interval_low < plan.interval < plan.interval_high
    assert plan.given is not None
    assert plan.given["low"] < plan.given["waste"] < plan.given["high"]
    assert 0.0 <= plan.robust_waste - plan.waste < 0.02
    assert plan.draws == 60
    with pytest.raises(ArgumentError, match="by_family"):
        plan_checkpoints(Parameters(mtbf="9h"), 1, nodes=2, by_family=True)


def test_limits_of_two_levels() -> None:
    plan = plan_checkpoints(24, "1min", "1min", global_save="10min", share_global=0.1, events=10, draws=200)
    assert plan.two_levels is not None
    assert plan.two_level_limits is not None
    for name, (low, high) in plan.two_level_limits.items():
        assert low <= float(getattr(plan.two_levels, name)) <= high
    assert any("Limits with two levels" in text for text in plan.sentences)
    json.dumps(plan.to_dict(), allow_nan=False)


@pytest.mark.parametrize("robust", ["mean", 0.9])
def test_robust_interval_is_the_best_over_the_draws(robust: str | float) -> None:
    plan = plan_checkpoints(100.0, "30min", "30min", events=4, robust=robust, draws=1000, rng=3)
    drawn = rate_of_job(100.0, events=4, draws=1000, rng=3).draws
    assert drawn is not None

    def over(w: float) -> float:
        wastes = exact.waste(drawn, w, 0.5, 0.5)
        return float(wastes.mean() if robust == "mean" else np.quantile(wastes, 0.9))

    grid = [over(w) for w in np.geomspace(1, 60, 400)]
    assert plan.robust_waste <= min(grid) + 1e-9
    assert plan.robust_waste == pytest.approx(over(plan.robust_interval))
    assert plan.robust_waste <= over(plan.interval)


def test_plan_of_parameters() -> None:
    known = Parameters(
        mtbf={"node": {"value": 20000, "low": 15000, "high": 27000, "level": 0.9}, "rack": "50000h", "system": "900h"},
        fleet={"nodes": 1000, "racks": 50},
    )
    rate = rate_of_job(known, draws=100, rng=0)
    assert 1 / rate.mtbf == pytest.approx(1000 / 20000 + 50 / 50000 + 1 / 900)
    plan = plan_checkpoints(known, "5min", "10min", nodes=100)
    assert 1 / plan.mtbf == pytest.approx(100 / 20000 + 5 / 50000 + 1 / 900)
    assert plan.interval_low < plan.interval < plan.interval_high
    assert "mtbf.rack" in plan.words
    with pytest.raises(ArgumentError, match=r"no mtbf\.node"):
        plan_checkpoints(Parameters(mttr="24h"), "5min", nodes=10)
    with pytest.raises(ArgumentError, match="how many nodes"):
        plan_checkpoints(Parameters(mtbf="24h"), "5min")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": 0}, "mtbf is 0 hours; it must be above zero"),
        ({"source": "soon"}, "mtbf: 'soon' is not a duration"),
        ({"save": -1}, "save is -1 hours; it must not be below zero"),
        ({"restore": "x"}, "restore: 'x' is not a duration"),
        ({"downtime": float("nan")}, "downtime"),
        ({"period": "1min"}, r"a save takes 0\.08333 hours, its period 0\.01667"),
        ({"interval": 1, "period": 1}, "both given"),
        ({"interval": 0}, "interval is 0 hours"),
        ({"slowed": 2}, r"slowed is 2; it must lie between 0 and 1"),
        ({"slowed": 0.5, "exposed": ()}, "asynchronous"),
        ({"exposed": ("saves",)}, "exposed"),
        ({"global_restore": 1}, "global_save"),
        ({"global_save": 1}, "share_global"),
        ({"global_save": 1, "share_global": 30}, r"share_global is 30; .*did you mean 0\.3"),
        ({"nodes": 1.5}, "nodes is 1.5"),
        ({"events": -1}, "events is -1"),
        ({"level": 95}, r"level is 95; .*did you mean 0\.95"),
        ({"robust": 2.0}, "robust is 2"),
        ({"schedule": True}, "fixed interval"),
        ({"source": [1.0, 2.0]}, "one mean time"),
    ],
)
def test_what_cannot_be_is_one_clear_line(change: dict[str, object], message: str) -> None:
    given = {"source": 24, "save": "5min", "restore": 0, "downtime": 0} | change
    with pytest.raises(ArgumentError, match=message) as caught:
        plan_checkpoints(**given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_area_is_the_integral() -> None:
    stretch = time_to_failure(Weibull(0.6, 24.0), ages=[3.0, 50.0])
    numeric = integrate.quad(lambda x: float(stretch.sf(x)), 7.0, np.inf, limit=400)[0]
    assert float(stretch.area_from(7.0)) == pytest.approx(numeric, rel=1e-7)
