"""Outlier nodes and failed repairs: their start, when they were noticed, and their end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.units import HOURS_PER_YEAR, NANOSECONDS_PER_HOUR
from relfit.fleet.surveillance.rate_scans import LEAST_REFERENCE, REFERENCE
from relfit.fleet.surveillance.recurrence_scans import scan_recurrence
from relfit.fleet.surveillance.watched_fleet import DAY, WatchedFleet

_RUNS, _LONGEST, _LOOKS = (4, 5, 6, 8, 11, 15, 20, 28, 40), 365.0, 3.0
_REPEATS, _LONGEST_REPEAT, _REPEAT_LOOKS = (2, 3, 4, 5), 90.0, 2.0
"""Lengths of the runs of failures, their longest duration in days, and equivalent independent tests per failure."""
_SLOWER, _A_MONTH = 0.05, 30 * DAY
"""Probability of as few failures since a run, at its rate, below which the node fails more slowly, after a month."""
_LEAST_DAYS = 14
"""Days of records before a node can be an outlier; repeat failures need `LEAST_REFERENCE` days."""


@dataclass(frozen=True)
class NodeEpisode:
    """A time in which a node failed more often than by chance; instants are nanoseconds. Other failures, for repairs,
    are those by the same cause.
    """

    node: int
    cause: int  # of its last failure
    since: int  # first failure of the run that raised the alarm
    raised: int  # and its last one
    over: int  # end of the alarm, which may lie after the log
    at: int  # end of the last significant run
    number: int  # its failures
    hours: float
    expected: float  # further failures, from other nodes
    p: float  # tail probability
    others: float  # mean number of failures of the system's other nodes in the time of that run
    later: int  # failures of the node since that run
    slower: bool  # whether these, in a month or more until the end of the log, are fewer than its rate gives (5 %)


def nodes_standing_out(fleet: WatchedFleet, allowed: float) -> Iterator[NodeEpisode]:
    """Nodes with more failures than the others, with at most `allowed` false alarms per year."""
    return _episodes(fleet, allowed / _LOOKS, runs=_RUNS, longest=_LONGEST)


def failed_repairs(fleet: WatchedFleet, allowed: float) -> Iterator[NodeEpisode]:
    """Nodes that failed again from the same cause after a repair, with at most `allowed` false alarms per year."""
    return _episodes(fleet, allowed / _REPEAT_LOOKS, runs=_REPEATS, longest=_LONGEST_REPEAT, by_cause=True)


def _episodes(
    fleet: WatchedFleet, allowed: float, *, runs: tuple[int, ...], longest: float, by_cause: bool = False
) -> Iterator[NodeEpisode]:
    """Significant failures of a node (and cause), joined to episodes."""
    rows = np.flatnonzero(fleet.own >= 0).astype(np.int32)
    if not rows.size:
        return
    place, stream = fleet.own[rows], fleet.system[rows]
    if by_cause:
        causes, cause = len(fleet.causes), fleet.cause[rows]
        codes = (each.astype(np.int64) * causes + cause for each in (place, stream))
        place, stream = (pd.factorize(each)[0].astype(np.int32) for each in codes)
    least = LEAST_REFERENCE if by_cause else _LEAST_DAYS
    alpha = _alpha(fleet.begun[rows], int(fleet.steps.edges[0]), allowed, least)
    order = np.argsort(place, kind="stable")  # incidents are in the order of time
    place, stream, alpha, rows = place[order], stream[order], alpha[order], rows[order]
    del order
    at = fleet.begun[rows]
    end = fleet.repaired(rows) if by_cause else None
    size = fleet.sizes(fleet.system[rows], at)
    result = scan_recurrence(place, stream, at, size, alpha, runs=runs, longest=longest, end=end)
    own, instant, left = place[result.row], at[result.row], fleet.watch[1][fleet.own[rows[result.row]]]
    now = int(fleet.steps.edges[-1])
    first = reach = 0
    for i in range(own.size):
        begins = i == 0 or own[i] != own[i - 1] or instant[i] > reach
        first, reach = (i, int(result.until[i])) if begins else (first, max(reach, int(result.until[i])))
        if i + 1 == own.size or own[i + 1] != own[i] or instant[i + 1] > reach:
            row, begun, last, number = (
                int(each) for each in (rows[result.row[i]], at[result.first[i]], instant[i], result.number[i])
            )
            over = min(reach, int(left[i]) if left[i] < now else reach)
            alarm = int(at[result.first[first]]), int(instant[first]), over
            run = (last - begun) / NANOSECONDS_PER_HOUR, float(result.expected[i]), float(result.p[i])
            others, later = _of_others(fleet, row, begun, last, by_cause), _since(fleet, row, begun, number, by_cause)
            yield NodeEpisode(int(fleet.own[row]), int(fleet.cause[row]), *alarm, last, number, *run, others, *later)


def _since(fleet: WatchedFleet, row: int, first: int, number: int, by_cause: bool) -> tuple[int, bool]:
    """Failures after a run of `number` from `first` to a row's, and whether they are fewer than its rate gives."""
    after = slice(row + 1, None)
    mine = fleet.own[after] == fleet.own[row]
    if by_cause:
        mine &= fleet.cause[after] == fleet.cause[row]
    later, last = int(np.sum(mine & (fleet.begun[after] > fleet.begun[row]))), int(fleet.begun[row])
    since = int(fleet.steps.edges[-1]) - last
    expected = (number - 1) * since / max(last - first, DAY)
    return later, bool(since >= _A_MONTH and special.pdtr(later, expected) < _SLOWER)


def _of_others(fleet: WatchedFleet, row: int, first: int, last: int, by_cause: bool) -> float:
    """Mean number of failures of the other nodes of a system from one instant to another, for one watched all of it."""
    some = slice(*np.searchsorted(fleet.begun, [first, last + 1]))
    system, own, (entered, left) = fleet.system[row], fleet.own[row], fleet.watch
    mine = (fleet.system[some] == system) & (fleet.own[some] >= 0) & (fleet.own[some] != own)
    if by_cause:
        mine &= fleet.cause[some] == fleet.cause[row]
    watched = np.clip((np.minimum(left, last) - np.maximum(entered, first)) / max(last - first, 1), 0.0, 1.0)
    nodes = watched[(fleet.system_of_node == system) & (np.arange(watched.size) != own)].sum()
    return float(mine.sum() / nodes) if nodes else 0.0


def _alpha(at: IntArray, origin: int, allowed: float, least: int) -> FloatArray:
    """Tail probability for each incident that divides the false alarms per year among the incidents of the past year,
    as estimated without bias from the log so far; none raises an alarm before `least` days.
    """
    span = np.clip(at - origin, least * DAY, REFERENCE * DAY)
    number = np.searchsorted(at, at, "right") - np.searchsorted(at, at - span, "right")
    a_year = np.maximum(number, 1) * (HOURS_PER_YEAR * NANOSECONDS_PER_HOUR) / span
    return np.where(at - origin < least * DAY, -1.0, np.minimum(allowed / a_year, 0.01))
