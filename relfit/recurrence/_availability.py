"""Operational availability of nodes, systems and other groups: the share of node-hours without an outage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.errors import ArgumentError, DataError
from relfit.numeric.grouped import per_group
from relfit.numeric.levels import normal_quantile
from relfit.outages import node_values, outages_of
from relfit.results import Result, key_columns
from relfit.screening.tallies import over_time
from relfit.text import percent
from relfit.units import NANOSECONDS_PER_HOUR

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["AVAILABILITY_STATUS", "Availability", "AvailabilityOverTime", "availability", "availability_over_time"]

AVAILABILITY_STATUS = {
    "ok": "estimate and limits",
    "some_ends_unknown": "some outages have no known end and count as no time down: the estimate is too high",
    "no_ends": "no outage has a known end",
    "never_down": "no hour of outage: availability 1, without a lower limit",
    "one_outage": "a single outage of a single node has no spread: no limits",
    "not_watched": "no hour of observation",
}
_ENOUGH = 5  # periods of one node from which their spread is taken; with fewer they count as exponential


@dataclass(frozen=True, eq=False, repr=False)
class Availability(Result):
    """Operational availability of every group; arrays of shape (groups,).

    Attributes
    ----------
    groups : pandas.Index
    operational, low, high : ndarray of float
        With limits at `level`; NaN where the status says so.
    node_hours, down_hours : ndarray of float
        Observation and outages; hours summed over nodes.
    failures, unknown_ends : ndarray of int
        Outages that began under observation, and outages without a known end.
    nodes : ndarray of int
    status : ndarray of object
        See `AVAILABILITY_STATUS`.
    level : float
    notes : tuple of str
    """

    groups: pd.Index
    operational: FloatArray
    low: FloatArray
    high: FloatArray
    node_hours: FloatArray
    down_hours: FloatArray
    failures: IntArray
    unknown_ends: IntArray
    nodes: IntArray
    status: npt.NDArray[np.object_]
    level: float
    notes: tuple[str, ...]

    @property
    def mtbf(self) -> FloatArray:
        """Hours up by failures; NaN without a failure."""
        return np.where(self.failures > 0, (self.node_hours - self.down_hours) / np.maximum(self.failures, 1), np.nan)

    @property
    def mttr(self) -> FloatArray:
        """Hours down by failures; NaN without a failure or where ends are unknown."""
        known = (self.failures > 0) & (self.unknown_ends == 0)
        return np.where(known, self.down_hours / np.maximum(self.failures, 1), np.nan)

    @property
    def headline(self) -> str:
        """Availability over all groups."""
        hours = self.node_hours.sum()
        if hours <= 0.0 or bool(np.isin(self.status, ("no_ends", "not_watched")).all()):
            return "Availability is not known: no outage has a known end, or nothing was watched."
        unknown = self.unknown_ends.sum()
        more = f"; {unknown} outages without a known end would lower it" if unknown else ""
        each = ""
        if len(self.groups) > 1:
            low, high = np.nanmin(self.operational), np.nanmax(self.operational)
            each = f", {percent(low, 3)} to {percent(high, 3)} over {len(self.groups)} groups"
        return f"Nodes were up {percent(1.0 - self.down_hours.sum() / hours, 3)} of the time{each}{more}."

    def to_frame(self) -> pd.DataFrame:
        """One row per group."""
        names = (
            "nodes", "node_hours", "failures", "unknown_ends", "down_hours", "mtbf", "mttr", "operational", "low",
            "high", "status",
        )  # fmt: skip
        return key_columns(self.groups).assign(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False, repr=False)
class AvailabilityOverTime(Result):
    """Operational availability of every group in calendar bins; arrays of shape (groups, bins).

    Attributes
    ----------
    groups : pandas.Index
    edges : pandas.DatetimeIndex, shape (bins + 1,)
    operational, low, high : ndarray of float
        NaN where nothing was watched; limits are NaN too for groups of one node, and where nothing was down.
    node_hours, down_hours : ndarray of float
    unknown_ends : int
        Outages without a known end, which count as no time down.
    level : float
    """

    groups: pd.Index
    edges: pd.DatetimeIndex
    operational: FloatArray
    low: FloatArray
    high: FloatArray
    node_hours: FloatArray
    down_hours: FloatArray
    unknown_ends: int
    level: float

    @property
    def status(self) -> npt.NDArray[np.object_]:
        """``ok``, ``not_watched``, ``never_down`` or ``no_limits`` (one node), shape (groups, bins)."""
        out = np.full(self.operational.shape, "ok", dtype=object)
        out[np.isnan(self.low)] = "no_limits"
        out[self.down_hours == 0.0] = "never_down"
        out[self.node_hours == 0.0] = "not_watched"
        return out

    @property
    def headline(self) -> str:
        """Where availability was lowest and highest, all groups together."""
        hours = self.node_hours.sum(axis=0)
        if not (hours > 0.0).any():
            return "Nothing was watched."
        up = np.where(hours > 0.0, 1.0 - self.down_hours.sum(axis=0) / np.where(hours > 0.0, hours, 1.0), np.nan)
        worst, best = int(np.nanargmin(up)), int(np.nanargmax(up))
        if up[best] - up[worst] < 5e-6:
            return f"Availability was the same throughout ({percent(up[best], 3)})."
        return (
            f"Availability was lowest from {self.edges[worst]:%Y-%m-%d} to {self.edges[worst + 1]:%Y-%m-%d} "
            f"({percent(up[worst], 3)}) and highest from {self.edges[best]:%Y-%m-%d} ({percent(up[best], 3)})."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per group and bin."""
        groups, bins = self.operational.shape
        frame = key_columns(self.groups).iloc[np.repeat(np.arange(groups), bins)].reset_index(drop=True)
        frame["from"] = np.tile(np.asarray(self.edges[:-1], dtype=object), groups)
        frame["to"] = np.tile(np.asarray(self.edges[1:], dtype=object), groups)
        names = ("operational", "low", "high", "node_hours", "down_hours", "status")
        return frame.assign(**{name: getattr(self, name).ravel() for name in names})


