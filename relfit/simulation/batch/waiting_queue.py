"""Waiting and running jobs in their order, compiled.

The queue of waiting jobs has places in order of their keys, and a tree of the least nodes and walltimes. A place that
falls empty keeps its key, so places stay in order. The tree gives, in logarithmic time, the next job from a place on
that can start. Running jobs are in order of the end of their walltime.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import IntArray
from relfit.simulation.batch.engine_state import NOTHING, Engine
from relfit.simulation.engine.records import part


@part
def _set_leaf(e: Engine, place: int, nodes: int, walltime: float) -> None:
    tree = e.tree
    at = place + len(e.queue)
    tree[at].nodes = nodes
    tree[at].walltime = walltime
    at >>= 1
    while at > 0:
        least = min(tree[2 * at].nodes, tree[2 * at + 1].nodes)
        shortest = min(tree[2 * at].walltime, tree[2 * at + 1].walltime)
        if tree[at].nodes == least and tree[at].walltime == shortest:
            break
        tree[at].nodes = least
        tree[at].walltime = shortest
        at >>= 1


@part
def _put(e: Engine, place: int, job: int, class_key: float, time_key: float) -> None:
    row = e.queue[place]
    row.job, row.class_key, row.time_key = job, class_key, time_key
    e.jobs[job].place = place
    _set_leaf(e, place, e.jobs[job].nodes, e.jobs[job].wall_left)


@part
def remove(e: Engine, place: int) -> None:
    """Take the job at a place out of the queue."""
    row, s = e.queue[place], e.state[0]
    e.jobs[row.job].place = -1
    row.job = -1 - row.job  # its number is kept as the last part of the key
    _set_leaf(e, place, NOTHING, math.inf)
    s.n_waiting -= 1
    if s.n_waiting == 0:
        s.queue_end = 0


@part
def _after(e: Engine, place: int, job: int) -> bool:
    """Whether the key at a place is above that of a job."""
    row, own = e.queue[place], e.jobs[job]
    if row.class_key != own.class_key:
        return row.class_key > own.class_key
    if row.time_key != own.time_key:
        return row.time_key > own.time_key
    return (row.job if row.job >= 0 else -1 - row.job) > job


@part
def _compact(e: Engine) -> None:
    """Move the jobs to the front; the caller makes sure that a place is free then."""
    end, old = 0, e.state[0].queue_end
    for place in range(old):
        row = e.queue[place]
        if row.job >= 0:
            job, class_key, time_key = row.job, row.class_key, row.time_key
            _put(e, end, job, class_key, time_key)
            end += 1
    for place in range(end, old):
        e.queue[place].job = -1
        _set_leaf(e, place, NOTHING, math.inf)
    e.state[0].queue_end = end


@part
def _place_of(e: Engine, job: int) -> int:
    """The first place whose key is above that of a job."""
    low, high = 0, e.state[0].queue_end
    if high > 0 and not _after(e, high - 1, job):
        low = high
    while low < high:
        middle = (low + high) >> 1
        if _after(e, middle, job):
            high = middle
        else:
            low = middle + 1
    return low


@part
def insert(e: Engine, job: int) -> None:
    """Insert a job by its keys."""
    s = e.state[0]
    if s.queue_end == len(e.queue):
        _compact(e)
    place = _place_of(e, job)
    if place > 0 and e.queue[place - 1].job < 0:
        place -= 1
    else:
        gap = place
        while gap < s.queue_end and e.queue[gap].job >= 0:
            gap += 1
        for i in range(gap, place, -1):
            before = e.queue[i - 1]
            _put(e, i, before.job, before.class_key, before.time_key)
        s.queue_end = max(s.queue_end, gap + 1)
    _put(e, place, job, e.jobs[job].class_key, e.jobs[job].time_key)
    s.n_waiting += 1


@part
def next_to_start(e: Engine, place: int, free: int, extra: int, now: float, shadow: float) -> int:
    """The next place, from `place` on, whose job fits `free` nodes and ends by `shadow` or fits `extra`; -1 if none."""
    size, least = len(e.queue), min(free, extra)
    if place >= size:
        return -1
    at = place + size
    while True:
        nodes = e.tree[at].nodes
        if nodes <= least or (nodes <= free and now + e.tree[at].walltime <= shadow):
            if at >= size:
                return at - size
            at = 2 * at
            continue
        while at & 1:
            at >>= 1
        if at == 0:
            return -1
        at += 1


@part
def next_narrow(e: Engine, place: int, most: int) -> int:
    """The next place, from `place` on, whose job needs at most `most` nodes; -1 if there is none."""
    return next_to_start(e, place, most, most, 0.0, 0.0) if most > 0 else -1


def waiting_jobs(e: Engine) -> IntArray:
    """Numbers of the waiting jobs, in the order of the queue."""
    jobs = np.asarray(e.queue["job"][: int(e.state["queue_end"][0])])
    return jobs[jobs >= 0]


@part
def _place(e: Engine, estimate: float, after: bool) -> int:
    """The first place of an estimate in the order, or the place after its last."""
    low, high = 0, e.state[0].running_end
    while low < high:
        middle = (low + high) >> 1
        time = e.estimates[middle]
        if time < estimate or (after and time == estimate):
            low = middle + 1
        else:
            high = middle
    return low


@part
def add_running(e: Engine, job: int) -> None:
    """A job holds its nodes until its estimate."""
    s, running, estimates = e.state[0], e.running, e.estimates
    if s.running_end > 2 * s.n_running + 32:  # move the jobs to the front
        end = 0
        for i in range(s.running_end):
            if running[i] >= 0:
                running[end] = running[i]
                estimates[end] = estimates[i]
                end += 1
        s.running_end = end
    place = _place(e, e.jobs[job].estimate, True)
    if place > 0 and running[place - 1] < 0:
        place -= 1
    else:
        gap = place
        while gap < s.running_end and running[gap] >= 0:
            gap += 1
        s.running_end = max(s.running_end, gap + 1)
        for i in range(gap, place, -1):
            running[i] = running[i - 1]
            estimates[i] = estimates[i - 1]
    running[place] = job
    estimates[place] = e.jobs[job].estimate
    s.n_running += 1


@part
def drop_running(e: Engine, job: int) -> None:
    """A job no longer holds its nodes."""
    place = _place(e, e.jobs[job].estimate, False)
    while e.running[place] != job:
        place += 1
    e.running[place] = -1
    e.state[0].n_running -= 1


@part
def shadow_of(e: Engine, nodes: int) -> tuple[float, int]:
    """When `nodes` nodes are free by the walltimes of running jobs (ends at that time count), and how many remain."""
    free, shadow = e.state[0].n_free, math.inf
    for i in range(e.state[0].running_end):
        if e.running[i] >= 0:
            if free >= nodes and e.estimates[i] > shadow:
                break
            free += e.jobs[e.running[i]].nodes
            shadow = e.estimates[i]
    if free < nodes:
        shadow = math.inf
    return shadow, free - nodes
