"""Ragged arrays: the rows of groups in flat arrays; group ``j`` owns ``offsets[j]:offsets[j + 1]``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import FloatArray, IntArray


class Ragged:
    """Base of data classes with a field `offsets` and flat arrays of rows."""

    offsets: IntArray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.offsets.size - 1)

    @property
    def sizes(self) -> IntArray:
        """Rows of each group, shape (groups,)."""
        return np.diff(self.offsets)

    def group_codes(self) -> IntArray:
        """Number of the group of each row, shape (n,)."""
        return np.repeat(np.arange(self.n_groups, dtype=np.int64), self.sizes)

    def part(self, position: int) -> slice:
        """Rows of the group at `position`."""
        return slice(int(self.offsets[position]), int(self.offsets[position + 1]))

    def rows_of(self, positions: IntArray) -> IntArray:
        """Rows of the groups at these positions, group after group."""
        return rows_of(self.offsets, positions)


def offsets_of(sizes: npt.ArrayLike) -> IntArray:
    """Where each group of so many rows begins, and the end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def rows_of(offsets: IntArray, positions: IntArray) -> IntArray:
    """Rows of the groups at these positions, group after group."""
    begins, sizes = offsets[:-1][positions], np.diff(offsets)[positions]
    ends = np.cumsum(sizes)
    return np.arange(sizes.sum()) + np.repeat(begins - ends + sizes, sizes)


def cumulative(values: FloatArray, codes: IntArray, product: bool = False) -> FloatArray:
    """Running sum (or product) within each group; a group's result does not depend on its neighbours."""
    groups: Any = pd.Series(values).groupby(codes, sort=False)
    return np.asarray(groups.cumprod() if product else groups.cumsum(), dtype=np.float64)


def per_group(values: npt.ArrayLike, codes: IntArray, size: int) -> FloatArray:
    """Sum of the values of each of `size` groups."""
    return np.bincount(codes, np.asarray(values, dtype=np.float64), minlength=size).astype(np.float64)


def sums(values: npt.NDArray[np.number | np.bool_], offsets: IntArray) -> FloatArray:
    """Sum of the values of each group along the last axis: `per_group` of values sorted by group, ten times faster."""
    out = np.zeros((*values.shape[:-1], offsets.size - 1))
    there = np.flatnonzero(offsets[1:] > offsets[:-1])
    if there.size:
        out[..., there] = np.add.reduceat(values, offsets[there], axis=-1, dtype=np.float64)
    return out


def places(times: FloatArray, offsets: IntArray, wanted: FloatArray, below: bool = False) -> IntArray:
    """Number of entries at or below (`below`: only below) each time, (groups, m); times rise within each group."""
    groups = np.arange(offsets.size - 1)
    levels = np.unique(times)
    width = levels.size + 1
    keys = np.repeat(groups, np.diff(offsets)) * width + np.searchsorted(levels, times)
    rank = np.searchsorted(levels, wanted, side="left" if below else "right")
    return np.asarray(np.searchsorted(keys, groups[:, None] * width + rank) - offsets[:-1, None], dtype=np.int64)


def first_below(curve: FloatArray, offsets: IntArray, height: float) -> IntArray:
    """Place of the first entry of each group that is at or below `height`; the group's end where there is none."""
    hits = np.append(np.flatnonzero(curve <= height), curve.size)
    return np.minimum(hits[np.searchsorted(hits, offsets[:-1])], offsets[1:])
