"""Turnbull's estimate: the survival function of every group from lives known only to lie within intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.lifedata import LifeData
from relfit.nonparametric.kernels import first_below, locate, running_sum
from relfit.nonparametric.masses import solve
from relfit.nonparametric.steps import BoolArray, FloatArray, IntArray, Steps
from relfit.numeric.batches import over_groups

__all__ = ["IntervalMasses", "turnbull"]

# kinds of ends, in their order at one time: an end that excludes the time, a start that includes it, an end that
# includes it, a start that excludes it
_END_BEFORE, _START_AT, _END_AT, _START_AFTER = range(4)


@dataclass(frozen=True, eq=False)
class IntervalMasses(Steps):
    """Masses on the innermost intervals; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Where within its interval a mass lies, the data do not say.

    Attributes
    ----------
    left, right : ndarray of float, shape (intervals,)
        Ends of the intervals, hours, rising within a group; `right` is infinite for mass beyond the last time.
        ``times`` is the same as `right`.
    left_closed, right_closed : ndarray of bool, shape (intervals,)
        Whether the ends belong to the interval; both for an exact time, where the ends are equal.
    mass : ndarray of float, shape (intervals,)
        Probability of each interval; adds up to one in each group.
    converged : ndarray of bool, shape (groups,)
        Whether the conditions for a maximum hold to `tolerance`.
    violation : ndarray of float, shape (groups,)
        Largest violation of these conditions: derivative of the mean log-likelihood by a mass.
    unique : ndarray of bool, shape (groups,)
        Whether the data fix all masses. If not, other masses have the same likelihood; those given are in the middle.
        It takes truncation that compares two stretches of time with nothing in common, for instance.
    log_likelihood : ndarray of float, shape (groups,)
    tolerance : float
    """

    left: FloatArray
    right: FloatArray
    left_closed: BoolArray
    right_closed: BoolArray
    mass: FloatArray
    converged: BoolArray
    violation: FloatArray
    unique: BoolArray
    log_likelihood: FloatArray
    tolerance: float

    def at(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest survival that the estimate allows at `times`; equal outside the intervals.

        Parameters
        ----------
        times : array_like of float
            Hours: one, or m for all groups, or one row a group.

        Returns
        -------
        low, high : ndarray of float, shape (groups,) or (groups, m)
            Both 1 for a group without lives.
        """
        wanted = self._wanted(times)
        begin = locate(self.left, self.offsets, wanted, right=False)
        place = np.minimum(self.offsets[:-1, None] + begin, max(self.mass.size - 1, 0))
        if self.mass.size:
            within = self.offsets[:-1, None] + begin < self.offsets[1:, None]
            begin = begin + (within & (self.left[place] == wanted) & self.left_closed[place])
        end = locate(self.right, self.offsets, wanted)
        survival = self._survival()
        padded = np.append(survival, 1.0)
        index = [np.where(n > 0, self.offsets[:-1, None] + n - 1, survival.size) for n in (begin, end)]
        low, high = padded[index[0]], padded[index[1]]
        return (low[:, 0], high[:, 0]) if np.ndim(times) == 0 else (low, high)

    def quantile(self, probability: float) -> pd.DataFrame:
        """Interval in which the share that has failed reaches `probability`.

        Returns
        -------
        pandas.DataFrame
            One row a group: ``low`` and ``high`` in hours; both infinite for a group without lives.

        Raises
        ------
        ArgumentError
            For a probability outside 0..1.
        """
        if not 0.0 <= probability <= 1.0:
            raise ArgumentError(f"probability {probability} is not between 0 and 1")
        curve = np.where(self.mass > 0.0, self._survival(), np.inf)
        place = first_below(curve, self.offsets, (1.0 - probability) * (1.0 + 1e-12) + 1e-13)
        found = place < self.offsets[1:]
        low, high = np.full(len(self.groups), np.inf), np.full(len(self.groups), np.inf)
        low[found], high[found] = self.left[place[found]], self.right[place[found]]
        return pd.DataFrame({"low": low, "high": high}, index=self.groups)

    def median(self) -> pd.DataFrame:
        """Interval in which the median lies; see `quantile`."""
        return self.quantile(0.5)

    def to_frame(self) -> pd.DataFrame:
        """One row an interval, with the survival just after it."""
        frame = self._frame(
            left=self.left,
            right=self.right,
            left_closed=self.left_closed,
            right_closed=self.right_closed,
            mass=self.mass,
            survival=self._survival(),
        )
        return frame.drop(columns="time")

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "estimate": "turnbull",
            "groups": len(self.groups),
            "intervals": int(self.mass.size),
            "converged": int(self.converged.sum()),
            "unique": int(self.unique.sum()),
            "tolerance": self.tolerance,
        }

    def __repr__(self) -> str:
        return (
            f"IntervalMasses: Turnbull estimates of {len(self.groups)} groups, {self.mass.size} intervals "
            f"({int((~self.converged).sum())} groups not converged, {int((~self.unique).sum())} not unique)"
        )

    def _survival(self) -> FloatArray:
        """Probability to outlive each interval."""
        left = 1.0 - running_sum(self.mass, self.offsets)
        return np.where(left < 1e-14, 0.0, left)


