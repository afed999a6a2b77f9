"""Predicted probabilities against what happened: calibration by bins, and the Brier score taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import share
from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.results import Result
from relfit.text import percent
from relfit.validation._block_means import effective_sizes, wilson

__all__ = ["CalibrationCurve", "calibration_curve"]


class CalibrationCurve(Result):
    """Shares that came true where about the same probability was predicted; arrays of shape (bins,).

    Attributes
    ----------
    name : str
        What predicted.
    edges : ndarray, shape (bins + 1,)
        Of the predicted probability.
    count : ndarray of int
        Predictions in each bin.
    predicted, observed : ndarray of float
        Mean prediction, and share that came true.
    low, high : ndarray of float
        Limits of the share: Wilson's, with the number of independent predictions that the dependent ones of the bin
        are worth by their variance between blocks of time.
    effective : ndarray of float
        That number.
    level : float
    blocks : int
        Blocks of time; 0 if predictions were taken as independent.
    brier, miscalibration, resolution, uncertainty, within : float
        The Brier score is ``miscalibration - resolution + uncertainty + within`` (Murphy 1973; `within` is what the
        spread of predictions inside bins adds: Stephenson, Coelho and Jolliffe 2008). Lower is better, except for the
        resolution.
    """

    name: str
    edges: FloatArray
    count: IntArray
    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    effective: FloatArray
    level: float
    blocks: int
    brier: float
    miscalibration: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def inside(self) -> BoolArray:
        """Bins whose mean prediction lies within the limits of the share that came true."""
        return (self.predicted >= self.low) & (self.predicted <= self.high)

    @property
    def headline(self) -> str:
        """How well predicted and observed agree."""
        return (
            f"In {int(self.inside.sum())} of {self.count.size} bins the mean prediction of {self.name} lies within the "
            f"{percent(self.level)} limits of the observed share; Brier score {self.brier:.4f}, of which "
            f"miscalibration {self.miscalibration:.4f}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per bin."""
        return pd.DataFrame(
            {
                "from": self.edges[:-1],
                "to": self.edges[1:],
                "count": self.count,
                "predicted": self.predicted,
                "observed": self.observed,
                "low": self.low,
                "high": self.high,
                "effective": self.effective,
            }
        )


def calibration_curve(
    predicted: npt.ArrayLike,
    happened: npt.ArrayLike,
    *,
    blocks: npt.ArrayLike | None = None,
    bins: int | npt.ArrayLike = 10,
    level: float = 0.95,
    name: str = "the model",
) -> CalibrationCurve:
    """Compare predicted probabilities with what happened, bin by bin.

    Parameters
    ----------
    predicted : array_like of float, shape (n,)
        Probabilities.
    happened : array_like of bool, shape (n,)
    blocks : array_like of int, shape (n,), optional
        The block of time that each prediction belongs to; predictions of one block may depend on each other in any way.
        Independent when left out.
    bins : int or array_like of float
        Number of bins with about equal counts (equal predictions stay together), or edges from 0 to 1.
    level : float
        Of the limits.
    name : str
        What predicted, for tables and plots.

    Raises
    ------
    ArgumentError
        For a probability outside 0 to 1, arrays of different lengths, no prediction at all, or edges that do not rise
        or leave predictions out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(4000)
    >>> curve = calibration_curve(p, rng.random(4000) < p, bins=5)
    >>> int(curve.inside.sum()), bool(abs(curve.brier - 1 / 6) < 0.01)
    (4, True)
    """
    p = np.asarray(predicted, dtype=np.float64).ravel()
    y = np.asarray(happened, dtype=np.bool_).ravel()
    if p.shape != y.shape or not p.size:
        raise ArgumentError(f"{p.size} predictions for {y.size} outcomes", remedy="give one outcome for each, and some")
    share("predicted", p)
    share("level", level, zero=False, one=False)
    alike = p.round(10)  # what differs by rounding alone stays together
    edges = _edges(alike, bins)
    place = np.clip(np.searchsorted(edges, alike, side="right") - 1, 0, edges.size - 2)
    kept, place = np.unique(place, return_inverse=True)  # edges of the caller's may leave bins empty
    edges_of = np.append(edges[kept], edges[kept[-1] + 1])
    size = kept.size
    count = np.bincount(place, minlength=size)
    mean_p = np.bincount(place, p, size) / count
    mean_y = np.bincount(place, y, size) / count
    if blocks is None:
        number, effective, degrees = 0, count.astype(np.float64), np.full(size, np.inf)
    else:
        number, effective, degrees = _worth(place, y, np.asarray(blocks).ravel(), size)
    low, high = wilson(mean_y, effective, level, degrees)
    base = float(y.mean())
    brier = float(((p - y) ** 2).mean())
    miscalibration = float((count * (mean_p - mean_y) ** 2).sum() / p.size)
    resolution = float((count * (mean_y - base) ** 2).sum() / p.size)
    uncertainty = base * (1.0 - base)
    return CalibrationCurve(
        name, edges_of, count, mean_p, mean_y, low, high, effective, level, number, brier, miscalibration, resolution,
        uncertainty, brier - miscalibration + resolution - uncertainty,
    )  # fmt: skip


def _edges(p: FloatArray, bins: int | npt.ArrayLike) -> FloatArray:
    if isinstance(bins, (int, np.integer)):
        if bins < 1:
            raise ArgumentError(f"{bins} bins are too few", remedy="use one or more")
        inner = np.unique(np.quantile(p, np.arange(1, int(bins)) / int(bins)))
        inner = inner[(inner > p.min()) & (inner <= p.max())]
        return np.concatenate([[0.0], inner, [1.0]])
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or edges.size < 2 or not (np.diff(edges) > 0.0).all():
        raise ArgumentError("edges of bins must rise", remedy="give edges such as [0, 0.5, 0.9, 1]")
    if edges[0] > p.min() or edges[-1] < p.max():
        raise ArgumentError(f"bins from {edges[0]:g} to {edges[-1]:g} leave predictions out", remedy="span 0 to 1")
    return edges


def _worth(place: IntArray, y: BoolArray, blocks: npt.NDArray[Any], size: int) -> tuple[int, FloatArray, FloatArray]:
    """Independent outcomes that those of each bin are worth, and the degrees of freedom of that estimate."""
    if blocks.shape != y.shape:
        raise ArgumentError(f"{blocks.size} blocks for {y.size} predictions", remedy="give the block of each")
    labels, codes = np.unique(blocks, return_inverse=True)
    cell = codes * size + place
    total = np.bincount(cell, minlength=labels.size * size).reshape(-1, size).astype(np.float64)
    happened: FloatArray = np.bincount(cell, y, labels.size * size).reshape(-1, size).astype(np.float64)
    return labels.size, *effective_sizes(happened, total)
