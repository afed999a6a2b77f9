"""Maximum likelihood of Weibull, gamma and lognormal where durations enter late, at an unknown age, or have weights.

The likelihood of a group is a sum of log densities, of log reliabilities ``c log S(t)`` (c is -1 at an age of entry)
and of log integrated tails; all three have closed first and second derivatives in the families' free coordinates, so
that Newton's method needs few looks at the data. It ends with a look around the maximum: truncated lives have
likelihoods with several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric import special
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.newton import LARGEST_VARIANCE, Maximum
from relfit.base.numeric.ragged import offsets_of
from relfit.log.lifedata import LifeData

__all__ = ["KINDS", "maximise_conditional", "suited"]

KINDS = {"weibull": 0, "gamma": 1, "lognormal": 2}
_WEIBULL, _GAMMA = 0, 1
_STEPS = 200
_TABLE = 48
_DIRECTIONS, _DISTANCES = 12, np.array([0.5, 1.0, 2.0, 3.0])  # where to look for a higher value, in standard errors
_LEAST_FALL = 0.2  # of what a parabola falls there
_CLIMBS = 3
_FAR = 26.0  # logs of shapes and spreads, and how far a search goes
_LOST, _SETTLED, _EDGE = 0, 1, 2


@dataclass(frozen=True)
class _Terms:
    """What the likelihood of each group is a sum of; times in logs, rising within a group.

    ``ends`` has one row per group: the weight of the observed lives, of the stationary ones that ended, the mean of the
    observed durations, the weighted sums of their logs, of the squares of these, and of ``d - log(1 + d)``, d the
    distance of a duration from their mean over that mean.
    """

    ends: FloatArray
    sf_offsets: IntArray
    sf_log: FloatArray
    sf_weight: FloatArray
    tail_offsets: IntArray
    tail_log: FloatArray
    tail_weight: FloatArray


def suited(lives: LifeData) -> bool:
    """Whether these kernels know all kinds of lives that there are."""
    return lives.upper is None and lives.exit is None


def _terms(lives: LifeData, kind: int) -> _Terms:
    codes, n = lives.group_codes(), lives.n_groups
    weights = np.ones(codes.size) if lives.weights is None else lives.weights.astype(np.float64)
    stationary = np.zeros(codes.size, np.bool_) if lives.stationary is None else lives.stationary
    ended = lives.observed & ~stationary & (lives.durations > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(lives.durations)
        entry = np.full(codes.size, -np.inf) if lives.entry is None else np.log(lives.entry)

        def total(values: FloatArray, rows: npt.NDArray[np.bool_]) -> FloatArray:
            return np.bincount(codes[rows], (weights * values)[rows], n).astype(np.float64)

        one = np.ones(codes.size)
        weight = total(one, ended)
        mean = total(lives.durations, ended) / weight
        away = lives.durations / mean[codes] - 1.0
        gap = np.where(np.abs(away) < 0.5, away - np.log1p(away), away - (log - np.log(mean)[codes]))
        ends = np.stack(
            [
                weight,
                total(one, stationary & lives.observed),
                mean,
                total(log, ended),
                total(log * log, ended),
                total(gap, ended),
            ],
            axis=1,
        )

    def rising(rows: list[npt.NDArray[np.bool_]], times: list[FloatArray], signs: list[float]) -> tuple[Any, Any, Any]:
        code = np.concatenate([codes[row] for row in rows])
        time = np.concatenate([values[row] for row, values in zip(rows, times, strict=True)])
        count = np.concatenate([sign * weights[row] for row, sign in zip(rows, signs, strict=True)])
        order = np.lexsort((time, code))
        return offsets_of(np.bincount(code, minlength=n)), time[order], count[order]

    some = (weights > 0.0) & (log > -np.inf)
    # the Weibull's density is its hazard times its reliability; the others' is taken whole
    last = some & (stationary & lives.observed | ~stationary & ~lives.observed | (ended & (kind == _WEIBULL)))
    return _Terms(
        ends,
        *rising([last, (entry > -np.inf) & (weights > 0.0)], [log, entry], [1.0, -1.0]),
        *rising([some & stationary & ~lives.observed], [log], [1.0]),
    )


def maximise_conditional(name: str, lives: LifeData, start: FloatArray, workers: int | None = None) -> Maximum:
    """Search every group from its row of `start`; ``found`` and ``edge`` are false where that settled nothing.

    Parameters
    ----------
    name : {"weibull", "gamma", "lognormal"}
    lives : LifeData
        `suited`.
    start : ndarray, shape (groups, 2)
        Free coordinates.
    workers : int, optional
        Threads; does not change the numbers.
    """
    kind = KINDS[name]
    terms = _terms(lives, kind)
    groups = start.shape[0]
    best = Maximum(
        start.copy(), np.full(groups, -np.inf), np.full((groups, 2), np.nan), np.full((groups, 2, 2), np.nan),
        np.zeros(groups, np.bool_), np.zeros(groups, np.bool_),
    )  # fmt: skip
    angle = 2.0 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def work(first: int, last: int) -> None:
        _climb_all(
            kind, first, last, terms.ends, terms.sf_offsets, terms.sf_log, terms.sf_weight, terms.tail_offsets,
            terms.tail_log, terms.tail_weight, around, best.free, best.value, best.gradient, best.information,
            best.found, best.edge,
        )  # fmt: skip

    over_groups(terms.sf_offsets + terms.tail_offsets + np.arange(groups + 1), work, workers)
    return best


@njit(cache=True, nogil=True)
def _copy(values: np.ndarray, out: np.ndarray) -> None:
    """A slice in its place takes numba three seconds more to compile: it can broadcast, and say why it cannot."""
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
def _gamma_terms(  # noqa: PLR0913 - compiled: flat arrays
    times: np.ndarray, weight: np.ndarray, begin: int, end: int, tail: bool, a: float, stretch: float, shift: float,
    weibull: bool, table: np.ndarray, work: np.ndarray, tails: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Add ``log Q(a, exp(s))``, or the log of the gamma's integrated tail over its mean, ``s = stretch log t + shift``.

    Derivatives are in (log a, log mean) for the gamma, where s moves by (1, -1), and in (log shape, log scale) for the
    Weibull's integrated tail, where ``a = 1 / shape`` and s moves by (s, -shape).
    """
    score, slope = special.shape_score(a)
    special.series_table(a, table)
    log_gamma = math.lgamma(a)
    digamma = math.log(a) - score
    trigamma = 1.0 / a - slope
    logs, arguments = work[5], work[4]
    i = begin
    while i < end:
        count = 0
        first = i
        while i < end and count < special.BLOCK:
            logs[count] = stretch * times[i] + shift
            arguments[count] = math.exp(min(logs[count], 700.0))
            count += 1
            i += 1
        special.log_gamma_sf(a, logs, arguments, count, log_gamma, score, slope, table, work, tails)
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
                    out, c, v, s * v_s - a * v_a, -b * v_s,
                    a * v_a + a * a * v_aa - 2.0 * a * s * v_as + s * s * v_ss + s * v_s,
                    b * (a * v_as - v_s - s * v_ss), b * b * v_ss,
                )  # fmt: skip
            else:
                _add(
                    out, c, v, a * v_a + v_s, -v_s, a * v_a + a * a * v_aa + 2.0 * a * v_as + v_ss,
                    -(a * v_as + v_ss), v_ss,
                )  # fmt: skip


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
        out, c, log_w + math.log(p), -p_z / sd, sd * p_s - z * p_z, g_zz / (sd * sd), (p_z + z * g_zz) / sd - g_zs,
        z * p_z + z * z * g_zz - 2.0 * z * sd * g_zs + sd * p_s + sd * sd * g_ss,
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def _value(  # noqa: PLR0913 - compiled: flat arrays
    kind: int, u: float, v: float, ends: np.ndarray, sf_log: np.ndarray, sf_weight: np.ndarray, sf_begin: int,
    sf_end: int, tail_log: np.ndarray, tail_weight: np.ndarray, tail_begin: int, tail_end: int, table: np.ndarray,
    work: np.ndarray, tails: np.ndarray, out: np.ndarray,
) -> float:  # fmt: skip
    """Log-likelihood of a group at free coordinates (u, v); `out` takes it, its gradient and its Hessian."""
    weight, under_way, mean, log_sum, square_sum, gap_sum = ends[0], ends[1], ends[2], ends[3], ends[4], ends[5]
    out[:] = 0.0
    weibull = kind == _WEIBULL  # a value: for each literal `_gamma_terms` would be compiled again
    if not abs(v if kind > _GAMMA else u) < _FAR:  # a shape or spread at which nothing could be told from a limit
        return -math.inf
    if weibull:
        b = math.exp(u)
        q = b * (log_sum - weight * v)
        _add(out, 1.0, weight * u + q - log_sum, weight + q, -b * weight, q, -b * weight, 0.0)
        for i in range(sf_begin, sf_end):
            q = b * (sf_log[i] - v)
            h = math.exp(min(q, 700.0))
            _add(out, -sf_weight[i], h, h * q, -b * h, h * (q * q + q), -b * h * (q + 1.0), b * b * h)
        if under_way > 0.0:
            a = 1.0 / b
            score, slope = special.shape_score(1.0 + a)
            digamma = math.log1p(a) - score
            trigamma = 1.0 / (1.0 + a) - slope
            _add(out, -under_way, v + math.lgamma(1.0 + a), -a * digamma, 1.0, a * digamma + a * a * trigamma, 0.0, 0.0)
        if tail_begin < tail_end:
            _gamma_terms(
                tail_log, tail_weight, tail_begin, tail_end, not weibull, 1.0 / b, b, -b * v, weibull, table, work,
                tails, out,
            )  # fmt: skip
    elif kind == _GAMMA:
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
                out, 1.0, weight * special.normalised_log_gamma(a) - a * deviation - log_sum, first, cross,
                first + a * a * weight * slope, cross, -a * weight * rho,
            )  # fmt: skip
        out[0] -= under_way * v
        out[2] -= under_way
        if sf_begin < sf_end:
            _gamma_terms(sf_log, sf_weight, sf_begin, sf_end, weibull, a, 1.0, u - v, weibull, table, work, tails, out)
        if tail_begin < tail_end:
            _gamma_terms(
                tail_log, tail_weight, tail_begin, tail_end, not weibull, a, 1.0, u - v, weibull, table, work, tails,
                out,
            )  # fmt: skip
    else:
        sd = math.exp(v)
        first = (log_sum - weight * u) / sd
        second = (square_sum - 2.0 * u * log_sum + weight * u * u) / (sd * sd)
        _add(
            out, 1.0, -0.5 * second - weight * (v + 0.9189385332046727) - log_sum, first / sd, second - weight,
            -weight / (sd * sd), -2.0 * first / sd, -2.0 * second,
        )  # fmt: skip
        for i in range(sf_begin, sf_end):
            z = (sf_log[i] - u) / sd
            log_above, h = special.log_normal_sf(z)
            bend = h * (h - z)
            _add(
                out, sf_weight[i], log_above, h / sd, h * z, -bend / (sd * sd), -(z * bend + h) / sd,
                -z * z * bend - h * z,
            )  # fmt: skip
        _add(out, -under_way, u + 0.5 * sd * sd, 1.0, sd * sd, 0.0, 0.0, 2.0 * sd * sd)
        for i in range(tail_begin, tail_end):
            _lognormal_tail((tail_log[i] - u) / sd, sd, tail_weight[i], out)
    return out[0] if math.isfinite(out[0]) else -math.inf


