"""Counts of what a log holds: events along time, by cause and by node.

Every record counts as one event, whatever its scope; `FailureLog.ttf` joins those that begin while a node is down.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import count, percent
from relfit.base.units import nanoseconds
from relfit.log.failurelog import FailureLog
from relfit.log.tables import pairs, places_of_pairs

NOT_STATED = "not stated"
_UNITS = {  # pandas' name for the first day of a unit, and the longest span in days that is still shown in it
    "hour": ("h", 4.0),
    "day": ("D", 120.0),
    "week": ("W-MON", 400.0),
    "month": ("MS", 1000.0),
    "quarter": ("QS", 8000.0),
    "year": ("YS", np.inf),
}
_MOST_CAUSES = 6


class TimeTally(Result):
    """Events in bins of time, whose edges are in the log's own time zone, from the start to the end of its window."""

    edges: pd.DatetimeIndex
    counts: IntArray  # shape (bins, causes)
    causes: tuple[str, ...]  # most frequent first; beyond six, rare ones are joined as "other causes"
    unit: str  # "hour", "day", "week", "month", "quarter" or "year"

    @property
    def total(self) -> IntArray:
        """Events in each bin."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)

    @property
    def headline(self) -> str:
        """How many events in how many bins."""
        return f"{count(int(self.total.sum()), 'event')} in {count(self.total.size, 'bin')} of a {self.unit}."

    def to_frame(self) -> pd.DataFrame:
        """One row per bin: its ends, all events, events by cause."""
        table = pd.DataFrame({"from": self.edges[:-1], "to": self.edges[1:], "events": self.total})
        for number, cause in enumerate(self.causes):
            table[f"events: {cause}"] = self.counts[:, number]
        return table


def calendar_bins(log: FailureLog, unit: str | None = None) -> tuple[pd.DatetimeIndex, str]:
    """Edges of the calendar bins of `over_time`, none for a log without a span of time, and their unit."""
    zone = log.source.timezone
    if not _covers_time(log):
        return pd.DatetimeIndex([], tz=zone), "day"
    if unit is None:
        unit = next(name for name, (_, longest) in _UNITS.items() if log.window.hours / 24.0 <= longest)
    if unit not in _UNITS:
        raise ArgumentError(f"unknown unit {unit!r} of a bin", remedy=f"use one of {', '.join(_UNITS)}")
    first, last = log.window.start.tz_convert(zone), log.window.end.tz_convert(zone)
    inner = pd.date_range(first.floor("h" if unit == "hour" else "D"), last, freq=_UNITS[unit][0])
    return pd.DatetimeIndex([first, *inner[(inner > first) & (inner < last)], last]).as_unit("ns"), unit


def over_time(log: FailureLog, unit: str | None = None) -> TimeTally:
    """Count a log's events in calendar bins of a `unit`, ``"hour"`` to ``"year"``; by default as the window is long."""
    edges, unit = calendar_bins(log, unit)
    if not len(edges):
        return TimeTally(edges, np.zeros((0, 0), np.int64), (), unit)
    at, start = edges.tz_convert("UTC").astype("int64").to_numpy(), nanoseconds(log.events["start"])
    row = np.searchsorted(at, start, side="right") - 1
    row[start == at[-1]] = at.size - 2
    inside = (row >= 0) & (row < at.size - 1)
    code, causes = _causes(log.events["cause"])
    counts = np.zeros((at.size - 1, max(len(causes), 1)), dtype=np.int64)
    np.add.at(counts, (row[inside], code[inside]), 1)
    return TimeTally(edges, counts, causes or (NOT_STATED,), unit)


def _covers_time(log: FailureLog) -> bool:
    return bool(pd.notna(log.window.start) and pd.notna(log.window.end) and log.window.start < log.window.end)


def need_dates(log: FailureLog, so: str) -> None:
    """Reject a log of lifetimes alone (`so` names what it lacks), or without a span of time."""
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError(f"this log holds lifetimes without dates; {so}")
    if not _covers_time(log):
        raise ArgumentError("this log covers no span of time")


