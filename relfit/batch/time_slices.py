"""Starts planned ahead, compiled: slices of time with the nodes that are free in each.

For conservative backfilling, for EASY with the nodes of the first waiting job fixed ahead (the original algorithm), and
for reservations. A plan that fixes nodes takes these out of its slices; one that does not takes out their number.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from relfit.batch.bit_counts import set_bits
from relfit.batch.compiling import inner, making_arrays, seldom
from relfit.batch.cycle_counter import cycles
from relfit.batch.engine_state import CONSERVATIVE, FCFS, NO, YES, Engine
from relfit.batch.job_events import start_on
from relfit.batch.node_pool import nodes_in

__all__ = ["PLANNED_PASSES"]

_typed: Any = np.int64  # so that a function that is called with some of them is compiled once
_NO_SIZE, _TAKEN, _BACK = _typed(0), _typed(1), _typed(-1)
_ONE, _ZERO = np.uint64(1), np.uint64(0)


@seldom
def _ones(words: np.ndarray) -> int:
    """How many bits are set."""
    total = 0
    for i in range(words.size):
        total += set_bits(words[i])
    return total


class Slices(NamedTuple):
    """Slices of time in their order, each up to the next; the first so many of each array are in use."""

    times: np.ndarray
    """When each begins."""
    counts: np.ndarray
    """Nodes that nothing is planned on."""
    rows: np.ndarray
    """Which row of `masks` each has."""
    masks: np.ndarray
    """Nodes that no running job, reservation or plan of particular nodes has."""
    tops: np.ndarray
    """The most of the counts up to each, as far as they are known."""


@seldom
def _index(t: Slices, n: int, at: float) -> int:
    """The first slice that begins at a time or later."""
    low, high = _NO_SIZE, n
    while low < high:
        middle = (low + high) >> 1
        if t.times[middle] < at:
            low = middle + 1
        else:
            high = middle
    return low


@seldom
def _cut(t: Slices, n: int, at: float) -> int:
    """Make a slice begin at a time after the first slice's; returns the number of slices."""
    if not at < math.inf or at <= t.times[0]:
        return n
    low = _index(t, n, at)
    if low < n and t.times[low] == at:
        return n
    for i in range(n, low, -1):
        t.times[i] = t.times[i - 1]
        t.counts[i] = t.counts[i - 1]
        t.rows[i] = t.rows[i - 1]
    t.times[low] = at
    t.counts[low] = t.counts[low - 1]
    t.rows[low] = n
    for k in range(t.masks.shape[1]):
        t.masks[n, k] = t.masks[t.rows[low - 1], k]
    return n + 1


@seldom
def _take(t: Slices, n: int, begin: float, end: float, mask: np.ndarray, size: int, sign: int) -> int:
    """Take nodes out of the slices of a stretch of time (sign 1), or give them back (-1).

    Where `size` is 0 the nodes of `mask`, else so many of any. Returns the number of slices.
    """
    end = max(end, np.nextafter(begin, math.inf))  # a job of no length has its nodes for an instant
    n = _cut(t, n, begin)
    n = _cut(t, n, end)
    for i in range(_index(t, n, begin), n):
        if t.times[i] >= end:
            break
        if size > 0:
            t.counts[i] -= sign * size
            continue
        row = t.masks[t.rows[i]]
        before = _ones(row)
        for k in range(mask.size):
            row[k] = row[k] & ~mask[k] if sign > 0 else row[k] | mask[k]
        t.counts[i] += _ones(row) - before
    return n


