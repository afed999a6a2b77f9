"""Columns of text as instants, durations and flags, each with a mark for what could not be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError

__all__ = ["UTC", "check_zone", "clock_times", "durations", "flags", "instants", "since_1970", "spans", "unsaid"]

UTC: Any = "datetime64[ns, UTC]"
_TRUE = ("true", "t", "yes", "y", "1", "1.0")
_FALSE = ("false", "f", "no", "n", "0", "0.0")
_UNITS = {"unix": 1.0, "unix_ms": 1e-3, "unix_us": 1e-6, "unix_ns": 1e-9}
_BY_SIZE = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (0.0, 1.0))  # seconds in one unit, for numbers above a size
_EARLIEST, _LATEST = pd.Timestamp("1800-01-01"), pd.Timestamp("2250-01-01")  # well within what nanoseconds reach
_LARGEST = 8.8e9  # seconds from 1970 to the latest
_UNSAID = {"", "-", "?", "unknown", "undetermined", "n/a", "na", "nan", "nat", "none", "null", "open", "ongoing"}


def unsaid(values: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Which texts say that a time is not there: nothing, or a word for it.

    Examples
    --------
    >>> unsaid(np.array(["", "Unknown", "n/a", "2024-01-01"], dtype=object)).tolist()
    [True, True, True, False]
    """
    return np.asarray(pd.Series(values, dtype=object).str.lower().isin(_UNSAID), dtype=np.bool_)


def instants(
    values: npt.NDArray[np.object_], zone: str, time_format: str | None = None
) -> tuple[pd.Series, npt.NDArray[np.bool_]]:
    """Instants in UTC, and where there is none.

    Numbers are Unix times; their size tells seconds from milliseconds, microseconds and nanoseconds. Anything else is
    read by pandas. Day and month are read in one order throughout: the month first, unless a number above 12 or a dot
    between them says otherwise. In the hour that comes twice a year the first is meant, and a time in the hour that is
    left out moves to its end. Times outside the years 1800 to 2250 are none.

    Raises
    ------
    ArgumentError
        When `time_format` is none that pandas knows.

    Examples
    --------
    >>> times, bad = instants(np.array(["1700000000", "x"], dtype=object), "UTC", "unix")
    >>> times[0].isoformat(), bad.tolist()
    ('2023-11-14T22:13:20+00:00', [False, True])
    """
    text = pd.Series(values, dtype=object)
    filled = text != ""
    numbers = pd.to_numeric(text.where(filled), errors="coerce").to_numpy(dtype=float)
    numeric = time_format in _UNITS or (
        time_format is None
        and bool(filled.any())
        and np.isfinite(numbers[filled.to_numpy()]).mean() > 0.5
        and _epochs(numbers)
    )
    if numeric:
        typical = float(np.nanmedian(np.abs(numbers)))
        factor = _UNITS.get(time_format or "") or next(unit for size, unit in _BY_SIZE if typical >= size)
        seconds = numbers * factor
        usable = np.isfinite(seconds) & (np.abs(seconds) < _LARGEST)
        whole = np.floor(np.where(usable, seconds, 0.0))
        nanoseconds = whole.astype(np.int64) * 1_000_000_000
        nanoseconds += np.round((np.where(usable, seconds, 0.0) - whole) * 1e6).astype(np.int64) * 1000
        return since_1970(nanoseconds).where(pd.Series(usable)), ~usable
    day_first, misfit = _day_first(text) if time_format is None else (False, np.zeros(len(text), dtype=bool))
    readable = text.where(filled & ~misfit)
    options: dict[str, Any] = {"format": time_format or "mixed", "errors": "coerce", "dayfirst": day_first}
    carries = text.astype(str).str.contains(r"(?:Z|[+-]\d\d:?\d\d)$").to_numpy() & filled.to_numpy()
    try:
        if carries.any():
            # times with a zone and times without may be mixed; only the latter are local
            absolute = pd.to_datetime(readable.where(carries), utc=True, **options).dt.tz_localize(None)
            local = pd.to_datetime(readable.where(~carries), **options)
            stamps = _plausible(absolute).dt.tz_localize("UTC").astype(UTC).where(carries, _localised(local, zone))
        else:
            stamps = _localised(pd.to_datetime(readable, **options), zone)
    except ValueError as error:
        raise ArgumentError(
            f"time_format {time_format!r}: {error}", remedy="use codes such as %d.%m.%Y %H:%M"
        ) from None
    return stamps, stamps.isna().to_numpy()


def _day_first(text: pd.Series) -> tuple[bool, npt.NDArray[np.bool_]]:
    """Whether days stand before months in dates such as 13/02/2024, and which rows speak against it."""
    parts = text.astype(str).str.extract(r"^(\d{1,2})([/.-])(\d{1,2})[/.-]\d{4}")
    first, second = (pd.to_numeric(parts[i], errors="coerce").to_numpy(dtype=float) for i in (0, 2))
    dotted = bool((parts[1] == ".").any())
    day_first = bool(np.nanmax(first, initial=0) > 12) or (dotted and not bool(np.nanmax(second, initial=0) > 12))
    return day_first, np.asarray((second if day_first else first) > 12)


