"""How long repairs last that begin over a horizon, from how long those of the past did."""

from __future__ import annotations

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.fleet.prediction.discounted_levels import levels_of
from relfit.fleet.prediction.mixing import mix
from relfit.fleet.prediction.steps import TimeSteps

__all__ = ["mean_time_ahead"]


def mean_time_ahead(
    steps: TimeSteps, at: IntArray, hours: FloatArray, horizon: float, *, long_run: bool = False
) -> tuple[float, float]:
    """Mean of the times that begin over a horizon, and its relative variance.

    Parameters
    ----------
    steps : TimeSteps
        Of the log.
    at : ndarray of int, shape (n,)
        When each time of the past began, nanoseconds.
    hours : ndarray of float, shape (n,)
        How long it lasted.
    horizon : float
        Hours ahead.
    long_run : bool
        Whether the mean is taken as one that does not change.

    Examples
    --------
    >>> import pandas as pd
    >>> steps = TimeSteps.of(pd.Timestamp("2023-01-01"), pd.Timestamp("2024-02-05"))
    >>> hours = np.where(np.arange(400) < 300, 2.0, 6.0)  # one a day; longer for a hundred days
    >>> mean_time_ahead(steps, steps.edges[:400], hours, 720.0)[0] > 5.0
    True
    >>> round(mean_time_ahead(steps, steps.edges[:400], hours, 720.0, long_run=True)[0], 1)
    3.0
    """
    unit = float((hours**2).mean() / hours.mean())
    step = np.clip(np.searchsorted(steps.edges, at, side="right") - 1, 0, steps.size - 1)
    sums = np.bincount(step, hours / unit, steps.size).astype(np.float64)
    number = np.bincount(step, minlength=steps.size).astype(np.float64)
    expected = float(number[number > 0.0].mean())  # on a day with repairs, of which the levels are made
    levels = levels_of(sums, number, steps.days)
    mixture = mix(levels.steady if long_run else levels, sums, number, horizon / steps.width, expected)
    mean = mixture.expected * unit / (expected * horizon / steps.width)
    of_number = float(hours.mean()) / unit  # what the chance of the number of repairs adds to that of their sum
    return mean, mixture.variance_of_rate(of_number) / mixture.expected**2
