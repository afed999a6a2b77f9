"""Rates that changed: daily counts of many parts, with each window that ends today compared with the year before it.

Windows of one day to sixteen weeks are compared with the 365 days before them (a generalised likelihood-ratio scan over
the time of the change). The expected count is gamma-Poisson: its variance includes the uncertainty of the past rate and
the past scatter of days, weeks and months. An increase in the rest of the system is not attributed to a part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray

__all__ = [
    "LEAST_REFERENCE",
    "LOOKS",
    "REFERENCE",
    "WINDOWS",
    "RateEpisode",
    "RateScan",
    "episodes",
    "for_each_test",
    "scan_rates",
    "scan_scores",
]

WINDOWS = (1, 2, 4, 7, 14, 28, 56, 112)
"""Lengths of the windows, days."""
REFERENCE, LEAST_REFERENCE = 365, 56
"""Days before a window that it is compared with, at most and at least."""
LOOKS = 500.0
"""Independent tests per year and stream to which the daily scan of all windows is equivalent."""
_SCALES = (1, 7, 28)  # days over which scatter is measured
_TYPICAL = 0.3  # spread of relative scatter between streams, for the shrinkage of each stream's own
_DOUBT = 1.5  # standard errors that are added to scatter
_SURE = 1.645  # standard errors subtracted from the increase of the rest of a system
_SCREEN = 1.5  # standard deviations above which tail probabilities are computed
_CLOSE, _LOOSEST = 1000.0, 0.1  # an alarm ends once p exceeds this multiple of alpha, or this value


@dataclass(frozen=True)
class RateEpisode:
    """A time in which the rate of a stream was significantly changed.

    Attributes
    ----------
    stream : int
    begin, first, last : int
        First and last day of the window that raised the alarm, and the last day of the alarm so far.
    lasts : bool
        Whether the alarm lasts to the end.
    seen, expected, days, p : float
        Observed and expected count in the window of least `p`, and its length: now if the alarm lasts, else when it was
        raised.
    """

    stream: int
    begin: int
    first: int
    last: int
    lasts: bool
    seen: float
    expected: float
    days: int
    p: float

    @property
    def window(self) -> tuple[int, int]:
        """First day of the window of least `p`, and the day after its last."""
        end = (self.last if self.lasts else self.first) + 1
        return end - self.days, end


@dataclass(frozen=True, eq=False)
class RateScan:
    """The most significant window that ends with each day, arrays of shape (streams, days).

    Attributes
    ----------
    p : ndarray
        Least tail probability over the windows; 1 without enough data.
    window : ndarray of int
        Length of that window, days.
    seen, expected : ndarray
        Observed and expected count in it.
    """

    p: FloatArray
    window: IntArray
    seen: FloatArray
    expected: FloatArray

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> RateScan:
        """A scan without windows."""
        return cls(np.ones(shape), np.ones(shape, np.int64), np.zeros(shape), np.zeros(shape))

    def take(self, window: int, p: FloatArray, seen: FloatArray, expected: FloatArray) -> None:
        """Add a window; its p-value is NaN without enough data."""
        better = p < self.p
        self.window[better] = window
        for own, new in ((self.p, p), (self.seen, seen), (self.expected, expected)):
            own[better] = new[better]

    def episodes(self, alpha: float) -> Iterator[RateEpisode]:
        """The alarms at a tail probability of `alpha`, each until it ends (see `episodes`)."""
        for stream, first, over in zip(*episodes(self.p, np.array(alpha)), strict=True):
            lasts = bool(over == self.p.shape[1])
            told = stream, over - 1 if lasts else first
            yield RateEpisode(
                int(stream),
                int(first) + 1 - int(self.window[stream, first]),
                int(first),
                int(over) - 1,
                lasts,
                float(self.seen[told]),
                float(self.expected[told]),
                int(self.window[told]),
                float(self.p[told]),
            )


def scan_rates(
    counts: FloatArray,
    exposure: FloatArray,
    *,
    prior: tuple[FloatArray, FloatArray] | None = None,
    rest: tuple[FloatArray, FloatArray] | None = None,
    down: bool = False,
) -> RateScan:
    """Scan counts for rates that rose, or fell.

    Parameters
    ----------
    counts, exposure : ndarray, shape (streams, days)
        Incidents, and number of places watched.
    prior : tuple of ndarray, optional
        Counts and exposure that predict a stream with a short past, broadcast; by default only its own past.
    rest : tuple of ndarray, optional
        Counts and exposure of the rest of the system of each stream.
    down : bool
        Whether to search for rates that fell.

    Examples
    --------
    A year and a half with an incident every other day, then two a day:

    >>> counts = np.append(np.tile([1.0, 0.0], 250), np.full(10, 2.0))[None]
    >>> scan = scan_rates(counts, np.ones_like(counts))
    >>> bool(scan.p[0, :500].min() > 1e-3), bool(scan.p[0, 509] < 1e-4), int(scan.window[0, 509])
    (True, True, 14)
    """
    own, out = _Past.of(counts, exposure), RateScan.nothing(counts.shape)
    scatter = _scatter(own)
    before = None if prior is None else _Past.of(*(np.broadcast_to(each, counts.shape) for each in prior))
    others = None if rest is None else _Past.of(*rest)
    of_others = None if others is None else _scatter(others)
    seen_since = _seen_since(counts if rest is None else counts + rest[0])
    for window in WINDOWS:
        t = np.arange(window, counts.shape[1] + 1)
        if not t.size:
            break
        seen, units, past, past_units = own.window(t, window)
        if before is None:
            shape, rate = past + 0.5, (past + 0.5) / np.maximum(past_units, 1e-9)
        else:
            _, _, theirs, their_units = before.window(t, window)
            typical = (theirs + 0.5) / np.maximum(their_units, 1e-9)
            shape = past + _ALIKE
            rate = shape / (past_units + _ALIKE / typical)
        mean = rate * units
        if others is not None and of_others is not None:
            mean = mean * _excuse(others, of_others, t, window)
        variance = 1.0 / shape + _over(scatter, t - window, window)
        usable = (
            (units > 0.0) & (seen_since[:, t - window] >= LEAST_REFERENCE) & ((past_units > 0.0) | (before is not None))
        )
        mean = np.where(usable, mean, 0.0)
        p = np.full(counts.shape, np.nan)
        p[:, t - 1] = _tail(seen, mean, variance, usable, down)
        full = np.zeros((2, *counts.shape))
        full[0][:, t - 1], full[1][:, t - 1] = seen, mean
        out.take(window, p, full[0], full[1])
    return out


def _seen_since(counts: FloatArray) -> IntArray:
    """Days of records before each day; days before the first incident count only after a year."""
    quiet = (np.cumsum(counts, axis=1) <= 0.0).sum(axis=1)  # days before the first incident
    day, first = np.arange(counts.shape[1] + 1), np.where(counts.any(axis=1), quiet, 0)
    return np.where(day >= REFERENCE, day, np.maximum(day - first[:, None], 0))


_ALIKE = 10.0  # one over the variance of rates between the parts of a system


@dataclass(frozen=True, eq=False)
class _Past:
    """Cumulative counts and exposure before each day, shape (streams, days + 1)."""

    count: FloatArray
    units: FloatArray

    @classmethod
    def of(cls, counts: FloatArray, exposure: FloatArray) -> _Past:
        zero = np.zeros((counts.shape[0], 1))
        return cls(*(np.hstack([zero, np.cumsum(each, axis=1)]) for each in (counts, exposure)))

    def window(self, t: IntArray, window: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Counts and exposure of windows that end at `t`, and of the reference before each."""
        begin, first = t - window, np.maximum(t - window - REFERENCE, 0)
        count, units = self.count, self.units
        return (
            count[:, t] - count[:, begin],
            units[:, t] - units[:, begin],
            count[:, begin] - count[:, first],
            units[:, begin] - units[:, first],
        )


