"""From the records of a log to its incidents: what was close in time at one place is one incident."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.outages import Watched, group_codes, node_values, watched_of
from relfit.screening.incident_results import Incidents
from relfit.screening.incident_window import choose_window
from relfit.units import NANOSECONDS_PER_HOUR, hours, nanoseconds

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["incidents"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_NOT_A_PLACE = {"start", "end", "line", "entered", "left", "entered_known", "left_known", "declared", "duration"}
_RACKS = ("rack", "frame", "cabinet", "chassis")


def incidents(
    log: FailureLog,
    window: Any = None,
    place: str = "system",
    *,
    group: str | None = None,
    system_share: float = 0.5,
    longest: Any = "24h",
    level: float = 0.95,
) -> Incidents:
    """Join the records of a log to incidents.

    Records of one place, each within the window after the one before, are one incident. Its scope follows from the
    nodes it hit: one node; several in one group (a rack); nodes of several groups; the system, if these were a share of
    `system_share` of its nodes or a record says so.

    Parameters
    ----------
    log : FailureLog
    window : float or duration, optional
        Longest gap within an incident, hours or text such as "5min"; 0 joins what began at one instant. Chosen from the
        gaps when left out, see `relfit.screening.choose_window`.
    place : str
        Where records must be together: ``"system"``, ``"node"``, or an attribute such as ``"rack"``.
    group : str, optional
        Attribute that says which nodes stand together, for the scope; the first of rack, frame, cabinet, chassis that
        the log has when left out. Without one, several nodes are the scope ``"group"``.
    system_share : float
        Above 0, at most 1.
    longest : float or duration
        Longest window that is considered where none is given; the choice says so if it ends there.
    level : float
        Level of the intervals of rates.

    Returns
    -------
    Incidents

    Raises
    ------
    ArgumentError
        For a window that is negative or not a duration, an unknown place or group, a share or level outside its range,
        or a log of whole lives, which has no events to join.

    Examples
    --------
    >>> import relfit as rf
    >>> found = incidents(rf.datasets.load("white"), "0h")
    >>> found.table["scope"].value_counts().index.tolist()
    ['node', 'rack', 'system', 'group']
    """
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds whole lives and has no events to join")
    width = None if window is None else hours(window)
    if width is not None and not (np.isfinite(width) and width >= 0.0):
        raise ArgumentError(f"a window of {window!r} cannot be", remedy="give a duration of zero or more, as in '5min'")
    if not 0.0 < system_share <= 1.0:
        raise ArgumentError(f"system_share={system_share} is not above 0 and at most 1")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    group_name = group if group is not None else next((name for name in _RACKS if name in log.attributes), None)
    for name in (place, group_name):
        if name is not None and name not in ("system", "node"):
            _check_place(log, name)

    cut = log.events["start_cut"].to_numpy(dtype=bool)
    events = log.events[~cut] if cut.any() else log.events
    node = _place(log, "node")[~cut]
    where = _place(log, place)[~cut]
    start = nanoseconds(events["start"])
    rows = np.lexsort((start, where))
    known = where[rows] >= 0
    # records without a place are incidents of their own
    first = np.ones(rows.size, dtype=np.bool_)
    gaps = np.diff(start[rows])
    within = (where[rows][1:] == where[rows][:-1]) & known[1:]
    choice = choose_window(gaps[within], width, hours(longest))
    first[1:] = ~(within & (gaps <= round(choice.window * NANOSECONDS_PER_HOUR)))
    number = np.cumsum(first) - 1
    groups = None if group_name is None else _place(log, group_name)[~cut][rows]
    table = _summary(events, rows, number, first, start, node[rows], groups, place)
    table["scope"] = _scopes(table, events, rows, number, log.population, group_name, system_share)
    table = table.sort_values("start", kind="stable", ignore_index=True)
    incident = np.empty(len(log.events), dtype=np.int64)
    incident[:] = -1
    order = np.empty(len(table), dtype=np.int64)
    order[table.pop("_number").to_numpy()] = np.arange(len(table))
    incident[np.flatnonzero(~cut)[rows]] = order[number] if len(table) else number
    return Incidents(
        table,
        choice,
        incident,
        place,
        group_name,
        _exposure(log, group_name),
        level,
        int((~known).sum()),
        int(cut.sum()),
    )


def _check_place(log: FailureLog, name: str) -> None:
    columns = [c for c in (*log.events.columns, *log.population.columns) if c not in _NOT_A_PLACE]
    if name not in columns:
        raise ArgumentError(
            f"no column {name!r} to tell places apart by",
            remedy=f"use node, system or one of {', '.join(dict.fromkeys(map(str, log.attributes)))}",
        )


def _place(log: FailureLog, place: str) -> IntArray:
    """Number of each record's place, -1 where it has none; places of two systems are never one."""
    events = log.events
    if place not in ("node", "system") and place not in events.columns:
        (node, _), nodes = group_codes([events, log.population], ["system", "node"])
        events = events[["system"]].assign(**{place: np.append(node_values(log, place, nodes), None)[node]})
    (code,), _ = group_codes([events], list(dict.fromkeys(("system", place))))
    return code


