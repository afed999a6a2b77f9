"""Regressions of times: lifelines fits Cox, Weibull and lognormal models; relfit checks them and their assumptions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from relfit.analyses.regression.design import INTERCEPT
from relfit.analyses.regression.maximum import Estimate, at_maximum
from relfit.analyses.regression.scores import aft_scores, cox_scores, sandwich
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
