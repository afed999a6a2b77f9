"""Figures of fits: what is drawn where."""

from __future__ import annotations

import itertools
import re
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest
from matplotlib.figure import Figure

import relfit as rf
from relfit import plotting
from relfit.analyses.recurrence import EventHistories, compare_processes, fit_process, mean_cumulative
from relfit.base.results import Result
from relfit.fitting.nonparametric import kaplan_meier, log_rank, median_ranks, nelson_aalen, turnbull

TABLES = {
    "Assumptions",
    "BatchRuns",
    "CheckpointTable",
    "CompetingFit",
    "Drains",
    "Draws",
    "EventHistories",
    "FittedWorkload",
    "Goodness",
    "Grouped",
    "LifeData",
    "LogRank",
    "Plan",
    "PlottingPositions",
    "PooledFit",
    "ProcessFit",
    "RenewalModels",
    "RepairClock",
    "RepeatFailures",
    "Round",
    "Sequences",
    "SizeFits",
    "SlurmNodes",
    "SparesNeeded",
    "SparingQueue",
    "StoredFits",
    "Throughputs",
    "TwoLevels",
    "WatchStatus",
    "WhatIf",
}
"""Results without a figure: a table says it all, or their parts are drawn."""


def sample(n: int = 60) -> rf.LifeData:
    """Weibull times at exact quantiles, so that the fitted line is where the points are."""
    p = (np.arange(n) + 0.5) / n
    return rf.LifeData.from_array(1000.0 * (-np.log1p(-p)) ** (1 / 0.7))


def test_the_fitted_weibull_is_a_straight_line_of_its_slope() -> None:
    fits = rf.fit(sample(), "weibull")
    ax = plotting.probability_plot(fits, ax=Figure().add_subplot(), family="weibull")
    points, line = ax.get_lines()
    x, y = np.log(line.get_xdata()), np.asarray(line.get_ydata())
    shape = float(fits["weibull"].parameters["shape"][0])
    np.testing.assert_allclose(np.diff(y) / np.diff(x), shape, rtol=1e-6)
    assert shape == pytest.approx(0.7, rel=0.05)
    times, heights = np.log(points.get_xdata()), np.asarray(points.get_ydata())
    np.testing.assert_allclose(np.interp(times, x, y), heights, atol=0.15)


def test_exponential_data_bend_away_from_a_line_on_lognormal_paper() -> None:
    p = (np.arange(200) + 0.5) / 200
    fits = rf.fit(rf.LifeData.from_array(-np.log1p(-p)), "lognormal")
    ax = plotting.probability_plot(fits, ax=Figure().add_subplot(), family="lognormal")
    points, line = ax.get_lines()
    off = np.asarray(points.get_ydata()) - np.interp(points.get_xdata(), line.get_xdata(), line.get_ydata())
    assert off[0] > 0.3  # the shortest times are far shorter than a lognormal has them
    assert "off the line" in " ".join(ax.get_title(loc="left").split())


def test_percentages_are_those_of_the_heights() -> None:
    ax = plotting.probability_plot(rf.fit(sample(), "exponential"), ax=Figure().add_subplot(), family="exponential")
    for height, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True):
        assert -np.expm1(-height) == pytest.approx(float(label.get_text()) / 100.0)


def test_the_empirical_distribution_and_each_family_are_drawn() -> None:
    fits = rf.fit(sample())
    ax = rf.plot(fits, ax=Figure().add_subplot())
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert set(lines) == {"observed (Kaplan-Meier)", "exponential", "weibull", "gamma", "lognormal"}
    weibull = lines["weibull"]
    expected = np.asarray(fits["weibull"].distribution[0].cdf(weibull.get_xdata())).ravel()
    np.testing.assert_allclose(weibull.get_ydata(), expected)
    observed = lines["observed (Kaplan-Meier)"]
    assert observed.get_ydata()[-2] == pytest.approx(1.0)
    assert "weibull" in " ".join(ax.get_title(loc="left").split())


def test_what_cannot_be_drawn_says_why() -> None:
    fits = rf.fit(rf.LifeData.from_groups([[5.0], [1.0, 2.0, 4.0]]), "weibull")
    ax = plotting.probability_plot(fits, 0, Figure().add_subplot())
    assert "fewer than two" in " ".join(text.get_text() for text in ax.texts) + ax.get_title(loc="left")
    with pytest.raises(rf.ArgumentError, match="no group 7"):
        plotting.probability_plot(fits, 7, Figure().add_subplot())


