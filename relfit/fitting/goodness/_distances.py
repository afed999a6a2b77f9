"""Distances between a fitted distribution and the Kaplan-Meier estimate: K-S, Cramer-von Mises, Anderson-Darling.

With no censoring they are the usual statistics. With right censoring the integrals run over the time observed, the
Kaplan-Meier estimate takes the place of the empirical distribution (Koziol and Green 1976), and squared distances are
weighted with the estimated share of durations not yet censored: the variance of the Kaplan-Meier estimate grows as
that share falls, and its tail would dominate.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.batches import SortedLives, over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.special import BLOCK, gamma_cdf, series_table

DISTANCES = ("ks", "cvm", "ad")
STATISTICS = (*DISTANCES, "largest")
"""Columns of what `distances` gives: those of the tests, and the plain largest distance, without weights."""
_CODES = {"exponential": 0, "weibull": 1, "gamma": 2, "lognormal": 3}
_SMALLEST = 1e-300
_FEW_GROUPS = 4  # for which the fitted distribution need not be compiled


def distances(
    family: str,
    parameters: FloatArray,
    fitted: BoolArray,
    ordered: SortedLives,
    workers: int | None = None,
) -> FloatArray:
    """Statistics of one core family on observed or right-censored durations, shape (groups, 4) as `STATISTICS`.

    `parameters` have shape (groups, k); NaN where the family was not `fitted`.
    """
    out = np.full((ordered.n_groups, len(STATISTICS)), np.nan)

    if ordered.n_groups <= _FEW_GROUPS:
        for group in np.flatnonzero(fitted).tolist():
            begin, end = ordered.offsets[group : group + 2].tolist()
            below, above = _fitted(family, parameters[group], ordered.durations[begin:end], ordered.log[begin:end])
            _of_group(below, above, ordered.durations, ordered.observed, np.empty(0, np.int64), begin, end, out[group])
        return out

    code = _CODES[family]
    over_groups(ordered.offsets, lambda a, b: _of_core(code, parameters, fitted, ordered, a, b, out), workers)
    return out


def _fitted(family: str, parameters: FloatArray, times: FloatArray, log: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fitted distribution and survival functions at sorted durations."""
    if family == "lognormal":
        z = (log - parameters[0]) / parameters[1]
        return np.asarray(special.ndtr(z)), np.asarray(special.ndtr(-z))
    if family == "gamma":
        at = times / parameters[1]
        return np.asarray(special.gammainc(parameters[0], at)), np.asarray(special.gammaincc(parameters[0], at))
    with np.errstate(over="ignore", under="ignore"):
        hazard = (
            parameters[0] * times if family == "exponential" else np.exp(parameters[0] * (log - np.log(parameters[1])))
        )
        return -np.expm1(-hazard), np.exp(-hazard)


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
    counts = np.empty(0, np.int64) if weights is None else weights
    over_groups(offsets, lambda a, b: _of_hazards(hazards, observed, counts, offsets, fitted, a, b, out), workers)
    return out


@njit(cache=True, nogil=True)
def _of_group(
    below: np.ndarray,
    above: np.ndarray,
    key: np.ndarray,
    observed: np.ndarray,
    weights: np.ndarray,
    begin: int,
    end: int,
    out: np.ndarray,
) -> None:
    """The statistics of one group into `out`.

    `below` and `above` hold the fitted distribution and survival functions at its sorted durations (from position 0);
    durations of equal `key` tie. `weights` is empty where every duration counts once.
    """
    n = end - begin
    total = 0.0
    if weights.size:
        for i in range(begin, end):
            total += weights[i]
    else:
        total = float(n)
    at_risk = total
    surviving = 1.0
    watched = 1.0  # Kaplan-Meier estimate of the share not yet censored
    largest = 0.0
    distance = 0.0
    square = 0.0
    weighted = 0.0
    u0 = 0.0  # where the current step of the estimate began, and the terms of the integrals there
    log_u0 = 0.0
    log_v0 = 0.0
    i = 0
    while i < n:
        j = i
        failures = 0.0
        ended = 0.0
        while j < n and key[begin + j] == key[begin + i]:
            weight = weights[begin + j] if weights.size else 1.0
            ended += weight
            if observed[begin + j]:
                failures += weight
            j += 1
        step = 1.0 - surviving
        u, v = below[i], above[i]
        away = abs(u - step)
        log_u = math.log(max(u, _SMALLEST))
        log_v = math.log(max(v, _SMALLEST))
        square += watched * ((u - step) ** 3 - (u0 - step) ** 3) / 3.0
        weighted += watched * (u0 - u - surviving * surviving * (log_v - log_v0))
        if step > 0.0:
            weighted += watched * step * step * (log_u - log_u0)
        u0, log_u0, log_v0 = u, log_u, log_v
        if failures > 0.0:
            surviving = 0.0 if failures >= at_risk else surviving * (1.0 - failures / at_risk)
        away = max(away, abs(u - (1.0 - surviving)))
        largest = max(largest, away)
        distance = max(distance, math.sqrt(watched) * away)
        if ended > failures and at_risk > failures:
            watched *= 1.0 - (ended - failures) / (at_risk - failures)
        at_risk -= ended
        i = j
    if surviving <= 0.0:
        # the estimate is complete: from the last failure on it is one
        last = above[n - 1]
        square += watched * last**3 / 3.0
        weighted += watched * (-last - log_u0)
    out[0] = distance
    out[1] = total * square
    out[2] = total * weighted
    out[3] = largest


@njit(cache=True, nogil=True)
def _probabilities(
    code: int,
    parameters: np.ndarray,
    durations: np.ndarray,
    log: np.ndarray,
    begin: int,
    end: int,
    table: np.ndarray,
    work: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
) -> None:
    """Fitted distribution and survival functions at the durations of one group."""
    n = end - begin
    if code == 2:
        log_scale = math.log(parameters[1])
        series_table(parameters[0], table)
        for i in range(n):
            above[i] = log[begin + i] - log_scale
        gamma_cdf(parameters[0], above[:n], math.lgamma(parameters[0]), table, work, below)
        for i in range(n):
            above[i] = 1.0 - below[i]
    elif code == 3:
        factor = math.sqrt(0.5) / parameters[1]
        for i in range(n):
            z = (log[begin + i] - parameters[0]) * factor
            below[i], above[i] = 0.5 * math.erfc(-z), 0.5 * math.erfc(z)
    else:
        log_scale = math.log(parameters[1]) if code == 1 else 0.0
        for i in range(n):
            if code == 0:
                hazard = parameters[0] * durations[begin + i]
            else:
                hazard = math.exp(parameters[0] * (log[begin + i] - log_scale))
            above[i] = math.exp(-hazard)
            below[i] = 1.0 - above[i]


@njit(cache=True, nogil=True)
def _of_core(
    code: int,
    parameters: FloatArray,
    fitted: BoolArray,
    ordered: SortedLives,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    durations, log, observed, offsets = ordered
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
        if fitted[group]:
            _probabilities(code, parameters[group], durations, log, begin, end, table, work, below, above)
            _of_group(below, above, durations, observed, unweighted, begin, end, out[group])


@njit(cache=True, nogil=True)
def _of_hazards(
    hazards: np.ndarray,
    observed: np.ndarray,
    weights: np.ndarray,
    offsets: np.ndarray,
    fitted: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if begin == end or not fitted[group]:
            continue
        order = begin + np.argsort(hazards[begin:end])
        key = hazards[order]
        count = weights[order] if weights.size else weights
        _of_group(-np.expm1(-key), np.exp(-key), key, observed[order], count, 0, end - begin, out[group])
