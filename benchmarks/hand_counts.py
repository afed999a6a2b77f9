"""What a person would count by hand, and how well a prediction did: plain NumPy and pandas, nothing of relfit's."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

__all__ = ["LENGTH", "SIZES", "Outages", "area_under_curve", "counted_limits", "geometric_mean", "score", "within"]

SIZES, LENGTH = (1, 16, 64), 24.0  # nodes and hours of a job
STARTS, FEWEST = 8000, 400  # jobs that are started to count a share; fewest that find all of their nodes up
DAY = pd.Timedelta(days=1)
_APART = 1e7  # hours: more than any log lasts, so that nodes can lie behind each other on one axis


def score(low: float, high: float, value: float, level: float = 0.9) -> float:
    """Interval score: the width, and 2 / (1 - level) times the distance by which the value lies outside."""
    return high - low + 2.0 / (1.0 - level) * max(low - value, value - high, 0.0)


def within(starts: pd.Series, since: pd.Timestamp, until: pd.Timestamp) -> int:
    return int(((starts >= since) & (starts < until)).sum())


def counted_limits(
    starts: pd.Series, begin: pd.Timestamp, origin: pd.Timestamp, days: int, windows: int, level: float = 0.9
) -> tuple[float, float, float]:
    """Mean and central quantiles of a negative binomial with mean and variance of the last windows of so many days.

    Poisson where the variance is not above the mean, and fewer windows where the log is not that old.
    """
    windows = min(windows, (origin - begin) // (days * DAY))
    counts = [within(starts, origin - (i + 1) * days * DAY, origin - i * days * DAY) for i in range(windows)]
    mean, variance = float(np.mean(counts)), float(np.var(counts, ddof=1)) if windows > 1 else 0.0
    low, high = _quantiles(mean, variance, 0.5 - level / 2.0, 0.5 + level / 2.0)
    return mean, low, high


def _quantiles(mean: float, variance: float, *shares: float) -> list[float]:
    if mean == 0.0:
        return [0.0 for _ in shares]
    k = np.arange(math.ceil(mean + 30.0 * math.sqrt(max(variance, mean)) + 30.0))
    if variance > mean:
        size = mean**2 / (variance - mean)
        steps = np.log((k + size) / (k + 1.0) * (mean / (mean + size)))
        first = size * math.log(size / (mean + size))
    else:
        steps, first = np.log(mean / (k + 1.0)), -mean
    below = np.cumsum(np.exp(first + np.append(0.0, np.cumsum(steps))))
    return [float(np.searchsorted(below, share)) for share in shares]


class Outages:
    """Outages of nodes that jobs are placed on.

    `table` has node, start and end; one without an end lasted for a minute. `nodes` has node and entered (empty: from
    the first), in the order in which jobs are packed.
    """

    def __init__(self, table: pd.DataFrame, nodes: pd.DataFrame, zero: pd.Timestamp) -> None:
        self.zero = zero
        self.entered = self._hours(nodes["entered"].fillna(zero))
        number = pd.Index(nodes["node"]).get_indexer(table["node"])
        start = self._hours(table["start"])
        end = self._hours(table["end"].fillna(table["start"] + pd.Timedelta(minutes=1)))
        order = np.lexsort((start, number))
        order = order[number[order] >= 0]
        key, end = (number * _APART + start)[order], (number * _APART + end)[order]
        latest = np.maximum.accumulate(end) if end.size else end
        first = np.append(True, key[1:] > latest[:-1])[: key.size]
        self.start = np.append(key[first], np.inf)
        self.end = np.append(-np.inf, latest[np.append(first[1:], True)[: key.size]])

    def _hours(self, times: pd.Series) -> np.ndarray:
        return ((times - self.zero) / pd.Timedelta(hours=1)).to_numpy(dtype=float)

    def ran_through(self, since: pd.Timestamp, until: pd.Timestamp, size: int, rng: np.random.Generator) -> float:
        """Share of the jobs that no failure of one of their nodes meets in 24 hours.

        They start at random instants on consecutive nodes of those that entered before `since`, all up then, and end
        before `until`.
        """
        first, last = ((t - self.zero) / pd.Timedelta(hours=1) for t in (since, until))
        there = np.flatnonzero(self.entered <= first)
        if there.size < size:
            return math.nan
        ran: list[np.ndarray] = []
        for _ in range(10):
            at = rng.uniform(first, last - LENGTH, STARTS)[:, None]
            begin = rng.integers(0, there.size - size + 1, STARTS)[:, None]
            key = there[begin + np.arange(size)] * _APART + at
            following = np.searchsorted(self.start, key, side="right")
            up = (self.end[following] <= key).all(axis=1)
            ran.append((self.start[following] > key + LENGTH).all(axis=1)[up])
            if sum(part.size for part in ran) >= STARTS:
                break
        share = np.concatenate(ran)[:STARTS]
        return float(share.mean()) if share.size >= FEWEST else math.nan


def area_under_curve(rank_by: np.ndarray, failed: np.ndarray) -> float:
    """Probability that a node that failed ranks above one that did not, ties half."""
    yes = int(failed.sum())
    if yes in (0, failed.size):
        return math.nan
    ranks = pd.Series(rank_by).rank().to_numpy()
    return float((ranks[failed].sum() - yes * (yes + 1) / 2.0) / (yes * (failed.size - yes)))


def geometric_mean(values: pd.Series) -> float:
    values = values[np.isfinite(values) & (values > 0.0)]
    return float(np.exp(np.log(values).mean())) if len(values) else math.nan
