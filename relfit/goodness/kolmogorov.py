"""The textbook null distribution of the Kolmogorov-Smirnov statistic, for many statistics at once.

Exact for up to 140 lives (Marsaglia, Tsang and Wang 2003), by the expansion of Pelz and Good (1976) beyond; where very
many groups have one size, exact values on a grid are interpolated to better than 1e-6.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numba
import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.interpolate import CubicSpline

__all__ = ["kolmogorov_p"]

_EXACT_UP_TO = 140
_GRID = 320
_ROUGH_UP_TO = 10  # below this size the distribution has kinks that a spline would round off


def kolmogorov_p(statistic: npt.ArrayLike, size: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Two-sided p-value of the K-S statistic, the parameters taken as known (the "textbook" p-value).

    It is far too large when the parameters were estimated from the same lives; see ``statistics.md`` and
    `relfit.fitting.FamilyFit`.

    Parameters
    ----------
    statistic : array_like of float, shape (groups,)
        Largest distance between the empirical and the fitted distribution function.
    size : array_like of int, shape (groups,)
        Number of observed lives.

    Returns
    -------
    ndarray of float, shape (groups,)
        NaN where the statistic is NaN or the size is zero.

    Examples
    --------
    >>> kolmogorov_p([0.274], [10]).round(4).tolist()  # scipy.stats.kstwo.sf(0.274, 10)
    [0.3715]
    """
    d = np.atleast_1d(np.asarray(statistic, dtype=np.float64))
    n = np.broadcast_to(np.atleast_1d(np.asarray(size, dtype=np.int64)), d.shape)
    p = np.full(d.shape, np.nan)
    valid = np.isfinite(d) & (n > 0)
    large = valid & (n > _EXACT_UP_TO)
    p[large] = _pelz_good(d[large], n[large].astype(np.float64))
    for count in np.unique(n[valid & ~large]):  # at most 140 turns, however many groups
        rows = np.flatnonzero(valid & (n == count))
        if rows.size <= _GRID or count < _ROUGH_UP_TO:
            p[rows] = _exact(d[rows], int(count))
        else:
            p[rows] = _interpolated(d[rows], int(count))
    return np.asarray(np.clip(p, 0.0, 1.0))


@lru_cache(maxsize=_EXACT_UP_TO)
def _curve(n: int) -> CubicSpline:
    grid = np.linspace(0.5 / n, min(1.0, 3.2 / math.sqrt(n)), _GRID)
    return CubicSpline(grid, _exact(grid, n))


def _interpolated(d: npt.NDArray[np.float64], n: int) -> npt.NDArray[np.float64]:
    curve = _curve(n)
    low, high = curve.x[0], curve.x[-1]
    inside = np.asarray(curve(np.clip(d, low, high)), dtype=np.float64)
    tail = d > high
    if tail.any():
        inside[tail] = _exact(d[tail], n)
    return inside


@numba.njit(cache=True, nogil=True)
def _exact(d: np.ndarray, n: int) -> np.ndarray:
    out = np.empty(d.size)
    for row in range(d.size):
        out[row] = _exact_one(d[row], n)
    return out


