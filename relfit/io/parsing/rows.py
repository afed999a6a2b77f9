"""Tables of named columns with the line of every row, and the record of the rows that are rejected and why.

Columns are Arrow arrays: text as the file has it, or typed where the source is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from relfit.base.errors import ReadError
from relfit.io.parsing.opening import FromFile
from relfit.log.tables import REJECTED_COLUMNS

_SHOWN = 200
_LONGEST = 400  # digits before or after the point
_NUMBER = r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$"
_LONG_NUMBER = _NUMBER.replace(r"\d+", rf"\d{{1,{_LONGEST}}}").replace(r"\d*", rf"\d{{0,{_LONGEST}}}")


def cell_text(value: pa.Scalar) -> str:
    """A cell as text: a date beyond Python's range as its number, a missing cell as an empty text."""
    try:
        cell = value.as_py()
    except (OverflowError, ValueError):
        cell = value.value
    return "" if cell is None else str(cell)


def rejected_frame(rows: Sequence[tuple[str, int, str, str, str]]) -> pd.DataFrame:
    """The table of rejected rows: file, line, column, reason and text of each."""
    shown = [(*row[:-1], row[-1][:_SHOWN]) for row in rows]
    frame = pd.DataFrame(shown, columns=list(REJECTED_COLUMNS))
    return frame.astype({name: "int64" if name == "line" else object for name in REJECTED_COLUMNS})


class NoRowsError(ReadError):
    """A file of the right form without a row."""


