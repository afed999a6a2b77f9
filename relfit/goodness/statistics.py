"""K-S and chi-square statistics of fitted families for ranges of groups, complete or right-censored."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from relfit.goodness.chi_square import chi_square_p
from relfit.goodness.distances import distances_of_group
from relfit.goodness.kolmogorov import kolmogorov_p
from relfit.numeric.batches import SortedLives, over_groups
from relfit.numeric.special import BLOCK, gamma_cdf, series_table

__all__ = [
    "FAMILY_CODES",
    "ChiSquare",
    "KolmogorovSmirnov",
    "chi_square",
    "chi_square_of_hazards",
    "distances",
    "kolmogorov_smirnov",
]

FAMILY_CODES = {"exponential": 0, "weibull": 1, "gamma": 2, "lognormal": 3}
_SMALLEST_EXPECTATION = 5.0
_LARGEST_HAZARD = 40.0  # beyond it a life is no longer likely by any standard

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KolmogorovSmirnov:
    """K-S statistics of one family, one entry a group; NaN where the family was not fitted.

    ``statistic`` is the largest distance between the fitted distribution function and the Kaplan-Meier estimate over
    the time observed. ``p_textbook`` takes the parameters as known and the number of failures as the sample size.
    """

    statistic: FloatArray
    p_textbook: FloatArray


@dataclass(frozen=True)
class ChiSquare:
    """Chi-square statistics of one family, one entry a group; NaN where there are too few failures.

    A statistic needs cells for one degree of freedom more than the parameters use, each with five failures. ``degrees``
    is 0 where there is none.
    """

    statistic: FloatArray
    cells: IntArray
    degrees: IntArray
    degrees_upper: IntArray
    p: FloatArray
    p_upper: FloatArray


def kolmogorov_smirnov(
    family: str,
    parameters: FloatArray,
    fitted: npt.NDArray[np.bool_],
    lives: SortedLives,
    failures: IntArray,
    workers: int | None = None,
) -> KolmogorovSmirnov:
    """K-S statistic and textbook p-value of one family for every group.

    Parameters
    ----------
    family : str
        One of the four core families.
    parameters : ndarray, shape (groups, k)
    fitted : ndarray of bool, shape (groups,)
        Where `parameters` mean anything.
    lives : SortedLives
    failures : ndarray of int, shape (groups,)
    workers : int, optional
        Threads.
    """
    statistic, _, _ = _pass(family, parameters, fitted, lives, cells=False, workers=workers)
    return KolmogorovSmirnov(statistic, kolmogorov_p(statistic, failures))


def distances(
    family: str,
    parameters: FloatArray,
    fitted: npt.NDArray[np.bool_],
    lives: SortedLives,
    workers: int | None = None,
) -> FloatArray:
    """K-S, Cramer-von Mises and Anderson-Darling statistics of one core family, shape (groups, 3).

    Parameters
    ----------
    family, parameters, fitted, lives, workers
        As for `kolmogorov_smirnov`.
    """
    out = np.full((lives.n_groups, 3), np.nan)

    def work(first: int, last: int) -> None:
        _distances(
            FAMILY_CODES[family], parameters, fitted, lives.durations, lives.log, lives.observed, lives.offsets,
            first, last, out,
        )  # fmt: skip

    over_groups(lives.offsets, work, workers)
    return out


def chi_square(
    family: str,
    parameters: FloatArray,
    fitted: npt.NDArray[np.bool_],
    lives: SortedLives,
    workers: int | None = None,
) -> ChiSquare:
    """Chi-square statistic with pooled cells, and its two p-values, of one family for every group.

    Complete groups use equiprobable cells under the fitted distribution. Groups with censored lives use cells of equal
    expected failures, the expectation of a cell being the cumulative hazard that the lives spent in it, so that
    censored lives count for as long as they were seen (Hjort 1990); a cell then costs no degree of freedom for the
    total. Cells are as many as ``2 n**0.4`` (Moore 1986), fewer if the expectation would fall below five.

    Parameters
    ----------
    family, parameters, fitted, lives, workers
        As for `kolmogorov_smirnov`.
    """
    statistic, cells, complete = _pass(family, parameters, fitted, lives, cells=True, workers=workers)
    degrees = np.where(cells > 0, cells - parameters.shape[1] - complete, 0)
    upper = np.where(cells > 0, cells - complete, 0)
    return ChiSquare(statistic, cells, degrees, upper, chi_square_p(statistic, degrees), chi_square_p(statistic, upper))


def chi_square_of_hazards(
    hazards: FloatArray,
    observed: npt.NDArray[np.bool_],
    offsets: IntArray,
    fitted: npt.NDArray[np.bool_],
    parameters: int,
    workers: int | None = None,
) -> FloatArray:
    """Chi-square statistic for lives given by the cumulative hazard that each has spent, in any order.

    Parameters
    ----------
    hazards : ndarray of float, shape (n,)
        Cumulative hazard spent under observation.
    observed : ndarray of bool, shape (n,)
    offsets : ndarray of int, shape (groups + 1,)
    fitted : ndarray of bool, shape (groups,)
    parameters : int
        Number of fitted parameters.
    workers : int, optional
        Threads.

    Returns
    -------
    ndarray of float, shape (groups,)
        With the cells of `chi_square`; NaN where there are too few failures.
    """
    out = np.full(offsets.size - 1, np.nan)
    over_groups(
        offsets, lambda a, b: _cells_of_hazards(hazards, observed, offsets, fitted, parameters, a, b, out), workers
    )
    return out


def _pass(
    family: str,
    parameters: FloatArray,
    fitted: npt.NDArray[np.bool_],
    lives: SortedLives,
    *,
    cells: bool,
    workers: int | None,
) -> tuple[FloatArray, IntArray, npt.NDArray[np.bool_]]:
    statistic = np.full(lives.n_groups, np.nan)
    used = np.zeros(lives.n_groups, dtype=np.int64)
    complete = np.zeros(lives.n_groups, dtype=np.bool_)

    def work(first: int, last: int) -> None:
        _statistics(
            FAMILY_CODES[family], cells, parameters, fitted, lives.durations, lives.log, lives.observed, lives.offsets,
            first, last, statistic, used, complete,
        )  # fmt: skip

    over_groups(lives.offsets, work, workers)
    return statistic, used, complete


@numba.njit(cache=True, nogil=True)
def _probabilities(
    code: int, parameters: np.ndarray, durations: np.ndarray, log: np.ndarray, begin: int, end: int,
    table: np.ndarray, work: np.ndarray, out: np.ndarray, hazards: np.ndarray, censored: bool,
) -> None:  # fmt: skip
    """Fitted distribution function at the lives of one group and, where some are censored, the cumulative hazard."""
    if code == 0:
        for i in range(begin, end):
            hazards[i - begin] = parameters[0] * durations[i]
            out[i - begin] = 1.0 - math.exp(-hazards[i - begin])
        return
    if code == 1:
        log_scale = math.log(parameters[1])
        for i in range(begin, end):
            hazards[i - begin] = math.exp(parameters[0] * (log[i] - log_scale))
            out[i - begin] = 1.0 - math.exp(-hazards[i - begin])
        return
    if code == 2:
        a = parameters[0]
        log_scale = math.log(parameters[1])
        log_gamma = math.lgamma(a)
        series_table(a, table)
        for i in range(begin, end):
            hazards[i - begin] = log[i] - log_scale
        gamma_cdf(a, hazards[: end - begin], log_gamma, table, work, out)
    else:
        factor = math.sqrt(0.5) / parameters[1]
        for i in range(begin, end):
            out[i - begin] = 0.5 * math.erfc((parameters[0] - log[i]) * factor)
    if censored:
        for i in range(end - begin):
            hazards[i] = -math.log1p(-out[i]) if out[i] < 1.0 else _LARGEST_HAZARD


@numba.njit(cache=True, nogil=True)
def _distances(
    code: int, parameters: np.ndarray, fitted: np.ndarray, durations: np.ndarray, log: np.ndarray,
    observed: np.ndarray, offsets: np.ndarray, first: int, last: int, out: np.ndarray,
) -> None:  # fmt: skip
    longest = 0
    for group in range(first, last):
        longest = max(longest, offsets[group + 1] - offsets[group])
    below = np.empty(longest)
    above = np.empty(longest)
    table = np.empty((48, 3))
    work = np.empty((5, BLOCK))
    unweighted = np.empty(0, np.int64)
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if not fitted[group]:
            continue
        _probabilities(code, parameters[group], durations, log, begin, end, table, work, below, above, False)
        for i in range(end - begin):
            if code < 2:
                above[i] = math.exp(-above[i])
            elif code == 2:
                above[i] = 1.0 - below[i]
            else:
                z = (log[begin + i] - parameters[group, 0]) / parameters[group, 1]
                above[i] = 0.5 * math.erfc(z * math.sqrt(0.5))
        distances_of_group(below, above, durations, observed, unweighted, begin, end, out[group])


@numba.njit(cache=True, nogil=True)
def _statistics(
    code: int, in_cells: bool, parameters: np.ndarray, fitted: np.ndarray, durations: np.ndarray, log: np.ndarray,
    observed: np.ndarray, offsets: np.ndarray, first: int, last: int, statistic: np.ndarray, cells: np.ndarray,
    complete: np.ndarray,
) -> None:  # fmt: skip
    longest = 0
    for group in range(first, last):
        longest = max(longest, offsets[group + 1] - offsets[group])
    u = np.empty(longest)
    hazards = np.empty(longest)
    table = np.empty((48, 3))
    work = np.empty((5, BLOCK))
    count = parameters.shape[1]
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if not fitted[group]:
            continue
        if not in_cells:
            _probabilities(code, parameters[group], durations, log, begin, end, table, work, u, hazards, False)
            statistic[group] = _largest_distance(u, durations, observed, begin, end)
            continue
        n = end - begin
        failures = 0
        for i in range(begin, end):
            failures += observed[i]
        complete[group] = failures == n
        usable = min(int(2.0 * failures**0.4), int(failures / _SMALLEST_EXPECTATION))
        if usable < count + 1 + (1 if failures == n else 0):
            continue
        cells[group] = usable
        _probabilities(code, parameters[group], durations, log, begin, end, table, work, u, hazards, failures < n)
        if failures < n:
            statistic[group] = _censored_chi_square(hazards, observed, begin, n, usable)
        else:
            statistic[group] = _complete_chi_square(u, n, usable)


@numba.njit(cache=True, nogil=True)
def _cells_of_hazards(
    hazards: np.ndarray, observed: np.ndarray, offsets: np.ndarray, fitted: np.ndarray, parameters: int, first: int,
    last: int, out: np.ndarray,
) -> None:  # fmt: skip
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        n = end - begin
        failures = 0
        for i in range(begin, end):
            failures += observed[i]
        usable = min(int(2.0 * failures**0.4), int(failures / _SMALLEST_EXPECTATION))
        if not fitted[group] or usable < parameters + 1 + (1 if failures == n else 0):
            continue
        if failures == n:
            u = np.empty(n)
            for i in range(n):
                u[i] = -math.expm1(-hazards[begin + i])
            out[group] = _complete_chi_square(u, n, usable)
            continue
        order = np.argsort(hazards[begin:end])
        spent = np.empty(n)
        seen = np.empty(n, np.bool_)
        for i in range(n):
            spent[i] = hazards[begin + order[i]]
            seen[i] = observed[begin + order[i]]
        out[group] = _censored_chi_square(spent, seen, 0, n, usable)


@numba.njit(cache=True, nogil=True)
def _complete_chi_square(u: np.ndarray, n: int, cells: int) -> float:
    """Observed against expected lives in equiprobable cells."""
    expected = n / cells
    counted = np.zeros(cells)
    for i in range(n):
        counted[min(int(u[i] * cells), cells - 1)] += 1.0
    total = 0.0
    for c in range(cells):
        total += (counted[c] - expected) ** 2
    return total / expected


@numba.njit(cache=True, nogil=True)
def _largest_distance(u: np.ndarray, durations: np.ndarray, observed: np.ndarray, begin: int, end: int) -> float:
    """Distance to the Kaplan-Meier estimate, on both sides of its steps and at the last life."""
    n = end - begin
    surviving = 1.0
    distance = 0.0
    i = 0
    while i < n:
        j = i
        failures = 0
        while j < n and durations[begin + j] == durations[begin + i]:
            failures += observed[begin + j]
            j += 1
        distance = max(distance, abs(u[i] - (1.0 - surviving)))
        surviving *= 1.0 - failures / (n - i)
        distance = max(distance, abs(u[i] - (1.0 - surviving)))
        i = j
    return distance


@numba.njit(cache=True, nogil=True)
def _censored_chi_square(hazards: np.ndarray, observed: np.ndarray, begin: int, n: int, cells: int) -> float:
    """Observed against expected failures in cells of equal cumulative hazard spent."""
    total = 0.0
    for i in range(n):
        total += min(hazards[i], _LARGEST_HAZARD)
    expected = total / cells
    statistic = 0.0
    counted = 0.0
    passed = 0.0  # cumulative hazard of the lives that ended before life i
    cell = 1
    i = 0
    while i < n:
        hazard = min(hazards[i], _LARGEST_HAZARD)
        # hazard spent by all lives up to this one's end; a life on a boundary belongs below it
        spent = passed + (n - i) * hazard
        while cell < cells and spent > cell * expected * (1.0 + 1e-12):
            statistic += (counted - expected) ** 2
            counted = 0.0
            cell += 1
        counted += observed[begin + i]
        passed += hazard
        i += 1
    statistic += (counted - expected) ** 2
    statistic += (cells - cell) * expected**2
    return statistic / expected
