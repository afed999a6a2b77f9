"""`attribute_effects`: which attributes are associated with more failures, shorter times to failure, longer repairs."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa

from relfit.analyses.regression.attribute_levels import (
    REST,
    compared_levels,
    failures_of,
    farthest_level,
    most_frequent,
    without_failure,
)
from relfit.analyses.regression.covariates import entry_column, node_table, regression_table, without_shared
from relfit.analyses.regression.models import regression
from relfit.analyses.regression.regression_results import Regression
from relfit.analyses.screening import OutlierNodes, outlier_nodes
from relfit.base.arguments import share
from relfit.base.arrays import BoolArray
from relfit.base.errors import ArgumentError, RelfitError
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result
from relfit.base.text import count, first_names, p_value
from relfit.io.parsing.times import are_dates
from relfit.log.failurelog import FailureLog
from relfit.log.tables import check_log

MEASURES = {
    "failures": ("negative binomial", "failures of a node"),
    "ttf": ("cox", "hazard"),
    "ttf (AFT)": ("weibull", "time to failure"),
    "ttr": ("lognormal", "time to repair"),
}
_FEW_VALUES = 6  # a number with no more values is a category
_WIDE = 4.0  # largest number by the smallest one, above which an effect is one of a doubling
_DOUBLED = "np.log2"
_MOST_COX = 100_000  # times: minutes of work
_LONE = 0.25  # largest share of outliers among the nodes of a level; more of them are what the level does
_NAMED = 3
_OF = ["attribute", "system"]
_ANSWER = ("coefficients", "p", "levels", "term", "reference", "ratio", "low", "high", "proportional_p")


class AttributeEffects(Result):
    """The effect of each attribute of nodes, one attribute at a time.

    Attributes
    ----------
    level : float
        Of the intervals.
    alpha : float
        False-discovery rate at which effects are reported.
    table : pandas.DataFrame
        One row per ``measure`` and ``attribute``, and per ``system`` where levels are compared within each (empty if
        not): ``model``, number of ``coefficients``, ``p`` of all of them together, ``p_adjusted`` over the rows of this
        measure (Benjamini and Hochberg), and one comparison: ``term``, ``reference``, ``ratio`` with ``low`` and
        ``high``. Of two values the rarer among the nodes is compared to the other; of several ``levels`` the farthest
        from all other values together, with an interval that holds for all of them (Bonferroni). ``ratio`` is of
        hazards (``ttf``), times (``ttf (AFT)``, ``ttr``) or rates (``failures``). A level without a failure
        has the ratio 0 (of times infinite) with one finite limit. ``proportional_p`` says whether
        hazard ratios stay the same over time. ``left_out`` names the outlier nodes that were left out, ``rare`` the
        levels with too few nodes or expected failures, ``status`` is ``ok`` or why there is no answer.
    regressions : dict
        By ``(measure, attribute)`` the `Regression` on all levels with a failure, if they are several; by ``(measure,
        attribute, system)`` that of one system.
    shared_records : int
        Records of incidents that hit several nodes: they are left out of comparisons of failures.
    """

    level: float
    alpha: float
    table: pd.DataFrame
    regressions: dict[tuple[str, ...], Regression]
    shared_records: int

    _not_in_json = ("regressions",)
    _frame = "table"

    @property
    def headline(self) -> str:
        """The attributes with an effect on failures, else that there is none."""
        names = self._associated["attribute"].unique()
        tested = self.table.loc[self.table["status"] == "ok", "attribute"].nunique()
        if not len(self.table):
            return "The nodes have no attributes to compare: they come from columns of the log or of a list of nodes."
        if not tested:
            return f"No attribute of the nodes can be compared: {self.not_compared}."
        if not len(names):
            return f"No attribute of the nodes is associated with more failures ({tested} tested{self._without})."
        named = f"Failures of nodes are associated with {', '.join(names)}"
        return f"{named} ({tested} tested, false-discovery rate {100 * self.alpha:g} %{self._without})."

    @property
    def _associated(self) -> pd.DataFrame:
        """Attributes with an effect by the first measure of failures that has an answer; the others ask the same."""
        of_failures = self.answered[self.answered["measure"] != "ttr"].drop_duplicates(_OF)
        return of_failures.loc[of_failures["p_adjusted"] <= self.alpha, _OF]

    @property
    def _without(self) -> str:
        """The outlier nodes and the records that were left out."""
        nodes = list(dict.fromkeys(node for names in self.table["left_out"] for node in names.split(", ") if node))
        left = []
        if len(nodes) > _NAMED:
            left.append(f"{count(len(nodes), 'outlier node')} of the period")
        elif nodes:
            left.append(f"the period's outlier node{'' if len(nodes) == 1 else 's'} {', '.join(nodes)}")
        if self.shared_records:
            left.append("incidents of several nodes")
        return f", without {' and '.join(left)}" if left else ""

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, then one sentence per effect, most certain first."""
        associated = pd.MultiIndex.from_frame(self._associated)
        told = pd.MultiIndex.from_frame(self.table[_OF]).isin(associated) | (self.table["measure"] == "ttr")
        rows = self.table[told & (self.table["p_adjusted"] <= self.alpha)].sort_values("p", kind="stable")
        sentences = [_sentence(row) for _, row in rows.iterrows()]
        return (self.headline, *sentences)

    @property
    def answered(self) -> pd.DataFrame:
        """The rows of the table with an answer."""
        return self.table[self.table["status"] == "ok"].reset_index(drop=True)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Why other rows have no answer, one sentence each."""
        rows = self.table[self.table["status"] != "ok"]
        return tuple(f"{row['measure']} by {_name(row)}: {row['status']}." for _, row in rows.iterrows())

    @property
    def notes(self) -> tuple[str, ...]:
        """Levels that are not compared by themselves, one sentence per attribute and group of levels."""
        rows = self.answered[self.answered["rare"] != ""].drop_duplicates([*_OF, "rare"])
        few = "too few nodes, or failures at the mean rate"
        return tuple(f"Levels of {_name(row)} {row['rare']} ({few})." for _, row in rows.iterrows())

    @property
    def not_compared(self) -> str:
        """The attributes without any answer, and why; empty if there are none."""
        rows = self.table[~self.table["attribute"].isin(self.answered["attribute"])].drop_duplicates("attribute")
        reasons = [
            f"{first_names(names, _NAMED)} ({why})"
            for why, names in rows.groupby("status", sort=False)["attribute"].agg(list).items()
        ]
        return "; ".join(reasons)


def _name(row: pd.Series) -> str:
    """An attribute, with the system within which it is compared."""
    return f"{row['attribute']} of system {row['system']}" if row["system"] else str(row["attribute"])


def _sentence(row: pd.Series) -> str:
    unit = " per doubling" if row["term"].startswith(_DOUBLED) else " per unit"
    against = f"for {row['term']} against {row['reference']}" if isinstance(row["reference"], str) else unit.strip()
    what, head = MEASURES[row["measure"]][1], f"{_name(row)} ({p_value(row['p_adjusted'])})"
    if row["levels"] > 1 and row["low"] <= 1.0 <= row["high"]:
        return f"{head}: {what} differs, but no value surely from all others together."
    ratio = f"{what} x {row['ratio']:.3g} ({row['low']:.3g}-{row['high']:.3g}) {against}"
    if row["ratio"] == 0.0:
        ratio = f"no failure, {what} at most x {row['high']:.3g} {against}"
    elif np.isinf(row["ratio"]):
        ratio = f"no failure, {what} at least x {row['low']:.3g} {against}"
    farthest = "" if row["levels"] == 1 else f", the farthest of {row['levels']:.0f} compared"
    return f"{head}: {ratio}{farthest}."


def attribute_effects(
    log: FailureLog,
    *,
    measures: tuple[str, ...] = tuple(MEASURES),
    level: float = 0.95,
    alpha: float = 0.05,
    outliers: OutlierNodes | None = None,
) -> AttributeEffects:
    """Association of each attribute of the nodes with failures, times to failure and to repair, one at a time.

    Incidents that hit several nodes are left out of comparisons of failures: they say nothing about one node. Numbers
    with no more than six values are categories. A level that would have fewer than five failures at the mean rate (and
    has not far more), or fewer than five nodes (three for counts), is joined with others like it, or left out if they
    are few together; `AttributeEffects.notes` names it. A level without a failure has an upper limit, exact for
    failures that come at random. An attribute with more levels than a quarter
    of the nodes nearly names the node and is not compared; dates are not, either. Outlier nodes
    (`relfit.analyses.screening.outlier_nodes`) are left out of comparisons of failures, unless they are more than a
    quarter of a level's nodes: what one node does is not what its rack does. In a log of several systems, levels that
    each belong to one system, such as racks, are compared within each system. Attributes that go together share their
    effects: fit both with `relfit.regress`.

    Parameters
    ----------
    log : FailureLog
    measures : tuple of str
        Of ``failures`` (counts, negative binomial), ``ttf`` (Cox), ``ttf (AFT)`` (Weibull) and ``ttr`` (lognormal).
    level : float
        Level of the intervals.
    alpha : float
        False-discovery rate.
    outliers : OutlierNodes, optional
        Outlier nodes of `log`, to reuse.

    Raises
    ------
    ArgumentError
        For another measure, and a level or a false-discovery rate that is not between 0 and 1.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> print(rf.regression.attribute_effects(log, measures=("failures",)).headline)
    No attribute of the nodes is associated with more failures (1 tested, without 5 outlier nodes of the period and
    incidents of several nodes).
    """
    check_log(log)
    level_checked(level)
    share("alpha", alpha, zero=False, one=False)
    rows: list[dict[str, object]] = []
    fits: dict[tuple[str, ...], Regression] = {}
    lonely = _outliers(log, outliers)
    of_nodes, shared = without_shared(log)
    sources = {"ttf": of_nodes, "ttr": log}
    of_units = {*log.population.columns, *([] if log.lifetimes is None else log.lifetimes.columns)}  # not of events
    for measure in measures:
        if measure not in MEASURES:
            raise ArgumentError(f"no measure {measure!r}", remedy=f"use one or more of {', '.join(MEASURES)}")
        model = MEASURES[measure][0]
        left = measure.partition(" ")[0]
        try:
            table = node_table(log) if left == "failures" else regression_table(sources[left], left)[0]
        except RelfitError:
            continue  # a log of lifetimes has no counts
        if left != "failures":
            table = table[table["duration"] > 0.0].rename(columns={"duration": left})
        names = [name for name in log.attributes if name in table.columns and name in of_units]
        told = {row["attribute"] for row in rows}
        for name in [name for name in names if name not in told and not _compared(table, name)]:
            why = "all nodes have one value" if table[name].notna().any() else "no node has a value"
            rows.append({"measure": measure, "attribute": name, "system": "", "model": model, "left_out": ""})
            rows[-1]["status"] = why
        for name, system, part in ((n, *each) for n in names for each in _compared(table, n)):
            row: dict[str, object] = {"measure": measure, "attribute": name, "system": system, "model": model}
            lone = _lone(part, name, lonely) if measure != "ttr" else np.zeros(len(part), dtype=np.bool_)
            row["left_out"] = ", ".join(dict.fromkeys(part.loc[lone, "node"].astype(str)))
            try:
                rows_used, values = part[~lone], _values(log, name, system)
                fit, answer = _fit(rows_used, left, name, model, level, values, entry_column(log, rows_used))
                row |= answer
                if fit is not None:
                    fits[(measure, name, system) if system else (measure, name)] = fit
            except RelfitError as error:
                row["status"] = str(error)
            rows.append(row)
    effects = pd.DataFrame(rows, columns=["measure", *_OF, "model", *_ANSWER, "left_out", "rare", "status"])
    effects["rare"] = effects["rare"].fillna("")
    p = effects["p"].astype(float)
    adjusted = [pd.Series(adjusted_p(part.to_numpy()), part.index) for _, part in p.groupby(effects["measure"])]
    effects.insert(6, "p_adjusted", pd.concat([*adjusted, p[:0]]).reindex(effects.index))
    return AttributeEffects(level, alpha, effects, fits, shared)


def _compared(table: pd.DataFrame, name: str) -> list[tuple[str, pd.DataFrame]]:
    """Rows to compare, and their system: each system's own if no level is of two of them, else all rows."""
    systems, levels = table["system"].astype(str), table[name].astype(str).where(table[name].notna())
    owners = systems.groupby(levels).nunique()
    if len(owners) < 2:
        return []
    if owners.max() > 1 or levels.groupby(systems).nunique().max() < 2 or systems.nunique() < 2:
        return [("", table)]
    parts = [(str(system), part) for system, part in table.groupby(systems, sort=False)]
    return [(system, part) for system, part in parts if len(part[name].dropna().unique()) > 1]


