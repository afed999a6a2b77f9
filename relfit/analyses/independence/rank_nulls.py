"""How Spearman's, Kendall's and Pearson's coefficients of two independent series of a given length are distributed.

Exact for Spearman up to 12 values and for Kendall up to 60 (numbers of inversions), which is normal beyond. Student's t
otherwise: exact for Pearson's of normal values. Ties are not in these distributions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray

_SPEARMAN_EXACT = 12
_KENDALL_EXACT = 60
_EDGE = 1e-9  # coefficients that differ by less are one value of the lattice


@dataclass(frozen=True)
class RankNull:
    """Symmetric distribution of a coefficient under independence: a lattice, Student's t or a normal behind it."""

    support: FloatArray | None = None  # values of the lattice, rising
    mass: FloatArray | None = None
    degrees: float = np.inf  # of freedom of r sqrt(degrees / (1 - r**2)); infinite where r is normal
    deviation: float = 0.0  # of a normal r

    def two_sided(self, r: FloatArray) -> FloatArray:
        """Probability of a coefficient at least as far from 0; NaN where `r` is NaN."""
        at = -np.abs(r) + (2.0 * _EDGE if self.support is not None else 0.0)
        return np.where(np.isnan(r), np.nan, np.minimum(2.0 * self.below(at), 1.0))

    def below(self, x: npt.ArrayLike) -> FloatArray:
        """Probability of a coefficient below `x`."""
        at = np.asarray(x, dtype=np.float64)
        if self.support is not None and self.mass is not None:
            before = np.concatenate([[0.0], np.cumsum(self.mass)])
            return np.asarray(before[np.searchsorted(self.support, at - _EDGE)], dtype=np.float64)
        inside = np.clip(at, -1.0, 1.0)
        if np.isfinite(self.degrees):
            # the regularised beta function keeps tiny p-values exact where 1 - cdf would not
            upper = 0.5 * special.betainc(self.degrees / 2.0, 0.5, 1.0 - inside * inside)
            below = np.where(inside < 0.0, upper, 1.0 - upper)
        else:
            below = special.ndtr(inside / self.deviation)
        return np.asarray(np.where(at > 1.0, 1.0, np.where(at < -1.0, 0.0, below)), dtype=np.float64)


@lru_cache(maxsize=4096)
def null_of(method: str, length: int) -> RankNull:
    """Distribution of ``spearman``, ``kendall`` or ``pearson`` for two independent series of `length` values."""
    if method == "spearman" and length <= _SPEARMAN_EXACT:
        return RankNull(*_spearman_lattice(length))
    if method == "kendall":
        if length <= _KENDALL_EXACT:
            pairs = length * (length - 1) // 2  # inversions, whose number is symmetric
            return RankNull(1.0 - 2.0 * np.arange(pairs, -1, -1) / pairs, inversions(length))
        return RankNull(deviation=float(np.sqrt(2.0 * (2 * length + 5) / (9.0 * length * (length - 1)))))
    return RankNull(degrees=float(length - 2))


def _spearman_lattice(length: int) -> tuple[FloatArray, FloatArray]:
    """Values and probabilities of Spearman's r: sums of ``i * p(i)`` over all permutations p of 0..length-1."""
    top = sum(i * i for i in range(length))
    ways = np.zeros((1 << length, top + 1))
    ways[0, 0] = 1.0
    masks = np.arange(1 << length)
    used = ((masks[:, None] >> np.arange(length)) & 1).astype(np.bool_)
    taken = used.sum(axis=1)
    last = 0  # the largest sum of the places so far
    for place in range(length):
        here = masks[taken == place]
        for value in range(length):
            free = here[~used[here, value]]
            step = place * value
            width = min(last, top - step) + 1
            ways[free | (1 << value), step : step + width] += ways[free, :width]
        last = sum(i * (length - 1 - place + i) for i in range(place + 1))
    sums = np.flatnonzero(ways[-1])
    r = 1.0 - 12.0 * (top - sums) / (length * (length * length - 1.0))
    return r.astype(np.float64), np.asarray(ways[-1][sums] / ways[-1].sum(), dtype=np.float64)


@lru_cache(maxsize=64)
def inversions(length: int) -> FloatArray:
    """Probabilities of 0, 1, 2, ... inversions in a random order of this many things."""
    mass = np.ones(1)
    for size in range(2, length + 1):
        mass = np.convolve(mass, np.full(size, 1.0 / size))
    return mass
