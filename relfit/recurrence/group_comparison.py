"""Whether groups of repairable systems share one mean cumulative function (Cook, Lawless and Nadeau 1996)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse, stats

from relfit.errors import ArgumentError
from relfit.recurrence.histories import EventHistories, FloatArray, IntArray, grouping, label_text
from relfit.results import json_ready
from relfit.text import p_value

__all__ = ["GroupComparison", "compare_groups"]

_VARIANCES = ("robust", "poisson")
_MOST_CELLS = 50_000_000
_CELLS_AT_ONCE = 10_000_000


_WHY = {
    "one_group": "there is one group only",
    "no_events": "nothing failed",
    "too_few_copies": "a group of one tells nothing of how alike its members are",
    "no_variance": "the failures leave no variance to compare by",
}


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """Whether groups of systems fail alike over their lives.

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    copies, events : ndarray of int, shape (groups,)
    expected : ndarray of float, shape (groups,)
        Events that each group would have had with the mean cumulative function of all systems together.
    statistic, p : float
        Chi-square statistic with `freedom` degrees of freedom, and its p-value; NaN unless `status` is ``ok``.
    freedom : int
    status : str
        ``ok``, ``one_group``, ``no_events``, ``too_few_copies`` (fewer than two systems in a group, robust variance)
        or ``no_variance``.
    kind : str
        Variance behind the test.
    """

    groups: pd.Index
    copies: IntArray
    events: IntArray
    expected: FloatArray
    statistic: float
    freedom: int
    p: float
    status: str
    kind: str

    @cached_property
    def ratio(self) -> FloatArray:
        """Events of each group by those expected; NaN where none were expected."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.expected > 0.0, self.events / self.expected, np.nan)

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if self.status != "ok":
            return f"The groups cannot be compared: {_WHY.get(self.status, self.status)}."
        order = np.argsort(np.nan_to_num(self.ratio, nan=1.0))
        if self.p >= 0.05:
            return f"The {len(self.groups)} groups fail alike as far as one can tell ({p_value(self.p)}): pool them."
        most, least = (label_text(self.groups[place]) for place in (order[-1], order[0]))
        return (
            f"The {len(self.groups)} groups do not fail alike ({p_value(self.p)}): {most} has "
            f"{self.ratio[order[-1]]:.2f} times and {least} {self.ratio[order[0]]:.2f} times the "
            "events expected of equal groups; fit them apart."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a group."""
        return pd.DataFrame(
            {"copies": self.copies, "events": self.events, "expected": self.expected, "ratio": self.ratio},
            index=self.groups,
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return dict(
            json_ready(
                {
                    "statistic": self.statistic,
                    "freedom": self.freedom,
                    "p": self.p,
                    "status": self.status,
                    "variance": self.kind,
                    "groups": self.to_frame().rename(index=str).to_dict("index"),
                    "sentence": self.sentence,
                }
            )
        )

    def __repr__(self) -> str:
        test = f"chi2 {self.statistic:.4g}, {p_value(self.p)}, " if np.isfinite(self.p) else ""
        return f"GroupComparison of {len(self.groups)} groups: {test}{self.status}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.to_frame().to_html(max_rows=20)}"


def compare_groups(histories: EventHistories, by: Any, variance: str = "robust") -> GroupComparison:
    """Test whether groups of systems share one mean cumulative function (Cook, Lawless and Nadeau 1996).

    Each group's events are set against what it would have had with the mean cumulative function of all systems, as a
    log-rank test does for lives that end once.

    Parameters
    ----------
    histories : EventHistories
    by : a key of the histories, or array_like of labels
        Which systems make a group.
    variance : {"robust", "poisson"}
        ``robust`` holds its level for any process as long as systems are independent; with ten in each of two groups it
        rejects 4 % instead of 5 %. ``poisson`` asks for events of Poisson processes.

    Raises
    ------
    ArgumentError
        For an unknown option, or more groups and events than fit into memory.

    Examples
    --------
    >>> from relfit.recurrence import EventHistories
    >>> histories = EventHistories.from_groups([[5, 8], [3], [1, 8, 16], [2, 4]], end=20.0)
    >>> compare_groups(histories, ["a", "a", "b", "b"], "poisson").expected.tolist()
    [4.0, 4.0]
    """
    if variance not in _VARIANCES:
        raise ArgumentError(f"unknown variance {variance!r}", remedy=f"use one of {', '.join(_VARIANCES)}")
    codes, groups = grouping(histories, by)
    size = len(groups)
    if histories.n_histories * size > _MOST_CELLS:
        raise ArgumentError(f"{size} groups of {histories.n_histories} systems are too many to compare at once")
    copies = np.bincount(codes, minlength=size)
    events = np.bincount(codes, histories.sizes, minlength=size).astype(np.int64)
    found = _scores(histories, codes, size, variance == "robust")
    expected = found.expected

    def outcome(statistic: float, freedom: int, status: str) -> GroupComparison:
        p = float(stats.chi2.sf(statistic, freedom)) if status == "ok" else np.nan
        return GroupComparison(groups, copies, events, expected, statistic, freedom, p, status, variance)

    if size < 2:
        return outcome(np.nan, 0, "one_group")
    if not histories.times.size:
        return outcome(np.nan, size - 1, "no_events")
    if variance == "robust" and copies.min() < 2:
        return outcome(np.nan, size - 1, "too_few_copies")
    # scores add up to zero, so the last one says nothing new
    scale = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))[:-1]
    if np.any(scale <= 1e-9 * (1.0 + expected[:-1])):
        return outcome(np.nan, size - 1, "no_variance")
    correlation = found.covariance[:-1, :-1] / scale[:, None] / scale
    if np.linalg.matrix_rank(correlation, hermitian=True) < size - 1:
        return outcome(np.nan, size - 1, "no_variance")
    z = (events - expected)[:-1] / scale
    return outcome(float(z @ np.linalg.solve(correlation, z)), size - 1, "ok")


@dataclass(frozen=True)
class _Scores:
    """Expected events of each group, and the covariance of observed less expected."""

    expected: FloatArray
    covariance: FloatArray


def _scores(histories: EventHistories, codes: IntArray, size: int, robust: bool) -> _Scores:
    """Go through the distinct times of all systems together, some at a time for the memory."""
    history = histories.codes()
    order = np.argsort(histories.times, kind="stable")
    times, step_of_event, each = np.unique(histories.times[order], return_inverse=True, return_counts=True)
    history, steps = history[order], times.size
    came, gone = np.searchsorted(times, histories.begin), np.searchsorted(times, histories.end, side="right")
    there = np.zeros(steps + 1)
    np.add.at(there, came, 1.0)
    np.add.at(there, gone, -1.0)
    rate = each / np.maximum(np.cumsum(there)[:steps], 1.0)
    plain = np.concatenate([[0.0], np.cumsum(rate)])

    expected = np.zeros(size)
    covariance = np.zeros((size, size))
    at_risk, passed = np.zeros(size), np.zeros(size)  # carried from one part to the next
    part = np.zeros((histories.n_histories, size)) if robust else np.zeros((0, size))
    event_offsets = np.concatenate([[0], np.cumsum(each)])
    width = max(1, _CELLS_AT_ONCE // max(size, 1))
    for first in range(0, steps, width):
        last = min(first + width, steps)
        change = np.zeros((last - first, size))
        for at, sign in ((came, 1.0), (gone, -1.0)):
            inside = (at >= first) & (at < last)
            np.add.at(change, (at[inside] - first, codes[inside]), sign)
        risk = at_risk + np.cumsum(change, axis=0)
        share = risk / np.maximum(risk.sum(axis=1), 1.0)[:, None]
        expected += rate[first:last] @ risk
        at_risk = risk[-1]
        if not robust:
            weighted = share * each[first:last, None]
            covariance += np.diag(weighted.sum(axis=0)) - weighted.T @ share
            continue
        # each history's part in the score of each group: what all its events and its time give the group's expectation
        before = passed + np.concatenate([np.zeros((1, size)), np.cumsum(rate[first:last, None] * share, axis=0)])
        for at, sign in ((came, -1.0), (gone, 1.0)):
            whose = np.flatnonzero((at >= first) & (at < last))
            part[whose] += sign * before[at[whose] - first]
        passed = before[-1]
        rows = slice(event_offsets[first], event_offsets[last])
        ones = np.ones(event_offsets[last] - event_offsets[first])
        where = (history[rows], step_of_event[rows] - first)
        part -= sparse.csr_matrix((ones, where), shape=(histories.n_histories, last - first)) @ share
    if robust:
        part[gone == steps] += passed
        part[came == steps] -= passed
        part[np.arange(codes.size), codes] += histories.sizes - (plain[gone] - plain[came])
        covariance = part.T @ part
    return _Scores(expected, covariance)
