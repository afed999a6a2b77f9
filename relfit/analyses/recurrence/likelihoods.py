"""Log-likelihoods of point processes for groups of copies, in the free coordinates in which they are maximised.

Events enter the Poisson processes through sums only, so that an evaluation costs as much as there are histories.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.analyses.recurrence.histories import EventHistories
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.ragged import Ragged, offsets_of, per_group, sums


@dataclass(frozen=True)
class GroupedHistories(Ragged):
    """Histories sorted by group; group ``j`` owns those at ``offsets[j]:offsets[j + 1]``."""

    histories: EventHistories
    offsets: IntArray

    @classmethod
    def of(cls, histories: EventHistories, codes: IntArray, groups: int) -> GroupedHistories:
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

    def take(self, positions: IntArray) -> GroupedHistories:
        """Some of the groups."""
        return GroupedHistories(self.histories.take(self.rows_of(positions)), offsets_of(self.sizes[positions]))


@dataclass(frozen=True)
class _Intensity:
    """An intensity of a mean and one further parameter, as functions of that parameter's free coordinate."""

    term: Callable[[FloatArray], FloatArray]  # what of the time of an event enters `linear`
    integral: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # events expected in a window at a mean of one
    linear: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # sum of the log intensities at a mean of one
    guess: Callable[[FloatArray, FloatArray], FloatArray]  # from sums of terms and numbers of events


def _of_power(second: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
    b = np.exp(second)
    return np.asarray(end**b - begin**b)


def _of_exponential(second: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
    length = end - begin
    return np.asarray(length * np.exp(second * (begin - 0.5)) * special.exprel(second * length))


_INTENSITIES = {
    # m b s**(b - 1) with s the time in units of the latest end; free coordinates log m, log b; the guess is the closed
    # form for windows that are alike
    "power_law": _Intensity(
        np.log,
        _of_power,
        # not (b - 1) * total: near b = 1 expm1 keeps its digits
        lambda second, total, events: events * second + np.expm1(second) * total,
        lambda total, events: np.log(np.clip(np.nan_to_num(events / -total, nan=1.0), 0.05, 20.0)),
    ),
    # m exp(g (s - 1/2)); free coordinates log m, g; the variance of the mean time is a twelfth
    "log_linear": _Intensity(
        lambda time: time - 0.5,
        _of_exponential,
        lambda second, total, events: second * total,
        lambda total, events: np.clip(12.0 * np.nan_to_num(total / events), -20.0, 20.0),
    ),
}


class _Process:
    """A process in some groups of copies; a subclass gives its log-likelihood."""

    copies: GroupedHistories

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.copies.n_groups


class Poisson(_Process):
    """A Poisson process of ``power_law`` or ``log_linear`` intensity, on a clock in units of the latest end."""

    def __init__(self, copies: GroupedHistories, model: str) -> None:
        self.copies, self.latest, self.events = copies, copies.latest, copies.events.astype(np.float64)
        self.model, self._intensity, self._codes = model, _INTENSITIES[model], copies.group_codes()
        ends = copies.histories.begin, copies.histories.end
        self._begin, self._end = (values / self.latest[self._codes] for values in ends)
        with np.errstate(divide="ignore"):
            terms = self._intensity.term(copies.histories.times / self.latest[copies.event_codes])
            self.total = copies.per_group(terms)

    def take(self, positions: IntArray) -> Poisson:
        """The same for some of the groups."""
        return Poisson(self.copies.take(positions), self.model)

    def _exposure(self, second: FloatArray) -> FloatArray:
        """Expected events of each group in units of the mean, for `second` of shape (trials, groups)."""
        part = self._intensity.integral(second[:, self._codes], self._begin, self._end)
        return np.add.reduceat(part, self.copies.offsets[:-1], axis=1)

    def __call__(self, free: FloatArray) -> FloatArray:
        """Log-likelihood, shape (trials, groups)."""
        first, second = free[..., 0], free[..., 1]
        with np.errstate(all="ignore"):
            of_events = self.events * (first - np.log(self.latest))
            of_events = of_events + self._intensity.linear(second, self.total, self.events)
            value = of_events - np.exp(first) * self._exposure(second)
        return np.where(np.isfinite(value), value, -np.inf)

    def first_guess(self) -> FloatArray:
        """Free coordinates with the mean that is best for a guess of the second, shape (groups, 2)."""
        with np.errstate(all="ignore"):
            second = self._intensity.guess(self.total, self.events)
            return np.stack([np.log(self.events / self._exposure(second[None])[0]), second], axis=1)


class Renewal(_Process):
    """Weibull gaps, stationary before a left-open history's first event; free coordinates ``log shape, log scale``."""

    def __init__(self, copies: GroupedHistories) -> None:
        self.copies, histories, size = copies, copies.histories, copies.n_groups
        gaps, codes, of_event = histories.gaps(), copies.group_codes(), copies.event_codes
        vague = histories.left_open & (histories.opening == 0)
        has = histories.sizes > 0
        regular = np.ones(gaps.size, dtype=np.bool_)
        regular[histories.offsets[:-1][has & vague]] = False
        tail = histories.end - histories.last_event()
        silent = ~has & vague & (tail > 0.0)
        tails = (has | ~vague) & (tail > 0.0)
        self.silent, self.silent_log = codes[silent], np.log(tail[silent])
        with np.errstate(divide="ignore"):
            log = np.log(gaps)
        # logs of gaps and of tails with the group of each, by group, and where each group begins
        ends = offsets_of(per_group(tails, codes, size))
        self.times = (log, of_event, histories.offsets[copies.offsets]), (np.log(tail[tails]), codes[tails], ends)
        self.count, self.open = (per_group(some, of_event, size) for some in (regular, ~regular))
        self.sum_log = np.bincount(of_event[regular], log[regular], minlength=size)

    def take(self, positions: IntArray) -> Renewal:
        """The same for some of the groups."""
        return Renewal(self.copies.take(positions))

    def __call__(self, free: FloatArray) -> FloatArray:
        """Log-likelihood, shape (trials, groups)."""
        with np.errstate(all="ignore"):
            shape, log_scale = np.exp(free[..., 0]), free[..., 1]
            out = self.count * (free[..., 0] - shape * log_scale) + (shape - 1.0) * self.sum_log
            out -= self.open * (log_scale + special.gammaln(1.0 + 1.0 / shape))
            for log, code, offsets in self.times:
                out -= sums(np.exp(shape[:, code] * (log - log_scale[:, code])), offsets)
            k = shape[:, self.silent]
            reached = np.exp(k * (self.silent_log - log_scale[:, self.silent]))
            np.add.at(out.T, self.silent, np.log(special.gammaincc(1.0 / k, reached)).T)
        return np.where(np.isfinite(out), out, -np.inf)

    def first_guess(self) -> FloatArray:
        """The exponential."""
        hours = np.bincount(self.copies.group_codes(), self.copies.histories.length, minlength=self.n_groups)
        with np.errstate(all="ignore"):
            log = np.log(hours / np.maximum(self.copies.events, 1))
        return np.stack([np.zeros_like(log), log], axis=1)
