"""Any table: CSV, TSV, semicolons, JSON Lines or Parquet, with columns named by the user or guessed from common names.

A table holds one of three things: outages (a start, and an end or a duration), failures (a start and nothing else), or
durations given whole (a duration and a flag, without a start).
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from relfit.errors import ArgumentError, ReadError
from relfit.failurelog import FailureLog, Window
from relfit.io.frames import (
    events_frame,
    lifetimes_frame,
    open_outages,
    population_frame,
    seen_population,
    source_of,
)
from relfit.io.opening import Content, as_text, open_content
from relfit.io.rows import Rejections, TextTable, read_text_table
from relfit.io.table_mapping import COMMON_NAMES, Columns, guessed, mapping_of
from relfit.io.times import check_zone, flags
from relfit.tables import pairs
from relfit.units import NANOSECONDS_PER_HOUR, instant, nanoseconds

__all__ = ["NAME", "read", "recognises"]

NAME = "table"
_POPULATION_NAMES = {
    "node": COMMON_NAMES["node"],
    "system": COMMON_NAMES["system"],
    "entered": ("entered", "installed", "in_service"),
    "left": ("left", "retired", "decommissioned"),
}
_SCOPES = ("node", "group", "system")
_LATEST_HOUR = 2_454_000.0  # hours from 1970 to the year 2250, well within what nanoseconds reach


def recognises(content: Content) -> bool:
    """Always: what no other format claims is taken for a table."""
    return True


def read(
    content: Content,
    *,
    strict: bool = False,
    timezone: str | None = None,
    nodeless: str | None = None,
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
    nodeless : str, optional
        As `relfit.read`; says what a log is that has no column for the node.
    mapping : str, Path or dict, optional
        A TOML file or its content; `options` go before it.
    **options
        The fields of `TableMapping`.

    Raises
    ------
    ReadError
        When this is no table, a named column is not there, no column names the node of dated events or, when strict,
        for a rejected row.
    ArgumentError
        For an unknown option.
    """
    folder = Path(mapping).parent if isinstance(mapping, (str, Path)) else Path()
    meaning = mapping_of(mapping, {**options, **({"timezone": timezone} if timezone else {})})
    table, notes = _rows(content)
    columns = Columns.of(table, meaning, check_zone(meaning.timezone))
    if "start" in columns:
        if not ("node" in columns or "scope" in columns or meaning.node_name is not None or nodeless is not None):
            raise ReadError(
                "no column names the node, and a fleet taken for one node would be wrong",
                path=content.path,
                line=1,
                remedy=(
                    "name it with node=... (--column node=...; node=rack+slot for two), or give node_name=... if the "
                    f"log is of one node; there is {', '.join(table.header)}"
                ),
            )
        table.reject_duplicates()
        return _events(columns, content, notes, strict, folder)
    if "duration" in columns:
        return _durations(columns, content, notes, strict)
    raise ReadError(
        "no column says when failures happened or how long lives were",
        path=content.path,
        line=1,
        remedy=f"name one with start=... or duration=...; there is {', '.join(table.header)}",
    )


def _rows(content: Content) -> tuple[TextTable, tuple[str, ...]]:
    """The rows of a table of any kind, as text, and what was done to get them."""
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
        if not _single_column(line):
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


def _events(columns: Columns, content: Content, notes: tuple[str, ...], strict: bool, folder: Path) -> FailureLog:
    """Outages and failures with their dates."""
    rejections, mapping = columns.rejections, columns.mapping
    node = columns.text("node", mapping.node_name or "")
    scope = np.array([text.lower() for text in columns.text("scope", "")], dtype=object)
    start, end = columns.instants("start", required=True), columns.instants("end")
    if "duration" in columns:
        length = columns.hours("duration")
        with np.errstate(invalid="ignore"):
            far = start.notna().to_numpy() & (nanoseconds(start) / NANOSECONDS_PER_HOUR + length > _LATEST_HOUR)
        rejections.reject(far, "ends beyond the year 2250", columns.named("duration"))
        from_length = start + pd.to_timedelta(np.where(far, np.nan, length), unit="h")
        end = end.fillna(from_length.astype(end.dtype))
    rejections.reject((end < start).to_numpy(), "ends before it starts", columns.named("end", "duration"))
    known = (scope == "") | np.isin(scope, _SCOPES)
    rejections.reject(~known, "scope is none of node, group, system", columns.named("scope"))
    kept = rejections.settle(strict)
    attributes = columns.attributes(kept)
    cause, detail = columns.text("cause"), columns.text("detail")
    events = events_frame(
        system=columns.system()[kept],
        node=node[kept],
        start=start[kept],
        end=end[kept],
        cause=None if cause is None else cause[kept],
        detail=None if detail is None else detail[kept],
        scope=scope[kept],
        line=rejections.lines[kept],
        attributes=attributes,
    )
    start_known, end_known = mapping.window_start is not None, mapping.window_end is not None
    first = instant(mapping.window_start, columns.zone) if start_known else events["start"].min()
    last = instant(mapping.window_end, columns.zone) if end_known else events[["start", "end"]].max().max()
    if start_known and end_known and not first < last:
        raise ArgumentError(f"the window ends at {last} before it starts at {first}", remedy="exchange its two ends")
    window = Window(first, last, start_known, end_known)
    population = seen_population(events, first, last, end_known=end_known, keep=list(attributes))
    if mapping.population is not None:
        population, window = _listed(columns, population, window, folder, content)
    outside = (events["start"] < window.start) | (events["start"] > window.end)
    said, left_out = [columns.taken, *notes], int(outside.sum())
    if len(population) == 1 and len(events) > 1 and mapping.node_name is None:
        said.append("all records are of one node; if they are not, name the column of the node (--column node=...)")
    if left_out:
        said.append(f"{left_out} events lie outside the declared window and are left out of it")
        events = events[~outside].reset_index(drop=True)
    events, still = open_outages(events, population, window.end)
    said += still
    source = source_of(content, NAME, columns.table.rows_read, int(kept.sum()), columns.zone, said, left_out)
    return FailureLog(events, population, window, rejections.frame(), source)


