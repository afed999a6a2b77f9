"""The curves that every fit has for its groups, by the usual names: ``sf``, ``cdf``, ``hazard``, ``quantile``, ..."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations
from relfit.base.arrays import Durations, FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families import Distribution


class _HasDistribution(Protocol):
    @property
    def distribution(self) -> Distribution: ...


class GroupCurves:
    """Curves of the fitted distributions, one per group.

    A single time gives an array of shape (groups,); m times give (groups, m); an array of shape (groups, m) gives each
    group times of its own. Times are hours, or text such as "24h".
    """

    def sf(self: _HasDistribution, time: Durations, age: object = None) -> FloatArray:
        """Reliability of every group, for new nodes or nodes of an age.

        Parameters
        ----------
        time, age : duration
            Hours, or text such as "24h"; new nodes without `age`.

        Examples
        --------
        >>> import relfit as rf
        >>> fit = rf.fit([100.0, 900.0, 4000.0, 8760.0], "weibull")["weibull"]
        >>> fit.shape.round(2).tolist(), fit.sf("24h").round(2).tolist(), fit.sf("24h", age="1000h").round(3).tolist()
        ([0.76], [0.97], [0.992])
        >>> fit.sf(["1h", "24h"]).shape, fit.median.round(0).tolist(), fit.ppf(0.5).round(0).tolist()
        ((1, 2), [1831.0], [1831.0])
        """
        times = _turned("time", durations("time", time), self.distribution)
        ages = None if age is None else _turned("age", durations("age", age), self.distribution)
        return self.distribution.sf(times, ages).T

    def conditional_sf(self: _HasDistribution, time: Durations, age: object) -> FloatArray:
        """Probability that a node of this age survives `time` hours more: ``sf(time, age)``."""
        return GroupCurves.sf(self, time, age)

    def cdf(self: _HasDistribution, time: Durations) -> FloatArray:
        """Probability of failing within `time`."""
        return self.distribution.cdf(_turned("time", durations("time", time), self.distribution)).T

    def pdf(self: _HasDistribution, time: Durations) -> FloatArray:
        """Density at `time`, per hour."""
        return self.distribution.pdf(_turned("time", durations("time", time), self.distribution)).T

    def hazard(self: _HasDistribution, time: Durations) -> FloatArray:
        """Failure rate at `time`, per hour, given life so far."""
        return self.distribution.hazard(_turned("time", durations("time", time), self.distribution)).T

    def cumulative_hazard(self: _HasDistribution, time: Durations) -> FloatArray:
        """Integral of the hazard up to `time`."""
        return self.distribution.cumulative_hazard(_turned("time", durations("time", time), self.distribution)).T

    def quantile(self: _HasDistribution, probability: npt.ArrayLike) -> FloatArray:
        """Hours by which a share `probability` has failed."""
        return self.distribution.quantile(_turned("probability", np.asarray(probability, float), self.distribution)).T

    def ppf(self: _HasDistribution, probability: npt.ArrayLike) -> FloatArray:
        """`quantile`, by the name that scipy has."""
        return GroupCurves.quantile(self, probability)

    @property
    def median(self: _HasDistribution) -> FloatArray:
        """Hours by which half have failed under the fitted distribution, shape (groups,)."""
        return self.distribution.median()

    @property
    def mean(self: _HasDistribution) -> FloatArray:
        """Mean in hours under the fitted distribution, shape (groups,)."""
        with np.errstate(all="ignore"):
            return self.distribution.mean()


def _turned(name: str, values: FloatArray, distribution: Distribution) -> FloatArray:
    """Values with the groups along the last axis, as a batch of distributions takes them."""
    groups = distribution.batch_shape[-1]
    if values.ndim > 2 or (values.ndim == 2 and values.shape[0] not in (1, groups)):
        raise ArgumentError(
            f"{name} has shape {values.shape}, and there are {groups} groups",
            remedy=f"give one {name}, several for all groups, or a row for each group: ({groups}, m)",
        )
    return values[:, None] if values.ndim == 1 else values.T
