"""Compiled failure rates of families that have no closed form of the cumulative hazard, times the time ahead."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["BIRNBAUM_SAUNDERS", "GAMMA", "GENERALISED_GAMMA", "LOGNORMAL", "rates_times_time"]

LOGNORMAL, BIRNBAUM_SAUNDERS, GAMMA, GENERALISED_GAMMA = 0, 1, 2, 3

_ROOT_HALF = 0.7071067811865476
_ROOT_TWO_OVER_PI = 0.7978845608028654
_EARLY = 110.0  # terms of the continued fraction, times its argument, for 1e-16


@numba.njit(cache=True, nogil=True)
def _normal_rate(z: float) -> float:
    """``phi(z) / (1 - Phi(z))``; far out from its asymptotic series (Abramowitz and Stegun 26.2.12)."""
    if z < 30.0:
        return _ROOT_TWO_OVER_PI * math.exp(-0.5 * z * z) / math.erfc(z * _ROOT_HALF)
    w = 1.0 / (z * z)
    return z / (1.0 - w * (1.0 - w * (3.0 - w * (15.0 - w * (105.0 - w * (945.0 - w * 10395.0))))))


@numba.njit(cache=True, nogil=True)
def _gamma_rate(shape: float, log_gamma: float, y: float) -> float:
    """``y**shape exp(-y) / Gamma(shape, y)``: by the series below, the continued fraction above the shape."""
    if y > shape + 1.0 and y > 2.5:
        if shape <= 8.0:  # the continued fraction from its end
            count = int(_EARLY / y + shape) + 4
            b = y + 2.0 * count + 1.0 - shape
            value = b
            for i in range(count, 0, -1):
                b -= 2.0
                value = b - i * (i - shape) / value
            return value
        b = y + 1.0 - shape
        c, d = 1e300, 1.0 / b
        value = d
        for i in range(1, 1000):
            a = -i * (i - shape)
            b += 2.0
            d = 1.0 / (a * d + b)
            c = b + a / c
            value *= c * d
            if abs(c * d - 1.0) < 2e-16:
                break
        return 1.0 / value
    term = 1.0 / shape
    total = term
    for i in range(1, 1000):
        term *= y / (shape + i)
        total += term
        if term < 1e-17 * total:
            break
    weight = math.exp(shape * math.log(y) - y - log_gamma)
    return weight / (1.0 - weight * total)


@numba.njit(cache=True, nogil=True)
def _rate(code: int, par: np.ndarray, t: float) -> float:
    """Failure rate at the age `t`, times that age."""
    if code == 0:
        return _normal_rate((math.log(t) - par[0]) / par[1]) / par[1]
    if code == 1:
        half = 0.5 * (math.log(t) - par[1])
        return _normal_rate(2.0 * math.sinh(half) / par[0]) * math.cosh(half) / par[0]
    if code == 2:
        return _gamma_rate(par[0], par[2], t / par[1])
    # a exp(q w), w = (log t - mu) / sigma, is a gamma life of the shape a = 1 / q**2
    y = par[0] * math.exp(par[1] * (math.log(t) - par[3]))
    return _gamma_rate(par[0], par[2], y) * par[1]


@numba.njit(cache=True, nogil=True)
def rates_times_time(
    codes: np.ndarray, table: np.ndarray, ages: np.ndarray, x: np.ndarray, out: np.ndarray, first: int, last: int
) -> None:
    """``x h(age + x)`` of each node at the times `x`, rows `first` to `last`; rows of a negative code are left."""
    for i in range(first, last):
        if codes[i] < 0:
            continue
        for j in range(x.size):
            t = ages[i] + x[j]
            out[i, j] = x[j] / t * _rate(codes[i], table[i], t) if t > 0.0 else 0.0
