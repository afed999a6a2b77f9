"""Failures among running units: counts by hand, coverage on simulated lives, edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit import ArgumentError


def lives_and_truth(seed, units, groups=150, ahead=3000.0, shape=2.0, scale=15000.0):
    """Weibull lives of units of uniform ages, and how many of those that run fail in the time ahead: plain numpy."""
    rng = np.random.default_rng(seed)
    ages = rng.uniform(1000.0, 9000.0, (groups, units))
    lives = scale * rng.weibull(shape, (groups, units))
    failed = lives <= ages
    data = rf.LifeData.from_groups(dict(enumerate(np.minimum(ages, lives))), dict(enumerate(failed)))
    return data, ((lives > ages) & (lives <= ages + ahead)).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("units", [40, 150])
def test_the_prediction_interval_covers_and_one_of_known_parameters_does_not(units):
    data, truth = lives_and_truth(3, units)
    fit = rf.fit(data, "weibull")["weibull"]
    ahead = fit.failures_ahead(3000.0, level=0.9, n_draws=400)
    ok = ahead.status == "ok"
    assert ok.mean() > 0.95
    inside = (ahead.low[:, 0] <= truth) & (truth <= ahead.high[:, 0])
    assert inside[ok].mean() == pytest.approx(0.9, abs=0.06)
    sure = stats.poisson.interval(0.9, ahead.expected[ok, 0])
    assert ((sure[0] <= truth[ok]) & (truth[ok] <= sure[1])).mean() < 0.85


@pytest.mark.slow
def test_it_covers_where_all_units_entered_late():
    """Weibull lives of shape 1.5 given survival to ages of 500 to 1,500 hours, by inversion; watched for 100 hours."""
    rng = np.random.default_rng(5)
    entry = rng.uniform(500.0, 1500.0, (120, 200))
    lives = 1000.0 * ((entry / 1000.0) ** 1.5 + rng.standard_exponential(entry.shape)) ** (1.0 / 1.5)
    end = entry + 100.0
    truth = ((lives > end) & (lives <= end + 300.0)).sum(axis=1)
    fit = rf.fit(rf.LifeData.from_array(np.minimum(lives, end), lives <= end, entry=entry), "weibull")["weibull"]
    ahead = fit.failures_ahead(300.0, n_draws=400)
    ok = ahead.status == "ok"
    assert ok.sum() == fit.ok.sum() > 110
    assert ((ahead.low[ok, 0] <= truth[ok]) & (truth[ok] <= ahead.high[ok, 0])).mean() == pytest.approx(0.88, abs=0.07)
    assert (truth[ok] <= ahead.stock[ok, 0]).mean() > 0.75


def test_the_expected_number_is_the_sum_over_the_running_units():
    data, _ = lives_and_truth(1, 60, groups=2)
    fit = rf.fit(data, "weibull")["weibull"]
    ahead = fit.failures_ahead(["1000h", "125d"], n_draws=200)
    for g in range(2):
        one = data.group(g)
        shape, scale = fit.parameter_array[g]
        age = one.durations[~one.observed]
        chance = 1.0 - np.exp((age / scale) ** shape - ((age + 3000.0) / scale) ** shape)
        assert ahead.expected[g, 1] == pytest.approx(chance.sum())
        assert ahead.running[g] == age.size
    assert (ahead.expected_low < ahead.expected).all()
    assert (ahead.expected < ahead.expected_high).all()
    assert (ahead.low <= ahead.high).all()
    assert (ahead.expected[:, 0] < ahead.expected[:, 1]).all()
    table = ahead.to_frame()
    assert len(table) == 4
    assert table["hours"].tolist() == [1000.0, 3000.0] * 2


def test_the_posterior_of_an_exponential_is_a_gamma():
    """With 4 failures in 1,000 hours the rate has a gamma posterior of shape 4: limits of the mean are known."""
    data = rf.LifeData.from_array([100.0, 150.0, 200.0, 50.0, 250.0, 250.0], [True] * 4 + [False] * 2)
    ahead = rf.fit(data, "exponential")["exponential"].failures_ahead(100.0, level=0.8, n_draws=20_000)
    rate = stats.gamma.ppf([0.1, 0.9], 4) / 1000.0
    known = 2.0 * -np.expm1(-rate * 100.0)
    assert ahead.expected_low[0, 0] == pytest.approx(known[0], rel=0.03)
    assert ahead.expected_high[0, 0] == pytest.approx(known[1], rel=0.03)


def test_units_of_other_ages_weights_and_unknown_ages():
    data, _ = lives_and_truth(1, 60, groups=2)
    fit = rf.fit(data, "weibull")["weibull"]
    shape, scale = fit.parameter_array[1]
    field = rf.LifeData.from_groups({1: [5000.0, 8000.0]}, {1: [False, False]}, weights={1: [30, 10]})
    ahead = fit.failures_ahead(1000.0, field, n_draws=200)
    chance = [1.0 - np.exp((a / scale) ** shape - ((a + 1000.0) / scale) ** shape) for a in (5000.0, 8000.0)]
    assert ahead.running.tolist() == [40]
    assert ahead.expected[0, 0] == pytest.approx(30 * chance[0] + 10 * chance[1])
    unknown = rf.LifeData.from_groups({1: [0.0]}, {1: [False]}, stationary={1: [True]})
    steady = fit.failures_ahead(1000.0, unknown, n_draws=200).expected[0, 0]  # S integrated over 1,000 h over the mean
    hours = (np.arange(1000) + 0.5) / scale
    assert steady == pytest.approx(np.exp(-(hours**shape)).sum() / fit.distribution.mean()[1], rel=1e-4)
    assert fit.failures_ahead(1000.0, rng=5, n_draws=100).low.tolist() == (
        fit.failures_ahead(1000.0, rng=5, n_draws=100).low.tolist()
    )


def test_groups_without_a_fit_or_a_running_unit_say_so():
    data = rf.LifeData.from_groups(
        {"none": [5.0, 7.0], "all": [3.0, 8.0, 9.0], "some": [3.0, 8.0, 9.0, 12.0]},
        {"none": [False, False], "all": [True] * 3, "some": [True, True, True, False]},
    )
    ahead = rf.fit(data, "weibull")["weibull"].failures_ahead(2.0)
    assert dict(zip(ahead.groups, ahead.status, strict=True)) == {"none": "all_censored", "all": "ok", "some": "ok"}
    assert np.isnan(ahead.expected[0]).all()
    assert (ahead.running[1], ahead.expected[1, 0], ahead.high[1, 0]) == (0, 0.0, 0.0)
    assert ahead.headline.startswith("Of 1 running unit of some, ")
    alone = rf.fit(data.take([0]), "weibull")["weibull"].failures_ahead(2.0)
    assert alone.headline == "No prediction (all_censored)."


def test_wrong_arguments():
    fit = rf.fit(rf.LifeData.from_array([3.0, 8.0, 9.0], [True, True, False]), "weibull")["weibull"]
    for arguments, match in (
        ({"time": 0.0}, "above zero"),
        ({"time": 5.0, "level": 90}, "level"),
        ({"time": 5.0, "n_draws": 5}, "n_draws"),
        ({"time": 5.0, "units": rf.LifeData.from_groups({"x": [1.0]}, {"x": [False]})}, "no group 'x'"),
    ):
        with pytest.raises(ArgumentError, match=match):
            fit.failures_ahead(**arguments)


def test_without_a_failure_there_is_an_upper_end():
    """Nothing was said of units that never failed; the exact bound of their rate is -log(0.025) over their hours."""
    data = rf.LifeData.from_array([100.0, 300.0, 200.0, 250.0, 150.0], [False] * 5)
    fits = rf.fit(data, ["exponential", "weibull"])
    ahead = fits["exponential"].failures_ahead(400.0, level=0.95, n_draws=40_000)
    assert ahead.status.tolist() == ["all_censored"]
    assert np.isnan(ahead.expected[0, 0])
    assert ahead.expected_low[0, 0] == ahead.low[0, 0] == 0.0
    assert ahead.expected_high[0, 0] == pytest.approx(5.0 * -np.expm1(0.4 * np.log(0.025)), rel=0.02)
    rate = stats.expon(scale=1e-3).ppf((np.arange(20_000) + 0.5) / 20_000)
    at_most = [stats.binom(5, -np.expm1(-400.0 * rate)).cdf(k).mean() for k in range(6)]
    assert ahead.high[0, 0] == int(np.searchsorted(at_most, 0.975))
    assert ahead.headline.startswith("No unit failed so far: of 5 running units, at most ")
    assert fits["weibull"].failures_ahead(400.0).headline == "No prediction (all_censored)."


def test_the_stock_is_the_upper_end_on_one_side() -> None:
    """With a gamma posterior of shape 4 in 1,000 hours, two running units and 100 hours: P(N <= 1) is 0.884."""
    data = rf.LifeData.from_array([100.0, 150.0, 200.0, 50.0, 250.0, 250.0], [True] * 4 + [False] * 2)
    fit = rf.fit(data, "exponential")["exponential"]
    at_most_one = 2.0 * (1000.0 / 1100.0) ** 4 - (1000.0 / 1200.0) ** 4
    assert 0.88 < at_most_one < 0.89
    ahead = fit.failures_ahead(100.0, level=0.85, n_draws=20_000)
    assert (ahead.stock[0, 0], ahead.high[0, 0]) == (1.0, 2.0)
    assert fit.failures_ahead(100.0, level=0.9, n_draws=20_000).stock[0, 0] == 2.0
    assert ahead.together.empty


def test_all_groups_together_need_less_than_the_sum_of_their_stocks() -> None:
    """Against draws of rates and failures in plain numpy."""
    ages = {"a": np.full(60, 1000.0), "b": np.full(40, 500.0)}
    failed = {"a": np.arange(60) < 20, "b": np.arange(40) < 10}
    lives = rf.LifeData.from_groups(ages, failed)
    ahead = rf.fit(lives, "exponential")["exponential"].failures_ahead("300h", level=0.9, n_draws=20_000)
    rng = np.random.default_rng(1)
    number, mean = np.zeros(200_000), 0.0
    for failures, hours, running in ((20, 60_000.0, 40), (10, 20_000.0, 30)):
        rate = rng.gamma(failures, 1.0 / hours, number.size)
        number += rng.binomial(running, -np.expm1(-300.0 * rate))
        mean += running * -np.expm1(-300.0 * failures / hours)
    row = ahead.together.iloc[0]
    assert (row["running"], row["hours"]) == (70, 300.0)
    assert row["expected"] == pytest.approx(mean)
    assert row["stock"] == pytest.approx(np.quantile(number, 0.9), abs=1.0)
    assert [row["low"], row["high"]] == pytest.approx(np.quantile(number, [0.05, 0.95]), abs=1.0)
    assert row["stock"] < ahead.stock.sum()
    assert rf.fit(replace(lives, shared=True), "exponential")["exponential"].failures_ahead(300.0).together.empty
