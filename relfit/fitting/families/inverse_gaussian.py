"""The inverse Gaussian family: the time that a drifting random walk takes to reach a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.base.numeric.quadrature import gauss_legendre
from relfit.fitting.families.base import Family, log_moments, spread_table
from relfit.fitting.families.distribution import log_one_minus_exp, log_sum

_HALF_LOG_TWO_PI = 0.9189385332046727
_TWO_OVER_ROOT_PI = 1.1283791670955126
_NODES, _WEIGHTS = gauss_legendre(10)


@dataclass(frozen=True, eq=False, repr=False)
class InverseGaussian(Family):
    """Density ``sqrt(shape / (2 pi t**3)) exp(-shape (t - mean)**2 / (2 mean**2 t))``.

    Source: Chhikara and Folks 1977, Technometrics 19, 461-468.

    Parameters
    ----------
    mean_life : array_like of float
        Hours, above zero: the mean.
    shape : array_like of float
        Hours, above zero; the variance is ``mean_life**3 / shape``.

    Examples
    --------
    >>> InverseGaussian(100.0, 50.0).sf(100.0).round(6).tolist()
    0.286208
    """

    mean_life: FloatArray
    shape: FloatArray
    name = "inverse_gaussian"
    domains = ("positive", "positive")

    def _places(self, time: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """``sqrt(shape / 2 t) (t / mean - 1)`` and ``sqrt(shape / 2 t)``."""
        t = np.maximum(np.asarray(time, dtype=np.float64), 0.0)
        with np.errstate(all="ignore"):
            root = np.sqrt(0.5 * self.shape) / np.sqrt(t)
            grown = np.sqrt(0.5 * self.shape) * (np.sqrt(t) / self.mean_life)
            near = root * ((t - self.mean_life) / self.mean_life)
            return np.where(np.abs(t / self.mean_life - 1.0) < 0.5, near, grown - root), root

    def _tails(self, time: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Logs of the probabilities to fail within `time` and to live longer, each accurate where it is small."""
        y, root = self._places(time)
        with np.errstate(all="ignore"):
            square = y**2
            # F = Phi(sqrt(2) y) + exp(2 shape / mean) Phi(-sqrt(2) (y + 2 root)), the second with the factor exp(-y**2)
            second = np.log(0.5 * special.erfcx(y + 2.0 * root)) - square
            lower = np.minimum(log_sum([special.log_ndtr(np.sqrt(2.0) * y), second]), 0.0)
            upper = np.minimum(np.log(0.5 * erfcx_drop(np.maximum(y, -6.0), 2.0 * root)) - square, 0.0)
            lower = np.where(np.isneginf(y), -np.inf, np.where(np.isposinf(y), 0.0, lower))
            upper = np.where(np.isneginf(y), 0.0, np.where((y > 0.0) & np.isposinf(square), -np.inf, upper))
        return lower, upper

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        lower, upper = self._tails(time)
        return np.where(lower < -0.7, lower, log_one_minus_exp(upper))

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        lower, upper = self._tails(time)
        return np.where(lower < -0.7, log_one_minus_exp(lower), upper)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        y, _ = self._places(t)
        with np.errstate(all="ignore"):
            value = 0.5 * np.log(self.shape) - _HALF_LOG_TWO_PI - 1.5 * np.log(t) - y**2
        return np.where((t <= 0.0) | np.isposinf(t), -np.inf, value)

    def mean(self) -> FloatArray:
        return self.mean_life + 0.0 * self.shape

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters for which the log of life has about this mean and standard deviation, up to 2.2."""
        middle, spread = log_moments(meanlog, sdlog)
        log_ratio, shift = spread_table(cls._of_log_shape)(spread)
        mean = np.exp(middle - shift)
        return np.stack([mean, mean * np.exp(-log_ratio)], axis=-1)

    @classmethod
    def _of_log_shape(cls, log_shape: FloatArray) -> InverseGaussian:
        return cls.unchecked(1.0, np.exp(-log_shape))


def erfcx_drop(y: FloatArray, step: FloatArray) -> FloatArray:
    """``erfcx(y) - erfcx(y + step)`` for `step` at or above zero, without cancellation."""
    plain = special.erfcx(y) - special.erfcx(y + step)
    short = step < 0.4 * np.maximum(1.0, y)
    if not short.any():
        return np.asarray(plain)
    start, width = np.broadcast_arrays(y, step)
    start, width = start[short], width[short]
    total = np.zeros(start.shape)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total += 0.5 * weight * _erfcx_fall(start + 0.5 * (1.0 + node) * width)
    out = np.array(plain)
    out[short] = total * width
    return out


def _erfcx_fall(y: FloatArray) -> FloatArray:
    """Minus the derivative of erfcx: ``2 / sqrt(pi) - 2 y erfcx(y)``."""
    far = y > 8.0
    w = 0.5 / np.where(far, y, 8.0) ** 2
    series = np.zeros(y.shape)
    for k in range(17, 0, -1):  # w - 3 w**2 + 15 w**3 - ...
        series = w * (2.0 * k - 1.0) * (1.0 - series)
    return np.where(far, _TWO_OVER_ROOT_PI * series, _TWO_OVER_ROOT_PI - 2.0 * y * special.erfcx(y))
