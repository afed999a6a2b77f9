"""Horizons of a forecast: times ahead, each above an hour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relfit.base.arrays import Durations
from relfit.base.errors import ArgumentError
from relfit.base.text import duration
from relfit.base.units import hours as hours_of

_SHORTEST = 1.0  # hours


def checked_horizons(horizons: Durations) -> list[float]:
    """Hours of each horizon, once each; an `ArgumentError` for none, and for one below an hour."""
    items = (
        list(horizons) if isinstance(horizons, (Sequence, np.ndarray)) and not isinstance(horizons, str) else [horizons]
    )
    hours = [hours_of(item) for item in items]
    if not hours:
        raise ArgumentError("no horizon is given", remedy="give 30d or the like")
    for item, value in zip(items, hours, strict=True):
        if not (np.isfinite(value) and value > 0.0):
            raise ArgumentError(f"a horizon of {item!r} is not possible", remedy="give a time above zero, as 30d")
        if value < _SHORTEST:
            raise ArgumentError(
                f"a horizon of {duration(value)} is below an hour",
                remedy="m means minutes: write 180d for six months",
            )
    return list(dict.fromkeys(hours))
