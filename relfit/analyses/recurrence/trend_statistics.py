"""Statistics and p-values of the four tests of trend, for all groups at once; `trend_tests` documents them.

Each takes its data and which groups have a single system, and gives statistic, p-value, direction and status by group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.analyses.independence.rank_nulls import inversions
from relfit.analyses.recurrence.histories import EventHistories, differs
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.ragged import Ragged, offsets_of, per_group

_Outcome = tuple[FloatArray, FloatArray, IntArray, npt.NDArray[np.object_]]
LASTING_PARTS = 12  # of a window, through whose counts a straight line is fitted
_EXACT_UNIFORMS = 12  # up to this many events the sum of uniform times has its exact distribution
_EXACT_PAIRS = 30  # up to this many gaps the number of rising pairs has its exact distribution


def _standardised(total: FloatArray, variance: FloatArray, ok: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Standard normal statistic, its two-sided p-value and its sign; NaN and 0 where not `ok`."""
    z = np.divide(total, np.sqrt(variance), out=np.full(total.size, np.nan), where=ok)
    return z, 2.0 * special.ndtr(-np.abs(z)), np.sign(np.nan_to_num(z)).astype(np.int64)


@dataclass(frozen=True)
class CountedEvents:
    """Events of each group that are not the end of their window, as shares of it."""

    events: IntArray  # of each group
    group: IntArray  # of each event
    share: FloatArray  # of its window that had passed
    window: FloatArray  # its length
    cut: BoolArray  # histories that ended with their last event
    one_instant: BoolArray  # groups

    @classmethod
    def of(cls, histories: EventHistories, codes: IntArray, size: int) -> CountedEvents:
        """From histories in groups."""
        has, last = histories.sizes > 0, histories.last_event()
        cut = has & (last == histories.end)
        history = histories.group_codes()
        length = histories.length[history]
        counted = length > 0.0
        counted[histories.offsets[1:][cut] - 1] = False
        group = codes[history]
        many = np.bincount(codes, histories.sizes, minlength=size) > 1
        one_instant = many & ~differs(histories.times, group, size)
        events = np.bincount(group[counted], minlength=size).astype(np.int64)
        share = (histories.times - histories.begin[history])[counted] / length[counted]
        return cls(events, group[counted], share, length[counted], cut, one_instant)

    def total(self, values: FloatArray) -> FloatArray:
        """Sum over the events of each group."""
        return per_group(values, self.group, self.events.size)

    def status(self, least: int) -> npt.NDArray[np.object_]:
        """Why a group has no test."""
        few = np.where(self.events < least, "too_few", "ok")
        return np.where(self.one_instant, "one_instant", few).astype(object)


def laplace(counted: CountedEvents, alone: BoolArray) -> _Outcome:
    """Laplace's test."""
    status = counted.status(2)
    ok = status == "ok"
    away, variance = counted.total(counted.window * (counted.share - 0.5)), counted.total(counted.window**2 / 12.0)
    z, p, direction = _standardised(away, variance, ok)
    exact = ok & alone & (counted.events <= _EXACT_UNIFORMS)
    p[exact] = _uniform_sum_p(counted.total(counted.share)[exact], counted.events[exact])
    return z, p, direction, status


