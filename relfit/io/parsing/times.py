"""Columns as instants and durations, each with a mask of the values that could not be read, and why they could not."""

from __future__ import annotations

import re
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from relfit.base.errors import ArgumentError
from relfit.base.units import HOURS_PER_UNIT, unit_in_hours
from relfit.io.parsing.rows import as_numbers, as_text_array
from relfit.io.parsing.stamps import Stamps, parse_stamps

UTC: Any = "datetime64[ns, UTC]"
_UNITS = {"unix": 1.0, "unix_ms": 1e-3, "unix_us": 1e-6, "unix_ns": 1e-9}
_SIZES = (1e11, 1e14, 1e17)  # numbers from here on are milliseconds, microseconds, nanoseconds
_FACTORS = (1.0, 1e-3, 1e-6, 1e-9)
_EARLIEST, _LATEST = pd.Timestamp("1800-01-01"), pd.Timestamp("2250-01-01")  # well within the range of nanoseconds
_LARGEST = 8.8e9  # seconds from 1970 to the latest time
_NOT_A_TIME = np.iinfo(np.int64).min
_SMALLEST_EPOCH = 1e8  # seconds: smaller numbers are years, days, or times since a start
_UNSAID = ["", "-", "?", "unknown", "undetermined", "n/a", "na", "nan", "nat", "none", "null", "open", "ongoing"]
_UNSAID += ["still down", "still open"]
_NUMERIC = r"^[+-]?\d+(\.\d*)?([eE][+-]?\d{1,2})?$"
_COMPACT = r"^(?:19|20|21)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?[^\d.,]*$"  # in groups of three, as 1.234,5
_LOOKED_AT = 1000  # rows
_SPELLINGS = {
    **{"seconds": ("s", "sec", "secs", "second"), "minutes": ("m", "min", "mins", "minute")},
    **{"hours": ("h", "hr", "hrs", "hour"), "days": ("d", "day"), "weeks": ("w", "week")},
}
_UNIT_WORDS = HOURS_PER_UNIT | {word: HOURS_PER_UNIT[name] for name, words in _SPELLINGS.items() for word in words}
_UNIT_WORDS |= {"ms": 1e-3 / 3600.0, "us": 1e-6 / 3600.0, "ns": 1e-9 / 3600.0}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*,?")
_CLOCK = re.compile(r"(-?)(?:(\d+)(?:-| days?,? ))?(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")
_NANOSECONDS = {"D": 86_400 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?")
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}(?![\d.,])")
_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_SHOWN = 40  # characters
_NO = "not a finite duration"


def unsaid(values: object) -> BoolArray:
    """Which texts say that there is no time: empty ones, and words such as "unknown"."""
    text = values if isinstance(values, pa.Array) else pa.array(values, pa.large_string())
    words = pa.array(_UNSAID, text.type)
    said = pc.fill_null(pc.invert(pc.is_in(pc.utf8_lower(text), value_set=words)), False)
    return np.asarray(~said.to_numpy(zero_copy_only=False), dtype=np.bool_)


