"""Tests of trend for every repairable system of a batch and pooled over many: does the rate of failures change?

Laplace and MIL-HDBK-189 ask whether events come as those of a Poisson process of constant rate; Lewis-Robinson and Mann
ask whether they come as those of any renewal process (Ascher and Feingold 1984; Kvaloy and Lindqvist 1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.lifedata import key_columns
from relfit.numeric.batches import over_groups
from relfit.numeric.false_discovery import adjusted_p
from relfit.recurrence.histories import BoolArray, EventHistories, FloatArray, IntArray, grouping, sums
from relfit.recurrence.kernels import inversions
from relfit.text import p_value

__all__ = ["TESTS", "TREND_STATUS", "TrendTests", "trend_tests"]

TESTS = ("laplace", "mil_hdbk_189", "lewis_robinson", "mann")
TREND_STATUS = {
    "ok": "the test was made",
    "no_events": "nothing failed within the observation (a failure that begins it does not count)",
    "too_few": "fewer events or gaps than the test needs",
    "one_instant": "all events fall at one instant",
    "constant": "all gaps are equal, so they have no order and no spread",
    "at_beginning": "an event at the very beginning has no finite statistic",
}
TEST_WORDS = {
    "laplace": "Laplace's test",
    "mil_hdbk_189": "the test of MIL-HDBK-189",
    "lewis_robinson": "the test of Lewis and Robinson",
    "mann": "Mann's test",
}
_TRUNCATIONS = ("auto", "time", "failure")
_FEW = 40  # events below which Laplace's test misses a rate that doubles half way more often than not
_EXACT_UNIFORMS = 12  # up to so many events the sum of uniform times has its exact distribution
_EXACT_PAIRS = 30  # up to so many gaps the number of rising pairs has its exact distribution


@dataclass(frozen=True, eq=False)
class TrendTests:
    """Trend tests of every group; arrays of shape (groups, tests).

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    tests : tuple of str
    statistic : ndarray of float
        ``laplace``, ``lewis_robinson`` and ``mann``: standard normal without a trend, positive where the rate rises.
        ``mil_hdbk_189``: chi-square with `freedom` degrees of freedom, small where the rate rises.
    p, p_adjusted : ndarray of float
        Two-sided p-value; and that adjusted for the number of groups, test by test. NaN unless the status is ``ok``.
    direction : ndarray of int
        1 where the statistic points to a rising rate, -1 to a falling one, 0 to neither.
    status : ndarray of object
        See `TREND_STATUS`.
    freedom : ndarray of int, shape (groups,)
        Of ``mil_hdbk_189``.
    copies, events : ndarray of int, shape (groups,)
        Systems in each group, and the events that Laplace and MIL-HDBK-189 count: without the last of a
        failure-truncated history.
    gaps : ndarray of int, shape (groups,)
        Gaps that Lewis-Robinson and Mann count.
    failure_truncated : ndarray of int, shape (groups,)
        Histories whose observation was taken to have ended with their last event.
    adjustment, truncation : str
        As asked for.
    """

    groups: pd.Index
    tests: tuple[str, ...]
    statistic: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    direction: IntArray
    status: npt.NDArray[np.object_]
    freedom: IntArray
    copies: IntArray
    events: IntArray
    gaps: IntArray
    failure_truncated: IntArray
    adjustment: str
    truncation: str

    def of(self, test: str) -> pd.DataFrame:
        """One test, one row a group: statistic, p, p_adjusted, direction, status.

        Raises
        ------
        ArgumentError
            For a test that was not made.
        """
        if test not in self.tests:
            raise ArgumentError(f"no test {test!r} here", remedy=f"there is {', '.join(self.tests)}")
        i = self.tests.index(test)
        columns = ("statistic", "p", "p_adjusted", "direction", "status")
        return pd.DataFrame({name: getattr(self, name)[:, i] for name in columns}, index=self.groups)

    def share(self, alpha: float = 0.05, adjusted: bool = False) -> pd.Series:
        """Share of the groups with a test that it rejects at `alpha`, a value a test; NaN where none has one."""
        p = self.p_adjusted if adjusted else self.p
        made = np.isfinite(p)
        with np.errstate(invalid="ignore"):
            rejected = np.where(made, p <= alpha, False).sum(axis=0)
        count = made.sum(axis=0)
        return pd.Series(np.where(count > 0, rejected / np.maximum(count, 1), np.nan), index=list(self.tests))

    @property
    def sentence(self) -> str:
        """What the tests say for someone who wants to fit."""
        if len(self.groups) == 1:
            made = self.status[0] == "ok"
            if not made.any():
                return f"No trend test can be made: {TREND_STATUS[str(self.status[0, 0])]}."
            renewal = [i for i in range(len(self.tests)) if self.tests[i] in TESTS[2:] and made[i]]
            chosen = renewal or [int(i) for i in np.flatnonzero(made)]
            best = min(chosen, key=lambda i: float(self.p[0, i]))
            p = min(1.0, len(chosen) * float(self.p[0, best]))
            poisson = [i for i in range(len(self.tests)) if self.tests[i] in TESTS[:2] and made[i]]
            sure = [i for i in chosen if len(chosen) * float(self.p[0, i]) < 0.05]
            if len({bool(self.direction[0, i] > 0) for i in sure}) > 1:
                ways = " and ".join(
                    f"{TEST_WORDS[self.tests[i]]} says that it {'rises' if self.direction[0, i] > 0 else 'falls'}"
                    for i in sure
                )
                return (
                    f"The rate of failures changes over the observation, but not one way: {ways} (5 %, "
                    f"adjusted for {len(chosen)} tests). Look at the periods: a fit of one lifetime distribution to all "
                    "of it mixes different times."
                )
            if p < 0.05:
                way = "rises" if self.direction[0, best] > 0 else "falls"
                return (
                    f"The rate of failures {way} over the observation ({TEST_WORDS[self.tests[best]]}, "
                    f"{p_value(p)} adjusted for {len(chosen)} tests): a fit of one lifetime distribution to all of it "
                    "mixes different times."
                )
            if renewal and poisson and float(self.p[0, poisson].min()) < 0.025:
                return (
                    "Failures do not come as those of a Poisson process of constant rate, but no trend of the gaps is "
                    f"seen either ({p_value(p)}): a lifetime distribution other than the exponential may do."
                )
            if self.events[0] < _FEW:
                return (
                    f"No trend of the rate of failures is seen ({p_value(p)}), but {int(self.events[0])} failures are "
                    "too few to find one: even a rate that doubles half way would be missed more often than found."
                )
            return f"No trend of the rate of failures is seen ({p_value(p)}): one lifetime distribution may do."
        parts = []
        for i, test in enumerate(self.tests):
            tested = int((self.status[:, i] == "ok").sum())
            with np.errstate(invalid="ignore"):
                hit = np.nan_to_num(self.p_adjusted[:, i], nan=1.0) <= 0.05
            rising = int((hit & (self.direction[:, i] > 0)).sum())
            parts.append(f"{test} {int(hit.sum())} of {tested} ({rising} rising)")
        return f"Groups with a trend at 5 % after adjustment for their number: {', '.join(parts)}."

    def plot(self, ax: Any = None) -> Any:
        """Draw an overview of the tests; see `relfit.plotting.trends`."""
        from relfit import plotting

        return plotting.trends(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """One row a group: its keys, counts, and for every test statistic, p, adjusted p, direction and status."""
        frame = key_columns(self.groups)
        frame["copies"], frame["events"], frame["gaps"] = self.copies, self.events, self.gaps
        frame["failure_truncated"] = self.failure_truncated
        for i, test in enumerate(self.tests):
            for name in ("statistic", "p", "p_adjusted", "direction", "status"):
                frame[f"{test}_{name}"] = getattr(self, name)[:, i]
        if "mil_hdbk_189" in self.tests:
            frame["mil_hdbk_189_freedom"] = self.freedom
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Counts of outcomes, ready for JSON."""
        return {
            "groups": len(self.groups),
            "copies": int(self.copies.sum()),
            "adjustment": self.adjustment,
            "truncation": self.truncation,
            "tests": {
                test: {
                    "status": {str(k): int(v) for k, v in pd.Series(self.status[:, i]).value_counts().items()},
                    "rejected_at_0.05": int((np.nan_to_num(self.p[:, i], nan=1.0) <= 0.05).sum()),
                    "rejected_at_0.05_adjusted": int((np.nan_to_num(self.p_adjusted[:, i], nan=1.0) <= 0.05).sum()),
                }
                for i, test in enumerate(self.tests)
            },
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"TrendTests: {', '.join(self.tests)} of {len(self.groups)} groups, {self.copies.sum()} histories"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.to_frame().to_html(max_rows=10, index=False)}"


