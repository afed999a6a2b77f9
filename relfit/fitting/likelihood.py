"""The log-likelihood of any family for lives of every kind, for all groups and many trial parameters at once.

An observed life adds its log density, a right-censored one the log of its survival, an interval ``(l, u]`` the log of
``S(l) - S(u)``; truncation divides by the probability of being observed: ``S(entry)``, ``F(exit)``, or
``S(entry) - S(exit)``. A stationary life adds the log of ``S(x) / mean``, or of the integral of ``S`` beyond ``x`` over
the mean. Weights multiply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.ordering import changes
from relfit.fitting.families import Family
from relfit.log.lifedata import LifeData


def log_interval(distribution: Family, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Log of the probability of failing in ``(lower, upper]``, without cancellation in either tail."""
    above = distribution.log_sf(lower)
    spent = above - distribution.log_sf(upper)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(np.isinf(spent), above, above + np.log(-np.expm1(-spent)))


@dataclass(frozen=True)
class _Term:
    """One kind of life: the rows of that kind, their groups, and how they count."""

    value: Callable[[Family], FloatArray]
    codes: IntArray
    weights: FloatArray | None
    starts: IntArray
    owners: IntArray

    def add(self, total: FloatArray, family: type[Family], parameters: FloatArray) -> None:
        value = self.value(family.unchecked(*np.moveaxis(parameters[:, self.codes, :], -1, 0)))
        if self.weights is not None:
            value = value * self.weights
        total[:, self.owners] += np.add.reduceat(value, self.starts, axis=1)


class LogLikelihood:
    """Log-likelihood of `family` in free coordinates, by group of `lives`; with a normal prior, if given."""

    def __init__(
        self,
        family: type[Family],
        lives: LifeData,
        prior_mean: FloatArray | None = None,
        prior_precision: FloatArray | None = None,
    ) -> None:
        self.family = family
        self.lives = lives
        self.prior_mean = prior_mean
        self.prior_precision = prior_precision
        self._terms = list(_terms(lives))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.lives.n_groups

    def take(self, positions: IntArray) -> LogLikelihood:
        """The log-likelihood of the groups at these positions."""
        return LogLikelihood(self.family, self.lives.take(positions), self.prior_mean, self.prior_precision)

    def __call__(self, free: FloatArray) -> FloatArray:
        """Values (trials, groups) at ``free``, shape (trials, groups, k); minus infinity where there is none."""
        total = np.zeros(free.shape[:2])
        with np.errstate(all="ignore"):
            parameters = self.family.from_free(free)
            for term in self._terms:
                term.add(total, self.family, parameters)
            if self.prior_mean is not None and self.prior_precision is not None:
                away = free - self.prior_mean
                total -= 0.5 * np.einsum("mgi,ij,mgj->mg", away, self.prior_precision, away)
        total[~np.isfinite(total) | ~np.isfinite(free).all(axis=-1)] = -np.inf
        return total


def _terms(lives: LifeData) -> list[_Term]:
    codes = lives.group_codes()
    ends = lives.ends
    weights = None if lives.weights is None else lives.weights.astype(np.float64)
    counted = np.ones(codes.size, np.bool_) if weights is None else weights > 0
    entry = np.zeros(codes.size) if lives.entry is None else lives.entry
    leave = np.full(codes.size, np.inf) if lives.exit is None else lives.exit
    durations = lives.durations
    stationary = np.zeros(codes.size, np.bool_) if lives.stationary is None else lives.stationary
    right = ~lives.observed & np.isinf(ends) & ~stationary
    between = ~lives.observed & ~right & ~stationary
    left = between & (durations == 0.0)
    between &= durations > 0.0
    late = (entry > 0.0) & np.isinf(leave)
    early = (entry == 0.0) & np.isfinite(leave)
    both = (entry > 0.0) & np.isfinite(leave)
    terms: list[_Term] = []

    def add(chosen: npt.NDArray[np.bool_], value: Callable[[Family, IntArray], FloatArray], sign: float = 1.0) -> None:
        rows = np.flatnonzero(chosen & counted)
        if not rows.size:
            return
        owner = codes[rows]
        starts = np.flatnonzero(changes(owner))
        count = None if weights is None else weights[rows] * sign
        if count is None and sign < 0.0:
            count = np.full(rows.size, sign)
        terms.append(_Term(lambda distribution: value(distribution, rows), owner, count, starts, owner[starts]))

    # a life that ended as it was first seen adds its log hazard, whose parts would cancel far in the tail
    at_once = late & (durations == entry) & ~between
    late &= ~at_once
    add(lives.observed & ~at_once & ~stationary, lambda d, r: d.log_pdf(durations[r]))
    add(lives.observed & at_once, lambda d, r: d.log_hazard(durations[r]))
    add(right & (durations > 0.0) & ~at_once, lambda d, r: d.log_sf(durations[r]))
    add(left, lambda d, r: d.log_cdf(ends[r]))
    add(between, lambda d, r: log_interval(d, durations[r], ends[r]))
    add(late, lambda d, r: d.log_sf(entry[r]), -1.0)
    add(early, lambda d, r: d.log_cdf(leave[r]), -1.0)
    add(stationary & lives.observed, lambda d, r: d.log_sf(durations[r]))
    add(stationary & ~lives.observed, lambda d, r: d.log_integrated_tail(durations[r]))
    add(stationary, lambda d, r: np.log(d.mean()), -1.0)
    add(both, lambda d, r: log_interval(d, entry[r], leave[r]), -1.0)
    return terms
