"""Predictions of series whose level is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.fleet.prediction import (
    TimeSteps,
    cumulative,
    distribution_of_counts,
    levels_of,
    mean_time_ahead,
    mix,
    multiples_now,
    relative_rates,
)


def test_every_level_of_a_steady_series_is_its_rate() -> None:
    levels = levels_of(np.full(400, 3.0), np.ones(400))
    assert levels.level[:, -1].round(2).tolist() == [3.0] * 11


def test_repairs_that_became_longer() -> None:
    steps = TimeSteps.of(pd.Timestamp("2023-01-01"), pd.Timestamp("2024-02-05"))
    hours, ended = np.where(np.arange(400) < 300, 2.0, 6.0), np.ones(400, bool)  # one a day; longer for a hundred days
    assert mean_time_ahead(steps, steps.edges[:400], hours, ended, 720.0)[0] > 5.0
    assert round(mean_time_ahead(steps, steps.edges[:400], hours, ended, 720.0, long_run=True)[0], 1) == 3.0


def mean_now(number: int, seed: int, change: float = 300.0) -> tuple[float, float]:
    """Of log-normal repairs over 300 days, mean 10 hours, three times as long after a day: the mean now and of all."""
    rng = np.random.default_rng(seed)
    steps = TimeSteps.of(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-10-27"))
    days, hours = np.sort(rng.uniform(0.0, 300.0, number)), 10.0 * rng.lognormal(-0.72, 1.2, number)
    hours = np.where(days > change, 3.0 * hours, hours)
    at = pd.Timestamp("2024-01-01").as_unit("ns").value + (days * 86_400e9).astype(np.int64)
    return mean_time_ahead(steps, at, hours, np.ones(number, bool), 2160.0)[0], float(hours.mean())


def test_of_few_repairs_the_mean_now_is_nearly_that_of_all() -> None:
    for number, worse in ((14, 1.1), (45, 1.3)):
        now, plain = (np.log(np.array([mean_now(number, seed) for seed in range(60)]).T / 10.0) ** 2).mean(axis=1)
        assert np.sqrt(now / plain) < worse
    now, plain = (np.log(np.array([mean_now(200, seed, 200.0) for seed in range(20)]).T / 30.0) ** 2).mean(axis=1)
    assert np.sqrt(now / plain) < 0.6


def test_a_month_has_the_failures_of_its_first_week() -> None:
    month = cumulative(lambda hours: distribution_of_counts(30.0 if hours < 200.0 else 12.0, 90.0), 720.0)
    assert (month.expected, month.quantile(0.05)) == (30.0, 16.0)


def test_a_steady_series_goes_on() -> None:
    units, steady = np.ones(800), np.random.default_rng(1).poisson(2.0, 800).astype(float)
    comes = mix(levels_of(steady, units), steady, units, 30, 1.0)
    assert 54 < comes.expected < 66
    assert comes.quantile(0.05) >= 42
    assert comes.quantile(0.95) <= 80


def test_one_of_ten_parts_fails_ten_times_as_often() -> None:
    rates = np.ones((10, 70))
    rates[3, 50:] = 10.0
    now = relative_rates(np.random.default_rng(1).poisson(rates).astype(float), np.ones((10, 70)), 10.0)
    assert int(now.rate.argmax()) == 3
    assert 4.0 < now.rate[3] < 6.0
    assert now.rate[0] < 1.0


def test_one_of_two_hundred_nodes_fails_twelve_times_as_often() -> None:
    rates = np.full((200, 70), 0.2)
    rates[3, 60:] = 2.4
    now = multiples_now(np.random.default_rng(1).poisson(rates).astype(float), np.ones((200, 70)), 10.0)
    assert int(now.rate.argmax()) == 3
    assert 9.0 < now.rate[3] < 15.0
    assert now.above(np.full(200, 2.0))[3] > 0.99
