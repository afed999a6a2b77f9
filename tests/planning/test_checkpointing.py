"""Checkpoint intervals against mpmath, numerical search, published examples, limits and jobs followed by events."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from relfit.base.errors import ArgumentError, DataError
from relfit.base.text import duration
from relfit.fitting.families import Exponential, Gamma, Loglogistic, Lognormal, Weibull
from relfit.fleet.calibration import Parameters, ScopeFailures
from relfit.fleet.calibration.schema import Check
from relfit.planning import AgeingNodes, GlobalSaves, plan_checkpoints, plan_migration, plan_replication
from relfit.planning.checkpointing.renewal_failures import (
    LEAST_PROGRESS,
    ExponentialWaste,
    best_fixed_interval,
    lattice_sum,
    renewal_waste,
    robust_interval,
)
from relfit.planning.checkpointing.two_level import LevelCosts
from relfit.planning.job_rate import rate_of_job, until_all_are_up, wait_for_repair
from relfit.planning.plan import contradictions, limits
from relfit.system import System
from relfit.system.jobs import Checkpoint, _time_to_failure, expected_time, time_to_failure
from relfit.system.jobs import checkpoint as exact
from relfit.system.jobs.checkpoint import slowdown_exponential
from tests.factories import migration_costs
from tests.planning.followed_jobs import follow

EXPOSED = [("save", "restore"), (), ("save",), ("restore",)]
LIVES = [Weibull(0.6, 24.0), Weibull(3.0, 24.0), Lognormal(2.0, 1.5), Loglogistic(3.0, 10.0)]


def costs(save: float, restore: float = 0.0, exposed: tuple[str, ...] = EXPOSED[0], slowed: float = 1.0) -> Checkpoint:
    return Checkpoint(None, save, restore, exposed, slowed)


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
        slow = slowdown_exponential(1.0, float(best), save, 0.3, 0.1, exposed)
        assert float(slow) == pytest.approx(float(time), rel=1e-14)


@pytest.mark.parametrize("exposed", EXPOSED)
def test_optimum_against_numerical_search(exposed: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    mu = np.exp(rng.uniform(-3, 8, 40))
    save, restore, downtime = (mu * np.exp(rng.uniform(-8, 1, 40)) for _ in range(3))
    best = exact.best_interval(mu, save, restore, downtime, exposed=exposed)
    at_best = slowdown_exponential(mu, best, save, restore, downtime, exposed)
    for i in range(mu.size):

        def time(log: float, i: int = i) -> float:
            return float(slowdown_exponential(mu[i], np.exp(log), save[i], restore[i], downtime[i], exposed))

        searched = optimize.minimize_scalar(time, bounds=(np.log(mu[i]) - 8, np.log(mu[i]) + 3), method="bounded")
        assert at_best[i] <= searched.fun * (1 + 1e-12)
        assert np.log(best[i]) == pytest.approx(searched.x, abs=2e-3)


def test_dalys_published_examples() -> None:
    minutes = 60 * exact.daly_interval(["24h", "6h", "15min"], "5min", "10min")
    assert minutes.round(1).tolist() == [116.7, 56.7, 9.1]  # printed: 117, 57, 9.1
    assert minutes / 60 == pytest.approx(exact.best_interval(["24h", "6h", "15min"], "5min"), rel=0.01)
    assert exact.daly_interval(1.0, 2.0) == 1.0  # from a save of twice the mean time on
    assert exact.daly_interval(24, 1, 12, order="first") == pytest.approx(np.sqrt(72))


def test_dalys_formula_holds_up_to_twice_the_time_between_failures() -> None:
    for mtbf in (0.51, 0.7, 1.3):
        z = np.sqrt(1.0 / (2.0 * mtbf))
        assert float(exact.daly_interval(mtbf, 1.0)) == pytest.approx(np.sqrt(2.0 * mtbf) * (1 + z / 3 + z * z / 9) - 1)
    assert float(exact.daly_interval(0.4, 1.0)) == 0.4


def test_sparing_papers_form() -> None:
    # sparing paper, appendix C, corrected: x = 1 + W0((T_s/A - 1)/e), eff = T_c / ((e^x - 1) A + T_s)
    rate, save, other = 0.5, 0.01, 0.1
    a = 1 / rate + other
    x = 1 + float(mpmath.lambertw((save / a - 1) / mpmath.e).real)
    found = exact.best_interval(1 / rate, save, other, exposed=())
    assert float(found) == pytest.approx(x / rate, rel=1e-12)
    efficiency = x / rate / (np.expm1(x) * a + save)
    waste = exact.waste(1 / rate, found, save, other, exposed=())
    assert float(waste) == pytest.approx(1 - efficiency, rel=1e-12)


def test_limits() -> None:
    assert exact.best_interval(24.0, 0.0) == 0.0
    assert exact.best_waste(24.0, 0.0) == pytest.approx(0.0, abs=1e-12)
    assert exact.best_interval(np.inf, 1.0) == np.inf
    assert exact.waste(np.inf, 9.0, 1.0) == pytest.approx(0.1)
    assert exact.waste(np.inf, 0.5, 2.0) == pytest.approx(0.8)  # of 2.5 hours, half an hour is work
    assert exact.waste([24.0, np.inf], np.inf, 1.0).tolist() == [1.0, 0.0]  # a long job that is never saved
    small = exact.best_interval(1e12, 1e-3)
    assert small == pytest.approx(np.sqrt(2e9), rel=1e-6)  # Young
    assert exact.best_waste(1e-3, 10.0) == 1.0
    assert exact.waste(1e-3, 1.0, 10.0) == 1.0


def test_first_order_waste_and_where_it_ends() -> None:
    # equation 5 of the migration paper, at Young's period with its save in it
    period = float(exact.young_interval(24, 0.1))
    first_order = 0.1 / period + (period / 2 + 0.2 + 0.3) / 24
    assert exact.first_order_best_waste(24, 0.1, 0.2, 0.3) == pytest.approx(first_order)
    assert float(exact.first_order_best_waste(0.1, 0.1)) == 1.0
    save, both = 0.7, 0.9  # the paper's closed form for nu
    nu = (-np.sqrt(2 * save) + np.sqrt(2 * save + 4 * both)) / (2 * both)
    assert exact.least_mtbf(save, both) == pytest.approx(1 / nu**2)
    assert exact.least_mtbf(save, 0.0) == pytest.approx(2 * save)


@pytest.mark.parametrize(
    "asked",
    [
        exact.best_waste,
        exact.first_order_best_waste,
        partial(exact.best_interval, exposed=()),
        lambda mtbf, save, *rest: exact.daly_interval(mtbf, save, *rest[:1], order="first"),
        lambda mtbf, *costs: exact.waste(mtbf, 2.0, *costs),
        lambda mtbf, *costs: exact.least_mtbf(*costs),
    ],
)
def test_costs_that_are_left_out_are_none(asked: Callable[..., np.ndarray]) -> None:
    assert float(asked(24.0, 0.1)) == float(asked(24.0, 0.1, 0.0, 0.0)) != float(asked(24.0, 0.1, 3.0, 3.0))


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
    life = time_to_failure(family)
    assert life.mean() == pytest.approx(float(family.mean()), rel=1e-9)
    step = 0.01 * float(family.mean())
    count = np.arange(1, 200_001)
    rest = float(life.area_from(step * (1 + count[-1]))) / step
    summed = float(family.sf(step * (1 + count)).sum()) + rest
    assert float(lattice_sum(life, step, step)) == pytest.approx(summed, rel=1e-7)


def test_joint_time_to_failure_of_nodes() -> None:
    # reliability-aware allocation, chapter 4: three nodes, a = 1542, b = 0.8606
    for x, age, reliability, mttf in [(100, 0, 0.7521, 464.4902), (500, 300, 0.3782, 536.8430)]:
        joint = time_to_failure(Weibull(0.8606, 1542.0), ages=[float(age)] * 3)
        alike = time_to_failure(Weibull(0.8606, 1542.0), ages=age, nodes=3)
        for life in (joint, alike):
            assert round(float(life.sf(x)), 4) == reliability
            assert life.mean() == pytest.approx(mttf, abs=6e-5)
    drawn = joint.draw(40_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(536.843, abs=4.5 * drawn.std() / 200)


def test_of_a_system() -> None:
    from relfit.system import System

    system = System(Weibull(np.array([0.7, 1.4]), np.array([100.0, 80.0])), ages=np.array([50.0, 10.0]))
    direct = time_to_failure(Weibull(np.array([0.7, 1.4]), np.array([100.0, 80.0])), ages=[50.0, 10.0])
    assert time_to_failure(system).mean() == pytest.approx(direct.mean(), rel=1e-9)
    plan = costs(0.1, 0.2)
    assert float(renewal_waste(system, 2, plan)) == pytest.approx(float(renewal_waste(direct, 2, plan)))
    with pytest.raises(ArgumentError, match="a system has ages of its own"):
        time_to_failure(system, ages=[1.0, 2.0])


@pytest.mark.parametrize("exposed", EXPOSED)
def test_renewal_equals_closed_form_for_exponential_failures(exposed: tuple[str, ...]) -> None:
    plan = costs(0.3, 0.5, exposed)
    hidden = Weibull(1.0, 24.0)  # exponential, but not known as such
    w = np.array([0.5, 2.0, 9.0])
    expected = exact.waste(24, w, 0.3, 0.5, 0.2, exposed=exposed)
    assert renewal_waste(hidden, w, plan, 0.2) == pytest.approx(expected, rel=1e-10)
    assert renewal_waste(24, w, plan, 0.2) == pytest.approx(expected, rel=1e-10)
    best = best_fixed_interval(hidden, plan, 0.2)  # the vertex of the parabola at the top, not its highest point
    assert best.every == pytest.approx(float(exact.best_interval(24, 0.3, 0.5, 0.2, exposed=exposed)), rel=1e-6)


def test_the_time_of_a_long_job_has_the_renewal_waste() -> None:
    plan = Checkpoint(2, 0.1, 0.3)
    per_hour = expected_time(Weibull(0.6, 24.0), 30_000, plan, 0.1) / 30_000
    assert 1 - 1 / per_hour == pytest.approx(float(renewal_waste(Weibull(0.6, 24.0), 2, plan, 0.1)), abs=1e-4)


@pytest.mark.parametrize("family", LIVES)
@pytest.mark.parametrize("exposed", EXPOSED)
def test_renewal_against_jobs_followed(family: Weibull, exposed: tuple[str, ...]) -> None:
    plan = costs(0.2, 0.5, exposed)
    assert follow(family, 2, plan, 0.2, seed=3).agrees(renewal_waste(family, 2, plan, 0.2))


@pytest.mark.parametrize(
    ("slowed", "exposed"), [(0.0, EXPOSED[0]), (0.3, EXPOSED[0]), (0.3, ("save",)), (1.0, EXPOSED[0])]
)
def test_asynchronous_saves_against_jobs_followed(slowed: float, exposed: tuple[str, ...]) -> None:
    saves = costs(0.7, 0.5, exposed, slowed)
    for family in (Weibull(0.6, 24.0), Weibull(1.0, 24.0)):
        assert follow(family, 1, saves, 0.2, seed=4).agrees(renewal_waste(family, 1, saves, 0.2))
    plan = plan_checkpoints(24, saves, 0.2)
    other = best_fixed_interval(24, saves, 0.2)
    assert plan.checkpoint_every == pytest.approx(other.every, rel=1e-3)
    assert (plan.checkpoint_every == 0.0) == (slowed == 0.0)
    assert plan.waste == pytest.approx(other.waste, rel=1e-9)
    best = exact.best_interval(24, 0.7, 0.5, 0.2, exposed=exposed)
    assert plan.waste <= exact.waste(24, best, 0.7, 0.5, 0.2, exposed=exposed) + 1e-12


def test_saves_that_hardly_slow_leave_a_best_interval_far_below_that_of_saves_that_pause() -> None:
    """At a twentieth of the speed lost, saving without end is better than Young's interval, and neither is the best."""
    saves, young = costs(1.0, 0.5, slowed=0.05), np.sqrt(2.0 * 24.0)
    gaps = np.geomspace(0.01, 100.0, 4001)
    waste = renewal_waste(24, gaps, saves)
    assert float(renewal_waste(24, 0.0, saves)) < float(renewal_waste(24, young, saves))
    best = best_fixed_interval(24, saves)
    assert best.every == pytest.approx(gaps[waste.argmin()], rel=0.01)
    assert best.waste == pytest.approx(waste.min(), rel=1e-6)


