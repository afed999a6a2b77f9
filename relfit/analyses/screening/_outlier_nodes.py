"""Nodes whose failure rate stands out, compared with how the rates of all nodes differ.

`relfit.analyses.screening.frailty` describes the nodes of a system. They count as unequal only where their numbers of
failures scatter more, or one node has more of them, than in random logs of equal nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening._incidents import incidents
from relfit.analyses.screening.by_calendar import told_from_calendar
from relfit.analyses.screening.frailty import renewal_models
from relfit.analyses.screening.frailty_results import RenewalModels, frailty_moment
from relfit.analyses.screening.incident_results import Incidents
from relfit.analyses.screening.tallies import by_node
from relfit.base.arguments import share, whole
from relfit.base.arrays import FloatArray, IntArray, ObjectArray
from relfit.base.numeric.levels import level_checked, normal_quantile
from relfit.base.results import Result, json_ready
from relfit.base.text import count, interval_ends, number, p_value, percent
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.outages import outages_of
from relfit.log.tables import made_once

OFTEN = 3.0  # times the mean rate, from which a node is an outlier where rates vary continuously
_LEAST_RATIO, _MOST_BAD = 2.0, 0.5  # what a class of bad nodes has at least, and at most of the nodes
_FEWEST_NODES = 3
_EVEN = 0.01  # p-value below which counts are called more even than by chance
_LEAST_EXPECTED = 1.0  # failures of each node for that test
_CHANCE = 0.05  # number of nodes with so many failures that the spread of rates explains, below which one is an outlier


class OutlierNodes(Result):
    """Nodes against each other.

    Attributes
    ----------
    nodes : pandas.DataFrame
        One row per node, largest excess first: the columns of `relfit.analyses.screening.tallies.by_node`, of failures
        of single nodes, and ``excess`` (failures above those of a node of mean rate), ``posterior`` (probability of
        being an outlier, see `outlier_nodes`) and ``outlier``.
    classes : pandas.DataFrame
        One row per system: ``system``, ``nodes``, ``events``, ``status`` (``ok``, or ``too_few``: under three nodes or
        ten failures), ``description`` (``equal``, ``spread``, ``two_classes``, ``either`` of the two), ``p`` (of
        equal nodes, by random logs), ``shape`` (Weibull, within a node), ``scatter`` (squared
        coefficient of variation of the times between failures of a node), ``spread`` (coefficient of variation of the
        rates if they vary continuously), ``fraction`` of bad nodes, ``ratio`` of the rates and ``rate`` of good nodes
        (per hour), the last three with ``_low`` and ``_high`` and only where there is a class of bad nodes.
    models : RenewalModels
        Models fitted to the nodes of each system, and whether their failure rate changes with age.
    alpha : float
        Largest expected share of false outlier nodes.
    level : float
        Level of the intervals.
    without_node : int
        Records that name no node and are not counted.
    """

    nodes: pd.DataFrame
    classes: pd.DataFrame
    models: RenewalModels
    alpha: float
    level: float
    without_node: int

    _not_in_json = ("nodes", "models")
    _frame = "nodes"

    @property
    def outliers(self) -> pd.DataFrame:
        """The outlier nodes."""
        return self.nodes[self.nodes["outlier"]]

    @property
    def headline(self) -> str:
        """How many nodes stand out, their share of the failures, and how rates differ."""
        total = self.nodes["events"].sum()
        if not total:
            return "No failure of a node was recorded, so no node stands out."
        ok = self.classes["status"] == "ok"
        if not ok.any():
            be = "is" if total == 1 else "are"
            few = f"{count(int(total), 'failure')} of {count(len(self.nodes), 'node')} {be} too few"
            return f"{few} to distinguish nodes."
        nodes, named = count(len(self.nodes), "node"), self.outliers
        if len(named):
            verbs = ("stands", "has") if len(named) == 1 else ("stand", "have")
            wrong = number(float((1.0 - named["posterior"]).sum()), 1)
            text = (
                f"{len(named):,} of {nodes} {verbs[0]} out and {verbs[1]} {percent(named['events'].sum() / total)} of "
                f"the failures ({wrong} false ones expected)"
            )
        else:
            text = f"None of {nodes} stands out by its failures in this part of the log"
        if len(self.classes) == 1:
            return f"{text}{self._about(self.classes.iloc[0])}."
        two, spread = (int((ok & (self.classes["description"] == name)).sum()) for name in ("two_classes", "spread"))
        return (
            f"{text}. In {two} of {len(self.classes)} systems two classes of nodes describe the failures best, in "
            f"{spread} a continuous spread of rates."
        )

    def _about(self, row: pd.Series) -> str:
        if row["description"] == "equal":
            p = self._evenness
            if p < _EVEN:
                return f": their failures differ less than chance lets expect ({p_value(p)}, Poisson)"
            return ": there is no evidence that their rates of failure differ"
        if np.isfinite(row["ratio"]):
            share = interval_ends(percent(row["fraction_low"]), percent(row["fraction_high"]))
            return (
                f". As a class, {percent(row['fraction'])} of the nodes ({share}) fail "
                f"{number(row['ratio'], 2)} times as often as the others "
                f"({number(row['ratio_low'], 2)} to {number(row['ratio_high'], 2)})"
            )
        often = "" if len(self.outliers) == 0 else f", outliers at {OFTEN:g} times the mean rate or more"
        either = row["description"] == "either"
        bad = "two classes of nodes fit no better" if either else "there is no separate bad group"
        spread = f"(coefficient of variation {number(row['spread'], 2)}{often})"
        return f". Failure rates vary continuously {spread}; {bad}"

    @property
    def _evenness(self) -> float:
        """Lower tail of the dispersion test: chance of so little scatter of the counts of equal Poisson nodes."""
        watched = self.nodes[self.nodes["expected"] > 0.0]
        events, expected = (watched[name].to_numpy(dtype=float) for name in ("events", "expected"))
        if expected.size < _FEWEST_NODES or expected.min() < _LEAST_EXPECTED:
            return 1.0
        return float(special.chdtr(expected.size - 1, ((events - expected) ** 2 / expected).sum()))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; of the nodes, the outlier nodes."""
        more = {"nodes": self.outliers.reset_index(drop=True), "ageing": self.models.headline}
        return super().to_dict() | json_ready(more)


