"""The mean duration of repairs that begin over a horizon, predicted from past ones."""

from __future__ import annotations

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.fleet.prediction.discounted_levels import levels_of
from relfit.fleet.prediction.mixing import mix
from relfit.fleet.prediction.steps import TimeSteps


def mean_time_ahead(
    steps: TimeSteps, at: IntArray, hours: FloatArray, ended: BoolArray, horizon: float, *, long_run: bool = False
) -> tuple[float, float]:
    """Predicted mean of the durations that begin over a horizon, hours, and its relative variance.

    All hours count, over the durations that ended.

    Parameters
    ----------
    steps : TimeSteps
        Of the log.
    at : ndarray of int, shape (n,)
        Start of each past duration, nanoseconds.
    hours : ndarray of float, shape (n,)
        Past durations, those that go on as long as they were seen.
    ended : ndarray of bool, shape (n,)
        Whether each was seen to end; one at least.
    horizon : float
        Hours ahead.
    long_run : bool
        Whether the mean is taken as constant.

    Examples
    --------
    >>> import pandas as pd
    >>> steps = TimeSteps.of(pd.Timestamp("2023-01-01"), pd.Timestamp("2024-02-05"))
    >>> hours = np.where(np.arange(400) < 300, 2.0, 6.0)  # one a day; longer for a hundred days
    >>> ended = np.ones(400, bool)
    >>> mean_time_ahead(steps, steps.edges[:400], hours, ended, 720.0)[0] > 5.0
    True
    >>> round(mean_time_ahead(steps, steps.edges[:400], hours, ended, 720.0, long_run=True)[0], 1)
    3.0
    """
    unit = float((hours**2).mean() / hours.mean())
    step = np.clip(np.searchsorted(steps.edges, at, side="right") - 1, 0, steps.size - 1)
    sums = np.bincount(step, hours / unit, steps.size).astype(np.float64)
    number = np.bincount(step, ended, steps.size).astype(np.float64)
    expected = float(number[number > 0.0].mean())  # on a day with repairs
    levels = levels_of(sums, number, steps.days)
    mixture = mix(levels.steady if long_run else levels, sums, number, horizon / steps.width, expected)
    mean = mixture.expected * unit / (expected * horizon / steps.width)
    of_number = float(hours.mean()) / unit  # variance of the sum that is due to the number of repairs
    return mean, mixture.variance_of_rate(of_number) / mixture.expected**2
