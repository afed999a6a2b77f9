"""Regressions: lifelines fits Cox, Weibull or lognormal AFT models; checks and robust errors are relfit's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy

from relfit.arrays import BoolArray, FloatArray
from relfit.errors import ArgumentError
from relfit.lifedata import LifeData
from relfit.numeric.false_discovery import adjusted_p
from relfit.numeric.levels import normal_quantile
from relfit.regression.covariates import regression_table
from relfit.regression.design import INTERCEPT, covariates_of, matrix_of, reference_of, split, suggestion
from relfit.regression.regression_results import Regression, Test
from relfit.regression.scores import aft_scores, cox_scores, sandwich

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["MODELS", "regress"]


MODELS = {
    "cox": ("CoxPHFitter", "", ""),
    "weibull": ("WeibullAFTFitter", "lambda_", "rho_"),
    "lognormal": ("LogNormalAFTFitter", "mu_", "sigma_"),
}
_REMEDY = "try fewer covariates, merge levels that few durations have, write center(x) for numbers far from zero"
_DURATION, _OBSERVED = "_duration", "_observed"
_FEW_PER_COEFFICIENT = 10
_FEW_CLUSTERS = 20
_NEAR = 1e-4  # half the squared distance to the maximum, in standard errors, below which a search has ended well
_SINGULAR = "Hessian was not invertible"  # lifelines then makes standard errors up
_FAR = 10.0  # a standard error that multiplies hazards by e**10 over the covariate's range says that nothing is known


def regress(
    log: FailureLog,
    formula: str,
    model: str = "cox",
    *,
    level: float = 0.95,
    cluster: str | None = "node",
    reference: Mapping[str, Any] | None = None,
) -> Regression:
    """How attributes of nodes and events lengthen or shorten times to failure or repair; needs ``relfit[regression]``.

    Parameters
    ----------
    log : FailureLog
    formula : str
        ``"ttf ~ cage + column"`` or ``"ttr ~ cause"``: the right side names attributes of the log, ``system`` or
        ``cause``, in the language of formulaic; text is a category, ``C(cage)`` makes a number one. The cause of a time
        to failure is that of the failure with which it began, that of a time to repair its own.
    model : {"cox", "weibull", "lognormal"}
        Proportional hazards (ties after Efron), or accelerated failure time.
    level : float
        Level of the intervals.
    cluster : str or None
        Standard errors are robust to dependence among the durations with one value of this; ``"node"`` since a node has
        several. ``None`` takes durations as independent.
    reference : mapping from attribute to level, optional
        What other levels are compared to; the first in natural order when left out. It makes a number a category.

    Returns
    -------
    relfit.regression.Regression

    Raises
    ------
    ArgumentError
        Without lifelines; for a formula, a column, a level or a model that is not there; where the coefficients cannot
        be estimated (constant or collinear covariates, a level without a failure, too few failures).

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> regress(log, "ttf ~ rock")
    Traceback (most recent call last):
    ...
    relfit.errors.ArgumentError: no column 'rock'; did you mean 'rack'? there is system, rack, cause, detail, scope
    """
    left, _ = split(formula)
    if left not in ("ttf", "ttr"):
        raise ArgumentError(
            f"{left!r} on the left side is not known",
            remedy="use ttf or ttr (time to failure, to repair), as in 'ttf ~ rack'",
        )
    table, dropped = regression_table(log, left)
    keys = ["system", "node"] if cluster == "node" else [] if cluster is None else [cluster]
    covariates = [str(name) for name in table.columns if name not in ("node", "duration", "observed")]
    return regression(
        table.rename(columns={"duration": left}), formula, model, cluster=keys, reference=reference, level=level,
        covariates=covariates, dropped=dropped,
    )  # fmt: skip


def regression(
    table: pd.DataFrame,
    formula: str,
    model: str = "cox",
    *,
    cluster: Sequence[str] = (),
    reference: Mapping[str, Any] | None = None,
    level: float = 0.95,
    covariates: Sequence[str] | None = None,
    dropped: Mapping[str, int] | None = None,
) -> Regression:
    """`regress` of a table with one row per duration.

    The left side names the column of hours, ``observed`` tells which ended in a failure, `cluster` names columns, and
    `covariates` what the formula may name (all columns when left out); `dropped` are rows that were left out before.
    """
    left, right = split(formula)
    keys = list(cluster)
    if model not in MODELS:
        raise ArgumentError(f"unknown model {model!r}", remedy=suggestion(str(model), MODELS))
    lifelines = _lifelines()
    normal_quantile(level)
    for name in (left, *keys):
        if name not in table.columns:
            raise ArgumentError(f"no column {name!r}", remedy=suggestion(name, map(str, table.columns)))
    data = LifeData.from_array(table[left].to_numpy(np.float64), table["observed"].to_numpy(np.bool_))
    table = table.reset_index(drop=True)
    zero = data.durations == 0.0
    if model != "cox" and (zero & data.observed).any():
        raise ArgumentError(
            f"{(zero & data.observed).sum()} durations of zero have no density under the {model} model",
            remedy="leave them out, or use the Cox model",
        )
    kept, left_out = np.ones(len(table), dtype=bool), dict(dropped or {})
    reasons = {"censored at age zero": zero & ~data.observed}
    reasons |= {f"no value of {key!r} to cluster by": table[key].isna().to_numpy() for key in keys}
    for reason, gone in reasons.items():
        left_out |= {reason: int((gone & kept).sum())} if (gone & kept).any() else {}
        kept &= ~gone
    offered = [str(name) for name in table.columns if name not in (left, "observed")]
    frame, missing = covariates_of(table[kept], right, reference or {}, covariates or offered)
    left_out |= {f"no value of {name!r}": rows for name, rows in missing.items()}
    if not len(frame):
        told = ", ".join(f"{rows} with {reason}" for reason, rows in left_out.items())
        raise ArgumentError(f"no duration is left to fit{': ' + told if told else ''}")
    at = frame.index.to_numpy()
    durations, failed = data.durations[at], data.observed[at]
    clusters = None
    if keys:
        clusters = table.loc[at, keys].astype(object).groupby(keys, sort=False).ngroup().to_numpy().astype(np.int64)
        if clusters.max() == 0:
            told = f"all durations have one value of {', '.join(keys)}"
            raise ArgumentError(told, remedy="cluster by something else, or cluster=None")
    matrix = matrix_of(frame, right, failed)
    columns, k = list(map(str, matrix.columns)), matrix.shape[1]
    notes: list[str] = []
    fitter = _fit(lifelines, model, frame, durations, failed, right, notes)
    coefficients, covariance, scores = _found(fitter, model, durations, failed, matrix)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rise = float(fitter.log_likelihood_ratio_test().test_statistic)
    singular = any(_SINGULAR in note for note in notes)
    converged = not singular and _at_maximum(coefficients, covariance, scores) and rise > -2.0 * _NEAR
    if not converged:
        rise = np.nan
        coefficients, covariance = np.full_like(coefficients, np.nan), np.full_like(covariance, np.nan)
    with np.errstate(all="ignore"):
        independent = np.sqrt(np.diag(covariance))[:k]
        robust = covariance if clusters is None else sandwich(covariance, scores, clusters)
        errors = np.sqrt(np.diag(robust))[:k]
    n_clusters = None if clusters is None else int(clusters.max()) + 1
    far = independent * np.ptp(matrix.to_numpy(), axis=0) > _FAR
    vague = [name for name, wide in zip(columns, far, strict=True) if wide]
    if vague:
        told = f"the data say next to nothing about {', '.join(vague)}: its coefficient may have no finite estimate"
        notes.insert(0, told)
    if not converged:
        told = "not converged: the search did not end at a maximum of the likelihood, so no numbers are given"
        notes.insert(0, f"{told}; {_REMEDY}")
    if failed.sum() < _FEW_PER_COEFFICIENT * k:
        notes.append(f"{failed.sum()} failures for {k} coefficients: fewer than ten for each, intervals are too short")
    notes += _notes_on_errors(n_clusters, k, ", ".join(name for name in keys if name != "system") or "system")
    freedom = np.inf if n_clusters is None else n_clusters - 1
    loglik = float(fitter.log_likelihood_) if converged else np.nan
    return Regression(
        formula=f"{left} ~ {right}",
        model=model,
        level=level,
        table=_table(model, frame, columns, coefficients[:k], errors, scipy.stats.t(freedom), level),
        n_durations=len(frame),
        n_failures=int(failed.sum()),
        n_clusters=n_clusters,
        dropped=left_out,
        loglik=loglik,
        aic=2.0 * coefficients.size - 2.0 * loglik,
        likelihood_ratio=Test(float(np.maximum(rise, 0.0)), k, float(scipy.stats.chi2.sf(np.maximum(rise, 0.0), k))),
        wald=_wald(coefficients[:k], robust[:k, :k], n_clusters),
        converged=converged,
        notes=tuple(notes),
        fitter=fitter,
    )


def _lifelines() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import lifelines
    except ImportError as error:
        raise ArgumentError(
            "regression needs lifelines, which is not installed", remedy="pip install 'relfit[regression]'"
        ) from error
    return lifelines


def _fit(
    lifelines: Any, model: str, frame: pd.DataFrame, durations: FloatArray, observed: BoolArray, right: str,
    notes: list[str],
) -> Any:  # fmt: skip
    """Let lifelines fit, with its warnings kept as notes and its errors turned into ours."""
    fitter = getattr(lifelines, MODELS[model][0])()
    whole = frame.assign(**{_DURATION: durations, _OBSERVED: observed})
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            fitter.fit(whole, _DURATION, _OBSERVED, formula=right)
        except Exception as error:  # whatever goes wrong in the search of another package
            said = " ".join(str(error).split())[:200]
            raise ArgumentError(f"lifelines could not fit this {model} model: {said}", remedy=_REMEDY) from error
    told = [w.message for w in caught if (w.category.__module__ or "").startswith("lifelines")]
    notes += dict.fromkeys(f"lifelines: {' '.join(str(message).split())[:240]}" for message in told)
    return fitter


def _found(
    fitter: Any, model: str, durations: FloatArray, observed: BoolArray, matrix: pd.DataFrame
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients in the order of the matrix (then intercept and shape), their covariance, and the scores there."""
    _, first, second = MODELS[model]
    columns = list(matrix.columns)
    index: list[Any] = columns
    if model != "cox":
        index = [*((first, name) for name in (*columns, INTERCEPT)), (second, INTERCEPT)]
    coefficients = fitter.params_.reindex(index).to_numpy(dtype=np.float64)
    covariance = fitter.variance_matrix_.reindex(index=index, columns=index).to_numpy(dtype=np.float64)
    x = matrix.to_numpy()
    with np.errstate(all="ignore"):
        if model == "cox":
            return coefficients, covariance, cox_scores(durations, observed, x, coefficients)
        x = np.column_stack([x, np.ones(len(x))])
        scores = aft_scores(model, durations, observed, x, coefficients[:-1], float(coefficients[-1]))
    return coefficients, covariance, scores


