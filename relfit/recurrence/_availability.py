"""Availability of nodes, systems and other groups, inherent and operational, as a whole and over calendar time.

Operational availability is the share of node-hours without an outage of any cause. Inherent availability leaves planned
outages out of the time as well: hours up by hours up and under repair, that is ``MTBF / (MTBF + MTTR)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.errors import ArgumentError, DataError
from relfit.lifedata import key_columns
from relfit.nonparametric.steps import normal_quantile
from relfit.outages import node_values, outages_of
from relfit.recurrence.histories import BoolArray, FloatArray, IntArray, sums
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


@dataclass(frozen=True, eq=False)
class Availability:
    """Availability of every group; arrays of shape (groups,).

    Attributes
    ----------
    groups : pandas.Index
    inherent, inherent_low, inherent_high : ndarray of float
    operational, operational_low, operational_high : ndarray of float
        With limits at `level`; NaN where the status says so.
    node_hours, repair_hours, planned_hours : ndarray of float
        Observation, outages that were not planned, planned outages; hours summed over nodes.
    failures, planned, unknown_ends : ndarray of int
        Outages that were not planned and began under observation, planned ones, and outages without a known end.
    nodes : ndarray of int
    status : ndarray of object
        See `AVAILABILITY_STATUS`.
    level : float
    notes : tuple of str
    """

    groups: pd.Index
    inherent: FloatArray
    inherent_low: FloatArray
    inherent_high: FloatArray
    operational: FloatArray
    operational_low: FloatArray
    operational_high: FloatArray
    node_hours: FloatArray
    repair_hours: FloatArray
    planned_hours: FloatArray
    failures: IntArray
    planned: IntArray
    unknown_ends: IntArray
    nodes: IntArray
    status: npt.NDArray[np.object_]
    level: float
    notes: tuple[str, ...]

    @property
    def mtbf(self) -> FloatArray:
        """Hours up by failures; NaN without a failure."""
        up = self.node_hours - self.repair_hours - self.planned_hours
        return np.where(self.failures > 0, up / np.maximum(self.failures, 1), np.nan)

    @property
    def mttr(self) -> FloatArray:
        """Hours of unplanned outage by failures; NaN without a failure or where ends are unknown."""
        known = (self.failures > 0) & (self.unknown_ends == 0)
        return np.where(known, self.repair_hours / np.maximum(self.failures, 1), np.nan)

    @property
    def sentence(self) -> str:
        """Availability over all groups, in one sentence."""
        hours = self.node_hours.sum()
        if hours <= 0.0 or bool(np.isin(self.status, ("no_ends", "not_watched")).all()):
            return "Availability is not known: no outage has a known end, or nothing was watched."
        down = (self.repair_hours + self.planned_hours).sum()
        more = (
            f"; {self.unknown_ends.sum()} outages without a known end would lower it" if self.unknown_ends.sum() else ""
        )
        each = ""
        if len(self.groups) > 1:
            low, high = np.nanmin(self.operational), np.nanmax(self.operational)
            each = f", {percent(low, 3)} to {percent(high, 3)} over {len(self.groups)} groups"
        return f"Nodes were up {percent(1.0 - down / hours, 3)} of the time{each}{more}."

    def to_frame(self) -> pd.DataFrame:
        """One row a group."""
        frame = key_columns(self.groups)
        for name in (
            "nodes", "node_hours", "failures", "planned", "unknown_ends", "repair_hours", "planned_hours", "mtbf",
            "mttr",
            "inherent", "inherent_low", "inherent_high", "operational", "operational_low", "operational_high", "status",
        ):  # fmt: skip
            frame[name] = getattr(self, name)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "groups": len(self.groups),
            "nodes": int(self.nodes.sum()),
            "node_hours": float(self.node_hours.sum()),
            "repair_hours": float(self.repair_hours.sum()),
            "planned_hours": float(self.planned_hours.sum()),
            "failures": int(self.failures.sum()),
            "unknown_ends": int(self.unknown_ends.sum()),
            "status": {str(k): int(v) for k, v in pd.Series(self.status).value_counts().items()},
            "level": self.level,
            "notes": list(self.notes),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"Availability of {len(self.groups)} groups, {self.nodes.sum()} nodes"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.to_frame().to_html(max_rows=10, index=False)}"


@dataclass(frozen=True, eq=False)
class AvailabilityOverTime:
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
    def sentence(self) -> str:
        """Where availability was lowest and highest, all groups together, in one sentence."""
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

    def plot(self, ax: Any = None) -> Any:
        """Draw availability over time; see `relfit.plotting.availability_over_time`."""
        from relfit import plotting

        return plotting.availability_over_time(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """One row a group and bin."""
        bins = max(len(self.edges) - 1, 0)
        frame = key_columns(self.groups).iloc[np.repeat(np.arange(len(self.groups)), bins)].reset_index(drop=True)
        frame["from"] = np.tile(np.asarray(self.edges[:-1], dtype=object), len(self.groups))
        frame["to"] = np.tile(np.asarray(self.edges[1:], dtype=object), len(self.groups))
        for name in ("operational", "low", "high", "node_hours", "down_hours", "status"):
            frame[name] = getattr(self, name).ravel()
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "groups": [str(label) for label in self.groups],
            "edges": [edge.isoformat() for edge in self.edges],
            "node_hours": self.node_hours.tolist(),
            "down_hours": self.down_hours.tolist(),
            "unknown_ends": self.unknown_ends,
            "level": self.level,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"AvailabilityOverTime: {len(self.groups)} groups in {max(len(self.edges) - 1, 0)} bins"


@dataclass(frozen=True)
class _Down:
    """Outages of nodes within their observation (nanoseconds), and the group of each node."""

    node: IntArray
    start: IntArray
    end: IntArray
    known: BoolArray
    begun: BoolArray
    planned: BoolArray
    entered: IntArray
    left: IntArray
    group: IntArray  # of each node, -1 for none
    groups: pd.Index
    notes: tuple[str, ...]


def _down(log: FailureLog, per: str, planned: Iterable[str]) -> _Down:
    if log.lifetimes is not None and log.events.empty:
        raise DataError("this log holds whole lives and no outages, so there is no availability")
    found = outages_of(log)
    codes, groups, notes = _groups_of_nodes(log, per, found.groups)
    entered, left = found.entered, np.maximum(found.left, found.entered)
    start = np.clip(found.start, entered[found.code], left[found.code])
    end = np.clip(found.end, start, left[found.code])
    names = [planned] if isinstance(planned, str) else list(planned)
    cause = log.events["cause"].astype(object)
    missing = [name for name in names if not (cause == name).any()]
    if missing:
        raise ArgumentError(
            f"no event has the planned cause {missing[0]!r}",
            remedy=f"there is {', '.join(map(str, list(cause.dropna().unique())[:8]))}",
        )
    by_plan = cause.isin(names).to_numpy()[found.row] if names else np.zeros(found.row.size, dtype=np.bool_)
    if found.without_group.size:
        notes = (*notes, f"{found.without_group.size} outages that name no node are in no group")
    if (codes < 0).any():
        notes = (*notes, f"{int((codes < 0).sum())} nodes without a value of {per} are in no group")
    return _Down(
        found.code, start, end, found.end_known, ~found.start_cut, by_plan, entered, left, codes, groups, notes
    )  # fmt: skip


def _groups_of_nodes(log: FailureLog, per: str, nodes: pd.Index) -> tuple[IntArray, pd.Index, tuple[str, ...]]:
    if per == "node":
        return np.arange(len(nodes), dtype=np.int64), nodes, ()
    if per == "system":
        values = pd.Series(nodes.get_level_values(0), dtype=object)
    elif per in log.population.columns:
        values = pd.Series(node_values(log, per, nodes))
    else:
        raise ArgumentError(
            f"no column {per!r} of the population to group nodes by", remedy="use node, system or one of its columns"
        )
    codes, labels = pd.factorize(values, use_na_sentinel=True)
    return codes.astype(np.int64), pd.Index(labels, name=per), ()


def _over_nodes(
    down: FloatArray, whole: FloatArray, group: IntArray, size: int, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of time up of each group and limits from the spread over its nodes; ratio estimate, logit scale."""
    member = group >= 0
    code = group[member]

    def total(values: FloatArray) -> FloatArray:
        return sums(code, values[member], size)

    nodes = np.bincount(code, (whole > 0.0)[member], minlength=size)
    hours, lost = total(whole), total(down)
    with np.errstate(all="ignore"):
        share = np.where(hours > 0.0, lost / hours, np.nan)
        away = np.zeros(group.size)
        away[member] = down[member] - share[code] * whole[member]
        variance = total(np.nan_to_num(away) ** 2) * nodes / (nodes - 1.0) / hours**2
        odds = special.logit(share)
        error = (
            special.stdtrit(np.maximum(nodes - 1, 1), 0.5 + 0.5 * level) * np.sqrt(variance) / (share * (1.0 - share))
        )
        low, high = 1.0 - special.expit(odds + error), 1.0 - special.expit(odds - error)
    none = (nodes < 2) | ~(share > 0.0) | ~(share < 1.0)
    low[none] = high[none] = np.nan
    return 1.0 - share, low, high


