"""The textbook null distribution of the Kolmogorov-Smirnov statistic, for many statistics at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from relfit.base.arrays import FloatArray

_EXACT_UP_TO = 140
_AT_ONCE = 4_000_000  # entries of the matrices


def kolmogorov_p(statistic: npt.ArrayLike, size: npt.ArrayLike) -> FloatArray:
    """Two-sided p-value of the K-S statistic, the parameters taken as known (the "textbook" p-value).

    Exact up to 140 durations (Durbin's matrix, see Marsaglia, Tsang and Wang 2003, applied to many statistics of one
    size together), by `scipy.stats.kstwo` beyond. It is far too large when the parameters were estimated from the same
    durations.

    Parameters
    ----------
    statistic : array_like of float, shape (groups,)
        Largest distance between the empirical and the fitted distribution function.
    size : array_like of int, shape (groups,)
        Number of observed durations.

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
    # twice the one-sided tail: exact from one half on, and within 1e-9 of the two-sided one so far out
    far = valid & ((n * d * d > 3.0) | (d >= 0.5))
    p[far] = 2.0 * special.smirnov(n[far], np.minimum(d[far], 1.0))
    large = valid & ~far & (n > _EXACT_UP_TO)
    if large.any():  # of these alone scipy.stats is imported
        p[large] = scipy.stats.kstwo.sf(d[large], n[large])
    rest = np.flatnonzero(valid & ~far & ~large)
    cell = np.floor(n[rest] * d[rest]).astype(np.int64) + 1
    order = np.lexsort((cell, n[rest]))
    rest, cell = rest[order], cell[order]
    cuts = np.flatnonzero((np.diff(n[rest]) != 0) | (np.diff(cell) != 0)) + 1
    for rows in np.split(rest, cuts) if rest.size else []:
        at_once = max(1, _AT_ONCE // int(2 * n[rows[0]] * d[rows[0]] + 1) ** 2)
        for part in np.split(rows, range(at_once, rows.size, at_once)):
            p[part] = _exact(d[part], int(n[part[0]]))
    return np.asarray(np.clip(p, 0.0, 1.0))


def _exact(d: FloatArray, n: int) -> FloatArray:
    """Tail probabilities at statistics `d` of one size, all with the same whole part of ``n d``."""
    k = int(np.floor(n * d[0])) + 1
    size = 2 * k - 1
    h = (k - n * d)[:, None]
    step = np.arange(size)[:, None] - np.arange(size)[None, :] + 1
    matrix = np.tile(np.where(step >= 0, 1.0, 0.0), (d.size, 1, 1))
    power = np.arange(1, size + 1)
    matrix[:, :, 0] -= h**power
    matrix[:, -1, :] -= h ** power[::-1]
    matrix[:, -1, 0] += np.maximum(2.0 * h[:, 0] - 1.0, 0.0) ** size
    matrix /= special.gamma(np.maximum(step, 0) + 1.0)
    row = np.zeros((d.size, 1, size))
    row[:, 0, k - 1] = 1.0
    for i in range(1, n + 1):
        row = (row @ matrix) * (i / n)
    return np.asarray(1.0 - row[:, 0, k - 1])
