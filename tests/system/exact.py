"""Cumulative hazards of every family in mpmath, from their textbook formulas."""

from __future__ import annotations

import mpmath as mp


def _normal_sf(z):
    return mp.erfc(z / mp.sqrt(2)) / 2


def log_sf(family, parameters, time):
    """Log of the survival function at `time`, with as many digits as mpmath works with."""
    p, t = [mp.mpf(v) for v in parameters], mp.mpf(time)
    if family == "exponential":
        return -p[0] * t
    if family in ("weibull", "zero_inflated"):
        shape, scale = p[-2:]
        return -((t / scale) ** shape)
    if family == "weibull3":
        return -((max(t - p[2], mp.mpf(0)) / p[1]) ** p[0])
    if family == "gompertz":
        return -p[0] / p[1] * mp.expm1(p[1] * t)
    if family == "loglogistic":
        return -mp.log1p((t / p[1]) ** p[0])
    if family == "gamma":
        return mp.log(mp.gammainc(p[0], t / p[1], mp.inf, regularized=True))
    if family == "lognormal":
        return mp.log(_normal_sf((mp.log(t) - p[0]) / p[1])) if t else mp.mpf(0)
    if family == "generalised_gamma":
        w = (mp.log(t) - p[0]) / p[1] if t else -mp.inf
        if p[2] == 0:
            return mp.log(_normal_sf(w))
        a = p[2] ** -2
        x = a * mp.exp(p[2] * w)
        if p[2] > 0:
            return mp.log(mp.gammainc(a, x, mp.inf, regularized=True))
        return mp.log(mp.gammainc(a, 0, x, regularized=True)) if t else mp.mpf(0)
    if family == "inverse_gaussian":
        mean, shape = p
        if not t:
            return mp.mpf(0)
        root = mp.sqrt(shape / t)
        return mp.log(_normal_sf(root * (t / mean - 1)) - mp.exp(2 * shape / mean) * _normal_sf(root * (t / mean + 1)))
    if family == "birnbaum_saunders":
        return mp.log(_normal_sf((mp.sqrt(t / p[1]) - mp.sqrt(p[1] / t)) / p[0])) if t else mp.mpf(0)
    if family == "hyperexponential2":
        return mp.log(p[0] * mp.exp(-p[1] * t) + (1 - p[0]) * mp.exp(-p[2] * t))
    if family == "hyperexponential3":
        last = 1 - p[0] - p[1]
        return mp.log(p[0] * mp.exp(-p[2] * t) + p[1] * mp.exp(-p[3] * t) + last * mp.exp(-p[4] * t))
    if family == "weibull_mixture":
        return mp.log(p[0] * mp.exp(-((t / p[2]) ** p[1])) + (1 - p[0]) * mp.exp(-((t / p[4]) ** p[3])))
    if family == "limited_failure":
        return mp.log(1 - p[0] + p[0] * mp.exp(-((t / p[2]) ** p[1])))
    raise KeyError(family)


def excess(family, parameters, age, time):
    """``H(age + time) - H(age)``."""
    return log_sf(family, parameters, age) - log_sf(family, parameters, mp.mpf(age) + mp.mpf(time))
