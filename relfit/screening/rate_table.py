"""Counts and hours of many nodes, equal ones taken together: what mixtures of rates are fitted to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arrays import FloatArray, IntArray

__all__ = ["RateTable", "coarse_hours"]


_CLASSES = 100  # of exposure, where nodes have more different ones


def coarse_hours(time: FloatArray) -> FloatArray:
    """Hours in at most a hundred classes, each with its mean; unchanged where there are no more."""
    if np.unique(time).size <= _CLASSES:
        return time
    edges = np.unique(np.quantile(time, np.linspace(0.0, 1.0, _CLASSES + 1)))
    place = np.clip(np.searchsorted(edges, time, side="right") - 1, 0, edges.size - 2)
    number, total = np.bincount(place), np.bincount(place, time)
    return np.where(time > 0.0, (total / np.maximum(number, 1))[place], 0.0)


class RateTable:
    """Nodes with equal counts and hours as one row with a weight, sorted by group.

    Called, it is the log-likelihood of a mixture of two Poisson rates.
    """

    def __init__(
        self, code: IntArray, count: npt.NDArray[np.number], time: FloatArray, groups: int,
        weight: FloatArray | None = None,
    ) -> None:  # fmt: skip
        order = np.lexsort((count, time, code))
        code, count, time = code[order], count[order], time[order]
        weights = np.ones(code.size) if weight is None else weight[order]
        fresh = np.ones(code.size, dtype=np.bool_)
        fresh[1:] = (code[1:] != code[:-1]) | (count[1:] != count[:-1]) | (time[1:] != time[:-1])
        heads = np.flatnonzero(fresh)
        self.code, self.count, self.time = code[heads], count[heads].astype(np.float64), time[heads]
        self.weight = np.add.reduceat(weights, heads) if heads.size else weights
        self.n_groups = groups
        self.starts = np.searchsorted(self.code, np.arange(groups))
        self.constant = special.xlogy(self.count, self.time) - special.gammaln(self.count + 1)

    @property
    def durations(self) -> FloatArray:
        """The hours; by their number the search divides its work."""
        return self.time

    @property
    def lives(self) -> RateTable:
        """Itself, where the search looks for the size of its work."""
        return self

    def total(self, values: FloatArray) -> FloatArray:
        """Sum of a value of each row over the nodes of each group, shape (groups,)."""
        return np.bincount(self.code, values * self.weight, self.n_groups).astype(np.float64)

    def sums(self, values: FloatArray) -> FloatArray:
        """The same for many trials: shape (trials, rows) to (trials, groups); minus infinity where not finite."""
        out = np.zeros((values.shape[0], self.n_groups))
        present = np.unique(self.code)
        out[:, present] = np.add.reduceat(values * self.weight, self.starts[present], axis=1)
        out[~np.isfinite(out)] = -np.inf
        return out

    def take(self, positions: IntArray) -> RateTable:
        """Some of the groups."""
        place = np.full(self.n_groups, -1, dtype=np.int64)
        place[positions] = np.arange(positions.size)
        mine = place[self.code] >= 0
        code = place[self.code[mine]]
        return RateTable(code, self.count[mine], self.time[mine], positions.size, self.weight[mine])

    def loglik_one(self) -> FloatArray:
        """Log-likelihood of one rate, shape (groups,)."""
        number, time = self.total(self.count), self.total(self.time)
        rate = np.divide(number, time, out=np.ones(self.n_groups), where=(number > 0) & (time > 0))
        return self.total(self.constant) + number * np.log(rate) - number

    def __call__(self, free: FloatArray) -> FloatArray:
        """Log-likelihood at logit of the fraction, log of ratio - 1, log of the rate; shape (trials, groups, 3)."""
        with np.errstate(all="ignore"):
            rows = free[:, self.code]
            ratio = 1.0 + np.exp(rows[..., 1])
            mean = np.exp(rows[..., 2]) * self.time
            good = special.log_expit(-rows[..., 0])
            bad = special.log_expit(rows[..., 0]) + self.count * np.log(ratio) - mean * (ratio - 1.0)
            return self.sums(self.constant + self.count * rows[..., 2] - mean + np.logaddexp(good, bad))