def _uniform_sum_p(total: FloatArray, count: IntArray) -> FloatArray:
    """Two-sided p-value of a sum of up to twelve uniform variates (Irwin-Hall)."""
    low = np.minimum(total, count - total)
    n = count.astype(np.float64)
    value = np.zeros(total.size)
    for k in range(_EXACT_UNIFORMS // 2 + 1):
        term = np.where(k <= low, np.maximum(low - k, 0.0) ** n, 0.0) * special.binom(n, k)
        value += (-1) ** k * np.where(k <= count, term, 0.0)
    return np.clip(2.0 * value / special.gamma(n + 1.0), 0.0, 1.0)


def handbook(counted: CountedEvents, alone: BoolArray) -> _Outcome:
    """The test of MIL-HDBK-189."""
    status = counted.status(1)
    with np.errstate(divide="ignore"):
        value = -2.0 * counted.total(np.log(counted.share))
    status[(status == "ok") & ~np.isfinite(value)] = "at_beginning"
    ok = status == "ok"
    value[~ok] = np.nan
    freedom = 2.0 * np.maximum(counted.events, 1)
    below, above = special.chdtr(freedom, value), special.chdtrc(freedom, value)
    direction = np.where(ok, np.where(below < above, 1, -1), 0).astype(np.int64)
    return value, np.minimum(2.0 * np.minimum(below, above), 1.0), direction, status


def lasting(counted: CountedEvents) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Student's t (10 degrees of freedom) of the slope of counts by part, two-sided p, and their variance over mean.
    Events in bursts are not Poisson, so the line is compared with the scatter of the twelve parts; the error is widened
    by the autocorrelation of the residuals (less its bias), as of a season.
    """
    size, parts = counted.events.size, LASTING_PARTS
    cell = counted.group * parts + np.minimum((counted.share * parts).astype(np.int64), parts - 1)
    number = np.bincount(cell, minlength=size * parts).reshape(size, parts).astype(np.float64)
    weight = np.bincount(cell, counted.window, size * parts).reshape(size, parts)
    along = np.arange(parts) - 0.5 * (parts - 1)
    slope = weight @ along / (along @ along)
    away = weight - weight.mean(axis=1, keepdims=True) - slope[:, None] * along
    square = np.einsum("ij,ij->i", away, away)
    usable = ((number > 0).sum(axis=1) > 1) & ~counted.one_instant
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.clip(np.einsum("ij,ij->i", away[:, 1:], away[:, :-1]) / square + 1.0 / parts, 0.0, 0.9)
        error = np.sqrt(square / (parts - 2) / (along @ along) * (1.0 + shared) / (1.0 - shared))
        t = np.where(usable, slope / error, np.nan)
        dispersion = number.var(axis=1, ddof=1) / number.mean(axis=1)
    return t, 2.0 * special.stdtr(parts - 2, -np.abs(t)), dispersion


@dataclass(frozen=True)
class Gaps(Ragged):
    """Complete gaps of each history."""

    gaps: FloatArray
    offsets: IntArray
    codes: IntArray  # group of each history
    groups: int

    @classmethod
    def of(cls, histories: EventHistories, codes: IntArray, size: int) -> Gaps:
        """From histories in groups, without the first gaps whose beginning is not known."""
        gaps = histories.gaps()
        complete = np.ones(gaps.size, dtype=np.bool_)
        vague = (histories.sizes > 0) & histories.left_open & (histories.opening == 0)
        complete[histories.offsets[:-1][vague]] = False
        offsets = offsets_of(histories.sizes - vague)
        return cls(gaps[complete], offsets, codes, size)

    def over(self, values: FloatArray) -> FloatArray:
        """Sum over the gaps of each history."""
        return per_group(values, self.group_codes(), self.codes.size)

    def pooled(self, values: FloatArray) -> FloatArray:
        """Sum over the histories of each group."""
        return per_group(values, self.codes, self.groups)

    def status(self, spread: BoolArray, alone: BoolArray) -> npt.NDArray[np.object_]:
        """Why a group has no test; `spread` marks histories whose gaps differ."""
        out = np.full(self.groups, "ok", dtype=object)
        out[self.pooled(((self.sizes >= 2) & spread).astype(np.float64)) == 0] = "constant"
        most = np.zeros(self.groups, dtype=np.int64)
        np.maximum.at(most, self.codes, self.sizes)
        out[most < np.where(alone, 3, 2)] = "too_few"
        # all gaps after the first zero, and the first one not counted or the only one
        out[(most >= 2) & (self.pooled(self.over(self.gaps)) == 0.0)] = "one_instant"
        return out


def lewis_robinson(gaps: Gaps, alone: BoolArray) -> _Outcome:
    """The test of Lewis and Robinson."""
    m, history = gaps.sizes.astype(np.float64), gaps.group_codes()
    mean = (gaps.over(gaps.gaps) / np.maximum(m, 1.0))[history]
    away = np.divide(gaps.gaps, mean, out=np.zeros_like(gaps.gaps), where=mean > 0.0) - 1.0
    from_middle = np.arange(gaps.gaps.size) - gaps.offsets[:-1][history] - 0.5 * (m[history] - 1.0)
    square = gaps.over(away**2)
    spread = square > 1e-20 * m
    usable = spread & (m >= 2)
    # shrinking gaps have small values late: events late, a positive statistic
    total = gaps.pooled(np.where(usable, -gaps.over(from_middle * away), 0.0))
    # m (m^2 - 1) / 12 times the variance of the gaps
    variance = gaps.pooled(np.where(usable, m * (m + 1.0) / 12.0 * square, 0.0))
    status = gaps.status(spread, alone)
    status[(status == "ok") & (variance == 0.0)] = "constant"
    ok = status == "ok"
    z, p, direction = _standardised(total, variance, ok)
    single = ok & alone
    fourth = gaps.pooled(gaps.over(away**4))[single]
    p[single] = _correlation_p(z[single], gaps.pooled(m)[single], gaps.pooled(square)[single], fourth)
    return z, p, direction, status


def _correlation_p(z: FloatArray, m: FloatArray, square: FloatArray, fourth: FloatArray) -> FloatArray:
    """Two-sided p-value of the correlation of m values with their numbers by two moments (Pitman 1937)."""
    numbers, numbers_fourth = m * (m * m - 1.0) / 12.0, m * (m * m - 1.0) * (3.0 * m * m - 7.0) / 240.0
    excess = np.ones_like(m)
    with np.errstate(all="ignore"):
        for second, higher in ((square, fourth), (numbers, numbers_fourth)):
            k4 = m / ((m - 1.0) * (m - 2.0) * (m - 3.0)) * ((m + 1.0) * higher - 3.0 * (m - 1.0) / m * second**2)
            excess *= k4 / (second / (m - 1.0)) ** 2
        excess = np.where(m > 3, (m - 2.0) * (m - 3.0) / (3.0 * m * (m - 1.0) ** 2) * excess, 0.0)
        mean, moment = 1.0 / (m - 1.0), 3.0 / (m * m - 1.0) * (1.0 + excess)
        total = (mean - moment) / (moment - mean**2)
        total = np.where((total > 0.0) & np.isfinite(total), total, 0.5 * (m - 1.0))
    squared = np.clip(z * z / (m - 1.0), 0.0, 1.0)
    return np.asarray(special.betaincc(total * mean, total * (1.0 - mean), squared), dtype=np.float64)


def mann(gaps: Gaps, alone: BoolArray) -> _Outcome:
    """Mann's test."""
    rising, tied, ties = (np.zeros(gaps.codes.size) for _ in range(3))
    over_groups(gaps.offsets, lambda a, b: _inversions(gaps.gaps, gaps.offsets, rising, tied, ties, a, b))
    m = gaps.sizes.astype(np.float64)
    variance = (m * (m - 1.0) * (2.0 * m + 5.0) - tied) / 18.0
    status = gaps.status(variance > 0.0, alone)
    ok = status == "ok"
    total, variance = gaps.pooled(-rising), gaps.pooled(np.maximum(variance, 0.0))
    z, _, direction = _standardised(total, variance, ok)
    _, p, _ = _standardised(np.maximum(np.abs(total) - 1.0, 0.0), variance, ok)
    exact = ok & alone & (gaps.pooled(m) <= _EXACT_PAIRS) & (gaps.pooled(ties) == 0.0)
    if exact.any():
        count = gaps.pooled(m)[exact].astype(np.int64)
        # number of falling pairs, from the end that has fewer
        fewer = np.round((count * (count - 1) // 2 - np.abs(total[exact])) / 2.0).astype(np.int64)
        below = {n: np.cumsum(inversions(n)) for n in np.unique(count).tolist()}
        p[exact] = [min(2.0 * below[n][k], 1.0) for n, k in zip(count.tolist(), fewer.tolist(), strict=True)]
    return z, p, direction, status


@njit(cache=True, nogil=True)
def _inversions(
    values: np.ndarray,
    offsets: np.ndarray,
    rising: np.ndarray,  # takes the number of rising less that of falling pairs of each group
    tied: np.ndarray,  # takes the sum of t (t - 1) (2 t + 5) over runs of t equal values
    ties: np.ndarray,  # takes the sum of t (t - 1)
    first: int,
    last: int,
) -> None:
    """Count pairs that rise and fall in the groups first..last by merge sort, so in n log n steps."""
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        size = end - begin
        work = values[begin:end].copy()
        spare = np.empty(size)
        falling = 0
        width = 1
        while width < size:
            for low in range(0, size, 2 * width):
                middle = min(low + width, size)
                high = min(low + 2 * width, size)
                i, j = low, middle
                for k in range(low, high):
                    if i < middle and (j >= high or work[i] <= work[j]):
                        spare[k] = work[i]
                        i += 1
                    else:
                        spare[k] = work[j]
                        j += 1
                        falling += middle - i
            work, spare = spare, work
            width *= 2
        i = 0
        while i < size:
            j = i
            while j < size and work[j] == work[i]:
                j += 1
            t = float(j - i)
            tied[group] += t * (t - 1.0) * (2.0 * t + 5.0)
            ties[group] += t * (t - 1.0)
            i = j
        rising[group] = 0.5 * size * (size - 1.0) - 0.5 * ties[group] - 2.0 * falling
