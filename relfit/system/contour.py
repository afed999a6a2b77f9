"""The number of failed nodes where many may fail, or racks take their nodes with them: by a contour integral.

The generating function of the number N of failed nodes is ``G(z) = prod (q_i + p_i z)``; with racks, whose events take
all their nodes, a product of ``S_r prod (q_i + p_i z) + (1 - S_r) z**n_r`` over the racks. ``P(N <= s)`` is the
coefficient of ``z**s`` in ``G(z) / (1 - z)`` on a circle inside the unit circle, ``P(N > s)`` that in ``G(z) / (z -
1)`` on one outside. The trapezoidal rule on a circle through the saddle point, or a little to the side of 1, is exact
but for an aliasing error below 1e-15 of the result (Flajolet and Sedgewick, Analytic Combinatorics, section VIII; the
tilting is that of Chernoff's bound).
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

from relfit.system.hazards import NodeHazards, in_threads

__all__ = ["counted"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


_SPENT = 1e9  # cumulative hazard beyond which log reliabilities are those of the longest lives


def counted(
    spent: FloatArray,
    rates: FloatArray,
    offsets: IntArray,
    allowed: int,
    x: FloatArray,
    racks: NodeHazards | None,
    rack_of: IntArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Log of ``P(N <= allowed)`` for each set and time, and the failure rate of the whole.

    Parameters
    ----------
    spent, rates : ndarray, shape (members, m)
        Further cumulative hazards, and failure rates (or none) of the members of all sets.
    offsets : ndarray of int, shape (sets + 1,)
    allowed : int
    x : ndarray, shape (sets, m) or (1, m)
        Hours.
    racks, rack_of : optional
        Lives of racks, and the rack of each member.
    """
    sets, points = offsets.size - 1, spent.shape[1]
    if racks is None or rack_of is None:
        # every set is one rack that never fails
        order = np.arange(spent.shape[0])
        block_offsets, set_blocks = offsets, np.arange(sets + 1, dtype=np.int64)
        block_spent, block_rate = np.zeros((sets, points)), np.zeros((sets, points))
    else:
        of_set = np.repeat(np.arange(sets), np.diff(offsets))
        order = np.lexsort((rack_of, of_set))
        a, b = of_set[order], rack_of[order]
        new = np.ones(a.size, dtype=np.bool_)
        new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
        begin = np.flatnonzero(new)
        block_offsets = np.append(begin, a.size).astype(np.int64)
        set_blocks = np.searchsorted(a[begin], np.arange(sets + 1)).astype(np.int64)
        times = x if x.shape[0] == 1 else x[a[begin]]
        block_spent, block_rate = racks.spent(times, b[begin]), racks.rate(times, b[begin])
    some, rate = spent[order], rates[order] if rates.shape[0] else rates
    log_alive, density = np.empty((sets, points)), np.empty((sets, points))
    weight = 60 * int(np.diff(offsets).max(initial=1))
    in_threads(
        sets * points,
        weight,
        lambda a, b: _counted(
            some, rate, block_offsets, set_blocks, block_spent, block_rate, allowed, log_alive, density, a, b
        ),
    )
    return log_alive, density


