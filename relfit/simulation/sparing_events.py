"""Compiled simulation of one cluster with spares, event by event; arrays in, arrays out.

Components are trays, racks (or, when racks fail block by block, a copy of the rack for every block) and block repairs.
An indexed heap holds the next event of each. Checkpoints are no events: what a span of running is worth follows from
how long it lasted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relfit.numeric.compiled import njit

__all__ = ["ACCOUNTS", "simulate"]

# where the running time of the job goes, and counts, in the order of the output of `simulate`
ACCOUNTS = (
    "useful", "reduced", "saves", "rework", "detection", "restart", "blocked", "hits", "stops", "blockings", "events",
)  # fmt: skip
(
    _USEFUL, _REDUCED, _SAVES, _REWORK, _DETECTION, _RESTART, _BLOCKED, _HITS, _STOPS, _BLOCKINGS, _EVENTS,
) = range(11)  # fmt: skip
_RUNNING, _RECOVERING, _STUCK = 0, 1, 2


@njit(cache=True, nogil=True)
def _sift_down(heap: np.ndarray, place: np.ndarray, key: np.ndarray, at: int) -> None:
    size = heap.size
    item = heap[at]
    value = key[item]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[child]] >= value:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = item
    place[item] = at


@njit(cache=True, nogil=True)
def _set(heap: np.ndarray, place: np.ndarray, key: np.ndarray, item: int, value: float) -> None:
    """Give a component another time of its next event."""
    key[item] = value
    at = place[item]
    while at > 0:
        parent = (at - 1) >> 1
        if key[heap[parent]] <= value:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = item
    _sift_down(heap, place, key, at)


@njit(cache=True, nogil=True)
def _draw(rng: Any, tables: np.ndarray, table: int, low: float, step: float) -> float:
    """A random time: logarithm of time by logarithm of the cumulative hazard, interpolated."""
    spot = (math.log(rng.standard_exponential()) - low) / step
    last = tables.shape[1] - 2
    i = min(max(int(spot), 0), last) if spot > 0.0 else 0
    begin, end = tables[table, i], tables[table, i + 1]
    return math.exp(begin + (spot - i) * (end - begin))


@njit(cache=True, nogil=True)
def _draw_repair(rng: Any, tables: np.ndarray, kinds: np.ndarray, shares: np.ndarray, low: float, step: float) -> float:
    """A repair time of one of several kinds, by their cumulative shares."""
    if kinds.size == 1:
        return _draw(rng, tables, kinds[0], low, step)
    u = rng.random()
    i = 0
    while i < kinds.size - 1 and u >= shares[i]:
        i += 1
    return _draw(rng, tables, kinds[i], low, step)


@njit(cache=True, nogil=True)
def _block_down(
    block: int, zone: int, blocks: int, used: np.ndarray, idle: np.ndarray, n_idle: np.ndarray, where: np.ndarray
) -> int:
    """Take a block out; returns 1 when the job misses it and no spare stands in."""
    if not used[block]:
        n_idle[zone] -= 1
        last = idle[zone * blocks + n_idle[zone]]
        idle[zone * blocks + where[block]] = last
        where[last] = where[block]
        where[block] = -1
        return 0
    used[block] = False
    if n_idle[zone] == 0:
        return 1
    n_idle[zone] -= 1
    spare = idle[zone * blocks + n_idle[zone]]
    where[spare] = -1
    used[spare] = True
    return 0


@njit(cache=True, nogil=True)
def _block_up(
    block: int, zone: int, blocks: int, short: np.ndarray, used: np.ndarray, idle: np.ndarray, n_idle: np.ndarray,
    where: np.ndarray,
) -> int:  # fmt: skip
    """Bring a block back; returns 1 when the job had missed one."""
    if short[zone] > 0:
        used[block] = True
        return 1
    idle[zone * blocks + n_idle[zone]] = block
    where[block] = n_idle[zone]
    n_idle[zone] += 1
    return 0


@njit(cache=True, nogil=True)
def _book_recovery(account: np.ndarray, spent: float, detection: float) -> None:
    account[_DETECTION] += min(spent, detection)
    account[_RESTART] += max(spent - detection, 0.0)


@njit(cache=True, nogil=True)
def simulate(
    rng: Any,
    zones: int, blocks: int, size: int, rack_trays: int, spare_trays: int, spare_blocks: int,
    tables: np.ndarray, low: float, step: float, tray_time: int, rack_time: int, tray_first: int, rack_first: int,
    repair_kinds: np.ndarray, repair_shares: np.ndarray, rack_kinds: np.ndarray, rack_shares: np.ndarray,
    whole_block: bool, own_racks: bool, repeat: bool,
    period: float, save: float, detection: float, restart: float, limit: int, unit: int, exchange: float,
    warm: float, end: float, out: np.ndarray, down_hours: np.ndarray,
) -> None:  # fmt: skip
    """Run one cluster from 0 to `end` hours and book what happens from `warm` on into `out` (see `ACCOUNTS`).

    `whole_block`: one repair restores all trays of a block (the paper's chain); else every tray is repaired by itself.
    `own_racks`: every block has a rack of its own (blocks fail independently); else racks take all their blocks.
    `repeat`: a failure during recovery starts it again. `rack_time` below 0: racks do not fail.
    `down_hours[n]`: hours in which n blocks of a zone were down, over all zones.
    """
    n_blocks = zones * blocks
    n_trays = n_blocks * size
    per_rack = 1 if own_racks else rack_trays // size  # blocks a rack
    n_racks = n_blocks // per_rack if rack_time >= 0 else 0
    repairs_at = n_trays + n_racks
    count = repairs_at + (n_blocks if whole_block else 0)
    working = blocks - spare_blocks
    job = float(working * zones)

    key = np.full(count, np.inf)
    for i in range(n_trays):
        key[i] = _draw(rng, tables, tray_first, low, step)
    for i in range(n_racks):
        key[n_trays + i] = _draw(rng, tables, rack_first, low, step)
    heap = np.arange(count)
    place = np.arange(count)
    for at in range(count // 2 - 1, -1, -1):
        _sift_down(heap, place, key, at)

    failed = np.zeros(n_trays, np.bool_)
    n_failed = np.zeros(n_blocks, np.int64)
    up = np.ones(n_blocks, np.bool_)
    rack_up = np.ones(max(n_racks, 1), np.bool_)
    # hours without power of what a tray hangs on (its block, or its rack), and how many it has reckoned with
    outage = np.zeros(n_blocks if whole_block else max(n_racks, 1))
    reckoned = np.zeros(n_trays)
    used = np.zeros(n_blocks, np.bool_)
    idle = np.zeros(n_blocks, np.int64)
    n_idle = np.zeros(zones, np.int64)
    where = np.full(n_blocks, -1)
    short = np.zeros(zones, np.int64)
    n_down = np.zeros(zones, np.int64)
    since = np.zeros(zones)
    for zone in range(zones):
        for i in range(blocks):
            block = zone * blocks + i
            if i < working:
                used[block] = True
            else:
                idle[zone * blocks + n_idle[zone]] = block
                where[block] = n_idle[zone]
                n_idle[zone] += 1

    cycle = period + save
    downtime = detection + restart
    mode, ready, begun = _RUNNING, np.inf, 0.0
    elapsed, pending = 0.0, 0.0  # since the last checkpoint; work that is not saved
    missing, away = 0, 0  # blocks for want of spares, units being brought back
    ring = np.zeros(limit // unit + 2)
    head = 0
    account = np.zeros(11)  # in the order of ACCOUNTS
    now, warmed = 0.0, False

    while True:
        item = heap[0]
        at_event = key[item]
        at_job = ready if mode == _RECOVERING else (ring[head] if mode == _RUNNING and away > 0 else np.inf)
        at_stop = end if warmed else warm
        then = min(at_event, at_job, at_stop)
        span = then - now
        if mode == _RUNNING:
            share = 1.0 - min((missing + unit * away) / job, 1.0)
            if cycle == 0.0:  # saves that cost nothing are made all the time
                account[_REDUCED] += (1.0 - share) * span
                account[_USEFUL] += share * span
                span = 0.0
            before = min(elapsed, period)
            turns = math.floor((elapsed + span) / cycle) if 0.0 < cycle < np.inf else 0.0
            left = elapsed + span - turns * cycle if turns > 0.0 else elapsed + span
            after = min(left, period)
            work = (turns * period if turns > 0.0 else 0.0) + after - before
            account[_SAVES] += span - work
            account[_REDUCED] += (1.0 - share) * work
            if turns > 0.0:
                account[_USEFUL] += pending + share * (turns * period - before)
                pending = share * after
            else:
                pending += share * work
            elapsed = left
        elif mode == _STUCK:
            account[_BLOCKED] += span
        now = then
        if at_stop <= at_event and at_stop <= at_job:
            if mode == _RECOVERING:
                _book_recovery(account, now - begun, detection)
            for zone in range(zones):
                if warmed:
                    down_hours[n_down[zone]] += now - since[zone]
                since[zone] = now
            if warmed:
                account[_USEFUL] += pending
                break
            warmed, begun, pending = True, now, 0.0
            account[:] = 0.0
            continue
        if at_job <= at_event:
            if mode == _RECOVERING:
                _book_recovery(account, now - begun, detection)
                mode, ready, elapsed, pending = _RUNNING, np.inf, 0.0, 0.0
            else:
                away -= 1
                head = (head + 1) % ring.size
            continue

        # --------------------------------------------------- what has happened
        account[_EVENTS] += 1
        hit = False
        first, last, change = 0, 0, 0  # blocks first..last-1 go down (change -1) or come up (+1)
        if item < n_trays:
            block = item // size
            domain = block if whole_block else (block // per_rack if n_racks else 0)
            if not failed[item]:
                if reckoned[item] < outage[domain]:  # it did not age while the power was off
                    later = at_event + outage[domain] - reckoned[item]
                    reckoned[item] = outage[domain]
                    _set(heap, place, key, item, later)
                    continue
                running = size - n_failed[block]
                if used[block] and (size - spare_trays >= running or rng.random() * running < size - spare_trays):
                    hit = True
                failed[item] = True
                n_failed[block] += 1
                if whole_block:
                    _set(heap, place, key, item, np.inf)
                    if n_failed[block] == 1 or n_failed[block] > spare_trays:
                        time = _draw_repair(rng, tables, repair_kinds, repair_shares, low, step)
                        _set(heap, place, key, repairs_at + block, now + time)
                        if n_failed[block] > spare_trays:
                            outage[block] += time
                            first, last, change = block, block + 1, -1
                else:
                    time = _draw_repair(rng, tables, repair_kinds, repair_shares, low, step)
                    _set(heap, place, key, item, now + time)
                    if n_failed[block] == spare_trays + 1 and up[block]:
                        first, last, change = block, block + 1, -1
            else:  # repaired by itself
                failed[item] = False
                n_failed[block] -= 1
                reckoned[item] = outage[domain]
                next_time = _draw(rng, tables, tray_time, low, step)
                powered = n_racks == 0 or rack_up[block // per_rack]
                if not powered:
                    # the outage that is going on was booked whole when it began; its rest still counts
                    next_time += max(key[n_trays + block // per_rack] - now, 0.0)
                _set(heap, place, key, item, now + next_time)
                if n_failed[block] == spare_trays and powered:
                    first, last, change = block, block + 1, 1
        elif item < repairs_at:
            rack = item - n_trays
            if whole_block and not up[rack]:  # the block is in repair: its rack does not age
                _set(heap, place, key, item, key[repairs_at + rack] + _draw(rng, tables, rack_time, low, step))
            elif rack_up[rack]:
                time = _draw_repair(rng, tables, rack_kinds, rack_shares, low, step)
                if whole_block:
                    outage[rack] += time
                    _set(heap, place, key, repairs_at + rack, now + time)
                    _set(heap, place, key, item, now + time + _draw(rng, tables, rack_time, low, step))
                else:
                    rack_up[rack] = False
                    outage[rack] += time
                    _set(heap, place, key, item, now + time)
                first, last, change = rack * per_rack, (rack + 1) * per_rack, -1
            else:
                rack_up[rack] = True
                _set(heap, place, key, item, now + _draw(rng, tables, rack_time, low, step))
                first, last, change = rack * per_rack, (rack + 1) * per_rack, 1
        else:  # a block as a whole is repaired
            block = item - repairs_at
            _set(heap, place, key, item, np.inf)
            n_failed[block] = 0
            for tray in range(block * size, (block + 1) * size):
                if failed[tray]:
                    failed[tray] = False
                    reckoned[tray] = outage[block]
                    _set(heap, place, key, tray, now + _draw(rng, tables, tray_time, low, step))
            if not up[block]:
                first, last, change = block, block + 1, 1

        for block in range(first, last):
            if up[block] == (change > 0) or (change > 0 and n_failed[block] > spare_trays):
                continue
            zone = block // blocks
            if warmed:
                down_hours[n_down[zone]] += now - since[zone]
            since[zone] = now
            n_down[zone] -= change
            up[block] = change > 0
            if change < 0:
                hit = hit or used[block]
                lost = _block_down(block, zone, blocks, used, idle, n_idle, where)
            else:
                lost = -_block_up(block, zone, blocks, short, used, idle, n_idle, where)
            short[zone] += lost
            missing += lost

        # ------------------------------------------------ what it is to the job
        if hit:
            account[_HITS] += 1
            if mode == _RUNNING:
                if missing + unit * (away + 1) > limit:
                    account[_REWORK] += pending
                    pending, away = 0.0, 0
                    account[_STOPS] += 1
                    mode, begun, ready = _RECOVERING, now, now + downtime
                else:
                    ring[(head + away) % ring.size] = now + downtime
                    away += 1
                    again = min(pending, 0.5 * exchange * unit / job)
                    pending -= again
                    account[_REWORK] += again
            elif mode == _RECOVERING and repeat:
                _book_recovery(account, now - begun, detection)
                begun, ready = now, now + downtime
        if missing > limit and mode != _STUCK:
            if mode == _RECOVERING:
                _book_recovery(account, now - begun, detection)
            else:
                account[_REWORK] += pending
                pending, away = 0.0, 0
            account[_BLOCKINGS] += 1
            mode, ready = _STUCK, np.inf
        elif missing <= limit and mode == _STUCK:
            mode, begun, ready = _RECOVERING, now, now + downtime

    hours = end - warm
    for i in range(account.size):
        out[i] = account[i] if i == _EVENTS else account[i] / hours
    for n in range(down_hours.size):
        down_hours[n] /= hours * zones
