"""Texts as points in time, in the spellings listed here, parsed by Arrow; any other spelling is no time.

Days and months that could be exchanged are read in one order, which the caller detects for a complete file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import BoolArray, IntArray
from relfit.base.errors import ReadError, Remedy
from relfit.io.parsing.rows import as_text_array

_ZONE = r"(?P<z> ?(?:Z|z|UTC|GMT|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?))?"
_CLOCK = (
    r"(?:(?: +|T)(?P<h>\d{1,2}):(?P<n>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,12}))?)?(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?"
    + _ZONE
    + r")?$"
)
_WEEKDAY = r"^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? +)?"
_MONTH = r"(?P<b>(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6})\.?"
_FORMS = {
    "iso": r"^(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})" + _CLOCK,
    "numeric": r"^(?P<d>\d{1,2})(?P<k>[-/.])(?P<m>\d{1,2})[-/.](?P<y>\d{4})" + _CLOCK,
    "day month": _WEEKDAY + r"(?P<d>\d{1,2})(?:[ -]+)" + _MONTH + r",?[ -]+(?P<y>\d{4})" + _CLOCK,
    "day/month": r"^(?P<d>\d{1,2})/" + _MONTH + r"/(?P<y>\d{4}|\d{2})" + _CLOCK.replace("(?: +|T)", "(?: +|T|:)"),
    "month day": _WEEKDAY + _MONTH + r"[ -]+(?P<d>\d{1,2}),?[ -]+(?P<y>\d{4})" + _CLOCK,
    "ctime": _WEEKDAY
    + _MONTH
    + r" +(?P<d>\d{1,2}) +(?P<h>\d{2}):(?P<n>\d{2}):(?P<s>\d{2})"
    + _ZONE
    + r" +(?P<y>\d{4})$",
    "blue gene": (
        r"^(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})-"
        r"(?P<h>\d{2})\.(?P<n>\d{2})\.(?P<s>\d{2})(?:\.(?P<f>\d{1,9}))?$"
    ),
    "compact": r"^(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})(?:T?(?P<h>\d{2})(?P<n>\d{2})(?P<s>\d{2})?(?P<z>Z)?)?$",
}
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: i for i, name in enumerate(_NAMES, 1)}
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_NUMERIC = r"^(?P<d>\d{1,2})(?P<k>[-/.])(?P<m>\d{1,2})[-/.]\d{4}(?:[ T]|$)"
_FIRST_YEAR, _LAST_YEAR = 1800, 2249
_MICROSECONDS = (-5_364_662_400_000_000, 8_835_955_200_000_000)  # the years 1800 to 2249
_CHUNK = 1 << 17
_NANOSECONDS = 1_000_000_000
_EAST_OR_WEST = r":\d\d(?:[.,]\d+)? ?(?:UTC|GMT)?[+-](?:00:?(?:0[1-9]|[1-5]\d)|(?:0[1-9]|1\d)(?::?\d\d)?)$"  # not 0
_UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
_EXAMPLE, _SHOWN = "Europe/Berlin", "as in "


class Stamps:
    """Points in time of a column of texts: which are ``good``, and which of these name their zone (``absolute``).

    ``clock`` has nanoseconds since 1970 on the clock that a text shows, in UTC where it names its zone.
    """

    def __init__(self, size: int) -> None:
        self.clock: IntArray = np.zeros(size, dtype=np.int64)
        self.good: BoolArray = np.zeros(size, dtype=bool)
        self.absolute: BoolArray = np.zeros(size, dtype=bool)

    def fill(self, at: slice | IntArray, part: Stamps) -> None:
        """Copy `part` to the positions `at`."""
        self.clock[at], self.good[at], self.absolute[at] = part.clock, part.good, part.absolute


def parse_stamps(text: pa.Array | pa.ChunkedArray, day_first: bool = False) -> Stamps:
    """Every text as a point in time; null and other texts are not `good`."""
    stamps, begin = Stamps(len(text)), 0
    for array in text.chunks if isinstance(text, pa.ChunkedArray) else [text]:
        if pa.types.is_dictionary(array.type):
            each = parse_stamps(array.dictionary, day_first)
            codes = pc.fill_null(array.indices, -1).to_numpy(zero_copy_only=False)
            named = np.flatnonzero(codes >= 0)
            for name in ("clock", "good", "absolute"):
                getattr(stamps, name)[begin + named] = getattr(each, name)[codes[named]]
            begin += len(array)
            continue
        for at in range(0, len(array), _CHUNK):
            part = array.slice(at, _CHUNK)
            stamps.fill(slice(begin, begin + len(part)), _quickly(part) or _by_parts(part, day_first))
            begin += len(part)
    return stamps


def _quickly(text: pa.Array) -> Stamps | None:
    """Plain ISO 8601 by Arrow's own parser; None where a text is anything else."""
    for kind, absolute in ((pa.timestamp("us"), False), (pa.timestamp("us", "UTC"), True)):
        try:
            times = pc.cast(text, kind)
        except pa.ArrowException:
            continue
        stamps = Stamps(len(text))
        there = pc.is_valid(times).to_numpy(zero_copy_only=False)
        micro = pc.fill_null(pc.cast(times, pa.int64()), 0).to_numpy(zero_copy_only=False)
        stamps.good = there & (micro >= _MICROSECONDS[0]) & (micro < _MICROSECONDS[1])
        stamps.clock = np.where(stamps.good, micro, 0) * 1000
        stamps.absolute = stamps.good & absolute
        return stamps
    return None


