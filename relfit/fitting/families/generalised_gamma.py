"""The generalised gamma family in Prentice's form: gamma, Weibull and lognormal are special cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import Family, log_moments, log_of_time
from relfit.fitting.families.log_gamma import excess_exponential, log_gamma_constant, log_gamma_tail

_NORMAL = 1e-30  # below this size q makes no difference that a float could hold


@dataclass(frozen=True, eq=False, repr=False)
class GeneralisedGamma(Family):
    """``T = exp(mu + sigma W)``, with ``W = log(q**2 G) / q`` for a gamma life G of shape ``q**-2`` and scale 1.

    Prentice's form (Prentice 1974, Biometrika 61, 539-544): ``q = 0`` is lognormal, ``q = 1`` Weibull with shape
    ``1 / sigma``, ``q = sigma`` gamma with shape ``q**-2``, ``q = -1`` the reciprocal of a Weibull life.

    Parameters
    ----------
    mu : array_like of float
        Location of the log of the life in hours.
    sigma : array_like of float
        Scale of that log, above zero.
    q : array_like of float
        Any sign; the mean is infinite for ``q <= -1 / sigma``.

    Examples
    --------
    >>> from relfit.fitting.families import Weibull
    >>> GeneralisedGamma(7.0, 2.0, 1.0).sf(500.0).round(6) == Weibull(0.5, np.exp(7.0)).sf(500.0).round(6)
    np.True_
    """

    mu: FloatArray
    sigma: FloatArray
    q: FloatArray
    name = "generalised_gamma"
    domains = ("real", "positive", "real")

    def _w(self, time: npt.ArrayLike) -> FloatArray:
        return np.asarray((log_of_time(time) - self.mu) / self.sigma)

    def _core(self) -> tuple[npt.NDArray[np.bool_], FloatArray, FloatArray]:
        """Where the family is normal on the log scale, q with a stand-in there, and the gamma shape."""
        normal = np.abs(self.q) < _NORMAL
        q = np.where(normal, 1.0, self.q)
        with np.errstate(over="ignore", divide="ignore"):
            return normal, q, q**-2.0

    def _tail(self, time: npt.ArrayLike, upper: bool) -> FloatArray:
        w = self._w(time)
        normal, q, a = self._core()
        with np.errstate(invalid="ignore", over="ignore"):
            value = log_gamma_tail(a, q * w, (q > 0.0) == upper)
        if normal.any():
            value = np.where(normal, special.log_ndtr(-w if upper else w), value)
        return value

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return self._tail(time, True)

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        return self._tail(time, False)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        w = self._w(t)
        normal, q, a = self._core()
        with np.errstate(all="ignore"):
            value = np.where(
                normal, -0.5 * (w**2 + np.log(2.0 * np.pi)), log_gamma_constant(a) - a * excess_exponential(q * w)
            ) - (np.log(self.sigma) + np.log(t))
            # t = 0 is the end of a power law with the exponent 1 / (q sigma) - 1 for q > 0
            power = np.where(normal, np.inf, 1.0 / (q * self.sigma) - 1.0)
            constant = log_gamma_constant(a) - np.log(self.sigma) - self.mu + a
            at_zero = np.where(power < 0.0, np.inf, np.where(power == 0.0, constant, -np.inf))
            at_zero = np.where((q > 0.0) | np.isnan(self.mu + self.sigma + q), at_zero, -np.inf)
        return np.where(t > 0.0, np.where(np.isposinf(t), -np.inf, value), np.where(t < 0.0, -np.inf, at_zero))

    def mean(self) -> FloatArray:
        """Mean life in hours; infinite for ``q <= -1 / sigma``."""
        normal, q, a = self._core()
        r = q * self.sigma
        with np.errstate(all="ignore"):
            # log of gamma(a + r a) / gamma(a) - r a log(a)
            grown = a * (1.0 + r) * excess_exponential(-np.log1p(r)) - 0.5 * np.log1p(r)
            shift = grown + log_gamma_constant(a) - log_gamma_constant(a * (1.0 + r))
            value = np.exp(self.mu + np.where(normal, 0.5 * self.sigma**2, shift))
        return np.where(r <= -1.0, np.inf * np.exp(0.0 * self.mu), value)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters halfway between the Weibull and the lognormal with these moments of the log of life."""
        middle, spread = log_moments(meanlog, sdlog)
        q, a = 0.5, 4.0
        sigma = spread * q / np.sqrt(special.polygamma(1, a))
        mu = middle - sigma / q * (special.digamma(a) - np.log(a))
        return np.stack([mu, sigma, np.full(mu.shape, q)], axis=-1)
