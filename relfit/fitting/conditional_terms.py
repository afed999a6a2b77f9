"""The likelihood of a group with its derivatives, for `conditional_kernels`: terms, sum, and where to begin."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from relfit.base.numeric import special
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.counting import rising
from relfit.base.numeric.special import mean_log_minus_one, shape_score
from relfit.fitting.families.base import EULER, LOG_WEIBULL_SD
from relfit.log.lifedata import LifeData

WEIBULL, GAMMA = 0, 1
FAR = 26.0  # logs of shapes and spreads, and how far a search goes
_FARTHEST = 20.0  # log of a spread at which a search begins


class GroupTerms(NamedTuple):
    """The terms of the likelihood of a group.

    Of the observed lives: their weight, mean duration and mean log, and the weighted sums of the squared distances of
    the logs from their mean, and of ``d - log(1 + d)``, d the distance of a duration from the mean over that mean.
    ``under_way`` is the weight of the stationary lives that ended. The others are the logs of times at which a
    reliability or an integrated tail counts, with their weights, rising where it is an incomplete gamma function.
    """

    weight: float
    under_way: float
    mean: float
    mean_log: float
    square_sum: float
    gap_sum: float
    sf_log: np.ndarray
    sf_weight: np.ndarray
    tail_log: np.ndarray
    tail_weight: np.ndarray


class Space(NamedTuple):
    """Working arrays of `log_gamma_sf`."""

    work: np.ndarray
    tails: np.ndarray


@njit(cache=True, nogil=True)
def new_space() -> Space:
    """Working arrays for one thread."""
    return Space(np.empty((6, special.BLOCK)), np.empty((4, special.BLOCK)))


@njit(cache=True, nogil=True)
def copy_into(values: np.ndarray, out: np.ndarray) -> None:
    """Copy in a loop: assigning to a slice takes numba three seconds more to compile, as it may broadcast."""
    for i in range(out.size):
        out[i] = values[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _add(out: np.ndarray, c: float, v: float, g0: float, g1: float, h00: float, h01: float, h11: float) -> None:
    out[0] += c * v
    out[1] += c * g0
    out[2] += c * g1
    out[3] += c * h00
    out[4] += c * h01
    out[5] += c * h11


@njit(cache=True, nogil=True, error_model="numpy")
def _gamma_terms(
    times: np.ndarray,
    weight: np.ndarray,
    tail: bool,
    a: float,
    stretch: float,
    shift: float,
    weibull: bool,
    space: Space,
    out: np.ndarray,
) -> None:
    """Add ``log Q(a, exp(s))``, or the log of the gamma's integrated tail over its mean, ``s = stretch log t + shift``.

    Derivatives are in (log a, log mean) for the gamma, where s moves by (1, -1), and in (log shape, log scale) for the
    Weibull's integrated tail, where ``a = 1 / shape`` and s moves by (s, -shape).
    """
    work, tails = space
    score, slope = special.shape_score(a)
    log_gamma = math.lgamma(a)
    digamma = math.log(a) - score
    trigamma = 1.0 / a - slope
    logs, arguments = work[5], work[4]
    i, end = 0, times.size
    while i < end:
        count = 0
        first = i
        while i < end and count < special.BLOCK:
            logs[count] = stretch * times[i] + shift
            arguments[count] = math.exp(min(logs[count], 700.0))
            count += 1
            i += 1
        special.log_gamma_sf(a, logs, arguments, count, log_gamma, score, slope, work, tails)
        for j in range(count):
            x = arguments[j]
            h = tails[3, j]
            rest = logs[j] - digamma - tails[1, j]
            m = a - x + h
            v, v_a, v_aa = tails[0, j], tails[1, j], tails[2, j]
            v_s, v_ss, v_as = -h, -h * m, -h * rest
            if tail:  # log Q + log(a - x + h) - log a
                h_a = h * rest
                m_a, m_s = 1.0 + h_a, h * m - x
                m_aa = h * (rest * rest - trigamma - v_aa)
                m_as = h_a * m + h * m_a
                m_ss = h * m * m + h * m_s - x
                v += math.log(m / a) if m > 0.0 else -math.inf
                v_a += m_a / m - 1.0 / a
                v_s += m_s / m
                v_aa += m_aa / m - (m_a / m) ** 2 + 1.0 / (a * a)
                v_as += m_as / m - m_a * m_s / (m * m)
                v_ss += m_ss / m - (m_s / m) ** 2
            c = weight[first + j]
            if weibull:
                s, b = logs[j], stretch
                _add(
                    out,
                    c,
                    v,
                    s * v_s - a * v_a,
                    -b * v_s,
                    a * v_a + a * a * v_aa - 2.0 * a * s * v_as + s * s * v_ss + s * v_s,
                    b * (a * v_as - v_s - s * v_ss),
                    b * b * v_ss,
                )
            else:
                _add(
                    out,
                    c,
                    v,
                    a * v_a + v_s,
                    -v_s,
                    a * v_a + a * a * v_aa + 2.0 * a * v_as + v_ss,
                    -(a * v_as + v_ss),
                    v_ss,
                )


@njit(cache=True, nogil=True, error_model="numpy")
def _lognormal_tail(z: float, sd: float, c: float, out: np.ndarray) -> None:
    """Add the log of the integrated tail over the mean: of ``S(w) - exp(sd z - sd**2 / 2) S(z)``, ``w = z - sd``."""
    w = z - sd
    log_w, hw = special.log_normal_sf(w)
    log_z, _ = special.log_normal_sf(z)
    # everything below relative to S(w)
    r = math.exp(min(sd * z - 0.5 * sd * sd + log_z - log_w, 0.0))
    p = 1.0 - r
    if not p > 0.0:
        out[0] = -math.inf
        return
    p_z, p_s = -sd * r / p, (hw - w * r) / p
    g_zz = -sd * (sd * r - hw) / p - p_z * p_z
    g_zs = -(r + sd * w * r) / p - p_z * p_s
    g_ss = (w * hw + r - w * w * r) / p - p_s * p_s
    _add(
        out,
        c,
        log_w + math.log(p),
        -p_z / sd,
        sd * p_s - z * p_z,
        g_zz / (sd * sd),
        (p_z + z * g_zz) / sd - g_zs,
        z * p_z + z * z * g_zz - 2.0 * z * sd * g_zs + sd * p_s + sd * sd * g_ss,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def value_of_group(kind: int, u: float, v: float, terms: GroupTerms, space: Space, out: np.ndarray) -> float:
    """Log-likelihood of a group at free coordinates (u, v); `out` takes it, its gradient and its Hessian."""
    weight, under_way, mean, mean_log, square_sum, gap_sum, sf_log, sf_weight, tail_log, tail_weight = terms
    log_sum = weight * mean_log
    out[:] = 0.0
    weibull = kind == WEIBULL  # a value: for each literal `_gamma_terms` would be compiled again
    if not abs(v if kind > GAMMA else u) < FAR:  # a shape or spread too extreme to differ from its limit
        return -math.inf
    if weibull:
        b = math.exp(u)
        q = b * weight * (mean_log - v)
        _add(out, 1.0, weight * u + q - log_sum, weight + q, -b * weight, q, -b * weight, 0.0)
        h0, h1, h2 = 0.0, 0.0, 0.0
        for i in range(sf_log.size):
            q = b * (sf_log[i] - v)
            h = sf_weight[i] * math.exp(min(q, 700.0))
            h0 += h
            h1 += h * q
            h2 += h * q * q
        _add(out, -1.0, h0, h1, -b * h0, h2 + h1, -b * (h1 + h0), b * b * h0)
        if under_way > 0.0:
            a = 1.0 / b
            score, slope = special.shape_score(1.0 + a)
            digamma = math.log1p(a) - score
            trigamma = 1.0 / (1.0 + a) - slope
            _add(out, -under_way, v + math.lgamma(1.0 + a), -a * digamma, 1.0, a * digamma + a * a * trigamma, 0.0, 0.0)
        if tail_log.size:
            _gamma_terms(tail_log, tail_weight, not weibull, 1.0 / b, b, -b * v, weibull, space, out)
    elif kind == GAMMA:
        a = math.exp(u)
        if weight > 0.0:
            score, slope = special.shape_score(a)
            ratio = math.log(mean) - v
            rho = math.exp(min(ratio, 700.0))
            excess = special.mean_log_minus_one(math.expm1(ratio)) if abs(ratio) < 1e-3 else rho - 1.0 - ratio
            deviation = gap_sum + weight * excess
            first = a * (weight * score - deviation)
            cross = -a * weight * (1.0 - rho)
            _add(
                out,
                1.0,
                weight * special.normalised_log_gamma(a) - a * deviation - log_sum,
                first,
                cross,
                first + a * a * weight * slope,
                cross,
                -a * weight * rho,
            )
        out[0] -= under_way * v
        out[2] -= under_way
        if sf_log.size:
            _gamma_terms(sf_log, sf_weight, weibull, a, 1.0, u - v, weibull, space, out)
        if tail_log.size:
            _gamma_terms(tail_log, tail_weight, not weibull, a, 1.0, u - v, weibull, space, out)
    else:
        sd = math.exp(v)
        away = mean_log - u
        first = weight * away / sd
        second = (square_sum + weight * away * away) / (sd * sd)
        _add(
            out,
            1.0,
            -0.5 * second - weight * (v + 0.9189385332046727) - log_sum,
            first / sd,
            second - weight,
            -weight / (sd * sd),
            -2.0 * first / sd,
            -2.0 * second,
        )
        for i in range(sf_log.size):
            z = (sf_log[i] - u) / sd
            log_above, h = special.log_normal_sf(z)
            bend = h * (h - z)
            _add(
                out,
                sf_weight[i],
                log_above,
                h / sd,
                h * z,
                -bend / (sd * sd),
                -(z * bend + h) / sd,
                -z * z * bend - h * z,
            )
        _add(out, -under_way, u + 0.5 * sd * sd, 1.0, sd * sd, 0.0, 0.0, 2.0 * sd * sd)
        for i in range(tail_log.size):
            _lognormal_tail((tail_log[i] - u) / sd, sd, tail_weight[i], out)
    return out[0] if math.isfinite(out[0]) else -math.inf


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
    """Free coordinates near the maximum, without truncation and unknown ages, into `point` (gamma: Minka 2002)."""
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
