"""Current failure rates of racks and causes: the common rate times multiples with a gamma prior around one.

The variance between parts, and how fast they change, are weighted by how well the next step of all was predicted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fleet.prediction.discounted_levels import discounted
from relfit.fleet.prediction.mixing import fixed_share

_HALF_LIVES = (20.0, 60.0, 180.0, 540.0, np.inf)  # days
_ALIKE = (0.5, 2.0, 8.0, 32.0, 128.0)  # one over the variance of the parts' multiples
_BACK = 0.01  # share of the weights that returns to all in a step
_MOST = 20_000  # parts whose past is scored, at most
_FIRST = 2  # steps before the first scored one


@dataclass(frozen=True, eq=False)
class RelativeRates:
    """Multiples of the mean rate, arrays of shape (parts,)."""

    rate: FloatArray  # expected multiple
    shape: FloatArray  # of its gamma distribution: one over the squared coefficient of variation
    scatter: float  # variance of the counts of parts in a step relative to that predicted, 1 or more


def relative_rates(counts: FloatArray, exposure: FloatArray, days: float) -> RelativeRates:
    """Current multiples of the mean rate, from counts and units, shape (parts, steps), in steps of some days."""
    total = exposure.sum(axis=0)
    rate = np.divide(counts.sum(axis=0), total, out=np.zeros(total.size), where=total > 0.0)
    expected = exposure * rate
    scored = slice(None) if counts.shape[0] <= _MOST else slice(None, None, -(-counts.shape[0] // _MOST))
    seen, due = counts[scored, _FIRST:], expected[scored, _FIRST:]
    some = np.nonzero(seen)
    scores, means, sizes, errors = [], [], [], []
    for half_life in _HALF_LIVES:
        did, should = (discounted(each, half_life / days) for each in (counts, expected))
        before, ought = did[scored, _FIRST:-1], should[scored, _FIRST:-1]
        for alike in _ALIKE:
            size = before + alike
            p = size / (size + due * size / (ought + alike))
            density = (size * np.log(p)).sum(axis=0)
            counted = special.gammaln(seen[some] + size[some]) - special.gammaln(size[some])
            counted += seen[some] * np.log1p(-np.minimum(p[some], 1.0 - 1e-15))
            scores.append(density + np.bincount(some[1], counted, density.size))
            sizes.append(did[:, -1] + alike)
            means.append(sizes[-1] / (should[:, -1] + alike))
            mean = due * size / (ought + alike)
            errors.append(((seen - mean) ** 2).sum() / max((mean + mean**2 / size).sum(), 1e-300))
    weight = fixed_share(np.array(scores), _BACK)
    mean = weight @ np.array(means)
    square = weight @ (np.array(means) ** 2 * (1.0 + 1.0 / np.array(sizes)))
    shape = mean**2 / np.maximum(square - mean**2, 1e-12)
    return RelativeRates(mean, shape, max(float(errors[int(weight.argmax())]), 1.0))
