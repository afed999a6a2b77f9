"""From the records of a log to its incidents: bursts of a node, then records close in time in a rack, a system."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.analyses.screening import incident_window
from relfit.analyses.screening.incident_results import Incidents
from relfit.analyses.screening.incident_window import IncidentWindow, Points
from relfit.base.arrays import BoolArray, Duration, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.bursts import FALSE_JOINS
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.ordering import order_in_groups
from relfit.base.sealed import seal_frame
from relfit.base.units import NANOSECONDS_PER_HOUR, hours, nanoseconds
from relfit.log.failurelog import FailureLog
from relfit.log.outages import clock_step, node_values, of_whole_system, unknown_scope, watched_of
from relfit.log.tables import POPULATION_COLUMNS, group_codes, made_once

_NOT_A_PLACE = {"start", "end", "line", "duration", *POPULATION_COLUMNS} - {"system", "node"}
_SYSTEM_SHARE = 0.5  # of its nodes, from which an incident is one of the system
_LONGEST_WINDOW = 2_500_000.0  # hours; more than any log lasts
_RACKS = ("rack", "frame", "cabinet", "chassis")


@made_once
def incidents(
    log: FailureLog,
    window: Duration | None = None,
    place: str = "system",
    *,
    group: str | None = None,
    level: float = 0.95,
) -> Incidents:
    """Join the records of a log to incidents.

    Bursts of one node are joined first, then different nodes of one group (a rack), then different groups of the
    system. Each level has its own window: the longest for which such times are more than twice (within a node ten
    times) as frequent as by chance, while chance alone joins less than 1 % of the incidents. The scope follows from the
    nodes hit: one node; several in one group; nodes of several groups; the system, if half of its nodes were hit or a
    record says so.

    Parameters
    ----------
    log : FailureLog
    window : float or duration, optional
        Longest time between two records of an incident, hours or text such as "5min"; 0 joins what began at one
        instant. Estimated for each level by default, see `relfit.analyses.screening.IncidentWindow`.
    place : str
        Join records of one ``"system"``, ``"node"``, or value of an attribute such as ``"rack"``.
    group : str, optional
        Attribute with the location of nodes, for the scope; by default the first of rack, frame, cabinet, chassis in
        the log. Without one, several nodes are the scope ``"group"``.
    level : float
        Level of the intervals of rates.

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
    if width is not None and not 0.0 <= width < _LONGEST_WINDOW:
        what = f"a window of {window!r} is not possible"
        raise ArgumentError(what, remedy="give a duration of zero or more, as in '5min'")
    level_checked(level)
    group_name = group if group is not None else next((name for name in _RACKS if name in log.attributes), None)
    columns = {*log.events.columns, *log.population.columns} - _NOT_A_PLACE
    for name in (place, group_name):
        if name is not None and name not in columns:
            offer = ", ".join(dict.fromkeys(map(str, log.attributes)))
            what = f"no column {name!r} to distinguish places by"
            raise ArgumentError(what, remedy=f"use node, system or one of {offer}")
    under_way = log.events["start_cut"].to_numpy(dtype=bool)
    events = log.events[~under_way] if under_way.any() else log.events
    levels = list(dict.fromkeys(["node", *([group_name] if group_name and place == "system" else []), place]))
    records = _Records.of(log, events, levels if group_name is None else [*levels, group_name])
    number, windows = _joined(records, width, clock_step(log), levels)
    rows, heads = records.sorted_by(number)
    begun = records.start[rows[heads]]
    if np.any(begun[1:] < begun[:-1]):  # incidents in the order of time
        number = np.argsort(np.argsort(begun, kind="stable"))[number]
        rows, heads = records.sorted_by(number)
    number = number[rows]
    groups = None if group_name is None else records.codes[group_name][rows]
    node, nowhere = records.codes["node"][rows], int((records.codes[place] < 0).sum())
    del records
    table = _summary(events, rows, number, node, groups, place)
    del node, groups
    table["scope"] = _scopes(table, events, rows, number, log, group_name)
    incident = np.full(len(log.events), -1, dtype=np.int64)
    incident[np.flatnonzero(~under_way)[rows]] = number
    exposure, notes = _exposure(log, group_name), unknown_scope(log)
    about = place, group_name, exposure, level, nowhere, int(under_way.sum()), notes
    return Incidents(seal_frame(table), windows, incident, *about)


