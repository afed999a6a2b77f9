"""Jobs at reduced size, simulated and in closed form, against a plain simulation of blocks and racks."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from relfit.planning import Cluster, DeviceFailures, Recovery, Strategies
from relfit.simulation import SparingAssumptions, simulate_sparing

YEARS, REPAIR, BACK = 60.0, 24.0, 1.0  # hours


def plain(racks: int, held: int, spare: int, mtbf: float, rack_mtbf: float, limit: int, unit: int) -> np.ndarray:
    """Full stops per hour, and the share of the time in full recovery, of a job on all but the spare blocks."""
    rng, n = np.random.default_rng(5), racks * held
    lives = [mtbf] * n + [rack_mtbf] * racks
    events = [(rng.exponential(life), device, 1) for device, life in enumerate(lives)]
    heapq.heapify(events)
    faults, used, idle = np.zeros(n, int), np.arange(n) < n - spare, list(range(n - spare, n))
    missing, stops, begun, ready, recovered = 0, 0, 0.0, 0.0, 0.0
    away: list[tuple[float, int]] = []  # when blocks are back, and how many
    while (now := events[0][0]) < YEARS * 8760:
        _, device, fails = heapq.heappop(events)
        heapq.heappush(events, (now + rng.exponential(REPAIR if fails else lives[device]), device, 1 - fails))
        hit, before = 0, missing
        for block in [device] if device < n else range((device - n) * held, (device - n + 1) * held):
            changed = faults[block] == 1 - fails
            faults[block] += 2 * fails - 1
            if not changed:
                continue
            if fails and used[block]:
                hit, used[block] = hit + 1, False
                if idle:
                    used[idle.pop()] = True
                else:
                    missing += 1
            elif fails:
                idle.remove(block)
            elif missing:
                missing, used[block] = missing - 1, True
            else:
                idle.append(block)
        if before > limit:
            if missing <= limit:
                begun, ready = now, now + BACK
            continue
        away = [(end, blocks) for end, blocks in away if end > now]
        if hit and now >= ready:
            stopped = -(-hit // unit) * unit
            away.append((now + BACK, stopped - (missing - before)))
            if missing + sum(blocks for _, blocks in away) > limit:
                stops, away = stops + 1, []
                recovered += ready - begun
                begun, ready = now, now + BACK
        if missing > limit:
            recovered += min(now, ready) - begun
            begun = ready = now
    return np.array([stops, recovered]) / (YEARS * 8760)


@pytest.mark.parametrize(
    ("racks", "held", "spare", "mtbf", "rack_mtbf", "limit", "unit"),
    [
        (40, 1, 1, 1000.0, np.inf, 2, 2),
        (40, 1, 0, 1000.0, np.inf, 1, 1),
        (40, 1, 1, 1000.0, np.inf, 2, 1),
        (20, 4, 4, 4000.0, 2000.0, 2, 1),
        (20, 4, 0, 4000.0, 2000.0, 4, 2),
        (20, 8, 32, 1e9, 1000.0, 1, 1),
    ],
)
def test_stops_and_recovery_are_those_of_a_plain_simulation(
    racks: int, held: int, spare: int, mtbf: float, rack_mtbf: float, limit: int, unit: int
) -> None:
    """A block without a spare was missing twice, and a rack of eight blocks was one block."""
    stops, recovered = plain(racks, held, spare, mtbf, rack_mtbf, limit, unit)
    recovery = Recovery("2h", "3min", "10min", "50min", loss_limit=limit, unit=unit, exchange="1h")
    cluster, strategy = Cluster(racks=racks, trays=held), Strategies(1, 0, spare)
    devices, apart = DeviceFailures(mtbf, rack_mtbf, REPAIR), SparingAssumptions(whole_block_repairs=False)
    run = simulate_sparing(cluster, strategy, devices, recovery, apart, years=YEARS, n_resamples=2, rng=2)
    assert run.replications["stops"].mean() == pytest.approx(stops, rel=0.1)
    job = 1.0 - spare / (racks * held)
    for found, within in (("simulated", 0.1), ("closed_form", 0.15)):
        share = run.shares[found]["detection"] + run.shares[found]["restart"]
        assert share == pytest.approx(job * recovered, rel=within)
    assert abs(run.error) < 0.006
