"""Lives in progress at an unknown age: their density against quadrature, their fits against the truth."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, stats

import relfit as rf
from benchmarks.verify_entry import coverage
from relfit.base.numeric import special
from relfit.base.numeric.newton import derivatives
from relfit.fitting.conditional_kernels import maximise_conditional
from relfit.fitting.conditional_terms import new_space
from relfit.fitting.families import FAMILIES
from relfit.fitting.likelihood import LogLikelihood
from relfit.fitting.nonparametric import kaplan_meier

CORE = ["exponential", "weibull", "gamma", "lognormal"]
SCIPY = {
    "exponential": lambda p: stats.expon(scale=1.0 / p[0]),
    "weibull": lambda p: stats.weibull_min(p[0], scale=p[1]),
    "gamma": lambda p: stats.gamma(p[0], scale=p[1]),
    "lognormal": lambda p: stats.lognorm(p[1], scale=np.exp(p[0])),
}
PARAMETERS = {"exponential": [1e-3], "weibull": [0.6, 900.0], "gamma": [2.5, 300.0], "lognormal": [6.0, 0.7]}


def mixed(seed: int = 1, groups: int = 6, size: int = 15) -> rf.LifeData:
    """Complete, censored, left-truncated and stationary lives, some of them weighted."""
    rng = np.random.default_rng(seed)
    life = rng.weibull(0.9, (groups, size)) * 1000.0
    under_way = np.zeros(life.shape, np.bool_)
    under_way[:, :4] = True
    entry = np.where((rng.random(life.shape) < 0.4) & ~under_way, 0.7 * life, 0.0)
    seen = rng.random(life.shape) < 0.6
    weights = rng.integers(1, 3, life.shape)
    return rf.LifeData.from_array(life, seen, entry=entry, stationary=under_way, weights=weights)


def by_quadrature(family: str, parameters: list[float], lives: rf.LifeData) -> float:
    """The log-likelihood of one group, each life by its definition."""
    model = SCIPY[family](parameters)
    mean = model.mean()
    entry = np.zeros(lives.durations.size) if lives.entry is None else lives.entry
    total = 0.0
    for x, ended, age, under_way, weight in zip(
        lives.durations, lives.observed, entry, lives.stationary, lives.weights, strict=True
    ):
        if under_way and ended:
            value = np.log(model.sf(x) / mean)
        elif under_way:
            near, far = (integrate.quad(model.sf, *ends, epsabs=0, epsrel=1e-12)[0] for ends in ((x, 9e3), (9e3, 4e5)))
            value = np.log((near + far) / mean)
        else:
            value = (model.logpdf(x) if ended else model.logsf(x)) - model.logsf(age)
        total += weight * value
    return total


@pytest.mark.parametrize("family", CORE)
def test_the_log_likelihood_is_that_of_each_life_by_its_definition(family: str) -> None:
    lives = mixed()
    kind = FAMILIES[family]
    found = LogLikelihood(kind, lives)(np.tile(kind.to_free(PARAMETERS[family]), (1, 6, 1)))[0]
    for group in range(3):
        assert found[group] == pytest.approx(by_quadrature(family, PARAMETERS[family], lives.take([group])), rel=1e-9)


@pytest.mark.parametrize("family", CORE)
def test_the_compiled_search_ends_at_the_maximum(family: str) -> None:
    lives = mixed(seed=2)
    fit = rf.fit(lives, family)[family]
    assert fit.ok.all()
    kind = FAMILIES[family]
    objective = LogLikelihood(kind, lives)
    free = kind.to_free(fit.parameter_array)
    value, gradient, hessian = derivatives(objective, free, np.full(free.shape, 1e-4))
    np.testing.assert_allclose(value, fit.loglik, rtol=1e-11)
    assert np.abs(gradient).max() < 1e-5
    # and the covariance is the inverse of the information there
    slope = np.stack(
        [(kind.from_free(free + 1e-6 * e) - kind.from_free(free - 1e-6 * e)) / 2e-6 for e in np.eye(free.shape[1])],
        axis=2,
    )
    expected = np.einsum("gij,gjk,glk->gil", slope, np.linalg.inv(-hessian), slope)
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-4)
    # no higher value nearby, by an independent search
    for group in range(2):
        one = LogLikelihood(kind, lives.take([group]))
        start = free[group] + 0.3
        search = optimize.minimize(
            lambda p, one=one: -float(one(p[None, None])[0, 0]),
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-8, "fatol": 1e-10},
        )
        assert -search.fun <= fit.loglik[group] + 1e-7


@pytest.mark.parametrize("family", ["weibull", "gamma", "lognormal"])
@pytest.mark.parametrize("seed", [3, 4])
def test_the_compiled_search_leaves_nothing_to_the_general_one(family: str, seed: int) -> None:
    lives = mixed(seed, groups=60, size=25)
    kind = FAMILIES[family]
    found = maximise_conditional(family, lives, kind.to_free(np.tile(PARAMETERS[family], (60, 1))))
    assert found.converged.all()
    assert not found.edge.any()
    value, gradient, hessian = derivatives(LogLikelihood(kind, lives), found.free, np.full(found.free.shape, 1e-4))
    np.testing.assert_allclose(found.value, value, rtol=1e-11)
    assert np.abs(gradient).max() < 1e-5
    np.testing.assert_allclose(found.information, -hessian, rtol=1e-5, atol=1e-5)


TWO_MAXIMA = {
    "weibull": (
        [1364.95, 309.21, 1409.42, 19.39, 79.55, 102.7],
        [1330.45, 0, 680.77, 0, 58.59, 0],
        [1, 0, 1, 1, 0, 1],
        [0, 1, 0, 1, 0, 1],
        [-0.22, 6.68],
    ),
    "gamma": (
        [233.65, 92.77, 91.64, 227.43, 6.72, 9820.82, 4403.33, 42.41, 123.6, 1185.09, 7949.2, 3.03],
        [0, 0, 0, 201.66, 0, 0, 0, 30.55, 0, 0, 5665.97, 0],
        [1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1],
        [1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1],
        [-0.73, 8.47],
    ),
    "lognormal": (
        [451.66, 85.92, 39.6, 487.66, 21.23, 107.21],
        [144.85, 0, 0, 229.2, 0, 0],
        [1, 0, 1, 1, 1, 0],
        [0, 1, 1, 0, 1, 1],
        [5.12, 0.25],
    ),
}
"""Lives whose likelihood has a lower maximum next to where a search would begin: times, entries, ended, stationary."""


@pytest.mark.parametrize("family", TWO_MAXIMA)
def test_of_two_maxima_the_higher_one_is_found(family: str) -> None:
    times, entry, ended, stationary, start = TWO_MAXIMA[family]
    lives = rf.LifeData.from_array(
        np.array([times]),
        np.array([ended], np.bool_),
        entry=np.array([entry], np.float64),
        stationary=np.array([stationary], np.bool_),
    )
    found = maximise_conditional(family, lives, np.array([start]))
    assert found.converged.all()
    objective = LogLikelihood(FAMILIES[family], lives)
    near = np.array(start) + np.stack(np.meshgrid([-0.3, 0.0, 0.3], [-0.3, 0.0, 0.3]), axis=-1).reshape(-1, 1, 2)
    assert found.value[0] > objective(near).max() + 0.5
    grid = np.stack(np.meshgrid(np.linspace(-4.0, 10.0, 281), np.linspace(-4.0, 10.0, 281)), axis=-1).reshape(-1, 1, 2)
    assert found.value[0] >= objective(grid).max() - 1e-9


@pytest.mark.parametrize("name", list(FAMILIES))
def test_integrated_tails_of_every_family(name: str) -> None:
    """The mean at zero, minus the reliability as slope, and drawn lives of the same distribution."""
    kind = FAMILIES[name]
    parameters = kind.start(6.0, 0.5)
    model = kind(*parameters)
    if not np.isfinite(model.mean()):
        pytest.skip("no mean")
    assert np.exp(model.log_integrated_tail(0.0)) == pytest.approx(float(model.mean()), rel=1e-6)
    for t in (50.0, 300.0, 900.0):
        slope = (np.exp(model.log_integrated_tail(t + 0.5)) - np.exp(model.log_integrated_tail(t - 0.5))) / 1.0
        assert slope == pytest.approx(-float(model.sf(t)), rel=1e-4)
    drawn = model.residual_sample(2000 if name in CORE else 60, rng=1)
    share = np.exp(model.log_integrated_tail(drawn)) / float(model.mean())
    assert stats.kstest(share, "uniform").pvalue > 1e-3


def steady(shape: float, nodes: int, window: float, seed: int, scale: float = 3000.0) -> rf.LifeData:
    """Nodes that failed and were renewed for fifty mean lives before the window opened."""
    rng = np.random.default_rng(seed)
    mean = scale * stats.weibull_min(shape).mean()
    count = int(50 + 4 * window / mean + 60)
    ends = np.cumsum(scale * rng.weibull(shape, (nodes, count)), axis=1) - 50 * mean - mean * rng.random((nodes, 1))
    durations, observed, under_way = [], [], []
    for row in ends:
        inside = row[(row > 0.0) & (row <= window)]
        edges = np.concatenate([[0.0], inside, [window]])
        durations.append(np.diff(edges))
        observed.append(np.arange(inside.size + 1) < inside.size)
        under_way.append(np.arange(inside.size + 1) == 0)
    return rf.LifeData.from_groups(durations, observed, stationary=under_way)


@pytest.mark.parametrize("shape", [0.5, 2.0])
def test_a_fleet_in_steady_state_gives_its_parameters_back(shape: float) -> None:
    found = np.array(
        [
            rf.fit(steady(shape, 200, 8766.0, seed).pooled(), "weibull")["weibull"].parameter_array[0]
            for seed in range(8)
        ]
    )
    error = found.std(axis=0, ddof=1) / np.sqrt(8.0)
    assert np.all(np.abs(found.mean(axis=0) - [shape, 3000.0]) < 4.0 * error)
    assert np.all(np.abs(found.mean(axis=0) / [shape, 3000.0] - 1.0) < 0.06)


def test_only_lives_under_way_are_enough_for_the_exponential() -> None:
    lives = rf.LifeData.from_array([100.0, 300.0, 500.0], [True, True, False], stationary=True)
    fits = rf.fit(lives, CORE)
    assert fits["exponential"].status[0] == "ok"
    assert fits["exponential"].mean[0] == pytest.approx(450.0)
    assert {fits[name].status[0] for name in CORE} <= {"ok", "no_maximum"}
    none = rf.fit(rf.LifeData.from_array([5.0, 9.0], [False, False], stationary=True), CORE)
    assert {none[name].status[0] for name in CORE} == {"all_censored"}
    one = rf.fit(rf.LifeData.from_array([5.0, 9.0], [True, False], stationary=True), "weibull")["weibull"]
    assert one.status[0] == "few"


def test_what_is_made_of_fits_with_lives_under_way() -> None:
    lives = steady(0.7, 60, 8766.0, 3)
    fits = rf.fit(lives.pooled(), CORE)
    weibull = fits["weibull"]
    for kind in ("profile", "wald", "bootstrap", "resample"):
        limits = weibull.interval("shape", kind=kind, n_resamples=99)
        assert limits.status[0] == "ok"
        assert limits.low[0] < weibull.parameters["shape"][0] < limits.high[0]
    tests = weibull.goodness(n_resamples=99)
    assert (tests.p > 0.01).all()
    assert (tests.source == "bootstrap").all()
    assert fits["exponential"].goodness(n_resamples=99).p[0, 2] <= 0.05
    assert all(np.isfinite(fits[name].aicc).all() for name in CORE)
    curve = kaplan_meier(lives.pooled())
    assert curve.sizes[0] == lives.durations.size - lives.n_stationary.sum()
    pooled = rf.fit(lives, "weibull").pool("weibull")
    assert np.isfinite(pooled.parameter_array).all()
    assert "stationary" in lives.to_frame()
    again = rf.fit(lives.to_frame(), "weibull", duration="duration_hours", observed="observed", stationary="stationary")
    assert again["weibull"].parameter_array == pytest.approx(weibull.parameter_array)


@pytest.mark.parametrize("what", ["entry", "exit", "upper"])
def test_a_life_under_way_is_neither_truncated_nor_in_an_interval(what: str) -> None:
    further = {"entry": [1.0, 0.0], "exit": [9.0, np.inf], "upper": [9.0, 4.0]}[what]
    observed = [what != "upper", True]
    with pytest.raises(rf.DataError, match="stationary life of 3"):
        rf.LifeData.from_array([3.0, 4.0], observed, stationary=[True, False], **{what: further})


def test_the_flag_stays_with_its_life() -> None:
    lives = rf.LifeData.from_groups(
        {"a": [3.0, 4.0], "b": [5.0]}, {"a": [1, 0], "b": [1]}, stationary={"a": [1, 0], "b": [1]}
    )
    assert lives.n_stationary.tolist() == [1, 1]
    assert lives.take([1, 0]).stationary.tolist() == [True, True, False]
    assert lives.group("a").stationary.tolist() == [True, False]
    assert lives.pooled().n_stationary.tolist() == [2]
    assert lives.from_age_known().durations.tolist() == [4.0]
    assert lives.to_dict()["stationary"] == 2
    assert "2 in progress at an unknown age" in repr(lives)
    assert not lives.plain


@pytest.mark.parametrize("shape", [0.5, pytest.param(2.0, marks=pytest.mark.verify)])
@pytest.mark.slow
def test_intervals_hold_the_truth_whatever_the_age_of_the_nodes(shape: float) -> None:
    """Through a log with a declared window; taken from age 0, the scale is held in no fleet at all."""
    known, always = (coverage(shape, 40, first, nodes=120, seed=1) for first in ("known", "always"))
    for name in ("shape", "scale"):
        assert known[f"{name}, covered %"] >= 85.0
        assert known[f"{name}, mean over truth"] == pytest.approx(1.0, abs=0.06)
    assert always["scale, covered %"] < 20.0


@pytest.mark.parametrize("shape", [1e-10, 1e-7, 1e-5, 3e-5, 1e-3, 0.1, 5.0])
def test_the_survival_function_of_a_gamma_of_small_shape(shape: float) -> None:
    """Against forty digits; the integral beyond the argument has too many decades for a quadrature of forty nodes."""
    arguments = np.array([1e-8, 1e-4, 0.01, 0.1, 0.5, 0.99, 1.0, 2.0, 8.0])
    x, log_x = np.zeros(special.BLOCK), np.zeros(special.BLOCK)
    x[: arguments.size], log_x[: arguments.size] = arguments, np.log(arguments)
    work, out = new_space()
    score, slope = special.shape_score(shape)
    special.log_gamma_sf(shape, log_x, x, arguments.size, math.lgamma(shape), score, slope, work, out)
    with mpmath.workdps(40):
        exact = [float(mpmath.log(mpmath.gammainc(mpmath.mpf(shape), t, regularized=True))) for t in arguments]
    np.testing.assert_allclose(out[0, : arguments.size], exact, rtol=1e-10, atol=1e-9)


def test_no_plain_is_seen_where_the_likelihood_falls() -> None:
    """Towards shape 0 the log-likelihood falls to -23.6255 (written out with forty digits), below the maximum."""
    durations = np.array([[735.27616791, 3551.95974285, 847.05650695, 10.27679653]])
    entry = np.array([[17.70158027, 38.74588326, 86.38997258, 6.41946797]])
    lives = rf.LifeData.from_array(durations, np.array([[False, True, True, True]]), entry=entry)
    best = maximise_conditional("gamma", lives, FAMILIES["gamma"].to_free(np.array([[1.0, 1000.0]])))
    assert best.converged.all()
    assert best.value[0] == pytest.approx(-23.611910547, abs=1e-8)


def test_groups_without_a_maximum_are_told_by_the_compiled_search() -> None:
    rng = np.random.default_rng(0)
    age = rng.uniform(0.0, 500.0, (400, 20))
    lives = rf.LifeData.from_array(age + rf.families.Weibull(0.8, 1000.0).excess_sample(age, rng=rng), entry=age)
    best = maximise_conditional("gamma", lives, FAMILIES["gamma"].to_free(np.tile([1.0, 1000.0], (400, 1))))
    assert (best.converged | best.edge).sum() >= 399  # the general search takes fifty times as long
    assert 5 < best.edge.sum() < 40