@pytest.mark.parametrize("exposed", EXPOSED)
def test_time_of_a_job_against_jobs_followed(exposed: tuple[str, ...]) -> None:
    plan = Checkpoint(2, 0.1, 0.5, exposed)
    runs = follow(Weibull(0.6, 24.0), 2, plan, 0.2, ages=100.0, work=101, runs=8000, failures=100, seed=5)
    assert (runs.kept >= 101).all()
    aged = time_to_failure(Weibull(0.6, 24.0), 100.0)
    mean = expected_time(aged, 101, plan, 0.2, last_save=True)
    assert runs.time.mean() == pytest.approx(mean, abs=4.5 * runs.time.std() / np.sqrt(8000))


@pytest.mark.parametrize("nodes", [10_000, 100_000])
def test_nodes_that_are_hardly_ever_all_up(nodes: int) -> None:
    """24 h of repair in 1,000 h: of 10,000 nodes 234 are down, of 100,000 the wait is beyond any number."""
    plan = plan_checkpoints("1000h", Checkpoint(save="1s"), nodes=nodes, repair="24h")
    assert plan.status == "no_progress"
    assert plan.headline == "No interval makes progress: hardly ever are all nodes of the job up."
    assert plan.spared_waste < 0.6


def test_no_progress() -> None:
    sure = Weibull(60.0, 1.0)  # always about an hour: a save of two never ends
    assert best_fixed_interval(sure, costs(2.0)).waste > 1.0 - LEAST_PROGRESS
    plan = plan_checkpoints("1min", costs("2h"))
    assert plan.status == "no_progress"
    assert plan.headline.startswith("No interval makes progress")
    assert plan_checkpoints(24, costs(0, slowed=0.5)).checkpoint_every == 0.0
    with pytest.raises(ArgumentError, match="every is 0 hours"):  # nothing but saves, unless work goes on meanwhile
        renewal_waste(24, 0.0, costs(0.1))
    assert float(renewal_waste(24, 0.0, costs(0.1, slowed=0.5))) < 1.0
    with pytest.raises(DataError, match="infinite"):
        best_fixed_interval(Loglogistic(0.9, 10.0), costs(0.1))


