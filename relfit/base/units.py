"""Durations and instants as arguments: anything that pandas can read, as hours (floats) and UTC."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.errors import ArgumentError

NANOSECONDS_PER_HOUR = 3_600_000_000_000
HOURS_PER_YEAR = 8766.0
HOURS_PER_WEEK = 168.0

HOURS_PER_UNIT = {
    "seconds": 1.0 / 3600.0,
    "minutes": 1.0 / 60.0,
    "hours": 1.0,
    "days": 24.0,
    "weeks": 168.0,
}
_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?)"
_LONG = re.compile(rf"\s*{_NUMBER}\s*([a-z]+)\s*")
_RATE = re.compile(rf"\s*(?:{_NUMBER}\s*FIT|{_NUMBER}\s*%\s*AFR)\s*", re.IGNORECASE)
_PER = re.compile(rf"\s*(?:{_NUMBER}|once)\s*(?:per|/|in|every)\s*(?:{_NUMBER}\s*)?([a-z]+)\s*")
_PARTED = re.compile(r"\d\s*[,'_-]\s*\d|\d\s+\d")
_CLOCK = re.compile(r"\s*(\d+)(?:-|\s+)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?\s*")  # D-HH:MM:SS, as Slurm has it
_YEARS = ("y", "year", "years")  # 8,766 hours
_SHORT = {"s": "seconds", "min": "minutes", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def unit_in_hours(unit: str) -> float:
    """Hours in one `unit` of time: ``seconds`` to ``weeks``, also in the singular or short (``s``, ``min``, ...)."""
    name = str(unit).strip().lower()
    name = _SHORT.get(name, name)
    for each, value in HOURS_PER_UNIT.items():
        if name in (each, each[:-1]):
            return value
    raise ArgumentError(f"unknown unit of time {unit!r}", remedy=f"use one of {', '.join(HOURS_PER_UNIT)}")


def hours(value: object) -> float:
    """Hours of a number, a timedelta or a text (``"20h"``, ``"3y"``, ``"1-12:00:00"``); else an `ArgumentError`."""
    # to numpy a timedelta64 is an integer
    if isinstance(value, (str, int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.timedelta64)):
        try:
            number = float(value)
        except ValueError:
            number = np.nan
        if not np.isnan(number):
            return number
    if isinstance(value, str) and (clock := _CLOCK.fullmatch(value)):  # of "1-00:00:00" pandas reads -100 hours
        days, hour, minute, second = (float(part or 0.0) for part in clock.groups())
        return 24.0 * days + hour + (60.0 * minute + second) / 3600.0
    if isinstance(value, str) and _PARTED.search(value):  # of "1,5h" pandas reads 15 hours, of "1 000" nanoseconds
        remedy = "write numbers with a point and no thousands separators, as 1.5h or 1500h; days as 2-12:00:00"
        raise ArgumentError(f"{value!r} is not a duration", remedy=remedy)
    if isinstance(value, (str, dt.timedelta, np.timedelta64)):
        try:
            text = str(value) if isinstance(value, str) else value  # pandas does not read numpy's texts
            number = float(pd.Timedelta(text) / pd.Timedelta(hours=1))
        except ValueError:
            number = _long(str(value))
        if not np.isnan(number):  # what pandas reads as "not a time" is not a duration either
            return number
    raise ArgumentError(
        f"{value!r} is not a duration", remedy="give hours as a number, or a string such as '20h' (s, min, h, d, w, y)"
    )


def mean_time(value: object) -> float:
    """A mean time in hours, from what `hours` takes or a failure rate; an `ArgumentError` when it is neither.

    ``2%AFR`` is annualised, 2 failures for every 100 devices and year; ``500FIT`` are failures in a billion
    device-hours.
    """
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return hours(value)
    rate, of = (float(match[1]), 1e9) if match[2] is None else (float(match[2]), 100.0 * HOURS_PER_YEAR)
    if not 0.0 < rate < np.inf:
        raise ArgumentError(
            f"{value!r} is not a failure rate", remedy="write 2%AFR or 500FIT, or a mean time as 20000h"
        )
    return of / rate


def rate_per_hour(text: str) -> float:
    """Events per hour of a text such as ``0.75 per day``, ``0.75/day`` or ``1 per 5 days``; else an `ArgumentError`."""
    match = _PER.fullmatch(text)
    try:
        if match is None:
            raise ArgumentError(f"{text!r} is not a rate")
        unit = HOURS_PER_YEAR if match[3] in _YEARS else unit_in_hours(match[3])
        return float(match[1] or 1.0) / (float(match[2] or 1.0) * unit)
    except (ArgumentError, ZeroDivisionError):
        remedy = "write '0.0125 per day', '0.0125/day' or '1 per 80 days'"
        raise ArgumentError(f"{text!r} is not a rate", remedy=remedy) from None


def quantity(value: object) -> tuple[float, str]:
    """A duration in hours or a rate per hour, with its unit (``h`` or ``per h``)."""
    with suppress(ArgumentError):
        return rate_per_hour(str(value)), "per h"
    return hours(value), "h"


def _long(text: str) -> float:
    """Hours of one number and its unit, such as an MTBF of more than the 292 years that pandas reaches; else NaN."""
    parts = _LONG.fullmatch(text)
    if parts is None:
        return np.nan
    try:
        return float(parts[1]) * (HOURS_PER_YEAR if parts[2] in _YEARS else unit_in_hours(parts[2]))
    except ArgumentError:
        return np.nan


def instant(value: Any, timezone: str = "UTC") -> pd.Timestamp:
    """An instant in UTC, local to `timezone` where it names no zone; an `ArgumentError` when pandas cannot read it."""
    try:
        zone = ZoneInfo(timezone)
    except (KeyError, ValueError, OSError) as error:  # an unknown name, a malformed one, a folder of zones
        raise ArgumentError(
            f"unknown time zone {timezone!r}", remedy="use a name such as UTC or America/Denver"
        ) from error
    try:
        stamp = pd.Timestamp(value)
        if pd.isna(stamp):
            raise ValueError
        if stamp.tzinfo is None:
            stamp = stamp.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
        return stamp.tz_convert("UTC").as_unit("ns")
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(
            f"{value!r} is not a date or time", remedy="write it as 2003-04-01 or 2003-04-01 13:30"
        ) from error


def nanoseconds(times: pd.Series) -> npt.NDArray[np.int64]:
    """Instants with a time zone as nanoseconds since 1970 (UTC); NaT is the smallest integer."""
    stamps = times if times.dtype == "datetime64[ns, UTC]" else times.dt.tz_convert("UTC").astype("datetime64[ns, UTC]")
    return np.asarray(stamps.astype("int64"), dtype=np.int64)