@made_once
def outlier_nodes(
    log: FailureLog,
    *,
    of: Incidents | None = None,
    alpha: float = 0.1,
    level: float = 0.95,
    n_resamples: int = 99,
    rng: int | np.random.Generator | None = 0,
) -> OutlierNodes:
    """Find the nodes of every system that fail far more often than the others.

    Failures are incidents of one node; an incident of a rack or the system counts for none of its nodes. Where two
    classes describe the nodes best, outliers are the nodes of the bad class (at most half of the nodes, at twice the
    rate or more). Where rates vary continuously, they are nodes whose rate is three times the mean or more, or with
    more failures than a gamma spread of the rates explains (it gives fewer than 0.05 such nodes). Each node has a
    probability of being an outlier, given its failures and the rates of all nodes. Nodes are listed from the
    highest probability down, while that is above one half and the expected share of false ones is at most `alpha`.
    Equal nodes have no outliers.

    Parameters
    ----------
    log : FailureLog
    of : Incidents, optional
        Incidents of this log, to reuse; those of `relfit.analyses.screening.incidents` by default.
    alpha : float
        Largest expected share of false outlier nodes.
    level : float
        Level of the intervals.
    n_resamples : int
        Random logs for the test of equal nodes (`relfit.analyses.screening.equal_nodes`); 0 for no test.
    rng : int or numpy.random.Generator
        For the random logs.

    Raises
    ------
    ArgumentError
        For a level or alpha outside 0..1, or a negative number of resamples.

    Examples
    --------
    >>> import relfit as rf
    >>> result = outlier_nodes(rf.datasets.load("white"), n_resamples=19)
    >>> result.classes.loc[0, "description"], result.outliers["node"].tolist()
    ('spread', ['n391', 'n240', 'n315', 'n047', 'n003'])
    """
    share("alpha", alpha, zero=False, one=False)
    level_checked(level)
    whole("n_resamples", n_resamples, least=0)
    log = _own_failures(log, of)
    nodes = by_node(log).set_index(["system", "node"])
    lives = log.ttf("node")
    keys = pd.MultiIndex.from_arrays([lives.groups.get_level_values(i).astype(str) for i in range(2)])
    watched = np.flatnonzero((lives.sizes > 0) & keys.isin(nodes.index) & (lives.total_time > 0.0))
    lives, keys = lives.take(watched.tolist()), keys[watched]
    systems = np.asarray(pd.unique(nodes.index.get_level_values("system")), dtype=object)
    code: IntArray = np.asarray(pd.Index(systems).get_indexer(keys.get_level_values(0)), dtype=np.int64)
    models = renewal_models(lives, code, n_groups=systems.size, level=level, n_resamples=n_resamples, rng=rng)
    if log.lifetimes is None:
        models = told_from_calendar(models, lives, _clock(lives, outages_of(log).entered[watched]))
    classes, posterior = _classes(lives, models, code, systems, level)
    nodes["excess"] = nodes["events"] - nodes["expected"]
    nodes["posterior"] = pd.Series(posterior, index=keys).reindex(nodes.index)
    ranked = nodes["posterior"].fillna(0.0).sort_values(ascending=False, kind="stable")
    wrong = (1.0 - ranked).cumsum() / np.arange(1, len(ranked) + 1)
    nodes["outlier"] = nodes.index.isin(ranked.index[(wrong <= alpha) & (ranked > 0.5)])
    nodes = nodes.reset_index().sort_values("excess", ascending=False, kind="stable", ignore_index=True)
    return OutlierNodes(nodes, classes, models, alpha, level, int(log.events["node"].isna().sum()))


