"""Figures: what they say is computed from the data, and hard cases are still figures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import relfit as rf
from relfit import plotting
from relfit.analyses.screening.tallies import by_cause, over_time
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.numeric.poisson import poisson_interval
from relfit.plotting import style
from tests.reporting.logs import log_of

EVENT_FIGURES = [
    plotting.events_over_time,
    plotting.causes,
]


@pytest.fixture(scope="module")
def white() -> rf.FailureLog:
    return rf.datasets.load("white")


@pytest.fixture(scope="module")
def fits(white: rf.FailureLog) -> rf.fitting.Fits:
    return rf.fit(white.where(node=["n003", "n391"]).ttf())


def title(ax: Axes) -> str:
    return ax.get_title(loc="left").replace("\n", " ")


def drawn(ax: Axes) -> None:
    ax.figure.canvas.draw()


@pytest.mark.parametrize("figure", EVENT_FIGURES)
@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_few_or_no_events(figure: Callable[..., Axes], nodes: int) -> None:
    ax = figure(log_of([(f"n{i}", "2020-03-01 10:00", "2020-03-01 11:00", None) for i in range(nodes)]))
    assert title(ax)
    drawn(ax)


@pytest.mark.parametrize("figure", EVENT_FIGURES)
def test_draws_into_the_axes_given(figure: Callable[..., Axes], white: rf.FailureLog) -> None:
    _, ax = plt.subplots()
    assert figure(white, ax) is ax
    assert ax.get_xlabel()
    drawn(ax)


def test_titles_say_what_the_data_say(white: rf.FailureLog) -> None:
    tally = over_time(white)
    peak = int(tally.total.argmax())
    most = f"most in the quarter from 2000-07-01 on ({tally.total[0]:,})"
    assert title(plotting.events_over_time(tally)).startswith(f"{len(white):,} events: {most}")
    assert peak == 0
    assert title(plotting.causes(white)).startswith("The most frequent cause is hardware, with 72 % of the events")


def test_bars_hold_every_event(white: rf.FailureLog) -> None:
    ax = plotting.events_over_time(white)
    assert sum(bar.get_height() for bars in ax.containers for bar in bars) == len(white)


def test_names_from_the_log_are_taken_literally() -> None:
    rows = [(f"$n_{i}^$", "2020-03-01 10:00", "2020-03-01 11:00", r"_\frac{$") for i in range(3)]
    log = log_of(rows * 2)
    for figure in EVENT_FIGURES:
        drawn(figure(log))
    fits = rf.fit(log.ttf(overlaps="keep", zeros="keep"), families=["exponential"])
    drawn(plotting.distributions(fits))


def test_a_notebook_that_was_made_to_show_figures_inside_goes_on_to() -> None:
    before = plt.isinteractive()
    try:
        plt.ioff()
        with style.look({"font.size": 3.0}):
            assert plt.rcParams["font.size"] == 3.0
            plt.ion()  # as the inline backend does when pyplot is imported for the first time
        assert plt.isinteractive()
        assert plt.rcParams["font.size"] != 3.0
    finally:
        plt.interactive(before)


def test_fitted_curves_have_one_look_everywhere(fits: rf.fitting.Fits) -> None:
    ax = plotting.distributions(fits, ("white", "n003"))
    lines = {line.get_label(): line for line in ax.get_lines()}
    for family in fits.families:
        assert lines[family].get_color() == style.family_mark(family).colour
    marks = [style.family_mark(f) for f in fits.families]
    assert len({m.colour for m in marks}) == len({str(m.line) for m in marks}) == len({m.marker for m in marks}) == 4
    assert ax.get_xscale() == "log"
    assert "n003" in title(ax)


@pytest.mark.parametrize("family", ["exponential", "weibull", "gamma", "lognormal"])
def test_fitted_line_is_straight_on_its_own_paper(fits: rf.fitting.Fits, family: str) -> None:
    ax = plotting.probability_plot(fits, ("white", "n391"), family=family)
    line = next(line for line in ax.get_lines() if line.get_label() == f"fitted {family}")
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    if ax.get_xscale() == "log":
        x = np.log(x)
    inside = (y > ax.get_ylim()[0]) & (y < ax.get_ylim()[1])
    assert abs(np.corrcoef(x[inside], y[inside])[0, 1]) > 0.99999


def test_unknown_group_is_answered(fits: rf.fitting.Fits) -> None:
    with pytest.raises(rf.ArgumentError, match="no group"):
        plotting.distributions(fits, ("white", "nowhere"))


def test_group_that_cannot_be_fitted_is_still_a_figure() -> None:
    fits = rf.fit(rf.LifeData.from_groups({"a": [3.0], "b": [4.0, 5.0]}, {"a": [False], "b": [True, False]}))
    for label in ("a", "b"):
        for figure in (plotting.distributions, plotting.probability_plot):
            drawn(figure(fits, label))


def test_importing_relfit_does_not_load_matplotlib() -> None:
    code = "import sys, relfit, relfit.plotting; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# --------------------------------------------------------------------- tallies


def test_poisson_interval_against_scipy() -> None:
    from scipy.stats import poisson

    low, high = poisson_interval([3.0], 0.9)
    assert poisson.sf(2, low[0]) == pytest.approx(0.05)
    assert poisson.cdf(3, high[0]) == pytest.approx(0.05)


def test_adjusted_p_values_against_scipy() -> None:
    from scipy.stats import false_discovery_control

    p = np.random.default_rng(5).uniform(size=200) ** 3
    np.testing.assert_allclose(adjusted_p(p), false_discovery_control(p))


def test_causes_share_events_and_hours() -> None:
    rows: list[Any] = [
        ("a", "2020-01-01 00:00", "2020-01-01 03:00", "disk"),
        ("a", "2020-01-02", "2020-01-02 01:00", None),
    ]
    table = by_cause(log_of(rows)).table
    assert table.loc["disk", "outage_share"] == pytest.approx(0.75)
    assert table.loc["not stated", "events_share"] == pytest.approx(0.5)


def test_a_title_ends_within_the_picture_where_labels_are_long() -> None:
    """In matplotlib's own look and size, as rf.plot draws it; the layout gives its room to the labels of the rows."""
    for named in (lambda name: name, lambda name: f"{name} of the whole of the machine"):
        figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        ax.set_yticks([0.0, 1.0], [named("first row"), named("second row")])
        style.finish(
            ax, "22 % of the jobs take one node; percent by width and length, of all the jobs", "nodes", "length"
        )
        figure.draw_without_rendering()
        assert ax._left_title.get_window_extent().x1 <= figure.bbox.x1
        plt.close(figure)


def test_a_title_begins_with_a_capital_but_for_a_formula() -> None:
    for message, begin in (("no trend", "No trend"), ("ttf ~ cage (cox): 12 failures", "ttf ~ cage")):
        _, ax = plt.subplots()
        style.title(ax, message)
        assert title(ax).startswith(begin)