def _values(log: FailureLog, name: str, system: str) -> pd.Series:
    """The attribute of each node of a system, or of the log; of each lifetime, where only they have it."""
    table = log.population if name in log.population or log.lifetimes is None else log.lifetimes
    return table.loc[table["system"].astype(str) == system, name] if system else table[name]


def _outliers(log: FailureLog, known: OutlierNodes | None) -> pd.MultiIndex:
    """Nodes that fail far more often than the others; none in a log of lifetimes."""
    named = pd.DataFrame({"system": [], "node": []}, dtype=object)
    if log.lifetimes is None:
        with suppress(RelfitError):
            named = (outlier_nodes(log) if known is None else known).outliers[["system", "node"]]
    return pd.MultiIndex.from_frame(named.astype(str))


def _lone(table: pd.DataFrame, name: str, outliers: pd.MultiIndex) -> BoolArray:
    """Rows of outliers that are one node, or few, of their level of an attribute (a quarter, of many numbers)."""
    nodes = pd.MultiIndex.from_frame(table[["system", "node"]].astype(str))
    outlier = pd.Series(nodes.isin(outliers), table.index)
    values, once = table[name], ~nodes.duplicated()
    if pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > _FEW_VALUES:
        values = pd.qcut(values, 4, labels=False, duplicates="drop")
    levels = values.astype(object).where(values.isna(), values.astype(str))
    number, size = (part[once].groupby(levels[once]).sum() for part in (outlier, outlier | True))
    few = number <= np.maximum(_LONE * size, 1.0)
    return (outlier & levels.map(few).eq(True)).to_numpy(dtype=np.bool_)


