"""Are counts of failures in a day, a week, a month as variable as independent failures at a steady rate make them.

The index of dispersion of counts: variance over mean, 1 for a Poisson process. Time runs by node-hours here, so that
nodes that join or leave do not count as a change of rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError, DataError
from relfit.independence.series import Failures
from relfit.independence.thresholds import ALPHA, LEAST_RATE_VARIATION, MOST_EVEN
from relfit.numeric.false_discovery import adjusted_p
from relfit.results import Result
from relfit.text import duration, percent
from relfit.units import NANOSECONDS_PER_HOUR

__all__ = ["Dispersion", "dispersion"]


SCALES = (1.0, 3.0, 8.0, 24.0, 72.0, 168.0, 504.0, 1461.0, 4383.0)
_LEAST_BINS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Dispersion(Result):
    """Index of dispersion at each time scale, against a Poisson process.

    Attributes
    ----------
    scales : ndarray of float, shape (m,)
        Lengths of the bins, hours (of the average number of nodes).
    bins : ndarray of int, shape (m,)
        How many of them fit into the observation.
    mean : ndarray of float, shape (m,)
        Failures in a bin.
    index, low, high, p : ndarray of float, shape (m,)
        Variance over mean; where it lies under a Poisson process at `level`; two-sided p-value. NaN at scales with
        fewer than ten bins or two failures (`too_few`).
    level : float
    events : int
    """

    scales: FloatArray
    bins: IntArray
    mean: FloatArray
    index: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    level: float
    events: int

    @property
    def too_few(self) -> npt.NDArray[np.bool_]:
        """Scales at which nothing can be said."""
        return np.isnan(self.index)

    @property
    def depends(self) -> bool | None:
        """Whether a scale is off at 5 %, adjusted for their number, and by 10 % or more; None without a test.

        By 10 %: the rate varies by so much, or the index is below 0.9; see `relfit.independence.thresholds` for why.
        """
        return None if self.too_few.all() else bool(self._off.any())

    @property
    def rate_variation(self) -> FloatArray:
        """Coefficient of variation of the rate itself from bin to bin, without what chance adds, shape (m,)."""
        return np.sqrt(np.maximum(self.index - 1.0, 0.0) / np.where(self.mean > 0.0, self.mean, np.nan))

    @property
    def _off(self) -> npt.NDArray[np.bool_]:
        significant = adjusted_p(self.p, "holm") <= ALPHA
        return np.asarray(
            significant & ((self.rate_variation >= LEAST_RATE_VARIATION) | (self.index <= MOST_EVEN)), dtype=np.bool_
        )

    @property
    def headline(self) -> str:
        """At which time scales failures cluster."""
        tested = np.flatnonzero(~self.too_few)
        if not tested.size:
            return "There are too few failures to tell whether they cluster in time."
        off = tested[self._off[tested]]
        high, low = off[self.index[off] > 1.0], off[self.index[off] < 1.0]
        if not off.size:
            first, last = duration(self.scales[tested[0]]), duration(self.scales[tested[-1]])
            return f"From {first} to {last}, counts of failures vary as independent ones at a steady rate would."
        if not high.size:
            return (
                f"Counts of failures vary less than independent ones would (at {duration(self.scales[low[0]])}: "
                f"{self.index[low[0]]:.2f} times): failures are spread evenly, as by wear or by a clock."
            )
        first, worst = high[0], high[np.argmax(self.index[high])]
        return (
            f"Failures cluster at scales from {duration(self.scales[first])} on: counts vary {self.index[first]:.1f} "
            f"times as much as those of a Poisson process there and {self.index[worst]:.1f} times at "
            f"{duration(self.scales[worst])}, where the rate itself varies by {percent(self.rate_variation[worst])}; "
            "intervals that take failures as Poisson are too narrow by the root of these factors."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per scale."""
        names = ("bins", "mean", "index", "low", "high", "p", "rate_variation")
        table = pd.DataFrame({"scale_hours": self.scales, **{name: getattr(self, name) for name in names}})
        return table.assign(status=np.where(self.too_few, "too_few", "ok"))


