"""What every distribution family has in common: a family is a few functions, the rest follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError

__all__ = ["Family", "FloatArray"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Family(ABC):
    """A lifetime distribution, or a batch of them where the parameters are arrays.

    Parameters broadcast against each other, and against the times by numpy's rules: for a batch of g distributions and
    m times, give the times the shape ``(m, 1)``. Times are hours, hazards per hour. A parameter that is NaN gives NaN:
    this is how a group that could not be fitted shows.
    """

    name: ClassVar[str]
    positive: ClassVar[tuple[bool, ...]]

    def __post_init__(self) -> None:
        for field, positive in zip(fields(self), self.positive, strict=True):
            value = np.asarray(getattr(self, field.name), dtype=np.float64)
            bad = np.isinf(value) | ((value <= 0.0) if positive else np.zeros(value.shape, np.bool_))
            if bad.any():
                where = int(np.flatnonzero(bad.ravel())[0])
                raise ArgumentError(
                    f"{field.name} of {self.name} is {value.ravel()[where]:g}"
                    + (f" at position {where}" if value.size > 1 else ""),
                    remedy="it must be finite" + (" and above zero" if positive else ""),
                )
            object.__setattr__(self, field.name, value)

    # ------------------------------------------------------------- of a family

    @abstractmethod
    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability to live longer than `time`."""

    @abstractmethod
    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the density at `time`, per hour."""

    @abstractmethod
    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`."""

    @abstractmethod
    def mean(self) -> FloatArray:
        """Mean life in hours."""

    @abstractmethod
    def log_mean_gradient(self) -> FloatArray:
        """Derivative of the log of the mean by each parameter, parameters last."""

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
        return type(self)(
            **{name: np.broadcast_to(value, self.batch_shape)[position] for name, value in self.parameters().items()}
        )

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
        return self.excess_sample(0.0, size, rng)

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
