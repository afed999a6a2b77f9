"""`fit`: several distributions for every group of a batch at once, also of a table larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import random_stream
from relfit.base.arrays import Seed
from relfit.base.errors import ArgumentError, DataError
from relfit.base.numeric.batches import worker_number
from relfit.base.numeric.levels import level_checked
from relfit.fitting.estimators import method_named
from relfit.fitting.families import CORE, FAMILIES, family_named
from relfit.fitting.family_fit import FamilyFit
from relfit.fitting.fits import Fits
from relfit.fitting.goodness_of_fit import resamples_checked
from relfit.fitting.nonparametric.samples import all_have_a_group, lives_of
from relfit.log.lifedata import LifeData

if TYPE_CHECKING:
    from dask.dataframe import DataFrame


def fit(
    data: object,
    families: Sequence[str] | str = CORE,
    *,
    observed: npt.ArrayLike | None = None,
    entry: npt.ArrayLike | None = None,
    by: npt.ArrayLike | None = None,
    method: str = "ml",
    bias_correction: bool = False,
    level: float = 0.95,
    n_resamples: int | str = "auto",
    rng: Seed = 0,
    workers: int | None = None,
    **columns: Any,
) -> Fits:
    """Fit distributions to every group.

    A group without an estimate gets a status that says why (`relfit.fitting.status.MEANING`). Standard errors come from
    the observed information.

    Parameters
    ----------
    data : array_like, LifeData, FailureLog, mapping of arrays, pandas.DataFrame or dask.dataframe.DataFrame
        Durations in hours, or timedeltas, or texts such as ``"20h"``: a list, an array or a Series; in two dimensions
        each row is a group. A log stands for ``log.ttf()``. A table (also of Polars or Arrow) has its hours in the
        column ``duration``, and flags, ages of entry and weights in ``observed``, ``entry`` and ``weights`` if there
        are such columns, unless an argument names others.
    families : str or sequence of str
        Names of distributions; ``"core"`` for exponential, Weibull, gamma and lognormal, ``"all"`` for all.
    observed, entry, by : array_like, shape (n,), optional
        For an array: whether each duration ended in a failure (all by default), the age in hours at which it came under
        observation (left truncation), and its group; Series are matched by their labels. For a table: the columns with
        these.
    method : {"ml", "moments", "rank_y", "rank_x"}
        Maximum likelihood; matching moments (complete durations); rank regression on probability paper, of the plotting
        position on the duration (``rank_y``) or the duration on the position. All but the first are for core
        distributions and observed or right-censored durations.
    bias_correction : bool
        Correct the Weibull shape for its bias in small samples; see `relfit.fitting.bias_corrected_shape`.
    level : float
        Level of the intervals, between 0 and 1.
    n_resamples : int or "auto"
        Resamples for p-values without a table; see `FamilyFit.goodness`. They are drawn on first use; for a Dask table
        "auto" draws none.
    rng : int or numpy.random.Generator, optional
        For the bootstrap.
    workers : int, optional
        Threads; does not change the numbers.
    **columns
        For a table, the columns ``duration``, ``upper``, ``exit``, ``weights``, as for `LifeData.from_frame`; for a
        Dask table ``partitioned_by_group`` as well.

    Returns
    -------
    Fits
        One `FamilyFit` per family, each with one entry per group. For a Dask table a Dask DataFrame, not computed yet,
        with the groups' keys and the columns of `Fits.summary`; the numbers are the same as in memory.

    Raises
    ------
    ArgumentError
        For an unknown distribution, method or column, a level outside 0..1, or a group that lies in two partitions.
    DataError
        For invalid durations (see `LifeData`), or an array, a mapping or a table without durations.

    Examples
    --------
    >>> import relfit as rf
    >>> fits = rf.fit([100.0, 900.0, 4000.0, 8760.0], observed=[True, True, True, False])
    >>> round(float(fits["weibull"].parameters["shape"][0]), 4)
    0.5661
    """
    workers, n_resamples = worker_number(workers) if workers else None, resamples_checked(n_resamples)
    random_stream(rng)  # an error at once, also where nothing is drawn
    if is_dask(data):
        of_rows = {n: v for n, v in (("observed", observed), ("entry", entry), ("by", by)) if v is not None}
        resamples = 0 if n_resamples == "auto" else n_resamples
        how = partial(fit, families=families, method=method, bias_correction=bias_correction, level=level, rng=rng)
        how = partial(how, n_resamples=resamples, workers=workers or 1)
        return _fit_partitions(data, how, **{"by": (), **columns, **of_rows})  # type: ignore[return-value]
    data = lives_of(data, observed, entry, by, **columns)
    names = _names(families)
    level = level_checked(level)
    title, estimator = method_named(method, bias_correction)
    results: dict[str, FamilyFit] = {}
    for name in names:
        family = family_named(name)
        results[name] = FamilyFit(
            family, data, estimator(family, data, workers), level, title, estimator, n_resamples, rng
        )
    return Fits(data, results, level)


def _names(families: Sequence[str] | str) -> list[str]:
    if isinstance(families, str):
        names = {"core": list(CORE), "all": list(FAMILIES)}.get(families.strip().lower(), [families])
    elif not all(isinstance(name, str) for name in families):
        raise ArgumentError("families are names", remedy="flags of what was observed go into observed=")
    else:
        names = list(families)
    if not names:
        raise ArgumentError("no family to fit", remedy=f"use one or more of {', '.join(FAMILIES)}, or core, or all")
    return list(dict.fromkeys(family_named(name).name for name in names))


def is_dask(value: object) -> TypeGuard[DataFrame]:
    """Whether `value` is a Dask DataFrame, without importing Dask."""
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(value, "map_partitions")


def _fit_partitions(
    frame: DataFrame,
    how: Callable[..., Fits],
    by: str | Sequence[str],
    partitioned_by_group: bool = False,
    **options: object,
) -> DataFrame:
    """Summaries of the fits of every group of a Dask table, partition by partition or shuffled by keys, lazily.
    An `ArgumentError` for an unknown column or option, no key, or a group in two partitions although
    `partitioned_by_group` says that none is: the keys are read once to verify it.
    """
    keys = [by] if isinstance(by, str) else list(by)
    if not keys:
        raise ArgumentError("no column to group by", remedy="give by=, the columns that name the group")
    example = _fitted(frame._meta, how, keys, options)
    if partitioned_by_group:
        _reject_split(frame, keys)
    elif frame.npartitions > 1:
        frame = frame.shuffle(on=keys)
    return frame.map_partitions(_fitted, how, keys, options, meta=example).clear_divisions()


def _fitted(part: pd.DataFrame, how: Callable[..., Fits], keys: list[str], options: dict[str, Any]) -> pd.DataFrame:
    observed = options.get("observed", "observed")
    if isinstance(observed, Hashable) and observed in part.columns and part[observed].isna().any():
        group = part.loc[part[observed].isna(), keys].iloc[0].tolist()
        raise DataError(f"{observed!r} is missing in group {group[0] if len(group) == 1 else tuple(group)!r}")
    lives = LifeData.from_frame(part, by=keys, **options)
    all_have_a_group(part[keys].isna().any(axis=1).to_numpy())
    table = how(lives).summary().reset_index()
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
