"""`regress`: how times to failure, times to repair and counts of failures vary with attributes of nodes and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from relfit.analyses.regression import design
from relfit.analyses.regression.count_model import COUNT_MODEL, fit_counts
from relfit.analyses.regression.covariates import entry_column, node_table, regression_table, without_shared
from relfit.analyses.regression.regression_results import Estimate, Regression, Test
from relfit.analyses.regression.time_models import TIME_MODELS, Times, fit_times
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.numeric.levels import level_checked
from relfit.base.text import count
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.tables import check_log

MODELS = (*TIME_MODELS, COUNT_MODEL)
_COUNTS = "failures"
_RATIOS = {"cox": "hazard_ratio", COUNT_MODEL: "rate_ratio"}
_FEW_PER_COEFFICIENT = 10
_FEW_CLUSTERS = 20
_FEW_BEHIND = 5  # clusters behind one coefficient
_FAR = 10.0  # a standard error that multiplies rates by e**10 over the covariate's range: no information


def regress(
    log: FailureLog,
    formula: str,
    model: str | None = None,
    *,
    level: float = 0.95,
    cluster: str | None = "node",
    reference: Mapping[str, object] | None = None,
    strata: str | None = None,
) -> Regression:
    """Regression of times to failure, times to repair or failure counts on attributes of nodes and events.

    Parameters
    ----------
    log : FailureLog
    formula : str
        ``"ttf ~ cage + column"`` (time to failure), ``"ttr ~ cause"`` (time to repair) or ``"failures ~ rack"``
        (failures of each node over the hours that it was observed). Failures and times to failure are without
        incidents that hit several nodes. The right side names attributes of the log, ``system`` or ``cause``, in the
        language of formulaic; text is a category, ``C(cage)`` makes a number one, and a name that is no plain word
        stands in backticks or in ``Q("Purchase Order")``. The cause of a time to failure is that of the failure with
        which it began.
    model : {"cox", "weibull", "lognormal", "negative binomial"}, optional
        Of times: proportional hazards (the default, ties after Efron), or accelerated failure time. Of ``failures``:
        negative binomial.
    level : float
        Level of the intervals.
    cluster : str or None
        Standard errors are robust to dependence among rows with the same value of this column. ``None`` assumes
        independent rows.
    reference : mapping from attribute to level, optional
        Reference level of a category; by default the first in natural order. A number with one becomes a category.
    strata : str, optional
        Cox: a column that is not in the formula. Each of its values has a baseline hazard of its own, and durations are
        compared within one only.

    Raises
    ------
    ArgumentError
        For an unknown formula, column, level or model, or coefficients that cannot be estimated (constant or collinear
        covariates, a level without a failure, too few failures).

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> rf.regress(log, "failures ~ rack").headline.partition(": ")[2]
    '9,076 failures of 512 nodes, p = 1 (likelihood ratio) for all covariates together.'
    >>> rf.regress(log, "ttf ~ rock")
    Traceback (most recent call last):
    ...
    relfit.base.errors.ArgumentError: no column 'rock'; did you mean 'rack'? the columns are system, rack, cause,
    detail, scope
    """
    check_log(log)
    left, _ = design.split(formula)
    if left not in ("ttf", "ttr", _COUNTS):
        remedy = "use ttf or ttr (time to failure, to repair) or failures (of each node), as in 'ttf ~ rack'"
        raise ArgumentError(f"{left!r} on the left side is not known", remedy=remedy)
    of_nodes, shared = (log, 0) if left == "ttr" else without_shared(log)
    left_out = {"record of an incident of several nodes": shared} if shared else {}
    table, dropped = (node_table(log), {}) if left == _COUNTS else regression_table(of_nodes, left)
    keys = ["system", "node"] if cluster == "node" else [] if cluster is None else [cluster]
    entry = entry_column(log, table)
    own = ("node", "duration", "observed", "failures", "hours", entry)
    return regression(
        table.rename(columns={"duration": left}),
        formula,
        model,
        cluster=keys,
        reference=reference,
        level=level,
        covariates=[str(name) for name in table.columns if name not in own],
        dropped={**left_out, **dropped},
        entry=entry,
        strata=strata,
    )


def regression(
    table: pd.DataFrame,
    formula: str,
    model: str | None = None,
    *,
    cluster: Sequence[str] = (),
    reference: Mapping[str, object] | None = None,
    level: float = 0.95,
    covariates: Sequence[str] | None = None,
    dropped: Mapping[str, int] | None = None,
    entry: str | None = None,
    strata: str | None = None,
) -> Regression:
    """`regress` of a table with one row per duration (``observed`` marks a failure), or per node (with ``hours``).

    The left side names the column of hours, or is ``failures``; `cluster` names columns, and `covariates` what the
    formula may name (all columns when left out); `dropped` are rows that were left out before. `entry` names the column
    of the hours from which a duration was observed (left truncation).
    """
    left, _ = design.split(formula)
    counted = left == _COUNTS
    model = model or (COUNT_MODEL if counted else "cox")
    if model not in MODELS:
        raise ArgumentError(f"unknown model {model!r}", remedy=design.suggestion(str(model), MODELS, "models"))
    if counted != (model == COUNT_MODEL):
        remedy = f"write '{_COUNTS} ~ ...' for {COUNT_MODEL}, 'ttf ~ ...' for {', '.join(TIME_MODELS)}"
        raise ArgumentError(f"the {model} model is not one of {'counts' if counted else 'times'}", remedy=remedy)
    if strata is not None and model != "cox":
        raise ArgumentError(f"strata are not for the {model} model", remedy="leave them out, or use the Cox model")
    level_checked(level)
    table = table.reset_index(drop=True)
    rows = _rows(table, formula, model, list(cluster), reference or {}, covariates, dropped or {}, entry, strata)
    if counted:
        # a row per node: nothing to be robust to
        clusters = rows.clusters if rows.n_clusters != len(rows.frame) else None
        estimate = fit_counts(rows.matrix, rows.failures, rows.hours, clusters)
    else:
        clusters = rows.clusters
        times = Times(rows.hours, rows.failures > 0.0, rows.entry, rows.strata)
        estimate = fit_times(model, rows.frame, rows.right, rows.matrix, times, clusters)
    estimate = estimate.checked()
    return _result(formula, model, level, rows, estimate, None if clusters is None else rows.n_clusters)


@dataclass(frozen=True)
class _Rows:
    """What is regressed: covariates, hours and failures of each row, and the cluster it belongs to."""

    frame: pd.DataFrame
    right: str
    matrix: pd.DataFrame
    hours: FloatArray
    failures: FloatArray
    clusters: IntArray | None
    keys: list[str]
    labels: pd.DataFrame
    dropped: dict[str, int]
    entry: FloatArray | None
    strata: pd.Series | None

    @property
    def n_clusters(self) -> int | None:
        return None if self.clusters is None else int(self.clusters.max()) + 1


def _rows(
    table: pd.DataFrame,
    formula: str,
    model: str,
    keys: list[str],
    reference: Mapping[str, object],
    covariates: Sequence[str] | None,
    dropped: Mapping[str, int],
    entry: str | None,
    strata: str | None,
) -> _Rows:
    left, right = design.split(formula)
    own = (left, "hours") if model == COUNT_MODEL else (left, "observed", *([entry] if entry else []))
    for name in (*own, *keys):
        if name not in table.columns:
            raise ArgumentError(f"no column {name!r}", remedy=design.suggestion(name, map(str, table.columns)))
    reasons: dict[str, npt.NDArray[np.bool_]] = {}
    late: FloatArray | None = None
    if model == COUNT_MODEL:
        hours, failures = (table[name].to_numpy(np.float64) for name in ("hours", left))
        reasons["no hours observed"] = ~(hours > 0.0)
    else:
        ages = table[entry].to_numpy(np.float64) if entry else None
        data = LifeData.from_array(table[left].to_numpy(np.float64), table["observed"].to_numpy(np.bool_), entry=ages)
        hours, failures, late = data.durations, data.observed.astype(np.float64), data.entry
        zero = hours == 0.0
        if model != "cox" and (zero & data.observed).any():
            have = count(int((zero & data.observed).sum()), "duration of zero has", "durations of zero have")
            what = f"{have} no density under the {model} model"
            raise ArgumentError(what, remedy="leave them out, or use the Cox model")
        reasons["censored at age zero"] = zero & ~data.observed
    reasons |= {f"no value of {key!r} to cluster by": table[key].isna().to_numpy() for key in keys}
    offered = covariates or [str(name) for name in table.columns if name not in own]
    if strata is not None:
        design.check_strata(strata, right, offered)
        reasons[f"no value of {strata!r} to stratify by"] = table[strata].isna().to_numpy()
    usable, left_out = np.ones(len(table), dtype=bool), dict(dropped)
    for reason, unusable in reasons.items():
        left_out |= {reason: int((unusable & usable).sum())} if (unusable & usable).any() else {}
        usable &= ~unusable
    frame, missing = design.covariates_of(table[usable], right, reference, offered)
    left_out |= {f"no value of {name!r}": number for name, number in missing.items()}
    if not len(frame):
        reason = ", ".join(f"{number} with {reason}" for reason, number in left_out.items())
        raise ArgumentError(f"no {_noun(model)} is left to fit{': ' + reason if reason else ''}")
    at = frame.index.to_numpy()
    clusters = None
    if keys:
        clusters = table.loc[at, keys].astype(object).groupby(keys, sort=False).ngroup().to_numpy().astype(np.int64)
        if clusters.max() == 0:
            what = f"all {_noun(model)}s have one value of {', '.join(keys)}"
            raise ArgumentError(what, remedy="cluster by something else, or cluster=None")
    frame, right = design.without_keywords(frame, right)
    matrix = design.matrix_of(frame, right, failures[at], _noun(model))
    labels = table.loc[at, [name for name in ("system", "node") if name in table.columns]]
    late = None if late is None else late[at]
    of_strata = None if strata is None else table.loc[at, strata].astype(str).rename(strata)
    if of_strata is not None:
        design.reject_same_within(matrix, of_strata)
    return _Rows(frame, right, matrix, hours[at], failures[at], clusters, keys, labels, left_out, late, of_strata)


def _noun(model: str) -> str:
    return "node" if model == COUNT_MODEL else "duration"


def _result(formula: str, model: str, level: float, rows: _Rows, fit: Estimate, n_clusters: int | None) -> Regression:
    columns, k = list(map(str, rows.matrix.columns)), rows.matrix.shape[1]
    notes = list(fit.notes)
    with np.errstate(all="ignore"):
        far = np.sqrt(np.diag(fit.covariance))[:k] * np.ptp(rows.matrix.to_numpy(), axis=0) > _FAR
    vague = [name for name, wide in zip(columns, far, strict=True) if wide]
    if vague:
        notes.insert(0, f"the data say next to nothing about {', '.join(vague)}: no finite estimate may exist")
    lone = _lone(rows) if n_clusters is not None else []
    if lone:
        by_few = f"{', '.join(lone)}: fewer than {_FEW_BEHIND} clusters are behind it, its standard error is too small"
        notes.insert(0, by_few)
    n_failures = int(rows.failures.sum())
    if n_failures < _FEW_PER_COEFFICIENT * k:
        few = f"{count(n_failures, 'failure')} for {count(k, 'coefficient')}"
        notes.append(f"{few}: fewer than ten for each, intervals are too short")
    by = ", ".join(name for name in rows.keys if name != "system") or "system"
    notes += _notes_on_errors(n_clusters, k, by, _noun(model))
    left, right = design.split(formula)
    nodes = None
    degrees = np.inf if n_clusters is None else n_clusters - 1
    if fit.expected is not None:
        degrees = min(degrees, max(len(rows.frame) - k - 1, 0))
        nodes = rows.labels.assign(failures=rows.failures.astype(np.int64), hours=rows.hours, expected=fit.expected)
        nodes = nodes.reset_index(drop=True)
    return Regression(
        formula=f"{left} ~ {right}",
        model=model,
        level=level,
        table=_table(model, rows.frame, columns, fit, degrees, level),
        n_rows=len(rows.frame),
        n_failures=n_failures,
        n_clusters=n_clusters,
        dropped=rows.dropped,
        loglik=fit.loglik,
        aic=2.0 * fit.coefficients.size - 2.0 * fit.loglik,
        likelihood_ratio=Test(fit.rise, k, float(scipy.stats.chi2.sf(fit.rise, k))),
        wald=_wald(fit.coefficients[:k], fit.robust[:k, :k], degrees, 1 if n_clusters is None else k),
        converged=fit.converged,
        notes=tuple(notes),
        proportional=fit.proportional,
        dispersion=fit.dispersion,
        nodes=nodes,
        fitter=fit.fitter,
        strata=None if rows.strata is None else str(rows.strata.name),
    )


def _lone(rows: _Rows) -> list[str]:
    """Covariates that are zero but in a few clusters, in which robust errors see next to no variation."""
    values = rows.matrix.to_numpy()
    levels = [i for i, name in enumerate(rows.matrix.columns) if "[T." in str(name)]
    behind = {i: np.unique(np.asarray(rows.clusters)[values[:, i] != 0.0]).size for i in levels}
    return [str(rows.matrix.columns[i]) for i, clusters in behind.items() if clusters < _FEW_BEHIND]


def _wald(coefficients: FloatArray, covariance: FloatArray, degrees: float, least: int) -> Test:
    """Test of all coefficients together; none with fewer degrees of freedom than the `least`."""
    k = coefficients.size
    if degrees < least or not np.isfinite(covariance).all():
        return Test(np.nan, k, np.nan)
    wald = float(coefficients @ np.linalg.lstsq(covariance, coefficients, rcond=None)[0])
    p = scipy.stats.f.sf(wald / k, k, degrees) if np.isfinite(degrees) else scipy.stats.chi2.sf(wald, k)
    return Test(wald, k, float(p))


def _table(
    model: str, frame: pd.DataFrame, names: list[str], fit: Estimate, degrees: float, level: float
) -> pd.DataFrame:
    """One row per coefficient, with intervals by Student's distribution; `Regression` documents the columns."""
    ratio, k = _RATIOS.get(model, "time_ratio"), len(names)
    student, coefficients = scipy.stats.t(degrees), fit.coefficients[:k]
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.diag(fit.robust))[:k]
        far = student.ppf(0.5 + level / 2.0) * errors
        p = 2.0 * student.sf(np.abs(coefficients / errors))
        ends = {"": coefficients, "_low": coefficients - far, "_high": coefficients + far}
        columns = {"coefficient": coefficients, "standard_error": errors, "low": ends["_low"], "high": ends["_high"]}
        columns |= {f"{ratio}{end}": np.exp(value) for end, value in ends.items()}
    columns |= {"p": p, "p_adjusted": adjusted_p(p)}
    references = [design.reference_of(name, frame) for name in names]
    index = pd.Index(names, name="covariate", dtype=object)
    return pd.DataFrame(columns, index=index).assign(reference=pd.Series(references, index=index, dtype=object))


def _notes_on_errors(n_clusters: int | None, k: int, by: str, noun: str) -> list[str]:
    if n_clusters is None:
        return [f"standard errors take all {noun}s as independent"]
    notes = [
        f"standard errors are robust to dependence among the {noun}s of one {by} ({n_clusters}); "
        f"the likelihood-ratio test takes {noun}s as independent"
    ]
    if n_clusters < _FEW_CLUSTERS:
        notes.append(f"{n_clusters} clusters are few: robust standard errors are then uncertain")
    if n_clusters <= k:
        notes.append("fewer clusters than coefficients: no Wald test of all together")
    return notes
