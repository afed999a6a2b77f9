"""Operational availability of nodes, systems and other groups: the share of node-hours without an outage.

A node is down during its own outages and during those of its whole system.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.analyses.recurrence.availability_results import Availability, AvailabilityOverTime
from relfit.analyses.screening.tallies import calendar_bins
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.ordering import alike
from relfit.base.numeric.ragged import per_group
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import FailureLog
from relfit.log.outages import Outages, node_values, outages_of, system_outages_of
from relfit.log.tables import made_once

_Hours = tuple[FloatArray, FloatArray, FloatArray]
_ENOUGH = 5  # periods of one node from which their spread is taken; with fewer they count as exponential


@made_once
def availability(log: FailureLog, per: str = "system", *, level: float = 0.95) -> Availability:
    """Operational availability of every node, system or value of a column of the population.

    Parameters
    ----------
    log : FailureLog
    per : str
        ``"node"``, ``"system"`` or a column of the population.
    level : float
        Level of the confidence intervals: from the spread over the nodes of a group (Student's t on the logit scale),
        or for a group of one node from the spread of its periods up and down, which count as independent; plus the
        spread of the outages of whole systems, which all nodes share.

    Raises
    ------
    ArgumentError
        For a column that is not there, or a level outside 0..1.
    DataError
        For a log of durations without outages.

    Notes
    -----
    Overlapping records of a node are one outage; outages are cut to the node's time under observation. Outages of a
    whole system (`relfit.log.outages.system_outages_of`) count for every node that was watched then; time in which both
    a node and its system were down counts once.

    Examples
    --------
    >>> import relfit as rf
    >>> result = availability(rf.datasets.load("white"))
    >>> bool(result.low[0] < result.operational[0] < result.high[0] < 1.0)
    True
    """
    level_checked(level)
    down = _down_times(log, per)
    size = len(down.groups)
    member = down.group >= 0

    def by_group(values: npt.ArrayLike) -> FloatArray:
        return per_group(np.asarray(values)[member], down.group[member], size)

    def by_node(values: npt.ArrayLike) -> IntArray:
        return per_group(values, down.node, down.entered.size).astype(np.int64)

    own, common, watched = lost = down.lost(down.left)
    number, begun, unended = down.of_system
    # squared relative error of each node's share of time down, from the spread of its periods up and down
    spread, periods = _spread(down.node, down.start, down.end, down.entered.size), by_node(np.ones(down.node.size))
    of_one = np.where(periods > 1, spread / np.maximum(periods, 1), np.nan)
    operational, low, high = _limits(lost, down, number, level, of_one)
    node_hours, down_hours = by_group(watched), by_group(own + common)
    unknown, outages = by_group(by_node(~down.known) + unended), by_group(periods + number)
    nodes = by_group(np.ones(watched.size)).astype(np.int64)
    status = np.full(size, "ok", dtype=object)
    status[(nodes == 1) & (outages == 1)] = "one_outage"
    status[down_hours == 0.0] = "never_down"
    status[unknown > 0] = "some_ends_unknown"
    status[(unknown > 0) & (unknown == outages)] = "no_ends"
    status[node_hours <= 0.0] = "not_watched"
    blank = np.isin(status, ("no_ends", "not_watched"))
    for values in (operational, low, high):
        values[blank] = np.nan
    failures, common_failures = (by_group(values).astype(np.int64) for values in (by_node(down.begun), begun))
    hours, counts = (node_hours, down_hours, by_group(common)), (failures, common_failures, unknown.astype(np.int64))
    shares = operational, low, high
    return Availability(down.groups, *shares, *hours, *counts, nodes, status, level, down.notes)


@made_once
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
        Level of the confidence intervals, from the spread over the nodes.

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
    level_checked(level)
    down = _down_times(log, per)
    edges = calendar_bins(log, unit)[0]
    at = edges.tz_convert("UTC").astype("int64").to_numpy()
    size, bins = len(down.groups), max(len(edges) - 1, 0)
    value, low, high, node_hours, down_hours = (np.full((size, bins), np.nan) for _ in range(5))
    member = down.group >= 0
    before = down.lost(np.full_like(down.entered, at[0] if bins else 0))
    for i in range(bins):
        until = down.lost(np.full_like(down.entered, at[i + 1]))
        own, common, watched = (np.maximum(b - a, 0.0) for a, b in zip(before, until, strict=True))
        own[own < 1e-9], common[common < 1e-9] = 0.0, 0.0
        number = down.system.between(at[i], at[i + 1])[down.member]
        value[:, i], low[:, i], high[:, i] = _limits((own, common, watched), down, number, level)
        node_hours[:, i] = per_group(watched[member], down.group[member], size)
        down_hours[:, i] = per_group((own + common)[member], down.group[member], size)
        before = until
    unknown = int((~down.known).sum() + (~down.system.outages.end_known).sum())
    return AvailabilityOverTime(down.groups, edges, value, low, high, node_hours, down_hours, unknown, level)


class _SystemClock:
    """How long each system was down as a whole until any instant (nanoseconds)."""

    def __init__(self, outages: Outages) -> None:
        self.outages = outages
        self.offsets = outages.offsets
        self._gone = np.concatenate([[0], np.cumsum(outages.end - outages.start)])
        self.spread = _spread(outages.code, outages.start, outages.end, outages.n_groups)
        number = np.bincount(outages.code, minlength=outages.n_groups)
        self.degrees = np.where(number >= _ENOUGH, number - 1.0, np.inf)  # of the spread; of few it is assumed

    def place(self, system: IntArray, at: IntArray) -> IntArray:
        """Position after the last outage of these systems that began at or before these instants."""
        number = np.empty(at.size, dtype=np.int64)
        order = np.argsort(system, kind="stable")
        ends = np.searchsorted(system[order], np.arange(self.outages.n_groups + 1))
        for code in np.unique(system):  # systems, not nodes
            rows = order[ends[code] : ends[code + 1]]
            begin, end = self.offsets[code], self.offsets[code + 1]
            number[rows] = begin + np.searchsorted(self.outages.start[begin:end], at[rows], side="right")
        return number

    def until(self, system: IntArray, at: IntArray) -> FloatArray:
        """Hours down of these systems until these instants."""
        if not self.outages.code.size:
            return np.zeros(at.size)
        place = self.place(system, at)
        over = np.where(place > self.offsets[system], np.append(self.outages.end, 0)[place - 1] - at, 0)
        gone = self._gone[place] - self._gone[self.offsets[system]] - np.maximum(over, 0)
        return np.asarray(gone / NANOSECONDS_PER_HOUR)

    def between(self, first: int, last: int) -> IntArray:
        """Outages of each system that were going on at some time between two instants."""
        there = (self.outages.start < last) & (self.outages.end > first)
        return self.outages.count(np.asarray(there, dtype=np.bool_))


@dataclass(frozen=True)
class _DownTimes:
    """Outages of nodes within their observation (nanoseconds), and the group and system of each node."""

    node: IntArray
    start: IntArray
    end: IntArray
    known: BoolArray
    begun: BoolArray
    entered: IntArray
    left: IntArray
    group: IntArray  # of each node, -1 for none
    groups: pd.Index
    system: _SystemClock
    member: IntArray  # system of each node
    notes: tuple[str, ...]

    @cached_property
    def _before(self) -> FloatArray:
        """Hours that its system was down before each outage."""
        return self.system.until(self.member[self.node], self.start)

    def lost(self, until: IntArray) -> _Hours:
        """Hours of each node until an instant of its own: down alone, down with its whole system, watched."""
        at = np.clip(until, self.entered, self.left)
        of = self.member[self.node]
        end = np.clip(at[self.node], self.start, self.end)
        together = self.system.until(of, end) - self._before
        alone = (end - self.start) / NANOSECONDS_PER_HOUR - together
        own = per_group(np.maximum(alone, 0.0), self.node, at.size)
        common = self.system.until(self.member, at) - self.system.until(self.member, self.entered)
        return own, common, (at - self.entered) / NANOSECONDS_PER_HOUR

    @cached_property
    def parts(self) -> tuple[IntArray, IntArray]:
        """Groups and systems that have nodes in common, shape (2, parts), and of which of these each member is."""
        member = self.group >= 0
        first, place = alike(self.group[member], self.member[member])
        return np.stack([self.group[member][first], self.member[member][first]]), place

    @property
    def of_system(self) -> tuple[IntArray, IntArray, IntArray]:
        """Outages of its whole system while each node was watched, those that began then, those of unknown end."""
        outages = self.system.outages

        def among(which: BoolArray, since: IntArray) -> IntArray:
            before = np.concatenate([[0], np.cumsum(which)])
            last, first = (self.system.place(self.member, at) for at in (self.left, since - 1))
            return np.asarray(before[last] - before[first], dtype=np.int64)

        number = among(np.ones(outages.code.size, dtype=np.bool_), self.entered)
        return number, among(outages.failures, self.entered), among(~outages.end_known, self.entered)


def _down_times(log: FailureLog, per: str) -> _DownTimes:
    if log.lifetimes is not None and log.events.empty:
        raise DataError("this log holds durations and no outages, so there is no availability")
    outages, of_systems = outages_of(log), system_outages_of(log)
    nodes, code = outages.groups, outages.code
    if per == "node":
        group, groups = np.arange(len(nodes)), nodes
    elif per == "system" or per in log.population.columns:
        values = nodes.get_level_values(0) if per == "system" else node_values(log, per, nodes)
        group, labels = pd.factorize(pd.Series(np.asarray(values, dtype=object)), use_na_sentinel=True)
        groups = pd.Index(labels, name=per)
    else:
        what = f"no column {per!r} of the population to group nodes by"
        raise ArgumentError(what, remedy="use node, system or one of its columns")
    entered, left = outages.entered, np.maximum(outages.left, outages.entered)
    start = np.clip(outages.start, entered[code], left[code])
    end = np.clip(outages.end, start, left[code])
    others = int(np.isin(outages.without_group, of_systems.without_group).sum())
    reasons = {
        "outages of whole systems count for every node that was watched then": of_systems.code.size,
        "outages of a wider scope than a node name none and are in no group": others,
        f"nodes without a value of {per} are in no group": int((group < 0).sum()),
    }
    notes = (*(f"{number:,} {reason}" for reason, number in reasons.items() if number), *of_systems.notes)
    member = of_systems.groups.get_indexer(nodes.get_level_values(0)).astype(np.int64)
    flags, of_nodes = (outages.end_known, outages.failures), (entered, left, group.astype(np.int64))
    return _DownTimes(code, start, end, *flags, *of_nodes, groups, _SystemClock(of_systems), member, notes)


def _limits(
    lost: _Hours, down: _DownTimes, number: IntArray, level: float, of_one: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of time up of each group and its interval on the logit scale, by scatter over nodes (`of_one`: periods)."""
    size, member = len(down.groups), down.group >= 0
    code, own, common, watched = down.group[member], *(hours[member] for hours in lost)
    nodes, hours = per_group(watched > 0.0, code, size), per_group(watched, code, size)
    with np.errstate(all="ignore"):
        alone, together = (np.where(hours > 0.0, per_group(x, code, size) / hours, np.nan) for x in (own, common))
        share = alone + together
        away = per_group(np.nan_to_num(own - alone[code] * watched) ** 2, code, size)
        variance, free = away * nodes / (nodes - 1.0) / hours**2, nodes - 1.0
        single = nodes == 1
        if of_one is not None:
            one = per_group(np.nan_to_num(of_one[member]), code, size)
            outages = per_group(np.bincount(down.node, minlength=down.entered.size)[member], code, size)
            variance[single] = (one * (alone * (1.0 - share)) ** 2)[single]
            variance[single & (outages == 1)] = np.nan
            free[single] = np.maximum(outages - 1.0, 1.0)[single]
        # all nodes of a system share its outages: their hours in a group vary together
        pairs, place = down.parts
        most = np.zeros(pairs.shape[1])
        np.maximum.at(most, place, number[member])
        part = per_group(common, place, most.size) / hours[pairs[0]] * (1.0 - share[pairs[0]])
        shaken = np.where(part > 0.0, part**2 * down.system.spread[pairs[1]] / np.maximum(most, 1.0), 0.0)
        joint = per_group(shaken, pairs[0], size)
        degrees = per_group(shaken**2 / down.system.degrees[pairs[1]], pairs[0], size) + variance**2 / free
        total = variance + joint
        degrees = np.where(total > 0.0, total**2 / degrees, 1.0)  # Satterthwaite
        far = special.stdtrit(np.maximum(degrees, 1.0), 0.5 + 0.5 * level)
        far = far * np.sqrt(total) / (share * (1.0 - share))
        low, high = 1.0 - special.expit(special.logit(share) + far), 1.0 - special.expit(special.logit(share) - far)
    none = ~np.isfinite(total) | ~(share > 0.0) | ~(share < 1.0)
    low[none] = high[none] = np.nan
    return 1.0 - share, low, high


def _spread(code: IntArray, start: IntArray, end: IntArray, size: int) -> FloatArray:
    """Squared coefficients of variation of the periods up and down of each node, or each system, added."""
    after = np.flatnonzero(code[1:] == code[:-1]) + 1
    up, down = (start[after] - end[after - 1]) / NANOSECONDS_PER_HOUR, (end - start) / NANOSECONDS_PER_HOUR
    return _relative_variance(up, code[after], size) + _relative_variance(down, code, size)


def _relative_variance(values: FloatArray, code: IntArray, size: int) -> FloatArray:
    """Squared coefficient of variation of each node's periods; one where there are few."""
    count = np.bincount(code, minlength=size)
    mean = per_group(values, code, size) / np.maximum(count, 1)
    square = per_group((values - mean[code]) ** 2, code, size) / np.maximum(count - 1, 1)
    with np.errstate(all="ignore"):
        return np.where((count >= _ENOUGH) & (mean > 0.0), square / mean**2, 1.0)
