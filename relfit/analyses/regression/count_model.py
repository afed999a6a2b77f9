"""Regression of counts: statsmodels fits a negative binomial of the failures of nodes, with their hours as exposure."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.analyses.regression.regression_results import Estimate, at_maximum
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.units import HOURS_PER_YEAR

if TYPE_CHECKING:
    from statsmodels.discrete.discrete_model import NegativeBinomial, Poisson

COUNT_MODEL = "negative binomial"
_REMEDY = "try fewer covariates, merge levels that few nodes have, write center(x) for numbers far from zero"
_NO_SPREAD = 1e-6  # variance of the rates at which the likelihood is flat
_STEPS, _CLOSE = 50, 1e-10  # of Newton's search, and the step with which it ends
_NEAREST = 0.9  # of the way to no spread that one step goes, at most


def fit_counts(matrix: pd.DataFrame, failures: FloatArray, hours: FloatArray, clusters: IntArray | None) -> Estimate:
    """Coefficients of the log rate per year, and the variance of rates that they leave; Poisson where there is none."""
    from statsmodels.discrete.discrete_model import NegativeBinomial, Poisson
    from statsmodels.genmod.families import Poisson as PoissonFamily
    from statsmodels.genmod.generalized_linear_model import GLM

    x = np.column_stack([matrix.to_numpy(), np.ones(len(matrix))])
    exposure = hours / HOURS_PER_YEAR
    groups = {} if clusters is None else {"cov_type": "cluster", "cov_kwds": {"groups": clusters}}
    notes: tuple[str, ...] = ()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            start = GLM(failures, x, family=PoissonFamily(), exposure=exposure).fit().params
            plain = Poisson(failures, x, exposure=exposure).fit(start_params=start, method="newton", disp=0)
            model = NegativeBinomial(failures, x, exposure=exposure)
            spread_of_rates = max(_spread(failures, np.asarray(plain.predict())), 0.01)
            fit = _fit(model, np.append(plain.params, spread_of_rates), groups)
            dispersion = float(fit.params[-1])
            if not dispersion > _NO_SPREAD or not fit.llf > plain.llf:
                model, dispersion = Poisson(failures, x, exposure=exposure), 0.0
                fit = model.fit(start_params=plain.params, method="newton", disp=0, **groups)
                notes = ("counts vary no more than those of equal nodes: this is a Poisson model",)
            covariance = np.linalg.inv(-model.hessian(fit.params))
            null = type(model)(failures, np.ones((len(x), 1)), exposure=exposure)
            rate = failures.sum() / exposure.sum()
            spread = [max(_spread(failures, rate * exposure), 0.01)] if dispersion > 0.0 else []
            alone = _fit(null, np.array([np.log(rate), *spread]), {})
        except (ValueError, np.linalg.LinAlgError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ArgumentError(f"statsmodels could not fit these counts: {reason}", remedy=_REMEDY) from error
        return Estimate(
            fitter=fit,
            coefficients=np.asarray(fit.params),
            covariance=covariance,
            robust=np.asarray(fit.cov_params()),
            loglik=float(fit.llf),
            rise=2.0 * float(fit.llf - alone.llf),
            converged=at_maximum(fit.params, covariance, np.asarray(model.score(fit.params))),
            notes=notes,
            remedy=_REMEDY,
            dispersion=dispersion,
            expected=np.asarray(fit.predict()),
        )


def _fit(model: NegativeBinomial | Poisson, start: FloatArray, options: Mapping[str, object]) -> Any:
    """Results at the maximum: a careful search, then Newton's steps from its end."""
    near = model.fit(start_params=start, method="bfgs", maxiter=500, disp=0).params
    if near.size == model.exog.shape[1]:  # a Poisson model
        return model.fit(start_params=near, method="newton", maxiter=50, disp=0, **options)
    return model.fit(start_params=_polished(model, near), method="newton", maxiter=0, disp=0, **options)


def _polished(model: NegativeBinomial, at: FloatArray) -> FloatArray:
    """Newton's steps that leave the variance of the rates, the last parameter, above zero."""
    for _ in range(_STEPS):
        if at[-1] <= _NO_SPREAD:
            return at
        step = np.linalg.solve(-model.hessian(at), model.score(at))
        step *= min(1.0, _NEAREST * at[-1] / max(-step[-1], 1e-300))
        ahead = at + step
        if not model.loglike(ahead) >= model.loglike(at):
            return at
        at = ahead
        if np.abs(step).max() < _CLOSE:
            return at
    return at


def _spread(failures: FloatArray, expected: FloatArray) -> float:
    """Variance of the nodes' rates beyond these expectations, by moments."""
    return float((np.square(failures - expected) - failures).sum() / np.square(expected).sum())
