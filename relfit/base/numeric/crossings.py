"""Where a monotone curve has a value, with an interval from resampling the runs behind it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import isotonic_regression

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray

_DRAWS = 1000


def monotone(curve: FloatArray, rising: bool | None = None) -> FloatArray:
    """The nearest curve that only rises, or only falls; by its ends when `rising` is left out."""
    up = bool(curve[-1] >= curve[0]) if rising is None else rising
    return np.asarray(isotonic_regression(curve, increasing=up).x, dtype=np.float64)


def crossing(x: FloatArray, curve: FloatArray, value: float) -> float:
    """Where a monotone curve has a value, straight lines between; minus or plus infinite before the first or last."""
    if curve[-1] < curve[0]:
        curve, value = -curve, -value
    if value < curve[0] or value > curve[-1]:
        return -np.inf if value < curve[0] else np.inf
    k = min(int(np.searchsorted(curve, value, side="right")), curve.size - 1)
    step = curve[k] - curve[k - 1]
    part = (value - curve[k - 1]) / step if step > 0.0 else 1.0
    return float(x[k - 1] + part * (x[k] - x[k - 1]))


def redrawn(
    runs: FloatArray, solve: Callable[[FloatArray], float], level: float, rng: int | np.random.Generator | None
) -> tuple[float, float, float]:
    """What `solve` gives for the means over runs (runs, quantities), and its percentile interval over resamples."""
    n = len(runs)
    weights = random_stream(rng).multinomial(n, np.full(n, 1.0 / n), _DRAWS) / n
    values = [solve(means) for means in np.vstack([runs.mean(axis=0), weights @ runs])]
    low, high = np.quantile(values[1:], [0.5 - level / 2.0, 0.5 + level / 2.0], method="nearest")
    return values[0], float(low), float(high)
