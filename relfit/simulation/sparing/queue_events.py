"""Compiled simulation of a queue of jobs on a cluster with spares, event by event.

Jobs start in their order, as soon as there are blocks for them; a job keeps its blocks to its end, and gets spares of
the same zone for those that fail. Times are hours.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.engine.records import Records, compiled, new_records, part
from relfit.simulation.sparing.sparing_devices import give_block, happen, new_plant, take_idle
from relfit.simulation.sparing.sparing_events import (
    OVER,
    RECOVERING,
    RUNNING,
    STUCK,
    book_recovery,
    book_running,
    consequences,
)
from relfit.simulation.sparing.sparing_state import JobState, Plant, Setup


class QueuedJob:
    """A job of the queue, with its start and end."""

    submit: float
    work: float
    blocks: int
    started: float
    ended: float


@part
def _time_to_end(s: Setup, p: Plant, j: int, work: float) -> float:
    """Hours that a job that begins to run takes to its end without a failure; there is no checkpoint at the end."""
    left, period = work - p.account[j].useful, p.job[j].period
    if not 0.0 < period < left:
        return max(left, 0.0)
    return left + (math.ceil(left / period) - 1.0) * s.save


@part
def _run_on(s: Setup, p: Plant, j: int, work: float) -> None:
    """Let a job run from its last checkpoint."""
    job, now = p.job[j], p.clock[0].now
    job.mode, job.begun, job.elapsed, job.pending = RUNNING, now, 0.0, 0.0
    job.ready = now + _time_to_end(s, p, j, work)


@part
def _book(s: Setup, p: Plant, j: int) -> None:
    """Book the time of a job since the last call; a recovery is booked when it is over."""
    job, now = p.job[j], p.clock[0].now
    if job.mode == RUNNING:
        missing, job.missing = job.missing, 0  # up to now it ran with all its blocks
        book_running(s, p, j, now - job.begun)
        job.missing, job.begun = missing, now
    elif job.mode == STUCK:
        p.account[j].blocked += now - job.begun
        job.begun = now


@part
def _meet(s: Setup, p: Plant, j: int) -> None:
    """Handle the effect of an event on a job."""
    job = p.job[j]
    if job.hit == 0 and (job.missing > 0) == (job.mode == STUCK):
        return
    _book(s, p, j)
    consequences(s, p, j)
    if job.mode == STUCK:
        job.begun = p.clock[0].now


@part
def _available(s: Setup, p: Plant, zone: int, held: IntArray) -> int:
    """Blocks of a zone that a job may take: the idle ones, so that jobs hold no more than are not spare."""
    return max(min(p.n_idle[zone], s.blocks - s.spare_blocks - held[zone]), 0)


@part
def _start(s: Setup, p: Plant, j: int, queue: Records[QueuedJob], held: IntArray) -> bool:
    """Start a job in one zone where one has room, else over the zones in their order; whether there was room."""
    row, total, first = queue[j], 0, -1
    for zone in range(s.zones):
        free = _available(s, p, zone, held)
        total += free
        if first < 0 and free >= row.blocks:
            first = zone
    if total < row.blocks:
        return False
    left = row.blocks
    for zone in range(max(first, 0), s.zones):
        taken = min(_available(s, p, zone, held), left)
        for _ in range(taken):
            take_idle(s, p, p.idle[zone * s.blocks + p.n_idle[zone] - 1], j)
        held[zone] += taken
        left -= taken
    row.started = p.clock[0].now
    _run_on(s, p, j, row.work)
    return True


@part
def _end(s: Setup, p: Plant, j: int, queue: Records[QueuedJob], held: IntArray, begun: int) -> None:
    """A job is done: its blocks go to jobs that miss some, or become idle."""
    job, account, row = p.job[j], p.account[j], queue[j]
    _book(s, p, j)
    account.useful, job.pending = row.work, 0.0
    job.mode, job.ready, row.ended = OVER, math.inf, p.clock[0].now
    for block in range(p.owner.size):
        if p.owner[block] == j:
            held[block // s.blocks] -= 1
            give_block(s, p, block)
    for k in range(begun):
        if p.job[k].mode == STUCK:
            _meet(s, p, k)


@part
def _job_happens(s: Setup, p: Plant, j: int, queue: Records[QueuedJob], held: IntArray, begun: int) -> None:
    """A recovery is over, or a job is done."""
    if p.job[j].mode == RECOVERING:
        book_recovery(s, p, j)
        _run_on(s, p, j, queue[j].work)
    else:
        _end(s, p, j, queue, held, begun)


@compiled
def _run(rng: np.random.Generator, s: Setup, p: Plant, queue: Records[QueuedJob], stop: float) -> None:
    """All events up to a time, or to the end of the last job."""
    clock, held = p.clock[0], np.zeros(s.zones, np.int64)
    first, begun = 0, 0  # first started job that is not over; number of started jobs
    while first < len(queue):
        while begun < len(queue) and queue[begun].submit <= clock.now and _start(s, p, begun, queue, held):
            begun += 1
        at_event, at_job, which = p.events.events[0].time, math.inf, -1
        for j in range(first, begun):
            if p.job[j].ready < at_job:
                at_job, which = p.job[j].ready, j
        at_submit = queue[begun].submit if begun < len(queue) and queue[begun].submit > clock.now else math.inf
        then = min(at_event, at_job, at_submit)
        if then > stop:
            clock.now = stop
            break
        clock.now = then
        if at_job <= at_event and at_job <= at_submit:
            _job_happens(s, p, which, queue, held, begun)
        elif at_event <= at_submit:
            for j in range(first, begun):
                p.job[j].hit = 0
            happen(rng, s, p)
            for j in range(first, begun):
                _meet(s, p, j)
                p.job[j].hit = 0
        while first < begun and p.job[first].mode == OVER:
            first += 1
    for j in range(first, begun):
        if p.job[j].mode == RECOVERING:
            book_recovery(s, p, j)
        else:
            _book(s, p, j)


def simulate_queue(
    rng: np.random.Generator, setup: Setup, queue: Records[QueuedJob], periods: FloatArray, end: float
) -> Plant:
    """Run a queue of jobs from 0 to the end of the last, or to `end` hours; `account` has the times and counts of each.

    `queue` is in order of submission; its `started` and `ended` are NaN, and set in place. `periods` are the hours of
    work between two checkpoints of each job.
    """
    jobs = new_records(JobState, len(queue))
    jobs["blocks"], jobs["period"] = queue["blocks"], periods
    plant = new_plant(rng, setup, np.zeros(setup.blocks + 1), jobs)
    _run(rng, setup, plant, queue, end)
    return plant