def _by_parts(text: pa.Array, day_first: bool) -> Stamps:
    stamps = Stamps(len(text))
    left = np.flatnonzero(pc.is_valid(text).to_numpy(zero_copy_only=False))
    for name, pattern in _FORMS.items():
        if not left.size:
            break
        these = text.take(pa.array(left))
        hit = pc.match_substring_regex(these, pattern=pattern).to_numpy(zero_copy_only=False).astype(bool)
        if hit.any():
            parts = pc.extract_regex(these.filter(pa.array(hit)), pattern=pattern)
            stamps.fill(left[hit], _counted(parts, day_first if name == "numeric" else True))
        left = left[~hit]
    return stamps


def _counted(parts: pa.StructArray, in_order: bool) -> Stamps:
    """Parts of dates and clocks as points in time."""
    names = {parts.type.field(i).name for i in range(parts.type.num_fields)}
    size = len(parts)

    def text(name: str) -> pa.Array:
        return pc.struct_field(parts, name)

    def number(name: str, otherwise: int = 0) -> IntArray:
        if name not in names:
            return np.full(size, otherwise, dtype=np.int64)
        filled = pc.if_else(pc.equal(text(name), ""), str(otherwise), text(name))
        integers: IntArray = pc.cast(filled, pa.int64()).to_numpy(zero_copy_only=False)
        return integers

    year, month, day = number("y"), number("m", 1), number("d", 1)
    year = np.where(year < 100, year + 2000, year)  # 03/May/24
    if "b" in names:
        short = pc.utf8_lower(pc.utf8_slice_codeunits(text("b"), 0, 3)).to_pylist()
        month = np.array([_MONTHS[name] for name in short], dtype=np.int64)
    if not in_order:
        month, day = day, month
    hour, minute, second = number("h"), number("n"), number("s")
    good = (year >= _FIRST_YEAR) & (year <= _LAST_YEAR) & (month >= 1) & (month <= 12) & (day >= 1)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    length = _DAYS[np.clip(month, 1, 12) - 1] + (leap & (month == 2))
    good &= (day <= length) & (minute <= 59) & (second <= 60)
    good &= (second < 60) | (minute == 59)  # a leap second ends its hour
    if "p" in names:
        half = pc.utf8_lower(text("p")).to_numpy(zero_copy_only=False)
        has_half = half != ""
        good &= ~has_half | ((hour >= 1) & (hour <= 12))
        hour = np.where(has_half, hour % 12 + 12 * (half == "p"), hour)
    midnight = (hour == 24) & (minute == 0) & (second == 0)
    good &= (hour <= 23) | midnight
    months = np.where(good, (year - 1970) * 12 + month - 1, 0)
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    stamps = Stamps(size)
    if "z" in names:
        zones = pc.dictionary_encode(pc.utf8_trim_whitespace(text("z")))
        offsets = np.array([_offset(zone) for zone in zones.dictionary.to_pylist()], dtype=np.int64)
        codes = zones.indices.to_numpy(zero_copy_only=False)
        has_zone = np.array([zone != "" for zone in zones.dictionary.to_pylist()])
        stamps.absolute = has_zone[codes]
        good &= np.abs(offsets[codes]) <= 15 * 3600
        seconds = seconds - offsets[codes]
    fraction = np.zeros(size, dtype=np.int64)
    if "f" in names:
        padded = pc.utf8_slice_codeunits(pc.utf8_rpad(text("f"), 9, "0"), 0, 9)
        fraction = pc.cast(padded, pa.int64()).to_numpy(zero_copy_only=False)
    stamps.good = good
    stamps.clock = np.where(good, seconds * _NANOSECONDS + fraction, 0)
    return stamps


