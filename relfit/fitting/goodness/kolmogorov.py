"""The textbook null distribution of the Kolmogorov-Smirnov statistic, for many statistics at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from relfit.base.arrays import FloatArray, IntArray

_EXACT_UP_TO = 140
_AT_ONCE = 30_000  # entries of the rows that the matrices move


def kolmogorov_p(statistic: npt.ArrayLike, size: npt.ArrayLike) -> FloatArray:
    """Two-sided p-value of the K-S statistic, the parameters taken as known (the "textbook" p-value).

    Exact up to 140 durations (Durbin's matrix, see Marsaglia, Tsang and Wang 2003, applied to many statistics
    together), by `scipy.stats.kstwo` beyond. It is far too large when the parameters were estimated from the same
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
    order = np.lexsort((n[rest], cell))
    rest, cell = rest[order], cell[order]
    for rows in np.split(rest, np.flatnonzero(np.diff(cell)) + 1) if rest.size else []:
        for part in np.array_split(rows, rows.size * 2 * int(n[rows[0]] * d[rows[0]] + 1) // _AT_ONCE + 1):
            p[part] = _exact(d[part], n[part])
    return np.asarray(np.clip(p, 0.0, 1.0))


def _exact(d: FloatArray, n: IntArray) -> FloatArray:
    """Tail probabilities at statistics `d` of rising sizes `n`, all with the same whole part of ``n d``.

    Their matrices differ in the first column and the last row alone, so that all move their rows by one product.
    """
    k = int(np.floor(n[0] * d[0])) + 1
    size = 2 * k - 1
    h = (k - n * d)[:, None]
    step = np.arange(size)[:, None] - np.arange(size)[None, :] + 1
    common = np.where(step >= 0, 1.0, 0.0) / special.gamma(np.maximum(step, 0) + 1.0)
    power = np.arange(1, size + 1)
    column = -(h**power) / special.gamma(power + 1.0)
    last = column[:, ::-1].copy()
    column[:, -1:] += np.maximum(2.0 * h - 1.0, 0.0) ** size / special.gamma(size + 1.0)
    row = np.zeros((d.size, size))
    row[:, k - 1] = 1.0
    for i in range(1, int(n[-1]) + 1):
        left = slice(int(np.searchsorted(n, i)), None)
        moved = row[left] @ common + row[left, -1:] * last[left]
        moved[:, 0] += np.einsum("gi,gi->g", row[left], column[left])
        row[left] = moved * (i / n[left, None])
    return np.asarray(1.0 - row[:, k - 1])
