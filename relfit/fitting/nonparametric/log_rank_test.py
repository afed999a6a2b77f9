"""`log_rank`: whether several groups have one survival function (Mantel 1966; Peto and Peto 1972)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.deprecation import warn_deprecated
from relfit.base.errors import ArgumentError, DataError
from relfit.base.results import Result, key_columns
from relfit.base.text import count, p_value
from relfit.fitting.nonparametric.samples import lives_of
from relfit.log.lifedata import LifeData

_ROUNDING = 1e-11  # of the variance of all failures: smaller eigenvalues are zero


class LogRank(Result):
    """A log-rank test.

    Attributes
    ----------
    statistic : float
        Chi-square with ``degrees`` of freedom.
    degrees : int
        Comparisons that the data allow: groups less one, if at failures all were at risk together.
    p : float
    table : pandas.DataFrame
        By group: ``durations``, ``failures``, and ``expected`` failures if all groups were alike.
    status : str
        ``ok``; ``partly_compared`` (some groups were never at risk together with others); ``never_compared`` (no two
        groups were, at a failure that not all at risk shared): no statistic and no p-value.
    """

    statistic: float
    degrees: int
    p: float
    table: pd.DataFrame
    status: str = "ok"

    _frame = "table"

    @property
    def headline(self) -> str:
        """Whether the groups differ."""
        test = f"Log-rank test of {count(len(self.table), 'group')}"
        if self.status == "never_compared":
            return f"{test}: no two groups were at risk together, so nothing is compared."
        some = "" if self.status == "ok" else "; some groups were never at risk together"
        return f"{test}: chi-square {self.statistic:.4g}, {self.degrees} df, {p_value(self.p)}{some}."


def log_rank(
    data: object,
    labels: npt.ArrayLike | None = None,
    *,
    by: npt.ArrayLike | None = None,
    observed: npt.ArrayLike | None = None,
    entry: npt.ArrayLike | None = None,
    **columns: str,
) -> LogRank:
    """Log-rank test of equal survival functions in all groups.

    Parameters
    ----------
    data : array_like of float, shape (n,), LifeData, FailureLog or pandas.DataFrame
        Hours; in two dimensions each row is a group. Of a log its times to failure. Of a table, `by`, `observed` and
        `entry` name columns, as for `relfit.fit`.
    labels : array_like, shape (n,), optional
        Deprecated: give `by=`. In the second place other functions have `observed`.
    by : array_like, shape (n,), optional
        The label of the group of each duration; no flags.
    observed : array_like of bool, shape (n,), optional
        Whether each ended in a failure; all by default.
    entry : array_like of float, shape (n,), optional
        Age in hours at which each came under observation (left truncation).
    **columns
        Of a table, the column ``duration``; see `LifeData.from_frame`.

    Raises
    ------
    ArgumentError
        For `by` that holds true and false, `labels` of 0 and 1, and about as many groups as durations.
    DataError
        For a single group, intervals, right truncation, weights, or no failure.

    Examples
    --------
    >>> import relfit as rf
    >>> rf.log_rank([5.0, 6.0, 7.0, 1.0, 2.0, 3.0], by=["a", "a", "a", "b", "b", "b"])
    LogRank: Log-rank test of 2 groups: chi-square 5.052, 1 df, p = 0.025.
    """
    if labels is not None:
        by = _by_of(labels, by)
    lives = lives_of(data, observed, entry, by, **columns)
    if by is not None:
        _refuse_no_labels(data, by, lives)
    if lives.n_groups < 2:
        raise DataError("a log-rank test compares groups, and there is one", remedy="give by= with their labels")
    if lives.upper is not None or lives.exit is not None or lives.weights is not None:
        raise DataError("the log-rank test takes durations that are observed or right-censored, without weights")
    lives = lives.from_age_known()
    times = np.unique(lives.durations[lives.observed])
    if not times.size:
        raise DataError("there is no failure to compare")
    entered = np.zeros(lives.durations.size) if lives.entry is None else lives.entry
    # entering at the very end is entering just before it, and entering at 0 is entering before 0
    entered = np.where((entered == 0.0) | (entered == lives.durations), np.nextafter(entered, -np.inf), entered)
    at_risk, failed = np.zeros((lives.n_groups, times.size)), np.zeros((lives.n_groups, times.size))
    for j in range(lives.n_groups):
        own = slice(lives.offsets[j], lives.offsets[j + 1])
        ended, begun = np.sort(lives.durations[own]), np.sort(entered[own])
        at_risk[j] = np.searchsorted(begun, times, "left") - np.searchsorted(ended, times, "left")
        failures, numbers = np.unique(lives.durations[own][lives.observed[own]], return_counts=True)
        failed[j, np.searchsorted(times, failures)] = numbers
    n, d = at_risk.sum(axis=0), failed.sum(axis=0)
    share = at_risk / n
    expected = share @ d
    spread = d * (n - d) / np.maximum(n - 1.0, 1.0)
    covariance = np.diag(share @ spread) - (share * spread) @ share.T
    difference = failed.sum(axis=1) - expected
    value, vector = np.linalg.eigh(covariance)  # singular: differences add up to zero
    used = value > _ROUNDING * spread.sum()
    degrees = int(used.sum())
    statistic = float(np.sum((difference @ vector[:, used]) ** 2 / value[used])) if degrees else np.nan
    table = key_columns(lives.groups).assign(
        durations=lives.n_lives, failures=failed.sum(axis=1).astype(np.int64), expected=expected
    )
    p = float(special.chdtrc(degrees, statistic)) if degrees else np.nan
    most = int((expected > 0.0).sum()) - 1
    status = "never_compared" if not degrees else "partly_compared" if degrees < most else "ok"
    return LogRank(statistic, degrees, p, table, status)


def _by_of(labels: npt.ArrayLike, by: npt.ArrayLike | None) -> npt.ArrayLike:
    """The labels in the second place, with a warning; an `ArgumentError` for what may be flags, and beside `by`."""
    values = np.asarray(labels)
    if by is not None or (values.dtype.kind in "iuf" and np.isin(values, (0, 1)).all()):
        what = "the second argument is the groups, as by= is" if by is not None else "groups or flags of 0 and 1"
        raise ArgumentError(f"log_rank: {what}", remedy="give by= for groups, observed= for what ended in a failure")
    warn_deprecated("the second argument of log_rank()", "by=", removed_in="0.6", stacklevel=3)
    return labels


def _refuse_no_labels(data: object, by: object, lives: LifeData) -> None:
    """An `ArgumentError` for flags, or durations, where the labels of groups belong."""
    values = data[by] if isinstance(data, pd.DataFrame) else by
    if np.asarray(values).dtype == bool:
        raise ArgumentError(
            "by holds true and false; is it observed=?", remedy="give observed=, or labels of groups such as 'a', 'b'"
        )
    if lives.n_groups > max(2.0, 0.5 * lives.durations.size):
        what = f"by has {lives.n_groups} groups of {lives.durations.size} durations"
        raise ArgumentError(what, remedy="give group labels, each for several durations")
