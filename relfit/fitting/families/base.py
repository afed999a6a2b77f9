"""What a family adds to a distribution: named parameters, their ranges, coordinates to search in and where to begin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution

Domain = Literal["positive", "real", "fraction"]

EULER = 0.5772156649015329  # minus the mean of the log of a standard exponential life
LOG_WEIBULL_SD = 1.2825498301618641  # pi / sqrt(6): standard deviation of that log
_WANTED = {
    "positive": "it must be finite and above zero",
    "real": "it must be finite",
    "fraction": "it must be finite, above 0 and below 1",
}
_Scale = Callable[[FloatArray], FloatArray]
_FREE: dict[Domain, tuple[_Scale, _Scale]] = {
    "positive": (np.log, np.exp),
    "real": (np.asarray, np.asarray),
    "fraction": (lambda share: np.log(share) - np.log1p(-share), special.expit),
}
"""To coordinates without bounds, and back."""


def log_moments(meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both arguments of `Family.start` as arrays of one shape, the standard deviation away from zero."""
    middle, spread = np.broadcast_arrays(np.asarray(meanlog, np.float64), np.asarray(sdlog, np.float64))
    return middle, np.clip(spread, 1e-7, 1e7)


def log_of_time(time: npt.ArrayLike) -> FloatArray:
    """Log of times in hours; minus infinity for what is zero or below."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(np.asarray(time, dtype=np.float64), 0.0)))


@dataclass(frozen=True, eq=False)
class Family(Distribution):
    """A lifetime distribution, or a batch of them where the parameters are arrays.

    Parameters broadcast against each other, and against the times by numpy's rules: for a batch of g distributions and
    m times, give the times the shape ``(m, 1)``. Times are hours, hazards per hour. A parameter of a batch may be NaN,
    as for a group that could not be fitted, and gives NaN.
    """

    name: ClassVar[str]
    domains: ClassVar[tuple[Domain, ...]]
    """Where each parameter may lie: ``positive``, ``real``, or ``fraction`` (strictly between 0 and 1)."""
    density_at_zero: ClassVar[bool] = False
    """Whether an observed life of exactly zero has a finite density, or a probability, above zero."""
    positive: ClassVar[tuple[bool, ...]]
    """Which parameters are above zero without bound; follows from `domains`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.positive = tuple(domain == "positive" for domain in getattr(cls, "domains", ()))

    def __post_init__(self) -> None:
        for field, domain in zip(fields(self), self.domains, strict=True):
            try:
                value = np.asarray(getattr(self, field.name), dtype=np.float64)
            except (TypeError, ValueError):
                given = getattr(self, field.name)
                raise ArgumentError(f"{field.name} of {self.name} is {given!r}", remedy="give a number") from None
            bad = np.isinf(value) | (np.isnan(value) & (value.ndim == 0))  # NaN: a group of a batch without a fit
            if domain != "real":
                bad |= value <= 0.0
            if domain == "fraction":
                bad |= value >= 1.0
            self._reject(field.name, value, bad, _WANTED[domain])
            object.__setattr__(self, field.name, value)
        try:
            _ = self.batch_shape
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in self.parameters().items())
            what = f"parameters of {self.name} do not go together: {shapes}"
            raise ArgumentError(what, remedy="shapes must broadcast") from None

    def _reject(self, name: str, value: FloatArray, bad: npt.NDArray[np.bool_], wanted: str) -> None:
        if bad.any():
            where = int(np.flatnonzero(bad.ravel())[0])
            raise ArgumentError(
                f"{name} of {self.name} is {value.ravel()[where]:g}"
                + (f" at position {where}" if value.size > 1 else ""),
                remedy=wanted,
            )

    @classmethod
    def unchecked(cls, *parameters: npt.ArrayLike) -> Self:
        """The distribution with these parameters, unchecked: for searches."""
        value = object.__new__(cls)
        for name, parameter in zip(cls.parameter_names(), parameters, strict=True):
            object.__setattr__(value, name, np.asarray(parameter, dtype=np.float64))
        return value

    @classmethod
    @abstractmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters, last axis, for which the log of life has about this mean and standard deviation."""

    @classmethod
    def starts(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike, earliest: npt.ArrayLike) -> FloatArray:
        """Parameters to start from, shape (starts, ..., k), given the earliest life of each sample as well."""
        return np.asarray(cls.start(meanlog, sdlog))[None]

    @classmethod
    def to_free(cls, parameters: npt.ArrayLike) -> FloatArray:
        """Coordinates without bounds, shape (..., k), of parameters of the same shape.

        Logs of what is positive, logits of fractions, unless the family has better ones.
        """
        values = np.asarray(parameters, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([_FREE[domain][0](values[..., i]) for i, domain in enumerate(cls.domains)], axis=-1)

    @classmethod
    def from_free(cls, free: npt.ArrayLike) -> FloatArray:
        """Parameters, shape (..., k), at coordinates of the same shape: the inverse of `to_free`."""
        values = np.asarray(free, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            return np.stack([_FREE[domain][1](values[..., i]) for i, domain in enumerate(cls.domains)], axis=-1)

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

    def __getitem__(self, position: int | slice | IntArray | BoolArray) -> Self:
        """The distributions at `position` of the batch."""
        shape = self.batch_shape
        return self.unchecked(*(np.broadcast_to(value, shape)[position] for value in self.parameters().values()))

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""
        return {"family": self.name, **{k: v.tolist() for k, v in self.parameters().items()}}

    def __repr__(self) -> str:
        def show(value: FloatArray) -> str:
            return f"{float(value):.6g}" if value.ndim == 0 else f"<{value.size} values>"

        inner = ", ".join(f"{k}={show(v)}" for k, v in self.parameters().items())
        return f"{type(self).__name__}({inner})"


@dataclass(frozen=True, eq=False, repr=False)
class ShapeScale(Family):
    """A family of a shape without unit and a scale in hours, both above zero."""

    shape: FloatArray
    scale: FloatArray
    domains: ClassVar[tuple[Domain, ...]] = ("positive", "positive")

    def _log_relative(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the time relative to the scale."""
        return np.asarray(log_of_time(time) - np.log(self.scale))


@cache
def spread_table(of_log_shape: Callable[[FloatArray], Family]) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Function from the deviation of log life to log shape and mean log life, of scale 1; nearest beyond the table."""
    log_shapes = np.linspace(-12.0, 12.0, 49)
    # moments over the quantiles at equal steps of the log odds, whose weights are the logistic density
    x = np.linspace(-36.0, 36.0, 41)[:, None]
    weight = np.exp(-np.abs(x)) / (1.0 + np.exp(-np.abs(x))) ** 2
    weight /= weight.sum()
    with np.errstate(all="ignore"):
        log_life = np.log(of_log_shape(log_shapes).inverse_cumulative_hazard(np.logaddexp(0.0, x)))
    log_life = np.where(np.isfinite(log_life), log_life, 0.0)
    middle = (weight * log_life).sum(axis=0)
    spread = np.sqrt((weight * (log_life - middle) ** 2).sum(axis=0))
    order = np.argsort(spread, kind="stable")

    def look_up(wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
        target, spreads = np.log(wanted), np.log(spread[order])
        return np.interp(target, spreads, log_shapes[order]), np.interp(target, spreads, middle[order])

    return look_up
