"""Incidents that recur at one place sooner than by chance: an outlier node, a failed repair.

Of `n` equal places each is equally likely to be the next: the last incidents of a place are compared with those of all
others in the same time. A place must exceed what is usual in its fleet: pairs at one place within lags of 1 to 365
days, relative to chance, at the other places measure differences between places and bursts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.base.arrays import BoolArray, CodeArray, FloatArray, IntArray
from relfit.base.units import NANOSECONDS_PER_HOUR

_DAY = 24 * NANOSECONDS_PER_HOUR
_LAGS = np.array([1.0, 4.0, 14.0, 60.0, 365.0])  # days within which pairs are counted
_TOGETHER = 250_000  # instants per batch
_CELLS = 2_000_000  # of a grid in time, over all streams
_PAST = 730 * _DAY  # past from which the usual number of pairs is counted
_DOUBT = 0.2  # pairs that are added to those counted and to those by chance
_CLOSE, _LOOSEST, _LONGEST = 1000.0, 0.01, 180 * _DAY


@dataclass(frozen=True, eq=False)
class Recurrence:
    """Incidents that end a significant run at their place, sorted by place and time; arrays of shape (incidents,)."""

    row: IntArray  # of the incident
    first: IntArray  # row of the first incident of the run
    number: IntArray  # incidents in the run
    expected: FloatArray  # incidents after the first of the run at a usual place
    p: FloatArray  # tail probability
    until: IntArray  # instant (nanoseconds) at which the alarm ends without further incidents


def scan_recurrence(
    place: CodeArray,
    stream: CodeArray,
    at: IntArray,
    size: CodeArray,
    alpha: FloatArray,
    *,
    runs: tuple[int, ...],
    longest: float,
    end: IntArray | None = None,
) -> Recurrence:
    """Find the incidents at which a place has had significantly more than its share.

    All are sorted by place (node, or node and cause) and time. `stream` is the system (and cause), `size` its places
    watched then, `alpha` the tail probability of an alarm. `runs` of incidents are tested, up to `longest` days long;
    the time to the next incident counts from the `end` of the repair, or the start.
    """
    index, new = np.arange(place.size, dtype=np.int32), np.diff(place, prepend=-1) != 0
    head = np.maximum.accumulate(np.where(new, index, np.int32(0)))
    rank = index - head
    del index
    grid = _Grid(stream, at)
    chance = grid.sums(1.0 / size)
    passed = until_now = grid.at(chance, stream, at)
    if end is not None:  # chance of each time from a repair to the next failure
        since = at.copy()
        np.minimum(end[:-1], at[1:], out=since[1:])
        until_now = grid.at(chance, stream, since)
        del since
        np.subtract(passed, until_now, out=until_now)
        np.maximum(until_now, 1.0 / size, out=until_now)
        until_now[new] = 0.0
        np.cumsum(until_now, out=until_now)
    most = min(10.0 * float(alpha.max(initial=0.0)), 0.1)
    candidates = []
    for run in runs:
        few = special.gammaincinv(run - 1, most)  # no scatter makes more of them less likely than Poisson
        for begin in range(0, place.size, _TOGETHER):
            rows = begin + np.flatnonzero(rank[begin : begin + _TOGETHER] >= run - 1)
            first = rows - run + 1
            near = at[rows] - at[first] <= longest * _DAY
            rows, first = rows[near], first[near]
            expected = np.maximum(until_now[rows] - until_now[first], 1.0 / size[rows])
            many = expected < few
            rows, expected = rows[many], expected[many]
            odd = _tail(run - 1, expected, np.ones(1), expected * size[rows]) <= alpha[rows]
            candidates.append((rows[odd], np.full(int(odd.sum()), run), expected[odd]))
    if not candidates:
        candidates = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    row, number, expected = (np.concatenate(each) for each in zip(*candidates, strict=True))
    del until_now, rank, candidates
    rows, where = np.unique(row, return_inverse=True)
    usual = _usual(grid, chance, passed, place, stream, at, head, rows)
    first = row - number + 1
    times = _at_lag(usual[where], (at[row] - at[first]) / _DAY)
    p = _tail(number - 1, expected, times, expected * size[row])
    best = np.lexsort((p, row))
    best = best[np.diff(row[best], prepend=-1) != 0]
    best = best[p[best] <= alpha[row[best]]]
    row, number, first, expected, p, times = (each[best] for each in (row, number, first, expected, p, times))
    close = np.minimum(_CLOSE * alpha[row], np.maximum(_LOOSEST, alpha[row]))
    left = np.maximum(_spent_at(close, number - 1, times) - expected, 0.0)
    until = np.minimum(grid.when(chance, stream[row], at[row], left), at[row] + _LONGEST)
    return Recurrence(row, first, number, expected, p, until)


class _Grid:
    """Cumulative sums over time in each stream, in steps of an hour or more, linear between."""

    def __init__(self, stream: CodeArray, at: IntArray) -> None:
        self.origin = int(at.min(initial=0)) - 1
        self.streams, span = int(stream.max(initial=0)) + 1, int(at.max(initial=0)) - self.origin + 1
        self.width = max(NANOSECONDS_PER_HOUR, span * self.streams // _CELLS)
        self.size = span // self.width + 2
        self.cell = stream * np.int32(self.size) + ((at - self.origin) // self.width).astype(np.int32)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of the incidents' values before each step, shape (streams, steps + 1)."""
        each = np.bincount(self.cell, values, self.streams * self.size).reshape(self.streams, self.size)
        return np.hstack([np.zeros((self.streams, 1)), np.cumsum(each, axis=1)])

    def at(self, sums: FloatArray, stream: CodeArray, instant: IntArray) -> FloatArray:
        """Sums until an instant (nanoseconds)."""
        out, end = np.empty(instant.size), self.width * (self.size - 1)
        for first in range(0, instant.size, _TOGETHER):
            rows = slice(first, first + _TOGETHER)
            step, part = np.divmod(np.clip(instant[rows] - self.origin, 0, end), self.width)
            low = sums[stream[rows], step]
            out[rows] = low + part / self.width * (sums[stream[rows], step + 1] - low)
        return out

    def when(self, sums: FloatArray, stream: CodeArray, instant: IntArray, more: FloatArray) -> IntArray:
        """Instant at which the sum has grown by `more` after an instant; far in the future if it has not."""
        aim = self.at(sums, stream, instant) + more
        step = np.array([np.searchsorted(sums[i], x) for i, x in zip(stream, aim, strict=True)], np.int64)
        return np.where(step > self.size, np.iinfo(np.int64).max // 2, self.origin + step * self.width)


def _usual(
    grid: _Grid,
    chance: FloatArray,
    passed: FloatArray,
    place: CodeArray,
    stream: CodeArray,
    at: IntArray,
    head: CodeArray,
    rows: IntArray,
) -> FloatArray:
    """Ratio of pairs at one place within each lag to chance, at other places in the two years before some rows."""
    out = np.ones((rows.size, _LAGS.size))
    if not rows.size:
        return out
    span = 2 * (int(at.max()) - int(at.min()) + 1)
    key = np.multiply(place, span, dtype=np.float64)
    key += at - at.min()
    ago = np.maximum(np.searchsorted(key, key[rows] - min(_PAST, span // 2)), head[rows])
    values, total = np.empty(place.size), np.zeros(place.size + 1)
    for i, lag in enumerate(_LAGS):
        width = min(int(lag * _DAY), span // 2)
        both = []
        for by_chance in (False, True):
            for begin in range(0, place.size, _TOGETHER):
                some = slice(begin, begin + _TOGETHER)
                if by_chance:
                    values[some] = passed[some] - grid.at(chance, stream[some], at[some] - width)
                else:  # incidents of the place within the lag before each
                    first = np.maximum(np.searchsorted(key, key[some] - width), head[some])
                    values[some] = np.arange(begin, begin + first.size) - first
            every = grid.sums(values)
            lately = grid.at(every, stream[rows], at[rows]) - grid.at(every, stream[rows], at[rows] - _PAST)
            np.cumsum(values, out=total[1:])
            both.append(np.maximum(lately - (total[rows] - total[ago]), 0.0) + _DOUBT)
        out[:, i] = both[0] / both[1]
    return np.maximum(out, 1.0)


def _at_lag(usual: FloatArray, lag: FloatArray) -> FloatArray:
    """The usual ratio within a lag (days), interpolated between the counted lags."""
    x = np.log(_LAGS)
    at = np.clip(np.log(np.maximum(lag, _LAGS[0])), x[0], x[-1])
    low = np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.size - 2)
    part, rows = (at - x[low]) / np.diff(x)[low], np.arange(lag.size)
    return np.asarray(usual[rows, low] ** (1.0 - part) * usual[rows, low + 1] ** part)


def _tail(more: int | IntArray, spent: FloatArray, times: FloatArray, among: FloatArray) -> FloatArray:
    """Probability of `more` or more incidents after one, if pairs are `times` as frequent as by chance."""
    variance = 1.0 / (1.0 / np.maximum(times - 1.0, 1e-6) + 1.0) + 1.0 / (among + 1.0)
    mean, shape = np.maximum(spent * times, 1e-300), 1.0 / variance
    return np.asarray(special.betainc(more, shape, mean / (mean + shape)))


def _spent_at(p: FloatArray, more: IntArray, times: FloatArray) -> FloatArray:
    """The expected number at which `more` further incidents have probability `p`."""
    low, high = np.zeros(p.size), np.maximum(more, 1).astype(np.float64)
    for _ in range(40):
        middle = 0.5 * (low + high)
        above: BoolArray = _tail(more, middle, times, np.full(p.size, 1e9)) > p
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high