def trend_tests(
    histories: EventHistories,
    by: Any = "each",
    *,
    tests: tuple[str, ...] = TESTS,
    truncation: str = "auto",
    adjustment: str = "bh",
) -> TrendTests:
    """Test every system, or every group of systems, for a rate of failures that rises or falls.

    Parameters
    ----------
    histories : EventHistories
    by : "each", "all", a key of the histories, or array_like of labels
        ``"each"`` tests system by system. Otherwise the systems of a group are pooled: each keeps its own rate and its
        own window, and the evidence is added up.
    tests : tuple of str
        Of `TESTS`.
    truncation : {"auto", "time", "failure"}
        Whether observation ended at a time fixed beforehand, or with the last event, which then is not counted by
        Laplace and MIL-HDBK-189 and ends the window. ``auto``: with the last event where one falls on the very end.
    adjustment : {"bh", "by", "holm"}
        See `relfit.fitting.adjusted_p`.

    Returns
    -------
    TrendTests

    Raises
    ------
    ArgumentError
        For an unknown test or option.

    Notes
    -----
    With u the share of the window that has passed at an event, and n events:

    - ``laplace``: ``sqrt(12 n) (mean(u) - 1/2)``; exact up to 12 events of one system, normal beyond. Pooled: the sum
      of the events' distances from the middles of their windows, over its standard deviation given the numbers.
    - ``mil_hdbk_189``: ``2 sum ln(1/u)`` is chi-square with 2n degrees of freedom, also summed over systems.
    - ``lewis_robinson``: Laplace's statistic divided by the coefficient of variation of the gaps. Without a trend the
      complete gaps of a renewal process can be exchanged, whatever ended the observation; so the statistic is scaled by
      its exact standard deviation under exchange, which makes it ``-sqrt(m - 1)`` times the correlation of m gaps with
      their numbers (the textbook's times ``sqrt(m / (m + 1))``). The p-value takes the squared correlation as a beta
      variate with its exact first two moments under exchange. Pooled: sums of the systems' statistics and variances,
      in units of their mean gaps, normal.
    - ``mann``: Kendall's rising less falling pairs of gaps; exact up to 30 gaps without ties, else normal with ties
      and continuity allowed for. Pooled: sums of both.

    The gap before the first event is used unless the history is left-open.

    Examples
    --------
    The gaps of this system shrink:

    >>> from relfit.recurrence import EventHistories
    >>> found = trend_tests(EventHistories.from_groups([[10, 19, 27, 34, 40, 45, 49, 52, 54]], end=60.0))
    >>> found.of("laplace").round(4)[["statistic", "p", "status"]].values.tolist()
    [[1.1547, 0.2528, 'ok']]
    """
    unknown = [test for test in tests if test not in TESTS]
    if unknown or not tests:
        raise ArgumentError(f"unknown trend test {(unknown or ['none'])[0]!r}", remedy=f"use {', '.join(TESTS)}")
    if truncation not in _TRUNCATIONS:
        raise ArgumentError(f"truncation={truncation!r} is not known", remedy=f"use one of {', '.join(_TRUNCATIONS)}")
    codes, groups = grouping(histories, by)
    size = len(groups)
    counted = _Counted.of(histories, codes, size, truncation)
    gaps = _Gaps.of(histories, codes, size)
    shape = (size, len(tests))
    statistic, p = np.full(shape, np.nan), np.full(shape, np.nan)
    direction = np.zeros(shape, dtype=np.int64)
    status = np.full(shape, "ok", dtype=object)
    alone = np.bincount(codes, minlength=size) == 1
    for i, test in enumerate(tests):
        if test == "laplace":
            statistic[:, i], p[:, i], status[:, i] = _laplace(counted, alone)
            direction[:, i] = np.sign(np.nan_to_num(statistic[:, i]))
        elif test == "mil_hdbk_189":
            statistic[:, i], p[:, i], direction[:, i], status[:, i] = _handbook(counted)
        elif test == "lewis_robinson":
            statistic[:, i], p[:, i], status[:, i] = _lewis_robinson(gaps, alone)
            direction[:, i] = np.sign(np.nan_to_num(statistic[:, i]))
        else:
            statistic[:, i], p[:, i], status[:, i] = _mann(gaps, alone)
            direction[:, i] = np.sign(np.nan_to_num(statistic[:, i]))
    events = np.bincount(codes, histories.sizes, minlength=size)
    status[events == 0] = "no_events"
    adjusted = np.stack([adjusted_p(p[:, i], adjustment) for i in range(len(tests))], axis=1)
    return TrendTests(
        groups,
        tuple(tests),
        statistic,
        p,
        adjusted,
        direction,
        status,
        2 * counted.events,
        np.bincount(codes, minlength=size).astype(np.int64),
        counted.events,
        np.bincount(codes, gaps.size, minlength=size).astype(np.int64),
        np.bincount(codes, counted.cut, minlength=size).astype(np.int64),
        adjustment,
        truncation,
    )


