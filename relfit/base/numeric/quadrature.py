"""Gauss-Legendre quadrature: the one table of points, and the one integral of a reliability over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray

_POINTS = 16  # of a panel
_TOLERANCE = 1e-10  # relative to the integral
_WIDEST, _NARROWEST, _MOST_PANELS = 8.0, 1e-6, 4000
_LAST = 700.0  # log of a time relative to the centre, beyond which an integral is infinite


@lru_cache(maxsize=32)
def gauss_legendre(points: int) -> tuple[FloatArray, FloatArray]:
    """Nodes on [-1, 1] and weights, shape (points,) each; exact for polynomials of degree ``2 points - 1``."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


@lru_cache(maxsize=1)
def _last_coefficients() -> FloatArray:
    """Weights that give the last two Legendre coefficients of values at the points of a panel, shape (2, points)."""
    nodes, weights = gauss_legendre(_POINTS)
    ends = np.polynomial.legendre.legvander(nodes, _POINTS - 1)[:, -2:] * weights[:, None]
    return np.asarray((ends * (np.arange(_POINTS - 2, _POINTS) + 0.5)).T)


def integrate_reliability(
    log_reliability: Callable[[FloatArray, int], FloatArray],
    centre: npt.ArrayLike,
    rows: int = 1,
    *,
    beyond: bool = True,
) -> FloatArray:
    """Integral of each row's reliability from zero to infinity, or to `centre`: a mean time in hours, shape (rows,).

    `log_reliability` takes times, shape (m, 1), or (m, rows) where each row has a centre of its own, and a number; it
    gives the logs of the reliabilities of the first so many rows: once only leading rows still contribute, only those
    are evaluated. `centre` is about the median of the row that ends first, or without `beyond` the upper limit. The
    relative error is about 1e-9; infinite where the integrand does not end within the range of floats.

    With ``x = centre exp(u)`` the integral is that of ``x R(x) du``. Panels of Gauss-Legendre points march up in u. One
    is halved where the last Legendre coefficients of the integrand are not small: they fall geometrically, and the rule
    misses about the square of the last. On the log scale a Weibull life of shape 0.05, which spreads over a hundred
    decades, and one of shape 20 take about the same number of panels.
    """
    middle = np.asarray(centre, dtype=np.float64).reshape(-1)
    nodes, weights = gauss_legendre(_POINTS)
    count = rows

    def heights(u: FloatArray) -> FloatArray:
        """The integrand of the first `count` rows in units of their centres, shape (m, count)."""
        x = np.exp(u)[:, None] * (middle if middle.size == 1 else middle[:count])
        return np.exp(log_reliability(x, count) + u[:, None])

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        edge, least = -8.0, np.zeros(rows)
        while True:  # below the edge the reliability lies between what it is there and 1
            edge -= 4.0
            there = heights(np.array([edge]))[0]
            least = np.maximum(least, there)
            short = 0.5 * (np.exp(edge) - there)
            if (short <= _TOLERANCE * least).all() or edge < -_LAST:
                break
        total = there + short
        width, halved = 2.0, False
        for _ in range(_MOST_PANELS):
            last = not beyond and width >= -edge
            half = -0.5 * edge if last else 0.5 * width
            values = heights(edge + half * np.append(1.0 + nodes, 2.0))
            end, values = values[-1], values[:-1]
            most = values.max(axis=0)
            small = np.abs(_last_coefficients() @ values).max(axis=0)
            missed = np.where(most > 0.0, 2.0 * half * small * (small / most), 0.0)
            worst = float((missed / np.maximum(total[:count], most)).max())
            if not worst <= _TOLERANCE and half > _NARROWEST:
                width, halved = half, True
                continue
            total[:count] += half * (weights @ values)
            edge += 2.0 * half
            if last:
                break
            if beyond:
                going = np.flatnonzero(end > 1e-2 * _TOLERANCE * total[:count])
                if not going.size:
                    break
                count = int(going[-1]) + 1
                if edge > _LAST:
                    total[going] = np.inf
                    break
            if worst < 1e-3 * _TOLERANCE:
                width = min(_WIDEST, 2.0 * half * (1.5 if halved else 2.0))
    return total * middle
