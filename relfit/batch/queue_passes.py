"""Scheduling passes, compiled: first come first served, and EASY backfilling by numbers of nodes.

EASY as Algorithms 2 and 3 of "Exploring the Trade-off Between Repair Time and Reliability" have it: the nodes of the
job that waits first are not fixed, only enough of them are kept for the time when it can start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relfit.batch.compiling import inner, inner_of
from relfit.batch.cycle_counter import cycles
from relfit.batch.engine_state import ALL, EASY, NO, RA_OPT, YES, Engine
from relfit.batch.job_events import start, start_by_policy, start_moldable
from relfit.batch.running_jobs import shadow_of
from relfit.batch.waiting_queue import next_narrow, next_to_start

__all__ = ["PASSES", "PASSES_BY_POLICY", "Passes"]

Passes = tuple[Callable[[Engine, float], None], Callable[[Engine, int, float], None]]
"""A pass through the queue at an instant; and one where a job has come to a place in it and nothing else changed."""

_FIRST: Any = np.int64(0)


@inner
def _find_shadow(e: Engine, job: int) -> None:
    """What the job that waits first waits for; it is worked out when another one could start before it."""
    shadow, extra = shadow_of(e, e.state[0].n_free, e.jobs[job].nodes)
    e.state[0].shadow = shadow
    e.state[0].extra = extra


def _passes(start_job: Any, way: str, policies: bool) -> Passes:
    @inner_of(way)
    def backfill(e: Engine, job: int, now: float) -> None:
        start_job(e, job, now, YES)
        if e.jobs[job].estimate > e.state[0].shadow:
            e.state[0].extra -= e.jobs[job].nodes

    @inner_of(way)
    def go_through(e: Engine, now: float) -> None:
        e.state[0].stale = 0
        e.state[0].head = -1
        while True:
            place = next_narrow(e, _FIRST, e.state[0].n_up)
            if place < 0:
                return
            job = e.queue[place].job
            if policies and e.state[0].allocation in (ALL, RA_OPT):
                if not start_moldable(e, job, now):
                    e.state[0].head = place
                    return
            elif e.jobs[job].nodes <= e.state[0].n_free:
                start_job(e, job, now, NO)
            else:
                break
        e.state[0].head = place
        e.state[0].shadow = math.nan
        place = next_narrow(e, place + 1, e.state[0].n_free)
        if place < 0 or e.state[0].scheduler != EASY:
            return
        _find_shadow(e, job)
        while place >= 0 and place < e.queue.size and e.state[0].n_free > 0:
            place = next_to_start(e, place, e.state[0].n_free, e.state[0].extra, now, e.state[0].shadow)
            if place >= 0:
                backfill(e, e.queue[place].job, now)
                place += 1

    @inner_of(way)
    def full_pass(e: Engine, now: float) -> None:
        begun = cycles()
        e.state[0].n_passes += 1
        go_through(e, now)
        e.state[0].decision_cycles += cycles() - begun

    @inner_of(way)
    def offer(e: Engine, place: int, now: float) -> None:
        head = e.state[0].head
        if head < 0 or place < head:
            full_pass(e, now)
            return
        job, free = e.queue[place].job, e.state[0].n_free
        nodes = e.jobs[job].nodes
        if nodes > free or e.state[0].scheduler != EASY:
            return
        if e.state[0].shadow != e.state[0].shadow:
            _find_shadow(e, e.queue[head].job)
        if nodes <= e.state[0].extra or now + e.jobs[job].wall_left <= e.state[0].shadow:
            backfill(e, job, now)

    return full_pass, offer


PASSES = _passes(start, "on_first_nodes", False)
"""Jobs get the first idle nodes."""
PASSES_BY_POLICY = _passes(start_by_policy, "by_policy", True)
