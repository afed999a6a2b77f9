"""From the records of a log to its incidents: what was close in time at one place is one incident."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import share
from relfit.arrays import IntArray
from relfit.errors import ArgumentError
from relfit.outages import group_codes, node_values, watched_of
from relfit.screening.incident_results import Incidents
from relfit.screening.incident_window import choose_window
from relfit.tables import POPULATION_COLUMNS
from relfit.units import NANOSECONDS_PER_HOUR, hours, nanoseconds

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["incidents"]


_NOT_A_PLACE = {"start", "end", "line", "duration", *POPULATION_COLUMNS} - {"system", "node"}
_SYSTEM_SHARE = 0.5  # of its nodes, from which an incident is one of the system
_RACKS = ("rack", "frame", "cabinet", "chassis")


def incidents(
    log: FailureLog,
    window: Any = None,
    place: str = "system",
    *,
    group: str | None = None,
    level: float = 0.95,
) -> Incidents:
    """Join the records of a log to incidents.

    Records of one place, each within the window after the one before, are one incident. Its scope follows from the
    nodes it hit: one node; several in one group (a rack); nodes of several groups; the system, if these were half of
    its nodes or a record says so.

    Parameters
    ----------
    log : FailureLog
    window : float or duration, optional
        Longest time between two records of an incident, hours or text such as "5min"; 0 joins what began at one
        instant. Estimated when left out, see `relfit.screening.choose_window`.
    place : str
        Where records must be together: ``"system"``, ``"node"``, or an attribute such as ``"rack"``.
    group : str, optional
        Attribute that says which nodes stand together, for the scope; the first of rack, frame, cabinet, chassis that
        the log has when left out. Without one, several nodes are the scope ``"group"``.
    level : float
        Level of the intervals of rates.

    Returns
    -------
    Incidents

    Raises
    ------
    ArgumentError
        For a window that is negative or not a duration, an unknown place or group, a level outside 0..1, or a log of
        lifetimes, which has no events to join.

    Examples
    --------
    >>> import relfit as rf
    >>> result = incidents(rf.datasets.load("white"), "0h")
    >>> result.table["scope"].value_counts().index.tolist()
    ['node', 'rack', 'system', 'group']
    """
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds lifetimes and has no events to join")
    width = None if window is None else hours(window)
    if width is not None and not (np.isfinite(width) and width >= 0.0):
        raise ArgumentError(f"a window of {window!r} cannot be", remedy="give a duration of zero or more, as in '5min'")
    share("level", level, zero=False, one=False)
    group_name = group if group is not None else next((name for name in _RACKS if name in log.attributes), None)
    columns = {*log.events.columns, *log.population.columns} - _NOT_A_PLACE
    for name in (place, group_name):
        if name is not None and name not in columns:
            raise ArgumentError(
                f"no column {name!r} to tell places apart by",
                remedy=f"use node, system or one of {', '.join(dict.fromkeys(map(str, log.attributes)))}",
            )
    under_way = log.events["start_cut"].to_numpy(dtype=bool)
    events = log.events[~under_way]
    code, node = _codes(log, events, place), _codes(log, events, "node")
    start = nanoseconds(events["start"])
    rows = np.lexsort((start, code))
    between = np.diff(start[rows])
    within = (code[rows][1:] == code[rows][:-1]) & (code[rows][1:] >= 0)  # records without a place stand alone
    joined = choose_window(between[within], width)
    first = np.ones(rows.size, dtype=np.bool_)
    first[1:] = ~(within & (between <= round(joined.hours * NANOSECONDS_PER_HOUR)))
    number = np.cumsum(first) - 1
    groups = None if group_name is None else _codes(log, events, group_name)[rows]
    table = _summary(events.iloc[rows], number, np.flatnonzero(first), node[rows], groups, place)
    table["scope"] = _scopes(table, events["scope"].astype(str).to_numpy()[rows], number, log, group_name)
    order = np.argsort(nanoseconds(table["start"]), kind="stable")
    incident = np.full(len(log.events), -1, dtype=np.int64)
    incident[np.flatnonzero(~under_way)[rows]] = np.argsort(order)[number]
    return Incidents(
        table.iloc[order].reset_index(drop=True), joined, incident, place, group_name, _exposure(log, group_name),
        level, int((code < 0).sum()), int(under_way.sum()),
    )  # fmt: skip


def _codes(log: FailureLog, events: pd.DataFrame, place: str) -> IntArray:
    """Number of each record's place, -1 where it has none; places of two systems are never one."""
    keys = list(dict.fromkeys(["system", place]))
    if place in events.columns:
        return group_codes([events], keys)[0][0]
    (node,), nodes = group_codes([events], ["system", "node"])
    values = np.array([*node_values(log, place, nodes), None], dtype=object)[node]  # None for records without a node
    return group_codes([pd.DataFrame({"system": events["system"].to_numpy(), place: values})], keys)[0][0]


