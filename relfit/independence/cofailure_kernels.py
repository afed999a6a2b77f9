"""Compiled loops that count and list failures close to each other in time."""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["count_within", "list_within"]


@numba.njit(cache=True, nogil=True)
def count_within(times: np.ndarray, offsets: np.ndarray, window: int, out: np.ndarray) -> None:
    """How many pairs of times of each group are at most `window` apart; times rise within a group."""
    for group in range(offsets.size - 1):
        begin, end = offsets[group], offsets[group + 1]
        reach = begin
        total = 0
        for i in range(begin, end):
            if reach < i:
                reach = i
            while reach + 1 < end and times[reach + 1] - times[i] <= window:
                reach += 1
            total += reach - i
        out[group] = total


@numba.njit(cache=True, nogil=True)
def list_within(times: np.ndarray, nodes: np.ndarray, offsets: np.ndarray, window: int, out: np.ndarray) -> int:
    """Write ``smaller * 2**31 + larger`` number of the nodes of each such pair on two nodes; how many there are."""
    found = 0
    for group in range(offsets.size - 1):
        begin, end = offsets[group], offsets[group + 1]
        for i in range(begin, end):
            j = i + 1
            while j < end and times[j] - times[i] <= window:
                a, b = nodes[i], nodes[j]
                if a != b:
                    out[found] = (min(a, b) << 31) + max(a, b)
                    found += 1
                j += 1
    return found
