"""What results are for: now or the long run, and the horizons of a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relfit.base.arrays import Durations
from relfit.base.errors import ArgumentError
from relfit.base.text import duration
from relfit.base.units import hours as hours_of
from relfit.fleet._chosen_period import ChosenPeriod
from relfit.log.failurelog import FailureLog
from relfit.log.tables import made_once

NOW, LONG_RUN = "now", "long run"
_SHORTEST = 1.0  # hours of a horizon


def checked_at(at: str) -> str:
    """``"now"`` or ``"long run"``; an `ArgumentError` for any other text."""
    at = str(at).replace("-", " ")
    if at not in (NOW, LONG_RUN):
        raise ArgumentError(f"at={at!r} is not known", remedy='use "now" or "long run"')
    return at


def checked_horizons(horizons: Durations) -> list[float]:
    """Hours of each horizon, once each; an `ArgumentError` for none, and for one below an hour."""
    items: list[object] = [horizons]
    if isinstance(horizons, (Sequence, np.ndarray)) and not isinstance(horizons, str):
        items = list(horizons)
    hours = [hours_of(item) for item in items]
    if not hours:
        raise ArgumentError("no horizon is given", remedy="give 30d or the like")
    for item, value in zip(items, hours, strict=True):
        if not (np.isfinite(value) and value > 0.0):
            raise ArgumentError(f"a horizon of {item!r} is not possible", remedy="give a time above zero, as 30d")
        if value < _SHORTEST:
            what = f"a horizon of {duration(value)} is below an hour"
            raise ArgumentError(what, remedy="m means minutes: write 180d for six months")
    return list(dict.fromkeys(hours))


@made_once
def until_now(log: FailureLog, chosen: ChosenPeriod) -> ChosenPeriod:
    """A period extended to the end of the log; one set by dates stays as it is."""
    if chosen.name == "given" or not chosen.log.window.end < log.window.end:
        return chosen
    part = log.between(chosen.log.window.start, None) if chosen.log.window.start > log.window.start else log
    return replace(chosen, log=part, before_now=chosen.log.window)