def _fit(
    table: pd.DataFrame, left: str, name: str, model: str, level: float, of_nodes: pd.Series, entry: str | None
) -> tuple[Regression | None, dict[str, object]]:
    """The regression on all levels with a failure, and the row of the table: the farthest level against the rest."""
    if model == "cox" and len(table) > _MOST_COX:
        raise RelfitError(f"{len(table):,} times are too many for the Cox model (more than {_MOST_COX:,})")
    name, plain = name.replace("`", "'"), name  # the quotes of formulas
    table = table.rename(columns={plain: name})
    values = table[name]
    if _dated(values):
        raise RelfitError("its values are dates, which are no categories")
    number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    clusters = [key for key in ("system", "node") if left != "failures"]
    entry = entry if left == "ttf" else None
    if number and values.nunique() > _FEW_VALUES:
        by_doubling = values.min() > 0 and values.max() > _WIDE * values.min()
        covariate = f"{_DOUBLED}(`{name}`)" if by_doubling else f"`{name}`"
        line = regression(table, f"{left} ~ {covariate}", model, level=level, cluster=clusters, entry=entry)
        return line, _row(line, line, 1)
    exposure = table["hours"] if left == "failures" else table[left] - (table[entry] if entry else 0.0)
    if left == "ttr":  # every repair ends
        exposure = pd.Series(1.0, table.index)
    levels, rare = compared_levels(values, table, exposure, len(of_nodes), left)
    failures = failures_of(table).groupby(levels).sum()
    some, number_of_levels = failures.index[failures > 0.0], len(failures)
    compared = 1 if number_of_levels == 2 else number_of_levels
    each = 1.0 - (1.0 - level) / compared
    failing = levels.where(levels.isin(some))
    fit: Regression | None = None
    row: dict[str, object] = {}
    if len(some) > 1:
        reference = most_frequent(failing, of_nodes)
        formula = f"{left} ~ `{name}`"

        def fitted(groups: pd.Series, against: str, at: float) -> Regression:
            own = table.assign(**{name: groups})
            return regression(own, formula, model, level=at, cluster=clusters, reference={name: against}, entry=entry)

        fit = shown = fitted(failing, reference, level)
        if number_of_levels > 2 and fit.converged:
            farthest = farthest_level(failing, table, fit, reference)
            two = levels.where(levels.isna() | (levels == farthest), REST)
            shown = fitted(two, REST, each)
        row = _row(fit, shown, compared)
    if len(some) < number_of_levels:
        p = row.get("p")
        row |= _none_failed(p if isinstance(p, float) else np.nan, table, levels, exposure, model, entry, each)
    return fit, row | {"rare": rare}


