"""Failure rates at any age, without the loss of digits in ``log f - log S`` where survival to that age is rare."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.families import BirnbaumSaunders, Distribution, Gamma, GeneralisedGamma, InverseGaussian, Lognormal
from relfit.families.inverse_gaussian import erfcx_drop

__all__ = ["log_rate"]

FloatArray = npt.NDArray[np.float64]

_TERMS = 400  # of the continued fraction
_ROOT_HALF = 0.7071067811865476
_HALF_LOG_TWO_OVER_PI = -0.22579135264472744


@singledispatch
def log_rate(family: Distribution, time: npt.ArrayLike) -> FloatArray:
    """Log of the failure rate at the age `time`."""
    return family.log_hazard(time)


@log_rate.register
def _(family: Lognormal, time: npt.ArrayLike) -> FloatArray:
    t = np.asarray(time, dtype=np.float64)
    with np.errstate(all="ignore"):
        log_t = np.log(np.maximum(t, 0.0))
        z = (log_t - family.meanlog) / family.sdlog
        value = _log_normal_rate(z) - np.log(family.sdlog) - log_t
    return np.where(t > 0.0, value, np.where(np.isnan(t + family.meanlog + family.sdlog), np.nan, -np.inf))


@log_rate.register
def _(family: BirnbaumSaunders, time: npt.ArrayLike) -> FloatArray:
    t = np.asarray(time, dtype=np.float64)
    with np.errstate(all="ignore"):
        half = 0.5 * (np.log(np.maximum(t, 0.0)) - np.log(family.scale))
        z = 2.0 * np.sinh(half) / family.shape
        log_cosh = np.abs(half) + np.log1p(np.exp(-2.0 * np.abs(half))) - np.log(2.0)
        value = _log_normal_rate(z) + log_cosh - np.log(family.shape) - np.log(t)
    return np.where(t > 0.0, value, np.where(np.isnan(t + family.shape + family.scale), np.nan, -np.inf))


def _log_normal_rate(z: FloatArray) -> FloatArray:
    """Log of ``phi(z) / (1 - Phi(z))``."""
    rare = _HALF_LOG_TWO_OVER_PI - np.log(special.erfcx(np.maximum(z, -5.0) * _ROOT_HALF))
    early = -0.5 * z**2 - 0.9189385332046727 - special.log_ndtr(-z)
    return np.where(z > -5.0, rare, early)


@log_rate.register
def _(family: Gamma, time: npt.ArrayLike) -> FloatArray:
    t = np.asarray(time, dtype=np.float64)
    with np.errstate(all="ignore"):
        x = t / family.scale
        return _with_far(family.log_hazard(t), family.shape, x, -np.log(family.scale))


@log_rate.register
def _(family: GeneralisedGamma, time: npt.ArrayLike) -> FloatArray:
    t = np.asarray(time, dtype=np.float64)
    with np.errstate(all="ignore"):
        # for q above zero a exp(q w) is a gamma life of shape a = 1 / q**2
        log_t = np.log(t)
        shape = family.q**-2.0
        x = shape * np.exp(family.q * (log_t - family.mu) / family.sigma)
        usual = np.where((family.q > 1e-3) & np.isfinite(x), shape, np.nan)
        return _with_far(family.log_hazard(t), usual, x, np.log(x * family.q / family.sigma) - log_t)


@log_rate.register
def _(family: InverseGaussian, time: npt.ArrayLike) -> FloatArray:
    t = np.asarray(time, dtype=np.float64)
    with np.errstate(all="ignore"):
        root = np.sqrt(0.5 * family.shape) / np.sqrt(t)
        y = np.sqrt(0.5 * family.shape) * np.sqrt(t) / family.mean_life - root
        density = 0.5 * np.log(family.shape / (2.0 * np.pi)) - 1.5 * np.log(t)
        late = density - np.log(0.5 * erfcx_drop(np.maximum(y, 1.0), 2.0 * root))
        return np.where((y > 1.0) & np.isfinite(late), late, family.log_hazard(t))


def _with_far(plain: FloatArray, shape: FloatArray, x: FloatArray, factor: FloatArray) -> FloatArray:
    """The log rate, from the continued fraction of the gamma function where x is far above its shape."""
    shape, x, plain = np.broadcast_arrays(shape, x, plain)
    far = (x > 1.5 * shape + 20.0) & np.isfinite(x)
    if not far.any():
        return np.asarray(plain)
    out = np.array(plain)
    factor = np.broadcast_to(factor, out.shape)
    out[far] = -np.log(_gamma_fraction(shape[far], x[far])) - np.log(x[far]) + factor[far]
    return out


def _gamma_fraction(shape: FloatArray, x: FloatArray) -> FloatArray:
    """``Gamma(shape, x) exp(x) x**-shape`` by Lentz's method (Press and others, section 6.2), for x above the shape."""
    b = x + 1.0 - shape
    c = np.full(x.shape, 1e300)
    d = 1.0 / b
    value = d.copy()
    for i in range(1, _TERMS):
        a = -i * (i - shape)
        b = b + 2.0
        d = a * d + b
        c = b + a / c
        d = 1.0 / np.where(d == 0.0, 1e-300, d)
        c = np.where(c == 0.0, 1e-300, c)
        change = c * d
        value *= change
        if np.all(np.abs(change - 1.0) < 2e-16):
            break
    return value
