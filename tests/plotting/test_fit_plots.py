"""Figures of fits: what is drawn is what the library computes, and hard cases are still figures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from scipy import stats

import relfit as rf
from relfit import plotting
from relfit.fitting import FamilyFit, Fits
from relfit.nonparametric import median_ranks, turnbull
from relfit.plotting import style
from relfit.plotting.chosen import choose, unit
from relfit.plotting.hazard import observed_rates

ONE_GROUP = [plotting.probability_plot, plotting.pp_plot, plotting.qq_plot, plotting.hazard_plot]
LIKELIHOOD = [plotting.likelihood_contour, plotting.profile_likelihood]


@pytest.fixture(autouse=True)
def _no_windows_no_warnings() -> Iterator[None]:
    mpl.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def lives() -> rf.LifeData:
    """Sixty lives, every fifth censored, in each of three groups."""
    full = rf.families.Weibull(1.5, 1000.0).sample((3, 60), rng=1)
    flags = np.ones(full.shape, dtype=bool)
    flags[:, ::5] = False
    return rf.LifeData.from_array(np.where(flags, full, 0.5 * full), flags)


@pytest.fixture(scope="module")
def fits(lives: rf.LifeData) -> Fits:
    return rf.fit(lives)


def title(ax: Axes) -> str:
    return ax.get_title(loc="left").replace("\n", " ")


def line(ax: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    found = next(x for x in ax.get_lines() if str(x.get_label()).startswith(label))
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


def names(ax: Axes) -> list[str]:
    return [str(label) for label in ax.get_legend_handles_labels()[1]]


def drawn(ax: Axes) -> Axes:
    ax.figure.canvas.draw()
    return ax


def inside_the_figure(ax: Axes) -> None:
    """No legend or label is cut off, and tick labels do not overlap."""
    drawn(ax)
    renderer = ax.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    whole = ax.figure.bbox
    legend = ax.get_legend()
    parts = [ax.xaxis.label, ax.yaxis.label, *([] if legend is None else [legend])]
    for part in parts:
        box = part.get_window_extent(renderer)
        assert box.x0 >= whole.x0 - 1 and box.x1 <= whole.x1 + 1, part  # noqa: PT018
        assert box.y0 >= whole.y0 - 1 and box.y1 <= whole.y1 + 1, part  # noqa: PT018
    for axis, ends in ((ax.xaxis, ("x0", "x1")), (ax.yaxis, ("y0", "y1"))):
        boxes = [t.get_window_extent(renderer) for t in axis.get_ticklabels() if t.get_text() and t.get_visible()]
        spans = sorted((getattr(b, ends[0]), getattr(b, ends[1])) for b in boxes)
        assert len(spans) >= 2
        assert all(first[1] <= second[0] + 1 for first, second in pairwise(spans))


# ------------------------------------------------------------ probability paper


@pytest.mark.parametrize("family", ["exponential", "weibull", "gamma", "lognormal", "loglogistic"])
def test_fitted_line_is_straight_as_drawn(lives: rf.LifeData, family: str) -> None:
    ax = drawn(plotting.probability_plot(rf.fit(lives, family), 1))
    x, y = line(ax, f"fitted {family}")
    pixels = ax.transData.transform(np.column_stack([x, y]))
    pixels = pixels[(pixels[:, 1] >= ax.bbox.y0) & (pixels[:, 1] <= ax.bbox.y1)]
    assert len(pixels) > 20
    slope, offset = np.polyfit(pixels[:, 0], pixels[:, 1], 1)
    assert np.abs(pixels[:, 1] - offset - slope * pixels[:, 0]).max() < 0.01
    bent = ax.transData.transform(np.column_stack([x, y**2]))  # another curve is not straight there
    slope, offset = np.polyfit(bent[:, 0], bent[:, 1], 1)
    assert np.abs(bent[:, 1] - offset - slope * bent[:, 0]).max() > 5


def test_points_are_median_ranks(lives: rf.LifeData, fits: Fits) -> None:
    ax = plotting.probability_plot(fits, 2, family="weibull")
    x, y = line(ax, "48 failures (median ranks)")
    ranks = median_ranks(lives.take([2]))
    np.testing.assert_array_equal(x, ranks.times)
    np.testing.assert_array_equal(y, ranks.position)
    censored, _ = line(ax, "censored (12)")
    np.testing.assert_allclose(np.sort(lives.take([2]).durations[~lives.take([2]).observed]), censored)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("life (hours)", "failed (%)")
    ticks = [t.get_text() for t in drawn(ax).get_yticklabels()]
    assert {"10", "50", "90"} <= set(ticks)
    np.testing.assert_allclose([float(t) for t in ticks], 100 * ax.get_yticks())


@pytest.mark.parametrize("kind", ["wald", "profile"])
def test_band_is_that_of_the_fitted_quantiles(fits: Fits, kind: str) -> None:
    ax = plotting.probability_plot(fits, 0, family="weibull", level=0.9, kind=kind)
    _, heights = line(ax, "fitted weibull")
    band = next(c for c in ax.collections if str(c.get_label()).startswith("90 % band"))
    border = band.get_paths()[0].vertices
    p = float(heights[20])
    limits = np.sort(border[np.isclose(border[:, 1], p, rtol=1e-12), 0])
    own = fits["weibull"].take([0]).interval("quantile", at=p, kind=kind, level=0.9)
    np.testing.assert_allclose([limits[0], limits[-1]], [own.low[0], own.high[0]])


def test_no_band_where_there_is_none(lives: rf.LifeData) -> None:
    by_rank = rf.fit(lives, "weibull", method="rank_y")["weibull"]
    ax = drawn(plotting.probability_plot(by_rank))
    assert not any("band" in name for name in names(ax))
    assert any("by rank" in name for name in names(ax))
    assert not any("band" in name for name in names(plotting.hazard_plot(by_rank)))
    with pytest.raises(rf.ArgumentError, match="ml"):
        plotting.profile_likelihood(by_rank)


def test_best_family_is_taken_when_none_is_named(fits: Fits) -> None:
    best = str(fits.best().iloc[0])
    chosen = choose(fits)
    assert chosen is not None
    assert chosen.family == best
    assert f"fitted {best}" in names(plotting.probability_plot(fits))


def test_lives_in_intervals_are_bars() -> None:
    full = rf.families.Weibull(1.5, 1000.0).sample(60, rng=1)
    bins = np.floor(full / 300.0) * 300.0
    lives = rf.LifeData.from_intervals(bins, bins + 300.0)
    fits = rf.fit(lives, "weibull")
    masses = turnbull(lives)
    ax = drawn(plotting.probability_plot(fits))
    bars = next(c for c in ax.collections if isinstance(c, LineCollection))
    assert len(bars.get_segments()) == int((masses.mass > 1e-12).sum())
    for figure in (plotting.pp_plot, plotting.qq_plot, plotting.hazard_plot):
        assert title(drawn(figure(fits)))


def test_delayed_entry_stands_at_its_unconditional_share() -> None:
    full = rf.families.Weibull(1.5, 1000.0).sample(3000, rng=2)
    late = full[full > 400.0]
    lives = rf.LifeData.from_array(late, entry=np.full(late.size, 400.0))
    ax = plotting.pp_plot(rf.fit(lives, "weibull"))
    fitted, observed = line(ax, f"{late.size:,} failures")
    assert np.abs(fitted - observed).max() < 4.0  # points of percent
    assert observed.min() > 15.0


# ---------------------------------------------------------------- P-P and Q-Q


def test_pp_and_qq_have_the_points_and_limits_of_the_ranks(lives: rf.LifeData, fits: Fits) -> None:
    ranks = median_ranks(lives.take([0]), 0.9)
    own = fits["weibull"].take([0]).distribution[0]
    ax = plotting.pp_plot(fits, 0, family="weibull", level=0.9)
    x, y = line(ax, "48 failures")
    np.testing.assert_allclose(x, 100 * own.cdf(ranks.times))
    np.testing.assert_allclose(y, 100 * ranks.position)
    edge = ax.collections[0].get_paths()[0].vertices
    here = np.isclose(edge[:, 1], 100 * ranks.position[10], rtol=1e-12)
    np.testing.assert_allclose([edge[here, 0].min(), edge[here, 0].max()], [100 * ranks.low[10], 100 * ranks.high[10]])
    out = int(((own.cdf(ranks.times) < ranks.low) | (own.cdf(ranks.times) > ranks.high)).sum())
    assert ("all 48" if out == 0 else f"{out} of 48") in title(ax)
    ax = plotting.qq_plot(fits, 0, family="weibull")
    x, y = line(ax, "48 failures")
    np.testing.assert_allclose(x, own.quantile(ranks.position))
    np.testing.assert_allclose(y, ranks.times)
    assert ax.get_xlim() == ax.get_ylim()


def test_band_under_the_model_holds_its_share_of_points() -> None:
    inside = total = 0
    for seed in range(40):
        lives = rf.LifeData.from_array(rf.families.Weibull(2.0, 100.0).sample(25, rng=seed))
        ranks = median_ranks(lives, 0.8)
        true = rf.families.Weibull(2.0, 100.0).cdf(ranks.times)
        inside += int(((true >= ranks.low) & (true <= ranks.high)).sum())
        total += ranks.times.size
    assert abs(inside / total - 0.8) < 0.05


def test_a_wrong_family_shows() -> None:
    lives = rf.LifeData.from_array(rf.families.Lognormal(5.0, 2.0).sample(400, rng=3))
    fits = rf.fit(lives, ["exponential", "lognormal"])
    wrong = title(plotting.qq_plot(fits, family="exponential"))
    assert int(wrong.split(":")[-1].split(" of ")[0].replace(",", "")) > 200
    right = title(plotting.qq_plot(fits, family="lognormal"))
    assert "all 400" in right or int(right.split(":")[-1].split(" of ")[0]) < 40


# --------------------------------------------------------------------- hazards


def test_observed_rates_count_every_failure_and_hour(lives: rf.LifeData) -> None:
    one = lives.take([0])
    rates = observed_rates(one)
    assert rates is not None
    assert rates.failures.sum() == one.n_failures[0]
    assert rates.hours.sum() == pytest.approx(one.total_time[0])
    low, high = stats.chi2.ppf(0.025, 2 * rates.failures) / 2, stats.chi2.ppf(0.975, 2 * rates.failures + 2) / 2
    np.testing.assert_allclose(rates.low * rates.hours, low)
    np.testing.assert_allclose(rates.high * rates.hours, high)


def test_observed_rates_with_entry_and_weights() -> None:
    lives = rf.LifeData.from_array([5.0, 8.0, 9.0, 20.0], entry=[0.0, 2.0, 8.5, 4.0], weights=[1, 2, 1, 3])
    rates = observed_rates(lives, bins=1)
    assert rates is not None
    assert rates.hours.tolist() == [5.0 + 2 * 6.0 + 0.5 + 3 * 16.0]
    assert rates.failures.tolist() == [7]
    assert observed_rates(rf.LifeData.from_intervals([0.0, 3.0], [2.0, 5.0])) is None
    assert observed_rates(rf.LifeData.from_array([5.0], [False])) is None


def test_observed_rates_of_a_constant_hazard_are_level() -> None:
    sample = np.random.default_rng(4).exponential(100.0, 40_000)
    rates = observed_rates(rf.LifeData.from_array(sample))
    assert rates is not None
    np.testing.assert_allclose(rates.rate, 0.01, rtol=0.08)


def test_hazard_curves_are_the_fitted_hazards(fits: Fits) -> None:
    ax = drawn(plotting.hazard_plot(fits, 1, families=["weibull", "gamma"], per=1.0))
    x, y = line(ax, "weibull")
    np.testing.assert_allclose(y, fits["weibull"].take([1]).distribution[0].hazard(x))
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_ylabel() == "hazard (failures per hour)"
    border = ax.collections[0].get_paths()[0].vertices
    own = fits["weibull"].take([1]).interval("hazard", at=float(x[30]), kind="wald")
    here = border[np.isclose(border[:, 0], x[30], rtol=1e-12), 1]
    np.testing.assert_allclose([here.min(), here.max()], [own.low[0], own.high[0]])
    with pytest.raises(rf.ArgumentError, match="per"):
        plotting.hazard_plot(fits, per=0.0)


def test_many_families_have_one_band(lives: rf.LifeData) -> None:
    several = ["exponential", "weibull", "gamma", "lognormal", "loglogistic", "gompertz", "birnbaum_saunders"]
    ax = plotting.hazard_plot(rf.fit(lives.take([0]), several))
    assert sum(name in {s.replace("_", " ") for s in several} for name in names(ax)) == len(several)
    assert any(name.endswith("only") for name in names(ax))
    inside_the_figure(ax)
    marks = [style.family_mark(name) for name in rf.families.FAMILIES]
    assert len({(m.colour, str(m.line)) for m in marks}) == len(marks)


# ------------------------------------------------------------------ likelihood


def test_contours_are_where_the_likelihood_says(fits: Fits, lives: rf.LifeData) -> None:
    ax = drawn(plotting.likelihood_contour(fits, 0, family="weibull", levels=(0.5, 0.9)))
    one = lives.take([0])
    fit = fits["weibull"].take([0])
    for level in (0.5, 0.9):
        shape, scale = line(ax, f"{100 * level:.4g} % region")
        assert (shape[0], scale[0]) == pytest.approx((shape[-1], scale[-1]))
        family = rf.families.Weibull(shape, scale)
        t, seen = one.durations[:, None], one.observed[:, None]
        loglik = np.where(seen, family.log_pdf(t), family.log_sf(t)).sum(axis=0)
        np.testing.assert_allclose(2 * (fit.loglik[0] - loglik), stats.chi2.ppf(level, 2), rtol=0.01)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    ax = plotting.likelihood_contour(fits, 0, family="lognormal")
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert ax.get_xlabel() == "meanlog (log hours)"


@pytest.mark.parametrize(("family", "name"), [("weibull", "scale"), ("exponential", "rate"), ("gamma", "mean")])
def test_profile_crosses_its_level_at_the_profile_limits(fits: Fits, family: str, name: str) -> None:
    ax = drawn(plotting.profile_likelihood(fits, name, 0, family=family, level=0.9))
    x, y = line(ax, "profile")
    own = fits[family].take([0]).interval(name, level=0.9)
    goal = stats.chi2.ppf(0.9, 1)
    left, right = x <= own.estimate[0], x >= own.estimate[0]
    found = [np.interp(goal, y[left][::-1], x[left][::-1]), np.interp(goal, y[right], x[right])]
    np.testing.assert_allclose(found, [own.low[0], own.high[0]], rtol=0.01)
    assert np.all(np.diff(x) > 0)


def test_profile_of_three_parameters_is_that_of_its_limits() -> None:
    sample = rf.families.GeneralisedGamma(6.0, 0.8, 0.7).sample(150, rng=5)
    fit = rf.fit(sample, "generalised_gamma")["generalised_gamma"]
    ax = drawn(plotting.profile_likelihood(fit, "mu"))
    x, y = line(ax, "profile")
    own = fit.interval("mu")
    goal = stats.chi2.ppf(0.95, 1)
    kept = np.isfinite(x)
    x, y = x[kept], y[kept]
    left, right = x <= own.estimate[0], x >= own.estimate[0]
    found = [np.interp(goal, y[left][::-1], x[left][::-1]), np.interp(goal, y[right], x[right])]
    np.testing.assert_allclose(found, [own.low[0], own.high[0]], atol=0.02)


def test_open_limits_are_said_to_be() -> None:
    fit = rf.fit(rf.LifeData.from_array([50.0, 100.0], [True, False]), "weibull")["weibull"]
    for figure in LIKELIHOOD:
        assert title(drawn(figure(fit)))
    ax = drawn(plotting.profile_likelihood(fit, "reliability", at="80h"))
    assert ax.get_xlabel() == "reliability at 80 h (no unit)"
    x, _ = line(ax, "profile")
    x = x[np.isfinite(x)]
    assert x.min() >= 0
    assert x.max() <= 1


# ----------------------------------------------------------------------- fleet


def fleet(groups: int, seed: int = 6) -> FamilyFit:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 60, groups)
    sample = {
        i: rng.weibull(np.exp(rng.normal(-0.2, 0.15)), n) * np.exp(rng.normal(6, 0.4)) for i, n in enumerate(sizes)
    }
    return rf.fit(rf.LifeData.from_groups(sample), "weibull")["weibull"]


@pytest.mark.parametrize("groups", [1, 2, 20, 4000])
def test_fleets_of_any_size(groups: int) -> None:
    fit = fleet(groups)
    ax = plotting.fleet_scatter(fit)
    points = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections if not isinstance(c, LineCollection)])
    ellipses = next(c for c in ax.collections if isinstance(c, LineCollection))
    assert len(ellipses.get_segments()) == min(groups, 60)
    beyond = next((int(w.split()[0]) for w in ax.get_xlabel().replace("\n", ";").split(";") if "beyond" in w), 0)
    assert len(points) + beyond == groups
    assert beyond <= 0.03 * groups
    inside_the_figure(ax)


def test_ellipses_are_joint_wald_regions() -> None:
    fit = fleet(12)
    ax = plotting.fleet_scatter(fit, level=0.8)
    segments = next(c for c in ax.collections if isinstance(c, LineCollection)).get_segments()
    for rim, value, covariance in zip(segments, fit.parameter_array, fit.covariance, strict=True):
        away = np.log(np.asarray(rim)) - np.log(value)
        precision = np.linalg.inv(covariance / np.outer(value, value))
        distance = np.einsum("ni,ij,nj->n", away, precision, away)
        np.testing.assert_allclose(distance, stats.chi2.ppf(0.8, 2), rtol=1e-3)


def test_fleet_says_what_it_leaves_out() -> None:
    lives = rf.LifeData.from_groups(
        {"a": [5.0, 9.0, 30.0], "b": [5.0], "c": [7.0, 8.0], "d": [1.0, 90.0, 700.0]},
        {"a": [True] * 3, "b": [True], "c": [False] * 2, "d": [True] * 3},
    )
    fits = rf.fit(lives)
    assert "2 of 4 not fitted (1 all censored, 1 too few)" in plotting.fleet_scatter(fits["weibull"]).get_xlabel()
    ax = drawn(plotting.fleet_scatter(fits["weibull"], "mean", "median", max_ellipses=0))
    assert ax.get_xlabel().startswith("mean (hours)")
    assert "None of 2" in title(plotting.fleet_scatter(rf.fit(lives.take([1, 2]))["weibull"]))


def test_fleet_title_counts_shapes_below_one() -> None:
    fit = fleet(200)
    shape = fit.parameters["shape"]
    low, high = fit.parameter_intervals["shape"]
    text = title(plotting.fleet_scatter(fit))
    assert f"below 1 in {int((shape < 1).sum())} of 200 groups" in text
    assert f"in {int((high < 1).sum())} with its whole 95 % interval" in text
    assert np.isfinite(low).all()


def test_pooled_fleet_has_a_point_for_every_node() -> None:
    rng = np.random.default_rng(7)
    sample = {i: rng.weibull(0.8, n) * 500 for i, n in enumerate(rng.integers(2, 12, 30))}
    flags = {i: np.ones(v.size, dtype=bool) for i, v in sample.items()}
    flags[0][:] = False
    pooled = rf.fit(rf.LifeData.from_groups(sample, flags), "weibull").pool()
    ax = drawn(plotting.fleet_scatter(pooled))
    points = sum(len(c.get_offsets()) for c in ax.collections if not isinstance(c, LineCollection))
    assert points == 30
    assert "not fitted" not in ax.get_xlabel()


# ------------------------------------------------------------------ hard cases

HARD = {
    "single failure and a survivor": rf.LifeData.from_array([500.0, 700.0], [True, False]),
    "single failure": rf.LifeData.from_array([500.0]),
    "all censored": rf.LifeData.from_array([5.0, 6.0, 7.0], [False] * 3),
    "all equal": rf.LifeData.from_array([5.0, 5.0, 5.0]),
    "zeros": rf.LifeData.from_array([0.0, 0.0, 5.0, 60.0, 700.0]),
    "only zeros": rf.LifeData.from_array([0.0, 0.0]),
    "empty": rf.LifeData.from_groups({"a": [], "b": [3.0, 4.0, 5.0]}),
    "no groups": rf.LifeData.from_array(np.empty((0, 3))),
    "right truncation": rf.LifeData.from_array([1.0, 5.0, 20.0, 70.0], exit=[90.0] * 4),
    "weights": rf.LifeData.from_array([1.0, 5.0, 20.0], weights=[3, 0, 2]),
    "tiny": rf.LifeData.from_array([1e-6, 3e-6, 2e-5, 9e-6]),
    "huge": rf.LifeData.from_array([1e9, 3e11, 2e10, 9e9]),
    "left-censored": rf.LifeData.from_intervals([0.0, 0.0, 4.0, 9.0], [3.0, 2.0, 4.0, np.inf]),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_cases_are_figures(case: str) -> None:
    fits = rf.fit(HARD[case])
    for figure in ONE_GROUP[:3]:
        assert title(drawn(figure(fits, family="weibull")))
    for family in ("exponential", "gamma"):
        assert title(drawn(plotting.probability_plot(fits, family=family)))
    assert title(drawn(plotting.profile_likelihood(fits, family="weibull")))
    assert title(drawn(plotting.likelihood_contour(fits, family="lognormal")))
    assert title(drawn(plotting.hazard_plot(fits)))
    assert title(drawn(plotting.fleet_scatter(fits["weibull"])))


@pytest.mark.parametrize("family", ["exponential", "weibull"])
def test_group_without_a_fit_says_why(family: str) -> None:
    fits = rf.fit(HARD["all censored"], family)
    for figure in (*ONE_GROUP, *(LIKELIHOOD if family == "weibull" else LIKELIHOOD[1:])):
        assert "no failure was observed" in title(figure(fits))
    assert "no weibull fit" in title(plotting.probability_plot(rf.fit(HARD["all equal"], "weibull")))


def test_wrong_arguments_are_answered_with_a_remedy(fits: Fits) -> None:
    calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = [
        (plotting.probability_plot, (fits, 17), {}, "no group"),
        (plotting.probability_plot, (fits, 0), {"family": "gompertz"}, "was not fitted"),
        (plotting.probability_plot, (fits["weibull"], 0), {"family": "gamma"}, "fits of the weibull"),
        (plotting.probability_plot, (fits, 0), {"level": 95}, "between 0 and 1"),
        (plotting.probability_plot, (fits, 0), {"kind": "guess"}, "no interval of kind"),
        (plotting.qq_plot, (3,), {}, "is not a fit"),
        (plotting.hazard_plot, (fits,), {"bins": 0}, "too few"),
        (plotting.hazard_plot, (fits,), {"families": []}, "no family"),
        (plotting.likelihood_contour, (fits["exponential"],), {}, "profile_likelihood"),
        (plotting.likelihood_contour, (fits["weibull"],), {"levels": (0.5, 1.2)}, "between 0 and 1"),
        (plotting.likelihood_contour, (fits["weibull"],), {"levels": ()}, "no level"),
        (plotting.profile_likelihood, (fits["weibull"], "mu"), {}, "no quantity"),
        (plotting.fleet_scatter, (fits,), {}, "not the fit of one family"),
        (plotting.fleet_scatter, (fits["exponential"],), {}, "means_by_group"),
        (plotting.fleet_scatter, (fits["weibull"], "shape", "shape"), {}, "against itself"),
        (plotting.fleet_scatter, (fits["weibull"], "hazard"), {}, "not for a scatter"),
        (plotting.fleet_scatter, (fits["weibull"],), {"max_ellipses": -1}, "max_ellipses"),
    ]
    for call, arguments, named, words in calls:
        with pytest.raises(rf.ArgumentError, match=words):
            call(*arguments, **named)
    assert not plt.get_fignums()  # a wrong argument leaves no empty figure behind


def test_figures_draw_into_the_axes_given(fits: Fits) -> None:
    for figure in ONE_GROUP:
        _, ax = plt.subplots()
        assert figure(fits, 0, ax) is ax
    _, ax = plt.subplots()
    assert plotting.likelihood_contour(fits["weibull"], 0, ax) is ax
    assert plotting.profile_likelihood(fits["weibull"], "shape", 0, plt.subplots()[1]).get_xlabel() == "shape (no unit)"
    assert plotting.fleet_scatter(fits["weibull"], ax=ax) is ax


def test_every_parameter_has_a_unit() -> None:
    known = {unit(name, family.name) for family in rf.families.FAMILIES.values() for name in family.parameter_names()}
    assert {
        "scale (hours)",
        "rate (per hour)",
        "meanlog (log hours)",
        "threshold (hours)",
        "rate_1 (per hour)",
    } <= known
    assert unit("shape", "inverse_gaussian") == "shape (hours)"


def test_names_are_taken_literally() -> None:
    lives = rf.LifeData.from_groups({"$n_1$": [4.0, 9.0, 30.0]}, measure="ttr")
    fits = rf.fit(lives, "weibull")
    for figure in (*ONE_GROUP, *LIKELIHOOD):
        ax = drawn(figure(fits))
        assert r"\$N_1\$" in title(ax) or r"\$n_1\$" in title(ax)
    assert plotting.probability_plot(fits).get_ylabel() == "repaired (%)"


# ------------------------------------------------------------------- real data


@pytest.fixture(scope="module")
def lanl(shared: Path) -> dict[str, Fits]:
    log = rf.read(shared / "data" / "lanl-failures-1996-2005.csv.xz")
    return {system: rf.fit(log.where(system=system).ttf()) for system in ("18", "20")}


@pytest.mark.parametrize("system", ["18", "20"])
def test_every_figure_of_los_alamos(lanl: dict[str, Fits], system: str) -> None:
    fits = lanl[system]
    counts = pd.Series(fits.lives.n_failures, index=fits.groups)
    for label in (counts.idxmax(), counts[counts > 3].idxmin()):
        for figure in (*ONE_GROUP, plotting.likelihood_contour):
            inside_the_figure(figure(fits, label, **({"family": "weibull"} if figure in LIKELIHOOD else {})))
        inside_the_figure(plotting.profile_likelihood(fits, "scale", label, family="weibull"))
        plt.close("all")
    for family in ("weibull", "lognormal"):
        ax = plotting.fleet_scatter(fits[family])
        missing = int((~fits[family].ok).sum())
        assert f"{missing} of {len(fits):,} not fitted" in ax.get_xlabel()
        inside_the_figure(ax)