@numba.njit(cache=True, nogil=True)
def _exact_one(d: float, n: int) -> float:
    """Exact tail probability; Miller's one-sided sum where it is exact or the matrix would cancel."""
    if d >= 1.0:
        return 0.0
    if 2.0 * n * d <= 1.0:
        return 1.0
    if n * d * d > 3.0 or d >= 0.5:
        # twice the one-sided tail: exact for d >= 1/2, and within 1e-9 of the two-sided one out here
        total = 0.0
        for j in range(math.floor(n * (1.0 - d)) + 1):
            base = 1.0 - d - j / n
            log_binomial = math.lgamma(n + 1.0) - math.lgamma(j + 1.0) - math.lgamma(n - j + 1.0)
            term = log_binomial + (j - 1.0) * math.log(d + j / n)
            if n - j > 0:
                if base <= 0.0:
                    continue
                term += (n - j) * math.log(base)
            total += math.exp(term)
        return min(1.0, 2.0 * d * total)
    k = math.floor(n * d) + 1
    size = 2 * k - 1
    h = k - n * d
    matrix = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            if i - j + 1 >= 0:
                matrix[i, j] = 1.0
    for i in range(size):
        matrix[i, 0] -= h ** (i + 1)
        matrix[size - 1, i] -= h ** (size - i)
    if 2.0 * h - 1.0 > 0.0:
        matrix[size - 1, 0] += (2.0 * h - 1.0) ** size
    for i in range(size):
        for j in range(size):
            if i - j + 1 > 0:
                for g in range(1, i - j + 2):
                    matrix[i, j] /= g
    power = np.eye(size)
    base_matrix = matrix
    exponent = n
    scale = 0
    base_scale = 0
    while exponent > 0:
        if exponent % 2 == 1:
            power = power @ base_matrix
            scale += base_scale
            if power[k - 1, k - 1] > 1e140:
                power = power * 1e-140
                scale += 140
        base_matrix = base_matrix @ base_matrix
        base_scale *= 2
        if base_matrix[k - 1, k - 1] > 1e140:
            base_matrix = base_matrix * 1e-140
            base_scale += 140
        exponent //= 2
    probability = power[k - 1, k - 1]
    for i in range(1, n + 1):
        probability *= i / n
        if probability < 1e-140:
            probability *= 1e140
            scale -= 140
    return float(max(0.0, 1.0 - probability * 10.0**scale))


def _pelz_good(d: npt.NDArray[np.float64], n: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Pelz and Good (1976): the limit law with corrections up to n**(-3/2); sums over all integers, folded."""
    z = d * np.sqrt(n)
    tail = z > 3.0
    safe = np.clip(z, 0.04, 3.0)
    pi2 = math.pi**2
    z2, z4, z6 = safe**2, safe**4, safe**6
    k = np.arange(0, 40)[:, None]
    odd = (2 * k + 1) ** 2
    decay = np.exp(-pi2 * odd / (8.0 * z2))
    k0 = math.sqrt(2 * math.pi) / safe * decay.sum(axis=0)
    k1 = math.sqrt(math.pi / 2) / (3 * z4) * ((pi2 * odd / 4 - z2) * decay).sum(axis=0)
    quarter = (k + 0.5) ** 2
    k2 = (
        math.sqrt(math.pi / 2)
        / (36 * safe**7)
        * ((6 * z6 + 2 * z4 + pi2 * (2 * z4 - 5 * z2) * quarter + pi2**2 * (1 - 2 * z2) * quarter**2) * decay).sum(
            axis=0
        )
    )
    square = k**2
    even = np.exp(-pi2 * square / (2.0 * z2))
    k2 -= math.sqrt(math.pi / 2) / (18 * safe**3) * (pi2 * square * even).sum(axis=0)
    k3 = (
        math.sqrt(math.pi / 2)
        / (3240 * safe**10)
        * (
            (
                pi2**3 * quarter**3 * (5 - 30 * z2)
                + pi2**2 * quarter**2 * (-60 * z2 + 212 * z4)
                + pi2 * quarter * (135 * z4 - 96 * z6)
                - 30 * z6
                - 90 * safe**8
            )
            * decay
        ).sum(axis=0)
    )
    k3 += math.sqrt(math.pi / 2) / (108 * z6) * ((-(pi2**2) * square**2 + 3 * pi2 * square * z2) * even).sum(axis=0)
    root = np.sqrt(n)
    below = k0 + k1 / root + k2 / n + k3 / (n * root)
    p = 1.0 - below
    # far out the two-sided tail is twice the one-sided, which SciPy has exactly
    far = np.where(tail, 2.0 * special.smirnov(n.astype(np.int64), np.where(tail, np.minimum(d, 1.0), 1.0)), 0.0)
    return np.where(tail, far, np.clip(p, 0.0, 1.0))
