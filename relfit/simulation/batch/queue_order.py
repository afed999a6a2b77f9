"""Which waiting job starts next, compiled: first come first served, and EASY backfilling by numbers of nodes.

EASY as in Algorithms 2 and 3 of "Exploring the Trade-off Between Repair Time and Reliability": no particular nodes are
reserved for the first waiting job, only enough of them for the time when it can start.
"""

from __future__ import annotations

from relfit.simulation.batch.engine_state import NO, NONE, YES, Engine
from relfit.simulation.batch.job_events import start
from relfit.simulation.batch.running_jobs import shadow_of
from relfit.simulation.batch.waiting_queue import next_narrow, next_to_start
from relfit.simulation.engine.records import compiled, part

FCFS, EASY = range(2)


@part
def _easy(e: Engine, head: int, now: float) -> int:
    """The place of the next job that may start before the one at place `head`, which does not fit; -1 if none."""
    s = e.state[0]
    place = next_narrow(e, head + 1, s.n_free)
    if place < 0:
        return NONE
    job = e.queue[head].job
    if s.head != job:
        s.shadow, s.extra = shadow_of(e, e.jobs[job].nodes)
        s.head = job
    return next_to_start(e, place, s.n_free, s.extra, now, s.shadow)


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
    place = _easy(e, head, now) if s.scheduler == EASY else NONE
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
