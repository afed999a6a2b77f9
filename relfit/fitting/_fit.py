"""`fit`: several distributions for every group of a batch at once, by maximum likelihood or another method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import worker_number
from relfit.base.numeric.levels import level_checked
from relfit.fitting.estimators import method_named
from relfit.fitting.families import CORE, FAMILIES, family_named
from relfit.fitting.family_fit import FamilyFit
from relfit.fitting.fits import Fits
from relfit.fitting.goodness_of_fit import resamples_checked
from relfit.fitting.nonparametric.samples import lives_of
from relfit.fitting.partitions import fit_partitions, is_dask
from relfit.log.lifedata import LifeData


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
        each row is a group. A log stands for
        ``log.ttf()``. A table has its hours in the column ``duration``, unless `columns` names another.
    families : str or sequence of str
        Names of distributions; ``"core"`` for exponential, Weibull, gamma and lognormal, ``"all"`` for all.
    observed, entry, by : array_like, shape (n,), optional
        For an array: whether each duration ended in a failure (all by default), the age in hours at which it came under
        observation (left truncation), and its group. For a table: the columns with these.
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
    if is_dask(data):
        of_rows = {n: v for n, v in (("observed", observed), ("entry", entry), ("by", by)) if v is not None}
        how = {"families": families, "method": method, "bias_correction": bias_correction, "level": level, "rng": rng}
        how |= {"n_resamples": 0 if n_resamples == "auto" else n_resamples, "workers": workers or 1}
        summary = partial(_summary, how)
        return fit_partitions(data, summary, **{"by": (), **columns, **of_rows})  # type: ignore[return-value]
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


def _summary(how: dict[str, Any], table: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """What runs on each partition of a Dask table."""
    return fit(LifeData.from_frame(table, **options), **how).summary()


def _names(families: Sequence[str] | str) -> list[str]:
    if isinstance(families, str):
        names = {"core": list(CORE), "all": list(FAMILIES)}.get(families.strip().lower(), [families])
    elif not all(isinstance(name, str) for name in families):
        raise ArgumentError("families are names", remedy="flags of what was observed go into observed=")
    else:
        names = list(families)
    if not names:
        raise ArgumentError("no family to fit", remedy=f"use some of {', '.join(FAMILIES)}, or core, or all")
    return list(dict.fromkeys(family_named(name).name for name in names))
