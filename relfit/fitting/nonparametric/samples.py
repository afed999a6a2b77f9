"""Durations in arrays, lists, Series or logs as `LifeData`; errors say which shape does not fit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.text import count
from relfit.log.lifechecks import FURTHER, aligned, as_column, as_flags, named_columns
from relfit.log.lifedata import LifeData

_FORMS = "give an array of hours, a table, or a log as read by rf.read('log.csv')"


def lives_of(
    data: object,
    observed: npt.ArrayLike | None = None,
    entry: npt.ArrayLike | None = None,
    by: npt.ArrayLike | None = None,
    **columns: str,
) -> LifeData:
    """`LifeData` from any form of durations: `LifeData`, a log, a table, a mapping, or an array with flags and groups.

    Of a table, `observed`, `entry`, `by` and `columns` name columns, as for `LifeData.from_frame`; with `cause`, the
    column of the cause of each failure, there is a group for every group and cause. A `DataError` for arrays whose
    shapes do not fit, flags that are neither true nor false, a duration without a group, and no duration at all. An
    `ArgumentError` for `observed`, `entry` or `by` beside data that have their own, and columns of what is no table.
    """
    beside = {
        name: value for name, value in (("observed", observed), ("entry", entry), ("by", by)) if value is not None
    }
    data = data.to_pandas() if hasattr(data, "to_pandas") else data  # of Polars and Arrow
    if isinstance(data, (pd.DataFrame, Mapping)):
        return _of_table(data, beside, columns)
    if columns:
        raise _no_table(next(iter(columns)))
    lives: LifeData | None = data if isinstance(data, LifeData) else data.ttf() if hasattr(data, "ttf") else None
    if lives is not None:
        if beside:
            raise ArgumentError(
                f"{next(iter(beside))}= goes with an array of durations, not with a {type(data).__name__}",
                remedy="leave it out: the data have their own",
            )
        return lives
    if data is None or isinstance(data, (str, PurePath)):
        raise DataError(f"durations are {data!r}", remedy=_FORMS)
    beside = aligned(data, beside)
    observed, entry, by = (beside.get(name) for name in ("observed", "entry", "by"))
    values = as_column("durations", data)
    shape = values.shape
    if len(shape) not in (1, 2):
        raise DataError(
            f"durations have shape {shape}; expected one dimension (a sample) or two (a group in each row)",
            remedy="reshape them, or give by= for groups",
        )
    if not np.size(values):
        raise DataError("there are no durations", remedy="give one or more")
    for name, value in beside.items():
        if np.shape(value) != shape and not (name != "by" and np.shape(value) in ((), shape[1:])):
            raise DataError(f"{name} has shape {np.shape(value)}, durations have {shape}; they must agree")
    flags = None if observed is None else as_flags(observed)
    if by is None:
        return LifeData.from_array(values, flags, entry=entry)
    if len(shape) == 2:
        raise DataError("by= names the group of each duration, and a table of two dimensions has a group in each row")
    labels = np.asarray(by, dtype=object)
    all_have_a_group(pd.isna(labels))
    table = {"duration": values, "by": labels}
    table |= {} if flags is None else {"observed": np.broadcast_to(flags, shape)}
    table |= {} if entry is None else {"entry": np.broadcast_to(as_column("entry", entry), shape)}
    names = {name: name for name in ("observed", "entry") if name in table}
    lives = LifeData.from_frame(pd.DataFrame(table), "duration", by="by", **names)
    title = getattr(by, "name", None)  # of a Series
    return lives if title is None else replace(lives, groups=lives.groups.rename(title))


def all_have_a_group(missing: npt.NDArray[np.bool_]) -> None:
    """Raise a `DataError` where a duration has no group: it would be left out."""
    if missing.any():
        raise DataError(
            f"by= names no group for {count(int(missing.sum()), 'duration')}, first in row {int(missing.argmax())}",
            remedy="name their group, or leave such durations out",
        )


def _of_table(
    data: pd.DataFrame | Mapping[Hashable, npt.ArrayLike], beside: dict[str, Any], columns: dict[str, str]
) -> LifeData:
    if isinstance(data, pd.DataFrame):
        make = LifeData.from_frame if "cause" not in columns else _by_cause
        lives = make(data, **columns, **beside)
        if lives.notes:  # rows without a group
            by = beside["by"]
            all_have_a_group(data[[by] if isinstance(by, Hashable) else list(by)].isna().any(axis=1).to_numpy())
    elif columns:
        raise _no_table(next(iter(columns)))
    elif beside:
        remedy = "LifeData.from_groups(durations, observed) takes a mapping of each"
        raise ArgumentError(f"{next(iter(beside))}= goes with an array, not with a mapping", remedy=remedy)
    else:
        lives = LifeData.from_groups(data)
    if not lives.durations.size:
        raise DataError("there are no durations", remedy="give one or more")
    return lives


def _by_cause(
    data: pd.DataFrame, *, cause: str, observed: str | None = None, by: str | Sequence[str] = (), **columns: str
) -> LifeData:
    """Every life once for each cause: in its group only failures of that cause end a life, the others censor it."""
    alone = LifeData.from_frame(data, observed=observed, by=by, **columns)  # what is wrong is told of the table
    keys, named = named_columns(data, columns.get("duration", "duration"), by, {"observed": observed, **columns})
    observed = named.get("observed")
    if not isinstance(cause, Hashable) or cause not in data.columns:
        raise ArgumentError(f"no column {cause!r} in the table", remedy=f"it has {', '.join(map(str, data))}")
    if "upper" in columns or "exit" in columns:
        raise ArgumentError("cause= does not go with intervals or right truncation", remedy="leave one of them out")
    ended = data[cause].notna() if observed is None else data[observed].astype(bool)
    names = data[cause].astype(object).where(data[cause].notna(), "unknown").astype(str)
    flag, outer = f"ended by {cause}", keys or ["group"]
    one = data if keys else data.assign(group="all")
    parts = [one.assign(**{cause: each, flag: ended & (names == each)}) for each in sorted(names[ended].unique())]
    if not parts:
        raise DataError(f"the column {cause!r} names no cause of a failure", remedy="leave cause= out")
    lives = LifeData.from_frame(pd.concat(parts, ignore_index=True), **columns, observed=flag, by=[*outer, cause])
    return replace(lives, notes=alone.notes)


def group_and_cause(groups: pd.Index) -> tuple[pd.Index, pd.Index]:
    """The groups without the cause, and the cause of each, as text; an `ArgumentError` if there is no cause."""
    if groups.nlevels < 2:
        remedy = Remedy("take log.ttf(competing='cause'), or a table with cause='COLUMN'", "fit with --per cause")
        raise ArgumentError("the data are not by group and cause", remedy=remedy)
    outer: pd.Index = groups.droplevel([groups.nlevels - 1])  # type: ignore[list-item]
    return outer, groups.get_level_values(-1).astype(str)


def _no_table(name: str) -> ArgumentError:
    """The error of an argument that only a table could have."""
    if name in ("duration", "cause", *FURTHER):
        other = {"duration": "leave it out", "cause": "put durations and causes in one"}
        remedy = other.get(name, f"rf.LifeData.from_array takes {name}= as an array")
        return ArgumentError(f"{name}= names a column of a table, and the durations are not a table", remedy=remedy)
    near = ["observed"] if "event" in name else get_close_matches(name, ["observed", "entry", "by"], n=1)
    return ArgumentError(
        f"no argument {name!r}", remedy=f"did you mean {near[0]}=?" if near else "use observed=, entry= or by="
    )