# ------------------------------------------------------------------ two levels


def test_two_levels_reduce_to_one() -> None:
    one = exact.waste(24, 1.0, 0.1, 0.2, 0.05)
    assert LevelCosts(24, 0.1, 0.1, 0.2, 0.2, 0.3, 0.05).waste(1.0, 1) == pytest.approx(float(one))
    assert LevelCosts(24, 0.1, 0.1, 0.2, 0.2, 0.0, 0.05).waste(1.0, 7) == pytest.approx(float(one))


@pytest.mark.parametrize("saves", [1, 2, 9])
def test_two_levels_against_jobs_followed(saves: int) -> None:
    closed = LevelCosts(5.0, 0.02, 0.2, 0.3, 1.0, 0.2, 0.1).waste(1.0, saves)
    runs = follow(
        5.0,
        1.0,
        costs(0.02, 0.3),
        0.1,
        saves_per_global=saves,
        global_save=0.2,
        global_restore=1.0,
        share_global=0.2,
        runs=300,
        seed=8,
    )
    assert runs.agrees(closed)


def test_a_plan_of_two_levels_is_told_first() -> None:
    """The first line was 4.1 %, as if local checkpoints survived every failure; 7.8 % are lost."""
    levels, saves = GlobalSaves(save="10min", restore="20min", share=0.1), costs("1min", "1min")
    plan = plan_checkpoints("20000h", saves, nodes=1000, global_saves=levels, work="1000h")
    runs = follow(
        20.0,
        plan.checkpoint_every,
        saves,
        saves_per_global=9,
        global_save=1 / 6,
        global_restore=1 / 3,
        share_global=0.1,
        runs=300,
        seed=3,
    )
    assert runs.agrees(plan.waste)
    assert (
        plan.headline == "Checkpoint every 50 minutes of work, globally every 9 checkpoints: 7.8 % of the time is lost."
    )
    assert plan.to_dict()["waste"] == plan.waste == plan.rules["waste"].min()
    assert plan.expected_hours == pytest.approx(1000.0 / (1.0 - runs.waste), rel=2e-3)
    assert "With global checkpoints alone it is 12.6 %." in plan.remarks
    dear = plan_checkpoints(24, costs("10min"), global_saves=GlobalSaves(save="10min", share=0.5))
    assert dear.headline.startswith("Write a global checkpoint every ")
    with pytest.raises(ArgumentError, match="two levels are planned for checkpoints that stop the work"):
        plan_checkpoints(24, costs("10min", slowed=0.2), global_saves=levels)


