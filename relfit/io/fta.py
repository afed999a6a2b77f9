"""Failure Trace Archive traces: a folder of tables, or its ``event_trace`` file alone.

Fields are separated by tabs and padded with blanks. An event is an interval in which a node was available (1) or not
(0), in Unix seconds: unavailable intervals become events of the log, and available ones show that the node was
observed. That is from its first row to its last, as the dates of the component table, the same for all nodes, are
those of the site. An outage that begins or ends with the node's own trace is cut off there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from relfit.base.arrays import IntArray, ObjectArray
from relfit.base.errors import ReadError
from relfit.base.text import count
from relfit.io.frames import events_frame, population_frame, source_of
from relfit.io.parsing.delimited import read_delimited
from relfit.io.parsing.opening import Content, open_content
from relfit.io.parsing.rows import Rejections, as_numbers
from relfit.io.parsing.text_content import Text, as_text
from relfit.io.parsing.times import check_zone, since_1970
from relfit.io.reader import Reader, one_by_one
from relfit.log.failurelog import FailureLog, Window

_NAME = "fta"
_TABLES = ("event_trace", "component", "node", "platform")
_KEYS = ("platform_id", "node_id", "component_id")
_NEEDED = ("node_id", "platform_id", "node_name", "event_type", "event_start_time", "event_stop_time")
_NOT_ATTRIBUTES = {"node_id", "platform_id", "node_name", "node_ip", "timezone", "metric_id"}
_RENAMED = {"node_location": "location", "num_procs": "processors", "mem_size": "memory"}
_LARGEST = 8.8e9  # seconds; the year 2248, well within the range of nanoseconds


def _recognises(content: Content) -> bool:
    """Whether the first line is the header of an event trace."""
    line = content.first_line()
    return line.startswith("#") and "event_start_time" in line and "event_type" in line


def trace_in(folder: Path) -> Path:
    """The event trace of a folder; a `ReadError` when there is no ``event_trace`` table in it."""
    trace = _companion(folder, "event_trace")
    if trace is None:
        raise ReadError(
            "this folder holds no event_trace table", path=folder, remedy="name a file, or the folder of an FTA trace"
        )
    return trace


def _read(content: Content, *, strict: bool, timezone: str | None) -> FailureLog:
    """Read an event trace and the tables beside it; the zone is `timezone`, by default the nodes' own offset."""
    text = as_text(content)
    header = _header(text.data, content.path)
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise content.error(f"no column {missing[0]!r}", "an FTA event_trace has it", line=1)
    table, rejections = _intervals(text, header)
    if strict:
        rejections.raise_first()
    if table.empty:
        rejections.settle(strict)
    notes = list(text.notes)
    companions = {name: _small_table(content.path.parent, name, notes) for name in _TABLES[1:]}
    return _assemble(table, companions, content, rejections, timezone, tuple(notes))


def _companion(folder: Path, name: str) -> Path | None:
    matches = sorted(p for p in folder.iterdir() if p.is_file() and p.name.split(".")[0] == name)
    return matches[0] if matches else None


def _header(data: bytes, path: Path) -> list[str]:
    line = data[: data.find(b"\n") % (len(data) + 1)].decode()
    if not line.startswith("#"):
        raise ReadError("the header does not start with #", path=path, line=1, remedy="this is not an FTA table")
    return line.lstrip("#").split()


