"""Fits of a Dask DataFrame that is larger than one machine's memory: a map over partitions that hold whole groups.

Dask is an extra (``relfit[dask]``) and is imported by whoever hands in its DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from dask.dataframe import DataFrame


def is_dask(value: object) -> TypeGuard[DataFrame]:
    """Whether `value` is a Dask DataFrame, without importing Dask.

    Examples
    --------
    >>> is_dask(pd.DataFrame())
    False
    """
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(value, "map_partitions")


def fit_partitions(
    frame: DataFrame,
    summary: Callable[..., pd.DataFrame],
    *,
    by: str | Sequence[str],
    partitioned_by_group: bool = False,
    **options: object,
) -> DataFrame:
    """Summaries of the fits of every group, partition by partition, lazily; `relfit.fit` documents it.

    An `ArgumentError` for a column that is not there, no key, an option that `relfit.fit` does not take, or a group
    that lies in two partitions although it should not.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        One row per duration.
    summary : callable
        The summary of the fits of a pandas table, for ``by`` and the options.
    by : str or sequence of str
        Columns that name the group, at least one.
    partitioned_by_group : bool
        Whether no group lies in two partitions; the keys are read once to verify it. Otherwise rows are shuffled by
        their keys.
    **options
        Of `relfit.fit`.
    """
    keys = [by] if isinstance(by, str) else list(by)
    if not keys:
        raise ArgumentError("no column to group by", remedy="give by=, the columns that name the group")
    example = _fitted(frame._meta, summary, keys, options)
    if partitioned_by_group:
        _reject_split(frame, keys)
    elif frame.npartitions > 1:
        frame = frame.shuffle(on=keys)
    return frame.map_partitions(_fitted, summary, keys, options, meta=example).clear_divisions()


def _fitted(
    part: pd.DataFrame, summary: Callable[..., pd.DataFrame], keys: list[str], options: dict[str, object]
) -> pd.DataFrame:
    observed = options.get("observed")
    if observed in part.columns and part[observed].isna().any():
        group = part.loc[part[observed].isna(), keys].iloc[0].tolist()
        raise DataError(f"{observed!r} is missing in group {group[0] if len(group) == 1 else tuple(group)!r}")
    table = summary(part, by=keys, **options).reset_index()
    return table.astype({key: part[key].dtype for key in keys})


def _reject_split(frame: DataFrame, keys: list[str]) -> None:
    """Read all keys, and raise if a group lies in two partitions."""
    held = frame[keys].map_partitions(pd.DataFrame.drop_duplicates).compute()
    twice = held[held.duplicated().to_numpy()].drop_duplicates()
    if len(twice):
        group = tuple(value.item() if isinstance(value, np.generic) else value for value in twice.iloc[0])
        raise ArgumentError(
            f"group {group[0] if len(group) == 1 else group!r} lies in two partitions ({len(twice)} such in all)",
            remedy="leave out partitioned_by_group, so that rows are shuffled",
        )
