"""The columns of a table by field, and their values; rows with invalid values are rejected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from difflib import get_close_matches
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import BoolArray, FloatArray
from relfit.base.errors import Remedy
from relfit.base.units import instant, unit_in_hours
from relfit.io.frames import attribute_column
from relfit.io.life_flags import flag_of_lives, flags
from relfit.io.parsing.rows import Rejections, TextTable, as_text_array, category, cell_text
from relfit.io.parsing.stamps import day_and_month, same_clock
from relfit.io.parsing.times import durations, ends_after, instants, is_clock, is_number, no_length, no_time, unsaid
from relfit.io.table_mapping import (
    COMMON_NAMES,
    WINDOW,
    TableMapping,
    dates_as_starts,
    guessed,
    plain,
    with_decimal_of,
    without_false_times,
)
from relfit.io.up_and_down import states
from relfit.log.tables import EVENT_COLUMNS, LIFETIME_COLUMNS, POPULATION_COLUMNS

_RESERVED = {*EVENT_COLUMNS, *POPULATION_COLUMNS, *LIFETIME_COLUMNS}
_LONGEST = 2.5e6  # hours
_LATEST_DATE = 9_000_000_000  # seconds; the year 2255
_TIMES = ("start", "end", "entered", "left")
_SHOWN = 40
_SEVERITIES = ("level", "severity", "priority", "loglevel", "log_level", "sev")
_MILD = ("info", "information", "informational", "debug", "notice", "trace", "normal", "ok", "warn", "warning")
_MOST_WORSE = 8
_SHORTEST = 3  # letters of a name that may be a part of a column's
_MOST_STATES = 4  # different texts in a column of states (up, down)
PARTS = (
    *("slot", "bay", "disk", "drive", "gpu", "device", "dimm", "port", "blade"),
    *("serial", "serial_number", "sn", "uuid"),
)
"""Columns of units within a node."""
_NO_NODE = ("null", "none", "nil", "n/a", "nan", "-", "(null)", "<null>")
_UNIT = r"\(?\[?(?P<unit>h|hours|hrs|d|days|min|minutes|s|sec|seconds)\)?\]?"
_OUTAGE = "duration|downtime|down_time|ttr|time_to_repair|repair_time|outage"
_LENGTH_OF_OUTAGE = re.compile(rf"(?:{_OUTAGE})_*{_UNIT}")
_LENGTH = re.compile(rf"(?:{_OUTAGE}|ttf|life|lifetime|time_to_failure)_*{_UNIT}")
_UNIT_AT_END = re.compile(rf"(?:_|\(|\[){_UNIT}$")
_JOINED = {"node": "/", "start": " ", "end": " "}  # fields made of several columns, and what joins them
_OF_NODES = ("rack", "system")  # fields that a list of nodes may have instead
_ORDER = Remedy(
    "say it with day_first=true or day_first=false", "say it with --column day_first=true or --column day_first=false"
)


@dataclass(frozen=True)
class Columns:
    """A table and the column of each field."""

    table: TextTable
    names: dict[str, str]
    mapping: TableMapping
    zone: str
    day_first: bool | None = None
    order_note: str = ""
    clocks: dict[str, set[bool]] = dataclass_field(default_factory=dict)
    """Whether times of a column name a zone, and whether some name none; filled in by `instants`."""

    @classmethod
    def of(cls, table: TextTable, mapping: TableMapping, zone: str) -> Columns:
        """The columns of the mapping, else those with `COMMON_NAMES`."""
        names, off = dict[str, str](), {field for field in COMMON_NAMES if getattr(mapping, field) == ""}
        for field in (*COMMON_NAMES, "rack", "running"):
            wanted = getattr(mapping, field)
            if not wanted:
                continue
            table = with_key(table, wanted, field)
            if field in _OF_NODES and wanted not in table.columns and mapping.population is not None:
                continue  # the list of nodes has it
            check_column(table, wanted, field)
            names[field] = wanted
        open_fields = {f: c for f, c in COMMON_NAMES.items() if f not in names and f not in off}
        state = _state_column(table, open_fields.pop("state", ()), names, mapping)
        if state is not None:
            names["state"] = state
        header = without_false_times(table.columns, mapping)
        names |= guessed(header, dates_as_starts(open_fields, table.columns, mapping), names.values())
        if "start" not in names and not mapping.state:
            names.pop("state", None)  # a state has a time; without one the column may be a flag of durations
        if "duration" in names:
            mapping = _with_unit_of(names["duration"], mapping)
        elif "duration" not in off and not {"end", "state"} & set(names):
            mapping = _with_unit_in_name(table.header, names, mapping)
        mapping = with_decimal_of(table.columns.get(names.get("duration", "")), mapping)
        if "start" not in names and "duration" in names:
            if not {"observed", "censored"} & set(names) and "observed" not in off:
                names |= flag_of_lives(table, names.values())
        else:
            for field in {"observed", "censored", "entry"} - {f for f in names if getattr(mapping, f)}:
                if field in names and not flags(table.columns[names[field]])[1].any():
                    del names[field]  # beside dates this is an ordinary column, not a flag
        if {"end", "duration"} & set(names) and not mapping.state:
            names.pop("state", None)
        if {"start", "end", "duration"} <= set(names) and mapping.duration is None:
            del names["duration"]
        return cls(table, names, mapping, zone).in_one_order()

    def in_one_order(self, settled: bool | None = None) -> Columns:
        """The same columns in one order of days and months, `settled` where that is known; else a `ReadError`."""
        mapping = self.mapping
        if mapping.day_first is not None or mapping.time_format is not None or mapping.time_origin is not None:
            return replace(self, day_first=mapping.day_first)
        columns = [self.table.columns[self.names[field]] for field in _TIMES if field in self.names]
        day_first, example = day_and_month([column for column in columns if _is_text(column)])
        day_first = day_first if settled is None else settled
        if example and day_first is None:
            raise self.rejections.error(
                f"{example[:_SHOWN]!r}: nothing tells whether days or months come first", _ORDER
            )
        note = f"dates such as {example[:_SHOWN]} have the {'day' if day_first else 'month'} first" if example else ""
        return replace(self, day_first=day_first, order_note=note)

    def failing(self) -> BoolArray:
        """Which rows are failures, by `failures` of the mapping, else all; a `ReadError` where no row is."""
        if self.mapping.failures is None:
            return np.ones(self.size, dtype=bool)
        name, _, listed = self.mapping.failures.partition("=")
        if name not in self.table.columns:
            there = f"the columns are {', '.join(self.table.header)[:300]}"
            raise self.rejections.error(f"no column {name!r} that could say what a failure is", there, line=1)
        values = category(self.table.columns[name])
        wanted = {text.strip().lower() for text in listed.split(",")}
        hit = np.array([str(kind).lower() in wanted for kind in values.cat.categories], dtype=bool)
        rows = np.append(hit, "" in wanted)[values.cat.codes.to_numpy()]
        if not rows.any():
            there = f"the values are {', '.join(map(str, values.cat.categories[:12]))}"
            raise self.rejections.error(f"no row is a failure by {self.mapping.failures}", there)
        return rows

    def questions(self) -> list[str]:
        """Assumptions of the reader that the table does not decide, each with the option that changes it."""
        questions = []
        if self.mapping.failures is None:
            for name in self.table.header:
                if plain(name) in _SEVERITIES and (calm := _calm(category(self.table.columns[name]))) is not None:
                    rows, worse = calm
                    joined = ",".join(worse)
                    questions.append(
                        f"column {name!r} is mild in {rows} of {self.size} rows, and every row was taken "
                        f"for a failure; to take the others: --failures {quote(f'{name}={joined}')}"
                    )
            questions += self._words_of_states()
        start = self.names.get("start", "")
        if start and ":" not in self._example(start):
            clocks = [name for name in self.table.header if name not in self.names.values()]
            questions += [
                f"{start!r} has no time of day, and {name!r} may be it: --column {quote(f'start={start}+{name}')}"
                for name in clocks
                if is_clock(self._example(name))
            ][:1]
        node = self.names.get("node")
        if node is not None and "+" not in node and not self.mapping.node:
            nodes = category(self.values("node"))
            for name in self.parts():
                both = pd.DataFrame({"node": nodes, "part": category(self.table.columns[name])}).dropna()
                n, parts = both["node"].nunique(), len(both.drop_duplicates())
                if parts > n:
                    questions.append(
                        f"units are the {n} of {node!r}; with {name!r} there are {parts}: --column "
                        f"{quote(f'node={node}+{name}')} if these fail"
                    )
                    break
        return questions

    def parts(self) -> list[str]:
        """Columns of units within a node, such as a slot or a drive, that no field uses."""
        return [name for name in self.table.header if plain(name) in PARTS and name not in self.names.values()]

    def _words_of_states(self) -> list[str]:
        """The question about a column whose words may say that nodes are up, where every row was read as a failure."""
        free = [] if {"end", "duration", "state"} & set(self.names) else self.table.header
        for name in free:
            if plain(name) in COMMON_NAMES["state"] and name not in self.names.values():
                words = " or ".join(map(str, category(self.table.columns[name]).cat.categories[: _MOST_STATES + 1]))
                if 1 <= words.count(" or ") < _MOST_STATES:
                    what = f"column {name!r} says {words}, and every row was taken for a failure; where some say up: "
                    return [f"{what}--column {quote(f'state={name}')} --column down=WORD --column up=WORD"]
        return []

    @property
    def taken(self) -> str:
        """The column of each field with an example, for a note."""
        shown = []
        for field in dict.fromkeys(("node", *COMMON_NAMES)):
            if field in self.names:
                example = self._example(self.names[field])
                comma = ", a decimal comma" if field == "duration" and self.mapping.decimal == "," else ""
                unit = f" {self.mapping.duration_unit}" if field == "duration" and is_number(example) else ""
                shown.append(
                    f"{field} from {self.names[field]!r}" + (f" (as {example!r}{unit}{comma})" if example else "")
                )
        missing = [field for field in ("node", "start", "end", "cause") if field not in self.names]
        if {"duration", "state"} & set(self.names) and "end" in missing:
            missing.remove("end")
        none = f"; none for {', '.join(missing)}" if missing else ""
        return f"columns: {', '.join(shown)}{none}; change one with --column node=NAME"

    def _example(self, name: str) -> str:
        values = self.table.columns[name].slice(0, 1000).drop_null()
        return cell_text(values[0])[:_SHOWN] if len(values) else ""

    def __contains__(self, field: str) -> bool:
        return field in self.names

    @property
    def rejections(self) -> Rejections:
        """The rejected rows of the table."""
        return self.table.rejections

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.rejections.lines.size

    def named(self, *fields: str) -> str:
        """The column of the first of these fields that the table has; empty where it has none."""
        return next((self.names[field] for field in fields if field in self.names), "")

    def values(self, field: str) -> pa.ChunkedArray:
        """The values of a field, as they are in the table."""
        return self.table.columns[self.names[field]]

    def category(self, field: str, default: str | None = None) -> pd.Series:
        """The values of a field as a categorical, `default` where there is none."""
        if field in self.names:
            column = category(self.values(field))
            if field == "node":
                column = column.cat.remove_categories([k for k in column.cat.categories if str(k).lower() in _NO_NODE])
        else:
            kinds: Any = pd.CategoricalDtype(pd.Index([], dtype=object))
            column = pd.Series(pd.Categorical.from_codes(np.full(self.size, -1), dtype=kinds))
        if default and column.isna().any():
            texts = sorted({*map(str, column.cat.categories), default})
            wider: Any = pd.CategoricalDtype(pd.Index(texts, dtype=object))
            column = column.astype(wider).fillna(default)
        return column

    def instants(self, field: str, *, required: bool = False) -> pd.Series:
        """The instants of a field, NaT where empty or rejected."""
        if field not in self.names:
            return pd.Series(pd.NaT, index=range(self.size), dtype="datetime64[ns, UTC]")
        mapping, column = self.mapping, self.names[field]
        origin = None if mapping.time_origin is None else instant(mapping.time_origin, self.zone)
        times, bad = instants(
            self.values(field),
            self.zone,
            mapping.time_format,
            day_first=self.day_first,
            origin=origin,
            unit=mapping.time_unit or "hours",
            seen=self.clocks.setdefault(column, set()),
        )
        wrong = np.flatnonzero(bad)
        if wrong.size and not required:
            texts = as_text_array(self.values(field).take(pa.array(wrong)))
            bad[wrong[unsaid(pc.fill_null(texts, ""))]] = False
        self.rejections.reject(bad, lambda row: no_time(self._cell(field, row)), column)
        if required:
            self.rejections.reject(times.isna().to_numpy() & ~bad, "no time", column)
        return times

    def ends(self, start: pd.Series) -> pd.Series:
        """The ends of outages with these starts, NaT where empty or rejected."""
        end = self.instants("end")
        local = self.clocks.get(self.named("end")) == {False}
        return ends_after(start, end, self.zone) if local else end

    def one_clock(self) -> list[str]:
        """A note where times without a zone were taken as the others; a `ReadError` where they cannot be."""
        return same_clock(self.table.columns, self.clocks, self.mapping.timezone, self.rejections.path)

    def _cell(self, field: str, row: int) -> str:
        return cell_text(self.values(field)[row])

    @staticmethod
    def to_come(times: pd.Series, beginnings: pd.Series) -> BoolArray:
        """Which times are after tomorrow, where few `beginnings` are; a simulated log may lie there."""
        tomorrow = pd.Timestamp.now("UTC") + pd.Timedelta("1D")
        ahead = (beginnings > tomorrow).sum()
        return np.asarray((times > tomorrow) & (2 * ahead < beginnings.notna().sum()), dtype=np.bool_)

    def empty(self, field: str) -> BoolArray:
        """Where a field has no value."""
        values = self.values(field)
        empty = pc.is_null(values).to_numpy()
        if _is_text(values):
            empty = empty | pc.fill_null(pc.equal(as_text_array(values), ""), True).to_numpy(zero_copy_only=False)
        return np.asarray(empty, dtype=np.bool_)

    def hours(self, field: str, *, required: bool = False) -> FloatArray:
        """The durations of a field in hours, NaN where empty or rejected."""
        values, column = self.values(field), self.names[field]
        decimal = self.mapping.decimal
        length = durations(values, unit_in_hours(self.mapping.duration_unit), decimal)
        empty = self.empty(field)
        bad = ~empty & ~np.isfinite(length)
        self.rejections.reject(bad, lambda row: no_length(self._cell(field, row), decimal), column)
        with np.errstate(invalid="ignore"):
            self.rejections.reject(length < 0, "a negative duration", column)
            self.rejections.reject(length > _LONGEST, "a duration of more than 285 years", column)
        if required:
            self.rejections.reject(empty, "no duration", column)
        return np.where(np.isfinite(length) & (np.abs(length) <= _LONGEST), length, np.nan)

    def attributes(self, rows: BoolArray, besides: Sequence[str] = ()) -> dict[str, pd.Series]:
        """The given rows of columns that no field uses, and of `besides`; relfit's own names get an underscore."""
        used = {column for field, column in self.names.items() if field not in (*besides, "rack")}
        free = [name for name in self.table.header if name and name not in used]
        called = {name: f"{name}_" if name in _RESERVED else name for name in free}
        called |= {self.names[field]: field for field in ("rack", "cause") if self.names.get(field) in called}
        every = bool(rows.all())
        return {called[name]: _attribute(self.table.columns[name], None if every else rows) for name in free}


