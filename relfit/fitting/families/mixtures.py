"""Mixtures: every node is of one of a few kinds, each with its own life."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import EULER, LOG_WEIBULL_SD, Family, log_moments
from relfit.fitting.families.distribution import log_one_minus_exp, log_sum, mixed_cumulative_hazard
from relfit.fitting.families.exponential import Exponential
from relfit.fitting.families.weibull import Weibull

_LOG_HALF = -0.6931471805599453


class Mixture(Family):
    """Base of mixtures, whose parameters are the weights of all phases but the last, and then those of each phase."""

    _kind: ClassVar[type[Family]] = Exponential

    def phases(self) -> Sequence[tuple[FloatArray, Family]]:
        """Log weight and distribution of each phase."""
        values, weights = tuple(self.parameters().values()), self.domains.count("fraction")
        size = len(self._kind.parameter_names())
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [*map(np.log, values[:weights]), np.log1p(-sum(values[:weights]))]
        return [
            (log, self._kind.unchecked(*values[begin : begin + size]))
            for log, begin in zip(logs, range(weights, len(values), size), strict=True)
        ]

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        phases = self.phases()
        return -mixed_cumulative_hazard([weight for weight, _ in phases], [-phase.log_sf(time) for _, phase in phases])

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        failed = np.minimum(log_sum([weight + phase.log_cdf(time) for weight, phase in self.phases()]), 0.0)
        return np.where(failed > _LOG_HALF, log_one_minus_exp(self.log_sf(time)), failed)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        return log_sum([weight + phase.log_pdf(time) for weight, phase in self.phases()])

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``, from the hazards of the phases and how likely each is at this age."""
        logs = [weight + phase.log_sf(age) for weight, phase in self.phases()]
        with np.errstate(invalid="ignore"):
            logs = [log - total for total in [log_sum(logs)] for log in logs]
        return mixed_cumulative_hazard(
            logs, [phase.conditional_cumulative_hazard(time, age) for _, phase in self.phases()]
        )

    def mean(self) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(sum(np.exp(weight) * phase.mean() for weight, phase in self.phases()))


