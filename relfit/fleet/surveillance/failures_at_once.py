"""Times at which many nodes of a system failed at once, counted in records, and what these nodes share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.analyses.screening import incidents
from relfit.base.numeric.poisson import poisson_sf
from relfit.base.units import HOURS_PER_YEAR
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_values
from relfit.log.tables import pairs

_RECENT, _GAP = pd.Timedelta("7d"), pd.Timedelta("5min")  # before the end of the log; between two records
_HOUR = pd.Timedelta("1h")
_CLOSE = 0.1  # or this part of the mean time between the system's records
_LEAST, _SHARE, _MANY = 4, 0.25, 10  # nodes that are many: at least, and a part of the system's or so many
_KNOWN, _A_YEAR = 10, 0.01  # records that give a rate; times a year that chance may have it
_SHARED = 3  # places or causes that are named


@dataclass(frozen=True)
class WideIncident:
    """A time at which many nodes of a system failed."""

    system: str
    start: pd.Timestamp
    end: pd.Timestamp  # when none has followed for a while, or the end of the log
    nodes: int
    of: int  # nodes that the system had then
    hours: float  # from the first to the last of these failures
    shared: tuple[str, ...]  # racks and causes of most: ``"16 in rack R10"``, ``"17 by power"``


def wide_incidents(log: FailureLog) -> Iterator[WideIncident]:
    """The times in the last week of a log when many nodes of a system failed soon after each other.

    Many are ten, or a quarter of its nodes, where chance has so many in that time less than once in a hundred years: at
    the rate until a week before the end, or that of the week before them if it is higher. Without a rate yet they are a
    quarter of the nodes. Soon is five minutes, or a tenth of the mean time between the system's records.
    """
    events, people, recent = log.events, log.population, log.window.end - _RECENT
    rows = events[events["node"].notna() & ~events["start_cut"]].sort_values("start")
    rows = rows.assign(system=rows["system"].astype(str), node=rows["node"].astype(str))
    for system, every in rows.groupby("system"):
        before, starts = int((every["start"] <= recent).sum()), every["start"]
        usual = before / ((recent - log.window.start) / _HOUR) if before >= _KNOWN else np.nan
        gap = max(_GAP, _CLOSE / usual * _HOUR) if before >= _KNOWN else _GAP
        mine = every[starts > recent]
        for _, part in mine.groupby((mine["start"].diff() > gap).cumsum()):
            first, last = part["start"].iloc[[0, -1]]
            there = (people["entered"] <= first) & (people["left"] >= first) & (people["system"].astype(str) == system)
            nodes, of = part["node"].nunique(), int(there.sum())
            rate = max(usual, int(starts.between(first - _RECENT, first, inclusive="left").sum()) / (_RECENT / _HOUR))
            a_year = rate * HOURS_PER_YEAR * poisson_sf(nodes - 1, rate * ((last - first + gap) / _HOUR))
            rare = a_year < _A_YEAR if before >= _KNOWN else nodes >= _SHARE * of
            if rare and nodes >= max(_LEAST, min(_SHARE * of, _MANY)):
                end, shared = min(last + gap, log.window.end), _shared(log, part, nodes)
                yield WideIncident(str(system), first, end, nodes, of, (last - first) / _HOUR, shared)


def _shared(log: FailureLog, part: pd.DataFrame, nodes: int) -> tuple[str, ...]:
    """The few racks that hold half of the nodes or more, and causes likewise."""
    rack, once = incidents(log).group, part.drop_duplicates("node")
    racks = None if rack is None else pd.Series(node_values(log, rack, pairs(once)))
    out = list[str]()
    for values, said in ((racks, f"in {rack} "), (once["cause"].astype(object), "by ")):
        numbers = pd.Series(dtype=int) if values is None else values.dropna().value_counts().head(_SHARED)
        enough = int((numbers.cumsum() < 0.5 * nodes).sum()) + 1
        if numbers.sum() >= 0.5 * nodes:
            out += [f"{number:,} {said}{name}" for name, number in numbers.head(enough).items()]
    return tuple(out)
