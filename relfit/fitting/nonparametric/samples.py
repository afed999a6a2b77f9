"""Durations in arrays, lists, Series or logs as `LifeData`; errors say which shape does not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.errors import ArgumentError, DataError
from relfit.base.text import count
from relfit.log.lifechecks import as_column
from relfit.log.lifedata import LifeData

__all__ = ["lives_of"]

_FORMS = "give an array of hours, a table, or a log as read by rf.read('log.csv')"


def lives_of(
    data: object,
    observed: npt.ArrayLike | None = None,
    entry: npt.ArrayLike | None = None,
    by: npt.ArrayLike | None = None,
) -> LifeData:
    """`LifeData` from any form of durations: `LifeData` itself, a log, or an array with flags, entry ages and groups.

    A `DataError` for arrays whose shapes do not fit, flags that are neither true nor false, a duration without a group,
    and no duration at all. An `ArgumentError` for `observed`, `entry` or `by` beside data that have their own.

    Examples
    --------
    >>> lives_of([5.0, 6.0], [True, False])
    LifeData: 2 durations in 1 group (1 observed, 1 censored, 0 of length zero), measure life
    >>> lives_of([5.0, 6.0, 7.0], by=["b", "a", "b"]).groups.tolist()
    ['a', 'b']
    """
    beside = {
        name: value for name, value in (("observed", observed), ("entry", entry), ("by", by)) if value is not None
    }
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
    flags = None if observed is None else _flags(observed)
    if by is None:
        return LifeData.from_array(values, flags, entry=entry)
    if len(shape) == 2:
        raise DataError("by= names the group of each duration, and a table of two dimensions has a group in each row")
    labels = np.asarray(by, dtype=object)
    if (missing := pd.isna(labels)).any():
        raise DataError(
            f"by= names no group for {count(int(missing.sum()), 'duration')}, first in row {int(missing.argmax())}",
            remedy="name their group, or leave such durations out",
        )
    table = {"duration": values, "by": labels}
    table |= {} if flags is None else {"observed": np.broadcast_to(flags, shape)}
    table |= {} if entry is None else {"entry": np.broadcast_to(as_column("entry", entry), shape)}
    names = {name: name for name in ("observed", "entry") if name in table}
    lives = LifeData.from_frame(pd.DataFrame(table), "duration", by="by", **names)
    title = getattr(by, "name", None)  # of a Series
    return lives if title is None else replace(lives, groups=lives.groups.rename(title))


def _flags(observed: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    values = as_column("observed", observed)
    numbers = values if values.dtype.kind in "biuf" else pd.to_numeric(pd.Series(values.ravel()), errors="coerce")
    if not np.isin(numbers, (0, 1)).all():
        raise DataError("observed holds more than true and false", remedy="1 or True for a failure, 0 or False if not")
    return np.asarray(numbers, dtype=np.bool_).reshape(values.shape)
