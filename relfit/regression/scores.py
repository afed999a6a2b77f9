"""Likelihoods and scores of models of times, and the sandwich that makes errors robust to dependence within clusters.

lifelines finds the coefficients of Cox models; its own robust errors ignore ties and take time square in the rows.
Lin and Wei 1989; Therneau and Grambsch 2000, sections 4.6 and 7.2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arrays import BoolArray, FloatArray
from relfit.regression.maximum import Likelihood

__all__ = ["aft_likelihood", "cox_scores", "sandwich"]

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


def cox_scores(durations: FloatArray, observed: BoolArray, matrix: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Score residuals of the partial likelihood with Efron's ties, shape (n, k); they sum to its gradient."""
    x = matrix - matrix.mean(axis=0)
    linear = x @ coefficients
    relative = np.exp(linear - linear.max())
    sums = np.column_stack([relative, relative[:, None] * x])
    order = np.argsort(durations, kind="stable")
    failed = order[observed[order]]
    times, first, which, ties = np.unique(durations[failed], return_index=True, return_inverse=True, return_counts=True)
    later = np.cumsum(sums[order][::-1], axis=0)[::-1]
    at_risk = later[np.searchsorted(durations[order], times)]
    # the i-th of tied failures meets those at risk less i/ties of the tied ones
    share = ((np.arange(failed.size) - first[which]) / ties[which])[:, None]
    met = at_risk[which] - share * np.add.reduceat(sums[failed], first, axis=0)[which]
    means = met[:, 1:] / met[:, :1]
    rises = np.column_stack([np.ones(failed.size), means]) / met[:, :1]
    cumulative = np.zeros((times.size + 1, rises.shape[1]))
    cumulative[1:] = np.cumsum(np.add.reduceat(rises, first, axis=0), axis=0)
    passed = cumulative[np.searchsorted(times, durations, side="right")]
    passed[failed] -= np.add.reduceat(share * rises, first, axis=0)[which]
    scores = -relative[:, None] * (x * passed[:, :1] - passed[:, 1:])
    scores[failed] += x[failed] - (np.add.reduceat(means, first, axis=0) / ties[:, None])[which]
    return scores


def aft_likelihood(model: str, durations: FloatArray, observed: BoolArray, matrix: FloatArray) -> Likelihood:
    """The likelihood of an accelerated failure time model.

    Parameters
    ----------
    model : {"weibull", "lognormal"}
    durations : ndarray of float, shape (n,)
        Hours, above zero.
    observed : ndarray of bool, shape (n,)
    matrix : ndarray of float, shape (n, k)
        With the intercept.

    Returns
    -------
    Likelihood
        By the coefficients of the log of the scale (Weibull) or of the mean log duration (lognormal), then the log of
        the shape (Weibull) or of the standard deviation of the log duration (lognormal).

    Examples
    --------
    >>> likelihood = aft_likelihood("weibull", np.array([1.0]), np.array([True]), np.ones((1, 1)))
    >>> value, slopes, curve = likelihood(np.zeros(2))
    >>> value.tolist(), slopes.tolist(), curve.tolist()
    ([-1.0], [[0.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]])
    """
    log, seen = np.log(durations), observed.astype(np.float64)

    def likelihood(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        distance, extra = log - matrix @ at[:-1], float(np.exp(at[-1]))
        if model == "weibull":
            z = extra * distance
            hazard = np.exp(z)
            value = seen * (at[-1] + z - log) - hazard
            by_location, by_extra = extra * (hazard - seen), seen * (1.0 + z) - hazard * z
            far, across, own = extra**2 * hazard, by_location + extra * hazard * z, seen * z - hazard * z * (1.0 + z)
        else:
            z = distance / extra
            tail = special.log_ndtr(-z)
            mills = np.exp(-0.5 * z**2 - _HALF_LOG_2PI - tail)
            value = np.where(observed, -0.5 * z**2 - _HALF_LOG_2PI - at[-1] - log, tail)
            slope, bend = np.where(observed, z, mills), np.where(observed, 1.0, mills * (mills - z))
            by_location, by_extra = slope / extra, slope * z - seen
            far, across, own = bend / extra**2, -(bend * z + slope) / extra, -(bend * z + slope) * z
        curve = np.empty((at.size, at.size))
        curve[:-1, :-1] = -(matrix.T * far) @ matrix
        curve[-1, :-1] = curve[:-1, -1] = matrix.T @ across
        curve[-1, -1] = own.sum()
        return value, np.column_stack([by_location[:, None] * matrix, by_extra]), curve

    return likelihood


def sandwich(covariance: FloatArray, scores: FloatArray, clusters: npt.NDArray[np.int64]) -> FloatArray:
    """Covariance that holds if rows of one cluster depend on each other.

    With the factor ``g / (g - 1)`` for g clusters, since the sums of scores are taken at the estimate.

    Examples
    --------
    >>> sandwich(np.eye(1), np.array([[1.0], [1.0], [-2.0]]), np.array([0, 0, 1])).tolist()
    [[16.0]]
    """
    count = int(clusters.max()) + 1
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, clusters, scores)
    moved = sums @ covariance
    return np.asarray(moved.T @ moved * (count / (count - 1)))