def test_survival_steps_from_one_within_its_limits() -> None:
    curve = kaplan_meier(rf.LifeData.from_array([3.0, 1.0, 2.0, 5.0, 9.0], observed=[True, True, True, True, False]))
    ax = rf.plot(curve, ax=Figure().add_subplot())
    values, edges, _ = ax.patches[0].get_data()
    assert values == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.2, 0.2])
    assert edges[:-1] == pytest.approx([0.0, 1.0, 2.0, 3.0, 5.0, 9.0])
    band = ax.collections[0].get_paths()[0].vertices
    assert band[(band[:, 0] > 3.0) & (band[:, 0] < 5.0), 1].size == 0  # the band steps as the curve does
    assert sorted(set(np.round(band[band[:, 0] == 2.0, 1], 9)))[0] == pytest.approx(curve.low[1])
    assert ax.get_ylim() == (0.0, 1.02)


def test_mostly_short_times_have_a_logarithmic_axis() -> None:
    times = np.r_[np.full(60, 0.01), np.linspace(0.02, 0.5, 39), 50.0]
    ax = rf.plot(kaplan_meier(rf.LifeData.from_array(times)), ax=Figure().add_subplot())
    assert ax.get_xscale() == "log"
    assert ax.get_xlim() == pytest.approx((0.001, 50.0))


def test_few_early_failures_do_not_stretch_the_axis() -> None:
    """All but one of a thousand lifetimes end after 10,000 hours; observation ends at 20,000."""
    times = np.r_[1.0, np.linspace(10_000.0, 19_000.0, 999), np.full(500, 20_000.0)]
    fits = rf.fit(rf.LifeData.from_array(times, observed=times < 20_000.0), "weibull")
    ax = plotting.distributions(fits, ax=Figure().add_subplot())
    assert ax.get_xlim()[0] > 1000.0
    assert max(ax.lines[0].get_xdata()) == 20_000.0  # nothing is observed after that


def test_cumulative_hazard_begins_at_zero() -> None:
    curve = nelson_aalen(rf.LifeData.from_array([1.0, 2.0, 4.0]))
    values, _, _ = rf.plot(curve, ax=Figure().add_subplot()).patches[0].get_data()
    assert values == pytest.approx([0.0, 1 / 3, 1 / 3 + 1 / 2, 1 / 3 + 1 / 2 + 1])


def kinds(base: type[Result]) -> set[type[Result]]:
    """All results of relfit that derive from a base."""
    below = {kind for kind in base.__subclasses__() if kind.__module__.startswith("relfit.")}
    return below.union(*(kinds(kind) for kind in below)) if below else below


def test_every_result_has_a_figure_or_is_a_table_alone() -> None:
    for module in walk_packages(rf.__path__, "relfit."):
        if "__main__" not in module.name:
            import_module(module.name)
    none = plotting.plot.dispatch(object)
    without = {kind.__name__ for kind in kinds(Result) if plotting.plot.dispatch(kind) is none}
    assert without == TABLES


def test_what_has_no_figure_is_a_short_error_that_says_what_to_plot() -> None:
    lives = rf.LifeData.from_groups({"a": [1.0, 2.0, 4.0, 9.0], "b": [3.0, 5.0, 6.0, 20.0], "c": [2.0, 3.0, 7.0, 8.0]})
    histories = EventHistories.from_groups([[1.0, 4.0], [2.0, 9.0]], end=10.0)
    for result, remedy in (
        (3, "give a log, a workload or another result"),
        (lives, "plot fit(...) or kaplan_meier(...) of these lives"),
        (log_rank(lives), "plot kaplan_meier(...) of the same lives"),
        (rf.fit(lives).pool("weibull"), "plot fit(...) of the same lives"),
        (rf.fit(lives)["weibull"].goodness(), "plot the fit that it tests"),
        (histories, "plot mean_cumulative(...) of these histories"),
        (fit_process(histories, "hpp", "all"), "plot compare_processes(...) of the same histories"),
        (median_ranks(lives), "look at its headline and to_frame()"),
    ):
        with pytest.raises(rf.ArgumentError) as error:
            rf.plot(result)
        assert str(error.value).startswith(f"{type(result).__name__} has no figure")
        assert remedy in str(error.value)
        assert len(str(error.value)) < 100
    processes = compare_processes(histories, "all")
    for drawn in (rf.fit(lives), kaplan_meier(lives), mean_cumulative(histories, "all"), processes):
        assert rf.plot(drawn, ax=Figure().add_subplot()).get_title(loc="left")


