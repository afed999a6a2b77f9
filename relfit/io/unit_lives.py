"""Lives of units from a table with one row per unit: when it entered service, when it left, and whether it failed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray
from relfit.base.errors import Remedy
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.io.declared_fleet import declared_window
from relfit.io.frames import events_frame, lifetimes_frame, population_frame, source_of
from relfit.io.life_flags import NO_FLAG, ended, flag_of_lives
from relfit.io.node_list import IN_SERVICE
from relfit.io.parsing.opening import Content
from relfit.io.table_columns import Columns, check_column
from relfit.io.table_mapping import guessed, plain
from relfit.log.failurelog import FailureLog, Window

FROM_BIRTH = (
    "every unit counts from the day it entered; if those that left before some day are not in the table, --observed "
    "FROM/TO says from when they are"
)
_OF_UNITS = ("node", "system", "observed", "censored", "cause", "rack")
_FAILED_AT = (
    *("failed", "failed_at", "failed_on", "fail_date", "failure", "failure_date", "failure_time", "date_failed"),
    *("date_of_failure", "died_at", "died_on", "death_date"),
)
"""Usual names of the time of the one failure of a unit; the column is empty for those that did not fail."""


def columns_of_units(columns: Columns) -> Columns | None:
    """The columns of a table of units, with the fields entered and left; None for another table.

    It is one where the mapping says when units entered, without a list of nodes, or where a column with a usual name
    says when they entered and another when or whether they failed. A time of failure is the field start.
    """
    table, mapping = columns.table, columns.mapping
    failed_at = _failed_at(columns)
    if mapping.population is not None or (
        not mapping.entered and failed_at is None and {"start", "duration"} & set(columns.names)
    ):
        return None
    names = {field: name for field, name in columns.names.items() if field in _OF_UNITS and name != failed_at}
    for field in ("entered", "left"):
        wanted = getattr(mapping, field)
        if wanted:
            check_column(table, wanted, field)
            names[field] = wanted
        else:
            names |= guessed(table.header, {field: IN_SERVICE[field]}, names.values())
    if failed_at is not None and "entered" in names:
        names = {field: name for field, name in names.items() if field not in ("observed", "censored")}
        names["start"] = failed_at
        return replace(columns, names=names, clocks={}).in_one_order()
    words_of = (mapping.failures or "").partition("=")[0]
    if words_of in table.columns:
        names["observed"] = words_of
    if not {"observed", "censored"} & set(names):
        names |= flag_of_lives(table, names.values())
    if not mapping.entered and not ({"entered", "left"} <= set(names) and {"observed", "censored"} & set(names)):
        return None
    return replace(columns, names=names, clocks={}).in_one_order()


def has_dates_of_service(columns: Columns) -> bool:
    """Whether columns with usual names say when units entered and left service."""
    return set(IN_SERVICE) <= set(guessed(columns.table.header, IN_SERVICE, ()))


def _failed_at(columns: Columns) -> str | None:
    """The column with the time of the one failure of each unit; None for a table of failures: no cell is empty, a node
    has two rows, or an outage has an end, unless the mapping says when units entered.
    """
    mapping, usual = columns.mapping, next((c for c in columns.table.header if plain(c) in _FAILED_AT), None)
    name = columns.names.get("start", usual)
    if name is None or not (mapping.start or plain(name) in _FAILED_AT):
        return None
    empty = replace(columns, names={"start": name}).empty("start")
    if "start" not in columns:
        return name if empty.all() else None  # a flag where it is not empty
    if mapping.entered:
        return name
    node = columns.category("node") if "node" in columns else pd.Series(range(columns.size))
    one_each = not node.duplicated().any() and not {"end", "duration", "state"} & set(columns.names)
    return name if one_each and empty.any() else None


def lives_of_units(columns: Columns, content: Content, strict: bool) -> FailureLog:
    """Lifetimes from the installation of each unit, from its age when observation began to its end or the window's."""
    if columns.mapping.running:
        remedy = "leave out running: a unit without a time in the column of left still runs"
        raise content.error("a table with one row per unit says by dates which still run", remedy, line=1)
    rejections, size = columns.rejections, columns.size
    numbered = pd.Series(np.arange(1, size + 1).astype(str).astype(object))
    node = columns.category("node") if "node" in columns else numbered
    rejections.reject(node.isna().to_numpy(), "no node", columns.named("node"))
    entered, left, failed = _service(columns, content)
    clocks = columns.one_clock()
    ending = columns.names.get("left") or columns.names["start"]
    rejections.reject((left < entered).to_numpy(), "left before it entered", ending)
    ahead = columns.to_come(left, entered)
    rejections.reject(ahead & failed, "failed in the future", ending)
    rejections.reject(columns.to_come(entered, entered), "entered in the future", columns.names["entered"])
    left = left.mask(ahead)  # a unit that is to leave still runs
    good = rejections.settle(strict)
    seen = Window(entered[good].min(), max(entered[good].max(), left[good].max(skipna=True)))
    window = declared_window(columns, seen)
    # a declared window excludes its last instant, so that those that adjoin add up
    beyond = left.isna() | (left >= window.end if window.end_known else left > window.end)
    until = left.mask(beyond, window.end)
    since = entered.mask(entered < window.start, window.start)
    there = (until > since) | (failed & ~beyond & (until == since) & (left >= window.start))
    rows = good & there.to_numpy()
    seen_to_fail: BoolArray = failed & ~beyond.to_numpy()
    age, seen_from = _hours(entered, until), _hours(entered, since)
    at_once = (seen_from > 0.0) & (seen_from == age)  # failed at the first instant
    system = columns.category("system", columns.mapping.system_name)
    lifetimes = lifetimes_frame(
        system=system[rows],
        node=node[rows],
        duration=age[rows],
        observed=seen_to_fail[rows],
        line=rejections.lines[rows],
        entry=np.where(at_once, np.nextafter(age, 0.0), seen_from)[rows],
        running=beyond.to_numpy()[rows],
        attributes=columns.attributes(rows, besides=("cause",)),
    )
    once = ~lifetimes.duplicated(["system", "node"]).to_numpy()
    population = population_frame(
        system=lifetimes["system"][once].astype(object),
        node=lifetimes["node"][once].astype(object),
        entered=since[rows][once],
        left=until[rows][once],
        entered_known=(entered >= window.start).to_numpy()[rows][once],
        left_known=left.notna().to_numpy()[rows][once],
        declared=True,
    )
    nothing = pd.Series(pd.NaT, index=range(0), dtype="datetime64[ns, UTC]")
    said = [
        columns.taken,
        f"lives of units from {columns.names['entered']!r} to {_ends(columns)}; those that entered before "
        f"{window.start:%Y-%m-%d} count from their age then",
        *([columns.order_note] if columns.order_note else []),
        *clocks,
        *columns.table.notes,
        *_questions(window),
    ]
    outside = int((good & ~there.to_numpy()).sum())
    left_out = [("units not in service within the window", outside)] if outside else []
    source = source_of(content, "table", columns.table.rows_read, int(good.sum()), columns.zone, said, left_out)
    events = events_frame(system=[], node=[], start=nothing, line=[])
    return FailureLog(events, population, window, rejections.frame(), source, lifetimes)