def availability(log: FailureLog, per: str = "system", *, level: float = 0.95) -> Availability:
    """Operational availability of every node, system or value of a column of the population.

    Parameters
    ----------
    log : FailureLog
    per : str
        ``"node"``, ``"system"`` or a column of the population.
    level : float
        Level of the limits: from the spread over the nodes of a group (Student's t on the logit of the ratio), or for a
        group of one node from the spread of its periods up and down, which count as independent.

    Returns
    -------
    Availability

    Raises
    ------
    ArgumentError
        For a column that is not there, or a level outside 0..1.
    DataError
        For a log of durations without outages.

    Notes
    -----
    Overlapping records of a node are one outage; outages are cut to the node's time under observation.

    Examples
    --------
    >>> import relfit as rf
    >>> result = availability(rf.datasets.load("white"))
    >>> bool(result.low[0] < result.operational[0] < result.high[0] < 1.0)
    True
    """
    normal_quantile(level)
    down = _down_times(log, per)
    size, count = len(down.groups), down.entered.size
    member = down.group >= 0

    def by_group(values: npt.ArrayLike) -> FloatArray:
        return per_group(np.asarray(values)[member], down.group[member], size)

    def outages_by_group(values: npt.ArrayLike) -> IntArray:
        return by_group(per_group(values, down.node, count)).astype(np.int64)

    hours = (down.end - down.start) / NANOSECONDS_PER_HOUR
    lost = per_group(hours, down.node, count)
    whole = (down.left - down.entered) / NANOSECONDS_PER_HOUR
    operational, low, high = _over_nodes(lost, whole, down.group, size, level)
    nodes, outages = by_group(np.ones(count)).astype(np.int64), outages_by_group(np.ones(down.node.size))
    node_hours, down_hours = by_group(whole), by_group(lost)
    unknown = outages_by_group(~down.known)
    single = nodes == 1
    if single.any():
        group = down.group[down.node]
        inside = group >= 0
        same = np.flatnonzero((down.node[1:] == down.node[:-1]) & inside[1:]) + 1
        up_periods = (down.start[same] - down.end[same - 1]) / NANOSECONDS_PER_HOUR
        spread = _relative_variance(up_periods, group[same], size)
        spread = spread + _relative_variance(hours[inside], group[inside], size)
        limits = _of_one_node(node_hours - down_hours, down_hours, spread, outages, level)
        low[single], high[single] = limits[0][single], limits[1][single]
    status = np.full(size, "ok", dtype=object)
    status[single & (outages == 1)] = "one_outage"
    status[down_hours == 0.0] = "never_down"
    status[unknown > 0] = "some_ends_unknown"
    status[(unknown > 0) & (unknown == outages)] = "no_ends"
    status[node_hours <= 0.0] = "not_watched"
    blank = np.isin(status, ("no_ends", "not_watched"))
    for values in (operational, low, high):
        values[blank] = np.nan
    return Availability(
        down.groups, operational, low, high, node_hours, down_hours, outages_by_group(down.begun), unknown, nodes,
        status, level, down.notes,
    )  # fmt: skip