@pytest.mark.slow
def test_best_two_levels_against_exhaustive_search() -> None:
    rng = np.random.default_rng(2)
    ks, ws = np.arange(1, 2001)[:, None], np.exp(np.linspace(-8, 6, 400))
    for _ in range(8):
        mu, c1, ratio = np.exp(rng.uniform(0, 7)), np.exp(rng.uniform(-6, -2)), np.exp(rng.uniform(0, 4))
        levels = LevelCosts(mu, c1, c1 * ratio, c1, c1 * ratio, rng.uniform(0.01, 1))
        plan, least = levels.best(), levels.waste(ws, ks).min()
        assert least - 1e-3 * least < plan.waste <= least + 1e-12
        assert plan.waste <= plan.global_only + 1e-12


# ------------------------------------------------------------------ the plan


def test_plan_holds_the_closed_forms() -> None:
    plan = plan_checkpoints("20000h", Checkpoint("115min", "5min", "10min"), "3min", nodes=1000, work="500h")
    assert plan.checkpoint_every == pytest.approx(float(exact.best_interval(20, 1 / 12)))
    assert plan.own_waste == pytest.approx(float(exact.waste(20, 2 - 1 / 12, 1 / 12, 1 / 6, 0.05)))
    assert np.isnan(plan.own_spared_waste)  # the job waits for no repair
    best = Checkpoint(plan.checkpoint_every, "5min", "10min")
    assert plan.expected_hours == pytest.approx(expected_time(Weibull(1.0, 20.0), 500, best, 0.05, last_save=True))
    assert np.isnan(plan.every_limits[0])
    assert plan.rules["excess"].min() == 0.0
    json.dumps(plan.to_dict(), allow_nan=False)
    assert "<table" in plan._repr_html_()


def test_an_interval_of_ones_own_with_spares_and_without() -> None:
    plan = plan_checkpoints("6400h", Checkpoint("1h", "4min", "10min"), nodes=64, repair="12h")
    assert plan.own_waste == pytest.approx(float(exact.waste(100, 1.0, 1 / 15, 1 / 6, plan.restart)))
    assert plan.own_spared_waste == pytest.approx(float(exact.waste(100, 1.0, 1 / 15, 1 / 6, 0.0)))
    assert any("17.4 % of the time is lost, 6.9 % with such spares." in remark for remark in plan.remarks)


@pytest.mark.parametrize(("mtbf", "save"), [("2h", "1s"), ("24h", "10s"), ("700d", "1h")])
def test_the_curve_of_a_plan_is_centred_at_the_best_interval(mtbf: str, save: str) -> None:
    plan = plan_checkpoints(mtbf, Checkpoint(save=save))
    curve = plan.curve
    assert np.sqrt(curve["checkpoint_every"].iloc[[0, -1]].prod()) == pytest.approx(plan.checkpoint_every)
    assert curve["waste"].min() == pytest.approx(plan.waste, rel=1e-12)
    limits = plan_checkpoints(mtbf, Checkpoint(save=save), events=40).curve
    assert (limits["low"] < limits["waste"]).all()
    assert (limits["waste"] < limits["high"]).all()


def test_limits_of_a_count() -> None:
    rate = rate_of_job(100.0, 1, events=20, n_draws=40_000, rng=1)
    assert rate.drawn is not None
    low = 20 * 100 / stats.gamma.ppf(0.95, 20.5)
    assert np.quantile(rate.drawn.mtbf, 0.05) == pytest.approx(low, rel=0.01)
    few, many = (plan_checkpoints(100.0, costs("5min"), events=n) for n in (5, 500))
    for plan in (few, many):
        assert plan.every_limits[0] < plan.checkpoint_every < plan.every_limits[1]
        assert plan.waste_limits[0] < plan.waste < plan.waste_limits[1]
    wide, narrow = (plan.every_limits[1] / plan.every_limits[0] for plan in (few, many))
    assert wide > 3 * (narrow - 1) + 1
    wider = plan_checkpoints(100.0, costs("5min"), events=5, level=0.99)
    assert wider.every_limits[0] < few.every_limits[0] < few.every_limits[1] < wider.every_limits[1]


def test_limits_are_central_quantiles() -> None:
    assert limits(np.arange(101.0), 0.9) == pytest.approx((5.0, 95.0))
    assert limits(np.arange(11), 0.5, integer=True) == (2.0, 8.0)
    assert limits([0.0, 1.0], 0.5) == (0.25, 0.75)
    assert np.isnan(limits(None, 0.9)).all()


@pytest.mark.slow
def test_plan_by_the_fitted_family() -> None:
    fitted = {
        "family": "weibull",
        "parameters": {"shape": 0.7, "scale": 1000.0},
        "covariance": [[0.05**2, 0.0], [0.0, 100.0**2]],
    }
    known = Parameters(failure=fitted, mtbf={"value": 1200, "low": 1000, "high": 1440, "level": 0.9})
    saves = Checkpoint(4, "5min", "10min")
    plan = plan_checkpoints(AgeingNodes(known, "100h"), saves, nodes=20, n_draws=60)
    scale = 1200.0 / special.gamma(1.0 + 1.0 / 0.7)  # the fit has 1,266 hours on average
    direct = plan_checkpoints(AgeingNodes(Weibull(0.7, scale), "100h"), saves, nodes=20)
    assert plan.checkpoint_every == pytest.approx(direct.checkpoint_every)
    assert plan.every_limits[0] < plan.checkpoint_every < plan.every_limits[1]
    assert plan.own_limits[0] < plan.own_waste < plan.own_limits[1]
    assert abs(plan.robust_waste - plan.waste) < 0.02
    assert plan.n_draws == 60
    with pytest.raises(ArgumentError, match="no fitted family"):
        plan_checkpoints(AgeingNodes(Parameters(mtbf="9h")), costs(1), nodes=2)


