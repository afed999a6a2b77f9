"""Coefficients of all pairs of series as matrix products, one product for each common length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from relfit.lifedata import LifeData

__all__ = ["PreparedSeries", "average_ranks", "coefficients", "prepare"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_CHUNK = 40_000_000  # signs of pairs of values that Kendall's coefficient holds at a time


@dataclass(frozen=True, eq=False)
class PreparedSeries:
    """Series of at least three values by falling length, as rows padded with NaN.

    ``node`` are their positions among all groups, ``constant`` tells series whose values are all equal.
    """

    values: FloatArray
    lengths: IntArray
    node: IntArray
    constant: npt.NDArray[np.bool_]
    tied: bool

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """Each length with the rows ``first`` to ``last`` that have it; longer series stand before them."""
        if self.lengths.size == 0:
            return
        cuts = np.flatnonzero(np.diff(self.lengths)) + 1
        firsts = np.concatenate([[0], cuts]).tolist()
        lasts = np.append(cuts, self.lengths.size).tolist()
        for first, last in zip(firsts, lasts, strict=True):
            yield int(self.lengths[first]), first, last

    def shuffled(self, rng: np.random.Generator) -> PreparedSeries:
        """Each series in random order."""
        keys = rng.random(self.values.shape, dtype=np.float32)
        keys[np.isnan(self.values)] = 2.0
        return replace(self, values=np.take_along_axis(self.values, np.argsort(keys, axis=1), axis=1))


def prepare(lives: LifeData, most: int | None) -> PreparedSeries:
    """The series of `lives` that have three values or more, at most the first `most` of each."""
    sizes = lives.sizes if most is None else np.minimum(lives.sizes, most)
    node = np.flatnonzero(sizes >= 3)
    node = node[np.argsort(-sizes[node], kind="stable")]
    lengths = sizes[node].astype(np.int64)
    width = int(lengths[0]) if lengths.size else 0
    values = np.full((node.size, width), np.nan)
    column = np.arange(width)
    inside = column < lengths[:, None]
    values[inside] = lives.durations[(lives.offsets[node][:, None] + column)[inside]]
    ordered = np.sort(values, axis=1)
    constant = ordered[:, 0] == np.take_along_axis(ordered, lengths[:, None] - 1, axis=1)[:, 0] if node.size else []
    tied = bool((ordered[:, 1:] == ordered[:, :-1]).any())
    return PreparedSeries(values, lengths, node, np.asarray(constant, dtype=np.bool_), tied)


def average_ranks(values: FloatArray) -> FloatArray:
    """Ranks 1..m in each row, equal values sharing their mean rank.

    Examples
    --------
    >>> average_ranks(np.array([[3.0, 1.0, 3.0]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    places = np.broadcast_to(np.arange(values.shape[1], dtype=np.float64), values.shape)
    new = np.ones(values.shape, dtype=np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ranks = np.empty_like(values)
    if new.all():
        np.put_along_axis(ranks, order, places + 1.0, axis=1)
        return ranks
    first = np.maximum.accumulate(np.where(new, places, 0.0), axis=1)
    ends = np.ones(values.shape, dtype=np.bool_)
    ends[:, :-1] = new[:, 1:]
    last = np.minimum.accumulate(np.where(ends, places, np.inf)[:, ::-1], axis=1)[:, ::-1]
    np.put_along_axis(ranks, order, (first + last) / 2.0 + 1.0, axis=1)
    return ranks


def coefficients(series: PreparedSeries, method: str) -> FloatArray:
    """Coefficients of all pairs, row by row below the diagonal; NaN where a series is constant on the common length."""
    count = series.lengths.size
    out = np.full(count * (count - 1) // 2, np.nan)
    for length, first, last in series.blocks():
        part = series.values[:last, :length]
        block = _kendall(part, first) if method == "kendall" else _products(part, first, method)
        below = np.arange(last) < np.arange(first, last)[:, None]
        out[first * (first - 1) // 2 if first else 0 : last * (last - 1) // 2] = block[below]
    return out


def _products(values: FloatArray, first: int, method: str) -> FloatArray:
    """Pearson's coefficients of the rows from `first` on with all rows, of values or of their ranks."""
    level = average_ranks(values) if method == "spearman" else values / np.maximum(values.max(axis=1)[:, None], 1e-300)
    flat = values.max(axis=1) == values.min(axis=1)
    centred = level - level.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    norm[flat | (norm == 0.0)] = np.nan
    centred /= norm[:, None]
    return np.clip(centred[first:] @ centred.T, -1.0, 1.0)


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
