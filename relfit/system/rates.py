"""Failure rates at any age, without the loss of digits in ``log f - log S`` where survival to that age is rare."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.families import BirnbaumSaunders, Distribution, Lognormal

__all__ = ["log_rate"]

FloatArray = npt.NDArray[np.float64]

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
