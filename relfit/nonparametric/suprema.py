"""Critical values of simultaneous bands: how far a Brownian bridge strays over a part of its range.

The equal-precision band needs the supremum of ``|B(u)| / sqrt(u (1 - u))`` over ``a <= u <= b``, the Hall-Wellner band
that of ``|B(u)|``, for a Brownian bridge B. Both distributions are computed, not looked up.

The first is the supremum of a stationary Ornstein-Uhlenbeck process over a span of time, ``log(b (1-a) / (a (1-b))) /
2``; the probability to stay within -c..c follows from the eigenvalues of its generator, which become those of a
Schroedinger operator with the potential ``x**2 / 4 - 1/2`` between walls at -c and c. The second follows from the
reflection principle for a bridge between two walls, integrated over where it is at a (numerically) and at b (in closed
form); for a = 0 and b = 1 it is Kolmogorov's distribution.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numba
import numpy as np
import numpy.typing as npt
from scipy import interpolate, special

__all__ = ["bridge_critical", "bridge_stays", "standardised_bridge_critical", "standardised_bridge_stays"]

FloatArray = npt.NDArray[np.float64]

_BASIS = 120  # even functions in which the operator is written
_SHORTEST = 1e-2  # span of time below which the critical value is interpolated towards the normal quantile
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_FINE_NODES, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(2 * _BASIS)
_ROOT_HALF = math.sqrt(0.5)
_LARGEST = 8.0


@lru_cache(maxsize=512)
def _spectrum(c: float) -> tuple[FloatArray, FloatArray]:
    """Decay rates and weights: the probability to stay within -c..c over a span s is ``sum w exp(-rate s)``."""
    k = np.arange(_BASIS)
    wave = (2 * k + 1) * np.pi / (2.0 * c)
    # mean of x**2 between two cosines that vanish at the walls: sum and difference of their waves
    total, apart = wave[:, None] + wave[None, :], wave[:, None] - wave[None, :]
    sign = np.where((k[:, None] + k[None, :]) % 2 == 0, 1.0, -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = 2.0 * sign * (1.0 / apart**2 - 1.0 / total**2)
    np.fill_diagonal(square, c**2 / 3.0 - 1.0 / (2.0 * wave**2))
    rates, vectors = np.linalg.eigh(np.diag(wave**2 - 0.5) + 0.25 * square)
    x = c * _FINE_NODES
    start = (np.cos(wave[:, None] * x) * np.exp(-(x**2) / 4.0)) @ (c * _FINE_WEIGHTS) / math.sqrt(c)
    return rates, (vectors.T @ start) ** 2 / math.sqrt(2.0 * math.pi)


def standardised_bridge_stays(c: float, span: npt.ArrayLike) -> FloatArray:
    """Probability that ``|B(u)| <= c sqrt(u (1 - u))`` for all u from a to b.

    Parameters
    ----------
    c : float
    span : array_like of float
        ``log(b (1-a) / (a (1-b))) / 2``, at least 0.01.

    Examples
    --------
    The tail formula of Miller and Siegmund (1982) gives 0.9422 here:

    >>> round(float(standardised_bridge_stays(3.0, np.log(0.9 / 0.1))), 4)
    0.9425
    """
    rates, weights = _spectrum(float(c))
    return np.asarray(np.exp(-np.multiply.outer(np.asarray(span, dtype=np.float64), rates)) @ weights)


@lru_cache(maxsize=32)
def _spans(level: float) -> tuple[interpolate.CubicSpline, float, float, float]:
    """Critical value as a function of the log of the span, with the range in which it holds."""
    normal = float(special.ndtri(0.5 + 0.5 * level))
    heights, spans = [], []
    for c in normal + (_LARGEST - normal) * np.linspace(0.0, 1.0, 90)[1:] ** 1.5:
        rates, weights = _spectrum(float(c))
        # Newton for the log of the probability, which falls almost linearly in the span
        span = 0.0
        for _ in range(60):
            terms = weights * np.exp(-rates * span)
            step = math.log(terms.sum() / level) / ((rates * terms).sum() / terms.sum())
            span = max(span + step, 0.0)
            if abs(step) <= 1e-13 * (1.0 + span):
                break
        if span >= _SHORTEST:
            heights.append(float(c))
            spans.append(math.log(span))
    return interpolate.CubicSpline(spans, heights), math.exp(spans[0]), heights[0], math.exp(spans[-1])


def standardised_bridge_critical(level: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Height c with probability `level` that ``|B(u)| <= c sqrt(u (1 - u))`` for all u from `lower` to `upper`.

    Parameters
    ----------
    level : float
        Between 0 and 1.
    lower, upper : ndarray of float
        Ends, inside 0..1, `lower` not above `upper`.

    Examples
    --------
    >>> standardised_bridge_critical(0.95, np.array([0.1, 0.05]), np.array([0.9, 0.95])).round(3).tolist()
    [3.052, 3.146]
    """
    normal = float(special.ndtri(0.5 + 0.5 * level))
    curve, shortest, least, longest = _spans(level)
    span = 0.5 * (special.logit(upper) - special.logit(lower))
    inner = curve(np.log(np.clip(span, shortest, longest)))
    return np.asarray(np.where(span >= shortest, inner, normal + (least - normal) * np.sqrt(span / shortest)))


