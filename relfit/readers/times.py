"""Columns of text as instants, durations and flags, each with a mark for what could not be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError

__all__ = ["durations", "flags", "instants"]

_UTC: Any = "datetime64[ns, UTC]"
_TRUE = ("true", "t", "yes", "y", "1", "1.0")
_FALSE = ("false", "f", "no", "n", "0", "0.0")
_UNITS = {"unix": 1.0, "unix_ms": 1e-3}
_LARGEST = 9.2e9  # seconds; the year 2261, where nanoseconds end


def instants(
    values: npt.NDArray[np.object_], zone: str, time_format: str | None = None
) -> tuple[pd.Series, npt.NDArray[np.bool_]]:
    """Instants in UTC, and where there is none.

    Numbers are Unix times, in seconds, or in milliseconds above 1e11; anything else is read by pandas. In the hour that
    comes twice a year the first is meant, and a time in the hour that is left out moves to its end.

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
        factor = _UNITS.get(time_format or "", 1e-3 if np.nanmedian(np.abs(numbers)) > 1e11 else 1.0)
        seconds = numbers * factor
        usable = np.isfinite(seconds) & (np.abs(seconds) < _LARGEST)
        whole = np.floor(np.where(usable, seconds, 0.0))
        nanoseconds = whole.astype(np.int64) * 1_000_000_000
        nanoseconds += np.round((np.where(usable, seconds, 0.0) - whole) * 1e6).astype(np.int64) * 1000
        stamps = pd.Series(nanoseconds.view("datetime64[ns]")).dt.tz_localize("UTC").astype(_UTC)
        return stamps.where(pd.Series(usable)), ~usable
    try:
        carries_zone = bool(text[filled].astype(str).str.contains(r"(?:Z|[+-]\d\d:?\d\d)$").any())
        parsed = pd.to_datetime(text.where(filled), format=time_format or "mixed", errors="coerce", utc=carries_zone)
    except ValueError as error:
        raise ArgumentError(
            f"time_format {time_format!r}: {error}", remedy="use codes such as %d.%m.%Y %H:%M"
        ) from None
    if carries_zone:
        # times with a zone and times without may be mixed; only the latter are local
        bare = filled & ~text.astype(str).str.contains(r"(?:Z|[+-]\d\d:?\d\d)$")
        local = pd.to_datetime(text.where(bare), format=time_format or "mixed", errors="coerce")
        stamps = parsed.astype(_UTC).where(~bare, _localised(local, zone))
    else:
        stamps = _localised(parsed, zone)
    return stamps, stamps.isna().to_numpy()


def _epochs(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether numbers look like Unix times rather than years or days written without separators."""
    return bool(np.nanmedian(np.abs(numbers)) > 1e8)


def _localised(naive: pd.Series, zone: str) -> pd.Series:
    series = naive if naive.dtype.kind == "M" else pd.Series(pd.NaT, index=naive.index, dtype="datetime64[ns]")
    first = np.ones(len(series), dtype=bool)
    return series.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward").dt.tz_convert("UTC").astype(_UTC)


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
