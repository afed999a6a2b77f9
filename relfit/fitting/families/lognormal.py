"""The lognormal family: the logarithm of the duration is normal, as that of repair times often is."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import Family, log_moments, log_of_time
from relfit.fitting.families.distribution import log_difference, normal_quantile_of_hazard


class NormalScore(Family):
    """Families in which a rising function `_z` of time is standard normal."""

    @abstractmethod
    def _z(self, time: npt.ArrayLike) -> FloatArray:
        """The normal score of `time`."""

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return np.asarray(special.log_ndtr(-self._z(time)))

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        return np.asarray(special.log_ndtr(self._z(time)))


@dataclass(frozen=True, eq=False, repr=False)
class Lognormal(NormalScore):
    """``F(t) = Phi((log t - meanlog) / sdlog)`` (reliability-aware allocation, Table 3.1).

    The median, T50 of the papers, is ``exp(meanlog)``.

    Parameters
    ----------
    meanlog : array_like of float
        Mean of the natural logarithm of the life in hours.
    sdlog : array_like of float
        Its standard deviation, above zero.

    Examples
    --------
    >>> Lognormal(0.0, 1.0).median().round(12).tolist()
    1.0
    """

    meanlog: FloatArray
    sdlog: FloatArray
    name = "lognormal"
    domains = ("real", "positive")

    def _z(self, time: npt.ArrayLike) -> FloatArray:
        return np.asarray((log_of_time(time) - self.meanlog) / self.sdlog)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -0.5 * (self._z(t) ** 2 + np.log(2.0 * np.pi)) - np.log(self.sdlog) - np.log(t)
        return np.where((t <= 0.0) | np.isposinf(t), -np.inf, value)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        z = normal_quantile_of_hazard(hazard)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.meanlog + self.sdlog * z))

    def mean(self) -> FloatArray:
        """Mean life in hours; infinite where it exceeds the largest float."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.meanlog + 0.5 * self.sdlog**2))

    def log_integrated_tail(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the integral of the reliability from `time` on, by two normal tails."""
        z = self._z(time)
        log_mean = self.meanlog + 0.5 * self.sdlog**2
        with np.errstate(all="ignore"):
            past = np.where(np.isneginf(z), -np.inf, log_of_time(time) + special.log_ndtr(-z))
            return log_difference(log_mean + special.log_ndtr(self.sdlog - z), past)

    def _length_biased(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.exp(self.meanlog + self.sdlog**2 + self.sdlog * rng.standard_normal(shape))

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        middle, spread = log_moments(meanlog, sdlog)
        return np.stack([middle, spread], axis=-1)
