"""Durbin-Watson of the times between failures of the first k nodes (Reliability-aware allocation, Figure 3.5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.analyses.independence.resampling import moved, resampled_p
from relfit.analyses.independence.serial_p_values import durbin_watson_p
from relfit.analyses.independence.series import NodeSeries
from relfit.analyses.independence.thresholds import ALPHA, LEAST_AUTOCORRELATION, LEAST_FAILURES, compared, verdict
from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import count, percent

_WORK = 20_000_000  # times between failures over all k that the default choice of k stays below


class PooledTests(Result):
    """Durbin-Watson of the pooled times between failures of the first k nodes; NaN where `status` is not ``ok``.

    Attributes
    ----------
    nodes : ndarray of int, shape (m,)
        The k.
    sizes, zeros : ndarray of int, shape (m,)
        Times between consecutive failures of these nodes, and how many are zero (simultaneous failures).
    status : ndarray of object, shape (m,)
        ``ok``, ``too_few`` (under four times), ``constant``.
    durbin_watson, p : ndarray of float, shape (m,)
        The p-value is by the beta distribution with the exact variance over all orders.
    autocorrelation : ndarray of float, shape (m,)
        At lag 1.
    expected, p_resampled : float
        Of the most nodes in random logs in which each node keeps its own order: the mean autocorrelation and the
        two-sided p-value; 0 and NaN without random logs.
    what : str
        What the series is of: ``"failures"`` or ``"incidents"``.
    alpha : float
        Size of the test behind `depends`; `dependence` divides its own among its tests.
    """

    nodes: IntArray
    sizes: IntArray
    zeros: IntArray
    status: npt.NDArray[np.object_]
    durbin_watson: FloatArray
    p: FloatArray
    autocorrelation: FloatArray
    expected: float = 0.0
    p_resampled: float = np.nan
    what: str = "failures"
    alpha: float = ALPHA

    _frame = ("nodes", "sizes", "zeros", "status", "durbin_watson", "p", "autocorrelation")

    @property
    def p_overall(self) -> float:
        """Of the series of the most nodes, by random logs where there are some."""
        tested = np.flatnonzero(self.status == "ok")
        if not tested.size:
            return np.nan
        return float(self.p[tested[-1]]) if np.isnan(self.p_resampled) else self.p_resampled

    @property
    def depends(self) -> bool | None:
        """Whether the series of the most nodes is autocorrelated at `alpha`, by 0.05 more than independent nodes make.

        None with too few failures. See `relfit.analyses.independence.thresholds` for why 0.05.
        """
        tested = np.flatnonzero(self.status == "ok")
        if not tested.size:
            return None
        far = abs(self.autocorrelation[tested[-1]] - self.expected) >= LEAST_AUTOCORRELATION
        return verdict(bool(self.p_overall <= self.alpha and far), int(self.sizes[tested[-1]]) + 1)

    @property
    def headline(self) -> str:
        """The result for the largest k."""
        tested = np.flatnonzero(self.status == "ok")
        if not tested.size:
            few = f"too few {self.what} apart from each other for a test of their pooled series"
            return f"The nodes together have {few}."
        last = tested[-1]
        if self.depends is None:
            few = f"{self.sizes[last] + 1:,} {self.what} are too few"
            return f"{few} to tell whether their pooled series is autocorrelated."
        seen = "is autocorrelated" if self.depends else "shows no appreciable autocorrelation"
        alone = ""
        if abs(self.expected) >= LEAST_AUTOCORRELATION:  # nodes that come and go, or whose gaps vary, make some
            seen = f"{seen} beyond that of independent nodes"
            alone = f", {2.0 - 2.0 * self.expected:.2f} for independent nodes"
        against = "" if np.isnan(self.p_resampled) else "; p is against random logs"
        text = (
            f"The series of all {self.what} of {count(int(self.nodes[last]), 'node')} {seen} (Durbin-Watson "
            f"{self.durbin_watson[last]:.2f}{alone}, {compared(self.p_overall, self.alpha)}){against}{self._range}"
        )
        share = self.zeros[last] / self.sizes[last]
        return text + (f"; {percent(share)} of its times between {self.what} are zero." if share >= 0.01 else ".")

    @property
    def _range(self) -> str:
        """The range of the statistic over all k with failures enough, as the end of a sentence."""
        enough = self.durbin_watson[(self.status == "ok") & (self.sizes + 1 >= LEAST_FAILURES)]
        if enough.size < 2:
            return ""
        least = f"{LEAST_FAILURES} {self.what} or more"
        return f"; Durbin-Watson is {enough.min():.2f} to {enough.max():.2f} over all k with {least}"


def pooled_tests(
    failures: NodeSeries, nodes: npt.ArrayLike | None = None, *, n_resamples: int = 0, rng: Seed = 0
) -> PooledTests:
    """Durbin-Watson of the failures of the first k nodes, pooled, sorted and differenced, for every k.

    Parameters
    ----------
    failures : NodeSeries
        See `failures_of`; the nodes are in the order of their numbers.
    nodes : array_like of int, optional
        The k, from 1 to the number of nodes. Every k when left out, or as many of them, evenly spread, as stay below
        20 million times between failures in all (at least eight).
    n_resamples : int
        Random logs in which each node's failures are rotated over its time of observation: superposed independent nodes
        whose gaps are not exponential have a little autocorrelation of their own. 0 for none.
    rng : int or numpy.random.Generator
        For the random logs.

    Raises
    ------
    ArgumentError
        For a k below 1 or above the number of nodes.

    Examples
    --------
    >>> import relfit as rf
    >>> from relfit.analyses.independence import failures_of
    >>> result = pooled_tests(failures_of(rf.datasets.load("white")), [1, 10, 512])
    >>> result.sizes.tolist()[-1] > 10_000
    True
    """
    n_nodes = failures.sizes.size
    if nodes is None:
        choices = int(np.clip(2 * _WORK // max(failures.times.size, 1), 8, max(n_nodes, 8)))
        k = np.unique(np.linspace(1, n_nodes, min(choices, n_nodes)).round().astype(np.int64))
    else:
        k = np.atleast_1d(np.asarray(nodes, dtype=np.int64))
        if k.size and (k.min() < 1 or k.max() > n_nodes):
            raise ArgumentError(f"k must lie between 1 and the {n_nodes} nodes", remedy="leave nodes out for every k")
    n_resamples = one_whole("n_resamples", n_resamples, 0)
    order = np.argsort(failures.times, kind="stable")
    times, owner = failures.times[order], failures.nodes[order]
    sizes, zeros = np.zeros(k.size, np.int64), np.zeros(k.size, np.int64)
    status = np.full(k.size, "too_few", dtype=object)
    d, r, fourth = (np.full(k.size, np.nan) for _ in range(3))
    for row in np.argsort(-k).tolist():
        inside = owner < k[row]
        times, owner = times[inside], owner[inside]
        between = np.diff(times)
        sizes[row], zeros[row] = between.size, between.size - np.count_nonzero(between)
        if between.size < 4:
            continue
        status[row] = "ok" if np.any(between != between[0]) else "constant"
        if status[row] == "ok":
            deviation = between / between.mean() - 1.0
            square = deviation * deviation
            total = square.sum()
            r[row] = _product(deviation[1:], deviation[:-1]) / total
            d[row] = 2.0 - 2.0 * r[row] - (square[0] + square[-1]) / total
            fourth[row] = _product(square, square) / total**2
    expected, p_resampled = 0.0, np.nan
    if n_resamples > 1 and k.size and status[-1] == "ok":
        generator, nodes_used = random_stream(rng), failures.nodes < k[-1]
        drawn = np.empty(n_resamples)
        for i in range(n_resamples):
            between = np.diff(np.sort(moved(failures, generator)[nodes_used])).astype(np.float64)
            deviation = between - between.mean()
            drawn[i] = _product(deviation[1:], deviation[:-1]) / max(_product(deviation, deviation), 1e-300)
        expected = float(drawn.mean())
        away = np.abs(np.append(drawn, r[-1]) - np.append(drawn, r[-1]).mean())
        p_resampled = resampled_p(float(away[-1]), away[:-1])
    p = durbin_watson_p(d, np.maximum(sizes, 4), fourth)
    return PooledTests(k, sizes, zeros, status, d, p, r, expected, p_resampled, failures.what)


def _product(one: FloatArray, other: FloatArray) -> float:
    """Sum of products of two long series, in one thread: ``@`` starts others, which wait for a busy core longer."""
    return float(np.einsum("i,i", one, other))
