"""Whether counts of failures in a day, a week, a month vary as those of independent failures at a constant rate do.

The index of dispersion of counts: variance over mean, 1 for a Poisson process. Time runs by node-hours here, so that
nodes that join or leave do not count as a change of rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy
from scipy import special

from relfit.analyses.independence.resampling import moved, resampled_p
from relfit.analyses.independence.series import NodeSeries
from relfit.analyses.independence.thresholds import ALPHA, LEAST_RATE_VARIATION, MOST_EVEN, verdict
from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError, DataError
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.poisson import poisson_pmf, poisson_ppf, poisson_sf
from relfit.base.results import Result
from relfit.base.text import duration, percent
from relfit.base.units import NANOSECONDS_PER_HOUR

SCALES = (1.0, 3.0, 8.0, 24.0, 72.0, 168.0, 504.0, 1461.0, 4383.0)
_LEAST_BINS = 10
_NO_TREND = 1e-4  # distance of the mean instant from the middle, as a share of the time
_MANY = 8  # bins of a failure, from which they are not counted one by one


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
        Variance over mean; its range under a Poisson process at `level`; two-sided p-value. NaN at scales with fewer
        than ten bins or two failures (`too_few`).
    level : float
    events : int
        All failures counted.
    expected : ndarray of float, shape (m,), optional
        Mean index of random logs in which each node keeps its own order; then `low`, `high` and `p` are of these logs,
        `p` adjusted for the number of scales.
    what : str
        What is counted: ``"failures"`` or ``"incidents"``.
    alpha : float
        Size of the test behind `depends`; `dependence` divides its own among its tests.
    trend : float
        Where one steady rise or fall explains that counts vary more than by chance, how much the log of the rate
        changes from the start to the end; else 0.
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
    expected: FloatArray | None = None
    what: str = "failures"
    alpha: float = ALPHA
    trend: float = 0.0

    @property
    def too_few(self) -> npt.NDArray[np.bool_]:
        """Scales with too few bins or failures, shape (m,)."""
        return np.isnan(self.index)

    @property
    def depends(self) -> bool | None:
        """Whether counts depart from chance at `alpha`, adjusted for the number of scales; None with too few failures.

        And by an amount that matters: the rate varies by 10 %, or the index is at most 0.9 of that by chance; see
        `relfit.analyses.independence.thresholds`.
        """
        return None if self.too_few.all() else verdict(bool(self._off.any()), self.events)

    @property
    def p_overall(self) -> float:
        """Of all scales together."""
        return np.nan if self.too_few.all() else float(np.nanmin(self._p_adjusted))

    @property
    def _chance(self) -> FloatArray:
        """Mean index by chance at each scale."""
        return np.ones(self.index.size) if self.expected is None else self.expected

    @property
    def _p_adjusted(self) -> FloatArray:
        return self.p if self.expected is not None else adjusted_p(self.p, "holm")

    @property
    def rate_variation(self) -> FloatArray:
        """Coefficient of variation of the rate itself from bin to bin, without what chance adds, shape (m,)."""
        return np.sqrt(np.maximum(self.index - self._chance, 0.0) / np.where(self.mean > 0.0, self.mean, np.nan))

    @property
    def _off(self) -> npt.NDArray[np.bool_]:
        matters = (self.rate_variation >= LEAST_RATE_VARIATION) | (self.index <= MOST_EVEN * self._chance)
        return np.asarray((self._p_adjusted <= self.alpha) & matters, dtype=np.bool_)

    @property
    def clustered(self) -> bool:
        """Whether counts vary more than by chance at some scale."""
        return bool(np.any(self._off & ~self.too_few & (self.index > self._chance)))

    @property
    def headline(self) -> str:
        """At which time scales failures cluster."""
        tested = np.flatnonzero(~self.too_few)
        if not tested.size:
            return f"There are too few {self.what} to tell whether they cluster in time."
        off = tested[self._off[tested]]
        high, low = (off[sign * (self.index - self._chance)[off] > 0.0] for sign in (1.0, -1.0))
        if self.depends is None:
            return f"{self.events} {self.what} are too few to tell whether they cluster in time."
        if not off.size:
            first, last = duration(self.scales[tested[0]]), duration(self.scales[tested[-1]])
            of = "independent ones" if self.expected is None else "those of independent nodes"
            more = f"counts of {self.what} are not found to vary more than {of} at a constant rate"
            return f"From {first} to {last}, {more}."
        if not high.size:
            return (
                f"Counts of {self.what} vary less than independent ones would (at {duration(self.scales[low[0]])}: "
                f"{self.index[low[0]]:.2f} times): {self.what} are spread evenly, as with wear-out or a fixed schedule."
            )
        first, worst = high[0], high[np.argmax(self.index[high])]
        if self.trend:
            return (
                f"Counts of {self.what} vary {self.index[worst]:,.1f} times as much as those of a Poisson process at "
                f"{duration(self.scales[worst])}, since their rate {'rises' if self.trend > 0.0 else 'falls'} over the "
                "log; apart from that they do not cluster."
            )
        return (
            f"{self.what.capitalize()} cluster at scales from {duration(self.scales[first])} on: counts vary "
            f"{self.index[first]:.1f} times as much as those of a Poisson process there and {self.index[worst]:,.1f} "
            f"times at {duration(self.scales[worst])}, where the rate itself varies by "
            f"{percent(self.rate_variation[worst])}; "
            f"intervals that take {self.what} as Poisson are too narrow by the square root of these factors."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per scale."""
        names = ("bins", "mean", "index", "low", "high", "p", "rate_variation")
        table = pd.DataFrame({"scale_hours": self.scales, **{name: getattr(self, name) for name in names}})
        table.insert(4, "expected", np.where(self.too_few, np.nan, self._chance))
        return table.assign(status=np.where(self.too_few, "too_few", "ok"))


