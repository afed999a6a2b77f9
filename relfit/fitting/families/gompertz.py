"""The Gompertz family: a failure rate that grows exponentially with age."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import Family, log_moments, spread_table
from relfit.fitting.families.distribution import ByHazard, log_cdf_of_hazard


@dataclass(frozen=True, eq=False, repr=False)
class Gompertz(ByHazard, Family):
    """``F(t) = 1 - exp(-rate / growth (exp(growth t) - 1))`` (Gompertz 1825; Lawless, section 1.3).

    The growth is above zero. With a rate that falls exponentially, part of the nodes would never fail; use
    `relfit.fitting.families.LimitedFailure` for that. As the growth goes to zero the distribution becomes exponential.

    Parameters
    ----------
    rate : array_like of float
        Failures per hour at age 0, above zero.
    growth : array_like of float
        Per hour, above zero: the failure rate at age t is ``rate exp(growth t)``.

    Examples
    --------
    >>> Gompertz(1e-4, 1e-3).hazard(1000.0).round(9).tolist()
    0.000271828
    """

    rate: FloatArray
    growth: FloatArray
    name = "gompertz"
    domains = ("positive", "positive")
    density_at_zero = True

    def _log_hazard_sum(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the cumulative hazard."""
        t = np.maximum(np.asarray(time, dtype=np.float64), 0.0)
        with np.errstate(all="ignore"):
            x = self.growth * t
            # log of expm1(x) / x
            extra = np.where(x < 1e-4, x * (0.5 + x / 24), x + np.log(-np.expm1(-x)) - np.log(x))
            value = np.log(self.rate) + np.log(t) + extra
        return np.where(np.isposinf(x), np.inf, value)

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.maximum(np.asarray(time, dtype=np.float64), 0.0)
        with np.errstate(all="ignore"):
            x = self.growth * t
            return -np.where(x < 1e-5, self.rate * t * (1.0 + x * (0.5 + x / 6)), self.rate / self.growth * np.expm1(x))

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        return log_cdf_of_hazard(self._log_hazard_sum(time))

    def log_hazard(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(over="ignore"):
            return np.where(t < 0.0, -np.inf, np.log(self.rate) + self.growth * t)

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``: that of a new node whose rate at age 0 is the rate at `age`."""
        with np.errstate(over="ignore"):
            grown = Gompertz.unchecked(self.rate * np.exp(self.growth * np.asarray(age, dtype=np.float64)), self.growth)
        return -grown.log_sf(time)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        h = np.asarray(hazard, dtype=np.float64)
        with np.errstate(all="ignore"):
            x = h / self.rate * self.growth
            steep = np.log(h) - np.log(self.rate) + np.log(self.growth)
            value = np.where(x < 1e-6, h / self.rate * (1.0 - x * (0.5 - x / 3)), np.log1p(x) / self.growth)
            return np.where(np.isinf(x) & np.isfinite(h), steep / self.growth, value)

    def mean(self) -> FloatArray:
        x = self.rate / self.growth
        with np.errstate(all="ignore"):
            # exp(x) E1(x), by the continued fraction where exp(x) would be large
            fraction = np.zeros(x.shape)
            for k in range(60, 0, -1):
                fraction = k**2 / (x + 2.0 * k + 1.0 - fraction)
            scaled = np.where(x < 2.0, np.exp(x) * special.exp1(x), 1.0 / (x + 1.0 - fraction))
        return np.asarray(scaled / self.growth)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters for which the log of life has about this mean and standard deviation, the latter up to 1.28."""
        middle, spread = log_moments(meanlog, sdlog)
        log_ratio, shift = spread_table(cls._of_log_shape)(np.clip(spread, None, 1.25))
        growth = np.exp(shift - middle)
        return np.stack([growth * np.exp(log_ratio), growth], axis=-1)

    @classmethod
    def _of_log_shape(cls, log_shape: FloatArray) -> Gompertz:
        return cls.unchecked(np.exp(log_shape), 1.0)
