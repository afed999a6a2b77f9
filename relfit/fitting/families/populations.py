"""Weibull lives with a group apart: nodes that never fail, or nodes dead on arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import Family
from relfit.fitting.families.distribution import log_one_minus_exp, log_sum, mixed_cumulative_hazard
from relfit.fitting.families.weibull import Weibull


class PartlyWeibull(Family):
    """Base of families of a share of nodes apart, and a Weibull life of the others."""

    shape: FloatArray
    scale: FloatArray
    domains = ("fraction", "positive", "positive")
    _start_share: ClassVar[float]  # where a search begins

    @property
    def _weibull(self) -> Weibull:
        return Weibull.unchecked(self.shape, self.scale)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        inner = Weibull.start(meanlog, sdlog)
        return np.concatenate([np.full((*inner.shape[:-1], 1), cls._start_share), inner], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class LimitedFailure(PartlyWeibull):
    """``F(t) = fraction (1 - exp(-(t / scale)**shape))``: the other nodes never fail.

    Source: Meeker 1987, Limited failure population life tests, Technometrics 29, 51-65. The mean life is infinite, and
    so are quantiles above the fraction.

    Parameters
    ----------
    fraction : array_like of float
        Share of the nodes that can fail, between 0 and 1.
    shape : array_like of float
        Of the Weibull life of these; above zero.
    scale : array_like of float
        Of that life; hours, above zero.

    Examples
    --------
    >>> LimitedFailure(0.2, 1.0, 100.0).quantile([0.1, 0.5]).round(3).tolist()
    [69.315, inf]
    """

    fraction: FloatArray
    shape: FloatArray
    scale: FloatArray
    name = "limited_failure"
    _start_share = 0.5

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        with np.errstate(all="ignore"):
            logs = [np.log(self.fraction), np.log1p(-self.fraction)]
            return -mixed_cumulative_hazard(logs, [-self._weibull.log_sf(time), np.zeros(())])

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.fraction) + self._weibull.log_cdf(time))

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(self.fraction) + self._weibull.log_pdf(time))

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        h = np.asarray(hazard, dtype=np.float64)
        with np.errstate(all="ignore"):
            left = self.fraction + np.expm1(-h)  # share that can fail and has not
            inner = np.where(h < 0.5, -np.log1p(np.expm1(-h) / self.fraction), np.log(self.fraction) - np.log(left))
            value = self._weibull.inverse_cumulative_hazard(np.maximum(np.where(left > 0.0, inner, np.inf), 0.0))
        return np.where(np.isnan(self.fraction), np.nan, value)

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``, with the share that can fail at this age."""
        failing, total = self._weibull, self.log_sf(age)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.log(self.fraction) + failing.log_sf(age) - total, np.log1p(-self.fraction) - total]
            return mixed_cumulative_hazard(logs, [failing.conditional_cumulative_hazard(time, age), np.zeros(())])

    def mean(self) -> FloatArray:
        """Mean life: infinite."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isnan(self.fraction + self.shape + self.scale), np.nan, np.inf)


@dataclass(frozen=True, eq=False, repr=False)
class ZeroInflated(PartlyWeibull):
    """A life of exactly zero with probability `zero_fraction`, and a Weibull life otherwise.

    At zero, `log_pdf` is the log of that probability, and `log_sf` counts the zeros as failed. `sample` and `quantile`
    give zeros; functions of an age (`excess_sample`, `mean_residual_life`, ``sf(time, 0)``) are those of a node that
    works.

    Parameters
    ----------
    zero_fraction : array_like of float
        Share of lives of zero, between 0 and 1.
    shape : array_like of float
        Of the Weibull life of the others; above zero.
    scale : array_like of float
        Of that life; hours, above zero.

    Examples
    --------
    >>> ZeroInflated(0.4, 1.0, 100.0).quantile([0.3, 0.7]).round(3).tolist()
    [0.0, 69.315]
    """

    zero_fraction: FloatArray
    shape: FloatArray
    scale: FloatArray
    name = "zero_inflated"
    density_at_zero = True
    _start_share = 0.1

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log1p(-self.zero_fraction) + self._weibull.log_sf(t)
        return np.where((t < 0.0) & ~np.isnan(value), 0.0, value)

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.log1p(-self.zero_fraction) + self._weibull.log_cdf(t)
            rare = np.minimum(log_sum([np.log(self.zero_fraction), others]), 0.0)
            value = np.where(rare > -0.6931471805599453, log_one_minus_exp(self.log_sf(t)), rare)
        return np.where(t < 0.0, -np.inf, value)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the density at `time`, per hour; at zero, log of the probability of a zero."""
        t = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log1p(-self.zero_fraction) + self._weibull.log_pdf(t)
            return np.where(t == 0.0, np.log(self.zero_fraction) + 0.0 * (self.shape + self.scale), value)

    def log_hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the failure rate at `time` of a node that works."""
        return self._weibull.log_hazard(time)

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)`` of a node that works: it is none of the zeros, whatever its age."""
        return self._weibull.conditional_cumulative_hazard(time, age)

    def inverse_conditional_cumulative_hazard(self, hazard: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        return self._weibull.inverse_conditional_cumulative_hazard(hazard, age)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`; zero up to the hazard that the zeros spend."""
        h = np.asarray(hazard, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = np.maximum(h + np.log1p(-self.zero_fraction), 0.0)
        return self._weibull.inverse_cumulative_hazard(beyond)

    def mean(self) -> FloatArray:
        """Mean life in hours, zeros included."""
        return np.asarray((1.0 - self.zero_fraction) * self._weibull.mean())
