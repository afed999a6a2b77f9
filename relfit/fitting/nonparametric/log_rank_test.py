"""`log_rank`: whether several groups have one survival function (Mantel 1966; Peto and Peto 1972)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.errors import DataError
from relfit.base.results import Result, key_columns
from relfit.base.text import count, p_value
from relfit.fitting.nonparametric.samples import lives_of

__all__ = ["LogRank", "log_rank"]


class LogRank(Result):
    """A log-rank test.

    Attributes
    ----------
    statistic : float
        Chi-square with ``degrees`` of freedom.
    degrees : int
        Groups at risk, less one.
    p : float
    table : pandas.DataFrame
        By group: ``durations``, ``failures``, and ``expected`` failures if all groups were alike.
    """

    statistic: float
    degrees: int
    p: float
    table: pd.DataFrame

    _frame = "table"

    @property
    def headline(self) -> str:
        """Whether the groups differ."""
        groups = count(len(self.table), "group")
        return f"Log-rank test of {groups}: chi-square {self.statistic:.4g}, {self.degrees} df, {p_value(self.p)}."


def log_rank(
    data: object,
    by: npt.ArrayLike | None = None,
    *,
    observed: npt.ArrayLike | None = None,
    entry: npt.ArrayLike | None = None,
) -> LogRank:
    """Log-rank test of equal survival functions in all groups.

    Parameters
    ----------
    data : array_like of float, shape (n,), LifeData or FailureLog
        Hours; in two dimensions each row is a group. Of a log its times to failure.
    by : array_like, shape (n,), optional
        The group of each duration.
    observed : array_like of bool, shape (n,), optional
        Whether each ended in a failure; all by default.
    entry : array_like of float, shape (n,), optional
        Age in hours at which each came under observation (left truncation).

    Raises
    ------
    DataError
        For a single group, intervals, right truncation, weights, or no failure.

    Examples
    --------
    >>> import relfit as rf
    >>> rf.log_rank([5.0, 6.0, 7.0, 1.0, 2.0, 3.0], by=["a", "a", "a", "b", "b", "b"])
    LogRank: Log-rank test of 2 groups: chi-square 5.052, 1 df, p = 0.025.
    """
    lives = lives_of(data, observed, entry, by)
    if lives.n_groups < 2:
        raise DataError("a log-rank test compares groups, and there is one", remedy="give by= with their labels")
    if lives.upper is not None or lives.exit is not None or lives.weights is not None:
        raise DataError("the log-rank test takes durations that are observed or right-censored, without weights")
    lives = lives.from_age_known()
    times = np.unique(lives.durations[lives.observed])
    if not times.size:
        raise DataError("there is no failure to compare")
    entered = np.zeros(lives.durations.size) if lives.entry is None else lives.entry
    at_risk, failed = np.zeros((lives.n_groups, times.size)), np.zeros((lives.n_groups, times.size))
    for j in range(lives.n_groups):
        own = slice(lives.offsets[j], lives.offsets[j + 1])
        ended, begun = np.sort(lives.durations[own]), np.sort(entered[own])
        begun = np.where(begun == 0.0, -1.0, begun)
        at_risk[j] = np.searchsorted(begun, times, "left") - np.searchsorted(ended, times, "left")
        failures, numbers = np.unique(lives.durations[own][lives.observed[own]], return_counts=True)
        failed[j, np.searchsorted(times, failures)] = numbers
    n, d = at_risk.sum(axis=0), failed.sum(axis=0)
    share = at_risk / n
    expected = share @ d
    spread = d * (n - d) / np.maximum(n - 1.0, 1.0)
    covariance = np.diag(share @ spread) - (share * spread) @ share.T
    there = expected > 0.0
    difference = (failed.sum(axis=1) - expected)[there]
    degrees = int(there.sum()) - 1
    statistic = float(difference @ np.linalg.pinv(covariance[np.ix_(there, there)]) @ difference)
    table = key_columns(lives.groups).assign(
        durations=lives.n_lives, failures=failed.sum(axis=1).astype(np.int64), expected=expected
    )
    p = float(special.chdtrc(degrees, statistic)) if degrees else np.nan
    return LogRank(statistic, degrees, p, table)
