"""Estimates from intervals, truncation and weights against lifelines, SurPyval, a direct search and the kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, stats

import relfit as rf
from relfit.fitting import conditional_kernels
from relfit.fitting.families import family_named
from relfit.fitting.goodness_of_fit import spent_hazards
from tests.fitting.all_kinds import FAMILIES, from_logs, log_likelihood, random_lives, to_logs
from tests.fitting.reference import quiet
from tests.fitting.simulated import TRUTH

N = 60


def observed_lives(family: str, seed: int, right: bool = True) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    life = TRUTH[family].sample(N, rng=rng)
    limit = rng.exponential(3000.0, N) if right else np.full(N, np.inf)
    return np.minimum(life, limit), life <= limit, rng


def intervals(family: str) -> rf.LifeData:
    """Inspections at random times: left-, interval- and right-censored lives."""
    rng = np.random.default_rng(3)
    life = TRUTH[family].sample(N, rng=rng)
    times = np.sort(rng.exponential(900.0, (N, 4)), axis=1)
    low = np.where(times < life[:, None], times, 0.0).max(axis=1)
    high = np.where(times >= life[:, None], times, np.inf).min(axis=1)
    return rf.LifeData.from_intervals(low, high)


def left_censored(family: str) -> rf.LifeData:
    """Known exactly, or known to have ended by the first inspection."""
    life, _, rng = observed_lives(family, 4, right=False)
    first = rng.exponential(400.0, N)
    early = life < first
    return rf.LifeData.from_array(np.where(early, 0.0, life), ~early, upper=np.where(early, first, life))


def late_entries(family: str) -> rf.LifeData:
    """Nodes that entered service before the log began."""
    rng = np.random.default_rng(5)
    entry = np.where(rng.random(N) < 0.6, rng.exponential(500.0, N), 0.0)
    life = entry + TRUTH[family].excess_sample(entry, 1, rng)[0]
    limit = entry + rng.exponential(3000.0, N)
    return rf.LifeData.from_array(np.minimum(life, limit), life <= limit, entry=entry)


def seen_because_ended(family: str) -> rf.LifeData:
    """Right truncation: lives are here because they ended before a limit."""
    rng = np.random.default_rng(6)
    leave = rng.uniform(1000.0, 8000.0, 4 * N)
    life = TRUTH[family].sample(4 * N, rng=rng)
    here = np.flatnonzero(life <= leave)[:N]
    return rf.LifeData.from_array(life[here], exit=leave[here])


def weighted(family: str) -> rf.LifeData:
    life, seen, rng = observed_lives(family, 7)
    return rf.LifeData.from_array(life, seen, weights=rng.integers(0, 5, N))


KINDS: dict[str, Callable[[str], rf.LifeData]] = {
    "intervals": intervals,
    "left_censored": left_censored,
    "late_entries": late_entries,
    "seen_because_ended": seen_because_ended,
    "weighted": weighted,
}


def fitted(family: str, lives: rf.LifeData) -> tuple[np.ndarray, float]:
    fit = rf.fit(lives, family)[family]
    assert fit.ok.all()
    value = log_likelihood(family, fit.parameter_array, lives)[0]
    assert fit.loglik[0] == pytest.approx(value, rel=1e-10)
    return fit.parameter_array[0], value


def hold_against(family: str, lives: rf.LifeData, theirs: np.ndarray) -> None:
    """Equal parameters to 1e-5, or a better likelihood; never a worse one."""
    ours, value = fitted(family, lives)
    other = log_likelihood(family, np.asarray(theirs, dtype=float)[None], lives)[0]
    assert value >= other - 1e-8 * abs(value)
    assert np.allclose(ours, theirs, rtol=1e-5) or value > other


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_direct_search(family, kind):
    lives = KINDS[kind](family)
    ours, value = fitted(family, lives)

    def loss(u: np.ndarray) -> float:
        found = -log_likelihood(family, from_logs(family, u)[None], lives)[0]
        return found if np.isfinite(found) else 1e10

    start = to_logs(family, ours[None])[0] + 0.4
    found = optimize.minimize(
        loss, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 10_000, "maxfev": 10_000}
    )
    assert value == pytest.approx(-found.fun, rel=1e-10)
    np.testing.assert_allclose(ours, from_logs(family, found.x), rtol=1e-5)


LIFELINES = {
    "exponential": ("ExponentialFitter", lambda f: [1.0 / f.lambda_]),
    "weibull": ("WeibullFitter", lambda f: [f.rho_, f.lambda_]),
    "lognormal": ("LogNormalFitter", lambda f: [f.mu_, f.sigma_]),
}


@pytest.mark.parametrize("family", list(LIFELINES))
@pytest.mark.parametrize("kind", ["intervals", "left_censored", "late_entries", "weighted"])
def test_lifelines(family, kind):
    import lifelines

    lives = KINDS[kind](family)
    name, read = LIFELINES[family]
    fitter = getattr(lifelines, name)()
    with quiet():
        if kind in ("intervals", "left_censored"):
            fitter.fit_interval_censoring(lives.durations, lives.ends)
        elif kind == "late_entries":
            fitter.fit(lives.durations, lives.observed, entry=lives.entry)
        else:
            counted = lives.weights > 0
            fitter.fit(lives.durations[counted], lives.observed[counted], weights=lives.weights[counted])
    hold_against(family, lives, read(fitter))
    np.testing.assert_allclose(fitted(family, lives)[0], read(fitter), rtol=2e-3)  # it stops early


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", list(KINDS))
def test_surpyval(family, kind):
    surpyval = pytest.importorskip("surpyval")

    lives = KINDS[kind](family)
    model = {
        "exponential": surpyval.Exponential,
        "weibull": surpyval.Weibull,
        "gamma": surpyval.Gamma,
        "lognormal": surpyval.LogNormal,
    }[family]
    weights = np.ones(lives.durations.size, int) if lives.weights is None else lives.weights
    counted = weights > 0
    arguments = {"n": weights[counted]}
    if lives.upper is not None:
        arguments |= {"xl": lives.durations[counted], "xr": lives.ends[counted]}
    else:
        arguments |= {"x": lives.durations[counted], "c": (~lives.observed[counted]).astype(int)}
    if lives.entry is not None:
        arguments["tl"] = lives.entry[counted]
    if lives.exit is not None:
        arguments["tr"] = lives.exit[counted]
    with quiet():
        p = model.fit(**arguments).params
    theirs = [p[1], p[0]] if family == "weibull" else [p[0], 1.0 / p[1]] if family == "gamma" else list(p)
    if not np.isfinite(theirs).all():
        pytest.skip("SurPyval gives no estimate")
    hold_against(family, lives, np.asarray(theirs))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_repeated_rows(family):
    lives = random_lives(1200, seed=9)
    whole = rf.LifeData(
        lives.durations,
        lives.observed,
        lives.offsets,
        lives.groups,
        upper=lives.upper,
        entry=lives.entry,
        exit=lives.exit,
        weights=np.random.default_rng(1).integers(0, 4, lives.durations.size),
    )
    rows = np.repeat(np.arange(lives.durations.size), whole.weights)
    sizes = np.bincount(lives.group_codes(), whole.weights, lives.n_groups)
    part = {name: values[rows] for name, values in whole.further().items() if name != "weights"}
    repeated = rf.LifeData(
        lives.durations[rows], lives.observed[rows], np.concatenate([[0], np.cumsum(sizes)]), lives.groups, **part
    )
    if family == "gamma":
        whole, repeated = whole.take(range(300)), repeated.take(range(300))
    one, other = rf.fit(whole, family)[family], rf.fit(repeated, family)[family]
    assert (one.status != other.status).sum() <= 1
    both = one.ok & other.ok
    np.testing.assert_allclose(one.loglik[both], other.loglik[both], rtol=1e-8, atol=1e-7)
    errors = np.stack(list(one.standard_errors.values()), axis=1)[both]
    assert (np.abs(one.parameter_array - other.parameter_array)[both] < 1e-4 * errors).mean() > 0.999


@pytest.mark.parametrize("family", FAMILIES[1:])
def test_the_general_search_gives_what_the_kernels_give(family, monkeypatch):
    rng = np.random.default_rng(2)
    life = TRUTH[family].sample((300, 25), rng=rng)
    limit = rng.exponential(2000.0, life.shape)
    lives = rf.LifeData.from_array(np.minimum(life, limit), life <= limit)
    kernel = rf.fit(lives, family)[family]
    monkeypatch.setattr(conditional_kernels, "suited", lambda lives: False)
    search = rf.fit(lives, family)[family].estimates
    assert kernel.ok.all()
    assert (search.codes == 0).all()
    np.testing.assert_allclose(search.parameters, kernel.parameter_array, rtol=1e-6)
    np.testing.assert_allclose(search.loglik, kernel.loglik, rtol=1e-10)
    errors = np.sqrt(np.diagonal(kernel.covariance, axis1=1, axis2=2))
    scaled = (search.covariance - kernel.covariance) / (errors[:, :, None] * errors[:, None, :])
    assert np.abs(scaled).max() < 2e-4


@pytest.mark.parametrize("family", FAMILIES[1:])
def test_both_say_alike_when_there_is_no_estimate(family, monkeypatch):
    rng = np.random.default_rng(4)
    life = np.ceil(rng.exponential(2.0, (2000, 3)))
    life[rng.random(life.shape) < 0.02] = 0.0
    lives = rf.LifeData.from_array(life, rng.random(life.shape) < 0.6)
    kernel = rf.fit(lives, family)[family]
    monkeypatch.setattr(conditional_kernels, "suited", lambda lives: False)
    search = rf.fit(lives, family)[family].estimates
    assert len(set(kernel.status)) >= 4
    np.testing.assert_array_equal(kernel.estimates.codes, search.codes)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", list(KINDS))
def test_the_unit_of_time_does_not_matter(family, kind, scale):
    lives = KINDS[kind](family)
    hours = {name: values * (1 if name == "weights" else scale) for name, values in lives.further().items()}
    other = rf.LifeData(lives.durations * scale, lives.observed, lives.offsets, lives.groups, **hours)
    one, two = rf.fit(lives, family)[family], rf.fit(other, family)[family]
    assert one.ok.all()
    assert two.ok.all()
    for name, value in one.parameters.items():
        expected = {"scale": value * scale, "rate": value / scale, "meanlog": value + np.log(scale)}.get(name, value)
        np.testing.assert_allclose(two.parameters[name], expected, rtol=1e-6)
    failed = lives.observed if lives.weights is None else lives.observed * lives.weights
    np.testing.assert_allclose(two.loglik, one.loglik - failed.sum() * np.log(scale), rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_estimates_come_close_to_the_truth(family):
    """Intervals, truncation on both sides, 4 000 lives: nothing is off by more than four standard errors."""
    rng = np.random.default_rng(11)
    entry = np.where(rng.random(12_000) < 0.5, rng.exponential(300.0, 12_000), 0.0)
    life = TRUTH[family].sample(12_000, rng=rng)
    leave = np.where(rng.random(12_000) < 0.5, rng.uniform(500.0, 9000.0, 12_000), np.inf)
    here = np.flatnonzero((life > entry) & (life <= leave))[:4000]
    life, entry, leave = life[here], entry[here], leave[here]
    inspected = rng.random(life.size) < 0.5
    grid = 100.0  # between inspections
    low = np.where(inspected, np.maximum(np.floor(life / grid) * grid, entry), life)
    high = np.where(inspected, np.minimum(np.ceil(life / grid) * grid, leave), life)
    fit = rf.fit(rf.LifeData.from_intervals(low, high, entry=entry, exit=leave), family)[family]
    for name, value in fit.parameters.items():
        truth = float(getattr(TRUTH[family], name))
        assert abs(value[0] - truth) < 4.0 * fit.standard_errors[name][0], name
        assert fit.standard_errors[name][0] < 0.1 * abs(truth) + 0.2 * (name == "scale") * truth, name


def test_hazards_spent_begin_at_the_entry_of_those_that_entered_late() -> None:
    times, entry = np.array([50.0, 120.0, 300.0, 80.0]), np.array([0.0, 100.0, 0.0, 10.0])
    lives = rf.LifeData.from_array(times[None], np.array([[True, True, False, True]]), entry=entry[None])
    spent = spent_hazards(family_named("weibull"), np.array([[1.5, 100.0]]), lives)
    np.testing.assert_allclose(spent, (times / 100.0) ** 1.5 - (entry / 100.0) ** 1.5, rtol=1e-12)
    # what is seen only if it ends in time: as likely to last longer as a life is that ends by then
    leave = np.array([90.0, 150.0, 900.0, 300.0])
    lives = rf.LifeData.from_array(times[None], entry=entry[None], exit=leave[None])
    spent = spent_hazards(family_named("weibull"), np.array([[1.5, 100.0]]), lives)
    at, first, last = (stats.weibull_min.sf(x, 1.5, scale=100.0) for x in (times, entry, leave))
    np.testing.assert_allclose(np.exp(-spent), (at - last) / (first - last), rtol=1e-10)


@pytest.mark.slow
def test_late_lives_that_set_no_least_shape_say_so():
    """As the shape falls to zero the hazard tends to c / t, whose likelihood is finite: the profile in closed form."""
    rng = np.random.default_rng(7)
    entry = rng.uniform(1000.0, 2000.0, (40, 150))
    lives = 1000.0 * ((entry / 1000.0) ** 0.7 + rng.standard_exponential(entry.shape)) ** (1.0 / 0.7)
    times, failed = np.minimum(lives, entry + 700.0), lives <= entry + 700.0

    def profile(i, shape):
        n, spent = failed[i].sum(), (times[i] ** shape - entry[i] ** shape).sum()
        return n * np.log(n * shape / spent) - n + (shape - 1.0) * np.log(times[i][failed[i]]).sum()

    fit = rf.fit(rf.LifeData.from_array(times, failed, entry=entry), "weibull")["weibull"]
    found = fit.interval("shape")
    counts = dict.fromkeys(("open_low", "ok"), 0)
    for i in np.flatnonzero(fit.ok):
        top, limit = profile(i, fit.shape[i]), stats.chi2.isf(0.05, 1)
        status = "open_low" if 2.0 * (top - profile(i, 1e-7)) < limit else "ok"
        counts[status] += 1
        assert found.status[i] == status
        ends = [found.high[i]] if status == "open_low" else [found.low[i], found.high[i]]
        assert [2.0 * (top - profile(i, end)) for end in ends] == pytest.approx([limit] * len(ends), rel=1e-4)
    assert min(counts.values()) > 3
    mean = fit.interval("mean")
    assert set(mean.status[fit.ok]) <= {"open_low", "ok"}
