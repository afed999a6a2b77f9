"""Compiled interpolation of the cumulative hazards of the first k nodes, along the log of time."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["POINTS", "interpolate"]

POINTS = 8
_WEIGHTS = np.array([(-1.0) ** i * math.comb(POINTS - 1, i) for i in range(POINTS)])


@numba.njit(cache=True, nogil=True)
def interpolate(
    table: np.ndarray,
    first: float,
    step: float,
    rows: np.ndarray,
    log_x: np.ndarray,
    begin: int,
    end: int,
    out: np.ndarray,
) -> None:
    """Cumulative hazards from their logs on a grid, for the rows `begin` to `end` of `log_x`.

    By the polynomial through the eight nearest points (in its barycentric form); along a straight line, a power of
    time, outside of the grid.

    Parameters
    ----------
    table : ndarray, shape (K, M)
        Logs of cumulative hazards at ``first + step * j``.
    rows : ndarray of int, shape (r,)
        Row of the table for each row of `log_x`.
    log_x : ndarray, shape (r, m)
    out : ndarray, shape (r, m)
    """
    last = table.shape[1] - 1
    for r in range(begin, end):
        values = table[rows[r]]
        for c in range(log_x.shape[1]):
            place = (log_x[r, c] - first) / step
            if place <= 0.0:
                slope = (values[4] - values[0]) / 4.0 if values[0] > -np.inf else 0.0
                out[r, c] = math.exp(values[0] + slope * place)
                continue
            if place >= last:
                out[r, c] = math.exp(values[last] + (values[last] - values[last - 1]) * (place - last))
                continue
            low = min(max(int(place) - POINTS // 2 + 1, 0), last - POINTS + 1)
            above = 0.0
            below = 0.0
            exact = -1
            for i in range(POINTS):
                gap = place - (low + i)
                if gap == 0.0:
                    exact = i
                    break
                weight = _WEIGHTS[i] / gap
                above += weight * values[low + i]
                below += weight
            value = values[low + exact] if exact >= 0 else above / below
            if not abs(value) < 1e300:  # a hazard of zero or infinity among the eight
                near = values[int(place)]
                value = near + (place - int(place)) * (values[int(place) + 1] - near)
                if value != value:
                    value = near
            out[r, c] = math.exp(value)
