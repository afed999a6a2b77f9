"""Tests along time: agreement with statsmodels, exact distributions, size on independent data, planted effects."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.sandbox.stats.runs import runstest_1samp
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.stats.stattools import durbin_watson
from statsmodels.tsa.stattools import acf

from relfit.analyses.independence import serial_tests
from relfit.analyses.independence.serial import _shuffle
from relfit.analyses.independence.serial_p_values import (
    durbin_watson_p,
    permutation_variance,
    runs_above_median,
    runs_mid_p,
)
from relfit.base.errors import ArgumentError
from relfit.log.lifedata import LifeData


def autoregressive(rng, rows, n, phi=0.6):
    noise = rng.normal(0, 1, (rows, n + 50))
    for t in range(1, n + 50):
        noise[:, t] += phi * noise[:, t - 1]
    return np.exp(0.7 * noise[:, 50:]) * 100


@pytest.mark.parametrize("n", [7, 12, 31, 100])
def test_statistics_are_those_of_statsmodels(n):
    x = np.random.default_rng(n).weibull(0.8, (10, n)) * 1000
    found = serial_tests(LifeData.from_array(x), n_resamples=0)
    lags = int(np.clip(n // 5, 1, 10))
    for row, series in enumerate(x):
        assert found.durbin_watson[row] == pytest.approx(durbin_watson(series - series.mean()), rel=1e-12)
        box = acorr_ljungbox(series, lags=[lags])
        assert found.ljung_box[row] == pytest.approx(box["lb_stat"].iloc[0], rel=1e-10)
        assert found.ljung_box_p_chi_square[row] == pytest.approx(box["lb_pvalue"].iloc[0], rel=1e-9)
        np.testing.assert_allclose(found.autocorrelation[row], acf(series, nlags=lags)[1:], atol=1e-12)
        assert found.runs_z[row] == pytest.approx(runstest_1samp(series, cutoff="median", correction=False)[0])


def test_series_of_other_lengths_in_the_batch_change_nothing():
    rng = np.random.default_rng(8)
    series = [rng.exponential(100.0, n) for n in (7, 60, 12, 33)]
    together = serial_tests(LifeData.from_groups(series), n_resamples=0)
    for row, values in enumerate(series):
        alone = serial_tests(LifeData.from_groups([values]), n_resamples=0)
        for name in ("durbin_watson", "durbin_watson_p", "ljung_box", "ljung_box_p", "lags"):
            assert getattr(together, name)[row] == pytest.approx(getattr(alone, name)[0], rel=1e-12)


@pytest.mark.parametrize("n", [12, 60])
def test_the_beta_distribution_is_close_to_that_over_random_orders(n):
    rng = np.random.default_rng(n)
    x = rng.weibull(0.8, n)
    e = rng.permuted(np.tile(x - x.mean(), (100_000, 1)), axis=1)
    d = (np.diff(e, axis=1) ** 2).sum(axis=1) / (e[0] ** 2).sum()
    p = durbin_watson_p(d, n, (e[0] ** 4).sum() / (e[0] ** 2).sum() ** 2)
    for level in (0.02, 0.05, 0.2):
        assert (p <= level).mean() == pytest.approx(level, abs=0.025)


def test_variance_over_all_orders():
    x = np.array([1.0, 5, 2, 9, 30, 4, 4.5])
    e = x - x.mean()
    every = [(np.diff(o) ** 2).sum() / (e**2).sum() for o in itertools.permutations(x)]
    assert permutation_variance(7, (e**4).sum() / (e**2).sum() ** 2) == pytest.approx(np.var(every), rel=1e-10)


@pytest.mark.parametrize(("above", "below"), [(3, 4), (5, 5), (1, 6), (2, 2)])
def test_runs_are_counted_over_all_orders(above, below):
    orders = set(itertools.permutations([1] * above + [0] * below))
    seen = np.array([1 + (np.diff(order) != 0).sum() for order in orders])
    for r in np.unique(seen):
        lower = (seen < r).mean() + 0.5 * (seen == r).mean()
        expected = min(2 * min(lower, 1 - lower), 1)
        assert runs_mid_p([r], [above], [below])[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("shape", [1.0, 0.6])
@pytest.mark.parametrize("n", [10, 50, 220])
@pytest.mark.slow
def test_size_on_independent_lives(n, shape):
    x = np.random.default_rng(100 + n).weibull(shape, (20_000 if n < 20 else 5_000, n)) * 500
    found = serial_tests(LifeData.from_array(x), n_resamples=999, rng=0)
    for name in ("durbin_watson_p", "ljung_box_p"):
        assert 0.04 <= (getattr(found, name) <= 0.05).mean() <= 0.06, name
    # runs are whole numbers: the size swings with the length
    assert 0.02 <= (found.runs_p <= 0.05).mean() <= 0.09


def test_size_of_the_runs_test_over_many_lengths():
    rng = np.random.default_rng(9)
    lives = LifeData.from_groups([rng.exponential(1, n) for n in rng.integers(30, 90, 2000)])
    assert 0.04 <= (serial_tests(lives, n_resamples=0).runs_p <= 0.05).mean() <= 0.06


def test_p_values_by_shuffling_are_uniform():
    x = np.random.default_rng(2).weibull(0.6, (2000, 25))
    found = serial_tests(LifeData.from_array(x), rng=1)
    for p in (found.durbin_watson_p, found.ljung_box_p):
        for level in (0.01, 0.1, 0.3, 0.6):
            assert (p <= level).mean() == pytest.approx(level, abs=4 * np.sqrt(level / 2000) + 0.002)


def test_the_p_value_of_few_shuffles_counts_the_series_itself():
    lives = LifeData.from_array(np.random.default_rng(5).exponential(100.0, (200, 20)))
    for most in (1, 3):
        found = serial_tests(lives, n_resamples=most)
        for p in (found.durbin_watson_p, found.ljung_box_p):
            assert set(np.round(p * (most + 1)).astype(int)) == set(range(1, most + 2))
            np.testing.assert_allclose(p * (most + 1), np.round(p * (most + 1)), atol=1e-12)


def test_autoregressive_series_are_found_and_the_others_are_not():
    rng = np.random.default_rng(3)
    x = np.concatenate([autoregressive(rng, 30, 60), rng.weibull(0.8, (270, 60)) * 100])
    found = serial_tests(LifeData.from_array(x), rng=0)
    planted = np.arange(300) < 30
    p = found.durbin_watson_p
    assert (p[planted] <= 0.05).mean() > 0.85
    assert found.autocorrelation[planted, 0].mean() > 0.35
    assert (found.ljung_box_p[planted] <= 0.05).mean() > 0.7
    assert (found.runs_p[planted] <= 0.05).mean() > 0.6
    assert (p[~planted] <= 0.05).mean() < 0.09
    assert found.rejected().loc["durbin_watson", "rejected_adjusted"] >= 20
    assert found.depends
    assert "positively autocorrelated" in found.headline


def test_independent_series_are_left_in_peace():
    found = serial_tests(LifeData.from_array(np.random.default_rng(12).weibull(0.8, (300, 30))), rng=0)
    assert found.depends is False
    assert "as independent" in found.headline


def test_short_constant_and_huge_values():
    lives = LifeData.from_groups(
        {
            "none": [],
            "two": [1, 2],
            "flat": [5.0] * 9,
            "zeros": [0.0] * 5,
            "three": [1, 2, 4],
            "big": [1e300, 3e300] * 5,
        }
    )
    found = serial_tests(lives, rng=0)
    assert found.status.tolist() == ["too_few", "too_few", "constant", "constant", "ok", "ok"]
    good = found.status == "ok"
    for name in ("durbin_watson", "durbin_watson_p", "ljung_box", "ljung_box_p", "runs_p"):
        np.testing.assert_array_equal(np.isfinite(getattr(found, name)), good)
    assert found.durbin_watson[-1] == pytest.approx(3.6)
    # three values cannot be significant, and do not count as tested
    assert found.rejected()["tested"].tolist() == [1, 1, 1]
    assert len(found.to_frame()) == 6
    none = serial_tests(lives.take([0, 1]))
    assert none.depends is None
    assert "nothing can be said" in none.headline
    assert [row["tested"] for row in none.to_dict()["tests"]] == [0, 0, 0]
    assert serial_tests(lives.take([])).depends is None


def test_the_seed_alone_decides_not_the_threads(monkeypatch):
    x = np.random.default_rng(0).weibull(0.8, (1500, 20))
    results = []
    for threads in (1, 2):
        monkeypatch.setattr("relfit.base.numeric.batches.processors", lambda threads=threads: threads)
        results.append(serial_tests(LifeData.from_array(x), rng=4))
    one, two = results
    np.testing.assert_array_equal(one.durbin_watson_p, two.durbin_watson_p)
    np.testing.assert_array_equal(one.ljung_box_p, two.ljung_box_p)


def test_a_screen_shuffles_only_small_p_values():
    lives = LifeData.from_array(np.random.default_rng(21).weibull(0.6, (2000, 30)))
    law, all_of_them = serial_tests(lives, n_resamples=0), serial_tests(lives, n_resamples=999, rng=1)
    some = serial_tests(lives, n_resamples=999, screen=0.05, rng=1)
    small = (law.durbin_watson_p <= 0.05) | (law.ljung_box_p <= 0.05)
    np.testing.assert_array_equal(some.durbin_watson_p[small], all_of_them.durbin_watson_p[small])
    np.testing.assert_array_equal(some.durbin_watson_p[~small], law.durbin_watson_p[~small])
    with pytest.raises(ArgumentError, match="screen"):
        serial_tests(lives, screen=2.0)


def test_arguments():
    lives = LifeData.from_array(np.arange(5.0))
    with pytest.raises(ArgumentError, match="n_resamples"):
        serial_tests(lives, n_resamples=-1)
    with pytest.raises(ArgumentError, match="alpha"):
        serial_tests(lives).rejected(2.0)


def test_a_p_value_at_the_level_is_a_rejection_and_short_series_are_not_tested():
    found = serial_tests(LifeData.from_array(np.random.default_rng(0).weibull(1.0, (4, 6))), n_resamples=0)
    p = np.array([0.05, 0.0500001, 0.001, np.nan])
    table = replace(found, runs_p=p).rejected()
    assert table.loc["runs", ["tested", "rejected", "rejected_adjusted"]].tolist() == [3, 2, 1]
    assert table.loc["runs", "expected"] == pytest.approx(0.15)
    # of four values no order is rarer than 1 in 24: none can be rejected on both sides at 5 %
    short = replace(found, sizes=np.array([4, 5, 5, 5]), runs_p=np.full(4, 0.01)).rejected()
    assert short.loc["runs", "tested"] == 3


def test_runs_of_many_kinds_of_series_are_computed_in_blocks(monkeypatch):
    above, below = (a.ravel() for a in np.meshgrid(np.arange(0, 6), np.arange(0, 6)))
    runs = np.minimum(above + below, 3)
    whole = runs_mid_p(runs, above, below)
    monkeypatch.setattr("relfit.analyses.independence.serial_p_values._BLOCK", 5)
    np.testing.assert_array_equal(runs_mid_p(runs, above, below), whole)
    assert (whole[(above == 0) | (below == 0)] == 1.0).all()


def test_runs_of_long_series_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(7)
    series = [rng.gamma(2.0, size=301), np.sort(rng.gamma(2.0, size=250)), rng.gamma(2.0, size=401)]
    lives = LifeData.from_groups(series)
    _, z, p = runs_above_median(lives, np.ones(3, bool))
    for i, values in enumerate(series):
        expected = runstest_1samp(values, cutoff="median", correction=False)
        assert (z[i], p[i]) == pytest.approx(expected, abs=1e-9)


def test_the_p_value_by_shuffling_is_that_of_the_statistic():
    rng = np.random.default_rng(11)
    series = autoregressive(rng, 1, 16, phi=0.5)[0]
    found = serial_tests(LifeData.from_array(series[None]), n_resamples=9999)
    orders = LifeData.from_array(rng.permuted(np.tile(series, (20_000, 1)), axis=1))
    drawn = serial_tests(orders, n_resamples=0).ljung_box
    assert found.ljung_box_p[0] == pytest.approx((drawn >= found.ljung_box[0]).mean(), abs=0.015)


def test_shuffles_are_those_of_a_published_generator():
    """Fisher and Yates's shuffle by the numbers of xorshift64* (Vigna 2016), in whole numbers of Python."""
    x = np.random.default_rng(3).weibull(0.8, 8)
    seed, most = 123456789, 60
    p = np.full((1, 2), np.nan)
    centred = (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).sum())
    _shuffle(centred, np.array([0, 8]), np.array([1]), np.array([seed]), most, np.array([True]), p, 0, 1)

    def distance(e):
        return abs(durbin_watson(e) - 2.0)

    state, order, reached = seed | 1, list(centred), 0
    for _ in range(most):
        for i in range(7, 0, -1):
            state ^= state >> 12
            state = (state ^ (state << 25)) % 2**64
            state ^= state >> 27
            j = int((state * 2685821657736338717 % 2**64 >> 11) / 2**53 * (i + 1))
            order[i], order[j] = order[j], order[i]
        reached += distance(order) >= distance(centred) - 1e-9
    assert 2 < reached < 50
    assert p[0, 0] == pytest.approx((reached + 1.0) / (most + 1.0))