def _at_maximum(coefficients: FloatArray, covariance: FloatArray, scores: FloatArray) -> bool:
    """Whether the gradient vanishes there (in standard errors) and the information is proper."""
    if not all(np.isfinite(values).all() for values in (coefficients, covariance, scores)):
        return False
    scale = np.sqrt(np.diag(covariance).clip(min=0.0))
    if not (scale > 0.0).all() or np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0] <= 0.0:
        return False
    gradient = scores.sum(axis=0)
    return bool(gradient @ covariance @ gradient < 2.0 * _NEAR)


def _wald(coefficients: FloatArray, covariance: FloatArray, n_clusters: int | None) -> Test:
    """Test of all coefficients together; none with fewer clusters than coefficients."""
    k = coefficients.size
    if (n_clusters is not None and n_clusters <= k) or not np.isfinite(covariance).all():
        return Test(np.nan, k, np.nan)
    wald = float(coefficients @ np.linalg.lstsq(covariance, coefficients, rcond=None)[0])
    p = scipy.stats.chi2.sf(wald, k) if n_clusters is None else scipy.stats.f.sf(wald / k, k, n_clusters - 1)
    return Test(wald, k, float(p))


def _table(
    model: str, frame: pd.DataFrame, names: list[str], coefficients: FloatArray, errors: FloatArray, distribution: Any,
    level: float,
) -> pd.DataFrame:  # fmt: skip
    """One row per coefficient, with limits by Student's distribution; `Regression` documents the columns."""
    ratio = "hazard_ratio" if model == "cox" else "time_ratio"
    with np.errstate(all="ignore"):
        far = distribution.ppf(0.5 + level / 2.0) * errors
        p = 2.0 * distribution.sf(np.abs(coefficients / errors))
        ends = {"": coefficients, "_low": coefficients - far, "_high": coefficients + far}
        columns = {"coefficient": coefficients, "standard_error": errors, "low": ends["_low"], "high": ends["_high"]}
        columns |= {f"{ratio}{end}": np.exp(value) for end, value in ends.items()}
    columns |= {"p": p, "p_adjusted": adjusted_p(p)}
    references = [reference_of(name, frame) for name in names]
    index = pd.Index(names, name="covariate", dtype=object)
    return pd.DataFrame(columns, index=index).assign(reference=pd.Series(references, index=index, dtype=object))


def _notes_on_errors(n_clusters: int | None, k: int, by: str) -> list[str]:
    if n_clusters is None:
        return ["standard errors take all durations as independent"]
    notes = [
        f"standard errors are robust to dependence among the durations of one {by} ({n_clusters}); "
        "the likelihood-ratio test takes durations as independent"
    ]
    if n_clusters < _FEW_CLUSTERS:
        notes.append(f"{n_clusters} clusters are few: robust standard errors are then uncertain")
    if n_clusters <= k:
        notes.append("fewer clusters than coefficients: no Wald test of all together")
    return notes
