"""`fit_partitioned`: the fits of `relfit.fit` for a Dask DataFrame that is larger than one machine's memory.

Every group is brought into one partition, every partition is fitted by `relfit.fit` where it lies, and only what is
asked for comes back. Dask is an extra (``relfit[dask]``) and is imported by whoever hands in its DataFrame.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.errors import ArgumentError, DataError
from relfit.families import CORE
from relfit.fitting.partitioned_fits import COMPARED, PartitionedFits
from relfit.fitting.partitioned_groups import KEY, PART, ROW, mark, number_of, on_each, plain, refuse_split
from relfit.lifedata import LifeData

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["PartitionedFits", "fit_partitioned", "is_dask"]


def is_dask(value: Any) -> bool:
    """Whether `value` is a Dask DataFrame, found out without importing Dask.

    Examples
    --------
    >>> is_dask(pd.DataFrame())
    False
    """
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(value, "map_partitions")


def fit_partitioned(
    frame: DataFrame,
    families: Sequence[str] | str = CORE,
    *,
    duration: str = "duration",
    observed: str | None = None,
    by: str | Sequence[str] = (),
    upper: str | None = None,
    entry: str | None = None,
    exit: str | None = None,
    weights: str | None = None,
    level: float = 0.95,
    partitioned_by_group: bool = False,
    npartitions: int | None = None,
    bootstrap: int | str = 0,
    rng: int | np.random.Generator | None = 0,
    workers: int | None = 1,
    **options: Any,
) -> PartitionedFits:
    """Fit families to every group of a Dask DataFrame; the numbers are those of `relfit.fit` on the whole table.

    Rows are shuffled so that each group lies in one partition, in the order they had. No shuffle is needed where the
    index is one of the keys and its divisions are known (each partition then checks that it holds its division only),
    where there is one partition, or with `partitioned_by_group`.

    Nothing is fitted until the result is asked for numbers.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        A row a life.
    families : str or sequence of str
        As for `relfit.fit`.
    duration, observed, upper, entry, exit, weights : str
        Columns, as for `LifeData.from_frame`; durations in hours.
    by : str or sequence of str
        Columns that name the group, at least one.
    level : float
        Level of the intervals.
    partitioned_by_group : bool
        Take it that no group lies in two partitions. The keys are read once, now, to verify that.
    npartitions : int, optional
        Partitions to fit; as many as `frame` has when left out.
    bootstrap : int
        Replications behind p-values that no table gives. Their streams are drawn by partition, so these p-values (and
        nothing else) depend on how the rows are partitioned; the default, as ``"auto"``, draws none and leaves them
        missing, with ``p_source`` saying so.
    rng : int or numpy.random.Generator, optional
        Of the bootstrap.
    workers : int, optional
        Threads within a partition; Dask works on several partitions at once.
    **options
        Further options of `relfit.fit`, such as ``method``.

    Returns
    -------
    PartitionedFits

    Raises
    ------
    ArgumentError
        For a column that is not there, no key, an unknown family, or a group that lies in two partitions although
        `partitioned_by_group` says it does not. Lives that cannot be are a `DataError` when their partition is fitted.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> table = pd.DataFrame({"node": [1, 2] * 20, "hours": range(1, 41)})
    >>> fits = fit_partitioned(dd.from_pandas(table, npartitions=3), "weibull", duration="hours", by="node")
    >>> fits.compute()[["node", "status", "failures"]].values.tolist()
    [[1, 'ok', 20], [2, 'ok', 20]]
    """
    if not is_dask(frame):
        raise ArgumentError(
            f"{type(frame).__name__} is no Dask DataFrame", remedy="use relfit.fit, or dask.dataframe.from_pandas"
        )
    keys = [by] if isinstance(by, str) else list(by)
    if not keys:
        raise ArgumentError("no column to group by", remedy="name the groups' columns, as in by=['system', 'node']")
    if npartitions is not None and npartitions < 1:
        raise ArgumentError(f"npartitions={npartitions} is below one")
    columns = {
        "duration": duration,
        "observed": observed,
        "upper": upper,
        "entry": entry,
        "exit": exit,
        "weights": weights,
    }
    index = frame.index.name
    divided = index in keys and index not in frame.columns
    wanted = [name for name in (*keys, *columns.values()) if name is not None]
    for name in wanted:
        if name not in frame.columns and not (divided and name == index):
            raise ArgumentError(
                f"no column {name!r} in the table", remedy=f"it has {', '.join(map(str, frame.columns))}"
            )
    if divided and not (frame.known_divisions and _rising(frame.divisions)):
        frame, divided = frame.reset_index(), False
    chosen = frame[[name for name in dict.fromkeys(wanted) if name in frame.columns]]
    settings = {"families": families, "level": level, "workers": workers, **options}
    example = _fit_example(chosen, keys, columns, index if divided else None, settings)

    divisions: tuple[Any, ...] | None = None
    if partitioned_by_group:
        refuse_split(chosen.reset_index()[keys] if divided else chosen[keys], keys)
        chosen = _merged(chosen, npartitions)
    elif divided:
        chosen = _merged(chosen, npartitions)
        divisions = tuple(chosen.divisions)
    elif chosen.npartitions > 1 or (npartitions or 1) > 1:
        marked = on_each(chosen, mark, keys, meta=mark(chosen._meta, None, keys))
        chosen = marked.shuffle(on=KEY, npartitions=npartitions or chosen.npartitions)
    seed = rng if isinstance(rng, int) else int(np.random.default_rng(rng).integers(2**62))
    results = on_each(
        chosen,
        _fit_partition,
        keys,
        columns,
        {**settings, "bootstrap": 0 if bootstrap == "auto" else bootstrap},
        seed,
        divisions,
        example.iloc[:0],
        meta=example.iloc[:0],
    ).clear_divisions()
    names = tuple(dict.fromkeys(example["family"]))
    return PartitionedFits(results, tuple(keys), names, level)


def _rising(divisions: Sequence[Any]) -> bool:
    return len(divisions) == 2 or all(a < b for a, b in pairwise(divisions))


def _merged(frame: DataFrame, npartitions: int | None) -> DataFrame:
    """Fewer partitions, none of them split."""
    if npartitions is None or npartitions == frame.npartitions:
        return frame
    if npartitions > frame.npartitions:
        raise ArgumentError(
            f"the table has {frame.npartitions} partitions; {npartitions} would split groups",
            remedy="leave out partitioned_by_group or the index, so that rows are shuffled",
        )
    return frame.repartition(npartitions=npartitions)  # joins neighbours


def _fit_example(
    frame: DataFrame, keys: list[str], columns: dict[str, str | None], index: str | None, settings: dict[str, Any]
) -> pd.DataFrame:
    """The result for a made-up group: what columns there are, and whether the options can be."""
    row = frame._meta_nonempty.head(1)
    row = row.reset_index() if index is not None else row
    made = row.loc[row.index.repeat(8)].reset_index(drop=True)
    given = np.arange(1.0, 9.0)
    values = {
        "duration": given,
        "observed": np.array([True] * 6 + [False] * 2),
        "upper": np.where(given < 7, given, given + 5),
        "entry": given / 10.0,
        "exit": np.where(given < 7, 100.0, np.inf),
        "weights": np.full(8, 2),
    }
    if columns["observed"] is None and columns["upper"] is None:
        values["exit"] = np.full(8, 100.0)
    if columns["upper"] is not None:
        values["exit"] = np.full(8, 100.0)
    elif columns["exit"] is not None and columns["observed"] is not None:
        values["observed"] = np.ones(8, dtype=bool)
        values["exit"] = np.full(8, 100.0)
    for what, name in columns.items():
        if name is not None:
            made[name] = values[what]
    return _fitted(made, keys, columns, {**settings, "bootstrap": 0, "rng": 0})


def _fit_partition(
    part: pd.DataFrame,
    place: pd.DataFrame,
    keys: list[str],
    columns: dict[str, str | None],
    settings: dict[str, Any],
    seed: int,
    divisions: tuple[Any, ...] | None,
    empty: pd.DataFrame,
) -> pd.DataFrame:
    """What Dask runs on each partition."""
    number = number_of(place)
    if divisions is not None:
        _reject_strangers(part.index, divisions, number)
        part = part.reset_index()
    if not len(part):
        return empty.astype({key: part[key].dtype for key in keys})
    if ROW in part.columns:
        part = part.sort_values([PART, ROW]).drop(columns=[KEY, PART, ROW])
    return _fitted(part, keys, columns, {**settings, "rng": np.random.default_rng([seed, number])}, empty)


def _fitted(
    part: pd.DataFrame,
    keys: list[str],
    columns: dict[str, str | None],
    settings: dict[str, Any],
    like: pd.DataFrame | None = None,
) -> pd.DataFrame:
    from relfit.fitting.maximum_likelihood import fit  # which calls this module for a Dask DataFrame

    observed = columns["observed"]
    if observed is not None and part[observed].isna().any():
        row = [plain(value) for value in part.loc[part[observed].isna(), keys].iloc[0]]
        raise DataError(
            f"{observed!r} is missing in group {row[0] if len(row) == 1 else tuple(row)!r}",
            remedy="say whether the life ended, or leave it out",
        )
    lives = LifeData.from_frame(part, by=keys, **columns)  # type: ignore[arg-type]
    fits = fit(lives, **settings)
    table = fits.to_frame()
    table[COMPARED] = np.stack([result.ks for result in fits.results.values()], axis=1).ravel()
    return table if like is None else table.reindex(columns=like.columns)


def _reject_strangers(index: pd.Index, divisions: tuple[Any, ...], number: int) -> None:
    """Each partition within its own division: together that keeps every group in one partition."""
    if not len(index):
        return
    low, high, last = divisions[number], divisions[number + 1], number == len(divisions) - 2
    least, most = index.min(), index.max()
    if index.isna().any() or least < low or most > high or (most == high and not last):
        raise DataError(
            f"partition {number} holds {index.name} from {plain(least)!r} to {plain(most)!r}, "
            f"outside its division {plain(low)!r} to {plain(high)!r}",
            remedy="a group could lie in two partitions; use reset_index() to have the rows shuffled",
        )
