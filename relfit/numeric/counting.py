"""Compiled counting sort."""

from __future__ import annotations

import numpy as np

from relfit.numeric.compiled import njit

__all__ = ["counting_order"]


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
