"""Any table: CSV, TSV, semicolons, JSON Lines or Parquet, with columns named by the user or guessed from common names.

A table holds one of three things: outages (a start, and an end or a duration), failures (a start and nothing else), or
whole lives (a duration and a flag, without a start).
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from pydantic import BaseModel, ConfigDict, ValidationError

from relfit.errors import ArgumentError, ReadError
from relfit.failurelog import FailureLog, Source, Window
from relfit.io.building import attribute_column, events_frame, lifetimes_frame, population_frame, seen_population
from relfit.io.opening import Content, as_text, open_content
from relfit.io.rows import Rejections, TextTable, read_text_table
from relfit.io.times import check_zone, durations, flags, instants
from relfit.tables import EVENT_COLUMNS, LIFETIME_COLUMNS, POPULATION_COLUMNS
from relfit.units import instant, unit_in_hours

__all__ = ["COMMON_NAMES", "TableMapping", "read"]

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
_POPULATION_NAMES = {
    "node": COMMON_NAMES["node"],
    "system": COMMON_NAMES["system"],
    "entered": ("entered", "installed", "in_service"),
    "left": ("left", "retired", "decommissioned"),
}
_SCOPES = ("node", "group", "system")
_LATEST_HOUR = 2_454_000.0  # hours from 1970 to the year 2250, well within what nanoseconds reach


class TableMapping(BaseModel):
    """Which column of a table is what, and how its times and durations are written.

    The same keys are options of `relfit.read` and entries of a TOML file.

    Attributes
    ----------
    node, start, end, duration, system, cause, detail, scope, observed, censored : str
        Names of columns. `observed` is true where a life ended, `censored` where it did not. Every other column becomes
        an attribute.
    system_name : str
        Name of the system where no column says it.
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
    time_format: str | None = None
    timezone: str | None = None
    duration_unit: str = "hours"
    window_start: Any = None
    window_end: Any = None
    population: Any = None


_FIELDS = ("node", "start", "end", "duration", "system", "cause", "detail", "scope", "observed", "censored", "rack")


def read(
    content: Content,
    *,
    strict: bool = False,
    timezone: str | None = None,
    mapping: str | Path | dict[str, Any] | None = None,
    **options: Any,
) -> FailureLog:
    """Read a table.

    Parameters
    ----------
    content : Content
    strict : bool
        A rejected row is an error.
    timezone : str, optional
        As `TableMapping.timezone`.
    mapping : str, Path or dict, optional
        A TOML file or its content; `options` go before it.
    **options
        The fields of `TableMapping`.

    Raises
    ------
    ReadError
        When this is no table, a named column is not there or, when strict, for a rejected row.
    ArgumentError
        For an unknown option.
    """
    folder = Path(mapping).parent if isinstance(mapping, (str, Path)) else Path()
    chosen = _mapping(mapping, {**options, **({"timezone": timezone} if timezone else {})})
    table, notes = _text_or_binary(content)
    columns = _columns(chosen, table, content)
    zone = check_zone(chosen.timezone)
    if "start" in columns:
        table.reject_duplicates()
        log = _events(table, columns, chosen, zone, content, notes, strict, folder)
    elif "duration" in columns:
        log = _lives(table, columns, chosen, zone, content, notes, strict)
    else:
        raise ReadError(
            "no column says when failures happened or how long lives were",
            path=content.path,
            line=1,
            remedy=f"name one with start=... or duration=...; there is {', '.join(table.header)}",
        )
    return log


# --------------------------------------------------------------------- mapping


def _mapping(source: str | Path | dict[str, Any] | None, options: dict[str, Any]) -> TableMapping:
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


def _columns(chosen: TableMapping, table: TextTable, content: Content) -> dict[str, str]:
    """Which column of the table each field is; named ones must be there, others are guessed."""
    found: dict[str, str] = {}
    for name in _FIELDS:
        wanted = getattr(chosen, name)
        if wanted is None:
            continue
        if wanted not in table.columns:
            near = get_close_matches(wanted, table.header, n=1)
            raise ReadError(
                f"no column {wanted!r} for {name}",
                path=content.path,
                line=1,
                remedy=f"did you mean {near[0]}?" if near else f"there is {', '.join(table.header)}",
            )
        found[name] = wanted
    by_lower = {name.lower().replace(" ", "_").replace("-", "_"): name for name in reversed(table.header)}
    for name, candidates in COMMON_NAMES.items():
        if name not in found:
            hit = next((by_lower[c] for c in candidates if c in by_lower and by_lower[c] not in found.values()), None)
            if hit is not None:
                found[name] = hit
    if "start" in found and "end" in found and "duration" in found and chosen.duration is None:
        del found["duration"]
    return found


# ----------------------------------------------------------------------- tables