# ------------------------------------------------- against a constant Poisson rate


@dataclass(frozen=True)
class _Counted:
    """Events of each group that are not the end of their window, as shares of it."""

    events: IntArray  # a group
    group: IntArray  # of each event
    share: FloatArray  # of its window that had passed
    window: FloatArray  # its length
    cut: BoolArray  # a history
    one_instant: BoolArray  # a group

    @classmethod
    def of(cls, histories: EventHistories, codes: IntArray, size: int, truncation: str) -> _Counted:
        has = histories.sizes > 0
        last = histories.last_event()
        cut = {
            "auto": has & (last == histories.end),
            "time": np.zeros(has.size, np.bool_),
            "failure": has,
        }[truncation]
        end = np.where(cut, last, histories.end)
        history = histories.codes()
        kept = np.ones(histories.times.size, dtype=np.bool_)
        kept[histories.offsets[1:][cut] - 1] = False
        length = (end - histories.begin)[history]
        kept &= length > 0.0
        share = histories.since_begin()[kept] / length[kept]
        group = codes[history]
        # all events of the group at one instant, and more than one of them
        first, final = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(first, group, histories.times)
        np.maximum.at(final, group, histories.times)
        many = np.bincount(codes, histories.sizes, minlength=size) > 1
        return cls(
            np.bincount(group[kept], minlength=size).astype(np.int64),
            group[kept],
            share,
            length[kept],
            cut,
            many & (first == final),
        )

    def total(self, values: FloatArray) -> FloatArray:
        """Sum over the events of each group."""
        return sums(self.group, values, self.events.size)

    def status(self, least: int) -> npt.NDArray[np.object_]:
        """Why a group has no test."""
        out = np.full(self.events.size, "ok", dtype=object)
        out[self.events < least] = "too_few"
        out[self.one_instant] = "one_instant"
        return out


