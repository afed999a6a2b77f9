"""Likelihoods of incidents that bring others: sums of delays, and maxima with profile intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.compiled import njit

_MOST = 0.95  # further incidents that one brings, at most
_FAR = 30.0  # delays, beyond which the effect of an incident is negligible


@dataclass(frozen=True)
class BurstFit:
    """The maximum over branching and delay: both, the interval of branching, and the gain over no branching."""

    branching: float
    low: float
    high: float
    delay: int
    gain: float


@njit(cache=True, nogil=True)
def after(time: FloatArray, label: IntArray, weight: FloatArray, delays: FloatArray) -> FloatArray:
    """Sums of exponential densities of delays since earlier points of one label (-1: none), shape (points, delays)."""
    n_labels = label.max() + 1 if label.size else 0
    out = np.zeros((time.size, delays.size))
    last, tied = np.full(n_labels, -np.inf), np.zeros(n_labels)
    state = np.zeros((n_labels, delays.size))
    for i in range(time.size):
        j = label[i]
        if j < 0:
            continue
        passed = time[i] - last[j]
        if passed > 0.0:
            for d in range(delays.size):
                near = passed < _FAR * delays[d]
                state[j, d] = (state[j, d] + tied[j] / delays[d]) * np.exp(-passed / delays[d]) if near else 0.0
            tied[j], last[j] = 0.0, time[i]
        tied[j] += weight[i]
        out[i] = state[j]
    return out


@njit(cache=True, nogil=True)
def log_ratios(
    time: FloatArray, label: IntArray, inner: IntArray, rate: FloatArray, delays: FloatArray, branching: float
) -> FloatArray:
    """By delay, log-likelihood ratio of points of these rates, each bringing others of its label, to no branching."""
    one = np.ones(time.size)
    excess = after(time, label, one, delays)
    if (inner >= 0).any():
        excess -= after(time, inner, one, delays)
    out, odds = np.zeros(delays.size), branching / (1.0 - branching)
    for i in range(time.size):
        for d in range(delays.size):
            if excess[i, d] > 1e-9:
                out[d] += np.log1p(odds * excess[i, d] / rate[i])
    return out


@njit(cache=True, nogil=True)
def _spells(
    background: FloatArray, excited: FloatArray, ends: IntArray, expected: FloatArray, alike: float
) -> FloatArray:
    """Log-likelihood of each spell, its level a gamma variable of shape `alike` and mean 1, by Laplace's method."""
    out = np.zeros(expected.size)
    for w in range(expected.size):
        first, last = ends[w], ends[w + 1]
        level = (alike + last - first) / (alike + expected[w])
        curvature = alike + last - first
        for _ in range(30):
            own = loose = 0.0
            for i in range(first, last):
                p = level * background[i] / (level * background[i] + excited[i])
                own += p
                loose += p * (1.0 - p)
            curvature = level * (expected[w] + alike) - loose
            slope = own + alike - level * (expected[w] + alike)
            if curvature > 0.1 * (own + alike):  # Newton's step on the log of the level, else one of EM
                move = min(max(slope / curvature, -1.0), 1.0)
            else:
                move = np.log((own + alike) / (level * (expected[w] + alike)))
            level *= np.exp(move)
            if abs(move) < 1e-6:
                break
        total = alike * np.log(level) - level * (expected[w] + alike)
        for i in range(first, last):
            total += np.log(level * background[i] + excited[i])
        out[w] = total - 0.5 * np.log(max(curvature, 0.01 * alike))
    return out


def spells(background: FloatArray, excited: FloatArray, ends: IntArray, expected: FloatArray, alike: float) -> float:
    """Log-likelihood of points on a `background` times a level of each spell, plus what earlier points bring.
    `background` and `excited` are rates at the points, `ends` the points at which spells begin, `expected` of the
    background in each, `alike` one over the variance of levels: infinite where there are no good and bad ones.
    """
    if np.isinf(alike):
        return float(np.log(background + excited).sum() - expected.sum())
    prior = alike * np.log(alike) - special.gammaln(alike) + 0.5 * np.log(2.0 * np.pi)
    return float((_spells(background, excited, ends, expected, alike) + prior).sum())


def fitted(loglik: Callable[[float, int], float], delays: int, level: float) -> BurstFit:
    """The maximum over branching and delay; the interval of branching ends where the profile over delays has fallen."""
    from scipy import optimize  # slow to import

    none = loglik(0.0, 0)
    best = [
        optimize.minimize_scalar(
            lambda x, d=d: -loglik(x, d), bounds=(0.0, _MOST), method="bounded", options={"xatol": 1e-4}
        )
        for d in range(delays)
    ]
    at = np.array([one.x for one in best])
    value = np.array([-one.fun for one in best])
    at, value = np.where(value > none, at, 0.0), np.maximum(value, none)
    delay = int(np.argmax(value))
    floor = float(value[delay] - 0.5 * special.chdtri(1, 1.0 - level))

    def beyond(d: int, x: float) -> float:
        return loglik(x, d) - floor

    low, high = _MOST, 0.0
    for d in np.flatnonzero(value > floor):
        ends = []
        for end in (0.0, _MOST):
            if loglik(end, int(d)) >= floor:
                ends.append(end)
            else:
                first, last = sorted((end, float(at[d])))
                ends.append(float(optimize.brentq(partial(beyond, int(d)), first, last, xtol=1e-4)))
        low, high = min(low, ends[0]), max(high, ends[1])
    return BurstFit(float(at[delay]), low, high, delay, float(value[delay] - none))