@dataclass(frozen=True, eq=False)
class _Records:
    """Where and when records were made.

    `codes` are those of node, group and place, -1 where there is none, and `watch` says from when to when each of them
    was watched; `unit` is the node, or one unit per system for records without a node.
    """

    start: IntArray
    codes: dict[str, IntArray]
    watch: dict[str, tuple[IntArray, IntArray]]
    unit: IntArray
    span: int

    @classmethod
    def of(cls, log: FailureLog, events: pd.DataFrame, columns: list[str]) -> _Records:
        codes: dict[str, IntArray] = {}
        watch: dict[str, tuple[IntArray, IntArray]] = {}
        for name in dict.fromkeys(("system", "node", *columns)):
            codes[name], labels = _codes(log, events, name)
            ends = [np.full(len(labels), at.as_unit("ns").value) for at in (log.window.start, log.window.end)]
            if name != "node" and (name == "system" or name in log.population.columns):
                watched = watched_of(log, *map(str, labels.names))
                at = watched.groups.get_indexer(labels)
                if len(watched.groups):
                    each = zip((watched.entered, watched.left), ends, strict=True)
                    ends = [np.where(at >= 0, seen[at], end) for seen, end in each]
            watch[name] = (ends[0], ends[1])
        node = codes["node"]
        unit = np.where(node >= 0, node, int(node.max(initial=-1)) + 1 + codes["system"])
        return cls(nanoseconds(events["start"]), codes, watch, unit, (log.window.end - log.window.start).value)

    def sorted_by(self, number: IntArray) -> tuple[IntArray, IntArray]:
        """Records sorted by number of incident and start; and where each incident begins among them."""
        rows = order_in_groups(number, self.start)
        return rows, np.flatnonzero(np.diff(number[rows], prepend=-1))

    def points(self, number: IntArray, level: str, unit: IntArray) -> tuple[Points, IntArray]:
        """The incidents so far that are in a place of this level, sorted by place and start; and which they are."""
        rows, heads = self.sorted_by(number)
        first = rows[heads]
        last = np.maximum.reduceat(self.start[rows], heads) if heads.size else self.start[:0]
        place = self.codes[level][first]
        order = order_in_groups(place, self.start[first])
        order = order[place[order] >= 0]
        rows = first[order]
        return Points(place[order], unit[rows], self.start[rows], last[order], *self.watch[level]), order


def _joined(
    records: _Records, width: float | None, step: int, levels: list[str]
) -> tuple[IntArray, dict[str, IncidentWindow]]:
    """Number of the incident of each record, and the window of each level."""
    number = np.arange(records.start.size)
    place = levels[-1]
    if width is not None:
        points, order = records.points(number, place, records.unit)
        windows = {place: incident_window.window_between(points, place, step, FALSE_JOINS, specified=width)[0]}
        near = np.diff(points.start, prepend=0) <= round(width * NANOSECONDS_PER_HOUR)
        return _merged(number, order, points.same & near), windows
    windows, spent = {}, 0.0
    for nth, level in enumerate(levels):
        share = FALSE_JOINS * (nth + 1) / len(levels)
        if level == "node":
            rows = order_in_groups(records.unit, records.start)
            rows = rows[records.codes[place][rows] >= 0]  # records without a place are joined to none
            same = np.diff(records.unit[rows], prepend=-1) == 0
            apart = np.where(same, np.diff(records.start[rows], prepend=0), -1)
            gaps, order = apart[same], rows
            window = incident_window.window_of_nodes(gaps, records.unit[rows], records.span, step, share)
        else:
            unit = records.unit
            if levels[nth - 1] != "node":
                inner = records.codes[levels[nth - 1]]
                unit = np.where(inner >= 0, inner, int(inner.max(initial=-1)) + 1 + unit)
            points, order = records.points(number, level, unit)
            window, apart = incident_window.window_between(points, level, step, share, spent)
        if window.status == "coarse" and level != "node":
            follows, chance = points.crowded(step, share)
            window = replace(window, by_chance=chance, incidents=window.incidents - int(follows.sum()))
        else:
            reach = round(window.hours * NANOSECONDS_PER_HOUR) + step // 2 if window.hours >= 0.0 else -1
            follows = (apart >= 0) & (apart <= reach)
        number = _merged(number, order, follows)
        if level != "node" and window.status not in ("coarse", "too_few"):
            number, window = _with_neighbours(records, number, level, unit, window, step, share)
        windows[level] = window
        spent += window.by_chance if np.isfinite(window.by_chance) else 0.0
    return number, windows


def _merged(number: IntArray, order: IntArray, follows: BoolArray) -> IntArray:
    """Numbers of incidents after those in `order` that follow another have become part of it."""
    new = np.arange(int(number.max(initial=-1)) + 1)
    new[order] = order[np.maximum.accumulate(np.where(follows, 0, np.arange(order.size)))]
    there = np.zeros(new.size, dtype=np.int64)
    there[new] = 1
    return (np.cumsum(there) - 1)[new[number]]


