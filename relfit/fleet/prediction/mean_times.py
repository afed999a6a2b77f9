"""The mean duration of repairs that begin over a horizon, predicted from past ones.

A few very long repairs make most of the scatter of sums: what they take beyond `body_of` stays a constant share.
"""

from __future__ import annotations

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.fleet.prediction.discounted_levels import levels_of
from relfit.fleet.prediction.mixing import mix
from relfit.fleet.prediction.steps import TimeSteps

_BEYOND = 0.02  # share of repairs that last longer than what is followed


def body_of(hours: FloatArray) -> FloatArray:
    """The hours of each repair up to those that one in fifty exceeds."""
    return np.minimum(hours, np.quantile(hours, 1.0 - _BEYOND, method="lower")) if hours.size else hours


def mean_time_ahead(
    steps: TimeSteps, at: IntArray, hours: FloatArray, ended: BoolArray, horizon: float, *, long_run: bool = False
) -> tuple[float, float]:
    """Predicted mean of the durations that begin over a horizon, hours, and its relative variance; all hours over those
    ended.

    Past durations began `at` (nanoseconds) and lasted some `hours` so far; one at least has `ended`. In the `long_run`
    the mean is taken as constant.
    """
    body = body_of(hours)
    unit = float((body**2).mean() / body.mean())
    step = np.clip(np.searchsorted(steps.edges, at, side="right") - 1, 0, steps.size - 1)
    sums = np.bincount(step, body / unit, steps.size).astype(np.float64)
    number = np.bincount(step, ended, steps.size).astype(np.float64)
    expected = float(number[number > 0.0].mean())  # on a day with repairs
    levels = levels_of(sums, number, steps.days)
    mixture = mix(levels.steady if long_run else levels, sums, number, horizon / steps.width, expected)
    ahead = expected * horizon / steps.width
    mean = mixture.expected * unit / ahead * float(hours.sum() / body.sum())
    of_number = float(body.mean()) / unit  # variance of the sum that is due to the number of repairs
    beyond = float(hours.var() / hours.mean() ** 2 - body.var() / body.mean() ** 2)  # by chance, of the longest repairs
    spread = mixture.variance_of_rate(of_number) / mixture.expected**2
    return mean, spread + beyond * (1.0 / ahead + 1.0 / hours.size)
