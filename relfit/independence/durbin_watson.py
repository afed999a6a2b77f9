"""P-values of Durbin and Watson's statistic of a series about its mean, whatever the distribution of its values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

__all__ = ["durbin_watson_p", "permutation_variance"]

FloatArray = npt.NDArray[np.float64]


def durbin_watson_p(statistic: npt.ArrayLike, sizes: npt.ArrayLike, fourth: npt.ArrayLike) -> FloatArray:
    """Two-sided p-values of Durbin-Watson statistics of series about their means.

    The distribution over all orders of the values is taken as the symmetric beta between the smallest and the largest
    statistic possible, with the exact variance. No normal values are needed.

    Parameters
    ----------
    statistic : array_like of float, shape (n,)
        Between 0 and 4.
    sizes : array_like of int
        Values in each series, at least 3.
    fourth : array_like of float
        Sum of the fourth powers of the deviations from the mean over the square of the sum of their squares.

    Examples
    --------
    >>> durbin_watson_p([2.0, 0.6], [12, 12], [0.2, 0.2]).round(4).tolist()
    [1.0, 0.0031]
    """
    d, n = np.broadcast_arrays(np.asarray(statistic, np.float64), np.asarray(sizes, np.int64))
    edge = 2.0 * np.cos(np.pi / n)
    # Beta(a, a) on -edge..edge has variance edge**2 / (2 a + 1)
    a = np.maximum(0.5 * (edge * edge / np.maximum(permutation_variance(n, fourth), 1e-300) - 1.0), 0.05)
    lower = np.clip(0.5 * (1.0 - np.abs(d - 2.0) / edge), 0.0, 0.5)
    return np.where(np.isnan(d), np.nan, np.clip(2.0 * special.betainc(a, a, lower), 0.0, 1.0))


def permutation_variance(sizes: npt.ArrayLike, fourth: npt.ArrayLike) -> FloatArray:
    """Variance of Durbin-Watson's statistic over all orders of the same values; its mean is 2.

    Parameters as for `durbin_watson_p`.

    Examples
    --------
    >>> permutation_variance(10, 0.25).round(4).tolist()
    0.3222
    """
    n, f = np.asarray(sizes, np.float64), np.asarray(fourth, np.float64)
    two = (1.0 - f) / (n * (n - 1.0))  # mean of e1^2 e2^2
    three = (2.0 * f - 1.0) / (n * (n - 1.0) * (n - 2.0))  # of e1 e2^2 e3
    disjoint = (3.0 - 6.0 * f) / (n * (n - 1.0))  # sum of e1 e2 e3 e4 over pairs of neighbours without a common value
    products = (n - 1.0) * two + 2.0 * (n - 2.0) * three + disjoint
    mixed = -f / (n * (n - 1.0)) + (n - 2.0) * three
    ends = 0.25 * (2.0 * f / n + 2.0 * two)
    return np.asarray(4.0 * (products + 2.0 * mixed + ends), dtype=np.float64)
