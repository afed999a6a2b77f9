"""`with_mean`: a distribution with another mean, of the same shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution
from relfit.fitting.families.exponential import Exponential
from relfit.fitting.families.weibull import Weibull


@dataclass(frozen=True)
class Rescaled(Distribution):
    """A distribution with all times multiplied so that its mean is `to_mean`."""

    name: str
    of: Distribution
    to_mean: float

    def __post_init__(self) -> None:
        if not 0.0 < float(self.of.mean()) < np.inf:
            what = f"{self.name}: {type(self.of).__name__} has no finite mean"
            raise ArgumentError(what, remedy="simulate exponential times")

    @property
    def factor(self) -> float:
        """By which all times are multiplied."""
        return self.to_mean / float(self.of.mean())

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.of.batch_shape

    def to_dict(self) -> dict[str, Any]:
        """The distribution that is rescaled, and the factor."""
        return {"family": "rescaled", "of": self.of.to_dict(), "factor": self.factor}

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return self.of.log_sf(np.asarray(time, dtype=np.float64) / self.factor)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        return self.of.log_pdf(np.asarray(time, dtype=np.float64) / self.factor) - np.log(self.factor)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        return self.factor * self.of.inverse_cumulative_hazard(hazard)

    def mean(self) -> FloatArray:
        return np.asarray(self.to_mean)

    def log_integrated_tail(self, time: npt.ArrayLike) -> FloatArray:
        return self.of.log_integrated_tail(np.asarray(time, dtype=np.float64) / self.factor) + np.log(self.factor)

    def _length_biased(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray | None:
        lives = self.of._length_biased(shape, rng)
        return None if lives is None else self.factor * lives


def with_mean(name: str, family: Distribution, mean: float | None) -> Distribution:
    """A distribution with all times multiplied so that its mean is `mean`; exponential and Weibull ones stay such.

    It stays as it is without one. `name` is what the times are, for the `ArgumentError` of a distribution without a
    finite mean.
    """
    if mean is None:
        return family
    rescaled = Rescaled(name, family, mean)
    if isinstance(family, Exponential):
        return Exponential(family.rate / rescaled.factor)
    return Weibull(family.shape, family.scale * rescaled.factor) if isinstance(family, Weibull) else rescaled