def _causes(column: pd.Series) -> tuple[IntArray, tuple[str, ...]]:
    """Number of each event's cause, most frequent first, rare ones joined, missing ones last."""
    text = column.astype(object).where(column.notna(), NOT_STATED).astype(str)
    order = text.value_counts(sort=True)
    names = [name for name in order.index if name != NOT_STATED]
    joined = len(names) > _MOST_CAUSES
    frequent = names[: _MOST_CAUSES - 1] if joined else names
    causes = [*frequent, *(["other causes"] if joined else []), *([NOT_STATED] if NOT_STATED in order.index else [])]
    place = {name: number for number, name in enumerate(frequent)} | {NOT_STATED: len(causes) - 1}
    return text.map(place).fillna(len(frequent)).to_numpy(dtype=np.int64), tuple(causes)


class CauseTally(Result):
    """Events and hours of outage by cause; `table` is indexed by cause, most frequent first."""

    table: pd.DataFrame
    stated: bool
    ends_known: bool

    @property
    def headline(self) -> str:
        """The most frequent cause."""
        if not self.stated:
            return "No record states a cause."
        row = self.table.drop(index=NOT_STATED, errors="ignore").iloc[0]
        return f"The most frequent cause is {row.name}, with {percent(row['events_share'])} of the events."

    def to_frame(self) -> pd.DataFrame:
        """One row per cause."""
        return self.table.reset_index()


def by_cause(log: FailureLog) -> CauseTally:
    """Share of each cause in the events and the hours of outage, each outage once; those without an end have none."""
    events = log.events
    cause = events["cause"].astype(object).where(events["cause"].notna(), NOT_STATED).astype(str)
    outage = _hours(events["start"], events["end"])
    grouped = pd.DataFrame({"cause": cause, "outage": outage}).groupby("cause")
    columns = {"events": "size", "outage_hours": "sum", "mean_outage_hours": "mean", "median_outage_hours": "median"}
    table = grouped.agg(**{name: ("outage", function) for name, function in columns.items()})
    table.insert(1, "events_share", table["events"] / max(len(events), 1))
    table.insert(3, "outage_share", table["outage_hours"] / outage.sum() if outage.sum() > 0 else np.nan)
    table = table.sort_values(["events", "outage_hours"], ascending=False).rename_axis("cause")
    return CauseTally(table, bool(events["cause"].notna().any()), bool(outage.notna().any()))


def _hours(start: pd.Series, end: pd.Series) -> pd.Series:
    """Hours from `start` to `end`, NaN where one of them is unknown."""
    return (end - start).dt.total_seconds().astype(float) / 3600.0


def by_node(log: FailureLog) -> pd.DataFrame:
    """Count the events of every node of the population; `relfit.analyses.screening.outlier_nodes` says which stand out.

    Where a log gives lifetimes rather than events, a node's events are its lifetimes that ended in a failure. One row
    per node, most events first: ``system``, ``node``, ``events``, ``hours`` under observation, ``expected`` (the
    system's events shared out by those hours) and ``ratio``.
    """
    people = log.population
    nodes = pairs(people)
    if log.lifetimes is None:
        records = log.events
        hours = _hours(people["entered"], people["left"]).to_numpy(float)
    else:
        records = log.lifetimes[log.lifetimes["observed"].to_numpy(bool)]
        of_node = places_of_pairs(log.lifetimes, nodes)
        lives = log.lifetimes["duration"].to_numpy(float)
        if "entry" in log.lifetimes:
            lives = lives - log.lifetimes["entry"].to_numpy(float)
        hours = np.bincount(of_node[of_node >= 0], lives[of_node >= 0], len(nodes))
    place = places_of_pairs(records, nodes)
    table = people[["system", "node"]].astype(str).reset_index(drop=True)
    table["events"], table["hours"] = np.bincount(place[place >= 0], minlength=len(nodes)), np.maximum(hours, 0.0)
    total = table.groupby("system")[["events", "hours"]].transform("sum")
    portion = table["hours"] / total["hours"].where(total["hours"] > 0)
    table["expected"] = (total["events"] * portion).fillna(0.0)
    table["ratio"] = table["events"] / table["expected"].where(table["expected"] > 0)
    return table.sort_values("events", ascending=False, kind="stable", ignore_index=True)