def _offset(zone: str) -> int:
    """Seconds east of Greenwich."""
    digits = "".join(letter for letter in zone if letter.isdigit())
    if not digits:
        return 0
    return (-1 if "-" in zone else 1) * (int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60)


def day_and_month(columns: list[pa.Array | pa.ChunkedArray]) -> tuple[bool | None, str]:
    """Whether days precede months in dates (by numbers above 12, then dots), and an example; None, empty if unclear."""
    votes: IntArray = np.zeros(2, dtype=np.int64)
    example, dotted, open_question = "", "", ""
    arrays = [part for c in columns for part in (c.chunks if isinstance(c, pa.ChunkedArray) else [c])]
    for array in arrays:
        texts = array.dictionary if pa.types.is_dictionary(array.type) else array
        hit = pc.fill_null(pc.match_substring_regex(texts, pattern=_NUMERIC), False)
        if not pc.any(hit).as_py():
            continue
        dates = texts.filter(hit)
        parts = pc.extract_regex(dates, pattern=_NUMERIC)
        first, second = (
            pc.cast(pc.struct_field(parts, name), pa.int64()).to_numpy(zero_copy_only=False) for name in "dm"
        )
        for side, large in enumerate(((first > 12) & (second <= 12), (second > 12) & (first <= 12))):
            votes[side] += int(large.sum())
            if large.any() and not example:
                example = dates[int(large.argmax())].as_py()
        with_dots = pc.equal(pc.struct_field(parts, "k"), ".").to_numpy(zero_copy_only=False)
        if with_dots.any():
            dotted = dotted or dates[int(with_dots.argmax())].as_py()
        unclear = (first <= 12) & (second <= 12) & (first != second)
        if unclear.any():
            open_question = open_question or dates[int(unclear.argmax())].as_py()
    if votes.any():
        return bool(votes[0] >= votes[1]), example
    if dotted:
        return True, dotted
    return (None, open_question) if open_question else (None, "")


def same_clock(
    columns: Mapping[str, pa.Array | pa.ChunkedArray], seen: Mapping[str, set[bool]], zone: str | None, path: Path
) -> list[str]:
    """A note where times without a zone are taken as UTC because the others are; a `ReadError` where those are not.

    `seen` tells for each column of times whether some name a zone (True), and whether some name none (False). With a
    `zone` that the user says there is no question.
    """
    if zone is not None or len(set[bool]().union(*seen.values())) < 2:
        return []
    zones = {name: _zone(columns[name]) for name, kinds in seen.items() if True in kinds}
    bare = ", ".join(repr(name) for name, kinds in seen.items() if False in kinds)
    other = next(((name, zone) for name, zone in zones.items() if zone not in _UTC), None)
    if other is None:
        return [f"times of {bare} without a zone are taken as UTC, as the others are"]
    likely = _EXAMPLE if other[1].startswith(_SHOWN) or "/" not in other[1] else other[1]
    raise ReadError(
        f"times of {other[0]!r} name a zone ({other[1]}), and some of {bare} name none",
        path=path,
        remedy=Remedy(
            f'say in which zone the others are: timezone="{likely}"',
            f"say in which zone the others are: --timezone {likely}",
        ),
    )


def _zone(column: pa.Array | pa.ChunkedArray) -> str:
    """The zone of typed times, or an offset from UTC in texts, ``"UTC"`` where there is no other."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return str(kind.tz)
    texts = as_text_array(column)
    hit = pc.fill_null(pc.match_substring_regex(texts, pattern=_EAST_OR_WEST), False)
    texts = texts.filter(hit)
    return f"{_SHOWN}{texts[0].as_py()}" if len(texts) else "UTC"
