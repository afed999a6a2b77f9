"""Integrals of a reliability over time, for many systems at once, to some twelve digits.

The mean is ``integral of R(x) dx = integral of x R(x) du`` with ``x = c exp(u)``. Gauss-Legendre panels in u march
away from c, halved where the last Legendre coefficients of the integrand are not small, and stop where what is left on
either side cannot matter. On the log scale a system of shape 0.05, whose integrand spreads over a hundred decades, and
one of shape 20 take about the same number of panels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["COARSE", "ENDS", "LEGENDRE_POINTS", "TOLERANCE", "WEIGHTS", "Integral", "integrate_reliability"]

FloatArray = npt.NDArray[np.float64]

_COUNT = 20
LEGENDRE_POINTS, WEIGHTS = np.polynomial.legendre.leggauss(_COUNT)
ENDS = np.polynomial.legendre.legvander(LEGENDRE_POINTS, _COUNT - 1)[:, -2:] * WEIGHTS[:, None]
ENDS = ENDS * (np.arange(_COUNT - 2, _COUNT) + 0.5)  # give the last two Legendre coefficients
TOLERANCE = 1e-13
_WIDEST, _NARROWEST = 8.0, 1e-9
COARSE = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0])
_MOST_PANELS = 4000


@dataclass(frozen=True)
class Integral:
    """Integrals and bounds of their relative errors, one a row."""

    value: FloatArray
    error: FloatArray


def integrate_reliability(
    reliability: Callable[[FloatArray], FloatArray], centre: FloatArray, *, beyond: bool
) -> Integral:
    """Integral of every row's reliability from 0 to its `centre`, or to infinity.

    Parameters
    ----------
    reliability : callable
        Takes times of shape (rows, m) in hours, gives reliabilities of the same shape.
    centre : ndarray, shape (rows,)
        Hours: an upper limit, or with `beyond` a time near the median.
    beyond : bool
        Whether to go on beyond the centre.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rows = centre.size
        log_c = np.log(centre)

        def height(u: FloatArray) -> FloatArray:
            """Reliability times ``exp(u)``: the integrand in units of the centre."""
            x = np.exp(log_c[:, None] + u)
            r = reliability(x)
            return np.where(r > 0.0, r * np.exp(u), 0.0)

        reach = np.concatenate([-COARSE[::-1], COARSE[1:]]) if beyond else -COARSE
        least = height(np.minimum(reach, 700.0)).max(axis=1) if rows else np.zeros(0)
        total, error = np.zeros(rows), np.zeros(rows)
        if beyond:
            total, error = _march(height, least, total, error, 1.0)
        total, error = _march(height, least, total, error, -1.0)
        value = total * centre
        relative = np.where(total > 0.0, error / np.maximum(total, 1e-300), 0.0)
    return Integral(value, relative)


def _march(
    height: Callable[[FloatArray], FloatArray], least: FloatArray, total: FloatArray, error: FloatArray, way: float
) -> tuple[FloatArray, FloatArray]:
    """Add panels in one direction from u = 0 until nothing is left in any row."""
    edge, width = 0.0, 1.0
    scale = np.maximum(least, total)
    for _ in range(_MOST_PANELS):
        middle, half = edge + way * 0.5 * width, 0.5 * width
        values = height(middle + half * LEGENDRE_POINTS)
        most = values.max(axis=1)
        last = np.abs(values @ ENDS).max(axis=1)
        # the coefficients fall geometrically: those that the rule misses are about the square of the last seen
        missed = width * np.where(most > 0.0, last * (last / np.where(most > 0.0, most, 1.0)), 0.0)
        scale = np.maximum(scale, most)
        if (missed > TOLERANCE * scale).any() and width > _NARROWEST:
            width *= 0.5
            continue
        total = total + half * (values @ WEIGHTS)
        error = error + missed
        scale = np.maximum(scale, total)
        edge += way * width
        if width < _WIDEST and not (missed > 1e-3 * TOLERANCE * scale).any():
            width *= 2.0
        if way < 0.0:
            # below the edge R lies between R(edge) and 1
            there = np.exp(edge)
            short = np.maximum(there - height(np.array([edge]))[:, 0], 0.0)
            if (0.5 * short <= TOLERANCE * scale).all():
                return total + there - 0.5 * short, error + 0.5 * short
        elif edge >= 700.0 or (height(np.minimum(edge + COARSE, 700.0)).max(axis=1) <= 1e-2 * TOLERANCE * scale).all():
            return total, error + TOLERANCE * scale
    return total, np.full(error.shape, np.inf)
