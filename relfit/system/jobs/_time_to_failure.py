"""The time to the next failure of a job: from a mean time, nodes of some age, a system, or a table of hazards.

It gives completion times and planners its survival, hazard, areas under the survival curve, and random times. Tables
hold cumulative hazards over the log of time: of systems, of the first k nodes, or between the failures of many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations
from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.quadrature import gauss_legendre
from relfit.fitting.families import Exponential, Family
from relfit.fitting.families.distribution import Distribution

if TYPE_CHECKING:
    from relfit.system._model import System


_NODES, _WEIGHTS = gauss_legendre(16)
_EARLY = [1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7]
_LEVELS = np.concatenate([_EARLY, np.arange(1.0, 4.0, 0.5), np.arange(4.0, 12.0), np.arange(12.0, 45.0, 3.0)])
_CHUNK = 2_000_000
_STEP = 0.2  # of the grid in the log of time
_LEFT = 14.0  # how far below the shortest time the grid goes, in the log of time
_POINTS = 8
_ON_A_POINT = 1e-300
_BARYCENTRIC = np.array([(-1.0) ** i * math.comb(_POINTS - 1, i) for i in range(_POINTS)])


@dataclass(frozen=True, eq=False)
class TimeToFailure:
    """Time to the next failure, in hours.

    Attributes
    ----------
    log_sf, hazard : callable
        Log survival, and failure rate per hour, at an array of times of any shape.
    draw : callable
        ``draw(size, rng)``: independent random times.
    nodes : int
        Number of nodes that can fail.
    constant : float
        The failure rate per hour if it is constant, else NaN.
    """

    log_sf: Callable[[FloatArray], FloatArray]
    hazard: Callable[[FloatArray], FloatArray]
    draw: Callable[[int, np.random.Generator], FloatArray]
    nodes: int
    constant: float

    def sf(self, time: npt.ArrayLike) -> FloatArray:
        """Probability of no failure within `time` hours."""
        with np.errstate(under="ignore"):
            return np.exp(self.log_sf(np.asarray(time, dtype=np.float64)))

    @cached_property
    def panels(self) -> tuple[FloatArray, FloatArray]:
        """Edges (hours) of panels over which survival changes smoothly, and the area under survival beyond each."""
        levels, low, high = _LEVELS, np.full(_LEVELS.shape, -690.0), np.full(_LEVELS.shape, 690.0)
        for _ in range(60):  # the logs of the times at which the cumulative hazard reaches the levels
            middle = 0.5 * (low + high)
            below = -self.log_sf(np.exp(middle)) < levels
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        edges = np.exp(high)
        edges = np.concatenate([[0.0], edges[np.concatenate([[True], np.diff(edges) > 0.0])]])
        # the tail beyond all levels matters if it falls like a power of time
        last = float(edges[-1])
        scale = float(np.exp(high[np.searchsorted(levels, 0.7)]))
        while last < 1e280 and np.log(last / scale) + float(self.log_sf(np.asarray(last))) > -37.0:
            last *= 1e3
            edges = np.append(edges, last)
        return edges, np.append(np.cumsum(self._areas(edges[:-1], edges[1:])[::-1])[::-1], 0.0)

    def log_excess(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the share of the area under survival beyond `time`; also exact near zero.

        That is the log survival of the residual life at a random time in the long run.
        """
        end, total = np.asarray(time, dtype=np.float64), self.mean()
        near = self._areas(np.zeros(end.size), end.ravel()).reshape(end.shape) / total
        far = np.maximum(self.area_from(end) / total, 1e-300)
        return np.where(near < 0.01, np.log1p(-np.minimum(near, 0.5)), np.log(far))

    def _areas(self, begin: FloatArray, end: FloatArray) -> FloatArray:
        """Areas under survival between pairs of times, by Gauss-Legendre; on a log scale if their ratio is large."""
        wide = (begin > 0.0) & (end > 2.0 * begin)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low = np.where(wide, np.log(begin), begin)
            half = 0.5 * (np.where(wide, np.log(end), end) - low)
            y = (low + half)[:, None] + half[:, None] * _NODES
            x = np.where(wide[:, None], np.exp(y), y)
        weight = np.where(wide[:, None], x, 1.0) * _WEIGHTS * half[:, None]
        return np.asarray((self.sf(x) * weight).sum(axis=1))

    def area_from(self, time: npt.ArrayLike) -> FloatArray:
        """Integral of survival from `time` on, hours."""
        begin = np.asarray(time, dtype=np.float64)
        if not np.isnan(self.constant):
            return np.exp(-self.constant * begin) / self.constant
        edges, beyond = self.panels
        flat = np.minimum(begin.ravel(), edges[-1])
        panel = np.minimum(np.searchsorted(edges, flat, side="right"), edges.size - 1)
        area = np.empty(flat.shape)
        step = max(1, _CHUNK // (_NODES.size * max(self.nodes, 1)))
        for i in range(0, flat.size, step):
            part = slice(i, i + step)
            area[part] = self._areas(flat[part], edges[panel[part]]) + beyond[panel[part]]
        return area.reshape(begin.shape)

    def mean(self) -> float:
        """Mean hours to the next failure; a `DataError` if it is infinite, so that the long run never comes."""
        mean = float(self.area_from(0.0))
        if not mean < 1e200 or (np.isnan(self.constant) and self.panels[0][-1] >= 1e280):
            what = "the mean time to the next failure is infinite, so the long run never comes"
            raise DataError(what, remedy="plan with a family whose mean is finite")
        return mean


def time_to_failure(source: object, ages: Durations = 0.0, nodes: int = 1) -> TimeToFailure:
    """The time to the next failure of nodes with ages, or of a system.

    Parameters
    ----------
    source : Distribution, System, TimeToFailure, or a mean time in hours
        One distribution or a batch of them (one per node); a mean time stands for exponential failures.
    ages : array_like of durations
        Time since each node's own last failure; broadcast against the batch; 0 by default. A system has its own ages.
    nodes : int
        Number of equal nodes, if `source` is a single distribution and `ages` a single age.

    Raises
    ------
    ArgumentError
        For any other source, ages with a system, or a number of nodes that does not fit.

    Examples
    --------
    >>> from relfit.fitting.families import Weibull
    >>> three = time_to_failure(Weibull(0.8606, 1542.0), ages=[300.0] * 3)
    >>> round(float(three.sf(500.0)), 4), round(three.mean(), 3)
    (0.3782, 536.843)
    """
    if isinstance(source, TimeToFailure):
        return source
    if isinstance(source, Distribution):
        return _of_nodes(source, durations("ages", ages), nodes)
    if hasattr(source, "log_reliability") and hasattr(source, "n_nodes"):
        if np.any(np.asarray(durations("ages", ages)) != 0.0):
            raise ArgumentError(
                "a system has ages of its own", remedy="leave ages out, or give the nodes' distribution"
            )
        return _of_system(cast("System", source))
    if isinstance(source, (int, float, str, np.number)) or hasattr(source, "total_seconds"):
        mtbf = float(durations("mtbf", source, zero=False))
        return _of_nodes(Exponential(np.asarray(1.0 / mtbf)), np.zeros(()), nodes)
    raise ArgumentError(
        f"cannot plan with {type(source).__name__}", remedy="give a mean time, a fitted family or a system"
    )


def _of_nodes(family: Distribution, ages: FloatArray, nodes: int) -> TimeToFailure:
    shape = np.broadcast_shapes(family.batch_shape, ages.shape)
    size = int(np.prod(shape)) if shape else 1
    if size > 1 and nodes not in (1, size):
        raise ArgumentError(f"nodes={nodes} but there are {size} ages or distributions", remedy="leave nodes out")
    times = nodes if size == 1 else 1
    past = np.broadcast_to(ages, shape).ravel()
    batch = family if size == 1 else _flat(family, shape)
    first = past[0] if size == 1 else past
    before = batch.log_sf(first)

    def log_sf(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            if size == 1:
                return times * (batch.log_sf(first + x) - before).reshape(x.shape)
            return (batch.log_sf(past + x[..., None]) - before).sum(axis=-1)

    def hazard(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        if size == 1:
            return times * batch.hazard(first + x).reshape(x.shape)
        return batch.hazard(past + x[..., None]).sum(axis=-1)

    def draw(count: int, rng: np.random.Generator) -> FloatArray:
        if size == 1:
            # the first of n failures has n times the hazard: divide the drawn cumulative hazard by n
            spent = rng.standard_exponential(count) / times
            return np.asarray(batch.inverse_cumulative_hazard(spent - before) - first).reshape(count)
        first_failure = np.empty(count)
        chunk = max(1, _CHUNK // size)
        for i in range(0, count, chunk):
            part = min(chunk, count - i)
            first_failure[i : i + part] = batch.excess_sample(past, part, rng).reshape(part, size).min(axis=1)
        return first_failure

    name = getattr(family, "name", "")
    constant = float(np.sum(np.broadcast_to(family.hazard(1.0), shape))) * times if name == "exponential" else np.nan
    return TimeToFailure(log_sf, hazard, draw, size, constant)


def _flat(family: Distribution, shape: tuple[int, ...]) -> Distribution:
    """The batch with a single axis of nodes."""
    if not isinstance(family, Family):
        raise ArgumentError(f"{type(family).__name__} is not a batch of nodes", remedy="give a system of them")
    parameters = [np.broadcast_to(value, shape).ravel() for value in family.parameters().values()]
    return type(family).unchecked(*parameters)


def _of_system(system: System) -> TimeToFailure:
    rate = float(system.hazard(1.0)) if has_constant_rates(system) else np.nan
    return TimeToFailure(system.log_reliability, system.hazard, system.sample, system.n_nodes, rate)


def has_constant_rates(system: System) -> bool:
    """Whether the failure rate of a system is constant: nodes, racks and common causes are all exponential."""
    parts = [
        *system.components,
        *(part for events in (system.racks, system.common) if events is not None for part in events.components),
    ]
    return not system.tolerance and all(getattr(part.family, "name", "") == "exponential" for part in parts)


@dataclass(frozen=True, eq=False)
class HazardTable:
    """Cumulative hazards of K systems, interpolated to about nine digits."""

    first: float  # log of the first time of the grid
    log_hazard: FloatArray  # on the grid, (K, M)

    def __call__(self, rows: IntArray, time: FloatArray) -> FloatArray:
        """Cumulative hazards (r, m) of the systems `rows` (r,) at times (r, m), hours."""
        with np.errstate(divide="ignore"):
            log_time = np.log(time)
        out = np.empty(time.shape)
        offsets = time.shape[1] * np.arange(rows.size + 1, dtype=np.int64)
        over_groups(offsets, lambda a, b: _interpolate(self.log_hazard, self.first, rows, log_time, a, b, out))
        return out

    def life(self, row: int) -> TimeToFailure:
        """Time to failure of one system, with its survival only."""
        place = np.array([row])

        def log_sf(time: FloatArray) -> FloatArray:
            return -self(place, np.asarray(time, dtype=np.float64).reshape(1, -1)).reshape(np.shape(time))

        return TimeToFailure(log_sf, _not_tabulated, _not_tabulated, 1, np.nan)


def _not_tabulated(*_: object) -> FloatArray:
    raise NotImplementedError("a table has only cumulative hazards")


def table_of(hazard: Callable[[FloatArray], FloatArray], shortest: float, longest: float) -> HazardTable:
    """The table of cumulative hazards, (m,) or (K, m) at m times between `shortest` and `longest`, hours."""
    first = math.log(shortest) - _LEFT
    points = max(math.ceil((math.log(longest) - first) / _STEP) + 2, _POINTS)
    with np.errstate(divide="ignore"):
        return HazardTable(first, np.log(np.atleast_2d(hazard(np.exp(first + _STEP * np.arange(points))))))


def table_by_size(system: System, order: IntArray, last: IntArray, shortest: float, longest: float) -> HazardTable:
    """The table of jobs on the nodes of an order up to each of `last`, for times of `shortest` to `longest` hours."""
    nodes = system.take(order)

    def hazard(time: FloatArray) -> FloatArray:
        return np.ascontiguousarray(nodes.quantity_by_size("cumulative_hazard", time)[last])

    return table_of(hazard, shortest, longest)


@njit(cache=True, nogil=True)
def _interpolate(
    table: np.ndarray, first: float, rows: np.ndarray, log_x: np.ndarray, begin: int, end: int, out: np.ndarray
) -> None:
    """Cumulative hazards at `log_x`: barycentric through the eight nearest points, a power of time outside the grid."""
    last = table.shape[1] - 1
    for r in range(begin, end):
        values = table[rows[r]]
        for c in range(log_x.shape[1]):
            place = (log_x[r, c] - first) / _STEP
            if place <= 0.0:
                slope = (values[4] - values[0]) / 4.0 if values[0] > -np.inf else 0.0
                out[r, c] = math.exp(values[0] + slope * place)
                continue
            if place >= last:
                out[r, c] = math.exp(values[last] + (values[last] - values[last - 1]) * (place - last))
                continue
            low = min(max(int(place) - _POINTS // 2 + 1, 0), last - _POINTS + 1)
            above = 0.0
            below = 0.0
            for i in range(_POINTS):
                gap = place - (low + i)
                weight = _BARYCENTRIC[i] / (gap if gap != 0.0 else _ON_A_POINT)  # beside which no other weight counts
                above += weight * values[low + i]
                below += weight
            value = above / below
            if not abs(value) < 1e300:  # a hazard of zero or infinity among the eight
                near = values[int(place)]
                value = near + (place - int(place)) * (values[int(place) + 1] - near)
                if value != value:
                    value = near
            out[r, c] = math.exp(value)


def between_failures(family: Distribution, nodes: int = 1) -> TimeToFailure:
    """The time from one failure of equal nodes to the next of any of them, if each failed node is new.

    The others continue to age, so after many failures they are of all ages (renewal processes in equilibrium). With S_e
    the survival of their residual life, the survival is ``S(t) S_e(t)**(n - 1)``. Many nodes fail at the nearly
    constant rate of n over the mean time to failure.

    Parameters
    ----------
    family : Distribution
        The distribution of the times to failure of each node.
    nodes : int
        Number of nodes.

    Raises
    ------
    ArgumentError
        For a batch of distributions.
    DataError
        If the mean time to failure is infinite.

    Examples
    --------
    >>> from relfit.fitting.families import Weibull
    >>> life = between_failures(Weibull(0.6, 1000.0), 500)
    >>> round(life.mean(), 3), round(time_to_failure(Weibull(0.6, 1000.0), nodes=500).mean(), 3)
    (3.009, 0.048)
    """
    if family.batch_shape:
        raise ArgumentError("nodes that differ have no one distribution", remedy="give one family, or ages for each")
    one = time_to_failure(family)
    if nodes == 1 or not np.isnan(one.constant):
        return time_to_failure(family, nodes=nodes)
    mean, others = one.mean(), nodes - 1

    def spent(time: FloatArray) -> FloatArray:
        return -others * one.log_excess(time) - one.log_sf(time)

    def hazard(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = others * one.sf(x) / one.area_from(x)
        return np.asarray(np.where(np.isfinite(rate), rate, 0.0) + one.hazard(x))

    return replace(table_of(spent, mean / nodes, 300.0 * mean).life(0), hazard=hazard)
