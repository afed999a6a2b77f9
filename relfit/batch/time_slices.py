"""Starts planned ahead, compiled: slices of time with the nodes that are free in each.

For conservative backfilling, for EASY with the nodes of the first waiting job fixed ahead (the original algorithm), and
for reservations. A plan that fixes nodes takes these out of its slices; one that does not takes out their number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relfit.batch.bit_counts import lowest_bit, set_bits
from relfit.batch.compiling import inner, making_arrays, seldom
from relfit.batch.cycle_counter import cycles
from relfit.batch.engine_state import CONSERVATIVE, FCFS, NO, YES, Engine
from relfit.batch.job_events import start_on

__all__ = ["PLANNED_PASSES"]

_typed: Any = np.int64  # so that a function that is called with some of them is compiled once
_NO_SIZE, _TAKEN, _BACK, _FIRST = _typed(0), _typed(1), _typed(-1), _typed(1)
_ONE, _ZERO = np.uint64(1), np.uint64(0)


@seldom
def _ones(words: np.ndarray) -> int:
    """How many bits are set."""
    total = 0
    for i in range(words.size):
        total += set_bits(words[i])
    return total


@seldom
def _cut(times: np.ndarray, counts: np.ndarray, masks: np.ndarray, n: int, at: float) -> int:
    """Make a slice begin at a time after the first slice's; returns the number of slices."""
    if not at < math.inf or at <= times[0]:
        return n
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < at:
            low = middle + 1
        else:
            high = middle
    if low < n and times[low] == at:
        return n
    for i in range(n, low, -1):
        times[i] = times[i - 1]
        counts[i] = counts[i - 1]
        for k in range(masks.shape[1]):
            masks[i, k] = masks[i - 1, k]
    times[low] = at
    counts[low] = counts[low - 1]
    for k in range(masks.shape[1]):
        masks[low, k] = masks[low - 1, k]
    return n + 1


@seldom
def _take(
    times: np.ndarray, counts: np.ndarray, masks: np.ndarray, n: int, begin: float, end: float, mask: np.ndarray,
    size: int, sign: int,
) -> int:  # fmt: skip
    """Take nodes out of the slices of a stretch of time (sign 1), or give them back (-1).

    Where `size` is 0 the nodes of `mask`, else so many of any. Returns the number of slices.
    """
    end = max(end, np.nextafter(begin, math.inf))  # a job of no length has its nodes for an instant
    n = _cut(times, counts, masks, n, begin)
    n = _cut(times, counts, masks, n, end)
    for i in range(n):
        if times[i] >= end:
            break
        if times[i] < begin:
            continue
        if size > 0:
            counts[i] -= sign * size
            continue
        before = _ones(masks[i])
        for k in range(mask.size):
            masks[i, k] = masks[i, k] & ~mask[k] if sign > 0 else masks[i, k] | mask[k]
        counts[i] += _ones(masks[i]) - before
    return n


@seldom
def _fit(
    times: np.ndarray, counts: np.ndarray, masks: np.ndarray, n: int, nodes: int, length: float, last: int,
    mask: np.ndarray,
) -> int:  # fmt: skip
    """The first slice, up to `last`, from which on `nodes` nodes are free for `length`; -1 if none. `mask`: which."""
    for first in range(min(n, last + 1)):
        if counts[first] < nodes:
            continue
        for k in range(mask.size):
            mask[k] = masks[first, k]
        at, end = first, times[first] + length
        fits = True
        while at + 1 < n and times[at + 1] < end:
            at += 1
            if counts[at] < nodes:
                fits = False
                break
            for k in range(mask.size):
                mask[k] &= masks[at, k]
        if not fits or _ones(mask) < nodes:
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
def _listed(mask: np.ndarray, size: int) -> np.ndarray:
    """Numbers of the nodes of a mask."""
    nodes = np.empty(size, dtype=np.int64)
    n = 0
    for k in range(mask.size):
        bits = mask[k]
        while bits != _ZERO:
            nodes[n] = 64 * k + lowest_bit(bits)
            bits &= bits - _ONE
            n += 1
    return nodes


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
    most = 4 + s.n_running + 4 * s.n_waiting + 2 * e.reservations.size
    times, counts = np.empty(most), np.empty(most, dtype=np.int64)
    masks = np.empty((most, e.free.size), dtype=np.uint64)
    mask = np.zeros(e.free.size, dtype=np.uint64)
    n = _profile(e, now, times, counts, masks, mask)
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
            n = _take(times, counts, masks, n, old, old + length, e.masks[job], _NO_SIZE if fixed else nodes, _BACK)
        plans = conservative or passed == NO
        first = _fit(times, counts, masks, n, nodes, length, n if plans else 0, mask)
        e.jobs[job].planned = math.inf
        if first == 0:
            n = _take(times, counts, masks, n, now, now + length, mask, _NO_SIZE, _TAKEN)
            start_on(e, job, now, passed, _listed(mask, nodes))
            continue
        passed = YES
        if s.scheduler == FCFS:
            break
        if first > 0 and plans:
            begin = times[first]
            e.jobs[job].planned = begin
            for k in range(mask.size):
                e.masks[job, k] = mask[k]
            n = _take(times, counts, masks, n, begin, begin + length, mask, _NO_SIZE if fixed else nodes, _TAKEN)
    s.stale = 0
    s.drop = 0
    s.decision_cycles += cycles() - begun


@seldom
def _profile(e: Engine, now: float, times: np.ndarray, counts: np.ndarray, masks: np.ndarray, mask: np.ndarray) -> int:
    """Slices from now on: all nodes that are up, less running jobs, reservations that are known, and plans."""
    times[0] = now
    for k in range(mask.size):
        masks[0, k] = e.free[k]
    for i in range(e.state[0].n_running):
        _job_mask(e, e.heaps[0, i].item, mask)
        for k in range(mask.size):
            masks[0, k] |= mask[k]
    counts[0] = _ones(masks[0])
    n = _FIRST
    for i in range(e.state[0].n_running):
        job = e.heaps[0, i].item
        _job_mask(e, job, mask)
        n = _take(times, counts, masks, n, now, e.jobs[job].estimate, mask, _NO_SIZE, _TAKEN)
    for i in range(e.reservations.size):
        if e.reservations[i].announced <= now < e.reservations[i].end:
            begin = max(now, e.reservations[i].start)
            n = _take(times, counts, masks, n, begin, e.reservations[i].end, e.reserved[i], _NO_SIZE, _TAKEN)
    for place in range(e.state[0].queue_end):
        job = e.queue[place].job
        if job >= 0 and e.jobs[job].planned < math.inf:
            begin, size = e.jobs[job].planned, _NO_SIZE if e.state[0].fixed_nodes else e.jobs[job].nodes
            n = _take(times, counts, masks, n, begin, begin + e.jobs[job].wall_left, e.masks[job], size, _TAKEN)
    return n


@inner
def _plan_offer(e: Engine, place: int, now: float) -> None:
    """A job has come into the queue."""
    plan_pass(e, now)


PLANNED_PASSES = plan_pass, _plan_offer
