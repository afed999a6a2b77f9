"""Special functions for the compiled estimators: digamma, incomplete gamma with derivatives, normal tail.

Compiled by numba, scalar in and scalar out. SciPy has no derivative of the incomplete gamma function with respect to
its shape, and none of its functions can be called from compiled code that is kept on disk.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.numeric.compiled import njit
from relfit.base.numeric.quadrature import gauss_legendre

HALF_LOG_TWO_PI = 0.9189385332046727
_SQRT_TWO_PI = 2.5066282746310002
_SQRT_HALF = 0.7071067811865476
_NODES, _WEIGHTS = gauss_legendre(40)
BLOCK = 64  # arguments that the series sums side by side
_SERIES_LIMIT = 1.0e5  # largest shape for which the power series is summed
_EULER, _ZETA_2, _ZETA_3 = 0.5772156649015329, 1.6449340668482264, 1.2020569031595943


@njit(cache=True, nogil=True, error_model="numpy")
def shape_score(a: float) -> tuple[float, float]:
    """``log(a) - digamma(a)`` and its derivative ``1/a - trigamma(a)``, without cancellation for large `a`."""
    value = 0.0
    slope = 0.0
    shifted = a
    if a < 12.0:
        # digamma(a) = digamma(a + k) - sum 1/(a + j)
        total = 0.0
        squares = 0.0
        while shifted < 12.0:
            inverse = 1.0 / shifted
            total += inverse
            squares += inverse * inverse
            shifted += 1.0
        value = math.log(a / shifted) + total
        slope = 1.0 / a - 1.0 / shifted - squares
    w = 1.0 / shifted
    w2 = w * w
    series = w * (
        0.5 + w * (1 / 12 - w2 * (1 / 120 - w2 * (1 / 252 - w2 * (1 / 240 - w2 * (1 / 132 - w2 * 691 / 32760)))))
    )
    tail = -w2 * (0.5 + w * (1 / 6 - w2 * (1 / 30 - w2 * (1 / 42 - w2 * (1 / 30 - w2 * (5 / 66 - w2 * 691 / 2730))))))
    return value + series, slope + tail


@njit(cache=True, nogil=True, error_model="numpy")
def normalised_log_gamma(a: float) -> float:
    """``a log(a) - a - log(gamma(a))``, without cancellation for large `a`."""
    if a < 12.0:
        return a * math.log(a) - a - math.lgamma(a)
    w = 1.0 / a
    w2 = w * w
    remainder = w * (1 / 12 - w2 * (1 / 360 - w2 * (1 / 1260 - w2 * (1 / 1680 - w2 / 1188))))
    return 0.5 * math.log(a) - HALF_LOG_TWO_PI - remainder


@njit(cache=True, nogil=True, error_model="numpy")
def mean_log_minus_one(delta: float) -> float:
    """``delta - log(1 + delta)``, without cancellation near zero."""
    if abs(delta) < 2e-3:
        return delta * delta * (0.5 - delta * (1 / 3 - delta * (0.25 - delta * (0.2 - delta * (1 / 6 - delta / 7)))))
    return delta - math.log1p(delta)


@njit(cache=True, nogil=True, error_model="numpy")
def _log_prefactor(a: float, log_x: float, x: float, log_gamma: float) -> float:
    """``a log(x) - x - log(gamma(a))``; `log_gamma` is the last term, made once for many x."""
    if a < 12.0:
        return a * log_x - x - log_gamma
    ratio = x / a
    if 0.5 < ratio < 2.0:
        return normalised_log_gamma(a) - a * mean_log_minus_one((x - a) / a)
    return normalised_log_gamma(a) + a * (log_x - math.log(a)) - (x - a)


@njit(cache=True, nogil=True, error_model="numpy")
def _tail_integral(a: float, log_x: float, x: float, log_gamma: float) -> tuple[float, float, float]:
    """Log of the upper incomplete gamma ratio, mean and variance of ``log(T/x)`` beyond x: quadrature over log(t/x)."""
    peak = max(0.0, math.log(a) - log_x)
    height = a * peak - x * math.expm1(peak)
    # walk out until the integrand has fallen by exp(-42) on either side of its peak
    curvature = max(a, x)
    fall = max(x - a, 0.0)
    step = 42.0 / (fall + math.sqrt(0.5 * 42.0 * curvature))
    high = peak + step
    while height - (a * high - x * math.expm1(high)) < 42.0:
        high = peak + 1.6 * (high - peak)
    low = 0.0
    if peak > 0.0:
        low = max(0.0, peak - step)
        while low > 0.0 and height - (a * low - x * math.expm1(low)) < 42.0:
            low = max(0.0, peak - 1.6 * (peak - low))
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    # two panels, split at the peak, keep the quadrature accurate for lopsided integrands
    for panel in range(2):
        left = low if panel == 0 else peak
        right = peak if panel == 0 else high
        if right <= left:
            continue
        half = 0.5 * (right - left)
        middle = 0.5 * (right + left)
        for i in range(_NODES.size):
            v = middle + half * _NODES[i]
            w = half * _WEIGHTS[i] * math.exp(a * v - x * math.expm1(v) - height)
            s0 += w
            s1 += w * v
            s2 += w * v * v
    mean = s1 / s0
    return _log_prefactor(a, log_x, x, log_gamma) + height + math.log(s0), mean, max(s2 / s0 - mean * mean, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _small_shape_sf(a: float, log_x: float, x: float) -> float:
    """The upper incomplete gamma ratio of a shape below 1e-4 at an argument below 1, where it is near ``a E1(x)``."""
    w = a * (log_x + _EULER - a * (0.5 * _ZETA_2 - a * _ZETA_3 / 3.0))
    term, total, k = 1.0, 0.0, 1
    while abs(term) > 1e-17 * abs(total):
        term *= -x / k
        total += term / (a + k)
        k += 1
    return -math.expm1(w) - a * math.exp(w) * total


@njit(cache=True, nogil=True, error_model="numpy")
def _series(a: float, x: np.ndarray, count: int, work: np.ndarray) -> None:
    """Sum ``x**k / ((a+1)...(a+k))`` and two derivatives in a for `count` rising `x`, together (rows 1-3 of `work`)."""
    term, total, first, second = work[0], work[1], work[2], work[3]
    for i in range(count):
        term[i] = 1.0
        total[i] = 1.0
        first[i] = 0.0
        second[i] = 0.0
    if count == 0:
        return
    largest = x[count - 1]
    last_term = 1.0
    last_total = 1.0
    harmonic, squares, weight = 0.0, 0.0, 0.0
    k = a
    while last_term * (1.0 + weight) > 1e-15 * last_total:
        k += 1.0
        inverse = 1.0 / k
        harmonic += inverse
        squares += inverse * inverse
        weight = harmonic * harmonic + squares
        last_term *= largest * inverse
        last_total += last_term
        for i in range(count):
            value = term[i] * (x[i] * inverse)
            term[i] = value
            total[i] += value
            first[i] += value * harmonic
            second[i] += value * weight


@njit(cache=True, nogil=True, error_model="numpy")
def log_gamma_sf(
    a: float,
    log_x: np.ndarray,
    x: np.ndarray,
    count: int,
    log_gamma: float,
    score: float,
    slope: float,
    work: np.ndarray,
    out: np.ndarray,
) -> None:
    """Log of the standard gamma's survival function and what Newton's method needs of it, for a block of arguments.

    Of the arguments, which rise, and their logs the first `count`, at most `BLOCK`, are used; `score` and `slope` are
    `shape_score` of the shape. `work` has four rows or more of `BLOCK`; those of `out` take ``log Q``, ``d log Q/da``,
    ``d2 log Q/da2`` and ``x f(x) / Q``.
    """
    digamma = math.log(a) - score
    digamma_next = digamma + 1.0 / a
    trigamma_next = 1.0 / a - slope - 1.0 / (a * a)
    limit = a + 6.0 + 4.0 * math.sqrt(a) if a < _SERIES_LIMIT else -1.0
    within = 0
    while within < count and x[within] < limit:
        within += 1
    _series(a, x, within, work)
    for i in range(count):
        if x[i] == 0.0:
            out[0, i] = 0.0
            out[1, i] = 0.0
            out[2, i] = 0.0
            out[3, i] = 0.0
            continue
        log_prefactor = _log_prefactor(a, log_x[i], x[i], log_gamma)
        if i < within:
            prefactor = math.exp(log_prefactor)
            total = work[1, i]
            below = prefactor * total / a
            above = 1.0 - below
            if above <= 1e-5 and x[i] < 1.0:
                above = _small_shape_sf(a, log_x[i], x[i])
            if above > 1e-5 or x[i] < 1.0:
                mean = work[2, i] / total
                change = log_x[i] - digamma_next - mean
                curve = work[3, i] / total - mean * mean - trigamma_next
                ratio = below / above
                d1 = -ratio * change
                out[0, i] = math.log1p(-below) if above > 1e-5 else math.log(above)
                out[1, i] = d1
                out[2, i] = -ratio * (curve + change * change) - d1 * d1
                out[3, i] = prefactor / above
                continue
        log_q, mean, variance = _tail_integral(a, log_x[i], x[i], log_gamma)
        out[0, i] = log_q
        out[1, i] = log_x[i] + mean - digamma
        out[2, i] = variance - (1.0 / a - slope)
        out[3, i] = math.exp(log_prefactor - log_q)


@njit(cache=True, nogil=True, error_model="numpy")
def log_normal_sf(z: float) -> tuple[float, float]:
    """Log of the standard normal's survival function at `z`, and the hazard there."""
    if z > 25.0:
        w = 1.0 / (z * z)
        hazard = z / (1.0 - w * (1.0 - w * (3.0 - w * (15.0 - w * 105.0))))
        return -0.5 * z * z - math.log(hazard * _SQRT_TWO_PI), hazard
    above = 0.5 * math.erfc(z * _SQRT_HALF)
    density = math.exp(-0.5 * z * z) / _SQRT_TWO_PI
    if z < -5.0:
        return math.log1p(-0.5 * math.erfc(-z * _SQRT_HALF)), density / above
    return math.log(above), density / above
