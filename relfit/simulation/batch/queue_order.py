"""Which waiting job starts next, compiled: first come first served, and EASY backfilling by numbers of nodes.

EASY as in Algorithms 2 and 3 of "Exploring the Trade-off Between Repair Time and Reliability": no particular nodes are
reserved for the first waiting job, only enough of them for the time when it can start; of each class, where jobs take
nodes of several.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import IntArray
from relfit.simulation.batch.engine_state import IDLE, NO, NONE, YES, Engine
from relfit.simulation.batch.job_events import start, start_on
from relfit.simulation.batch.waiting_queue import next_narrow, next_to_start, shadow_of
from relfit.simulation.engine.records import compiled, making_arrays, part

FCFS, EASY = range(2)


@compiled
def next_job(e: Engine, now: float) -> int:
    """The waiting job that starts now; -1 if none. Jobs that need more nodes than are up are passed over."""
    s = e.state[0]
    head = next_narrow(e, NO, s.n_up)
    if head < 0:
        return NONE
    job = e.queue[head].job
    if s.speedup > 0 or e.jobs[job].nodes <= s.n_free:
        e.jobs[job].backfilled = NO
        return job
    place = next_narrow(e, head + 1, s.n_free) if s.scheduler == EASY else NONE
    if place < 0:
        return NONE
    if s.head != job:
        s.shadow, s.extra = shadow_of(e, e.jobs[job].nodes)
        s.head = job
    place = next_to_start(e, place, s.n_free, s.extra, now, s.shadow)
    if place < 0:
        return NONE
    job = e.queue[place].job
    e.jobs[job].backfilled = YES
    return job


@part
def schedule(e: Engine, now: float) -> None:
    """Start all jobs that start now, on the first idle nodes."""
    e.state[0].n_passes += 1
    job = next_job(e, now)
    while job >= 0:
        start(e, job, now)
        job = next_job(e, now)
    e.state[0].changed = e.state[0].drop_plans = 0


@part
def _fits(e: Engine, job: int, nodes: IntArray) -> bool:
    """Whether `nodes` of each class are enough for a job."""
    short = 0
    for k in range(nodes.size):
        short += e.needs[job, k] > nodes[k]
    return short == 0


@making_arrays
def _shadow(e: Engine, job: int, free: IntArray) -> tuple[float, IntArray]:
    """When enough nodes of all classes are free by the walltimes of running jobs, and how many of each remain then."""
    later, shadow = free.copy(), math.inf
    for i in range(e.state[0].running_end):
        if e.running[i] >= 0:
            if e.estimates[i] > shadow and _fits(e, job, later):
                break
            later += e.needs[e.running[i]]
            shadow = e.estimates[i]
    if not _fits(e, job, later):
        shadow = math.inf
    return shadow, later - e.needs[job]


@making_arrays
def _first_idle(e: Engine, job: int) -> IntArray:
    """The idle nodes of the lowest numbers, as many of each class as a job needs."""
    left, nodes, n = e.needs[job].copy(), np.empty(e.jobs[job].nodes, np.int64), 0
    for node in range(len(e.nodes)):
        if e.owner[node] == IDLE and left[e.class_of[node]] > 0:
            left[e.class_of[node]] -= 1
            nodes[n] = node
            n += 1
    return nodes


@compiled
def schedule_in_classes(e: Engine, now: float) -> None:
    """Start all jobs that start now. Jobs that need more nodes of a class than are up are passed over."""
    s, n_classes = e.state[0], e.needs.shape[1]
    free, up = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for node in range(len(e.nodes)):
        free[e.class_of[node]] += e.owner[node] == IDLE
        up[e.class_of[node]] += e.owner[node] >= IDLE
    is_held, shadow, extra = False, math.inf, free
    for place in range(s.queue_end):
        job = e.queue[place].job
        if job < 0 or not _fits(e, job, up):
            continue
        if not _fits(e, job, free):
            if s.scheduler != EASY:
                break
            if not is_held:
                shadow, extra = _shadow(e, job, free)
                is_held = True
            continue
        if is_held and now + e.jobs[job].wall_left > shadow:
            if not _fits(e, job, extra):
                continue
            extra -= e.needs[job]
        e.jobs[job].backfilled = YES if is_held else NO
        start_on(e, job, now, _first_idle(e, job))
        free -= e.needs[job]
