"""Running jobs in order of the end of their walltime, compiled."""

from __future__ import annotations

import math

from relfit.simulation.batch.engine_state import Engine
from relfit.simulation.engine.records import part


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
def _compact(e: Engine) -> None:
    """Move the jobs to the front."""
    end = 0
    for i in range(e.state[0].running_end):
        if e.running[i] >= 0:
            e.running[end] = e.running[i]
            e.estimates[end] = e.estimates[i]
            end += 1
    e.state[0].running_end = end


@part
def add_running(e: Engine, job: int) -> None:
    """A job holds its nodes until its estimate."""
    s, running, estimates = e.state[0], e.running, e.estimates
    if s.running_end > 2 * s.n_running + 32:
        _compact(e)
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
    """When `nodes` nodes are free by the walltimes of running jobs, and how many remain then.

    All jobs that end by that very time are counted.
    """
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