@seldom
def _fit(t: Slices, n: int, nodes: int, length: float, last: int, mask: np.ndarray) -> int:
    """The first slice, up to `last`, from which on `nodes` nodes are free for `length`; -1 if none. `mask`: which."""
    first, last = _NO_SIZE, min(n - 1, last)
    while first <= last:
        at, end = first, t.times[first] + length
        while t.counts[at] >= nodes and at + 1 < n and t.times[at + 1] < end:
            at += 1
        if t.counts[at] < nodes:
            first = at + 1  # what begins between the two has that slice in it, too
            continue
        for k in range(mask.size):
            mask[k] = t.masks[t.rows[first], k]
        for i in range(first + 1, at + 1):
            for k in range(mask.size):
                mask[k] &= t.masks[t.rows[i], k]
        if _ones(mask) < nodes:
            first += 1
            continue
        left = nodes
        for k in range(mask.size):
            bits, kept = mask[k], _ZERO
            while bits != _ZERO and left > 0:
                kept |= bits & (~bits + _ONE)
                bits &= bits - _ONE
                left -= 1
            mask[k] = kept
        return first
    return -1


@seldom
def _most_before(t: Slices, n: int, known: int, at: float) -> tuple[int, int]:
    """The most nodes that nothing is planned on in any slice before a time, and how far `tops` is known then."""
    last = _index(t, n, at)
    for i in range(known, last):
        t.tops[i] = t.counts[i] if i == 0 else max(t.tops[i - 1], t.counts[i])
    return (t.tops[last - 1] if last > 0 else _NO_SIZE), max(known, last)


@seldom
def _job_mask(e: Engine, job: int, mask: np.ndarray) -> None:
    """Bits of the nodes that a running job has."""
    for k in range(mask.size):
        mask[k] = _ZERO
    span = e.jobs[job].span
    while span >= 0:
        for node in range(e.spans[span, 0], e.spans[span, 0] + e.spans[span, 1]):
            mask[node >> 6] |= _ONE << np.uint64(node & 63)
        span = e.spans[span, 2]


@making_arrays
def plan_pass(e: Engine, now: float) -> None:
    """Start what can start now without delaying what is planned, and plan what is to be planned.

    Conservative: jobs keep their plans, and new ones are added after them; where something has ended, each job in the
    order of the queue looks for an earlier time among the plans of all others; where nodes have failed, or a
    reservation has come to be known, all is planned anew.
    """
    begun = cycles()
    s = e.state[0]
    s.n_passes += 1
    conservative, fixed = s.scheduler == CONSERVATIVE, s.fixed_nodes != 0
    end = s.queue_end
    if s.drop or not conservative:
        for place in range(end):
            if e.queue[place].job >= 0:
                e.jobs[e.queue[place].job].planned = math.inf
    mask = np.zeros(e.free.size, dtype=np.uint64)
    t, n, quiet = _profile(e, now, mask)
    known = _NO_SIZE
    passed = NO  # whether a job that could be held is left waiting
    for place in range(end):
        job = e.queue[place].job
        if job < 0 or e.jobs[job].nodes > s.n_up:
            continue
        nodes, length = e.jobs[job].nodes, e.jobs[job].wall_left
        old = e.jobs[job].planned
        if old < math.inf:
            if not s.stale:
                passed = YES
                continue
            if not fixed and now < old and quiet <= old:
                most, known = _most_before(t, n, known, old)
                if most < nodes:  # no earlier time, and from `old` on all nodes are there
                    passed = YES
                    continue
            n = _take(t, n, old, old + length, e.masks[job], _NO_SIZE if fixed else nodes, _BACK)
            known = min(known, _index(t, n, old))
        plans = conservative or passed == NO
        first = _fit(t, n, nodes, length, n if plans else 0, mask)
        e.jobs[job].planned = math.inf
        if first == 0:
            n = _take(t, n, now, now + length, mask, _NO_SIZE, _TAKEN)
            start_on(e, job, now, passed, nodes_in(mask, nodes))
            quiet, known = max(quiet, now + length), _NO_SIZE
            continue
        passed = YES
        if s.scheduler == FCFS:
            break
        if first > 0 and plans:
            begin = t.times[first]
            e.jobs[job].planned = begin
            for k in range(mask.size):
                e.masks[job, k] = mask[k]
            n = _take(t, n, begin, begin + length, mask, _NO_SIZE if fixed else nodes, _TAKEN)
            known = min(known, first)
    s.stale = 0
    s.drop = 0
    s.decision_cycles += cycles() - begun