def _tail(seen: FloatArray, mean: FloatArray, variance: FloatArray, usable: BoolArray, down: bool) -> FloatArray:
    """Tail probability of a gamma-Poisson count with this relative variance: upper, or `down` lower."""
    spread = np.sqrt(mean + mean**2 * variance)
    far = usable & ((seen < mean - _SCREEN * spread) if down else (seen > mean + _SCREEN * spread) & (seen >= 2.0))
    p, shape = np.ones(seen.shape), 1.0 / np.broadcast_to(variance, seen.shape)[far]
    more = special.betainc(seen[far] + down, shape, mean[far] / (mean[far] + shape))
    p[far] = 1.0 - more if down else more
    return p


def _scatter(past: _Past) -> list[FloatArray]:
    """Relative variance beyond Poisson of daily, weekly and monthly counts in the year before each day."""
    out = []
    size = past.count.shape[1]
    for scale in _SCALES:
        if size <= scale:
            out.append(np.zeros(past.count.shape))
            continue
        count, units = (each[:, scale:] - each[:, :-scale] for each in (past.count, past.units))
        each_sum = (count**2, count * units, units**2, units)
        sums = [np.pad(np.cumsum(each, axis=1), ((0, 0), (scale, 0))) for each in each_sum]
        t = np.arange(size)
        first = np.maximum(t - REFERENCE, 0)
        rate = (past.count - past.count[:, first]) / np.maximum(past.units - past.units[:, first], 1e-9)
        squares, both, square, total = (each - each[:, np.minimum(first + scale - 1, t)] for each in sums)
        bins = np.maximum((t - first) / scale, 1.0)
        unbiased = bins / np.maximum(bins - 1.0, 0.5)
        beyond = unbiased * (squares - 2.0 * rate * both + rate**2 * square) - rate * total
        weight = rate**2 * square  # over overlapping bins: `scale` of them hold the information of one
        pooled = np.maximum(beyond.sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-9), 0.0)
        noise = 2.0 * scale / np.maximum(weight, 1e-9)
        noise_of_all = 2.0 * scale / np.maximum(weight.sum(axis=0), 1e-9)
        pooled = pooled * _TYPICAL**2 / (_TYPICAL**2 + noise_of_all)
        believed = _TYPICAL**2 / (_TYPICAL**2 + noise)
        scatter = np.maximum(believed * beyond / np.maximum(weight, 1e-9) + (1.0 - believed) * pooled, 0.0)
        out.append(scatter * (1.0 + _DOUBT * np.sqrt(2.0 / bins)))
    return out


