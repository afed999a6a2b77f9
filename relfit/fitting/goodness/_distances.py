"""Distances between a fitted distribution and the Kaplan-Meier estimate: K-S, Cramer-von Mises, Anderson-Darling.

With no censoring they are the usual statistics. With right censoring the integrals run over the time observed, the
Kaplan-Meier estimate takes the place of the empirical distribution (Koziol and Green 1976), and squared distances are
weighted with the estimated share of durations not yet censored: the variance of the Kaplan-Meier estimate grows as
that share falls, and its tail would dominate.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit

DISTANCES = ("ks", "cvm", "ad")
STATISTICS = (*DISTANCES, "largest")
"""Columns of what `distances_of_hazards` gives: those of the tests, and the plain largest distance, without weights."""
_SMALLEST = 1e-300


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
