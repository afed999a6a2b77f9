"""Delimited text as a table, by the rules of CSV: parsed by Arrow, and line by line where quotes span lines."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from relfit.base.arrays import BoolArray, IntArray
from relfit.io.parsing.rows import NoRowsError, Rejections, TextTable
from relfit.io.parsing.text_content import Text

_LONGEST = 1_000_000
_BLOCK = 1 << 22
_MOST_LINES = 1000  # lines of one row with quoted line breaks
_SAMPLE = 20_000
_WHITE = np.frombuffer(b" \t\n\r\v\f", np.uint8)
_TORN = "a quote that is not closed, or text behind a closing one"
_FEW_KINDS = 0.3  # share of distinct texts up to which a column is dictionary-encoded


def read_csv(text: Text, needed: Sequence[str], what: str) -> TextTable:
    """A table separated by commas, with the columns that `what` needs (else a `ReadError`) and no row twice."""
    table = read_delimited(text, ",")
    table.require(needed, what)
    table.reject_duplicates()
    return table


def read_delimited(
    text: Text,
    delimiter: str,
    header: Sequence[str] | None = None,
    quotes: bool = True,
    only: Sequence[str] | None = None,
) -> TextTable:
    """Split text into rows and fields, or `only` some columns, named by `header` or the first line; no blank lines.
    Rows of other lengths and quotes that never close are rejected; a `ReadError` for a header alone or equal names.
    """
    ends = _line_ends(text)
    quoted = quotes and b'"' in text.data
    apart, odd, removed = _odd_quotes(text, ends, delimiter) if quoted else ([], [], np.empty(0, dtype=np.int64))

    def line_at(i: int) -> bytes:
        return text.data[ends[i - 1] + 1 if i else 0 : ends[i]]

    passed = _blank(text, ends, delimiter)
    passed[removed] = True
    first = int(passed.argmin())
    nameless: set[str] = set()
    if header is None:
        if apart and (passed[first] or apart[0][0] <= first):  # a column name over several lines
            fields = [" ".join(name.split()) for name in apart.pop(0)[1]]
        elif passed[first]:
            raise text.error("the file holds no table", "check how it was written")
        else:
            quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
            csv.field_size_limit(10 * _LONGEST)
            fields = next(csv.reader([line_at(first).decode()], delimiter=delimiter, quoting=quoting))
            passed[first] = True
        header = _names(text, fields)
        nameless = set(header) - {name.strip() for name in fields}
    width = len(header)
    odd += [(line, _ragged(len(row), width)) for line, row in apart if len(row) != width]
    apart = [(line, row) for line, row in apart if len(row) == width]
    numbers = np.flatnonzero(~passed)
    if not numbers.size and not apart and not odd:
        raise NoRowsError(
            "there is a header but no row", path=text.path, line=1, remedy="check how the file was written"
        )
    wanted = [i for i, name in enumerate(header) if only is None or name in only] or [0]
    table, ragged = _parsed(_rows(text.data, ends, numbers), width, wanted, delimiter, quoted, text)
    if table.num_rows + len(ragged) != numbers.size:  # Arrow joins lines where text follows a closing quote
        torn = np.array([_one_row([line_at(i).decode()], delimiter) is None for i in numbers.tolist()])
        odd += [(line, _TORN) for line in (numbers[torn] + 1).tolist()]
        numbers = numbers[~torn]
        table, ragged = _parsed(_rows(text.data, ends, numbers), width, wanted, delimiter, quoted, text)
    numbers += 1
    if ragged:
        bad = np.array([number for number, _ in ragged], dtype=np.int64)
        bad_lines = numbers[bad]
        numbers = np.delete(numbers, bad)
        odd += [(int(line), _ragged(there, width)) for line, (_, there) in zip(bad_lines, ragged, strict=True)]
    if apart:
        table, numbers = _with_rows(table, numbers, [(line, [row[i] for i in wanted]) for line, row in apart])

    def text_of(line: int) -> str:
        return line_at(line - 1).decode()

    rejections = Rejections(text.path, numbers, lambda row: text_of(int(numbers[row])))
    for line, reason in odd:
        rejections.reject_line(line, reason, text_of(line))
    names = tuple(header[i] for i in wanted)
    columns = {
        name: column
        for name, column in zip(names, table.columns, strict=True)
        if name not in nameless or column.null_count < len(column)  # all lines may end in a delimiter
    }
    return TextTable(tuple(columns), columns, rejections, numbers.size + len(odd))


def _ragged(fields: int, width: int) -> str:
    return f"{fields} fields where the header has {width}"


def _line_ends(text: Text) -> IntArray:
    """Position of the end of each line."""
    small = np.int32 if len(text.data) < 2**31 else np.int64
    signs = np.frombuffer(text.data, np.uint8)
    parts = [
        (np.flatnonzero(signs[at : at + _BLOCK] == 10) + at).astype(small) for at in range(0, len(text.data), _BLOCK)
    ]
    if not text.data.endswith(b"\n"):
        parts.append(np.array([len(text.data)], small))
    ends: IntArray = np.concatenate(parts)
    long = np.flatnonzero(np.diff(ends, prepend=-1) > _LONGEST)
    if long.size:
        raise text.error(
            "a field is longer than a million characters", "check that this is a table", line=int(long[0]) + 1
        )
    return ends


def _blank(text: Text, ends: IntArray, delimiter: str) -> BoolArray:
    """Which lines are empty or blank."""
    sizes = np.diff(ends, prepend=-1) - 1
    blank: BoolArray = sizes == 0
    last = np.frombuffer(text.data, np.uint8)[np.maximum(ends - 1, 0)] if text.data else np.zeros(1, np.uint8)
    for i in np.flatnonzero((sizes > 0) & (sizes <= 64) & np.isin(last, _WHITE)).tolist():
        line = text.data[ends[i] - sizes[i] : ends[i]]
        # with tabs as delimiters, a line of tabs is a row of empty fields
        blank[i] = not line.strip() and not (delimiter == "\t" and b"\t" in line)
    return blank


def _rows(data: bytes, ends: IntArray, lines: IntArray) -> pa.Buffer:
    """The bytes of some lines, without a copy where they are consecutive."""
    if not lines.size:
        return pa.py_buffer(b"")
    breaks = np.flatnonzero(np.diff(lines) != 1)
    first, last = lines[np.append(0, breaks + 1)], lines[np.append(breaks, lines.size - 1)]
    begins = np.where(first > 0, ends[first - 1] + 1, 0)
    if first.size == 1:
        begin = int(begins[0])
        return pa.py_buffer(data).slice(begin, min(int(ends[last[0]]) + 1, len(data)) - begin)
    return pa.py_buffer(b"".join(data[b : e + 1] for b, e in zip(begins.tolist(), ends[last].tolist(), strict=True)))


def _names(text: Text, fields: Sequence[str]) -> tuple[str, ...]:
    header = tuple(name.strip() for name in fields)
    repeated = pd.Series(header, dtype=object)
    repeated = repeated[repeated.duplicated() & (repeated != "")]
    if len(repeated):
        name = str(repeated.iloc[0])[:40]
        raise text.error(f"two columns are called {name!r}", "give each its own name", line=1)
    names, taken = list(header), set(header)
    for i in [i for i, name in enumerate(header) if not name and i > 0]:  # the first column may hold row numbers
        names[i] = next(name for k in count(1) if (name := f"column {i + 1}" + f" ({k})" * (k > 1)) not in taken)
        taken.add(names[i])
    return tuple(names)


def _odd_quotes(
    text: Text, ends: IntArray, delimiter: str
) -> tuple[list[tuple[int, list[str]]], list[tuple[int, str]], IntArray]:
    """Rows with line ends in quotes, lines with a quote that never closes, and the lines that are either."""
    data = text.data
    places = np.flatnonzero(np.frombuffer(data, np.uint8) == 34)
    parity = np.bincount(np.searchsorted(ends, places), minlength=ends.size) % 2
    odd_lines = np.flatnonzero(parity)
    rows: list[tuple[int, list[str]]] = []
    unclosed: list[tuple[int, str]] = []
    removed: list[IntArray] = []
    if not odd_lines.size:
        return rows, unclosed, np.empty(0, dtype=np.int64)
    starts = np.concatenate([[0], ends[:-1] + 1])
    first = next((i for i in range(ends.size) if data[starts[i] : ends[i]].strip()), 0)
    width: int | None = None  # fields in the header, which may itself span several lines
    if first != odd_lines[0]:
        width = len(next(csv.reader([data[starts[first] : ends[first]].decode()], delimiter=delimiter)))
    i = 0
    while i < odd_lines.size:
        line, row = int(odd_lines[i]), None
        if i + 1 < odd_lines.size and odd_lines[i + 1] - line < _MOST_LINES:
            last = int(odd_lines[i + 1])
            row = _one_row(data[starts[line] : ends[last]].decode().splitlines(keepends=True), delimiter, width)
        if row is not None:
            width = len(row)
            rows.append((line + 1, row))
            removed.append(np.arange(line, last + 1))
            i += 2
        else:
            unclosed.append((line + 1, _TORN))
            removed.append(np.array([line]))
            i += 1
    return rows, unclosed, np.concatenate(removed)


def _one_row(lines: list[str], delimiter: str, width: int | None = None) -> list[str] | None:
    """The fields of lines that are one row, of this many fields; None where they are not."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 and width in (None, len(rows[0])) else None


