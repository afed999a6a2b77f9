"""Lines of any text as the rows of a table: the named groups of a regular expression are the columns."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.errors import ArgumentError, Remedy
from relfit.base.text import count
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import NoRowsError, Rejections, TextTable
from relfit.io.raw_lines import blocks_of_lines, check_pattern


class NoMatchError(NoRowsError):
    """A file none of whose lines matches a pattern."""


def rows_of_lines(content: Content, pattern: str) -> TextTable:
    r"""The lines that match, one column per named group.

    The pattern is RE2, matched anywhere in a line, as ``^(?P<start>\S+ \S+) (?P<node>\S+) (?P<cause>.*)``. An
    `ArgumentError` when it is invalid, or names no group; a `NoMatchError` when no line matches.
    """
    names = re.findall(r"\(\?P<(\w+)>", check_pattern(pattern))
    if not names:
        raise ArgumentError(
            f"pattern {pattern[:80]!r} has no named group",
            remedy=r"write groups such as (?P<start>\S+ \S+) (?P<node>\S+) around the parts of a line",
        )
    groups, numbers, read = [], [], 0
    for block in blocks_of_lines(content):
        rows = block.matching(pattern)
        read += block.count
        parts = pc.extract_regex(block.texts(rows), pattern=f"(?:{pattern})")
        there = pc.is_valid(parts)  # null where the pattern matches only with the end of the line
        groups.append(parts.filter(there))
        numbers.append(block.first + rows[there.to_numpy(zero_copy_only=False)])
    lines = np.concatenate(numbers) if numbers else np.empty(0, dtype=np.int64)
    if not lines.size:
        raise NoMatchError(
            f"none of {count(read, 'line')} matches the pattern {pattern[:80]!r}",
            path=content.path,
            remedy=Remedy("correct pattern", "correct --column pattern=..."),
        )
    columns = {name: pa.chunked_array([pc.struct_field(part, name) for part in groups]) for name in names}

    def text_of(row: int) -> str:
        return " ".join(str(values[row]) for values in columns.values())[:200]

    said = f"{count(lines.size, 'line')} of {read:,} match the pattern; the others say nothing"
    return TextTable(tuple(names), columns, Rejections(content.path, lines, text_of), lines.size, (said,))
