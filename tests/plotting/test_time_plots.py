"""Figures of dependence, periods, incidents, nodes, repairs and repairable systems draw what their results say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import integrate, stats

import relfit as rf
from relfit import plotting
from relfit.analyses.independence import Dependence, dependence, dispersion, failures_of, serial_tests
from relfit.analyses.recurrence import (
    EventHistories,
    availability_over_time,
    compare_processes,
    histories_of_log,
    mean_cumulative,
    trend_tests,
)
from relfit.analyses.screening import (
    ChangePoints,
    Incidents,
    OutlierNodes,
    RepairKinds,
    bursts,
    change_points,
    incidents,
    outlier_nodes,
    repair_kinds,
)
from relfit.base.errors import ArgumentError
from relfit.plotting.event_figures import _rate_in_bins
from relfit.plotting.recurrence_figures import _new_renewals
from tests.factories import make_log
from tests.reporting.logs import log_of


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return rf.datasets.load("white").between("2001-10-01", "2003-04-01").where(rack=["frame01", "frame02", "frame03"])


@pytest.fixture(scope="module")
def asked(log: rf.FailureLog) -> Dependence:
    return dependence(log)


@pytest.fixture(scope="module")
def histories(log: rf.FailureLog) -> EventHistories:
    return histories_of_log(log)


@pytest.fixture(scope="module")
def joined(log: rf.FailureLog) -> Incidents:
    return incidents(log)


@pytest.fixture(scope="module")
def cut() -> ChangePoints:
    return change_points(rf.datasets.load("white"))


@pytest.fixture(scope="module")
def bad() -> OutlierNodes:
    return outlier_nodes(rf.datasets.load("white"), n_resamples=19)


@pytest.fixture(scope="module")
def split() -> RepairKinds:
    """Repairs that are quick or slow, and repairs that are not."""
    rng = np.random.default_rng(1)
    quick, slow, one = rng.lognormal(-1.0, 0.5, 600), rng.lognormal(3.0, 0.7, 200), rng.lognormal(0.5, 1.0, 300)
    lives = rf.LifeData.from_groups({"disk": np.concatenate([quick, slow]), "fan": one, "rare": [1.0, 2.0]})
    return repair_kinds(lives, models=("lognormal2",))


def new() -> Axes:
    return Figure(figsize=(5.4, 3.5), layout="constrained").add_subplot()


def title(ax: Axes) -> str:
    return ax.get_title(loc="left").replace("\n", " ")


def drawn(ax: Axes) -> None:
    """Lay out and draw, and check that no text of the axes runs out of the picture."""
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    whole = figure.bbox
    for text in (ax.yaxis.label, *ax.get_yticklabels()):
        assert not text.get_text() or text.get_window_extent().x0 > whole.x0 - 2, text
    for text in (ax.xaxis.label, *ax.get_xticklabels()):
        assert not text.get_text() or text.get_window_extent().y0 > whole.y0 - 2, text


def labelled(ax: Axes) -> dict[str, Any]:
    return dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))


# ------------------------------------------------------------------- dependence


def test_correlations_are_those_of_the_histogram(asked: Dependence) -> None:
    found = asked.correlation
    assert found is not None
    ax = plotting.correlations(found, new())
    table = found.histogram()
    heights = {patch.get_label(): patch.get_data() for patch in ax.patches if hasattr(patch, "get_data")}
    assert heights["observed"][0] == pytest.approx(100 * table["pairs"].to_numpy() / found.n_pairs)
    assert heights["independent nodes"][0] == pytest.approx(100 * table["expected"].to_numpy() / found.n_pairs)
    assert sum(heights["observed"][0]) == pytest.approx(100)
    assert f"{found.n_pairs:,} pairs" in title(ax)
    drawn(ax)


def test_classes_stand_beside_chance(asked: Dependence) -> None:
    found = asked.correlation
    assert found is not None
    ax = plotting.correlation_classes(found, new())
    observed, chance = ([bar.get_height() for bar in bars] for bars in ax.containers[:2])
    assert observed == pytest.approx(100 * found.classes["observed_share"].to_numpy())
    assert chance == pytest.approx(100 * found.classes["expected_share"].to_numpy())
    drawn(ax)


def test_every_tested_node_is_a_point(asked: Dependence) -> None:
    found = asked.serial
    assert found is not None
    ax = plotting.durbin_watson(found, new(), alpha=0.1)
    known = np.isfinite(found.durbin_watson)
    hit = known & (found.durbin_watson_p <= 0.1)
    handles = labelled(ax)
    assert len(handles["a node"].get_ydata()) == int((known & ~hit).sum())
    assert sorted(handles["p of 0.1 or less"].get_ydata()) == pytest.approx(sorted(found.durbin_watson[hit]))
    row = found.rejected(0.1).loc["durbin_watson"]
    assert f"rejects {int(row['rejected'])} of {int(row['tested'])} nodes at 10 %" in title(ax)
    drawn(ax)


def test_the_band_holds_independent_series() -> None:
    """The band of the picture is where 95 % of the Durbin-Watson statistics of independent series lie."""
    x = np.random.default_rng(3).normal(size=(4000, 25))
    found = serial_tests(rf.LifeData.from_array(x - x.min() + 1.0), n_resamples=0)
    ax = plotting.durbin_watson(found, new())
    band = labelled(ax)["95 % by chance"].get_paths()[0].vertices
    at = band[np.abs(np.log(band[:, 0] / 25)) < 0.02, 1]
    inside = (found.durbin_watson > at.min()) & (found.durbin_watson < at.max())
    assert 0.935 < inside.mean() < 0.965
    assert ax.collections[-1].get_array().sum() > 0  # so many nodes are drawn as a density
    drawn(ax)


def test_pooled_series_by_their_number_of_nodes(asked: Dependence) -> None:
    found = asked.pooled
    assert found is not None
    ax = plotting.durbin_watson_pooled(found, new())
    known = np.isfinite(found.durbin_watson)
    line = ax.lines[1]
    assert line.get_xdata() == pytest.approx(found.nodes[known])
    assert line.get_ydata() == pytest.approx(found.durbin_watson[known])
    assert f"Durbin-Watson {found.durbin_watson[known][-1]:.2f}" in title(ax)
    drawn(ax)


@pytest.mark.slow
def test_mean_autocorrelation_and_its_band() -> None:
    x = np.random.default_rng(4).normal(size=(300, 12))
    values = rf.LifeData.from_array(x - x.min() + 1.0)
    found = serial_tests(values, n_resamples=0)
    ax = plotting.autocorrelation(found, new())
    shown = {float(a): float(b) for h in ax.lines if h.get_marker() == "o" for a, b in zip(*h.get_data(), strict=True)}
    assert [shown[lag] for lag in (1, 2)] == pytest.approx(found.autocorrelation.mean(axis=0))
    assert "no autocorrelation" in title(ax)
    # by brute force: over random orders of series the mean of lag 1 lies where the band is
    rng = np.random.default_rng(5)
    means = [
        serial_tests(
            rf.LifeData.from_array(rng.permuted(x - x.min() + 1.0, axis=1)), n_resamples=0
        ).autocorrelation.mean(axis=0)
        for _ in range(200)
    ]
    centre, spread = np.mean(means, axis=0), np.std(means, axis=0)
    band = ax.collections[0].get_paths()[0].vertices
    inner = band[(band[:, 0] > 0.6) & (band[:, 0] < 1.6), 1]
    assert inner.max() == pytest.approx(centre[0] + 1.96 * spread[0], abs=0.006)
    assert inner.min() == pytest.approx(centre[0] - 1.96 * spread[0], abs=0.006)
    drawn(ax)


def test_dispersion_over_scales(log: rf.FailureLog) -> None:
    found = dispersion(failures_of(log), n_resamples=19)
    ax = plotting.dispersion(found, new())
    known = ~found.too_few
    assert found.expected is not None
    assert ax.lines[0].get_ydata() == pytest.approx(found.expected[known])
    assert "95 % of random logs" in labelled(ax)
    assert ax.lines[1].get_xdata() == pytest.approx(found.scales[known])
    assert ax.lines[1].get_ydata() == pytest.approx(found.index[known])
    beyond = labelled(ax)["beyond chance"].get_ydata()
    assert len(beyond) == int(((found.index < found.low) | (found.index > found.high))[known].sum())
    drawn(ax)


def test_failing_together_by_scope(asked: Dependence) -> None:
    system, rack = asked.cofailure, asked.place
    assert system is not None
    assert rack is not None
    ax = plotting.failing_together([system, rack], new())
    handles = labelled(ax)
    ratio = handles["observed"].get_xdata()
    assert ratio[:2] == pytest.approx([system.together / system.expected, rack.together / rack.expected])
    assert sorted(ratio[2:]) == pytest.approx(sorted(rack.table["ratio"]))
    assert handles["mean of random logs"].get_xdata()[0] == pytest.approx(system.expected_shuffled / system.expected)
    low, high = stats.poisson.ppf([0.025, 0.975], rack.expected) / rack.expected
    bar = ax.patches[1]
    assert (bar.get_x() + bar.get_width()) == pytest.approx(high)
    assert bar.get_x() == pytest.approx(low)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[:2] == ["all of one system", "all of one rack"]
    drawn(ax)


def test_millions_of_pairs_fit_beside_their_point(asked: Dependence) -> None:
    system = asked.cofailure
    assert system is not None
    many = replace(system, together=30_500_698, expected=7_040_007.3)
    figure = Figure(figsize=(5.0, 3.2), layout="constrained")
    ax = plotting.failing_together(many, figure.add_subplot())
    figure.canvas.draw()
    (said,) = [text for text in ax.texts if " for " in text.get_text()]
    assert said.get_text() == " 30.5 M for 7.04 M"
    assert said.get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.parametrize("cycle", ["day", "week"])
def test_cycles_show_the_instants(asked: Dependence, cycle: str) -> None:
    found = asked.cycles
    assert found is not None
    ax = plotting.clock_cycle(found, new(), cycle=cycle)
    counts = found.counts[found.names.index(cycle)]
    assert [bar.get_height() for bar in ax.containers[0]] == counts.tolist()
    drawn(ax)
    with pytest.raises(ArgumentError, match="no cycle"):
        plotting.clock_cycle(found, new(), cycle="month")


# --------------------------------------------------------- periods, incidents, nodes


def test_periods_are_drawn_at_their_rates(cut: ChangePoints) -> None:
    ax = plotting.change_points(cut, new())
    segments = [np.asarray(path) for c in ax.collections if hasattr(c, "get_segments") for path in c.get_segments()]
    assert [float(path[0, 1]) for path in segments] == pytest.approx(
        [period.rate * 24.0 * 512 for period in cut.periods],
        rel=2e-3,  # of the system, which kept its size
    )
    days = [stamp.value / 86.4e12 for stamp in (cut.stable_period.start, cut.stable_period.end)]
    assert segments[cut.stable][:, 0] == pytest.approx(days)
    assert f"Since {cut.stable_period.start:%Y-%m-%d} the failure rate has been" in title(ax)
    said = {text.get_text().strip() for text in ax.texts}
    assert {"no change since Oct 2002", "5.5", "8.8"} <= said
    drawn(ax)


def test_a_period_that_ended_says_until_when_it_was_steady() -> None:
    """ "period used" stood at the steady part alone, where the period used goes on to the end of the log."""
    rng = np.random.default_rng(2)
    days = [np.sort(rng.uniform(*ends, count)) for ends, count in (((0, 800), 560), ((800, 850), 140))]
    at = pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(np.concatenate(days).round(3), unit="D")
    cut = change_points(log_of([(f"n{i % 90}", when, None, None) for i, when in enumerate(at)], until="2022-04-30"))
    assert cut.stable_period.end < cut.periods[-1].end
    said = {text.get_text().strip() for text in plotting.change_points(cut, new()).texts}
    assert f"steady until {cut.stable_period.end:%b %Y}" in said


def test_the_period_and_its_rate_are_written_beside_one_another() -> None:
    rng = np.random.default_rng(2)
    days = [np.sort(rng.uniform(*ends, count)) for ends, count in (((0, 690), 493), ((690, 880), 288))]
    at = pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(np.concatenate(days).round(3), unit="D")
    log = log_of([(f"n{i % 90}", when, None, None) for i, when in enumerate(at)], until="2022-05-30")
    figure = Figure(figsize=(10.4, 1.6))
    ax = plotting.change_points(change_points(log), figure.add_subplot())
    figure.canvas.draw()
    boxes = {text.get_text().strip(): text.get_window_extent() for text in ax.texts}
    (period,) = [box for words, box in boxes.items() if words.startswith("no change since")]
    assert len(boxes) > 2
    assert not [words for words, box in boxes.items() if box is not period and box.overlaps(period)]


def test_an_observed_rate_has_all_failures(cut: ChangePoints) -> None:
    ax = plotting.change_points(cut, new())
    values, edges, _ = ax.patches[0].get_data()
    assert np.sum(values * np.diff(edges)) == pytest.approx(cut.counts.sum(), rel=2e-3)  # per day


def test_window_and_what_it_rests_on(joined: Incidents) -> None:
    for found in (joined, joined.window):
        ax = plotting.incident_window(found, new())
        points = labelled(ax)["a class of gaps"]
        seen = joined.window.table["ratio"].to_numpy()
        assert points.get_ydata() == pytest.approx(np.where(seen > 0, seen, np.nan), nan_ok=True)
        drawn(ax)


def test_window_of_planted_incidents() -> None:
    rng = np.random.default_rng(1)
    at = np.repeat(np.sort(rng.uniform(0.0, 1e5, 600)), 2) + rng.exponential(0.01, 1200)
    when = pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(np.round(at * 3.6e6), unit="ms") / 12
    log = log_of([(f"n{i % 40}", start, None, None) for i, start in enumerate(when)])
    choice = incidents(log).window
    ax = plotting.incident_window(choice, new())
    joined = labelled(ax)["joined"]
    assert joined.get_x() + joined.get_width() == pytest.approx(choice.hours)
    assert "more than 2 times as frequent" in title(ax)
    drawn(ax)


def test_band_of_mean_autocorrelation_of_short_series() -> None:
    """Normal series by themselves: the mean and variance of lag 1 and 2 over 200 000 of them, drawn with numpy."""
    for n in (5, 6):
        series = np.random.default_rng(n).normal(size=(200_000, n))
        away = series - series.mean(axis=1, keepdims=True)
        found = serial_tests(rf.LifeData.from_array(series[:50] + 10.0), n_resamples=0)
        ax = plotting.autocorrelation(found, new())
        corners = ax.collections[0].get_paths()[0].vertices
        for lag in range(1, found.autocorrelation.shape[1] + 1):
            r = (away[:, lag:] * away[:, :-lag]).sum(axis=1) / (away**2).sum(axis=1)
            edges = corners[np.abs(corners[:, 0] - lag) < 0.5 + 1e-9, 1]
            half = stats.norm.ppf(0.975) * r.std() / np.sqrt(50.0)
            assert np.abs(edges - (r.mean() - half)).min() < 0.025 * half
            assert np.abs(edges - (r.mean() + half)).min() < 0.025 * half


def test_band_of_mean_autocorrelation_at_lags_beyond_half_of_short_series() -> None:
    """Moments of normal values about their mean, term by term (Isserlis); lags up to 10 of a series of 50."""
    sizes = [10] * 6 + [50]
    rng = np.random.default_rng(1)
    found = serial_tests(rf.LifeData.from_groups([rng.random(n) + 1.0 for n in sizes]), n_resamples=0)
    corners = plotting.autocorrelation(found, new()).collections[0].get_paths()[0].vertices

    def moments(n: int, lag: int) -> tuple[float, float]:
        e, pairs = np.eye(n) - 1.0 / n, [(i, i + lag) for i in range(n - lag)]
        square = sum(e[a, b] * e[c, d] + e[a, c] * e[b, d] + e[a, d] * e[b, c] for a, b in pairs for c, d in pairs)
        mean = sum(e[a, b] for a, b in pairs) / (n - 1.0)
        return mean, square / (n**2 - 1.0) - mean**2

    for lag in (1, 3, 5, 7, 9, 10):
        seen = [(n, *moments(n, lag)) for n in sizes if n > lag]
        total = sum(n for n, *_ in seen)
        centre = sum(n * mean for n, mean, _ in seen) / total
        half = stats.norm.ppf(0.975) * np.sqrt(sum(n**2 * variance for n, _, variance in seen)) / total
        edges = corners[np.abs(corners[:, 0] - lag) < 0.5 + 1e-9, 1]
        for end in (centre - half, centre + half):
            assert np.abs(edges - end).min() < 1e-9


def test_bins_of_a_rate_have_four_failures_each() -> None:
    days = [{"start": 24.0 * day + 1.0} for day in range(48)]
    rate, edges = _rate_in_bins(change_points(make_log(days, window=(0.0, 48 * 24.0)), of="records", bin_width="1D"))
    assert rate.tolist() == pytest.approx([1.0 / 24.0] * 12)
    assert np.diff(edges).tolist() == [4 * 24 * 3.6e12] * 12


def test_number_of_incidents_by_window(log: rf.FailureLog, joined: Incidents) -> None:
    ax = plotting.incidents_by_window(joined, new())
    made = labelled(ax)["incidents"].get_ydata()
    ends = joined.window.table["to_hours"].to_numpy()
    assert made[int(np.searchsorted(ends, joined.window.hours))] == len(joined)
    assert (np.diff(made) <= 0).all()
    drawn(ax)


def test_sizes_by_scope(joined: Incidents) -> None:
    ax = plotting.incident_sizes(joined, new())
    table = joined.table
    for scope in table["scope"].unique():
        name = {"group": "several nodes", "system": "whole system"}.get(scope, scope)
        handle = next(h for label, h in labelled(ax).items() if label.startswith(f"{name} ("))
        nodes = table.loc[table["scope"] == scope, "nodes"].clip(lower=1)
        x, y = handle.get_data()
        if scope == "system":  # an outage of a whole system hits all of its nodes, whatever its record names
            assert list(y) == [len(nodes)]
            assert x[0] > nodes.max()
            continue
        assert [int((nodes >= at).sum()) for at in x] == list(y)
    drawn(ax)


def test_an_outage_of_the_whole_system_hits_all_of_its_nodes() -> None:
    rows = [{"node": f"n{k}", "start": 10.0 * k + 1.0, "end": 10.0 * k + 2.0} for k in range(6)]
    rows += [{"node": None, "scope": "system", "start": t, "end": t + 1.0} for t in (75.0, 85.0)]
    ax = plotting.incident_sizes(incidents(make_log(rows, [{"node": f"n{k}"} for k in range(6)]), "0h"), new())
    handle = next(h for label, h in labelled(ax).items() if label.startswith("whole system ("))
    assert [list(values) for values in handle.get_data()] == [[6], [2]]


def test_lemons_are_stacked_on_the_others(bad: OutlierNodes) -> None:
    ax = plotting.outlier_nodes(bad, new())
    good, worst = (sum(bar.get_height() for bar in bars) for bars in ax.containers[:2])
    assert (good, worst) == (int((~bad.nodes["outlier"]).sum()), int(bad.nodes["outlier"].sum()))
    equal = labelled(ax)["if all were equal"].get_data()
    mean, excess = bad.nodes["events"].sum() / len(bad.nodes), bad.classes.loc[0, "scatter"] - 1.0
    k = np.arange(int(equal.edges[-1] + 1))
    width = round(equal.edges[1] - equal.edges[0])
    counts = stats.nbinom.pmf(k, mean / excess, 1.0 / (1.0 + excess))  # variance (1 + excess) times the mean
    expected = np.add.reduceat(len(bad.nodes) * counts, np.arange(0, k.size, width))
    assert equal[0] == pytest.approx(expected, abs=1e-6)
    assert title(ax).startswith(f"{int(bad.nodes['outlier'].sum())} of {len(bad.nodes)} nodes")
    drawn(ax)


def test_two_classes_add_up_to_all_nodes() -> None:
    rows = [
        (f"n{i:03d}", f"2020-{1 + j % 12:02d}-{1 + (7 * i + 3 * j) % 27:02d} {j:02d}:00", None, None)
        for i in range(60)
        for j in range(20 if i < 6 else 2)
    ]
    found = outlier_nodes(log_of(rows), n_resamples=0)
    ax = plotting.outlier_nodes(found, new())
    handles = labelled(ax)
    row = found.classes.iloc[0]
    assert row["description"] == "two_classes"
    bad = handles["the bad class"].get_data()[0].sum()
    assert bad == pytest.approx(60 * row["fraction"], rel=0.6)  # the axis ends at the busiest node
    assert bad < handles["two classes of nodes"].get_data()[0].sum() <= 60.0


# ------------------------------------------------------------------------ repairs


def test_repair_times_with_their_split(split: RepairKinds) -> None:
    ax = plotting.repair_times(split, new(), group="disk")
    row = split.best().set_index("group").loc["disk"] if "group" in split.best() else split.best().iloc[0]
    handles = labelled(ax)
    assert handles["800 repairs"].get_data()[0].sum() == pytest.approx(100)
    line = next(h for label, h in handles.items() if label.startswith("split"))
    assert line.get_xdata()[0] == pytest.approx(row["split"])
    x, y = handles["both"].get_data()
    step = np.log(handles["800 repairs"].get_data().edges[1] / handles["800 repairs"].get_data().edges[0])
    assert integrate.trapezoid(y, np.log(x)) / step == pytest.approx(
        100, rel=0.02
    )  # a density, in the units of the bars
    quick = next(h for label, h in handles.items() if label.startswith("quick")).get_ydata()
    slow = next(h for label, h in handles.items() if label.startswith("slow")).get_ydata()
    assert quick + slow == pytest.approx(y)
    # at the split both are as likely
    at = np.interp(np.log(row["split"]), np.log(x), quick - slow)
    assert at == pytest.approx(0.0, abs=0.02 * y.max())
    assert "75 % quick" in title(ax)
    drawn(ax)


def test_repairs_of_one_kind_and_of_none(split: RepairKinds) -> None:
    ax = plotting.repair_times(split, new(), group="fan")
    assert "one kind of repair" in title(ax)
    drawn(ax)
    ax = plotting.repair_times(split, new(), group="rare")
    assert "too few repairs" in title(ax)
    drawn(ax)
    with pytest.raises(ArgumentError, match="no group"):
        plotting.repair_times(split, new(), group="absent")


def test_classes_of_repairs(split: RepairKinds) -> None:
    ax = plotting.repair_classes(split, new())
    best = split.best()
    two = best[best["status"] == "ok"]
    points = labelled(ax)["mean of quick ones"].get_offsets()
    assert sorted(points[:, 0]) == pytest.approx(sorted(two["mean_quick"]))
    assert ax.get_yticklabels()[0].get_text() == "disk (800)"
    assert title(ax).startswith("In 1 of 3 groups repairs are of two kinds; the group with most repairs is disk: 75 %")
    drawn(ax)


def test_groups_with_one_kind_of_repair(log: rf.FailureLog) -> None:
    found = repair_kinds(log)
    one = found.best()
    one = one[one["status"] == "one_class"]
    ax = plotting.repair_classes(found, new())
    assert sorted(labelled(ax)["mean: one kind"].get_xdata()) == pytest.approx(sorted(one["mean"]))
    drawn(ax)


# ------------------------------------------------------------- repairable systems


def test_mean_cumulative_steps(histories: EventHistories) -> None:
    found = mean_cumulative(histories)
    ax = plotting.step_curves(found, new())
    y, x, _ = labelled(ax)["mean number of failures"].get_data()
    assert y[0] == 0.0
    assert y[-1] == pytest.approx(found.estimate[-1])
    assert x[-1] == pytest.approx(found.until[0])
    assert found.at(x[:-1])[0] == pytest.approx(y)
    assert title(ax).startswith("A node failed")
    drawn(ax)


def test_many_groups_show_six_and_count_the_others(histories: EventHistories) -> None:
    labels = [f"{i % 9} $x$ and a long name" for i in range(histories.n_histories)]
    found = mean_cumulative(histories, labels)
    ax = plotting.step_curves(found, new())
    assert len(labelled(ax)) == 6
    assert "3 more groups" in title(ax)
    assert all("\n" not in label and len(label) < 30 for label in labelled(ax))
    drawn(ax)


def test_trend_of_one_group_and_of_many(histories: EventHistories) -> None:
    pooled, each = trend_tests(histories, "all"), trend_tests(histories)
    ax = plotting.trends(pooled, new())
    z = {
        round(float(y)): float(x)
        for line in ax.lines
        if line.get_marker() == "o"
        for x, y in zip(*line.get_data(), strict=True)
    }
    made = pooled.direction[0] * stats.norm.isf(pooled.p[0] / 2.0)
    assert [z[3 - i] for i in range(4)] == pytest.approx(made)
    drawn(ax)
    ax = plotting.trends(each, new())
    falling, rising = ([bar.get_width() for bar in bars] for bars in ax.containers[:2])
    assert np.add(falling, rising) == pytest.approx(100 * each.share(0.05).to_numpy())
    drawn(ax)


RISING = [5, 12, 13, 24, 23, 32, 33, 44, 43, 52, 53, 64]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([20] * 12, "No trend of the rate"),
        ([20, 200] + [20] * 10, "No constant rate, but no lasting rise or fall"),
        (RISING, "A rising rate"),
        (RISING[::-1], "A falling rate"),
    ],
)
def test_the_title_of_a_trend_says_what_its_headline_says(counts: list[int], said: str) -> None:
    at = [month + (i + 0.5) / n for month, n in enumerate(counts) for i in range(n)]  # Lewis-Robinson sees the second
    pooled = trend_tests(EventHistories.from_groups([at], end=[12.0]), "all")
    assert title(plotting.trends(pooled, new())).startswith(said)
    assert ("rises" in pooled.headline, "falls" in pooled.headline) == ("rising" in said, "falling" in said)
    assert pooled.lasting == ("lasting" not in said and "No trend" not in said)


def test_processes_over_what_was_observed(histories: EventHistories) -> None:
    found = compare_processes(histories, "all")
    whole = mean_cumulative(histories, "all")
    ax = plotting.processes(found, new(), observed=whole)
    handles = labelled(ax)
    for name in ("constant rate", "power law", "log-linear"):  # all nodes were watched as long: likelihood equations
        x, y = handles[name].get_data()
        assert x[-1] == pytest.approx(whole.until[0])
        assert y[-1] == pytest.approx(whole.estimate[-1], rel=1e-5)
    assert handles["observed"].get_data()[0][-1] == pytest.approx(whole.estimate[-1])
    alone = labelled(plotting.processes(found, new()))
    assert alone["power law"].get_data()[1] == pytest.approx(handles["power law"].get_data()[1])
    assert "observed" not in alone
    assert "renewal (Weibull gaps)" in alone  # what the title may say is best is drawn
    drawn(ax)


def test_renewals_of_nodes_that_ran_before_are_steady(histories: EventHistories) -> None:
    fits = compare_processes(histories, "all")
    renewal = fits.fits["renewal"]
    shape, scale = renewal.estimates[0]
    curves = []
    for running in (0.0, 1.0):
        object.__setattr__(renewal, "running", np.array([running]))
        curves.append(labelled(plotting.processes(fits, new()))["renewal (Weibull gaps)"].get_data())
    at, steady = curves[1]
    assert steady == pytest.approx(at / (scale * math.gamma(1.0 + 1.0 / shape)))
    assert curves[0][1] == pytest.approx(_new_renewals(shape, scale, at))


def test_a_process_that_misses_what_was_observed_is_said_to(histories: EventHistories) -> None:
    fits, curve = compare_processes(histories, "all"), mean_cumulative(histories, "all")
    assert "does not give" not in title(plotting.processes(fits, new(), observed=curve))
    twice = {name: 2.0 * getattr(curve, name) for name in ("estimate", "low", "high")}
    for name, values in twice.items():
        object.__setattr__(curve, name, values)
    assert "does not give" in title(plotting.processes(fits, new(), observed=curve))


def test_numbers_at_risk_stand_under_survival_curves() -> None:
    curve = rf.kaplan_meier([10.0, 20.0, 20.0, 40.0, 90.0, 100.0], [True, True, True, False, True, True])
    ax = plotting.step_curves(curve, new())
    shown = {round(text.xy[0]): int(text.get_text()) for text in ax.texts}
    assert {at: n for at, n in shown.items() if at in (0, 20, 40, 60, 80, 100)} == {
        at: n for at, n in {0: 6, 20: 5, 40: 3, 60: 2, 80: 2, 100: 1}.items() if at in shown
    }
    assert shown[0] == 6
    assert len(shown) > 2


def test_expected_renewals_are_those_of_the_renewal_equation() -> None:
    at = np.linspace(0.0, 20.0, 200)[1:]
    assert _new_renewals(1.0, 2.0, at) == pytest.approx(at / 2.0, rel=1e-3)
    gaps = 2.0 * np.random.default_rng(0).weibull(0.6, (5000, 150))
    assert _new_renewals(0.6, 2.0, at)[-1] == pytest.approx((np.cumsum(gaps, axis=1) <= 20.0).sum() / 5000, rel=0.02)


def test_availability_in_bins(log: rf.FailureLog) -> None:
    found = availability_over_time(log, unit="quarter")
    ax = plotting.availability_over_time(found, new())
    assert labelled(ax)["availability"].get_data()[0] == pytest.approx(100 * found.operational[0], nan_ok=True)
    drawn(ax)
    for racks in (["frame01", "frame02", "frame03"], ["frame01", "frame02"]):
        several = availability_over_time(log.where(rack=racks), per="rack", unit="quarter")
        ax = plotting.availability_over_time(several, new())
        assert sum(label.startswith("frame") for label in labelled(ax)) == len(racks)
        drawn(ax)


def test_a_month_watched_in_part_is_dotted_and_not_the_lowest() -> None:
    part = rf.read("white").where(rack=["frame01", "frame02"]).between("2004-06-01", "2004-09-05")
    found = availability_over_time(part, unit="month")
    ax = plotting.availability_over_time(found, new())
    assert found.comparable.tolist() == [True, True, True, False]
    whole, dotted = (labelled(ax)[name].get_data()[0] for name in ("availability", "watched in part"))
    assert np.isnan(whole).tolist() == [False, False, False, True]
    assert np.isnan(dotted).tolist() == [True, True, True, False]


def test_the_average_availability_is_that_of_all_groups(log: rf.FailureLog) -> None:
    found = availability_over_time(log, per="node", unit="quarter")
    assert len(found.groups) > 6
    mean = 100.0 * (1.0 - found.down_hours.sum() / found.node_hours.sum())
    assert f"all {len(found.groups)} {mean:.4g} %" in labelled(plotting.availability_over_time(found, new()))


@pytest.mark.parametrize("least", [0.6, 0.84, 0.88, 0.95, 0.97, 0.9952])
def test_ticks_of_availability_are_not_rounded(log: rf.FailureLog, least: float) -> None:
    found = availability_over_time(log, unit="quarter")
    share = np.where(np.isfinite(found.operational), 1.0, np.nan)
    share[0, np.flatnonzero(np.isfinite(share[0]))[0]] = least
    none = np.full_like(share, np.nan)
    ax = plotting.availability_over_time(replace(found, operational=share, low=none, high=none), new())
    drawn(ax)
    assert [float(text.get_text()) for text in ax.get_yticklabels()] == pytest.approx(list(ax.get_yticks()))


# --------------------------------------------------------------------- hard cases


def of_everything(log: rf.FailureLog) -> list[tuple[Callable[..., Axes], Any]]:
    asked = dependence(log)
    histories = histories_of_log(log)
    joined = incidents(log)
    found: list[tuple[Callable[..., Axes], Any]] = [
        (plotting.correlations, asked.correlation),
        (plotting.correlation_classes, asked.correlation),
        (plotting.durbin_watson, asked.serial),
        (plotting.autocorrelation, asked.serial),
        (plotting.durbin_watson_pooled, asked.pooled),
        (plotting.dispersion, asked.dispersion),
        (plotting.failing_together, asked.cofailure),
        (plotting.clock_cycle, asked.cycles),
        (plotting.change_points, change_points(log)),
        (plotting.incident_window, joined),
        (plotting.incidents_by_window, joined),
        (plotting.incident_sizes, joined),
        (plotting.outlier_nodes, outlier_nodes(log, n_resamples=0)),
        (plotting.bursts, bursts(log, joined)),
        (plotting.step_curves, mean_cumulative(histories)),
        (plotting.trends, trend_tests(histories)),
        (plotting.trends, trend_tests(histories, "all")),
        (plotting.processes, compare_processes(histories, "all")),
        (plotting.availability_over_time, availability_over_time(log)),
        (plotting.repair_classes, repair_kinds(log)),
        (plotting.repair_times, repair_kinds(log)),
    ]
    return [(function, result) for function, result in found if result is not None]


@pytest.mark.parametrize("case", ["nothing", "one", "one node", "one instant", "constant"])
@pytest.mark.slow
def test_hard_logs_are_figures_too(case: str) -> None:
    rows: dict[str, list[tuple[Any, Any, Any, Any]]] = {
        "nothing": [],
        "one": [("a", "2020-03-01 10:00", "2020-03-01 12:00", "disk")],
        "one node": [
            ("a", f"2020-{m:02d}-{3 * m % 27 + 1:02d} 10:00", f"2020-{m:02d}-28 11:00", "disk $x$")
            for m in range(1, 13)
        ],
        "one instant": [(f"n{i}", "2020-03-01 10:00", "2020-03-01 12:00", None) for i in range(12)],
        "constant": [
            ("a", day, day + pd.Timedelta("1h"), "_fan") for day in pd.date_range("2020-01-02", periods=40, freq="7D")
        ],
    }
    for function, result in of_everything(log_of(rows[case])):
        ax = function(result, new())
        assert title(ax), function.__name__
        drawn(ax)


@pytest.mark.slow
def test_plot_finds_the_figure_by_the_type(
    log: rf.FailureLog,
    asked: Dependence,
    histories: EventHistories,
    joined: Incidents,
    cut: ChangePoints,
    bad: OutlierNodes,
    split: RepairKinds,
) -> None:
    pairs = [
        (asked.correlation, plotting.correlations),
        (asked.serial, plotting.durbin_watson),
        (asked.pooled, plotting.durbin_watson_pooled),
        (asked.dispersion, plotting.dispersion),
        (asked.cofailure, plotting.failing_together),
        (asked.cycles, plotting.clock_cycle),
        (bursts(log, joined), plotting.bursts),
        (joined, plotting.incident_sizes),
        (joined.window, plotting.incident_window),
        (cut, plotting.change_points),
        (bad, plotting.outlier_nodes),
        (split, plotting.repair_classes),
        (trend_tests(histories), plotting.trends),
        (compare_processes(histories, "all"), plotting.processes),
    ]
    for result, figure in pairs:
        ax = new()
        assert rf.plot(result, ax=ax) is ax
        assert title(ax) == title(figure(result, new()))
        assert ax.get_xlabel()
    assert plt.get_fignums() == []


def test_lives_without_gaps_between_them(log: rf.FailureLog) -> None:
    found = serial_tests(log.ttf(zeros="keep").take([0]))
    ax = plotting.durbin_watson(found, new())
    assert "of 1 node " in title(ax) or "No node" in title(ax)
    drawn(ax)
