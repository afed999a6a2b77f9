"""`fit`: maximum likelihood of several families for every group of a batch at once, with goodness of fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.failurelog import FailureLog
from relfit.families import CORE, family_named
from relfit.fitting import kernels, status
from relfit.fitting.results import FamilyFit, Fits
from relfit.goodness import kolmogorov_smirnov
from relfit.lifedata import LifeData
from relfit.numeric.batches import SortedLives, over_groups, sort_lives

__all__ = ["fit"]

_KERNELS: dict[str, Callable[..., None]] = {
    "exponential": kernels.fit_exponential,
    "weibull": kernels.fit_weibull,
    "gamma": kernels.fit_gamma,
    "lognormal": kernels.fit_lognormal,
}


def fit(
    lives: LifeData | FailureLog | Mapping[Any, npt.ArrayLike] | npt.ArrayLike,
    families: Sequence[str] | str = CORE,
    *,
    level: float = 0.95,
    workers: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Fits:
    """Fit families to every group by maximum likelihood with right censoring.

    Whether an estimate exists is decided before the search: the exponential needs one failure; the others need a
    failure below the largest life, since otherwise the likelihood grows without bound. Standard errors come from the
    observed information.

    Parameters
    ----------
    lives : LifeData, FailureLog, mapping of arrays, or array
        Durations in hours. An array of two dimensions has a group in each row; a log stands for ``log.lives()``.
    families : str or sequence of str
        Any of ``exponential``, ``weibull``, ``gamma``, ``lognormal``.
    level : float
        Level of the intervals, between 0 and 1.
    workers : int, optional
        Threads; does not change the numbers.
    progress : callable, optional
        Called with the name of each family when it is done.

    Returns
    -------
    Fits
        One `FamilyFit` a family, each with one entry a group.

    Raises
    ------
    ArgumentError
        For an unknown family or a level outside 0..1.
    DataError
        For durations that are negative, NaN or infinite.

    Examples
    --------
    >>> import relfit as rf
    >>> lives = rf.LifeData.from_groups({"a": [100.0, 900.0, 4000.0, 8760.0]}, {"a": [True, True, True, False]})
    >>> fits = rf.fit(lives)
    >>> round(float(fits["weibull"].parameters["shape"][0]), 4)
    0.5661
    """
    if isinstance(lives, FailureLog):
        lives = lives.lives()
    elif isinstance(lives, Mapping):
        lives = LifeData.from_groups(lives)
    elif not isinstance(lives, LifeData):
        lives = LifeData.from_array(lives)
    names = [families] if isinstance(families, str) else list(families)
    if not names:
        raise ArgumentError("no family to fit", remedy=f"use some of {', '.join(CORE)}")
    names = list(dict.fromkeys(family_named(name).name for name in names))
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    ordered = sort_lives(lives, workers)
    results: dict[str, FamilyFit] = {}
    for name in names:
        results[name] = _fit_family(name, lives, ordered, level, workers, results.get("weibull"))
        if progress is not None:
            progress(name)
    return Fits(lives, results, level)


def _fit_family(
    name: str,
    lives: LifeData,
    ordered: SortedLives,
    level: float,
    workers: int | None,
    weibull: FamilyFit | None,
) -> FamilyFit:
    family = family_named(name)
    groups, count = lives.n_groups, len(family.parameter_names())
    codes = np.full(groups, status.NOT_CONVERGED, dtype=np.int8)
    parameters = np.full((groups, count), np.nan)
    covariance = np.full((groups, count, count), np.nan)
    loglik = np.full(groups, np.nan)
    kernel = _KERNELS[name]
    more: tuple[npt.NDArray[np.float64], ...] = ()
    if name == "gamma":
        more = (np.full((groups, 2), np.nan) if weibull is None else weibull.parameter_array,)

    def work(first: int, last: int) -> None:
        kernel(
            ordered.durations, ordered.log, ordered.observed, ordered.offsets, first, last,
            codes, parameters, covariance, loglik, *more,
        )  # fmt: skip

    over_groups(ordered.offsets, work, workers)
    _set_apart_overflow(codes, parameters, covariance, loglik)
    fitted = codes == status.OK
    distance = kolmogorov_smirnov(name, parameters, fitted, ordered, lives.n_failures, workers)
    return FamilyFit(family, lives.groups, codes, parameters, covariance, loglik, distance, lives, ordered, level)


def _set_apart_overflow(
    codes: npt.NDArray[np.int8],
    parameters: npt.NDArray[np.float64],
    covariance: npt.NDArray[np.float64],
    loglik: npt.NDArray[np.float64],
) -> None:
    """An estimate beyond the range of floats is not one: such a group counts as not converged."""
    fitted = codes == status.OK
    finite = np.isfinite(parameters).all(axis=1) & np.isfinite(covariance).all(axis=(1, 2)) & np.isfinite(loglik)
    bad = fitted & ~finite
    codes[bad] = status.NOT_CONVERGED
    parameters[codes != status.OK] = np.nan
    covariance[codes != status.OK] = np.nan
    loglik[codes != status.OK] = np.nan