def _service(columns: Columns, content: Content) -> tuple[pd.Series, pd.Series, BoolArray]:
    """When each unit entered and left service, and whether it left by its failure."""
    rejections = columns.rejections
    entered = columns.instants("entered", required=True)
    if "start" in columns:
        failure = columns.instants("start")
        if "left" not in columns:
            return entered, failure, failure.notna().to_numpy()
        left = columns.instants("left")
        rejections.reject((left < failure).to_numpy(), "failed after it left", columns.names["start"])
        return entered, failure.fillna(left), failure.notna().to_numpy()
    flag = "observed" if "observed" in columns else "censored"
    if flag not in columns or "left" not in columns:
        what, field = ("which units failed", "observed") if flag not in columns else ("when units left service", "left")
        remedy = Remedy(f"name it with {field}=...", f"name it with --column {field}=NAME")
        raise content.error(f"no column says {what}", remedy, line=1)
    left = columns.instants("left")
    if columns.mapping.failures is not None:
        failed = columns.failing()
    else:
        failed, is_flag = ended(columns.table, columns.names[flag], flag)
        rejections.reject(~is_flag, NO_FLAG, columns.names[flag])
    rejections.reject(failed & left.isna().to_numpy(), "failed, but no time says when", columns.names["left"])
    return entered, left, failed


def _ends(columns: Columns) -> str:
    """The columns that say when lives end."""
    return " or ".join(repr(columns.names[field]) for field in ("start", "left") if field in columns)


def _hours(start: pd.Series, end: pd.Series) -> FloatArray:
    """Hours from one instant to another of each row."""
    return np.asarray((nanoseconds(end) - nanoseconds(start)) / NANOSECONDS_PER_HOUR, dtype=np.float64)


def _questions(window: Window) -> list[str]:
    """What the window was taken for, where nobody said it."""
    questions = []
    if not window.start_known:
        questions.append(FROM_BIRTH)
    if not window.end_known:
        questions.append(f"units run until the last date, {window.end:%Y-%m-%d}; --observed FROM/TO says until when")
    return questions
