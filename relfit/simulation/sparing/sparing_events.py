"""Compiled simulation of jobs on a cluster with spares: the effects of device events on one job, or on a queue.

Checkpoints are no events: the work and checkpoints of a run follow from its length. Jobs of a queue start in their
order, as soon as there are blocks for them; a job keeps its blocks to its end, and gets spares of the same zone for
those that fail. Times are hours.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.engine.records import Records, compiled, new_records, part
from relfit.simulation.sparing.sparing_devices import give_block, happen, new_plant, take_idle
from relfit.simulation.sparing.sparing_state import ACCOUNTS, NOBODY, Accounts, JobState, Plant, Setup

RUNNING, RECOVERING, STUCK, WAITING, OVER = range(5)


@part
def book_recovery(s: Setup, p: Plant, j: int) -> None:
    """Book the time of a recovery that ends now."""
    spent = p.clock[0].now - p.job[j].begun
    p.account[j].detection += min(spent, s.detection)
    p.account[j].restart += max(spent - s.detection, 0.0)


@part
def book_running(s: Setup, p: Plant, j: int, span: float) -> None:
    """Book `span` hours of running: work in checkpoints, work since the last one, time spent on checkpoints."""
    job, account = p.job[j], p.account[j]
    period, cycle = job.period, job.period + s.save
    share = 1.0 - min((job.missing + job.away) / job.blocks, 1.0)
    if cycle == 0.0:  # free checkpoints are continuous
        account.reduced += (1.0 - share) * span
        account.useful += share * span
        span = 0.0
    before = min(job.elapsed, period)
    turns = math.floor((job.elapsed + span) / cycle) if 0.0 < cycle < np.inf else 0.0
    left = job.elapsed + span - turns * cycle if turns > 0.0 else job.elapsed + span
    after = min(left, period)
    work = (turns * period if turns > 0.0 else 0.0) + after - before
    account.saves += span - work
    account.reduced += (1.0 - share) * work
    if turns > 0.0:
        account.useful += job.pending + share * (turns * period - before)
        job.pending = share * after
    else:
        job.pending += share * work
    job.elapsed = left


@part
def lose_pending(p: Plant, j: int) -> None:
    """Book the work since the last checkpoint as rework."""
    p.account[j].rework += p.job[j].pending
    p.job[j].pending, p.job[j].away, p.job[j].returns = 0.0, 0, 0


@part
def recover(s: Setup, p: Plant, j: int) -> None:
    """Begin to go back to the last checkpoint."""
    job, now = p.job[j], p.clock[0].now
    job.mode, job.begun, job.ready = RECOVERING, now, now + (s.detection + s.restart)


@part
def _struck(s: Setup, p: Plant, j: int) -> None:
    """Working units failed: they are exchanged, or the job goes back to its last checkpoint."""
    job, account = p.job[j], p.account[j]
    account.hits += 1
    stopped = -(-job.hit // s.unit) * s.unit  # blocks that fail at once are of as few units as possible
    more = stopped - job.lacking  # blocks without a spare are missing already
    if job.mode == RUNNING:
        if job.missing + job.away + more > s.limit:
            lose_pending(p, j)
            account.stops += 1
            recover(s, p, j)
        else:
            if more > 0:
                last = (job.head + job.returns) % p.back.size
                p.back_at[last], p.back[last] = p.clock[0].now + (s.detection + s.restart), more
                job.away += more
                job.returns += 1
            again = min(job.pending, 0.5 * s.exchange * stopped / job.blocks)
            job.pending -= again
            account.rework += again
    elif job.mode == RECOVERING and s.repeat:
        book_recovery(s, p, j)
        recover(s, p, j)


@part
def consequences(s: Setup, p: Plant, j: int) -> None:
    """Handle the effects of an event on a job."""
    job = p.job[j]
    if job.hit:
        _struck(s, p, j)
    if job.missing > s.limit and job.mode != STUCK:
        if job.mode == RECOVERING:
            book_recovery(s, p, j)
        else:
            lose_pending(p, j)
        p.account[j].blockings += 1
        job.mode, job.ready = STUCK, np.inf
    elif job.missing <= s.limit and job.mode == STUCK:
        recover(s, p, j)


@part
def _stop(s: Setup, p: Plant) -> None:
    """Book everything at the end of the simulation, or of its warm-up."""
    clock = p.clock[0]
    if p.job[0].mode == RECOVERING:
        book_recovery(s, p, 0)
    for zone in range(s.zones):
        if clock.warmed:
            p.down_hours[p.n_down[zone]] += clock.now - p.since[zone]
        p.since[zone] = clock.now
    if clock.warmed:
        p.account[0].useful += p.job[0].pending


@compiled
def _run(rng: np.random.Generator, s: Setup, p: Plant, stop: float) -> None:
    """All events up to a time."""
    job, clock = p.job[0], p.clock[0]
    while True:
        at_event, at_job = p.events.events[0].time, np.inf
        if job.mode == RECOVERING:
            at_job = job.ready
        elif job.mode == RUNNING and job.returns > 0:
            at_job = p.back_at[job.head]
        then = min(at_event, at_job, stop)
        if job.mode == RUNNING:
            book_running(s, p, 0, then - clock.now)
        elif job.mode == STUCK:
            p.account[0].blocked += then - clock.now
        clock.now = then
        if stop <= at_event and stop <= at_job:
            _stop(s, p)
            return
        if at_job <= at_event and job.mode == RECOVERING:
            book_recovery(s, p, 0)
            job.mode, job.ready, job.elapsed, job.pending = RUNNING, np.inf, 0.0, 0.0
        elif at_job <= at_event:  # the units of a failure are back
            job.away -= p.back[job.head]
            job.returns -= 1
            job.head = (job.head + 1) % p.back.size
        else:
            job.hit = job.lacking = 0
            happen(rng, s, p)
            consequences(s, p, 0)


def simulate(rng: np.random.Generator, s: Setup, warm: float, end: float, down_hours: FloatArray) -> list[float]:
    """Run one cluster from 0 to `end` hours; the `ACCOUNTS` from `warm` on, as shares of time or per hour. Sets
    `down_hours` (zeros, shape (blocks + 1,)) to the share of time in which that many blocks of a zone were down.
    """
    job = new_records(JobState, 1)
    job["blocks"], job["period"] = float((s.blocks - s.spare_blocks) * s.zones), s.period
    plant = new_plant(rng, s, down_hours, job)
    # the job takes all blocks but the last of each zone, which are spare
    plant.owner[:] = np.where(np.tile(np.arange(s.blocks) < s.blocks - s.spare_blocks, s.zones), 0, NOBODY)
    plant.where[:], plant.n_idle[:] = -1, s.spare_blocks
    for zone in range(s.zones):
        spares = np.arange((zone + 1) * s.blocks - s.spare_blocks, (zone + 1) * s.blocks)
        plant.idle[zone * s.blocks : zone * s.blocks + s.spare_blocks] = spares
        plant.where[spares] = np.arange(s.spare_blocks)
    _run(rng, s, plant, warm)
    plant.account[:] = new_records(Accounts, 1)
    now = plant.clock[0].now
    plant.clock[0].warmed, plant.job[0].begun, plant.job[0].pending = 1, now, 0.0
    _run(rng, s, plant, end)
    hours = end - warm
    down_hours /= hours * s.zones
    return [float(plant.account[name][0]) / (1.0 if name == "events" else hours) for name in ACCOUNTS]


class QueuedJob:
    """A job of the queue, with its start and end."""

    submit: float
    work: float
    blocks: int
    started: float
    ended: float


@part
def _run_on(s: Setup, p: Plant, j: int, work: float) -> None:
    """Let a job run from its last checkpoint; there is no checkpoint at its end."""
    job, now, left = p.job[j], p.clock[0].now, work - p.account[j].useful
    job.mode, job.begun, job.elapsed, job.pending = RUNNING, now, 0.0, 0.0
    saves = math.ceil(left / job.period) - 1.0 if 0.0 < job.period < left else 0.0
    job.ready = now + (max(left, 0.0) + saves * s.save)


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


@compiled
def _run_queue(rng: np.random.Generator, s: Setup, p: Plant, queue: Records[QueuedJob], stop: float) -> None:
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
            if p.job[which].mode == RECOVERING:
                book_recovery(s, p, which)
                _run_on(s, p, which, queue[which].work)
            else:
                _end(s, p, which, queue, held, begun)
        elif at_event <= at_submit:
            for j in range(first, begun):
                p.job[j].hit = p.job[j].lacking = 0
            happen(rng, s, p)
            for j in range(first, begun):
                _meet(s, p, j)
                p.job[j].hit = 0  # `_end` meets jobs again
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
    """Run jobs in order of submission to the end of the last or to `end` hours; `account` is that of each. Sets
    `started` and `ended` of the queue. `periods` are the hours of work between two checkpoints of each job.
    """
    jobs = new_records(JobState, len(queue))
    jobs["blocks"], jobs["period"] = queue["blocks"], periods
    plant = new_plant(rng, setup, np.zeros(setup.blocks + 1), jobs)
    _run_queue(rng, setup, plant, queue, end)
    return plant
