"""Levels of a series from its past: exponentially weighted means, and means of the last months.

A mean with half-life H is optimal for a level that follows a random walk of matching speed (Muth 1960): with gain
``K = 1 - 2**(-1/H)`` per day and daily variance ``s``, the level is known with variance ``K s`` and moves by ``K**2 s``
per day. An infinite half-life is the mean of a constant level, a mean of the last months that of one constant since.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relfit.base.arrays import FloatArray

__all__ = ["HALF_LIVES", "WINDOWS", "DiscountedLevels", "discounted", "levels_of"]

HALF_LIVES = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, np.inf)
WINDOWS = (90.0, 180.0)
"""Days, as `HALF_LIVES`."""
_DOUBLINGS = 500  # of a weight, far from overflow in double precision
_PRIOR = 0.5  # events added at the mean of the past


@dataclass(frozen=True, eq=False)
class DiscountedLevels:
    """Levels by predictor and step.

    Attributes
    ----------
    level : ndarray, shape (predictors, steps + 1)
        Rate per unit and step, as known at the start of each step; the last is that of now.
    uncertain : ndarray, shape (predictors, steps + 1)
        Variance of the level, relative to the variance of one step's value.
    wander : ndarray, shape (predictors,)
        Growth of this variance per step.
    """

    level: FloatArray
    uncertain: FloatArray
    wander: FloatArray

    @property
    def steady(self) -> DiscountedLevels:
        """The level with an infinite half-life."""
        row = [len(HALF_LIVES) - 1]
        return DiscountedLevels(self.level[row], self.uncertain[row], self.wander[row])


def discounted(values: FloatArray, half_life: float) -> FloatArray:
    """Sums of the values before each step and before now, discounted by age with a half-life in steps.

    Examples
    --------
    >>> discounted(np.array([1.0, 0.0, 1.0]), 1.0).tolist()
    [0.0, 1.0, 0.5, 1.25]
    """
    size = values.shape[-1]
    sums = np.zeros((*values.shape[:-1], size + 1))
    block = size if np.isinf(half_life) else max(int(_DOUBLINGS * half_life), 1)
    for first in range(0, size, max(block, 1)):  # no weight overflows within a block
        part = values[..., first : first + block]
        growth = 2.0 ** (np.arange(1, part.shape[-1] + 1) / half_life)
        own = np.cumsum(part * growth, axis=-1) + sums[..., first : first + 1]
        sums[..., first + 1 : first + 1 + part.shape[-1]] = own / growth
    return sums


def levels_of(value: FloatArray, exposure: FloatArray, days: float = 1.0) -> DiscountedLevels:
    """Levels of a series: one per half-life, then the means of the last 90 and 180 days.

    Parameters
    ----------
    value, exposure : ndarray, shape (steps,)
        Count in each step, and number of units.
    days : float
        Days per step.

    Examples
    --------
    >>> levels = levels_of(np.full(400, 3.0), np.ones(400))
    >>> levels.level[:, -1].round(2).tolist()
    [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    """
    before = discounted(value, np.inf), discounted(exposure, np.inf)
    mean = (before[0] + _PRIOR) / np.maximum(before[1], np.mean(exposure))
    seen = (exposure > 0.0).astype(np.float64)
    level, uncertain, wander = [], [], []
    for half_life in HALF_LIVES:
        steps = half_life / days
        level.append((discounted(value, steps) + _PRIOR) / (discounted(exposure, steps) + _PRIOR / mean))
        uncertain.append(1.0 / np.maximum(discounted(seen, steps), 1.0))
        wander.append((1.0 - 0.5 ** (1.0 / steps)) ** 2)
    seen_before = discounted(seen, np.inf)
    for window in WINDOWS:
        first = np.maximum(np.arange(mean.size) - max(round(window / days), 1), 0)
        sums, units, steps_seen = (each - each[first] for each in (*before, seen_before))
        level.append((sums + _PRIOR) / (units + _PRIOR / mean))
        uncertain.append(1.0 / np.maximum(steps_seen, 1.0))
        wander.append(0.0)
    return DiscountedLevels(np.array(level), np.array(uncertain), np.array(wander))