def _parsed(
    body: pa.Buffer, width: int, wanted: list[int], delimiter: str, quoted: bool, text: Text
) -> tuple[pa.Table, list[tuple[int, int]]]:
    """The columns as text, and the rows without the right number of fields: their index and how many they have."""
    names = [f"f{i}" for i in range(width)]
    chosen = [names[i] for i in wanted]
    ragged: list[tuple[int, int]] = []

    def passed_over(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.number - 1, row.actual_columns))
        return "skip"

    if not body.size:
        return pa.table({name: pa.chunked_array([], pa.string()) for name in chosen}), []
    parsing = arrow_csv.ParseOptions(
        delimiter=delimiter,
        quote_char='"' if quoted else False,
        invalid_row_handler=passed_over,
        ignore_empty_lines=len(names) > 1,
    )
    few = _few_kinds(body, names, chosen, parsing)
    ragged.clear()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(body),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK, use_threads=False),
            parse_options=parsing,
            convert_options=arrow_csv.ConvertOptions(
                column_types={n: pa.dictionary(pa.int32(), pa.string()) if n in few else pa.string() for n in chosen},
                include_columns=chosen,
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, pa.ArrowInvalid) as error:
        raise text.error(f"this is not a table ({error})", "check how it was written") from None
    return pa.table([_trimmed(column) for column in table.columns], names=chosen), ragged