def _intervals(text: Text, header: list[str]) -> tuple[pd.DataFrame, Rejections]:
    """Valid intervals, with their lines; a fast parse first, and a careful one where that fails."""
    types = {
        **{name: pa.int64() for name in _KEYS if name in header},
        "node_name": pa.dictionary(pa.int32(), pa.string()),
        "event_type": pa.int8(),
        "event_start_time": pa.int64(),
        "event_stop_time": pa.int64(),
    }
    rows = text.data.count(b"\n") - text.data.endswith(b"\n")
    try:
        table = csv.read_csv(
            pa.BufferReader(text.data),
            read_options=csv.ReadOptions(column_names=header, skip_rows=1, block_size=1 << 22),
            parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=csv.ConvertOptions(
                include_columns=list(types), column_types=types, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return _carefully(text, header)
    frame = table.unify_dictionaries().to_pandas(split_blocks=True)
    start, stop = frame["event_start_time"], frame["event_stop_time"]
    plausible = (stop >= start) & (start.abs() < _LARGEST) & (stop < _LARGEST) & frame["event_type"].isin((0, 1))
    plausible &= frame.notna().all(axis=1)
    if len(frame) != rows or not plausible.all() or frame.duplicated().any():
        return _carefully(text, header)
    return frame.assign(line=np.arange(2, rows + 2)), Rejections(text.path, np.empty(0, dtype=np.int64), str)


def _carefully(text: Text, header: list[str]) -> tuple[pd.DataFrame, Rejections]:
    first_line = text.data[: text.data.find(b"\n") % (len(text.data) + 1)]
    # the header is kept as an empty line, so that line numbers do not change
    table = read_delimited(Text(text.path, text.data[len(first_line) :]), "\t", header, quotes=False)
    rejections = table.rejections
    columns: dict[str, npt.NDArray[Any]] = {}
    for name in (*(k for k in _KEYS if k in header), "event_type", "event_start_time", "event_stop_time"):
        numbers = as_numbers(table[name])
        wrong = ~np.isfinite(numbers) | (np.abs(numbers) >= _LARGEST)
        rejections.reject(wrong, "not a number of a plausible size", name)
        columns[name] = np.where(wrong, -1, numbers).astype(np.int64)
    kind, start, stop = columns["event_type"], columns["event_start_time"], columns["event_stop_time"]
    rejections.reject(~np.isin(kind, (0, 1)), "event_type is neither 0 nor 1", "event_type")
    rejections.reject(stop < start, "ends before it starts", "event_stop_time")
    places = [table[name] for name in (*_KEYS, "node_name") if name in header]
    repeated = pd.DataFrame(dict(enumerate([*places, kind, start, stop]))).duplicated()
    rejections.reject(repeated.to_numpy(), "duplicate of an earlier row")
    names = pd.Categorical(table["node_name"], categories=list(dict.fromkeys(table["node_name"])))
    return pd.DataFrame({**columns, "node_name": names, "line": rejections.lines})[rejections.kept], rejections


def _small_table(folder: Path, name: str, notes: list[str]) -> pd.DataFrame | None:
    """A companion table; unusable rows are left out and counted in a note."""
    place = _companion(folder, name)
    if place is None:
        return None
    text = as_text(open_content(place))
    header = _header(text.data, place)
    body = text.data[text.data.find(b"\n") % (len(text.data) + 1) :]
    faults = {
        "it names no column": not header,
        "it has no row": not body.strip(),
        "two columns have one name": len(set(header)) < len(header),
    }
    for fault, there in faults.items():
        if there:
            notes.append(f"{place.name} is left out: {fault}")
            return None
    table = read_delimited(Text(place, body), "\t", header, quotes=False)
    frame = pd.DataFrame({column: table[column] for column in header}, dtype=object)
    for key in (*_KEYS, "trace_start", "trace_end"):
        if key in frame:
            frame[key] = as_numbers(table[key])
    keys = [key for key in ("platform_id", "node_id", "trace_start", "trace_end") if key in frame]
    usable = np.all([np.abs(frame[key]) < _LARGEST for key in keys], axis=0) if keys else np.ones(len(frame), bool)
    odd = table.rows_read - int(usable.sum())
    if odd:
        notes.append(f"{count(odd, 'row')} of {place.name} could not be used")
    return frame[usable]


def _stripped(names: pd.Series) -> pd.Categorical:
    """Names without blanks around them."""
    texts = [str(name).strip() for name in names.cat.categories]
    kinds: Any = pd.CategoricalDtype(list(dict.fromkeys(texts)))
    return pd.Categorical.from_codes(pd.Categorical(texts, dtype=kinds).codes[names.cat.codes], dtype=kinds)


def _assemble(
    table: pd.DataFrame,
    companions: dict[str, pd.DataFrame | None],
    content: Content,
    rejections: Rejections,
    timezone: str | None,
    notes: tuple[str, ...],
) -> FailureLog:
    start, stop = table["event_start_time"].to_numpy(), table["event_stop_time"].to_numpy()
    # a node is a platform and a node name; its number joins the other tables
    each = table.assign(node=_stripped(table["node_name"])).groupby(["platform_id", "node"], observed=True)
    node_code = each.ngroup().to_numpy()
    nodes = each.agg(
        node_id=("node_id", "first"), seen_start=("event_start_time", "min"), seen_end=("event_stop_time", "max")
    )
    nodes = nodes.reset_index().assign(declared=False)
    nodes["node"] = nodes["node"].astype(object)
    nodes, silent = _with_components(nodes, companions["component"], bool((table["event_type"] == 1).any()))
    attributes, zone = _attributes(nodes, companions["node"])
    systems = _system_names(nodes["platform_id"].to_numpy(), companions["platform"])

    down = np.flatnonzero(table["event_type"].to_numpy() == 0)
    owner = node_code[down]
    category = pd.CategoricalDtype(list(dict.fromkeys(nodes["node"])))
    names_of = pd.Categorical(nodes["node"], dtype=category)
    system_of = pd.Categorical(systems)
    began = start[down] <= nodes["entered"].to_numpy()[owner]
    ended = stop[down] >= nodes["left"].to_numpy()[owner]
    events = events_frame(
        system=pd.Series(pd.Categorical.from_codes(system_of.codes[owner], dtype=system_of.dtype)),
        node=pd.Series(pd.Categorical.from_codes(names_of.codes[owner], dtype=category)),
        start=since_1970(1_000_000_000 * start[down]),
        end=since_1970(1_000_000_000 * stop[down]),
        start_cut=began,
        end_cut=ended,
        line=table["line"].to_numpy()[down],
    )
    population = population_frame(
        system=systems,
        node=nodes["node"].to_numpy(),
        entered=since_1970(1_000_000_000 * nodes["entered"].to_numpy()),
        left=since_1970(1_000_000_000 * nodes["left"].to_numpy()),
        left_known=True,
        declared=nodes["declared"].to_numpy(),
        attributes=attributes,
    )
    window = Window(population["entered"].min(), population["left"].max(), True, True)
    available = len(table) - down.size
    rows = count(available, "row says", "rows say")
    said = [*notes, f"{rows} that a node was available; kept as its time under observation"]
    if silent:
        was, be = ("was", "is") if silent == 1 else ("were", "are")
        without = f"{count(silent, 'node')} of the component table without a row"
        said.append(f"{without} {was} never watched and {be} left out")
    cut = int((began | ended).sum())
    if cut:
        said.append(f"{count(cut, 'outage is', 'outages are')} cut off by the beginning or end of their node's trace")
    rows_read, zone = len(table) + len(rejections.frame()), check_zone(timezone, zone)
    source = source_of(content, _NAME, rows_read, len(table), zone, said)
    return FailureLog(events, population, window, rejections.frame(), source)


def _with_components(nodes: pd.DataFrame, components: pd.DataFrame | None, available: bool) -> tuple[pd.DataFrame, int]:
    """When each node was observed, from its rows, and how many nodes of the component table have none.

    Where no row says that a node was `available`, nodes are observed for as long as the component table declares.
    """
    nodes = nodes.assign(entered=nodes["seen_start"], left=nodes["seen_end"])
    if components is None or not {"trace_start", "trace_end", "node_id", "platform_id"} <= set(components.columns):
        return nodes, 0
    declared = components.groupby(["platform_id", "node_id"]).agg({"trace_start": "min", "trace_end": "max"})
    nodes = nodes.join(declared, on=["platform_id", "node_id"])
    nodes["declared"] = nodes["trace_start"].notna()
    if not available:
        nodes["entered"] = nodes[["trace_start", "seen_start"]].min(axis=1).astype(np.int64)
        nodes["left"] = nodes[["trace_end", "seen_end"]].max(axis=1).astype(np.int64)
    return nodes, len(declared) - int(nodes["declared"].sum())


def _attributes(nodes: pd.DataFrame, table: pd.DataFrame | None) -> tuple[dict[str, Any], str]:
    """Columns of the node table that are not empty, and the zone that all nodes share."""
    if table is None or not {"platform_id", "node_id"} <= set(table.columns):
        return {}, "UTC"
    joined = nodes[["platform_id", "node_id"]].merge(
        table.drop_duplicates(["platform_id", "node_id"]), on=["platform_id", "node_id"], how="left"
    )
    told: dict[str, Any] = {}
    for name in joined.columns:
        values = joined[name].where(~joined[name].astype(str).isin(["NULL", ""]))
        if name not in _NOT_ATTRIBUTES and values.notna().any():
            told[_RENAMED.get(name, name)] = values.to_numpy(dtype=object)
    zones = joined["timezone"].dropna().astype(str).tolist() if "timezone" in joined else []
    offsets = pd.Series(as_numbers(zones)).dropna().unique()
    if len(offsets) == 1 and offsets[0] % 3600 == 0 and abs(offsets[0]) <= 12 * 3600:
        return told, f"Etc/GMT{-int(offsets[0] // 3600):+d}" if offsets[0] else "UTC"
    return told, "UTC"


def _system_names(platform_id: IntArray, table: pd.DataFrame | None) -> ObjectArray:
    names: dict[int, str] = {}
    if table is not None and {"platform_id", "platform_name"} <= set(table.columns):
        numbers = table["platform_id"]
        names = {int(n): str(name) for n, name in zip(numbers, table["platform_name"], strict=True) if n == n and name}
    return np.array([names.get(int(p), f"platform {int(p)}") for p in platform_id], dtype=object)


READER = Reader(_NAME, _recognises, one_by_one(_read))
