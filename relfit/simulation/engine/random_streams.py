"""Random numbers and times for compiled loops.

Of numbers there is one stream per purpose, so that a change of one leaves the others as they are: SplitMix64 (Steele,
Lea and Flood 2014). The state of a stream is one word; a model has those of all its purposes in one array. Times to
failure and to repair are tables, log of time by log of cumulative hazard: a Weibull time is a straight line there, so
it (and the exponential) are drawn exactly; others to about 1e-5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution
from relfit.simulation.engine.records import entry

Streams = npt.NDArray[np.uint64]

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53
KNOTS = 4096
LOW, _HIGH = float(np.log(1e-12)), float(np.log(60.0))
STEP = (_HIGH - LOW) / (KNOTS - 1)
_HAZARDS = np.exp(LOW + STEP * np.arange(KNOTS))
_LEAST = -600.0  # log of the shortest time


def new_streams(n: int, seed: Sequence[int]) -> Streams:
    """States of n streams, from numbers such as the seed and the replication."""
    return np.random.SeedSequence(list(seed)).generate_state(n, np.uint64).astype(np.uint64)


@entry
def uniform(streams: Streams, purpose: int) -> float:
    """A uniform number in [0, 1)."""
    streams[purpose] += _INCREMENT
    word = streams[purpose]
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    word = word ^ (word >> np.uint64(31))
    return float(word >> np.uint64(11)) * _UNIT


@entry
def exponential(streams: Streams, purpose: int) -> float:
    """An exponential number of mean one."""
    return -math.log(1.0 - uniform(streams, purpose))


@entry
def below(streams: Streams, purpose: int, n: int) -> int:
    """A uniform integer from 0 to n - 1."""
    return int(uniform(streams, purpose) * n)


def time_table(name: str, family: Distribution) -> FloatArray:
    """Logs of the times at which the cumulative hazard reaches the knots.

    An `ArgumentError` for a batch of distributions, or one with times that never end.
    """
    if family.batch_shape:
        raise ArgumentError(f"{name} is a batch of distributions", remedy="give one")
    with np.errstate(divide="ignore"):
        logs = np.log(family.inverse_cumulative_hazard(_HAZARDS))
    if not np.all(logs < np.inf):
        raise ArgumentError(f"{name}: {type(family).__name__} has times that never end or are unknown")
    return np.maximum(logs, _LEAST)


def remaining_table(table: FloatArray) -> FloatArray:
    """The table of the remaining time from a random instant (equilibrium renewal).

    Its density is the reliability over the mean.
    """
    alive = np.exp(-_HAZARDS)
    time = np.exp(table)
    # integral of the reliability, knot by knot; alive changes by at most a percent between two of them until the tail
    steps = np.diff(time) * 0.5 * (alive[1:] + alive[:-1])
    passed = np.concatenate([[time[0] * alive[0]], steps]).cumsum()
    tail = alive[-1] * (time[-1] - time[-2]) / max(STEP * np.exp(_HIGH), 1.0)
    left = np.concatenate([steps[::-1].cumsum()[::-1], [0.0]]) + max(tail, np.finfo(float).tiny)
    total = passed[-1] + left[-1]
    with np.errstate(divide="ignore"):
        hazard = np.where(passed < 0.5 * total, -np.log1p(-passed / total), -np.log(left / total))
    keep = np.concatenate([[True], np.diff(hazard) > 0.0])
    x, y = np.log(hazard[keep]), table[keep]
    wanted = LOW + STEP * np.arange(KNOTS)
    values = np.interp(wanted, x, y)
    # near zero the density is flat, so time is proportional to the hazard; beyond the last knot the last slope goes on
    values = np.where(wanted < x[0], y[0] + (wanted - x[0]), values)
    slope = (y[-1] - y[-8]) / (x[-1] - x[-8])
    return np.asarray(np.where(wanted > x[-1], y[-1] + slope * (wanted - x[-1]), values))


@entry
def time_at(table: FloatArray, hazard: float) -> float:
    """The time at which the cumulative hazard reaches a value; with an exponential value, a random time."""
    step = (math.log(max(hazard, 1e-300)) - LOW) / STEP
    knot = min(max(int(step), 0), KNOTS - 2)
    return math.exp(table[knot] + (step - knot) * (table[knot + 1] - table[knot]))


@entry
def hazard_at(table: FloatArray, time: float) -> float:
    """The cumulative hazard at a time."""
    log = math.log(max(time, 1e-300))
    low, high = 0, KNOTS - 1
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle] <= log:
            low = middle
        else:
            high = middle
    rise = table[high] - table[low]
    return math.exp(LOW + STEP * (low + ((log - table[low]) / rise if rise > 0.0 else 0.0)))
