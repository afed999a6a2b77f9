"""Compiled recursions behind the completion time: the renewal equation and the walk back over checkpoints."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["renewal_tail", "walk_back"]


@numba.njit(cache=True, nogil=True)
def renewal_tail(
    direct: np.ndarray, inner: np.ndarray, outer: np.ndarray, delay: float, never: float, tail: np.ndarray
) -> None:
    """Tail Z of the time lost to failures, on a grid, and its convolution with the attempt that precedes it.

    ``Z(t) = direct(t - R) + (K Z)(t - R)`` for t >= R and `never` before, where
    ``K Z(s) = integral_0^min(s, T) Z(s - x) dF(x)`` with Z linear within every cell.

    Parameters
    ----------
    direct : ndarray, shape (n + 1,)
        ``S(s) - S(T)`` on the grid of the attempt, zero at its end.
    inner, outer : ndarray, shape (n,)
        Of the mass of F in every cell, the parts that go to Z at the cell's near and far end.
    delay : float
        R in cells.
    never : float
        Z before R: the probability of a failure.
    tail : ndarray, shape (2, N + 1)
        Takes Z and ``K Z`` on the grid.
    """
    n = inner.size
    weight = np.zeros(n + 1)
    for j in range(n):
        weight[j] += inner[j]
        weight[j + 1] += outer[j]
    whole = math.floor(delay)
    part = delay - whole
    for i in range(tail.shape[1]):
        # without delay Z at i stands on both sides
        last = min(i, n)
        total = 0.0
        for j in range(1, last):
            total += weight[j] * tail[0, i - j]
        if i >= 1:
            total += (weight[n] if last == n else outer[last - 1]) * tail[0, i - last]
        if delay == 0.0:
            first = direct[i] if i <= n else 0.0
            here = inner[0] if i >= 1 else 0.0
            tail[0, i] = (first + total) / (1.0 - here)
            tail[1, i] = total + here * tail[0, i]
            continue
        before = i - whole  # t - R lies in the cell that ends here, or at its end
        if before < 0 or (before == 0 and part > 0.0):
            tail[0, i] = never
        elif whole == 0 and part < 1.0:
            # K Z is wanted between i - 1 and i, and that at i needs Z at i
            first = _between(direct, i, part)
            here = (1.0 - part) * (inner[0] if i >= 1 else 0.0)
            known = (1.0 - part) * total + part * tail[1, i - 1]
            tail[0, i] = (first + known) / (1.0 - here)
        else:
            first = _between(direct, before, part)
            known = (1.0 - part) * tail[1, before]
            if part > 0.0:
                known += part * tail[1, before - 1]
            tail[0, i] = first + known
        tail[1, i] = total + (inner[0] * tail[0, i] if i >= 1 else 0.0)


@numba.njit(cache=True, nogil=True)
def _between(values: np.ndarray, i: int, part: float) -> float:
    """Value at ``i - part``, zero beyond the end."""
    end = values.size - 1
    upper = values[i] if i <= end else 0.0
    if part == 0.0:
        return upper
    lower = values[i - 1] if i - 1 <= end else 0.0
    return (1.0 - part) * upper + part * lower


@numba.njit(cache=True, nogil=True)
def walk_back(
    alive: np.ndarray,
    alive_end: np.ndarray,
    mean_end: np.ndarray,
    alive_first: np.ndarray,
    end_first: float,
    mean_first: float,
    restart: float,
    work: np.ndarray,
) -> float:
    """Expected completion time of n segments with a checkpoint after each but the last.

    Parameters
    ----------
    alive : ndarray, shape (n,)
        After a failure: reliability up to the end of 1, 2, ... whole segments since the restart (the last is not used).
    alive_end, mean_end : ndarray, shape (n,)
        Reliability up to, and mean time until failure or, the end of the job, with 0, 1, ... whole segments before the
        last one still to come.
    alive_first : ndarray, shape (n,)
        As `alive`, for the first start.
    end_first, mean_first : float
        As `alive_end` and `mean_end`, for the first start.
    restart : float
        Hours between a failure and the next start.
    work : ndarray, shape (n,)
        Takes the expected time still to go from each checkpoint after a failure.
    """
    n = alive.size
    for j in range(n - 1, -1, -1):
        ahead = n - 1 - j  # whole segments before the last
        first = alive_end[0] if ahead == 0 else alive[0]
        if first <= 0.0:
            return np.inf
        total = mean_end[ahead] + restart * (1.0 - alive_end[ahead])
        for m in range(1, ahead + 1):
            here = alive[m - 1]
            after = alive_end[ahead] if m == ahead else alive[m]
            total += (here - after) * work[j + m]
            if here < 1e-300:
                break
        work[j] = total / first
        if not work[j] < 1e300:
            return np.inf
    total = mean_first + restart * (1.0 - end_first)
    for m in range(1, n):
        here = alive_first[m - 1]
        after = end_first if m == n - 1 else alive_first[m]
        total += (here - after) * work[m]
        if here < 1e-300:
            break
    first = end_first if n == 1 else alive_first[0]
    return total + (1.0 - first) * work[0]