def test_limits_of_two_levels() -> None:
    plan = plan_checkpoints(
        24, costs("1min", "1min"), events=10, n_draws=200, global_saves=GlobalSaves(save="10min", share=0.1)
    )
    assert plan.two_levels is not None
    assert plan.two_level_limits is not None
    for name, (low, high) in plan.two_level_limits.items():
        assert low <= float(getattr(plan.two_levels, name)) <= high
    assert (plan.waste_limits, plan.every_limits) == (
        plan.two_level_limits["waste"],
        plan.two_level_limits["checkpoint_every"],
    )
    assert " checkpoints: " in plan.headline
    json.dumps(plan.to_dict(), allow_nan=False)


@pytest.mark.parametrize("robust", ["mean", 0.1, 0.9])
def test_robust_interval_is_the_best_over_the_draws(robust: str | float) -> None:
    plan = plan_checkpoints(100.0, costs("30min", "30min"), events=4, robust=robust, n_draws=1000, rng=3)
    known = rate_of_job(100.0, events=4, n_draws=1000, rng=3).drawn
    assert known is not None
    drawn = known.mtbf

    def over(w: float) -> float:
        wastes = exact.waste(drawn, w, 0.5, 0.5)
        return float(wastes.mean() if robust == "mean" else np.quantile(wastes, robust))

    grid = [over(w) for w in np.geomspace(1, 60, 400)]
    assert plan.robust_waste <= min(grid) + 1e-9
    assert plan.robust_waste == pytest.approx(over(plan.robust_every))
    assert plan.robust_waste < over(plan.checkpoint_every) - 1e-5
    # a bad rate calls for saves more often than the best guess, a good one for fewer
    nearer = {"mean": (0.5, 1.0), 0.9: (0.3, 0.8), 0.1: (1.2, 3.0)}[robust]
    assert nearer[0] < plan.robust_every / plan.checkpoint_every < nearer[1]


@pytest.mark.parametrize("near", [0.3, 4.0, 100.0])
def test_robust_search_does_not_depend_on_where_it_starts(near: float) -> None:
    drawn = np.exp(np.random.default_rng(0).normal(3.0, 1.0, 400))
    model = ExponentialWaste(20.0, drawn, costs(0.1, 0.2), 0.1)
    every, waste = robust_interval(model, near, "mean", 400)
    searched = optimize.minimize_scalar(
        lambda log: float(exact.waste(drawn, np.exp(log), 0.1, 0.2, 0.1).mean()), bounds=(-2, 4), method="bounded"
    )
    assert every == pytest.approx(np.exp(searched.x), rel=1e-3)
    assert waste == pytest.approx(searched.fun, rel=1e-6)


def test_plan_of_parameters() -> None:
    known = Parameters(
        mtbf={"node": {"value": 20000, "low": 15000, "high": 27000, "level": 0.9}, "rack": "50000h", "system": "900h"},
        fleet={"nodes": 1000, "racks": 50},
    )
    rate = rate_of_job(known, n_draws=100, rng=0)
    assert 1 / rate.mtbf == pytest.approx(1000 / 20000 + 50 / 50000 + 1 / 900)
    plan = plan_checkpoints(known, costs("5min", "10min"), nodes=100)
    assert 1 / plan.mtbf == pytest.approx(100 / 20000 + 5 / 50000 + 1 / 900)
    assert plan.every_limits[0] < plan.checkpoint_every < plan.every_limits[1]
    assert "mtbf.rack" in plan.source
    with pytest.raises(ArgumentError, match=r"no mtbf\.node"):
        plan_checkpoints(Parameters(mttr="24h"), costs("5min"), nodes=10)
    with pytest.raises(ArgumentError, match="how many nodes"):
        plan_checkpoints(Parameters(mtbf="24h"), costs("5min"))


def test_a_job_without_spares_waits_for_the_repair_of_what_failed() -> None:
    known = Parameters(
        mtbf={"node": "5000h", "rack": "4000h", "system": "300h"},
        mttr={"node": "2h", "rack": "8h", "system": "5h", "mean": "99h"},
        fleet={"nodes": 1000, "racks": 50},
    )
    saves = costs("5min", "10min")
    plan = plan_checkpoints(known, saves, "1min", nodes=200)
    rates = np.array([200 / 5000, 10 / 4000, 1 / 300])
    repair = float((rates * [2.0, 8.0, 5.0]).sum() / rates.sum())
    wait = float(np.expm1(rates.sum() * repair) / rates.sum())  # others fail meanwhile
    assert plan.restart == pytest.approx(wait + 1 / 60)
    # a job that is hit, waits for the repair of what failed, restores and works on
    rng, mu, every = np.random.default_rng(4), 1 / rates.sum(), plan.checkpoint_every
    began = np.cumsum(rng.exponential(mu, 400_000))
    ended = np.maximum.accumulate(began + rng.choice([2.0, 8.0, 5.0], began.size, p=rates / rates.sum()))
    heads = np.flatnonzero(began[1:] > ended[:-1])
    gaps = rng.exponential(mu, heads.size)
    kept = np.floor(np.maximum(gaps - 1 / 6, 0.0) / (every + 1 / 12)) * every
    lost = ended[heads[1:]] - began[heads[:-1] + 1]
    assert plan.waste == pytest.approx(1 - kept.mean() / (gaps.mean() + lost.mean() + 1 / 60), abs=2e-3)
    none = plan_checkpoints(known, saves, "1min", nodes=200, repair=0)
    assert plan.findings[1].startswith("No spares: after each failure the job waits for the repair")
    assert "mttr.node, mttr.rack, mttr.system" in plan.waits
    assert none.waits.startswith("No waiting for repair, not even of the whole system")
    assert none.system_wait == 0.0
    assert plan_checkpoints(known, saves, nodes=200, repair="3h").restart == pytest.approx(np.expm1(3.0 / mu) * mu)
    unknown = plan_checkpoints(Parameters(mtbf="5000h"), saves, nodes=200)
    assert "not known and left out" in unknown.findings[1]


