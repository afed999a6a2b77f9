"""Exact segmentation of counts (Jackson et al. 2005), and the penalty that keeps a constant rate in one segment.

The penalty comes from random logs with a constant rate in which every node keeps its times between failures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray, IntArray, NumberArray
from relfit.base.numeric.compiled import njit

_CALIBRATION_BINS = 300
_STEEPEST = 40.0  # log of the factor by which a rate changes in a trend
_LEAST_MONTHS = 12  # whose differences show whether a rate wanders
_MANY = 20  # failures of a node, from which its longest time between failures is known
_PLAIN = 25  # random logs that gain as much
_KEPT = 0.8  # of these differences, the smaller ones
_MEAN_OF_KEPT = 0.4375  # mean of the smaller four fifths of a chi-square variate with one degree of freedom


def segments(counts: npt.ArrayLike, exposure: npt.ArrayLike, penalty: float, shortest: int = 1) -> IntArray:
    """Bins at which the segments of greatest log-likelihood less `penalty` per change begin, and the number of bins."""
    running, time = (np.append(0.0, np.cumsum(np.asarray(values, dtype=np.float64))) for values in (counts, exposure))
    return np.asarray(_best_cuts(running, time, penalty, shortest), dtype=np.int64)


def merged(cuts: IntArray, counts: npt.ArrayLike, exposure: npt.ArrayLike, least_change: float) -> IntArray:
    """Segments joined, the least costly first, until neighbours' rates differ by the factor `least_change` or more."""
    joined = np.asarray(cuts, dtype=np.int64)
    while joined.size > 2:
        number = np.add.reduceat(np.asarray(counts, dtype=np.float64), joined[:-1])
        time = np.add.reduceat(np.asarray(exposure, dtype=np.float64), joined[:-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = number / time
            change = np.maximum(rate[1:] / rate[:-1], rate[:-1] / rate[1:])
        near = np.flatnonzero(change < least_change)
        if not near.size:
            break
        value = [_value(*each) for each in zip(number, time, strict=True)]
        both = [_value(number[i] + number[i + 1], time[i] + time[i + 1]) for i in near.tolist()]
        cost = [value[i] + value[i + 1] - joint for i, joint in zip(near.tolist(), both, strict=True)]
        joined = np.delete(joined, near[int(np.argmin(cost))] + 1)
    return joined


@njit(cache=True, nogil=True)
def _value(number: float, time: float) -> float:
    """Largest Poisson log-likelihood of a segment, up to a term that all segmentations share."""
    return number * np.log(number / time) if number > 0.0 and time > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _best_cuts(running: np.ndarray, time: np.ndarray, penalty: float, shortest: int) -> np.ndarray:
    size = running.size - 1
    best = np.full(size + 1, -np.inf)
    best[0] = penalty
    previous = np.zeros(size + 1, dtype=np.int64)
    for end in range(shortest, size + 1):
        for start in range(end - shortest + 1):
            value = best[start] + _value(running[end] - running[start], time[end] - time[start]) - penalty
            if value > best[end]:
                best[end], previous[end] = value, start
    cuts = [size]
    while cuts[-1] > 0:
        cuts.append(previous[cuts[-1]])
    return np.array(cuts[::-1])


def _scatter(counts: FloatArray, exposure: FloatArray, parts: int) -> FloatArray:
    """Square differences of neighbours among `parts` joined bins relative to Poisson, rising; 1 on average."""
    starts = (np.arange(parts) * counts.size) // max(parts, 1)
    number, time = np.add.reduceat(counts, starts), np.add.reduceat(exposure, starts)
    x, y, a, b = number[:-1], number[1:], time[:-1], time[1:]
    usable = (x + y > 0) & (a > 0) & (b > 0)
    x, y, a, b = x[usable], y[usable], a[usable], b[usable]
    return np.sort((x * b - y * a) ** 2 / (a * b * (x + y)))


def excess(counts: NumberArray, exposure: FloatArray, shortest: int) -> float:
    """Scatter relative to Poisson, at least 1: the larger of that of neighbouring bins and that from month to month.
    Bins are joined to some five failures each; a fifth of the monthly differences, perhaps changes, is left out.
    """
    number, total = counts.astype(np.float64), int(counts.sum())
    near = _scatter(number, exposure, int(np.clip(total // 5, min(40, counts.size), counts.size)))
    least = float(near.mean()) if near.size else 0.0
    parts = min(counts.size // max(shortest, 1), total // 5)
    if parts >= _LEAST_MONTHS:
        square = _scatter(number, exposure, parts)
        smaller = square[: max(int(_KEPT * square.size), 1)]
        least = max(least, float(smaller.mean()) / _MEAN_OF_KEPT if square.size else 1.0)
    return max(1.0, least)


def dispersions(counts: NumberArray, exposure: FloatArray, cuts: IntArray, spans: IntArray) -> FloatArray:
    """Variance over mean of the counts of this many bins together, about the rates of segments, one value per span."""
    number, time = np.add.reduceat(counts, cuts[:-1]), np.add.reduceat(exposure, cuts[:-1])
    rate = np.divide(number, time, out=np.zeros(time.size), where=time > 0.0)
    due = np.repeat(rate, np.diff(cuts)) * exposure
    out = np.empty(spans.size)
    for i, span in enumerate(spans):  # two of them
        starts = np.arange(0, counts.size, span)
        away = np.add.reduceat(counts - due, starts)
        out[i] = (away @ away) / max(due.sum(), 1e-300) * starts.size / max(starts.size - rate.size, 1)
    return out


def thinned(counts: NumberArray, exposure: FloatArray, shortest: int) -> tuple[FloatArray, FloatArray, int]:
    """At most some hundreds of bins, and the least segment in them."""
    step = -(-counts.shape[-1] // _CALIBRATION_BINS)
    starts = np.arange(0, counts.shape[-1], step)
    number = np.add.reduceat(counts.astype(np.float64), starts, axis=-1)
    return number, np.add.reduceat(exposure, starts), max(1, round(shortest / step))


def gain_of(number: FloatArray, time: FloatArray, shortest: int) -> float:
    """The least penalty at which neither one change nor two are a gain."""
    running = np.concatenate([[0.0], np.cumsum(number)])
    return float(_largest_gain(running, np.concatenate([[0.0], np.cumsum(time)]), shortest))


def steps_or_trend(counts: NumberArray, exposure: FloatArray, cuts: IntArray) -> tuple[float, float]:
    """What a rate constant between `cuts`, and a log-linear one, gain over a constant rate, less BIC's penalties."""
    number, time = np.asarray(counts, dtype=np.float64), np.asarray(exposure, dtype=np.float64)
    cost = 0.5 * np.log(max(number.sum(), 1.0))
    n, t = np.add.reduceat(number, cuts[:-1]), np.add.reduceat(time, cuts[:-1])
    steady = special.xlogy(number.sum(), number.sum() / time.sum())
    steps = special.xlogy(n, n / np.where(t > 0.0, t, 1.0)).sum() - steady
    at = (np.arange(number.size) + 0.5) / number.size
    mean = float(number @ at / max(number.sum(), 1.0))

    def away(slope: float) -> float:
        weight = time * np.exp(slope * (at - 0.5))
        return float(weight @ at / weight.sum()) - mean

    ends = (-_STEEPEST, _STEEPEST)
    slope = scipy.optimize.brentq(away, *ends) if away(ends[0]) < 0.0 < away(ends[1]) else 0.0
    level = np.log(time.sum() / (time @ np.exp(slope * (at - 0.5))))
    trend = number @ (level + slope * (at - 0.5))
    return float(steps - 2 * (n.size - 1) * cost), float(trend - cost)


def null_gains(
    draw: Callable[[np.random.Generator], IntArray],
    exposure: FloatArray,
    shortest: int,
    best: float,
    n_resamples: int,
    rng: int | np.random.Generator | None,
) -> tuple[FloatArray, float]:
    """Best gains in logs of a constant rate, p-value of `best`; ends once that is plain (Besag and Clifford 1991)."""
    generator = random_stream(rng)
    gains = np.empty(n_resamples)
    reached = 0
    for i in range(n_resamples):
        counts = draw(generator)
        gains[i] = gain_of(*thinned(counts, exposure, shortest)) / excess(counts, exposure, shortest)
        reached += gains[i] >= best
        if reached == _PLAIN and i + 1 < n_resamples:
            return gains[: i + 1], reached / (i + 1)
    return gains, (1 + reached) / (1 + n_resamples)


@dataclass(frozen=True)
class Renewals:
    """Failures as renewals of their owners: what a constant rate looks like with these times between failures."""

    gaps: FloatArray
    owner: npt.NDArray[Any]
    begin: IntArray
    length: IntArray

    @classmethod
    def of(cls, when: IntArray, owner: IntArray, entered: IntArray, left: IntArray, most: int) -> Renewals:
        """Failures within the observation of their owners; of more than `most`, those of the first owners."""
        length = np.maximum(left - entered, 1)
        inside = (when >= entered[owner]) & (when <= left[owner])
        when, owner = when[inside], owner[inside]
        order = np.lexsort((when, owner))
        present, sizes = np.unique(owner[order], return_counts=True)
        owners = max(int(np.searchsorted(np.cumsum(sizes), most, side="right")), 1)
        present, sizes = present[:owners], sizes[:owners]
        order = order[: int(sizes.sum())]
        begin, length = entered[present], length[present]
        if not present.size:
            return cls(np.zeros(0), owner[order], begin, length)
        last = np.cumsum(sizes) - 1
        first = last - sizes + 1
        times = when[order] - np.repeat(begin, sizes)
        gaps = np.diff(times, append=0).astype(np.float64)
        gaps[last] = 0.0
        # what is left of the time of observation, from the last failure round to the first; a node of many failures
        # that falls silent has no such time between failures
        around = (times[first] + length - times[last]).astype(np.float64)
        longest = np.maximum.reduceat(gaps, first)
        gaps[last] = np.where(sizes >= _MANY, np.minimum(around, longest), around)
        gaps *= np.repeat(length / np.maximum(np.add.reduceat(gaps, first), 1.0), sizes)
        return cls(gaps, np.repeat(np.arange(present.size), sizes), begin, length)

    def drawn(self, rng: np.random.Generator) -> IntArray:
        """Instants with each owner's times between failures in random order, from a random moment on."""
        order = rng.permutation(self.owner.size)
        shift = rng.random(self.length.size) * self.length - self._before
        return np.asarray(_renewed(order, self.owner, self.gaps, shift, self.begin, self.length))

    @cached_property
    def _before(self) -> FloatArray:
        """Time of observation of all owners before each."""
        return np.cumsum(self.length.astype(np.float64)) - self.length


@njit(cache=True, nogil=True)
def _renewed(
    order: np.ndarray, owner: np.ndarray, gaps: np.ndarray, shift: np.ndarray, begin: np.ndarray, length: np.ndarray
) -> np.ndarray:
    """Instants of failures with the times between them in another `order`, from `shift` on and once round."""
    sorted_by_owner = np.empty_like(gaps)
    place = np.searchsorted(owner, np.arange(length.size))
    for row in order:
        sorted_by_owner[place[owner[row]]] = gaps[row]
        place[owner[row]] += 1
    at = np.empty(gaps.size, dtype=np.int64)
    total = 0.0
    for i in range(gaps.size):
        total += sorted_by_owner[i]
        of = owner[i]
        since = total + shift[of]
        if since >= length[of]:
            since -= length[of]
        at[i] = begin[of] + np.int64(min(max(since, 0.0), np.float64(length[of])))
    return at


@njit(cache=True, nogil=True)
def _largest_gain(running: np.ndarray, time: np.ndarray, shortest: int) -> float:
    """The least penalty at which one or two changes are no gain.

    As ``log x <= x - 1``, a part with n failures where m are due at the overall rate adds at most
    ``n - m + (n - m)**2 / m`` to the log-likelihood: the logs of most pairs of changes need not be taken.
    """
    size = running.size - 1
    if not (running[size] > 0.0 and time[size] > 0.0):
        return 0.0
    total, rate = _value(running[size], time[size]), running[size] / time[size]
    due = rate * time
    away = running - due
    head = np.empty(size + 1)
    tail = np.empty(size + 1)
    for i in range(size + 1):
        head[i] = _value(running[i], time[i])
        tail[i] = _value(running[size] - running[i], time[size] - time[i])
    top = 0.0
    for i in range(shortest, size - shortest + 1):
        top = max(top, head[i] + tail[i] - total)
    below = head - running * np.log(rate) - away
    above = tail + running * np.log(rate) + away - total
    for i in range(shortest, size + 1):
        for j in range(i + shortest, size - shortest + 1):
            apart = away[j] - away[i]
            if apart * apart > (2.0 * top - below[i] - above[j]) * (due[j] - due[i]):
                gain = head[i] + tail[j] + _value(running[j] - running[i], time[j] - time[i]) - total
                top = max(top, 0.5 * gain)
    return top