def check_column(table: TextTable, name: str, field: str) -> None:
    """Raise a `ReadError` with the nearest name where a table lacks the column of a field."""
    if name not in table.columns:
        near = get_close_matches(name, table.header, n=1)
        near = near or [each for each in table.header if len(name) >= _SHORTEST and name.lower() in each.lower()]
        remedy = f"did you mean {near[0]}?" if near else f"the columns are {', '.join(table.header)[:300]}"
        remedy = WINDOW if field == "observed" and "/" in name else remedy
        raise table.rejections.error(f"no column {name!r} for {field}", remedy, line=1)


def _attribute(column: pa.ChunkedArray, rows: BoolArray | None) -> pd.Series:
    column = column if rows is None else column.filter(pa.array(rows))
    if _is_text(column):
        return attribute_column(category(column))
    kind = column.type
    if pa.types.is_date(kind):
        seconds = pc.cast(pc.cast(column, pa.timestamp("s"), safe=False), pa.int64())
        dated = pc.less(pc.abs(seconds), _LATEST_DATE)
        column = pc.if_else(dated, column, pa.scalar(None, kind)).cast(pa.timestamp("ns"))
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    return attribute_column(column.to_pandas())


def _is_text(column: pa.ChunkedArray) -> bool:
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def _state_column(
    table: TextTable, candidates: Sequence[str], taken: dict[str, str], mapping: TableMapping
) -> str | None:
    """A column in which every value says up or down, and both occur."""
    name = guessed(table.header, {"state": candidates}, taken.values()).get("state")
    if name is None or not _is_text(table.columns[name]):
        return None
    words = category(table.columns[name]).cat.categories.to_numpy(dtype=object)
    down, is_state = states(words, mapping_words(mapping.down), mapping_words(mapping.up))
    return name if words.size and is_state.all() and 0 < down.sum() < words.size else None


