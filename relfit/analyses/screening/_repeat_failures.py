"""Repeat failures: the same node and the same cause again, sooner after the repair than equal nodes would.

How long it lasted is measured by how many others failed from that cause meanwhile: a bad month makes no repeats.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening._incidents import incidents
from relfit.analyses.screening.incident_results import Incidents
from relfit.analyses.screening.tallies import NOT_STATED
from relfit.base.arguments import share
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.results import Result
from relfit.base.text import count, duration, first_names
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_codes, watched_of
from relfit.log.tables import made_once

_LATELY = pd.Timedelta(days=90)  # before the end of the log: a repeat since then is going on
_CHAIN = 4  # repeats in a row that are tested together
_NAMED = 3


class RepeatFailures(Result):
    """Failures of a node that came sooner after the repair of the last one of that cause than equal nodes would fail.

    Attributes
    ----------
    repeats : pandas.DataFrame
        One row per repeat, in the order of time: ``system``, ``node``, ``cause``, ``start``, ``before`` (when the
        failure before it began), ``hours_between`` (from the end of its repair, or from its start where no end is
        known), ``expected`` (failures of one node from that cause meanwhile, at the rate of the others), ``p``,
        ``p_adjusted``.
    nodes : pandas.DataFrame
        One row per node and cause, those with most recent repeats first: ``system``, ``node``, ``cause``, ``repeats``,
        ``lately`` (those of the last 90 days of the log), ``first``, ``last``, ``hours_between`` (median), ``going_on``
        (there are some lately).
    tested : int
        Failures of a node that had failed of the same cause before.
    failures : int
        All failures of single nodes.
    alpha : float
        Largest expected share of repeats by chance.
    """

    repeats: pd.DataFrame
    nodes: pd.DataFrame
    tested: int
    failures: int
    alpha: float

    _frame = "nodes"

    @property
    def going_on(self) -> pd.DataFrame:
        """The rows of `nodes` whose last repeat came in the last 90 days of the log."""
        return self.nodes[self.nodes["going_on"]]

    @property
    def headline(self) -> str:
        """Which nodes failed again."""
        if not self.tested:
            return "No node failed twice of one cause." if self.failures else "No failure of a node was recorded."
        if not len(self.nodes):
            again = count(self.tested, "failure was", "failures were")
            return f"No repeat failures: {again} of a cause that the node had before, none sooner than chance explains."
        each = self.nodes.drop_duplicates(["system", "node"])
        several = len(each["system"].unique()) > 1
        names = []
        for row in each.head(_NAMED).to_dict("records"):
            name = f"{row['node']} of system {row['system']}" if several else row["node"]
            cause = "" if row["cause"] == NOT_STATED else f"{row['cause']}, "
            names.append(f"{name} ({count(int(row['repeats']), 'time')}, {cause}last {row['last']:%Y-%m-%d})")
        return (
            f"{count(len(each), 'node')} failed again after a repair, sooner than chance explains: "
            f"{first_names(names, _NAMED, len(each))}."
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, and how many of them go on."""
        lately = self.going_on
        if not len(self.nodes):
            return (self.headline,)
        if not len(lately):
            return self.headline, "None of them did so in the last 90 days."
        worst = lately.iloc[0]
        return (
            self.headline,
            f"In the last 90 days {count(lately.groupby(['system', 'node']).ngroups, 'node')} did; {worst['node']} "
            f"typically {duration(worst['hours_between'])} after its repair.",
        )


@made_once
def repeat_failures(log: FailureLog, *, of: Incidents | None = None, alpha: float = 0.05) -> RepeatFailures:
    """Find the failures that came again: the same node and cause, sooner after the repair than equal nodes would.

    Failures are incidents of one node; what hit several nodes is no repeat. Of `n` equal nodes each is as likely to be
    the next to fail: if `k` failures of other nodes from a cause lie between a node's repair and its next failure from
    that cause, chance has it so soon with probability ``1 - (1 - 1/n)**(k + 1)``, whatever the rate of the fleet did
    meanwhile. Four repeats in a row are also tested together (binomial distribution); the smaller of the two p-values
    is then doubled.

    Parameters
    ----------
    log, of
        As for `outlier_nodes`.
    alpha : float
        Largest expected share of repeats by chance (Benjamini and Hochberg 1995, over all failures of a system).

    Raises
    ------
    ArgumentError
        For an alpha outside 0..1, or a log of lifetimes, which has no events.
    DataError
        Where only nodes that failed are known, so that the number of nodes is not.

    Examples
    --------
    >>> import relfit as rf
    >>> repeats = repeat_failures(rf.datasets.load("white"))
    >>> repeats.nodes.columns.tolist()
    ['system', 'node', 'cause', 'repeats', 'lately', 'first', 'last', 'hours_between', 'going_on']
    """
    share("alpha", alpha, zero=False, one=False)
    log.ask()
    failures, system_sizes = _failures(log, incidents(log) if of is None else of)
    pairs = _pairs(failures, system_sizes)
    pairs["p_adjusted"] = _adjusted(pairs, failures)
    repeats = pairs[pairs["p_adjusted"] <= alpha].sort_values("start", kind="stable")
    repeats["late"] = repeats["start"] >= log.window.end - _LATELY
    nodes = (
        repeats.groupby(["system", "node", "cause"], sort=False)
        .agg(
            repeats=("start", "size"),
            lately=("late", "sum"),
            first=("start", "min"),
            last=("start", "max"),
            hours_between=("hours_between", "median"),
        )
        .reset_index()
    )
    for name in ("first", "last"):
        nodes[name] = pd.to_datetime(nodes[name], utc=True).dt.tz_convert(log.source.timezone)
    nodes["going_on"] = nodes["lately"] > 0
    nodes = nodes.sort_values(["lately", "repeats"], ascending=False, kind="stable", ignore_index=True)
    repeats = repeats.drop(columns="late").reset_index(drop=True)
    return RepeatFailures(repeats, nodes, len(pairs), len(failures), alpha)


