"""Compiled loops behind sequences of checkpoints: dynamic programming over a grid, and the rule by hazard."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["best_next", "steps_by_hazard"]


@numba.njit(cache=True, nogil=True)
def best_next(
    time: np.ndarray, log_sf: np.ndarray, save: float, last_value: float,
    value: np.ndarray, following: np.ndarray,
) -> None:  # fmt: skip
    """Most work that can be kept from each time of a grid on, given no failure so far, and where the next save ends.

    ``value[i]`` is the largest of ``S(t[k])/S(t[i]) (t[k] - t[i] - save + value[k])`` over the later
    times t[k] by which a save can be done. The search ends where survival has fallen by three e-folds, or at eight
    times the best interval found so far.
    """
    n = time.size
    value[n - 1] = last_value
    following[n - 1] = -1
    for i in range(n - 2, -1, -1):
        best, where = -1.0, -1
        for k in range(i + 1, n):
            gap = time[k] - time[i]
            if gap <= save:
                continue
            fall = log_sf[k] - log_sf[i]
            found = math.exp(fall) * (gap - save + value[k])
            if found > best:
                best, where = found, k
            elif fall < -3.0 or gap > 8.0 * (time[where] - time[i]):
                break
        if where < 0:  # no save can be done before the grid ends
            best = last_value
        value[i] = best
        following[i] = where


@numba.njit(cache=True, nogil=True)
def steps_by_hazard(
    time: np.ndarray, hazard: np.ndarray, begin: float, end: float, save: float, out: np.ndarray
) -> int:
    """Ends of saves after intervals w with ``w (H(t + w) - H(t)) = 2 C``; how many there are until `end`.

    `hazard` is the cumulative hazard on the rising times, linear between them.
    """
    count, now = 0, begin
    last = time.size - 1
    i = 0
    while now < end and count < out.size:
        while i < last - 1 and time[i + 1] <= now:
            i += 1
        h_now = hazard[i] + (hazard[i + 1] - hazard[i]) * (now - time[i]) / (time[i + 1] - time[i])
        k = i + 1
        while k < last and (time[k] - now) * (hazard[k] - h_now) < 2.0 * save:
            k += 1
        # within the panel that ends at k: (a + x) (b + s x) = 2 C with x hours into it
        left = max(time[k - 1], now)
        slope = (hazard[k] - hazard[k - 1]) / (time[k] - time[k - 1])
        a = left - now
        b = hazard[k - 1] + slope * (left - time[k - 1]) - h_now
        root = a
        if slope > 0.0:
            half = 0.5 * (a * slope + b)
            root = a + (math.sqrt(max(half * half - slope * (a * b - 2.0 * save), 0.0)) - half) / slope
        elif b > 0.0:
            root = 2.0 * save / b
        now += root + save
        out[count] = now
        count += 1
    return count
