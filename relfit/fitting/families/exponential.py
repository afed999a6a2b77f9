"""The exponential family: a constant failure rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import EULER, Family, log_moments, log_of_time
from relfit.fitting.families.distribution import log_cdf_of_hazard


@dataclass(frozen=True, eq=False, repr=False)
class Exponential(Family):
    """``F(t) = 1 - exp(-rate t)`` (reliability-aware allocation, Table 3.1).

    Parameters
    ----------
    rate : array_like of float
        Failures per hour, above zero.

    Examples
    --------
    >>> Exponential(0.001).sf(1000.0).round(6).tolist()
    0.367879
    """

    rate: FloatArray
    name = "exponential"
    domains = ("positive",)
    density_at_zero = True

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):
            return -self.rate * np.maximum(np.asarray(time, dtype=np.float64), 0.0)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(over="ignore"):
            return np.where(t < 0.0, -np.inf, np.log(self.rate) - self.rate * t)

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        return log_cdf_of_hazard(np.log(self.rate) + log_of_time(time))

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.asarray(hazard, dtype=np.float64) / self.rate)

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``, whatever the age."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.rate * np.asarray(time, dtype=np.float64) + 0.0 * np.asarray(age))

    def inverse_conditional_cumulative_hazard(self, hazard: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """Hours after which `conditional_cumulative_hazard` reaches `hazard`, whatever the age."""
        return np.asarray(np.asarray(hazard, dtype=np.float64) / self.rate + 0.0 * np.asarray(age))

    def log_integrated_tail(self, time: npt.ArrayLike) -> FloatArray:
        return self.log_sf(time) - np.log(self.rate)

    def mean(self) -> FloatArray:
        return np.asarray(1.0 / self.rate)

    def _length_biased(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.asarray(rng.standard_gamma(2.0, shape) / self.rate)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """The rate for which the log of life has this mean; of `sdlog` only the array's shape is used."""
        middle, _ = log_moments(meanlog, sdlog)
        return np.exp(-EULER - middle)[..., None]