def mapping_words(text: str | None) -> tuple[str, ...]:
    """Texts between commas, in small letters."""
    return tuple(word.strip().lower() for word in text.split(",")) if text else ()


def _calm(values: pd.Series) -> tuple[int, list[str]] | None:
    """Number of rows of mild severity, and the other severities; None where all rows are one or the other."""
    kinds = [str(kind) for kind in values.cat.categories]
    mild = [kind.lower() in _MILD for kind in kinds]
    worse = [kind for kind, calm in zip(kinds, mild, strict=True) if not calm]
    rows = int(values.isin([kind for kind, calm in zip(kinds, mild, strict=True) if calm]).sum())
    return (rows, worse) if rows and worse and len(worse) <= _MOST_WORSE else None


def _with_unit_in_name(header: Sequence[str], names: dict[str, str], mapping: TableMapping) -> TableMapping:
    """The mapping with the unit of a column such as ``lifetime_hours``, which becomes the column of durations."""
    of = _LENGTH_OF_OUTAGE if "start" in names else _LENGTH
    for name in header:
        if of.fullmatch(plain(name)) is not None and name not in names.values():
            names["duration"] = name
            return _with_unit_of(name, mapping)
    return mapping


def _with_unit_of(name: str, mapping: TableMapping) -> TableMapping:
    """The mapping with the unit at the end of a column's name, as in ``Outage (min)``, unless it names one."""
    unit = _UNIT_AT_END.search(plain(name))
    if unit is None or "duration_unit" in mapping.model_fields_set:
        return mapping
    return mapping.model_copy(update={"duration_unit": unit["unit"]})


def with_key(table: TextTable, key: str, field: str) -> TextTable:
    """The table with a column of the joined values of several, as ``rack+slot``; empty where one of them is."""
    parts = [name.strip() for name in key.split("+")]
    if field not in _JOINED or key in table.columns or not all(name in table.columns for name in parts):
        return table
    texts = [as_text_array(table.columns[name]) for name in parts]
    texts = [
        pc.cast(pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text), pa.large_string()) for text in texts
    ]
    joined = pc.binary_join_element_wise(*texts, pa.scalar(_JOINED[field], pa.large_string()))
    return replace(table, columns={**table.columns, key: pa.chunked_array([joined])})