def dispersion(failures: Failures, scales: Sequence[float] | None = None, level: float = 0.95) -> Dispersion:
    """Index of dispersion of the counts of all failures, over time scales.

    Parameters
    ----------
    failures : Failures
        See `failures_of`.
    scales : sequence of float, optional
        Lengths of the bins in hours; an hour to half a year when left out.
    level : float
        Of the range under a Poisson process.

    Returns
    -------
    Dispersion
        Given their number, the failures of a Poisson process fall into equal bins with equal chances. The range is that
        of the chi-square distribution of ``(bins - 1) index``; where a bin expects less than one failure, that of a
        Poisson number of pairs of failures in one bin.

    Raises
    ------
    ArgumentError
        For scales that are not positive or a level outside 0..1.
    DataError
        When no node was ever watched.

    Examples
    --------
    >>> import relfit as rf
    >>> from relfit.independence import failures_of
    >>> result = dispersion(failures_of(rf.datasets.load("white")), [24.0, 168.0])
    >>> result.bins.tolist()
    [1553, 221]
    """
    widths = np.asarray(SCALES if scales is None else scales, dtype=np.float64).ravel()
    if not (np.isfinite(widths) & (widths > 0.0)).all():
        raise ArgumentError("time scales must be positive numbers of hours")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} must lie between 0 and 1")
    at, hours = _by_node_hours(failures)
    at.sort()
    rows = np.array([_one(at, hours, width, level) for width in widths]).reshape(-1, 6)
    bins, mean, index, low, high, p = (rows[:, i] for i in range(6))
    return Dispersion(widths, bins.astype(np.int64), mean, index, low, high, p, level, at.size)


def _by_node_hours(failures: Failures) -> tuple[FloatArray, float]:
    """When each failure happened in hours of the average number of nodes, and how long that clock ran."""
    there = failures.left > failures.entered
    instants = np.concatenate([failures.entered[there], failures.left[there]])
    if not instants.size:
        raise DataError("no node was watched for any time", remedy="declare when nodes entered and left")
    change = np.concatenate([np.ones(int(there.sum())), -np.ones(int(there.sum()))])
    knots, place = np.unique(instants, return_inverse=True)
    watched = np.cumsum(np.bincount(place.reshape(-1), weights=change))
    elapsed = np.diff(knots) / NANOSECONDS_PER_HOUR
    node_hours = np.concatenate([[0.0], np.cumsum(watched[:-1] * elapsed)])
    hours = float(elapsed[watched[:-1] > 0].sum())
    at = np.interp(failures.times.astype(np.float64), knots.astype(np.float64), node_hours)
    return at / node_hours[-1] * hours, hours


def _one(at: FloatArray, hours: float, width: float, level: float) -> tuple[float, ...]:
    """Bins, mean, index, its limits and p-value at one scale; `at` rises."""
    bins = int(hours / width + 1e-9)
    inside = at <= bins * width
    n = int(inside.sum())
    if bins < _LEAST_BINS or n < 2:
        return (bins, n / bins if bins else np.nan, np.nan, np.nan, np.nan, np.nan)
    place = np.minimum((at[inside] / width).astype(np.int64), bins - 1)
    counts = np.diff(np.flatnonzero(np.diff(place, prepend=-1)), append=place.size).astype(np.float64)
    mean = n / bins
    index = float((counts @ counts - n * mean) / (mean * (bins - 1)))
    tails = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    if mean >= 1.0:
        free = bins - 1.0
        low, high = stats.chi2.ppf(tails, free) / free
        below, above = stats.chi2.cdf(index * free, free), stats.chi2.sf(index * free, free)
    else:
        pairs = float(counts @ (counts - 1.0)) / 2.0
        expected = n * (n - 1.0) / 2.0 / bins
        limits = stats.poisson.ppf(tails, expected)
        low, high = (n + 2.0 * limits - n * mean) / (mean * (bins - 1))
        half = 0.5 * stats.poisson.pmf(pairs, expected)
        below, above = stats.poisson.cdf(pairs, expected) - half, stats.poisson.sf(pairs, expected) + half
    return bins, mean, index, float(low), float(high), float(min(2.0 * min(below, above), 1.0))
