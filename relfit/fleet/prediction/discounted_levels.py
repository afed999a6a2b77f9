"""The level of a series as its past says: weighted means, counts of the last months, slopes, and returns to the mean.

A mean with a half-life is the best guess of a level that wanders as fast as that half-life suits (Muth 1960): with gain
``K = 1 - 2**(-1/H)`` a day and a variance ``s`` of what is seen in a day, the level is known with variance ``K s`` and
wanders by ``K**2 s`` a day. A half-life without end is the mean of a level that never moves; a count of the last months
is that of one that has not moved since. A level that rises or falls goes on, for a while (a slope by double
smoothing that fades, Gardner and McKenzie 1985); one that was high for weeks may return to the mean of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relfit.base.arrays import FloatArray, IntArray

__all__ = ["HALF_LIVES", "RETURNS", "SLOPES", "WINDOWS", "DiscountedLevels", "discounted", "levels_of"]

HALF_LIVES = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, np.inf)
WINDOWS = (90.0, 180.0)
"""Days, too."""
SLOPES, _FADES = (80.0,), 180.0
"""Half-lives of the levels with a slope, and in how many days the slope fades."""
RETURNS, _RETURN = (10.0, 40.0), 90.0
"""Half-lives of the levels that return to the mean of all, and in how many days."""
_SLOPED = (0.25, 4.0)  # of the level without its slope: where one with a slope ends
_OF_SLOPE = 2.5  # variance of a level with a slope relative to one without: (1 + 4 + 5) / 4 where the gain is small
_OF_RETURN = 0.5  # wander of a level that returns, relative to one that does not
_DOUBLINGS = 500  # of a weight, that a number of double precision holds with room to spare
_PRIOR = 0.5  # of an event, at the mean of all that was seen before


@dataclass(frozen=True, eq=False)
class DiscountedLevels:
    """Levels by predictor and step.

    Attributes
    ----------
    level : ndarray, shape (predictors, steps + 1)
        Per unit and step, as known at the start of each step; the last is that of now.
    uncertain : ndarray, shape (predictors, steps + 1)
        Variance of the level, in variances of what one step shows.
    wander : ndarray, shape (predictors,)
        By how much the variance of the level grows in a step, likewise.
    toward : ndarray, shape (predictors, steps + 1)
        Where the level goes in the end; where it is, for one that is not expected to move.
    within : ndarray, shape (predictors,)
        Steps within which the distance shrinks by a factor of e.
    """

    level: FloatArray
    uncertain: FloatArray
    wander: FloatArray
    toward: FloatArray
    within: FloatArray

    @property
    def steady(self) -> DiscountedLevels:
        """The one level that does not move."""
        row = [len(HALF_LIVES) - 1]
        return DiscountedLevels(
            self.level[row], self.uncertain[row], self.wander[row], self.toward[row], self.within[row]
        )

    def over(self, at: IntArray, steps: float) -> FloatArray:
        """Mean level over so many steps from each of some steps on, shape (predictors, origins).

        Examples
        --------
        >>> row, none = np.array([[4.0]]), np.zeros((1, 1))
        >>> levels = DiscountedLevels(row, none, none[0], row / 2.0, np.array([90.0]))
        >>> levels.over(np.array([0]), 90.0).round(3).tolist()  # 2 + 2 (1 - 1/e)
        [[3.264]]
        """
        gone = 1.0 + np.expm1(-steps / self.within) * self.within / steps
        return self.level[:, at] + gone[:, None] * (self.toward[:, at] - self.level[:, at])


def discounted(values: FloatArray, half_life: float) -> FloatArray:
    """Sums of the values before each step, and before now, discounted by age; half-lives in steps.

    Examples
    --------
    >>> discounted(np.array([1.0, 0.0, 1.0]), 1.0).tolist()
    [0.0, 1.0, 0.5, 1.25]
    """
    size = values.shape[-1]
    sums = np.zeros((*values.shape[:-1], size + 1))
    block = size if np.isinf(half_life) else max(int(_DOUBLINGS * half_life), 1)
    for first in range(0, size, max(block, 1)):  # blocks within which no weight overflows
        part = values[..., first : first + block]
        growth = 2.0 ** (np.arange(1, part.shape[-1] + 1) / half_life)
        own = np.cumsum(part * growth, axis=-1) + sums[..., first : first + 1]
        sums[..., first + 1 : first + 1 + part.shape[-1]] = own / growth
    return sums


def levels_of(value: FloatArray, exposure: FloatArray, days: float = 1.0) -> DiscountedLevels:
    """Levels of a series by half-life, of the last days, with a slope, and with a return to the mean.

    Parameters
    ----------
    value, exposure : ndarray, shape (steps,)
        What was counted in each step, and of how many units.
    days : float
        In a step.

    Examples
    --------
    >>> levels = levels_of(np.full(400, 3.0), np.ones(400))
    >>> levels.level[:, -1].round(2).tolist()
    [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
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
    toward, within = level.copy(), [1.0] * len(level)
    for half_life in SLOPES:
        row, steps = HALF_LIVES.index(half_life), half_life / days
        twice = discounted(level[row], steps)[1:] / discounted(np.ones(mean.size), steps)[1:]
        rise = level[row] - twice  # in about 1.44 half-lives
        ends = level[row] + rise * (1.0 + _FADES / days * np.expm1(np.log(2.0) / steps))
        low, high = (bound * level[row] for bound in _SLOPED)
        level.append(np.clip(level[row] + rise, low, high))
        toward.append(np.clip(ends, low, high))
        uncertain.append(_OF_SLOPE * uncertain[row])
        wander.append(wander[row])
        within.append(_FADES / days)
    for half_life in RETURNS:
        row = HALF_LIVES.index(half_life)
        level.append(level[row])
        toward.append(level[len(HALF_LIVES) - 1])
        uncertain.append(uncertain[row])
        wander.append(_OF_RETURN * wander[row])
        within.append(_RETURN / days)
    return DiscountedLevels(*(np.array(each) for each in (level, uncertain, wander, toward, within)))
