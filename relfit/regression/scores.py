"""Scores of the accelerated-failure-time models, life by life, and the sandwich that makes standard errors robust.

Kalbfleisch and Prentice, "The Statistical Analysis of Failure Time Data", 2002, section 3.6; Lin and Wei 1989.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

__all__ = ["aft_scores", "sandwich"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def aft_scores(
    family: str,
    durations: FloatArray,
    observed: BoolArray,
    matrix: FloatArray,
    location: FloatArray,
    log_extra: float,
    weights: FloatArray,
    entry: FloatArray | None = None,
) -> FloatArray:
    """Gradient of every life's log-likelihood.

    Parameters
    ----------
    family : {"weibull", "lognormal"}
    durations, weights : ndarray, shape (n,)
        Hours, above zero; case weights.
    observed : ndarray of bool, shape (n,)
    matrix : ndarray, shape (n, k)
        With the intercept.
    location : ndarray, shape (k,)
        Coefficients of the logarithm of the scale (Weibull) or of the mean log life (lognormal).
    log_extra : float
        Logarithm of the shape (Weibull) or of the standard deviation of the log life (lognormal).
    entry : ndarray, shape (n,), optional
        Ages from which lives were watched.

    Returns
    -------
    ndarray, shape (n, k + 1)
        With respect to `location`, then `log_extra`.

    Examples
    --------
    >>> one = aft_scores("weibull", np.array([1.0]), np.array([True]), np.ones((1, 1)), np.zeros(1), 0.0, np.ones(1))
    >>> one.tolist()
    [[0.0, 1.0]]
    """
    mean = matrix @ location
    extra = float(np.exp(log_extra))
    at_end = _parts(family, np.log(durations) - mean, extra, observed)
    by_location, by_extra = at_end
    if entry is not None:
        watched = entry > 0.0
        begun = _parts(family, np.log(np.where(watched, entry, 1.0)) - mean, extra, np.zeros_like(observed))
        by_location = by_location - np.where(watched, begun[0], 0.0)
        by_extra = by_extra - np.where(watched, begun[1], 0.0)
    return np.column_stack([by_location[:, None] * matrix, by_extra]) * weights[:, None]


def _parts(family: str, distance: FloatArray, extra: float, observed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Derivatives by the location and by the logarithm of `extra`, of log density or log survival."""
    if family == "weibull":
        z = extra * distance
        hazard = np.exp(z)
        return extra * (hazard - observed), observed * (1.0 + z) - hazard * z
    z = distance / extra
    mills = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(-z))
    by_location = np.where(observed, z, mills) / extra
    return by_location, np.where(observed, z**2 - 1.0, mills * z)


def sandwich(covariance: FloatArray, scores: FloatArray, clusters: npt.NDArray[np.int64] | None) -> FloatArray:
    """Covariance that holds if lives of one cluster depend on each other; without clusters the one given.

    With the factor ``g / (g - 1)`` for `g` clusters, since the sums of scores are taken at the estimate.

    Parameters
    ----------
    covariance : ndarray, shape (p, p)
        Inverse of the information.
    scores : ndarray, shape (n, p)
    clusters : ndarray of int, shape (n,), optional
        Number of each life's cluster, two at least.

    Examples
    --------
    >>> sandwich(np.eye(1), np.array([[1.0], [1.0], [-2.0]]), np.array([0, 0, 1])).tolist()
    [[16.0]]
    """
    if clusters is None:
        return covariance
    sums = np.zeros((int(clusters.max()) + 1, scores.shape[1]))
    np.add.at(sums, clusters, scores)
    moved = sums @ covariance
    count = np.unique(clusters).size
    return np.asarray(moved.T @ moved * (count / (count - 1)))
