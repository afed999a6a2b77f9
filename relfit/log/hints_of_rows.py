"""What a log says by itself that its reader should know: rows that were planned, a fleet that may have grown."""

from __future__ import annotations

import re
from shlex import quote

import numpy as np
import pandas as pd

from relfit.base.text import out_of
from relfit.log.tables import EVENT_COLUMNS, Tables, pair_codes

_PLANNED = re.compile(
    r"(planned|scheduled|preventive)([ _-].*)?|((regular|routine|system|node)[ _-])?maint(enance)?([ _-]window)?", re.I
)
_MANY_PLANNED = 0.01  # of the rows
_SEVERAL = 3  # records of a node
_SPANS = 25  # of the window; of a node's records in one of them the first counts
_FEWEST = 20  # nodes with several records
_MANY_LATE = 0.3  # of these nodes
_TIMES_EXPECTED, _DEVIATIONS = 1.5, 4.0
_PARTS = np.arange(0.2, 0.85, 0.1)  # of the window


def hints(log: Tables) -> list[str]:
    """What a log says by itself, each with the option that follows from it."""
    return [hint for hint in (planned_hint(log), growth_hint(log)) if hint]


def planned_hint(log: Tables) -> str:
    """That a value in many rows says that they were planned; empty where none does."""
    events = log.events
    names = ["cause", "detail", *(name for name in events.columns if name not in EVENT_COLUMNS)]
    counts = {name: events[name].value_counts() for name in names if events[name].dtype.kind not in "biufmM"}
    found = [
        (int(number), name, str(value))
        for name, values in counts.items()
        for value, number in values[values >= max(1.0, _MANY_PLANNED * len(events))].items()
        if _PLANNED.fullmatch(str(value).strip())
    ]
    if not found:
        return ""
    number, name, value = max(found, key=lambda each: each[0])
    say = out_of(number, len(events), "row", "says", "say")
    return f"{say} {name} {value!r} and count as failures; if they were planned: --where {quote(f'{name}!={value}')}"


def growth_hint(log: Tables) -> str:
    """That more nodes than at random (q^k each) have no record in the log's first part; empty where few have.
    Records soon after another of their node do not count: they may be repeats.
    """
    window, named = log.window, log.events[log.events["node"].notna()]
    if log.lifetimes is not None or log.at_one_instant or (log.population["entered"] > window.start).any():
        return ""
    at = ((named["start"] - window.start) / (window.end - window.start)).to_numpy()
    table = pd.DataFrame({"node": pair_codes(named), "span": np.floor(_SPANS * at), "at": at})
    table = table.sort_values("at").drop_duplicates(["node", "span"])
    table = table[table.groupby("node")["at"].transform("size") >= _SEVERAL]
    first, records = table.groupby("node")["at"].min(), table.groupby("node").size()
    if first.size < _FEWEST:
        return ""
    most, hint = 0.0, ""
    for part in _PARTS:
        chance = (table["at"] >= part).mean() ** records
        late, expected, deviation = (first >= part).sum(), chance.sum(), np.sqrt((chance * (1.0 - chance)).sum())
        if late < max(_MANY_LATE * first.size, _TIMES_EXPECTED * expected, expected + _DEVIATIONS * deviation):
            continue
        if late - expected > most:
            until = window.start + float(part) * (window.end - window.start)
            most, hint = (
                late - expected,
                (
                    f"{late:,} of {first.size:,} nodes with several records have none before {until:%Y-%m-%d} (about "
                    f"{expected:.0f} if the fleet did not grow): say when each node entered, --population FILE"
                ),
            )
    return hint