def turnbull(lives: LifeData, tolerance: float = 1e-10) -> IntervalMasses:
    """Nonparametric maximum-likelihood estimate from lives observed exactly, in intervals, censored and truncated.

    An interval is ``(durations, upper]``; left truncation means a life longer than ``entry``, right truncation one
    no longer than ``exit``. Mass can only lie on the innermost intervals (Turnbull 1976; with the ends that truncation
    adds, Frydman 1994). Without truncation the estimate is the only maximum of a concave likelihood, and for
    right-censored data that of Kaplan and Meier. With truncation, a maximum may not exist (as when all lives under
    observation fail before others enter: the group then counts as not converged) or not be the only one.

    Parameters
    ----------
    lives : LifeData
    tolerance : float
        Largest violation of the conditions for a maximum that counts as converged.

    Returns
    -------
    IntervalMasses
        A group without lives has no interval.

    Raises
    ------
    ArgumentError
        For a tolerance that is not above zero.

    Examples
    --------
    Four units inspected from time to time, a fifth still running at 7:

    >>> lives = LifeData.from_intervals([0.0, 1.0, 2.0, 2.0, 7.0], [2.0, 3.0, 5.0, 6.0, float("inf")])
    >>> turnbull(lives).to_frame()[["left", "right", "mass"]].round(4).values.tolist()
    [[1.0, 2.0, 0.2667], [2.0, 3.0, 0.5333], [7.0, inf, 0.2]]
    """
    if not tolerance > 0.0:
        raise ArgumentError(f"tolerance {tolerance} is not above zero")
    groups = lives.n_groups
    data = _coded(lives)
    start, end = _innermost(data)
    offsets = np.searchsorted(start, np.arange(groups + 1) * data.width).astype(np.int64)
    base, sizes = offsets[data.code], np.diff(offsets)[data.code]
    shift = data.code * data.width
    inside = np.column_stack(
        [
            np.searchsorted(start, shift + data.start) - base,
            np.searchsorted(end, shift + data.end, side="right") - base,
        ]
    )
    after = np.searchsorted(end, shift + data.before, side="right") - base
    until = np.searchsorted(start, shift + data.after) - base
    given = np.column_stack([np.where(data.before < 0, 0, after), np.where(data.after < 0, sizes, until)])
    rows, inside, given, weight = _merged(data.code, inside, given, data.weight, groups)
    mass = np.zeros(start.size)
    violation, loglik = np.zeros(groups), np.zeros(groups)
    unique = np.ones(groups, dtype=bool)
    over_groups(
        rows,
        lambda first, last: solve(
            rows, offsets, inside, given, weight, 0.5 * tolerance, mass, violation, unique, loglik, first, last
        ),
    )
    left, right = start % data.width, end % data.width
    return IntervalMasses(
        groups=lives.groups,
        offsets=offsets,
        times=data.levels[right // 4],
        left=data.levels[left // 4],
        right=data.levels[right // 4],
        left_closed=left % 4 == _START_AT,
        right_closed=(right % 4 == _END_AT) & (data.levels[right // 4] < np.inf),
        mass=mass,
        converged=violation <= tolerance,
        violation=violation,
        unique=unique,
        log_likelihood=loglik,
        tolerance=tolerance,
    )


@dataclass(frozen=True)
class _Coded:
    """Rows with the ends of their intervals as whole numbers: four times the rank of the time, plus the kind of end.

    ``before`` is the end of what left truncation leaves out below, ``after`` the start of what right truncation leaves
    out above; minus one where there is none.
    """

    levels: FloatArray
    code: IntArray
    weight: FloatArray
    start: IntArray
    end: IntArray
    before: IntArray
    after: IntArray

    @property
    def width(self) -> int:
        """More than any whole number in use."""
        return 4 * self.levels.size + 4


def _coded(lives: LifeData) -> _Coded:
    kept = np.ones(lives.durations.size, dtype=bool) if lives.weights is None else lives.weights > 0
    weight = np.ones(kept.size) if lives.weights is None else lives.weights.astype(np.float64)
    low, high, exact = lives.durations[kept], lives.ends[kept], lives.observed[kept]
    entry = np.zeros(low.size) if lives.entry is None else lives.entry[kept]
    leave = np.full(low.size, np.inf) if lives.exit is None else lives.exit[kept]
    levels = np.unique(np.concatenate([low, high, entry, leave]))

    def coded(times: FloatArray, kind: int | IntArray) -> IntArray:
        return np.asarray(4 * np.searchsorted(levels, times) + kind, dtype=np.int64)

    # a life that failed at the very age of its entry had not failed just before
    before = coded(entry, np.where(exact & (entry == low), _END_BEFORE, _END_AT))
    return _Coded(
        levels=levels,
        code=lives.group_codes()[kept],
        weight=weight[kept],
        start=coded(low, np.where(exact, _START_AT, _START_AFTER)),
        end=coded(high, _END_AT),
        before=np.where(entry > 0.0, before, -1),
        after=np.where(leave < np.inf, coded(leave, _START_AFTER), -1),
    )


def _innermost(data: _Coded) -> tuple[IntArray, IntArray]:
    """Starts and ends of the innermost intervals of all groups: each start that an end follows at once."""
    shift = data.code * data.width
    cut_below, cut_above = data.before >= 0, data.after >= 0
    starts = np.concatenate([shift + data.start, (shift + data.after)[cut_above]])
    ends = np.concatenate([shift + data.end, (shift + data.before)[cut_below]])
    marks = np.unique(np.concatenate([starts, ends]))
    kind = marks % data.width % 4
    opens = (kind == _START_AT) | (kind == _START_AFTER)
    chosen = np.flatnonzero(opens[:-1] & ~opens[1:] & (marks[:-1] // data.width == marks[1:] // data.width))
    return marks[chosen], marks[chosen + 1]


def _merged(
    code: IntArray, inside: IntArray, given: IntArray, weight: FloatArray, groups: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Rows of a group with the same runs made one, their weights added up."""
    if code.size == 0:
        return np.zeros(groups + 1, dtype=np.int64), inside, given, weight
    order = np.lexsort((given[:, 1], given[:, 0], inside[:, 1], inside[:, 0], code))
    table = np.column_stack([code, inside, given])[order]
    new = np.ones(code.size, dtype=bool)
    new[1:] = (table[1:] != table[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    rows = np.searchsorted(table[first, 0], np.arange(groups + 1)).astype(np.int64)
    totals = np.add.reduceat(weight[order], first)
    return rows, np.ascontiguousarray(table[first, 1:3]), np.ascontiguousarray(table[first, 3:5]), totals