def _adjusted(pairs: pd.DataFrame, failures: pd.DataFrame) -> FloatArray:
    """P-values adjusted system by system, so that a node repeats or not whichever systems stand beside it."""
    out = np.full(len(pairs), np.nan)
    number = failures["system"].value_counts().to_dict()
    for system, rows in pairs.groupby("system", sort=False).indices.items():
        # a failure that nothing followed until the end of the log might have had a repeat as well
        p = np.append(pairs["p"].to_numpy()[rows], np.ones(int(number[system]) - len(rows)))
        out[rows] = adjusted_p(p)[: len(rows)]
    return out


def _failures(log: FailureLog, joined: Incidents) -> tuple[pd.DataFrame, FloatArray]:
    """Incidents of one node by node, cause and time, and the nodes of its system watched when each began."""
    code, _, labels = node_codes(log)
    rows = np.flatnonzero((joined.incident >= 0) & (code >= 0))
    number, first = np.unique(joined.incident[rows], return_index=True)
    own = joined.table["scope"].to_numpy(object)[number] == "node"
    number, code = number[own], code[rows[first[own]]]
    table = joined.table.iloc[number]
    stated = table["cause"].astype(object).where(table["cause"].notna(), NOT_STATED).astype(str)
    start = nanoseconds(table["start"])
    end = np.where(table["end"].notna(), nanoseconds(table["end"]), start)
    system, node = (labels.get_level_values(level)[code].astype(str) for level in (0, -1))
    failures = pd.DataFrame({"system": system, "node": node, "cause": stated.to_numpy(object), "code": code})
    failures = failures.assign(start=table["start"].to_numpy(), at=start, end=end)
    failures["kind"] = failures.groupby(["system", "cause"], sort=False).ngroup()
    watched = watched_of(log)
    of_node, systems = pd.factorize(watched.groups.get_level_values(0).astype(str))
    mine = pd.Index(systems).get_indexer(failures["system"])
    size = np.ones(len(failures))
    for system in range(len(systems)):  # systems, not nodes
        there = mine == system
        entered, left = (np.sort(ends[of_node == system]) for ends in (watched.entered, watched.left))
        size[there] = np.searchsorted(entered, start[there], "right") - np.searchsorted(left, start[there], "left")
    order = np.lexsort((start, failures["kind"], code))
    return failures.iloc[order].reset_index(drop=True), np.maximum(size[order], 1.0)


def _pairs(failures: pd.DataFrame, size: FloatArray) -> pd.DataFrame:
    """Failures after one of the same node and cause, in this order, with the chance of one so soon."""
    code, kind, at, end = (failures[name].to_numpy() for name in ("code", "kind", "at", "end"))
    later = np.flatnonzero((code[1:] == code[:-1]) & (kind[1:] == kind[:-1])) + 1
    since = np.minimum(end[later - 1], at[later])
    # position of an instant among the failures of a kind in the order of time
    instants, rank = np.unique(np.concatenate([at, since]), return_inverse=True)
    order = np.lexsort((at, kind))
    keys = (kind * instants.size + rank[: at.size])[order]
    chance = np.append(0.0, np.cumsum(-np.log1p(-1.0 / np.maximum(size[order], 1.0 + 1e-9))))
    first = np.searchsorted(keys, kind[later] * instants.size + rank[at.size :], "left")
    last = np.searchsorted(keys, kind[later] * instants.size + rank[later], "right")
    own = -np.log1p(-1.0 / np.maximum(size, 1.0 + 1e-9))
    before = at[later - 1] >= since  # no end is known: the failure itself is at that instant
    spent = np.maximum(chance[last] - chance[first] - np.where(before, own[later - 1], 0.0), own[later])
    among = np.maximum(last - first - before, 1)
    number = np.arange(later.size)
    turn = number - np.maximum.accumulate(np.where(np.diff(later, prepend=-2) > 1, number, 0))
    frame = failures.iloc[later][["system", "node", "cause", "start"]].reset_index(drop=True)
    return frame.assign(
        before=failures["start"].to_numpy()[later - 1],
        hours_between=(at[later] - since) / NANOSECONDS_PER_HOUR,
        expected=np.where(size[later] > 1.0, spent - own[later], np.nan),
        p=_chance(spent, among, turn),
    )


def _chance(spent: FloatArray, among: IntArray, turn: IntArray) -> FloatArray:
    """Probability of a repeat so soon, by itself or with those before it; `spent` of its `among` ones."""
    alone = -np.expm1(-spent)
    last = np.arange(1, spent.size + 1)
    first = np.maximum(last - _CHAIN, 0)
    total, number = (np.append(0.0, np.cumsum(values)) for values in (spent, among))
    n = number[last] - number[first]
    share_of_one = -np.expm1(-(total[last] - total[first]) / np.maximum(n, 1.0))
    chain = special.betainc(_CHAIN, np.maximum(n - _CHAIN, 0.0) + 1.0, share_of_one)
    return np.where(turn >= _CHAIN - 1, np.minimum(2.0 * np.minimum(alone, chain), 1.0), alone)