@numba.njit(cache=True, nogil=True)
def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@numba.njit(cache=True, nogil=True)
def _expit(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else math.exp(x)


@numba.njit(cache=True, nogil=True)
def _log_expm1(h: float) -> float:
    if h <= 0.0:
        return -np.inf
    return h + math.log(-math.expm1(-h))


@numba.njit(cache=True, nogil=True)
def _tilt(
    h: np.ndarray, odds: np.ndarray, blocks: np.ndarray, block_h: np.ndarray, first: int, last: int, t: float,
    share: np.ndarray, down: np.ndarray,
) -> tuple[float, float, float]:  # fmt: skip
    """Log of G(e^t) and its first two derivatives by t; the tilted probabilities of nodes and racks to have failed."""
    value, mean, variance = 0.0, 0.0, 0.0
    for block in range(first, last):
        own, m, v = 0.0, 0.0, 0.0
        for i in range(blocks[block], blocks[block + 1]):
            p = _expit(t + odds[i])
            share[i] = p
            own += _softplus(t + odds[i]) - h[i]
            m += p
            v += p * (1.0 - p)
        down[block] = 0.0
        if block_h[block] > 0.0:
            size = blocks[block + 1] - blocks[block]
            up, low = own - block_h[block], math.log(-math.expm1(-block_h[block])) + size * t
            w = _expit(low - up)
            both = (1.0 - w) * m + w * size
            v = (1.0 - w) * (v + (m - both) ** 2) + w * (size - both) ** 2
            own = up + _softplus(low - up)
            m, down[block] = both, w
        value += own
        mean += m
        variance += v
    return value, mean, variance


@numba.njit(cache=True, nogil=True)
def _counted(
    spent: np.ndarray, rate: np.ndarray, blocks: np.ndarray, set_blocks: np.ndarray, block_spent: np.ndarray,
    block_rate: np.ndarray, allowed: int, log_alive: np.ndarray, density: np.ndarray, first: int, last: int,
) -> None:  # fmt: skip
    points = spent.shape[1]
    slopes = rate.shape[0] > 0
    for cell in range(first, last):
        row, j = cell // points, cell % points
        low, high = set_blocks[row], set_blocks[row + 1]
        begin, end = blocks[low], blocks[high]
        count = end - begin
        if count <= allowed:
            log_alive[row, j], density[row, j] = 0.0, 0.0
            continue
        h, odds, share = np.empty(end), np.empty(end), np.empty(end)
        most = 0.0
        for i in range(begin, end):
            h[i] = spent[i, j]
            odds[i] = _log_expm1(h[i])
            most = max(most, h[i])
        block_h, down = np.zeros(high), np.zeros(high)
        racks = False
        for block in range(low, high):
            block_h[block] = block_spent[block, j]
            racks = racks or block_h[block] > 0.0
            most = max(most, block_h[block])
        if most > _SPENT:
            # so late that only the nodes that last longest count
            order = np.argsort(h[begin:end])
            total, lost = 0.0, 0.0
            for i in range(count - allowed):
                total += h[begin + order[i]]
                if slopes:
                    lost += rate[begin + order[i], j]
            if total > _SPENT:
                log_alive[row, j], density[row, j] = -total, lost
                continue
            for i in range(begin, end):
                h[i] = min(h[i], _SPENT)
                odds[i] = _log_expm1(h[i])
            for block in range(low, high):
                block_h[block] = min(block_h[block], _SPENT)
            most = _SPENT
        # the saddle point of P(N = allowed + 1/2)
        goal = allowed + 0.5
        value, mean, v = _tilt(h, odds, blocks, block_h, low, high, 0.0, share, down)
        if mean <= 0.0:
            log_alive[row, j], density[row, j] = 0.0, 0.0
            continue
        inside = mean > goal
        left, right = (-most - 800.0, 0.0) if inside else (0.0, 800.0)
        t, m = 0.0, mean
        for _ in range(200):
            if m > goal:
                right = t
            else:
                left = t
            new = t + (goal - m) / v if v > 0.0 else right + 1.0
            if not (new > left and new < right):
                new = 0.5 * (left + right)
            moved = abs(new - t)
            t = new
            value, m, v = _tilt(h, odds, blocks, block_h, low, high, t, share, down)
            if moved < 1e-3 or abs(m - goal) < 1e-3:
                break
        away = 2.0 / max(math.sqrt(v), 1.0)
        if abs(t) < away:
            t = -away if inside else away
            value, m, v = _tilt(h, odds, blocks, block_h, low, high, t, share, down)
        spread = math.sqrt(v)
        steps = math.ceil(max(14.0 * spread + 24.0, 38.0 / abs(t)))
        if racks:
            # two humps may stand far apart
            steps = max(steps, min(2 * count + 2, math.ceil(20.0 * spread + 38.0 / abs(t)) + count))
        r = math.exp(max(t, -740.0))
        total, slope = 0.0, 0.0
        for k in range(steps // 2 + 1):
            angle = 2.0 * math.pi * k / steps
            if not racks and v * (1.0 - math.cos(angle)) > 45.0:
                break
            turn = complex(math.cos(angle), math.sin(angle))
            z = r * turn
            log_size, unit, growth = 0.0, complex(1.0, 0.0), complex(0.0, 0.0)
            for block in range(low, high):
                own, own_log, sum_rate = complex(1.0, 0.0), 0.0, complex(0.0, 0.0)
                for i in range(blocks[block], blocks[block + 1]):
                    factor = 1.0 - share[i] + share[i] * turn
                    own *= factor
                    if (i & 15) == 15:
                        size = abs(own)
                        if size > 0.0:
                            own_log += math.log(size)
                            own /= size
                    if slopes:
                        sum_rate += rate[i, j] * (1.0 - share[i]) / factor
                if block_h[block] > 0.0:
                    number = blocks[block + 1] - blocks[block]
                    jump = complex(math.cos(number * angle), math.sin(number * angle))
                    stays = (1.0 - down[block]) * own * math.exp(own_log)
                    whole = stays + down[block] * jump
                    if slopes:
                        # S z^n beside (1 - S) z^n: divide by the odds of an event
                        beside = math.exp(-_log_expm1(block_h[block])) * down[block] * jump
                        lost = block_rate[block, j] * (stays - beside) / (1.0 - z)
                        growth += (stays * sum_rate + lost) / whole
                    own, own_log = whole, 0.0
                elif slopes:
                    growth += sum_rate
                size = abs(own)
                if size > 0.0:
                    own_log += math.log(size)
                    own /= size
                log_size += own_log
                unit *= own
            turned = unit * complex(math.cos(allowed * angle), -math.sin(allowed * angle))
            turned *= math.exp(log_size)
            weight = 1.0 if k == 0 or 2 * k == steps else 2.0
            kernel = turned / (1.0 - z) if inside else turned / (z - 1.0)
            total += weight * kernel.real
            if slopes:
                slope += weight * (turned * growth).real
        scale = value - allowed * t - math.log(steps)
        if inside:
            log_alive[row, j] = math.log(total) + scale if total > 0.0 else -np.inf
            density[row, j] = slope / total if total > 0.0 else np.nan
        else:
            over = math.exp(scale) * total
            log_alive[row, j] = math.log1p(-over) if over < 1.0 else -np.inf
            density[row, j] = math.exp(scale) * slope / (1.0 - over)
