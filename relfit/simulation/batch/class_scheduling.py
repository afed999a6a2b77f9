"""Scheduling of jobs that take nodes of several classes at once, compiled.

First come first served, and EASY backfilling: the nodes of each class that the first job that does not fit needs are
reserved for the time when the running jobs leave enough of all of them by their walltimes.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import IntArray
from relfit.simulation.batch.engine_state import IDLE, NO, YES, Engine
from relfit.simulation.batch.job_events import start_on
from relfit.simulation.batch.queue_order import EASY
from relfit.simulation.engine.records import compiled, making_arrays, part


@part
def _fits(e: Engine, job: int, nodes: IntArray) -> bool:
    """Whether `nodes` of each class are enough for a job."""
    short = 0
    for k in range(nodes.size):
        short += e.needs[job, k] > nodes[k]
    return short == 0


@making_arrays
def _shadow(e: Engine, job: int, free: IntArray) -> tuple[float, IntArray]:
    """When enough nodes of all classes are free by the walltimes of running jobs, and how many of each remain then.

    All jobs that end by that very time are counted.
    """
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
