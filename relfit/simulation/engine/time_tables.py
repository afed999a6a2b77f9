"""Times to failure and to repair as tables for compiled loops: log of time by log of cumulative hazard.

A Weibull time is a straight line there, so it (and the exponential) are drawn exactly; others to about 1e-5.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution
from relfit.simulation.engine.records import entry

KNOTS = 4096
LOW, _HIGH = float(np.log(1e-12)), float(np.log(60.0))
STEP = (_HIGH - LOW) / (KNOTS - 1)
_LEAST = -600.0  # log of the shortest time


def _hazards() -> FloatArray:
    return np.asarray(np.exp(LOW + STEP * np.arange(KNOTS)))


def time_table(name: str, family: Distribution) -> FloatArray:
    """Logs of the times at which the cumulative hazard reaches the knots.

    Raises
    ------
    ArgumentError
        When `family` is a batch, or has times that never end.

    Examples
    --------
    >>> from relfit.fitting.families import Weibull
    >>> bool(np.ptp(np.diff(time_table("tray", Weibull(0.7, 100.0)))) < 1e-10)
    True
    """
    if family.batch_shape:
        raise ArgumentError(f"{name} is a batch of distributions", remedy="give one")
    with np.errstate(divide="ignore"):
        logs = np.log(family.inverse_cumulative_hazard(_hazards()))
    if not np.all(logs < np.inf):
        raise ArgumentError(f"{name}: {type(family).__name__} has times that never end or are unknown")
    return np.maximum(logs, _LEAST)


def remaining_table(table: FloatArray) -> FloatArray:
    """The table of the remaining time from a random instant (equilibrium renewal).

    Its density is the reliability over the mean.

    Examples
    --------
    >>> from relfit.fitting.families import Exponential
    >>> times = time_table("tray", Exponential(0.02))
    >>> bool(np.abs(remaining_table(times) - times)[:4000].max() < 1e-3)
    True
    """
    alive = np.exp(-_hazards())
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
