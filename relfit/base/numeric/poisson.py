"""Poisson counts: probabilities, quantiles, and exact intervals of their mean and of the mean of exponential durations.

scipy.stats has the same functions, but importing it takes longer than analysing a log of ten thousand failures.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray


def poisson_pmf(count: npt.ArrayLike, mean: npt.ArrayLike) -> FloatArray:
    """Probability of exactly `count`."""
    k, m = np.asarray(count, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    return np.asarray(np.exp(special.xlogy(k, m) - special.gammaln(k + 1.0) - m), np.float64)


def poisson_sf(count: npt.ArrayLike, mean: npt.ArrayLike) -> FloatArray:
    """Probability of more than `count`, 1 below zero."""
    k, m = np.floor(np.asarray(count, dtype=np.float64)), np.asarray(mean, dtype=np.float64)
    return np.asarray(np.where(k < 0.0, 1.0, special.gammainc(np.maximum(k, 0.0) + 1.0, m)), np.float64)


def poisson_ppf(share: npt.ArrayLike, mean: npt.ArrayLike) -> FloatArray:
    """The smallest count that is not exceeded with probability `share` or more."""
    p, m = np.asarray(share, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    count = np.ceil(special.pdtrik(p, m))
    below = np.maximum(count - 1.0, 0.0)
    return np.asarray(np.where(special.pdtr(below, m) >= p, below, count), np.float64)


def poisson_interval(counts: npt.ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Exact (Garwood) interval of the mean of a Poisson count."""
    count, tail = np.asarray(counts, dtype=np.float64), 0.5 - level / 2.0
    low = np.where(count > 0, special.gammaincinv(np.maximum(count, 0.25), tail), 0.0)
    return np.asarray(low, np.float64), np.asarray(special.gammainccinv(count + 1.0, tail), np.float64)


def exponential_mean_interval(
    total: npt.ArrayLike, failures: npt.ArrayLike, by_clock: npt.ArrayLike = True, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Exact interval of the mean of exponential durations, from the hours under observation, censored ones included.

    Observation that ended with the last failure has ``2 n`` degrees of freedom on both sides; observation that ended at
    a fixed time (`by_clock`) has ``2 n + 2`` on the lower side, which is conservative. Without a failure there is no
    upper end.
    """
    hours, n = np.asarray(total, dtype=np.float64), np.asarray(failures, dtype=np.float64)
    tail = 0.5 - level / 2.0
    more = np.where(by_clock, n + 1.0, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(more > 0, hours / special.gammainccinv(np.maximum(more, 1.0), tail), np.nan)
        high = np.where(n > 0, hours / special.gammaincinv(np.maximum(n, 1.0), tail), np.inf)
    return low, high
