"""Compiled loops over the first k nodes, for every k: integrals of reliabilities and numbers of failed nodes."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["panel_of_prefixes", "panel_of_values", "tolerant_prefixes"]


@numba.njit(cache=True, nogil=True)
def _measure(values: np.ndarray, weights: np.ndarray, ends: np.ndarray) -> tuple[float, float, float]:
    """Integral over the panel [-1, 1], the largest value, and what the rule may miss."""
    total, most, one, two = 0.0, 0.0, 0.0, 0.0
    for j in range(weights.size):
        f = values[j]
        total += weights[j] * f
        one += ends[j, 0] * f
        two += ends[j, 1] * f
        most = max(most, f)
    last = max(abs(one), abs(two))
    return total, most, last * (last / most) if most > 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def panel_of_prefixes(
    spent: np.ndarray, log_x: np.ndarray, weights: np.ndarray, ends: np.ndarray, total: np.ndarray, most: np.ndarray,
    missed: np.ndarray, edge: np.ndarray,
) -> None:  # fmt: skip
    """Measure ``x R_k(x)`` on one panel for every k.

    `spent` has the further cumulative hazard of each node at the points of the panel and at its right edge. Sums are
    compensated (Neumaier), so that they are right to the last digit after 100 000 terms.
    """
    points = weights.size
    sums = np.zeros(points + 1)
    rest = np.zeros(points + 1)
    values = np.zeros(points + 1)
    for k in range(spent.shape[0]):
        for j in range(points + 1):
            term = spent[k, j]
            new = sums[j] + term
            if new < np.inf:
                rest[j] += (sums[j] - new) + term if sums[j] >= term else (term - new) + sums[j]
            sums[j] = new
            values[j] = math.exp(log_x[j] - new - rest[j])
        total[k], most[k], missed[k] = _measure(values, weights, ends)
        edge[k] = values[points]


@numba.njit(cache=True, nogil=True)
def panel_of_values(
    log_alive: np.ndarray, log_x: np.ndarray, weights: np.ndarray, ends: np.ndarray, total: np.ndarray,
    most: np.ndarray, missed: np.ndarray, edge: np.ndarray,
) -> None:  # fmt: skip
    """As `panel_of_prefixes`, from logs of reliabilities."""
    points = weights.size
    values = np.zeros(points + 1)
    for k in range(log_alive.shape[0]):
        for j in range(points + 1):
            values[j] = math.exp(log_x[j] + log_alive[k, j])
        total[k], most[k], missed[k] = _measure(values, weights, ends)
        edge[k] = values[points]


@numba.njit(cache=True, nogil=True)
def tolerant_prefixes(
    spent: np.ndarray, rate: np.ndarray, allowed: int, log_alive: np.ndarray, density: np.ndarray, first: int, last: int
) -> None:
    """Log of the probability that at most `allowed` of the first k nodes have failed, for every k; and the rate.

    The recursion of `relfit.system.kernels.tolerant`, read off after every node. Columns `first` to `last` are filled.
    """
    slopes = rate.shape[0] > 0
    for j in range(first, last):
        f = np.zeros(allowed + 1)
        g = np.zeros(allowed + 1)
        f[0] = 1.0
        over, over_slope, shift, low = 0.0, 0.0, 0.0, 0
        for i in range(spent.shape[0]):
            h = spent[i, j]
            alive, failed = math.exp(-h), -math.expm1(-h)
            top = min(i + 1, allowed)
            if slopes:
                lost = rate[i, j] * alive
                if i >= allowed:
                    over_slope += lost * f[allowed] + failed * g[allowed]
                for k in range(top, low, -1):
                    g[k] = g[k] * alive + g[k - 1] * failed + lost * (f[k - 1] - f[k])
                g[low] = g[low] * alive - lost * f[low]
            if i >= allowed:
                over += failed * f[allowed]
            for k in range(top, low, -1):
                f[k] = f[k] * alive + f[k - 1] * failed
            f[low] *= alive
            if (i & 31) == 31:
                peak = 0.0
                for k in range(low, top + 1):
                    peak = max(peak, f[k])
                if peak > 0.0 and peak < 1e-100:
                    factor = 1.0 / peak
                    for k in range(low, top + 1):
                        f[k] *= factor
                        g[k] *= factor
                    shift -= math.log(factor)
                    over, over_slope = over * factor, over_slope * factor
                while low < top and f[low] < 1e-290 and low < allowed:
                    f[low], g[low] = 0.0, 0.0
                    low += 1
            if i < allowed:
                log_alive[i, j], density[i, j] = 0.0, 0.0
                continue
            total, slope = 0.0, 0.0
            for k in range(low, allowed + 1):
                total += f[k]
                slope += g[k]
            if shift == 0.0 and total > 0.5:
                log_alive[i, j] = math.log1p(-over)
                density[i, j] = over_slope / total
            else:
                log_alive[i, j] = math.log(total) + shift if total > 0.0 else -np.inf
                density[i, j] = -slope / total if total > 0.0 else np.nan
