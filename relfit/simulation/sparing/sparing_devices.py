"""Devices of a simulated cluster with spares, compiled: trays, racks and blocks that jobs take and give back.

Components are trays, racks (or, when racks fail block by block, a copy of the rack for every block) and block repairs;
each has its next event on the heap. Times are hours.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.engine.event_heap import EventHeap, empty_heap, put, remove
from relfit.simulation.engine.random_streams import LOW, STEP
from relfit.simulation.engine.records import Records, compiled, new_records, part
from relfit.simulation.sparing import sparing_state as at
from relfit.simulation.sparing.sparing_state import DeviceRepairs, JobState, Plant, Setup


def new_plant(rng: np.random.Generator, s: Setup, down_hours: FloatArray, job: Records[JobState]) -> Plant:
    """A cluster at time 0, its devices at random ages, and all blocks idle."""
    n_blocks, n_racks = s.zones * s.blocks, s.racks
    n_trays = n_blocks * s.size
    events = empty_heap(n_trays + n_racks + (n_blocks if s.whole_block else 0))
    _begin(rng, s, events, n_trays, n_racks)
    job["ready"] = np.inf
    return Plant(
        events,
        np.zeros(n_trays, np.bool_),
        np.zeros(n_blocks, np.int64),
        np.ones(n_blocks, np.bool_),
        np.ones(max(n_racks, 1), np.bool_),
        np.zeros(n_blocks if s.whole_block else max(n_racks, 1)),
        np.zeros(n_trays),
        np.zeros(n_trays, np.int64),
        np.zeros(max(n_racks, 1), np.int64),
        np.full(n_blocks, at.NOBODY),
        np.arange(n_blocks),
        np.full(s.zones, s.blocks),
        np.tile(np.arange(s.blocks), s.zones),
        np.zeros((len(job), s.zones), np.int64),
        np.zeros(s.zones, np.int64),
        np.zeros(s.zones),
        np.zeros(s.limit + 1),
        np.zeros(s.limit + 1, np.int64),
        new_records(at.ClusterClock, 1),
        job,
        new_records(at.Accounts, len(job)),
        down_hours,
    )


@compiled
def _begin(rng: np.random.Generator, s: Setup, events: EventHeap, n_trays: int, n_racks: int) -> None:
    """The first failure of each device."""
    for i in range(n_trays):
        put(events, i, _draw(rng, s.tables, at.FIRST_OF_TRAY), 0)
    for i in range(n_racks):
        put(events, n_trays + i, _draw(rng, s.tables, at.FIRST_OF_RACK), 0)


@compiled
def _draw(rng: np.random.Generator, tables: FloatArray, table: int) -> float:
    """A random time, interpolated in a table of log time by log cumulative hazard."""
    spot = (math.log(rng.standard_exponential()) - LOW) / STEP
    last = tables.shape[1] - 2
    i = min(max(int(spot), 0), last) if spot > 0.0 else 0
    begin, end = tables[table, i], tables[table, i + 1]
    return math.exp(begin + (spot - i) * (end - begin))


@compiled
def _draw_repair(
    rng: np.random.Generator, tables: FloatArray, repairs: DeviceRepairs, earlier: IntArray, number: int
) -> float:
    """Hours until a device that failed is repaired, by its earlier repairs or by a kind."""
    if repairs.times.shape[0] > 0:
        return _draw_stages(rng, repairs, earlier, number)
    if repairs.kinds.size == 1:
        return _draw(rng, tables, repairs.kinds[0])
    u = rng.random()
    i = 0
    while i < repairs.kinds.size - 1 and u >= repairs.shares[i]:
        i += 1
    return _draw(rng, tables, repairs.kinds[i])


@compiled
def _draw_stages(rng: np.random.Generator, stages: DeviceRepairs, earlier: IntArray, number: int) -> float:
    """Hours of repairs in stages; counts the repair, infinite where the device is never back."""
    time, history = 0.0, min(earlier[number], stages.times.shape[1] - 1)
    for k in range(stages.times.shape[0]):
        time += stages.times[k, history] * (1.0 if stages.fixed[k] else rng.standard_exponential())
        if rng.random() < stages.success[k, history]:
            earlier[number] += 1
            return time
    earlier[number] = 0
    return time + stages.replacement


@part
def _time_of(p: Plant, number: int) -> float:
    """The time of the next event of a component; infinite without one."""
    place = p.events.place[number]
    return p.events.events[place].time if place >= 0 else math.inf


@part
def take_idle(s: Setup, p: Plant, block: int, job: int) -> None:
    """Give an idle block to a job, or to `NOBODY` when it goes down."""
    zone = block // s.blocks
    p.n_idle[zone] -= 1
    last = p.idle[zone * s.blocks + p.n_idle[zone]]
    p.idle[zone * s.blocks + p.where[block]] = last
    p.where[last] = p.where[block]
    p.where[block] = -1
    p.owner[block] = job


@part
def _block_down(s: Setup, p: Plant, block: int) -> None:
    """A block goes down; a spare replaces it, or its job misses it."""
    zone, owner = block // s.blocks, p.owner[block]
    if owner < 0:
        take_idle(s, p, block, at.NOBODY)
        return
    p.job[owner].hit += 1
    p.owner[block] = at.NOBODY
    if p.n_idle[zone] == 0:
        p.job[owner].lacking += 1
        p.short[owner, zone] += 1
        p.job[owner].missing += 1
        return
    take_idle(s, p, p.idle[zone * s.blocks + p.n_idle[zone] - 1], owner)


@part
def give_block(s: Setup, p: Plant, block: int) -> None:
    """Give a block that is up to the first job that misses one in its zone; without one it becomes idle."""
    zone = block // s.blocks
    for owner in range(len(p.job)):
        if p.short[owner, zone] > 0:
            p.short[owner, zone] -= 1
            p.job[owner].missing -= 1
            p.owner[block] = owner
            return
    p.owner[block] = at.NOBODY
    p.idle[zone * s.blocks + p.n_idle[zone]] = block
    p.where[block] = p.n_idle[zone]
    p.n_idle[zone] += 1


@part
def _change(s: Setup, p: Plant, first: int, last: int, comes_up: bool) -> None:
    """Blocks ``first..last-1`` go down or come up."""
    clock = p.clock[0]
    for block in range(first, last):
        if p.up[block] == comes_up or (comes_up and p.n_failed[block] > s.spare_trays):
            continue
        zone = block // s.blocks
        if clock.warmed:
            p.down_hours[p.n_down[zone]] += clock.now - p.since[zone]
        p.since[zone] = clock.now
        p.up[block] = comes_up
        if comes_up:
            p.n_down[zone] -= 1
            give_block(s, p, block)
        else:
            p.n_down[zone] += 1
            _block_down(s, p, block)


@compiled
def _tray_fails(rng: np.random.Generator, s: Setup, p: Plant, tray: int, domain: int) -> None:
    block, now = tray // s.size, p.clock[0].now
    owner = p.owner[block]
    running = s.size - p.n_failed[block]
    at_work = s.size - s.spare_trays
    if owner >= 0 and running > at_work and rng.random() * running < at_work:  # else the block goes down
        p.job[owner].hit = 1
    p.failed[tray] = True
    p.n_failed[block] += 1
    if s.whole_block:
        remove(p.events, tray)
        if p.n_failed[block] == 1 or p.n_failed[block] > s.spare_trays:
            time = _draw_repair(rng, s.tables, s.tray_repair, p.tray_repairs, tray)
            put(p.events, p.failed.size + s.racks + block, now + time, 0)
            if p.n_failed[block] > s.spare_trays:
                p.outage[domain] += time
                _change(s, p, block, block + 1, False)
        return
    put(p.events, tray, now + _draw_repair(rng, s.tables, s.tray_repair, p.tray_repairs, tray), 0)
    if p.n_failed[block] == s.spare_trays + 1 and p.up[block]:
        _change(s, p, block, block + 1, False)


@compiled
def _tray_event(rng: np.random.Generator, s: Setup, p: Plant, tray: int) -> None:
    """A tray fails, or is repaired by itself."""
    now, block, n_racks = p.clock[0].now, tray // s.size, s.racks
    rack = block // s.per_rack if n_racks > 0 else 0
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
    next_time = _draw(rng, s.tables, at.TRAY)
    powered = n_racks == 0 or p.rack_up[rack]
    if not powered:
        # the current outage was booked in full when it began; its remainder still counts
        next_time += max(_time_of(p, p.failed.size + rack) - now, 0.0)
    put(p.events, tray, now + next_time, 0)
    if p.n_failed[block] == s.spare_trays and powered:
        _change(s, p, block, block + 1, True)


@compiled
def _rack_event(rng: np.random.Generator, s: Setup, p: Plant, rack: int) -> None:
    """A rack fails, or is back."""
    now, n_trays = p.clock[0].now, p.failed.size
    number, repair, per_rack = n_trays + rack, n_trays + s.racks + rack, s.per_rack
    if s.whole_block and not p.up[rack]:  # the block is in repair: its rack does not age
        put(p.events, number, _time_of(p, repair) + _draw(rng, s.tables, at.RACK), 0)
        return
    if not p.rack_up[rack]:
        p.rack_up[rack] = True
        put(p.events, number, now + _draw(rng, s.tables, at.RACK), 0)
        _change(s, p, rack * per_rack, (rack + 1) * per_rack, True)
        return
    time = _draw_repair(rng, s.tables, s.rack_repair, p.rack_repairs, rack)
    p.outage[rack] += time
    if s.whole_block:
        put(p.events, repair, now + time, 0)
        put(p.events, number, now + time + _draw(rng, s.tables, at.RACK), 0)
    else:
        p.rack_up[rack] = False
        put(p.events, number, now + time, 0)
    _change(s, p, rack * per_rack, (rack + 1) * per_rack, False)


@compiled
def _block_event(rng: np.random.Generator, s: Setup, p: Plant, block: int, number: int) -> None:
    """The repair of a complete block ends."""
    remove(p.events, number)
    p.n_failed[block] = 0
    for tray in range(block * s.size, (block + 1) * s.size):
        if p.failed[tray]:
            p.failed[tray] = False
            p.reckoned[tray] = p.outage[block]
            put(p.events, tray, p.clock[0].now + _draw(rng, s.tables, at.TRAY), 0)
    if not p.up[block]:
        _change(s, p, block, block + 1, True)


@compiled
def happen(rng: np.random.Generator, s: Setup, p: Plant) -> None:
    """Handle the next event of a component."""
    number, n_trays, n_racks = p.events.events[0].number, p.failed.size, s.racks
    p.account[0].events += 1
    if number < n_trays:
        _tray_event(rng, s, p, number)
    elif number < n_trays + n_racks:
        _rack_event(rng, s, p, number - n_trays)
    else:
        _block_event(rng, s, p, number - n_trays - n_racks, number)