def _text_or_binary(content: Content) -> tuple[TextTable, tuple[str, ...]]:
    if content.data.startswith(b"PAR1"):
        try:
            frame = parquet.read_table(pa.BufferReader(content.data)).to_pandas()
        except (pa.ArrowException, OSError):
            raise ReadError("the Parquet file is damaged", path=content.path, remedy="write it again") from None
        return _of_frame(frame, content.path, np.arange(1, len(frame) + 1)), ("line numbers count rows",)
    text = as_text(content)
    line = content.first_line()
    if line.lstrip().startswith("{"):
        return _json_lines(text.data, content.path), text.notes
    delimiter = max("\t;,|", key=line.count)
    if line.count(delimiter) == 0:
        near = next((c for c in line if c in "\t;,|"), None)
        if near is None and not _single_column(line):
            raise ReadError(
                "the first line is no header of a table",
                path=content.path,
                line=1,
                remedy="give CSV, TSV, JSON Lines or Parquet with names of columns in the first line",
            )
        delimiter = ","
    return read_text_table(text, delimiter), text.notes


def _single_column(line: str) -> bool:
    known = {name for names in COMMON_NAMES.values() for name in names}
    return line.strip().strip('"').lower() in known


def _json_lines(data: bytes, path: Path) -> TextTable:
    objects: list[dict[str, Any]] = []
    lines: list[int] = []
    odd: list[tuple[int, str, str]] = []
    filled = [(i, line) for i, line in enumerate(data.decode().split("\n"), 1) if line.strip()]
    for number, line in filled:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            odd.append((number, "not a JSON object", line))
            continue
        if isinstance(value, dict):
            # half of a surrogate pair is no character
            objects.append({_printable(k): _printable(v) for k, v in value.items()} if "\\u" in line else value)
            lines.append(number)
        else:
            odd.append((number, "not a JSON object", line))
    if not objects:
        raise ReadError("no line is a JSON object", path=path, line=1, remedy="write one object a line")
    table = _of_frame(pd.DataFrame(objects), path, np.array(lines, dtype=np.int64))
    for number, reason, line in odd:
        table.rejections.reject_line(number, reason, line)
    return TextTable(table.header, table.columns, table.rejections, len(filled))