def _epochs(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether numbers look like Unix times rather than years or days written without separators."""
    return bool(np.nanmedian(np.abs(numbers)) > 1e8)


def _plausible(naive: pd.Series) -> pd.Series:
    # what carries a zone in a spelling that `instants` does not know cannot be taken as local, nor as anything else
    local = isinstance(naive.dtype, np.dtype) and naive.dtype.kind == "M"
    series = naive if local else pd.Series(pd.NaT, index=naive.index, dtype="datetime64[ns]")
    return series.where((series >= _EARLIEST) & (series < _LATEST)).astype("datetime64[ns]")


def _localised(naive: pd.Series, zone: str, summer: bool = True) -> pd.Series:
    series = _plausible(naive)
    first = np.full(len(series), summer)
    return series.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward").dt.tz_convert("UTC").astype(UTC)


def since_1970(nanoseconds: npt.NDArray[np.int64]) -> pd.Series:
    """Nanoseconds since 1970 as instants in UTC."""
    return pd.Series(nanoseconds.view("datetime64[ns]")).dt.tz_localize("UTC").astype(UTC)


def clock_times(values: npt.NDArray[np.object_], time_format: str) -> pd.Series:
    """Times on a clock without a zone; NaT where a text is none."""
    return pd.to_datetime(pd.Series(values, dtype=object), format=time_format, errors="coerce")


def spans(
    start: pd.Series, end: pd.Series, zone: str, seconds: npt.NDArray[np.float64]
) -> tuple[pd.Series, pd.Series, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Local starts and ends in UTC; the length of each span tells which reading of a double hour is meant.

    Parameters
    ----------
    start, end : Series of naive datetime64
        On the clock of `zone`; NaT where missing.
    zone : str
    seconds : ndarray
        How long each span is said to be; NaN where nothing says it, and the first reading is taken.

    Returns
    -------
    start, end : Series
        In UTC.
    shifted : ndarray of bool
        Where a time fell into the hour that is left out and was moved to its end.
    disagree : ndarray of bool
        Where the length does not match under any reading.
    """
    readings = [[_localised(times, zone, summer) for summer in (True, False)] for times in (start, end)]
    shifted = np.zeros(len(start), dtype=bool)
    for times, (first, _) in zip((start, end), readings, strict=True):
        shifted |= (first.dt.tz_convert(zone).dt.tz_localize(None) != times).to_numpy() & first.notna().to_numpy()
    best = np.full(len(start), np.inf)
    chosen_start, chosen_end = readings[0][0].copy(), readings[1][0].copy()
    for i, j in ((0, 0), (0, 1), (1, 1), (1, 0)):
        length = (readings[1][j] - readings[0][i]).dt.total_seconds().to_numpy(dtype=float)
        gap = np.abs(length - seconds) + np.where(length < 0, 1e12, 0.0)
        better = gap < best
        best = np.where(better, gap, best)
        chosen_start, chosen_end = (
            chosen_start.where(~better, readings[0][i]),
            chosen_end.where(~better, readings[1][j]),
        )
    return chosen_start, chosen_end, shifted, np.isfinite(best) & (best > 0)


def check_zone(name: str | None, default: str = "UTC") -> str:
    """The zone of this name, or the default.

    Raises
    ------
    ArgumentError
        When there is no such zone.
    """
    zone = name or default
    try:
        pd.Timestamp("2000-01-01").tz_localize(zone)
    except (KeyError, ValueError, TypeError, OSError):
        raise ArgumentError(f"unknown time zone {zone!r}", remedy="write it as Europe/Berlin or UTC") from None
    return zone


def durations(values: npt.NDArray[np.object_], unit_hours: float) -> npt.NDArray[np.float64]:
    """Hours; numbers are in the unit, text such as ``"3h"`` carries its own. NaN where it is neither.

    Examples
    --------
    >>> durations(np.array(["90", "2h", "soon"], dtype=object), 1 / 60).tolist()
    [1.5, 2.0, nan]
    """
    text = pd.Series(values, dtype=object)
    numbers = pd.to_numeric(text.where(text != ""), errors="coerce")
    rest = (text != "") & numbers.isna() & ~text.astype(str).str.lower().isin(["nan", "nat", "inf", "-inf"])
    hours = numbers.to_numpy(dtype=float) * unit_hours
    if rest.any():
        spans = pd.to_timedelta(text.where(rest), errors="coerce").dt.total_seconds() / 3600.0
        hours = np.where(rest, spans.to_numpy(dtype=float), hours)
    return np.asarray(hours, dtype=np.float64)


def flags(values: npt.NDArray[np.object_]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Truth of each word, and whether it is one.

    Examples
    --------
    >>> flags(np.array(["yes", "0", "maybe"], dtype=object))[1].tolist()
    [True, True, False]
    """
    text = pd.Series(values, dtype=object).astype(str).str.lower()
    true, false = text.isin(_TRUE).to_numpy(), text.isin(_FALSE).to_numpy()
    return true, true | false
