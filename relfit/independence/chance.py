"""How often failures of independent Poisson processes come close to each other, given how many there are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.independence.series import Failures
from relfit.units import NANOSECONDS_PER_HOUR

__all__ = ["chance_within", "expected_within"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_CLASSES = 400  # times of observation told apart


def chance_within(
    entered: FloatArray, left: FloatArray, entered_2: FloatArray, left_2: FloatArray, window: float
) -> FloatArray:
    """Probability that two instants, uniform over two intervals, lie at most `window` apart; hours, arrays broadcast.

    Examples
    --------
    >>> chance_within(np.zeros(1), np.ones(1) * 10, np.zeros(1), np.ones(1) * 10, 1.0).round(4).tolist()
    [0.19]
    """
    a, c = np.asarray(entered, np.float64), np.asarray(entered_2, np.float64)
    tiny = 1.0 / NANOSECONDS_PER_HOUR
    b, d = np.maximum(left, a + tiny), np.maximum(left_2, c + tiny)

    def area(x: float) -> FloatArray:
        """Twice the area where the second instant is less than `x` after the first."""
        corners = ((c - b, 1.0), (c - a, -1.0), (d - b, -1.0), (d - a, 1.0))
        total = sum(sign * np.maximum(x - corner, 0.0) ** 2 for corner, sign in corners)
        return np.asarray(total, dtype=np.float64)

    return np.clip((area(window) - area(-window)) / (2.0 * (b - a) * (d - c)), 0.0, 1.0)


def expected_within(failures: Failures, group: IntArray, n_groups: int, window: float) -> FloatArray:
    """Expected pairs of failures on two nodes of each group at most `window` hours apart, shape (n_groups,).

    Nodes watched over the same time are taken together; beyond 400 different times of observation, similar ones are.
    """
    sizes = failures.sizes.astype(np.float64)
    entered, left = failures.entered / NANOSECONDS_PER_HOUR, failures.left / NANOSECONDS_PER_HOUR
    own = np.bincount(group, weights=sizes**2 * chance_within(entered, left, entered, left, window), minlength=n_groups)
    times, kind = np.unique(np.stack([entered, left], axis=1), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    if len(times) > _CLASSES:
        joined = np.arange(len(times)) * _CLASSES // len(times)
        weight = np.bincount(joined, minlength=_CLASSES)
        times = np.stack([np.bincount(joined, weights=times[:, i]) / weight for i in range(2)], axis=1)
        kind = joined[kind]
    chance = chance_within(times[:, None, 0], times[:, None, 1], times[None, :, 0], times[None, :, 1], window)
    counts = np.zeros((n_groups, len(times)))
    np.add.at(counts, (group, kind), sizes)
    both = np.einsum("gi,gi->g", counts @ chance, counts)
    # only nodes without a partner leave rounding behind
    partners = np.bincount(group, weights=sizes > 0, minlength=n_groups) > 1
    return np.where(partners, np.maximum(0.5 * (both - own), 0.0), 0.0)
