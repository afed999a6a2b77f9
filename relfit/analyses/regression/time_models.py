"""Regressions of times: lifelines fits Cox, Weibull and lognormal models; relfit checks them and their assumptions.

lifelines finds the coefficients. Its own robust errors have no clusters for accelerated failure time, and for Cox they
ignore ties and take time quadratic in the rows: here a sandwich of the scores of each row makes errors robust to
dependence within clusters (Lin and Wei 1989; Therneau and Grambsch 2000, sections 4.6 and 7.2).
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.regression.design import INTERCEPT
from relfit.analyses.regression.regression_results import Estimate, at_maximum
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.false_discovery import adjusted_p

TIME_MODELS = {
    "cox": ("CoxPHFitter", "", ""),
    "weibull": ("WeibullAFTFitter", "lambda_", "rho_"),
    "lognormal": ("LogNormalAFTFitter", "mu_", "sigma_"),
}
_REMEDY = "try fewer covariates, merge levels that few durations have, write center(x) for numbers far from zero"
_DURATION, _OBSERVED = "_duration", "_observed"
_SINGULAR = "Hessian was not invertible"  # lifelines then makes standard errors up


def fit_times(
    model: str,
    frame: pd.DataFrame,
    right: str,
    matrix: pd.DataFrame,
    durations: FloatArray,
    observed: BoolArray,
    clusters: IntArray | None,
) -> Estimate:
    """Coefficients of a model of `TIME_MODELS`, with errors that are robust to dependence within `clusters`."""
    import lifelines

    fitter = getattr(lifelines, TIME_MODELS[model][0])()
    table = frame.assign(**{_DURATION: durations, _OBSERVED: observed})
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            fitter.fit(table, _DURATION, _OBSERVED, formula=right)
        except Exception as error:  # whatever goes wrong in the search of another package
            reason = " ".join(str(error).split())[:200]
            raise ArgumentError(f"lifelines could not fit this {model} model: {reason}", remedy=_REMEDY) from error
    messages = [str(w.message) for w in caught if (w.category.__module__ or "").startswith("lifelines")]
    notes = tuple(dict.fromkeys(f"lifelines: {' '.join(message.split())[:240]}" for message in messages))
    _, first, second = TIME_MODELS[model]
    columns = list(matrix.columns)
    index = columns if not first else [*((first, name) for name in (*columns, INTERCEPT)), (second, INTERCEPT)]
    coefficients = fitter.params_.reindex(index).to_numpy(dtype=np.float64)
    covariance = fitter.variance_matrix_.reindex(index=index, columns=index).to_numpy(dtype=np.float64)
    x = matrix.to_numpy()
    with np.errstate(all="ignore"):
        if model == "cox":
            scores = cox_scores(durations, observed, x, coefficients)
        else:
            x = np.column_stack([x, np.ones(len(x))])
            scores = aft_scores(model, durations, observed, x, coefficients[:-1], float(coefficients[-1]))
        robust = covariance if clusters is None else sandwich(covariance, scores, clusters)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rise = float(fitter.log_likelihood_ratio_test().test_statistic)
    singular = any(_SINGULAR in note for note in notes)
    converged = not singular and at_maximum(coefficients, covariance, scores.sum(axis=0))
    return Estimate(
        fitter=fitter,
        coefficients=coefficients,
        covariance=covariance,
        robust=robust,
        loglik=float(fitter.log_likelihood_),
        rise=rise,
        converged=converged,
        notes=notes,
        remedy=_REMEDY,
        proportional=_proportional(fitter, table, columns) if model == "cox" and converged else None,
    )


def _proportional(fitter: object, table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Whether each hazard ratio is constant: the test of Grambsch and Therneau by the rank of time, from lifelines."""
    from lifelines.statistics import proportional_hazard_test

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        test = proportional_hazard_test(fitter, table, time_transform="rank").summary.reindex(columns)
    p = test["p"].to_numpy(dtype=np.float64)
    index = pd.Index(columns, name="covariate", dtype=object)
    values = {"statistic": test["test_statistic"].to_numpy(dtype=np.float64), "p": p, "p_adjusted": adjusted_p(p)}
    return pd.DataFrame(values, index=index)


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


def aft_scores(
    model: str, durations: FloatArray, observed: BoolArray, matrix: FloatArray, location: FloatArray, log_extra: float
) -> FloatArray:
    """Gradient of the log-likelihood of each row by `location`, then by `log_extra`, shape (n, k + 1).

    `location` are the coefficients of the log of the scale (Weibull) or of the mean log duration (lognormal), of a
    `matrix` with the intercept; `log_extra` is the log of the shape, or of the standard deviation of the log duration.

    Examples
    --------
    >>> aft_scores("weibull", np.array([1.0]), np.array([True]), np.ones((1, 1)), np.zeros(1), 0.0).tolist()
    [[0.0, 1.0]]
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


def sandwich(covariance: FloatArray, scores: FloatArray, clusters: IntArray) -> FloatArray:
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
