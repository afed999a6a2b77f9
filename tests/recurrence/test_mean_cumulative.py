"""Mean cumulative functions: published numbers, other programs, comparison of groups."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from reliability.Repairable_systems import MCF_nonparametric
from surpyval.recurrent import NonParametricCounting

from relfit import ArgumentError
from relfit.recurrence import EventHistories, compare_groups, mean_cumulative
from tests.recurrence.made import power_law, scattered

mpl.use("Agg")
RELIAWIKI = [[5, 10, 15, 17], [6, 13, 17, 19], [12, 20, 25, 26], [13, 15, 24], [16, 22, 25, 28]]


def uneven(rng, copies=40):
    end = rng.uniform(20.0, 100.0, copies)
    begin = np.where(rng.random(copies) < 0.4, rng.uniform(0.0, 15.0, copies), 0.0)
    parts = [np.sort(rng.uniform(a, b, rng.poisson(3))) for a, b in zip(begin, end, strict=True)]
    return EventHistories.from_groups(parts, end, begin=begin)


def test_meeker_and_escobar_table_16_1():
    curve = mean_cumulative(EventHistories.from_groups([[5, 8], [], [1, 8, 16]], end=[12, 16, 20]))
    np.testing.assert_allclose(curve.mean, [1 / 3, 2 / 3, 4 / 3, 11 / 6])
    np.testing.assert_allclose(curve.variance, [6 / 81, 6 / 81, 24 / 81, 163 / 216])
    assert curve.at_risk.tolist() == [3, 3, 3, 2]


def test_the_mean_is_that_of_reliability():
    expected = MCF_nonparametric(data=[list(part) for part in RELIAWIKI], print_results=False, show_plot=False)
    curve = mean_cumulative(EventHistories.from_groups([part[:-1] for part in RELIAWIKI], [p[-1] for p in RELIAWIKI]))
    last = dict(zip(expected.time, expected.MCF, strict=True))
    assert curve.times.tolist() == sorted(last)
    np.testing.assert_allclose(curve.mean, [last[time] for time in curve.times])


@pytest.mark.parametrize("seed", [1, 2])
def test_mean_and_robust_limits_are_those_of_surpyval(seed):
    histories = uneven(np.random.default_rng(seed))
    count = histories.n_histories
    x = np.concatenate([histories.times, histories.end])
    i = np.concatenate([histories.codes(), np.arange(count)])
    c = np.concatenate([np.zeros(histories.times.size), np.ones(count)]).astype(int)
    model = NonParametricCounting.fit(x, i=i, c=c, tl=histories.begin[i])
    curve = mean_cumulative(histories)
    kept = curve.times > 15.0
    np.testing.assert_allclose(curve.mean[kept], model.mcf(curve.times[kept]), rtol=1e-9)
    limits = model.mcf_cb(curve.times[kept])
    np.testing.assert_allclose(curve.low[kept], limits[:, 0], rtol=1e-7)
    np.testing.assert_allclose(curve.high[kept], limits[:, 1], rtol=1e-7)


def test_robust_variance_is_the_sum_of_squared_residuals_in_every_group():
    rng = np.random.default_rng(5)
    histories = uneven(rng, 30)
    labels = np.arange(30) % 3
    curve = mean_cumulative(histories, labels)
    code = histories.codes()
    for group in range(3):
        part = slice(curve.offsets[group], curve.offsets[group + 1])
        residual = np.zeros((30, part.stop - part.start))
        for k, time in enumerate(curve.times[part]):
            there = (histories.begin <= time) & (time <= histories.end) & (labels == group)
            own = np.bincount(code[histories.times == time], minlength=30) * (labels == group)
            residual[there, k] = (own - own.sum() / there.sum())[there] / there.sum()
        np.testing.assert_allclose(curve.variance[part], (residual.cumsum(axis=1) ** 2).sum(axis=0), rtol=1e-9)


def test_limits_cover_with_unequal_systems():
    rng = np.random.default_rng(6)
    count = rng.poisson(rng.gamma(2.0, 1.5, 1000 * 30))
    histories = scattered(count, rng.random(count.sum()))
    labels = np.repeat(np.arange(1000), 30)
    robust = mean_cumulative(histories, labels)
    low, high = robust.limits_at(1.0)
    assert 0.92 < np.mean((low <= 3.0) & (high >= 3.0)) < 0.96
    low, high = mean_cumulative(histories, labels, variance="poisson").limits_at(1.0)
    assert np.mean((low <= 3.0) & (high >= 3.0)) < 0.85


def test_the_comparison_keeps_its_size_and_finds_a_difference():
    rng = np.random.default_rng(7)
    labels = np.repeat([0, 1, 2], 15)
    rejected, poisson, found = 0, 0, 0
    for i in range(2000):
        count = rng.poisson(rng.gamma(2.0, 1.5, 45))
        histories = scattered(count, rng.random(count.sum()))
        rejected += compare_groups(histories, labels).p < 0.05
        if i < 300:
            poisson += compare_groups(histories, labels, "poisson").p < 0.05
            count = rng.poisson(np.where(labels == 2, 9.0, 3.0))
            found += compare_groups(scattered(count, rng.random(count.sum())), labels).p < 0.05
    assert 0.04 <= rejected / 2000 <= 0.06
    assert poisson / 300 > 0.2
    assert found / 300 > 0.95


def test_two_poisson_groups_agree_with_the_closed_form():
    histories = EventHistories.from_groups([[1.0, 2.0], [3.0], [4.0], [5.0, 6.0, 7.0, 8.0]], end=10.0)
    found = compare_groups(histories, ["a", "a", "b", "b"], "poisson")
    assert found.statistic == pytest.approx((3 - 4) ** 2 / (8 / 4))
    assert found.to_frame()["ratio"].tolist() == [0.75, 1.25]
    assert "pool" in found.sentence


def test_difference_of_two_groups():
    rng = np.random.default_rng(8)
    labels = np.repeat(["slow", "fast"], 50)
    count = rng.poisson(np.where(labels == "fast", 8.0, 4.0))
    curve = mean_cumulative(scattered(count, rng.random(count.sum()), 100.0), labels)
    gap = curve.difference("fast", "slow")
    assert gap.low[-1] < 4.0 < gap.high[-1]
    assert gap.low[-1] > 0.0
    assert "more than chance" in gap.sentence
    np.testing.assert_allclose(gap.difference[-1], count[50:].mean() - count[:50].mean())
    assert len(gap.to_frame()) == gap.times.size
    with pytest.raises(ArgumentError, match="no group"):
        curve.difference("fast", "medium")


def test_edges():
    none = mean_cumulative(EventHistories.from_groups([[], []], end=5.0), "each")
    assert none.status.tolist() == ["no_events", "no_events"]
    assert none.at(3.0).tolist() == [0.0, 0.0]
    assert "Nothing failed" in none.sentence
    one = mean_cumulative(EventHistories.from_groups([[1.0, 2.0]], end=5.0))
    assert one.status.tolist() == ["one_copy"]
    assert np.isnan(one.low).all()
    assert np.isfinite(mean_cumulative(EventHistories.from_groups([[1.0, 2.0]], end=5.0), variance="poisson").low).all()
    tied = mean_cumulative(EventHistories.from_groups([[2.0, 2.0], [2.0]], end=2.0))
    assert tied.mean.tolist() == [1.5]
    assert tied.to_frame().notna().all().all()
    empty = mean_cumulative(EventHistories.from_groups([]))
    assert empty.times.size == 0
    histories = EventHistories.from_groups([[1.0], [2.0], [3.0]], end=5.0)
    assert compare_groups(histories, "all").status == "one_group"
    assert compare_groups(histories, [1, 1, 2]).status == "too_few_copies"
    assert compare_groups(EventHistories.from_groups([[], []], end=5.0), [1, 2]).status == "no_events"
    same = EventHistories.from_groups([[1.0]] * 4, end=5.0)
    assert compare_groups(same, [1, 1, 2, 2]).status == "no_variance"
    for options in ({"variance": "x"}, {"interval": "x"}, {"level": 1.0}):
        with pytest.raises(ArgumentError):
            mean_cumulative(histories, **options)


def test_a_batch_is_its_groups():
    histories = power_law(60, 5.0, 1.3, np.random.default_rng(9))
    labels = np.arange(60) % 4
    whole = mean_cumulative(histories, labels)
    alone = mean_cumulative(histories.take(np.flatnonzero(labels == 2)))
    part = whole._slice(2)
    assert np.array_equal(whole.variance[part], alone.variance)
