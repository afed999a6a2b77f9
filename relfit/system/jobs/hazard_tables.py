"""Cumulative hazards tabulated over the log of time, of systems, of the first k nodes, or between failures of many."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.fitting.families.distribution import Distribution
from relfit.system.jobs._time_to_failure import TimeToFailure, time_to_failure

if TYPE_CHECKING:
    from relfit.system import System


_STEP = 0.2  # of the grid in the log of time
_LEFT = 14.0  # how far below the shortest time the grid goes, in the log of time
_POINTS = 8
_ON_A_POINT = 1e-300
_WEIGHTS = np.array([(-1.0) ** i * math.comb(_POINTS - 1, i) for i in range(_POINTS)])


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
    """Cumulative hazards for the rows `begin` to `end` of `log_x`, by the polynomial through the eight nearest points.

    In its barycentric form; outside the grid by a straight line, a power of time.
    """
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
                weight = _WEIGHTS[i] / (gap if gap != 0.0 else _ON_A_POINT)  # beside which no other weight counts
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
