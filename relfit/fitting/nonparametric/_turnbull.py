"""Turnbull's estimate: the survival function of every group from failures known only to lie within intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.ordering import changes
from relfit.base.numeric.ragged import cumulative, first_below, places
from relfit.base.text import count
from relfit.fitting.nonparametric.curves import Grouped, times_per_group
from relfit.fitting.nonparametric.samples import lives_of
from relfit.log.lifedata import LifeData

# kinds of ends, in their order at one time: an end that excludes the time, a start that includes it, an end that
# includes it, a start that excludes it
_END_BEFORE, _START_AT, _END_AT, _START_AFTER = range(4)
_MOST_STEPS = 5000  # of expectation-maximisation
_NO_MASS = 1e-7  # less mass than this is none


class TurnbullEstimate(Grouped):
    """Masses on the innermost intervals; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    The data do not say where within its interval a mass lies.

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    offsets : ndarray of int, shape (groups + 1,)
    left, right : ndarray of float, shape (intervals,)
        Ends of the intervals, hours, rising within a group; `right` is infinite for mass beyond the last time.
    left_closed, right_closed : ndarray of bool, shape (intervals,)
        Whether the ends belong to the interval; both for an exact time, where the ends are equal.
    mass : ndarray of float, shape (intervals,)
        Probability of each interval; adds up to one in each group.
    converged : ndarray of bool, shape (groups,)
        Whether the conditions for a maximum hold to `tolerance`.
    violation : ndarray of float, shape (groups,)
        Largest violation of these conditions: derivative of the mean log-likelihood by a mass.
    log_likelihood : ndarray of float, shape (groups,)
    tolerance : float
    """

    _not_in_json = ("offsets", "left", "right", "left_closed", "right_closed", "mass")

    left: FloatArray
    right: FloatArray
    left_closed: BoolArray
    right_closed: BoolArray
    mass: FloatArray
    converged: BoolArray
    violation: FloatArray
    log_likelihood: FloatArray
    tolerance: float

    @property
    def headline(self) -> str:
        """How many groups and intervals there are, and how many did not converge."""
        return (
            f"Turnbull estimates of {count(len(self.groups), 'group')} on {count(self.mass.size, 'interval')}, "
            f"{int((~self.converged).sum())} not converged"
        )

    def at(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest survival that the estimate allows at `times`; equal outside the intervals.

        Parameters
        ----------
        times
            As for `StepCurves.at`.

        Returns
        -------
        low, high : ndarray of float, shape (groups,) or (groups, m)
            Both 1 for a group without durations.
        """
        wanted = times_per_group(times, len(self.groups))
        first = self.offsets[:-1, None]
        begin = places(self.left, self.offsets, wanted, below=True)
        if self.mass.size:
            place = np.minimum(first + begin, self.mass.size - 1)
            within = first + begin < self.offsets[1:, None]
            begin = begin + (within & (self.left[place] == wanted) & self.left_closed[place])
        end = places(self.right, self.offsets, wanted)
        padded = np.append(self._survival(), 1.0)
        low, high = (padded[np.where(n > 0, first + n - 1, self.mass.size)] for n in (begin, end))
        return (low[:, 0], high[:, 0]) if np.ndim(times) == 0 else (low, high)

    def quantile(self, probability: float) -> pd.DataFrame:
        """Interval in which the share that has failed reaches `probability`.

        Returns
        -------
        pandas.DataFrame
            One row per group: ``low`` and ``high`` in hours; both infinite for a group without durations.

        Raises
        ------
        ArgumentError
            For a probability outside 0..1.
        """
        if not 0.0 <= probability <= 1.0:
            raise ArgumentError(f"probability {probability} is not between 0 and 1")
        curve = np.where(self.mass > 0.0, self._survival(), np.inf)
        place = first_below(curve, self.offsets, (1.0 - probability) * (1.0 + 1e-12) + 1e-13)
        reached = place < self.offsets[1:]
        low, high = np.full(len(self.groups), np.inf), np.full(len(self.groups), np.inf)
        low[reached], high[reached] = self.left[place[reached]], self.right[place[reached]]
        return pd.DataFrame({"low": low, "high": high}, index=self.groups)

    def median(self) -> pd.DataFrame:
        """Interval in which the median lies; see `quantile`."""
        return self.quantile(0.5)

    def to_frame(self) -> pd.DataFrame:
        """One row per interval, with its ends in hours and the survival just after it."""
        table = self._table("left", "right", "left_closed", "right_closed", "mass")
        return table.assign(survival=self._survival())

    def _survival(self) -> FloatArray:
        """Probability of surviving each interval."""
        beyond = 1.0 - cumulative(self.mass, self.codes())
        return np.where(beyond < 1e-12, 0.0, beyond)


