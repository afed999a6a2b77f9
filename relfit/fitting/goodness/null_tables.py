"""P-values of K-S, and those of K-S, Cramer-von Mises and Anderson-Darling that account for fitted parameters.

On complete lives the null distribution of the latter depends on the number of lives alone for the exponential, Weibull
and lognormal families, and on the number and the shape for the gamma; ``data/make_null_tables.py`` simulated the
tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.fitting.goodness._distances import DISTANCES

_EXACT_UP_TO = 140
_AT_ONCE = 30_000  # entries of the rows that the matrices move
_ANCHORS = (0.01, 0.0005)  # the tail beyond the table goes on as it does between these


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
    """Tail probabilities at `d` of rising sizes `n`, all with the same whole part of ``n d``: rows move together."""
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


@dataclass(frozen=True)
class _Tables:
    sizes: FloatArray
    tails: FloatArray
    log_shapes: FloatArray
    quantiles: dict[str, FloatArray]  # (shapes, sizes, tests, tails)


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    with (
        as_file(files("relfit.fitting.goodness") / "files" / "null_distributions.npz") as path,
        np.load(path) as stored,
    ):
        return _Tables(
            stored["sizes"].astype(np.float64),
            stored["tails"],
            np.log(stored["gamma_shapes"]),
            {name: stored[name].astype(np.float64) for name in ("exponential", "weibull", "lognormal", "gamma")},
        )


def tabulated_p(
    family: str, test: str, statistic: npt.ArrayLike, size: npt.ArrayLike, shape: npt.ArrayLike = 1.0
) -> FloatArray:
    """P-value of a statistic of a fitted core family on complete lives, for many groups at once.

    Up to 1,000 lives it comes from simulated quantiles (400,000 samples per size, 200,000 for the gamma; standard error
    0.0004 at p = 0.05), beyond from those of 1,000, whose scaled statistic differs from the limit by less than that.
    Below 0.0002 the tail is extrapolated. With no more lives than parameters the p-value is 1.

    Parameters
    ----------
    family : str
        ``exponential``, ``weibull``, ``lognormal`` or ``gamma``.
    test : {"ks", "cvm", "ad"}
    statistic : array_like of float, shape (groups,)
    size : array_like of int, shape (groups,)
        Number of lives, all observed.
    shape : array_like of float, shape (groups,), optional
        Fitted shape of the gamma; not used for the others.

    Returns
    -------
    ndarray of float, shape (groups,)
        NaN where the statistic is NaN.

    Examples
    --------
    Lilliefors' 5 % point for the exponential with 20 lives is 0.236 (his table, 1969, has 0.234):

    >>> tabulated_p("exponential", "ks", [0.236], [20]).round(2).tolist()
    [0.05]
    """
    tables = _tables()
    which = DISTANCES.index(test)
    value = np.atleast_1d(np.asarray(statistic, dtype=np.float64))
    n = np.broadcast_to(np.asarray(size, dtype=np.int64), value.shape)
    parameters = 1 if family == "exponential" else 2
    p = np.where(np.isnan(value), np.nan, 1.0)
    rows = np.flatnonzero(~np.isnan(value) & (n > parameters))
    quantiles = tables.quantiles[family][:, :, which, :]
    if test == "ks":
        quantiles = quantiles * np.sqrt(tables.sizes)[None, :, None]
        value = value * np.sqrt(n)
    if family == "gamma":
        log_shape = np.log(np.broadcast_to(np.asarray(shape, dtype=np.float64), value.shape)[rows])
        place = np.interp(log_shape, tables.log_shapes, np.arange(tables.log_shapes.size))
        cell = np.minimum(place.astype(np.int64), tables.log_shapes.size - 2)
    else:
        place = np.zeros(rows.size)
        cell = np.zeros(rows.size, dtype=np.int64)
    order = np.lexsort((cell, n[rows]))
    rows, place, cell = rows[order], place[order], cell[order]
    changes = np.flatnonzero((np.diff(n[rows]) != 0) | (np.diff(cell) != 0)) + 1
    for first, last in pairwise([0, *changes.tolist(), rows.size]):  # one turn for each size (and cell of shapes)
        if first == last:
            continue
        part = rows[first:last]
        low = _p(value[part], _at_size(quantiles[cell[first]], tables, int(n[part[0]])), tables.tails, test)
        if family == "gamma":
            high = _p(value[part], _at_size(quantiles[cell[first] + 1], tables, int(n[part[0]])), tables.tails, test)
            share = place[first:last] - cell[first]
            low = low ** (1.0 - share) * high**share
        p[part] = low
    return p


def _at_size(quantiles: FloatArray, tables: _Tables, n: int) -> FloatArray:
    """Quantiles at `n`, linear in the root of 1/n between the sizes of the table."""
    x = np.sqrt(1.0 / tables.sizes[::-1])
    here = np.sqrt(1.0 / min(n, tables.sizes[-1]))
    j = int(np.clip(np.searchsorted(x, here) - 1, 0, x.size - 2))
    share = (here - x[j]) / (x[j + 1] - x[j])
    reverse = quantiles[::-1]
    return np.asarray((1.0 - share) * reverse[j] + share * reverse[j + 1])


def _p(value: FloatArray, quantiles: FloatArray, tails: FloatArray, test: str) -> FloatArray:
    """Tail at `value`: interpolated on the logit scale, extrapolated on the log scale."""
    logit = np.log(tails / (1.0 - tails))
    inside = 1.0 / (1.0 + np.exp(-np.interp(value, quantiles, logit)))
    below = value < quantiles[0]
    inside = np.where(below, 1.0 - (1.0 - tails[0]) * value / quantiles[0], inside)
    bent = np.square if test == "ks" else np.asarray
    x1, x2 = (float(bent(np.interp(-anchor, -tails, quantiles))) for anchor in _ANCHORS)
    slope = (np.log(_ANCHORS[1]) - np.log(_ANCHORS[0])) / (x2 - x1)
    end = float(bent(quantiles[-1]))
    beyond = np.exp(np.log(tails[-1]) + slope * (bent(value) - end))
    return np.where(value > quantiles[-1], beyond, inside)
