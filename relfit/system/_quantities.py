"""Quantities of a system: reliability, failure rate, quantiles and mean times, for one system or many draws of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import BoolArray, Durations, FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.quadrature import integrate_reliability
from relfit.base.numeric.solving import time_at_level
from relfit.system.checked_nodes import duration_array

_SMALLEST = 1e-300


class Quantities(ABC):
    """Quantities of a job on some nodes, for one or several sets of their parameters.

    Results have the shape of the sets of parameters (none for one system), followed by that of the argument. Times are
    hours, or text such as "24h".
    """

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, ...]:
        """Shape of the sets of parameters: () or (rows,)."""

    @abstractmethod
    def _log_reliability(self, x: FloatArray) -> FloatArray:
        """Log reliability at times of shape (m, rows), which may have only the first rows; the same shape."""

    @abstractmethod
    def _rate(self, x: FloatArray) -> FloatArray:
        """Failure rate per hour of the job given that it still runs; shapes as for `_log_reliability`."""

    @abstractmethod
    def _finite(self) -> BoolArray:
        """Whether each row's mean time to failure is finite, by the tails of its nodes."""

    @property
    def _rows(self) -> int:
        return int(np.prod(self._shape, dtype=np.int64))

    def _each(self, x: FloatArray) -> FloatArray:
        return np.broadcast_to(x.reshape(-1, 1), (x.size, self._rows))

    def _shaped(self, values: FloatArray, x: FloatArray) -> FloatArray:
        return np.asarray(values.T).reshape(self._shape + x.shape)

    def log_reliability(self, horizon: Durations) -> FloatArray:
        """Log of the probability that the job still runs after `horizon`."""
        x = horizon_hours(horizon)
        return self._shaped(self._log_reliability(self._each(x)), x)

    def cumulative_hazard(self, horizon: Durations) -> FloatArray:
        """Minus the log of the reliability."""
        return -self.log_reliability(horizon)

    def reliability(self, horizon: Durations) -> FloatArray:
        """Probability that the job still runs after `horizon`: hours from now, or text such as "24h"; any shape."""
        with np.errstate(under="ignore"):
            return np.exp(self.log_reliability(horizon))

    def cdf(self, horizon: Durations) -> FloatArray:
        """Probability that a failure has ended the job within `horizon`."""
        with np.errstate(under="ignore"):
            return -np.expm1(self.log_reliability(horizon))

    def hazard(self, horizon: Durations) -> FloatArray:
        """Failure rate per hour of the job after a finite `horizon`, given that it still runs."""
        x = finite_hours(horizon)
        return self._shaped(self._rate(self._each(x)), x)

    def pdf(self, horizon: Durations) -> FloatArray:
        """Density of the time to failure of the job, per hour."""
        x = horizon_hours(horizon)
        with np.errstate(under="ignore", invalid="ignore"):
            alive = self.reliability(x)
            return np.where((alive > 0.0) & np.isfinite(x), alive * self.hazard(np.where(np.isinf(x), 0.0, x)), 0.0)

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Hours by which the job has failed with this probability; infinite if it never has."""
        p = np.asarray(probability, dtype=np.float64)
        if np.any(~((p >= 0.0) & (p <= 1.0))):
            raise ArgumentError("a probability must lie between 0 and 1")
        with np.errstate(divide="ignore"):
            levels = np.log(-np.log1p(-p.reshape(-1)))
        times = [self._time_of(float(level)) for level in levels]
        return self._shaped(np.reshape(times, (-1, self._rows)), p)

    def _time_of(self, log_level: float, after: float = 0.0) -> FloatArray:
        """Time at which the log of each row's cumulative hazard, counted from `after`, has this value."""
        rows = self._rows
        before = self._log_reliability(np.full((1, rows), after))[0] if after else np.zeros(rows)

        def log_hazard(some: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
            x = np.zeros((1, rows))
            x[0, some] = time
            return np.log(np.maximum(before - self._log_reliability(after + x)[0], 0.0)[some])

        return time_at_level(log_hazard, np.full(rows, log_level))

    def mttf(self) -> FloatArray:
        """Mean time to failure of the job in hours, the integral of its reliability.

        It is infinite for nodes that may never fail (`LimitedFailure`), for a reliability that falls no faster than 1/x
        (one loglogistic node of shape up to 1), and beyond the largest float.
        """
        return self._mean_after(0.0).reshape(self._shape)

    def mean_residual_life(self, after: Durations) -> FloatArray:
        """Mean hours that remain to a job that still runs after a finite time `after`."""
        x = finite_hours(after)
        means = [self._mean_after(float(one)) for one in x.reshape(-1)]
        return self._shaped(np.reshape(means, (-1, self._rows)), x)

    def _mean_after(self, after: float) -> FloatArray:
        """Mean residual life of each row."""
        rows = self._rows
        centre = self._time_of(np.log(np.log(2.0)), after)
        usable = self._finite() & np.isfinite(centre)
        before = self._log_reliability(np.full((1, rows), after))[0] if after else np.zeros(rows)

        def left(x: FloatArray, count: int) -> FloatArray:
            means = self._log_reliability(after + np.broadcast_to(x, (x.shape[0], count))) - before[:count]
            return np.where(usable[:count], means, -np.inf)

        means = integrate_reliability(left, np.where(usable, np.maximum(centre, _SMALLEST), 1.0), rows)
        return np.where(usable, means, np.where(np.isneginf(before), np.nan, np.inf))

    def truncated_mean(self, horizon: Durations) -> FloatArray:
        """Mean hours until the failure or `horizon`, the earlier: the integral of the reliability up to `horizon`."""
        x = horizon_hours(horizon)
        means = np.zeros((x.size, self._rows))
        for i, end in enumerate(x.reshape(-1)):
            if np.isinf(end):
                means[i] = self._mean_after(0.0)
            elif end > 0.0:
                means[i] = integrate_reliability(
                    lambda t, count: self._log_reliability(np.broadcast_to(t, (t.shape[0], count))),
                    end,
                    self._rows,
                    beyond=False,
                )
        return self._shaped(means, x)

    def mean_given_failure(self, horizon: Durations) -> FloatArray:
        """Mean time to failure, hours, of the jobs that fail within `horizon`: the time lost in a failed attempt."""
        x = horizon_hours(horizon)
        with np.errstate(all="ignore"):
            failed = self.cdf(x)
            lost = (self.truncated_mean(x) - x * self.reliability(x)) / failed
            if np.all(failed > 0.01):
                return np.asarray(lost)
            # where failures are rare, from the integral of their probability
            rare = np.zeros((x.size, self._rows))
            for i, end in enumerate(x.reshape(-1)):
                if 0.0 < end < np.inf:
                    share = partial(self._log_share, failed.reshape(self._rows, -1)[:, i])
                    rare[i] = end - integrate_reliability(share, end, self._rows, beyond=False)
            return np.where(failed > 0.01, lost, self._shaped(rare, x))

    def _log_share(self, failed: FloatArray, time: FloatArray, count: int) -> FloatArray:
        """Log of the probability of failure by `time` relative to that at the end."""
        log_alive = self._log_reliability(np.broadcast_to(time, (time.shape[0], count)))
        return np.asarray(np.log(-np.expm1(log_alive)) - np.log(failed[:count]))


def horizon_hours(horizon: Durations) -> FloatArray:
    """Horizons in hours, at or above zero."""
    x = duration_array(horizon, "horizon")
    if np.any(~(x >= 0.0)):
        bad = x[~(x >= 0.0)].ravel()[0]
        raise ArgumentError(f"a horizon of {bad:g} h", remedy="give hours from now, at or above zero")
    return x


def finite_hours(horizon: Durations) -> FloatArray:
    """As `horizon_hours`, for quantities that assume that the job still runs then: finite."""
    x = horizon_hours(horizon)
    if np.isinf(x).any():
        raise ArgumentError("no job still runs after an infinite time", remedy="give a finite one")
    return x
