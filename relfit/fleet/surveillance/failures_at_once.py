"""Times at which a large part of a system failed at once, counted in records: for a reader, not for a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from relfit.log.failurelog import FailureLog

__all__ = ["WideIncident", "wide_incidents"]

_RECENT, _GAP = pd.Timedelta("7d"), pd.Timedelta("5min")  # before the end of the log; between two records
_LEAST, _SHARE = 4, 0.25  # nodes that are many, and part of the system's


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
    """The times in the last week of a log when a quarter of a system's nodes failed within minutes of each other.

    Examples
    --------
    >>> import pandas as pd, relfit as rf
    >>> table = pd.DataFrame({"node": [f"n{i}" for i in range(6)], "start": "2024-01-01 10:00"})
    >>> [(each.nodes, each.of) for each in wide_incidents(rf.read(table))]
    [(6, 6)]
    """
    events, people = log.events, log.population
    rows = events[(events["start"] > log.window.end - _RECENT) & events["node"].notna() & ~events["start_cut"]]
    rows = rows.assign(system=rows["system"].astype(str), node=rows["node"].astype(str)).sort_values("start")
    for system, mine in rows.groupby("system"):
        for _, part in mine.groupby((mine["start"].diff() > _GAP).cumsum()):
            first, last = part["start"].iloc[[0, -1]]
            there = (people["entered"] <= first) & (people["left"] >= first) & (people["system"].astype(str) == system)
            nodes, of = part["node"].nunique(), int(there.sum())
            if nodes >= max(_LEAST, _SHARE * of):
                yield WideIncident(str(system), first, nodes, of, (last - first) / pd.Timedelta("1h"))
