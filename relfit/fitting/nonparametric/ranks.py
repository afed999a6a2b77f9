"""Plotting positions on probability paper: median ranks of the failures of every group, with intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.base.errors import DataError
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.ragged import cumulative
from relfit.base.text import count
from relfit.fitting.nonparametric.curves import Grouped
from relfit.log.lifedata import LifeData


class PlottingPositions(Grouped):
    """One point per observed failure; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    offsets : ndarray of int, shape (groups + 1,)
    times : ndarray of float, shape (failures,)
        Failure times in hours, rising within a group; a tie has a point for each failure.
    rank : ndarray of float, shape (failures,)
        Adjusted rank among the durations of the group; without censoring 1, 2, 3, ...
    position : ndarray of float, shape (failures,)
        Estimated share that has failed by then, strictly between 0 and 1.
    low, high : ndarray of float, shape (failures,)
        Confidence interval of that share at `level`.
    level : float
    """

    _not_in_json = ("offsets", "times", "rank", "position", "low", "high")

    times: FloatArray
    rank: FloatArray
    position: FloatArray
    low: FloatArray
    high: FloatArray
    level: float

    @property
    def headline(self) -> str:
        """How many points there are."""
        return f"median ranks of {count(self.times.size, 'failure')} in {count(len(self.groups), 'group')}"

    def to_frame(self) -> pd.DataFrame:
        """One row per failure; ``time`` in hours."""
        return self._table("times", "rank", "position", "low", "high").rename(columns={"times": "time"})


def median_ranks(data: LifeData, level: float = 0.95) -> PlottingPositions:
    """Positions of the failures of every group on probability paper: exact median ranks.

    The position is the median of the beta distribution of the order statistic, its interval lies between quantiles of
    the same distribution. Censored durations have no point of their own but raise the ranks of the later failures
    (Johnson 1964): with r durations from the failure on, its rank is ``i + (n + 1 - i) / (1 + r)``, where i is the rank
    of the failure before. A duration censored at the time of a failure counts as beyond it. A weight counts as that
    many equal durations, each with a point.

    Parameters
    ----------
    data : LifeData
        Without intervals and truncation.
    level : float
        Level of the intervals, between 0 and 1.

    Returns
    -------
    PlottingPositions
        Groups without failures have no points.

    Raises
    ------
    ArgumentError
        For a level outside 0..1.
    DataError
        For intervals or truncation, for which ranks are not defined.

    Examples
    --------
    >>> points = median_ranks(LifeData.from_array([1.0, 2.0, 3.0, 4.0], [True, False, True, True]))
    >>> points.rank.round(4).tolist(), points.position.round(4).tolist()
    ([1.0, 2.3333, 3.6667], [0.1591, 0.4619, 0.766])
    """
    level_checked(level)
    data = data.from_age_known()
    if data.upper is not None or data.exit is not None or data.entry is not None:
        raise DataError(
            "ranks have no answer to intervals and truncation",
            remedy="use kaplan_meier(data) for delayed entry, turnbull(data) for intervals",
        )
    code, times, observed = data.group_codes(), data.durations, data.observed
    if data.weights is not None:
        rows = np.repeat(np.arange(times.size), data.weights)
        code, times, observed = code[rows], times[rows], observed[rows]
    order = np.lexsort((~observed, times, code))
    code, times, observed = code[order], times[order], observed[order]
    ends = np.searchsorted(code, np.arange(data.n_groups + 1))
    beyond = (ends[code + 1] - np.arange(code.size)).astype(np.float64)
    code, times, beyond = code[observed], times[observed], beyond[observed]
    offsets = np.searchsorted(code, np.arange(data.n_groups + 1)).astype(np.int64)
    n = np.diff(ends)[code].astype(np.float64)
    # n + 1 minus the rank shrinks by r / (1 + r) at each failure
    left = (n + 1.0) * cumulative(beyond / (1.0 + beyond), code, product=True)
    rank = n + 1.0 - left
    position = np.asarray(special.betaincinv(rank, left, 0.5), dtype=np.float64)
    low = np.asarray(special.betaincinv(rank, left, 0.5 - 0.5 * level), dtype=np.float64)
    high = np.asarray(special.betainccinv(rank, left, 0.5 - 0.5 * level), dtype=np.float64)
    return PlottingPositions(data.groups, offsets, times, rank, position, low, high, level)
