"""The methods of estimation by name, and the Weibull shape corrected for its bias in small samples."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import partial

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.fitting import status
from relfit.fitting._maximum_likelihood import maximum_likelihood
from relfit.fitting.estimates import MAXIMUM_LIKELIHOOD, Estimates, Estimator
from relfit.fitting.estimators import moments, rank_regression
from relfit.fitting.families import CORE, Family
from relfit.fitting.likelihood import LogLikelihood
from relfit.log.lifedata import LifeData

_ML = Remedy("use method='ml'", "use --method ml")
Codes = npt.NDArray[np.int8]


def bias_corrected_shape(
    shape: npt.ArrayLike, failures: npt.ArrayLike, lives: npt.ArrayLike | None = None
) -> FloatArray:
    """Correct the maximum-likelihood estimate of the Weibull shape for its bias in small samples.

    Where all durations ended, the distribution of estimate over truth depends on their number alone: its mean is 1.44
    for 5, 1.17 for 10 and 1.08 for 20.

    Parameters
    ----------
    shape : array_like of float
        Estimates by maximum likelihood.
    failures : array_like of int
        Failures behind each, r.
    lives : array_like of int, optional
        Durations behind each, n; the number of failures when left out (complete). If there are more, observation is
        taken to have ended at a fixed time, as in logs.

    Returns
    -------
    ndarray of float
        Below three failures, where the mean of the estimate is infinite or nearly so, nothing is corrected.

    Raises
    ------
    ArgumentError
        For more failures than durations.

    Notes
    -----
    The estimate is divided by ``1 + 1.37 / (r - 1.92)`` where all ended (Ross 1996), which leaves a bias of at most
    0.5 % from 4 failures on. With censoring by time the divisor is ``1 + 0.912 / (r - 1.18)``, to within 1 % in
    simulations of 5 to 40 expected failures with 10 to 95 % of the durations ended.

    Examples
    --------
    >>> bias_corrected_shape([2.0, 2.0, 2.0], failures=[5, 5, 2], lives=[5, 9, 2]).round(4).tolist()
    [1.3843, 1.6145, 2.0]
    """
    value, r, n = np.broadcast_arrays(
        np.asarray(shape, np.float64),
        np.asarray(failures, np.float64),
        np.asarray(failures if lives is None else lives, np.float64),
    )
    if np.any(r > n):
        raise ArgumentError("there are more failures than durations")
    enough = r >= 3.0
    r = np.where(enough, r, 3.0)
    bias = np.where(n > r, 0.912 / (r - 1.18), 1.37 / (r - 1.92))
    return np.where(enough, value / (1.0 + bias), value)


_Simple = Callable[[LifeData, str], tuple[FloatArray, Codes]]


def _estimates(simple: _Simple, name: str, family: type[Family], lives: LifeData, workers: int | None) -> Estimates:
    """Estimates of a method that gives no covariance, with the log-likelihood where they are."""
    lives = lives.from_age_known()
    if family.name not in CORE or not lives.plain:
        what = f"the {family.name} family" if family.name not in CORE else "intervals, truncation or weights"
        raise ArgumentError(f"{name} is not there for {what}", remedy=_ML)
    estimates = Estimates.empty(lives.n_groups, len(family.parameter_names()))
    estimates.parameters[:], estimates.codes[:] = simple(lives, family.name)
    ok = estimates.codes == status.OK
    estimates.loglik[ok] = _loglik(family, estimates.parameters, lives)[ok]
    return estimates


def _loglik(family: type[Family], parameters: FloatArray, lives: LifeData) -> FloatArray:
    with np.errstate(all="ignore"):
        return LogLikelihood(family, lives)(family.to_free(parameters)[None])[0]


def _corrected(family: type[Family], lives: LifeData, workers: int | None) -> Estimates:
    """Maximum likelihood with the Weibull shape corrected for its bias, and the scale that is likeliest for it."""
    lives = lives.from_age_known() if family.name == "weibull" else lives
    estimates = maximum_likelihood(family, lives, workers)
    if family.name != "weibull":
        return estimates
    if not lives.plain:
        raise ArgumentError("the correction of the shape needs observed or right-censored lives without weights")
    corrected = bias_corrected_shape(estimates.parameters[:, 0], lives.n_failures, lives.n_lives)
    shape = np.where(estimates.codes == status.OK, corrected, np.nan)
    codes = lives.group_codes()
    with np.errstate(all="ignore"):
        log = np.log(lives.durations)
        top = np.full(lives.n_groups, -np.inf)
        np.maximum.at(top, codes, log)
        total = np.bincount(codes, np.exp(shape[codes] * (log - top[codes])), lives.n_groups)
        parameters = np.stack([shape, np.exp(top + np.log(total / lives.n_failures) / shape)], axis=1)
    # the errors keep their relative size: the correction is a factor
    ratio = parameters / estimates.parameters
    covariance = estimates.covariance * ratio[:, :, None] * ratio[:, None, :]
    return Estimates(estimates.codes, parameters, covariance, _loglik(family, parameters, lives)).set_apart_overflow()


METHODS: dict[str, tuple[str, Estimator]] = {
    "ml": (MAXIMUM_LIKELIHOOD, maximum_likelihood),
    "moments": ("moments", partial(_estimates, moments, "the method of moments")),
    "rank_y": (
        "rank regression of position on life",
        partial(_estimates, partial(rank_regression, axis="y"), "rank regression"),
    ),
    "rank_x": (
        "rank regression of life on position",
        partial(_estimates, partial(rank_regression, axis="x"), "rank regression"),
    ),
}


def method_named(name: str, bias_correction: bool = False) -> tuple[str, Estimator]:
    """What a method is called in full, and the function that estimates by it.

    An `ArgumentError` for an unknown method, or a correction of what is not maximum likelihood.
    """
    if name not in METHODS:
        near = get_close_matches(name, METHODS, n=1)
        raise ArgumentError(
            f"unknown method {name!r}",
            remedy=f"did you mean {near[0]}?" if near else f"use one of {', '.join(METHODS)}",
        )
    if bias_correction:
        if name != "ml":
            raise ArgumentError("only maximum likelihood is corrected for bias", remedy=_ML)
        return "maximum likelihood, Weibull shape corrected for bias of its mean", _corrected
    return METHODS[name]