def _of_one_node(
    up: FloatArray, lost: FloatArray, spread: FloatArray, count: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits for single nodes: the log odds have the variance of the means of the periods up and down."""
    with np.errstate(all="ignore"):
        error = special.stdtrit(np.maximum(count - 1, 1), 0.5 + 0.5 * level) * np.sqrt(spread / np.maximum(count, 1))
        odds = np.log(up / lost)
        low, high = special.expit(odds - error), special.expit(odds + error)
    none = (count < 2) | ~(up > 0.0) | ~(lost > 0.0)
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def _relative_variance(values: FloatArray, code: IntArray, size: int) -> FloatArray:
    """Squared coefficient of variation of each node's periods; one where there are few."""
    count = np.bincount(code, minlength=size)
    mean = np.bincount(code, values, minlength=size) / np.maximum(count, 1)
    square = np.bincount(code, (values - mean[code]) ** 2, minlength=size) / np.maximum(count - 1, 1)
    with np.errstate(all="ignore"):
        return np.where((count >= _ENOUGH) & (mean > 0.0), square / mean**2, 1.0)


def availability(
    log: FailureLog, per: str = "system", *, planned: Iterable[str] = (), level: float = 0.95
) -> Availability:
    """Inherent and operational availability of every node, system or value of a column of the population.

    Parameters
    ----------
    log : FailureLog
    per : str
        ``"node"``, ``"system"`` or a column of the population.
    planned : str or collection of str
        Causes that are planned outages; they lower the operational availability only.
    level : float
        Level of the limits: from the spread over the nodes of a group (Student's t on the logit of the ratio), or for a
        group of one node from the spread of its periods up and down, which count as independent.

    Returns
    -------
    Availability

    Raises
    ------
    ArgumentError
        For a column or a cause that is not there, or a level outside 0..1.
    DataError
        For a log of lives without outages.

    Notes
    -----
    Overlapping records of a node are one outage with the cause of the first; outages are cut to the node's time under
    observation.

    Examples
    --------
    >>> import relfit as rf
    >>> found = availability(rf.datasets.load("white"))
    >>> bool(found.operational_low[0] < found.operational[0] < found.operational_high[0] < 1.0)
    True
    """
    normal_quantile(level)
    down = _down(log, per, planned)
    size, count = len(down.groups), down.entered.size
    hours = (down.end - down.start) / NANOSECONDS_PER_HOUR
    whole = (down.left - down.entered) / NANOSECONDS_PER_HOUR

    def by_node(values: Any) -> FloatArray:
        return sums(down.node, values, count)

    member = down.group >= 0

    def by_group(values: FloatArray) -> FloatArray:
        return sums(down.group[member], values[member], size)

    repair, plan = by_node(hours * ~down.planned), by_node(hours * down.planned)
    inherent, in_low, in_high = _over_nodes(repair, whole - plan, down.group, size, level)
    operational, op_low, op_high = _over_nodes(repair + plan, whole, down.group, size, level)
    nodes = by_group(np.ones(count)).astype(np.int64)

    # groups of one node
    single = np.flatnonzero(nodes == 1)
    outages = by_group(by_node(np.ones(down.node.size))).astype(np.int64)
    unplanned = by_group(by_node(~down.planned)).astype(np.int64)
    if single.size:
        group = down.group[down.node]
        inside = group >= 0
        same = np.flatnonzero((down.node[1:] == down.node[:-1]) & inside[1:]) + 1
        up_periods = (down.start[same] - down.end[same - 1]) / NANOSECONDS_PER_HOUR
        spread_up = _relative_variance(up_periods, group[same], size)
        fixed = inside & ~down.planned
        up = by_group(whole - repair - plan)
        low, high = _of_one_node(
            up, by_group(repair), spread_up + _relative_variance(hours[fixed], group[fixed], size), unplanned, level
        )
        in_low[single], in_high[single] = low[single], high[single]
        low, high = _of_one_node(
            up,
            by_group(repair + plan),
            spread_up + _relative_variance(hours[inside], group[inside], size),
            outages,
            level,
        )
        op_low[single], op_high[single] = low[single], high[single]

    unknown = by_group(by_node(~down.known)).astype(np.int64)
    lost, watched = by_group(repair + plan), by_group(whole)
    status = np.full(size, "ok", dtype=object)
    status[(nodes == 1) & (outages == 1)] = "one_outage"
    status[lost == 0.0] = "never_down"
    status[unknown > 0] = "some_ends_unknown"
    status[(unknown > 0) & (unknown == outages)] = "no_ends"
    status[watched <= 0.0] = "not_watched"
    blank = np.isin(status, ("no_ends", "not_watched"))
    for values in (inherent, in_low, in_high, operational, op_low, op_high):
        values[blank] = np.nan
    return Availability(
        down.groups, inherent, in_low, in_high, operational, op_low, op_high, watched, by_group(repair), by_group(plan),
        by_group(by_node(~down.planned & down.begun)).astype(np.int64),
        by_group(by_node(down.planned)).astype(np.int64), unknown, nodes, status, level, down.notes,
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
    down = _down(log, per, ())
    edges = over_time(log, unit).edges
    at = edges.tz_convert("UTC").astype("int64").to_numpy()
    size, count, bins = len(down.groups), down.entered.size, max(len(edges) - 1, 0)
    value, low, high = (np.full((size, bins), np.nan) for _ in range(3))
    node_hours, down_hours = np.zeros((size, bins)), np.zeros((size, bins))
    member = down.group >= 0
    before_down, before = np.zeros(count), np.zeros(count)
    for i in range(bins + 1 if bins else 0):
        lost = sums(down.node, np.clip(at[i] - down.start, 0, down.end - down.start) / NANOSECONDS_PER_HOUR, count)
        there = np.clip(at[i] - down.entered, 0, down.left - down.entered) / NANOSECONDS_PER_HOUR
        if i:
            d, w = np.maximum(lost - before_down, 0.0), there - before
            d[d < 1e-9] = 0.0
            value[:, i - 1], low[:, i - 1], high[:, i - 1] = _over_nodes(d, w, down.group, size, level)
            node_hours[:, i - 1] = np.bincount(down.group[member], w[member], minlength=size)
            down_hours[:, i - 1] = np.bincount(down.group[member], d[member], minlength=size)
        before_down, before = lost, there
    return AvailabilityOverTime(
        down.groups, edges, value, low, high, node_hours, down_hours, int((~down.known).sum()), level
    )