def bridge_stays(k: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike) -> FloatArray:
    """Probability that ``|B(u)| <= k`` for all u from `lower` to `upper`, element by element.

    Examples
    --------
    Kolmogorov's distribution:

    >>> bridge_stays(1.3581, 0.0, 1.0).round(4).tolist()
    0.95
    """
    height, a, b = (np.asarray(v, dtype=np.float64) for v in np.broadcast_arrays(k, lower, upper))
    out = np.empty(height.size)
    _stays_each(height.ravel(), a.ravel(), b.ravel(), _NODES, _WEIGHTS, out)
    return out.reshape(height.shape)


def bridge_critical(level: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Height k with probability `level` that ``|B(u)| <= k`` for all u from `lower` to `upper`.

    Parameters
    ----------
    level : float
        Between 0 and 1.
    lower, upper : ndarray of float, shape (m,)
        Ends, within 0..1.

    Examples
    --------
    >>> bridge_critical(0.95, np.array([0.0, 0.1]), np.array([1.0, 0.6])).round(3).tolist()
    [1.358, 1.321]
    """
    ends, place = np.unique(np.column_stack([lower, upper]), axis=0, return_inverse=True)
    out = np.empty(len(ends))
    _critical_each(level, ends[:, 0].copy(), ends[:, 1].copy(), _NODES, _WEIGHTS, out)
    return out[place.ravel()]


@numba.njit(cache=True, nogil=True)
def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x * _ROOT_HALF)


@numba.njit(cache=True, nogil=True)
def _stays_from(k: float, a: float, b: float, x: float) -> float:
    """Probability to stay within -k..k from a to b, given x at a and 0 at 1."""
    left = 1.0 - a
    mean = x * (1.0 - b) / left
    deviation = math.sqrt(max((b - a) * (1.0 - b) / left, 1e-300))
    # exp(alpha y) against the normal shifts its mean by alpha times the variance
    shift = (1.0 - b) / left
    total = 0.0
    for j in range(-60, 61):
        move = 2.0 * k * j
        one = -2.0 * move * (move - x) / left
        c = x + k + move
        two = -2.0 * c * (k + move) / left
        if one > -40.0:
            centre = mean - 2.0 * move * shift
            total += math.exp(one) * (_phi((k - centre) / deviation) - _phi((-k - centre) / deviation))
        if two > -40.0:
            centre = mean - 2.0 * c * shift
            total -= math.exp(two) * (_phi((k - centre) / deviation) - _phi((-k - centre) / deviation))
    return total


@numba.njit(cache=True, nogil=True)
def _stays(k: float, a: float, b: float, nodes: np.ndarray, weights: np.ndarray) -> float:
    if k <= 0.0:
        return 0.0
    spread = math.sqrt(a * (1.0 - a))
    if spread < 1e-12:
        return _stays_from(k, a, b, 0.0) if a < 0.5 else 1.0
    edge = min(k, 9.0 * spread)
    total = 0.0
    for i in range(nodes.size):
        x = edge * nodes[i]
        z = x / spread
        total += weights[i] * math.exp(-0.5 * z * z) * _stays_from(k, a, b, x)
    return total * edge / (spread * 2.5066282746310002)


@numba.njit(cache=True, nogil=True)
def _stays_each(
    k: np.ndarray, a: np.ndarray, b: np.ndarray, nodes: np.ndarray, weights: np.ndarray, out: np.ndarray
) -> None:
    for i in range(k.size):
        out[i] = _stays(k[i], a[i], b[i], nodes, weights)


@numba.njit(cache=True, nogil=True)
def _critical_each(
    level: float, a: np.ndarray, b: np.ndarray, nodes: np.ndarray, weights: np.ndarray, out: np.ndarray
) -> None:
    for i in range(a.size):
        low, high = 0.0, 6.0
        k, previous, miss_before = 1.0, 0.0, -level
        for _ in range(100):
            miss = _stays(k, a[i], b[i], nodes, weights) - level
            if miss < 0.0:
                low = k
            else:
                high = k
            if abs(miss) < 1e-13 or high - low < 1e-12:
                break
            step = k - miss * (k - previous) / (miss - miss_before) if miss != miss_before else low
            previous, miss_before = k, miss
            k = step if low < step < high else 0.5 * (low + high)
        out[i] = k
