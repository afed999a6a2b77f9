"""Levels of a series from its past: exponentially weighted means, means of the last months, and levels with a slope.

A mean with half-life H is optimal for a level that follows a random walk of matching speed (Muth 1960): with gain ``K =
1 - 2**(-1/H)`` per day and daily variance ``s``, the level is known with variance ``K s`` and moves by ``K**2 s`` per
day. A slope fades (double exponential smoothing, Gardner and McKenzie 1985).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relfit.base.arrays import FloatArray, IntArray

HALF_LIVES = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, np.inf)
WINDOWS = (90.0, 180.0)
"""Days, as `HALF_LIVES`."""
SLOPE, _FADES = 80.0, 180.0
"""Half-life of the level with a slope, one of `HALF_LIVES`; days within which the slope fades."""
_LEAST = 0.25  # where a level with a slope ends at least, relative to the mean of the same half-life
_OF_SLOPE = 2.5  # variance of a level with a slope relative to the mean's, for a small gain: (1 + 4 + 5) / 4
_DOUBLINGS = 500  # of a weight, far from overflow in double precision
_PRIOR = 0.5  # events added at the mean of the past


@dataclass(frozen=True, eq=False)
class DiscountedLevels:
    """Levels by predictor and step; the last step is now."""

    level: FloatArray  # rate per unit and step, as known at the start of each, shape (predictors, steps + 1)
    uncertain: FloatArray  # its variance relative to that of one step's value, same shape
    wander: FloatArray  # growth of this variance per step, shape (predictors,)
    toward: FloatArray  # where the level goes in the end, or itself where it is expected to stay, shape as `level`
    within: FloatArray  # steps within which it is e times closer to that, shape (predictors,)

    @property
    def steady(self) -> DiscountedLevels:
        """The level with an infinite half-life."""
        row = [len(HALF_LIVES) - 1]
        return DiscountedLevels(*(each[row] for each in vars(self).values()))

    @property
    def flat(self) -> DiscountedLevels:
        """The levels without a slope."""
        return DiscountedLevels(*(each[:-1] for each in vars(self).values()))

    def over(self, at: IntArray, steps: float) -> FloatArray:
        """Mean level over `steps` steps from each origin on, shape (predictors, origins)."""
        gone = 1.0 + np.expm1(-steps / self.within) * self.within / steps
        return self.level[:, at] + gone[:, None] * (self.toward[:, at] - self.level[:, at])


def discounted(values: FloatArray, half_life: float) -> FloatArray:
    """Sums of the values before each step and before now, discounted by age with a half-life in steps."""
    size = values.shape[-1]
    sums = np.zeros((*values.shape[:-1], size + 1))
    block = size if np.isinf(half_life) else max(int(_DOUBLINGS * half_life), 1)
    for first in range(0, size, max(block, 1)):  # no weight overflows within a block
        part = values[..., first : first + block]
        growth = np.exp2(np.arange(1, part.shape[-1] + 1) / half_life)
        own = np.cumsum(part * growth, axis=-1) + sums[..., first : first + 1]
        sums[..., first + 1 : first + 1 + part.shape[-1]] = own / growth
    return sums


def levels_of(value: FloatArray, exposure: FloatArray, days: float = 1.0) -> DiscountedLevels:
    """Levels of a series of counts in steps of some `days`, and numbers of units: one per half-life, the means of the
    last 90 and 180 days, and one with a slope.
    """
    series = np.stack([value, exposure, exposure > 0.0])
    before = discounted(series, np.inf)
    mean = (before[0] + _PRIOR) / np.maximum(before[1], np.mean(exposure))
    level, uncertain, wander = [], [], []
    for half_life in HALF_LIVES:
        steps = half_life / days
        sums, units, seen = discounted(series, steps)
        level.append((sums + _PRIOR) / (units + _PRIOR / mean))
        uncertain.append(1.0 / np.maximum(seen, 1.0))
        wander.append((1.0 - 0.5 ** (1.0 / steps)) ** 2)
    for window in WINDOWS:
        first = np.maximum(np.arange(mean.size) - max(round(window / days), 1), 0)
        sums, units, seen = before - before[:, first]
        level.append((sums + _PRIOR) / (units + _PRIOR / mean))
        uncertain.append(1.0 / np.maximum(seen, 1.0))
        wander.append(0.0)
    toward, within = level.copy(), [1.0] * len(level)
    row, steps = HALF_LIVES.index(SLOPE), SLOPE / days
    twice = discounted(level[row], steps)[1:] / discounted(np.ones(mean.size), steps)[1:]
    rise = level[row] - twice  # in about 1.44 half-lives
    ends = level[row] + rise * (1.0 + _FADES / days * np.expm1(np.log(2.0) / steps))
    level.append(np.maximum(level[row] + rise, _LEAST * level[row]))
    toward.append(np.maximum(ends, _LEAST * level[row]))
    uncertain.append(_OF_SLOPE * uncertain[row])
    wander.append(wander[row])
    within.append(_FADES / days)
    return DiscountedLevels(*(np.array(each) for each in (level, uncertain, wander, toward, within)))
