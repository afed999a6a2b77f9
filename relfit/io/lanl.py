"""The failure data of Los Alamos National Laboratory, 1996-2005 (LA-UR-05-7318).

One row per outage of one node. Times are local to the laboratory, in whole minutes; ``Down Time`` in minutes decides
between the two readings of a time in the night when clocks go back. The dates of installation, production and
decommissioning were mangled by a spreadsheet (``5-Apr`` is April 2005, ``Nov-96`` November 1996) and are whole months.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, ObjectArray
from relfit.io.frames import events_frame, open_outages, population_frame, source_of
from relfit.io.parsing.delimited import read_csv
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import TextTable, as_numbers
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import UTC, check_zone, spans, unsaid
from relfit.io.reader import Reader, one_by_one
from relfit.log.failurelog import FailureLog, Window

_NAME = "lanl"
_TIMEZONE = "America/Denver"
_CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
_NEEDED = (
    *("System", "nodes", "nodenum", "node install", "node prod", "node decom"),
    *("Prob Started", "Prob Fixed", "Down Time", *_CAUSES),
)
_ATTRIBUTES = {
    "machine type": "machine_type",
    "procsinnode": "processors",
    "mem": "memory",
    "num intercon": "interconnects",
    "purpose": "purpose",
}
_MOST_NODES = 1e7  # a larger count or number is a damaged cell
_MOSTLY = 0.9  # share of a system's node numbers that must fit its numbering


def _recognises(content: Content) -> bool:
    """Whether the first line is this format's header."""
    return all(name in content.first_line() for name in ("Prob Started", "Prob Fixed", "nodenum"))


def _read(content: Content, *, strict: bool, timezone: str | None) -> FailureLog:
    """Read the LANL failure CSV; times are in `timezone`, by default ``America/Denver``.

    Rows without a node stay: they count for their system. Exact repetitions of a row, impossible times and repairs
    before their failure are rejected. A node is observed from the start of its month of production, or of installation
    if it failed before, to the end of its month of decommissioning. Nodes that never failed are added from the stated
    number of nodes of their system.
    """
    text = as_text(content)
    table = read_csv(text, _NEEDED, "the LANL failure CSV")
    zone, rejections = check_zone(timezone, _TIMEZONE), table.rejections
    start, end, shifted, disagree = spans(
        table["Prob Started"], table["Prob Fixed"], "%m/%d/%Y %H:%M", zone, 60.0 * as_numbers(table["Down Time"])
    )
    rejections.reject(table["System"] == "", "no system", "System")
    rejections.reject(start.isna().to_numpy(), "not a date and time", "Prob Started")
    rejections.reject(end.isna().to_numpy() & ~unsaid(table["Prob Fixed"]), "not a date and time", "Prob Fixed")
    rejections.reject((end < start).to_numpy(), "fixed before it started", "Prob Fixed")
    good = rejections.settle(strict)
    filled = np.stack([table[name] != "" for name in _CAUSES])
    which = filled.argmax(axis=0)
    any_cause = filled.any(axis=0)
    cause = np.where(any_cause, np.array([c.lower() for c in _CAUSES], dtype=object)[which], None)
    detail = np.where(any_cause, np.stack([table[name] for name in _CAUSES])[which, np.arange(which.size)], None)
    events = events_frame(
        system=table["System"][good],
        node=table["nodenum"][good],
        start=start[good],
        end=end[good],
        cause=cause[good],
        detail=detail[good],
        line=rejections.lines[good],
    )
    notes = list(text.notes)
    first, last = events["start"].min(), events[["start", "end"]].max().max()
    population, added = _population(table, good, events, first, last, zone)
    events, still = open_outages(events, population, last)
    notes += still
    counts = (
        (added, "nodes that never failed were added from the number of nodes of their system"),
        (int((disagree & good).sum()), "rows give a Down Time that differs from their two times; the times were used"),
        (int((shifted & good).sum()), "times fall into the hour that a change of clocks leaves out; moved to its end"),
        (int((~any_cause & good).sum()), "events have no cause"),
    )
    notes += [f"{number:,} {what}" for number, what in counts if number]
    notes.append("production and decommissioning dates are known to the month")
    source = source_of(content, _NAME, table.rows_read, int(good.sum()), zone, notes)
    return FailureLog(events, population, Window(first, last), rejections.frame(), source)


def _months(values: ObjectArray, zone: str, *, end: bool) -> pd.Series:
    """First (or last) instant of a mangled month; NaT where there is none."""
    code, distinct = pd.factorize(values, use_na_sentinel=False)
    text = pd.Series(distinct, dtype=object).astype(str)
    late = text.str.extract(r"^(\d{1,2})-([A-Za-z]{3})$")
    early = text.str.extract(r"^([A-Za-z]{3})-(\d{2})$")
    year = pd.to_numeric(late[0], errors="coerce") + 2000
    year = year.fillna(pd.to_numeric(early[1], errors="coerce") + 1900)
    month = late[1].where(late[1].notna(), early[0])
    stamp = year.map(lambda y: "" if pd.isna(y) else str(int(y))).astype(object) + "-" + month.where(month.notna(), "")
    begin = pd.to_datetime(stamp, format="%Y-%b", errors="coerce")
    if end:
        begin = begin + pd.offsets.MonthBegin(1)
    begin = begin.dt.tz_localize(zone).dt.tz_convert("UTC").astype(UTC)
    return begin.iloc[code].reset_index(drop=True)


