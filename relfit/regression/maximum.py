"""The maximum of a likelihood by Newton's method, and the estimates there in one form for all models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relfit.arrays import FloatArray

__all__ = ["NEAR", "Estimate", "Likelihood", "at_maximum", "centred", "climb", "inverse"]

NEAR = 1e-4  # half the squared distance to the maximum, in standard errors, below which a search has ended well
_STEPS, _HALVINGS = 100, 30
_GAIN = 1e-10  # of a step, below which the search ends
_LARGEST = 3.0  # step of a linear predictor: a factor of twenty

Likelihood = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
"""Log-likelihood and gradient of each row, shapes (n,) and (n, k), and the Hessian of their sum, by parameters."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Coefficients of the covariates, then of what else the model has; ``rise`` is twice the gain in log-likelihood.

    ``covariance`` takes rows as independent, ``robust`` is that of the standard errors. ``expected`` are the counts
    that a model of counts expects, ``dispersion`` the variance of the rates beyond the covariates, ``fitter`` the
    object of another package that found a Cox model.
    """

    coefficients: FloatArray
    covariance: FloatArray
    robust: FloatArray
    loglik: float
    rise: float
    converged: bool
    remedy: str
    notes: tuple[str, ...] = ()
    proportional: pd.DataFrame | None = None
    dispersion: float = np.nan
    expected: FloatArray | None = None
    fitter: object = None

    def checked(self) -> Estimate:
        """Without numbers where the search did not end at a maximum."""
        if self.converged and self.rise > -2.0 * NEAR:
            return replace(self, rise=max(self.rise, 0.0))
        none = np.full_like(self.covariance, np.nan)
        note = "not converged: the search did not end at a maximum of the likelihood, so no numbers are given"
        return replace(
            self, coefficients=none[0], covariance=none, robust=none, loglik=np.nan, rise=np.nan, dispersion=np.nan,
            converged=False, expected=None, notes=(f"{note}; {self.remedy}", *self.notes),
        )  # fmt: skip


def climb(likelihood: Likelihood, start: FloatArray, scale: FloatArray) -> FloatArray:
    """Where Newton's method ends from `start`; steps are halved until the likelihood rises.

    Parameters
    ----------
    likelihood : Likelihood
    start, scale : ndarray, shape (k,)
        First point, and how far one unit of each parameter moves the linear predictor.

    Examples
    --------
    >>> def normal(at):
    ...     return -0.5 * (at - 3.0) ** 2, (3.0 - at)[None], -np.eye(1)
    >>> climb(normal, np.zeros(1), np.ones(1)).tolist()
    [3.0]
    """
    at = start
    with np.errstate(all="ignore"):
        value, slopes, curve = likelihood(at)
        for _ in range(_STEPS):
            gradient, unit = slopes.sum(axis=0), np.sqrt(np.maximum(-np.diag(curve), 1e-300))
            scaled = -curve / np.outer(unit, unit)
            if not (np.isfinite(scaled).all() and np.isfinite(gradient).all()):
                break
            lengths, axes = np.linalg.eigh(scaled)
            step = axes @ (axes.T @ (gradient / unit) / np.maximum(np.abs(lengths), 1e-12)) / unit
            step *= min(1.0, _LARGEST / max(float(np.abs(step * scale).max()), 1e-300))
            for _ in range(_HALVINGS):
                trial = likelihood(at + step)
                rise = float((trial[0] - value).sum())
                if rise >= 0.0:
                    break
                step = 0.5 * step
            else:
                break
            at, (value, slopes, curve) = at + step, trial
            if abs(gradient @ step) < _GAIN:
                break
    return at


def centred(matrix: pd.DataFrame) -> FloatArray:
    """Covariates less their means, which moves the intercept only, and the intercept as the last column."""
    x = matrix.to_numpy()
    return np.column_stack([x - x.mean(axis=0), np.ones(len(x))])


def inverse(information: FloatArray) -> FloatArray:
    """The covariance that belongs to an information; NaN where there is none."""
    unit = np.sqrt(np.diag(information).clip(min=1e-300))
    try:
        return np.asarray(np.linalg.inv(information / np.outer(unit, unit)) / np.outer(unit, unit))
    except np.linalg.LinAlgError:
        return np.full_like(information, np.nan)


def at_maximum(coefficients: FloatArray, covariance: FloatArray, gradient: FloatArray) -> bool:
    """Whether the gradient vanishes there (in standard errors) and the information is proper."""
    if not all(np.isfinite(values).all() for values in (coefficients, covariance, gradient)):
        return False
    scale = np.sqrt(np.diag(covariance).clip(min=0.0))
    if not (scale > 0.0).all() or np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0] <= 0.0:
        return False
    return bool(gradient @ covariance @ gradient < 2.0 * NEAR)
