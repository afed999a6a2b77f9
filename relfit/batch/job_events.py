"""What happens to a job, compiled: it starts, ends, is killed by a failure, and goes back into the queue."""

from __future__ import annotations

import math

import numpy as np

from relfit.batch.compiling import inner, making_arrays, seldom
from relfit.batch.engine_state import (
    BY_HEAD,
    BY_TAIL,
    DONE,
    KILLED,
    LOG_END,
    LOG_START,
    NO,
    NONE,
    OVER_WALLTIME,
    RUNNING,
    SUCCEEDED,
    TIMED_OUT,
    WAITING,
    Engine,
)
from relfit.batch.node_pool import give_back, take_by_policy, take_listed, take_lowest, write_line
from relfit.batch.optimal_size import moldable_nodes, moldable_time
from relfit.batch.running_jobs import add_estimate, drop_end, drop_estimate, push_end
from relfit.batch.waiting_queue import insert, remove

__all__ = ["finish", "join", "kill", "requeue", "start", "start_by_policy", "start_moldable", "start_on"]


@inner
def _saves(e: Engine, job: int) -> float:
    """Full intervals of work that are still to be saved; none after the last of the work."""
    every, work = e.jobs[job].every, e.jobs[job].work - e.jobs[job].saved
    if not every < math.inf or work < every:
        return 0.0
    whole = math.floor(work / every)
    return float(whole - 1.0 if work % every == 0.0 else whole)


@inner
def _restore(e: Engine, job: int) -> float:
    return float(e.jobs[job].restore if e.jobs[job].saved > 0.0 else 0.0)


@inner
def _begin(e: Engine, job: int, now: float, duration: float, backfilled: int) -> None:
    """The job, whose nodes it has, is out of the queue and runs."""
    remove(e, e.jobs[job].place)
    walltime = e.jobs[job].wall_left
    late = duration > walltime
    e.jobs[job].late = late
    e.jobs[job].status = RUNNING
    e.jobs[job].backfilled = backfilled
    e.jobs[job].start = now
    e.jobs[job].waited += now - e.jobs[job].queued
    if e.jobs[job].kills == 0:
        e.jobs[job].first_start = now
    e.jobs[job].finish = now + (walltime if late else duration)
    e.jobs[job].estimate = now + walltime
    push_end(e, job)
    add_estimate(e, job)


@inner
def _log_start(e: Engine, job: int, now: float, backfilled: int) -> None:
    e.state[0].n_starts += 1
    if e.state[0].keep > 0:
        write_line(e, LOG_START, now, 0.0, job, NONE, backfilled)


@inner
def _duration(e: Engine, job: int) -> float:
    work = e.jobs[job].work - e.jobs[job].saved
    return float(_restore(e, job) + (work + _saves(e, job) * e.jobs[job].save))


@inner
def start(e: Engine, job: int, now: float, backfilled: int) -> None:
    """Start a waiting job on the first idle nodes; there are enough."""
    _log_start(e, job, now, backfilled)
    take_lowest(e, job, e.jobs[job].nodes)
    _begin(e, job, now, _duration(e, job), backfilled)


@inner
def start_by_policy(e: Engine, job: int, now: float, backfilled: int) -> None:
    """Start a waiting job on idle nodes that the policy chooses; there are enough."""
    duration = _duration(e, job)
    _log_start(e, job, now, backfilled)
    take_by_policy(e, job, e.jobs[job].nodes, now, duration)
    _begin(e, job, now, duration, backfilled)


@inner
def start_on(e: Engine, job: int, now: float, backfilled: int, nodes: np.ndarray) -> None:
    """Start a waiting job on the idle nodes listed."""
    _log_start(e, job, now, backfilled)
    take_listed(e, job, nodes)
    _begin(e, job, now, _duration(e, job), backfilled)


@making_arrays
def start_moldable(e: Engine, job: int, now: float) -> bool:
    """Start a job of any size on as many nodes as the policy finds best; False where it has to wait."""
    chosen = moldable_nodes(e, job, now)
    if chosen.size == 0:
        return False
    e.jobs[job].nodes = chosen.size
    _log_start(e, job, now, NO)
    take_listed(e, job, chosen)
    _begin(e, job, now, moldable_time(e, job, chosen.size), NO)
    return True


@inner
def _give_back(e: Engine, job: int) -> None:
    drop_end(e, job)
    drop_estimate(e, job)
    give_back(e, job)


@inner
def finish(e: Engine, job: int, now: float) -> None:
    """A job ends, done or at its walltime."""
    _give_back(e, job)
    late = e.jobs[job].late != 0
    e.jobs[job].status = OVER_WALLTIME if late else DONE
    e.state[0].n_left -= 1
    if not late:
        e.jobs[job].overhead += _restore(e, job) + _saves(e, job) * e.jobs[job].save
    if e.state[0].keep > 0:
        write_line(e, LOG_END, now, 0.0, job, NONE, TIMED_OUT if late else SUCCEEDED)


@seldom
def kill(e: Engine, job: int, now: float, node: int) -> None:
    """A failure of `node` ends a job; what its last complete checkpoint has is not lost."""
    _give_back(e, job)
    elapsed, restore = now - e.jobs[job].start, _restore(e, job)
    step = e.jobs[job].every + e.jobs[job].save
    saves = 0.0
    if step < math.inf and elapsed > restore:
        saves = min(math.floor((elapsed - restore) / step), _saves(e, job))
    e.jobs[job].lost += elapsed
    e.jobs[job].killed_run += elapsed
    if saves > 0.0:
        e.jobs[job].lost -= saves * step + restore
        e.jobs[job].overhead += saves * e.jobs[job].save + restore
        e.jobs[job].saved += saves * e.jobs[job].every
        e.jobs[job].wall_left -= saves * step - e.jobs[job].restore
    e.jobs[job].kills += 1
    e.state[0].n_kills += 1
    if e.state[0].keep > 0:
        write_line(e, LOG_END, now, 0.0, job, node, KILLED)


@inner
def join(e: Engine, job: int, now: float) -> int:
    """A job joins the queue; returns its place."""
    e.jobs[job].status = WAITING
    e.jobs[job].queued = now
    return insert(e, job)


@seldom
def requeue(e: Engine, job: int, now: float) -> int:
    """Put a killed job back into the queue; returns its place."""
    if e.state[0].requeue == BY_HEAD:
        e.jobs[job].class_key = -math.inf
        e.jobs[job].time_key = -now
    elif e.state[0].requeue == BY_TAIL:
        e.jobs[job].time_key = now
    return join(e, job, now)
