"""How long a source may be silent before that is no chance."""

from __future__ import annotations

import math

from relfit.base.units import HOURS_PER_YEAR

_LONGEST = 1.5  # a source is silent beyond this multiple of the year's longest pause
_LEAST = 24.0  # hours


def longest_pause(number: int, mean: float, longest: float, budget: float) -> float:
    """Hours that a source may be silent: exceeded by chance `budget` times a year, and longer than any pause it had.

    Pauses are exponential, with a mean that is only known from those between `number` records.
    """
    if number < 2:
        return math.inf
    pauses = number - 1
    by_chance = pauses * mean * math.expm1(math.log(max(HOURS_PER_YEAR / mean / budget, 2.0)) / pauses)
    return max(by_chance, _LONGEST * longest, _LEAST)
