"""Rows of a table in delimited text, JSON, Parquet or a DataFrame; typed columns stay typed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from relfit.base.arrays import IntArray
from relfit.base.errors import ReadError, Remedy
from relfit.io.parsing.delimited import read_delimited
from relfit.io.parsing.opening import MAX_SIZE, Content
from relfit.io.parsing.rows import NoRowsError, Rejections, TextTable, cell_text
from relfit.io.parsing.text_content import Text, as_text

_BYTES_A_ROW = 100
_ARRAY = re.compile(r"""\s*\[\s*(?:[{\["\]]|[-\d.]+\s*,|$)""")  # a JSON array
_STAMP = re.compile(r"\s*\[(?:\w{3} \w{3} |\d)")  # a time stamp in brackets
_NO_TABLE = Remedy(
    "give a table with names of columns in its first line; of lines of text say what is what: "
    r"pattern=r'(?P<start>\S+ \S+) (?P<node>\S+) (?P<cause>.*)'",
    "give a table with names of columns in its first line; of lines of text say what is what: "
    r"--column pattern='(?P<start>\S+ \S+) (?P<node>\S+) (?P<cause>.*)'",
)


def rows_of(content: Content, single: Sequence[str] = ()) -> TextTable:
    """The rows of a table; its notes say how they were read. `single` are names that a table of one column may have."""
    if content.frame is not None:
        return rows_of_frame(content.frame, content.path)
    if content.head.startswith(b"PAR1"):
        return _parquet(content)
    text = as_text(content)
    _check_rows(text.data.count(b"\n"), len(text.data), content)
    line = content.first_line()
    if line.lstrip().startswith("{"):
        return _json_lines(text)
    if _ARRAY.match(line):
        return _json_array(text)
    delimiter = content.separator or max("\t;,|", key=line.count)
    if line.count(delimiter) == 0 or _STAMP.match(line):
        if line.strip().strip('"').lower() not in single:
            raise content.error("the first line is not the header of a table", _NO_TABLE, line=1)
        delimiter = ","
    return replace(read_delimited(text, delimiter), notes=text.notes)


def _check_rows(rows: int, size: int, content: Content) -> None:
    """Reject a table that is too large for the limit."""
    limit = MAX_SIZE if content.max_size is None else content.max_size
    if max(size, rows * _BYTES_A_ROW) > limit:
        raise content.error(
            f"the table has {rows:,} rows, too many for the limit of {limit / 1e9:.3g} GB",
            Remedy("raise it with max_size", "raise it with --max-size 32GB"),
        )


def rows_of_frame(frame: pd.DataFrame, path: Path) -> TextTable:
    """The rows of a DataFrame; an index with a name is a column."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    _one_name_each([str(name) for name in frame.columns], path)
    columns = {str(name): _arrow(frame[name]) for name in frame.columns}
    return _numbered(columns, path, np.arange(1, len(frame) + 1), ())


def _arrow(series: pd.Series) -> pa.ChunkedArray:
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) in ("datetime", "mixed"):
        naive = {value.tzinfo is None for value in series if isinstance(value, datetime) and not pd.isna(value)}
        if len(naive) > 1:  # Arrow would take those without a zone as UTC
            series = series.map(str, na_action="ignore")
    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = pa.array([None if value is None else _printable(str(value)) for value in series], pa.large_string())
    return _plain(pa.chunked_array([array]) if isinstance(array, pa.Array) else array)


def _numbered(
    columns: dict[str, pa.ChunkedArray], path: Path, lines: IntArray, notes: tuple[str, ...], read: int = 0
) -> TextTable:
    if not lines.size:
        raise NoRowsError("there is a header but no row", path=path, line=1, remedy="check how the file was written")

    def text_of(row: int) -> str:
        return ",".join(cell_text(value[row])[:200] for value in columns.values())

    return TextTable(tuple(columns), columns, Rejections(path, lines, text_of), read or lines.size, notes)


def _one_name_each(names: list[str], path: Path) -> None:
    twice = pd.Series(names, dtype=object)
    twice = twice[twice.duplicated()]
    if len(twice):
        raise ReadError(f"two columns are called {twice.iloc[0]!r}", path=path, line=1, remedy="give each its own name")


def _parquet(content: Content) -> TextTable:
    try:
        about = parquet.read_metadata(content.seekable())
        size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        _check_rows(about.num_rows, size, content)
        schema = about.schema.to_arrow_schema()
        _one_name_each(schema.names, content.path)
        texts = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        file = parquet.ParquetFile(
            content.seekable(), read_dictionary=texts, page_checksum_verification=True, pre_buffer=False
        )
        table = file.read(use_threads=False)
        table.validate(full=True)
        columns = {name: _plain(table[name]) for name in table.column_names}
        for name, column in columns.items():
            _check_zone(name, column.type, content)
    except ReadError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, UnicodeError, MemoryError):
        raise content.error("the Parquet file is damaged", "write it again") from None
    return _numbered(columns, content.path, np.arange(1, table.num_rows + 1), ("line numbers count rows",))


def _check_zone(name: str, kind: pa.DataType, content: Content) -> None:
    """Reject times in an unknown zone."""
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return
    try:
        pa.lib.string_to_tzinfo(kind.tz)
    except Exception as error:  # the time zone library may raise anything
        what = f"column {name!r} is in the time zone {kind.tz!r}, which is not known"
        raise content.error(what, "write it in UTC") from error


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text, numbers, flags, times or durations as it is; any other as text."""
    kind = column.type
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(inner) or pa.types.is_large_string(inner):
        return column.unify_dictionaries() if pa.types.is_dictionary(kind) else column
    if pa.types.is_dictionary(kind):
        return _plain(pa.chunked_array([pc.take(c.dictionary, c.indices) for c in column.chunks], inner))
    kinds = (
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean),
        *(pa.types.is_timestamp, pa.types.is_date, pa.types.is_duration),
    )
    if any(is_kind(kind) for is_kind in kinds):
        return column
    values = [
        None if v is None else _printable(v.decode("latin-1") if isinstance(v, bytes) else str(v))
        for v in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(values, pa.large_string())])


def _json_lines(text: Text) -> TextTable:
    rows: list[tuple[int, object, str]] = []
    for number, line in enumerate(text.data.decode().split("\n"), 1):
        if line.strip():
            try:
                rows.append((number, json.loads(line), line))
            except (ValueError, RecursionError):
                rows.append((number, None, line))
    if any(isinstance(value, dict) for _, value, _ in rows):
        return _of_objects(rows, text, text.notes)
    if len(rows) > 1:  # one value over many lines
        return _json_array(text)
    raise text.error("no line is a JSON object", "write one object per line", line=1)


def _json_array(text: Text) -> TextTable:
    try:
        values = json.loads(text.data)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise text.error("this is not JSON", "check how it was written", line=line) from None
    if isinstance(values, dict):  # one list in a wrapping object
        lists = [value for value in values.values() if isinstance(value, list)]
        values = lists[0] if len(lists) == 1 else [values]
    rows = [(i, value, "" if isinstance(value, dict) else str(value)[:200]) for i, value in enumerate(values, 1)]
    if not any(isinstance(value, dict) for _, value, _ in rows):
        raise text.error("there is no list of JSON objects", "write [{...}, {...}]")
    return _of_objects(rows, text, (*text.notes, "line numbers count the elements of the JSON array"))


def _of_objects(rows: list[tuple[int, object, str]], text: Text, notes: tuple[str, ...]) -> TextTable:
    """The table of those values (each with its line and text) that are objects; the others are rejected."""
    objects = [(line, value) for line, value, _ in rows if isinstance(value, dict)]
    lines = np.array([line for line, _ in objects], dtype=np.int64)
    table = _numbered(_columns([value for _, value in objects]), text.path, lines, notes, len(rows))
    for line, value, shown in rows:
        if not isinstance(value, dict):
            table.rejections.reject_line(line, "not a JSON object", shown)
    return table


def _columns(objects: Sequence[Mapping[str, object]]) -> dict[str, pa.ChunkedArray]:
    names = dict.fromkeys(name for each in objects for name in each)
    columns = {}
    for name in names:
        values = [each.get(name) for each in objects]
        columns[_printable(name)] = pa.chunked_array([_of_values(values)])
    return columns


def _of_values(values: list[object]) -> pa.Array:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int, float} or kinds == {bool}:
        try:
            return pa.array(values, pa.bool_() if bool in kinds else pa.float64() if float in kinds else pa.int64())
        except (pa.ArrowException, OverflowError):
            pass
    return pa.array([None if value is None else _in_text(value) for value in values], pa.large_string())


def _in_text(value: object) -> str | None:
    if isinstance(value, str):
        return _printable(value.strip()) or None
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return _printable(json.dumps(value, ensure_ascii=False)) if isinstance(value, (dict, list)) else str(value)
    except (ValueError, RecursionError):
        return None


def _printable(value: str) -> str:
    return value.encode("utf-8", "replace").decode()  # half a surrogate pair is not a character