def instants(
    column: object,
    zone: str,
    time_format: str | None = None,
    *,
    day_first: bool | None = None,
    origin: pd.Timestamp | None = None,
    unit: str = "hours",
    seen: set[bool] | None = None,
) -> tuple[pd.Series, BoolArray]:
    """Instants in UTC of text, numbers or typed times, and which values are present but no time.

    Times without a zone are in `zone`; in the hour that occurs twice the first is meant (but see `ends_after`), and a
    time in the hour that is left out moves to its end. `time_format` is unix, unix_ms, unix_us, unix_ns, or codes such
    as %d.%m.%Y (an `ArgumentError` where it is invalid); without one, large numbers are Unix times, whose size
    distinguishes seconds, milliseconds, microseconds and nanoseconds. With `origin`, numbers are times since then, in
    `unit`. To `seen` is added whether times name a zone (True), and whether some name none (False).
    """
    array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, pa.large_string())
    kind = array.type
    plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if isinstance(array, pa.ChunkedArray) and not plain:  # text stays in chunks: a copy would be large
        array = array.combine_chunks()
    there = pc.is_valid(array).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _typed(array, there, zone, seen)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(float)
        exact = array if pa.types.is_integer(kind) else None
        return _since(numbers, there, origin, unit) if origin is not None else _epochs(numbers, time_format, exact)
    text = array if plain or pa.types.is_dictionary(kind) else as_text_array(array)
    empty = pc.equal(text if plain else as_text_array(array), "")
    there &= ~pc.fill_null(empty, False).to_numpy(zero_copy_only=False)
    if origin is not None:
        return _since(as_numbers(text), there, origin, unit)
    if time_format in _UNITS or (time_format is None and _mostly_epochs(text)):
        numbers = as_numbers(text)
        times, _ = _epochs(numbers, time_format, _whole(text))
        return times, there & times.isna().to_numpy()
    if time_format is not None:
        times = _by_format(as_text_array(text), zone, time_format, seen)
        return times, there & times.isna().to_numpy()
    stamps = parse_stamps(text, bool(day_first))
    return _instants(stamps, zone, seen), there & ~stamps.good


def are_times(
    values: pa.Array | pa.ChunkedArray, time_format: str | None = None, day_first: bool | None = None
) -> bool:
    """Whether most of the first thousand values that are not empty are times."""
    some = values.slice(0, _LOOKED_AT).drop_null()
    if pa.types.is_boolean(some.type):
        return False
    some = some.filter(pa.array(~unsaid(as_text_array(some))))
    orders = (True, False) if day_first is None else (day_first,)
    read = [int(instants(some, "UTC", time_format, day_first=order)[0].notna().sum()) for order in orders]
    return 2 * max(read) > len(some)