def _none_failed(
    other: float,
    table: pd.DataFrame,
    levels: pd.Series,
    exposure: pd.Series,
    model: str,
    entry: str | None,
    level: float,
) -> dict[str, object]:
    """What the largest of the levels without a failure changes in a row of the table, whose p-value is `other`."""
    used = levels.notna() & (exposure > 0.0)
    table, levels, exposure = table[used], levels[used], exposure[used]
    failures = failures_of(table).groupby(levels).sum()
    number = len(failures)
    term = str(exposure.groupby(levels).sum()[failures == 0.0].idxmax())
    p, high = without_failure(table, (levels == term).to_numpy(), exposure, model, entry, level)
    p = min(1.0, p * (1 if number == 2 else number))
    ratio, ends = (np.inf, (1.0 / high, np.inf)) if model == "weibull" else (0.0, (0.0, high))
    tests = 1.0 if np.isnan(other) else 2.0
    both: dict[str, object] = {"p": min(1.0, tests * float(np.fmin(p, other))), "coefficients": number - 1}
    if other < p:
        return both
    reference = str(next(name for name in failures.index if name != term)) if number == 2 else REST
    shown = {"levels": 1 if number == 2 else number, "term": term, "reference": reference, "ratio": ratio}
    return both | shown | dict(zip(("low", "high"), ends, strict=True)) | {"status": "ok"}


def _dated(values: pd.Series) -> bool:
    kind = values.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        return True
    text = isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_object_dtype(kind)
    return text and are_dates(pa.array(values.dropna().astype(str).unique(), pa.large_string()))


def _row(fit: Regression, shown: Regression, levels: int) -> dict[str, object]:
    """One row of the table: the test of all coefficients, and the one coefficient shown."""
    test = fit.likelihood_ratio if fit.n_clusters is None else fit.wald
    ratio = next(str(name) for name in fit.table.columns if str(name).endswith("_ratio"))
    for each in (fit, shown):
        if not each.converged or each.table["standard_error"].isna().all():
            return {"status": each.notes[0], "p": np.nan}
    far = shown.table.iloc[0]
    term = str(far.name).partition("[T.")[2].removesuffix("]") or str(far.name)
    proportional = np.nan if fit.proportional is None else float(fit.proportional["p_adjusted"].min())
    effect = far["reference"], far[ratio], far[f"{ratio}_low"], far[f"{ratio}_high"]
    answer = zip(_ANSWER, (len(fit.table), test.p, levels, term, *effect, proportional), strict=True)
    return {**dict(answer), "status": "ok"}