def _distinct(number: IntArray, code: IntArray, size: int) -> IntArray:
    """How many different codes of zero and more each incident has."""
    table = pd.DataFrame({"number": number, "code": code})[code >= 0]
    return np.bincount(table.drop_duplicates()["number"], minlength=size).astype(np.int64)


def _most_frequent(number: IntArray, code: IntArray, size: int) -> IntArray:
    """The most frequent code of each incident, the smaller one of equals; -1 where all are missing."""
    out = np.full(size, -1, dtype=np.int64)
    often = pd.DataFrame({"number": number, "code": code})[code >= 0].value_counts().reset_index(name="often")
    often = often.sort_values(["often", "code"], ascending=[True, False], kind="stable")
    out[often["number"]] = often["code"]  # the last of an incident stays
    return out


def _summary(
    events: pd.DataFrame, number: IntArray, heads: IntArray, node: IntArray, groups: IntArray | None, place: str
) -> pd.DataFrame:
    """One row per incident; `events` are sorted by incident and time, `heads` their first records."""
    size = heads.size
    begun = nanoseconds(events["start"])
    end_known = events["end"].notna().to_numpy()
    ended = np.where(end_known, nanoseconds(events["end"].fillna(events["start"])), begun)
    last_start = np.maximum.reduceat(begun, heads) if size else begun
    last_end = np.maximum.reduceat(ended, heads) if size else ended
    known = np.bincount(number, end_known, size).astype(np.int64)
    records = np.bincount(number, minlength=size)
    outage = np.bincount(number, np.where(end_known, ended - begun, 0) / NANOSECONDS_PER_HOUR, size)
    (cause,), causes = group_codes([events], ["cause"])
    names = np.array([*causes, None], dtype=object)
    columns = ["system", *([place] if place != "system" and place in events.columns else []), "start"]
    table = events[columns].iloc[heads].reset_index(drop=True)
    ends = pd.Series(pd.to_datetime(last_end, utc=True))
    table["end"] = ends.where(pd.Series(known == records))
    table["records"] = records
    table["nodes"] = _distinct(number, node, size)
    if groups is not None:
        table["groups"] = _distinct(number, groups, size)
    table["duration"] = np.where(known == records, (last_end - begun[heads]) / NANOSECONDS_PER_HOUR, np.nan)
    table["spread"] = (last_start - begun[heads]) / NANOSECONDS_PER_HOUR
    table["node_hours"] = np.where(known > 0, outage, np.nan)
    table["ends_unknown"] = records - known
    table["cause"] = pd.Series(names[_most_frequent(number, cause, size)], dtype=object)
    table["causes"] = _distinct(number, cause, size)
    return table


def _scopes(
    table: pd.DataFrame, declared: npt.NDArray[np.object_], number: IntArray, log: FailureLog, group: str | None
) -> npt.NDArray[np.object_]:
    """Scope of each incident, from the nodes it hit and what its records declare."""
    nodes = table["nodes"].to_numpy()

    def says(name: str) -> npt.NDArray[np.bool_]:
        return np.bincount(number, declared == name, len(table)) > 0

    size = log.population["system"].astype(object).value_counts()
    whole = table["system"].astype(object).map(size).fillna(0).to_numpy(dtype=np.int64)
    out = np.where((nodes > 1) | says("group"), "group", "node").astype(object)
    if group is not None:
        out[(table["groups"].to_numpy() == 1) & (nodes > 1)] = group
    out[says("system") | ((whole > 1) & (nodes > 1) & (nodes >= _SYSTEM_SHARE * whole))] = "system"
    return out


def _exposure(log: FailureLog, group: str | None) -> pd.DataFrame:
    """Hours under observation of every system's nodes, groups and itself, in a table indexed by system."""

    def by_system(*keys: str) -> pd.Series:
        watched = watched_of(log, *keys)
        return pd.Series(watched.hours, watched.groups.get_level_values(0).astype(str), float).groupby(level=0).sum()

    table = pd.DataFrame({"node": by_system("system", "node"), "system": by_system("system")})
    if group is not None and group in log.population.columns:
        table[group] = by_system("system", group)
    # a system without nodes in the population is watched for as long as the log
    names = pd.Index([name for name in log.systems if name not in table.index])
    table = table.reindex(table.index.append(names)) if len(names) else table
    table.loc[names, "system"] = log.window.hours
    return table.rename_axis("system_name").astype(np.float64)
