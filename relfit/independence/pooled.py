"""Durbin-Watson of the times to failure of the first k nodes pooled (reliability-aware allocation, Figure 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.independence.durbin_watson import durbin_watson_p, permutation_variance
from relfit.independence.serial_kernels import pooled_kernel
from relfit.independence.series import CONSTANT, OK, TOO_FEW, Failures, words
from relfit.independence.verdicts import ALPHA, LEAST_AUTOCORRELATION
from relfit.text import p_value, percent

__all__ = ["PooledTests", "pooled_tests"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_WORK = 20_000_000  # gaps over all k that the default choice of k stays below


@dataclass(frozen=True, eq=False)
class PooledTests:
    """Durbin-Watson of the pooled gaps of the first k nodes; NaN where `status` is not ``ok``.

    Attributes
    ----------
    nodes : ndarray of int, shape (m,)
        The k.
    sizes, zeros : ndarray of int, shape (m,)
        Gaps between consecutive failures of these nodes, and how many are zero (simultaneous failures).
    status : ndarray of int8, shape (m,)
    durbin_watson, p : ndarray of float, shape (m,)
        The p-value is the beta law with the exact variance over all orders of the gaps.
    autocorrelation : ndarray of float, shape (m,)
        At lag 1.
    """

    nodes: IntArray
    sizes: IntArray
    zeros: IntArray
    status: npt.NDArray[np.int8]
    durbin_watson: FloatArray
    p: FloatArray
    autocorrelation: FloatArray

    @property
    def depends(self) -> bool | None:
        """Whether the series of the most nodes is autocorrelated at 5 %, by 0.05 or more; None without a test.

        See `relfit.independence.verdicts` for why 0.05.
        """
        tested = np.flatnonzero(self.status == OK)
        if not tested.size:
            return None
        last = tested[-1]
        return bool(self.p[last] <= ALPHA and abs(self.autocorrelation[last]) >= LEAST_AUTOCORRELATION)

    @property
    def sentence(self) -> str:
        """What the largest k says."""
        tested = np.flatnonzero(self.status == OK)
        if not tested.size:
            return "The nodes together have too few failures apart from each other for a test of their pooled series."
        last = tested[-1]
        low, high = self.durbin_watson[tested].min(), self.durbin_watson[tested].max()
        found = "is autocorrelated" if self.depends else "shows no autocorrelation to speak of"
        text = (
            f"The series of all failures of {self.nodes[last]} nodes {found} (Durbin-Watson "
            f"{self.durbin_watson[last]:.2f}, {p_value(self.p[last])}; {low:.2f} to {high:.2f} over all k)"
        )
        share = self.zeros[last] / self.sizes[last]
        return text + (f"; {percent(share)} of its gaps are zero." if share >= 0.01 else ".")

    def plot(self, ax: Any = None) -> Any:
        """Draw Durbin-Watson by the number of nodes; see `relfit.plotting.durbin_watson_pooled`."""
        from relfit import plotting

        return plotting.durbin_watson_pooled(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row a k."""
        return pd.DataFrame(
            {
                "nodes": self.nodes,
                "gaps": self.sizes,
                "zeros": self.zeros,
                "status": words(self.status),
                "durbin_watson": self.durbin_watson,
                "p": self.p,
                "autocorrelation": self.autocorrelation,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        table = self.to_frame().astype(object)
        return {"sentence": self.sentence, **{str(k): list(v) for k, v in table.where(table.notna(), None).items()}}

    def __repr__(self) -> str:
        return f"PooledTests: {self.nodes.size} numbers of nodes. {self.sentence}"

    def _repr_html_(self) -> str:
        return f"<p>{self.sentence}</p>{self.to_frame().to_html(max_rows=10, index=False)}"


def pooled_tests(failures: Failures, nodes: npt.ArrayLike | None = None) -> PooledTests:
    """Durbin-Watson of the failures of the first k nodes, pooled, sorted and differenced, for every k.

    Parameters
    ----------
    failures : Failures
        See `failures_of`; the nodes stand in the order of their numbers.
    nodes : array_like of int, optional
        The k, from 1 to the number of nodes. Every k when left out, or as many of them, evenly spread, as stay below
        20 million gaps in all (at least eight).

    Raises
    ------
    ArgumentError
        For a k below 1 or above the number of nodes.

    Examples
    --------
    >>> import relfit as rf
    >>> from relfit.independence import failures_of
    >>> found = pooled_tests(failures_of(rf.datasets.load("white")), [1, 10, 512])
    >>> found.sizes.tolist()[-1] > 10_000
    True
    """
    count, total = failures.sizes.size, failures.times.size
    if nodes is None:
        choices = int(np.clip(2 * _WORK // max(total, 1), 8, max(count, 8)))
        chosen = np.unique(np.linspace(1, count, min(choices, count)).round().astype(np.int64))
    else:
        chosen = np.atleast_1d(np.asarray(nodes, dtype=np.int64))
        if chosen.size and (chosen.min() < 1 or chosen.max() > count):
            raise ArgumentError(f"k must lie between 1 and the {count} nodes", remedy="leave nodes out for every k")
    order = np.argsort(failures.times, kind="stable")
    times, owner = failures.times[order], failures.nodes[order]
    sums = np.empty((chosen.size, 8))
    pooled_kernel(times, owner, chosen, sums)
    sizes, zeros, last = sums[:, 0].astype(np.int64), sums[:, 1].astype(np.int64), sums[:, 2:]
    varies = last[:, 5] > 0.0
    status = np.where(sizes < 4, TOO_FEW, np.where(varies, OK, CONSTANT)).astype(np.int8)
    usable = status == OK
    total, fourth, lagged, first, end, _ = last[usable].T
    n = sizes[usable]
    d, p, r = (np.full(chosen.size, np.nan) for _ in range(3))
    r[usable] = lagged / total
    d[usable] = 2.0 - 2.0 * r[usable] - (first**2 + end**2) / total
    p[usable] = durbin_watson_p(d[usable], n, permutation_variance(n, fourth / total**2))
    return PooledTests(chosen, sizes, zeros, status, d, p, r)
