"""P-values of runs above and below the median (Wald and Wolfowitz 1940) and of Durbin and Watson's statistic."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.log.lifedata import LifeData

_EXACT = 200
_BLOCK = 4096


def runs_above_median(series: LifeData, usable: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Runs, their standardised number and p-value by group; values equal to the median count as above it."""
    groups, code, sizes = series.n_groups, series.group_codes(), series.sizes
    # halves, so that the median of two huge values does not overflow
    median = 2.0 * pd.Series(0.5 * series.durations).groupby(code).transform("median").to_numpy()
    above = series.durations >= median
    n1 = np.bincount(code[above], minlength=groups).astype(np.int64)
    n2 = (sizes - n1).astype(np.int64)
    change = (above[1:] != above[:-1]) & (code[1:] == code[:-1])
    runs = np.where(usable, np.bincount(code[1:][change], minlength=groups) + 1.0, np.nan)
    both, n = 2.0 * n1 * n2, np.maximum(sizes, 1).astype(np.float64)
    variance = both * (both - n) / (n * n * np.maximum(n - 1.0, 1.0))
    z = np.where(variance > 0.0, (runs - both / n - 1.0) / np.sqrt(np.where(variance > 0.0, variance, 1.0)), 0.0)
    z[~usable] = np.nan
    p = 2.0 * special.ndtr(-np.abs(z))
    exact = usable & (sizes <= _EXACT)
    p[exact] = runs_mid_p(runs[exact], n1[exact], n2[exact])
    return runs, z, p


def runs_mid_p(runs: npt.ArrayLike, above: npt.ArrayLike, below: npt.ArrayLike) -> FloatArray:
    """Two-sided mid-p-values of numbers of runs, given how many values lie above and below; exact."""
    r, n1, n2 = (np.asarray(v, np.int64) for v in np.broadcast_arrays(runs, above, below))
    out = np.ones(r.size)
    pairs, place = np.unique(np.stack([n1, n2], axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    for start in range(0, len(pairs), _BLOCK):
        part = pairs[start : start + _BLOCK]
        here = np.flatnonzero((place >= start) & (place < start + _BLOCK))
        mass = _run_probabilities(part[:, 0], part[:, 1])
        row, number = place[here] - start, np.clip(r[here], 0, mass.shape[1] - 1)
        half = 0.5 * mass[row, number]
        lower = np.cumsum(mass, axis=1)[row, number] - half
        upper = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1][row, number] - half
        out[here] = np.minimum(2.0 * np.minimum(lower, upper), 1.0)
    out[(n1 == 0) | (n2 == 0)] = 1.0
    return out


def _run_probabilities(n1: IntArray, n2: IntArray) -> FloatArray:
    """Probability of 0, 1, 2, ... runs (columns) of n1 and n2 values (rows) in random order."""
    a, b = n1[:, None].astype(np.float64), n2[:, None].astype(np.float64)
    runs = np.arange(int((n1 + n2).max(initial=1)) + 1)
    half = (runs // 2).astype(np.float64)

    def ways(n: FloatArray, k: FloatArray) -> FloatArray:
        """Log of the number of ways to cut n values into k runs."""
        fine = (k >= 1) & (k <= n)
        n_, k_ = np.where(fine, n, 1.0), np.where(fine, k, 1.0)
        log = special.gammaln(n_) - special.gammaln(k_) - special.gammaln(n_ - k_ + 1.0)
        return np.asarray(np.where(fine, log, -np.inf), dtype=np.float64)

    total = special.gammaln(a + b + 1.0) - special.gammaln(a + 1.0) - special.gammaln(b + 1.0)
    even = 2.0 * np.exp(ways(a, half) + ways(b, half) - total)
    odd = np.exp(ways(a, half) + ways(b, half + 1.0) - total) + np.exp(ways(a, half + 1.0) + ways(b, half) - total)
    mass = np.where(runs % 2 == 0, even, odd)
    mass[:, 0] = 0.0
    return np.asarray(mass, dtype=np.float64)


def durbin_watson_p(statistic: npt.ArrayLike, sizes: npt.ArrayLike, fourth: npt.ArrayLike) -> FloatArray:
    """Two-sided p of Durbin-Watson statistics over all orders of the values, as a symmetric beta with exact variance.
    `fourth` is the sum of fourth powers of the deviations from the mean over the square of the sum of their squares.
    """
    d, n = np.broadcast_arrays(np.asarray(statistic, np.float64), np.asarray(sizes, np.int64))
    edge = 2.0 * np.cos(np.pi / n)
    # Beta(a, a) on -edge..edge has variance edge**2 / (2 a + 1)
    a = np.maximum(0.5 * (edge * edge / np.maximum(permutation_variance(n, fourth), 1e-300) - 1.0), 0.05)
    lower = np.clip(0.5 * (1.0 - np.abs(d - 2.0) / edge), 0.0, 0.5)
    return np.where(np.isnan(d), np.nan, np.clip(2.0 * special.betainc(a, a, lower), 0.0, 1.0))


def permutation_variance(sizes: npt.ArrayLike, fourth: npt.ArrayLike) -> FloatArray:
    """Variance of Durbin-Watson's statistic over all orders of the same values; its mean is 2."""
    n, f = np.asarray(sizes, np.float64), np.asarray(fourth, np.float64)
    two = (1.0 - f) / (n * (n - 1.0))  # mean of e1^2 e2^2
    three = (2.0 * f - 1.0) / (n * (n - 1.0) * (n - 2.0))  # of e1 e2^2 e3
    disjoint = (3.0 - 6.0 * f) / (n * (n - 1.0))  # sum of e1 e2 e3 e4 over pairs of neighbours without a common value
    products = (n - 1.0) * two + 2.0 * (n - 2.0) * three + disjoint
    mixed = -f / (n * (n - 1.0)) + (n - 2.0) * three
    ends = 0.25 * (2.0 * f / n + 2.0 * two)
    return np.asarray(4.0 * (products + 2.0 * mixed + ends), dtype=np.float64)
