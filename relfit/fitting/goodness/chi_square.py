"""The chi-square statistic of a fitted distribution, complete or right-censored."""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit

_SMALLEST_EXPECTATION = 5.0
_LARGEST_HAZARD = 40.0  # beyond it no duration is likely by any standard


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
    over_groups(offsets, lambda a, b: _of_groups(hazards, observed, offsets, fitted, parameters, (a, b), out), workers)
    return out


@njit(cache=True, nogil=True)
def _of_groups(  # the arguments of `chi_square_of_hazards` for some of the groups
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
