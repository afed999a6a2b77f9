"""Mixtures against a hand computation, SciPy's negative binomial, and what simulated series did next."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from relfit.fleet.prediction import (
    HALF_LIVES,
    DiscountedLevels,
    Prediction,
    cumulative,
    distribution_of_counts,
    levels_of,
    mix,
)
from relfit.fleet.prediction.mixing import fixed_share, log_negative_binomial

HORIZON = 30


def counts(mean, variance, weight=(1.0,)) -> Prediction:
    zero = np.zeros(len(weight))
    return Prediction(np.array(weight), np.array(mean), np.array(variance), zero, False, zero.astype(int))


# ------------------------------------------------------------------ weights


def test_fixed_share_by_hand():
    # two predictors; probabilities of what came 0.5 and 0.1, then 0.2 and 0.4; a tenth goes back
    first = 0.9 * np.array([0.5, 0.1]) / 0.6 + 0.05
    second = first * np.array([0.2, 0.4])
    second = 0.9 * second / second.sum() + 0.05
    assert fixed_share(np.log([[0.5, 0.2], [0.1, 0.4]]), 0.1) == pytest.approx(second)


def test_without_scores_all_weigh_alike():
    assert fixed_share(np.zeros((4, 0)), 0.1).tolist() == [0.25] * 4
    assert fixed_share(np.log([[0.5, 0.5], [0.25, 0.25]]), 0.0) == pytest.approx([0.8, 0.2])


def test_one_that_was_wrong_for_years_can_be_right_again():
    scores = np.stack([np.r_[np.full(1000, np.log(0.9)), np.full(8, np.log(0.1))]] * 2)
    scores[1] = np.log(1.0 - np.exp(scores[0]))
    assert fixed_share(scores, 0.01)[1] > 0.9
    assert fixed_share(scores, 0.0)[1] < 1e-9


# ------------------------------------------------------------ distributions


@pytest.mark.parametrize(("mean", "variance"), [(3.0, 4.0), (40.0, 200.0), (0.2, 0.9), (500.0, 5000.0)])
def test_probabilities_are_those_of_the_negative_binomial(mean, variance):
    size, p = mean**2 / (variance - mean), mean / variance
    seen = np.arange(0, int(mean + 8.0 * np.sqrt(variance)))
    np.testing.assert_allclose(
        log_negative_binomial(seen.astype(float), np.array(mean), np.array(variance)),
        stats.nbinom.logpmf(seen, size, p),
        rtol=1e-9,
        atol=1e-9,
    )
    one = counts([mean], [variance])
    np.testing.assert_allclose(one.cdf(seen.astype(float)), stats.nbinom.cdf(seen, size, p), rtol=1e-9)
    for share in (0.001, 0.05, 0.5, 0.95, 0.999):
        assert one.quantile(share) == stats.nbinom.ppf(share, size, p)


def test_a_variance_below_the_mean_is_poisson():
    one = counts([7.0], [1.0])
    np.testing.assert_allclose(one.cdf(np.arange(20.0)), stats.poisson.cdf(np.arange(20), 7.0), rtol=1e-4)


def test_mixed_probabilities():
    both = counts([2.0, 50.0], [4.0, 80.0], (0.3, 0.7))
    size, p = np.array([2.0**2 / 2.0, 50.0**2 / 30.0]), np.array([0.5, 50.0 / 80.0])
    at = np.arange(0.0, 120.0)
    truth = 0.3 * stats.nbinom.cdf(at, size[0], p[0]) + 0.7 * stats.nbinom.cdf(at, size[1], p[1])
    np.testing.assert_allclose(both.cdf(at), truth, rtol=1e-9)
    assert both.expected == pytest.approx(0.3 * 2.0 + 0.7 * 50.0)
    for share in (0.05, 0.25, 0.31, 0.95):
        assert both.quantile(share) == np.flatnonzero(truth >= share)[0]
    assert both.cdf(np.array([-1.0, -0.5])).tolist() == [0.0, 0.0]


def test_draws_have_the_moments_and_the_probabilities():
    rng = np.random.default_rng(1)
    one = Prediction(
        np.array([0.4, 0.6]),
        np.array([30.0, 60.0]),
        np.array([90.0, 200.0]),
        np.array([20.0, 40.0]),
        False,
        np.zeros(2, int),
    )
    seen = one.draw(200_000, rng)
    assert seen.mean() == pytest.approx(48.0, rel=0.01)
    between = 0.4 * 18.0**2 + 0.6 * 12.0**2
    assert seen.var() == pytest.approx(0.4 * 90.0 + 0.6 * 200.0 + between, rel=0.03)
    for share in (0.05, 0.5, 0.95):
        assert np.mean(seen <= one.quantile(share)) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("factor", [0.3, 2.5])
def test_a_level_that_is_some_times_as_high(factor):
    """A negative binomial is Poisson of a gamma level: of a level times `factor` it has the same shape."""
    size, p = 6.0**2 / 12.0, 6.0 / 18.0
    one = counts([6.0], [18.0]).times(factor)
    truth = stats.nbinom(size, p / (p + factor * (1.0 - p)))
    np.testing.assert_allclose(one.cdf(np.arange(40.0)), truth.cdf(np.arange(40)), rtol=1e-9)


def test_shares_stay_between_nothing_and_all():
    """Also where the deviation is the mean: a share that is known to be far from zero does not reach it."""
    one = Prediction(np.ones(1), np.array([0.4]), np.array([0.16]), np.array([0.01]), True, np.zeros(1, int))
    truth = stats.gamma(1.0, scale=0.4)
    assert one.quantile(0.025) == pytest.approx(truth.ppf(0.025), rel=1e-6)
    assert one.quantile(0.5) == pytest.approx(truth.ppf(0.5), rel=1e-6)
    assert one.quantile(0.99) == 1.0
    at = np.array([-0.1, 0.0, 0.3, 0.999, 1.0])
    np.testing.assert_allclose(one.cdf(at), [0.0, 0.0, *truth.cdf([0.3, 0.999]), 1.0], rtol=1e-9)


def test_a_share_scatters_no_more_than_a_single_trial():
    """Whatever the days scatter, the variance of a share between 0 and 1 is at most m (1 - m)."""
    rng = np.random.default_rng(5)
    trials = np.ones(40)
    met = (rng.random(40) < 0.8).astype(float)
    comes = mix(levels_of(met, trials), met, trials, HORIZON, 1.0, shares=True)
    assert (comes.variance <= comes.mean * (1.0 - comes.mean) * (1.0 + 1e-9)).all()


# ------------------------------------------------------------ what comes next


def weight_of(mixture: Prediction, rows) -> float:
    return float(mixture.weight[np.isin(mixture.predictor, rows)].sum())


def predicted(series: np.ndarray, horizon: int = HORIZON) -> Prediction:
    units = np.ones(series.size)
    return mix(levels_of(series, units), series, units, horizon, 1.0)


def held(rates, draw, number: int = 60) -> tuple[float, float]:
    """Share of the 90 % intervals that hold the next 30 days, and their mean width."""
    inside, width = [], []
    for seed in range(number):
        rng = np.random.default_rng(seed)
        series = draw(rates(rng), rng).astype(float)
        comes = predicted(series[:-HORIZON])
        low, high = comes.quantile(0.05), comes.quantile(0.95)
        inside.append(low <= series[-HORIZON:].sum() <= high)
        width.append(high - low)
    return float(np.mean(inside)), float(np.mean(width))


def poisson(rate, rng):
    return rng.poisson(rate)


def test_a_steady_series_is_held_by_limits_next_to_those_of_poisson():
    share, width = held(lambda rng: np.full(800, 3.0), poisson)
    low, high = stats.poisson.interval(0.9, 3.0 * HORIZON)
    assert share >= 0.83  # 54 of 60 expected; 49 or less once in 50
    assert high - low <= width <= 1.5 * (high - low)


def test_a_series_with_more_scatter_has_wider_limits_that_hold():
    def burst(rate, rng):
        return rng.negative_binomial(0.75, 0.2, rate.size)  # mean 3, variance 15

    share, width = held(lambda rng: np.full(800, 3.0), burst)
    truth = 2.0 * 1.645 * np.sqrt(15.0 * HORIZON)
    assert share >= 0.83
    assert 0.8 * truth <= width <= 1.6 * truth


def test_a_series_that_drifts_is_held():
    def wander(rng):
        return 6.0 * np.exp(np.cumsum(rng.normal(0.0, 0.04, 800)))

    share, _ = held(wander, poisson)
    assert share >= 0.83
    steady = 0
    for seed in range(60):  # limits of Poisson around the mean of all hold far fewer
        rng = np.random.default_rng(seed)
        series = rng.poisson(wander(rng))
        low, high = stats.poisson.interval(0.9, series[:-HORIZON].mean() * HORIZON)
        steady += low <= series[-HORIZON:].sum() <= high
    assert steady / 60 < 0.4


def test_a_steady_series_gives_its_weight_to_slow_levels_and_a_moving_one_to_fast_ones():
    slow = [row for row, half_life in enumerate(HALF_LIVES) if half_life >= 160.0] + [len(HALF_LIVES) + 1]
    fast = [row for row, half_life in enumerate(HALF_LIVES) if half_life <= 40.0]
    rng = np.random.default_rng(3)
    steady = predicted(rng.poisson(3.0, 1500).astype(float))
    assert weight_of(steady, slow) > 0.8
    wave = 6.0 * np.exp(np.sin(np.arange(1500) / 30.0))
    moving = predicted(rng.poisson(wave).astype(float))
    assert weight_of(moving, fast) > 0.8


def test_a_rate_that_doubled_is_followed():
    rng = np.random.default_rng(4)
    series = rng.poisson(np.r_[np.full(900, 4.0), np.full(60, 8.0)]).astype(float)
    comes = predicted(series)
    assert 6.8 * HORIZON < comes.expected < 9.0 * HORIZON
    assert comes.quantile(0.05) < 8.0 * HORIZON < comes.quantile(0.95)


def test_what_comes_is_in_proportion_to_the_units_ahead():
    rng = np.random.default_rng(5)
    units = np.r_[np.full(300, 10.0), np.full(300, 40.0)]
    series = rng.poisson(0.2 * units).astype(float)
    comes = mix(levels_of(series, units), series, units, HORIZON, 100.0)
    assert comes.expected == pytest.approx(0.2 * 100.0 * HORIZON, rel=0.1)


def test_a_longer_horizon_is_less_certain_of_its_level():
    rng = np.random.default_rng(6)
    series = rng.poisson(6.0 * np.exp(np.cumsum(rng.normal(0.0, 0.04, 1000)))).astype(float)
    near, far = predicted(series, 10), predicted(series, 120)
    relative = [np.sqrt(one.weight @ one.of_level) / one.expected for one in (near, far)]
    assert relative[1] > 1.3 * relative[0]


def test_the_variance_of_each_component():
    rng = np.random.default_rng(10)
    series, units, steps = rng.poisson(3.0, 400).astype(float), np.ones(400), 40
    level = np.full((1, 401), 3.0)
    one = DiscountedLevels(level, np.full((1, 401), 0.01), np.full(1, 1e-4), level, np.ones(1))
    comes = mix(one, series, units, steps, 1.0)
    scatter = (comes.variance - comes.of_level) / comes.mean  # of what is seen beyond its level
    assert (scatter > 0.999).all()
    # a level that wanders by w a day is on average w/3 a day off over the time to come
    wander = (comes.of_level / (comes.mean * steps * scatter) - 0.01) / (1e-4 * steps / 3.0)
    assert sorted(set(wander.round(6))) == [1.0, 3.0]
    assert (comes.mean == 120.0).all()


def test_a_series_that_scatters_is_not_taken_for_one_that_moves():
    rng = np.random.default_rng(11)
    bursts = rng.negative_binomial(0.75, 0.2, 1500).astype(float)
    comes = predicted(bursts)
    fast = [row for row, half_life in enumerate(HALF_LIVES) if half_life <= 40.0]
    assert weight_of(comes, fast) < 0.1
    assert comes.weight @ ((comes.variance - comes.of_level) / comes.mean) == pytest.approx(5.0, rel=0.3)


def test_a_share_of_trials():
    rng = np.random.default_rng(7)
    trials = np.full(600, 50.0)
    met = rng.binomial(50, 0.2, 600).astype(float)
    comes = mix(levels_of(met, trials), met, trials, HORIZON, 1.0, shares=True)
    assert comes.expected == pytest.approx(0.2, abs=0.01)
    low, high = comes.quantile(0.05), comes.quantile(0.95)
    assert low < 0.2 < high
    assert high - low < 0.1


def test_few_days_and_none_with_events():
    for series in (np.zeros(5), np.array([1.0]), np.r_[np.zeros(99), 1.0]):
        comes = predicted(series)
        assert comes.weight.sum() == pytest.approx(1.0)
        assert 0.0 <= comes.quantile(0.05) <= comes.quantile(0.95) < 1e6
        assert np.isfinite(comes.expected)
        assert integrate.trapezoid(comes.cdf(np.arange(0.0, 10.0))) > 0.0


def test_shares_of_many_jobs_follow_a_rate_that_doubled() -> None:
    """128 jobs a day that run through or not: their share scatters by a hundredth of what that of one would."""
    expected = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        share = np.where(np.arange(800) < 710, 0.01, 0.02)
        met, jobs = rng.binomial(128, share).astype(float), np.full(800, 128.0)
        ahead = mix(levels_of(met, jobs), met, jobs, 90.0, 1.0, shares=True, trials=128.0)
        assert ahead.quantile(0.05) < 0.02 < ahead.quantile(0.95)
        expected.append(ahead.expected)
    assert 0.018 < np.mean(expected) < 0.022  # 0.014 where such shares were taken to scatter ten times more


def test_a_share_does_not_scatter_less_than_its_trials() -> None:
    """Shares that happened to be alike, of two trials a day, are not taken for those of many."""
    met, jobs = np.full(200, 1.0), np.full(200, 2.0)
    few, many = (mix(levels_of(met, jobs), met, jobs, 30.0, 1.0, shares=True, trials=n) for n in (2.0, 100.0))
    widths = [one.quantile(0.95) - one.quantile(0.05) for one in (few, many)]
    assert widths[0] > 2.0 * widths[1]
    assert widths[0] > 2.0 * 1.645 * np.sqrt(0.25 / (2.0 * 30.0))  # of 60 trials at one half


def test_a_rate_that_rises_is_expected_to_rise_on():
    """Rates that double in two years: for 90 days ahead the last 180 days are 12 % too few, 1 - 2**(-135 / 730)."""
    days, off = np.arange(730.0), {"mixture": [], "count": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        series = rng.poisson(4.0 * 2.0 ** (days / 730.0)).astype(float)
        comes = (4.0 * 2.0 ** ((730.0 + np.arange(90)) / 730.0)).sum()
        ahead = mix(levels_of(series, np.ones(730)), series, np.ones(730), 90.0, 1.0).expected
        off["mixture"].append(ahead / comes - 1.0)
        off["count"].append(series[-180:].sum() / 2.0 / comes - 1.0)
    assert np.mean(off["count"]) < -0.10
    assert abs(np.mean(off["mixture"])) < 0.05


@pytest.mark.parametrize(
    ("days", "asked"), [(5, [5]), (30, [7, 30]), (365, [7, 30, 90, 365]), (400, [7, 30, 90, 365, 400])]
)
def test_a_horizon_is_at_least_a_week_a_month_a_quarter_and_a_year_within_it(days: int, asked: list[int]) -> None:
    hours = []

    def over(ahead: float) -> Prediction:
        hours.append(ahead)
        return distribution_of_counts(ahead, ahead)

    cumulative(over, 24.0 * days)
    assert sorted(hours) == [24.0 * day for day in asked]


def test_sums_of_sizes_have_the_moments_of_a_compound_count():
    """Poisson counts of mean 6 of the sizes 1 and 4, as often: the mean 6 * 2.5, the variance 6 * 8.5."""
    comes = counts([6.0], [6.0]).of_sizes(2.5, 8.5)
    drawn = np.random.default_rng(0)
    sums = [drawn.choice([1.0, 4.0], number).sum() for number in drawn.poisson(6.0, 40_000)]
    assert (comes.expected, comes.variance_of_outcome) == (15.0, pytest.approx(51.0))
    assert np.mean(sums) == pytest.approx(15.0, rel=0.02)
    assert np.var(sums) == pytest.approx(51.0, rel=0.04)
