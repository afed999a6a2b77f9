"""Plotting positions of probability paper: median ranks of the failures of every group, with limits."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
from scipy import special

from relfit.arrays import FloatArray
from relfit.errors import ArgumentError, DataError
from relfit.lifedata import LifeData
from relfit.nonparametric.curves import Grouped
from relfit.nonparametric.survival_estimates import kaplan_meier
from relfit.numeric.grouped import cumulative
from relfit.numeric.levels import normal_quantile
from relfit.text import count

__all__ = ["POSITIONS", "PlottingPositions", "median_ranks", "plotting_positions"]


POSITIONS = ("median", "benard", "mean", "hazen", "kaplan-meier")
_SHIFT = {"benard": 0.3, "mean": 0.0, "hazen": 0.5}


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
        Limits at `level` for that share.
    method : str
    level : float
    """

    _not_in_json: ClassVar[tuple[str, ...]] = ("offsets", "times", "rank", "position", "low", "high")

    times: FloatArray
    rank: FloatArray
    position: FloatArray
    low: FloatArray
    high: FloatArray
    method: str
    level: float

    @property
    def headline(self) -> str:
        """How many points there are."""
        return f"{self.method} positions of {count(self.times.size, 'failure')} in {count(len(self.groups), 'group')}"

    def group(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Times and positions of the group at `place`."""
        return self.times[self.part(place)], self.position[self.part(place)]

    def to_frame(self) -> pd.DataFrame:
        """One row per failure."""
        return self._table("times", "rank", "position", "low", "high").rename(columns={"times": "time"})


def median_ranks(data: LifeData, level: float = 0.95) -> PlottingPositions:
    """Exact median ranks of the failures of every group, with Johnson's adjusted ranks; see `plotting_positions`.

    Examples
    --------
    >>> points = median_ranks(LifeData.from_array([3.0, 1.0, 2.0]))
    >>> points.position.round(4).tolist()
    [0.2063, 0.5, 0.7937]
    """
    return plotting_positions(data, "median", level)


def plotting_positions(data: LifeData, method: str = "median", level: float = 0.95) -> PlottingPositions:
    """Positions of the failures of every group on probability paper.

    Censored durations have no point of their own but raise the ranks of the later failures (Johnson 1964): with r
    durations from the failure on, its rank is ``i + (n + 1 - i) / (1 + r)``, where i is the rank of the failure before.
    A duration censored at the time of a failure counts as beyond it. A weight counts as that many equal durations,
    each with a point.

    Parameters
    ----------
    data : LifeData
        Without intervals and without right truncation. Delayed entry needs ``method="kaplan-meier"``.
    method : {"median", "benard", "mean", "hazen", "kaplan-meier"}
        ``median``: median of the beta distribution of the order statistic, exact. ``benard``: its approximation
        ``(i - 0.3) / (n + 0.4)``. ``mean``: ``i / (n + 1)``. ``hazen``: ``(i - 0.5) / n``. ``kaplan-meier``: one minus
        the mean of the Kaplan-Meier estimate just before and just after the failure, which is Hazen's position on
        complete data without ties; here all failures of a tie share a point's position.
    level : float
        Level of the limits, between 0 and 1: quantiles of the same beta distribution, or for ``kaplan-meier`` the
        log-log limits of the estimate just after the failure.

    Returns
    -------
    PlottingPositions
        Groups without failures have no points.

    Raises
    ------
    ArgumentError
        For an unknown method or a level outside 0..1.
    DataError
        For intervals, right truncation, or delayed entry with a method that has no answer to it.

    Examples
    --------
    >>> data = LifeData.from_array([1.0, 2.0, 3.0, 4.0], [True, False, True, True])
    >>> plotting_positions(data).rank.round(4).tolist()
    [1.0, 2.3333, 3.6667]
    """
    normal_quantile(level)
    if method not in POSITIONS:
        raise ArgumentError(f"unknown method {method!r}", remedy=f"use one of {', '.join(POSITIONS)}")
    if method == "kaplan-meier":
        return _from_kaplan_meier(data, level)
    data = data.from_age_known()
    if data.upper is not None or data.exit is not None or data.entry is not None:
        raise DataError(
            "ranks have no answer to intervals and truncation",
            remedy='use method="kaplan-meier" for delayed entry, turnbull(data) for intervals',
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
    if method == "median":
        position = np.asarray(special.betaincinv(rank, left, 0.5), dtype=np.float64)
    else:
        shift = _SHIFT[method]
        position = (rank - shift) / (n + 1.0 - 2.0 * shift)
    low = np.asarray(special.betaincinv(rank, left, 0.5 - 0.5 * level), dtype=np.float64)
    high = np.asarray(special.betainccinv(rank, left, 0.5 - 0.5 * level), dtype=np.float64)
    return PlottingPositions(data.groups, offsets, times, rank, position, low, high, method, level)


def _from_kaplan_meier(data: LifeData, level: float) -> PlottingPositions:
    curves = kaplan_meier(data, level)
    codes = curves.codes()
    before = np.ones(codes.size)
    same = codes[1:] == codes[:-1]
    before[1:][same] = curves.estimate[:-1][same]
    # a curve that has fallen to zero says nothing more
    step = np.repeat(np.arange(codes.size), np.where(before > 0.0, curves.events, 0))
    owner = codes[step]
    offsets = np.searchsorted(owner, np.arange(curves.n_groups + 1)).astype(np.int64)
    position = 1.0 - 0.5 * (before + curves.estimate)[step]
    rank = position * curves.sizes[owner] + 0.5
    low, high = 1.0 - curves.high[step], 1.0 - curves.low[step]
    return PlottingPositions(data.groups, offsets, curves.times[step], rank, position, low, high, "kaplan-meier", level)
