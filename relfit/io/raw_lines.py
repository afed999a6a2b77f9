"""Lines of raw logs, block by block, with a fast search for those that match a pattern, and these as a table."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.text import count, out_of
from relfit.io.parsing.opening import Content, encoding_of
from relfit.io.parsing.rows import NoRowsError, Rejections, TextTable
from relfit.io.parsing.text_content import valid

_BLOCK = 8 << 20
_SAMPLED = 1 << 16  # bytes between two lines whose times are looked at
_LONGEST = 1 << 20  # bytes per line
_LARGEST_PATTERN = 100_000


@dataclass(frozen=True)
class LineBlock:
    """Complete lines of one file, each with its end; ``first`` is the number of the first, from 1.

    ``too_long`` is the number of a line before this block that was left out, longer than a million bytes; 0 for none.
    """

    data: memoryview
    first: int
    too_long: int = 0

    @cached_property
    def begins(self) -> IntArray:
        """Where each line begins."""
        return np.concatenate([[0], np.flatnonzero(self.octets == 10) + 1])[:-1]

    @cached_property
    def octets(self) -> npt.NDArray[np.uint8]:
        """The bytes as numbers."""
        return np.frombuffer(self.data, np.uint8)

    @cached_property
    def _lines(self) -> pa.Array:
        offsets = pa.py_buffer(np.append(self.begins, len(self.data)))
        return pa.Array.from_buffers(pa.large_binary(), self.count, [None, offsets, pa.py_buffer(self.data)])

    @property
    def count(self) -> int:
        """Lines in the block."""
        return int(self.begins.size)

    def matching(self, pattern: str) -> IntArray:
        """Which lines match, counted from 0; ``$`` is the end of a line."""
        hits = pc.match_substring_regex(self._lines, pattern=f"(?m:{pattern})")
        return np.flatnonzero(hits.to_numpy(zero_copy_only=False))

    def sample(self) -> IntArray:
        """The first line, the last, and one in every 64 kB between them."""
        if not self.count:
            return np.empty(0, dtype=np.int64)
        inner = np.searchsorted(self.begins, np.arange(_SAMPLED, len(self.data), _SAMPLED))
        return np.unique(np.concatenate([[0], np.minimum(inner, self.count - 1), [self.count - 1]]))

    def texts(self, rows: IntArray) -> pa.Array:
        """Lines as text without their ends; bytes that are not UTF-8 are taken as Latin-1."""
        lines = self._lines.take(pa.array(rows))
        try:
            lines = lines.cast(pa.large_string())
        except pa.ArrowInvalid:
            lines = pa.array([valid(line)[0].decode() for line in lines.to_pylist()], pa.large_string())
        return pc.ascii_rtrim(lines, "\r\n")


def blocks_of_lines(content: Content) -> Iterator[LineBlock]:
    """The lines of a file as UTF-8, in bounded memory, each with its end; without those longer than a million bytes."""
    carry, line, skipping = b"", 1, 0
    chunks = _in_utf8(content)
    while parts := _gathered(chunks):
        if skipping:
            parts = [b"".join(parts)]
            cut = parts[0].find(b"\n")
            if cut < 0:
                continue
            parts = [parts[0][cut + 1 :]]
            line += 1
        data = b"".join([carry, *parts])
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        cut = data.rfind(b"\n") + 1
        block, carry = LineBlock(memoryview(data)[:cut], line, skipping), data[cut:]
        if block.data or skipping:
            yield block
        line += block.count
        skipping = 0
        if len(carry) > _LONGEST:
            carry, skipping = b"", line
    if carry or skipping:
        yield LineBlock(memoryview(carry + b"\n" if carry else b""), line, skipping)


def _gathered(chunks: Iterator[bytes]) -> list[bytes]:
    """The next chunks, of eight million bytes together or all that are left."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= _BLOCK:
            break
    return parts


def _in_utf8(content: Content) -> Iterator[bytes]:
    encoding = encoding_of(content.head)
    if encoding is None:
        yield from content.blocks()
        return
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)(errors="replace")
    for block in content.blocks():
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def check_pattern(pattern: str) -> str:
    """The pattern, if RE2 accepts it (its time is linear in the text); else an `ArgumentError`."""
    try:
        if len(pattern) > _LARGEST_PATTERN:
            raise ArgumentError("a pattern has more than 100 000 characters", remedy="make rules of its parts")
        pc.match_substring_regex(pa.array([""]), pattern=pattern)
    except (pa.ArrowException, TypeError) as error:
        raise ArgumentError(
            f"pattern {str(pattern)[:80]!r} is not known ({str(error)[:120]})",
            remedy="use the syntax of RE2, without lookahead or lookbehind",
        ) from None
    return pattern


def rows_of_lines(content: Content, pattern: str) -> TextTable:
    """The lines that match a pattern (RE2, anywhere in a line), a column per named group; a `NoRowsError` if none."""
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
        raise NoRowsError(
            f"none of {count(read, 'line')} matches the pattern {pattern[:80]!r}",
            path=content.path,
            remedy=Remedy("correct pattern", "correct --column pattern=..."),
        )
    columns = {name: pa.chunked_array([pc.struct_field(part, name) for part in groups]) for name in names}

    def text_of(row: int) -> str:
        return " ".join(str(values[row]) for values in columns.values())[:200]

    said = f"{out_of(lines.size, read, 'line', 'matches', 'match')} the pattern; the others say nothing"
    return TextTable(tuple(names), columns, Rejections(content.path, lines, text_of), lines.size, (said,))