def _printable(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _of_frame(frame: pd.DataFrame, path: Path, lines: npt.NDArray[np.int64]) -> TextTable:
    if frame.empty:
        raise ReadError("there is a header but no row", path=path, line=1, remedy="check how the file was written")
    columns = {}
    for name in frame.columns:
        values = frame[name]
        text = values.map(lambda v: v.isoformat(), na_action="ignore") if values.dtype.kind == "M" else values
        columns[str(name)] = np.where(values.isna(), "", text.astype(object).map(str).str.strip()).astype(object)
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(zip(*columns.values(), strict=True))
    rejections = Rejections(path, lines, buffer.getvalue().split("\n")[: len(frame)])
    return TextTable(tuple(columns), columns, rejections, len(frame))


# ----------------------------------------------------------------------- events


def _events(
    table: TextTable, columns: dict[str, str], chosen: TableMapping, zone: str, content: Content,
    notes: tuple[str, ...], strict: bool, folder: Path,
) -> FailureLog:  # fmt: skip
    rejections = table.rejections
    size = len(table[columns["start"]])
    blank = np.full(size, "", dtype=object)
    node = table[columns["node"]] if "node" in columns else np.full(size, "node", dtype=object)
    scope = np.array([s.lower() for s in table[columns["scope"]]], dtype=object) if "scope" in columns else blank
    start = _instants_of(table, columns["start"], chosen, zone, required=True)
    end = pd.Series(pd.NaT, index=range(size), dtype="datetime64[ns, UTC]")
    if "end" in columns:
        end = _instants_of(table, columns["end"], chosen, zone, required=False)
    if "duration" in columns:
        length = _durations_of(table, columns["duration"], chosen, required=False)
        began = (start - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy() / 3600.0
        with np.errstate(invalid="ignore"):
            far = began + length > _LATEST_HOUR
        rejections.reject(far, "ends beyond the year 2250", columns["duration"])
        from_length = start + pd.to_timedelta(np.where(far, np.nan, length), unit="h")
        end = end.fillna(from_length.astype(end.dtype))
    rejections.reject(
        (end < start).to_numpy(), "ends before it starts", columns.get("end", columns.get("duration", ""))
    )
    rejections.reject(
        (scope != "") & ~np.isin(scope, _SCOPES), "scope is none of node, group, system", columns.get("scope", "")
    )
    wide = np.isin(scope, ("group", "system"))
    rejections.reject(
        (node == "") & ~wide, "no node, and no wider scope that would do without", columns.get("node", "")
    )
    if strict:
        rejections.raise_first()
    kept = rejections.kept
    if not kept.any():
        reasons = rejections.frame()["reason"]
        raise ReadError(
            "every row was rejected", path=content.path, remedy=str(reasons.iloc[0]) if len(reasons) else None
        )
    used = set(columns.values()) - {columns.get("rack", "")}
    attributes = _attributes(table, kept, used)
    if "rack" in columns:
        attributes = {("rack" if name == columns["rack"] else name): v for name, v in attributes.items()}
    events = events_frame(
        system=_system(table, columns, chosen, size)[kept],
        node=node[kept],
        start=start[kept],
        end=end[kept],
        cause=table[columns["cause"]][kept] if "cause" in columns else None,
        detail=table[columns["detail"]][kept] if "detail" in columns else None,
        scope=scope[kept],
        line=rejections.lines[kept],
        attributes=attributes,
    )
    start_known, end_known = chosen.window_start is not None, chosen.window_end is not None
    first = instant(chosen.window_start, zone) if start_known else events["start"].min()
    last = instant(chosen.window_end, zone) if end_known else events[["start", "end"]].max().max()
    if start_known and end_known and not first < last:
        raise ArgumentError(f"the window ends at {last} before it starts at {first}", remedy="exchange its two ends")
    window = Window(first, last, start_known, end_known)
    population, window = _population(chosen, events, window, list(attributes), zone, folder, content)
    outside = (events["start"] < window.start) | (events["start"] > window.end)
    said = list(notes)
    if outside.any():
        said.append(f"{int(outside.sum())} events lie outside the declared window and are left out of it")
        events = events[~outside].reset_index(drop=True)
    source = Source(
        (str(content.path),), "table", table.rows_read, int(kept.sum()), (content.sha256,), zone, tuple(said),
        rows_deselected=int(outside.sum()),
    )  # fmt: skip
    return FailureLog(events, population, window, rejections.frame(), source)


def _population(
    chosen: TableMapping,
    events: pd.DataFrame,
    window: Window,
    attributes: list[str],
    zone: str,
    folder: Path,
    content: Content,
) -> tuple[pd.DataFrame, Window]:
    seen = seen_population(
        events, window.start, window.end, known=(window.start_known, window.end_known), keep=attributes
    )
    if chosen.population is None:
        return seen, window
    if isinstance(chosen.population, pd.DataFrame):
        place = Path("population")
        listed = _of_frame(chosen.population, place, np.arange(1, len(chosen.population) + 1))
    else:
        place = Path(str(chosen.population))
        place = place if place.is_absolute() or place.exists() else folder / place
        listed, _ = _text_or_binary(open_content(place))
    by_lower = {name.lower(): name for name in reversed(listed.header)}
    columns = {
        field: next(by_lower[c] for c in names if c in by_lower)
        for field, names in _POPULATION_NAMES.items()
        if any(c in by_lower for c in names)
    }
    if "node" not in columns:
        raise ReadError("no column names the node", path=place, line=1, remedy="call it node")
    size = len(listed[columns["node"]])
    given = {
        field: _instants_of(listed, columns[field], chosen, zone, required=False)
        if field in columns
        else pd.Series(pd.NaT, index=range(size), dtype="datetime64[ns, UTC]")
        for field in ("entered", "left")
    }
    listed.reject_duplicates()
    listed.rejections.reject(listed[columns["node"]] == "", "no node", columns["node"])
    listed.rejections.reject(
        (given["left"] < given["entered"]).to_numpy(), "left before it entered", columns.get("left", "")
    )
    listed.rejections.raise_first()
    first = given["entered"].min() if not window.start_known and given["entered"].notna().all() else window.start
    last = given["left"].max() if not window.end_known and given["left"].notna().all() else window.end
    window = Window(
        min(first, window.start) if not window.start_known else first,
        max(last, window.end) if not window.end_known else last,
        window.start_known or bool(given["entered"].notna().all()),
        window.end_known or bool(given["left"].notna().all()),
    )
    declared = population_frame(
        system=_system(listed, columns, chosen, size),
        node=listed[columns["node"]],
        entered=given["entered"].fillna(window.start),
        left=given["left"].fillna(window.end),
        entered_known=given["entered"].notna().to_numpy() | window.start_known,
        left_known=given["left"].notna().to_numpy() | window.end_known,
        declared=True,
        attributes=_attributes(listed, listed.rejections.kept, set(columns.values())),
    )
    pairs = pd.MultiIndex.from_frame(declared[["system", "node"]].astype(object))
    if pairs.duplicated().any():
        raise ReadError(
            f"node {pairs[pairs.duplicated()][0][1]!r} is listed twice", path=place, remedy="one row a node"
        )
    unlisted = ~pd.MultiIndex.from_frame(seen[["system", "node"]].astype(object)).isin(pairs)
    if unlisted.any():
        raise ReadError(
            f"node {seen['node'].astype(object)[unlisted].iloc[0]!r} is not listed ({int(unlisted.sum())} such)",
            path=place,
            remedy=f"list every node of {content.path}",
        )
    return declared, window


# ------------------------------------------------------------------------ lives


def _lives(
    table: TextTable, columns: dict[str, str], chosen: TableMapping, zone: str, content: Content,
    notes: tuple[str, ...], strict: bool,
) -> FailureLog:  # fmt: skip
    rejections = table.rejections
    length = _durations_of(table, columns["duration"], chosen, required=True)
    size = length.size
    node = table[columns["node"]] if "node" in columns else np.arange(1, size + 1).astype(str).astype(object)
    rejections.reject(node == "", "no node", columns.get("node", ""))
    observed = np.ones(size, dtype=bool)
    for name, meaning in (("observed", True), ("censored", False)):
        if name in columns and (name == "observed" or "observed" not in columns):
            value, known = flags(table[columns[name]])
            rejections.reject(~known, "neither true nor false", columns[name])
            observed = value == meaning
    if strict:
        rejections.raise_first()
    kept = rejections.kept
    if not kept.any():
        reasons = rejections.frame()["reason"]
        raise ReadError(
            "every row was rejected", path=content.path, remedy=str(reasons.iloc[0]) if len(reasons) else None
        )
    used = set(columns.values()) - {columns.get("cause", ""), columns.get("rack", "")}
    attributes = _attributes(table, kept, used)
    lifetimes = lifetimes_frame(
        system=_system(table, columns, chosen, size)[kept],
        node=node[kept],
        duration=length[kept],
        observed=observed[kept],
        line=rejections.lines[kept],
        attributes=attributes,
    )
    # lives without dates are laid from one instant on, so that they have a window; nothing is read from it
    start = instant("1970-01-01")
    longest = lifetimes.groupby(["system", "node"], observed=True, sort=False)["duration"].sum()
    end = start + pd.to_timedelta(np.minimum(longest.to_numpy(), _LATEST_HOUR), unit="h")
    count = len(longest)
    population = population_frame(
        system=longest.index.get_level_values(0).astype(object),
        node=longest.index.get_level_values(1).astype(object),
        entered=pd.Series([start] * count),
        left=pd.Series(end),
        entered_known=False,
        left_known=False,
        declared=False,
    )
    nothing = pd.Series(pd.NaT, index=range(0), dtype="datetime64[ns, UTC]")
    events = events_frame(system=[], node=[], start=nothing, line=[])
    said = (*notes, "the lives carry no dates; the window shown is a placeholder")
    source = Source((str(content.path),), "table", table.rows_read, int(kept.sum()), (content.sha256,), zone, said)
    return FailureLog(
        events, population, Window(start, population["left"].max()), rejections.frame(), source, lifetimes
    )


# ---------------------------------------------------------------------- columns


def _attributes(table: TextTable, kept: npt.NDArray[np.bool_], used: set[str]) -> dict[str, pd.Series]:
    """Columns that no field uses; one with a name that relfit uses itself gets an underscore behind it."""
    reserved = {*EVENT_COLUMNS, *POPULATION_COLUMNS, *LIFETIME_COLUMNS}
    return {
        f"{name}_" if name in reserved else name: attribute_column(table[name][kept])
        for name in table.header
        if name and name not in used
    }


def _system(table: TextTable, columns: dict[str, str], chosen: TableMapping, size: int) -> npt.NDArray[np.object_]:
    if "system" not in columns:
        return np.full(size, chosen.system_name, dtype=object)
    values = table[columns["system"]]
    return np.where(values == "", chosen.system_name, values).astype(object)


def _instants_of(table: TextTable, column: str, chosen: TableMapping, zone: str, *, required: bool) -> pd.Series:
    values = table[column]
    times, bad = instants(values, zone, chosen.time_format)
    empty = values == ""
    reasons = np.array([f"{value[:40]!r} is not a date or time" for value in values], dtype=object)
    table.rejections.reject(bad & ~empty, reasons, column)
    if required:
        table.rejections.reject(empty, "no time", column)
    return times


def _durations_of(table: TextTable, column: str, chosen: TableMapping, *, required: bool) -> npt.NDArray[np.float64]:
    values = table[column]
    length = durations(values, unit_in_hours(chosen.duration_unit))
    empty = values == ""
    table.rejections.reject(~empty & ~np.isfinite(length), "not a finite duration", column)
    with np.errstate(invalid="ignore"):
        table.rejections.reject(length < 0, "a negative duration", column)
        table.rejections.reject(length > 2.5e6, "a duration of more than 285 years", column)
    if required:
        table.rejections.reject(empty, "no duration", column)
    return np.where(np.isfinite(length) & (np.abs(length) <= 2.5e6), length, np.nan)
