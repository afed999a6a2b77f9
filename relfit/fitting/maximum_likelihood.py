"""`fit`: several families for every group of a batch at once, by maximum likelihood or another method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.failurelog import FailureLog
from relfit.families import CORE, FAMILIES, Family, family_named
from relfit.fitting.estimate import estimate
from relfit.fitting.general import fit_general, log_moments
from relfit.fitting.methods import MAXIMUM_LIKELIHOOD, method_named
from relfit.fitting.partitioned import PartitionedFits, fit_partitioned, is_dask
from relfit.fitting.plain import Estimates, fit_plain
from relfit.fitting.results import FamilyFit, Fits
from relfit.lifedata import LifeData
from relfit.numeric.batches import SortedLives, sort_lives

if TYPE_CHECKING:
    from dask.dataframe import DataFrame as DaskFrame

__all__ = ["fit"]

FloatArray = npt.NDArray[np.float64]


@overload
def fit(
    lives: LifeData | FailureLog | Mapping[Any, npt.ArrayLike] | pd.DataFrame | npt.ArrayLike,
    families: Sequence[str] | str = ...,
    *,
    method: str = ...,
    bias_correction: bool | str = ...,
    level: float = ...,
    bootstrap: int | str = ...,
    rng: int | np.random.Generator | None = ...,
    workers: int | None = ...,
    progress: Callable[[str], None] | None = ...,
    **columns: Any,
) -> Fits: ...


@overload
def fit(lives: DaskFrame, families: Sequence[str] | str = ..., **options: Any) -> PartitionedFits: ...


def fit(
    lives: Any,
    families: Sequence[str] | str = CORE,
    *,
    method: str = "ml",
    bias_correction: bool | str = False,
    level: float = 0.95,
    bootstrap: int | str = "auto",
    rng: int | np.random.Generator | None = 0,
    workers: int | None = None,
    progress: Callable[[str], None] | None = None,
    **columns: Any,
) -> Any:
    """Fit families to every group.

    Whether an estimate exists is decided before the search where it can be: the exponential needs one failure; the
    others need more than one failure time could explain, since otherwise the likelihood grows without bound. Standard
    errors come from the observed information.

    Parameters
    ----------
    lives : LifeData, FailureLog, mapping of arrays, array, pandas.DataFrame or dask.dataframe.DataFrame
        Durations in hours. An array of two dimensions has a group in each row; a log stands for ``log.ttf()``; a
        table needs `columns`. A Dask table is fitted partition by partition where it lies; see
        `relfit.fitting.partitioned.fit_partitioned`.
    families : str or sequence of str
        Names of families; ``"core"`` for exponential, Weibull, gamma and lognormal, ``"all"`` for every family.
    method : {"ml", "moments", "rank_y", "rank_x", "spacings"}
        Maximum likelihood; matching moments (complete lives); rank regression on probability paper, of the plotting
        position on the life (``rank_y``) or the life on the position; maximum product of spacings. All but the first
        are for core families, observed or right-censored lives.
    bias_correction : bool or {"mean", "median"}
        Correct the shape of the Weibull for the bias of maximum likelihood in small samples: of its mean (also for
        True) or of its median. See `relfit.fitting.bias_corrected_shape`.
    level : float
        Level of the intervals, between 0 and 1.
    bootstrap : int or "auto"
        Replications behind p-values that no table gives; see `FamilyFit.goodness`. They are drawn when first asked for.
    rng : int or numpy.random.Generator, optional
        Of the bootstrap.
    workers : int, optional
        Threads; does not change the numbers.
    progress : callable, optional
        Called with the name of each family when it is done.
    **columns
        For a table, which columns hold what: ``duration``, ``observed``, ``by``, ``upper``, ``entry``, ``exit``,
        ``weights``, as for `LifeData.from_frame`.

    Returns
    -------
    Fits
        One `FamilyFit` a family, each with one entry a group; `PartitionedFits` for a Dask table.

    Raises
    ------
    ArgumentError
        For an unknown family or method, or a level outside 0..1.
    DataError
        For lives that cannot be; see `LifeData`.

    Examples
    --------
    >>> import relfit as rf
    >>> lives = rf.LifeData.from_groups({"a": [100.0, 900.0, 4000.0, 8760.0]}, {"a": [True, True, True, False]})
    >>> fits = rf.fit(lives)
    >>> round(float(fits["weibull"].parameters["shape"][0]), 4)
    0.5661
    """
    if is_dask(lives):
        return fit_partitioned(
            lives, families, level=level, method=method, bias_correction=bias_correction,
            bootstrap=0 if bootstrap == "auto" else bootstrap, rng=rng, workers=workers or 1, **columns,
        )  # fmt: skip
    if isinstance(lives, pd.DataFrame):
        lives, columns = LifeData.from_frame(lives, **columns), {}
    if columns:
        raise ArgumentError(f"{next(iter(columns))}= names a column of a table, and the lives are no table")
    if isinstance(lives, FailureLog):
        lives = lives.ttf()
    elif isinstance(lives, Mapping):
        lives = LifeData.from_groups(lives)
    elif not isinstance(lives, LifeData):
        lives = LifeData.from_array(lives)
    names = _names(families)
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    how, estimator = method_named(method, bias_correction)
    ordered = sort_lives(lives.durations, lives.observed, lives.offsets, workers) if lives.plain else None
    given = _Given(lives, ordered, workers)
    results: dict[str, FamilyFit] = {}
    for name in names:
        family = family_named(name)
        found = given.most_likely(family) if how == MAXIMUM_LIKELIHOOD else estimator(family, lives, workers)
        results[name] = FamilyFit(family, lives, found, level, how, estimator, ordered, bootstrap, rng)
        if progress is not None:
            progress(name)
    return Fits(lives, results, level)


def _names(families: Sequence[str] | str) -> list[str]:
    if isinstance(families, str):
        names = {"core": list(CORE), "all": list(FAMILIES)}.get(families.strip().lower(), [families])
    else:
        names = list(families)
    if not names:
        raise ArgumentError("no family to fit", remedy=f"use some of {', '.join(FAMILIES)}, or core, or all")
    return list(dict.fromkeys(family_named(name).name for name in names))


class _Given:
    """The lives, and what one family's search can take over from another's."""

    def __init__(self, lives: LifeData, ordered: SortedLives | None, workers: int | None) -> None:
        self.lives, self.ordered, self.workers = lives, ordered, workers
        self.weibull: FloatArray | None = None
        self.moments: tuple[FloatArray, FloatArray] | None = None

    def most_likely(self, family: type[Family]) -> Estimates:
        """Maximum likelihood; the same numbers as `relfit.fitting.estimate.estimate`."""
        if self.ordered is not None and family.name in CORE:
            found = fit_plain(family.name, self.ordered, self.weibull, self.workers)
            if family.name == "weibull":
                self.weibull = found.parameters
            return found
        if self.lives.plain and family.name in CORE:
            return estimate(family, self.lives, self.workers)
        if self.moments is None:
            self.moments = log_moments(self.lives, self.workers)
        return fit_general(family, self.lives, self.moments, self.workers)
