"""What comes again at one place sooner than chance: a node that stands out, a repair that did not help.

Of `n` equal places each is as likely to be the next. The last few incidents of a place are held against how many came
to all others meanwhile, whatever the rate of the fleet did. How places of this fleet differ, and how its incidents come
in bursts, is counted (pairs at one place within a day, a week, a month and so on, over those by chance): a place stands
out only from what is usual here. Its own incidents do not count for what is usual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.units import NANOSECONDS_PER_HOUR

__all__ = ["Recurrence", "scan_recurrence"]

_DAY = 24 * NANOSECONDS_PER_HOUR
_LAGS = np.array([1.0, 4.0, 14.0, 60.0, 365.0])  # days in which pairs are counted
_PAST = 730 * _DAY  # that says what is usual
_DOUBT = 0.2  # pairs that are added to those counted and to those by chance
_CLOSE, _LOOSEST, _LONGEST = 1000.0, 0.01, 180 * _DAY


@dataclass(frozen=True, eq=False)
class Recurrence:
    """Incidents at which a place was conspicuous, in the order of place and time, arrays of shape (incidents,).

    Attributes
    ----------
    row : ndarray of int
        Of the incident.
    first : ndarray of int
        Row of the incident with which its run began.
    number : ndarray of int
        Incidents in the run.
    expected : ndarray
        Further ones that would have come to a place like any other.
    p : ndarray
    until : ndarray of int
        Instant (nanoseconds) from which the place is inconspicuous again, if no more comes.
    """

    row: IntArray
    first: IntArray
    number: IntArray
    expected: FloatArray
    p: FloatArray
    until: IntArray


def scan_recurrence(
    place: IntArray,
    stream: IntArray,
    at: IntArray,
    end: IntArray,
    size: FloatArray,
    alpha: FloatArray,
    *,
    runs: tuple[int, ...],
    longest: float,
    after_repair: bool,
) -> Recurrence:
    """Find the incidents by which a place has had more than its share.

    Parameters
    ----------
    place, stream : ndarray of int, shape (incidents,)
        Which place (node, or node and cause) was hit, and among which it is one (system, or system and cause).
    at, end : ndarray of int, shape (incidents,)
        Instants in nanoseconds: when it began, and when its repair was over.
    size : ndarray, shape (incidents,)
        Places of the stream that were watched when it began.
    alpha : ndarray, shape (incidents,)
        Tail probability that is conspicuous.
    runs : tuple of int
        Numbers of incidents in turn that are looked at.
    longest : float
        Days that these may take.
    after_repair : bool
        Whether time counts from the end of the repair, of each incident in turn.

    Examples
    --------
    A hundred places fail in turn, one a day; place 7 three times more on day 300:

    >>> at = np.append(np.arange(400.0), [300.1, 300.2, 300.3]) * 24 * 3.6e12
    >>> place = np.append(np.arange(400) % 100, [7, 7, 7])
    >>> every = np.ones(403)
    >>> result = scan_recurrence(place, 0 * place, at.astype(int), at.astype(int), 100 * every, 1e-3 * every,
    ...     runs=(2, 3, 4), longest=90.0, after_repair=False)
    >>> result.row.tolist(), result.number.tolist()
    ([402, 307], [3, 4])
    """
    order = np.lexsort((at, place))
    place, stream, at, end = (each[order] for each in (place, stream, at, end))
    size, alpha = size[order], alpha[order]
    chance = _Chance(stream, at, size)
    new = np.diff(place, prepend=-1) != 0
    index = np.arange(place.size)
    head = np.maximum.accumulate(np.where(new, index, 0))
    usual = _usual(chance, place, stream, at, head)
    least, number, expected = np.ones(place.size), np.ones(place.size, np.int64), np.zeros(place.size)
    spent_since = np.zeros(place.size)
    if after_repair:  # chance of each time from a repair to the next failure
        since = np.minimum(np.maximum(end, at)[index - 1], at)
        own = chance.between(stream, since, at)
        spent_since = np.cumsum(np.where(new, 0.0, np.maximum(own, 1.0 / np.maximum(size, 1.0))))
    for run in runs:
        rows = np.flatnonzero(index - head >= run - 1)
        first = rows - run + 1
        near = at[rows] - at[first] <= longest * _DAY
        rows, first = rows[near], first[near]
        if after_repair:
            spent = spent_since[rows] - spent_since[first]
        else:
            spent = chance.between(stream[rows], at[first], at[rows])
        times = _at_lag(usual[rows], (at[rows] - at[first]) / _DAY)
        many = run - 1 - spent * times > np.sqrt(spent * times)  # else there is nothing to be seen
        rows, spent, times = rows[many], spent[many], times[many]
        p = _tail(run - 1, spent, times, spent * size[rows])
        better = p < least[rows]
        rows = rows[better]
        least[rows], number[rows], expected[rows] = p[better], run, spent[better]
    chosen = np.flatnonzero(least <= alpha)
    number, expected = number[chosen], expected[chosen]
    first = chosen - number + 1
    times = _at_lag(usual[chosen], (at[chosen] - at[first]) / _DAY)
    close = np.minimum(_CLOSE * alpha[chosen], np.maximum(_LOOSEST, alpha[chosen]))
    left = np.maximum(_spent_at(close, number - 1, times) - expected, 0.0)
    until = np.minimum(chance.when(stream[chosen], at[chosen], left), at[chosen] + _LONGEST)
    return Recurrence(order[chosen], order[first], number, expected, least[chosen], until)


class _Chance:
    """Incidents of a stream that come to one of its places by chance, summed over time."""

    def __init__(self, stream: IntArray, at: IntArray, size: FloatArray) -> None:
        order = np.lexsort((at, stream))
        self.origin = int(at.min(initial=0))
        self.span = int(at.max(initial=0)) - self.origin + 1
        self.stream, self.at = stream[order], at[order]
        self.keys = self._keys(self.stream, self.at)
        self.total = np.append(0.0, np.cumsum(1.0 / np.maximum(size[order], 1.0)))

    def _keys(self, stream: IntArray, at: IntArray) -> FloatArray:
        return stream * 1.0 + 0.5 * (at - self.origin) / self.span

    def _position(self, stream: IntArray, at: IntArray) -> IntArray:
        return np.searchsorted(self.keys, self._keys(stream, at), side="right")

    def between(self, stream: IntArray, first: IntArray, last: IntArray) -> FloatArray:
        """Expected at one place after `first`, until and with `last`."""
        return np.asarray(self.total[self._position(stream, last)] - self.total[self._position(stream, first)])

    def when(self, stream: IntArray, at: IntArray, more: FloatArray) -> IntArray:
        """When so much more is expected after `at`; after everything where it is not in this log."""
        aim = self.total[self._position(stream, at)] + more
        row = np.searchsorted(self.total[1:], aim, side="left")
        inside = np.minimum(row, self.at.size - 1)
        there = (row < self.at.size) & (self.stream[inside] == stream)
        return np.where(there, self.at[inside], np.iinfo(np.int64).max // 2)


def _usual(chance: _Chance, place: IntArray, stream: IntArray, at: IntArray, head: IntArray) -> FloatArray:
    """Pairs at one place within each lag, over those by chance, of the other places in the two years before."""
    out = np.ones((place.size, _LAGS.size))
    by_time = np.lexsort((at, stream))
    keys = chance.keys
    position = np.searchsorted(keys, chance._keys(stream, at), side="left")  # what came before
    early = np.searchsorted(keys, chance._keys(stream, np.maximum(at - _PAST, chance.origin)), side="left")
    of_stream = np.searchsorted(keys, stream * 1.0, side="left")
    early = np.maximum(early, of_stream)
    joint = place * 1.0 + 0.5 * (at - chance.origin) / chance.span
    old = np.maximum(np.searchsorted(joint, place * 1.0 + 0.5 * (at - chance.origin - _PAST) / chance.span), head)
    index = np.arange(place.size)
    for i, lag in enumerate(_LAGS):
        width = int(lag * _DAY)
        begin = np.searchsorted(joint, place * 1.0 + 0.5 * (at - chance.origin - width) / chance.span)
        pairs = (index - np.maximum(begin, head)).astype(np.float64)
        by_chance = chance.between(stream, np.maximum(at - width, chance.origin - 1), at - 1)
        both = []
        for values in (pairs, by_chance):
            every, own = (np.append(0.0, np.cumsum(each)) for each in (values[by_time], values))
            both.append(every[position] - every[early] - (own[index] - own[old]))
        out[:, i] = (both[0] + _DOUBT) / (both[1] + _DOUBT)
    return np.maximum(out, 1.0)


def _at_lag(usual: FloatArray, lag: FloatArray) -> FloatArray:
    """What is usual within a lag (days), between those that were counted."""
    x = np.log(_LAGS)
    at = np.clip(np.log(np.maximum(lag, _LAGS[0])), x[0], x[-1])
    low = np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.size - 2)
    part, rows = (at - x[low]) / np.diff(x)[low], np.arange(lag.size)
    return np.asarray(usual[rows, low] ** (1.0 - part) * usual[rows, low + 1] ** part)


def _tail(more: int | IntArray, spent: FloatArray, times: FloatArray, among: FloatArray) -> FloatArray:
    """Probability of so many more after one, where places differ (or repeat) `times` as often as chance."""
    variance = 1.0 / (1.0 / np.maximum(times - 1.0, 1e-6) + 1.0) + 1.0 / (among + 1.0)
    mean, shape = np.maximum(spent * times, 1e-300), 1.0 / variance
    return np.asarray(special.betainc(more, shape, mean / (mean + shape)))


def _spent_at(p: FloatArray, more: IntArray, times: FloatArray) -> FloatArray:
    """What must be expected for so many more to have this probability."""
    low, high = np.zeros(p.size), np.maximum(more, 1).astype(np.float64)
    for _ in range(40):
        middle = 0.5 * (low + high)
        above: BoolArray = _tail(more, middle, times, np.full(p.size, 1e9)) > p
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high