def test_few_lives_are_drawn_with_room_for_numbers_and_names() -> None:
    """Within a decade, numbers of a logarithmic axis do not touch, and the legend covers no line and is not cut."""
    for times in ([158.0, 362.0, 450.0, 880.0, 1130.0, 1250.0], [21.0, 35.0, 44.0, 61.0, 80.0, 99.0]):
        figure = Figure(figsize=(5.0, 3.2), layout="constrained")
        ax = plotting.distributions(rf.fit([times]), ax=figure.add_subplot())
        figure.draw_without_rendering()
        labels = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(labels))
        names = ax.get_legend().get_window_extent()
        assert names.y1 < ax.get_window_extent().y0
        assert names.x0 >= 0.0
        assert names.x1 <= figure.bbox.x1


def test_points_on_the_line_are_said_to_be_on_it() -> None:
    times = -1000.0 * np.log1p(-(np.arange(200) + 0.5) / 200.0)  # at the quantiles of an exponential
    ax = plotting.probability_plot(rf.fit([times], "exponential"), family="exponential")
    away = re.search(r"at most (\d+) points", " ".join(ax.get_title(loc="left").split()))
    assert away is not None
    assert int(away[1]) <= 1


def _inspected() -> rf.LifeData:
    """By hand: a fifth failed in 0-10, two fifths in 10-30, one at 40 exactly, and one outlived 60."""
    return rf.LifeData.from_intervals([0.0, 10.0, 10.0, 40.0, 60.0], [10.0, 30.0, 30.0, 40.0, np.inf])


def test_intervals_are_drawn_shaded_where_nothing_is_known() -> None:
    estimate = turnbull(_inspected())
    for draw in (rf.plot, plotting.step_curves):
        ax = draw(estimate, ax=Figure().add_subplot())
        line, dots = ax.get_lines()
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        known = np.isfinite(x)
        assert x[known].tolist() == [0.0, 0.0, 10.0, 10.0, 30.0, 40.0, 40.0, 60.0]
        np.testing.assert_allclose(y[known], [1.0, 1.0, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2], atol=1e-6)
        assert (~known).sum() == 2
        np.testing.assert_allclose(sorted(set(dots.get_xdata())), [0.0, 10.0, 30.0])
        (shade,) = ax.collections
        assert shade.get_datalim(ax.transData).extents.round(6).tolist() == [0.0, 0.4, 30.0, 1.0]
        assert "do not say when" in " ".join(ax.get_title(loc="left").split())


def test_fits_of_intervals_are_drawn_against_turnbull() -> None:
    fits = rf.fit(_inspected(), ["exponential", "weibull"])
    ax = plotting.distributions(fits, ax=Figure().add_subplot())
    assert [line.get_label() for line in ax.get_lines()][0::2] == ["observed (Turnbull)", "exponential"]
    assert ax.get_lines()[-1].get_label() == "weibull"
    ax = plotting.probability_plot(fits, ax=Figure().add_subplot(), family="exponential")
    bars = ax.collections[0].get_segments()
    # to 10, 30 and 40 h, at the middles of 0-0.2, 0.2-0.6 and 0.6-0.8
    assert [bar[1][0] for bar in bars] == [10.0, 30.0, 40.0]
    np.testing.assert_allclose([bar[0][1] for bar in bars], -np.log1p(-np.array([0.1, 0.4, 0.7])), rtol=1e-5)
    assert bars[2][0][0] == 40.0
    both = rf.LifeData.from_groups(
        [[0.0, 10.0, 10.0], [5.0, 20.0, 30.0]], upper=[[10.0, 30.0, 30.0], [9.0, 40.0, 50.0]], observed=[[0] * 3] * 2
    )
    ax = rf.plot(rf.fit(both, ["exponential"]), ax=Figure().add_subplot())
    assert "all together" in [text.get_text() for text in ax.get_legend().get_texts()]
