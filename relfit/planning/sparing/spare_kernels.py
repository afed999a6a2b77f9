"""Compiled search for the best number of spare blocks, one case after the other; arrays in, arrays out.

The logarithm of CETT is concave in the number R of spare blocks: log F(R) of a binomial is concave, and so is the
logarithm of working blocks times their checkpoint efficiency, at a given period as at the best one, whether recovery is
disturbed or not. The first R that is no better than the one before it therefore ends the search, and under the
placement rule (working blocks a multiple of the group) the best R is one of the two neighbours of the unconstrained
best. Where blocking no longer matters the search goes on by bisection.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["best_spare_blocks"]

_SURE = -1e-16  # log of a probability that is as good as one


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
    if rate <= 0.0:
        return 0.0 if math.isnan(period) else -math.log1p(save / period)
    # log of 1 + rate times the mean downtime, which is (e^(rate D) - 1)/rate when failures start recovery again
    boost = rate * down if disturbed else math.log1p(rate * down)
    if math.isnan(period):
        return -_best_work(rate * save * math.exp(-boost)) - boost
    load = rate * period
    if load > 700.0:
        return -(boost + load - math.log(load))
    return -boost - math.log((math.expm1(load) / load if load > 1e-12 else 1.0) + save / period * math.exp(-boost))


@njit(cache=True, nogil=True)
def _far_below(total: int, q: float, unit: int) -> int:
    """A number of spares that can be placed and is most likely too small: six deviations below the mean."""
    least = int(total * q - 6.0 * math.sqrt(total * q * (1.0 - q)) - 2.0)
    least -= (least - total) % unit
    return max(least, 0) if q < 1.0 else 0


@njit(cache=True, nogil=True)
def _log_cdf(spare: int, total: int, log_pmf: float, odds: float) -> float:
    """Log of P(N <= spare) far below the mean, from the log of P(N = spare): terms fall by ever smaller ratios."""
    sum_, term, k = 1.0, 1.0, spare
    while k > 0:
        term *= k / (total - k + 1.0) * math.exp(-odds)
        sum_ += term
        k -= 1
        if term < 1e-17 * sum_:
            break
    return min(log_pmf + math.log(sum_), 0.0)


@njit(cache=True, nogil=True)
def _gain(
    working: int, zones: int, failure_rate: float, save: float, down: float, disturbed: bool, period: float
) -> float:
    """Log of working blocks times their efficiency."""
    return math.log(working) + _log_efficiency(working * zones * failure_rate, save, down, disturbed, period)


@njit(cache=True, nogil=True)
def _best_unblocked(
    first: int, total: int, step: int, zones: int, failure_rate: float, save: float, down: float, disturbed: bool,
    period: float,
) -> int:  # fmt: skip
    """The best of first, first + step, ... below `total` where blocking is out of the question; by bisection."""
    low, high = 0, (total - 1 - first) // step
    while low < high:
        middle = (low + high) // 2
        working = total - first - middle * step
        here = _gain(working, zones, failure_rate, save, down, disturbed, period)
        if _gain(working - step, zones, failure_rate, save, down, disturbed, period) > here:
            low = middle + 1
        else:
            high = middle
    return first + low * step


@njit(cache=True, nogil=True)
def _search(
    i: int, start: int, total: int, q: float, zones: int, failure_rate: float, save: float, down: float,
    disturbed: bool, period: float, unit: int, free: np.ndarray, placed: np.ndarray,
) -> bool:  # fmt: skip
    """Search upwards from `start`; False when `start` itself is best and is not 0."""
    log_pmf = total * math.log1p(-q) if q < 1.0 else -np.inf
    odds = math.log(q) - math.log1p(-q) if 0.0 < q < 1.0 else -np.inf
    log_cdf = log_pmf
    if start > 0:
        log_pmf = math.lgamma(total + 1.0) - math.lgamma(start + 1.0) - math.lgamma(total - start + 1.0)
        log_pmf += start * math.log(q) + (total - start) * math.log1p(-q)
        log_cdf = _log_cdf(start, total, log_pmf, odds)
    found, best, best_placed, at_placed = False, -np.inf, -np.inf, total - unit
    spare = start
    while spare < total:
        if spare > start and q > 0.0:
            log_pmf += math.log((total - spare + 1) / spare) + odds
            above = max(log_cdf, log_pmf)
            log_cdf = min(above + math.log1p(math.exp(min(log_cdf, log_pmf) - above)), 0.0)
        if not found and spare > start and log_cdf > _SURE:
            # blocking no longer matters: the rest is a concave function of the working blocks alone
            free[i] = _best_unblocked(spare - 1, total, 1, zones, failure_rate, save, down, disturbed, period)
            first = spare + (total - spare) % unit
            if first <= total - unit:
                at = _best_unblocked(first, total, unit, zones, failure_rate, save, down, disturbed, period)
                if _gain(total - at, zones, failure_rate, save, down, disturbed, period) > best_placed:
                    at_placed = at
            placed[i] = at_placed
            return not (free[i] == start and start > 0)
        fits = (total - spare) % unit == 0
        if not found or fits:
            working = float(total - spare)
            rate = working * zones * failure_rate
            value = math.log(working) + zones * log_cdf + _log_efficiency(rate, save, down, disturbed, period)
            if not found:
                if value > best or spare == start:
                    best = value
                    free[i] = spare
                else:
                    found = True
                    if free[i] == start and start > 0:
                        return False
            if fits and (value > best_placed or best_placed == -np.inf):
                best_placed, at_placed = value, spare
            if found and fits:
                break
        spare += 1
    placed[i] = at_placed
    return True


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
        total, q, rate, unit = blocks[i], share_down[i], failure_rate[i], group[i]
        start = _far_below(total, q, unit)
        known = _search(i, start, total, q, zones, rate, save, down, disturbed, period, unit, free, placed)
        if not known:  # the best number lies below where the search began
            _search(i, 0, total, q, zones, rate, save, down, disturbed, period, unit, free, placed)
