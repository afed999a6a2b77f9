"""What a system, or several, can be asked: reliability, hazard, quantiles, means, random times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.system.components import Component, duration_array
from relfit.system.engines import Engine, Series, Sets, Tolerant
from relfit.system.hazards import NodeHazards
from relfit.system.reliability_integrals import integrate_reliability
from relfit.system.solving import time_of_log_hazard
from relfit.system.tails import tail_index

if TYPE_CHECKING:
    from relfit.system.system import System

__all__ = ["Quantities", "engine_of", "finite_hours", "horizon_hours"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_HALF = 0.6931471805599453
_SMALLEST = 1e-300


class Quantities(ABC):
    """Results have the shape of the sets (none for one system) and then that of the argument."""

    @property
    @abstractmethod
    def _engine(self) -> Engine:
        """What answers."""

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, ...]:
        """Shape of the sets."""

    # ------------------------------------------------------------ of a horizon

    def log_reliability(self, horizon: Any) -> FloatArray:
        """Log of the probability that the job still runs after `horizon`."""
        x = horizon_hours(horizon)
        found = self._engine.log_reliability(x.reshape(1, -1))
        return found.reshape(self._shape + x.shape)

    def cumulative_hazard(self, horizon: Any) -> FloatArray:
        """Minus the log of the reliability."""
        return -self.log_reliability(horizon)

    def reliability(self, horizon: Any, interval: float | None = None) -> Any:
        """Probability that the job still runs after `horizon`.

        Parameters
        ----------
        horizon : float or duration, or array of these
            Hours from now, or text such as "24h".
        interval : float, optional
            Level: gives the interval that the uncertainty of the fitted parameters leaves, for systems made from fits.
        """
        if interval is not None:
            return self._interval("reliability", horizon, interval)
        with np.errstate(under="ignore"):
            return np.exp(self.log_reliability(horizon))

    def cdf(self, horizon: Any, interval: float | None = None) -> Any:
        """Probability that the job has been ended by a failure within `horizon`."""
        if interval is not None:
            return self._interval("cdf", horizon, interval)
        with np.errstate(under="ignore"):
            return -np.expm1(self.log_reliability(horizon))

    def hazard(self, horizon: Any, interval: float | None = None) -> Any:
        """Failure rate of the job after `horizon`, which must be finite, per hour, given that it still runs."""
        x = finite_hours(horizon)
        if interval is not None:
            return self._interval("hazard", horizon, interval)
        return self._engine.rate(x.reshape(1, -1)).reshape(self._shape + x.shape)

    def pdf(self, horizon: Any, interval: float | None = None) -> Any:
        """Density of the time to failure of the job, per hour."""
        if interval is not None:
            return self._interval("pdf", horizon, interval)
        with np.errstate(under="ignore", invalid="ignore"):
            x = horizon_hours(horizon)
            alive = np.exp(self.log_reliability(x))
            return np.where((alive > 0.0) & np.isfinite(x), alive * self.hazard(np.where(np.isinf(x), 0.0, x)), 0.0)

    def _interval(self, quantity: str, argument: Any, level: float) -> Any:
        from relfit.system.uncertainty import interval_of  # type: ignore[import-not-found,unused-ignore]

        found: Any = interval_of
        return found(self, quantity, argument, level)

    # --------------------------------------------------------- of a probability

    def quantile(self, probability: npt.ArrayLike, interval: float | None = None) -> Any:
        """Time by which the job has failed with this probability; infinite where it never does."""
        p = np.asarray(probability, dtype=np.float64)
        if np.any(~((p >= 0.0) & (p <= 1.0))):
            raise ArgumentError("a probability must lie between 0 and 1")
        if interval is not None:
            return self._interval("quantile", p, interval)
        rows = self._engine.n_rows
        with np.errstate(divide="ignore"):
            wanted = np.log(-np.log1p(-p.reshape(-1)))
        found = self._times(np.tile(wanted, rows), np.repeat(np.arange(rows), p.size))
        return found.reshape(self._shape + p.shape)

    def _times(self, wanted: FloatArray, row: IntArray) -> FloatArray:
        """Times at which the log of the cumulative hazard of rows reaches what is wanted."""
        one = self._engine.n_rows == 1

        def log_hazard(some: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
            if one:
                spent = -self._engine.log_reliability(time[None])[0]
            else:
                spent = -self._engine.log_reliability(time[:, None], row[some])[:, 0]
            with np.errstate(divide="ignore"):
                return np.log(np.maximum(spent, 0.0))

        return time_of_log_hazard(log_hazard, wanted, self._near())

    def _near(self) -> float:
        """A time about which the search may begin."""
        return 1.0

    # ------------------------------------------------------------------- means

    def mttf(self, interval: float | None = None) -> Any:
        """Mean time to failure of the job in hours; infinite where the integral of the reliability is.

        It is infinite with nodes that may never fail (`LimitedFailure`) or whose reliability falls no faster than 1/x
        (loglogistic of shape up to 1, alone), and where it exceeds the largest float.
        """
        if interval is not None:
            return self._interval("mttf", None, interval)
        return self._means()[0].reshape(self._shape)

    def _means(self) -> tuple[FloatArray, FloatArray]:
        """Mean time to failure of every row, and the relative error that its integral may have."""
        engine = self._engine
        rows = np.arange(engine.n_rows)
        value, error = np.full(rows.size, np.inf), np.zeros(rows.size)
        finite = np.flatnonzero(self._tails() > 1.0)
        if finite.size:
            centre = np.maximum(self._times(np.full(finite.size, np.log(_HALF)), finite), _SMALLEST)
            far = ~np.isfinite(centre)
            found = integrate_reliability(
                lambda x: np.exp(engine.log_reliability(x, None if finite.size == rows.size else finite)),
                np.where(far, 1.0, centre),
                beyond=True,
            )
            value[finite], error[finite] = np.where(far, np.inf, found.value), found.error
        return value, error

    @abstractmethod
    def _tails(self) -> FloatArray:
        """Power of time with which the reliability of each row falls in the end; the mean is finite above 1."""

    def truncated_mean(self, horizon: Any) -> FloatArray:
        """Mean of the shorter of the time to failure and `horizon`: the integral of the reliability up to it, hours."""
        x = horizon_hours(horizon)
        flat = x.reshape(-1)
        rows, count = self._engine.n_rows, flat.size
        found = np.zeros((rows, count))
        finite = (flat > 0.0) & np.isfinite(flat)
        some = flat[finite]
        if some.size:
            row = np.repeat(np.arange(rows), some.size)

            def reliability(times: FloatArray) -> FloatArray:
                if rows == 1:
                    return np.exp(self._engine.log_reliability(times.reshape(1, -1))).reshape(times.shape)
                return np.exp(self._engine.log_reliability(times, row))

            value = integrate_reliability(reliability, np.tile(some, rows), beyond=False).value
            found[:, finite] = value.reshape(rows, -1)
        if np.isposinf(flat).any():
            found[:, np.isposinf(flat)] = self._means()[0][:, None]
        return found.reshape(self._shape + x.shape)

    def mean_residual_life(self, after: Any, interval: float | None = None) -> Any:
        """Mean time that is left, in hours, to a job that still runs after `after`, which must be finite."""
        x = finite_hours(after)
        if interval is not None:
            return self._interval("mean_residual_life", after, interval)
        found = [self._mean_after(float(one)) for one in x.reshape(-1)]
        return np.stack(found, axis=-1).reshape(self._shape + x.shape) if found else np.empty(self._shape + x.shape)

    def _mean_after(self, after: float) -> FloatArray:
        """Mean time left of each row."""
        engine = self._engine
        before = engine.log_reliability(np.array([[after]]))
        finite = np.flatnonzero(self._tails() > 1.0)
        value = np.full(engine.n_rows, np.inf)

        def spent(time: FloatArray, some: IntArray) -> FloatArray:
            return before[some] - engine.log_reliability(after + time, some)

        def log_hazard(some: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.log(np.maximum(spent(time[:, None], finite[some])[:, 0], 0.0))

        centre = time_of_log_hazard(log_hazard, np.full(finite.size, np.log(_HALF)))
        far = ~np.isfinite(centre)
        found = integrate_reliability(
            lambda x: np.exp(-spent(x, finite)), np.where(far, 1.0, np.maximum(centre, _SMALLEST)), beyond=True
        )
        value[finite] = np.where(far, np.inf, found.value)
        return value

    def mean_given_failure(self, horizon: Any) -> FloatArray:
        """Mean time to failure of the jobs that fail within `horizon`: what a failed attempt costs, in hours."""
        x = horizon_hours(horizon)
        lost = self.truncated_mean(x) - x * self.reliability(x)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(lost / self.cdf(x))


def horizon_hours(horizon: Any) -> FloatArray:
    """Horizons in hours, at or above zero."""
    x = duration_array(horizon, "horizon")
    if np.any(~(x >= 0.0)):
        bad = x[~(x >= 0.0)].ravel()[0]
        raise ArgumentError(f"a horizon of {bad:g} h", remedy="give hours from now, at or above zero")
    return x


def finite_hours(horizon: Any) -> FloatArray:
    """As `horizon_hours`, for what is given that the job still runs then."""
    x = horizon_hours(horizon)
    if np.isinf(x).any():
        raise ArgumentError("no job still runs after an infinite time", remedy="give a finite one")
    return x


def engine_of(system: System, sets: Sets | None) -> Engine:
    """The engine for all nodes of a system, or for sets of them."""
    size = system.n_nodes
    nodes = sets or Sets(np.arange(size, dtype=np.int64), np.array([0, size], dtype=np.int64))
    racks, common = system.racks, system.common
    with_nodes = system.tolerance == 0
    parts: list[tuple[tuple[Component, ...], FloatArray]] = []
    members: list[Sets] = []
    if with_nodes:
        parts.append((system.components, system.ages))
        members.append(nodes)
    if racks is not None and (with_nodes or system.rack_events == "job"):
        parts.append((racks.components, racks.ages))
        members.append(_racks_in(nodes, racks.of_node))
    if common is not None:
        parts.append((common.components, common.ages))
        members.append(_each(nodes.n_sets, common.ages.size))
    series = None
    if parts:
        components, ages, first = [], [], 0
        for own, old in parts:
            components += [Component(c.family, c.positions + first) for c in own]
            ages.append(old)
            first += old.size
        offset = np.cumsum([0] + [old.size for old in ages[:-1]])
        series = Series(NodeHazards(components, np.concatenate(ages)), _joined(members, offset))
    if with_nodes:
        assert series is not None
        return series
    counting = racks is not None and system.rack_events == "nodes"
    return Tolerant(
        NodeHazards(system.components, system.ages),
        nodes,
        system.tolerance,
        series,
        NodeHazards(racks.components, racks.ages) if counting and racks is not None else None,
        racks.of_node if counting and racks is not None else None,
    )


def _each(sets: int, size: int) -> Sets:
    """The same `size` members in every set."""
    return Sets(np.tile(np.arange(size, dtype=np.int64), sets), np.arange(sets + 1, dtype=np.int64) * size)


def _racks_in(nodes: Sets, of_node: IntArray) -> Sets:
    """The racks that each set has nodes in."""
    sets = np.repeat(np.arange(nodes.n_sets), nodes.sizes)
    pairs = np.unique(np.stack([sets, of_node[nodes.members]], axis=1), axis=0)
    offsets = np.searchsorted(pairs[:, 0], np.arange(nodes.n_sets + 1)).astype(np.int64)
    return Sets(pairs[:, 1].astype(np.int64), offsets)


def _joined(parts: list[Sets], offset: IntArray) -> Sets:
    """Union of the members, row by row."""
    if len(parts) == 1:
        return parts[0]
    row = np.concatenate([np.repeat(np.arange(p.n_sets), p.sizes) for p in parts])
    members = np.concatenate([p.members + first for p, first in zip(parts, offset, strict=True)])
    order = np.argsort(row, kind="stable")
    sizes = np.sum([p.sizes for p in parts], axis=0)
    return Sets(members[order], np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def tails_of(system: System, sets: Sets) -> FloatArray:
    """Power with which the reliability of each set falls in the end: the sum over what must fail."""
    index = np.empty(system.n_nodes)
    for component in system.components:
        index[component.positions] = tail_index(component.family)
    found = np.zeros(sets.n_sets)
    common = 0.0
    if system.common is not None:
        common = float(sum(tail_index(c.family).sum() for c in system.common.components))
    rack = np.zeros(0)
    if system.racks is not None:
        rack = np.empty(system.racks.ages.size)
        for component in system.racks.components:
            rack[component.positions] = tail_index(component.family)
    if np.isinf(index).all() or np.isinf(common):
        # with a tolerance at least one node must fail
        return np.full(sets.n_sets, np.inf)
    for row in range(sets.n_sets):
        members = sets.members[sets.offsets[row] : sets.offsets[row + 1]]
        own = np.sort(index[members])
        total = own[: max(own.size - system.tolerance, 0)].sum() + common
        if system.racks is not None and (system.tolerance == 0 or system.rack_events == "job"):
            total += rack[np.unique(system.racks.of_node[members])].sum()
        elif system.racks is not None:
            total = np.inf if np.isinf(rack).all() else total
        found[row] = total
    return found
