"""Alarms of one stream of daily counts: from the day on which a window shows a change until that is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray

_CLOSE, _LOOSEST = 1000.0, 0.1  # evidence is gone once p exceeds this multiple of alpha, or this value
_LEAST_DAYS = 7  # that an alarm stands before what came after it ends it
_REFUTED = 100.0  # times as likely at the usual rate as at that of the alarm
_SURE = 0.05  # error probability of the limit of an alarm's rate


@dataclass(frozen=True)
class RateEpisode:
    """A time in which the rate of a stream was significantly changed."""

    stream: int
    begin: int  # first day of the window that raised the alarm
    first: int  # and its last
    last: int  # day of the alarm so far
    lasts: bool  # to the end
    seen: float  # count in the window of least `p`: now if the alarm lasts, else when it was raised
    expected: float
    days: int  # its length
    p: float

    @property
    def window(self) -> tuple[int, int]:
        """First day of the window of least `p`, and the day after its last."""
        end = (self.last if self.lasts else self.first) + 1
        return end - self.days, end


@dataclass(frozen=True, eq=False)
class Windows:
    """All windows of one stream by their last day, arrays of shape (lengths, days): observed and expected counts."""

    days: IntArray  # their lengths, shape (lengths,)
    p: FloatArray  # tail probability, 1 without enough data
    seen: FloatArray
    expected: FloatArray
    counts: FloatArray | None = None  # by day, shape (days,)


def episodes(stream: int, windows: Windows, alpha: float, *, down: bool = False) -> Iterator[RateEpisode]:
    """The alarms of a stream: days with a window whose tail probability is `alpha` or less; `down` for rates that fell.

    An alarm ends once that of every window exceeds 1000 `alpha` (or 0.1). Once the days since it was raised are 100
    times as likely at the usual rate as half-way to its own (see `_refuted`), only windows that began after it count
    for this; it stands for as long as the window that raised it, a week at least. A later window that exceeds the
    alarm's own rate by `alpha`, too, ends it and raises the next. No window raises an alarm that began before the last
    one was raised.
    """
    day = np.arange(windows.p.shape[1])
    began = day + 1 - windows.days[:, None]
    close = min(_CLOSE * alpha, max(_LOOSEST, alpha))
    free = over = 0
    while True:
        p = np.where(began >= free, windows.p, 1.0)
        least = p.min(axis=0)
        raising = np.flatnonzero((least <= alpha) & (day >= over))
        if not raising.size:
            return
        first = int(raising[0])
        length = int(p[:, first].argmin())
        days = int(windows.days[length])
        since = np.where(began > first, windows.p, 1.0)
        ended = (day > first) & (least > close)
        if windows.counts is not None:
            seen, expected = windows.seen[length, first], windows.expected[length, first]
            limit = float(special.gammaincinv(seen + down, 1.0 - _SURE if down else _SURE)) / expected
            limit = np.sqrt(min(limit, 1.0) if down else max(limit, 1.0))  # half-way: a part of the change may stay
            after = _refuted(windows.counts[first + 1 :], expected / days, limit)
            refuted = np.append(np.zeros(first + 1, bool), after)
            tail = special.gammaincc if down else special.gammainc
            beyond = tail(windows.seen + down, windows.expected * seen / expected)
            ended |= refuted & (day >= first + max(days, _LEAST_DAYS)) & (since.min(axis=0) > close)
            ended |= ((since <= alpha) & (beyond <= alpha)).any(axis=0)
        free, over = first + 1, int(ended.argmax()) if ended.any() else day.size
        lasts = over == day.size
        at = over - 1 if lasts else first
        told = int(p[:, at].argmin()), at
        seen, expected = float(windows.seen[told]), float(windows.expected[told])
        length, least = int(windows.days[told[0]]), float(p[told])
        yield RateEpisode(stream, first + 1 - days, first, over - 1, lasts, seen, expected, length, least)


def _refuted(counts: FloatArray, usual: float, times: float) -> BoolArray:
    """From which day on counts have been much more likely at the usual rate than at so many times that (CUSUM)."""
    total = np.append(0.0, np.cumsum(counts * np.log(times) - (times - 1.0) * usual))
    return np.asarray(np.logical_or.accumulate(np.maximum.accumulate(total) - total >= np.log(_REFUTED))[1:])
