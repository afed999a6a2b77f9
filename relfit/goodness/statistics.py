"""K-S and chi-square statistics of fitted families for ranges of groups, complete or right-censored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
import numpy.typing as npt

from relfit.goodness.chi_square import chi_square_p
from relfit.goodness.kolmogorov import kolmogorov_p
from relfit.numeric.batches import SortedLives, over_groups
from relfit.numeric.special import BLOCK, gamma_cdf, series_table

__all__ = ["FAMILY_CODES", "Goodness", "goodness_of_fit"]

FAMILY_CODES = {"exponential": 0, "weibull": 1, "gamma": 2, "lognormal": 3}
_SMALLEST_EXPECTATION = 5.0
_LARGEST_HAZARD = 40.0  # beyond it a life is no longer likely by any standard

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Goodness:
    """Statistics and p-values of one family, one entry a group; NaN where the family was not fitted.

    ``ks`` is the largest distance between the fitted distribution function and the Kaplan-Meier estimate over the time
    observed. ``ks_p_textbook`` takes the parameters as known and the number of failures as the sample size.
    ``chi2`` needs enough failures for ``parameters + 2`` cells of five; ``chi2_df`` is 0 where it does not exist.
    """

    ks: FloatArray
    ks_p_textbook: FloatArray
    chi2: FloatArray
    chi2_cells: npt.NDArray[np.int64]
    chi2_df: npt.NDArray[np.int64]
    chi2_df_upper: npt.NDArray[np.int64]

    @cached_property
    def chi2_p(self) -> FloatArray:
        """Chi-square p-value with the fewer degrees of freedom."""
        return chi_square_p(self.chi2, self.chi2_df)

    @cached_property
    def chi2_p_upper(self) -> FloatArray:
        """Chi-square p-value with the more degrees of freedom."""
        return chi_square_p(self.chi2, self.chi2_df_upper)


def goodness_of_fit(
    family: str,
    parameters: FloatArray,
    fitted: npt.NDArray[np.bool_],
    lives: SortedLives,
    failures: npt.NDArray[np.int64],
    workers: int | None = None,
) -> Goodness:
    """Statistics of one family for every group.

    Complete groups use equiprobable cells under the fitted distribution. Groups with censored lives use cells of equal
    expected failures, the expectation of a cell being the cumulative hazard that the lives spent in it, so that
    censored lives count for as long as they were seen (Hjort 1990); a cell then costs no degree of freedom for the
    total. Cells are as many as ``2 n**0.4`` (Moore 1986), fewer if the expectation would fall below five.

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
    groups = lives.n_groups
    ks = np.full(groups, np.nan)
    chi2 = np.full(groups, np.nan)
    cells = np.zeros(groups, dtype=np.int64)
    complete = np.zeros(groups, dtype=np.bool_)
    code, count = FAMILY_CODES[family], parameters.shape[1]

    def work(first: int, last: int) -> None:
        _statistics(
            code, parameters, fitted, lives.durations, lives.log, lives.observed, lives.offsets, first, last,
            ks, chi2, cells, complete, count,
        )  # fmt: skip

    over_groups(lives.offsets, work, workers)
    lost = count + complete.astype(np.int64)
    degrees = np.where(cells > 0, cells - lost, 0)
    most = np.where(cells > 0, cells - complete, 0)
    return Goodness(
        ks,
        kolmogorov_p(ks, failures),
        chi2,
        cells,
        degrees,
        most,
    )


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
def _statistics(
    code: int, parameters: np.ndarray, fitted: np.ndarray, durations: np.ndarray, log: np.ndarray,
    observed: np.ndarray, offsets: np.ndarray, first: int, last: int, ks: np.ndarray, chi2: np.ndarray,
    cells: np.ndarray, complete: np.ndarray, count: int,
) -> None:  # fmt: skip
    longest = 0
    for group in range(first, last):
        longest = max(longest, offsets[group + 1] - offsets[group])
    u = np.empty(longest)
    hazards = np.empty(longest)
    table = np.empty((48, 3))
    work = np.empty((5, BLOCK))
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        n = end - begin
        failures = 0
        for i in range(begin, end):
            failures += observed[i]
        complete[group] = failures == n
        if not fitted[group]:
            continue
        usable = min(int(2.0 * failures**0.4), int(failures / _SMALLEST_EXPECTATION))
        if usable < count + 1 + (1 if failures == n else 0):
            usable = 0
        _probabilities(
            code, parameters[group], durations, log, begin, end, table, work, u, hazards, usable > 0 and failures < n
        )
        ks[group] = _largest_distance(u, durations, observed, begin, end)
        if usable == 0:
            continue
        cells[group] = usable
        if failures == n:
            expected = n / usable
            counted = np.zeros(usable)
            for i in range(n):
                counted[min(int(u[i] * usable), usable - 1)] += 1.0
            total = 0.0
            for c in range(usable):
                total += (counted[c] - expected) ** 2
            chi2[group] = total / expected
        else:
            chi2[group] = _censored_chi_square(hazards, observed, begin, n, usable)


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