def _listed(
    events: Columns, seen: pd.DataFrame, window: Window, folder: Path, content: Content
) -> tuple[pd.DataFrame, Window]:
    """The population as a table of its own lists it, and the window, widened to when its nodes were there."""
    given = events.mapping.population
    if isinstance(given, pd.DataFrame):
        place = Path("population")
        table = _of_frame(given, place, np.arange(1, len(given) + 1))
    else:
        place = Path(str(given))
        place = place if place.is_absolute() or place.exists() else folder / place
        table, _ = _rows(open_content(place))
    columns = Columns(table, guessed(table.header, _POPULATION_NAMES), events.mapping, events.zone)
    if "node" not in columns:
        raise ReadError("no column names the node", path=place, line=1, remedy="call it node")
    entered, left = columns.instants("entered"), columns.instants("left")
    node, rejections = columns.text("node"), columns.rejections
    table.reject_duplicates()
    rejections.reject(node == "", "no node", columns.named("node"))
    rejections.reject((left < entered).to_numpy(), "left before it entered", columns.named("left"))
    rejections.raise_first()
    all_entered, all_left = bool(entered.notna().all()), bool(left.notna().all())
    first = window.start if window.start_known or not all_entered else min(entered.min(), window.start)
    last = window.end if window.end_known or not all_left else max(left.max(), window.end)
    window = Window(first, last, window.start_known or all_entered, window.end_known or all_left)
    # failures before a declared window are not in the log, so a node installed earlier has an unknown age at its start
    watched_from = entered.fillna(first)
    if events.mapping.window_start is not None:
        watched_from = watched_from.where(watched_from >= first, first)
    declared = population_frame(
        system=columns.system(),
        node=node,
        entered=watched_from,
        left=left.fillna(last),
        entered_known=(entered == watched_from).to_numpy(),
        left_known=left.notna().to_numpy() | window.end_known,
        declared=True,
        attributes=columns.attributes(rejections.kept),
    )
    names = pairs(declared)
    if names.duplicated().any():
        raise ReadError(
            f"node {names[names.duplicated()][0][1]!r} is listed twice", path=place, remedy="one row per node"
        )
    unlisted = ~pairs(seen).isin(names)
    if unlisted.any():
        raise ReadError(
            f"node {seen['node'].astype(object)[unlisted].iloc[0]!r} is not listed ({int(unlisted.sum())} such)",
            path=place,
            remedy=f"list every node of {content.path}",
        )
    return declared, window


def _durations(columns: Columns, content: Content, notes: tuple[str, ...], strict: bool) -> FailureLog:
    """Durations without dates."""
    rejections, size = columns.rejections, columns.size
    length = columns.hours("duration", required=True)
    node = columns.text("node")
    node = np.arange(1, size + 1).astype(str).astype(object) if node is None else node
    rejections.reject(node == "", "no node", columns.named("node"))
    observed = np.ones(size, dtype=bool)
    flag = "observed" if "observed" in columns else "censored"
    if flag in columns:
        true, known = flags(columns.text(flag))
        rejections.reject(~known, "neither true nor false", columns.named(flag))
        observed = true == (flag == "observed")
    kept = rejections.settle(strict)
    lifetimes = lifetimes_frame(
        system=columns.system()[kept],
        node=node[kept],
        duration=length[kept],
        observed=observed[kept],
        line=rejections.lines[kept],
        attributes=columns.attributes(kept, besides=("cause",)),
    )
    # durations without dates are laid from one instant on, so that they have a window; nothing is read from it
    start = instant("1970-01-01")
    longest = lifetimes.groupby(["system", "node"], observed=True, sort=False)["duration"].sum()
    end = start + pd.to_timedelta(np.minimum(longest.to_numpy(), _LATEST_HOUR), unit="h")
    population = population_frame(
        system=longest.index.get_level_values(0).astype(object),
        node=longest.index.get_level_values(1).astype(object),
        entered=pd.Series([start] * len(longest)),
        left=pd.Series(end),
        entered_known=False,
        left_known=False,
        declared=False,
    )
    nothing = pd.Series(pd.NaT, index=range(0), dtype="datetime64[ns, UTC]")
    events = events_frame(system=[], node=[], start=nothing, line=[])
    said = (columns.taken, *notes, "the lives carry no dates; the window shown is a placeholder")
    source = source_of(content, NAME, columns.table.rows_read, int(kept.sum()), columns.zone, said)
    window = Window(start, population["left"].max())
    return FailureLog(events, population, window, rejections.frame(), source, lifetimes)