def test_spares_do_not_help_while_the_whole_system_is_down() -> None:
    """The wait for the system was left out: 9 % of the time "with spares" where 15 % are lost."""
    known = Parameters(
        mtbf={"node": "2000h", "system": "60h"}, mttr={"node": "3h", "system": "5h"}, fleet={"nodes": 500}
    )
    plan = plan_checkpoints(known, Checkpoint("2h", "5min", "10min"), "1min", nodes=50)
    mu = 1.0 / (50 / 2000 + 1 / 60)

    def lost(every: float, wait: float = mu / 60 * 5.0) -> float:
        return 1.0 - every / ((mu + 1 / 60 + wait) * np.exp(1 / 6 / mu) * np.expm1((every + 1 / 12) / mu))

    least = optimize.minimize_scalar(lost, bounds=(0.1, 20.0), method="bounded").fun
    assert plan.spared_waste == pytest.approx(least, rel=1e-6)
    assert plan.own_spared_waste == pytest.approx(lost(2.0), rel=1e-9)
    assert lost(plan.checkpoint_every, 0.0) < plan.spared_waste - 0.05
    assert f"would be {100 * least:.1f} %; while the whole system is down, they do not help." in plan.findings[1]
    # failures of nodes, after which a spare takes over, and of the system, which is waited for
    rng, saves = np.random.default_rng(8), plan.checkpoint_every + 1 / 12
    gaps, whole = rng.exponential(mu, 300_000), rng.random(300_000) < mu / 60
    kept = np.floor(np.maximum(gaps - 1 / 6, 0.0) / saves) * plan.checkpoint_every
    assert plan.spared_waste == pytest.approx(1 - kept.sum() / (gaps + 1 / 60 + 5.0 * whole).sum(), abs=2e-3)


@pytest.mark.parametrize(("mtbf", "told"), [(3.9, True), (4.0, True), (4.1, False)])
def test_where_first_order_formulas_see_no_progress(mtbf: float, told: bool) -> None:
    # a save of 2 h and failures 4 h apart: Young's interval is 4 h, its first-order waste 2/4 + 4/8, all of the time
    text = " ".join(plan_checkpoints(mtbf, costs(2.0)).findings)
    assert ("need failures more than 4 hours apart" in text) == told
    assert (f"; the job's come every {duration(mtbf)}." in text) == told


@pytest.mark.parametrize(("restore", "told"), [(0.0, True), (0.1, False)])
def test_a_restore_that_takes_no_time_is_said(restore: float, told: bool) -> None:
    plan = plan_checkpoints("5000h", Checkpoint(save="5min", restore=restore), nodes=200)
    assert plan.premise.endswith(", and a restore that takes no time:") == told


@pytest.mark.parametrize(("wait", "told"), [(2.0, False), (2.009, False), (2.011, True), (3.0, True)])
def test_what_fails_during_a_repair_is_told_if_it_adds_half_a_percent(wait: float, told: bool) -> None:
    hours, text = wait_for_repair(2.0, wait=wait)
    assert hours == 2.0
    assert ("and for what fails meanwhile" in text) == told


def test_the_wait_until_all_nodes_are_up() -> None:
    assert until_all_are_up([20.0, 2.0], 2.0).round(2).tolist() == [2.1, 3.44]
    assert until_all_are_up([20.0, 2.0], 2.0, 1.0).round(2).tolist() == [2.0, 2.0]  # with a level in common


def test_a_wait_without_end_is_no_estimate() -> None:
    """A bound of 1e9 hours was told as 114,077 years of waiting."""
    plan = plan_checkpoints("2160h", Checkpoint(save="5min"), nodes=200, repair="5000h")
    copies = plan_replication("24h", Checkpoint(save="5min"), nodes=200, repair="48h")
    assert plan.headline == "No interval makes progress: hardly ever are all nodes of the job up."
    assert plan.advice == ("With spares that take over at once the waste would be 11.9 %.",)
    for said in (plan.findings, copies.findings, (plan.premise, copies.premise)):
        assert "114,07" not in " ".join(said)
    assert "no spares, more than 100,000 years of waiting for repair per failure" in plan.premise
    assert "meanwhile: more than 100,000 years in all" in copies.waits


def test_the_name_of_a_file_is_no_mean_time() -> None:
    with pytest.raises(ArgumentError, match=r"'p.toml' is a file; give relfit\.read_parameters\('p.toml'\)"):
        plan_checkpoints("p.toml", Checkpoint(save="5min"))


def test_the_basis_names_the_parameters() -> None:
    known = Parameters(mtbf={"node": "100h"}, name="cluster B")
    assert rate_of_job(known, 5, rng=0).source == "parameters (mtbf.node) of cluster B"
    assert rate_of_job(known.model_copy(update={"name": None}), 5, rng=0).source == "parameters (mtbf.node)"


