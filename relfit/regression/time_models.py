"""Regressions of times: Cox models by lifelines, Weibull and lognormal ones by Newton's method."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.numeric.false_discovery import adjusted_p
from relfit.regression.maximum import Estimate, at_maximum, centred, climb, inverse
from relfit.regression.scores import aft_likelihood, cox_scores, sandwich

__all__ = ["TIME_MODELS", "fit_aft", "fit_cox"]

TIME_MODELS = ("cox", "weibull", "lognormal")
_REMEDY = "try fewer covariates, merge levels that few durations have, write center(x) for numbers far from zero"
_DURATION, _OBSERVED = "_duration", "_observed"
_SINGULAR = "Hessian was not invertible"  # lifelines then makes standard errors up


def fit_aft(
    model: str, matrix: pd.DataFrame, durations: FloatArray, observed: BoolArray, clusters: IntArray | None
) -> Estimate:
    """Coefficients of a Weibull or lognormal model, with errors that are robust to dependence within `clusters`."""
    x = centred(matrix)
    with np.errstate(all="ignore"):
        best, likelihood = _maximum(model, x, durations, observed)
        alone, null = _maximum(model, x[:, -1:], durations, observed)
        value, slopes, curve = likelihood(best)
        covariance = inverse(-curve)
        robust = covariance if clusters is None else sandwich(covariance, slopes, clusters)
        return Estimate(
            coefficients=best, covariance=covariance, robust=robust, loglik=float(value.sum()),
            rise=2.0 * float(value.sum() - null(alone)[0].sum()),
            converged=at_maximum(best, covariance, slopes.sum(axis=0)), remedy=_REMEDY,
        )  # fmt: skip


def _maximum(model: str, x: FloatArray, durations: FloatArray, observed: BoolArray) -> tuple[FloatArray, Any]:
    """Where the likelihood is greatest, from the mean and deviation of the log durations."""
    likelihood, log = aft_likelihood(model, durations, observed, x), np.log(durations)
    spread = max(float(log.std()), 1e-3)
    start = np.zeros(x.shape[1] + 1)
    start[-2:] = log.mean(), np.log(spread) if model == "lognormal" else -np.log(spread)
    return climb(likelihood, start, np.append(np.abs(x).max(axis=0) / spread, 1.0)), likelihood


def fit_cox(
    frame: pd.DataFrame,
    right: str,
    matrix: pd.DataFrame,
    durations: FloatArray,
    observed: BoolArray,
    clusters: IntArray | None,
) -> Estimate:
    """Coefficients of a Cox model, with errors that are robust to dependence within `clusters`."""
    import lifelines

    fitter = lifelines.CoxPHFitter()
    table = frame.assign(**{_DURATION: durations, _OBSERVED: observed})
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            fitter.fit(table, _DURATION, _OBSERVED, formula=right)
        except Exception as error:  # whatever goes wrong in the search of another package
            reason = " ".join(str(error).split())[:200]
            raise ArgumentError(f"lifelines could not fit this cox model: {reason}", remedy=_REMEDY) from error
    messages = [str(w.message) for w in caught if (w.category.__module__ or "").startswith("lifelines")]
    notes = tuple(dict.fromkeys(f"lifelines: {' '.join(message.split())[:240]}" for message in messages))
    columns = list(matrix.columns)
    coefficients = fitter.params_.reindex(columns).to_numpy(dtype=np.float64)
    covariance = fitter.variance_matrix_.reindex(index=columns, columns=columns).to_numpy(dtype=np.float64)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scores = cox_scores(durations, observed, matrix.to_numpy(), coefficients)
        robust = covariance if clusters is None else sandwich(covariance, scores, clusters)
        rise = float(fitter.log_likelihood_ratio_test().test_statistic)
    singular = any(_SINGULAR in note for note in notes)
    converged = not singular and at_maximum(coefficients, covariance, scores.sum(axis=0))
    return Estimate(
        fitter=fitter, coefficients=coefficients, covariance=covariance, robust=robust,
        loglik=float(fitter.log_likelihood_), rise=rise, converged=converged, notes=notes, remedy=_REMEDY,
        proportional=_proportional(fitter, table, columns) if converged else None,
    )  # fmt: skip


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
