"""Texts of times in common forms as texts that a table is read with: ISO 8601, and with a year."""

from __future__ import annotations

from typing import Any

import pandas as pd

_DAY = pd.Timedelta("1d")
_FORMATS = (
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%d-%m-%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M"),
    *("%d/%b/%y %I:%M %p", "%d/%b/%y %H:%M", "%d/%b/%Y %I:%M %p", "%d/%b/%Y %H:%M", "ISO8601"),
)


def texts_as_iso(texts: pd.Series, time_format: str | None) -> pd.Series:
    """Times in ISO 8601, by the first format that reads them all; else unchanged."""
    said = texts[texts != ""]
    for form in (time_format,) if time_format else _FORMATS:
        stamps: Any = pd.to_datetime(said, format=form, errors="coerce", utc=False)
        if stamps.notna().all() and pd.api.types.is_datetime64_any_dtype(stamps):
            return stamps.map(lambda stamp: stamp.isoformat()).reindex(texts.index).fillna("")
    return texts


def texts_with_year(stamps: pd.Series, changed: pd.Timestamp) -> pd.Series:
    """Stamps such as ``Jan  5 10:00:00`` with the last year in which they are not later than their file."""
    dated = (f"{year} " + stamps for year in (changed.year, changed.year - 1))
    this, last = (pd.to_datetime(each, format="%Y %b %d %H:%M:%S", errors="coerce") for each in dated)
    chosen = this.where(this <= changed + _DAY, last)
    return chosen.dt.strftime("%Y-%m-%d %H:%M:%S").fillna("no date")
