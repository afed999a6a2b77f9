"""Compiled search for the best number of spare blocks, one case after the other; arrays in, arrays out.

The logarithm of CETT is concave in the number R of spare blocks: log F(R) of a binomial is concave, and so is the
logarithm of working blocks times their checkpoint efficiency, at a given period as at the best one, whether recovery is
disturbed or not. The first R that is no better than the one before it therefore ends the search, and under the
placement rule (working blocks a multiple of the group) the best R is one of the two neighbours of the unconstrained
best.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["best_spare_blocks"]


@njit(cache=True, nogil=True)
def _best_work(ratio: float) -> float:
    """The x with x e^x - e^x + 1 = ratio, by Newton's method from above."""
    if ratio <= 0.0:
        return 0.0
    x = min(math.sqrt(2.0 * ratio), 1.0 + math.log1p(ratio))
    for _ in range(60):
        grown = math.exp(x)
        if x < 0.05:
            value = x * x * (0.5 + x * (1.0 / 3.0 + x * (0.125 + x * (1.0 / 30.0 + x / 144.0))))
        else:
            value = x * grown - grown + 1.0
        step = (value - ratio) / (x * grown)
        x -= step
        if abs(step) <= 1e-12 * x:
            break
    return x


@njit(cache=True, nogil=True)
def _log_efficiency(rate: float, save: float, down: float, disturbed: bool, period: float) -> float:
    """Log of the share of running time that is useful; a period of NaN stands for the best one."""
    if disturbed and rate * down > 1e-12:  # mean downtime when failures start it again
        down = math.expm1(min(rate * down, 460.0)) / rate
    if rate <= 0.0:
        return 0.0 if math.isnan(period) else -math.log1p(save / period)
    if math.isnan(period):
        return -_best_work(rate * save / (1.0 + rate * down)) - math.log1p(rate * down)
    load = rate * period
    if load > 700.0:
        return -(math.log1p(rate * down) + load - math.log(load))
    return -math.log((1.0 + rate * down) * (math.expm1(load) / load if load > 1e-12 else 1.0) + save / period)


@njit(cache=True, nogil=True)
def best_spare_blocks(
    blocks: np.ndarray,
    share_down: np.ndarray,
    zones: int,
    failure_rate: np.ndarray,
    save: float,
    down: float,
    disturbed: bool,
    period: float,
    group: np.ndarray,
    free: np.ndarray,
    placed: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Spare blocks that maximise CETT for the cases first..last: without the placement rule, and with it.

    `blocks`, `group` (blocks) and `share_down`, `failure_rate` (of one working block, an hour) have one value a case.
    """
    for i in range(first, last):
        total, q, unit = blocks[i], share_down[i], group[i]
        log_pmf = total * math.log1p(-q) if q < 1.0 else -np.inf
        odds = math.log(q) - math.log1p(-q) if 0.0 < q < 1.0 else -np.inf
        log_cdf = log_pmf
        found, best, best_placed, at_placed = False, -np.inf, -np.inf, total - unit
        spare = 0
        while spare < total:
            if spare > 0 and q > 0.0:
                log_pmf += math.log((total - spare + 1) / spare) + odds
                above = max(log_cdf, log_pmf)
                log_cdf = min(above + math.log1p(math.exp(min(log_cdf, log_pmf) - above)), 0.0)
            fits = (total - spare) % unit == 0
            if not found or fits:
                working = float(total - spare)
                rate = working * zones * failure_rate[i]
                value = math.log(working) + zones * log_cdf + _log_efficiency(rate, save, down, disturbed, period)
                if not found:
                    if value > best or spare == 0:
                        best = value
                        free[i] = spare
                    else:
                        found = True
                if fits and (value > best_placed or best_placed == -np.inf):
                    best_placed, at_placed = value, spare
                if found and fits:
                    break
            spare += 1
        placed[i] = at_placed
