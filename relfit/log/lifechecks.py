"""The checks of durations, truncation and weights that every `LifeData` passes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.hours_of_arrays import hours_of_array

Groups: TypeAlias = Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike]
"""An array for each group: by its label, or in sequence."""

FURTHER = ("upper", "entry", "exit", "weights", "limit", "stationary")
_STANDARD = ("observed", "entry", "weights")
_FLAGS = "say what ended with rf.LifeData.from_array(durations, observed), or give a table"
_REMEDY = "leave such rows out or correct them before fitting"


def checked(lives: Any) -> dict[str, Any]:
    """The arrays of a `LifeData`, None where they say nothing; a `DataError` as `LifeData` describes."""
    lengths, entry, leave, limit = lives.durations, lives.entry, lives.exit, lives.limit

    def reject(bad: BoolArray, what: str, values: tuple[FloatArray, ...], why: str, remedy: str = _REMEDY) -> None:
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        group = int(np.searchsorted(lives.offsets, row, side="right")) - 1
        named = what.format(*(float(value[row]) for value in values))
        where = f"group {lives.groups[group]!r}, row {row - int(lives.offsets[group])}"
        raise DataError(f"{named} in {where}, {why} ({int(bad.sum())} such in all)", remedy=remedy)

    bad = ~(lengths >= 0.0) | np.isinf(lengths)
    reject(bad, "duration {}", (lengths,), "is not a finite number of hours that is zero or more")
    ends = np.where(lives.observed, lengths, np.inf if lives.upper is None else lives.upper)
    reject(~(ends >= lengths), "interval from {} to {}", (lengths, ends), "has its ends exchanged or one missing")
    observed = lives.observed | (ends == lengths)
    arrays: dict[str, Any] = {"observed": observed}
    arrays["upper"] = ends if np.any(~observed & (ends < np.inf)) else None
    if entry is not None:
        reject(
            ~(entry >= 0.0) | (entry > lengths),
            "left truncation at {}",
            (entry,),
            "is negative, missing or after the end of its life",
            "an entry is the age at which the life came under observation, not after its end",
        )
        arrays["entry"] = entry if np.any(entry > 0.0) else None
    if leave is not None:
        reject(
            ~(leave >= ends) | ~(leave > 0.0),
            "right truncation at {}",
            (leave,),
            "is before the end of its life, or its life has no end",
            "a life that is here only because it ended by then has a failure time or an interval up to then",
        )
        arrays["exit"] = leave if np.any(leave < np.inf) else None
    if lives.stationary is not None:
        late = (0.0 if entry is None else entry) > 0.0
        cut = np.isfinite(np.inf if leave is None else leave) | (~observed & (ends < np.inf))
        reject(
            lives.stationary & (late | cut),
            "stationary life of {}",
            (lengths,),
            "is truncated or ended in an interval as well",
            "a duration in progress at an unknown age is observed or right-censored and runs from when it was seen",
        )
        arrays["stationary"] = lives.stationary if lives.stationary.any() else None
    if limit is not None:
        reject(~(limit >= lengths), "limit of observation {}", (limit,), "is missing or before the end of its life")
        arrays["limit"] = np.where(~observed & np.isinf(ends), lengths, limit)
    if lives.weights is not None:
        weights: FloatArray = np.asarray(lives.weights, dtype=np.float64)
        bad = ~(weights >= 0.0) | (weights != np.floor(weights)) | (weights > 2**53)
        reject(bad, "weight {:g}", (weights,), "is not a whole number that is zero or more")
        arrays["weights"] = weights.astype(np.int64) if np.any(weights != 1.0) else None
    return arrays


def known_names(further: Mapping[str, object]) -> Mapping[str, Any]:
    """`further` itself; an `ArgumentError` if it names what a `LifeData` does not have."""
    unknown = [name for name in further if name not in FURTHER]
    if unknown:
        raise ArgumentError(f"no argument {unknown[0]!r}", remedy=f"use one of {', '.join(FURTHER)}")
    return further


def named_columns(
    frame: pd.DataFrame, duration: object, by: object, named: Mapping[str, object]
) -> tuple[list[Any], dict[str, Any]]:
    """Columns that name the group, and those of `named` by what they hold; an `ArgumentError` for what is no column."""
    keys = list(by) if isinstance(by, (Sequence, pd.Index)) and not isinstance(by, str) else [by]
    for name, column in [("duration", duration), *(("by", key) for key in keys), *named.items()]:
        if not isinstance(column, Hashable):
            what = f"{name}= names a column of the table, and is a {type(column).__name__}"
            raise ArgumentError(what, remedy=f"add it as a column, table.assign({name}=...), and give its name")
        if column is not None and column not in frame.columns:
            raise ArgumentError(f"no column {column!r} in the table", remedy=f"it has {', '.join(map(str, frame))}")
    given = {name: column for name, column in named.items() if column is not None}
    taken = [duration, *keys, *given.values()]
    return keys, {name: name for name in _STANDARD if name in frame.columns and name not in taken} | given


def aligned(durations: object, beside: Mapping[str, object]) -> dict[str, Any]:
    """What is given beside durations, Series in their order of labels; an `ArgumentError` where labels do not fit."""
    given: dict[str, Any] = {"durations": durations, **beside}
    series = {name: values for name, values in given.items() if isinstance(values, pd.Series)}
    for first in list(series)[:1]:
        index = series[first].index
        for name, values in series.items():
            if values.index.equals(index) or len(values) != len(index):  # their shapes are checked later
                continue
            if first != "durations" or not (index.is_unique and index.isin(values.index).all()):
                remedy = "give Series with one index, or arrays, which go by position: series.to_numpy()"
                raise ArgumentError(f"{first} and {name} are Series with different labels", remedy=remedy)
            given[name] = values.loc[index]
    return {name: given[name] for name in beside}


def parts_of(
    name: str, values: Groups, labels: list[object], by_label: bool, beside: Groups | None = None
) -> list[FloatArray]:
    """One flat array per group; Series in the order of those of `beside`."""
    if isinstance(values, Mapping) != by_label:
        raise ArgumentError(f"durations {'by label' if by_label else 'in sequence'} need {name} given alike")
    if isinstance(values, Mapping):
        missing = [label for label in labels if label not in values]
        if missing:
            raise ArgumentError(f"{name} has no entry for group {missing[0]!r}")
        values = [values[label] for label in labels]
    if len(values) != len(labels):
        raise DataError(f"{name} has {len(values)} groups, the durations have {len(labels)}")
    if beside is not None:
        values = [aligned(beside[j], {name: part})[name] for j, part in zip(labels, values, strict=True)]  # type: ignore[call-overload]
    return [as_column(name, part).ravel() for part in values]


def as_column(name: str, values: object) -> npt.NDArray[Any]:
    """An array for a `LifeData`: ages in hours, flags and weights as they are; a `DataError` for masked ones."""
    if name not in ("observed", "stationary", "weights"):
        return hours_of_array(name, values)
    if np.ma.is_masked(values):
        raise DataError(f"{name} has masked values", remedy="leave such rows out")
    return np.asarray(values)


def reject_columns(names: Collection[object]) -> None:
    """Reject a mapping whose names are those of columns, where each name should be that of a group."""
    beside = [name for name in ("observed", "censored", *FURTHER) if name in names]
    if beside and not {"duration", "durations"}.isdisjoint(names):
        raise ArgumentError(f"{beside[0]!r} would be a group of durations, as every name is", remedy=_FLAGS)


def as_flags(observed: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Flags of observed failures: true and false, 1 and 0, or the words (Dask's text); a `DataError` for others."""
    values = as_column("observed", observed)
    numbers = values
    if values.dtype.kind not in "biuf":
        cells = pd.Series(values.ravel(), dtype=object)
        words = cells.isin(["True", "False"])
        numbers = pd.to_numeric(cells.mask(words, cells == "True"), errors="coerce").to_numpy()
    if (bad := ~np.isin(numbers, (0, 1))).any():
        row = int(np.flatnonzero(bad)[0])
        value = values.ravel().tolist()[row]
        missing, word = "leave out lives without a flag", f"observed == {value!r} does so for a word"
        more = word if isinstance(value, str) else missing
        raise DataError(
            f"observed holds more than true and false: {value!r} in row {row} ({int(bad.sum())} such in all)",
            remedy=f"give True or 1 for a failure, False or 0 for a unit that still runs; {more}",
        )
    return np.asarray(numbers, dtype=np.bool_).reshape(values.shape)
