"""The tables of a `FailureLog` from the columns of a reader: types, window and population in one place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.text import count, duration
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import as_numbers, in_categories
from relfit.io.parsing.times import UTC
from relfit.log.tables import (
    EVENT_COLUMNS,
    FAILED_AGAIN,
    LIFETIME_COLUMNS,
    LOST,
    POPULATION_COLUMNS,
    STILL_GOING_ON,
    Source,
    first_of_pairs,
    pair_codes,
    pairs,
)

if TYPE_CHECKING:
    from relfit.log.failurelog import FailureLog
    from relfit.log.tables import Window

NODELESS = ("system", "node", "ignore")
"""Readings of records that name neither a node nor their scope."""
_HOUR = pd.Timedelta(hours=1)
_FEWEST_ENDED = 10  # outages that ended, for one without an end to be too long
_NAMED = 3  # outages that a note names
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,20})?(e[+-][0-9]{1,3})?")
"""Numbers as programs write them; 007 and 12e4 are names."""
_NO_NUMBER = ("-", "?", "n/a", "na", "nan", "none", "null", "unknown")


def text_column(values: object) -> pd.Series:
    """Text as a categorical of the texts that occur; empty text is missing."""
    if isinstance(values, pd.Series) and isinstance(values.dtype, pd.CategoricalDtype):
        codes, kinds = values.cat.codes.to_numpy(), values.cat.categories
        used = np.bincount(codes[codes >= 0], minlength=len(kinds)) > 0
        if used.all():
            return _numbered(values)
        return in_categories(np.append(np.cumsum(used) - 1, -1), codes, kinds[used])
    column = pd.Categorical(pd.Series(values, dtype=object))
    return pd.Series(column.remove_categories("") if "" in column.categories else column)


def events_frame(
    *, start: pd.Series, scope: object = None, attributes: Mapping[str, object] | None = None, **columns: object
) -> pd.DataFrame:
    """The events of a `FailureLog` from columns of one length, times in UTC; a node's missing scope is ``"node"``."""
    frame = _frame(EVENT_COLUMNS, len(start), {"start": start, **columns}, attributes)
    codes = -frame["node"].isna().to_numpy().astype(np.int8)
    default_scope = pd.Series(pd.Categorical.from_codes(codes, pd.Index(["node"])))
    frame["scope"] = default_scope if scope is None else text_column(_filled(scope, default_scope))
    return frame


def population_frame(
    *, entered: pd.Series, attributes: Mapping[str, object] | None = None, **columns: object
) -> pd.DataFrame:
    """The population table of a `FailureLog`, one row per node, as `events_frame`."""
    return _frame(POPULATION_COLUMNS, len(entered), {"entered": entered, **columns}, attributes)


def with_nodes(population: pd.DataFrame, names: Sequence[str], window: Window) -> pd.DataFrame:
    """A population of one system, completed by further nodes that were there for all of the window."""
    grown = population.reset_index(drop=True).reindex(range(len(population) + len(names)))
    unknown = np.zeros(len(names), dtype=bool)
    return grown.assign(
        system=text_column(grown["system"].ffill()),
        node=text_column([*population["node"].astype(object), *names]),
        entered=grown["entered"].fillna(window.start),
        left=grown["left"].fillna(window.end),
        declared=True,
        entered_known=np.append(population["entered_known"].to_numpy(bool), unknown),
        left_known=np.append(population["left_known"].to_numpy(bool), unknown),
    )


def lifetimes_frame(
    *, line: npt.ArrayLike, attributes: Mapping[str, object] | None = None, **columns: object
) -> pd.DataFrame:
    """The table of complete durations, in hours, from ``entry`` on; ``running``: whether the unit still runs."""
    return _frame(LIFETIME_COLUMNS, len(np.asarray(line)), {"line": line, **columns}, attributes)


