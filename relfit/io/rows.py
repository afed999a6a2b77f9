"""Rows of a text table with their true line numbers, and the record of those that are rejected and why."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arrays import BoolArray
from relfit.errors import ReadError
from relfit.io.opening import Text
from relfit.tables import REJECTED_COLUMNS

__all__ = ["Rejections", "TextTable", "read_csv", "read_text_table"]

_LONGEST_FIELD = 1_000_000
_SHOWN = 200
_MOST_UNCLOSED = 100


@dataclass
class Rejections:
    """Which rows of one file are rejected, in which column, and why; the first reason of a row stands.

    Parameters
    ----------
    path : Path
    lines : ndarray of int, shape (rows,)
        Line of each row in the file, from 1.
    texts : sequence of str
        What each row says, to show it.
    """

    path: Path
    lines: npt.NDArray[np.int64]
    texts: list[str]
    extra: list[tuple[int, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reason = np.full(self.lines.size, "", dtype=object)
        self._column = np.full(self.lines.size, "", dtype=object)

    def reject(self, rows: npt.ArrayLike, reason: str | npt.NDArray[np.object_], column: str = "") -> None:
        """Reject the rows where `rows` is true, unless they are already; `reason` is one text or one a row."""
        hit = np.asarray(rows, dtype=bool) & (self._reason == "")
        self._reason[hit] = reason if isinstance(reason, str) else reason[hit]
        self._column[hit] = column

    def reject_line(self, line: int, reason: str, text: str) -> None:
        """Reject a line that never became a row."""
        self.extra.append((line, "", reason, text))

    @property
    def kept(self) -> BoolArray:
        """Rows that stand."""
        return np.asarray(self._reason == "", dtype=np.bool_)

    def part(self, keep: BoolArray) -> Rejections:
        """What is rejected of a part of the rows, and the lines that never became one."""
        texts = [text for text, stays in zip(self.texts, keep.tolist(), strict=True) if stays]
        part = Rejections(self.path, self.lines[keep], texts, self.extra)
        part._reason, part._column = self._reason[keep], self._column[keep]
        return part

    def frame(self) -> pd.DataFrame:
        """The rejected rows, in the order of the file."""
        rows = np.flatnonzero(self._reason != "")
        found = [(int(self.lines[i]), self._column[i], self._reason[i], self.texts[i]) for i in rows]
        found = sorted([*found, *self.extra], key=lambda item: item[0])
        table = pd.DataFrame(
            {
                "file": pd.Series([str(self.path)] * len(found), dtype=object),
                "line": pd.Series([item[0] for item in found], dtype="int64"),
                "column": pd.Series([item[1] for item in found], dtype=object),
                "reason": pd.Series([item[2] for item in found], dtype=object),
                "text": pd.Series([item[3][:_SHOWN] for item in found], dtype=object),
            }
        )
        return table[list(REJECTED_COLUMNS)]

    def settle(self, strict: bool) -> BoolArray:
        """The rows that stand.

        Raises
        ------
        ReadError
            When none does or, for strict reading, when any row was rejected.
        """
        if strict:
            self.raise_first()
        kept = self.kept
        if not kept.any():
            reasons = self.frame()["reason"]
            raise ReadError(
                "every row was rejected", path=self.path, remedy=str(reasons.iloc[0]) if len(reasons) else None
            )
        return kept

    def raise_first(self) -> None:
        """Turn the first rejected row into an error: strict reading.

        Raises
        ------
        ReadError
            When any row was rejected.
        """
        table = self.frame()
        if len(table):
            first = table.iloc[0]
            raise ReadError(
                str(first["reason"]),
                path=self.path,
                line=int(first["line"]),
                column=str(first["column"]) or None,
                remedy="correct the row, or read without strict to have it set apart",
            )


@dataclass(frozen=True)
class TextTable:
    """Columns of text, by name, one entry per row; rejections know the line of each."""

    header: tuple[str, ...]
    columns: dict[str, npt.NDArray[np.object_]]
    rejections: Rejections
    rows_read: int

    def __getitem__(self, name: str) -> npt.NDArray[np.object_]:
        return self.columns[name]

    def require(self, names: Sequence[str], what: str) -> None:
        """Check that columns are there.

        Raises
        ------
        ReadError
            When one is not: then this is not `what`.
        """
        missing = [name for name in names if name not in self.columns]
        if missing:
            path = self.rejections.path
            raise ReadError(
                f"no column {missing[0]!r}", path=path, line=1, remedy=f"this is not {what}; leave out format"
            )

    def reject_duplicates(self) -> None:
        """Reject rows that repeat an earlier one in every field."""
        frame = pd.DataFrame(dict(enumerate(self.columns.values())))
        if frame.empty:
            return
        group = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()
        _, first = np.unique(group, return_index=True)
        self.rejections.reject(first[group] != np.arange(group.size), "duplicate of an earlier row")


def read_csv(text: Text, needed: Sequence[str], what: str) -> TextTable:
    """A table of fields between commas, with the columns that `what` needs; repeated rows are rejected.

    Raises
    ------
    ReadError
        For a missing column, and as `read_text_table`.
    """
    table = read_text_table(text, ",")
    table.require(needed, what)
    table.reject_duplicates()
    return table


def read_text_table(text: Text, delimiter: str) -> TextTable:
    """Split text into rows and fields, by the rules of CSV.

    Rows with too many or too few fields are rejected; blank lines are passed over.

    Raises
    ------
    ReadError
        When there is a header and nothing else, a field is too long, or quotes do not close.
    """
    rows, starts, unclosed = _split(text, delimiter)
    filled = [i for i, row in enumerate(rows) if len(row) > 1 or (row and row[0].strip())]
    if not filled:
        raise ReadError("the file holds no table", path=text.path, remedy="check how it was written")
    header = tuple(name.strip() for name in rows[filled[0]])
    body = filled[1:]
    if not body and not unclosed:
        raise ReadError("there is a header but no row", path=text.path, line=1, remedy="check how the file was written")
    repeated = [name for name in header if header.count(name) > 1]
    if repeated:
        raise ReadError(
            f"two columns are called {repeated[0]!r}", path=text.path, line=1, remedy="give each column its own name"
        )
    width = len(header)
    good = [i for i in body if len(rows[i]) == width]
    odd = [i for i in body if len(rows[i]) != width]
    lines = starts[good]
    rejections = Rejections(text.path, lines, [delimiter.join(rows[i]) for i in good])
    for i in odd:
        reason = f"{len(rows[i])} fields where the header has {width}"
        rejections.reject_line(int(starts[i]), reason, delimiter.join(rows[i]))
    for line, row in unclosed:
        rejections.reject_line(line, "a quote that is not closed, or text behind a closing one", row)
    by_column = list(zip(*(rows[i] for i in good), strict=True)) or [()] * width
    columns = {
        name: np.array([value.strip() for value in values], dtype=object)
        for name, values in zip(header, by_column, strict=True)
    }
    return TextTable(header, columns, rejections, len(body) + len(unclosed))


def _split(text: Text, delimiter: str) -> tuple[list[list[str]], npt.NDArray[np.int64], list[tuple[int, str]]]:
    """Rows, the line on which each begins, and lines whose quotes do not close: those are left out one by one."""
    lines = io.StringIO(text.data.decode(), newline="").readlines()
    csv.field_size_limit(_LONGEST_FIELD)
    rows: list[list[str]] = []
    starts: list[int] = []
    odd: list[tuple[int, str]] = []
    done = 0
    while done < len(lines):
        reader = csv.reader(lines[done:], delimiter=delimiter, strict=True)
        last = 0
        try:
            for row in reader:
                rows.append(row)
                starts.append(done + last + 1)
                last = reader.line_num
            break
        except csv.Error as error:
            if "limit" in str(error):
                raise ReadError(
                    "a field is longer than a million characters",
                    path=text.path,
                    line=done + reader.line_num,
                    remedy="check that this is a table",
                ) from None
            odd.append((done + last + 1, lines[done + last].rstrip("\n")))
            if len(odd) > _MOST_UNCLOSED:
                raise ReadError(
                    f"more than {_MOST_UNCLOSED} quotes are not closed",
                    path=text.path,
                    line=odd[0][0],
                    remedy="check how the table was written",
                ) from None
            done += last + 1
    return rows, np.array(starts, dtype=np.int64), odd
