"""Coefficients of all pairs of series as matrix products, one product for each common length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.log.lifedata import LifeData

_CHUNK = 40_000_000  # signs of pairs of values that Kendall's coefficient holds at a time


@dataclass(frozen=True, eq=False)
class PreparedSeries:
    """Series of at least three values by falling length, as rows padded with NaN."""

    values: FloatArray
    lengths: IntArray
    node: IntArray  # their positions among all groups
    constant: npt.NDArray[np.bool_]  # values are all equal
    tied: bool

    def blocks(self) -> Iterator[tuple[int, int, int, slice]]:
        """Each length, the rows ``first`` to ``last`` that have it, and their pairs with all rows before them."""
        cuts = np.flatnonzero(np.diff(self.lengths, append=-1)) + 1
        first = 0
        for last in cuts.tolist():
            yield int(self.lengths[first]), first, last, slice(first * (first - 1) // 2, last * (last - 1) // 2)
            first = last

    def turned(self, rng: np.random.Generator) -> PreparedSeries:
        """Each series rotated to a random start: its values keep their order."""
        column = np.arange(self.values.shape[1]) + rng.integers(0, self.lengths)[:, None]
        column = np.where(np.isnan(self.values), np.arange(self.values.shape[1]), column % self.lengths[:, None])
        return replace(self, values=np.take_along_axis(self.values, column, axis=1))


def prepare(series: LifeData, most: int | None) -> PreparedSeries:
    """The `series` that have three values or more, at most the first `most` of each."""
    sizes = series.sizes if most is None else np.minimum(series.sizes, most)
    node = np.flatnonzero(sizes >= 3)
    node = node[np.argsort(-sizes[node], kind="stable")]
    lengths = sizes[node].astype(np.int64)
    column = np.arange(int(lengths.max(initial=0)))
    inside = column < lengths[:, None]
    values = np.full(inside.shape, np.nan)
    values[inside] = series.durations[(series.offsets[node][:, None] + column)[inside]]
    ordered = np.sort(values, axis=1)
    constant = (np.where(inside, values, values[:, :1]) == values[:, :1]).all(axis=1)
    tied = bool((ordered[:, 1:] == ordered[:, :-1]).any())
    return PreparedSeries(values, lengths, node, constant, tied)


def coefficients(series: PreparedSeries, method: str) -> FloatArray:
    """Coefficients of all pairs, row by row below the diagonal; NaN where a series is constant on the common length."""
    count = series.lengths.size
    out = np.full(count * (count - 1) // 2, np.nan)
    product = {"kendall": _kendall, "spearman": _spearman, "pearson": _pearson}[method]
    for length, first, last, pairs in series.blocks():
        below = np.arange(last) < np.arange(first, last)[:, None]
        out[pairs] = product(series.values[:last, :length], first)[below]
    return out


def _pearson(values: FloatArray, first: int) -> FloatArray:
    """Pearson's coefficients of the rows from `first` on with all rows."""
    top = values.max(axis=1)
    constant = top == values.min(axis=1)
    scaled = values / np.maximum(top[:, None], 1e-300)
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    norm[constant | (norm == 0.0)] = np.nan
    centred /= norm[:, None]
    return np.clip(centred[first:] @ centred.T, -1.0, 1.0)


def _spearman(values: FloatArray, first: int) -> FloatArray:
    """Pearson's coefficients of the ranks, equal values sharing their mean rank."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    tied = ordered[:, 1:] == ordered[:, :-1]
    place = np.broadcast_to(np.arange(1.0, values.shape[1] + 1.0), values.shape)
    if tied.any():
        lowest, highest = place.copy(), place.copy()
        lowest[:, 1:][tied] = highest[:, :-1][tied] = np.nan
        place = 0.5 * (np.fmax.accumulate(lowest, axis=1) + np.fmin.accumulate(highest[:, ::-1], axis=1)[:, ::-1])
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, place, axis=1)
    return _pearson(ranks, first)


def _kendall(values: FloatArray, first: int) -> FloatArray:
    """Kendall's tau-b of the rows from `first` on with all rows."""
    rows, length = values.shape
    total = np.zeros((rows - first, rows))
    untied = np.zeros(rows)
    lags = max(_CHUNK // max(rows * length, 1), 1)
    for start in range(1, length, lags):
        steps = range(start, min(start + lags, length))
        signs = np.concatenate(
            [np.sign(values[:, step:] - values[:, : length - step]).astype(np.float32) for step in steps], axis=1
        )
        total += signs[first:] @ signs.T
        untied += np.einsum("ij,ij->i", signs, signs)
    untied[untied == 0.0] = np.nan
    return np.clip(total / np.sqrt(untied[first:, None] * untied), -1.0, 1.0)
