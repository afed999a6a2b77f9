"""The event loop of the batch simulator, compiled.

At one instant: jobs end, nodes come back, failures strike, killed jobs and then new ones join the queue, and a
scheduling pass follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relfit.batch.compiling import inner, merged, outermost, seldom, sources
from relfit.batch.cycle_counter import cycles
from relfit.batch.engine_state import (
    AS_PLANNED,
    BY_POLICY,
    FINISHED,
    FIRST_FIT,
    LARGER_LOG,
    LARGER_QUEUE,
    LOG_DOWN,
    MORE_FAILURES,
    NO,
    NONE,
    ON_FIRST_NODES,
    PAUSED,
    REJECTED,
    SPENT,
    SUBMITTED_LATER,
    Engine,
    new_engine,
    new_jobs,
)
from relfit.batch.job_events import finish, join, kill, requeue
from relfit.batch.node_pool import owner_of, release_node, take_node, write_line
from relfit.batch.queue_passes import PASSES, PASSES_BY_POLICY, Passes
from relfit.batch.running_jobs import pop_repair, push_repair
from relfit.batch.time_slices import PLANNED_PASSES
from relfit.batch.waiting_queue import remove
from relfit.numeric.compiling_notice import compile_notice

__all__ = ["advance", "prepare"]


@inner
def _next_instant(e: Engine) -> float:
    """When something happens next."""
    jobs = e.jobs.size
    while e.state[0].next_submit < jobs and e.jobs[e.state[0].next_submit].status != SUBMITTED_LATER:
        e.state[0].next_submit += 1
    now = math.inf
    if e.state[0].next_submit < jobs:
        now = e.jobs[e.state[0].next_submit].submit
    for i in range(e.reservations.size):
        for time in (e.reservations[i].announced, e.reservations[i].end):
            if e.state[0].now < time < now:
                now = time
    if e.state[0].n_running > 0:
        now = min(now, e.heaps[0, 0].time)
    if e.state[0].n_repairing > 0:
        now = min(now, e.heaps[1, 0].time)
    if e.state[0].next_failure < e.state[0].n_failures:
        now = min(now, e.failures[e.state[0].next_failure].time)
    elif now == math.inf and e.state[0].known_until < math.inf:
        now = np.nextafter(e.state[0].known_until, math.inf)
    return float(now)


@seldom
def _room(e: Engine, now: float) -> int:
    """Whether what can happen at one instant finds room: ``SPENT`` if so, else what has to grow."""
    arriving = 0
    for job in range(e.state[0].next_submit, e.jobs.size):
        if e.jobs[job].submit > now:
            break
        arriving += 1
    most = e.state[0].n_waiting + e.state[0].n_running + arriving + 1
    if most > e.queue.size:
        e.state[0].need = most
        return LARGER_QUEUE
    if e.state[0].keep > 0:
        nodes, striking = e.nodes.size, 0
        for i in range(e.state[0].next_failure, e.state[0].n_failures):
            if e.failures[i].time > now:
                break
            striking += 1
        lines = 2 * min(most, nodes) + e.state[0].n_running + striking
        if e.state[0].keep > 1:
            lines += 2 * nodes
        if e.state[0].n_log + lines > e.log.size:
            e.state[0].need = lines
            return LARGER_LOG
    return SPENT


@seldom
def _edges(e: Engine, now: float) -> None:
    """Reservations that come to be known, or are over."""
    for i in range(e.reservations.size):
        if e.reservations[i].announced == now:
            e.state[0].stale = e.state[0].drop = 1
        elif e.reservations[i].end == now:
            e.state[0].stale = 1


@seldom
def _come_back(e: Engine, node: int, now: float) -> None:
    """A node is repaired; jobs that still no set of working nodes can hold may be rejected."""
    e.nodes[node].down = 0
    e.nodes[node].up_since = now
    e.state[0].n_up += 1
    e.state[0].n_repairs += 1
    e.state[0].stale = 1
    release_node(e, node)
    if e.state[0].reject_after == 0:
        return
    for place in range(e.queue.size):
        job = e.queue[place].job
        if job < 0:
            continue
        if e.jobs[job].nodes <= e.state[0].n_up:
            e.jobs[job].waited_repairs = 0
            continue
        e.jobs[job].waited_repairs += 1
        if e.jobs[job].waited_repairs >= e.state[0].reject_after:
            e.jobs[job].status = REJECTED
            e.state[0].n_left -= 1
            remove(e, place)


@seldom
def _strike(e: Engine, now: float) -> int:
    """Failures of this instant; those of nodes that are down already are ignored. Returns how many jobs are killed."""
    killed = 0
    while e.state[0].next_failure < e.state[0].n_failures and e.failures[e.state[0].next_failure].time <= now:
        at = e.state[0].next_failure
        e.state[0].next_failure += 1
        node, repair = e.failures[at].node, e.failures[at].repair
        if e.nodes[node].down:
            e.state[0].n_ignored += 1
            continue
        e.state[0].stale = e.state[0].drop = 1
        owner = owner_of(e, node)
        if owner >= 0:
            kill(e, owner, now, node)
            e.nodes[killed].killed = owner
            killed += 1
        if e.state[0].keep > 0:
            write_line(e, LOG_DOWN, now, now + repair, NONE, node, NO)
        e.state[0].n_outages += 1
        e.nodes[node].up_since = now
        if repair > 0.0:
            take_node(e, node)
            e.nodes[node].down = 1
            e.state[0].n_up -= 1
            push_repair(e, node, now + repair)
    return killed


def _instants(passes: Passes) -> Callable[[Engine, float], None]:
    full_pass, offer = passes

    @merged
    def instant(e: Engine, now: float) -> None:
        while e.state[0].n_running > 0 and e.heaps[0, 0].time <= now:
            finish(e, e.heaps[0, 0].item, now)
            e.state[0].stale = 1
        while e.state[0].n_repairing > 0 and e.heaps[1, 0].time <= now:
            _come_back(e, pop_repair(e), now)
        killed = _strike(e, now)
        if killed > 0 and e.state[0].offer_first:
            full_pass(e, now)
        for i in range(killed):
            requeue(e, e.nodes[i].killed, now)
            e.state[0].stale = 1
        arrived, place = 0, -1
        while e.state[0].next_submit < e.jobs.size and e.jobs[e.state[0].next_submit].submit <= now:
            job = e.state[0].next_submit
            e.state[0].next_submit += 1
            if e.jobs[job].status == SUBMITTED_LATER:
                place = join(e, job, now)
                arrived += 1
        if e.reservations.size > 0:
            _edges(e, now)
        if e.state[0].stale or arrived > 1:
            full_pass(e, now)
        elif arrived == 1:
            offer(e, place, now)

    return instant


def _loop(passes: Passes) -> Callable[[Engine, float, int], int]:
    instant = _instants(passes)

    @merged
    def loop(e: Engine, pause: float, budget: int) -> int:
        begun = cycles()
        code = SPENT
        for _ in range(budget):
            if e.state[0].n_left == 0:
                code = FINISHED
                break
            now = _next_instant(e)
            if not now < math.inf or now > e.state[0].until:
                if e.state[0].until < math.inf:
                    e.state[0].now = e.state[0].until
                code = FINISHED
                break
            if now > e.state[0].known_until:
                code = MORE_FAILURES
                break
            if now > pause:
                code = PAUSED
                break
            code = _room(e, now)
            if code != SPENT:
                break
            e.state[0].now = now
            e.state[0].n_events += 1
            instant(e, now)
        e.state[0].cycles += cycles() - begun
        return code

    return loop


_on_first_nodes = _loop(PASSES)
_by_policy = _loop(PASSES_BY_POLICY)
_as_planned = _loop(PLANNED_PASSES)


def _compiled(check_sum: int) -> tuple[Callable[[Engine, float, int], int], ...]:
    # numba keeps what it compiled for the values that a function closes over: other sources, another value. Three
    # functions have a file each: with one, processes that compile different ones at a time could mix them up.
    @outermost
    def on_first_nodes(e: Engine, pause: float, budget: int) -> int:
        return _on_first_nodes(e, pause, budget) if check_sum >= 0 else FINISHED

    @outermost
    def by_policy(e: Engine, pause: float, budget: int) -> int:
        return _by_policy(e, pause, budget) if check_sum >= 0 else FINISHED

    @outermost
    def as_planned(e: Engine, pause: float, budget: int) -> int:
        return _as_planned(e, pause, budget) if check_sum >= 0 else FINISHED

    return on_first_nodes, by_policy, as_planned


_RUNS = _compiled(sources())


def _how(engine: Engine) -> int:
    """How jobs are started."""
    state = engine.state[0]
    if state["planned"]:
        return AS_PLANNED
    return ON_FIRST_NODES if state["allocation"] == FIRST_FIT else BY_POLICY


def prepare(engine: Engine | None = None) -> None:
    """Compile the simulator, or load what was compiled before; the first time takes some twenty seconds.

    Parameters
    ----------
    engine : Engine, optional
        Whose way of starting jobs is compiled; on the first idle nodes when left out. Allocation by a policy and
        starts that are planned ahead are compiled when they are first used.
    """
    run: Any = _RUNS[ON_FIRST_NODES if engine is None else _how(engine)]
    with compile_notice(run, "some twenty seconds"):
        run(new_engine(new_jobs(0), 1), 0.0, 1)


def advance(engine: Engine, pause: float, budget: int) -> int:
    """Go on until the next instant would be after `pause`, or for `budget` instants.

    Returns
    -------
    int
        ``FINISHED``, ``PAUSED``, ``SPENT`` (the budget), or what the engine needs before it can go on:
        ``MORE_FAILURES``, ``LARGER_QUEUE`` or ``LARGER_LOG`` (how much is in ``state["need"]``).
    """
    return _RUNS[_how(engine)](engine, pause, budget)
