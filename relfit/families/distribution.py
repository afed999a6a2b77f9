"""What every distribution of a life has in common: a few functions define it, the rest follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.errors import ArgumentError

__all__ = [
    "Distribution",
    "FloatArray",
    "log_cdf_of_hazard",
    "log_one_minus_exp",
    "log_sum",
    "normal_quantile_of_hazard",
]

FloatArray = npt.NDArray[np.float64]

_LOWEST, _HIGHEST = -745.0, 709.0  # logs of times that a float can hold
_NOISE = 1e-15


def log_cdf_of_hazard(log_hazard: npt.ArrayLike) -> FloatArray:
    """Log of ``1 - exp(-H)`` from the log of the cumulative hazard H, which may be far below the smallest float."""
    log_h = np.asarray(log_hazard, dtype=np.float64)
    with np.errstate(all="ignore"):
        h = np.exp(log_h)
        return np.asarray(np.where(log_h < -12.0, log_h - 0.5 * h, log_one_minus_exp(-h)))


def log_one_minus_exp(value: npt.ArrayLike) -> FloatArray:
    """Log of ``1 - exp(value)`` for `value` at or below zero, accurate at both ends."""
    v = np.asarray(value, dtype=np.float64)
    with np.errstate(divide="ignore", under="ignore", invalid="ignore"):
        return np.asarray(np.where(v > -0.6931471805599453, np.log(-np.expm1(v)), np.log1p(-np.exp(v))))


def log_sum(terms: Sequence[npt.ArrayLike]) -> FloatArray:
    """Log of the sum of the exponentials of the terms, broadcast."""
    total = np.asarray(terms[0], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        for term in terms[1:]:
            total = np.logaddexp(total, term)
    return total


def normal_quantile_of_hazard(hazard: npt.ArrayLike) -> FloatArray:
    """Standard normal quantile at which the log of survival is minus `hazard`."""
    h = np.asarray(hazard, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(h < 0.5, special.ndtri(-np.expm1(-h)), -special.ndtri_exp(-h))


class Distribution(ABC):
    """The distribution of a life, or a batch of them.

    Times are hours, hazards per hour. Times broadcast against the batch by numpy's rules: for a batch of g and m times,
    give the times the shape ``(m, 1)``.
    """

    # ------------------------------------------------------- of a distribution

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""

    @property
    @abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch; empty for one distribution."""

    @abstractmethod
    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability to live longer than `time`."""

    @abstractmethod
    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the density at `time`, per hour."""

    # ------------------------------- defaults, for which a family may have better

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability to fail within `time`."""
        return log_one_minus_exp(self.log_sf(time))

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`; infinite where it never does.

        By Newton's method for the log of the hazard by the log of time, within brackets.
        """
        wanted = np.asarray(hazard, dtype=np.float64)
        wanted = np.broadcast_to(wanted, np.broadcast_shapes(self.batch_shape, wanted.shape))
        low, high = np.full(wanted.shape, _LOWEST), np.full(wanted.shape, _HIGHEST)
        y = np.zeros(wanted.shape)
        last = np.full(wanted.shape, np.inf)
        done = np.isnan(wanted) | np.isposinf(wanted)
        with np.errstate(all="ignore"):
            log_wanted = np.log(wanted)
            noise = _NOISE * np.maximum(1.0, np.abs(log_wanted))
            for _ in range(200):
                time = np.exp(y)
                log_sf = self.log_sf(time)
                gap = np.log(-log_sf) - log_wanted
                slope = np.exp(self.log_pdf(time) - log_sf + y) / -log_sf
                low, high = np.where(gap < 0.0, y, low), np.where(gap >= 0.0, y, high)
                step = gap / slope
                least = 4e-16 * np.maximum(1.0, np.abs(y))
                small = (np.abs(step) <= least) & (np.abs(gap) < 1e-6)
                done |= (np.abs(gap) <= noise) | (high - low <= least) | small
                new = y - step
                # where the step leaves the bracket, or the last one has not halved the gap: the middle
                good = (new > low) & (new < high) & (np.abs(gap) < 0.5 * last)
                y, last = np.where(done, y, np.where(good, new, 0.5 * (low + high))), np.abs(gap)
                if done.all():
                    break
            never = ~(-self.log_sf(np.exp(_HIGHEST)) >= wanted) | np.isposinf(wanted)
            found = np.where(wanted > -self.log_sf(np.exp(_LOWEST)), np.where(never, np.inf, np.exp(y)), 0.0)
            unknown = np.isnan(wanted) | np.isnan(self.log_sf(1.0))
        return np.where(unknown, np.nan, found)

    def mean(self) -> FloatArray:
        """Mean life in hours, by quadrature over the quantiles."""
        return self.mean_residual_life(0.0)

    # ----------------------------------------------------------------- derived

    def sf(self, time: npt.ArrayLike) -> FloatArray:
        """Reliability: the probability to live longer than `time` hours."""
        return np.exp(self.log_sf(time))

    def cdf(self, time: npt.ArrayLike) -> FloatArray:
        """The probability to fail within `time` hours."""
        return -np.expm1(self.log_sf(time))

    def pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Density per hour."""
        return np.exp(self.log_pdf(time))

    def log_hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the failure rate at `time`."""
        with np.errstate(invalid="ignore"):
            return self.log_pdf(time) - self.log_sf(time)

    def hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Failure rate at `time`, per hour, given life so far."""
        return np.exp(self.log_hazard(time))

    def cumulative_hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Integral of the hazard from 0 to `time`."""
        return -self.log_sf(time)

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Time by which a share `probability` has failed.

        Raises
        ------
        ArgumentError
            For a probability outside 0..1.
        """
        p = np.asarray(probability, dtype=np.float64)
        if np.any((p < 0.0) | (p > 1.0)):
            raise ArgumentError("a probability must lie between 0 and 1")
        with np.errstate(divide="ignore"):
            return self.inverse_cumulative_hazard(-np.log1p(-p))

    def median(self) -> FloatArray:
        """Time by which half have failed."""
        return self.quantile(0.5)

    def sample(
        self, size: int | tuple[int, ...] | None = None, rng: int | np.random.Generator | None = None
    ) -> FloatArray:
        """Random lives, shape ``size + batch_shape``; the same seed gives the same lives."""
        lead = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        spent = np.random.default_rng(rng).standard_exponential(lead + self.batch_shape)
        return self.inverse_cumulative_hazard(spent)

    # -------------------------------------------------------- life left at age

    def excess_sf(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """Probability to live `time` hours more at `age` (reliability-aware allocation, equation 4.3)."""
        past = np.asarray(age, dtype=np.float64)
        return np.exp(self.log_sf(past + np.asarray(time, dtype=np.float64)) - self.log_sf(past))

    def excess_sample(
        self,
        age: npt.ArrayLike,
        size: int | tuple[int, ...] | None = None,
        rng: int | np.random.Generator | None = None,
    ) -> FloatArray:
        """Random lives left at `age`, by inversion of the cumulative hazard."""
        past = np.asarray(age, dtype=np.float64)
        lead = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        shape = lead + np.broadcast_shapes(self.batch_shape, past.shape)
        spent = np.random.default_rng(rng).standard_exponential(shape)
        return self.inverse_cumulative_hazard(self.cumulative_hazard(past) + spent) - past

    def mean_residual_life(self, age: npt.ArrayLike) -> FloatArray:
        """Mean of the life left at `age`, in hours, by quadrature over the quantiles of the excess life."""
        past = np.asarray(age, dtype=np.float64)
        shape = np.broadcast_shapes(self.batch_shape, past.shape)
        # E = integral of x(h) exp(-h) over the further cumulative hazard h; tanh-sinh in h
        u = np.linspace(-3.6, 3.2, 400).reshape((-1,) + (1,) * len(shape))
        h = np.exp(np.pi / 2 * np.sinh(u))
        weight = (u.ravel()[1] - u.ravel()[0]) * np.pi / 2 * np.cosh(u) * h * np.exp(-h)
        left = self.inverse_cumulative_hazard(self.cumulative_hazard(past) + h) - past
        return np.asarray((np.where(weight > 0, left, 0.0) * weight).sum(axis=0), dtype=np.float64)
