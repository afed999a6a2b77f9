"""The Weibull family: a failure rate that falls (shape < 1) or rises (shape > 1) as a power of age."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import EULER, LOG_WEIBULL_SD, ShapeScale, log_moments
from relfit.fitting.families.distribution import ByHazard, log_cdf_of_hazard
from relfit.fitting.families.log_gamma import log_gamma_tail

_SMALL = 1e-200  # hazard before an age that is as good as none


class Weibull(ByHazard, ShapeScale):
    """``F(t) = 1 - exp(-(t / scale)**shape)`` (reliability-aware allocation, chapter 3).

    Parameters
    ----------
    shape : array_like of float
        Above zero, without unit.
    scale : array_like of float
        Hours, above zero: by then 63.2 % have failed.

    Examples
    --------
    A node of age 600 h lives another 100 h with this probability:

    >>> Weibull(0.8, 1000.0).sf(100.0, age=600.0).round(4).tolist()
    0.9165
    """

    name = "weibull"

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):
            return -((np.maximum(np.asarray(time, dtype=np.float64), 0.0) / self.scale) ** self.shape)

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):
            return log_cdf_of_hazard(self.shape * self._log_relative(time))

    def log_hazard(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            power = special.xlogy(self.shape - 1.0, np.maximum(t, 0.0) / self.scale)
            return np.where(t < 0.0, -np.inf, np.log(self.shape) - np.log(self.scale) + power)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(self.scale * np.asarray(hazard, dtype=np.float64) ** (1.0 / self.shape))

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``, as ``H(age) ((1 + time / age)**shape - 1)``."""
        x, t = np.asarray(time, dtype=np.float64), np.asarray(age, dtype=np.float64)
        with np.errstate(all="ignore"):
            before = (t / self.scale) ** self.shape
            value = before * np.expm1(self.shape * np.log1p(x / t))
            early = ~(before > _SMALL)
            if early.any():
                value = np.where(early, (np.maximum(t + x, 0.0) / self.scale) ** self.shape, value)
            return np.asarray(value)

    def inverse_conditional_cumulative_hazard(self, hazard: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        h, t = np.asarray(hazard, dtype=np.float64), np.asarray(age, dtype=np.float64)
        with np.errstate(all="ignore"):
            before = (t / self.scale) ** self.shape
            aged = t * np.expm1(np.log1p(h / before) / self.shape)
            return np.where(before > _SMALL, aged, self.scale * (before + h) ** (1.0 / self.shape) - t)

    def mean(self) -> FloatArray:
        """Mean life in hours; infinite where it exceeds the largest float."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(np.log(self.scale) + special.gammaln(1.0 + 1.0 / self.shape)))

    def log_integrated_tail(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the integral of the reliability from `time` on: an incomplete gamma function of shape ``1/shape``."""
        with np.errstate(all="ignore"):
            log_mean = np.log(self.scale) + special.gammaln(1.0 + 1.0 / self.shape)
            return log_mean + log_gamma_tail(
                1.0 / self.shape, self.shape * self._log_relative(time) + np.log(self.shape), True
            )

    def _length_biased(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.asarray(
            self.scale * rng.standard_gamma(1.0 + np.broadcast_to(1.0 / self.shape, shape)) ** (1.0 / self.shape)
        )

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        middle, spread = log_moments(meanlog, sdlog)
        shape = LOG_WEIBULL_SD / spread
        return np.stack([shape, np.exp(middle + EULER / shape)], axis=-1)