@njit(cache=True, nogil=True, error_model="numpy")
def _climb(  # noqa: PLR0913 - compiled: flat arrays
    kind: int, point: np.ndarray, ends: np.ndarray, sf_log: np.ndarray, sf_weight: np.ndarray, sf_begin: int,
    sf_end: int, tail_log: np.ndarray, tail_weight: np.ndarray, tail_begin: int, tail_end: int, table: np.ndarray,
    work: np.ndarray, tails: np.ndarray, out: np.ndarray, trial: np.ndarray,
) -> int:  # fmt: skip
    """Damped Newton's method from `point`, in place; `out` holds value, gradient and Hessian there. How it ended."""
    start0, start1 = point[0], point[1]
    value = _value(
        kind, point[0], point[1], ends, sf_log, sf_weight, sf_begin, sf_end, tail_log, tail_weight, tail_begin,
        tail_end, table, work, tails, out,
    )  # fmt: skip
    if not value > -math.inf:
        return _LOST
    damping = 0.0
    for _ in range(_STEPS):
        trace = 1e-8 * (abs(out[3]) + abs(out[5])) + 1e-300
        for _ in range(60):
            d00, d11 = damping - out[3], damping - out[5]
            determinant = d00 * d11 - out[4] * out[4]
            if determinant > 1e-12 * abs(d00 * d11) and d00 > 0.0:
                step0 = (d11 * out[1] + out[4] * out[2]) / determinant
                step1 = (d00 * out[2] + out[4] * out[1]) / determinant
                size = max(abs(step0), abs(step1))
                if not size < 1e300:
                    return _LOST
                gain = step0 * out[1] + step1 * out[2]
                if damping == 0.0 and gain < 1e-9:
                    # convergence is quadratic: one more step from here needs no further look at the data
                    point[0] += step0
                    point[1] += step1
                    out[0] += 0.5 * gain
                    return _SETTLED
                shrink = min(1.0, 2.0 / size)
                moved = _value(
                    kind, point[0] + shrink * step0, point[1] + shrink * step1, ends, sf_log, sf_weight, sf_begin,
                    sf_end, tail_log, tail_weight, tail_begin, tail_end, table, work, tails, trial,
                )  # fmt: skip
                if moved >= value - 1e-13 * (1.0 + abs(value)):
                    point[0] += shrink * step0
                    point[1] += shrink * step1
                    _copy(trial, out)
                    value = moved
                    damping = 0.0 if damping <= trace else 0.1 * damping
                    break
                if damping == 0.0 and gain < 1e-7:
                    return _SETTLED  # no rise to be had, as far as the arithmetic can tell
            damping = max(10.0 * damping, trace, 1e-3 * (abs(out[3]) + abs(out[5])))
        else:
            return _LOST
        if max(abs(point[0] - start0), abs(point[1] - start1)) > _FAR - 2.0:
            return _EDGE
    return _LOST


