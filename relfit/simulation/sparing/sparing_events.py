"""Compiled simulation of one cluster with spares, event by event.

Components are trays, racks (or, when racks fail block by block, a copy of the rack for every block) and block repairs;
each has its next event on the heap. Checkpoints are no events: what a span of running is worth follows from how long
it lasted. Times are hours.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.engine.event_heap import EventHeap, empty_heap, put, remove
from relfit.simulation.engine.records import compiled, new_records
from relfit.simulation.engine.time_tables import LOW, STEP
from relfit.simulation.sparing.sparing_state import ACCOUNTS, Accounts, JobState, Plant, Setup, per_rack_of, racks_of

__all__ = ["simulate"]

_RUNNING, _RECOVERING, _STUCK = 0, 1, 2


def _plant(rng: np.random.Generator, s: Setup, down_hours: FloatArray) -> Plant:
    """A cluster at time 0, its devices at random ages."""
    n_blocks, n_racks = s.zones * s.blocks, racks_of(s)
    n_trays = n_blocks * s.size
    events = empty_heap(n_trays + n_racks + (n_blocks if s.whole_block else 0))
    _begin(rng, s, events, n_trays, n_racks)
    used = np.tile(np.arange(s.blocks) < s.blocks - s.spare_blocks, s.zones)
    idle, where = np.zeros(n_blocks, np.int64), np.full(n_blocks, -1)
    for zone in range(s.zones):
        spares = np.arange((zone + 1) * s.blocks - s.spare_blocks, (zone + 1) * s.blocks)
        idle[zone * s.blocks : zone * s.blocks + s.spare_blocks] = spares
        where[spares] = np.arange(s.spare_blocks)
    job, zones = new_records(JobState, 1), np.zeros(s.zones, np.int64)
    job["ready"] = np.inf
    return Plant(
        events, np.zeros(n_trays, np.bool_), np.zeros(n_blocks, np.int64), np.ones(n_blocks, np.bool_),
        np.ones(max(n_racks, 1), np.bool_), np.zeros(n_blocks if s.whole_block else max(n_racks, 1)),
        np.zeros(n_trays), used, idle, np.full(s.zones, s.spare_blocks), where, zones, zones.copy(),
        np.zeros(s.zones), np.zeros(s.limit // s.unit + 2), job, new_records(Accounts, 1), down_hours,
    )  # fmt: skip


@compiled
def _begin(rng: np.random.Generator, s: Setup, events: EventHeap, n_trays: int, n_racks: int) -> None:
    """The first failure of each device."""
    for i in range(n_trays):
        put(events, i, _draw(rng, s.tables, s.tray_first), 0)
    for i in range(n_racks):
        put(events, n_trays + i, _draw(rng, s.tables, s.rack_first), 0)


@compiled
def _draw(rng: np.random.Generator, tables: FloatArray, table: int) -> float:
    """A random time: logarithm of time by logarithm of the cumulative hazard, interpolated."""
    spot = (math.log(rng.standard_exponential()) - LOW) / STEP
    last = tables.shape[1] - 2
    i = min(max(int(spot), 0), last) if spot > 0.0 else 0
    begin, end = tables[table, i], tables[table, i + 1]
    return math.exp(begin + (spot - i) * (end - begin))


@compiled
def _draw_repair(rng: np.random.Generator, tables: FloatArray, kinds: IntArray, shares: FloatArray) -> float:
    """A repair time of one of several kinds, by their cumulative shares."""
    if kinds.size == 1:
        return _draw(rng, tables, kinds[0])
    u = rng.random()
    i = 0
    while i < kinds.size - 1 and u >= shares[i]:
        i += 1
    return _draw(rng, tables, kinds[i])


@compiled
def _time_of(p: Plant, number: int) -> float:
    """When the next event of a component is."""
    place = p.events.place[number]
    return p.events.events[place].time if place >= 0 else math.inf


@compiled
def _block_down(s: Setup, p: Plant, block: int) -> int:
    """Take a block out; returns 1 when the job misses it and no spare stands in."""
    zone = block // s.blocks
    if not p.used[block]:
        p.n_idle[zone] -= 1
        last = p.idle[zone * s.blocks + p.n_idle[zone]]
        p.idle[zone * s.blocks + p.where[block]] = last
        p.where[last] = p.where[block]
        p.where[block] = -1
        return 0
    p.used[block] = False
    if p.n_idle[zone] == 0:
        return 1
    p.n_idle[zone] -= 1
    spare = p.idle[zone * s.blocks + p.n_idle[zone]]
    p.where[spare] = -1
    p.used[spare] = True
    return 0


@compiled
def _block_up(s: Setup, p: Plant, block: int) -> int:
    """Bring a block back; returns 1 when the job had missed one."""
    zone = block // s.blocks
    if p.short[zone] > 0:
        p.used[block] = True
        return 1
    p.idle[zone * s.blocks + p.n_idle[zone]] = block
    p.where[block] = p.n_idle[zone]
    p.n_idle[zone] += 1
    return 0


@compiled
def _change(s: Setup, p: Plant, first: int, last: int, comes_up: bool) -> None:
    """Blocks ``first..last-1`` go down or come up."""
    job = p.job[0]
    for block in range(first, last):
        if p.up[block] == comes_up or (comes_up and p.n_failed[block] > s.spare_trays):
            continue
        zone = block // s.blocks
        if job.warmed:
            p.down_hours[p.n_down[zone]] += job.now - p.since[zone]
        p.since[zone] = job.now
        p.up[block] = comes_up
        if comes_up:
            p.n_down[zone] -= 1
            lost = -_block_up(s, p, block)
        else:
            p.n_down[zone] += 1
            job.hit = job.hit or p.used[block]
            lost = _block_down(s, p, block)
        p.short[zone] += lost
        job.missing += lost


@compiled
def _tray_fails(rng: np.random.Generator, s: Setup, p: Plant, tray: int, domain: int) -> None:
    job, block, now = p.job[0], tray // s.size, p.job[0].now
    running = s.size - p.n_failed[block]
    at_work = s.size - s.spare_trays
    if p.used[block] and (at_work >= running or rng.random() * running < at_work):
        job.hit = 1
    p.failed[tray] = True
    p.n_failed[block] += 1
    if s.whole_block:
        remove(p.events, tray)
        if p.n_failed[block] == 1 or p.n_failed[block] > s.spare_trays:
            time = _draw_repair(rng, s.tables, s.repair_kinds, s.repair_shares)
            put(p.events, p.failed.size + racks_of(s) + block, now + time, 0)
            if p.n_failed[block] > s.spare_trays:
                p.outage[domain] += time
                _change(s, p, block, block + 1, False)
        return
    put(p.events, tray, now + _draw_repair(rng, s.tables, s.repair_kinds, s.repair_shares), 0)
    if p.n_failed[block] == s.spare_trays + 1 and p.up[block]:
        _change(s, p, block, block + 1, False)


@compiled
def _tray_event(rng: np.random.Generator, s: Setup, p: Plant, tray: int) -> None:
    """A tray fails, or is repaired by itself."""
    now, block, n_racks = p.job[0].now, tray // s.size, racks_of(s)
    rack = block // per_rack_of(s) if n_racks > 0 else 0
    domain = block if s.whole_block else rack
    if not p.failed[tray]:
        if p.reckoned[tray] < p.outage[domain]:  # it did not age while the power was off
            put(p.events, tray, now + p.outage[domain] - p.reckoned[tray], 0)
            p.reckoned[tray] = p.outage[domain]
            return
        _tray_fails(rng, s, p, tray, domain)
        return
    p.failed[tray] = False
    p.n_failed[block] -= 1
    p.reckoned[tray] = p.outage[domain]
    next_time = _draw(rng, s.tables, s.tray_time)
    powered = n_racks == 0 or p.rack_up[rack]
    if not powered:
        # the outage that is going on was booked whole when it began; its rest still counts
        next_time += max(_time_of(p, p.failed.size + rack) - now, 0.0)
    put(p.events, tray, now + next_time, 0)
    if p.n_failed[block] == s.spare_trays and powered:
        _change(s, p, block, block + 1, True)


@compiled
def _rack_event(rng: np.random.Generator, s: Setup, p: Plant, rack: int) -> None:
    """A rack fails, or is back."""
    now, n_trays = p.job[0].now, p.failed.size
    number, repair, per_rack = n_trays + rack, n_trays + racks_of(s) + rack, per_rack_of(s)
    if s.whole_block and not p.up[rack]:  # the block is in repair: its rack does not age
        put(p.events, number, _time_of(p, repair) + _draw(rng, s.tables, s.rack_time), 0)
        return
    if not p.rack_up[rack]:
        p.rack_up[rack] = True
        put(p.events, number, now + _draw(rng, s.tables, s.rack_time), 0)
        _change(s, p, rack * per_rack, (rack + 1) * per_rack, True)
        return
    time = _draw_repair(rng, s.tables, s.rack_kinds, s.rack_shares)
    p.outage[rack] += time
    if s.whole_block:
        put(p.events, repair, now + time, 0)
        put(p.events, number, now + time + _draw(rng, s.tables, s.rack_time), 0)
    else:
        p.rack_up[rack] = False
        put(p.events, number, now + time, 0)
    _change(s, p, rack * per_rack, (rack + 1) * per_rack, False)


@compiled
def _block_event(rng: np.random.Generator, s: Setup, p: Plant, block: int, number: int) -> None:
    """A block as a whole is repaired."""
    remove(p.events, number)
    p.n_failed[block] = 0
    for tray in range(block * s.size, (block + 1) * s.size):
        if p.failed[tray]:
            p.failed[tray] = False
            p.reckoned[tray] = p.outage[block]
            put(p.events, tray, p.job[0].now + _draw(rng, s.tables, s.tray_time), 0)
    if not p.up[block]:
        _change(s, p, block, block + 1, True)


@compiled
def _book_recovery(s: Setup, p: Plant) -> None:
    spent = p.job[0].now - p.job[0].begun
    p.account[0].detection += min(spent, s.detection)
    p.account[0].restart += max(spent - s.detection, 0.0)


@compiled
def _book_running(s: Setup, p: Plant, span: float) -> None:
    """What a span of running is worth: work that is saved, work that is pending, saves."""
    job, account, cycle = p.job[0], p.account[0], s.period + s.save
    share = 1.0 - min((job.missing + s.unit * job.away) / _job_size(s), 1.0)
    if cycle == 0.0:  # saves that cost nothing are made all the time
        account.reduced += (1.0 - share) * span
        account.useful += share * span
        span = 0.0
    before = min(job.elapsed, s.period)
    turns = math.floor((job.elapsed + span) / cycle) if 0.0 < cycle < np.inf else 0.0
    left = job.elapsed + span - turns * cycle if turns > 0.0 else job.elapsed + span
    after = min(left, s.period)
    work = (turns * s.period if turns > 0.0 else 0.0) + after - before
    account.saves += span - work
    account.reduced += (1.0 - share) * work
    if turns > 0.0:
        account.useful += job.pending + share * (turns * s.period - before)
        job.pending = share * after
    else:
        job.pending += share * work
    job.elapsed = left


@compiled
def _job_size(s: Setup) -> float:
    """Blocks that the job takes up."""
    return float((s.blocks - s.spare_blocks) * s.zones)


@compiled
def _lose_pending(p: Plant) -> None:
    p.account[0].rework += p.job[0].pending
    p.job[0].pending, p.job[0].away = 0.0, 0


@compiled
def _recover(s: Setup, p: Plant) -> None:
    job = p.job[0]
    job.mode, job.begun, job.ready = _RECOVERING, job.now, job.now + (s.detection + s.restart)


@compiled
def _struck(s: Setup, p: Plant) -> None:
    """A unit at work failed: it is exchanged, or the job goes back to its last checkpoint."""
    job, account = p.job[0], p.account[0]
    account.hits += 1
    if job.mode == _RUNNING:
        if job.missing + s.unit * (job.away + 1) > s.limit:
            _lose_pending(p)
            account.stops += 1
            _recover(s, p)
        else:
            p.ring[(job.head + job.away) % p.ring.size] = job.now + (s.detection + s.restart)
            job.away += 1
            again = min(job.pending, 0.5 * s.exchange * s.unit / _job_size(s))
            job.pending -= again
            account.rework += again
    elif job.mode == _RECOVERING and s.repeat:
        _book_recovery(s, p)
        _recover(s, p)


@compiled
def _consequences(s: Setup, p: Plant) -> None:
    """What an event is to the job."""
    job = p.job[0]
    if job.hit:
        _struck(s, p)
    if job.missing > s.limit and job.mode != _STUCK:
        if job.mode == _RECOVERING:
            _book_recovery(s, p)
        else:
            _lose_pending(p)
        p.account[0].blockings += 1
        job.mode, job.ready = _STUCK, np.inf
    elif job.missing <= s.limit and job.mode == _STUCK:
        _recover(s, p)


@compiled
def _stop(s: Setup, p: Plant) -> None:
    """The end, or the end of what is not counted."""
    job = p.job[0]
    if job.mode == _RECOVERING:
        _book_recovery(s, p)
    for zone in range(s.zones):
        if job.warmed:
            p.down_hours[p.n_down[zone]] += job.now - p.since[zone]
        p.since[zone] = job.now
    if job.warmed:
        p.account[0].useful += job.pending


@compiled
def _job_event(s: Setup, p: Plant) -> None:
    """A recovery is over, or a unit is back."""
    job = p.job[0]
    if job.mode == _RECOVERING:
        _book_recovery(s, p)
        job.mode, job.ready, job.elapsed, job.pending = _RUNNING, np.inf, 0.0, 0.0
    else:
        job.away -= 1
        job.head = (job.head + 1) % p.ring.size


@compiled
def _happen(rng: np.random.Generator, s: Setup, p: Plant) -> None:
    """The next event of a component."""
    number, n_trays, n_racks = p.events.events[0].number, p.failed.size, racks_of(s)
    p.account[0].events += 1
    p.job[0].hit = 0
    if number < n_trays:
        _tray_event(rng, s, p, number)
    elif number < n_trays + n_racks:
        _rack_event(rng, s, p, number - n_trays)
    else:
        _block_event(rng, s, p, number - n_trays - n_racks, number)
    _consequences(s, p)


@compiled
def _run(rng: np.random.Generator, s: Setup, p: Plant, stop: float) -> None:
    """All events up to a time."""
    job = p.job[0]
    while True:
        at_event, at_job = p.events.events[0].time, np.inf
        if job.mode == _RECOVERING:
            at_job = job.ready
        elif job.mode == _RUNNING and job.away > 0:
            at_job = p.ring[job.head]
        then = min(at_event, at_job, stop)
        if job.mode == _RUNNING:
            _book_running(s, p, then - job.now)
        elif job.mode == _STUCK:
            p.account[0].blocked += then - job.now
        job.now = then
        if stop <= at_event and stop <= at_job:
            _stop(s, p)
            return
        if at_job <= at_event:
            _job_event(s, p)
        else:
            _happen(rng, s, p)


def simulate(rng: np.random.Generator, setup: Setup, warm: float, end: float, down_hours: FloatArray) -> list[float]:
    """Run one cluster from 0 to `end` hours and book what happens from `warm` on.

    Parameters
    ----------
    rng : numpy.random.Generator
    setup : Setup
    warm, end : float
    down_hours : ndarray of zeros
        Becomes, by number, the share of time in which so many blocks of a zone were down.

    Returns
    -------
    list of float
        As `ACCOUNTS`: shares of time, counts per hour, and the number of events.
    """
    plant = _plant(rng, setup, down_hours)
    _run(rng, setup, plant, warm)
    plant.account[:] = new_records(Accounts, 1)
    job = plant.job[0]
    job.warmed, job.begun, job.pending = 1, job.now, 0.0
    _run(rng, setup, plant, end)
    hours = end - warm
    down_hours /= hours * setup.zones
    return [float(plant.account[name][0]) / (1.0 if name == "events" else hours) for name in ACCOUNTS]
