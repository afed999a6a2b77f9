"""The methods of estimation by name, each as one function of a family and lives."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import partial

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.families import CORE, Family
from relfit.fitting import status
from relfit.fitting.estimate import estimate
from relfit.fitting.estimators import bias_corrected_shape, moments, rank_regression
from relfit.fitting.plain import Estimates, Estimator
from relfit.fitting.spacings import maximum_product_of_spacings
from relfit.lifedata import LifeData

__all__ = ["MAXIMUM_LIKELIHOOD", "METHODS", "method_named"]

MAXIMUM_LIKELIHOOD = "maximum likelihood"

_Simple = Callable[[LifeData, str], tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]]]


def _rank_y(lives: LifeData, family: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]]:
    return rank_regression(lives, family, "y")


def _rank_x(lives: LifeData, family: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]]:
    return rank_regression(lives, family, "x")


def _estimates(simple: _Simple, name: str, family: type[Family], lives: LifeData, workers: int | None) -> Estimates:
    """Estimates of a method that gives no covariance, with the log-likelihood where they are."""
    if family.name not in CORE or not lives.plain:
        what = f"the {family.name} family" if family.name not in CORE else "intervals, truncation or weights"
        raise ArgumentError(f"{name} is not there for {what}", remedy="use method='ml'")
    parameters, codes = simple(lives, family.name)
    found = Estimates.empty(lives.n_groups, parameters.shape[1])
    found.codes[:] = codes
    ok = codes == status.OK
    found.parameters[ok] = parameters[ok]
    found.loglik[ok] = _loglik(family, parameters, lives)[ok]
    return found


def _loglik(family: type[Family], parameters: npt.NDArray[np.float64], lives: LifeData) -> npt.NDArray[np.float64]:
    rows = parameters[lives.group_codes()]
    distribution = family.unchecked(*(rows[:, i] for i in range(rows.shape[1])))
    with np.errstate(all="ignore"):
        value = np.where(lives.observed, distribution.log_pdf(lives.durations), distribution.log_sf(lives.durations))
    return np.bincount(lives.group_codes(), np.nan_to_num(value, nan=0.0, neginf=-1e300), lives.n_groups).astype(
        np.float64
    )


def _corrected(target: str, family: type[Family], lives: LifeData, workers: int | None) -> Estimates:
    """Maximum likelihood with the Weibull shape corrected for its bias, and the scale that is likeliest for it."""
    found = estimate(family, lives, workers)
    if family.name != "weibull":
        return found
    if not lives.plain:
        raise ArgumentError("the correction of the shape needs observed or right-censored lives without weights")
    ok = found.codes == status.OK
    corrected = bias_corrected_shape(found.parameters[:, 0], lives.n_failures, lives.n_lives, target=target)
    shape = np.where(ok, corrected.shape, np.nan)
    codes = lives.group_codes()
    with np.errstate(all="ignore"):
        log = np.log(lives.durations)
        top = np.full(lives.n_groups, -np.inf)
        np.maximum.at(top, codes, log)
        total = np.bincount(codes, np.exp(shape[codes] * (log - top[codes])), lives.n_groups)
        scale = np.exp(top + np.log(total / lives.n_failures) / shape)
    # the errors keep their relative size: the correction is a factor
    ratio = np.stack([shape, scale], axis=1) / found.parameters
    covariance = found.covariance * ratio[:, :, None] * ratio[:, None, :]
    parameters = np.stack([shape, scale], axis=1)
    loglik = np.where(ok, _loglik(family, np.where(ok[:, None], parameters, 1.0), lives), np.nan)
    parameters[~ok] = np.nan
    return Estimates(found.codes, parameters, covariance, loglik)


METHODS: dict[str, tuple[str, Estimator]] = {
    "ml": (MAXIMUM_LIKELIHOOD, estimate),
    "moments": ("moments", partial(_estimates, moments, "the method of moments")),
    "rank_y": ("rank regression of position on life", partial(_estimates, _rank_y, "rank regression")),
    "rank_x": ("rank regression of life on position", partial(_estimates, _rank_x, "rank regression")),
    "spacings": ("maximum product of spacings", partial(_estimates, maximum_product_of_spacings, "spacings")),
}


def method_named(name: str, bias_correction: bool | str = False) -> tuple[str, Estimator]:
    """What a method is called in full, and the function that estimates by it.

    Raises
    ------
    ArgumentError
        For an unknown method, or a correction of what is not maximum likelihood.
    """
    if name not in METHODS:
        near = get_close_matches(name, METHODS, n=1)
        raise ArgumentError(
            f"unknown method {name!r}",
            remedy=f"did you mean {near[0]}?" if near else f"use one of {', '.join(METHODS)}",
        )
    if bias_correction:
        if name != "ml":
            raise ArgumentError("only maximum likelihood is corrected for bias", remedy="use method='ml'")
        target = "mean" if bias_correction is True else str(bias_correction)
        if target not in ("mean", "median"):
            raise ArgumentError(f"bias_correction={bias_correction!r} is not known", remedy="use 'mean' or 'median'")
        return f"maximum likelihood, Weibull shape corrected for bias of its {target}", partial(_corrected, target)
    return METHODS[name]