def _laplace(counted: _Counted, alone: BoolArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.object_]]:
    status = counted.status(2)
    ok = status == "ok"
    away = counted.total(counted.window * (counted.share - 0.5))
    variance = counted.total(counted.window**2 / 12.0)
    z = np.full(away.size, np.nan)
    z[ok] = away[ok] / np.sqrt(variance[ok])
    p = 2.0 * special.ndtr(-np.abs(z))
    exact = ok & alone & (counted.events <= _EXACT_UNIFORMS)
    total = counted.total(counted.share)
    p[exact] = _uniform_sum_p(total[exact], counted.events[exact])
    return z, p, status


def _uniform_sum_p(total: FloatArray, count: IntArray) -> FloatArray:
    """Two-sided p-value of a sum of up to twelve uniform variates (Irwin-Hall)."""
    low = np.minimum(total, count - total)
    n = count.astype(np.float64)
    value = np.zeros(total.size)
    for k in range(_EXACT_UNIFORMS // 2 + 1):
        term = np.where(k <= low, np.maximum(low - k, 0.0) ** n, 0.0) * special.binom(n, k)
        value += (-1) ** k * np.where(k <= count, term, 0.0)
    return np.clip(2.0 * value / special.gamma(n + 1.0), 0.0, 1.0)


def _handbook(counted: _Counted) -> tuple[FloatArray, FloatArray, IntArray, npt.NDArray[np.object_]]:
    status = counted.status(1)
    with np.errstate(divide="ignore"):
        value = -2.0 * counted.total(np.log(counted.share))
    status[(status == "ok") & ~np.isfinite(value)] = "at_beginning"
    ok = status == "ok"
    freedom = 2.0 * np.maximum(counted.events, 1)
    value[~ok] = np.nan
    below, above = stats.chi2.cdf(value, freedom), stats.chi2.sf(value, freedom)
    p = np.minimum(2.0 * np.minimum(below, above), 1.0)
    direction = np.where(ok, np.where(below < above, 1, -1), 0)
    return value, p, direction.astype(np.int64), status


# ------------------------------------------------------ against any renewal process


@dataclass(frozen=True)
class _Gaps:
    """Complete gaps of each history."""

    gaps: FloatArray
    offsets: IntArray
    codes: IntArray  # group of each history
    groups: int

    @classmethod
    def of(cls, histories: EventHistories, codes: IntArray, size: int) -> _Gaps:
        gaps = histories.gaps()
        first = np.zeros(gaps.size, dtype=np.bool_)
        vague = (histories.sizes > 0) & histories.left_open & (histories.opening == 0)
        first[histories.offsets[:-1][vague]] = True
        count = histories.sizes - vague
        return cls(gaps[~first], np.concatenate([[0], np.cumsum(count)]).astype(np.int64), codes, size)

    @property
    def size(self) -> IntArray:
        return np.diff(self.offsets)

    @property
    def history(self) -> IntArray:
        return np.repeat(np.arange(self.codes.size), self.size)

    def over(self, values: FloatArray) -> FloatArray:
        """Sum over the gaps of each history."""
        return sums(self.history, values, self.codes.size)

    def pooled(self, values: FloatArray) -> FloatArray:
        """Sum over the histories of each group."""
        return sums(self.codes, values, self.groups)

    def status(self, least: int, spread: BoolArray) -> npt.NDArray[np.object_]:
        """Why a group has no test; `spread` tells which histories have gaps that differ."""
        out = np.full(self.groups, "ok", dtype=object)
        usable = self.pooled(((self.size >= 2) & spread).astype(np.float64)) > 0
        out[~usable] = "constant"
        alone = np.bincount(self.codes, minlength=self.groups) == 1
        most = np.zeros(self.groups, dtype=np.int64)
        np.maximum.at(most, self.codes, self.size)
        out[most < np.where(alone, least, 2)] = "too_few"
        # all gaps after the first zero, and the first one not counted or the only one
        total = self.pooled(self.over(self.gaps))
        out[(most >= 2) & (total == 0.0)] = "one_instant"
        return out


def _lewis_robinson(gaps: _Gaps, alone: BoolArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.object_]]:
    m = gaps.size.astype(np.float64)
    mean = gaps.over(gaps.gaps) / np.maximum(m, 1.0)
    scaled = np.divide(gaps.gaps, mean[gaps.history], out=np.zeros_like(gaps.gaps), where=mean[gaps.history] > 0.0)
    number = np.arange(gaps.gaps.size) - gaps.offsets[:-1][gaps.history]
    from_middle = number - 0.5 * (m[gaps.history] - 1.0)
    # shrinking gaps have small values late: events late, a positive statistic
    score = -gaps.over(from_middle * (scaled - 1.0))
    square = gaps.over((scaled - 1.0) ** 2)
    variance = m * (m + 1.0) / 12.0 * square  # m (m^2 - 1) / 12 times the variance of the gaps
    spread = square > 1e-20 * m
    status = gaps.status(3, spread)
    variance = np.where(spread & (m >= 2), variance, 0.0)
    score = np.where(spread & (m >= 2), score, 0.0)
    total, sigma = gaps.pooled(score), np.sqrt(gaps.pooled(variance))
    ok = (status == "ok") & (sigma > 0.0)
    status[(status == "ok") & ~ok] = "constant"
    z = np.full(total.size, np.nan)
    z[ok] = total[ok] / sigma[ok]
    p = 2.0 * special.ndtr(-np.abs(z))
    single = ok & alone
    fourth = gaps.pooled(gaps.over((scaled - 1.0) ** 4))[single]
    p[single] = _correlation_p(z[single], gaps.pooled(m)[single], gaps.pooled(square)[single], fourth)
    return z, p, status


