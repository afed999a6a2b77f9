"""Mean and median as they were observed: those of numpy where nothing is censored, and limits that hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.fitting.nonparametric import observed_times


def test_of_complete_durations_they_are_those_of_the_sample() -> None:
    rng = np.random.default_rng(1)
    hours = [rng.lognormal(0.0, 1.0, 400), rng.exponential(5.0, 300), np.array([2.0]), np.array([])]
    result = observed_times(rf.LifeData.from_groups(hours), level=0.9)
    assert result.mean[:3] == pytest.approx([part.mean() for part in hours[:3]])
    assert np.isnan(result.mean[3])
    for place in (0, 1):
        assert result.median[place] == pytest.approx(np.sort(hours[place])[hours[place].size // 2 - 1])
        error = hours[place].std() / np.sqrt(hours[place].size)  # of the mean; of its logarithm to first order
        far = stats.t.ppf(0.95, hours[place].size - 1) * error / hours[place].mean()
        assert np.log(result.mean_high[place] / result.mean[place]) == pytest.approx(far)
    assert np.isnan([result.mean_low[2], result.mean_high[2]]).all()  # one duration has no interval
    assert result.times.tolist() == result.ended.tolist() == [400, 300, 1, 0]
    assert list(result.to_frame())[1:3] == ["times", "ended"]


def test_two_durations_give_no_limits_and_three_do() -> None:
    result = observed_times(rf.LifeData.from_groups([np.array([1.0, 9.0]), np.array([1.0, 5.0, 9.0])]))
    assert np.isnan([result.mean_low[0], result.mean_high[0]]).all()
    assert result.headline.startswith("Observed: mean 5 h (too few for an interval), median")
    far = stats.t.ppf(0.975, 2) * np.sqrt(32.0) / 15.0
    assert result.mean_high[1] == pytest.approx(5.0 * np.exp(far))


def test_of_censored_ones_the_mean_is_the_time_by_the_failures() -> None:
    lives = rf.LifeData.from_array([5.0, 7.0, 8.0], [True, True, False], entry=[1.0, 0.0, 2.0])
    result = observed_times(lives)
    assert result.mean[0] == pytest.approx((4.0 + 7.0 + 6.0) / 2.0)
    assert " per failure" in result.headline
    assert "3 lifetimes, 1 of them censored." in result.headline
    assert observed_times([5.0, 6.0], observed=[False, False]).headline == "Observed: 2 lifetimes, none of which ended."


@pytest.mark.parametrize("family", ["exponential", "lognormal"])
def test_limits_hold_the_mean_of_a_censored_exponential_and_of_complete_durations(family: str) -> None:
    rng = np.random.default_rng(7)
    groups, size = 2000, 60
    drawn = rng.exponential(1.0, (groups, size)) if family == "exponential" else rng.lognormal(0.0, 0.8, (groups, size))
    ends = np.full(drawn.shape, 1.5 if family == "exponential" else np.inf)
    lives = rf.LifeData.from_array(np.minimum(drawn, ends), drawn <= ends)
    result = observed_times(lives, level=0.9)
    truth = 1.0 if family == "exponential" else np.exp(0.32)
    held = np.mean((result.mean_low <= truth) & (truth <= result.mean_high))
    assert 0.86 < held < 0.93
    half = np.log(2.0) if family == "exponential" else 1.0
    assert 0.87 < np.mean((result.median_low <= half) & (half <= result.median_high)) < 0.96


def test_what_has_no_answer_is_refused() -> None:
    with pytest.raises(DataError, match="turnbull"):
        observed_times(rf.LifeData.from_intervals([1.0], [2.0]))
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        observed_times([1.0], level=95)


def test_times_that_agree_have_no_limits() -> None:
    assert observed_times([100.0] * 50).headline == "Observed: mean 100 h, median 100 h; 50 lifetimes."
    assert observed_times([0.0] * 3).headline == "Observed: mean 0 h, median 0 h; 3 lifetimes."
