"""The queue of waiting jobs, compiled: places in order of their keys, and a tree of the least nodes and walltimes.

A place that falls empty keeps its key, so places stay in order. The tree says at once whether any job from some place
on can start, and where the next one stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relfit.batch.compiling import inner, seldom
from relfit.batch.engine_state import NOTHING, Engine

__all__ = ["insert", "next_narrow", "next_to_start", "remove"]

_NOTHING: Any = np.int64(NOTHING)


@inner
def _set_leaf(e: Engine, place: int, nodes: int, walltime: float) -> None:
    at = place + e.queue.size
    e.tree[at].nodes = nodes
    e.tree[at].walltime = walltime
    at >>= 1
    while at > 0:
        least = min(e.tree[2 * at].nodes, e.tree[2 * at + 1].nodes)
        shortest = min(e.tree[2 * at].walltime, e.tree[2 * at + 1].walltime)
        if e.tree[at].nodes == least and e.tree[at].walltime == shortest:
            break
        e.tree[at].nodes = least
        e.tree[at].walltime = shortest
        at >>= 1


@inner
def _put(e: Engine, place: int, job: int, class_key: float, time_key: float) -> None:
    e.queue[place].job = job
    e.queue[place].class_key = class_key
    e.queue[place].time_key = time_key
    e.jobs[job].place = place
    _set_leaf(e, place, e.jobs[job].nodes, e.jobs[job].wall_left)


@inner
def remove(e: Engine, place: int) -> None:
    """Take the job at a place out of the queue."""
    e.jobs[e.queue[place].job].place = -1
    e.queue[place].job = -1 - e.queue[place].job  # its number stays, as the last part of the key
    _set_leaf(e, place, _NOTHING, float("inf"))
    e.state[0].n_waiting -= 1
    if e.state[0].n_waiting == 0:
        e.state[0].queue_end = 0


@inner
def _after(e: Engine, place: int, job: int, class_key: float, time_key: float) -> bool:
    """Whether the key at a place is above that of a job."""
    if e.queue[place].class_key != class_key:
        return bool(e.queue[place].class_key > class_key)
    if e.queue[place].time_key != time_key:
        return bool(e.queue[place].time_key > time_key)
    there = e.queue[place].job
    return bool((there if there >= 0 else -1 - there) > job)


@seldom
def _compact(e: Engine) -> None:
    """Move the jobs to the front; the caller has seen to it that a place is free then."""
    end, size = 0, e.queue.size
    for place in range(e.state[0].queue_end):
        job = e.queue[place].job
        if job >= 0:
            if place == e.state[0].head:
                e.state[0].head = end
            e.queue[end].job = job
            e.queue[end].class_key = e.queue[place].class_key
            e.queue[end].time_key = e.queue[place].time_key
            e.jobs[job].place = end
            e.tree[size + end].nodes = e.jobs[job].nodes
            e.tree[size + end].walltime = e.jobs[job].wall_left
            end += 1
    e.state[0].queue_end = end
    for place in range(end, size):
        e.queue[place].job = -1
        e.tree[size + place].nodes = NOTHING
        e.tree[size + place].walltime = float("inf")
    for at in range(size - 1, 0, -1):
        e.tree[at].nodes = min(e.tree[2 * at].nodes, e.tree[2 * at + 1].nodes)
        e.tree[at].walltime = min(e.tree[2 * at].walltime, e.tree[2 * at + 1].walltime)


@inner
def insert(e: Engine, job: int) -> int:
    """Put a job at its place by its keys; returns the place."""
    if e.state[0].queue_end == e.queue.size:
        _compact(e)
    class_key, time_key = e.jobs[job].class_key, e.jobs[job].time_key
    end = e.state[0].queue_end
    low, high = 0, end
    if end > 0 and not _after(e, end - 1, job, class_key, time_key):
        low = end
    while low < high:
        middle = (low + high) >> 1
        if _after(e, middle, job, class_key, time_key):
            high = middle
        else:
            low = middle + 1
    place = low
    if place > 0 and e.queue[place - 1].job < 0:
        place -= 1
    elif place < end and e.queue[place].job >= 0:
        gap = place
        while gap < end and e.queue[gap].job >= 0:
            gap += 1
        for i in range(gap, place, -1):
            if i - 1 == e.state[0].head:
                e.state[0].head = i
            _put(e, i, e.queue[i - 1].job, e.queue[i - 1].class_key, e.queue[i - 1].time_key)
        e.state[0].queue_end = max(end, gap + 1)
    if place == end:
        e.state[0].queue_end = end + 1
    _put(e, place, job, class_key, time_key)
    e.state[0].n_waiting += 1
    return place


@inner
def next_to_start(e: Engine, place: int, free: int, extra: int, now: float, shadow: float) -> int:
    """The next place, from `place` on, whose job fits `free` nodes and ends by `shadow` or fits `extra`; -1 if none."""
    size = e.queue.size
    least = min(free, extra)
    at = place + size
    while True:
        nodes = e.tree[at].nodes
        if nodes <= free and (nodes <= least or now + e.tree[at].walltime <= shadow):
            if at >= size:
                return int(at - size)
            at = 2 * at
            continue
        while at & 1:
            at >>= 1
        if at == 0:
            return -1
        at += 1


@inner
def next_narrow(e: Engine, place: int, most: int) -> int:
    """The next place, from `place` on, whose job needs at most `most` nodes; -1 if there is none."""
    if most <= 0 or place >= e.queue.size:
        return -1
    return next_to_start(e, place, most, most, 0.0, 0.0)