def _population(
    table: TextTable, good: BoolArray, events: pd.DataFrame, first: pd.Timestamp, last: pd.Timestamp, zone: str
) -> tuple[pd.DataFrame, int]:
    named = good & (table["nodenum"] != "")
    rows = pd.DataFrame({name: table[name][named] for name in table.header})
    for name in ("install", "prod", "decom"):
        months = _months(table[f"node {name}"][named], zone, end=name == "decom")
        rows[name] = months.dt.tz_convert(None).to_numpy()
    rows.loc[rows["node decom"] == "current", "decom"] = last.tz_convert(None).to_datetime64()
    has_node = events["node"].notna()
    for name in ("start", "end"):
        rows[name] = events.loc[has_node, name].dt.tz_convert(None).to_numpy()
    summaries: dict[str, Any] = {"install": "min", "prod": "min", "decom": "max", "start": "min", "end": "max"}
    summaries |= {old: "first" for old in _ATTRIBUTES if old in rows.columns}
    nodes = rows.groupby(["System", "nodenum"], sort=False).agg(summaries).reset_index()
    silent = _silent_nodes(rows)
    everyone = pd.concat([nodes, silent], ignore_index=True) if len(silent) else nodes
    failed = everyone["start"].fillna(pd.Timestamp.max)
    entered = everyone["prod"].where(
        everyone["prod"] <= failed, everyone["install"].where(everyone["install"] <= failed)
    )
    entered_known = entered.notna()
    of_system = rows.groupby("System")["start"].min()
    entered = entered.fillna(everyone["System"].map(of_system))
    end_seen = everyone["end"].fillna(pd.Timestamp.min)
    left = everyone["decom"].fillna(last.tz_convert(None))
    left = left.where(left >= end_seen, end_seen)
    declared_end = left < last.tz_convert(None)
    left = left.where(declared_end, last.tz_convert(None))
    there = entered < left
    everyone, entered, left, entered_known = everyone[there], entered[there], left[there], entered_known[there]
    population = population_frame(
        system=everyone["System"].to_numpy(),
        node=everyone["nodenum"].to_numpy(),
        entered=entered.dt.tz_localize("UTC"),
        left=left.dt.tz_localize("UTC"),
        entered_known=entered_known.to_numpy(),
        left_known=declared_end[there].to_numpy(),
        declared=True,
        attributes={new: everyone[old].to_numpy() for old, new in _ATTRIBUTES.items() if old in everyone.columns},
    )
    return population, int(there[len(nodes) :].sum())


def _silent_nodes(rows: pd.DataFrame) -> pd.DataFrame:
    """Nodes without a record, named by the numbering of their system; their dates are its most common ones."""
    frames = []
    for system, part in rows.groupby("System", sort=False):  # one system at a time: 22 of them
        size = pd.to_numeric(part["nodes"], errors="coerce").max()
        numbers = pd.to_numeric(part["nodenum"], errors="coerce")
        if pd.isna(size) or not 1.0 <= size < _MOST_NODES or not numbers.abs().lt(_MOST_NODES).all():
            continue
        offset = 0 if "nodenumz" not in part else _offset(numbers, part["nodenumz"])
        distinct = numbers.unique()
        blocks = (offset, int(distinct.min() // size * size))
        begin = next((b for b in blocks if ((distinct >= b) & (distinct < b + size)).mean() > _MOSTLY), None)
        if begin is None:
            continue
        expected = np.arange(begin, begin + int(size))
        absent = np.setdiff1d(expected, distinct)
        common: Any = part.groupby(["install", "prod", "decom"], dropna=False).size().idxmax()
        kinds = {
            old: part[old].mode().iloc[0] for old in _ATTRIBUTES if old in part.columns and part[old].notna().any()
        }
        frame = pd.DataFrame({"System": system, "nodenum": absent.astype(str), **kinds})
        for name, value in zip(("install", "prod", "decom"), common, strict=True):
            frame[name] = pd.Series(value, index=frame.index, dtype="datetime64[ns]")
        frame["start"] = frame["end"] = pd.Series(pd.NaT, index=frame.index, dtype="datetime64[ns]")
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["System", "nodenum"])


def _offset(numbers: pd.Series, from_zero: pd.Series) -> int:
    """The difference between a system's node numbers and those counted from zero; 0 where the latter are no numbers."""
    gaps = (numbers - pd.to_numeric(from_zero, errors="coerce")).replace([np.inf, -np.inf], np.nan).mode()
    return int(gaps.iloc[0]) if len(gaps) and abs(gaps.iloc[0]) < _MOST_NODES else 0


READER = Reader(_NAME, _recognises, one_by_one(_read))
