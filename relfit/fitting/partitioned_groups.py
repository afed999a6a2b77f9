"""Which group a row belongs to, as a number that is the same everywhere; and that no group lies in two partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["KEY", "PART", "ROW", "key_hash", "mark", "number_of", "on_each", "plain", "refuse_split"]

KEY, PART, ROW = "_relfit_key", "_relfit_part", "_relfit_row"
_MISSING = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(1_099_511_628_211)


def key_hash(frame: pd.DataFrame, keys: list[str]) -> npt.NDArray[np.int64]:
    """A number for each row; rows whose keys pandas would group together have the same, whatever their type.

    Examples
    --------
    >>> one = key_hash(pd.DataFrame({"node": [0.0, 7.0]}), ["node"])
    >>> two = key_hash(pd.DataFrame({"node": pd.Series([-0.0, 7], dtype=object)}), ["node"])
    >>> bool((one == two).all())
    True
    """
    total = np.zeros(len(frame), dtype=np.uint64)
    for key in keys:
        codes, values = pd.factorize(frame[key], use_na_sentinel=True)
        hashes = _hashes(values)
        own = np.append(hashes, _MISSING)[codes]
        with np.errstate(over="ignore"):
            total = total * _FACTOR ^ own
    return total.view(np.int64)


def _hashes(values: Any) -> npt.NDArray[np.uint64]:
    """Hashes of distinct values: numbers by their value, everything else by its text."""
    distinct = pd.Series(pd.Index(values).astype(object) if isinstance(values, pd.CategoricalIndex) else values)
    if pd.api.types.is_numeric_dtype(distinct.dtype):
        numbers = distinct.to_numpy(dtype=np.float64) + 0.0  # no negative zero
        return pd.util.hash_array(numbers).astype(np.uint64)
    text = np.array([_text(value) for value in distinct], dtype=object)
    hashed = pd.util.hash_array(text, categorize=False).astype(np.uint64) if len(text) else np.empty(0, np.uint64)
    numeric = np.array([isinstance(value, (int, float, np.number, np.bool_)) for value in distinct], dtype=bool)
    if numeric.any():
        hashed[numeric] = pd.util.hash_array(distinct.to_numpy()[numeric].astype(np.float64) + 0.0)
    return hashed


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, pd.Timestamp) else str(value)


def plain(label: Any) -> Any:
    """A key as Python's own value, for messages.

    Examples
    --------
    >>> plain(np.int64(2)), plain(("a", np.int64(2)))
    (2, ('a', 2))
    """
    if isinstance(label, tuple):
        return tuple(plain(part) for part in label)
    return label.item() if isinstance(label, np.generic) else label


def on_each(frame: DataFrame, work: Callable[..., pd.DataFrame], *arguments: Any, meta: pd.DataFrame) -> DataFrame:
    """``work(partition, its number as a table, *arguments)`` on every partition.

    Dask's own ``partition_info`` counts anew when somebody asks for some of the partitions only.
    """
    from dask.dataframe import from_map

    count = int(frame.npartitions)
    places = from_map(_place, range(count), meta=_place(0).iloc[:0])
    return frame.map_partitions(
        work, places, *arguments, meta=meta, align_dataframes=False, enforce_metadata=False, transform_divisions=False
    )


def _place(number: int) -> pd.DataFrame:
    return pd.DataFrame({PART: np.array([number], dtype=np.int64)})


def number_of(place: pd.DataFrame | None) -> int:
    """The number of a partition; zero where Dask asks for the columns only."""
    return 0 if place is None or not len(place) else int(place[PART].iloc[0])


def mark(part: pd.DataFrame, place: pd.DataFrame | None, keys: list[str]) -> pd.DataFrame:
    """Add the number of each row's group, and where the row was, so that a shuffle does not lose the order."""
    number = number_of(place)
    marked = part.copy()
    marked[KEY], marked[PART], marked[ROW] = (
        key_hash(part, keys),
        np.int64(number),
        np.arange(len(part), dtype=np.int64),
    )
    return marked


def refuse_split(keys_only: DataFrame, keys: list[str]) -> None:
    """Read all keys, and raise if a group lies in two partitions.

    Parameters
    ----------
    keys_only : dask.dataframe.DataFrame
        The columns `keys`.
    keys : list of str

    Raises
    ------
    ArgumentError
        It names the group and the partitions.
    """
    meta = pd.DataFrame({KEY: np.empty(0, np.int64), PART: np.empty(0, np.int64)})
    held = on_each(keys_only, _distinct, keys, meta=meta).compute()
    doubtful = held.loc[held[KEY].duplicated(), KEY].unique()
    if not doubtful.size:
        return
    # equal numbers can be an accident: look at the groups themselves
    marked = on_each(keys_only, _rows_of, keys, doubtful, meta=mark(keys_only._meta, None, keys))
    rows = marked.compute().drop_duplicates([*keys, PART])
    places = rows.groupby(keys, dropna=False, observed=True, sort=False)[PART].agg(list)
    split = places[places.map(len) > 1]
    if len(split):
        raise ArgumentError(
            f"group {plain(split.index[0])!r} lies in partitions {', '.join(map(str, sorted(split.iloc[0])))} "
            f"({len(split)} such groups in all)",
            remedy="leave out partitioned_by_group, so that rows are shuffled",
        )


def _distinct(part: pd.DataFrame, place: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return mark(part, place, keys)[[KEY, PART]].drop_duplicates()


def _rows_of(part: pd.DataFrame, place: pd.DataFrame, keys: list[str], wanted: npt.NDArray[np.int64]) -> pd.DataFrame:
    marked = mark(part, place, keys)
    return marked[marked[KEY].isin(wanted)].drop_duplicates([KEY, *keys])
