"""Checks of arguments, with their names in the errors: durations, shares and counts, single or in arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.units import hours


def durations(name: str, value: object, *, zero: bool = True, infinite: bool = False) -> FloatArray:
    """Hours of one duration or an array: numbers of hours, timedeltas, texts as ``"5min"``; else an `ArgumentError`."""
    try:
        array = np.asarray(value, dtype=object if isinstance(value, (str, list, tuple)) else None)
        if array.dtype.kind in "iuf":
            values = array.astype(np.float64)
        else:
            each = array.ravel()  # as a list, timedelta64 would become whole numbers
            values = np.asarray([hours(one) for one in each], dtype=np.float64).reshape(array.shape)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error.what}", remedy=error.remedy) from None
    return _checked(name, values, zero=zero, infinite=infinite, unit=" hours")


def positive(name: str, value: object, *, zero: bool = False) -> FloatArray:
    """Numbers above zero (or at zero, where allowed); an `ArgumentError` for anything else."""
    return _checked(name, _numbers(name, value), zero=zero, infinite=False, unit="")


def share(name: str, value: object, *, zero: bool = True, one: bool = True) -> FloatArray:
    """Numbers between 0 and 1; an `ArgumentError` for others, or for an end that is not allowed."""
    values = _numbers(name, value)
    bad = ~((values >= 0.0) & (values <= 1.0)) | ((values == 0.0) & (not zero)) | ((values == 1.0) & (not one))
    if bad.any():
        first = float(values[bad].ravel()[0])
        below = "between 0 and 1, below 1" if zero else "strictly between 0 and 1"
        ends = "between 0 and 1" if zero and one else "above 0, at most 1" if one else below
        hint = f" (did you mean {first / 100:g}?)" if 2.0 <= first <= 100.0 else ""
        raise ArgumentError(f"{name} is {first:g}", remedy=f"it must lie {ends}{hint}")
    return values


def whole(name: str, value: object, least: int = 1) -> npt.NDArray[np.int64]:
    """Whole numbers of at least `least`; an `ArgumentError` for anything else."""
    values = _numbers(name, value)
    bad = ~((values >= least) & (values == np.floor(values)) & (values < 2.0**62))
    if bad.any():
        raise ArgumentError(
            f"{name} is {float(values[bad].ravel()[0]):g}", remedy=f"give a whole number of {least} or more"
        )
    return values.astype(np.int64)


def one_whole(name: str, value: object, least: int = 1) -> int:
    """One whole number of at least `least`; an `ArgumentError` for anything else."""
    values = whole(name, value, least)
    if values.size != 1:
        raise ArgumentError(f"{name} has {values.size} values", remedy="give one whole number")
    return int(values.item())


def random_stream(rng: object) -> np.random.Generator:
    """The generator of a seed, or `rng` itself where it is one; an `ArgumentError` for what is no seed."""
    try:
        return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        remedy = "give a whole number of 0 or more, or a numpy.random.Generator"
        raise ArgumentError(f"rng is {rng!r}", remedy=remedy) from None


def cases(**arrays: FloatArray) -> tuple[FloatArray, ...]:
    """The arrays broadcast against each other; an `ArgumentError` when their shapes do not go together."""
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in arrays.items())
        raise ArgumentError(f"cases do not go together: {shapes}", remedy="shapes must broadcast") from None


def _numbers(name: str, value: object) -> FloatArray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {value!r}", remedy="give a number") from None


def _checked(name: str, values: FloatArray, *, zero: bool, infinite: bool, unit: str) -> FloatArray:
    bad = ~(values >= 0.0) | ((values == 0.0) & (not zero)) | (np.isinf(values) & (not infinite))
    if bad.any():
        first = float(values[bad].ravel()[0])
        wanted = "it must not be below zero" if zero else "it must be above zero"
        if np.isinf(first) or np.isnan(first):
            wanted = "it must be finite"
        raise ArgumentError(f"{name} is {first:g}{unit}", remedy=wanted)
    return values