def _with_neighbours(
    records: _Records, number: IntArray, level: str, unit: IntArray, window: IncidentWindow, step: int, share: float
) -> tuple[IntArray, IncidentWindow]:
    """Incidents after those of several units are joined with what is soon before or after; and the window for that."""
    points, order = records.points(number, level, unit)
    pairs = np.unique(np.stack([number, unit]), axis=1)
    several = (np.bincount(pairs[0], minlength=int(number.max(initial=-1)) + 1) > 1)[order]
    last = incident_window.window_of_groups(points, several, window, step, share)
    reach = last * step / NANOSECONDS_PER_HOUR
    if not reach > window.hours:
        return number, replace(window, group_hours=window.hours)
    apart = points.since_other()
    near = (apart >= 0) & (apart <= last * step + step // 2) & points.beside(several)
    left = window.incidents - int(near.sum())
    return _merged(number, order, near), replace(window, group_hours=reach, incidents=left)


def _codes(log: FailureLog, events: pd.DataFrame, place: str) -> tuple[IntArray, pd.Index]:
    """Number of each record's place, -1 where it has none, and the places; those of two systems are never one."""
    keys = list(dict.fromkeys(["system", place]))
    if place in events.columns:
        (code,), places = group_codes([events], keys)
        return code, places
    (node,), nodes = group_codes([events], ["system", "node"])
    values = pd.DataFrame({"system": nodes.get_level_values(0), place: node_values(log, place, nodes)})
    (code,), places = group_codes([values], keys)
    return np.append(code, -1)[node], places


def _kinds(number: IntArray, code: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """How many codes of zero and more each incident has, and the most frequent (-1: none); `number` rises."""
    most = np.full(size, -1, dtype=np.int64)
    most[number] = code
    different = (most >= 0).astype(np.int64)
    several = np.flatnonzero((np.bincount(number, minlength=size) > 1)[number] & (code >= 0))  # the others have one
    width = int(code.max(initial=0)) + 1
    pairs = np.sort(number[several] * width + code[several])
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    incident, kind = np.divmod(pairs[first], width)
    different[incident] = np.bincount(incident, minlength=size)[incident]
    rising = np.argsort(np.diff(first, append=pairs.size)[::-1], kind="stable")
    most[incident[::-1][rising]] = kind[::-1][rising]  # the last of an incident stays
    return different, most


def _summary(
    events: pd.DataFrame, rows: IntArray, number: IntArray, node: IntArray, groups: IntArray | None, place: str
) -> pd.DataFrame:
    """One row per incident; `rows` sort events by incident and time, `number` are the incidents of these."""
    heads = np.flatnonzero(np.diff(number, prepend=-1))
    size = heads.size
    places = ["system", *([place] if place != "system" and place in events.columns else [])]
    begun, end_known = nanoseconds(events["start"])[rows], events["end"].notna().to_numpy()[rows]
    ended = np.where(end_known, nanoseconds(events["end"])[rows], begun)
    last_start = np.maximum.reduceat(begun, heads) if size else begun
    last_end = np.maximum.reduceat(ended, heads) if size else ended
    ends_known = np.bincount(number, end_known, size).astype(np.int64)
    records = np.bincount(number, minlength=size)
    outage = np.bincount(number, np.where(end_known, ended - begun, 0) / NANOSECONDS_PER_HOUR, size)
    table = events[[*places, "start"]].iloc[rows[heads]].reset_index(drop=True)
    table["end"] = pd.Series(last_end.view("datetime64[ns]")).where(ends_known == records).dt.tz_localize("UTC")
    table["records"] = records
    table["nodes"] = _kinds(number, node, size)[0]
    if groups is not None:
        table["groups"] = _kinds(number, groups, size)[0]
    table["duration"] = np.where(ends_known == records, (last_end - begun[heads]) / NANOSECONDS_PER_HOUR, np.nan)
    table["spread"] = (last_start - begun[heads]) / NANOSECONDS_PER_HOUR
    table["node_hours"] = np.where(ends_known > 0, outage, np.nan)
    table["ends_unknown"] = records - ends_known
    del begun, ended, last_start, last_end, outage
    (cause,), causes = group_codes([events], ["cause"])
    different, most = _kinds(number, cause[rows], size)
    table["cause"] = pd.Series(np.array([*causes, None], dtype=object)[most], dtype=object)
    table["causes"] = different
    return table


def _scopes(
    table: pd.DataFrame, events: pd.DataFrame, rows: IntArray, number: IntArray, log: FailureLog, group: str | None
) -> npt.NDArray[np.object_]:
    """Scope of each incident, from the nodes it hit and what its records declare."""
    nodes = table["nodes"].to_numpy()

    def any_of(records: BoolArray) -> BoolArray:
        return np.bincount(number, records[rows], len(table)) > 0

    of_group = (events["scope"] == "group").to_numpy(dtype=bool)
    system = table["system"].astype("category").cat
    size = log.population["system"].astype(object).value_counts().reindex(system.categories, fill_value=0)
    system_size = np.append(size.to_numpy(dtype=np.int64), 0)[system.codes]
    out = np.array(["node", "group"], dtype=object)[((nodes > 1) | any_of(of_group)).astype(np.int64)]
    if group is not None:
        out[(table["groups"].to_numpy() == 1) & (nodes > 1)] = group
    out[
        any_of(of_whole_system(events)) | ((system_size > 1) & (nodes > 1) & (nodes >= _SYSTEM_SHARE * system_size))
    ] = "system"
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
