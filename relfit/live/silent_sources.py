"""Alarms of sources that fell silent, changed their form, or keep failing."""

from __future__ import annotations

from typing import Any

import pandas as pd

from relfit.base.text import duration
from relfit.fleet.surveillance import longest_pause
from relfit.live.fleet_store import FleetStore
from relfit.live.live_records import Alarm
from relfit.live.watch_settings import WatchSettings

SHARE = 0.1
"""Share of the allowed false alarms of a year for sources."""
_HOUR = pd.Timedelta("1h")
_FAILING = 48.0  # hours


def source_alarms(store: FleetStore, settings: WatchSettings, now: pd.Timestamp) -> list[Alarm]:
    """The alarms of the sources of a fleet at the end of a round."""
    alarms = []
    budget = SHARE * settings.alarms.per_year / len(settings.sources)
    table = store.sources()
    for source in settings.sources:
        if (name := source.title) not in table.index:
            continue
        row: Any = table.loc[name]
        gave, failing = (pd.Timestamp(row[key], tz="UTC") for key in ("gave_at", "failing_since"))
        failed = (now - failing) / _HOUR if row["failure"] else 0.0
        evidence: dict[str, float] = {}
        if row["form"] != row["form_before"] and not row["failure"]:
            since = now
            text = f"The form of source {name} changed from {row['form_before'][:200]!r} to {row['form'][:200]!r}."
            advice = "Check that its records are still read correctly."
        elif failed >= _FAILING:
            since, evidence = failing, {"hours": failed}
            text = f"Source {name} has failed for {duration(failed)}: {row['failure'][:300]}."
            advice = "Mend it: none of its records arrive."
        else:
            number, mean, longest, last = store.pauses(name, now)
            since, limit = max(gave, last), longest_pause(number, mean, longest, budget)
            silent = (now - since) / _HOUR
            if not silent > limit:
                continue
            text = (
                f"Source {name} has given nothing new for {duration(silent)}: its last record is of "
                f"{last.tz_convert(now.tz):%Y-%m-%d}, and its pauses are below {duration(limit)}."
            )
            advice, evidence = "Is it still written?", {"hours": silent, "limit": limit}
        alarms.append(Alarm("source", f"source {name}", since, now, text, advice, evidence))
    return alarms
