"""Mean times without a distribution family: MTBF from exposure, MTTR from completed repairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.fitting.intervals import level_checked
from relfit.lifedata import LifeData
from relfit.numeric.poisson import exponential_mean_interval

__all__ = ["mean_time"]


def mean_time(lives: LifeData, level: float = 0.95) -> pd.DataFrame:
    """Mean time to failure or to repair of every group, with its interval.

    Times to failure: hours under observation over failures, censored hours included. The interval is exact if failures
    come as a Poisson process (chi-square; conservative for observation that ended by the clock). A group without a
    failure has an infinite mean and a lower limit.

    Times to repair: the mean of the completed repairs, with a Student interval on the log scale. It needs two repairs
    that differ, and is rough below some ten, since repairs have long tails.

    Parameters
    ----------
    lives : LifeData
        ``measure`` decides which of the two.
    level : float
        Level of the interval.

    Returns
    -------
    pandas.DataFrame
        Indexed by group: ``failures`` (or completed repairs), ``hours`` observed in all, ``mean``, ``low``, ``high``
        in hours, and ``interval`` (``"exact"``, ``"one-sided"``, ``"log-t"`` or ``"none"``).

    Examples
    --------
    >>> lives = LifeData.from_array([100.0, 900.0, 4000.0], [True, True, False])
    >>> mean_time(lives)[["mean", "low", "high"]].round(1).to_numpy().tolist()
    [[2500.0, 692.1, 20643.3]]
    """
    level = level_checked(level)
    n = lives.n_failures
    hours = lives.total_time
    if lives.measure == "ttr":
        mean, low, high, kind = _repairs(lives, n, 0.5 + level / 2)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(hours > 0, hours / n, np.nan)
        low, high = exponential_mean_interval(hours, n, lives.n_censored > 0, level)
        nothing = lives.sizes == 0
        low, high = np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)
        kind = np.where(nothing, "none", np.where(n > 0, "exact", "one-sided"))
    return pd.DataFrame(
        {"failures": n, "hours": hours, "mean": mean, "low": low, "high": high, "interval": kind}, index=lives.groups
    )


def _repairs(lives: LifeData, n: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    code = lives.group_codes()[lives.observed]
    values = lives.durations[lives.observed]
    total = np.bincount(code, values, minlength=lives.n_groups)
    mean = np.divide(total, n, out=np.full(n.size, np.nan), where=n > 0)
    squares = np.bincount(code, (values - mean[code]) ** 2, minlength=lives.n_groups)
    enough = (n > 1) & (squares > 0)
    size = np.where(enough, n, 2)
    error = np.sqrt(squares / (size - 1) / size) / np.where(enough, mean, 1.0)
    factor = np.exp(special.stdtrit(size - 1, share) * error)
    factor = np.where(enough, factor, np.nan)
    return mean, mean / factor, mean * factor, np.where(enough, "log-t", "none")
