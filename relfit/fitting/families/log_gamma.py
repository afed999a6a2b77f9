"""Both tails of the log-gamma distribution, in logs, for every shape: the core of gamma and generalised gamma.

For a gamma life X of shape a and scale 1, ``s = log(X / a)`` has the density ``sqrt(a) exp(c(a) - a (expm1(s) - s))``
with a constant c close to ``-log(2 pi) / 2``. Working with s in place of x keeps all digits where a is huge.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.quadrature import gauss_legendre

_NODES, _WEIGHTS = gauss_legendre(40)
_HALF_LOG_TWO_PI = 0.9189385332046727
_DROP = 42.0  # the integrand is followed until it has fallen by exp(-42)
_SERIES_LIMIT = 60.0  # largest shape for which series and continued fraction are summed
_SMALLEST_SHAPE = 0.05  # below it the series' complement would cancel
_PLAIN_LIMIT = 1e4  # largest shape for which SciPy's functions of x serve
_SMALLEST = 1e-280


@njit(cache=True, nogil=True)
def _excess(s: float) -> float:
    if abs(s) < 0.02:
        return s * s * (0.5 + s * (1 / 6 + s * (1 / 24 + s * (1 / 120 + s * (1 / 720 + s * (1 / 5040 + s / 40320))))))
    return math.expm1(s) - s if s < 709.0 else math.inf


@njit(cache=True, nogil=True)
def _constant(a: float) -> float:
    if a < 12.0:
        return a * math.log(a) - a - math.lgamma(a) - 0.5 * math.log(a)
    w = 1.0 / a
    w2 = w * w
    return -_HALF_LOG_TWO_PI - w * (1 / 12 - w2 * (1 / 360 - w2 * (1 / 1260 - w2 * (1 / 1680 - w2 / 1188))))


@njit(cache=True, nogil=True)
def _each_excess(s: np.ndarray, out: np.ndarray) -> None:
    for i in range(s.size):
        out[i] = _excess(s[i])


@njit(cache=True, nogil=True)
def _each_constant(a: np.ndarray, out: np.ndarray) -> None:
    for i in range(a.size):
        out[i] = _constant(a[i]) if a[i] > 0.0 else math.nan


def excess_exponential(s: npt.ArrayLike) -> FloatArray:
    """``exp(s) - 1 - s`` without cancellation; infinite where it overflows."""
    value = np.asarray(s, dtype=np.float64)
    out = np.empty(value.shape)
    _each_excess(np.ascontiguousarray(value).ravel(), out.reshape(-1))
    return out


def log_gamma_constant(a: npt.ArrayLike) -> FloatArray:
    """``a log(a) - a - log(gamma(a)) - log(a) / 2``, without cancellation for large `a`; NaN unless above zero."""
    value = np.asarray(a, dtype=np.float64)
    out = np.empty(value.shape)
    _each_constant(np.ascontiguousarray(value).ravel(), out.reshape(-1))
    return out


@njit(cache=True, nogil=True)
def _far_tail(a: float, s: float) -> float:
    """Log of the probability beyond s, on the side away from the peak at 0."""
    height = -a * _excess(s) + _constant(a) + 0.5 * math.log(a)
    if not height > -math.inf:
        return height
    side = 1.0 if s > 0.0 else -1.0
    lean = math.expm1(s)
    if side < 0.0 and a <= _PLAIN_LIMIT:
        # power series of the lower incomplete gamma function; x is far below a here
        x = a * math.exp(s)
        term, total, k = 1.0, 1.0, 1.0
        while term > 1e-17 * total:
            term *= x / (a + k)
            total += term
            k += 1.0
        return height - math.log(a) + math.log(total)
    # the exponent relative to the one at s is a (lean expm1(y) + excess(y)), for y on the far side
    width = _DROP / (a * abs(lean) + math.sqrt(0.5 * _DROP * a))
    for _ in range(80):
        y = side * width
        if a * (lean * math.expm1(y) + _excess(y)) >= _DROP:
            break
        width *= 1.4
    total = 0.0
    for i in range(_NODES.size):
        y = side * width * 0.5 * (1.0 + _NODES[i])
        total += 0.5 * _WEIGHTS[i] * math.exp(-a * (lean * math.expm1(y) + _excess(y)))
    return height + math.log(width) + math.log(total)


@njit(cache=True, nogil=True)
def _small_shape(a: float, log_a: float, log_gamma: float, s: float) -> tuple[float, bool]:
    """Log of one tail beyond ``a exp(s)`` for a shape up to `_SERIES_LIMIT`, and whether it is the upper one."""
    x = a * math.exp(s)
    height = a * (log_a + s) - x - log_gamma
    if x <= max(a + 1.0, 2.5):  # power series of the lower tail (Abramowitz and Stegun 6.5.29)
        term, total, k = 1.0, 1.0, 1.0
        while term > 1e-15 * total:
            term *= x / (a + k)
            total += term
            k += 1.0
        return height - log_a + math.log(total), False
    # continued fraction of the upper tail, from its end (6.5.31)
    count = int(80.0 / x + a) + 4 if a <= 8.0 else int(4.0 * a) + 40
    b = x + 2.0 * count + 1.0 - a
    value = b
    for i in range(count, 0, -1):
        b -= 2.0
        value = b - i * (i - a) / value
    return height - math.log(value), True


@njit(cache=True, nogil=True)
def _each_tail(a: np.ndarray, s: np.ndarray, upper: np.ndarray, every: bool, out: np.ndarray) -> bool:
    """Of the shapes for which SciPy serves, NaN, unless `every` is true. Whether there are any."""
    some = False
    last, log_a, log_gamma = math.nan, 0.0, 0.0
    for i in range(a.size):
        if not 0.0 < a[i] < math.inf or math.isnan(s[i]):
            out[i] = math.nan
            continue
        if math.isinf(s[i]):
            out[i] = -math.inf if (s[i] > 0.0) == upper[i] else 0.0
            continue
        if not every and (a[i] < _SMALLEST_SHAPE or _SERIES_LIMIT < a[i] <= _PLAIN_LIMIT):
            out[i], some = math.nan, True
            continue
        if a[i] != last:  # the rows of a group have one shape
            last, log_a, log_gamma = a[i], math.log(a[i]), math.lgamma(a[i])
        if a[i] <= _SERIES_LIMIT and s[i] < 600.0:
            near, above = _small_shape(a[i], log_a, log_gamma, s[i])
        else:
            near, above = _far_tail(a[i], s[i]), s[i] > 0.0
        if above == upper[i]:
            out[i] = min(near, 0.0)
        else:
            out[i] = math.log1p(-math.exp(near)) if near < 0.0 else -math.inf
    return some


def log_gamma_tail(a: npt.ArrayLike, s: npt.ArrayLike, upper: npt.ArrayLike) -> FloatArray:
    """Log of the probability that a gamma life of shape `a` and scale 1 is above, or below, ``a exp(s)``.

    `s` may be infinite; it, the shape and `upper`, whether above, broadcast.
    """
    columns = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(s, np.float64), np.asarray(upper, np.bool_))
    shape, place, above = (np.array(column, order="C").reshape(-1) for column in columns)
    out = np.empty(shape.size)
    if _each_tail(shape, place, above, False, out):
        rest = np.flatnonzero(np.isnan(out) & (shape > 0.0) & (shape < np.inf))
        with np.errstate(all="ignore"):
            a_rest, x = shape[rest], shape[rest] * np.exp(place[rest])
            tail, other = special.gammainc(a_rest, x), special.gammaincc(a_rest, x)
            low = tail < other
            tail = np.where(low, tail, other)
            out[rest] = np.where(low == above[rest], np.log1p(-tail), np.log(tail))
        far = rest[tail < _SMALLEST]
        part = np.empty(far.size)
        _each_tail(shape[far], place[far], above[far], True, part)
        out[far] = part
    return out.reshape(columns[0].shape)
