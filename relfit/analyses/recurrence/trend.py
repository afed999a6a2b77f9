"""Tests of trend for every repairable system of a batch and pooled over many: does the rate of failures change?

Laplace and MIL-HDBK-189 test for a Poisson process of constant rate, Lewis-Robinson and Mann for any renewal process
(Ascher and Feingold 1984; Kvaloy and Lindqvist 1998). Failures in bursts are neither: the conclusion on a rate rests on
a line through the counts of twelve parts of the observation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.analyses.recurrence import trend_statistics as statistics
from relfit.analyses.recurrence.histories import EventHistories, grouping
from relfit.base.arguments import share
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.results import Result, key_columns
from relfit.base.text import count, number, p_value, percent

TEST_NAMES = {
    "laplace": "Laplace's test",
    "mil_hdbk_189": "the test of MIL-HDBK-189",
    "lewis_robinson": "the test of Lewis and Robinson",
    "mann": "Mann's test",
}
TESTS = tuple(TEST_NAMES)
TREND_STATUS = {
    "ok": "the test was made",
    "no_events": "nothing failed within the observation (a failure that begins it does not count)",
    "too_few": "fewer events or gaps than the test needs",
    "one_instant": "all events fall at one instant",
    "constant": "all gaps are equal, so they have no order and no spread",
    "at_beginning": "an event at the very beginning has no finite statistic",
}
# Size of the test of a lasting change. It takes parts of the observation as independent; renewals of Weibull shape 0.7,
# a few of which fall into each part, are not, and are rejected in 5 % where its size is 3 %.
_SIZE = 0.6  # of alpha
_SEEN = 4.25  # standard errors at which it finds a straight rise in 9 of 10 logs, where alpha is 5 %
_MOST = 0.9  # of the mean, by which a rate can change either way for its factor to be named
_PARTS = statistics.LASTING_PARTS
_COLUMNS = ("statistic", "p", "p_adjusted", "direction", "status")


class TrendTests(Result):
    """Trend tests of every group; arrays of shape (groups, tests).

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    tests : tuple of str
    statistic : ndarray of float
        ``laplace``, ``lewis_robinson`` and ``mann``: standard normal without a trend, positive where the rate rises.
        ``mil_hdbk_189``: chi-square with `freedom` degrees of freedom, small where the rate rises.
    p, p_adjusted : ndarray of float
        Two-sided p-value; and that adjusted for the number of groups (Benjamini and Hochberg), test by test. NaN unless
        the status is ``ok``.
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
        Times between failures that Lewis-Robinson and Mann count.
    failure_truncated : ndarray of int, shape (groups,)
        Histories whose observation was taken to have ended with their last event.
    counts : ndarray of float, shape (groups,)
        Laplace's statistic, whatever tests were made: how the number of failures changes.
    slope, slope_p : ndarray of float, shape (groups,)
        Student's t of a line through the numbers of failures in twelve parts of the observation, positive where they
        rise, and its p-value: bursts are allowed for. The headline of a single group rests on it.
    dispersion : ndarray of float, shape (groups,)
        Variance over mean of these numbers: 1 for a Poisson process of constant rate.
    alpha : float
        Size of the tests in the headline.
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
    counts: FloatArray
    slope: FloatArray
    slope_p: FloatArray
    dispersion: FloatArray
    alpha: float = 0.05

    def of(self, test: str) -> pd.DataFrame:
        """One test, one row per group: statistic, p, p_adjusted, direction, status.

        Raises
        ------
        ArgumentError
            For a test that was not made.
        """
        if test not in self.tests:
            raise ArgumentError(f"no test {test!r} here", remedy=f"use one of {', '.join(self.tests)}")
        i = self.tests.index(test)
        return pd.DataFrame({name: getattr(self, name)[:, i] for name in _COLUMNS}, index=self.groups)

    def share(self, alpha: float = 0.05, adjusted: bool = False) -> pd.Series:
        """Share of the groups with a test that it rejects at `alpha`, one value per test; NaN where none has one.

        Parameters
        ----------
        alpha : float
        adjusted : bool
            Use the p-values adjusted for the number of groups.
        """
        p = self.p_adjusted if adjusted else self.p
        rejected = (np.nan_to_num(p, nan=1.0) <= alpha) & np.isfinite(p)
        count = np.isfinite(p).sum(axis=0)
        shares = np.where(count > 0, rejected.sum(axis=0) / np.maximum(count, 1), np.nan)
        return pd.Series(shares, index=list(self.tests))

    @property
    def headline(self) -> str:
        """What the tests mean for a fit."""
        if len(self.groups) == 1:
            return self._of_one()
        parts = []
        for i, test in enumerate(self.tests):
            hit = np.nan_to_num(self.p_adjusted[:, i], nan=1.0) <= self.alpha
            rising = int((hit & (self.direction[:, i] > 0)).sum())
            parts.append(f"{test} {int(hit.sum())} of {int((self.status[:, i] == 'ok').sum())} ({rising} rising)")
        return f"Groups with a trend at {percent(self.alpha)} after adjustment for multiple tests: {', '.join(parts)}."

    @property
    def steady(self) -> bool:
        """Whether no test of the first group says that its rate changes, as in the headline."""
        return not float(self.slope_p[0]) < self._size and not min(self._chances) < self._size

    @property
    def lasting(self) -> bool:
        """Whether the rate of the first group rises or falls over the observation, as in the headline."""
        return bool(float(self.slope_p[0]) < self._size)

    @property
    def _size(self) -> float:
        return _SIZE * self.alpha

    @property
    def _chances(self) -> tuple[float, float]:
        """Of the first group: chance of its scatter of counts at a constant rate, and of the least of its p-values."""
        scatter = float(special.chdtrc(_PARTS - 1, (_PARTS - 1) * self.dispersion[0]))
        made = [float(p) for p, status in zip(self.p[0], self.status[0], strict=True) if status == "ok"]
        return scatter, len(made) * min(made, default=1.0)

    def _of_one(self) -> str:
        """The conclusion on a single group: by its counts in parts of the observation, which allows for bursts."""
        if not (self.status[0] == "ok").any():
            return f"No trend test can be made: {TREND_STATUS[str(self.status[0, 0])]}."
        p, t, events = float(self.slope_p[0]), float(self.slope[0]), float(self.events[0])
        if self.lasting:
            return (
                f"The failure rate {'rises' if t > 0.0 else 'falls'} over the observation ({p_value(p)}, bursts "
                "allowed for): one distribution fitted to all of it mixes different rates."
            )
        close = f", above {self._size:.2g}" if p <= self.alpha else ""  # each test has a part of alpha
        tested = "" if np.isnan(p) else f" ({p_value(p)}{close}, bursts allowed for)"
        scatter, of_tests = self._chances
        if min(scatter, of_tests) < self._size:
            times = number(self.dispersion[0])
            how = f": counts of a twelfth of it vary {times} times as much" if scatter < self._size else ""
            return (
                f"Failures do not come as those of a Poisson process of constant rate over the observation{how}. No "
                f"lasting rise or fall is found{tested}; look at the periods."
            )
        usual, own = special.stdtrit(_PARTS - 2, 1.0 - 0.5 * np.array([_SIZE * 0.05, self._size]))
        error = np.sqrt(3.0 * max(float(self.dispersion[0]), 1.0) / events) if events else np.inf
        change = (_SEEN + own - usual) * error
        if change > _MOST:
            return (
                f"No trend of the failure rate is found{tested}, but "
                f"{count(int(events), 'failure')} within the observation {'is' if events == 1 else 'are'} too few to "
                "find one: even a doubling half way would be missed more often than found."
            )
        factor = number((1.0 + change) / (1.0 - change), 2)
        return (
            f"No trend of the failure rate is found{tested}: one distribution of times to failure may do. A steady "
            f"rise to {factor} times the rate would be found in 9 of 10 logs."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per group: its keys, counts, and for every test statistic, p, adjusted p, direction and status."""
        names = ("copies", "events", "gaps", "failure_truncated", "slope", "slope_p", "dispersion")
        columns = {name: getattr(self, name) for name in names}
        for i, test in enumerate(self.tests):
            columns |= {f"{test}_{name}": getattr(self, name)[:, i] for name in _COLUMNS}
        if "mil_hdbk_189" in self.tests:
            columns["mil_hdbk_189_freedom"] = self.freedom
        return key_columns(self.groups).assign(**columns)


def trend_tests(
    histories: EventHistories, by: str | npt.ArrayLike = "each", *, tests: tuple[str, ...] = TESTS, alpha: float = 0.05
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
    alpha : float
        Size of the tests in the headline, between 0 and 1.

    Raises
    ------
    ArgumentError
        For an unknown test or grouping, or an alpha outside 0..1.

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

    The gap before the first event is used unless the history is left-open. Observation counts as ended by the last
    event where one falls on its very end; Laplace and MIL-HDBK-189 then do not count that event, which ends the window.

    Examples
    --------
    The times between failures of this system shrink:

    >>> from relfit.analyses.recurrence import EventHistories
    >>> result = trend_tests(EventHistories.from_groups([[10, 19, 27, 34, 40, 45, 49, 52, 54]], end=60.0))
    >>> result.of("laplace").round(4)[["statistic", "p", "status"]].values.tolist()
    [[1.1547, 0.2528, 'ok']]
    """
    unknown = [test for test in tests if test not in TESTS]
    if unknown or not tests:
        raise ArgumentError(f"unknown trend test {(unknown or ['none'])[0]!r}", remedy=f"use {', '.join(TESTS)}")
    share("alpha", alpha, zero=False, one=False)
    codes, groups = grouping(histories, by)
    size = len(groups)
    copies = np.bincount(codes, minlength=size).astype(np.int64)
    counted = statistics.CountedEvents.of(histories, codes, size)
    gaps = statistics.Gaps.of(histories, codes, size)
    of_counts = {"laplace": statistics.laplace, "mil_hdbk_189": statistics.handbook}
    of_gaps = {"lewis_robinson": statistics.lewis_robinson, "mann": statistics.mann}
    alone = copies == 1
    outcomes = [of_counts[t](counted, alone) if t in of_counts else of_gaps[t](gaps, alone) for t in tests]
    statistic, p, direction, status = (np.stack(parts, axis=1) for parts in zip(*outcomes, strict=True))
    status[np.bincount(codes, histories.sizes, minlength=size) == 0] = "no_events"
    adjusted = np.stack([adjusted_p(p[:, i]) for i in range(len(tests))], axis=1)
    number, cut = (np.bincount(codes, each, size).astype(np.int64) for each in (gaps.sizes, counted.cut))
    made, counts = (statistic, p, adjusted, direction, status), (copies, counted.events, number, cut)
    change, along = statistics.laplace(counted, alone)[0], statistics.lasting(counted)
    return TrendTests(groups, tuple(tests), *made, 2 * counted.events, *counts, change, *along, alpha=alpha)
