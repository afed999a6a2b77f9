"""Durbin and Watson's statistic of a series about its mean, and its distribution when nothing is autocorrelated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.independence.serial_kernels import imhof_kernel

__all__ = ["durbin_watson_p", "permutation_variance"]

FloatArray = npt.NDArray[np.float64]
_EXACT = 20  # up to here Imhof's integral; beyond, the beta law is within 2e-4 of it


def durbin_watson_p(
    statistic: npt.ArrayLike, sizes: npt.ArrayLike, variance: npt.ArrayLike | None = None
) -> FloatArray:
    """Two-sided p-values of Durbin-Watson statistics of series about their means.

    Without `variance` the values are taken to be normal: Imhof's integral, exact to 1e-8, up to 20 values; beyond, the
    symmetric beta law between the smallest and the largest possible statistic that has the exact variance, which is
    within 2e-4 of it. With the variance over all orders of the values (`permutation_variance`), the beta law with
    that variance: an approximation that needs no normal values.

    Parameters
    ----------
    statistic : array_like of float, shape (n,)
        Between 0 and 4.
    sizes : array_like of int
        Values in each series, at least 3.
    variance : array_like of float, optional

    Examples
    --------
    >>> durbin_watson_p([2.0, 0.6], [12, 12]).round(4).tolist()
    [1.0, 0.0032]
    """
    d, n = np.broadcast_arrays(np.asarray(statistic, np.float64), np.asarray(sizes, np.int64))
    edge = 2.0 * np.cos(np.pi / n)
    normal = 4.0 * (n - 2.0) / ((n - 1.0) * (n + 1.0))
    spread = normal if variance is None else np.asarray(variance, np.float64)
    # Beta(a, a) on -edge..edge has variance edge**2 / (2 a + 1)
    a = np.maximum(0.5 * (edge * edge / np.maximum(spread, 1e-300) - 1.0), 0.05)
    lower = np.clip(0.5 * (1.0 - np.abs(d - 2.0) / edge), 0.0, 0.5)
    p = np.asarray(2.0 * special.betainc(a, a, lower), dtype=np.float64)
    if variance is None:
        small = (n <= _EXACT) & np.isfinite(d)
        if small.any():
            below = np.empty(int(small.sum()))
            imhof_kernel(2.0 - np.abs(d[small] - 2.0), np.ascontiguousarray(n[small]), below, 0, below.size)
            p[small] = 2.0 * below
    return np.where(np.isnan(d), np.nan, np.clip(p, 0.0, 1.0))


def permutation_variance(sizes: npt.ArrayLike, fourth: npt.ArrayLike) -> FloatArray:
    """Variance of Durbin-Watson's statistic over all orders of the same values; its mean is 2.

    Parameters
    ----------
    sizes : array_like of int
        Values in each series, at least 4.
    fourth : array_like of float
        Sum of the fourth powers of the deviations from the mean over the square of the sum of their squares.

    Examples
    --------
    >>> permutation_variance(10, 0.25).round(4).tolist()
    0.3222
    """
    n, f = np.asarray(sizes, np.float64), np.asarray(fourth, np.float64)
    two = (1.0 - f) / (n * (n - 1.0))  # mean of e1^2 e2^2
    three = (2.0 * f - 1.0) / (n * (n - 1.0) * (n - 2.0))  # of e1 e2^2 e3
    four = (3.0 - 6.0 * f) / (n * (n - 1.0) * (n - 2.0) * (n - 3.0))  # of e1 e2 e3 e4
    products = (n - 1.0) * two + 2.0 * (n - 2.0) * three + (n - 2.0) * (n - 3.0) * four
    mixed = -f / (n * (n - 1.0)) + (n - 2.0) * three
    ends = 0.25 * (2.0 * f / n + 2.0 * two)
    return np.asarray(4.0 * (products + 2.0 * mixed + ends), dtype=np.float64)