@making_arrays
def _profile(e: Engine, now: float, mask: np.ndarray) -> tuple[Slices, int, float]:
    """Slices from now on: all nodes that are up, less running jobs, reservations that are known, and plans.

    Returns also how many there are, and from when on no node is running a job or reserved.
    """
    s = e.state[0]
    most = 4 + s.n_running + 4 * s.n_waiting + 2 * e.reservations.size
    times = np.empty(most)
    n = _TAKEN
    quiet = now
    for i in range(s.n_running):
        quiet = max(quiet, e.jobs[e.heaps[0, i].item].estimate)
        n = _edge(times, n, now, max(e.jobs[e.heaps[0, i].item].estimate, np.nextafter(now, math.inf)))
    for i in range(e.reservations.size):
        if e.reservations[i].announced <= now < e.reservations[i].end:
            quiet = max(quiet, e.reservations[i].end)
            n = _edge(times, n, now, e.reservations[i].start)
            n = _edge(times, n, now, e.reservations[i].end)
    for place in range(s.queue_end):
        job = e.queue[place].job
        if job >= 0 and e.jobs[job].planned < math.inf:
            begin = e.jobs[job].planned
            n = _edge(times, n, now, begin)
            n = _edge(times, n, now, max(begin + e.jobs[job].wall_left, np.nextafter(begin, math.inf)))
    times[0] = now
    times[:n] = np.sort(times[:n])
    n = _unique(times, n)
    masks = np.empty((most, e.free.size), dtype=np.uint64)
    t = Slices(times, np.empty(most, dtype=np.int64), np.arange(most), masks, np.empty(most, dtype=np.int64))
    for k in range(mask.size):
        masks[0, k] = e.free[k]
    for i in range(s.n_running):
        _job_mask(e, e.heaps[0, i].item, mask)
        for k in range(mask.size):
            masks[0, k] |= mask[k]
    t.counts[:n] = _ones(masks[0])
    for i in range(1, n):
        for k in range(mask.size):
            masks[i, k] = masks[0, k]
    for i in range(s.n_running):
        job = e.heaps[0, i].item
        _job_mask(e, job, mask)
        n = _take(t, n, now, e.jobs[job].estimate, mask, _NO_SIZE, _TAKEN)
    for i in range(e.reservations.size):
        if e.reservations[i].announced <= now < e.reservations[i].end:
            begin = max(now, e.reservations[i].start)
            n = _take(t, n, begin, e.reservations[i].end, e.reserved[i], _NO_SIZE, _TAKEN)
    for place in range(s.queue_end):
        job = e.queue[place].job
        if job >= 0 and e.jobs[job].planned < math.inf:
            begin, size = e.jobs[job].planned, _NO_SIZE if s.fixed_nodes else e.jobs[job].nodes
            n = _take(t, n, begin, begin + e.jobs[job].wall_left, e.masks[job], size, _TAKEN)
    return t, n, quiet


@seldom
def _edge(times: np.ndarray, n: int, now: float, at: float) -> int:
    """Note a time at which a slice begins; returns how many there are."""
    if now < at < math.inf:
        times[n] = at
        return n + 1
    return n


@seldom
def _unique(times: np.ndarray, n: int) -> int:
    """Leave each of some sorted times once; returns how many there are."""
    kept = _TAKEN
    for i in range(1, n):
        if times[i] > times[kept - 1]:
            times[kept] = times[i]
            kept += 1
    return kept


@inner
def _plan_offer(e: Engine, place: int, now: float) -> None:
    """A job has come into the queue."""
    plan_pass(e, now)


PLANNED_PASSES = plan_pass, _plan_offer