def are_dates(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether values are typed times, or texts of which most are times and that are no numbers."""
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return True
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return False
    some = as_text_array(values.slice(0, _LOOKED_AT))
    return are_times(some) and not pc.any(pc.match_substring_regex(some, pattern=_NUMERIC)).as_py()


def _typed(array: pa.Array, there: BoolArray, zone: str, seen: set[bool] | None) -> tuple[pd.Series, BoolArray]:
    kind = array.type
    aware = pa.types.is_timestamp(kind) and kind.tz is not None
    integers = pc.cast(pc.cast(array, pa.int32()) if pa.types.is_date32(kind) else array, pa.int64())
    values = pc.fill_null(integers, 0).to_numpy(zero_copy_only=False)
    step = _NANOSECONDS["D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit]
    low, high = (int(edge.value) // step for edge in (_EARLIEST.as_unit("ns"), _LATEST.as_unit("ns")))
    good = there & (values >= low) & (values < high)
    stamps = Stamps(len(array))
    stamps.good, stamps.absolute = good, good & aware
    stamps.clock = np.where(good, values, 0) * step
    return _instants(stamps, zone, seen), there & ~good


def _instants(stamps: Stamps, zone: str, seen: set[bool] | None) -> pd.Series:
    """Time stamps as instants; those without a zone are in `zone`."""
    if seen is not None:
        seen |= {named for named in (True, False) if (stamps.good & (stamps.absolute == named)).any()}
    return since_1970(in_utc(stamps, zone).clock, stamps.good)


def in_utc(stamps: Stamps, zone: str) -> Stamps:
    """The stamps themselves, where the clocks of those without a zone, which are in `zone`, are set to UTC."""
    local = stamps.good & ~stamps.absolute
    if zone != "UTC" and local.any():
        clocks = pd.Series(stamps.clock[local].view("datetime64[ns]"))
        stamps.clock[local] = localised(clocks, zone).astype("int64").to_numpy()
    return stamps


def _mostly_epochs(text: pa.Array) -> bool:
    """Whether texts look like Unix times, not like years or days written without separators."""
    texts = text.dictionary if pa.types.is_dictionary(text.type) else text
    filled = pc.sum(pc.not_equal(texts, "")).as_py() or 0
    numeric = pc.match_substring_regex(texts, pattern=_NUMERIC)
    if 2 * (pc.sum(numeric).as_py() or 0) <= filled:
        return False
    if pc.all(pc.match_substring_regex(texts.filter(numeric), pattern=_COMPACT)).as_py():
        return False
    return _middle(as_numbers(texts)) > _SMALLEST_EPOCH


def _whole(text: object) -> Any:
    """Texts as integers, where all are: floats cannot hold nanoseconds since 1970; else None."""
    texts = as_text_array(text)
    plain = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    if not pc.all(pc.match_substring_regex(plain, pattern=r"^-?\d{1,18}$")).as_py():
        return None
    return pc.cast(plain, pa.int64())


def _epochs(numbers: FloatArray, time_format: str | None, exact: object = None) -> tuple[pd.Series, BoolArray]:
    """Unix times in one unit for the column; a number that only another unit could explain is no time."""
    there = np.isfinite(numbers)
    sizes = np.searchsorted(_SIZES, np.abs(np.where(there, numbers, 0.0)), side="right")
    typical = int(np.searchsorted(_SIZES, _middle(numbers), side="right"))
    if time_format in _UNITS:
        typical = list(_UNITS).index(time_format)
        there_unit = there
    else:
        there_unit = there & (sizes == typical) & (_middle(numbers) > _SMALLEST_EPOCH)
    seconds = numbers * _FACTORS[typical]
    usable = there_unit & (np.abs(np.where(there, seconds, np.inf)) < _LARGEST)
    if exact is not None:
        integers = pc.fill_null(pc.cast(exact, pa.int64(), safe=False), 0).to_numpy(zero_copy_only=False)
        nanoseconds: IntArray = np.where(usable, integers, 0) * (10 ** (9 - 3 * typical))
    else:
        floor = np.floor(np.where(usable, seconds, 0.0))
        nanoseconds = floor.astype(np.int64) * 1_000_000_000
        nanoseconds += np.round((np.where(usable, seconds, 0.0) - floor) * 1e6).astype(np.int64) * 1000
    return since_1970(nanoseconds, usable), there & ~usable


def _middle(numbers: FloatArray) -> float:
    """The median size of the finite numbers; 0 without any."""
    sizes = np.abs(numbers[np.isfinite(numbers)])
    return float(np.median(sizes)) if sizes.size else 0.0


def _since(numbers: FloatArray, there: BoolArray, origin: pd.Timestamp, unit: str) -> tuple[pd.Series, BoolArray]:
    begin = origin.as_unit("ns").value
    nanoseconds = np.where(np.isfinite(numbers), numbers, 0.0) * unit_in_hours(unit) * 3.6e12
    usable = np.isfinite(numbers) & (np.abs(nanoseconds + float(begin)) < _LARGEST * 1e9)
    # to the microsecond, so that rounding of floats does not show
    rounded = np.round(np.where(usable, nanoseconds, 0.0) / 1000.0).astype(np.int64) * 1000
    return since_1970(rounded + begin, usable), there & ~usable


def _by_format(text: pa.Array, zone: str, time_format: str, seen: set[bool] | None) -> pd.Series:
    texts = pd.Series(pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text).to_pandas(), dtype=object)
    try:
        aware = "%z" in time_format or "%Z" in time_format
        times = pd.to_datetime(texts, format=time_format, errors="coerce", utc=aware)
    except ValueError as error:
        raise ArgumentError(
            f"time_format {time_format!r}: {error}", remedy="use codes such as %d.%m.%Y %H:%M"
        ) from None
    if seen is not None:
        seen.add(isinstance(times.dtype, pd.DatetimeTZDtype))
    if isinstance(times.dtype, pd.DatetimeTZDtype):
        return localised(times.dt.tz_convert("UTC").dt.tz_localize(None), "UTC")
    return localised(times, zone)


def _plausible(naive: pd.Series) -> pd.Series:
    local = isinstance(naive.dtype, np.dtype) and naive.dtype.kind == "M"
    series = naive if local else pd.Series(pd.NaT, index=naive.index, dtype="datetime64[ns]")
    return series.where((series >= _EARLIEST) & (series < _LATEST)).astype("datetime64[ns]")


def localised(naive: pd.Series, zone: str, summer: bool | BoolArray = True) -> pd.Series:
    """Local times of a zone as instants; `summer`: whether the first is meant in an hour that occurs twice."""
    series = _plausible(naive)
    if zone == "UTC":
        return series.dt.tz_localize("UTC").astype(UTC)
    first = np.broadcast_to(np.asarray(summer, dtype=bool), len(series))
    return series.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward").dt.tz_convert("UTC").astype(UTC)


def ends_after(start: pd.Series, end: pd.Series, zone: str) -> pd.Series:
    """Local ends of a zone: where one before its start is in the hour that occurs twice, the second is meant."""
    turned = end < start
    if not turned.any():
        return end
    return end.where(~turned, localised(end[turned].dt.tz_convert(zone).dt.tz_localize(None), zone, summer=False))


def since_1970(nanoseconds: IntArray, there: BoolArray | None = None) -> pd.Series:
    """Nanoseconds since 1970 as instants in UTC; NaT where they are not `there`."""
    if there is not None:
        nanoseconds = np.where(there, nanoseconds, _NOT_A_TIME)
    return pd.Series(pd.DatetimeIndex(nanoseconds, dtype=UTC, copy=False), copy=False)


def spans(
    start: ObjectArray, end: ObjectArray, time_format: str, zone: str, seconds: FloatArray
) -> tuple[pd.Series, pd.Series, BoolArray, BoolArray]:
    """Local starts and ends of a zone in UTC; the stated length of each span decides on an hour that occurs twice.

    Where it is not known (NaN), the first reading is taken. Also, which times fell into the hour that is left out and
    were moved to its end, and where the length does not match under any reading.
    """
    texts = (pd.Series(values, dtype=object) for values in (start, end))
    clocks = [pd.to_datetime(each, format=time_format, errors="coerce") for each in texts]
    readings = [[localised(times, zone, summer) for summer in (True, False)] for times in clocks]
    shifted = np.zeros(len(start), dtype=bool)
    for times, (first, _) in zip(clocks, readings, strict=True):
        shifted |= (first.dt.tz_convert(zone).dt.tz_localize(None) != times).to_numpy() & first.notna().to_numpy()
    best = np.full(len(start), np.inf)
    chosen_start, chosen_end = readings[0][0].copy(), readings[1][0].copy()
    for i, j in ((0, 0), (0, 1), (1, 1), (1, 0)):
        length = (readings[1][j] - readings[0][i]).dt.total_seconds().to_numpy(dtype=float)
        gap = np.abs(length - seconds) + np.where(length < 0, 1e12, 0.0)
        better = gap < best
        best = np.where(better, gap, best)
        chosen_start = chosen_start.where(~better, readings[0][i])
        chosen_end = chosen_end.where(~better, readings[1][j])
    return chosen_start, chosen_end, shifted, np.isfinite(best) & (best > 0)


def check_zone(name: str | None, default: str = "UTC") -> str:
    """The zone of this name, or the default; an `ArgumentError` when there is no such zone."""
    zone = name or default
    try:
        pd.Timestamp("2000-01-01").tz_localize(zone)
    except (KeyError, ValueError, TypeError, OSError):
        raise ArgumentError(f"unknown time zone {zone!r}", remedy="write it as Europe/Berlin or UTC") from None
    return zone


def durations(column: object, unit_hours: float, decimal: str = ".") -> FloatArray:
    """Durations in hours; numbers are in the unit, text such as ``"3h"`` or ``"1-02:30:00"`` has its own; else NaN.

    A `decimal` sign may be a comma: then points before it separate groups of three digits, and are nothing else.
    """
    array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, pa.large_string())
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if pa.types.is_duration(kind):
        counts = pc.cast(array, pa.int64()).to_numpy(zero_copy_only=False).astype(float)
        return counts * ({"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit] / 3600.0)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(float) * unit_hours
    text = as_text_array(array)
    if decimal == ",":
        text = _with_a_point(text)
    numbers = as_numbers(text)
    rest = np.flatnonzero(
        np.isnan(numbers) & pc.fill_null(pc.not_equal(text, ""), False).to_numpy(zero_copy_only=False)
    )
    hours = numbers * unit_hours
    if rest.size:
        coded = pc.dictionary_encode(text.take(pa.array(rest)))
        each = np.array([_in_words(word) for word in coded.dictionary.to_pylist()])
        hours[rest] = each[coded.indices.to_numpy(zero_copy_only=False)]
    return hours


def _with_a_point(text: pa.Array) -> pa.Array:
    """Numbers with a decimal comma as numbers with a point; a number with a point that is not of thousands is none."""
    points = pc.match_substring_regex(text, pattern=r"^[+-]?\d*\.")
    grouped = pc.match_substring_regex(text, pattern=_THOUSANDS)
    text = pc.if_else(grouped, pc.replace_substring(text, pattern=".", replacement=""), text)
    text = pc.if_else(pc.and_not(points, grouped), pa.scalar("no number", text.type), text)
    return pc.replace_substring_regex(text, pattern=r"^([+-]?\d+),(\d+)", replacement=r"\1.\2")


def _in_words(text: str) -> float:
    """Hours of a duration such as ``3h``, ``1 day 2 hours`` or ``1-02:30:00``; NaN for anything else."""
    clock = _CLOCK.fullmatch(text)
    if clock is not None and len(text) < 40:
        sign, days, hour, minute, second = clock.groups()
        hours = 24.0 * float(days or 0) + float(hour) + float(minute) / 60.0 + float(second) / 3600.0
        return -hours if sign else hours
    total, at, negative = 0.0, 0, text.startswith("-")
    body = text[1:] if negative else text
    while at < len(body) < 80:
        part = _PART.match(body, at)
        if part is None or part[2].lower() not in _UNIT_WORDS:
            return float("nan")
        total += float(part[1]) * _UNIT_WORDS[part[2].lower()]
        at = part.end()
    return float("nan") if not at else -total if negative else total


def is_number(text: str) -> bool:
    """Whether a text is a number, as ``-3.5``."""
    return text.replace(".", "", 1).lstrip("-").isdigit()


def is_clock(text: str) -> bool:
    """Whether a text is a time of day, as ``4:05 pm``."""
    return _TIME_OF_DAY.fullmatch(text.strip()) is not None


def no_time(text: str) -> str:
    """Why a text is no time, with what might be meant."""
    hint, clock = "", " %H:%M:%S"[: 3 * text.count(":") + 3] if ":" in text else ""
    if is_number(text):
        hint = "; a number is a time with --column time_format=unix, or with time_origin=DATE and time_unit=UNIT"
    parts = text.replace("/", "-").replace(".", "-").split(" ")[0].split("-")
    if len(parts) == 3 and all(part.isdigit() and len(part) <= 2 for part in parts):
        form = quote("time_format=" + text[len(parts[0])].join(("%d", "%m", "%y")) + clock)
        hint = f"; years of two digits need a time_format, as --column {form}"
    elif is_clock(text):
        hint = "; with the date in a column of its own: --column start=DATE+TIME, with the names of both"
    elif text[-1:].isalpha() and text[-3:].isupper() and ":" in text:
        form = quote(f"time_format=%Y-%m-%d{clock} {text.rpartition(' ')[2]}")
        hint = f"; zones by letters are ambiguous: give --timezone, and their form, as --column {form}"
    return f"{text[:_SHOWN]!r} is not a date or time{hint}"


def no_length(text: str, decimal: str = ".") -> str:
    """Why a text is no duration where this is the decimal sign, with what might be meant."""
    what = f"{text[:_SHOWN]!r} is not a finite duration"
    if decimal == ",":
        return f"{what}; with a decimal comma, points separate groups of three digits before it" if "." in text else _NO
    comma = '--column decimal="," reads it as a number'
    if _ONE_GROUP.match(text):
        return f"{what}; if the comma separates thousands, write it without; if it is the decimal sign, {comma}"
    if _GROUPS.match(text):
        return f"{what}; write thousands without commas"
    return f"{what}; {comma}" if "," in text else _NO