def dispersion(
    failures: NodeSeries,
    scales: Sequence[float] | None = None,
    level: float = 0.95,
    *,
    n_resamples: int = 0,
    rng: Seed = 0,
) -> Dispersion:
    """Index of dispersion of the counts of all failures, over time scales.

    Parameters
    ----------
    failures : NodeSeries
        See `failures_of`.
    scales : sequence of float, optional
        Lengths of the bins in hours; an hour to half a year when left out.
    level : float
        Level of the range under a Poisson process.
    n_resamples : int
        Random logs in which each node's failures are rotated over its time of observation: independent nodes with the
        gaps of each node, at a constant rate. With 0, the reference is a Poisson process.
    rng : int or numpy.random.Generator
        For the random logs.

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
    >>> from relfit.analyses.independence import failures_of
    >>> result = dispersion(failures_of(rf.datasets.load("white")), [24.0, 168.0])
    >>> result.bins.tolist()
    [1553, 221]
    """
    widths = np.asarray(SCALES if scales is None else scales, dtype=np.float64).ravel()
    if not (np.isfinite(widths) & (widths > 0.0)).all():
        raise ArgumentError("time scales must be positive numbers of hours")
    level_checked(level)
    n_resamples = one_whole("n_resamples", n_resamples, 0)
    at, hours = _by_node_hours(failures, failures.times)
    rows = np.array([_one(at, hours, width, level) for width in widths]).reshape(-1, 6)
    bins, mean, index, low, high, p = (rows[:, i] for i in range(6))
    expected = None
    growth, steady_at = _without_trend(at, hours)
    steady, steady_p = np.array([_one(steady_at, hours, width, level) for width in widths]).reshape(-1, 6)[:, [2, 5]].T
    if n_resamples > 1 and np.isfinite(index).any():
        generator = random_stream(rng)
        drawn = np.empty((n_resamples, widths.size))
        for i in range(n_resamples):
            there = _by_node_hours(failures, moved(failures, generator))[0]
            drawn[i] = [_index(there, hours, width)[2] for width in widths]
        usable, expected = np.isfinite(index), drawn.mean(axis=0)
        tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
        low, high = np.where(usable, np.quantile(drawn, tails, axis=0), np.nan)
        # the log is scaled as one more of the random logs, else theirs alone would be drawn in by their own spread;
        # every scale is compared with the furthest scale of each random log
        every = np.vstack([index, drawn])[:, usable]
        away = np.abs(every - every.mean(axis=0)) / np.maximum(every.std(axis=0, ddof=1), 1e-12)
        furthest = away[1:].max(axis=1)
        without_trend = np.abs(steady - drawn.mean(axis=0)) / np.maximum(drawn.std(axis=0, ddof=1), 1e-12)
        steady_p = np.array([resampled_p(float(x), furthest) if x == x else np.nan for x in without_trend])
        p = np.full(index.size, np.nan)
        p[usable] = [resampled_p(float(x), furthest) for x in away[0]]
    counts = (widths, bins.astype(np.int64), mean)
    found = Dispersion(*counts, index, low, high, p, level, at.size, expected, failures.what)
    rest = replace(found, index=steady, p=steady_p)
    return replace(found, trend=growth) if found.clustered and not rest.clustered else found


