"""Starts planned ahead, compiled: slices of time, each with its free nodes.

For conservative backfilling, for EASY with the nodes of the first waiting job fixed ahead (the original algorithm), and
for reservations. A plan that fixes nodes takes these out of its slices; one that does not takes out their number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.batch.engine_state import IDLE, NO, NONE, YES, Engine
from relfit.simulation.batch.job_events import start_on
from relfit.simulation.engine.records import compiled, making_arrays, part

Mask = npt.NDArray[np.bool_]
_BACK = np.int64(-1)


class Slices(NamedTuple):
    """Slices of time in their order, each up to the next; the first `size[0]` of each array are in use."""

    size: IntArray
    times: FloatArray  # when each begins
    counts: IntArray  # nodes that nothing is planned on
    rows: IntArray  # which row of `masks` each has
    masks: Mask  # nodes that no running job, reservation or plan of particular nodes has


@part
def _index(t: Slices, at: float) -> int:
    """The first slice that begins at a time or later."""
    return int(np.searchsorted(t.times[: t.size[0]], at))


@part
def _count(mask: Mask) -> int:
    total = 0
    for free in mask:
        total += free
    return total


@part
def _copy(mask: Mask, target: Mask) -> None:
    for node in range(mask.size):
        target[node] = mask[node]


@part
def _cut(t: Slices, at: float) -> None:
    """Make a slice begin at a time after the first slice's."""
    n = t.size[0]
    low = _index(t, at)
    if not t.times[0] < at < math.inf or (low < n and t.times[low] == at):
        return
    for i in range(n, low, -1):
        t.times[i] = t.times[i - 1]
        t.counts[i] = t.counts[i - 1]
        t.rows[i] = t.rows[i - 1]
    t.times[low] = at
    t.counts[low] = t.counts[low - 1]
    t.rows[low] = n
    _copy(t.masks[t.rows[low - 1]], t.masks[n])
    t.size[0] = n + 1


@part
def _take_nodes(t: Slices, begin: float, end: float, mask: Mask, free: bool) -> None:
    """Take nodes out of the slices of an interval of time, or give them back as `free`."""
    end = max(end, np.nextafter(begin, math.inf))  # a job of length 0 holds its nodes for an instant
    _cut(t, begin)
    _cut(t, end)
    for i in range(_index(t, begin), _index(t, end)):
        row = t.masks[t.rows[i]]
        for node in range(mask.size):
            if mask[node] and row[node] != free:
                row[node] = free
                t.counts[i] += 1 if free else -1


@part
def _take_number(t: Slices, begin: float, end: float, size: int) -> None:
    """Take a number of nodes, any of them, out of the slices of an interval of time."""
    end = max(end, np.nextafter(begin, math.inf))
    _cut(t, begin)
    _cut(t, end)
    for i in range(_index(t, begin), _index(t, end)):
        t.counts[i] -= size


@part
def _fit(t: Slices, nodes: int, length: float, last: int, mask: Mask) -> int:
    """The first slice, up to `last`, from which on `nodes` nodes are free for `length`; -1 if none. `mask`: which."""
    n, first = t.size[0], NO
    last = min(n - 1, last)
    while first <= last:
        at, end = first, t.times[first] + length
        while t.counts[at] >= nodes and at + 1 < n and t.times[at + 1] < end:
            at += 1
        if t.counts[at] < nodes:
            first = at + 1  # a start in between would include this slice, too
            continue
        _copy(t.masks[t.rows[first]], mask)
        for i in range(first + 1, at + 1):
            row = t.masks[t.rows[i]]
            for node in range(mask.size):
                mask[node] &= row[node]
        if _count(mask) >= nodes:
            _leave_lowest(mask, nodes)
            return first
        first += 1
    return NONE


@part
def _leave_lowest(mask: Mask, size: int) -> None:
    for node in range(mask.size):
        if mask[node]:
            mask[node] = size > 0
            size -= 1


@part
def _stays(e: Engine, t: Slices, job: int, quiet: float) -> bool:
    """Whether a job cannot start earlier than planned: too few nodes are free before, and all are free from then on."""
    if not t.times[0] < e.jobs[job].planned or not quiet <= e.jobs[job].planned:
        return False
    most = 0
    for i in range(_index(t, e.jobs[job].planned)):
        most = max(most, t.counts[i])
    return most < e.jobs[job].nodes


