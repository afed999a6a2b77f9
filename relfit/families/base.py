"""What every distribution family has in common: a family is a few functions, the rest follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.errors import ArgumentError

__all__ = ["EULER", "LOG_WEIBULL_SD", "Domain", "Family", "FloatArray", "log_cdf_of_hazard", "log_one_minus_exp"]

FloatArray = npt.NDArray[np.float64]
Domain = Literal["positive", "real", "fraction"]

EULER = 0.5772156649015329  # minus the mean of the log of a standard exponential life
LOG_WEIBULL_SD = 1.2825498301618641  # pi / sqrt(6): standard deviation of that log
_WANTED = {
    "positive": "it must be finite and above zero",
    "real": "it must be finite",
    "fraction": "it must be finite, above 0 and below 1",
}
_LOWEST, _HIGHEST = -745.0, 709.0  # logs of times that a float can hold


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


@dataclass(frozen=True, eq=False)
class Family(ABC):
    """A lifetime distribution, or a batch of them where the parameters are arrays.

    Parameters broadcast against each other, and against the times by numpy's rules: for a batch of g distributions and
    m times, give the times the shape ``(m, 1)``. Times are hours, hazards per hour. A parameter that is NaN gives NaN:
    this is how a group that could not be fitted shows.
    """

    name: ClassVar[str]
    domains: ClassVar[tuple[Domain, ...]]
    """Where each parameter may lie: ``positive``, ``real``, or ``fraction`` (strictly between 0 and 1)."""
    density_at_zero: ClassVar[bool] = False
    """Whether an observed life of exactly zero has a finite density, or a probability, above zero."""
    positive: ClassVar[tuple[bool, ...]]
    """Which parameters are above zero without bound; follows from `domains`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.positive = tuple(domain == "positive" for domain in getattr(cls, "domains", ()))

    def __post_init__(self) -> None:
        for field, domain in zip(fields(self), self.domains, strict=True):
            value = np.asarray(getattr(self, field.name), dtype=np.float64)
            bad = np.isinf(value)
            if domain != "real":
                bad |= value <= 0.0
            if domain == "fraction":
                bad |= value >= 1.0
            self._refuse(field.name, value, bad, _WANTED[domain])
            object.__setattr__(self, field.name, value)

    def _refuse(self, name: str, value: FloatArray, bad: npt.NDArray[np.bool_], wanted: str) -> None:
        if bad.any():
            where = int(np.flatnonzero(bad.ravel())[0])
            raise ArgumentError(
                f"{name} of {self.name} is {value.ravel()[where]:g}"
                + (f" at position {where}" if value.size > 1 else ""),
                remedy=wanted,
            )

    @classmethod
    def unchecked(cls, *parameters: npt.ArrayLike) -> Self:
        """The family with these parameters, without looking whether they are possible: for searches."""
        value = object.__new__(cls)
        for name, parameter in zip(cls.parameter_names(), parameters, strict=True):
            object.__setattr__(value, name, np.asarray(parameter, dtype=np.float64))
        return value

    # ------------------------------------------------------------- of a family

    @abstractmethod
    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability to live longer than `time`."""

    @abstractmethod
    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the density at `time`, per hour."""

    @classmethod
    @abstractmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters, last axis, for which the log of life has about this mean and standard deviation."""

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability to fail within `time`."""
        return log_one_minus_exp(self.log_sf(time))

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`; infinite where it never does."""
        return search_cumulative_hazard(self, np.asarray(hazard, dtype=np.float64))

    def mean(self) -> FloatArray:
        """Mean life in hours, by quadrature over the quantiles."""
        return self.mean_residual_life(0.0)

    def log_mean_gradient(self) -> FloatArray:
        """Derivative of the log of the mean by each parameter, parameters last; by central differences."""
        values = [np.asarray(v) for v in self.parameters().values()]
        step = 1e-3
        slopes = []
        for i, (value, domain) in enumerate(zip(values, self.domains, strict=True)):
            # in log, logit or natural coordinates; `pace` is the derivative of the parameter by its coordinate
            pace = value if domain == "positive" else value * (1.0 - value) if domain == "fraction" else 1.0

            def log_mean(move: float, i: int = i, value: FloatArray = value, domain: Domain = domain) -> FloatArray:
                moved = _from_free(_to_free(value, domain) + move, domain)
                return np.log(self.unchecked(*values[:i], moved, *values[i + 1 :]).mean())

            with np.errstate(all="ignore"):
                near, far = log_mean(step) - log_mean(-step), log_mean(2.0 * step) - log_mean(-2.0 * step)
                slopes.append((8.0 * near - far) / (12.0 * step) / pace)
        return np.stack(np.broadcast_arrays(*slopes), axis=-1)

    # ------------------------------------------------------------- for searches

    @classmethod
    def to_free(cls, parameters: npt.ArrayLike) -> FloatArray:
        """Coordinates without bounds, shape (..., k), of parameters of the same shape.

        Logs of what is positive, logits of fractions, unless the family has better ones.
        """
        values = np.asarray(parameters, dtype=np.float64)
        return np.stack([_to_free(values[..., i], domain) for i, domain in enumerate(cls.domains)], axis=-1)

    @classmethod
    def from_free(cls, free: npt.ArrayLike) -> FloatArray:
        """Parameters, shape (..., k), at coordinates of the same shape: the inverse of `to_free`."""
        values = np.asarray(free, dtype=np.float64)
        return np.stack([_from_free(values[..., i], domain) for i, domain in enumerate(cls.domains)], axis=-1)

    # ----------------------------------------------------------------- derived

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Names of the parameters, in the order of the constructor."""
        return tuple(field.name for field in fields(cls))

    def parameters(self) -> dict[str, FloatArray]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch; empty for one distribution."""
        return np.broadcast_shapes(*(p.shape for p in self.parameters().values()))

    def __getitem__(self, position: Any) -> Self:
        """The distributions at `position` of the batch."""
        shape = self.batch_shape
        return self.unchecked(*(np.broadcast_to(value, shape)[position] for value in self.parameters().values()))

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
        """Random lives left at `age`, by inversion of the cumulative hazard (models.md, section 2)."""
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

    # ----------------------------------------------------------------- showing

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""
        return {"family": self.name, **{k: v.tolist() for k, v in self.parameters().items()}}

    def __repr__(self) -> str:
        def show(value: FloatArray) -> str:
            return f"{float(value):.6g}" if value.ndim == 0 else f"<{value.size} values>"

        inner = ", ".join(f"{k}={show(v)}" for k, v in self.parameters().items())
        return f"{type(self).__name__}({inner})"


# -------------------------------------------------------------------- helpers


def _to_free(value: FloatArray, domain: Domain) -> FloatArray:
    if domain == "real":
        return value
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(value) if domain == "positive" else np.log(value) - np.log1p(-value)


def _from_free(free: FloatArray, domain: Domain) -> FloatArray:
    if domain == "real":
        return free
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(free) if domain == "positive" else np.asarray(special.expit(free))


def search_cumulative_hazard(family: Family, hazard: FloatArray) -> FloatArray:
    """Time at which the cumulative hazard of any family reaches `hazard`: Newton's method in logs, within brackets.

    Parameters
    ----------
    family : Family
        Anything with `log_sf`, `log_pdf` and `batch_shape`.
    hazard : ndarray
        At or above zero; broadcast against the batch.
    """
    shape = np.broadcast_shapes(family.batch_shape, hazard.shape)
    wanted = np.broadcast_to(hazard, shape)
    low, high = np.full(shape, _LOWEST), np.full(shape, _HIGHEST)
    y = np.zeros(shape)
    with np.errstate(all="ignore"):
        log_wanted = np.log(wanted)
        for _ in range(200):
            time = np.exp(y)
            log_sf = family.log_sf(time)
            gap = np.log(-log_sf) - log_wanted
            slope = np.exp(family.log_pdf(time) - log_sf + y) / -log_sf
            low, high = np.where(gap < 0.0, y, low), np.where(gap >= 0.0, y, high)
            new = y - gap / slope
            new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
            moved = np.abs(new - y)
            y = np.where(gap == 0.0, y, new)
            if not np.any(moved > 1e-14 * np.maximum(1.0, np.abs(y))):
                break
        never = ~(-family.log_sf(np.exp(high)) >= wanted) | np.isposinf(wanted)
        found = np.where(wanted > 0.0, np.where(never, np.inf, np.exp(y)), 0.0)
        unknown = np.isnan(wanted) | np.isnan(family.log_sf(np.ones(shape)))
    return np.where(unknown, np.nan, found)
