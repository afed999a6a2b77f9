"""What `conditional_kernels` needs of the durations of each group: the terms of its likelihood, and where to begin.

Compiled, but for what numpy does for many groups at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from relfit.base.numeric.compiled import njit
from relfit.base.numeric.counting import rising
from relfit.base.numeric.special import mean_log_minus_one, shape_score
from relfit.fitting.conditional_terms import GAMMA, WEIBULL, GroupTerms
from relfit.fitting.families.base import EULER, LOG_WEIBULL_SD
from relfit.log.lifedata import LifeData

_FARTHEST = 20.0  # log of a spread at which a search begins


class GroupRows(NamedTuple):
    """Rows of a `LifeData`, and how each counts in the likelihood: its density, its reliability, ..."""

    durations: np.ndarray
    log: np.ndarray
    log_entry: np.ndarray
    weights: np.ndarray
    ended: np.ndarray
    under_way: np.ndarray
    survived: np.ndarray
    tail: np.ndarray
    offsets: np.ndarray


def rows_of_groups(lives: LifeData, first: int, last: int) -> GroupRows:
    """The rows of a range of groups; durations and weights of zero add no term."""
    offsets = lives.offsets[first : last + 1] - lives.offsets[first]
    rows = slice(int(lives.offsets[first]), int(lives.offsets[last]))
    durations, observed = lives.durations[rows].copy(), lives.observed[rows]
    size = durations.size
    weights = np.ones(size) if lives.weights is None else lives.weights[rows].astype(np.float64)
    stationary = np.zeros(size, np.bool_) if lives.stationary is None else lives.stationary[rows]
    with np.errstate(divide="ignore"):
        log = np.log(durations)
        log_entry = np.full(size, -np.inf) if lives.entry is None else np.log(lives.entry[rows])
    some = (weights > 0.0) & (durations > 0.0)
    ended, tail = some & observed & ~stationary, some & stationary & ~observed
    under_way = stationary & observed
    log_entry[weights == 0.0] = -np.inf
    return GroupRows(durations, log, log_entry, weights, ended, under_way, some & ~ended & ~tail, tail, offsets)


@njit(cache=True, nogil=True, error_model="numpy")
def terms_of(kind: int, group: int, rows: GroupRows, work: np.ndarray) -> GroupTerms:
    """The terms of one group; their arrays are rows of `work`."""
    durations, log, log_entry, weights, ended, stationary, survived, tail, offsets = rows
    begin, end = offsets[group], offsets[group + 1]
    sf, tails = 0, 0
    weight, under_way, time, log_sum, square_sum, gap_sum = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(begin, end):
        c = weights[i]
        if ended[i]:
            weight += c
            time += c * durations[i]
            log_sum += c * log[i]
        if stationary[i]:
            under_way += c
        # the Weibull's density is its hazard times its reliability; the others' is taken whole
        if survived[i] or (kind == WEIBULL and ended[i]):
            work[0, sf], work[1, sf] = log[i], c
            sf += 1
        if log_entry[i] > -math.inf:
            work[0, sf], work[1, sf] = log_entry[i], -c
            sf += 1
        if tail[i]:
            work[2, tails], work[3, tails] = log[i], c
            tails += 1
    mean, mean_log = (time / weight, log_sum / weight) if weight > 0.0 else (1.0, 0.0)
    log_mean = math.log(mean)
    for i in range(begin, end):
        if ended[i]:
            square_sum += weights[i] * (log[i] - mean_log) ** 2
            if kind == GAMMA:
                away = durations[i] / mean - 1.0
                gap = mean_log_minus_one(away) if abs(away) < 0.05 else away - (log[i] - log_mean)
                gap_sum += weights[i] * gap
    if kind == GAMMA:
        _rise(work[0, :sf], work[1, :sf])
    _rise(work[2, :tails], work[3, :tails])
    sums = (weight, under_way, mean, mean_log, square_sum, gap_sum)
    return GroupTerms(*sums, work[0, :sf], work[1, :sf], work[2, :tails], work[3, :tails])


@njit(cache=True, nogil=True)
def _rise(times: np.ndarray, weight: np.ndarray) -> None:
    order = rising(times)
    for values in (times, weight):
        before = values.copy()
        for i in range(order.size):
            values[i] = before[order[i]]


@njit(cache=True, nogil=True, error_model="numpy")
def start_of(kind: int, group: int, rows: GroupRows, terms: GroupTerms, point: np.ndarray) -> None:
    """Free coordinates near the maximum, of lives without truncation and unknown ages; into `point`.

    Where all have ended, those of the lognormal are in closed form and the gamma's to 1.5 % (Minka 2002). Others are
    those of the Weibull distribution with a rough shape and the scale likeliest for it.
    """
    log, weights = rows.log, rows.weights
    weight = terms.weight
    if kind != WEIBULL and terms.sf_log.size == 0:
        if kind == GAMMA:
            gap = terms.gap_sum / weight
            shape = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
            point[0], point[1] = min(math.log(shape), _FARTHEST), math.log(terms.mean)
        else:
            point[0], point[1] = terms.mean_log, max(0.5 * math.log(terms.square_sum / weight), -_FARTHEST)
        return
    count, log_sum, square, top, total = 0.0, 0.0, 0.0, -math.inf, 0.0
    begin, end = rows.offsets[group], rows.offsets[group + 1]
    for i in range(begin, end):
        if weights[i] > 0.0 and log[i] > -math.inf:
            count += weights[i]
            log_sum += weights[i] * log[i]
            top = max(top, log[i])
    for i in range(begin, end):
        if weights[i] > 0.0 and log[i] > -math.inf:
            square += weights[i] * (log[i] - log_sum / count) ** 2
    # few that failed say how far below the oldest; of most lives the spread of their logs serves
    few = weight < 0.5 * count
    scatter = LOG_WEIBULL_SD * (top - terms.mean_log) if few else math.sqrt(square / count)
    shape = min(max(LOG_WEIBULL_SD / max(scatter, 1e-3), 0.05), 20.0)
    for i in range(begin, end):
        if weights[i] > 0.0:
            total += weights[i] * math.exp(shape * (log[i] - top))
    log_scale = top + math.log(total / weight) / shape
    spread = LOG_WEIBULL_SD / shape
    if kind == WEIBULL:
        point[0], point[1] = math.log(shape), log_scale
    elif kind == GAMMA:
        variance = spread * spread
        a = (1.0 + math.sqrt(1.0 + 2.6 * variance)) / (2.0 * variance)  # to a fifth: trigamma(a) is 1/a + 0.65/a**2
        point[0], point[1] = math.log(a), log_scale - EULER / shape + shape_score(a)[0]
    else:
        point[0], point[1] = log_scale - EULER / shape, math.log(spread)
