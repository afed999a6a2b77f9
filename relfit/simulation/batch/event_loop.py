"""The event loop of the batch simulator, compiled.

At one instant: jobs end, nodes come back, failures strike, killed jobs and then new ones join the queue, and the
scheduler decides. First come first served and EASY on the first idle nodes decide in the loop; for all other policies
the loop stops for each decision.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.numeric.compiled import compile_notice
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.engine_state import Engine
from relfit.simulation.batch.job_events import can_ever_start, finish, is_gone, join, kill, requeue, write_line
from relfit.simulation.batch.queue_order import schedule
from relfit.simulation.batch.waiting_queue import remove
from relfit.simulation.engine.event_heap import pop, put
from relfit.simulation.engine.records import compiled, part
from relfit.simulation.engine.repair_stages import REPLACED


@part
def _next_instant(e: Engine) -> float:
    """The time of the next event."""
    s, now = e.state[0], math.inf
    while s.next_submit < len(e.jobs) and e.jobs[s.next_submit].status != es.SUBMITTED_LATER:
        s.next_submit += 1
    if s.next_submit < len(e.jobs):
        now = e.jobs[s.next_submit].submit
    for row in e.reservations:
        for time in (row.announced, row.end):
            if s.now < time < now:
                now = time
    if e.events.size[0] > 0:
        now = min(now, e.events.events[0].time)
    if s.next_failure < len(e.failures):
        now = min(now, e.failures[s.next_failure].time)
    elif now == math.inf and s.drawn_until < math.inf:
        now = np.nextafter(s.drawn_until, math.inf)
    return now


@part
def _room(e: Engine, now: float) -> int:
    """Whether the tables have room for all events of one instant: ``SPENT`` if so, else the table that has to grow."""
    s, arriving, striking = e.state[0], 0, 0
    while s.next_submit + arriving < len(e.jobs) and e.jobs[s.next_submit + arriving].submit <= now:
        arriving += 1
    most = s.n_waiting + s.n_running + arriving + 1
    if most > len(e.queue):
        s.need = most
        return es.LARGER_QUEUE
    if s.keep > 0:
        while s.next_failure + striking < len(e.failures) and e.failures[s.next_failure + striking].time <= now:
            striking += 1
        lines = 2 * min(most, len(e.nodes)) + s.n_running + striking + 2 * len(e.nodes) * (s.keep - 1)
        if s.n_log + lines > len(e.log):
            s.need = lines
            return es.LARGER_LOG
    return es.SPENT


@part
def _come_back(e: Engine, node: int, now: float) -> None:
    """A node is repaired; jobs that need more nodes than are up may be rejected."""
    s = e.state[0]
    e.nodes[node].up_since = now
    e.owner[node] = es.IDLE
    s.n_up += 1
    s.n_free += 1
    s.head = es.NONE
    s.lowest = min(s.lowest, node)
    s.n_repairs += 1
    s.changed = 1
    if s.reject_after == 0:
        return
    for place in range(s.queue_end):
        job = e.queue[place].job
        if job < 0:
            continue
        e.jobs[job].waited_repairs += 1
        if e.jobs[job].nodes <= s.n_up:
            e.jobs[job].waited_repairs = 0
        elif e.jobs[job].waited_repairs >= s.reject_after:
            e.jobs[job].status = es.REJECTED
            s.n_left -= 1
            remove(e, place)


@part
def _lose(e: Engine, node: int) -> None:
    """A node that is down is never back; jobs that need more nodes than remain are rejected."""
    s = e.state[0]
    put(e.events, len(e.jobs) + node, math.inf, es.REPAIR)
    s.n_gone += 1
    for place in range(s.queue_end):
        job = e.queue[place].job
        if job >= 0 and not can_ever_start(e, job):
            e.jobs[job].status = es.REJECTED
            s.n_left -= 1
            remove(e, place)


@part
def _strike(e: Engine, now: float) -> None:
    """Failures of this instant; those of nodes that are down already are ignored."""
    s = e.state[0]
    s.n_killed = 0
    while s.next_failure < len(e.failures) and e.failures[s.next_failure].time <= now:
        row = e.failures[s.next_failure]
        s.next_failure += 1
        job = e.owner[row.node]
        if job < es.NONE:
            s.n_ignored += 1
            if row.repair == math.inf and not is_gone(e, row.node):
                _lose(e, row.node)
            continue
        s.changed = s.drop_plans = 1
        if job >= 0:
            kill(e, job, now, row.node)
            e.killed[s.n_killed] = job
            s.n_killed += 1
        if s.keep > 0:
            write_line(e, es.LOG_DOWN, now, now + row.repair, es.NONE, row.node, row.outcome)
        s.n_failures += 1
        e.nodes[row.node].up_since = now
        s.n_replaced += row.outcome == REPLACED
        if not row.repair > 0.0:
            continue
        e.owner[row.node] = es.DOWN
        s.n_up -= 1
        s.n_free -= 1
        s.head = es.NONE
        if row.repair == math.inf:
            _lose(e, row.node)
        else:
            put(e.events, len(e.jobs) + row.node, now + row.repair, es.REPAIR)


@part
def _queue(e: Engine, now: float) -> bool:
    """Killed and new jobs join the queue, reservations are announced or end; whether there is something to decide."""
    s, arrived = e.state[0], False
    for i in range(s.n_killed):
        requeue(e, e.killed[i], now)
        arrived = True
    while s.next_submit < len(e.jobs) and e.jobs[s.next_submit].submit <= now:
        job = s.next_submit
        s.next_submit += 1
        if e.jobs[job].status == es.SUBMITTED_LATER:
            join(e, job, now)
            arrived = True
    for row in e.reservations:
        if now in (row.announced, row.end):
            s.changed = 1
            s.drop_plans |= row.announced == now
    return s.n_waiting > 0 and (arrived or s.changed != 0)


@part
def _instant(e: Engine, now: float) -> int:
    """All events of an instant: ``SPENT``, or ``DECIDE`` where a policy outside the loop has to decide first."""
    s = e.state[0]
    if s.phase == es.EVENTS:
        while e.events.size[0] > 0 and e.events.events[0].time <= now:
            _, kind, number = pop(e.events)
            if kind == es.END:
                finish(e, number, now)
            else:
                _come_back(e, number - len(e.jobs), now)
        _strike(e, now)
        s.phase = es.QUEUE
        if s.n_killed > 0 and s.offer_first and s.n_waiting > 0:
            if s.outside:
                return es.DECIDE
            schedule(e, now)
    s.phase = es.EVENTS
    if _queue(e, now):
        if s.outside:
            return es.DECIDE
        schedule(e, now)
    return es.SPENT


@compiled
def advance(e: Engine, pause: float, budget: int) -> int:
    """Run until the next instant would be after `pause`, or for `budget` instants.

    Returns ``FINISHED``, ``PAUSED``, ``SPENT`` (the budget), ``DECIDE`` (call again afterwards), or what the engine
    needs first: ``MORE_FAILURES``, ``LARGER_QUEUE`` or ``LARGER_LOG`` (how much is in ``state["need"]``).
    """
    s, code = e.state[0], es.SPENT
    while code == es.SPENT and budget > 0:
        budget -= 1
        now = s.now
        if s.phase == es.EVENTS:
            now = _next_instant(e) if s.n_left > 0 else math.inf
            if not now < math.inf or now > s.until:
                s.now = s.until if s.until < math.inf and s.n_left > 0 else s.now
                return es.FINISHED
            if now > s.drawn_until:
                return es.MORE_FAILURES
            if now > pause:
                return es.PAUSED
            code = _room(e, now)
            if code != es.SPENT:
                return code
            s.now = now
            s.n_events += 1
        code = _instant(e, now)
    return code


def prepare() -> None:
    """Compile the simulator, or load it from numba's cache; compiling takes some ten seconds."""
    with compile_notice(advance, "about ten seconds"):
        advance(es.new_engine(es.new_jobs(0), 1), 0.0, 1)
