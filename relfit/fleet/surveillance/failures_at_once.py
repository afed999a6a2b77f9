"""Times at which many nodes of a system failed at once, counted in records: for a reader, not for a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.numeric.poisson import poisson_sf
from relfit.log.failurelog import FailureLog

_RECENT, _GAP = pd.Timedelta("7d"), pd.Timedelta("5min")  # before the end of the log; between two records
_HOUR = pd.Timedelta("1h")
_CLOSE = 0.1  # or this part of the mean time between the system's records
_LEAST, _SHARE = 4, 0.25  # nodes that are many, and part of the system's
_FEW, _CHANCE = 10, 1e-6  # nodes that are many if chance makes them with this probability


@dataclass(frozen=True)
class WideIncident:
    """A time at which many nodes of a system failed.

    Attributes
    ----------
    system : str
    start : pandas.Timestamp
    nodes, of : int
        Nodes that failed, and those that the system had then.
    hours : float
        From the first to the last of these failures.
    """

    system: str
    start: pd.Timestamp
    nodes: int
    of: int
    hours: float


def wide_incidents(log: FailureLog) -> Iterator[WideIncident]:
    """The times in the last week of a log when many nodes of a system failed soon after each other.

    Many are a quarter of its nodes; or ten, if so many records hardly ever come in that time at the rate before. Soon
    is five minutes, or a tenth of the mean time between the system's records.

    Examples
    --------
    >>> import pandas as pd, relfit as rf
    >>> table = pd.DataFrame({"node": [f"n{i}" for i in range(6)], "start": "2024-01-01 10:00"})
    >>> [(each.nodes, each.of) for each in wide_incidents(rf.read(table))]
    [(6, 6)]
    """
    events, people, recent = log.events, log.population, log.window.end - _RECENT
    rows = events[events["node"].notna() & ~events["start_cut"]]
    rows = rows.assign(system=rows["system"].astype(str), node=rows["node"].astype(str)).sort_values("start")
    for system, mine in rows.groupby("system"):
        before = int((mine["start"] <= recent).sum())
        per_hour = before / ((recent - log.window.start) / _HOUR) if before >= _FEW else np.nan
        gap = max(_GAP, _CLOSE / per_hour * _HOUR) if before >= _FEW else _GAP
        mine = mine[mine["start"] > recent]
        for _, part in mine.groupby((mine["start"].diff() > gap).cumsum()):
            first, last = part["start"].iloc[[0, -1]]
            there = (people["entered"] <= first) & (people["left"] >= first) & (people["system"].astype(str) == system)
            nodes, of = part["node"].nunique(), int(there.sum())
            chance = poisson_sf(nodes - 1, per_hour * ((last - first + gap) / _HOUR))
            if nodes >= max(_LEAST, _SHARE * of) or (nodes >= _FEW and chance < _CHANCE):
                yield WideIncident(str(system), first, nodes, of, (last - first) / _HOUR)
