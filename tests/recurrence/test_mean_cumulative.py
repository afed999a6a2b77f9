"""Mean cumulative functions: published numbers, other programs, the difference of two groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reliability.Repairable_systems import MCF_nonparametric
from scipy import stats
from surpyval.recurrent import NonParametricCounting

from relfit import ArgumentError
from relfit.analyses.recurrence import EventHistories, mean_cumulative
from tests.recurrence.made import power_law, racked, scattered

RELIAWIKI = [[5, 10, 15, 17], [6, 13, 17, 19], [12, 20, 25, 26], [13, 15, 24], [16, 22, 25, 28]]


def uneven(rng, copies=40):
    end = rng.uniform(20.0, 100.0, copies)
    begin = np.where(rng.random(copies) < 0.4, rng.uniform(0.0, 15.0, copies), 0.0)
    parts = [np.sort(rng.uniform(a, b, rng.poisson(3))) for a, b in zip(begin, end, strict=True)]
    return EventHistories.from_groups(parts, end, begin=begin)


def test_meeker_and_escobar_table_16_1():
    curve = mean_cumulative(EventHistories.from_groups([[5, 8], [], [1, 8, 16]], end=[12, 16, 20]))
    np.testing.assert_allclose(curve.estimate, [1 / 3, 2 / 3, 4 / 3, 11 / 6])
    np.testing.assert_allclose(curve.standard_error**2, [6 / 81, 6 / 81, 24 / 81, 163 / 216])
    assert curve.at_risk.tolist() == [3, 3, 3, 2]


def test_the_mean_is_that_of_reliability():
    expected = MCF_nonparametric(data=[list(part) for part in RELIAWIKI], print_results=False, show_plot=False)
    curve = mean_cumulative(EventHistories.from_groups([part[:-1] for part in RELIAWIKI], [p[-1] for p in RELIAWIKI]))
    last = dict(zip(expected.time, expected.MCF, strict=True))
    assert curve.times.tolist() == sorted(last)
    np.testing.assert_allclose(curve.estimate, [last[time] for time in curve.times])


@pytest.mark.parametrize("seed", [1, 2])
def test_mean_and_robust_limits_are_those_of_surpyval(seed):
    histories = uneven(np.random.default_rng(seed))
    count = histories.n_histories
    x = np.concatenate([histories.times, histories.end])
    i = np.concatenate([histories.group_codes(), np.arange(count)])
    c = np.concatenate([np.zeros(histories.times.size), np.ones(count)]).astype(int)
    model = NonParametricCounting.fit(x, i=i, c=c, tl=histories.begin[i])
    curve = mean_cumulative(histories)
    kept = curve.times > 15.0
    np.testing.assert_allclose(curve.estimate[kept], model.mcf(curve.times[kept]), rtol=1e-9)
    limits = model.mcf_cb(curve.times[kept])
    # theirs are normal; ours are Student's t with n/(n - 1), see below
    far = stats.norm.ppf(0.975) * curve.standard_error[kept] / curve.estimate[kept]
    np.testing.assert_allclose(curve.estimate[kept] * np.exp(-far), limits[:, 0], rtol=1e-7)
    np.testing.assert_allclose(curve.estimate[kept] * np.exp(far), limits[:, 1], rtol=1e-7)
    far *= stats.t.ppf(0.975, count - 1) / stats.norm.ppf(0.975) * np.sqrt(count / (count - 1))
    np.testing.assert_allclose(curve.low[kept], curve.estimate[kept] * np.exp(-far), rtol=1e-9)


def test_robust_variance_is_the_sum_of_squared_residuals_in_every_group():
    rng = np.random.default_rng(5)
    histories = uneven(rng, 30)
    labels = np.arange(30) % 3
    curve = mean_cumulative(histories, labels)
    code = histories.group_codes()
    for group in range(3):
        part = slice(curve.offsets[group], curve.offsets[group + 1])
        residual = np.zeros((30, part.stop - part.start))
        for k, time in enumerate(curve.times[part]):
            there = (histories.begin <= time) & (time <= histories.end) & (labels == group)
            own = np.bincount(code[histories.times == time], minlength=30) * (labels == group)
            residual[there, k] = (own - own.sum() / there.sum())[there] / there.sum()
        np.testing.assert_allclose(
            curve.standard_error[part] ** 2, (residual.cumsum(axis=1) ** 2).sum(axis=0), rtol=1e-9
        )


def test_limits_cover_with_unequal_systems():
    rng = np.random.default_rng(6)
    count = rng.poisson(rng.gamma(2.0, 1.5, 1000 * 30))
    histories = scattered(count, rng.random(count.sum()))
    labels = np.repeat(np.arange(1000), 30)
    robust = mean_cumulative(histories, labels)
    limits = robust.interval(1.0)
    assert 0.92 < np.mean((limits.low <= 3.0) & (limits.high >= 3.0)) < 0.96


@pytest.mark.parametrize(("copies", "least"), [(2, 0.96), (3, 0.93), (5, 0.925), (10, 0.925)])
def test_limits_of_few_copies_cover(copies, least):
    rng = np.random.default_rng(16)
    each = rng.poisson(8.0, 1500 * copies)
    limits = mean_cumulative(scattered(each, rng.random(each.sum())), np.repeat(np.arange(1500), copies)).interval(1.0)
    assert ((limits.low <= 8.0) & (limits.high >= 8.0)).mean() > least
    assert (limits.high > 1.1 * limits.low).all()  # no width of zero where all copies had as many


def test_edges():
    none = mean_cumulative(EventHistories.from_groups([[], []], end=5.0), "each")
    assert none.status.tolist() == ["no_events", "no_events"]
    assert none.at(3.0).tolist() == [0.0, 0.0]
    assert "Nothing failed" in none.headline
    one = mean_cumulative(EventHistories.from_groups([[1.0, 2.0]], end=5.0))
    assert one.status.tolist() == ["one_copy"]
    assert np.isnan(one.low).all()
    tied = mean_cumulative(EventHistories.from_groups([[2.0, 2.0], [2.0]], end=2.0))
    assert tied.estimate.tolist() == [1.5]
    assert tied.to_frame().notna().all().all()
    empty = mean_cumulative(EventHistories.from_groups([]))
    assert empty.times.size == 0
    with pytest.raises(ArgumentError, match="level"):
        mean_cumulative(EventHistories.from_groups([[1.0]], end=5.0), level=1.0)


def test_a_batch_is_its_groups():
    histories = power_law(60, 5.0, 1.3, np.random.default_rng(9))
    labels = np.arange(60) % 4
    whole = mean_cumulative(histories, labels)
    alone = mean_cumulative(histories.take(np.flatnonzero(labels == 2)))
    part = slice(*whole.offsets[2:4])
    assert np.array_equal(whole.standard_error[part], alone.standard_error)


def test_limits_hold_the_mean_of_nodes_that_share_incidents():
    """Of 60 logs of racks that fail as one, limits of independent nodes held the mean in 27."""
    mean, held, blind = 8760.0 / 1500.0 + 8760.0 / 1000.0, [], []
    for seed in range(100):
        histories = racked(np.random.default_rng(seed))
        for one, out in ((histories, held), (replace(histories, incident=None), blind)):
            limits = mean_cumulative(one).interval(8760.0)
            out.append(limits.low[0] <= mean <= limits.high[0])
    assert 0.9 <= np.mean(held) <= 0.99
    assert np.mean(blind) < 0.6


def test_incidents_of_all_nodes_have_the_variance_of_their_number():
    histories = EventHistories.from_groups([[1.0, 5.0, 9.0]] * 8, 10.0)
    curve = mean_cumulative(replace(histories, incident=np.tile([0, 1, 2], 8)))
    np.testing.assert_allclose(curve.standard_error**2 * 8 / 7, [1.0, 2.0, 3.0])
    alone = mean_cumulative(replace(histories, incident=np.arange(24)))
    np.testing.assert_allclose(alone.low, mean_cumulative(histories).low)


@pytest.mark.parametrize(
    ("late", "said"),
    [
        (44, "fewer in the second half of that time than in the first (44 % of all)"),
        (45, "fewer in the second half of that time than in the first (45 % of all)"),
        (46, "about as many in the second half of that time as in the first (46 % of all)"),
        (54, "about as many in the second half of that time as in the first (54 % of all)"),
        (55, "more in the second half of that time than in the first (55 % of all)"),
    ],
)
def test_as_many_are_as_near_to_half_on_both_sides(late, said):
    at = [*np.linspace(1.0, 49.0, 100 - late), *np.linspace(51.0, 99.0, late)]
    assert mean_cumulative(EventHistories.from_groups([at], end=100.0)).headline.endswith(f"{said}.")
