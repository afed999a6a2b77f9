"""The normal quantile that belongs to the level of an interval."""

from __future__ import annotations

from scipy import special

from relfit.base.errors import ArgumentError

__all__ = ["normal_quantile"]


def normal_quantile(level: float) -> float:
    """Two-sided normal quantile of a level.

    An `ArgumentError` when the level is not between 0 and 1.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    return float(special.ndtri(0.5 + 0.5 * level))
