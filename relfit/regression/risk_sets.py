"""What a Cox model leaves behind: residuals and the baseline, from the sums over the lives at risk, ties after Efron.

lifelines finds the coefficients; its own score residuals ignore ties and truncation and take time square in the lives.
Therneau and Grambsch, "Modeling Survival Data", 2000, sections 3.1, 4.6, 6.2 and 7.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

__all__ = ["RiskSets", "proportional_hazards_test", "risk_sets"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RiskSets:
    """Sums over the lives at risk at given coefficients.

    Attributes
    ----------
    loglik : float
        Partial log-likelihood.
    score : ndarray, shape (n, k)
        Score residual of every life; they sum to the gradient of `loglik`.
    schoenfeld : ndarray, shape (failures, k)
        Covariates of each failure less their mean over those at risk, in the order of `failure_times`.
    failure_times : ndarray, shape (failures,)
    failure_weights : ndarray, shape (failures,)
    steps, increments : ndarray, shape (steps,)
        Breslow's cumulative baseline hazard rises by `increments` at `steps`, for a life at `centre`.
    centre : ndarray, shape (k,)
    """

    loglik: float
    score: FloatArray
    schoenfeld: FloatArray
    failure_times: FloatArray
    failure_weights: FloatArray
    steps: FloatArray
    increments: FloatArray
    centre: FloatArray


def _suffix_sums(times: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Sum of `values` over the rows with ``times >= at``, for each of `at`."""
    order = np.argsort(times, kind="stable")
    total = np.zeros((times.size + 1, values.shape[1]))
    total[:-1] = np.cumsum(values[order][::-1], axis=0)[::-1]
    return total[np.searchsorted(times[order], at, side="left")]


def risk_sets(
    durations: FloatArray,
    observed: BoolArray,
    matrix: FloatArray,
    coefficients: FloatArray,
    weights: FloatArray,
    entry: FloatArray | None = None,
) -> RiskSets:
    """Evaluate a Cox model with Efron's ties.

    Parameters
    ----------
    durations, weights : ndarray, shape (n,)
        Hours; case weights.
    observed : ndarray of bool, shape (n,)
    matrix : ndarray, shape (n, k)
    coefficients : ndarray, shape (k,)
    entry : ndarray, shape (n,), optional
        Ages from which lives were watched.

    Examples
    --------
    >>> x, both = np.array([[0.0], [1.0]]), np.ones(2, dtype=bool)
    >>> alike = risk_sets(np.array([1.0, 2.0]), both, x, np.zeros(1), np.ones(2))
    >>> round(alike.loglik, 4), alike.schoenfeld.ravel().tolist()
    (-0.6931, [-0.5, 0.0])
    """
    centre = np.average(matrix, axis=0, weights=weights)
    x = matrix - centre
    linear = x @ coefficients
    peak = float(linear.max())
    relative = np.exp(linear - peak)
    mass = weights * relative
    failed = np.flatnonzero(observed)
    failed = failed[np.argsort(durations[failed], kind="stable")]
    times, first, which, ties = np.unique(durations[failed], return_index=True, return_inverse=True, return_counts=True)
    sums = np.column_stack([mass, mass[:, None] * x])
    at_risk = _suffix_sums(durations, sums, times)
    if entry is not None:
        at_risk = at_risk - _suffix_sums(entry, sums, times)
    tied = np.add.reduceat(sums[failed], first, axis=0)
    weight = np.add.reduceat(weights[failed], first) / ties

    # one step a failure: the i-th of tied failures meets the risk set less i/ties of the tied lives
    share = (np.arange(failed.size) - first[which]) / ties[which]
    met = at_risk[which] - share[:, None] * tied[which]
    hazard = weight[which] / met[:, 0]
    means = met[:, 1:] / met[:, :1]
    loglik = float(weights[failed] @ (linear[failed] - peak) - weight[which] @ np.log(met[:, 0]))
    mean_of_time = np.add.reduceat(means, first, axis=0) / ties[:, None]
    schoenfeld = x[failed] - mean_of_time[which]

    # cumulative over failure times, for what each life was at risk for
    pieces = np.column_stack([hazard, hazard[:, None] * means])
    cumulative = np.zeros((times.size + 1, pieces.shape[1]))
    cumulative[1:] = np.cumsum(np.add.reduceat(pieces, first, axis=0), axis=0)
    passed = cumulative[np.searchsorted(times, durations, side="right")]
    if entry is not None:
        passed = passed - cumulative[np.searchsorted(times, entry, side="right")]
    relief = np.add.reduceat(share[:, None] * pieces, first, axis=0)
    passed[failed] -= relief[which]
    score = -relative[:, None] * (x * passed[:, :1] - passed[:, 1:])
    score[failed] += schoenfeld
    breslow = np.add.reduceat(weights[failed], first) / at_risk[:, 0] * np.exp(-peak)
    return RiskSets(
        loglik, score * weights[:, None], schoenfeld, durations[failed], weights[failed], times, breslow, centre
    )


def proportional_hazards_test(sets: RiskSets, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Test of constant coefficients by scaled Schoenfeld residuals against the rank of time.

    Grambsch and Therneau, Biometrika 81, 1994.

    Parameters
    ----------
    sets : RiskSets
        At the estimate.
    covariance : ndarray, shape (k, k)
        Inverse of the information.

    Returns
    -------
    statistic, p : ndarray, shape (k + 1,)
        One a coefficient, chi-square with one degree of freedom, and last that of all together, with ``k``. NaN where
        all failures came at one time.
    """
    weights = sets.failure_weights
    count = float(weights.sum())
    _, which = np.unique(sets.failure_times, return_inverse=True)
    mass = np.bincount(which, weights)
    time = (np.cumsum(mass) - mass / 2)[which]  # the middle rank of those that failed at one time
    time = time - weights @ time / count
    raw = (weights * time) @ sets.schoenfeld
    spread = np.float64(weights @ time**2)
    scaled = count * (covariance @ raw)
    with np.errstate(divide="ignore", invalid="ignore"):
        single = scaled**2 / (count * np.diag(covariance) * spread)
        joint = count * (raw @ covariance @ raw) / spread
    statistic = np.append(single, joint)
    freedom = np.append(np.ones(single.size), single.size)
    return statistic, np.asarray(stats.chi2.sf(statistic, freedom))
