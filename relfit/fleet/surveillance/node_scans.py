"""Nodes that stand out, and repairs that did not help: since when, when it was noticed, and when it was over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.arrays import CodeArray, FloatArray, IntArray
from relfit.base.units import HOURS_PER_YEAR, NANOSECONDS_PER_HOUR
from relfit.fleet.surveillance.rate_scans import LEAST_REFERENCE, REFERENCE
from relfit.fleet.surveillance.recurrence_scans import scan_recurrence
from relfit.fleet.surveillance.watched_fleet import DAY, WatchedFleet

__all__ = ["NodeEpisode", "failed_repairs", "nodes_standing_out"]

_RUNS, _LONGEST, _LOOKS = (4, 5, 6, 8, 11, 15, 20, 28, 40), 365.0, 3.0
_REPEATS, _LONGEST_REPEAT, _REPEAT_LOOKS = (2, 3, 4, 5), 90.0, 2.0
"""Failures in turn that are looked at, within so many days; independent tests that this is for each failure."""
_LEAST_DAYS = 14
"""Days of records before a node can stand out. How often failures repeat takes `LEAST_REFERENCE` days to learn."""


@dataclass(frozen=True)
class NodeEpisode:
    """A time in which a node failed sooner than by chance.

    Attributes
    ----------
    node, cause : int
        Codes of the node, and of the cause of its last failure.
    since, raised, over : int
        Instants (nanoseconds) of the first failure of the run by which it was noticed, of the last one of that run, and
        after which the node is inconspicuous again; `over` may be after the log.
    number : int
        Failures in the last conspicuous run, which took `hours`.
    hours, expected, p : float
        `expected` are those that others had in that time, of the same cause if that is looked at.
    """

    node: int
    cause: int
    since: int
    raised: int
    over: int
    number: int
    hours: float
    expected: float
    p: float


def nodes_standing_out(fleet: WatchedFleet, allowed: float) -> Iterator[NodeEpisode]:
    """Nodes with more failures than the others, at most `allowed` false ones in a year.

    Examples
    --------
    >>> import relfit as rf
    >>> fleet = WatchedFleet(rf.datasets.load("white"))
    >>> [fleet.node_label(each.node) for each in nodes_standing_out(fleet, 0.6)]
    ['n391']
    """
    return _episodes(fleet, allowed / _LOOKS, runs=_RUNS, longest=_LONGEST)


def failed_repairs(fleet: WatchedFleet, allowed: float) -> Iterator[NodeEpisode]:
    """Nodes that failed again of the same cause after their repair, at most `allowed` false ones in a year."""
    return _episodes(fleet, allowed / _REPEAT_LOOKS, runs=_REPEATS, longest=_LONGEST_REPEAT, by_cause=True)


def _episodes(
    fleet: WatchedFleet, allowed: float, *, runs: tuple[int, ...], longest: float, by_cause: bool = False
) -> Iterator[NodeEpisode]:
    """Conspicuous failures of a place while it was so, put together."""
    rows = np.flatnonzero(fleet.own >= 0).astype(np.int32)
    if not rows.size:
        return
    place, stream = fleet.own[rows], fleet.system[rows]
    if by_cause:
        causes, cause = len(fleet.causes), fleet.cause[rows]
        place, stream = (_numbered(each.astype(np.int64) * causes + cause) for each in (place, stream))
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
            row = int(rows[result.row[i]])
            yield NodeEpisode(
                int(fleet.own[row]),
                int(fleet.cause[row]),
                int(at[result.first[first]]),
                int(instant[first]),
                min(reach, int(left[i]) if left[i] < now else reach),
                int(result.number[i]),
                float(instant[i] - at[result.first[i]]) / NANOSECONDS_PER_HOUR,
                float(result.expected[i]),
                float(result.p[i]),
            )


def _numbered(values: IntArray) -> CodeArray:
    """Values as numbers from 0 on."""
    return pd.factorize(values)[0].astype(np.int32)


def _alpha(at: IntArray, origin: int, allowed: float, least: int) -> FloatArray:
    """Tail probability for each incident that spends what is allowed in a year over those of the year before it.

    The days since the log began over the incidents so far estimate the time between incidents without bias, so it
    spends no more than its due in the first weeks either. Before `least` days nothing is conspicuous.
    """
    span = np.clip(at - origin, least * DAY, REFERENCE * DAY)
    number = np.searchsorted(at, at, "right") - np.searchsorted(at, at - span, "right")
    a_year = np.maximum(number, 1) * (HOURS_PER_YEAR * NANOSECONDS_PER_HOUR) / span
    return np.where(at - origin < least * DAY, -1.0, np.minimum(allowed / a_year, 0.01))
