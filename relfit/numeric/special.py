"""Special functions for the compiled estimators: digamma, incomplete gamma with derivatives, normal tail.

Compiled by numba, scalar in and scalar out. SciPy has no derivative of the incomplete gamma function with respect to
its shape, and none of its functions can be called from compiled code that is kept on disk.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt
import scipy.special

__all__ = [
    "gamma_cdf",
    "log_gamma_sf",
    "log_gamma_survival",
    "log_normal_sf",
    "mean_log_minus_one",
    "normalised_log_gamma",
    "series_table",
    "shape_score",
    "trigamma",
]

_HALF_LOG_TWO_PI = 0.9189385332046727
_SQRT_TWO_PI = 2.5066282746310002
_SQRT_HALF = 0.7071067811865476
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_SERIES_LIMIT = 1.0e5  # largest shape for which the power series is summed


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def trigamma(a: float) -> float:
    """Second derivative of log gamma."""
    return 1.0 / a - shape_score(a)[1]


@numba.njit(cache=True, nogil=True)
def normalised_log_gamma(a: float) -> float:
    """``a log(a) - a - log(gamma(a))``, without cancellation for large `a`."""
    if a < 12.0:
        return a * math.log(a) - a - math.lgamma(a)
    w = 1.0 / a
    w2 = w * w
    remainder = w * (1 / 12 - w2 * (1 / 360 - w2 * (1 / 1260 - w2 * (1 / 1680 - w2 / 1188))))
    return 0.5 * math.log(a) - _HALF_LOG_TWO_PI - remainder


@numba.njit(cache=True, nogil=True)
def mean_log_minus_one(delta: float) -> float:
    """``delta - log(1 + delta)``, without cancellation near zero."""
    if abs(delta) < 2e-3:
        return delta * delta * (0.5 - delta * (1 / 3 - delta * (0.25 - delta * (0.2 - delta * (1 / 6 - delta / 7)))))
    return delta - math.log1p(delta)


@numba.njit(cache=True, nogil=True)
def _log_prefactor(a: float, log_x: float, x: float, log_gamma: float) -> float:
    """``a log(x) - x - log(gamma(a))``; `log_gamma` is the last term, made once for many x."""
    if a < 12.0:
        return a * log_x - x - log_gamma
    ratio = x / a
    if 0.5 < ratio < 2.0:
        return normalised_log_gamma(a) - a * mean_log_minus_one((x - a) / a)
    return normalised_log_gamma(a) + a * (log_x - math.log(a)) - (x - a)


@numba.njit(cache=True, nogil=True)
def gamma_cdf(a: float, log_x: float, log_gamma: float, inverses: np.ndarray) -> float:
    """Cumulative distribution of the standard gamma at ``exp(log_x)``.

    `log_gamma` is that of `a`, and `inverses` holds ``1 / (a + 1), 1 / (a + 2), ...``: both are made once for a group.
    """
    x = math.exp(log_x)
    if x == 0.0:
        return 0.0
    if x > a + 40.0 + 12.0 * math.sqrt(a):
        return 1.0
    if a > _SERIES_LIMIT:
        return -math.expm1(_tail_integral(a, log_x, x, log_gamma)[0])
    term = 1.0
    total = 1.0
    k = 0
    size = inverses.size
    while term > 1e-15 * total:
        term *= x * inverses[k] if k < size else x / (a + 1.0 + k)
        total += term
        k += 1
    return min(1.0, math.exp(_log_prefactor(a, log_x, x, log_gamma)) * total / a)


@numba.njit(cache=True, nogil=True)
def _tail_integral(a: float, log_x: float, x: float, log_gamma: float) -> tuple[float, float, float]:
    """Log of the upper incomplete gamma ratio, and mean and variance of ``log(T/x)`` beyond x, by quadrature.

    With ``t = x exp(v)`` the tail is the integral of ``exp(a v - x (exp(v) - 1))`` over v > 0, which is log-concave.
    """
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


@numba.njit(cache=True, nogil=True)
def series_table(a: float, table: np.ndarray) -> None:
    """Fill `table` with what the series for shape `a` and its derivatives need, made once for many arguments.

    Row k holds ``1/(a+k+1)``, the harmonic sum ``H`` of these up to k, and ``H**2`` plus the sum of their squares.
    """
    harmonic = 0.0
    squares = 0.0
    for k in range(table.shape[0]):
        inverse = 1.0 / (a + 1.0 + k)
        harmonic += inverse
        squares += inverse * inverse
        table[k, 0] = inverse
        table[k, 1] = harmonic
        table[k, 2] = harmonic * harmonic + squares


@numba.njit(cache=True, nogil=True)
def log_gamma_sf(
    a: float,
    log_x: float,
    x: float,
    log_gamma: float,
    digamma_next: float,
    trigamma_next: float,
    table: np.ndarray,
) -> tuple[float, float, float, float]:
    """Log of the standard gamma's survival function at ``exp(log_x)``, and what Newton's method needs of it.

    Parameters
    ----------
    a, log_x, x : float
        Shape, log of the argument, and the argument.
    log_gamma : float
        Log of the gamma function at `a`.
    digamma_next, trigamma_next : float
        At ``a + 1``.
    table : ndarray, shape (terms, 3)
        As `series_table` makes it for `a`.

    Returns
    -------
    tuple of float
        ``log Q``, ``d log Q/da``, ``d2 log Q/da2`` and ``x f(x) / Q``.
    """
    if x == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    log_prefactor = _log_prefactor(a, log_x, x, log_gamma)
    if a < _SERIES_LIMIT and x < a + 6.0 + 4.0 * math.sqrt(a):
        term = 1.0
        total = 1.0
        first = 0.0
        second = 0.0
        k = 0
        size = table.shape[0]
        weight = 1.0
        while term * (1.0 + weight) > 1e-15 * total and k < size:
            weight = table[k, 2]
            term *= x * table[k, 0]
            total += term
            first += term * table[k, 1]
            second += term * weight
            k += 1
        harmonic = table[size - 1, 1]
        squares = table[size - 1, 2] - harmonic * harmonic
        while term * (1.0 + weight) > 1e-15 * total:
            inverse = 1.0 / (a + 1.0 + k)
            harmonic += inverse
            squares += inverse * inverse
            weight = harmonic * harmonic + squares
            term *= x * inverse
            total += term
            first += term * harmonic
            second += term * weight
            k += 1
        prefactor = math.exp(log_prefactor)
        below = prefactor * total / a
        above = 1.0 - below
        if above > 1e-5:
            slope = log_x - digamma_next - first / total
            curve = second / total - (first / total) ** 2 - trigamma_next
            ratio = below / above
            d1 = -ratio * slope
            return math.log1p(-below), d1, -ratio * (curve + slope * slope) - d1 * d1, prefactor / above
    log_q, mean, variance = _tail_integral(a, log_x, x, log_gamma)
    digamma = digamma_next - 1.0 / a
    return (
        log_q,
        log_x + mean - digamma,
        variance - trigamma_next - 1.0 / (a * a),
        math.exp(log_prefactor - log_q),
    )


@numba.njit(cache=True, nogil=True)
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


def log_gamma_survival(a: npt.NDArray[np.float64], x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Log of the standard gamma's survival function, element by element; finite far beyond where it underflows.

    Parameters
    ----------
    a, x : ndarray of float
        Shape and argument, broadcast against each other.

    Examples
    --------
    >>> log_gamma_survival(np.array([1.0]), np.array([5000.0])).tolist()
    [-5000.0]
    """
    shape, argument = np.broadcast_arrays(a, x)
    plain = scipy.special.gammaincc(shape, argument)
    out = np.full(shape.shape, -np.inf)
    np.log(plain, out=out, where=plain > 1e-280)
    far = (plain <= 1e-280) & np.isfinite(argument) & (shape > 0)
    if far.any():
        out[far] = _log_tails(shape[far], argument[far])
    out[np.isnan(plain)] = np.nan
    return out


@numba.njit(cache=True, nogil=True)
def _log_tails(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    out = np.empty(a.size)
    for i in range(a.size):
        out[i] = _tail_integral(a[i], math.log(x[i]), x[i], math.lgamma(a[i]))[0]
    return out