def availability_over_time(
    log: FailureLog, per: str = "system", unit: str | None = None, *, level: float = 0.95
) -> AvailabilityOverTime:
    """Operational availability in calendar bins.

    Parameters
    ----------
    log : FailureLog
    per : str
        ``"node"``, ``"system"`` or a column of the population.
    unit : str, optional
        ``"hour"`` to ``"year"``; by the length of the observation when left out.
    level : float
        Level of the limits, from the spread over the nodes.

    Raises
    ------
    ArgumentError, DataError
        See `availability`.

    Examples
    --------
    >>> import relfit as rf
    >>> availability_over_time(rf.datasets.load("white")).operational.shape
    (1, 17)
    """
    normal_quantile(level)
    down = _down_times(log, per)
    edges = over_time(log, unit).edges
    at = edges.tz_convert("UTC").astype("int64").to_numpy()
    size, count, bins = len(down.groups), down.entered.size, max(len(edges) - 1, 0)
    value, low, high, node_hours, down_hours = (np.full((size, bins), np.nan) for _ in range(5))
    member = down.group >= 0

    def until(instant: int) -> tuple[FloatArray, FloatArray]:
        """Hours down and under observation of each node so far."""
        lost = np.clip(instant - down.start, 0, down.end - down.start) / NANOSECONDS_PER_HOUR
        there = np.clip(instant - down.entered, 0, down.left - down.entered) / NANOSECONDS_PER_HOUR
        return per_group(lost, down.node, count), there

    for i in range(bins):
        (lost_before, before), (lost, there) = until(at[i]), until(at[i + 1])
        fallen, watched = np.maximum(lost - lost_before, 0.0), there - before
        fallen[fallen < 1e-9] = 0.0
        value[:, i], low[:, i], high[:, i] = _over_nodes(fallen, watched, down.group, size, level)
        node_hours[:, i] = per_group(watched[member], down.group[member], size)
        down_hours[:, i] = per_group(fallen[member], down.group[member], size)
    unknown = int((~down.known).sum())
    return AvailabilityOverTime(down.groups, edges, value, low, high, node_hours, down_hours, unknown, level)


@dataclass(frozen=True)
class _DownTimes:
    """Outages of nodes within their observation (nanoseconds), and the group of each node."""

    node: IntArray
    start: IntArray
    end: IntArray
    known: BoolArray
    begun: BoolArray
    entered: IntArray
    left: IntArray
    group: IntArray  # of each node, -1 for none
    groups: pd.Index
    notes: tuple[str, ...]


def _down_times(log: FailureLog, per: str) -> _DownTimes:
    if log.lifetimes is not None and log.events.empty:
        raise DataError("this log holds durations and no outages, so there is no availability")
    outages = outages_of(log)
    nodes, code = outages.groups, outages.code
    if per == "node":
        group, groups = np.arange(len(nodes)), nodes
    elif per == "system" or per in log.population.columns:
        values = nodes.get_level_values(0) if per == "system" else node_values(log, per, nodes)
        group, labels = pd.factorize(pd.Series(np.asarray(values, dtype=object)), use_na_sentinel=True)
        groups = pd.Index(labels, name=per)
    else:
        raise ArgumentError(
            f"no column {per!r} of the population to group nodes by", remedy="use node, system or one of its columns"
        )
    entered, left = outages.entered, np.maximum(outages.left, outages.entered)
    start = np.clip(outages.start, entered[code], left[code])
    end = np.clip(outages.end, start, left[code])
    reasons = {
        "outages that name no node are in no group": outages.without_group.size,
        f"nodes without a value of {per} are in no group": int((group < 0).sum()),
    }
    notes = tuple(f"{number} {reason}" for reason, number in reasons.items() if number)
    return _DownTimes(
        code, start, end, outages.end_known, outages.failures, entered, left, group.astype(np.int64), groups, notes
    )


def _over_nodes(
    down: FloatArray, whole: FloatArray, group: IntArray, size: int, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of time up of each group and limits from the spread over its nodes; ratio estimate, logit scale."""
    member = group >= 0
    code, down, whole = group[member], down[member], whole[member]
    nodes = per_group(whole > 0.0, code, size)
    hours = per_group(whole, code, size)
    with np.errstate(all="ignore"):
        share = np.where(hours > 0.0, per_group(down, code, size) / hours, np.nan)
        away = per_group(np.nan_to_num(down - share[code] * whole) ** 2, code, size)
        error = np.sqrt(away * nodes / (nodes - 1.0)) / hours / (share * (1.0 - share))
        far = special.stdtrit(np.maximum(nodes - 1, 1), 0.5 + 0.5 * level) * error
        low, high = 1.0 - special.expit(special.logit(share) + far), 1.0 - special.expit(special.logit(share) - far)
    none = (nodes < 2) | ~(share > 0.0) | ~(share < 1.0)
    low[none] = high[none] = np.nan
    return 1.0 - share, low, high


def _of_one_node(
    up: FloatArray, lost: FloatArray, spread: FloatArray, count: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits for single nodes: the log odds have the variance of the means of the periods up and down."""
    with np.errstate(all="ignore"):
        far = special.stdtrit(np.maximum(count - 1, 1), 0.5 + 0.5 * level) * np.sqrt(spread / np.maximum(count, 1))
        odds = np.log(up / lost)
        low, high = special.expit(odds - far), special.expit(odds + far)
    none = (count < 2) | ~(up > 0.0) | ~(lost > 0.0)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def _relative_variance(values: FloatArray, code: IntArray, size: int) -> FloatArray:
    """Squared coefficient of variation of each node's periods; one where there are few."""
    count = np.bincount(code, minlength=size)
    mean = per_group(values, code, size) / np.maximum(count, 1)
    square = per_group((values - mean[code]) ** 2, code, size) / np.maximum(count - 1, 1)
    with np.errstate(all="ignore"):
        return np.where((count >= _ENOUGH) & (mean > 0.0), square / mean**2, 1.0)
