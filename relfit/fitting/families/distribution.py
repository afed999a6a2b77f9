"""What all distributions of a life have in common: a few functions define one, the rest follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arguments import random_stream, whole
from relfit.base.arrays import FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.hours_of_arrays import hours_of_array
from relfit.base.numeric.quadrature import integrate_reliability
from relfit.base.numeric.solving import time_at_level

HEAVIEST = 1.0 + 1e-9
"""Tail index above which a mean is finite: 1, but for rounding."""


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


def at_or_above_zero(name: str, values: object) -> FloatArray:
    """Hours, from numbers, timedeltas or texts; NaN where missing, and an `ArgumentError` below zero."""
    array = hours_of_array(name, values)
    if (array < 0.0).any():
        raise ArgumentError(f"{name} is {array[array < 0.0].min():g} hours", remedy="it must not be below zero")
    return array


def lead_shape(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Shape of a sample before that of the batch; an `ArgumentError` for what is no whole number of 0 or more."""
    return () if size is None else tuple(whole("size", size, least=0).ravel().tolist())


class Distribution(ABC):
    """The distribution of a life, or a batch of them.

    Times are hours, hazards per hour. Times broadcast against the batch by numpy's rules: for a batch of g and m times,
    give the times the shape ``(m, 1)``.
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""

    @property
    @abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch; empty for one distribution."""

    @abstractmethod
    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability of surviving beyond `time`."""

    @abstractmethod
    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the density at `time`, per hour."""

    def log_integrated_tail(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the integral of the reliability from `time` on, in hours; at 0, of the mean life.

        Divided by the mean it is the survival function of the remaining life at an unknown age in steady state (Cox
        1962, Renewal Theory, section 5.2).

        Examples
        --------
        >>> from relfit.fitting.families import Exponential
        >>> Exponential(0.01).log_integrated_tail([0.0, 100.0]).round(4).tolist()
        [4.6052, 3.6052]
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            log_sf = self.log_sf(time)
            return np.where(np.isneginf(log_sf), -np.inf, log_sf + np.log(self.mean_residual_life(time)))

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability of failing within `time`."""
        return log_one_minus_exp(self.log_sf(time))

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`; infinite where it never does."""
        level = np.asarray(hazard, dtype=np.float64)
        shape = np.broadcast_shapes(self.batch_shape, level.shape)
        flat = np.ones(int(np.prod(shape, dtype=np.int64)))

        def log_hazard(rows: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
            at = flat.copy()
            at[rows] = time
            spent = np.broadcast_to(-self.log_sf(at.reshape(shape)), shape)
            return np.log(spent.reshape(-1)[rows])

        with np.errstate(divide="ignore", invalid="ignore"):
            log_level = np.log(np.broadcast_to(level, shape).reshape(-1))
            times = time_at_level(log_hazard, log_level).reshape(shape)
            return np.where(np.isnan(self.log_sf(1.0)), np.nan, times)

    def mean(self) -> FloatArray:
        """Mean life in hours."""
        return self.mean_residual_life(0.0)

    def sf(self, time: npt.ArrayLike, age: npt.ArrayLike | None = None) -> FloatArray:
        """Reliability: the probability of surviving `time` hours, or `time` hours more at an `age` in hours.

        The latter is equation 4.3 of reliability-aware allocation.

        Parameters
        ----------
        time : array_like of float, timedelta or text
            Hours, a timedelta, or text such as "24h".
        age : array_like of float, timedelta or text, optional
            At or above zero; a node that is new when left out.
        """
        time = hours_of_array("time", time)
        if age is None:
            return np.exp(self.log_sf(time))
        return np.exp(-self.conditional_cumulative_hazard(time, at_or_above_zero("age", age)))

    def cdf(self, time: npt.ArrayLike) -> FloatArray:
        """The probability of failing within `time` hours."""
        return -np.expm1(self.log_sf(hours_of_array("time", time)))

    def pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Density per hour."""
        return np.exp(self.log_pdf(hours_of_array("time", time)))

    def log_hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the failure rate at `time`."""
        with np.errstate(invalid="ignore"):
            return self.log_pdf(time) - self.log_sf(time)

    def hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Failure rate at `time`, per hour, given life so far."""
        return np.exp(self.log_hazard(hours_of_array("time", time)))

    def cumulative_hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Integral of the hazard from 0 to `time`."""
        return -self.log_sf(hours_of_array("time", time))

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Hours by which a share `probability` has failed.

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

    def ppf(self, probability: npt.ArrayLike) -> FloatArray:
        """`quantile`, by the name that scipy has."""
        return self.quantile(probability)

    def conditional_sf(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """Probability of surviving `time` hours more at an `age`: ``sf(time, age)``."""
        return self.sf(time, age)

    def median(self) -> FloatArray:
        """Hours by which half have failed."""
        return self.quantile(0.5)

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Seed = None) -> FloatArray:
        """Random lives in hours, shape ``size + batch_shape``.

        Parameters
        ----------
        size : int or tuple of int, optional
            Lives of each distribution of the batch; one when left out.
        rng : int or numpy.random.Generator, optional
            The same seed gives the same lives; without one they differ at each call.
        """
        spent = random_stream(rng).standard_exponential(lead_shape(size) + self.batch_shape)
        return self.inverse_cumulative_hazard(spent)

    def residual_sample(self, size: int | tuple[int, ...] | None = None, rng: Seed = None) -> FloatArray:
        """Random remaining lives at an unknown age in steady state, hours, shape ``size + batch_shape``.

        A uniform share of a life drawn in proportion to its length; by inversion of `log_integrated_tail` where the
        distribution has no way to draw such lives. `size` and `rng` are those of `sample`.
        """
        shape = lead_shape(size) + self.batch_shape
        generator = random_stream(rng)
        whole_life = self._length_biased(shape, generator)
        if whole_life is not None:
            return np.asarray(whole_life * generator.random(whole_life.shape))
        spent = generator.standard_exponential(shape)
        flat = np.ones(spent.size)

        def log_curve(rows: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
            at = flat.copy()
            at[rows] = time
            tail = self.log_integrated_tail(at.reshape(spent.shape))
            return np.log(np.maximum(np.log(self.mean()) - tail, 0.0)).reshape(-1)[rows]

        return time_at_level(log_curve, np.log(spent).reshape(-1)).reshape(spent.shape)

    def _length_biased(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray | None:
        """Lives drawn in proportion to their length, or None."""
        return None

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``: minus the log of the probability of surviving `time` hours more at `age`.

        To a relative error of 1e-8, however short the time is beside the age, for ages up to a thousand median lives.

        Parameters
        ----------
        time, age : array_like of float
            Hours, at or above zero; they broadcast against each other and the batch.

        Examples
        --------
        >>> from relfit.fitting.families import Weibull
        >>> print(Weibull(0.8, 1000.0).conditional_cumulative_hazard([100.0, 1e-9], age=600.0))
        [8.72188407e-02 8.86053075e-13]
        """
        x, t = np.asarray(time, dtype=np.float64), np.asarray(age, dtype=np.float64)
        with np.errstate(all="ignore"):
            before = -self.log_sf(t)
            # so short beside the age that the rate is steady, and a difference of hazards would lose its digits
            short = (t > 0.0) & (x * (np.exp(self.log_hazard(t)) / before) < 1e-5)
            moment = np.where(short, t + 0.5 * x, t + x)
            log_sf = self.log_sf(moment)
            value = np.maximum(-log_sf - before, 0.0)
            if short.any():
                value = np.where(short, x * np.exp(self.log_pdf(moment) - log_sf), value)
            return np.where(x > 0.0, value, 0.0 * before)

    def inverse_conditional_cumulative_hazard(self, hazard: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """Hours after which `conditional_cumulative_hazard` at `age` reaches `hazard`; infinite where it never does.

        Applied to a standard exponential number it gives a random remaining life.
        """
        h, t = np.asarray(hazard, dtype=np.float64), np.asarray(age, dtype=np.float64)
        with np.errstate(all="ignore"):
            times = np.asarray(self.inverse_cumulative_hazard(h - self.log_sf(t)) - t)
            short = (t > 0.0) & (h > 0.0) & np.isfinite(h) & ~(times > 1e-6 * t)
            if short.any():
                x = h / np.exp(self.log_hazard(t))
                for _ in range(3):
                    x = x - (self.conditional_cumulative_hazard(x, t) - h) / np.exp(self.log_hazard(t + x))
                times = np.where(short & np.isfinite(x), x, times)
        return np.maximum(times, 0.0)

    def tail_index(self) -> FloatArray:
        """Index of the tail: survival falls as ``time**-index`` at long times; above 1 the mean is finite.

        From the slope of the log of survival at the largest times that a float can hold; infinite above 100.

        Examples
        --------
        >>> from relfit.fitting.families import Loglogistic, Weibull
        >>> Weibull(0.5, 100.0).tail_index().tolist(), Loglogistic(0.8, 10.0).tail_index().round(9).tolist()
        (inf, 0.8)
        """
        with np.errstate(all="ignore"):
            near, far = self.log_sf(np.exp(600.0)), self.log_sf(np.exp(700.0))
            slope = (near - far) / 100.0
        return np.where(np.isneginf(far) | (slope > 100.0), np.inf, slope)

    def excess_sample(
        self, age: npt.ArrayLike, size: int | tuple[int, ...] | None = None, rng: Seed = None
    ) -> FloatArray:
        """Random remaining lives in hours at `age` (hours), by inversion of the cumulative hazard.

        The shape is `size` and that of the batch and the ages, broadcast; `size` and `rng` are those of `sample`.
        """
        past = at_or_above_zero("age", age)
        shape = lead_shape(size) + np.broadcast_shapes(self.batch_shape, past.shape)
        return self.inverse_conditional_cumulative_hazard(random_stream(rng).standard_exponential(shape), past)

    def mean_residual_life(self, age: npt.ArrayLike) -> FloatArray:
        """Mean remaining life at `age`, in hours; infinite where the tail is too heavy (`tail_index`)."""
        past = at_or_above_zero("age", age)
        shape = np.broadcast_shapes(self.batch_shape, past.shape)
        size = int(np.prod(shape, dtype=np.int64))
        half = np.broadcast_to(self.inverse_conditional_cumulative_hazard(np.log(2.0), past), shape).reshape(-1)
        usable = np.isfinite(half) & (half > 0.0) & np.broadcast_to(self.tail_index() > HEAVIEST, shape).reshape(-1)

        def log_sf(time: FloatArray, count: int) -> FloatArray:
            x = np.zeros((time.shape[0], size))
            x[:, :count] = time
            spent = self.conditional_cumulative_hazard(x.reshape(-1, *shape), past).reshape(-1, size)[:, :count]
            return np.where(usable[:count], -spent, -np.inf)

        life = integrate_reliability(log_sf, np.where(usable, half, 1.0), size)
        return np.where(usable, life, np.where(np.isnan(half), np.nan, np.inf)).reshape(shape)


class ByHazard(Distribution):
    """Distributions whose density follows from their failure rate."""

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        log_sf = self.log_sf(time)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(log_sf), -np.inf, self.log_hazard(time) + log_sf)


def log_difference(larger: npt.ArrayLike, smaller: npt.ArrayLike) -> FloatArray:
    """Log of the difference of two exponentials, minus infinity where there is none."""
    high, low = np.asarray(larger, np.float64), np.asarray(smaller, np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isneginf(high), -np.inf, high + log_one_minus_exp(np.minimum(low - high, 0.0))))


def mixed_cumulative_hazard(log_weights: Sequence[FloatArray], spent: Sequence[FloatArray]) -> FloatArray:
    """Cumulative hazard of a node of one of several kinds, from the log weight and the hazard of each kind."""
    with np.errstate(all="ignore"):
        failed = np.asarray(sum(np.exp(log) * -np.expm1(-own) for log, own in zip(log_weights, spent, strict=True)))
        late = -log_sum([log - own for log, own in zip(log_weights, spent, strict=True)])
        return np.where(failed < 0.5, -np.log1p(-failed), late)
