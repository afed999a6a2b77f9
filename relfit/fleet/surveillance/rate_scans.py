"""Rates that changed: daily counts of many parts, with each window that ends today compared with the year before it.

A generalised likelihood-ratio scan over the time of the change. The expected count is gamma-Poisson, from the
uncertainty of the past rate and the past scatter of days, weeks and months. An increase in the rest of the system, over
the year or the last eight weeks before the window, is not attributed to a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.fleet.surveillance.rate_episodes import RateEpisode, Windows, episodes

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
_ALIKE = 10.0  # one over the variance of rates between the parts of a system
_FEWEST = 6  # scores in a window


@dataclass(frozen=True, eq=False)
class RateScan:
    """All windows by the day with which they end."""

    p: FloatArray  # least tail probability over the windows, shape (streams, days); 1 without enough data
    every: Callable[[int], Windows]

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        look: Callable[[int, slice], Sequence[FloatArray]],
        counts: FloatArray | None = None,
    ) -> RateScan:
        """The scan of the windows whose tail probability, observed and expected count `look` gives for some streams."""
        usable = [each for each in WINDOWS if each <= shape[1]]

        def every(stream: int) -> Windows:
            p, seen, expected = np.zeros((3, len(usable), shape[1]))
            p[:] = 1.0  # on days that are too early for a window
            for i, window in enumerate(usable):
                for values, own in zip(look(window, slice(stream, stream + 1)), (p, seen, expected), strict=True):
                    own[i, window - 1 :] = values[0]
            return Windows(np.array(usable), p, seen, expected, None if counts is None else counts[stream])

        least = np.ones(shape)
        for window in usable:
            np.fmin(least[:, window - 1 :], look(window, slice(None))[0], out=least[:, window - 1 :])
        return cls(least, every)

    def episodes(self, alpha: float, *, down: bool = False) -> Iterator[RateEpisode]:
        """The alarms at a tail probability of `alpha`, each until it ends (see `rate_episodes.episodes`)."""
        for stream in np.flatnonzero((self.p <= alpha).any(axis=1)).tolist():
            yield from episodes(stream, self.every(stream), alpha, down=down)


def scan_rates(
    counts: FloatArray,
    exposure: FloatArray,
    *,
    prior: tuple[FloatArray, FloatArray] | None = None,
    rest: tuple[FloatArray, FloatArray] | None = None,
    of_share: float = 0.0,
    down: bool = False,
) -> RateScan:
    """Scan counts and exposure, shape (streams, days), for rates that rose, or fell (`down`).

    `prior` predicts a stream with a short past, by default its own alone; `rest` is that of the system of each stream.
    No p-value is below `of_share` times that of the stream's share of the incidents of its system. A window without a
    rest is not looked at.
    """
    own = _Past.of(counts, exposure)
    scatter = _scatter(own)
    before = None if prior is None else _Past.of(*(np.broadcast_to(each, counts.shape) for each in prior))
    others = None if rest is None else _Past.of(*rest)
    # a rest whose rate has fallen, as a batch's after its first months, first exceeds that of its last weeks
    of_others = None if others is None else {days: _scatter(others, days) for days in (REFERENCE, LEAST_REFERENCE)}
    seen_since = _seen_since(counts if rest is None else counts + rest[0])

    def look(window: int, rows: slice) -> tuple[FloatArray, ...]:
        t = np.arange(window, counts.shape[1] + 1)
        seen, units, past, past_units = own.window(t, window, rows)
        if before is None:
            shape, rate = past + 0.5, (past + 0.5) / np.maximum(past_units, 1e-9)
        else:
            _, _, theirs, their_units = before.window(t, window, rows)
            typical = (theirs + 0.5) / np.maximum(their_units, 1e-9)
            shape = past + _ALIKE
            rate = shape / (past_units + _ALIKE / typical)
        mean, p_share, usable = rate * units, np.zeros(seen.shape), units > 0.0
        if others is not None and of_others is not None:
            remaining = others.window(t, window, rows)
            usable &= remaining[1] > 0.0  # else the part was all of its system then
            p_share = _tail_of_share(seen, mean, shape, remaining)
            mean = mean * np.maximum.reduce([_excuse(others, *each, t, window, rows) for each in of_others.items()])
        variance = 1.0 / shape + _over(scatter, t - window, window, rows)
        usable &= seen_since[rows, t - window] >= LEAST_REFERENCE
        usable &= (past_units > 0.0) | (before is not None)
        mean = np.where(usable, mean, 0.0)
        return np.maximum(_tail(seen, mean, variance, usable, down), of_share * p_share), seen, mean

    return RateScan.of(counts.shape, look, counts)


def _seen_since(counts: FloatArray) -> IntArray:
    """Days of records before each day; days before the first incident count only after a year."""
    quiet = (np.cumsum(counts, axis=1) <= 0.0).sum(axis=1)  # days before the first incident
    day, first = np.arange(counts.shape[1] + 1), np.where(counts.any(axis=1), quiet, 0)
    return np.where(day >= REFERENCE, day, np.maximum(day - first[:, None], 0))


@dataclass(frozen=True, eq=False)
class _Past:
    """Cumulative counts and exposure before each day, shape (streams, days + 1)."""

    count: FloatArray
    units: FloatArray

    @classmethod
    def of(cls, counts: FloatArray, exposure: FloatArray) -> _Past:
        zero = np.zeros((counts.shape[0], 1))
        return cls(*(np.hstack([zero, np.cumsum(each, axis=1)]) for each in (counts, exposure)))

    def window(
        self, t: IntArray, window: int, rows: slice, reference: int = REFERENCE
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Counts and exposure of windows that end at `t`, and of the reference before each, of some streams."""
        begin, first = t - window, np.maximum(t - window - reference, 0)
        count, units = self.count[rows], self.units[rows]
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