def test_the_uncertainty_of_the_repair_is_in_the_limits() -> None:
    mttr = {"value": 4, "low": 2, "high": 8, "level": 0.9}
    vague, sharp = (
        plan_checkpoints(Parameters(mtbf="100h", mttr=value), costs("5min"), nodes=1) for value in (mttr, 4)
    )
    assert np.isnan(sharp.waste_limits[0])
    shares = [float(exact.best_waste(100, 1 / 12, 0, wait)) for wait in (2, 8)]
    low, high = plan_checkpoints(Parameters(mtbf="100h", mttr=mttr), costs("5min"), nodes=1, level=0.9).waste_limits
    assert (low, high) == pytest.approx(shares, rel=0.05)
    assert vague.waste == pytest.approx(sharp.waste)


@pytest.mark.parametrize("nodes", [1, 3, 1000])
def test_nodes_go_on_ageing_while_only_the_one_that_failed_is_new(nodes: int) -> None:
    """Every node's own renewals on the clock of operation; kept work between the failures of any of them."""
    shape, scale = 0.6, 300.0 * min(nodes, 1000)
    rng = np.random.default_rng(nodes)
    mean = scale * float(special.gamma(1 + 1 / shape))
    horizon = 60_000 * mean / nodes
    lives = scale * rng.standard_exponential((nodes, int(2.5 * horizon / mean) + 400)) ** (1 / shape)
    times = np.cumsum(lives, axis=1)
    assert times[:, -1].min() > horizon
    start = 0.3 * horizon  # long after all were new
    failed = np.sort(times[(times > start) & (times < horizon)])
    gaps = np.diff(failed)
    saves = costs("1min", "2min")
    plan = plan_checkpoints(Weibull(shape, scale), saves, "3min", nodes=nodes)
    cycle = plan.checkpoint_every + 1 / 60
    kept = np.floor(np.maximum(gaps - 2 / 60, 0.0) / cycle) * plan.checkpoint_every
    waste = 1 - kept.sum() / (gaps + 3 / 60).sum()
    parts = zip(np.array_split(kept, 20), np.array_split(gaps, 20), strict=True)
    blocks = [1 - k.sum() / (g + 3 / 60).sum() for k, g in parts]
    assert plan.waste == pytest.approx(waste, abs=4.5 * np.std(blocks) / np.sqrt(20) + 2e-4)
    assert plan.mtbf == pytest.approx(mean / nodes, rel=1e-5)


def test_a_job_without_spares_waits_for_what_fails_during_repairs_too() -> None:
    """Failures of 512 nodes one after the other with lognormal repairs; the job works while all nodes are up."""
    rng = np.random.default_rng(2)
    mean, repair, size = 6.0, 3.3, 200_000
    began = np.cumsum(rng.standard_exponential(size) * mean)
    ended = np.maximum.accumulate(began + rng.lognormal(np.log(repair) - 0.5, 1.0, size))
    heads = np.flatnonzero(np.append(True, began[1:] > ended[:-1]))
    up_from, up_until = ended[heads[1:] - 1], began[heads[1:]]
    plan = plan_checkpoints(f"{512 * mean}h", costs("5min", "0min"), "10min", nodes=512, repair=f"{repair}h")
    cycle = plan.checkpoint_every + 5 / 60
    kept = np.floor(np.maximum(up_until - up_from - 10 / 60, 0.0) / cycle) * plan.checkpoint_every
    assert plan.waste == pytest.approx(1.0 - kept.sum() / began[-1], abs=0.01)  # 0.06 less if only one repair is
    assert "and for what fails meanwhile" in plan.waits
    assert plan_checkpoints("20000h", costs("5min", "0min"), nodes=1, repair="1h").waits.endswith("1 hour on average.")


def test_a_thousand_nodes_by_their_family_are_not_new_at_every_restart() -> None:
    fitted = {"family": "weibull", "parameters": {"shape": 0.6, "scale": 1000.0}}
    known = Parameters(failure=fitted, fleet={"nodes": 1000}, mtbf="1504.6h")
    plan = plan_checkpoints(AgeingNodes(known), costs("1min", "3min"), "2min")
    assert 60 * plan.checkpoint_every == pytest.approx(12.8, abs=0.1)
    assert 0.15 < plan.waste < 0.2
    new = plan_checkpoints(AgeingNodes(known, 0.0), costs("1min", "3min"), "2min")
    assert new.waste > 0.85
    assert new.assumptions[0] == "Every restart meets nodes of the ages given."


def test_a_batch_of_nodes_and_a_system_have_the_same_ages_at_every_restart() -> None:
    batch, one = Weibull(0.6, [1000.0] * 20), Weibull(0.6, 1000.0)
    plans = [plan_checkpoints(source, costs("1min")) for source in (batch, AgeingNodes(System(batch)), System(batch))]
    for plan in plans:  # the first failure of twenty new nodes
        assert plan.mtbf == pytest.approx(1000.0 * 20.0 ** (-1.0 / 0.6) * special.gamma(1.0 + 1.0 / 0.6), rel=1e-6)
        assert plan.assumptions[0] == "Every restart meets nodes of the ages given."
    assert plan_checkpoints(one, costs("1min"), nodes=20).assumptions[0].startswith("A node that failed is new")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": 0}, "mtbf is 0 hours; it must be above zero"),
        ({"source": "soon"}, "mtbf: 'soon' is not a duration"),
        ({"save": -1}, "save of the checkpoints is -1 hours; it must be finite and not negative"),
        ({"restore": "x"}, "restore of the checkpoints: 'x' is not a duration"),
        ({"restart": float("nan")}, "restart"),
        ({"every": 0}, "every of the checkpoints is 0 hours"),
        ({"slowed": 2}, r"slowed is 2; it must lie between 0 and 1"),
        ({"slowed": 0.5, "exposed": ()}, "asynchronous"),
        ({"exposed": ("saves",)}, "exposed"),
        ({"global_saves": GlobalSaves(save=1, share=30)}, r"share_global is 30; .*did you mean 0\.3"),
        ({"nodes": 1.5}, "nodes is 1.5"),
        ({"events": -1}, "events is -1"),
        ({"level": 95}, r"level is 95; .*did you mean 0\.95"),
        ({"robust": 2.0}, "robust is 2"),
        ({"source": [1.0, 2.0]}, "several mean times are given"),
    ],
)
def test_what_cannot_be_is_one_clear_line(change: dict[str, object], message: str) -> None:
    rest = dict(change)
    source, restart = rest.pop("source", 24), rest.pop("restart", 0.0)
    saves = {name: rest.pop(name) for name in ("every", "save", "restore", "exposed", "slowed") if name in rest}
    with pytest.raises(ArgumentError, match=message) as caught:
        plan_checkpoints(source, Checkpoint(**{"save": "5min", **saves}), restart, **rest)
    assert "\n" not in str(caught.value)