@part
def _plan(e: Engine, t: Slices, job: int, size: int) -> None:
    """Take the plan of a job on `size` nodes out of the slices; with a negative `size`, give it back."""
    begin, fixed = e.jobs[job].planned, e.state[0].fixed_nodes != 0
    end = begin + e.jobs[job].wall_left
    if fixed:
        _take_nodes(t, begin, end, e.plans[job], size < 0)
    else:
        _take_number(t, begin, end, size)


@compiled
def plan_pass(e: Engine, now: float, backfills: bool, conservative: bool) -> None:
    """Start the jobs that can start now without delaying planned ones, and plan those that the policy plans.

    Conservative: jobs keep their plans, and new ones are added after them; where something has ended, each job in turn
    looks for an earlier time among the plans of all others; where nodes fail, or a reservation is announced, all is
    replanned.
    """
    s = e.state[0]
    end, fixed = s.queue_end, s.fixed_nodes != 0
    if s.drop_plans or not conservative:
        for place in range(end):
            if e.queue[place].job >= 0:
                e.jobs[e.queue[place].job].planned = math.inf
    mask = np.zeros(len(e.nodes), np.bool_)
    quiet = _last_end(e, now)
    t = _profile(e, now, mask)
    passed = NO  # whether a job that could be held is left waiting
    for place in range(end):
        job = e.queue[place].job
        if job < 0 or e.jobs[job].nodes > s.n_up:
            continue
        own = e.jobs[job]
        if own.planned < math.inf:
            if not s.changed or (not fixed and _stays(e, t, job, quiet)):
                passed = YES
                continue
            _plan(e, t, job, -own.nodes)
        plans = conservative or passed == NO
        first = _fit(t, own.nodes, own.wall_left, t.size[0] if plans else NO, mask)
        own.planned = math.inf
        if first == 0:
            own.backfilled = passed
            _take_nodes(t, now, now + own.wall_left, mask, False)
            start_on(e, job, now, np.flatnonzero(mask))
            quiet = max(quiet, now + own.wall_left)
            continue
        passed = YES
        if not backfills:
            break
        if first > 0 and plans:
            own.planned = t.times[first]
            if fixed:
                _copy(mask, e.plans[job])
            _plan(e, t, job, own.nodes)


@part
def _last_end(e: Engine, now: float) -> float:
    """From when on no node is running a job or reserved."""
    s, quiet = e.state[0], now
    for i in range(s.running_end):
        if e.running[i] >= 0:
            quiet = max(quiet, e.estimates[i])
    for row in e.reservations:
        if row.announced <= now < row.end:
            quiet = max(quiet, row.end)
    return quiet


@making_arrays
def _profile(e: Engine, now: float, mask: Mask) -> Slices:
    """Slices from now on: all nodes that are up, less running jobs, reservations that are known, and plans."""
    s = e.state[0]
    most = 4 + 2 * s.n_running + 4 * s.n_waiting + 2 * len(e.reservations)
    t = Slices(
        np.ones(1, np.int64),
        np.empty(most),
        np.empty(most, np.int64),
        np.zeros(most, np.int64),
        np.empty((most, mask.size), np.bool_),
    )
    for node in range(mask.size):
        t.masks[0, node] = e.owner[node] >= IDLE
    t.times[0], t.counts[0] = now, s.n_up
    for i in range(s.running_end):
        if e.running[i] >= 0:
            for node in range(mask.size):
                mask[node] = e.owner[node] == e.running[i]
            _take_nodes(t, now, e.estimates[i], mask, False)
    for i in range(len(e.reservations)):
        row = e.reservations[i]
        if row.announced <= now < row.end:
            _take_nodes(t, max(now, row.start), row.end, e.reserved[i], False)
    for place in range(s.queue_end):
        job = e.queue[place].job
        if job >= 0 and e.jobs[job].planned < math.inf:
            _plan(e, t, job, e.jobs[job].nodes)
    return t
