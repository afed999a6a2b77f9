"""Compiled loops over nodes: further cumulative hazards, and the number of nodes that have failed."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["fill", "tolerant"]


@numba.njit(cache=True, nogil=True)
def _power(b: float, log_ratio: float) -> float:
    return math.exp(b * log_ratio)


@numba.njit(cache=True, nogil=True)
def _spent(code: int, par: np.ndarray, x: float) -> float:
    """Further cumulative hazard of one node after `x` hours."""
    b, scale, age, wait = par[0], par[1], par[2], par[3]
    if code == 0:  # Weibull of an age, after a wait
        if x <= wait:
            return 0.0
        x -= wait
        if age == 0.0:
            if b == 1.0:
                return x / scale
            return math.exp(b * (math.log(x) - par[4]))
        if b == 1.0:
            return x / scale
        grown = math.log1p(x / age)
        after = b * (grown + par[4])
        if b * grown > 0.5:
            if par[5] == np.inf:
                return np.inf
            if after > 30.0:
                return ((age + x) / scale) ** b - par[5]
            return math.exp(after) - par[5]
        share = -math.expm1(-b * grown)
        power = math.exp(after) if abs(after) < 30.0 else ((age + x) / scale) ** b
        if power == np.inf:
            return math.exp(after + math.log(share)) if share > 0.0 else 0.0
        return power * share
    if code == 1:  # Gompertz: b is the growth, scale the inverse of the rate at this age
        if x <= 0.0 or x == np.inf:
            return x
        y = b * x
        return x / scale * (math.expm1(y) / y if y > 1e-8 else 1.0 + 0.5 * y)
    # loglogistic: par[4] is the log of age over scale, par[5] its softplus, par[6] its logistic function
    if x <= 0.0:
        return 0.0
    if age == 0.0:
        u = b * (math.log(x) - par[4])
        return u + math.log1p(math.exp(-u)) if u > 0.0 else math.log1p(math.exp(u))
    grown = b * math.log1p(x / age)
    if grown > 0.5:
        u = grown + b * par[4]
        return (u + math.log1p(math.exp(-u)) if u > 0.0 else math.log1p(math.exp(u))) - par[5]
    return math.log1p(math.expm1(grown) * par[6])


@numba.njit(cache=True, nogil=True)
def fill(
    codes: np.ndarray, table: np.ndarray, nodes: np.ndarray, x: np.ndarray, out: np.ndarray, first: int, last: int
) -> None:
    """Rows of further cumulative hazards, a row a node; `x` has one row for all, or one for each."""
    shared = x.shape[0] == 1
    for i in range(first, last):
        node = nodes[i]
        code = codes[node]
        if code < 0:
            continue
        row = 0 if shared else i
        for j in range(x.shape[1]):
            out[i, j] = _spent(code, table[node], x[row, j])


@numba.njit(cache=True, nogil=True)
def tolerant(
    spent: np.ndarray,
    rate: np.ndarray,
    offsets: np.ndarray,
    allowed: np.ndarray,
    log_alive: np.ndarray,
    density: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Log of the probability that at most `allowed` nodes of each set have failed, and minus its derivative over it.

    The exact recursion over the nodes of the probabilities of 0, 1, ... failures, with derivatives. Where few are
    expected the probability of more than allowed is summed instead, so that it keeps its digits. `rate` without rows
    leaves the derivative out.
    """
    points = spent.shape[1]
    slopes = rate.shape[0] > 0
    for cell in range(first, last):
        row, j = cell // points, cell % points
        begin, end = offsets[row], offsets[row + 1]
        most = allowed[row]
        if end - begin <= most:
            log_alive[row, j], density[row, j] = 0.0, 0.0
            continue
        f = np.zeros(most + 1)
        g = np.zeros(most + 1)
        f[0] = 1.0
        over, over_slope, shift, low = 0.0, 0.0, 0.0, 0
        for i in range(begin, end):
            h = spent[i, j]
            alive, failed = math.exp(-h), -math.expm1(-h)
            top = min(i - begin + 1, most)
            if slopes:
                lost = rate[i, j] * alive
                if i - begin >= most:
                    over_slope += lost * f[most] + failed * g[most]
                for k in range(top, low, -1):
                    g[k] = g[k] * alive + g[k - 1] * failed + lost * (f[k - 1] - f[k])
                g[low] = g[low] * alive - lost * f[low]
            if i - begin >= most:
                over += failed * f[most]
            for k in range(top, low, -1):
                f[k] = f[k] * alive + f[k - 1] * failed
            f[low] *= alive
            if (i & 31) == 31:
                peak = 0.0
                for k in range(low, top + 1):
                    peak = max(peak, f[k])
                if peak > 0.0 and peak < 1e-100:
                    # beyond this the sum over what is allowed is what matters
                    factor = 1.0 / peak
                    for k in range(low, top + 1):
                        f[k] *= factor
                        g[k] *= factor
                    shift -= math.log(factor)
                    over, over_slope = over * factor, over_slope * factor
                while low < top and f[low] < 1e-290 and low < most:
                    f[low], g[low] = 0.0, 0.0
                    low += 1
        total, slope = 0.0, 0.0
        for k in range(most + 1):
            total += f[k]
            slope += g[k]
        if shift == 0.0 and total > 0.5:
            log_alive[row, j] = math.log1p(-over)
            density[row, j] = over_slope / total
        else:
            log_alive[row, j] = math.log(total) + shift if total > 0.0 else -np.inf
            density[row, j] = -slope / total if total > 0.0 else np.nan
