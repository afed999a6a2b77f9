"""Regression of counts: a negative binomial of the failures of nodes, with their hours as exposure."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.arrays import FloatArray, IntArray
from relfit.regression.maximum import Estimate, Likelihood, at_maximum, centred, climb, inverse
from relfit.regression.scores import sandwich
from relfit.units import HOURS_PER_YEAR

__all__ = ["COUNT_MODEL", "fit_counts"]

COUNT_MODEL = "negative binomial"
_REMEDY = "try fewer covariates, merge levels that few nodes have, write center(x) for numbers far from zero"
_NO_SPREAD = 1e-6  # variance of the rates at which the likelihood is flat
_EQUAL = "counts vary no more than those of equal nodes: this is a Poisson model"


def fit_counts(matrix: pd.DataFrame, failures: FloatArray, hours: FloatArray, clusters: IntArray | None) -> Estimate:
    """Coefficients of the log rate per year, with the variance of the nodes' rates that covariates leave.

    Where counts vary no more than those of equal nodes, they are a Poisson model's, and a note says so.
    """
    x = centred(matrix)
    exposure = hours / HOURS_PER_YEAR
    best, likelihood = _maximum(x, failures, exposure)
    alone, null = _maximum(np.ones((len(x), 1)), failures, exposure, spread=best.size > x.shape[1])
    with np.errstate(all="ignore"):
        value, slopes, curve = likelihood(best)
        covariance = inverse(-curve)
        robust = covariance if clusters is None else sandwich(covariance, slopes, clusters)
        spread = best.size > x.shape[1]
        loglik = float(value.sum())
        return Estimate(
            coefficients=best, covariance=covariance, robust=robust, loglik=loglik,
            rise=2.0 * (loglik - float(null(alone)[0].sum())),
            converged=at_maximum(best, covariance, slopes.sum(axis=0)), notes=() if spread else (_EQUAL,),
            remedy=_REMEDY, dispersion=float(np.exp(-best[-1])) if spread else 0.0,
            expected=np.exp(x @ best[: x.shape[1]]) * exposure,
        )  # fmt: skip


def _maximum(
    x: FloatArray, failures: FloatArray, exposure: FloatArray, spread: bool = True
) -> tuple[FloatArray, Likelihood]:
    """Where the likelihood is greatest, with the logarithm of one over the dispersion unless there is none."""
    k, plain = x.shape[1], _poisson(x, failures, exposure)
    start = np.append(np.zeros(k - 1), np.log(failures.sum() / exposure.sum()))
    scale = np.abs(x).max(axis=0)
    at = climb(plain, start, scale)
    expected = np.exp(x @ at) * exposure
    beyond = float((np.square(failures - expected) - failures).sum() / np.square(expected).sum())
    if not spread or not beyond > 0.0:  # the likelihood falls with the dispersion
        return at, plain
    general = _negative_binomial(x, failures, exposure)
    further = climb(general, np.append(at, -np.log(max(beyond, 0.01))), np.append(scale, 1.0))
    if np.exp(-further[-1]) > _NO_SPREAD and general(further)[0].sum() > plain(at)[0].sum():
        return further, general
    return at, plain


def _poisson(x: FloatArray, failures: FloatArray, exposure: FloatArray) -> Likelihood:
    fixed = special.gammaln(failures + 1.0)

    def likelihood(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        linear = x @ at + np.log(exposure)
        mean = np.exp(linear)
        return failures * linear - mean - fixed, (failures - mean)[:, None] * x, -(x.T * mean) @ x

    return likelihood


def _negative_binomial(x: FloatArray, failures: FloatArray, exposure: FloatArray) -> Likelihood:
    """By the coefficients, and the logarithm of the size: one over the dispersion."""
    fixed = special.gammaln(failures + 1.0)

    def likelihood(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        linear, size = x @ at[:-1] + np.log(exposure), np.exp(at[-1])
        mean = np.exp(linear)
        both, far = size + mean, failures - mean
        value = special.gammaln(failures + size) - special.gammaln(size) - fixed
        value += failures * (linear - np.log(both)) - size * np.log1p(mean / size)
        by_size = special.digamma(failures + size) - special.digamma(size) - np.log1p(mean / size) - far / both
        twice = special.polygamma(1, failures + size) - special.polygamma(1, size)
        twice += mean / (size * both) + far / both**2
        curve = np.empty((at.size, at.size))
        curve[:-1, :-1] = -(x.T * (mean * size * (size + failures) / both**2)) @ x
        curve[-1, :-1] = curve[:-1, -1] = x.T @ (far * mean / both**2) * size
        curve[-1, -1] = size**2 * twice.sum() + size * by_size.sum()
        return value, np.column_stack([(far * size / both)[:, None] * x, size * by_size]), curve

    return likelihood