def _few_kinds(body: pa.Buffer, names: list[str], chosen: list[str], parsing: arrow_csv.ParseOptions) -> set[str]:
    """Columns of few distinct texts, by the first rows."""
    head, texts = body.slice(0, min(body.size, _SAMPLE * 50)).to_pybytes(), dict.fromkeys(names, pa.string())
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(head[: head.rfind(b"\n") + 1] or head),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=1 << 24),
            parse_options=parsing,
            convert_options=arrow_csv.ConvertOptions(include_columns=chosen, column_types=texts),
        )
    except pa.ArrowException:
        return set()
    rows = table.num_rows
    return {n for n in chosen if rows and pc.count_distinct(table[n]).as_py() <= max(2, _FEW_KINDS * rows)}


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without blanks around them; null where nothing is left."""
    if pa.types.is_dictionary(column.type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, pc.utf8_trim_whitespace(chunk.dictionary))
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, column.type)
    if not pc.any(pc.match_substring_regex(column, pattern=r"^\s|\s$")).as_py():
        return column
    trimmed = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def _with_rows(table: pa.Table, numbers: IntArray, apart: list[tuple[int, list[str]]]) -> tuple[pa.Table, IntArray]:
    """The table with further rows, in the order of their lines."""
    fields = list(zip(*(row for _, row in apart), strict=True))
    further = [pa.array([value.strip() or None for value in values], pa.string()) for values in fields]
    plain = [pa.chunked_array([pc.cast(chunk, pa.string()) for chunk in c.chunks], pa.string()) for c in table.columns]
    joined = [pa.chunked_array([*c.chunks, more]) for c, more in zip(plain, further, strict=True)]
    numbers = np.concatenate([numbers, np.array([line for line, _ in apart], dtype=np.int64)])
    order = np.argsort(numbers, kind="stable")
    return pa.table(joined, names=table.column_names).take(pa.array(order)), numbers[order]