def _clock(lives: LifeData, entered: IntArray) -> FloatArray:
    """When each time came under observation and left it, hours, shape (lives, 2): a node's times follow each other."""
    ends = np.cumsum(lives.durations)
    before = ends - lives.durations
    first = before[lives.offsets[:-1]] - (entered - entered.min(initial=np.iinfo(np.int64).max)) / NANOSECONDS_PER_HOUR
    return np.stack([before, ends], axis=1) - np.repeat(first, lives.sizes)[:, None]


def _own_failures(log: FailureLog, joined: Incidents | None) -> FailureLog:
    """The log without incidents of several nodes: the outage of a rack says nothing about one of its nodes."""
    if not len(log.events):
        return log
    of = incidents(log) if joined is None else joined
    own = np.append(of.table["scope"].to_numpy() == "node", True)[of.incident]
    own |= log.events["node"].isna().to_numpy()
    return log if own.all() else replace(log, events=log.events[own].reset_index(drop=True))


def _classes(
    lives: LifeData, models: RenewalModels, code: IntArray, systems: ObjectArray, level: float
) -> tuple[pd.DataFrame, FloatArray]:
    """The table of systems, and each node's probability of being an outlier."""
    shape, scale, variance = models.shape[:, 1], models.scale[:, 1], models.variance[:, 1]
    status = np.where((models.status != "ok") | (models.nodes < _FEWEST_NODES), "too_few", "ok").astype(object)
    description, p = models.description.copy(), models.p
    description[status != "ok"] = "equal"
    bad = (description == "two_classes") & (models.ratio >= _LEAST_RATIO) & (models.fraction <= _MOST_BAD)
    with np.errstate(all="ignore"):
        prior = np.stack([1.0 / variance, 1.0 / variance], axis=1)
        prior[~(variance > 0.0)] = np.inf
        mean = frailty_moment(prior, 1.0 / shape)
        spread = np.sqrt(np.maximum(frailty_moment(prior, 2.0 / shape) / mean**2 - 1.0, 0.0))
        scatter = np.exp(special.gammaln(1.0 + 2.0 / shape) - 2.0 * special.gammaln(1.0 + 1.0 / shape)) - 1.0
        rate = 1.0 / (scale * special.gamma(1.0 + 1.0 / shape))
        # of two classes: how much of its hazard a node has above that of a good one, over what a bad one has
        b, own = shape[code], models.posterior
        above = own[:, 0] / own[:, 1] - 1.0
        of_class = np.clip(above / (models.ratio[code] ** b - 1.0), 0.0, 1.0)
        often = special.gammaincc(own[:, 0], own[:, 1] * (OFTEN * mean[code]) ** b)
        # one bad node widens the spread that is fitted to it, and is then drawn to the mean of the others
        failures, due = (own - prior[code]).T
        chance = special.betainc(np.maximum(failures, 1e-9), prior[code, 0], due / (due + prior[code, 0]))
        chance *= models.nodes[code]
        often = np.where(chance < _CHANCE, np.maximum(often, 1.0 - chance), often)
        posterior = np.where(bad[code], of_class, np.where(np.isfinite(own[:, 0]), often, 0.0))
    posterior[description[code] == "equal"] = 0.0
    table = pd.DataFrame({"system": systems, "nodes": models.nodes, "events": models.failures, "status": status})
    table["description"], table["p"], table["shape"] = description, p, shape
    table["scatter"], table["spread"] = scatter, np.where(np.isin(description, ("spread", "either")), spread, np.nan)
    number_bad = np.where(bad, models.fraction * models.nodes, np.nan)
    tails = (0.5 - 0.5 * level, 0.5 + 0.5 * level)
    of_bad = np.bincount(code, np.where(bad[code], posterior, 0.0) * lives.n_failures, systems.size)
    with np.errstate(all="ignore"):
        of_good = scatter / (models.failures - of_bad)
        shares = [special.betaincinv(number_bad + 0.5, models.nodes - number_bad + 0.5, t) for t in tails]
        ratios, rates = _around(models.ratio, scatter / of_bad + of_good, level), _around(rate, of_good, level)
    for name, numbers in (("fraction", [models.fraction, *shares]), ("ratio", ratios), ("rate", rates)):
        for end, value in zip(("", "_low", "_high"), numbers, strict=True):
            table[f"{name}{end}"] = np.where(bad, value, np.nan)
    return table, posterior


def _around(value: FloatArray, variance: FloatArray, level: float) -> list[FloatArray]:
    """A value whose logarithm has this variance, and its interval."""
    far = normal_quantile(level) * np.sqrt(variance)
    return [value, value * np.exp(-far), value * np.exp(far)]
