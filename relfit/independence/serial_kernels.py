"""Compiled loops of the tests along time: autocorrelations of every series, and their p-values by shuffling.

The p-value is Besag and Clifford's (1991): shuffles are drawn until `enough` of them reach the observed statistic, at
most `most`; it is exact for exchangeable values, whatever their distribution.
"""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["autocorrelation_kernel", "imhof_kernel", "pooled_kernel", "shuffling_kernel"]

_SLACK = 1e-10


@numba.njit(cache=True, nogil=True)
def autocorrelation_kernel(
    values: np.ndarray, offsets: np.ndarray, out: np.ndarray, ends: np.ndarray, first: int, last: int
) -> None:
    """Autocorrelations at lags 1, 2, ... of groups first..last, NaN past their length.

    ``ends`` takes the squares of the first and last deviation over the sum of squares; both are NaN for series that
    do not vary.
    """
    lags = out.shape[1]
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        size = end - begin
        out[group, :] = np.nan
        ends[group] = np.nan
        if size < 2:
            continue
        low = values[begin]
        high = values[begin]
        mean = 0.0
        for i in range(begin, end):
            mean += values[i] / size
            low = min(low, values[i])
            high = max(high, values[i])
        if low == high:
            continue
        total = 0.0
        for i in range(begin, end):
            total += ((values[i] - mean) / high) ** 2
        ends[group] = (((values[begin] - mean) / high) ** 2 + ((values[end - 1] - mean) / high) ** 2) / total
        for lag in range(1, min(lags, size - 1) + 1):
            product = 0.0
            for i in range(begin, end - lag):
                product += ((values[i] - mean) / high) * ((values[i + lag] - mean) / high)
            out[group, lag - 1] = product / total


@numba.njit(cache=True, nogil=True)
def shuffling_kernel(
    values: np.ndarray,
    offsets: np.ndarray,
    lags: np.ndarray,
    seeds: np.ndarray,
    enough: int,
    most: int,
    chosen: np.ndarray,
    p: np.ndarray,
    first: int,
    last: int,
) -> None:
    """P-values of Durbin-Watson (two-sided) and of Ljung-Box by shuffling the groups that are chosen.

    ``p`` has two columns. A group's shuffles depend on its seed alone.
    """
    for group in range(first, last):
        if not chosen[group]:
            continue
        begin, end = offsets[group], offsets[group + 1]
        size = end - begin
        e = values[begin:end].copy()
        e /= e.max()
        e -= e.mean()
        total = 0.0
        for i in range(size):
            total += e[i] * e[i]
        e /= math.sqrt(total)
        state = np.uint64(seeds[group]) | np.uint64(1)
        distance = 0.0
        box = 0.0
        reached_distance = 0
        reached_box = 0
        p_distance = -1.0
        p_box = -1.0
        for draw in range(most + 1):
            # the first pass is the series as it is
            if draw > 0:
                for i in range(size - 1, 0, -1):
                    state ^= state >> np.uint64(12)
                    state ^= state << np.uint64(25)
                    state ^= state >> np.uint64(27)
                    bits = (state * np.uint64(2685821657736338717)) >> np.uint64(11)
                    j = int(float(bits) / 9007199254740992.0 * (i + 1))
                    e[i], e[j] = e[j], e[i]
            product = 0.0
            for i in range(size - 1):
                product += e[i] * e[i + 1]
            now = abs(product + 0.5 * (e[0] * e[0] + e[size - 1] * e[size - 1]))
            statistic = 0.0
            if draw == 0 or p_box < 0.0:
                statistic = product * product / (size - 1)
                for lag in range(2, lags[group] + 1):
                    further = 0.0
                    for i in range(size - lag):
                        further += e[i] * e[i + lag]
                    statistic += further * further / (size - lag)
            if draw == 0:
                distance, box = now, statistic
                continue
            if p_distance < 0.0:
                reached_distance += now >= distance - _SLACK
                if reached_distance == enough:
                    p_distance = enough / draw
            if p_box < 0.0:
                reached_box += statistic >= box * (1.0 - _SLACK)
                if reached_box == enough:
                    p_box = enough / draw
            if p_distance >= 0.0 and p_box >= 0.0:
                break
        p[group, 0] = p_distance if p_distance >= 0.0 else (reached_distance + 1.0) / (most + 1.0)
        p[group, 1] = p_box if p_box >= 0.0 else (reached_box + 1.0) / (most + 1.0)


@numba.njit(cache=True, nogil=True)
def imhof_kernel(statistic: np.ndarray, sizes: np.ndarray, out: np.ndarray, first: int, last: int) -> None:
    """Probability that Durbin-Watson's statistic of independent normal values lies below each `statistic`.

    Imhof's (1961) integral over ``log u``, where the trapezium rule converges exponentially; only a mean was fitted, so
    the weights are ``2 - 2 cos(pi k / n) - d``.
    """
    step = 0.3
    for group in range(first, last):
        size = sizes[group]
        weights = np.empty(size - 1)
        for k in range(1, size):
            weights[k - 1] = 2.0 - 2.0 * math.cos(math.pi * k / size) - statistic[group]
        integral = 0.0
        x = -32.0
        while x < 40.0:
            u = math.exp(x)
            angle = 0.0
            decay = 1.0
            for weight in weights:
                angle += math.atan(weight * u)
                decay *= 1.0 + (weight * u) ** 2
                if decay > 1e120:
                    break
            value = math.sin(0.5 * angle) / math.sqrt(math.sqrt(decay))
            integral += value * step
            if decay > 1e60:
                break
            x += step
        out[group] = min(max(0.5 - integral / math.pi, 0.0), 1.0)


@numba.njit(cache=True, nogil=True)
def pooled_kernel(times: np.ndarray, owner: np.ndarray, nodes: np.ndarray, out: np.ndarray) -> None:
    """Gaps between the failures of the first k nodes, for every k of `nodes`; times rise.

    A row of ``out`` takes the number of gaps and of those that are zero; of the deviations from the mean gap, in mean
    gaps, the sums of squares, of fourth powers and of products of neighbours, the first and the last; and 1 where the
    gaps vary.
    """
    for row in range(nodes.size):
        k = nodes[row]
        size = -1
        first = 0
        final = 0
        for i in range(times.size):
            if owner[i] < k:
                if size < 0:
                    first = times[i]
                final = times[i]
                size += 1
        size = max(size, 0)
        out[row, :] = 0.0
        out[row, 0] = size
        if size == 0 or final == first:
            out[row, 1] = size
            continue
        mean = float(final - first) / size
        seen = -1
        before = first
        deviation = 0.0
        low = final - first
        high = 0
        for i in range(times.size):
            if owner[i] < k:
                seen += 1
                if seen > 0:
                    gap = times[i] - before
                    now = float(gap) / mean - 1.0
                    square = now * now
                    if gap == 0:
                        out[row, 1] += 1.0
                    low = min(low, gap)
                    high = max(high, gap)
                    out[row, 2] += square
                    out[row, 3] += square * square
                    if seen == 1:
                        out[row, 5] = now
                    else:
                        out[row, 4] += now * deviation
                    deviation = now
                before = times[i]
        out[row, 6] = deviation
        out[row, 7] = 1.0 if high > low else 0.0
