"""Arrays of durations in any form as hours: numbers, timedeltas, texts, with missing values as NaN."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.units import hours

_FORMS = "give hours as numbers, or timedeltas, or texts such as '20h'"
_FLAGS = "say what ended with rf.LifeData.from_array(durations, observed), or give a table"
_INSTANTS = "subtract when each began from when it ended"
_UNEQUAL = "give groups of unequal size as a mapping from name to array"


def hours_of_array(name: str, values: Any) -> FloatArray:
    """Hours from numbers, timedeltas or texts, shaped as `values`; NaN if missing; a `DataError` for no duration."""
    if isinstance(values, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(values), np.nan, hours_of_array(name, values.data))
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{name} are lists of unequal length", remedy=_UNEQUAL) from None
    kind = array.dtype.kind
    if kind in "iuf":
        return np.asarray(array, dtype=np.float64)
    if kind == "m":
        return np.asarray(array / np.timedelta64(1, "h"), dtype=np.float64)
    if kind == "b" and array.size:
        raise DataError(f"{name} are True or False", remedy=_FLAGS)
    if kind == "M":
        raise DataError(f"{name} are dates", remedy=_INSTANTS)
    if kind not in "bOUST":
        raise DataError(f"{name} are of type {array.dtype}", remedy=_FORMS)
    flat = [_hours_of(name, value) for value in array.ravel().tolist()]
    return np.asarray(flat, dtype=np.float64).reshape(array.shape)


def _hours_of(name: str, value: Any) -> float:
    if isinstance(value, (list, tuple, np.ndarray, pd.Series)):
        raise DataError(f"{name} are lists of unequal length", remedy=_UNEQUAL)
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return np.nan
    if hasattr(value, "month"):
        raise DataError(f"{name} are dates", remedy=_INSTANTS)
    if isinstance(value, (int, float, Decimal, Fraction, np.floating)) and not isinstance(value, bool):
        return float(value)
    try:
        return hours(value)
    except ArgumentError as error:
        remedy = error.remedy if isinstance(value, str) and any(each.isdigit() for each in value) else _FORMS
        hold = "hold" if name.endswith("s") else "holds"
        raise DataError(f"{name} {hold} {value!r}", remedy=remedy) from None
