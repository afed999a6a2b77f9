"""The gamma family: sums of exponential stages, with a failure rate that levels off."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray, Seed
from relfit.fitting.families.base import ShapeScale, log_moments
from relfit.fitting.families.distribution import Distribution, lead_shape, log_difference
from relfit.fitting.families.log_gamma import excess_exponential, log_gamma_constant, log_gamma_tail


class Gamma(ShapeScale):
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

    name = "gamma"

    def _relative(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the time relative to the mean."""
        return np.asarray(self._log_relative(time) - np.log(self.shape))

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return log_gamma_tail(self.shape, self._relative(time), True)

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        return log_gamma_tail(self.shape, self._relative(time), False)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        relative = self._relative(t)
        with np.errstate(all="ignore"):
            peak = log_gamma_constant(self.shape) + 0.5 * np.log(self.shape)
            value = peak - self.shape * excess_exponential(relative) - np.log(t)
            at_zero = special.xlogy(self.shape - 1.0, 0.0) - special.gammaln(self.shape) - np.log(self.scale)
        return np.where(t > 0.0, np.where(np.isposinf(t), -np.inf, value), np.where(t < 0.0, -np.inf, at_zero))

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        h = np.asarray(hazard, dtype=np.float64)
        lower = special.gammaincinv(self.shape, -np.expm1(-h))
        upper = special.gammainccinv(self.shape, np.exp(-h))
        times = np.asarray(self.scale * np.where(h < 0.5, lower, upper))
        far = (h > 600.0) & np.isfinite(h) & ~np.isnan(self.shape * self.scale)
        if far.any():
            shape, scale, part, where = np.broadcast_arrays(self.shape, self.scale, h, far)
            times = np.array(np.broadcast_to(times, where.shape))
            times[where] = Distribution.inverse_cumulative_hazard(Gamma(shape[where], scale[where]), part[where])
        return times

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Seed = None) -> FloatArray:
        """Random lives, shape ``size + batch_shape``; the same seed gives the same lives.

        By rejection rather than inversion, which costs ten times as much (Marsaglia and Tsang 2000): a life of shape
        ``a`` is one of shape ``a + 1`` times the power ``1/a`` of a uniform number.
        """
        shape = lead_shape(size) + self.batch_shape
        generator = random_stream(rng)
        larger = generator.standard_gamma(np.broadcast_to(np.nan_to_num(self.shape, nan=1.0) + 1.0, shape))
        with np.errstate(under="ignore"):
            return np.asarray(self.scale * larger * np.exp(-generator.standard_exponential(shape) / self.shape))

    def mean(self) -> FloatArray:
        return np.asarray(self.shape * self.scale)

    def log_integrated_tail(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the integral of the reliability from `time` on, by two incomplete gamma functions."""
        relative = self._relative(time)
        with np.errstate(all="ignore"):
            longer = log_gamma_tail(self.shape + 1.0, relative - np.log1p(1.0 / self.shape), True)
            return np.log(self.shape * self.scale) + log_difference(longer, relative + self.log_sf(time))

    def _length_biased(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return np.asarray(self.scale * rng.standard_gamma(np.broadcast_to(self.shape + 1.0, shape)))

    @classmethod
    def to_free(cls, parameters: npt.ArrayLike) -> FloatArray:
        """Log of the shape and log of the mean, whose estimates are less correlated than those of shape and scale."""
        log = super().to_free(parameters)
        return np.stack([log[..., 0], log[..., 0] + log[..., 1]], axis=-1)

    @classmethod
    def from_free(cls, free: npt.ArrayLike) -> FloatArray:
        """Shape and scale at a log shape and a log mean."""
        value = np.asarray(free, dtype=np.float64)
        return super().from_free(np.stack([value[..., 0], value[..., 1] - value[..., 0]], axis=-1))

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        middle, spread = log_moments(meanlog, sdlog)
        variance = spread**2
        shape = (1.0 + np.sqrt(1.0 + 2.6 * variance)) / (2.0 * variance)
        for _ in range(2):  # Newton's method for trigamma(shape) = variance
            trigamma = special.zeta(2.0, shape)
            shape = shape - 0.5 * trigamma * (1.0 - trigamma / variance) / special.zeta(3.0, shape)
        return np.stack([shape, np.exp(middle - special.digamma(shape))], axis=-1)