def _tail_of_share(
    seen: FloatArray, mean: FloatArray, shape: FloatArray, rest: tuple[FloatArray, FloatArray, FloatArray, FloatArray]
) -> FloatArray:
    """Tail probability of a part's share of the incidents of its system, 0 without a rest: a normal beta-binomial."""
    others, units, past, past_units = rest
    of_rest = np.where(past_units > 0.0, (past + 0.5) / np.maximum(past_units, 1e-9) * units, 0.0)
    total, share = seen + others, mean / np.maximum(mean + of_rest, 1e-300)
    variance = total * share * (1.0 - share)
    doubt = 1.0 / shape + 1.0 / (past + 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (seen - 0.5 - total * share) / np.sqrt(variance + variance**2 * doubt)
    return np.where(variance > 0.0, special.ndtr(-z), 0.0)


def _scatter(past: _Past, reference: int = REFERENCE) -> list[FloatArray]:
    """Relative variance beyond Poisson of daily, weekly and monthly counts in the reference before each day."""
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
        first = np.maximum(t - reference, 0)
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


def _over(scatter: list[FloatArray], at: IntArray, window: int, rows: slice, reference: int = REFERENCE) -> FloatArray:
    """Relative variance beyond Poisson of a count over a window, and of the reference before it."""
    of_window = [each[rows, at] * min(scale / window, 1.0) for scale, each in zip(_SCALES, scatter, strict=True)]
    length = np.clip(at, 1, reference)
    of_past = [each[rows, at] * (scale / length) for scale, each in zip(_SCALES, scatter, strict=True)]
    return np.asarray(np.max(of_window, axis=0) + np.max(of_past, axis=0))


def _excuse(
    others: _Past, reference: int, scatter: list[FloatArray], t: IntArray, window: int, rows: slice
) -> FloatArray:
    """Factor by which the rest of the system has significantly increased in the window over the `reference`, else 1."""
    seen, units, past, past_units = others.window(t, window, rows, reference)
    mean = np.where(past_units > 0.0, (past + 0.5) / np.maximum(past_units, 1e-9) * units, 0.0)
    spread = np.sqrt(mean + mean**2 * (1.0 / (past + 0.5) + _over(scatter, t - window, window, rows, reference)))
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
    past, size = _Past.of(sums, numbers), sums.shape[1]
    widest = np.ones(past.count.shape)
    spreads = {}
    for window in WINDOWS:
        if window in _SCALES and window <= size:  # scores within a day, week or month are correlated
            score, number = (each[:, window:] - each[:, :-window] for each in (past.count, past.units))
            first = np.maximum(np.arange(size + 1) - REFERENCE, 0)
            squares, total = (np.pad(np.cumsum(e, axis=1), ((0, 0), (window, 0))) for e in (score**2, number))
            each = [sums - sums[:, np.minimum(first + window - 1, np.arange(size + 1))] for sums in (squares, total)]
            prior = 8.0 * window
            widest = np.maximum(widest, (each[0] + prior) / (each[1] + prior))
        spreads[window] = widest

    def look(window: int, rows: slice) -> tuple[FloatArray, ...]:
        t = np.arange(window, size + 1)
        seen, number, _, before = past.window(t, window, rows)
        usable = (number >= _FEWEST) & (before >= 4 * _FEWEST) & (t - window >= LEAST_REFERENCE)
        wide = np.maximum(number, 1.0) * spreads[window][rows, t - window]
        spread = np.sqrt(wide * (1.0 + number / np.maximum(before, 1.0)))
        return np.where(usable, special.ndtr(-seen / spread), 1.0), seen / np.maximum(number, 1.0), number

    return RateScan.of(sums.shape, look)


def for_each_test(allowed: float, streams: int) -> float:
    """Tail probability per test for `allowed` false alarms per year in so many streams, tested daily."""
    return allowed / (streams * LOOKS)
