"""Compiled counting sorts and sums in order."""

from __future__ import annotations

import numpy as np

from relfit.base.numeric.compiled import njit

_MANY = 30  # values of a class from which Shell's sort is faster than insertion


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
    """Write whole numbers in rising order within each ``offsets[j]:offsets[j + 1]``: classes, then Shell's sort."""
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
    """Positions that sort the values: in as many classes, then by insertion; by Shell's sort where a class has many."""
    size = values.size
    order, place = np.empty(size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    lowest, highest = np.inf, -np.inf
    for i in range(size):
        lowest, highest = min(lowest, values[i]), max(highest, values[i])
    scale = (size - 1) / (highest - lowest) if highest > lowest else 0.0
    for i in range(size):
        place[int((values[i] - lowest) * scale) + 1] += 1
    largest = 0
    for i in range(size):
        largest = max(largest, place[i + 1])
        place[i + 1] += place[i]
    for i in range(size):
        k = int((values[i] - lowest) * scale)
        order[place[k]] = i
        place[k] += 1
    gap = size if largest > _MANY else 2
    while gap > 1:
        gap = (5 * gap - 1) // 11 if gap > 4 else 1
        for i in range(gap, size):
            row, j = order[i], i - gap
            while j >= 0 and values[order[j]] > values[row]:
                order[j + gap] = order[j]
                j -= gap
            order[j + gap] = row
    return order


@njit(cache=True, nogil=True)
def sum_within(values: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Write the sum of each ``offsets[j]:offsets[j + 1]``, its values added in turn, as `numpy.bincount` does."""
    for group in range(offsets.size - 1):
        total = 0.0
        for i in range(offsets[group], offsets[group + 1]):
            total += values[i]
        out[group] = total
