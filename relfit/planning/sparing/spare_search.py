"""The number of spare blocks of highest CETT, without the placement rule and with it.

With synchronous recovery the logarithm of CETT is concave in the number R of spare blocks: log F(R) of a binomial is
concave, and so is the logarithm of working blocks times their checkpoint efficiency, at a given work between
checkpoints as at the best one, whether recovery is disturbed or not. The first R that is no better than the one before
it therefore ends the search, and under the placement rule (working blocks a multiple of the group) the best R is one
of the two neighbours of the unconstrained best. At reduced size every number is tried.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from relfit.arrays import FloatArray, IntArray
from relfit.numeric.batches import over_groups
from relfit.planning.sparing.recovery import Recovery, losses

__all__ = ["best_spare_blocks"]


_CHUNK = 1_000_000  # cases of an exhaustive search held at once
_SURE = -1e-16  # log of a probability that is as good as one


def best_spare_blocks(
    recovery: Recovery,
    zones: int,
    blocks: FloatArray,
    share_down: FloatArray,
    block_rate: FloatArray,
    unit: IntArray,
    workers: int | None = None,
) -> tuple[IntArray, IntArray]:
    """Best spare blocks of every case, any number of them and under the placement rule.

    Parameters
    ----------
    recovery : Recovery
    zones : int
    blocks, share_down, block_rate : ndarray
        As for `losses`, of one shape.
    unit : ndarray of int
        Blocks that must be placed together, of the same shape.
    workers : int, optional
        Threads.

    Returns
    -------
    free, placed : ndarray of int
    """
    shape = blocks.shape
    total, q, rate = (np.ascontiguousarray(a, dtype=np.float64).ravel() for a in (blocks, share_down, block_rate))
    units = np.ascontiguousarray(unit, dtype=np.int64).ravel()
    free, placed = np.empty(total.size, np.int64), np.empty(total.size, np.int64)
    if recovery.loss_limit:
        _try_all(recovery, zones, total, q, rate, units, free, placed)
    else:
        counts = total.astype(np.int64)
        period = np.nan if recovery.checkpoint_every is None else recovery.checkpoint_every
        down = recovery.detection + recovery.restart

        def work(first: int, last: int) -> None:
            _climb(counts, q, zones, rate, recovery.save, down, recovery.disturbed, period, units, free, placed,
                   first, last)  # fmt: skip

        # each case is one "group" of the batch, weighted by the blocks that the search may have to look at
        over_groups(np.concatenate([[0], np.cumsum(counts)]), work, workers)
    return free.reshape(shape), placed.reshape(shape)


def _try_all(
    recovery: Recovery, zones: int, total: FloatArray, q: FloatArray, rate: FloatArray, units: IntArray,
    free: IntArray, placed: IntArray,
) -> None:  # fmt: skip
    for count in np.unique(total).astype(int):
        members = np.flatnonzero(total == count)
        step = max(1, _CHUNK // (count * (recovery.loss_limit + 1)))
        spare = np.arange(count)[:, None]
        for piece in (members[i : i + step] for i in range(0, members.size, step)):
            _, lost = losses(recovery, total[piece], spare, zones, q[piece], rate[piece])
            value = (count - spare) * (1.0 - sum(lost.values()))
            free[piece] = value.argmax(axis=0)
            placed[piece] = np.where((count - spare) % units[piece] == 0, value, -1.0).argmax(axis=0)


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
def _climb(
    blocks: np.ndarray,
    share_down: np.ndarray,
    zones: int,
    block_rate: np.ndarray,
    save: float,
    down: float,
    disturbed: bool,
    period: float,
    unit: np.ndarray,
    free: np.ndarray,
    placed: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Spare blocks of highest CETT of the cases first..last.

    Counted up from a number that can be placed, six deviations of the blocks down below their mean: there one more
    spare still adds more to log F than the working block that it takes, and the efficiency does not fall.
    """
    for i in range(first, last):
        total, q = blocks[i], share_down[i]
        log_pmf = total * math.log1p(-q) if q < 1.0 else -np.inf
        odds = math.log(q) - math.log1p(-q) if 0.0 < q < 1.0 else -np.inf
        start = int(total * q - 6.0 * math.sqrt(total * q * (1.0 - q))) if q < 1.0 else 0
        start = max(start - (start - total) % unit[i], 0)
        share, term = 1.0, 1.0  # of P(N <= start) by P(N = start), whose terms fall
        if start > 0:
            log_pmf += math.lgamma(total + 1.0) - math.lgamma(start + 1.0) - math.lgamma(total - start + 1.0)
            log_pmf += start * odds
            for k in range(start, 0, -1):
                term *= k / (total - k + 1.0) * math.exp(-odds)
                share += term
                if term < 1e-17 * share:
                    break
        log_cdf, top, top_placed, climbing = log_pmf + math.log(share), -np.inf, -np.inf, True
        free[i], placed[i] = start, total - unit[i]
        for spare in range(start, total):
            if spare > start and log_cdf < _SURE:
                log_pmf += math.log((total - spare + 1) / spare) + odds
                above = max(log_cdf, log_pmf)
                if above > -np.inf:
                    log_cdf = min(above + math.log1p(math.exp(min(log_cdf, log_pmf) - above)), 0.0)
            fits = (total - spare) % unit[i] == 0
            if not (climbing or fits):
                continue
            rate = (total - spare) * zones * block_rate[i]
            value = math.log(total - spare) + zones * log_cdf
            value += _log_efficiency(rate, save, down, disturbed, period)
            if climbing:
                climbing = value > top or spare == start
                if climbing:
                    top, free[i] = value, spare
            if fits and (value > top_placed or top_placed == -np.inf):
                top_placed, placed[i] = value, spare
            if fits and not climbing:
                break
