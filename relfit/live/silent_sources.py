"""Alarms about sources: one that gave records and fell silent, whose form changed, or that keeps failing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from relfit.base.text import duration
from relfit.live.live_records import Alarm

if TYPE_CHECKING:
    from relfit.live.fleet_store import FleetStore
    from relfit.live.watch_settings import WatchSettings

__all__ = ["SHARE", "source_alarms"]

SHARE = 0.1
"""Of the false alarms that are borne in a year, those about sources."""
_LONGEST = 1.5  # times the longest pause of a year, below which a source is not silent
_LEAST = 24.0  # hours
_YEAR = 8766.0  # hours
_FAILING = 48.0  # hours


def source_alarms(store: FleetStore, settings: WatchSettings, now: pd.Timestamp) -> list[Alarm]:
    """What is to be said of the sources of a fleet at the end of a round."""
    alarms = []
    table = store.sources()
    budget = SHARE * settings.alarms.per_year / len(settings.sources)
    for source in settings.sources:
        name = source.title
        if name not in table.index:
            continue
        row: Any = table.loc[name]
        subject = f"source {name}"
        gave, failing = (pd.Timestamp(row[key], tz="UTC") for key in ("gave_at", "failing_since"))
        if row["form"] != row["form_before"] and not row["failure"]:
            text = f"Its form changed from {row['form_before'][:200]!r} to {row['form'][:200]!r}."
            alarms.append(Alarm("source", subject, now, now, text, "Check that its records are still read right."))
            continue
        hours = (now - failing) / pd.Timedelta("1h") if row["failure"] else 0.0
        if hours >= _FAILING:
            text = f"It has failed for {duration(hours)}: {row['failure'][:300]}."
            alarms.append(
                Alarm("source", subject, failing, now, text, "Mend it: nothing of it is seen.", {"hours": hours})
            )
            continue
        silent = (now - gave) / pd.Timedelta("1h") if not pd.isna(gave) else 0.0
        limit = _longest_pause(store.pauses(name), budget)
        if silent > limit:
            text = f"It has given nothing for {duration(silent)}; its pauses are below {duration(limit)}."
            evidence = {"hours": silent, "limit": limit}
            alarms.append(Alarm("source", subject, gave, now, text, "Is it still written?", evidence))
    return alarms


def _longest_pause(pauses: tuple[int, float, float], budget: float) -> float:
    """Hours that a source may be silent: exceeded by chance `budget` times a year, and longer than any pause it had.

    Examples
    --------
    >>> round(_longest_pause((366, 24.0, 50.0), 0.1))
    197
    """
    number, mean, longest = pauses
    if number < 2:
        return math.inf
    by_chance = mean * math.log(max(_YEAR / mean / budget, 2.0))
    return max(by_chance, _LONGEST * longest, _LEAST)