def open_outages(
    events: pd.DataFrame, population: pd.DataFrame, last: pd.Timestamp, *, may_be_lost: bool = True
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The events with open outages in progress until their node was last observed, and notes on them: a node's last
    one, in a log where most outages have an end. Where ends of earlier ones `may_be_lost`, an outage longer than every
    one that ended, ten at least, is taken to have lost its end too.
    """
    missing = events["end"].isna().to_numpy()
    if not missing.any() or 2 * missing.sum() >= len(events):
        return events, ()
    node = pair_codes(events)
    start = events["start"]
    latest = start.groupby(node).transform("max")
    some = events[missing]
    until = pd.Series(population["left"].to_numpy(), index=pairs(population), dtype=UTC)
    until = until[~until.index.duplicated()].reindex(pairs(some)).fillna(last).set_axis(some.index)
    until = until.reindex(events.index)
    still = missing & (start == latest).to_numpy() & (start <= until).to_numpy()
    hours = (until - start).dt.total_seconds() / 3600.0
    longest = float((events["end"] - start).max() / _HOUR)
    beyond = still & (hours > longest).to_numpy() & ((~missing).sum() >= _FEWEST_ENDED)
    lost = may_be_lost and bool((missing & ~still).any())
    still &= ~(beyond & lost)
    going_on = events.assign(end=events["end"].where(~still, until), end_cut=events["end_cut"] | still)
    counts = (
        (int(still.sum()), f"without an end: {STILL_GOING_ON}"),
        (int((missing & ~still).sum()), LOST if lost and beyond.any() else FAILED_AGAIN),
    )
    notes = [f"{count(number, 'outage')} {what}" for number, what in counts if number]
    if beyond.any():
        notes.insert(0, _longer_than_any(events["node"][beyond], hours[beyond], longest, lost))
    return going_on, tuple(notes)


def _longer_than_any(node: pd.Series, hours: pd.Series, longest: float, lost: bool) -> str:
    """A note on outages without an end that are longer than every one that ended; hours."""
    order = hours.sort_values(ascending=False, kind="stable").index
    of = node.astype(object).fillna("a record without a node")
    named = [f"{of[row]} for {duration(hours[row])}" for row in order[:_NAMED]]
    named += [f"{len(order) - _NAMED} more"] if len(order) > _NAMED else []
    taken = (
        "lost; if it goes on, give the end of observation as its end" if lost else "going on; if it is over, say when"
    )
    return f"No end of {', '.join(named)}, longer than any outage that ended ({duration(longest)}): taken as {taken}"


def with_nodeless(log: FailureLog, nodeless: str | None) -> FailureLog:
    """The log with records that name neither a node nor their scope read as `nodeless` says, one of `NODELESS`."""
    events = log.events
    unknown = (events["node"].isna() & events["scope"].isna()).to_numpy()
    number = int(unknown.sum())
    if not number:
        return log
    of = f"{count(number, 'record')} without a node and a scope"
    if nodeless is None:
        remedy = "read with --nodeless node or ignore if they are not"
        return _noted(log, f"{of}: taken as outages of the whole system; {remedy}")
    if nodeless == "ignore":
        left_out = (*log.source.left_out, ("without a node and a scope", number))
        source = replace(log.source, rows_deselected=log.source.rows_deselected + number, left_out=left_out)
        return _noted(replace(log, events=events[~unknown].reset_index(drop=True), source=source), f"{of} left out")
    scope = events["scope"].astype(object).where(~unknown, nodeless)
    what = "outages of the whole system" if nodeless == "system" else "failures of one node each, unknown which"
    return _noted(replace(log, events=events.assign(scope=text_column(scope))), f"{of} taken as {what}")


def _noted(log: FailureLog, note: str) -> FailureLog:
    return replace(log, source=replace(log.source, notes=tuple(dict.fromkeys((*log.source.notes, note)))))


def source_of(
    content: Content,
    format: str,
    rows_read: int,
    rows_kept: int,
    zone: str,
    notes: Sequence[str],
    left_out: Sequence[tuple[str, int]] = (),
) -> Source:
    """The source of a log: its file, counts of its rows, and why how many events were left out."""
    dropped = sum(number for _, number in left_out)
    source = Source((str(content.path),), format, rows_read, rows_kept, (content.sha256,), zone, tuple(notes))
    return replace(source, rows_deselected=dropped, left_out=tuple(left_out))


def seen_population(events: pd.DataFrame, window: Window, keep: Sequence[str]) -> pd.DataFrame:
    """The nodes that events name, observed for all of the window, with those columns of `keep` that never change."""
    there = events["node"].notna().to_numpy()
    named = events if there.all() else events[there]
    codes = pair_codes(named)
    first = first_of_pairs(codes)
    nodes = named.iloc[first]
    attributes = {}
    for name in keep:
        column = named[name]
        text = isinstance(column.dtype, pd.CategoricalDtype)
        values = column.cat.codes.to_numpy() if text else column.to_numpy()
        same = values == values[first][codes]
        if not text:
            same |= column.isna().to_numpy() & column.isna().to_numpy()[first][codes]
        if values.size and bool(same.all()):
            attributes[name] = nodes[name].reset_index(drop=True)
    size = len(nodes)
    return population_frame(
        system=nodes["system"].astype(object).to_numpy(),
        node=nodes["node"].astype(object).to_numpy(),
        entered=pd.Series([window.start] * size, dtype=UTC),
        left=pd.Series([window.end] * size, dtype=UTC),
        left_known=window.end_known,
        attributes=attributes,
    )


def attribute_column(values: object) -> pd.Series:
    """A column of an attribute: numbers where every value is one or a word for none, else text."""
    series = _numbered(values) if isinstance(values, pd.Series) else pd.Series(values)
    if series.dtype.kind in "biufmM":
        return series
    if not isinstance(series.dtype, pd.CategoricalDtype):
        filled = series.astype(object)
        if filled.map(type).isin((int, float)).all():
            return pd.to_numeric(filled)
        series = text_column(filled.map(str, na_action="ignore"))
    kinds = [str(kind) for kind in series.cat.categories]
    numerals = [kind for kind in kinds if kind.lower() not in _NO_NUMBER]
    if numerals and all(map(_PLAIN_NUMBER.fullmatch, numerals)):
        numbers = np.append(as_numbers(kinds), np.nan)[series.cat.codes.to_numpy()]
        integers = not any("." in kind or "e" in kind for kind in numerals) and bool(np.isfinite(numbers).all())
        return pd.Series(numbers.astype(np.int64) if integers else numbers)
    return text_column(series)


def _frame(
    order: Sequence[str], size: int, columns: Mapping[str, object], attributes: Mapping[str, object] | None
) -> pd.DataFrame:
    """A frame of the columns, those of `order` first, and of attributes, without copies."""
    names = (*order, *(name for name, values in columns.items() if name not in order and values is not None))
    every = {name: _column(name, columns.get(name), size) for name in names}
    further = {name: attribute_column(values) for name, values in (attributes or {}).items()}
    return pd.DataFrame({**every, **further}, index=pd.RangeIndex(size), copy=False)


def _column(name: str, values: object, size: int) -> Any:
    """A column in the type that its name has in every table; empty or false without `values`."""
    if name in ("start", "end", "entered", "left"):
        return _times(pd.Series(pd.NaT, index=range(size)) if values is None else values)
    if name in ("system", "node", "cause", "detail", "scope"):
        nothing = pd.Categorical.from_codes(np.full(size, -1, dtype=np.int8), pd.Index([], dtype=object))
        return pd.Series(nothing) if values is None else text_column(values)
    if name in ("line", "duration", "entry"):
        return np.asarray(values, dtype=np.int64 if name == "line" else np.float64)
    return np.full(size, False if values is None else values, dtype=bool)


def _numbered(series: pd.Series) -> pd.Series:
    """The series with its rows numbered from 0; without a copy where they are already."""
    counted = isinstance(series.index, pd.RangeIndex) and series.index.equals(pd.RangeIndex(len(series)))
    return series if counted else series.reset_index(drop=True)


def _times(values: object) -> pd.Series:
    series = _numbered(pd.Series(values))
    if not isinstance(series.dtype, pd.DatetimeTZDtype):
        series = pd.to_datetime(series, utc=True)
    return series if series.dtype == UTC else series.dt.tz_convert("UTC").astype(UTC)


def _filled(scope: object, default: pd.Series) -> pd.Series:
    if isinstance(scope, pd.Series) and isinstance(scope.dtype, pd.CategoricalDtype):
        if scope.isna().all():
            return default
        scope = scope.astype(object).where(scope.notna(), "")
    series = pd.Series(scope, dtype=object).reset_index(drop=True)
    empty = series.isna() | (series == "")
    return series.where(~empty, default.astype(object))
