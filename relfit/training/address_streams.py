"""Random numbers for the compiled loop: one stream per purpose, so that a change of one parameter leaves the others'.

SplitMix64 (Steele, Lea and Flood 2014); a stream is one word of state.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.simulation.engine.time_tables import LOW, STEP
from relfit.training import layout as at
from relfit.training.addresses import compiled
from relfit.training.layout import Memory, Reals

__all__ = ["KNOTS", "N_STREAMS", "below", "exponential", "seeds", "tabled_hazard", "tabled_time", "uniform"]

N_STREAMS = 14
(
    SETUP, LIFE, PICK, KIND, DIAGNOSIS, AUTO_TIME, MANUAL_TIME, ESCALATION, OUTCOME, SELECTION, REGENERATION, RACKS,
    CLUSTER, CORRUPTION,
) = range(N_STREAMS)  # fmt: skip

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53
KNOTS = 4096


def seeds(rng: int, replication: int) -> np.ndarray:
    """The first words of all streams of a replication."""
    return np.random.SeedSequence([rng, replication]).generate_state(N_STREAMS, np.uint64)


@compiled
def uniform(m: Memory, stream: int) -> float:
    """A number in [0, 1)."""
    state = np.uint64(m[at.STREAMS + stream]) + _STEP
    m[at.STREAMS + stream] = np.int64(state)
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    state = state ^ (state >> np.uint64(31))
    return float(state >> np.uint64(11)) * _UNIT


@compiled
def exponential(m: Memory, stream: int) -> float:
    """A time of mean one."""
    return -math.log(1.0 - uniform(m, stream))


@compiled
def below(m: Memory, stream: int, n: int) -> int:
    """A whole number from 0 to n - 1."""
    return int(uniform(m, stream) * n)


@compiled
def tabled_time(x: Reals, table: int, hazard: float) -> float:
    """The time at which the cumulative hazard of a table (see `relfit.simulation.engine.time_tables`) is reached."""
    step = (math.log(max(hazard, 1e-300)) - LOW) / STEP
    knot = min(max(int(step), 0), KNOTS - 2)
    return math.exp(x[table + knot] + (step - knot) * (x[table + knot + 1] - x[table + knot]))


@compiled
def tabled_hazard(x: Reals, table: int, time: float) -> float:
    """The cumulative hazard that a table reaches by a time."""
    log = math.log(max(time, 1e-300))
    low, high = 0, KNOTS - 1
    while high - low > 1:
        middle = (low + high) // 2
        if x[table + middle] <= log:
            low = middle
        else:
            high = middle
    rise = x[table + high] - x[table + low]
    return math.exp(LOW + STEP * (low + ((log - x[table + low]) / rise if rise > 0.0 else 0.0)))