def test_area_is_the_integral() -> None:
    life = time_to_failure(Weibull(0.6, 24.0), ages=[3.0, 50.0])
    numeric = integrate.quad(lambda x: float(life.sf(x)), 7.0, np.inf, limit=400)[0]
    assert float(life.area_from(7.0)) == pytest.approx(numeric, rel=1e-7)


def test_the_first_of_n_exponential_failures_comes_n_times_as_often() -> None:
    assert time_to_failure(Exponential(0.01), nodes=5).constant == pytest.approx(0.05)
    assert time_to_failure(Exponential(0.01), nodes=5).mean() == pytest.approx(20.0)


def test_areas_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.array([[0.0, 7.0], [3.0, 400.0]])
    life = time_to_failure(Weibull(0.6, 24.0), ages=[3.0, 50.0])
    together = life.area_from(times)
    monkeypatch.setattr(_time_to_failure, "_CHUNK", 1)
    np.testing.assert_array_equal(life.area_from(times), together)


@pytest.mark.slow
def test_every_plan_with_limits_says_what_they_leave_out() -> None:
    save, about = Checkpoint(None, "5min", "10min"), {"nodes": 100, "n_draws": 50}
    kinds = (
        lambda **more: plan_checkpoints("1000h", Checkpoint(save="5min", restore="10min"), **about, **more),
        lambda **more: plan_migration("1000h", migration_costs(save, "1min"), **about, **more),
        lambda **more: plan_replication("1000h", save, **about, **more),
    )
    for plan in kinds:
        said = " ".join(plan(events=40).assumptions)
        assert "Intervals cover the uncertainty of the parameters alone" in said
        assert "fails while" in said
        assert "Intervals cover" not in " ".join(plan().assumptions)


def test_every_plan_counts_what_fails_during_a_repair() -> None:
    save, about = Checkpoint("5min", "10min"), {"nodes": 100, "repair": "5h"}
    by_rate = plan_checkpoints("1000h", save, **about)
    by_distribution = plan_checkpoints(Weibull(1.0, 1000.0), save, **about)
    copies = plan_replication("1000h", save, **about)
    assert by_rate.restart == pytest.approx(10.0 * np.expm1(0.5))
    assert by_distribution.restart == pytest.approx(by_rate.restart)
    assert by_distribution.waits == by_rate.waits == copies.waits
    assert copies.costs["restart"] == pytest.approx(by_rate.restart)
    assert copies.strategies["yield"][0] == pytest.approx(1.0 - by_rate.waste)


def test_an_incident_of_a_share_of_unknown_nodes_hits_a_job_by_chance() -> None:
    nodes = np.array([1.0, 5.0])
    unknown, ten, all_of_them = (
        ScopeFailures("group", 1.0, place=n, share=share) for n, share in ((0, 0.1), (10, 0.1), (10, None))
    )
    assert unknown.met(nodes) == pytest.approx(1.0 - 0.9**nodes)
    assert ten.met(nodes) == pytest.approx([0.1, 0.5])  # one of ten
    assert all_of_them.met(nodes).tolist() == [1.0, 1.0]


def test_a_plan_names_what_the_log_says_against_it() -> None:
    trend = Check(name="trend", concern=True, finding="The rate rises.")
    other = Check(name="dependence.cycles", concern=True, finding="There is a daily cycle.")
    found = contradictions(Parameters(mtbf="2000h", checks=[trend, other]), "checkpoint")
    (text,) = found
    assert text.startswith("The rate rises. The plan assumes a constant rate: ")
    assert "relfit calibrate LOG --since DATE" in text
    assert contradictions(2000.0, "checkpoint") == ()


def test_advice_to_date_changes_only_where_there_may_be_some() -> None:
    """ "relfit trend dates the changes" was said of a stable period, of which it says that there is no change."""
    clusters = Check(name="dependence.dispersion", concern=True, finding="Failures cluster.")
    trend = Check(name="trend", concern=True, finding="Counts vary 2.7 times as much.")
    weeks = "More is lost in bad weeks than the plan says, and less in good ones."
    for name, advised in (("steady", False), ("higher later rate", False), ("all", True), ("given", True)):
        known = Parameters(mtbf="2000h", checks=[clusters, trend], period={"name": name})
        first, second = contradictions(known, "checkpoint")
        assert first == f"Failures cluster. {weeks}"
        assert ("where relfit trend LOG dates a change" in second) == advised
        assert advised or second == "Counts vary 2.7 times as much."  # what follows was said
        (alone,) = contradictions(known, "migration")
        assert alone.endswith("--since DATE takes the last period alone." if advised else weeks)
