"""The events of a log while their nodes were observed: those outside are left out, outages that reach in are cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray
from relfit.base.text import count
from relfit.io.frames import open_outages
from relfit.log.failurelog import Window
from relfit.log.tables import pair_codes, pairs, places_of_pairs


@dataclass(frozen=True)
class ObservedEvents:
    """Events that were observed, notes on the others and on open outages, and why how many were left out."""

    events: pd.DataFrame
    notes: list[str]
    left_out: list[tuple[str, int]]


def observed_events(
    events: pd.DataFrame,
    population: pd.DataFrame,
    window: Window,
    zone: str,
    *,
    declared_end: object = None,
    in_service: bool = False,
    absent: BoolArray | None = None,
) -> ObservedEvents:
    """The events within the window and, with `in_service`, within the time of their nodes in the population.

    An outage that began before is kept from then on, ``start_cut``, as by `FailureLog.between`; `absent` events are of
    nodes that were never there. `declared_end` is as the user gives it: a date is its first instant, which a note
    explains to who has events then.
    """
    start = events["start"]
    absent = np.zeros(len(events), dtype=bool) if absent is None else absent
    first, last = _service(events, population if in_service else population.iloc[:0], window)
    before, after = (start < first).to_numpy(), (start > last).to_numpy()
    inside = ~(absent | before | after)
    if before.any():
        latest = start == start.groupby(pair_codes(events)).transform("max")
        inside |= ~absent & before & ((events["end"] > first) | (events["end"].isna() & latest)).to_numpy()
    rows = np.flatnonzero(inside)
    every = rows.size == len(events)
    some, still = open_outages(events if every else events.iloc[rows].reset_index(drop=True), population, window.end)
    cut, first = before[rows], first if every else first.iloc[rows].reset_index(drop=True)
    if cut.any():
        some = some.assign(start=some["start"].mask(cut, first), start_cut=some["start_cut"] | cut)
        there = ~cut | (some["end"] > some["start"]).to_numpy()
        some, rows, cut = some[there].reset_index(drop=True), rows[there], cut[there]
    outside = np.ones(len(events), dtype=bool)
    outside[rows] = False
    left_out, notes = _left_out(events, outside, absent, window, zone, declared_end)
    if cut.any():
        notes.append(
            f"{count(int(cut.sum()), 'outage was', 'outages were')} going on when observation of the node began: kept "
            "from then on, no failure"
        )
    return ObservedEvents(some, [*notes, *still], left_out)


def _service(events: pd.DataFrame, people: pd.DataFrame, window: Window) -> tuple[pd.Series, pd.Series]:
    """From when to when the node of each event was observed; the window for nodes that are not among `people`."""
    at = places_of_pairs(events, pairs(people)) if len(people) else np.full(len(events), -1)
    first, last = (
        pd.Series(people[name].to_numpy(), dtype=events["start"].dtype).reindex(at).fillna(edge).set_axis(events.index)
        for name, edge in (("entered", window.start), ("left", window.end))
    )
    return first, last


def _left_out(
    events: pd.DataFrame, outside: BoolArray, absent: BoolArray, window: Window, zone: str, declared_end: object
) -> tuple[list[tuple[str, int]], list[str]]:
    """How many events are `outside` for each reason, and notes on them."""
    start = events["start"]
    early, late = outside & (start < window.start).to_numpy(), outside & (start > window.end).to_numpy()
    left_out, notes = [], []
    for reason, rows, limit in (
        ("before the declared start", early, window.start),
        ("after the declared end", late, window.end),
    ):
        if rows.any():
            at = f"{limit.tz_convert(zone):%Y-%m-%d %H:%M}{'' if zone == 'UTC' else f' {zone}'}"
            left_out.append((reason, int(rows.sum())))
            notes.append(f"{count(int(rows.sum()), 'event lies', 'events lie')} {reason} {at}: left out")
    next_day = window.end.tz_convert(zone) + pd.DateOffset(days=1)
    if declared_end is not None and ":" not in str(declared_end) and (late & (start < next_day).to_numpy()).any():
        notes[-1] += f"; the end is excluded: give {next_day:%Y-%m-%d} to include that day"
    others = outside & ~early & ~late
    if (others & absent).any():
        left_out.append(("of nodes that were not there within the window", int((others & absent).sum())))
    unserved = np.flatnonzero(others & ~absent)
    if unserved.size:
        example = events.iloc[unserved[0]]
        of = "its node" if unserved.size == 1 else "their nodes"
        reason = f"outside the time in service of {of}"
        left_out.append((reason, unserved.size))
        notes.append(
            f"{count(unserved.size, 'event lies', 'events lie')} {reason}, as that of {example['node']} on "
            f"{example['start'].tz_convert(zone):%Y-%m-%d}: left out; check the dates of the list"
        )
    return left_out, notes