def _without_trend(at: FloatArray, hours: float) -> tuple[float, FloatArray]:
    """How much the log of the rate changes in a log-linear trend, and instants on a clock on which it is steady."""
    if at.size < 2 or not hours > 0.0:
        return 0.0, at
    share = at / hours
    mean = float(np.clip(share.mean(), 0.05, 0.95))  # 0.95: the rate rises by a factor of e**20
    if abs(mean - 0.5) < _NO_TREND:
        return 0.0, at
    ends = (1e-4, 40.0) if mean > 0.5 else (-40.0, -1e-4)
    growth = float(scipy.optimize.brentq(lambda x: -1.0 / np.expm1(-x) - 1.0 / x - mean, *ends))
    return growth, np.expm1(growth * share) / np.expm1(growth) * hours


def _by_node_hours(failures: NodeSeries, times: IntArray) -> tuple[FloatArray, float]:
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
    at = np.interp(times.astype(np.float64), knots.astype(np.float64), node_hours)
    return at / node_hours[-1] * hours, hours


def _index(at: FloatArray, hours: float, width: float) -> tuple[int, float, float, FloatArray]:
    """Bins, mean, index and the counts that are not zero at one scale."""
    bins = int(hours / width + 1e-9)
    inside = at[at <= bins * width]
    n = inside.size
    if bins < _LEAST_BINS or n < 2:
        return bins, n / bins if bins else np.nan, np.nan, np.zeros(0)
    place = np.minimum((inside / width).astype(np.int64), bins - 1)
    number = np.bincount(place) if bins <= _MANY * n else np.unique(place, return_counts=True)[1]
    counts = number[number > 0].astype(np.float64)
    mean = n / bins
    return bins, mean, float(((counts**2).sum() - n * mean) / (mean * (bins - 1))), counts


def _one(at: FloatArray, hours: float, width: float, level: float) -> tuple[float, ...]:
    """Bins, mean, index, and of a Poisson process its limits and p-value at one scale."""
    bins, mean, index, counts = _index(at, hours, width)
    if np.isnan(index):
        return bins, mean, np.nan, np.nan, np.nan, np.nan
    n = counts.sum()
    tails = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    if mean >= 1.0:
        free = bins - 1.0
        low, high = 2.0 * special.gammaincinv(0.5 * free, tails) / free
        below, above = float(special.chdtr(free, index * free)), float(special.chdtrc(free, index * free))
    else:
        pairs = float((counts * (counts - 1.0)).sum()) / 2.0
        expected = n * (n - 1.0) / 2.0 / bins
        limits = poisson_ppf(tails, expected)
        low, high = (n + 2.0 * limits - n * mean) / (mean * (bins - 1))
        half = 0.5 * poisson_pmf(pairs, expected)
        above = float(poisson_sf(pairs, expected) + half)
        below = 1.0 - above
    return bins, mean, index, float(low), float(high), float(min(2.0 * min(below, above), 1.0))
