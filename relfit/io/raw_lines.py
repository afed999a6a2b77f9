"""Lines of raw logs, block by block: the few that a pattern wants are found at the speed of a search through bytes."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.arrays import IntArray
from relfit.errors import ArgumentError
from relfit.parsing.opening import Content, encoding_of
from relfit.parsing.text_content import valid

__all__ = ["Block", "blocks_of_lines", "check_pattern", "texts"]

_BLOCK = 8 << 20
_PIECE = 1 << 16
_LONGEST = 1 << 20  # bytes of a line
_LARGEST_PATTERN = 100_000


@dataclass(frozen=True)
class Block:
    """Whole lines of one file.

    Attributes
    ----------
    data : bytes
        The lines, each with its end.
    first : int
        Number of the first, from 1.
    too_long : int
        Number of a line that was cut off here since it was longer than a million bytes; 0 for none.
    """

    data: bytes
    first: int
    too_long: int = 0

    @property
    def count(self) -> int:
        """Lines in the block."""
        return self.data.count(b"\n")

    def pieces(self, pattern: str) -> Iterator[tuple[int, IntArray]]:
        """Runs of lines of which one may match: number of the first line, and where each begins, and the last ends."""
        edges = [0]
        while edges[-1] < len(self.data):
            edges.append(self.data.find(b"\n", min(edges[-1] + _PIECE, len(self.data) - 1)) + 1)
        offsets = pa.py_buffer(np.array(edges, dtype=np.int64))
        runs = pa.Array.from_buffers(pa.large_binary(), len(edges) - 1, [None, offsets, pa.py_buffer(self.data)])
        hits = pc.match_substring_regex(runs, pattern=pattern).to_numpy(zero_copy_only=False)
        line, counted = self.first, 0
        for number in np.flatnonzero(hits).tolist():
            begin, end = edges[number], edges[number + 1]
            line += self.data.count(b"\n", counted, begin)
            ends = np.flatnonzero(np.frombuffer(self.data, np.uint8, end - begin, begin) == 10)
            yield line, np.concatenate([[begin], begin + ends + 1])
            line += ends.size
            counted = end

    def first_text(self) -> bytes:
        """The first line."""
        return self.data[: self.data.find(b"\n")]

    def last_text(self) -> bytes:
        """The last line."""
        return self.data[self.data.rfind(b"\n", 0, len(self.data) - 1) + 1 : -1]


def texts(data: bytes, edges: IntArray) -> pa.Array:
    """Lines between edges as text without their ends; bytes that are not UTF-8 are taken as Latin-1."""
    piece = data[edges[0] : edges[-1]]
    if not piece.isascii():
        lines = [valid(data[a : b - 1])[0].decode() for a, b in itertools.pairwise(edges.tolist())]
        array = pa.array(lines, pa.large_string())
    else:
        # the line end belongs to the text first, and is trimmed then
        offsets = pa.py_buffer(np.asarray(edges - edges[0], dtype=np.int64))
        array = pa.Array.from_buffers(pa.large_string(), edges.size - 1, [None, offsets, pa.py_buffer(piece)])
    return pc.utf8_rtrim(array, "\r\n")


def blocks_of_lines(content: Content) -> Iterator[Block]:
    """The lines of a file, in bounded memory; UTF-16 and UTF-32 become UTF-8, and a missing last line end is added.

    A line longer than a million bytes is left out, and the block behind it says so.
    """
    carry, line, skipping = b"", 1, 0
    for chunk in _gathered(_in_utf8(content)):
        if skipping:
            cut = chunk.find(b"\n")
            if cut < 0:
                continue
            chunk = chunk[cut + 1 :]
            line += 1
        data = carry + chunk
        cut = data.rfind(b"\n") + 1
        whole, carry = data[:cut], data[cut:]
        if len(carry) > _LONGEST:
            carry, too_long = b"", line + whole.count(b"\n")
        else:
            too_long = 0
        if whole or skipping:
            yield Block(whole, line, skipping)
        line += whole.count(b"\n")
        skipping = too_long
    if carry or skipping:
        yield Block(carry + b"\n" if carry else b"", line, skipping)


def _gathered(chunks: Iterator[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= _BLOCK:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


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
    """The pattern, if RE2 knows it: its time grows with the text only, whatever the pattern and the text.

    Raises
    ------
    ArgumentError
        For a pattern that looks ahead or back, is too large, or is none.

    Examples
    --------
    >>> check_pattern("(a+)+b")
    '(a+)+b'
    """
    try:
        if len(pattern) > _LARGEST_PATTERN:
            raise ArgumentError("a pattern has more than 100 000 characters", remedy="make rules of its parts")
        pc.match_substring_regex(pa.array([""]), pattern=pattern)
    except (pa.ArrowException, TypeError) as error:
        raise ArgumentError(
            f"pattern {str(pattern)[:80]!r} is not known ({str(error)[:120]})",
            remedy="use the syntax of RE2, without looking ahead or back",
        ) from None
    return pattern
