"""The loglogistic family: the log of the life is logistic; the rate falls, for shape > 1 after a peak, as 1 / t."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import ShapeScale, log_moments
from relfit.fitting.families.distribution import log_sum


class Loglogistic(ShapeScale):
    """``F(t) = 1 / (1 + (t / scale)**-shape)`` (Lawless, Lifetime Data, section 1.3).

    Parameters
    ----------
    shape : array_like of float
        Above zero, without unit; the mean is infinite for a shape of 1 or less.
    scale : array_like of float
        Hours, above zero: the median.

    Examples
    --------
    >>> Loglogistic(2.0, 100.0).sf(300.0).round(6).tolist()
    0.1
    """

    name = "loglogistic"

    def _z(self, time: npt.ArrayLike) -> FloatArray:
        return np.asarray(self.shape * self._log_relative(time))

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return -log_sum([0.0, self._z(time)])

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        return -log_sum([0.0, -self._z(time)])

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        z = self._z(t)
        with np.errstate(all="ignore"):
            relative = self._log_relative(t)
            # (shape - 1) log(t / scale) - 2 log(1 + exp(z)), without overflow of z for late times
            power = np.where(z > 0.0, -z - relative, np.where(self.shape == 1.0, 0.0, z - relative))
            power = np.where(np.isneginf(relative), special.xlogy(self.shape - 1.0, 0.0), power)
            value = np.log(self.shape) - np.log(self.scale) + power - 2.0 * np.log1p(np.exp(-np.abs(z)))
        return np.where((t < 0.0) | np.isposinf(t), -np.inf, value)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        h = np.asarray(hazard, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            log_odds = np.where(h < 1.0, np.log(np.expm1(np.minimum(h, 1.0))), h + np.log1p(-np.exp(-h)))
            return np.asarray(self.scale * np.exp(log_odds / self.shape))

    def mean(self) -> FloatArray:
        """Mean life in hours; infinite for a shape of 1 or less."""
        x = 1.0 / self.shape
        with np.errstate(all="ignore"):
            value = self.scale / np.sinc(x)
        return np.where(x >= 1.0, np.inf * self.scale, value)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        middle, spread = log_moments(meanlog, sdlog)
        return np.stack([np.pi / np.sqrt(3.0) / spread, np.exp(middle)], axis=-1)
