"""What happens to jobs and their nodes, compiled: a job starts, ends, is killed by a failure, goes back into the queue.

The nodes of a job are linked from the first to the last.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import IntArray
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.engine_state import Engine
from relfit.simulation.batch.waiting_queue import add_running, drop_running, insert, remove
from relfit.simulation.engine.event_heap import put
from relfit.simulation.engine.event_heap import remove as take_out
from relfit.simulation.engine.records import compiled, making_arrays, part


@part
def write_line(e: Engine, kind: int, time: float, until: float, job: int, node: int, value: int) -> None:
    """Add a line to the log."""
    line = e.log[e.state[0].n_log]
    e.state[0].n_log += 1
    line.time, line.until, line.kind = time, until, kind
    line.job, line.node, line.value = job, node, value


@part
def _take(e: Engine, job: int, node: int, last: int) -> None:
    """Give a job an idle node, after its node `last`."""
    e.owner[node] = job
    e.following[node] = es.NONE
    if last < 0:
        e.jobs[job].first = node
    else:
        e.following[last] = node


@part
def take_lowest(e: Engine, job: int, size: int) -> None:
    """First fit: the idle nodes of the lowest numbers."""
    node, last = e.state[0].lowest, es.NONE
    for _ in range(size):
        while e.owner[node] != es.IDLE:
            node += 1
        _take(e, job, node, last)
        last = node
    e.state[0].lowest = node
    e.state[0].n_free -= size


@part
def take_listed(e: Engine, job: int, nodes: IntArray) -> None:
    """Give a job the nodes listed, which are idle."""
    last = es.NONE
    for node in nodes:
        _take(e, job, node, last)
        last = node
    e.state[0].n_free -= nodes.size


@part
def give_back(e: Engine, job: int) -> None:
    """The nodes of a job, all up, are idle again."""
    node, lowest = e.jobs[job].first, e.state[0].lowest
    e.jobs[job].first = es.NONE
    while node >= 0:
        e.owner[node] = es.IDLE
        lowest = min(lowest, node)
        node = e.following[node]
    e.state[0].lowest = lowest
    e.state[0].n_free += e.jobs[job].nodes


@part
def log_nodes(e: Engine, job: int, now: float) -> None:
    """Write down which nodes a job has got, a line for those that follow each other."""
    first = node = e.jobs[job].first
    while node >= 0:
        following = e.following[node]
        if following != node + 1:
            write_line(e, es.LOG_SPAN, now, 0.0, job, first, node + 1 - first)
            first = following
        node = following


@making_arrays
def idle_nodes(e: Engine) -> IntArray:
    """Numbers of all idle nodes, in order."""
    nodes = np.empty(e.state[0].n_free, np.int64)
    n, node = 0, e.state[0].lowest
    while n < nodes.size:
        if e.owner[node] == es.IDLE:
            nodes[n] = node
            n += 1
        node += 1
    return nodes


@part
def moldable_time(e: Engine, job: int, size: int) -> float:
    """Seconds that a job runs on `size` nodes, by Amdahl (1) or Gustafson (2)."""
    p = e.state[0].parallel
    speedup = 1.0 / (p / size + 1.0 - p) if e.state[0].speedup == 1 else 1.0 - p + size * p
    return e.jobs[job].work / speedup


@part
def _saves(e: Engine, job: int) -> float:
    """Checkpoints that are still to come: one per full interval of work, none at the end of the job."""
    every, work = e.jobs[job].every, e.jobs[job].work - e.jobs[job].saved
    if not every < math.inf or work < every:
        return 0.0
    intervals = math.floor(work / every)
    return intervals - 1.0 if work % every == 0.0 else intervals


@part
def _restore(e: Engine, job: int) -> float:
    return e.jobs[job].restore if e.jobs[job].saved > 0.0 else 0.0


@compiled
def duration(e: Engine, job: int) -> float:
    """Seconds that a job would run from its start to its end."""
    if e.state[0].speedup > 0:
        return moldable_time(e, job, e.jobs[job].nodes)
    return _restore(e, job) + (e.jobs[job].work - e.jobs[job].saved + _saves(e, job) * e.jobs[job].save)


@part
def _run(e: Engine, job: int, now: float) -> None:
    """Take a job that has its nodes out of the queue and let it run."""
    own, s = e.jobs[job], e.state[0]
    remove(e, own.place)
    length = duration(e, job)
    own.late = length > own.wall_left
    own.status = es.RUNNING
    own.start = now
    own.waited += now - own.queued
    if own.kills == 0:
        own.first_start = now
    own.finish = now + min(length, own.wall_left)
    own.estimate = now + own.wall_left
    put(e.events, job, own.finish, es.END)
    add_running(e, job)
    s.n_starts += 1
    s.head = es.NONE
    if s.keep > 0:
        write_line(e, es.LOG_START, now, 0.0, job, es.NONE, own.backfilled)
        if s.keep > 1:
            log_nodes(e, job, now)


@part
def start(e: Engine, job: int, now: float) -> None:
    """Start a waiting job on the first idle nodes; there are enough."""
    take_lowest(e, job, e.jobs[job].nodes)
    _run(e, job, now)


@compiled
def start_on(e: Engine, job: int, now: float, nodes: IntArray) -> None:
    """Start a waiting job on the idle nodes listed."""
    e.jobs[job].nodes = nodes.size
    take_listed(e, job, nodes)
    _run(e, job, now)


@part
def _stop(e: Engine, job: int) -> None:
    drop_running(e, job)
    give_back(e, job)
    e.state[0].head = es.NONE
    e.state[0].changed = 1


@part
def finish(e: Engine, job: int, now: float) -> None:
    """A job ends: done or at its walltime."""
    _stop(e, job)
    own = e.jobs[job]
    own.status = es.OVER_WALLTIME if own.late else es.DONE
    e.state[0].n_left -= 1
    if not own.late:
        own.overhead += _restore(e, job) + _saves(e, job) * own.save
    if e.state[0].keep > 0:
        write_line(e, es.LOG_END, now, 0.0, job, es.NONE, es.TIMED_OUT if own.late else es.SUCCEEDED)


@part
def kill(e: Engine, job: int, now: float, node: int) -> None:
    """A failure of `node` ends a job; the work in its last complete checkpoint is not lost."""
    take_out(e.events, job)
    _stop(e, job)
    own = e.jobs[job]
    elapsed, restore, step, saves = now - own.start, _restore(e, job), own.every + own.save, 0.0
    if step < math.inf and elapsed > restore:
        saves = min(math.floor((elapsed - restore) / step), _saves(e, job))
    own.lost += elapsed
    own.killed_run += elapsed
    if saves > 0.0:
        own.lost -= saves * step + restore
        own.overhead += saves * own.save + restore
        own.saved += saves * own.every
        own.wall_left -= saves * step - own.restore
    own.kills += 1
    e.state[0].n_kills += 1
    if e.state[0].keep > 0:
        write_line(e, es.LOG_END, now, 0.0, job, node, es.KILLED)


@part
def is_gone(e: Engine, node: int) -> bool:
    """Whether a node is never back."""
    place = e.events.place[len(e.jobs) + node]
    return place >= 0 and e.events.events[place].time == math.inf


@part
def can_ever_start(e: Engine, job: int) -> bool:
    """Whether enough nodes remain for a job, of each class that it takes."""
    if len(e.class_of) == 0 or e.state[0].n_gone == 0:
        return e.jobs[job].nodes <= len(e.nodes) - e.state[0].n_gone
    for k in range(e.needs.shape[1]):
        left = e.needs[job, k]
        for node in range(len(e.nodes)):
            if left > 0 and e.class_of[node] == k and not is_gone(e, node):
                left -= 1
        if left > 0:
            return False
    return True


@part
def join(e: Engine, job: int, now: float) -> None:
    """A job joins the queue; one that needs more nodes than remain is rejected."""
    if not can_ever_start(e, job):
        e.jobs[job].status = es.REJECTED
        e.state[0].n_left -= 1
        return
    e.jobs[job].status = es.WAITING
    e.jobs[job].queued = now
    insert(e, job)


@part
def requeue(e: Engine, job: int, now: float) -> None:
    """Put a killed job back into the queue."""
    if e.state[0].requeue == es.BY_HEAD:
        e.jobs[job].class_key = -math.inf
        e.jobs[job].time_key = -now
    elif e.state[0].requeue == es.BY_TAIL:
        e.jobs[job].time_key = now
    join(e, job, now)
