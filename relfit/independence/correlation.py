"""Do the i-th times to failure of two nodes rise and fall together: every pair of nodes at once.

Reliability-aware allocation, section 3.5, Table 3.4 and Figure 3.3. Two nodes share the first ``min(n_i, n_j)`` TTFs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.independence.pair_products import PreparedSeries, coefficients, prepare
from relfit.independence.rank_nulls import null_of
from relfit.independence.series import CONSTANT, OK, TOO_FEW, complete_series, words
from relfit.lifedata import LifeData, key_columns
from relfit.numeric.false_discovery import adjusted_p
from relfit.text import p_value, percent

__all__ = ["CLASSES", "EDGES", "Correlations", "correlations"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CLASSES = ("none", "weak", "high", "strong")
EDGES = (0.05, 0.4, 0.8)
_METHODS = ("spearman", "pearson", "kendall")
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Correlations:
    """Coefficients of every pair of nodes with at least three common TTFs.

    The nodes stand by falling number of TTFs. Pair ``(a, b)`` with ``a > b`` has number ``a (a - 1) / 2 + b``, so that
    the pairs of node ``a`` with all longer nodes lie together and share the length of node ``a``.

    Attributes
    ----------
    method : str
    groups : pandas.Index
        All nodes, in the order of the input.
    status : ndarray of int8, shape (nodes,)
        ``words`` of it: ``ok``, ``too_few`` (under three TTFs), ``constant``.
    node : ndarray of int, shape (k,)
        Positions in `groups` of the nodes that take part.
    lengths : ndarray of int, shape (k,)
        Their numbers of TTFs, falling.
    r, p : ndarray of float, shape (k (k - 1) / 2,)
        Coefficient of each pair and its two-sided p-value under independence; NaN where a series is constant over the
        common length (`constant_pairs` counts them).
    edges : tuple of float
        Between the classes of Table 3.4. The table's "about 0" is taken as below 0.05.
    mean_r, mean_r_p, mean_square_p : float
        Mean coefficient; p-values by shuffling each node's TTFs of a mean so far above 0, and of a mean square so
        large; NaN where no shuffles were asked for.
    permutations : int
    tied : bool
        Whether equal TTFs occur within a node. P-values then are approximations.
    """

    method: str
    groups: pd.Index
    status: npt.NDArray[np.int8]
    node: IntArray
    lengths: IntArray
    r: FloatArray
    p: FloatArray
    edges: tuple[float, float, float] = EDGES
    mean_r: float = np.nan
    mean_r_p: float = np.nan
    mean_square_p: float = np.nan
    permutations: int = 0
    tied: bool = False
    notes: tuple[str, ...] = field(default=())

    # ---------------------------------------------------------------- counting

    @property
    def n_pairs(self) -> int:
        """Pairs that have a coefficient."""
        return int(self.r.size - self.constant_pairs)

    @cached_property
    def constant_pairs(self) -> int:
        """Pairs of which one series is constant over the common length."""
        return int(np.isnan(self.r).sum())

    @cached_property
    def pairs_by_length(self) -> tuple[IntArray, IntArray]:
        """Common lengths, rising, and how many pairs with a coefficient have them."""
        if self.r.size == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = np.arange(1, self.node.size, dtype=np.int64)
        known = np.add.reduceat((~np.isnan(self.r)).astype(np.int64), rows * (rows - 1) // 2)
        total = np.bincount(self.lengths[1:], weights=known.astype(np.float64)).astype(np.int64)
        lengths = np.flatnonzero(total)
        return lengths.astype(np.int64), total[lengths]

    @cached_property
    def p_adjusted(self) -> FloatArray:
        """P-values adjusted for the number of pairs (Benjamini and Hochberg 1995), same shape as `p`."""
        return adjusted_p(self.p)

    def n_significant(self, alpha: float = 0.05) -> int:
        """Pairs whose adjusted p-value is at most `alpha`."""
        return int((self.p_adjusted <= alpha).sum())

    # ----------------------------------------------------------------- classes

    @cached_property
    def classes(self) -> pd.DataFrame:
        """Table 3.4: a row a class with observed and expected pairs.

        Columns ``low`` and ``high`` of |r|, ``pairs``, ``observed_share``, ``expected_share`` under independence given
        the common lengths.
        """
        near, weak, strong = self.edges
        cuts = np.array([near - _SLACK, weak - _SLACK, strong + _SLACK])
        size = np.abs(self.r[~np.isnan(self.r)])
        counts = np.bincount(np.searchsorted(cuts, size), minlength=4)
        expected = np.zeros(4)
        for length, pairs in zip(*self.pairs_by_length, strict=True):
            null = null_of(self.method, int(length))
            inside = null.below(cuts + _SLACK * np.array([1, 1, 3])) - null.below(-cuts + _SLACK * np.array([1, 1, 1]))
            expected += pairs * np.diff(np.concatenate([[0.0], inside, [1.0]]))
        total = max(self.n_pairs, 1)
        return pd.DataFrame(
            {
                "class": CLASSES,
                "low": [0.0, near, weak, strong],
                "high": [near, weak, strong, 1.0],
                "pairs": counts,
                "observed_share": counts / total if self.n_pairs else np.full(4, np.nan),
                "expected_share": expected / total if self.n_pairs else np.full(4, np.nan),
            }
        )

    def histogram(self, bins: int = 40) -> pd.DataFrame:
        """Figure 3.3: ``low``, ``high``, ``pairs`` and ``expected`` pairs under independence, a row a bin of -1..1."""
        edges = np.linspace(-1.0, 1.0, bins + 1)
        # a coefficient of exactly an edge belongs to the bin above it, 1 to the last one
        row = np.floor((self.r[~np.isnan(self.r)] + 1.0) * bins / 2.0 + _SLACK).astype(np.int64)
        counts = np.bincount(np.clip(row, 0, bins - 1), minlength=bins)
        expected = np.zeros(bins)
        for length, pairs in zip(*self.pairs_by_length, strict=True):
            below = null_of(self.method, int(length)).below(edges)
            expected += pairs * np.diff(np.concatenate([[0.0], below[1:-1], [1.0]]))
        return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "pairs": counts, "expected": expected})

    # ------------------------------------------------------------------ reading

    def pairs(self, most: int | None = 20) -> pd.DataFrame:
        """The pairs with the smallest p-values: keys of both nodes, ``common`` TTFs, ``r``, ``p``, ``p_adjusted``."""
        order = np.argsort(self.p, kind="stable")[: self.n_pairs]
        order = order if most is None else order[:most]
        later = ((1.0 + np.sqrt(1.0 + 8.0 * order)) / 2.0).astype(np.int64)
        later -= later * (later - 1) // 2 > order
        earlier = order - later * (later - 1) // 2
        keys = key_columns(self.groups)
        first = keys.iloc[self.node[earlier]].add_suffix("_1").reset_index(drop=True)
        second = keys.iloc[self.node[later]].add_suffix("_2").reset_index(drop=True)
        numbers = pd.DataFrame(
            {
                "common": self.lengths[later],
                "r": self.r[order],
                "p": self.p[order],
                "p_adjusted": self.p_adjusted[order],
            }
        )
        return pd.concat([first, second, numbers], axis=1)

    def matrix(self) -> pd.DataFrame:
        """Square table of coefficients of the nodes that take part, in the order of the input; 1 on the diagonal."""
        count = self.node.size
        square = np.eye(count)
        lower = np.tril_indices(count, -1)
        square[lower] = self.r
        square[lower[::-1]] = self.r
        order = np.argsort(self.node)
        labels = self.groups[self.node[order]]
        return pd.DataFrame(square[np.ix_(order, order)], index=labels, columns=labels)

    @property
    def depends(self) -> bool | None:
        """Whether a pair is significant among so many, or all together differ from shuffles; None without pairs.

        No effect is too small here: failures of k nodes together vary ``1 + (k - 1) r`` times as much as independent
        ones, so that a mean coefficient of 0.001 matters to a thousand nodes.
        """
        if not self.n_pairs:
            return None
        together = np.isfinite(self.mean_r_p) and min(self.mean_r_p, self.mean_square_p) <= 0.0125
        # three tests, 5 % in all
        return bool(together or self.n_significant(0.025) > 0)

    @property
    def sentence(self) -> str:
        """What the coefficients say about independence of the nodes."""
        if not self.n_pairs:
            return "No two nodes have three common times to failure: correlation between nodes cannot be judged."
        table = self.classes.set_index("class")
        seen, chance = (table.loc[["high", "strong"], c].sum() for c in ("observed_share", "expected_share"))
        lengths, pairs = self.pairs_by_length
        middle = int(lengths[np.searchsorted(np.cumsum(pairs), self.n_pairs / 2.0)])
        text = (
            f"{percent(seen)} of {self.n_pairs} pairs of nodes have |r| of 0.4 or more (Table 3.4: high or strong); "
            f"independent nodes would have {percent(chance)}, since half the pairs share {middle} TTFs or fewer"
            if self.edges == EDGES
            else f"{percent(seen)} of {self.n_pairs} pairs of nodes are high or strong; independence would give "
            f"{percent(chance)}"
        )
        found = self.n_significant()
        text += f"; {found or 'no'} pair{' is' if found <= 1 else 's are'} significant at 5 % among so many"
        if np.isfinite(self.mean_r_p):
            small = min(self.mean_r_p, self.mean_square_p)
            text += (
                f". As a whole the nodes depend on each other (mean r {self.mean_r:+.3f}, {p_value(small)} against "
                "shuffled TTFs): a shock or a trend they share"
                if small <= 0.0125
                else f". As a whole they differ no more from 0 than shuffled ones (mean r {self.mean_r:+.3f})"
            )
        return text + "."

    def plot(self, ax: Any = None) -> Any:
        """Draw the histogram of the coefficients; see `relfit.plotting.correlations`."""
        from relfit import plotting

        return plotting.correlations(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """`classes`."""
        return self.classes

    def to_dict(self) -> dict[str, Any]:
        """Totals, classes and histogram, ready for JSON."""
        lengths, pairs = self.pairs_by_length
        return {
            "method": self.method,
            "nodes": int(self.node.size),
            "status": {str(k): int(v) for k, v in pd.Series(words(self.status)).value_counts().items()},
            "pairs": self.n_pairs,
            "constant_pairs": self.constant_pairs,
            "pairs_by_length": dict(zip(map(str, lengths.tolist()), pairs.tolist(), strict=True)),
            "classes": _plain(self.classes.to_dict("records")),
            "histogram": self.histogram().to_dict("list"),
            "significant": self.n_significant(),
            **{k: _number(getattr(self, k)) for k in ("mean_r", "mean_r_p", "mean_square_p")},
            "permutations": self.permutations,
            "sentence": self.sentence,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Correlations: {self.method}, {self.n_pairs} pairs of {self.node.size} nodes. {self.sentence}"

    def _repr_html_(self) -> str:
        return f"<p>{self.sentence}</p>{self.classes.to_html(index=False)}"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain(records: list[dict[Any, Any]]) -> list[dict[str, Any]]:
    return [{str(k): _number(v) if isinstance(v, float) else v for k, v in record.items()} for record in records]


def correlations(
    series: LifeData,
    method: str = "spearman",
    *,
    edges: tuple[float, float, float] = EDGES,
    most: int | None = None,
    permutations: int = 0,
    rng: int | np.random.Generator | None = None,
) -> Correlations:
    """Correlation of the i-th TTFs of every pair of nodes (reliability-aware allocation, section 3.5).

    Parameters
    ----------
    series : LifeData
        Times to failure in the order of time, such as `gaps_of` gives; censored lives are left out.
    method : {"spearman", "pearson", "kendall"}
        Kendall's is tau-b.
    edges : tuple of three floats
        Limits of |r| between none, weak, high and strong; a value of exactly the second or third is high.
    most : int, optional
        Use at most so many TTFs of a node, the first. All when left out; thousands of long series of different
        lengths are faster with a limit.
    permutations : int
        Shuffles of every node's own TTFs behind `mean_r_p` and `mean_square_p`: whether all pairs together depend.
    rng : int or numpy.random.Generator, optional
        For the shuffles.

    Returns
    -------
    Correlations
        P-values of pairs: Spearman exact up to 12 common TTFs, Kendall up to 60, else by Student's t or the normal law;
        Pearson's by Student's t, which takes normal values for granted. With ties all are approximations. The p-values
        take the TTFs of a node as exchangeable: nodes that are autocorrelated or share a trend have larger |r|.

    Raises
    ------
    ArgumentError
        For another method, or edges that do not rise from 0 to 1.
    DataError
        For lives in intervals, truncated or weighted.

    Examples
    --------
    >>> lives = LifeData.from_groups({"a": [1.0, 2.0, 3.0, 4.0], "b": [10.0, 30.0, 20.0, 40.0, 5.0], "c": [1.0, 2.0]})
    >>> found = correlations(lives)
    >>> found.r.round(3).tolist(), found.p.round(3).tolist(), words(found.status).tolist()
    ([0.8], [0.333], ['ok', 'ok', 'too_few'])
    """
    if method not in _METHODS:
        raise ArgumentError(f"method {method!r} is not known", remedy=f"use {', '.join(_METHODS)}")
    if not (len(edges) == 3 and 0.0 < edges[0] < edges[1] < edges[2] < 1.0):
        raise ArgumentError(f"edges {edges} of the classes must rise between 0 and 1")
    if most is not None and most < 3:
        raise ArgumentError(f"most={most} TTFs a node are too few", remedy="a coefficient needs three")
    if permutations < 0:
        raise ArgumentError(f"permutations={permutations} must be zero or more")
    lives = complete_series(series)
    prepared = prepare(lives, most)
    r = coefficients(prepared, method)
    p = _p_values(r, prepared, method)
    status = np.where(lives.sizes < 3, TOO_FEW, OK).astype(np.int8)
    status[prepared.node[prepared.constant]] = CONSTANT
    mean_r, mean_p, square_p = _as_a_whole(prepared, method, r, permutations, np.random.default_rng(rng))
    notes = (
        f"{int((status == TOO_FEW).sum())} nodes have fewer than three TTFs",
        *((f"only the first {most} TTFs of a node were used",) if most is not None else ()),
        *(("equal TTFs within nodes: p-values are approximations",) if prepared.tied else ()),
        *(("p-values of Pearson's r take normal TTFs for granted",) if method == "pearson" else ()),
    )
    return Correlations(
        method, lives.groups, status, prepared.node, prepared.lengths, r, p, edges, mean_r, mean_p, square_p,
        permutations, prepared.tied, notes,
    )  # fmt: skip


def _p_values(r: FloatArray, prepared: PreparedSeries, method: str) -> FloatArray:
    p = np.full(r.size, np.nan)
    for length, first, last in prepared.blocks():
        part = slice(first * (first - 1) // 2 if first else 0, last * (last - 1) // 2)
        p[part] = null_of(method, length).two_sided(r[part])
    return p


def _as_a_whole(
    prepared: PreparedSeries, method: str, r: FloatArray, permutations: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    known = r[~np.isnan(r)]
    if known.size == 0:
        return np.nan, np.nan, np.nan
    mean, square = float(known.mean()), float(np.mean(known**2))
    if permutations == 0:
        return mean, np.nan, np.nan
    means, squares = np.empty(permutations), np.empty(permutations)
    for number in range(permutations):
        shuffled = coefficients(prepared.shuffled(rng), method)
        means[number], squares[number] = np.nanmean(shuffled), np.nanmean(shuffled**2)
    total = permutations + 1.0
    return (
        mean,
        float((1 + (means >= mean - _SLACK).sum()) / total),
        float((1 + (squares >= square - _SLACK).sum()) / total),
    )
