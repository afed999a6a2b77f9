"""`regression`: lifelines fits Cox, Weibull or lognormal AFT models; data, standard errors and doubts are relfit's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from relfit.errors import ArgumentError, DataError
from relfit.lifedata import LifeData, key_columns
from relfit.numeric.false_discovery import adjusted_p
from relfit.regression.covariates import suggestion
from relfit.regression.formula import INTERCEPT, Design, design_of, prepare, split
from relfit.regression.results import Regression, Test, coefficient_table
from relfit.regression.risk_sets import proportional_hazards_test, risk_sets
from relfit.regression.scores import aft_scores, sandwich

__all__ = ["MODELS", "regression"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MODELS = ("cox", "weibull", "lognormal")
_REMEDY = "try fewer covariates, merge levels that few lives have, write center(x) for numbers far from zero"
_DURATION, _OBSERVED, _WEIGHT, _ENTRY = "_duration", "_observed", "_weight", "_entry"
_FEW_PER_COEFFICIENT = 10
_FEW_CLUSTERS = 20
_NEAR = 1e-4  # half the squared distance to the maximum, in standard errors, below which a search has ended well
_SINGULAR = "Hessian was not invertible"  # lifelines then makes standard errors up
_FAR = 10.0  # a standard error that multiplies hazards by e**10 over the covariate's range says that nothing is known


@dataclass(frozen=True, eq=False)
class _Lives:
    """What a model is fitted to, row by row."""

    frame: pd.DataFrame
    durations: FloatArray
    observed: BoolArray
    weights: FloatArray
    entry: FloatArray | None
    clusters: npt.NDArray[np.int64] | None
    design: Design


def regression(
    lives: pd.DataFrame | LifeData,
    formula: str,
    model: str = "cox",
    *,
    duration: str | None = None,
    observed: str | None = "observed",
    entry: str | None = None,
    weights: str | None = None,
    cluster: str | Sequence[str] | None = None,
    reference: Mapping[str, Any] | None = None,
    level: float = 0.95,
    left_out: Mapping[str, int] | None = None,
    covariates: Sequence[str] | None = None,
) -> Regression:
    """Regression of lives on covariates, fitted by lifelines.

    Parameters
    ----------
    lives : pandas.DataFrame or LifeData
        A row a life. Of a `LifeData` the keys of the groups are the covariates, and its truncation and weights count.
    formula : str
        ``"hours ~ rack + C(position)"``: the column of durations, then the covariates in the language of formulaic.
        Text is a category, ``C(x)`` makes a number one.
    model : {"cox", "weibull", "lognormal"}
        Proportional hazards (Cox, ties after Efron), or accelerated failure time with Weibull or lognormal lives.
    duration : str, optional
        Column of durations in hours; the left side of the formula when left out.
    observed : str or None
        Column that is true where the life ended in a failure; None if all did.
    entry, weights : str, optional
        Columns of ages (hours) from which lives were watched, and of how many lives a row stands for.
    cluster : str or sequence of str, optional
        Columns whose values name lives that may depend on each other; standard errors are then robust (sandwich).
        Without it they come from the information and take all lives as independent.
    reference : mapping from covariate to level, optional
        The level to which others are compared; the first in natural order when left out. It makes a number a category.
    level : float
        Level of the intervals.
    left_out : mapping from reason to count, optional
        Rows that were left out before, to be told in the result.
    covariates : sequence of str, optional
        Columns that a formula may name; all but those above when left out.

    Returns
    -------
    Regression

    Raises
    ------
    ArgumentError
        Without lifelines; for a formula, a column, a level or a model that is not there; where the coefficients cannot
        be estimated (constant or collinear covariates, a level without a failure, too few failures).
    DataError
        For durations, weights or ages that cannot be.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> hot = rng.integers(0, 2, 400)
    >>> table = pd.DataFrame({"hours": 1000 * rng.weibull(1.5, 400) * 0.5**hot, "hot": hot})
    >>> found = regression(table, "hours ~ hot", "weibull", observed=None)
    >>> found.table.loc["hot", ["time_ratio_low", "time_ratio_high"]].between(0.4, 0.6).tolist()
    [True, True]
    """
    kind = _model_named(model)
    lifelines = _lifelines()
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    left, right = split(formula)
    if isinstance(lives, LifeData):
        table, duration, entry, weights = _table_of(lives)
        observed = "observed"
        offered = list(key_columns(lives.groups).columns)
    else:
        table = lives.reset_index(drop=True)
        duration = duration or left
        if duration is None:
            raise ArgumentError(
                "the formula has no left side", remedy="name the column of durations there, or as duration"
            )
        own = {duration, observed, entry, weights}
        offered = [str(c) for c in table.columns if c not in own] if covariates is None else list(covariates)
    named = [duration, observed, entry, weights, *([cluster] if isinstance(cluster, str) else cluster or [])]
    for name in named:
        if name is not None and name not in table.columns:
            raise ArgumentError(f"no column {name!r}", remedy=suggestion(name, map(str, table.columns)))
    data, dropped = _data(kind, table, right, duration, observed, entry, weights, cluster, reference, offered)
    counts = {**(left_out or {}), **dropped}
    notes: list[str] = []
    fitter = _fit(lifelines, kind, data, right, level, notes)
    found = _cox(fitter, data) if kind == "cox" else _accelerated(fitter, kind, data)
    return _result(kind, f"{left or duration} ~ {right}", fitter, data, found, level, counts, cluster, notes)


def _model_named(model: str) -> str:
    name = str(model).strip().lower()
    if name not in MODELS:
        near = get_close_matches(name, MODELS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ArgumentError(f"unknown model {model!r}", remedy=f"{hint}use one of {', '.join(MODELS)}")
    return name


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


def _table_of(lives: LifeData) -> tuple[pd.DataFrame, str, str | None, str | None]:
    if lives.upper is not None or lives.exit is not None:
        raise ArgumentError(
            "regression takes no intervals and no right truncation",
            remedy="keep lives that are observed or right-censored, with or without left truncation",
        )
    return (
        lives.to_frame(),
        "duration_hours",
        None if lives.entry is None else "entry_hours",
        None if lives.weights is None else "weights",
    )


def _data(
    kind: str,
    table: pd.DataFrame,
    right: str,
    duration: str,
    observed: str | None,
    entry: str | None,
    weights: str | None,
    cluster: str | Sequence[str] | None,
    reference: Mapping[str, Any] | None,
    offered: list[str],
) -> tuple[_Lives, dict[str, int]]:
    """Rows that can be used, checked and coded, and how many were left out for what reason."""
    dropped: dict[str, int] = {}
    checked = LifeData.from_array(
        table[duration].to_numpy(dtype=np.float64),
        None if observed is None else _flags(table[observed]),
        entry=None if entry is None else table[entry].to_numpy(dtype=np.float64),
        weights=None if weights is None else table[weights].to_numpy(dtype=np.float64),
    )
    keep = np.ones(len(table), dtype=bool)

    def leave(gone: BoolArray, reason: str) -> None:
        nonlocal keep
        if (keep & gone).any():
            dropped[reason] = int((keep & gone).sum())
        keep = keep & ~gone

    ones = np.ones(len(table))
    mass = ones if checked.weights is None else checked.weights.astype(np.float64)
    leave(mass == 0, "weight of zero")
    leave((checked.durations == 0) & ~checked.observed, "censored at age zero")
    if checked.entry is not None:
        leave(checked.entry >= checked.durations, "came under observation as it ended")
    zeros = int((keep & (checked.durations == 0)).sum())
    if zeros and kind != "cox":
        raise ArgumentError(
            f"{zeros} lives of length zero have no density under the {kind} model",
            remedy="leave them apart (zeros='apart'), or use the Cox model",
        )
    keys = [cluster] if isinstance(cluster, str) else list(cluster or [])
    for key in keys:
        leave(table[key].isna().to_numpy(), f"no value of {key!r} to cluster by")
    frame, missing = prepare(table[keep], right, reference, offered)
    dropped |= {f"no value of {name!r}": count for name, count in missing.items()}
    if not len(frame):
        reasons = ", ".join(f"{count} with {reason}" for reason, count in dropped.items())
        raise ArgumentError(f"no life is left to fit{': ' + reasons if reasons else ''}")
    at = frame.index.to_numpy()
    if kind == "cox" and (mass[at] != 1.0).any():  # equal lives are ties, which a weight is not
        at = np.repeat(at, mass[at].astype(np.int64))
        frame, mass = frame.loc[at], ones
    clusters: npt.NDArray[np.int64] | None = None
    if keys:
        clusters = table.loc[at, keys].astype(object).groupby(keys, sort=False).ngroup().to_numpy().astype(np.int64)
        if np.unique(clusters).size < 2:
            raise ArgumentError(
                f"all lives have one value of {', '.join(keys)}", remedy="cluster by something else, or cluster=None"
            )
    design = design_of(frame, right, checked.observed[at], mass[at])
    data = _Lives(
        frame.reset_index(drop=True),
        checked.durations[at],
        checked.observed[at],
        mass[at],
        None if checked.entry is None else checked.entry[at],
        clusters,
        design,
    )
    return data, dropped


def _flags(values: pd.Series) -> BoolArray:
    if values.isna().any():
        row = int(np.flatnonzero(values.isna())[0])
        raise DataError(
            f"{values.name!r} is missing in row {row}", remedy="say whether the life ended, or leave it out"
        )
    return values.to_numpy(dtype=np.bool_)


def _fit(lifelines: Any, kind: str, data: _Lives, right: str, level: float, notes: list[str]) -> Any:
    """Let lifelines fit, with its warnings kept as notes and its errors turned into ours."""
    maker = {"cox": "CoxPHFitter", "weibull": "WeibullAFTFitter", "lognormal": "LogNormalAFTFitter"}[kind]
    fitter = getattr(lifelines, maker)(alpha=1.0 - level)
    frame = data.frame.assign(**{_DURATION: data.durations, _OBSERVED: data.observed})
    further: dict[str, Any] = {}
    if (data.weights != 1.0).any():
        frame[_WEIGHT] = data.weights
        further["weights_col"] = _WEIGHT
    if data.entry is not None:
        frame[_ENTRY] = data.entry
        further["entry_col"] = _ENTRY
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            fitter.fit(frame, _DURATION, _OBSERVED, formula=right, **further)
        except (lifelines.exceptions.StatError, lifelines.exceptions.ConvergenceError, *_NUMERICAL) as error:
            said = " ".join(str(error).split())[:200]
            raise ArgumentError(
                f"lifelines could not fit this {kind} model: {said}",
                remedy=_REMEDY,
            ) from error
    for warning in caught:
        if (warning.category.__module__ or "").startswith("lifelines"):
            note = f"lifelines: {' '.join(str(warning.message).split())[:240]}"
            if note not in notes:
                notes.append(note)
    return fitter


_NUMERICAL = (ValueError, ArithmeticError, np.linalg.LinAlgError, TypeError, KeyError, IndexError, AssertionError)


@dataclass(frozen=True, eq=False)
class _Found:
    """What follows from the coefficients that lifelines found."""

    coefficients: FloatArray
    covariance: FloatArray
    scores: FloatArray
    baseline: tuple[float, float] | None
    null_loglik: float
    assumption: pd.DataFrame | None
    curve: pd.DataFrame | None
    parameters: int

    def without_numbers(self) -> _Found:
        """The same with NaN for all that a failed search would give."""
        none = (
            None if self.assumption is None else self.assumption.assign(statistic=np.nan, p=np.nan, p_adjusted=np.nan)
        )
        return replace(
            self,
            coefficients=np.full_like(self.coefficients, np.nan),
            covariance=np.full_like(self.covariance, np.nan),
            assumption=none,
        )


def _cox(fitter: Any, data: _Lives) -> _Found:
    names = list(data.design.columns)
    coefficients = fitter.params_.reindex(names).to_numpy(dtype=np.float64)
    covariance = fitter.variance_matrix_.reindex(index=names, columns=names).to_numpy(dtype=np.float64)
    lives = (data.durations, data.observed, data.design.matrix)
    with np.errstate(all="ignore"):
        sets = risk_sets(*lives, coefficients, data.weights, data.entry)
        null = risk_sets(*lives, np.zeros(len(names)), data.weights, data.entry)
    statistic, p = proportional_hazards_test(sets, covariance)
    adjusted = np.append(adjusted_p(p[:-1]), np.nan)
    assumption = pd.DataFrame(
        {"statistic": statistic, "degrees": [*[1] * len(names), len(names)], "p": p, "p_adjusted": adjusted},
        index=pd.Index([*names, "all together"], name="covariate"),
    )
    curve = pd.DataFrame({"time": sets.steps, "cumulative_hazard": np.cumsum(sets.increments)})
    return _Found(coefficients, covariance, sets.score, None, null.loglik, assumption, curve, len(names))


def _accelerated(fitter: Any, kind: str, data: _Lives) -> _Found:
    first, second = ("lambda_", "rho_") if kind == "weibull" else ("mu_", "sigma_")
    names = list(data.design.columns)
    index = [*((first, name) for name in (*names, INTERCEPT)), (second, INTERCEPT)]
    estimates = fitter.params_.reindex(index).to_numpy(dtype=np.float64)
    covariance = fitter.variance_matrix_.reindex(index=index, columns=index).to_numpy(dtype=np.float64)
    matrix = np.column_stack([data.design.matrix, np.ones(len(data.frame))])
    with np.errstate(all="ignore"):
        scores = aft_scores(
            kind, data.durations, data.observed, matrix, estimates[:-1], float(estimates[-1]), data.weights, data.entry
        )
        null = float(fitter.log_likelihood_) - float(fitter.log_likelihood_ratio_test().test_statistic) / 2.0
    ends = (float(estimates[-2]), float(estimates[-1]))
    return _Found(estimates, covariance, scores, ends, null, None, None, len(index))


def _at_maximum(found: _Found) -> bool:
    """Whether the gradient vanishes there (as relfit computes it, in standard errors) and the information is proper."""
    if not (np.isfinite(found.coefficients).all() and np.isfinite(found.covariance).all()):
        return False
    scale = np.sqrt(np.diag(found.covariance).clip(min=0.0))
    if not (np.isfinite(found.scores).all() and (scale > 0.0).all()):
        return False
    proper = np.linalg.eigvalsh(found.covariance / np.outer(scale, scale))[0] > 0.0
    gradient = found.scores.sum(axis=0)
    left = float(gradient @ found.covariance @ gradient) / 2.0
    return bool(proper and 0.0 <= left < _NEAR)


def _result(
    kind: str,
    formula: str,
    fitter: Any,
    data: _Lives,
    found: _Found,
    level: float,
    counts: dict[str, int],
    cluster: str | Sequence[str] | None,
    notes: list[str],
) -> Regression:
    names = data.design.columns
    singular = any(_SINGULAR in note for note in notes)
    converged = not singular and _at_maximum(found) and float(fitter.log_likelihood_) > found.null_loglik - _NEAR
    if not converged:
        found = found.without_numbers()
    with np.errstate(all="ignore"):
        covariance = sandwich(found.covariance, found.scores, data.clusters)
        errors = np.sqrt(np.diag(covariance))
        span = np.ptp(data.design.matrix, axis=0)
        naive = np.sqrt(np.diag(found.covariance))[: len(names)]
    if not converged:
        notes.insert(
            0,
            f"not converged: the search did not end at a maximum of the likelihood, so no numbers are given; {_REMEDY}",
        )
    vague = [name for name, wide in zip(names, naive * span > _FAR, strict=True) if wide]
    if vague:
        notes.insert(
            0, f"the lives say next to nothing about {', '.join(vague)}: its coefficient may have no finite estimate"
        )
    failures = round(float(data.weights[data.observed].sum()))
    if failures < _FEW_PER_COEFFICIENT * len(names):
        notes.append(
            f"{failures} failures for {len(names)} coefficients: fewer than ten for each, intervals are too short"
        )
    n_clusters = None if data.clusters is None else int(np.unique(data.clusters).size)
    if n_clusters is not None:
        by = cluster if isinstance(cluster, str) else ", ".join(name for name in cluster or () if name != "system")
        notes.append(
            f"standard errors are robust to dependence among the lives of one {by} ({n_clusters}); "
            "the likelihood-ratio test and the test of the assumption take lives as independent"
        )
        if n_clusters < _FEW_CLUSTERS:
            notes.append(f"{n_clusters} clusters are few: robust standard errors are then doubtful")
    else:
        notes.append("standard errors take all lives as independent")
    k = len(names)
    freedom = np.inf if n_clusters is None else n_clusters - 1
    loglik = float(fitter.log_likelihood_) if converged else np.nan
    statistic = float(np.maximum(2.0 * (loglik - found.null_loglik), 0.0))
    with np.errstate(all="ignore"):
        try:
            wald = float(found.coefficients[:k] @ np.linalg.solve(covariance[:k, :k], found.coefficients[:k]))
        except np.linalg.LinAlgError:
            wald = np.nan
    if n_clusters is not None and n_clusters <= k:
        wald = np.nan
        notes.append("fewer clusters than coefficients: no Wald test of all together")
    return Regression(
        formula=formula,
        model=kind,
        level=level,
        table=coefficient_table(
            kind, names, data.design.references, found.coefficients[:k], errors[:k], level, freedom
        ),
        levels=data.design.levels,
        n_lives=round(float(data.weights.sum())),
        n_failures=failures,
        n_clusters=n_clusters,
        dropped=pd.DataFrame(
            {"rows": np.array(list(counts.values()), dtype=np.int64)},
            index=pd.Index(list(counts), name="reason", dtype=object),
        ),
        loglik=loglik,
        aic=2.0 * found.parameters - 2.0 * loglik,
        likelihood_ratio=Test(statistic, k, float(stats.chi2.sf(statistic, k))),
        wald=Test(wald, k, float(stats.f.sf(wald / k, k, freedom) if n_clusters else stats.chi2.sf(wald, k))),
        assumption=found.assumption,
        covariance=pd.DataFrame(covariance[:k, :k], index=list(names), columns=list(names)),
        converged=converged,
        notes=tuple(notes),
        fitter=fitter,
        estimates=found.coefficients,
        errors=errors,
        centre=np.average(data.design.matrix, axis=0, weights=data.weights),
        curve=found.curve,
        longest=float(data.durations.max()),
        frame=data.frame.iloc[:0],
    )
