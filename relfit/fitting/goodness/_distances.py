"""Statistics of tests of fit: K-S, Cramer-von Mises, Anderson-Darling against Kaplan-Meier's estimate, and chi-square.

With no censoring they are the usual statistics. With right censoring the integrals run over the time observed, the
Kaplan-Meier estimate takes the place of the empirical distribution (Koziol and Green 1976), and squared distances are
weighted with the estimated share of durations not yet censored: the variance of the Kaplan-Meier estimate grows as
that share falls, and its tail would dominate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.counting import rising

DISTANCES = ("ks", "cvm", "ad")
STATISTICS = (*DISTANCES, "largest")
"""Columns of what `distances_of_hazards` gives: those of the tests, and the plain largest distance, without weights."""
_SMALLEST, _LOG_SMALLEST = 1e-300, -690.7755278982137
_AT_ONCE = 1 << 16
_SMALLEST_EXPECTATION = 5.0
_LARGEST_HAZARD = 40.0  # beyond it no duration is likely by any standard


def distances_of_hazards(
    hazards: FloatArray,
    observed: BoolArray,
    weights: IntArray | None,
    offsets: IntArray,
    fitted: BoolArray,
    workers: int | None = None,
) -> FloatArray:
    """The statistics for durations given by the cumulative hazard that each has spent, in any order.

    Under the true distribution these are censored durations of a unit exponential, whatever the family and whatever the
    age at which observation began; so truncated durations are covered. NaN where a group is empty or not `fitted`.

    Examples
    --------
    >>> u = np.array([0.1, 0.4, 0.8])
    >>> distances_of_hazards(-np.log1p(-u), np.ones(3, bool), None, np.array([0, 3]), np.array([True])).round(4)
    array([[0.2667, 0.0433, 0.2786, 0.2667]])
    """
    out = np.full((offsets.size - 1, len(STATISTICS)), np.nan)

    def work(first: int, last: int) -> None:
        begin, end = offsets[first], offsets[last]
        below = -np.expm1(-hazards[begin:end])
        log_below = np.log(np.maximum(below, _SMALLEST))
        count = np.ones(below.size) if weights is None else weights[begin:end].astype(np.float64)
        columns = _Columns(hazards[begin:end], below, log_below, observed[begin:end], count)
        _of_groups(columns, offsets[first : last + 1] - begin, fitted[first:last], out[first:last])

    over_groups(offsets, work, workers, _AT_ONCE)
    return out


class _Columns(NamedTuple):
    """Durations: the hazard that each has spent, the fitted distribution function and its log, how it counts."""

    hazard: np.ndarray
    below: np.ndarray
    log_below: np.ndarray
    observed: np.ndarray
    weight: np.ndarray


@njit(cache=True, nogil=True)
def _of_group(columns: _Columns, begin: int, end: int, out: np.ndarray) -> None:
    """The statistics of one group into `out`; durations of equal hazard tie."""
    hazard, below, log_below, observed, weight = columns
    order = rising(hazard[begin:end])
    n = end - begin
    total = 0.0
    for i in range(begin, end):
        total += weight[i]
    at_risk = total
    surviving = 1.0
    watched, root = 1.0, 1.0  # Kaplan-Meier estimate of the share not yet censored, and its root
    largest = 0.0
    distance = 0.0
    square = 0.0
    weighted = 0.0
    u, u0 = 0.0, 0.0  # here, and where the current step of the estimate began, with the terms of the integrals there
    log_u0 = 0.0
    log_v0 = 0.0
    i = 0
    while i < n:
        here = begin + order[i]
        failures = 0.0
        ended = 0.0
        while i < n and hazard[begin + order[i]] == hazard[here]:
            row = begin + order[i]
            ended += weight[row]
            if observed[row]:
                failures += weight[row]
            i += 1
        step = 1.0 - surviving
        u, log_u, log_v = below[here], log_below[here], max(-hazard[here], _LOG_SMALLEST)
        away = abs(u - step)
        square += watched * ((u - step) ** 3 - (u0 - step) ** 3) / 3.0
        weighted += watched * (u0 - u - surviving * surviving * (log_v - log_v0))
        if step > 0.0:
            weighted += watched * step * step * (log_u - log_u0)
        u0, log_u0, log_v0 = u, log_u, log_v
        if failures > 0.0:
            surviving = 0.0 if failures >= at_risk else surviving * (1.0 - failures / at_risk)
        away = max(away, abs(u - (1.0 - surviving)))
        largest = max(largest, away)
        distance = max(distance, root * away)
        if ended > failures and at_risk > failures:
            watched *= 1.0 - (ended - failures) / (at_risk - failures)
            root = math.sqrt(watched)
        at_risk -= ended
    if surviving <= 0.0:
        # the estimate is complete: from the last failure on it is one
        last = 1.0 - u
        square += watched * last**3 / 3.0
        weighted += watched * (-last - log_u0)
    out[0] = distance
    out[1] = total * square
    out[2] = total * weighted
    out[3] = largest


@njit(cache=True, nogil=True)
def _of_groups(columns: _Columns, offsets: np.ndarray, fitted: np.ndarray, out: np.ndarray) -> None:
    for group in range(fitted.size):
        if fitted[group] and offsets[group] < offsets[group + 1]:
            _of_group(columns, offsets[group], offsets[group + 1], out[group])


def chi_square_of_hazards(
    hazards: FloatArray,
    observed: BoolArray,
    offsets: IntArray,
    fitted: BoolArray,
    parameters: int,
    workers: int | None = None,
) -> FloatArray:
    """Chi-square statistic for durations given by the cumulative hazard that each has spent, in any order.

    Complete groups use equiprobable cells under the fitted distribution. Groups with censored durations use cells of
    equal expected failures, the expectation of a cell being the cumulative hazard spent in it, so that censored
    durations count for as long as they were seen (Hjort 1990); a cell then costs no degree of freedom for the total.
    Cells are as many as ``2 n**0.4`` (Moore 1986), fewer if the expectation would fall below five.

    With parameters fitted to the durations, not to the counts, the null distribution is not chi-square (Chernoff and
    Lehmann 1954): the p-value needs a bootstrap.

    NaN where there are too few failures for a degree of freedom: with five expected in each cell, there must be more
    cells than `parameters`, and one more still for complete groups.

    Examples
    --------
    >>> spent = -np.log1p(-(np.arange(40) + 0.5) / 40.0)
    >>> chi_square_of_hazards(spent, np.ones(40, bool), np.array([0, 40]), np.array([True]), 1).tolist()
    [0.0]
    """
    out = np.full(offsets.size - 1, np.nan)
    over_groups(offsets, lambda a, b: _chi_square(hazards, observed, offsets, fitted, parameters, (a, b), out), workers)
    return out


@njit(cache=True, nogil=True)
def _chi_square(  # the arguments of `chi_square_of_hazards` for some of the groups
    hazards: FloatArray,
    observed: BoolArray,
    offsets: IntArray,
    fitted: BoolArray,
    parameters: int,
    groups: tuple[int, int],
    out: FloatArray,
) -> None:
    for group in range(*groups):
        begin, end = offsets[group], offsets[group + 1]
        n = end - begin
        failures = 0
        for i in range(begin, end):
            failures += observed[i]
        complete = failures == n
        cells = min(int(2.0 * failures**0.4), int(failures / _SMALLEST_EXPECTATION))
        if not fitted[group] or cells < parameters + 1 + (1 if complete else 0):
            continue
        if complete:
            out[group] = _equiprobable(hazards[begin:end], cells)
        else:
            order = begin + np.argsort(hazards[begin:end])
            out[group] = _equal_hazard(np.minimum(hazards[order], _LARGEST_HAZARD), observed[order], cells)


@njit(cache=True, nogil=True)
def _equiprobable(hazards: np.ndarray, cells: int) -> float:
    """Observed against expected failures in equiprobable cells."""
    expected = hazards.size / cells
    counted = np.zeros(cells)
    for hazard in hazards:
        counted[min(int(-math.expm1(-hazard) * cells), cells - 1)] += 1.0
    return float(np.sum((counted - expected) ** 2) / expected)


@njit(cache=True, nogil=True)
def _equal_hazard(hazards: np.ndarray, observed: np.ndarray, cells: int) -> float:
    """Observed against expected failures in cells of equal cumulative hazard spent; hazards in rising order."""
    n = hazards.size
    expected = hazards.sum() / cells
    statistic = 0.0
    counted = 0.0
    passed = 0.0  # cumulative hazard of the durations that ended before the i-th
    cell = 1
    for i in range(n):
        # hazard spent by all up to this end; a duration on a boundary belongs below it
        spent = passed + (n - i) * hazards[i]
        while cell < cells and spent > cell * expected * (1.0 + 1e-12):
            statistic += (counted - expected) ** 2
            counted = 0.0
            cell += 1
        counted += observed[i]
        passed += hazards[i]
    statistic += (counted - expected) ** 2 + (cells - cell) * expected**2
    return statistic / expected