def _correlation_p(z: FloatArray, m: FloatArray, square: FloatArray, fourth: FloatArray) -> FloatArray:
    """Two-sided p-value of the correlation of m values with their numbers under exchange of the values.

    The squared correlation is taken as a beta variate with its exact mean and second moment (Pitman 1937), which
    depend on the kurtosis of the values, given by their sums of squares and of fourth powers about the mean.
    """
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


def _mann(gaps: _Gaps, alone: BoolArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.object_]]:
    histories = gaps.codes.size
    rising, ties = np.zeros(histories), np.zeros((histories, 3))
    over_groups(gaps.offsets, lambda a, b: inversions(gaps.gaps, gaps.offsets, rising, ties, a, b))
    m = gaps.size.astype(np.float64)
    variance = (m * (m - 1.0) * (2.0 * m + 5.0) - ties[:, 0]) / 18.0
    status = gaps.status(3, variance > 0.0)
    total, sigma = gaps.pooled(-rising), np.sqrt(gaps.pooled(np.maximum(variance, 0.0)))
    ok = status == "ok"
    z = np.full(total.size, np.nan)
    z[ok] = total[ok] / sigma[ok]
    p = np.full(total.size, np.nan)
    p[ok] = np.minimum(2.0 * special.ndtr(-np.maximum(np.abs(total[ok]) - 1.0, 0.0) / sigma[ok]), 1.0)
    exact = ok & alone & (gaps.pooled(m) <= _EXACT_PAIRS) & (gaps.pooled(ties[:, 2]) == 0.0)
    if exact.any():
        count = gaps.pooled(m)[exact].astype(np.int64)
        pairs = count * (count - 1) // 2
        # number of falling pairs, from the end that has fewer
        fewer = np.round((pairs - np.abs(total[exact])) / 2.0).astype(np.int64)
        p[exact] = np.minimum(2.0 * _inversion_table()[count, fewer], 1.0)
    return z, p, status


@lru_cache(maxsize=1)
def _inversion_table() -> FloatArray:
    """Probability of so many inversions or fewer (columns) in a random order of so many things (rows)."""
    most = _EXACT_PAIRS * (_EXACT_PAIRS - 1) // 2
    table = np.zeros((_EXACT_PAIRS + 1, most + 1))
    row = np.zeros(most + 1)
    row[0] = 1.0
    table[:2] = 1.0
    for n in range(2, _EXACT_PAIRS + 1):
        sums = np.cumsum(row)
        row = sums.copy()
        row[n:] -= sums[:-n]
        row /= n
        table[n] = np.cumsum(row)
    return table