@dataclass
class Rejections(FromFile):
    """Which rows of one file are rejected, in which column, and the first reason; ``lines`` are numbered from 1."""

    path: Path
    lines: IntArray
    text_of: Callable[[int], str]
    extra: list[tuple[int, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._kept = np.ones(self.lines.size, dtype=bool)
        self._found: list[tuple[IntArray, str, list[str]]] = []
        self._closed: pd.DataFrame | None = None

    def reject(self, rows: npt.ArrayLike, reason: str | Callable[[int], str], column: str = "") -> None:
        """Reject the rows where `rows` is true, unless they are already; `reason`: a text, or a function of the row."""
        hit = np.flatnonzero(np.asarray(rows, dtype=bool) & self._kept)
        if hit.size:
            self._kept[hit] = False
            reasons = [reason] * hit.size if isinstance(reason, str) else [reason(row) for row in hit.tolist()]
            self._found.append((hit, column, reasons))

    def reject_line(self, line: int, reason: str, text: str) -> None:
        """Reject a line that is no row."""
        self.extra.append((line, "", reason, text))

    @property
    def kept(self) -> BoolArray:
        """Which rows are not rejected."""
        return self._kept.copy()

    def __len__(self) -> int:
        """Number of rows and lines rejected."""
        return int((~self._kept).sum()) + len(self.extra)

    def part(self, keep: BoolArray) -> Rejections:
        """The rejections of a part of the rows, and the lines that are no row."""
        places = np.flatnonzero(keep)
        part = Rejections(self.path, self.lines[keep], lambda row: self.text_of(int(places[row])), self.extra)
        number = np.full(self.lines.size, -1)
        number[places] = np.arange(places.size)
        for rows, column, reasons in self._found:
            hit = number[rows] >= 0
            part._kept[number[rows][hit]] = False
            part._found.append((number[rows][hit], column, [reasons[i] for i in np.flatnonzero(hit)]))
        return part

    def close(self) -> None:
        """Fix the rejected rows, and release the source of their texts."""
        self._closed = self.frame()
        self.text_of = str

    def frame(self) -> pd.DataFrame:
        """The rejected rows, in the order of the file."""
        if self._closed is not None:
            return self._closed
        rejected = [
            (int(self.lines[row]), column, reason, self.text_of(row))
            for rows, column, reasons in self._found
            for row, reason in zip(rows.tolist(), reasons, strict=True)
        ]
        return rejected_frame(
            [(str(self.path), *item) for item in sorted([*rejected, *self.extra], key=lambda item: item[0])]
        )

    def settle(self, strict: bool) -> BoolArray:
        """Which rows are not rejected; a `ReadError` when all are or, for strict reading, when any row is."""
        if strict:
            self.raise_first()
        if not self._kept.any():
            rejected = self.frame()
            first = rejected.iloc[0] if len(rejected) else None
            where = "" if first is None or not first["column"] else f"column {first['column']!r}: "
            raise self.error("every row was rejected", None if first is None else f"{where}{first['reason']}")
        return self.kept

    def raise_first(self) -> None:
        """Raise a `ReadError` for the first rejected row, if there is one: strict reading."""
        if not len(self):
            return
        first = self.frame().iloc[0]
        raise self.error(
            str(first["reason"]),
            "correct the row, or read without strict to have it rejected",
            line=int(first["line"]),
            column=str(first["column"]) or None,
        )


@dataclass(frozen=True)
class TextTable:
    """Columns by name, one entry per row, null where empty; `rejections` has the line of each row."""

    header: tuple[str, ...]
    columns: dict[str, pa.ChunkedArray]
    rejections: Rejections
    rows_read: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ObjectArray:
        """The values of a column as text, empty where missing."""
        text = pc.fill_null(as_text_array(self.columns[name]), "")
        return np.asarray(text.to_numpy(zero_copy_only=False), dtype=object)

    def require(self, names: Sequence[str], what: str) -> None:
        """Raise a `ReadError` when one of the columns is missing: then this is not `what`."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise self.rejections.error(f"no column {missing[0]!r}", f"this is not {what}; leave out format", line=1)

    def reject_duplicates(self, among: npt.ArrayLike | None = None) -> None:
        """Reject rows that repeat an earlier one in every field; with `among`, only these rows are compared."""
        rows = np.arange(self.rejections.lines.size) if among is None else np.flatnonzero(among)
        if rows.size < 2:
            return
        taken = pa.array(rows)
        codes = {name: category(values.take(taken)).cat.codes for name, values in self.columns.items()}
        repeated = np.zeros(self.rejections.lines.size, dtype=bool)
        repeated[rows] = pd.DataFrame(codes).duplicated().to_numpy()
        self.rejections.reject(repeated, "duplicate of an earlier row")

    def forget(self) -> None:
        """Release the values, once they are no longer needed."""
        self.rejections.close()
        self.columns.clear()


def as_text_array(values: pa.ChunkedArray) -> pa.Array:
    """A column as one array of text."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = pc.take(array.dictionary, array.indices)
        kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array
    if pa.types.is_floating(kind):  # integers, which pandas stores as floats beside missing values
        values = array.to_numpy(zero_copy_only=False)
        finite = values[np.isfinite(values)]
        if finite.size and (np.abs(finite) < 2**53).all() and (finite == np.floor(finite)).all():
            array = pc.cast(pc.if_else(pc.is_finite(array), array, pa.scalar(None, kind)), pa.int64())
    return pc.cast(array, pa.large_string())


def category(values: pa.ChunkedArray) -> pd.Series:
    """A column as a categorical of text with sorted categories; texts are trimmed, empty ones are missing."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(as_text_array(array))
    codes = pc.fill_null(array.indices, -1).to_numpy(zero_copy_only=False)
    texts = pc.utf8_trim_whitespace(as_text_array(array.dictionary)).to_pylist()
    kinds = sorted({text for text in texts if text})
    place = {text: number for number, text in enumerate(kinds)}
    places = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.int64)
    return in_categories(places, codes, pd.Index(kinds, dtype=object))


def in_categories(places: IntArray, codes: npt.NDArray[np.integer], kinds: pd.Index) -> pd.Series:
    """A categorical of `kinds` whose codes are ``places[codes]``, in the smallest type that holds them."""
    dtype: Any = pd.CategoricalDtype(kinds)
    small = places.astype(np.min_scalar_type(-max(len(kinds), 1)))
    return pd.Series(pd.Categorical.from_codes(small[codes], dtype=dtype, validate=False))


def as_numbers(values: object) -> FloatArray:
    """Each text as a number; NaN for all others, including ``inf``, ``nan`` and exponents of four digits."""
    text = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, pa.large_string())
    if isinstance(text, pa.ChunkedArray):
        text = text.combine_chunks()
    if pa.types.is_dictionary(text.type):
        each = as_numbers(text.dictionary)
        return np.append(each, np.nan)[pc.fill_null(text.indices, len(each)).to_numpy(zero_copy_only=False)]
    # compiling the pattern with that count takes longer than matching most columns
    short = (pc.max(pc.binary_length(text)).as_py() or 0) <= _LONGEST
    good = pc.fill_null(pc.match_substring_regex(text, pattern=_NUMBER if short else _LONG_NUMBER), False)
    plain = pc.if_else(good, text, pa.scalar(None, text.type))
    numbers: FloatArray = pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)
