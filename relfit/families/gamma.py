"""The gamma family: sums of exponential stages, with a failure rate that levels off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.families.base import Domain, Family, FloatArray
from relfit.numeric.special import log_gamma_survival

__all__ = ["Gamma"]


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(Family):
    """Density ``t**(shape-1) exp(-t/scale) / (gamma(shape) scale**shape)`` (reliability-aware allocation, Table 3.1).

    Parameters
    ----------
    shape : array_like of float
        Above zero, without unit.
    scale : array_like of float
        Hours, above zero; the mean is ``shape * scale``.

    Examples
    --------
    >>> Gamma(2.0, 500.0).mean().tolist()
    1000.0
    """

    shape: FloatArray
    scale: FloatArray
    name: ClassVar[str] = "gamma"
    domains: ClassVar[tuple[Domain, ...]] = ("positive", "positive")

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability to live longer than `time`."""
        return log_gamma_survival(self.shape, np.maximum(np.asarray(time, dtype=np.float64), 0.0) / self.scale)

    def cdf(self, time: npt.ArrayLike) -> FloatArray:
        """The probability to fail within `time` hours."""
        x = np.maximum(np.asarray(time, dtype=np.float64), 0.0) / self.scale
        return np.asarray(special.gammainc(self.shape, x))

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the density at `time`, per hour."""
        t = np.asarray(time, dtype=np.float64)
        x = np.maximum(t, 0.0) / self.scale
        value = special.xlogy(self.shape - 1.0, x) - x - special.gammaln(self.shape) - np.log(self.scale)
        return np.where(t < 0.0, -np.inf, value)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`."""
        h = np.asarray(hazard, dtype=np.float64)
        lower = special.gammaincinv(self.shape, -np.expm1(-h))
        upper = special.gammainccinv(self.shape, np.exp(-h))
        return np.asarray(self.scale * np.where(h < 0.5, lower, upper))

    def mean(self) -> FloatArray:
        """Mean life in hours."""
        return np.asarray(self.shape * self.scale)

    def log_mean_gradient(self) -> FloatArray:
        """Derivative of the log of the mean by shape and scale."""
        return np.stack(np.broadcast_arrays(1.0 / self.shape, 1.0 / self.scale), axis=-1)

    @classmethod
    def to_free(cls, parameters: npt.ArrayLike) -> FloatArray:
        """Log of the shape and log of the mean, which a sample tells apart better than shape and scale."""
        log = super().to_free(parameters)
        return np.stack([log[..., 0], log[..., 0] + log[..., 1]], axis=-1)

    @classmethod
    def from_free(cls, free: npt.ArrayLike) -> FloatArray:
        """Shape and scale at a log shape and a log mean."""
        value = np.asarray(free, dtype=np.float64)
        return super().from_free(np.stack([value[..., 0], value[..., 1] - value[..., 0]], axis=-1))

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters for which the log of life has this mean and standard deviation."""
        middle, spread = np.broadcast_arrays(np.asarray(meanlog, np.float64), np.clip(sdlog, 1e-7, 1e7))
        variance = spread**2
        shape = 0.5 + 1.0 / variance
        for _ in range(8):  # Newton's method for trigamma(shape) = variance
            trigamma = special.polygamma(1, shape)
            shape = shape + trigamma * (1.0 - trigamma / variance) / special.polygamma(2, shape)
        return np.stack([shape, np.exp(middle - special.digamma(shape))], axis=-1)