def turnbull(
    data: object,
    tolerance: float = 1e-9,
    *,
    observed: npt.ArrayLike | None = None,
    entry: npt.ArrayLike | None = None,
    by: npt.ArrayLike | None = None,
    **columns: str,
) -> TurnbullEstimate:
    """Nonparametric maximum-likelihood estimate from durations observed exactly, in intervals, censored and truncated.

    An interval is ``(durations, upper]``; left truncation means a duration longer than ``entry``, right truncation one
    no longer than ``exit``. Mass can only lie on the innermost intervals (Turnbull 1976; with the ends that truncation
    adds, Frydman 1994). Without truncation the estimate is the only maximum of a concave likelihood, and for
    right-censored data that of Kaplan and Meier. With truncation, a maximum may not exist (as when all under
    observation fail before others enter: the group then counts as not converged) or may not be unique (as when the data
    compare two ranges of time with nothing in common).

    Parameters
    ----------
    data, observed, entry, by, **columns
        As for `relfit.fit`; ``upper="COLUMN"`` names the later ends of intervals in a table.
    tolerance : float
        Largest violation of the conditions for a maximum that counts as converged.

    Returns
    -------
    TurnbullEstimate
        A group without durations has no interval.

    Raises
    ------
    ArgumentError
        For a tolerance that is not above zero.

    Notes
    -----
    Expectation-maximisation with squared extrapolation (Varadhan and Roland 2008); masses that fade are set to zero
    where the likelihood falls with them.

    Examples
    --------
    Four units inspected from time to time, a fifth still running at 7:

    >>> data = LifeData.from_intervals([0.0, 1.0, 2.0, 2.0, 7.0], [2.0, 3.0, 5.0, 6.0, float("inf")])
    >>> turnbull(data).to_frame()[["left", "right", "mass"]].round(4).values.tolist()
    [[1.0, 2.0, 0.2667], [2.0, 3.0, 0.5333], [7.0, inf, 0.2]]
    """
    if not tolerance > 0.0:
        raise ArgumentError(f"tolerance {tolerance} is not above zero")
    data = lives_of(data, observed, entry, by, **columns)
    groups = data.n_groups
    ends = _coded(data)
    start, stop = _innermost(ends)
    offsets = np.searchsorted(start, np.arange(groups + 1) * ends.width).astype(np.int64)
    base, sizes = offsets[ends.code], np.diff(offsets)[ends.code]
    shift = ends.code * ends.width
    inside = np.column_stack(
        [
            np.searchsorted(start, shift + ends.start) - base,
            np.searchsorted(stop, shift + ends.end, side="right") - base,
        ]
    )
    after = np.searchsorted(stop, shift + ends.before, side="right") - base
    until = np.searchsorted(start, shift + ends.after) - base
    seen = np.column_stack([np.where(ends.before < 0, 0, after), np.where(ends.after < 0, sizes, until)])
    rows, inside, seen, weight = _merged(ends.code, inside, seen, ends.weight, groups)
    mass, violation, loglik = np.zeros(start.size), np.zeros(groups), np.zeros(groups)
    of_groups = rows, offsets, inside, seen, weight, 0.5 * tolerance, mass, violation, loglik
    over_groups(rows, lambda first, last: _solve(*of_groups, first, last))
    left, right = start % ends.width, stop % ends.width
    sides, converged = (ends.levels[left // 4], ends.levels[right // 4]), violation <= tolerance
    closed = left % 4 == _START_AT, (right % 4 == _END_AT) & (sides[1] < np.inf)
    return TurnbullEstimate(data.groups, offsets, *sides, *closed, mass, converged, violation, loglik, tolerance)


@dataclass(frozen=True)
class _Coded:
    """Rows with the ends of their intervals as four times the rank of the time plus the kind of end.
    ``before`` and ``after`` bound what truncation leaves out below and above; minus one where there is none.
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


def _coded(data: LifeData) -> _Coded:
    data = data.from_age_known()
    weighted = np.ones(data.durations.size, dtype=bool) if data.weights is None else data.weights > 0
    weight = np.ones(weighted.size) if data.weights is None else data.weights.astype(np.float64)
    low, high, exact = data.durations[weighted], data.ends[weighted], data.observed[weighted]
    entry = np.zeros(low.size) if data.entry is None else data.entry[weighted]
    leave = np.full(low.size, np.inf) if data.exit is None else data.exit[weighted]
    levels = np.unique(np.concatenate([low, high, entry, leave]))

    def coded(times: FloatArray, kind: int | IntArray) -> IntArray:
        return np.asarray(4 * np.searchsorted(levels, times) + kind, dtype=np.int64)

    # what failed at the very age of its entry had not failed just before
    before = coded(entry, np.where(exact & (entry == low), _END_BEFORE, _END_AT))
    within = coded(low, np.where(exact, _START_AT, _START_AFTER)), coded(high, _END_AT)
    outside = np.where(entry > 0.0, before, -1), np.where(leave < np.inf, coded(leave, _START_AFTER), -1)
    return _Coded(levels, data.group_codes()[weighted], weight[weighted], *within, *outside)


def _innermost(ends: _Coded) -> tuple[IntArray, IntArray]:
    """Starts and ends of the innermost intervals of all groups: each start that an end follows at once."""
    shift = ends.code * ends.width
    cut_below, cut_above = ends.before >= 0, ends.after >= 0
    starts = np.concatenate([shift + ends.start, (shift + ends.after)[cut_above]])
    stops = np.concatenate([shift + ends.end, (shift + ends.before)[cut_below]])
    marks = np.unique(np.concatenate([starts, stops]))
    kind = marks % ends.width % 4
    opens = (kind == _START_AT) | (kind == _START_AFTER)
    chosen = np.flatnonzero(opens[:-1] & ~opens[1:] & (marks[:-1] // ends.width == marks[1:] // ends.width))
    return marks[chosen], marks[chosen + 1]


def _merged(
    code: IntArray, inside: IntArray, seen: IntArray, weight: FloatArray, groups: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Rows of a group with the same runs made one, their weights added up."""
    if code.size == 0:
        return np.zeros(groups + 1, dtype=np.int64), inside, seen, weight
    order = np.lexsort((seen[:, 1], seen[:, 0], inside[:, 1], inside[:, 0], code))
    table = np.column_stack([code, inside, seen])[order]
    first = np.flatnonzero(changes(*table.T))
    rows = np.searchsorted(table[first, 0], np.arange(groups + 1)).astype(np.int64)
    totals = np.add.reduceat(weight[order], first)
    return rows, np.ascontiguousarray(table[first, 1:3]), np.ascontiguousarray(table[first, 3:5]), totals


@njit(cache=True, nogil=True)
def _solve(
    rows: np.ndarray,  # where the rows of each group begin
    places: np.ndarray,  # where its intervals begin
    inside: np.ndarray,  # (rows, 2): first interval of a row's run, and the one after its last
    seen: np.ndarray,  # (rows, 2): the same for the run that it is conditioned on
    weight: np.ndarray,
    tolerance: float,
    mass: np.ndarray,
    violation: np.ndarray,
    loglik: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Fill `mass`, `violation` and `loglik` of the groups first..last."""
    for group in range(first, last):
        a, b = inside[rows[group] : rows[group + 1]], seen[rows[group] : rows[group + 1]]
        w = weight[rows[group] : rows[group + 1]]
        p = np.full(places[group + 1] - places[group], 1.0 / max(places[group + 1] - places[group], 1))
        if p.size:
            violation[group] = _maximise(p, a, b, w, tolerance)
            loglik[group] = _loglik(p, a, b, w)
            mass[places[group] : places[group + 1]] = p


@njit(cache=True, nogil=True)
def _maximise(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, tolerance: float) -> float:
    """Accelerated expectation-maximisation, in place; returns the largest violation of the conditions for a maximum."""
    score = np.empty(p.size)
    worst = _violation(p, a, b, w, score)
    for turn in range(_MOST_STEPS):
        if worst <= tolerance:
            break
        one = _improved(p, a, b, w, score)
        two = _improved(one, a, b, w, score)
        change, bend = one - p, two - 2.0 * one + p
        length = max(math.sqrt((change**2).sum() / max((bend**2).sum(), 1e-300)), 1.0)
        leap = p + 2.0 * length * change + length**2 * bend
        for j in range(p.size):
            leap[j] = max(leap[j], 0.1 * two[j])
        leap /= leap.sum()
        better = _loglik(leap, a, b, w) >= _loglik(two, a, b, w)
        p[:] = _improved(leap if better else two, a, b, w, score)
        worst = _violation(p, a, b, w, score)
        if turn % 10 == 9:
            if _fades(p, b):
                break
            trial = p.copy()
            for j in range(p.size):
                if score[j] < 0.0 and p[j] < max(1e-5, min(1e-3, -0.1 * score[j])):
                    trial[j] = 0.0  # fades
                elif p[j] == 0.0 and score[j] > tolerance:
                    trial[j] = 1e-6  # was given up too soon
            trial /= trial.sum()
            now = _violation(trial, a, b, w, score)
            if now <= tolerance or _loglik(trial, a, b, w) >= _loglik(p, a, b, w) - 1e-9 * w.sum():
                p[:], worst = trial, now
    return math.inf if _fades(p, b) else worst


@njit(cache=True, nogil=True)
def _fades(p: np.ndarray, b: np.ndarray) -> bool:
    """Whether what a row is conditioned on has no mass: the likelihood then still rises as that mass goes to zero."""
    least = 1.0
    for i in range(b.shape[0]):
        least = min(least, p[b[i, 0] : b[i, 1]].sum())
    return least < _NO_MASS


@njit(cache=True, nogil=True)
def _running(p: np.ndarray) -> np.ndarray:
    sums = np.zeros(p.size + 1)
    sums[1:] = np.cumsum(p)
    return sums


@njit(cache=True, nogil=True)
def _run(p: np.ndarray, sums: np.ndarray, low: int, high: int) -> float:
    """Mass of a run; short runs are added up, for their digits."""
    return p[low:high].sum() if high - low <= 8 else sums[high] - sums[low]


@njit(cache=True, nogil=True, error_model="numpy")
def _scores(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, score: np.ndarray) -> float:
    """Derivative of the log-likelihood by each mass, masses adding up to one; returns the rows at large."""
    change = np.zeros(p.size + 1)
    large, sums = 0.0, _running(p)
    for i in range(w.size):
        rise = w[i] / _run(p, sums, a[i, 0], a[i, 1])
        fall = w[i] / _run(p, sums, b[i, 0], b[i, 1])
        change[a[i, 0]] += rise
        change[a[i, 1]] -= rise
        change[b[i, 0]] -= fall
        change[b[i, 1]] += fall
        large += fall
    score[:] = np.cumsum(change)[:-1]
    return large


@njit(cache=True, nogil=True)
def _improved(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, score: np.ndarray) -> np.ndarray:
    """One step of expectation-maximisation."""
    large = _scores(p, a, b, w, score)
    out = np.maximum(p * (1.0 + score / large), 0.0)
    return out / out.sum()


@njit(cache=True, nogil=True)
def _violation(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, score: np.ndarray) -> float:
    """Largest violation of optimality per weight (infinite where a row's run has no mass); fills `score`."""
    _scores(p, a, b, w, score)
    score /= w.sum()
    worst = 0.0 if np.isfinite(score).all() else math.inf
    for j in range(p.size):
        worst = max(worst, abs(score[j]) if p[j] > 0.0 else score[j])
    return worst


@njit(cache=True, nogil=True)
def _loglik(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray) -> float:
    value, sums = 0.0, _running(p)
    for i in range(w.size):
        top, bottom = _run(p, sums, a[i, 0], a[i, 1]), _run(p, sums, b[i, 0], b[i, 1])
        if not (top > 0.0 and bottom > 0.0):
            return -math.inf
        value += w[i] * (math.log(top) - math.log(bottom))
    return value
