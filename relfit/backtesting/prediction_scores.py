"""Scores of predictions, simple counts to compare with, and limits from resampled blocks of time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.backtesting.origins import NodeNumbers
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.fleet.prediction import Prediction

WINDOWS = (6, 3)
"""Numbers of windows before the origin, each as long as the horizon, of the two counts."""
_POINTS = 150  # at which a distribution is evaluated, at most
_FAR = 7.0  # standard deviations beyond the mean that are evaluated


def interval_score(low: float, high: float, seen: float, level: float) -> float:
    """Width of an interval, plus 2 / (1 - level) times how far it misses the outcome (Gneiting and Raftery 2007)."""
    return high - low + 2.0 / (1.0 - level) * max(low - seen, seen - high, 0.0)


def continuous_ranked(mixture: Prediction, seen: float) -> float:
    """Continuous ranked probability score: the integrated squared distance of the cdf to that of the outcome."""
    square = float(mixture.weight @ (mixture.variance + mixture.mean**2))
    most = max(mixture.expected + _FAR * np.sqrt(square - mixture.expected**2), seen) + 3.0
    step = max(np.ceil(most / _POINTS), 1.0)
    k = np.arange(0.0, most + step, step)
    ends = np.append(0.0, mixture.cdf(k + step - 1.0))
    below = ends[:-1] + (0.5 + 0.5 / step) * np.diff(ends)  # mean over the step, in which it rises evenly
    # a step that contains the outcome is divided at it
    after = np.clip(k + step - seen, 0.0, step)
    return float((below**2 * (step - after) + (1.0 - below) ** 2 * after).sum())


def counted(
    at: IntArray, begin: int, origin: int, horizon: int, windows: int, nodes: NodeNumbers | None = None
) -> tuple[float, float]:
    """Mean and variance of the counts in the last windows before an origin; all times have one unit.

    Before the first complete window the mean is scaled from all of the past, and the variance equals it. Where the
    number of nodes changed, each count is scaled to those at the origin.
    """
    number = min(windows, (origin - begin) // horizon)
    if number < 1:
        before = np.searchsorted(at, origin, side="left") - np.searchsorted(at, begin, side="left")
        scale = np.ones(1) if nodes is None or origin <= begin else nodes.scales(np.array([begin, origin]))
        mean = float(before) * horizon / max(origin - begin, 1) * float(scale[0])
        return mean, mean
    edges = origin - horizon * np.arange(number, -1, -1)
    counts = np.diff(np.searchsorted(at, edges, side="left"))
    if nodes is not None:
        scaled = counts * nodes.scales(edges)
        counts = scaled[np.isfinite(scaled)]
    return float(counts.mean()), float(counts.var(ddof=1)) if counts.size > 1 else float(counts.mean())


def area_under_curve(rank_by: FloatArray, failed: BoolArray) -> float:
    """Probability that a node that failed ranks above one that did not; ties count half."""
    yes = int(failed.sum())
    if yes in (0, failed.size):
        return float("nan")
    ranks = pd.Series(rank_by).rank().to_numpy()
    return float((ranks[failed].sum() - yes * (yes + 1) / 2.0) / (yes * (failed.size - yes)))


def first_share(rank_by: FloatArray, number: FloatArray, share: float) -> float:
    """Share of a total on the nodes ranked first; nodes tied at the border count in part."""
    places = max(round(share * rank_by.size), 1)
    border = np.sort(rank_by)[-places]
    above, tied = rank_by > border, rank_by == border
    took = number[above].sum() + number[tied].sum() * (places - above.sum()) / tied.sum()
    return float(took / number.sum()) if number.sum() > 0 else float("nan")


def resampled(origins: int, block: int, size: int, rng: np.random.Generator) -> FloatArray:
    """How often each origin is drawn in resampled blocks of neighbours, shape (size, origins); blocks wrap around."""
    block = min(max(block, 1), origins)
    number = -(-origins // block)
    first = rng.integers(0, origins, (size, number))
    drawn = ((first[:, :, None] + np.arange(block)) % origins).reshape(size, -1)[:, :origins]
    weights = np.zeros((size, origins))
    np.add.at(weights, (np.arange(size)[:, None], drawn), 1.0)
    return weights


def share_limits(share: float, size: float, level: float) -> tuple[float, float]:
    """Confidence interval of a share among `size` independent observations (Clopper and Pearson 1934)."""
    yes, tail = share * size, 0.5 - level / 2.0
    low = float(special.betaincinv(yes, size - yes + 1.0, tail)) if yes > 0.0 else 0.0
    return low, float(special.betaincinv(yes + 1.0, size - yes, 1.0 - tail)) if yes < size else 1.0
