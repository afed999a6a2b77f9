"""Scores of the fitted models, row by row, and the sandwich that makes errors robust to dependence within clusters.

lifelines finds the coefficients. Its own robust errors have no clusters for accelerated failure time, and for Cox they
ignore ties and take time quadratic in the rows. Lin and Wei 1989; Therneau and Grambsch 2000, sections 4.6 and 7.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray


def cox_scores(
    durations: FloatArray,
    observed: BoolArray,
    matrix: FloatArray,
    coefficients: FloatArray,
    entry: FloatArray | None = None,
) -> FloatArray:
    """Score residuals of the partial likelihood with Efron's ties, shape (n, k); a row is at risk after its `entry`."""
    x, relative, failed, times, which, met, share = _risk_sets(durations, observed, matrix, coefficients, entry)
    ties = np.bincount(which)
    first = np.cumsum(ties) - ties
    means = met[:, 1:] / met[:, :1]
    rises = np.column_stack([np.ones(failed.size), means]) / met[:, :1]
    cumulative = np.zeros((times.size + 1, rises.shape[1]))
    cumulative[1:] = np.cumsum(np.add.reduceat(rises, first, axis=0), axis=0)
    passed = cumulative[np.searchsorted(times, durations, side="right")]
    if entry is not None:
        passed -= cumulative[np.searchsorted(times, entry, side="right")]
    passed[failed] -= np.add.reduceat(share * rises, first, axis=0)[which]
    scores = -relative[:, None] * (x * passed[:, :1] - passed[:, 1:])
    scores[failed] += x[failed] - (np.add.reduceat(means, first, axis=0) / ties[:, None])[which]
    return scores


def schoenfeld_residuals(
    durations: FloatArray, observed: BoolArray, matrix: FloatArray, coefficients: FloatArray, entry: FloatArray | None
) -> FloatArray:
    """Covariates of each failure less their mean at risk then, with Efron's ties, shape (n, k); zero of the others."""
    x, _, failed, _, which, met, _ = _risk_sets(durations, observed, matrix, coefficients, entry)
    ties = np.bincount(which)
    means = np.add.reduceat(met[:, 1:] / met[:, :1], np.cumsum(ties) - ties, axis=0) / ties[:, None]
    residuals = np.zeros_like(x)
    residuals[failed] = x[failed] - means[which]
    return residuals


def by_stratum(
    residuals: Callable[..., FloatArray],
    strata: IntArray | None,
    durations: FloatArray,
    observed: BoolArray,
    matrix: FloatArray,
    coefficients: FloatArray,
    entry: FloatArray | None,
) -> FloatArray:
    """`cox_scores` or `schoenfeld_residuals`, each stratum by itself: those at risk are of the same stratum."""
    if strata is None:
        return residuals(durations, observed, matrix, coefficients, entry)
    out = np.zeros_like(matrix)
    for stratum in np.unique(strata[observed]):
        at = strata == stratum
        late = None if entry is None else entry[at]
        out[at] = residuals(durations[at], observed[at], matrix[at], coefficients, late)
    return out


def _risk_sets(
    durations: FloatArray, observed: BoolArray, matrix: FloatArray, coefficients: FloatArray, entry: FloatArray | None
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray, IntArray, FloatArray, FloatArray]:
    """Centred covariates and relative hazards of rows; failed rows by time; times; sums at risk then, Efron's ties."""
    x = matrix - matrix.mean(axis=0)
    linear = x @ coefficients
    relative = np.exp(linear - linear.max())
    sums = np.column_stack([relative, relative[:, None] * x])
    order = np.argsort(durations, kind="stable")
    failed = order[observed[order]]
    times, first, which, ties = np.unique(durations[failed], return_index=True, return_inverse=True, return_counts=True)
    at_risk = _from(durations, sums, times)
    if entry is not None:
        at_risk = at_risk - _from(entry, sums, times)
    # the i-th of tied failures meets those at risk less i/ties of the tied ones
    share = ((np.arange(failed.size) - first[which]) / ties[which])[:, None]
    met = at_risk[which] - share * np.add.reduceat(sums[failed], first, axis=0)[which]
    return x, relative, failed, times, which, met, share


def _from(ages: FloatArray, sums: FloatArray, times: FloatArray) -> FloatArray:
    """Sums over the rows with such an age or a later one, at each time."""
    order = np.argsort(ages, kind="stable")
    later = np.vstack([np.cumsum(sums[order][::-1], axis=0)[::-1], np.zeros((1, sums.shape[1]))])
    return np.asarray(later[np.searchsorted(ages[order], times)])


def aft_scores(
    model: str, durations: FloatArray, observed: BoolArray, matrix: FloatArray, location: FloatArray, log_extra: float
) -> FloatArray:
    """Gradient of the log-likelihood of each row by `location`, then by `log_extra`, shape (n, k + 1).

    Of ``weibull``, `location` are the coefficients of the log of the scale (hours) and `log_extra` is the log of the
    shape; of ``lognormal``, those of the mean and of the log of the standard deviation of the log duration.
    """
    distance, extra = np.log(durations) - matrix @ location, float(np.exp(log_extra))
    if model == "weibull":
        z = extra * distance
        hazard = np.exp(z)
        by_location, by_extra = extra * (hazard - observed), observed * (1.0 + z) - hazard * z
    else:
        z = distance / extra
        mills = np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(-z))
        by_location, by_extra = np.where(observed, z, mills) / extra, np.where(observed, z**2 - 1.0, mills * z)
    return np.column_stack([by_location[:, None] * matrix, by_extra])


def sandwich(covariance: FloatArray, scores: FloatArray, clusters: npt.NDArray[np.int64]) -> FloatArray:
    """Covariance that holds if rows of one cluster depend on each other, times ``g / (g - 1)`` for g clusters."""
    count = int(clusters.max()) + 1
    sums = np.zeros((count, scores.shape[1]))
    np.add.at(sums, clusters, scores)
    moved = sums @ covariance
    return np.asarray(moved.T @ moved * (count / (count - 1)))
