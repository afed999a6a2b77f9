"""The level of an interval: its check, and the normal quantile that belongs to it."""

from __future__ import annotations

from scipy import special

from relfit.base.arguments import share


def level_checked(level: float) -> float:
    """The level itself; an `ArgumentError` when it is not between 0 and 1."""
    return float(share("level", level, zero=False, one=False))


def normal_quantile(level: float) -> float:
    """Two-sided normal quantile of a level, 1.96 of 0.95; an `ArgumentError` as `level_checked`."""
    return float(special.ndtri(0.5 + 0.5 * level_checked(level)))