@njit(cache=True, nogil=True, error_model="numpy")
def _climb_all(  # noqa: PLR0913 - compiled: flat arrays
    kind: int, first: int, last: int, ends: np.ndarray, sf_offsets: np.ndarray, sf_log: np.ndarray,
    sf_weight: np.ndarray, tail_offsets: np.ndarray, tail_log: np.ndarray, tail_weight: np.ndarray,
    around: np.ndarray, free: np.ndarray, value: np.ndarray, gradient: np.ndarray, information: np.ndarray,
    converged: np.ndarray, edge: np.ndarray,
) -> None:  # fmt: skip
    table, work, tails = np.empty((_TABLE, 3)), np.empty((6, special.BLOCK)), np.empty((4, special.BLOCK))
    out, trial, point = np.empty(6), np.empty(6), np.empty(2)
    best, best_out = np.empty(2), np.empty(6)
    for group in range(first, last):
        sf_begin, sf_end = sf_offsets[group], sf_offsets[group + 1]
        tail_begin, tail_end = tail_offsets[group], tail_offsets[group + 1]
        best[0], best[1] = free[group, 0], free[group, 1]
        settled = _climb(
            kind, best, ends[group], sf_log, sf_weight, sf_begin, sf_end, tail_log, tail_weight, tail_begin, tail_end,
            table, work, tails, best_out, trial,
        )  # fmt: skip
        for _ in range(_CLIMBS):
            if settled != _SETTLED:
                break
            i00, i01, i11 = -best_out[3], -best_out[4], -best_out[5]
            determinant = i00 * i11 - i01 * i01
            if not (determinant > 0.0 and max(i00, i11) < LARGEST_VARIANCE * determinant):
                break
            # the root of the inverse of the information takes standard errors to free coordinates
            l00 = math.sqrt(i11 / determinant)
            l10 = -i01 / determinant / l00
            l11 = math.sqrt(1.0 / i11)
            highest = -math.inf
            for k in range(_DISTANCES.size):
                distance = _DISTANCES[k]
                for j in range(around.shape[0]):
                    x, y = distance * around[j, 0], distance * around[j, 1]
                    u, v = best[0] + l00 * x, best[1] + l10 * x + l11 * y
                    there = _value(
                        kind, u, v, ends[group], sf_log, sf_weight, sf_begin, sf_end, tail_log, tail_weight,
                        tail_begin, tail_end, table, work, tails, out,
                    )  # fmt: skip
                    there += 0.5 * _LEAST_FALL * distance * distance - best_out[0]
                    if there > highest:
                        highest = there
                        point[0], point[1] = u, v
            if not highest > 0.0:
                break
            again = _climb(
                kind, point, ends[group], sf_log, sf_weight, sf_begin, sf_end, tail_log, tail_weight, tail_begin,
                tail_end, table, work, tails, out, trial,
            )  # fmt: skip
            if not out[0] > best_out[0] + 1e-7 * (1.0 + abs(best_out[0])):
                break
            settled = again
            _copy(point, best)
            _copy(out, best_out)
        free[group, 0], free[group, 1] = best[0], best[1]
        value[group] = best_out[0]
        gradient[group, 0], gradient[group, 1] = best_out[1], best_out[2]
        i00, i01, i11 = -best_out[3], -best_out[4], -best_out[5]
        information[group, 0, 0], information[group, 1, 1] = i00, i11
        information[group, 0, 1] = information[group, 1, 0] = i01
        determinant = i00 * i11 - i01 * i01
        if settled == _EDGE:
            edge[group] = True
        elif settled == _SETTLED and determinant > 0.0 and i00 > 0.0:
            wide = 0.5 * (i00 + i11) + math.sqrt(0.25 * (i00 - i11) ** 2 + i01 * i01)
            converged[group] = wide < LARGEST_VARIANCE * determinant
            edge[group] = not converged[group]
