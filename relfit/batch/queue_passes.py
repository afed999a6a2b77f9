"""Scheduling passes, compiled: first come first served, and EASY backfilling by numbers of nodes.

EASY as Algorithms 2 and 3 of "Exploring the Trade-off Between Repair Time and Reliability" have it: the nodes of the
job that waits first are not fixed, only enough of them are kept for the time when it can start.
"""

from __future__ import annotations

import numpy as np

from relfit.batch.compiling import inner
from relfit.batch.cycle_counter import cycles
from relfit.batch.engine_state import ALL, EASY, NO, RA_OPT, YES, Engine
from relfit.batch.job_events import start, start_moldable
from relfit.batch.running_jobs import shadow_of
from relfit.batch.waiting_queue import next_narrow, next_to_start

__all__ = ["full_pass", "offer"]


@inner
def full_pass(e: Engine, now: float) -> None:
    """Go through the queue: start what can start now, and remember what the first job that cannot waits for."""
    begun = cycles()
    e.state[0].n_passes += 1
    _pass(e, now)
    e.state[0].decision_cycles += cycles() - begun


@inner
def _pass(e: Engine, now: float) -> None:
    e.state[0].stale = 0
    e.state[0].head = -1
    moldable = e.state[0].allocation in (ALL, RA_OPT)
    while True:
        place = next_narrow(e, 0, e.state[0].n_up)
        if place < 0:
            return
        job = e.queue[place].job
        if moldable:
            if not start_moldable(e, job, now):
                e.state[0].head = place
                return
        elif e.jobs[job].nodes <= e.state[0].n_free:
            start(e, job, now, NO)
        else:
            break
    e.state[0].head = place
    e.state[0].shadow = -np.inf
    e.state[0].extra = 0
    if e.state[0].scheduler != EASY or e.state[0].n_free == 0:
        return
    shadow, extra = shadow_of(e, e.state[0].n_free, e.jobs[job].nodes)
    e.state[0].shadow = shadow
    e.state[0].extra = extra
    place += 1
    while e.state[0].n_free > 0 and place < e.queue.size:
        place = next_to_start(e, place, e.state[0].n_free, e.state[0].extra, now, shadow)
        if place < 0:
            return
        _backfill(e, e.queue[place].job, now)
        place += 1


@inner
def _backfill(e: Engine, job: int, now: float) -> None:
    start(e, job, now, YES)
    if e.jobs[job].estimate > e.state[0].shadow:
        e.state[0].extra -= e.jobs[job].nodes


@inner
def offer(e: Engine, place: int, now: float) -> None:
    """A job has just come into the queue, and nothing else has changed since the last pass."""
    head = e.state[0].head
    if head < 0 or place < head:
        full_pass(e, now)
        return
    if e.state[0].scheduler != EASY:
        return
    job, free = e.queue[place].job, e.state[0].n_free
    nodes = e.jobs[job].nodes
    if nodes <= free and (nodes <= e.state[0].extra or now + e.jobs[job].wall_left <= e.state[0].shadow):
        _backfill(e, job, now)
