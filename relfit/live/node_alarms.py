"""Alarms of nodes that stand out and of repairs that did not help, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from relfit.base.arrays import CodeArray, FloatArray, IntArray
from relfit.base.text import count, duration, number
from relfit.base.units import HOURS_PER_YEAR, NANOSECONDS_PER_HOUR
from relfit.live.alarm_streams import DAY, Episode, WatchedFleet, stamp
from relfit.live.live_records import Alarm
from relfit.live.rate_scans import LEAST_REFERENCE, REFERENCE
from relfit.live.recurrence_scans import Recurrence, scan_recurrence

__all__ = ["node_episodes", "repeat_episodes"]

_RUNS, _LONGEST, _LOOKS = (4, 5, 6, 8, 11, 15, 20, 28, 40), 365.0, 3.0
_REPEATS, _LONGEST_REPEAT, _REPEAT_LOOKS = (2, 3, 4, 5), 90.0, 2.0
"""Failures in turn that are looked at, within so many days; independent tests that this is for each failure."""


def node_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of nodes with more failures than the others."""
    rows = np.flatnonzero(fleet.own >= 0)
    at, node, system = fleet.begun[rows], fleet.own[rows], fleet.system[rows]
    if not rows.size:
        return
    result = scan_recurrence(
        node, system, at, at, fleet.sizes(system, at), _alpha(fleet, at, allowed / _LOOKS), runs=_RUNS,
        longest=_LONGEST, after_repair=False,
    )  # fmt: skip
    for i, last, until in _runs(result, node, at, fleet):
        begin, label = int(at[result.first[i]]), fleet.node_label(int(node[result.row[i]]))
        since, times = stamp(begin), float(result.number[last] / max(result.expected[last], 1e-9))
        text = (
            f"Node {label} stands out: {count(int(result.number[last]), 'failure')} in "
            f"{duration((at[result.row[last]] - at[result.first[last]]) / NANOSECONDS_PER_HOUR)}, others had "
            f"{number(float(result.expected[last]))} in that time."
        )
        alarm = Alarm(
            "node", f"node {label}", since, stamp(int(at[result.row[i]])), text,
            "Take it out of service and test it, or replace the part that its failures have in common.",
            {"failures": float(result.number[last]), "expected": float(result.expected[last]), "ratio": times,
             "p": float(result.p[last])},
        )  # fmt: skip
        yield Episode(alarm, until)


def repeat_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of nodes that failed again of the same cause, sooner than by chance."""
    rows = np.flatnonzero(fleet.own >= 0)
    if not rows.size:
        return
    at, node, cause = fleet.begun[rows], fleet.own[rows], fleet.cause[rows]
    hours = np.nan_to_num(fleet.joined.table["duration"].to_numpy(np.float64)[rows])
    end = at + (hours * NANOSECONDS_PER_HOUR).astype(np.int64)
    del hours
    causes = np.int64(len(fleet.causes))
    place, stream = (pd.factorize(each * causes + cause)[0].astype(np.int32) for each in (node, fleet.system[rows]))
    result = scan_recurrence(
        place, stream, at, end, fleet.sizes(fleet.system[rows], at), _alpha(fleet, at, allowed / _REPEAT_LOOKS),
        runs=_REPEATS, longest=_LONGEST_REPEAT, after_repair=True,
    )  # fmt: skip
    for i, last, until in _runs(result, place, at, fleet):
        row, label = result.row[last], fleet.node_label(int(node[result.row[i]]))
        why = str(fleet.causes[cause[row]])
        hours = float(at[row] - at[result.first[last]]) / NANOSECONDS_PER_HOUR
        text = (
            f"The repair of node {label} did not help: {count(int(result.number[last]), 'failure')} by {why} within "
            f"{duration(hours)}, others had {number(float(result.expected[last]))} meanwhile."
        )
        alarm = Alarm(
            "repeat", f"node {label}, {why}", stamp(int(at[result.first[i]])), stamp(int(at[result.row[i]])), text,
            "Don't put it back into service after the same repair: look for another cause.",
            {"failures": float(result.number[last]), "expected": float(result.expected[last]), "hours": hours,
             "p": float(result.p[last])},
        )  # fmt: skip
        yield Episode(alarm, until)


def _alpha(fleet: WatchedFleet, at: IntArray, allowed: float) -> FloatArray:
    """Tail probability for each incident that spends what is allowed in a year over those of the year before it."""
    order, origin = np.sort(at), int(fleet.steps.edges[0])
    elapsed = at - origin
    span = np.clip(elapsed, LEAST_REFERENCE * DAY, REFERENCE * DAY)
    number = np.searchsorted(order, at, "right") - np.searchsorted(order, at - span, "right")
    a_year = np.maximum(number, 1) * (HOURS_PER_YEAR * NANOSECONDS_PER_HOUR) / span
    return np.where(elapsed < LEAST_REFERENCE * DAY, -1.0, np.minimum(allowed / a_year, 0.01))


def _runs(
    result: Recurrence, place: CodeArray, at: IntArray, fleet: WatchedFleet
) -> Iterator[tuple[int, int, pd.Timestamp | None]]:
    """Conspicuous incidents of a place while it was so: the first and the last of them, and when it was over."""
    now = int(fleet.steps.edges[-1])
    own, instant = place[result.row], at[result.row]
    left = fleet.watch[1][fleet.own[fleet.own >= 0][result.row]]
    first = 0
    reach = 0
    for i in range(own.size):
        if i and own[i] == own[i - 1] and instant[i] <= reach:
            reach = max(reach, int(result.until[i]))
        else:
            first, reach = i, int(result.until[i])
        if i + 1 == own.size or own[i + 1] != own[i] or instant[i + 1] > reach:
            over = min(reach, int(left[i]) if left[i] < now else reach)
            yield first, i, stamp(over) if over < now else None
