"""Log-likelihoods of point processes for groups of copies, in the free coordinates in which they are maximised.

Windows of observation that are alike within a group are joined, and events enter the Poisson processes through sums
only, so that an evaluation costs as much as there are different windows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.numeric.batches import over_groups
from relfit.numeric.compiled import njit
from relfit.numeric.ragged import Ragged, offsets_of, per_group
from relfit.recurrence.histories import EventHistories

__all__ = ["Copies", "LogLinear", "PowerLaw", "Renewal", "differs"]


@dataclass(frozen=True)
class Copies(Ragged):
    """Histories sorted by group, with the times of each group in units of its latest end.

    ``histories`` are in the order of groups; group ``j`` owns those at ``offsets[j]:offsets[j + 1]``.
    """

    histories: EventHistories
    offsets: IntArray

    @classmethod
    def of(cls, histories: EventHistories, codes: IntArray, groups: int) -> Copies:
        """Sort by group number."""
        order = np.argsort(codes, kind="stable")
        ordered = histories if np.all(order[1:] > order[:-1]) else histories.take(order)
        return cls(ordered, offsets_of(np.bincount(codes, minlength=groups)))

    @property
    def event_codes(self) -> IntArray:
        """Group of each event."""
        return np.repeat(self.group_codes(), self.histories.sizes)

    @property
    def events(self) -> IntArray:
        """Events of each group."""
        return np.diff(self.histories.offsets[self.offsets])

    @property
    def latest(self) -> FloatArray:
        """Latest end of observation of each group, one hour where there is none."""
        out = np.zeros(self.n_groups)
        np.maximum.at(out, self.group_codes(), self.histories.end)
        return np.where(out > 0.0, out, 1.0)

    def per_group(self, values: FloatArray) -> FloatArray:
        """Sum of a value of each event over the groups."""
        return per_group(values, self.event_codes, self.n_groups)

    def take(self, positions: IntArray) -> Copies:
        """Some of the groups."""
        return Copies(self.histories.take(self.rows_of(positions)), offsets_of(self.sizes[positions]))


@dataclass(frozen=True)
class _Windows(Ragged):
    """Different windows of each group, in units of its latest end, and how many histories have each."""

    offsets: IntArray
    begin: FloatArray
    end: FloatArray
    count: FloatArray

    @classmethod
    def of(cls, copies: Copies) -> _Windows:
        codes = copies.group_codes()
        unit = copies.latest[codes]
        begin, end = copies.histories.begin / unit, copies.histories.end / unit
        order = np.lexsort((end, begin, codes))
        codes, begin, end = codes[order], begin[order], end[order]
        new = np.ones(codes.size, dtype=np.bool_)
        new[1:] = (codes[1:] != codes[:-1]) | (begin[1:] != begin[:-1]) | (end[1:] != end[:-1])
        starts = np.flatnonzero(new)
        offsets = np.searchsorted(codes[starts], np.arange(copies.n_groups + 1)).astype(np.int64)
        return cls(offsets, begin[starts], end[starts], np.diff(np.append(starts, codes.size)).astype(np.float64))

    def take(self, positions: IntArray) -> _Windows:
        rows = self.rows_of(positions)
        return _Windows(offsets_of(self.sizes[positions]), self.begin[rows], self.end[rows], self.count[rows])


class _Poisson:
    """A Poisson process whose intensity depends on a mean and one further parameter."""

    def __init__(self, windows: _Windows, events: FloatArray, total: FloatArray, latest: FloatArray) -> None:
        self.windows = windows
        self.events = events
        self.total = total
        self.latest = latest
        self._owner = windows.group_codes()

    @property
    def n_groups(self) -> int:
        return self.events.size

    def take(self, positions: IntArray) -> _Poisson:
        return type(self)(
            self.windows.take(positions), self.events[positions], self.total[positions], self.latest[positions]
        )

    @staticmethod
    def integral(second: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
        """Expected events in a window, in units of the mean."""
        raise NotImplementedError

    @staticmethod
    def linear(second: FloatArray, total: FloatArray, events: FloatArray) -> FloatArray:
        """Sum of the log intensities of the events at a mean of one."""
        raise NotImplementedError

    def exposure(self, second: FloatArray) -> FloatArray:
        """Expected events of each group in units of the mean, for `second` of shape (trials, groups)."""
        part = self.windows.count * self.integral(second[:, self._owner], self.windows.begin, self.windows.end)
        return np.add.reduceat(part, self.windows.offsets[:-1], axis=1)

    def __call__(self, free: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            second = free[..., 1]
            value = (
                self.events * (free[..., 0] - np.log(self.latest))
                + self.linear(second, self.total, self.events)
                - np.exp(free[..., 0]) * self.exposure(second)
            )
        return np.where(np.isfinite(value), value, -np.inf)

    def start(self, second: FloatArray) -> FloatArray:
        """Free coordinates with the mean that is best for a second coordinate, shape (groups, 2)."""
        with np.errstate(all="ignore"):
            first = np.log(self.events / self.exposure(second[None])[0])
        return np.stack([first, second], axis=1)


class PowerLaw(_Poisson):
    """Intensity ``m b s**(b - 1)`` with s the time in units of the latest end; free coordinates ``log m, log b``."""

    @classmethod
    def of(cls, copies: Copies) -> PowerLaw:
        """From the histories of each group."""
        with np.errstate(divide="ignore"):
            log = np.log(copies.histories.times / copies.latest[copies.event_codes])
        total = copies.per_group(log)
        return cls(_Windows.of(copies), copies.events.astype(np.float64), total, copies.latest)

    @staticmethod
    def integral(second: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
        """See the base."""
        b = np.exp(second)
        return np.asarray(end**b - begin**b)

    @staticmethod
    def linear(second: FloatArray, total: FloatArray, events: FloatArray) -> FloatArray:
        """See the base."""
        # not (b - 1) * total: near b = 1 expm1 keeps its digits
        return np.asarray(events * second + np.expm1(second) * total)

    def first_guess(self) -> FloatArray:
        """The closed form for windows that are alike."""
        with np.errstate(all="ignore"):
            b = np.clip(np.nan_to_num(self.events / -self.total, nan=1.0), 0.05, 20.0)
        return self.start(np.log(b))


class LogLinear(_Poisson):
    """Intensity ``m exp(g (s - 1/2))``; free coordinates ``log m, g``."""

    @classmethod
    def of(cls, copies: Copies) -> LogLinear:
        """From the histories of each group."""
        total = copies.per_group(copies.histories.times / copies.latest[copies.event_codes] - 0.5)
        return cls(_Windows.of(copies), copies.events.astype(np.float64), total, copies.latest)

    @staticmethod
    def integral(second: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
        """See the base."""
        length = end - begin
        return np.asarray(length * np.exp(second * (begin - 0.5)) * special.exprel(second * length))

    @staticmethod
    def linear(second: FloatArray, total: FloatArray, events: FloatArray) -> FloatArray:
        """See the base."""
        return np.asarray(second * total)

    def first_guess(self) -> FloatArray:
        """From the distance of the mean time from the middle: its variance is a twelfth."""
        with np.errstate(all="ignore"):
            g = np.clip(12.0 * np.nan_to_num(self.total / self.events), -20.0, 20.0)
        return self.start(g)


class Renewal:
    """Weibull gaps; free coordinates ``log shape, log scale``.

    The gap before the first event of a left-open history began at an unknown time: it has the distribution that such
    gaps have in a process that has run for long.
    """

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        histories = copies.histories
        gaps = histories.gaps()
        vague = histories.left_open & (histories.opening == 0)
        has = histories.sizes > 0
        regular = np.ones(gaps.size, dtype=np.bool_)
        regular[histories.offsets[:-1][has & vague]] = False
        tail = histories.end - histories.last_event()
        code = copies.group_codes()
        silent = ~has & vague & (tail > 0.0)
        tails = (has | ~vague) & (tail > 0.0)
        event_code = copies.event_codes
        with np.errstate(divide="ignore"):
            self.log = np.log(gaps)
            self.tail_log = np.log(np.where(tails, tail, 0.0))
            self.silent_log = np.log(tail[silent])
        self.code = code
        self.silent = code[silent]
        self.count = np.bincount(event_code[regular], minlength=copies.n_groups).astype(np.float64)
        self.open = np.bincount(event_code[~regular], minlength=copies.n_groups).astype(np.float64)
        self.sum_log = np.bincount(event_code[regular], self.log[regular], minlength=copies.n_groups)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.copies.n_groups

    def take(self, positions: IntArray) -> Renewal:
        """The same for some of the groups."""
        return Renewal(self.copies.take(positions))

    def __call__(self, free: FloatArray) -> FloatArray:
        """Log-likelihood, shape (trials, groups)."""
        with np.errstate(all="ignore"):
            shape, log_scale = np.ascontiguousarray(np.exp(free[..., 0])), np.ascontiguousarray(free[..., 1])
            each = np.empty((free.shape[0], self.code.size))
            over_groups(
                self.copies.histories.offsets,
                lambda a, b: _weibull_hazards(
                    self.log, self.tail_log, self.copies.histories.offsets, self.code, shape, log_scale, each, a, b
                ),
            )
            hazard = np.stack([np.bincount(self.code, row, minlength=self.n_groups) for row in each])
            out = np.asarray(
                self.count * (free[..., 0] - shape * log_scale)
                + (shape - 1.0) * self.sum_log
                - hazard
                - self.open * (log_scale + special.gammaln(1.0 + 1.0 / shape)),
                dtype=np.float64,
            )
            if self.silent.size:
                for trial in range(free.shape[0]):
                    k = shape[trial, self.silent]
                    reached = np.exp(k * (self.silent_log - log_scale[trial, self.silent]))
                    beyond = np.log(special.gammaincc(1.0 / k, reached))
                    out[trial] += np.bincount(self.silent, beyond, minlength=self.n_groups)
        return np.where(np.isfinite(out), out, -np.inf)

    def first_guess(self) -> FloatArray:
        """The exponential."""
        hours = np.bincount(self.copies.group_codes(), self.copies.histories.length, minlength=self.n_groups)
        with np.errstate(all="ignore"):
            log = np.log(hours / np.maximum(self.copies.events, 1))
        return np.stack([np.zeros_like(log), log], axis=1)


def differs(copies: Copies) -> BoolArray:
    """Which groups have events at more than one age."""
    first, last = np.full(copies.n_groups, np.inf), np.full(copies.n_groups, -np.inf)
    np.minimum.at(first, copies.event_codes, copies.histories.times)
    np.maximum.at(last, copies.event_codes, copies.histories.times)
    return np.asarray(last > first)


@njit(cache=True, nogil=True)
def _weibull_hazards(
    log_gaps: np.ndarray,  # of the events
    log_tails: np.ndarray,  # of the hours after the last event, a history; minus infinity where they do not count
    offsets: np.ndarray,  # of the events, by history
    group: np.ndarray,  # of each history
    shape: np.ndarray,  # (trials, groups)
    log_scale: np.ndarray,
    out: np.ndarray,  # (trials, histories)
    first: int,
    last: int,
) -> None:
    """Sum of the cumulative Weibull hazards of the gaps and the tail, for the histories first..last and every trial."""
    for trial in range(shape.shape[0]):
        for history in range(first, last):
            b, mu = shape[trial, group[history]], log_scale[trial, group[history]]
            total = math.exp(b * (log_tails[history] - mu))
            for event in range(offsets[history], offsets[history + 1]):
                total += math.exp(b * (log_gaps[event] - mu))
            out[trial, history] = total