@dataclass(frozen=True, eq=False, repr=False)
class Hyperexponential2(Mixture):
    """``S(t) = w exp(-rate_1 t) + (1 - w) exp(-rate_2 t)``: two kinds of nodes, each with a constant rate.

    The failure rate falls with age. Source: Trivedi, Probability and Statistics with Reliability, section 3.4. The
    phases may be in any order; fits give the higher rate first.

    Parameters
    ----------
    weight_1 : array_like of float
        Share of the first kind, between 0 and 1.
    rate_1, rate_2 : array_like of float
        Failures per hour, above zero.

    Examples
    --------
    >>> Hyperexponential2(0.25, 0.1, 0.001).mean().tolist()
    752.5
    """

    weight_1: FloatArray
    rate_1: FloatArray
    rate_2: FloatArray
    name = "hyperexponential2"
    domains = ("fraction", "positive", "positive")
    density_at_zero = True

    @classmethod
    def from_free(cls, free: npt.ArrayLike) -> FloatArray:
        """Parameters at coordinates without bounds, with the higher rate first."""
        weight, first, second = np.moveaxis(super().from_free(free), -1, 0)
        turn = first < second
        return np.stack(
            [np.where(turn, 1.0 - weight, weight), np.maximum(first, second), np.minimum(first, second)], axis=-1
        )

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters for which the log of life has about this mean and standard deviation, the latter above 1.3."""
        middle, spread = log_moments(meanlog, sdlog)
        apart = np.sqrt(np.maximum(spread**2 - LOG_WEIBULL_SD**2, 0.05))
        high, low = np.exp(-EULER - middle + apart), np.exp(-EULER - middle - apart)
        return np.stack([np.full(middle.shape, 0.5), high, low], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class Hyperexponential3(Mixture):
    """Three kinds of nodes, each with a constant failure rate, in the shares ``weight_1``, ``weight_2`` and the rest.

    Parameters
    ----------
    weight_1, weight_2 : array_like of float
        Between 0 and 1, together below 1.
    rate_1, rate_2, rate_3 : array_like of float
        Failures per hour, above zero. They may be in any order; fits give the highest first.

    Examples
    --------
    >>> Hyperexponential3(0.2, 0.3, 0.1, 0.01, 0.001).mean().round(6).tolist()
    532.0
    """

    weight_1: FloatArray
    weight_2: FloatArray
    rate_1: FloatArray
    rate_2: FloatArray
    rate_3: FloatArray
    name = "hyperexponential3"
    domains = ("fraction", "fraction", "positive", "positive", "positive")
    density_at_zero = True

    def __post_init__(self) -> None:
        super().__post_init__()
        total = np.asarray(self.weight_1 + self.weight_2)
        self._reject("weight_1 + weight_2", total, total >= 1.0, "the shares must leave something for the third")

    @classmethod
    def to_free(cls, parameters: npt.ArrayLike) -> FloatArray:
        """Logs of the first two weights relative to the third, and of the rates."""
        values = np.asarray(parameters, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values)
            rest = np.log1p(-values[..., 0] - values[..., 1])
        return np.concatenate([logs[..., :2] - rest[..., None], logs[..., 2:]], axis=-1)

    @classmethod
    def from_free(cls, free: npt.ArrayLike) -> FloatArray:
        """Parameters at coordinates without bounds, with the rates falling."""
        values = np.asarray(free, dtype=np.float64)
        odds = np.concatenate([values[..., :2], np.zeros((*values.shape[:-1], 1))], axis=-1)
        with np.errstate(all="ignore"):
            weights = special.softmax(odds, axis=-1)
            rates = np.exp(values[..., 2:])
        order = np.argsort(-rates, axis=-1, kind="stable")
        weights, rates = np.take_along_axis(weights, order, axis=-1), np.take_along_axis(rates, order, axis=-1)
        return np.concatenate([weights[..., :2], rates], axis=-1)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        """Parameters for which the log of life has about this mean and standard deviation, the latter above 1.3."""
        middle, spread = log_moments(meanlog, sdlog)
        apart = np.sqrt(1.5 * np.maximum(spread**2 - LOG_WEIBULL_SD**2, 0.05))
        third = np.full(middle.shape, 1.0 / 3.0)
        rates = [np.exp(-EULER - middle + step * apart) for step in (1.0, 0.0, -1.0)]
        return np.stack([third, third, *rates], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class WeibullMixture(Mixture):
    """Two kinds of nodes, each with a Weibull life: ``F = w F_1 + (1 - w) F_2``.

    Source: Jiang and Murthy 1995, IEEE Transactions on Reliability 44, 477-488. The phases may be in any order;
    fits give the smaller scale first.

    Parameters
    ----------
    weight : array_like of float
        Share of the first kind, between 0 and 1.
    shape_1, shape_2 : array_like of float
        Above zero, without unit.
    scale_1, scale_2 : array_like of float
        Hours, above zero.

    Examples
    --------
    >>> WeibullMixture(0.1, 0.6, 50.0, 3.0, 9000.0).sf([10.0, 10000.0]).round(4).tolist()
    [0.9683, 0.2283]
    """

    weight: FloatArray
    shape_1: FloatArray
    scale_1: FloatArray
    shape_2: FloatArray
    scale_2: FloatArray
    name = "weibull_mixture"
    _kind = Weibull
    domains = ("fraction", "positive", "positive", "positive", "positive")

    @classmethod
    def from_free(cls, free: npt.ArrayLike) -> FloatArray:
        """Parameters at coordinates without bounds, with the smaller scale first."""
        values = super().from_free(free)
        turn = (values[..., 2] > values[..., 4])[..., None]
        turned = np.concatenate([1.0 - values[..., :1], values[..., 3:], values[..., 1:3]], axis=-1)
        return np.where(turn, turned, values)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        middle, spread = log_moments(meanlog, sdlog)
        within = spread * np.sqrt(0.5)
        shape = LOG_WEIBULL_SD / within
        low, high = (np.exp(middle + EULER / shape + side * within) for side in (-1.0, 1.0))
        return np.stack([np.full(middle.shape, 0.5), shape, low, shape, high], axis=-1)
