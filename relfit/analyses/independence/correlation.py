"""Whether the i-th times to failure of two nodes rise and fall together, for every pair of nodes at once.

Two nodes share the first ``min(n_i, n_j)`` times to failure (TTFs). Classes and histogram are those of Table 3.4 and
Figure 3.3 of Reliability-aware allocation, section 3.5.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.analyses.independence.pair_products import PreparedSeries, coefficients, prepare
from relfit.analyses.independence.rank_nulls import null_of
from relfit.analyses.independence.resampling import PLAIN, resampled_p
from relfit.analyses.independence.series import complete_series, table_of_pairs
from relfit.analyses.independence.thresholds import ALPHA, CORRELATION_CLASSES, LEAST_IN_COMMON, verdict
from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import in_threads
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.results import Result, json_ready
from relfit.base.text import count, p_value, percent
from relfit.log.lifedata import LifeData

_METHODS = ("spearman", "pearson", "kendall")
_SLACK = 1e-9
_FEW_PAIRS = 20
_FEWEST_TURNS = 50  # behind the scatter of r
_SCATTER = 1.1  # of r relative to chance, below which nodes are taken as not autocorrelated


class Correlations(Result):
    """Coefficients of every pair of nodes with at least three common TTFs.

    Nodes are sorted by falling number of TTFs. Pair ``(a, b)`` with ``a > b`` has number ``a (a - 1) / 2 + b``, so that
    the pairs of node ``a`` with all longer series lie together and share the length of node ``a``.

    Attributes
    ----------
    method : str
    groups : pandas.Index
        All nodes, in the order of the input.
    status : ndarray of object, shape (nodes,)
        ``ok``, ``too_few`` (under three TTFs), ``constant``.
    node : ndarray of int, shape (k,)
        Positions in `groups` of the nodes that take part.
    lengths : ndarray of int, shape (k,)
        Their numbers of TTFs, falling.
    r, p : ndarray of float, shape (k (k - 1) / 2,)
        Coefficient of each pair and its two-sided p-value under independence (with resamples: of nodes autocorrelated
        as these are); NaN where a series is constant over the common length.
    mean_r, mean_r_p : float
        Mean coefficient; p-value of a mean so far above 0, by rotating each node's TTFs, which keeps their order; NaN
        without resamples.
    n_resamples : int
    notes : tuple of str
    alpha : float
        Size of the test behind `depends`; `dependence` divides its own among its tests.
    edges : tuple of float
        Values of ``|r|`` between the classes none, weak, high and strong.
    """

    method: str
    groups: pd.Index
    status: npt.NDArray[np.object_]
    node: IntArray
    lengths: IntArray
    r: FloatArray
    p: FloatArray
    mean_r: float
    mean_r_p: float
    n_resamples: int
    notes: tuple[str, ...] = ()
    alpha: float = ALPHA

    edges: ClassVar[tuple[float, float, float]] = CORRELATION_CLASSES
    _not_in_json = ("groups", "status", "node", "lengths", "r", "p")
    _frame = "classes"

    @cached_property
    def n_pairs(self) -> int:
        """Pairs that have a coefficient."""
        return int(np.isfinite(self.r).sum())

    @cached_property
    def pairs_by_length(self) -> tuple[IntArray, IntArray]:
        """Common lengths, rising, and how many pairs with a coefficient have them."""
        if self.r.size == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = np.arange(1, self.node.size, dtype=np.int64)
        usable = np.add.reduceat((~np.isnan(self.r)).astype(np.int64), rows * (rows - 1) // 2)
        total = np.bincount(self.lengths[1:], weights=usable).astype(np.int64)
        lengths = np.flatnonzero(total)
        return lengths.astype(np.int64), total[lengths]

    @cached_property
    def p_adjusted(self) -> FloatArray:
        """P-values adjusted for the number of pairs (Benjamini and Hochberg 1995), of the shape of `p`."""
        return adjusted_p(self.p)

    @cached_property
    def _steps(self) -> FloatArray:
        """P-values up to one half, smallest first, scaled as in Benjamini and Hochberg's procedure."""
        rising = np.sort(self.p[self.p <= 0.5])
        return rising * self.n_pairs / np.arange(1, rising.size + 1)

    def n_significant(self) -> int:
        """Pairs whose adjusted p-value is at most 0.05."""
        return int(np.flatnonzero(self._steps <= ALPHA).max(initial=-1)) + 1

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row per class of ``|r|``.

        Columns are ``class``, ``low``, ``high``, ``pairs``, ``observed_share`` and ``expected_share``.

        The expected share is that of independent nodes, given the common lengths.
        """
        near, weak, strong = self.edges
        cuts = np.array([near - _SLACK, weak - _SLACK, strong + _SLACK])
        size = np.abs(self.r[~np.isnan(self.r)])
        counts = np.bincount(np.searchsorted(cuts, size), minlength=4)
        expected = np.zeros(4)
        for length, pairs in zip(*self.pairs_by_length, strict=True):
            null = null_of(self.method, int(length))
            inside = null.below(cuts + _SLACK * np.array([1, 1, 3])) - null.below(-cuts + _SLACK)
            expected += pairs * np.diff(np.concatenate([[0.0], inside, [1.0]]))
        total = self.n_pairs or np.nan
        limits = {"low": [0.0, near, weak, strong], "high": [near, weak, strong, 1.0]}
        shares = {"pairs": counts, "observed_share": counts / total, "expected_share": expected / total}
        return pd.DataFrame({"class": ("none", "weak", "high", "strong"), **limits, **shares})

    def histogram(self) -> pd.DataFrame:
        """One row per twentieth of -1..1: ``low``, ``high``, ``pairs`` and ``expected`` pairs of independent nodes."""
        bins = 40
        edges = np.linspace(-1.0, 1.0, bins + 1)
        # a coefficient of exactly an edge belongs to the bin above it, 1 to the last one
        row = np.floor((self.r[~np.isnan(self.r)] + 1.0) * bins / 2.0 + _SLACK).astype(np.int64)
        counts = np.bincount(np.clip(row, 0, bins - 1), minlength=bins)
        expected = np.zeros(bins)
        for length, pairs in zip(*self.pairs_by_length, strict=True):
            below = null_of(self.method, int(length)).below(edges)
            expected += pairs * np.diff(np.concatenate([[0.0], below[1:-1], [1.0]]))
        return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "pairs": counts, "expected": expected})

    def pairs(self, most: int | None = 20) -> pd.DataFrame:
        """The pairs with the smallest p-values: keys of both nodes, ``common`` TTFs, ``r``, ``p``, ``p_adjusted``."""
        order = np.argsort(self.p, kind="stable")[: self.n_pairs][:most]
        later = ((1.0 + np.sqrt(1.0 + 8.0 * order)) / 2.0).astype(np.int64)
        later -= later * (later - 1) // 2 > order
        earlier = order - later * (later - 1) // 2
        numbers = {"common": self.lengths[later], "r": self.r[order], "p": self.p[order]}
        numbers["p_adjusted"] = self.p_adjusted[order]
        return table_of_pairs(self.groups, self.node[earlier], self.node[later], numbers)

    @property
    def _p(self) -> tuple[float, float]:
        """P-values of all pairs together and of the clearest pair, each doubled since there are two."""
        if not self.n_pairs:
            return np.nan, np.nan
        mean = float(np.nan_to_num(self.mean_r_p, nan=0.5))
        return min(1.0, 2.0 * mean), min(1.0, 2.0 * float(self._steps.min(initial=0.5)))

    @property
    def p_overall(self) -> float:
        """The smaller of the p-values of all pairs together and of the clearest pair, doubled."""
        return min(self._p)

    @property
    def _together(self) -> bool:
        """Whether all pairs together depend, by a mean coefficient that matters."""
        common = (self.node.size - 1) * self.mean_r >= LEAST_IN_COMMON
        return bool(self._p[0] <= self.alpha and common)

    @property
    def depends(self) -> bool | None:
        """Whether all pairs together depend or one stands out, at `alpha`; None with too few TTFs.

        Counts of k nodes together vary ``1 + (k - 1) r`` times as much as those of independent ones: a mean coefficient
        matters where that is 1.1 or more, a pair where its ``|r|`` is high.
        """
        if not self.n_pairs:
            return None
        pair = self._p[1] <= self.alpha and float(np.nanmax(np.abs(self.r))) >= self.edges[1] - _SLACK
        return verdict(bool(self._together or pair), int(self.lengths.sum()))

    @property
    def headline(self) -> str:
        """Whether the times to failure of different nodes correlate."""
        if not self.n_pairs:
            return "No two nodes have three common times to failure: correlation between nodes cannot be judged."
        if self.depends is None:
            few = f"{count(int(self.lengths.sum()), 'TTF')} of {count(self.node.size, 'node')}"
            return f"{few} are too few to tell whether times to failure of different nodes correlate."
        if self.n_pairs < _FEW_PAIRS:  # too few for a share
            i = int(np.nanargmin(self.p))
            one = self.n_pairs == 1
            text = "The one pair of nodes has" if one else f"The clearest of {self.n_pairs} pairs of nodes has"
            adjusted = "" if one else " after adjustment for multiple tests"
            return f"{text} r {self.r[i]:+.2f} ({p_value(float(self.p_adjusted[i]))}{adjusted}){self._whole}."
        seen, chance = self.classes[["observed_share", "expected_share"]].iloc[2:].sum()
        lengths, pairs = self.pairs_by_length
        middle = int(lengths[np.searchsorted(np.cumsum(pairs), self.n_pairs / 2.0)])
        significant = self.n_significant()
        text = (
            f"{percent(seen)} of {count(self.n_pairs, 'pair')} of nodes have |r| of {self.edges[1]:g} or more; "
            f"independent nodes would have {percent(chance)}, since half the pairs share {count(middle, 'TTF')} or "
            f"fewer; {count(significant, 'pair') if significant else 'no pair'} {'is' if significant <= 1 else 'are'} "
            f"significant at {percent(ALPHA)} after adjustment for multiple tests"
        )
        return f"{text}{self._whole}."

    @property
    def _whole(self) -> str:
        """The result of all pairs together, as the end of a sentence."""
        if not np.isfinite(self.mean_r_p):
            return ""
        if not self._together:
            return f". Over all pairs the correlation is negligible (mean r {self.mean_r:+.3f})"
        p = p_value(self.mean_r_p, 1.0 / (1.0 + self.n_resamples))
        turned = f"mean r {self.mean_r:+.3f}, {p} against rotated series of TTFs"
        return f". Over all pairs the nodes depend on each other ({turned}), as under a common shock"

    def to_dict(self) -> dict[str, Any]:
        """Totals, classes and histogram, ready for JSON."""
        more = {
            "nodes": self.node.size,
            "status": pd.Series(self.status).value_counts().to_dict(),
            "pairs": self.n_pairs,
            "constant_pairs": self.r.size - self.n_pairs,
            "significant": self.n_significant(),
            "classes": self.classes,
            "histogram": self.histogram(),
        }
        return super().to_dict() | json_ready(more)


def correlations(
    series: LifeData, method: str = "spearman", *, most: int | None = None, n_resamples: int = 0, rng: Seed = 0
) -> Correlations:
    """Correlation of the i-th TTFs of every pair of nodes.

    Censored TTFs are left out.

    Parameters
    ----------
    series : LifeData
        Times to failure in the order of time, such as ``log.ttf(zeros="keep")``.
    method : {"spearman", "pearson", "kendall"}
        Kendall's is tau-b.
    most : int, optional
        Use at most the first `most` TTFs of a node. All when left out; thousands of long series of different lengths
        are faster with a limit.
    n_resamples : int
        Random rotations of every node's own TTFs for `mean_r_p`, and for what autocorrelated nodes add to the scatter
        of r; fewer are made where `mean_r_p` is clearly large. 0 for none.
    rng : int or numpy.random.Generator
        For the rotations.

    Returns
    -------
    Correlations
        P-values of pairs: Spearman exact up to 12 common TTFs, Kendall up to 60, else by Student's t or the normal
        distribution; Pearson's by Student's t, which assumes normal values. With ties all are approximations. The
        p-values take the TTFs of a node as exchangeable; with resamples, r is first scaled down by the scatter that
        autocorrelated nodes add.

    Raises
    ------
    ArgumentError
        For another method, `most` below 3, or a negative number of resamples.
    DataError
        For times in intervals, truncated or weighted.

    Examples
    --------
    >>> lives = LifeData.from_groups({"a": [1.0, 2.0, 3.0, 4.0], "b": [10.0, 30.0, 20.0, 40.0, 5.0], "c": [1.0, 2.0]})
    >>> result = correlations(lives)
    >>> result.r.round(3).tolist(), result.p.round(3).tolist(), result.status.tolist()
    ([0.8], [0.333], ['ok', 'ok', 'too_few'])
    """
    if method not in _METHODS:
        raise ArgumentError(f"method {method!r} is not known", remedy=f"use {', '.join(_METHODS)}")
    if most is not None and most < 3:
        raise ArgumentError(f"most={most} TTFs per node are too few", remedy="a coefficient needs three")
    n_resamples = one_whole("n_resamples", n_resamples, 0)
    complete = complete_series(series)
    prepared = prepare(complete, most)
    r = coefficients(prepared, method)
    mean_r, mean_p, scatter = _as_a_whole(prepared, method, r, n_resamples, random_stream(rng))
    p = np.full(r.size, np.nan)

    def compare(block: tuple[int, int, int, slice]) -> None:
        length, _, _, pairs = block
        p[pairs] = null_of(method, length).two_sided(r[pairs] / np.sqrt(scatter))

    in_threads(compare, prepared.blocks(), 2)
    status = np.where(complete.sizes < 3, "too_few", "ok").astype(object)
    status[prepared.node[prepared.constant]] = "constant"
    notes = (
        f"{count(int((status == 'too_few').sum()), 'node')} with fewer than three TTFs",
        *((f"only the first {most} TTFs of a node were used",) if most is not None else ()),
        *(("equal TTFs within nodes: p-values are approximations",) if prepared.tied else ()),
        *(("p-values of Pearson's r assume normal TTFs",) if method == "pearson" else ()),
    )
    of_pairs = prepared.node, prepared.lengths, r, p
    return Correlations(method, complete.groups, status, *of_pairs, mean_r, mean_p, n_resamples, notes)


def _as_a_whole(
    prepared: PreparedSeries, method: str, r: FloatArray, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean coefficient, its p-value, and the scatter of r relative to chance that each node's own order adds."""
    mean = float(np.nanmean(r)) if np.isfinite(r).any() else np.nan
    if n_resamples == 0 or np.isnan(mean):
        return mean, np.nan, 1.0
    square = np.empty(r.size)  # of r times the common length less one: 1 on average by chance
    for length, _, _, pairs in prepared.blocks():
        square[pairs] = length - 1.0
    drawn = np.empty((n_resamples, 2))
    reached = 0
    for i in range(n_resamples):
        turned = coefficients(prepared.turned(rng), method)
        drawn[i] = np.nanmean(turned), np.nanmean(turned**2 * square)
        reached += drawn[i, 0] >= mean - _SLACK
        if reached >= PLAIN and i + 1 >= _FEWEST_TURNS:
            break
    drawn = drawn[: i + 1]
    scatter = float(drawn[:, 1].mean())
    return mean, resampled_p(mean - _SLACK, drawn[:, 0]), scatter if scatter > _SCATTER else 1.0
