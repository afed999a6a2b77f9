"""Intervals: coverage at 50 lives, agreement with limits computed apart, bad input.

`benchmarks/verify_coverage.py` has more quantities, sample sizes and kinds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import relfit as rf
from relfit.fitting.intervals import KINDS as INTERVAL_KINDS
from tests.fitting.all_kinds import log_likelihood

TRUTH: dict[str, rf.families.Family] = {
    "exponential": rf.families.Exponential(1e-3),
    "weibull": rf.families.Weibull(0.7, 1000.0),
    "gamma": rf.families.Gamma(0.8, 1000.0),
    "lognormal": rf.families.Lognormal(6.0, 1.5),
}
AT = {"quantile": 0.1, "reliability": 500.0, "hazard": 500.0}


def true_value(family: str, quantity: str) -> float:
    truth = TRUTH[family]
    if quantity in AT:
        return float(
            {"quantile": truth.quantile, "reliability": truth.sf, "hazard": truth.hazard}[quantity](AT[quantity])
        )
    return float(truth.mean() if quantity == "mean" else getattr(truth, quantity))


def samples(family: str, groups: int, size: int, censored: bool, seed: int) -> rf.LifeData:
    """Complete lives, or such as are watched until the true median."""
    life = TRUTH[family].sample((groups, size), rng=seed)
    limit = float(TRUTH[family].median()) if censored else np.inf
    return rf.LifeData.from_array(np.minimum(life, limit), life <= limit)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "censored", "groups", "quantities"),
    [
        ("exponential", False, 4000, ["rate", "mean"]),
        ("exponential", True, 4000, ["quantile", "hazard"]),
        pytest.param("weibull", False, 4000, ["shape", "reliability"], marks=pytest.mark.verify),
        ("weibull", True, 2000, ["quantile"]),
        pytest.param("gamma", False, 1500, ["shape"], marks=pytest.mark.verify),
        pytest.param("gamma", True, 1000, ["quantile"], marks=pytest.mark.verify),
        pytest.param("lognormal", False, 2500, ["meanlog", "quantile"], marks=pytest.mark.verify),
        ("lognormal", True, 2500, ["sdlog"]),
    ],
)
def test_profile_limits_cover_at_50_lives(family, censored, groups, quantities):
    fit = rf.fit(samples(family, groups, 50, censored, seed=11), family)[family]
    for quantity in quantities:
        found = fit.interval(quantity, at=AT.get(quantity), kind="profile")
        assert (found.status == "ok").all()
        truth = true_value(family, quantity)
        coverage = np.mean((found.low <= truth) & (truth <= found.high))
        assert 0.935 <= coverage <= 0.965, (quantity, coverage)
        assert (found.low < found.estimate).all()
        assert (found.estimate < found.high).all()


def test_exact_limits_of_the_exponential_cover_with_two_failures():
    complete = rf.fit(samples("exponential", 20_000, 2, False, seed=3), "exponential")["exponential"]
    found = complete.interval("mean", kind="exact")
    assert np.mean((found.low <= 1000.0) & (found.high >= 1000.0)) == pytest.approx(0.95, abs=0.005)
    clock = rf.fit(samples("exponential", 20_000, 10, True, seed=4), "exponential")["exponential"]
    found = clock.interval("mean", kind="exact")
    assert np.mean((found.low <= 1000.0) & (found.high >= 1000.0)) > 0.948


def test_exact_limits_are_the_textbooks():
    lives = rf.LifeData.from_array([100.0, 300.0, 500.0, 1000.0], [True, True, True, False])
    fit = rf.fit(lives, "exponential")["exponential"]
    total = 1900.0
    by_clock = fit.interval("mean", kind="exact", level=0.9)
    assert by_clock.low[0] == pytest.approx(2 * total / stats.chi2.ppf(0.95, 8))
    assert by_clock.high[0] == pytest.approx(2 * total / stats.chi2.ppf(0.05, 6))
    by_failure = fit.interval("mean", kind="exact", level=0.9, terminated="failure")
    assert by_failure.low[0] == pytest.approx(2 * total / stats.chi2.ppf(0.95, 6))
    survives = fit.interval("reliability", at=200.0, kind="exact", level=0.9)
    assert survives.low[0] == pytest.approx(np.exp(-200.0 / by_clock.low[0]))
    assert survives.high[0] == pytest.approx(np.exp(-200.0 / by_clock.high[0]))


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_hours_without_a_failure_have_exact_limits(level):
    quiet = rf.fit([1000.0] * 32, "exponential", observed=[False] * 32)["exponential"]
    low = 32_000.0 / -np.log((1.0 - level) / 2.0)
    for quantity, at, limits in (
        ("mean", None, (np.inf, low, np.inf)),
        ("rate", None, (0.0, 0.0, 1.0 / low)),
        ("reliability", "1000h", (1.0, np.exp(-1000.0 / low), 1.0)),
    ):
        found = quiet.interval(quantity, at=at, kind="exact", level=level)
        assert (found.estimate[0], found.low[0], found.high[0]) == pytest.approx(limits)
        assert found.status.tolist() == ["all_censored"]
    assert np.isnan(quiet.interval("mean").low).all()
    assert quiet.to_frame()[["mean", "mean_low", "mean_high"]].isna().all(axis=None)


def test_without_a_failure_the_interval_that_exists_is_named():
    quiet = rf.fit([1000.0] * 3, observed=[False] * 3)
    with pytest.raises(rf.ArgumentError, match="only the exponential has one: families='exponential'"):
        quiet["weibull"].interval("mean", kind="exact")
    assert quiet.interval("mean", kind="exact", families="exponential")["low"][0] > 0.0


def test_wald_limits_by_hand():
    lives = samples("weibull", 5, 12, True, seed=6)
    fit = rf.fit(lives, "weibull")["weibull"]
    found = fit.interval("shape", kind="wald", level=0.9)
    shape, error = fit.parameters["shape"], fit.standard_errors["shape"]
    np.testing.assert_allclose(found.high, shape * np.exp(stats.norm.ppf(0.95) * error / shape), rtol=1e-6)
    np.testing.assert_allclose(found.low, shape / np.exp(stats.norm.ppf(0.95) * error / shape), rtol=1e-6)


def _profile(family: str, lives: rf.LifeData, fixed: Any, middle: float) -> float:
    """Largest log-likelihood under ``fixed(nuisance) -> parameters``, the nuisance being the log of a parameter."""
    grid = middle + np.linspace(-6.0, 6.0, 1201)
    value = log_likelihood(family, np.stack([fixed(x) for x in grid])[:, None], lives)[:, 0]
    best = grid[np.nanargmax(np.where(np.isfinite(value), value, np.nan))]
    found = optimize.minimize_scalar(
        lambda x: -log_likelihood(family, fixed(x)[None], lives)[0],
        bounds=(best - 0.01, best + 0.01),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -found.fun


KINDS_OF_LIVES = {
    "right": rf.LifeData.from_array([120.0, 900.0, 2000.0, 4000.0, 5000.0, 5000.0], [True] * 4 + [False] * 2),
    "all": rf.LifeData.from_array(
        [120.0, 900.0, 2000.0, 0.0, 5000.0, 300.0, 700.0],
        [True, True, True, False, False, False, True],
        upper=[120.0, 900.0, 2000.0, 800.0, np.inf, 2500.0, 700.0],
        entry=[0.0, 100.0, 500.0, 0.0, 1000.0, 0.0, 0.0],
        exit=[np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, 9000.0],
        weights=[1, 2, 1, 1, 3, 2, 1],
    ),
}


@pytest.mark.parametrize("kind", list(KINDS_OF_LIVES))
@pytest.mark.parametrize("family", ["weibull", "gamma", "lognormal"])
@pytest.mark.slow
def test_profile_limits_are_where_a_profile_computed_apart_has_fallen(family, kind):
    lives = KINDS_OF_LIVES[kind]
    fit = rf.fit(lives, family)[family]
    top = log_likelihood(family, fit.parameter_array, lives)[0]
    drop = 0.5 * stats.chi2.ppf(0.95, 1)
    first = fit.family.parameter_names()[0]
    start = float(np.log(fit.parameter_array[0, 1]))
    # of the first parameter, over the log of the second
    found = fit.interval(first)
    for limit in (found.low[0], found.high[0]):
        here = start if family != "gamma" else float(np.log(fit.distribution.mean()[0] / limit))
        value = _profile(family, lives, lambda x, limit=limit: np.array([limit, np.exp(x)]), here)
        assert top - value == pytest.approx(drop, abs=1e-5)
    # of a quantile, over the log of the first parameter or of the spread
    found = fit.interval("quantile", at=0.1)
    for limit in (found.low[0], found.high[0]):

        def through(x: float, limit: float = limit) -> np.ndarray:
            if family == "lognormal":
                return np.array([np.log(limit) - np.exp(x) * stats.norm.ppf(0.1), np.exp(x)])
            unit = {"weibull": stats.weibull_min, "gamma": stats.gamma}[family].ppf(0.1, np.exp(x))
            return np.array([np.exp(x), limit / max(unit, 1e-290)])

        middle = np.log(fit.parameter_array[0, 1 if family == "lognormal" else 0])
        assert top - _profile(family, lives, through, float(middle)) == pytest.approx(drop, abs=1e-5)


def test_reliability_of_an_age_ends_where_its_profile_has_fallen():
    lives = samples("weibull", 1, 30, True, seed=8)
    fit = rf.fit(lives, "weibull")["weibull"]
    found = fit.interval("reliability", at="200h", age=900.0)
    shape, scale = float(fit.shape[0]), float(fit.scale[0])
    assert found.estimate[0] == pytest.approx(np.exp((900.0 / scale) ** shape - (1100.0 / scale) ** shape))
    top = log_likelihood("weibull", fit.parameter_array, lives)[0]
    for limit in (found.low[0], found.high[0]):

        def fixed(x: float, limit: float = limit) -> np.ndarray:
            k = np.exp(x)
            with np.errstate(all="ignore"):
                return np.array([k, ((1100.0**k - 900.0**k) / -np.log(limit)) ** (1.0 / k)])

        assert top - _profile("weibull", lives, fixed, np.log(shape)) == pytest.approx(
            stats.chi2.ppf(0.95, 1) / 2.0, abs=1e-4
        )
    for kind in ("wald", "bootstrap", "resample"):
        other = fit.interval("reliability", at="200h", age="900h", kind=kind, n_resamples=99)
        assert other.low[0] < found.estimate[0] < other.high[0]
    with pytest.raises(rf.ArgumentError, match=r"mean takes no age=; reliability does"):
        fit.interval("mean", age=900.0)
    with pytest.raises(rf.ArgumentError, match="one at=; call it once for each"):
        fit.interval("reliability", at=[100.0, 200.0])
    with pytest.raises(rf.ArgumentError, match="use reliability with at= and age="):
        fit.interval("conditional_sf", at=200.0)


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(8)
    life = rng.weibull(1.3, 12) * 100.0
    seen = life < 120.0
    weights = rng.integers(0, 4, 12)
    weighted = rf.LifeData.from_array(np.minimum(life, 120.0), seen, weights=weights)
    repeated = rf.LifeData.from_array(np.repeat(np.minimum(life, 120.0), weights), np.repeat(seen, weights))
    for family in ("exponential", "weibull", "gamma", "lognormal"):
        one, other = rf.fit(weighted, family)[family], rf.fit(repeated, family)[family]
        for kind in ("wald", "profile"):
            a, b = one.interval("quantile", at=0.2, kind=kind), other.interval("quantile", at=0.2, kind=kind)
            np.testing.assert_allclose([a.low, a.high], [b.low, b.high], rtol=1e-5)


@pytest.mark.parametrize("family", ["exponential", "weibull", "gamma", "lognormal"])
@pytest.mark.parametrize("kind", ["wald", "profile", "bootstrap", "resample"])
def test_the_unit_of_time_does_not_matter(family, kind):
    lives = samples(family, 3, 15, True, seed=5)
    small = rf.LifeData(lives.durations * 1e-6, lives.observed, lives.offsets, lives.groups)
    a = rf.fit(lives, family)[family].interval("mean", kind=kind, n_resamples=199)
    b = rf.fit(small, family)[family].interval("mean", kind=kind, n_resamples=199)
    np.testing.assert_allclose(b.low, a.low * 1e-6, rtol=1e-4)
    np.testing.assert_allclose(b.high, a.high * 1e-6, rtol=1e-4)
    assert b.status.tolist() == a.status.tolist()


def test_groups_alone_and_in_a_batch():
    fit = rf.fit(samples("gamma", 6, 12, True, seed=9), "gamma")["gamma"]
    whole, alone = fit.interval("mean"), fit.take([4]).interval("mean")
    assert alone.low[0] == pytest.approx(whole.low[4], rel=1e-5)
    assert alone.high[0] == pytest.approx(whole.high[4], rel=1e-5)


def test_the_bootstrap_of_an_exponential_is_a_scaled_gamma():
    lives = samples("exponential", 1, 8, False, seed=2)
    fit = rf.fit(lives, "exponential")["exponential"]
    found = fit.interval("mean", kind="bootstrap", n_resamples=19_999, rng=1)
    for limit, p in ((found.low[0], 0.025), (found.high[0], 0.975)):
        assert limit == pytest.approx(float(fit.mean[0]) * stats.gamma.ppf(p, 8) / 8, rel=0.02)


@pytest.mark.parametrize("family", ["weibull", "gamma", "lognormal"])
@pytest.mark.slow
def test_a_bent_region_is_followed_to_its_end(family):
    """With few failures and half of the lives censored the region is a long bow, most of it out of sight of its centre.

    The profile of the shape, or spread, is computed apart, on a grid.
    """
    lives = samples(family, 16, 5, True, seed=3)
    fit = rf.fit(lives, family)[family]
    name = "sdlog" if family == "lognormal" else "shape"
    found = fit.interval(name)
    rows = np.flatnonzero((found.status == "ok") & (lives.n_failures < 5))
    assert rows.size > 8
    part = lives.take(rows.tolist())
    bow = np.sinh(np.linspace(-8.0, 8.0, 6_001))[:, None]
    for limit in (found.low[rows], found.high[rows]):
        if family != "lognormal":
            scale = np.exp(np.log(fit.parameters["scale"][rows]) + 0.3 * bow)
            grid = np.stack(np.broadcast_arrays(limit, scale), axis=-1)
        else:
            middle = fit.parameters["meanlog"][rows] + 0.3 * bow
            grid = np.stack(np.broadcast_arrays(middle, limit), axis=-1)
        with np.errstate(all="ignore"):
            profile = np.nanmax(np.nan_to_num(log_likelihood(family, grid, part), nan=-np.inf), axis=0)
        np.testing.assert_allclose(fit.loglik[rows] - profile, 0.5 * stats.chi2.ppf(0.95, 1), atol=2e-3)


@pytest.mark.slow
def test_limits_that_the_data_do_not_set():
    """Inspections that contradict each other leave open whether lives differ by any number of orders of magnitude."""
    lives = rf.LifeData.from_intervals(
        [[0.0, 0.0, 0.0, 0.0, 20.0, 5.0, 5.0]], [[10.0, 10.0, 40.0, 40.0, np.inf, np.inf, np.inf]]
    )
    fit = rf.fit(lives, "weibull")["weibull"]
    for quantity, status in (("shape", "open_low"), ("scale", "open"), ("mean", "open_high"), ("median", "open")):
        found = fit.interval(quantity)
        assert found.status[0] == status, quantity
        assert (found.low[0] == 0.0) == (status in ("open", "open_low"))
        assert np.isinf(found.high[0]) == (status in ("open", "open_high"))
    none = rf.LifeData.from_array([5.0, 5.0], [True, True])
    found = rf.fit(none, "weibull")["weibull"].interval("mean")
    assert found.status[0] == "no_variance"
    assert np.isnan(found.low[0])


def test_a_bootstrap_that_could_hardly_be_fitted_says_so():
    """Only replicates that hold both failures can be fitted: 41 % of them."""
    lives = rf.LifeData.from_array([8.0, 9.0, 3.0, 4.0, 2.0, 1.0, 5.0, 6.0], [True, True, *[False] * 6])
    fit = rf.fit(lives, "weibull")["weibull"]
    assert fit.status[0] == "ok"
    assert fit.interval("shape", kind="resample", n_resamples=999).status[0] == "few_replicates"
    assert (
        rf.fit(samples("weibull", 1, 30, False, 3), "weibull")["weibull"]
        .interval("shape", kind="resample", n_resamples=99)
        .status[0]
        == "ok"
    )


@pytest.fixture(scope="module")
def fits() -> rf.fitting.Fits:
    return rf.fit(samples("weibull", 2, 10, False, seed=1))


def test_a_contour_lies_where_the_likelihood_has_fallen_by_half_a_quantile_of_chi_square():
    values = 300.0 * np.random.default_rng(8).weibull(1.4, 20)
    fits = rf.fit({"a": values, "b": [5.0, 5.0]}, ["weibull", "weibull3"])
    edge, top = fits["weibull"].contour("a", level=0.9), fits["weibull"].loglik[0]
    fallen = [
        top - stats.weibull_min.logpdf(values, *pair[:1], scale=pair[1]).sum()
        for pair in zip(*edge.values(), strict=True)
    ]
    np.testing.assert_allclose(fallen, 0.5 * stats.chi2.ppf(0.9, 2), rtol=1e-6)
    # once round the maximum, and back to where it began
    x, y = (np.log(edge[name] / fits["weibull"].parameters[name][0]) for name in ("shape", "scale"))
    assert (x[0], y[0]) == (x[-1], y[-1])
    steps = np.diff(np.unwrap(np.arctan2(y / np.ptp(y), x / np.ptp(x))))
    assert abs(steps.sum()) == pytest.approx(2.0 * np.pi)
    assert np.abs(steps).max() < 0.3
    for fit, label, said in (
        (fits["weibull3"], "a", "two parameters, weibull3 has 3"),
        (fits["weibull"], None, "several groups"),
        (fits["weibull"], "b", "no weibull fit"),
    ):
        with pytest.raises(rf.ArgumentError, match=said):
            fit.contour(label)


class TestBadInput:
    @pytest.mark.parametrize("at", [0.0, 1.0, -0.5, 1.5, float("nan"), 10.0])
    def test_quantiles_outside_0_to_1(self, fits, at):
        with pytest.raises(rf.ArgumentError, match="not between 0 and 1"):
            fits["weibull"].interval("quantile", at=at)

    @pytest.mark.parametrize("quantity", ["quantile", "reliability", "hazard"])
    def test_what_needs_at(self, fits, quantity):
        with pytest.raises(rf.ArgumentError, match="needs"):
            fits["weibull"].interval(quantity)

    @pytest.mark.parametrize("quantity", ["mean", "median", "shape"])
    def test_what_takes_no_at(self, fits, quantity):
        with pytest.raises(rf.ArgumentError, match="takes no at="):
            fits["weibull"].interval(quantity, at=0.1)

    @pytest.mark.parametrize("at", [0.0, -5.0, float("inf"), float("nan")])
    def test_times_without_meaning(self, fits, at):
        with pytest.raises(rf.ArgumentError):
            fits["weibull"].interval("reliability", at=at)

    @pytest.mark.parametrize(("written", "meant"), [("shap", "shape"), ("men", "mean"), ("relability", "reliability")])
    def test_the_nearest_quantity_is_suggested(self, fits, written, meant):
        for asked in (fits["weibull"], fits):
            with pytest.raises(rf.ArgumentError, match=f"did you mean {meant}"):
                asked.interval(written)

    def test_a_percentage_that_fails_is_a_quantile(self, fits):
        for asked in (fits["weibull"], fits):
            with pytest.raises(rf.ArgumentError, match=r"no quantity 'B10'.*quantile with at=0\.1"):
                asked.interval("B10")

    def test_intervals_of_lives_in_intervals_name_the_other_bootstrap(self):
        inspected = rf.fit(rf.LifeData.from_intervals([1.0, 2.0, 2.0], [2.0, 3.0, 5.0]), "exponential")["exponential"]
        with pytest.raises(rf.ArgumentError, match="use kind='resample' or kind='profile'"):
            inspected.interval("mean", kind="bootstrap")

    def test_a_parameter_of_another_family(self, fits):
        with pytest.raises(rf.ArgumentError, match="no quantity 'sdlog' of the weibull family"):
            fits["weibull"].interval("sdlog")

    def test_exact_limits_are_for_the_exponential(self, fits):
        with pytest.raises(rf.ArgumentError, match="no exact interval for the weibull family"):
            fits["weibull"].interval("mean", kind="exact")

    def test_exact_limits_need_plain_lives(self):
        lives = rf.LifeData.from_intervals([1.0, 3.0], [2.0, 5.0])
        with pytest.raises(rf.ArgumentError, match="observed or right-censored"):
            rf.fit(lives, "exponential")["exponential"].interval("mean", kind="exact")

    def test_unknown_kinds(self, fits):
        with pytest.raises(rf.ArgumentError, match="no interval of kind 'normal'"):
            fits["weibull"].interval("mean", kind="normal")
        with pytest.raises(rf.ArgumentError, match="terminated"):
            fits["exponential"].interval("mean", kind="exact", terminated="never")
        with pytest.raises(rf.ArgumentError, match="only exact intervals"):
            fits["exponential"].interval("mean", kind="wald", terminated="time")

    @pytest.mark.parametrize("level", [0.0, 1.0, 95.0, float("nan")])
    def test_levels(self, fits, level):
        with pytest.raises(rf.ArgumentError, match=r"level is .*must lie strictly between 0 and 1"):
            fits["weibull"].interval("mean", level=level)

    def test_too_few_replications(self, fits):
        with pytest.raises(rf.ArgumentError, match="too few"):
            fits["weibull"].interval("mean", kind="bootstrap", n_resamples=5)

    def test_a_parametric_bootstrap_of_intervals(self):
        lives = rf.LifeData.from_intervals([1.0, 3.0, 4.0], [2.0, 5.0, 9.0])
        fit = rf.fit(lives, "weibull")["weibull"]
        with pytest.raises(rf.ArgumentError, match="how durations were censored"):
            fit.interval("mean", kind="bootstrap")
        assert np.isfinite(fit.interval("mean", kind="resample", n_resamples=99).low[0])

    def test_every_kind_is_explained(self):
        assert set(INTERVAL_KINDS) == {"wald", "profile", "bootstrap", "resample", "exact"}


def test_the_highest_of_few_replicates_is_a_limit() -> None:
    life = np.random.default_rng(2).weibull(0.8, (3, 30)) * 100.0
    fit = rf.fit(rf.LifeData.from_array(life), "weibull")["weibull"]
    wide, less = (fit.interval("mean", kind="bootstrap", n_resamples=19, rng=1, level=q) for q in (0.95, 0.8))
    assert (wide.high > less.high).all()  # ranks 20, which is the 19th, and 18 of 19
    assert (wide.low < less.low).all()


def test_a_mean_that_may_be_infinite_is_open_above():
    """A loglogistic mean is infinite for shapes up to 1, which the likelihood of these six does not exclude."""
    lives = np.array([1.0, 2.0, 5.0, 9.0, 14.0, 30.0])

    def drop(shape: float) -> float:
        at = [stats.fisk(shape, scale=scale).logpdf(lives).sum() for scale in np.linspace(2.0, 20.0, 181)]
        return float(stats.fisk(*stats.fisk.fit(lives, floc=0.0)).logpdf(lives).sum() - max(at))

    assert drop(1.0) < 0.5 * stats.chi2(1).ppf(0.95) < drop(0.5)
    fit = rf.fit([lives, np.arange(8.0, 14.0)], "loglogistic")["loglogistic"]
    found = fit.interval("mean")
    assert found.status.tolist() == ["open_high", "ok"]
    assert np.isinf(found.high).tolist() == [True, False]
    assert 0.0 < found.low[0] < found.estimate[0]
