"""Which column of a table is what: as the user says, else by common names; and the values of the columns."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from relfit.errors import ArgumentError, ReadError
from relfit.io.frames import attribute_column
from relfit.io.rows import Rejections, TextTable
from relfit.io.times import durations, instants, unsaid
from relfit.tables import EVENT_COLUMNS, LIFETIME_COLUMNS, POPULATION_COLUMNS
from relfit.units import unit_in_hours

__all__ = ["COMMON_NAMES", "Columns", "TableMapping", "mapping_of"]

COMMON_NAMES: dict[str, tuple[str, ...]] = {
    "node": ("node", "node_id", "nodename", "node_name", "host", "hostname", "server", "machine",
             "device", "gpu", "serial"),
    "start": ("start", "started", "start_time", "begin", "failed_at", "failure_time", "down_at", "time",
              "timestamp", "date"),
    "end": ("end", "ended", "end_time", "fixed", "repaired", "repaired_at", "up_at", "recovered"),
    "duration": ("duration", "downtime", "down_time", "ttr", "ttf", "life", "lifetime", "hours"),
    "system": ("system", "cluster", "machine_name", "site"),
    "cause": ("cause", "reason", "root_cause", "category"),
    "detail": ("detail", "details", "description", "message"),
    "scope": ("scope",),
    "observed": ("observed", "failed", "event", "failure"),
    "censored": ("censored", "suspended"),
}  # fmt: skip
_RESERVED = {*EVENT_COLUMNS, *POPULATION_COLUMNS, *LIFETIME_COLUMNS}
_LONGEST = 2.5e6  # hours


class TableMapping(BaseModel):
    """Which column of a table is what, and how its times and durations are written.

    The same keys are options of `relfit.read` and entries of a TOML file.

    Attributes
    ----------
    node, start, end, duration, system, cause, detail, scope, observed, censored : str
        Names of columns; `node` may be several, as in ``"rack+slot"``, whose values make one name. `observed` is true
        where a life ended, `censored` where it did not. Every other column becomes an attribute.
    system_name, node_name : str
        Name of the system, and of the only node, where no column says it.
    time_format : str
        ``"unix"``, ``"unix_ms"``, or codes such as ``"%d.%m.%Y %H:%M"``; found out when left out.
    timezone : str
        Zone of times that carry none; UTC when left out.
    duration_unit : str
        Unit of durations without one: ``"hours"`` when left out.
    window_start, window_end : str
        When observation began and ended; from the first to the last time in the table when left out.
    population : str
        A table (a file or a DataFrame) with a row a node: node, system, entered, left, and attributes.
    """

    model_config = ConfigDict(extra="forbid")

    node: str | None = None
    start: str | None = None
    end: str | None = None
    duration: str | None = None
    system: str | None = None
    cause: str | None = None
    detail: str | None = None
    scope: str | None = None
    observed: str | None = None
    censored: str | None = None
    rack: str | None = None
    system_name: str = "system"
    node_name: str | None = None
    time_format: str | None = None
    timezone: str | None = None
    duration_unit: str = "hours"
    window_start: Any = None
    window_end: Any = None
    population: Any = None


def mapping_of(source: str | Path | dict[str, Any] | None, options: dict[str, Any]) -> TableMapping:
    """The mapping from a TOML file or its content; `options` go before it."""
    given: dict[str, Any] = {}
    place: Path | None = None
    if not isinstance(source, (str, Path, dict, type(None))):
        raise ArgumentError(f"mapping {source!r} is neither a file nor a dictionary", remedy="name a TOML file")
    if isinstance(source, dict):
        given = source
    elif source is not None:
        place = Path(source)
        try:
            given = tomllib.loads(place.read_text(encoding="utf-8"))
        except OSError as error:
            raise ReadError(
                f"cannot read the mapping ({error.strerror})", path=place, remedy="check the path"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ReadError(
                f"this is not TOML: {error}", path=place, remedy='write lines such as node = "hostname"'
            ) from None
    try:
        return TableMapping(**{**given, **options})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            near = get_close_matches(name, TableMapping.model_fields, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"use {', '.join(TableMapping.model_fields)}"
            raise ArgumentError(f"unknown option {name!r} for a table", path=place, remedy=remedy) from None
        raise ArgumentError(
            f"option {name!r}: {first['msg']}", path=place, remedy="give the name of a column"
        ) from None


@dataclass(frozen=True)
class Columns:
    """A table and the name of the column that each field is in; rows with values that cannot be are rejected."""

    table: TextTable
    names: dict[str, str]
    mapping: TableMapping
    zone: str

    @classmethod
    def of(cls, table: TextTable, mapping: TableMapping, zone: str) -> Columns:
        """As the mapping says, else guessed from `COMMON_NAMES`.

        Raises
        ------
        ReadError
            When a column that the mapping names is not there.
        """
        names: dict[str, str] = {}
        for field in (*COMMON_NAMES, "rack"):
            wanted = getattr(mapping, field)
            if wanted is None:
                continue
            if field == "node" and "+" in wanted and wanted not in table.columns:
                table = _with_key(table, wanted)
            if wanted not in table.columns:
                near = get_close_matches(wanted, table.header, n=1)
                raise ReadError(
                    f"no column {wanted!r} for {field}",
                    path=table.rejections.path,
                    line=1,
                    remedy=f"did you mean {near[0]}?" if near else f"there is {', '.join(table.header)}",
                )
            names[field] = wanted
        names |= guessed(table.header, {f: c for f, c in COMMON_NAMES.items() if f not in names}, names.values())
        if {"start", "end", "duration"} <= set(names) and mapping.duration is None:
            del names["duration"]
        return cls(table, names, mapping, zone)

    @property
    def taken(self) -> str:
        """Which column was taken for what, for a note."""
        shown = [f"{field} from {self.names[field]!r}" for field in ("node", *COMMON_NAMES) if field in self.names]
        missing = [field for field in ("node", "start", "end", "cause") if field not in self.names]
        if "duration" in self.names and "end" in missing:
            missing.remove("end")
        return f"columns: {', '.join(dict.fromkeys(shown))}" + (f"; none for {', '.join(missing)}" if missing else "")

    def __contains__(self, field: str) -> bool:
        return field in self.names

    @property
    def rejections(self) -> Rejections:
        """What becomes of the rows."""
        return self.table.rejections

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.rejections.lines.size

    def named(self, *fields: str) -> str:
        """The column of the first of these fields that the table has; empty if it has none."""
        return next((self.names[field] for field in fields if field in self.names), "")

    def text(self, field: str, default: str | None = None) -> Any:
        """The values of a field, `default` everywhere where there is no such column."""
        if field in self.names:
            return self.table[self.names[field]]
        return None if default is None else np.full(self.size, default, dtype=object)

    def system(self) -> npt.NDArray[np.object_]:
        """The system of every row."""
        values = self.text("system", "")
        return np.where(values == "", self.mapping.system_name, values).astype(object)

    def instants(self, field: str, *, required: bool = False) -> pd.Series:
        """The instants of a field, NaT where empty or rejected."""
        if field not in self.names:
            return pd.Series(pd.NaT, index=range(self.size), dtype="datetime64[ns, UTC]")
        values, column = self.text(field), self.names[field]
        empty = (values == "") if required else unsaid(values)
        times, bad = instants(np.where(empty, "", values), self.zone, self.mapping.time_format)
        reasons = np.array([f"{value[:40]!r} is not a date or time" for value in values], dtype=object)
        self.rejections.reject(bad & ~empty, reasons, column)
        if required:
            self.rejections.reject(empty, "no time", column)
        return times

    def hours(self, field: str, *, required: bool = False) -> npt.NDArray[np.float64]:
        """The durations of a field in hours, NaN where empty or rejected."""
        values, column = self.text(field), self.names[field]
        length = durations(values, unit_in_hours(self.mapping.duration_unit))
        empty = values == ""
        self.rejections.reject(~empty & ~np.isfinite(length), "not a finite duration", column)
        with np.errstate(invalid="ignore"):
            self.rejections.reject(length < 0, "a negative duration", column)
            self.rejections.reject(length > _LONGEST, "a duration of more than 285 years", column)
        if required:
            self.rejections.reject(empty, "no duration", column)
        return np.where(np.isfinite(length) & (np.abs(length) <= _LONGEST), length, np.nan)

    def attributes(self, kept: npt.NDArray[np.bool_], besides: Sequence[str] = ()) -> dict[str, pd.Series]:
        """The rows kept of the columns that no field uses, and of those of the fields `besides`.

        The column of racks is called so; one with a name that relfit uses itself gets an underscore behind it.
        """
        used = {column for field, column in self.names.items() if field not in (*besides, "rack")}
        free = [name for name in self.table.header if name and name not in used]
        called = {name: f"{name}_" if name in _RESERVED else name for name in free}
        if "rack" in self.names:
            called[self.names["rack"]] = "rack"
        return {called[name]: attribute_column(self.table[name][kept]) for name in free}


def _with_key(table: TextTable, key: str) -> TextTable:
    """The table with a column of the values of several, joined by ``/``; empty where one of them is."""
    parts = [name.strip() for name in key.split("+")]
    if not all(name in table.columns for name in parts):
        return table
    values = table[parts[0]]
    for name in parts[1:]:
        there = (values != "") & (table[name] != "")
        values = np.where(there, values + "/" + table[name], "").astype(object)
    return TextTable(table.header, {**table.columns, key: values}, table.rejections, table.rows_read)


def guessed(header: Sequence[str], candidates: Mapping[str, Sequence[str]], taken: Any = ()) -> dict[str, str]:
    """The first column with one of the names that each field may have, and that no other field uses.

    Examples
    --------
    >>> guessed(["Host Name", "hostname", "begin"], {"node": ["hostname"], "start": ["start", "begin"]})
    {'node': 'hostname', 'start': 'begin'}
    """
    by_lower = {name.lower().replace(" ", "_").replace("-", "_"): name for name in reversed(header)}
    names: dict[str, str] = {}
    for field, wanted in candidates.items():
        free = [by_lower[name] for name in wanted if name in by_lower]
        hit = next((name for name in free if name not in (*taken, *names.values())), None)
        if hit is not None:
            names[field] = hit
    return names
