"""Regressions of times: lifelines fits Cox, Weibull and lognormal models; relfit checks them and their assumptions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.regression.design import INTERCEPT
from relfit.analyses.regression.regression_results import Estimate, at_maximum
from relfit.analyses.regression.scores import aft_scores, by_stratum, cox_scores, sandwich, schoenfeld_residuals
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.false_discovery import adjusted_p

TIME_MODELS = {
    "cox": ("CoxPHFitter", "", ""),
    "weibull": ("WeibullAFTFitter", "lambda_", "rho_"),
    "lognormal": ("LogNormalAFTFitter", "mu_", "sigma_"),
}
_REMEDY = "try fewer covariates, merge levels that few durations have, write center(x) for numbers far from zero"
_DURATION, _OBSERVED, _ENTRY = "_duration", "_observed", "_entry"
_SINGULAR = "Hessian was not invertible"  # lifelines then makes standard errors up


@dataclass(frozen=True)
class Times:
    """Hours of durations, whether each ended, the hours from which they were observed, and the strata, if any."""

    hours: FloatArray
    observed: BoolArray
    entry: FloatArray | None = None
    strata: pd.Series | None = None

    def residuals(self, kind: Callable[..., FloatArray], matrix: pd.DataFrame, coefficients: FloatArray) -> FloatArray:
        """`cox_scores` or `schoenfeld_residuals` of the durations."""
        strata = None if self.strata is None else pd.factorize(self.strata)[0]
        return by_stratum(kind, strata, self.hours, self.observed, matrix.to_numpy(), coefficients, self.entry)


def fit_times(
    model: str, frame: pd.DataFrame, right: str, matrix: pd.DataFrame, times: Times, clusters: IntArray | None
) -> Estimate:
    """Coefficients of a model of `TIME_MODELS`, with errors that are robust to dependence within `clusters`."""
    import lifelines

    fitter = getattr(lifelines, TIME_MODELS[model][0])()
    late = {} if times.entry is None else {_ENTRY: times.entry}
    options = {"entry_col": _ENTRY} if late else {}
    table = frame.assign(**{_DURATION: times.hours, _OBSERVED: times.observed, **late})
    if times.strata is not None:
        options["strata"] = str(times.strata.name)
        table[options["strata"]] = times.strata.to_numpy()
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            fitter.fit(table, _DURATION, _OBSERVED, formula=right, **options)
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
            scores = times.residuals(cox_scores, matrix, coefficients)
        else:
            x = np.column_stack([x, np.ones(len(x))])
            location, extra = coefficients[:-1], float(coefficients[-1])
            scores = aft_scores(model, times.hours, times.observed, x, location, extra)
            if times.entry is not None:  # given that each had survived until it entered
                rows = times.entry > 0.0
                entered = times.entry[rows]
                scores[rows] -= aft_scores(model, entered, np.zeros(entered.size, np.bool_), x[rows], location, extra)
        robust = covariance if clusters is None else sandwich(covariance, scores, clusters)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rise = float(fitter.log_likelihood_ratio_test().test_statistic)
    singular = any(_SINGULAR in note for note in notes)
    converged = not singular and at_maximum(coefficients, covariance, scores.sum(axis=0))
    proportional = None
    if model == "cox" and converged:
        own = times.entry is not None or times.strata is not None
        statistic = _changing(matrix, times, coefficients, covariance) if own else None
        proportional = _proportional(fitter, table, columns, statistic)
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
        proportional=proportional,
    )


def _proportional(
    fitter: object, table: pd.DataFrame, columns: list[str], statistic: FloatArray | None
) -> pd.DataFrame:
    """Whether hazard ratios are constant (Grambsch and Therneau, rank of time): from lifelines without `statistic`.
    Lifelines has no residuals of durations that entered late, and those of strata in another order than its times.
    """
    from lifelines.statistics import proportional_hazard_test

    if statistic is None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            test = proportional_hazard_test(fitter, table, time_transform="rank").summary.reindex(columns)
        statistic, p = (test[name].to_numpy(dtype=np.float64) for name in ("test_statistic", "p"))
    else:
        p = np.asarray(special.chdtrc(1.0, statistic), dtype=np.float64)
    index = pd.Index(columns, name="covariate", dtype=object)
    return pd.DataFrame({"statistic": statistic, "p": p, "p_adjusted": adjusted_p(p)}, index=index)


def _changing(matrix: pd.DataFrame, times: Times, coefficients: FloatArray, covariance: FloatArray) -> FloatArray:
    """The statistic of that test where durations entered late, or of strata."""
    residuals = times.residuals(schoenfeld_residuals, matrix, coefficients)[times.observed]
    ranks = pd.Series(times.hours[times.observed]).rank().to_numpy()
    ranks = ranks - ranks.mean()
    moved = ranks @ residuals @ covariance
    return np.asarray(len(ranks) * moved**2 / (np.diag(covariance) * (ranks**2).sum()), dtype=np.float64)
