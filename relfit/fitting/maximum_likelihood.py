"""`fit`: maximum likelihood of several families for every group of a batch at once, with goodness of fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.failurelog import FailureLog
from relfit.families import CORE, family_named
from relfit.fitting import status
from relfit.fitting.plain import fit_plain
from relfit.fitting.results import FamilyFit, Fits
from relfit.goodness import kolmogorov_smirnov
from relfit.lifedata import LifeData
from relfit.numeric.batches import SortedLives, sort_lives

__all__ = ["fit"]


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
    found = fit_plain(name, ordered, None if weibull is None else weibull.parameter_array, workers)
    distance = kolmogorov_smirnov(name, found.parameters, found.codes == status.OK, ordered, lives.n_failures, workers)
    return FamilyFit(
        family_named(name), lives.groups, found.codes, found.parameters, found.covariance, found.loglik, distance,
        lives, ordered, level,
    )  # fmt: skip
