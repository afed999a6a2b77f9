"""Compiled counting sorts, the order of a few values, and sums in order."""

from __future__ import annotations

import numpy as np

from relfit.base.numeric.compiled import njit

_MANY = 64  # values from which numba's sort is faster


@njit(cache=True, nogil=True)
def counting_order(code: np.ndarray, before: np.ndarray, groups: int, out: np.ndarray) -> None:
    """Write the positions `before`, sorted by their code (-1 to ``groups - 2``) and else in the order given."""
    place = np.zeros(groups + 1, dtype=np.int64)
    for i in range(code.size):
        place[code[i] + 2] += 1
    for g in range(groups):
        place[g + 1] += place[g]
    for i in range(before.size):
        row = before[i]
        g = code[row] + 1
        out[place[g]] = row
        place[g] += 1


@njit(cache=True, nogil=True)
def sort_within(values: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Write whole numbers in rising order within each ``offsets[j]:offsets[j + 1]``: in as many classes, then in each.

    Of instants spread over a time of observation, most classes have one or none; what is left is Shell's sort.
    """
    for group in range(offsets.size - 1):
        begin, size = offsets[group], offsets[group + 1] - offsets[group]
        if size == 0:
            continue
        lowest = values[begin]
        highest = lowest
        for i in range(begin, begin + size):
            lowest, highest = min(lowest, values[i]), max(highest, values[i])
        scale = (size - 1) / max(float(highest - lowest), 1.0)
        place = np.zeros(size + 1, dtype=np.int64)
        for i in range(begin, begin + size):
            place[int((values[i] - lowest) * scale) + 1] += 1
        for i in range(size):
            place[i + 1] += place[i]
        for i in range(begin, begin + size):
            k = int((values[i] - lowest) * scale)
            out[begin + place[k]] = values[i]
            place[k] += 1
        first = begin
        for k in range(size):
            last = begin + place[k]
            gap = last - first
            while gap > 1:
                gap = (5 * gap - 1) // 11 if gap > 4 else 1
                for i in range(first + gap, last):
                    value = out[i]
                    j = i - gap
                    while j >= first and out[j] > value:
                        out[j + gap] = out[j]
                        j -= gap
                    out[j + gap] = value
            first = last


@njit(cache=True, nogil=True)
def rising(values: np.ndarray) -> np.ndarray:
    """Positions that sort the values: by insertion where they are few, as in most groups."""
    if values.size > _MANY:
        return np.argsort(values)
    order = np.empty(values.size, dtype=np.int64)
    for i in range(values.size):
        j = i
        while j > 0 and values[order[j - 1]] > values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    return order


@njit(cache=True, nogil=True)
def sum_within(values: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Write the sum of each ``offsets[j]:offsets[j + 1]``, its values added in turn, as `numpy.bincount` does."""
    for group in range(offsets.size - 1):
        total = 0.0
        for i in range(offsets[group], offsets[group + 1]):
            total += values[i]
        out[group] = total