def _over(scatter: list[FloatArray], at: IntArray, window: int) -> FloatArray:
    """Relative variance beyond Poisson of a count over a window, and of the reference before it."""
    of_window = [each[:, at] * min(scale / window, 1.0) for scale, each in zip(_SCALES, scatter, strict=True)]
    length = np.clip(at, 1, REFERENCE)
    of_past = [each[:, at] * (scale / length) for scale, each in zip(_SCALES, scatter, strict=True)]
    return np.asarray(np.max(of_window, axis=0) + np.max(of_past, axis=0))


def _excuse(others: _Past, scatter: list[FloatArray], t: IntArray, window: int) -> FloatArray:
    """Factor by which the rest of the system has significantly increased in the window, else 1."""
    seen, units, past, past_units = others.window(t, window)
    mean = np.where(past_units > 0.0, (past + 0.5) / np.maximum(past_units, 1e-9) * units, 0.0)
    spread = np.sqrt(mean + mean**2 * (1.0 / (past + 0.5) + _over(scatter, t - window, window)))
    return np.asarray(np.maximum(np.where(mean > 0.0, (seen - _SURE * spread) / np.maximum(mean, 1e-9), 1.0), 1.0))


def scan_scores(sums: FloatArray, numbers: FloatArray) -> RateScan:
    """Scan sums of standard normal scores by day for a mean that rose: `seen` is the mean score, `expected` its number.

    Parameters
    ----------
    sums, numbers : ndarray, shape (streams, days)

    Examples
    --------
    >>> scores = np.append(np.tile([1.0, -1.0], 100), np.full(14, 2.0))[None]
    >>> scan = scan_scores(scores, np.ones_like(scores))
    >>> bool(scan.p[0, 199] > 0.01), bool(scan.p[0, -1] < 1e-6)
    (True, True)
    """
    past, out = _Past.of(sums, numbers), RateScan.nothing(sums.shape)
    size, widest = sums.shape[1], np.ones(past.count.shape)
    for window in WINDOWS:
        t = np.arange(window, size + 1)
        if not t.size:
            break
        if window in _SCALES:  # scores within a day, week or month are correlated
            score, number = (each[:, window:] - each[:, :-window] for each in (past.count, past.units))
            first = np.maximum(np.arange(size + 1) - REFERENCE, 0)
            squares, total = (np.pad(np.cumsum(e, axis=1), ((0, 0), (window, 0))) for e in (score**2, number))
            each = [sums - sums[:, np.minimum(first + window - 1, np.arange(size + 1))] for sums in (squares, total)]
            prior = 8.0 * window
            widest = np.maximum(widest, (each[0] + prior) / (each[1] + prior))
        seen, number, _, before = past.window(t, window)
        usable = (number >= _FEWEST) & (before >= 4 * _FEWEST) & (t - window >= LEAST_REFERENCE)
        spread = np.sqrt(np.maximum(number, 1.0) * widest[:, t - window] * (1.0 + number / np.maximum(before, 1.0)))
        p, full = np.ones(sums.shape), np.zeros((2, *sums.shape))
        p[:, t - 1] = np.where(usable, special.ndtr(-seen / spread), 1.0)
        full[0][:, t - 1], full[1][:, t - 1] = seen / np.maximum(number, 1.0), number
        out.take(window, p, full[0], full[1])
    return out


_FEWEST = 6  # scores in a window


def for_each_test(allowed: float, streams: int) -> float:
    """Tail probability per test for `allowed` false alarms per year in so many streams, tested daily."""
    return allowed / (streams * LOOKS)


def episodes(p: FloatArray, alpha: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """First day and end of each alarm.

    Parameters
    ----------
    p : ndarray, shape (streams, days)
        Tail probabilities.
    alpha : ndarray, broadcast to the shape of `p`
        Tail probability that raises an alarm; it ends once that of a day exceeds 1000 `alpha`, or 0.1.

    Returns
    -------
    stream, first, last : ndarray of int
        Stream, first day, and the day on which the alarm ended (the number of days if it lasts).

    Examples
    --------
    >>> [each.tolist() for each in episodes(np.array([[0.5, 1e-9, 1e-7, 0.5, 1e-9]]), np.array([[1e-8]]))]
    [[0, 0], [1, 4], [3, 5]]
    """
    alpha = np.broadcast_to(alpha, p.shape)
    state = np.where(p <= alpha, 1, np.where(p > np.minimum(_CLOSE * alpha, np.maximum(_LOOSEST, alpha)), -1, 0))
    at = np.maximum.accumulate(np.where(state != 0, np.arange(p.shape[1]), 0), axis=1)
    up = np.take_along_axis(state, at, axis=1) > 0
    edge = np.diff(up.astype(np.int8), axis=1, prepend=0, append=0)
    stream, first = np.nonzero(edge > 0)
    last = np.nonzero(edge < 0)[1]
    return stream, first, last