def _distinct(number: IntArray, code: IntArray, count: int) -> IntArray:
    """How many different codes of zero and more each incident has."""
    valid = code >= 0
    if not valid.any():
        return np.zeros(count, dtype=np.int64)
    width = int(code.max()) + 1
    pairs = np.sort(number[valid] * width + code[valid])
    fresh = np.concatenate([[True], pairs[1:] != pairs[:-1]])
    return np.bincount(pairs[fresh] // width, minlength=count).astype(np.int64)


def _most_frequent(number: IntArray, code: IntArray, count: int) -> IntArray:
    """The most frequent code of each incident, the smaller one of equals; -1 where all are missing."""
    out = np.full(count, -1, dtype=np.int64)
    valid = code >= 0
    if valid.any():
        width = int(code.max()) + 1
        pairs, often = np.unique(number[valid] * width + code[valid], return_counts=True)
        order = np.lexsort((-(pairs % width), often, pairs // width))
        out[(pairs // width)[order]] = (pairs % width)[order]  # the last of an incident stays
    return out


def _summary(
    events: pd.DataFrame,
    rows: IntArray,
    number: IntArray,
    first: BoolArray,
    start: IntArray,
    node: IntArray,
    groups: IntArray | None,
    place: str,
) -> pd.DataFrame:
    count = int(first.sum())
    heads = rows[first]
    end_known = events["end"].notna().to_numpy()
    end = np.where(end_known, nanoseconds(events["end"].fillna(events["start"])), start)
    begin, end_known, stop = start[rows], end_known[rows], end[rows]
    starts = np.flatnonzero(first)
    last_start = np.maximum.reduceat(begin, starts) if count else begin
    last_end = np.maximum.reduceat(stop, starts) if count else stop
    seen = np.bincount(number, end_known, count).astype(np.int64)
    records = np.bincount(number, minlength=count)
    outage = np.bincount(number, np.where(end_known, stop - begin, 0) / NANOSECONDS_PER_HOUR, count)
    (cause,), causes = group_codes([events], ["cause"])
    cause = cause[rows]
    modal = _most_frequent(number, cause, count)
    names = np.array([*causes, None], dtype=object)
    span = (last_end - start[heads]) / NANOSECONDS_PER_HOUR
    table = pd.DataFrame({"_number": np.arange(count), "system": events["system"].iloc[heads].reset_index(drop=True)})
    if place != "system" and place in events.columns:
        table[place] = events[place].iloc[heads].reset_index(drop=True)
    table["start"] = events["start"].iloc[heads].reset_index(drop=True)
    ends = pd.Series(pd.to_datetime(last_end, utc=True))
    table["end"] = ends.where(pd.Series(seen == records))
    table["records"] = records
    table["nodes"] = _distinct(number, node, count)
    if groups is not None:
        table["groups"] = _distinct(number, groups, count)
    table["duration"] = np.where(seen == records, span, np.nan)
    table["spread"] = (last_start - start[heads]) / NANOSECONDS_PER_HOUR
    table["node_hours"] = np.where(seen > 0, outage, np.nan)
    table["ends_unknown"] = records - seen
    table["cause"] = pd.Series(names[modal], dtype=object)
    table["causes"] = _distinct(number, cause, count)
    return table


def _scopes(
    table: pd.DataFrame,
    events: pd.DataFrame,
    rows: IntArray,
    number: IntArray,
    population: pd.DataFrame,
    group: str | None,
    share: float,
) -> npt.NDArray[np.object_]:
    count = len(table)
    nodes = table["nodes"].to_numpy()
    (scope,), scopes = group_codes([events], ["scope"])
    declared = {str(name): code for code, name in enumerate(scopes)}

    def says(name: str) -> BoolArray:
        hit = np.zeros(count, dtype=np.bool_)
        hit[number[scope[rows] == declared.get(name, -2)]] = True
        return hit

    (of_incident, of_node), systems = group_codes([table, population], ["system"])
    size = np.bincount(of_node[of_node >= 0], minlength=max(len(systems), 1))
    whole = np.where(of_incident >= 0, size[np.maximum(of_incident, 0)], 0) if count else np.zeros(0, np.int64)
    out = np.where(nodes <= 1, "node", "group").astype(object)
    out[says("group") & (out == "node")] = "group"
    if group is not None:
        together = (table["groups"].to_numpy() == 1) & (out == "group")
        out[together & (nodes > 1)] = group
    out[says("system") | ((whole > 1) & (nodes > 1) & (nodes >= share * whole))] = "system"
    return out


def _exposure(log: FailureLog, group: str | None) -> pd.DataFrame:
    """Hours under observation of every system's nodes, groups and itself, in a table indexed by system."""

    def by_system(watched: Watched) -> pd.Series:
        names = watched.groups.get_level_values(0).astype(str)
        return pd.Series(watched.hours, index=names, dtype=np.float64).groupby(level=0).sum()

    table = pd.DataFrame({"node": by_system(watched_of(log)), "system": by_system(watched_of(log, "system"))})
    if group is not None and group in log.population.columns:
        table[group] = by_system(watched_of(log, "system", group))
    # a system without nodes in the population is watched for as long as the log
    names = [name for name in log.systems if name not in table.index]
    if names:
        extra = pd.DataFrame({"node": np.nan, "system": log.window.hours}, index=pd.Index(names))
        table = pd.concat([table, extra]) if len(table) else extra
    table.index.name = "system_name"
    return table.astype(np.float64)
