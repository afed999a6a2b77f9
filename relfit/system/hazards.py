"""Cumulative hazards of many nodes at many horizons: of each, of all together, and of the first k for every k."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from relfit.families import Exponential, Gompertz, Loglogistic, Weibull, Weibull3, ZeroInflated
from relfit.numeric.batches import over_groups
from relfit.system import kernels
from relfit.system.components import Component
from relfit.system.excess import Life, excess_hazard, excess_log_rate

__all__ = [
    "NodeHazards",
    "in_threads",
    "node_cumulative_hazards",
    "node_rates",
    "prefix_cumulative_hazards",
    "total_cumulative_hazard",
    "total_rate",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CHUNK = 2_000_000  # entries of a matrix of nodes by horizons that are held at a time
_WEIBULL, _GOMPERTZ, _LOGLOGISTIC, _OTHER = 0, 1, 2, -1


def in_threads(size: int, weight: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(first, last)`` on parts of ``range(size)``, each item of which weighs about `weight` lives."""
    over_groups(np.arange(size + 1, dtype=np.int64) * max(weight, 1), work)


class NodeHazards:
    """Further cumulative hazards and failure rates of nodes of given ages, prepared for many horizons.

    Weibull, exponential, Gompertz and loglogistic nodes go through compiled loops, the others through their family.

    Parameters
    ----------
    components : sequence of Component
    ages : ndarray, shape (n_nodes,)
        Hours.
    """

    def __init__(self, components: Sequence[Component], ages: FloatArray) -> None:
        self.components = tuple(components)
        self.ages = np.asarray(ages, dtype=np.float64)
        self.component_of = np.empty(self.ages.size, dtype=np.int64)
        self.place_in = np.empty(self.ages.size, dtype=np.int64)
        self.codes = np.full(self.ages.size, _OTHER, dtype=np.int64)
        self.table = np.zeros((self.ages.size, 7))
        for number, component in enumerate(self.components):
            where = component.positions
            self.component_of[where] = number
            self.place_in[where] = np.arange(where.size)
            self._tabulate(component)

    def _tabulate(self, component: Component) -> None:
        family, where = component.family, component.positions
        ages = self.ages[where]
        wait = np.zeros(where.size)
        if isinstance(family, Exponential):
            code, shape, scale = _WEIBULL, np.ones(where.size), 1.0 / family.rate
        elif isinstance(family, (Weibull, ZeroInflated)):
            code, shape, scale = _WEIBULL, family.shape, family.scale
        elif isinstance(family, Weibull3):
            code, shape, scale = _WEIBULL, family.shape, family.scale
            wait = np.maximum(family.threshold - ages, 0.0)
            ages = np.maximum(ages - family.threshold, 0.0)
        elif isinstance(family, Loglogistic):
            code, shape, scale = _LOGLOGISTIC, family.shape, family.scale
        elif isinstance(family, Gompertz):
            with np.errstate(over="ignore", under="ignore"):
                code, shape = _GOMPERTZ, family.growth
                scale = np.exp(-family.growth * ages) / family.rate
            if np.any(scale <= 0.0):
                return
        else:
            return
        table = self.table
        self.codes[where] = code
        table[where, 0], table[where, 1], table[where, 2], table[where, 3] = shape, scale, ages, wait
        with np.errstate(all="ignore"):
            log_ratio = np.where(ages > 0.0, np.log(ages) - np.log(scale), np.log(scale))
            table[where, 4] = log_ratio
            if code == _WEIBULL:
                table[where, 5] = (ages / scale) ** shape
            elif code == _LOGLOGISTIC:
                table[where, 5] = np.logaddexp(0.0, shape * log_ratio)
                table[where, 6] = 1.0 / (1.0 + np.exp(-shape * log_ratio))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.ages.size)

    def spent(self, x: FloatArray, nodes: IntArray | None = None) -> FloatArray:
        """Further cumulative hazards, shape (nodes, m).

        Parameters
        ----------
        x : ndarray, shape (m,) or (nodes, m)
            Hours from now, for all nodes or for each.
        nodes : ndarray of int, optional
            Which nodes, all when left out; one may stand more than once.
        """
        chosen = np.arange(self.n_nodes) if nodes is None else nodes
        times = np.ascontiguousarray(np.atleast_2d(x), dtype=np.float64)
        out = np.empty((chosen.size, times.shape[1]))
        compiled = self.codes[chosen] >= 0
        if compiled.any():
            in_threads(
                chosen.size,
                times.shape[1],
                lambda a, b: kernels.fill(self.codes, self.table, chosen, times, out, a, b),
            )
        if not compiled.all():
            self._others(chosen, ~compiled, times, out, rate=False)
        return out

    def rate(self, x: FloatArray, nodes: IntArray | None = None) -> FloatArray:
        """Failure rates per hour, shape (nodes, m); arguments as for `spent`."""
        chosen = np.arange(self.n_nodes) if nodes is None else nodes
        times = np.atleast_2d(np.asarray(x, dtype=np.float64))
        out = np.empty((chosen.size, times.shape[1]))
        self._others(chosen, np.ones(chosen.size, dtype=np.bool_), times, out, rate=True)
        return out

    def _others(
        self, chosen: IntArray, wanted: npt.NDArray[np.bool_], times: FloatArray, out: FloatArray, rate: bool
    ) -> None:
        of = self.component_of[chosen]
        width = max(1, CHUNK // max(1, times.shape[1]))
        for number, component in enumerate(self.components):
            rows = np.flatnonzero(wanted & (of == number))

            def fill(a: int, b: int, rows: IntArray = rows, family: Life = component.family) -> None:
                for first in range(a, b, width):
                    part = rows[first : min(first + width, b)]
                    nodes = chosen[part]
                    own = family[self.place_in[nodes]]
                    x = (times if times.shape[0] == 1 else times[part]).T
                    if rate:
                        with np.errstate(over="ignore", under="ignore"):
                            out[part] = np.exp(excess_log_rate(own, self.ages[nodes], x)).T
                    else:
                        out[part] = excess_hazard(own, self.ages[nodes], x).T

            in_threads(rows.size, 8 * times.shape[1], fill)


def node_cumulative_hazards(components: Sequence[Component], ages: FloatArray, x: npt.ArrayLike) -> FloatArray:
    """Further cumulative hazard of every node, ``H_i(age_i + x) - H_i(age_i)``.

    Parameters
    ----------
    components : sequence of Component
    ages : ndarray, shape (n_nodes,)
        Hours.
    x : array_like, shape (m,)
        Hours from now.

    Returns
    -------
    ndarray, shape (n_nodes, m)
    """
    return NodeHazards(components, ages).spent(np.asarray(x, dtype=np.float64).reshape(-1))


def node_rates(components: Sequence[Component], ages: FloatArray, x: npt.ArrayLike) -> FloatArray:
    """Failure rate of every node at ``age + x``, per hour, shape (n_nodes, m)."""
    return NodeHazards(components, ages).rate(np.asarray(x, dtype=np.float64).reshape(-1))


def _summed(values: Callable[[FloatArray, IntArray], FloatArray], nodes: int, x: npt.ArrayLike) -> FloatArray:
    times = np.asarray(x, dtype=np.float64)
    points = times.reshape(-1)
    total = np.zeros(points.size)
    wide = max(1, CHUNK // 64)
    for begin in range(0, points.size, wide):
        some = points[begin : begin + wide]
        step = max(1, CHUNK // max(1, some.size))
        for first in range(0, nodes, step):
            total[begin : begin + wide] += values(some, np.arange(first, min(first + step, nodes))).sum(axis=0)
    return total.reshape(times.shape)


def total_cumulative_hazard(components: Sequence[Component], ages: FloatArray, x: npt.ArrayLike) -> FloatArray:
    """Further cumulative hazard of all nodes together, in the shape of `x`."""
    hazards = NodeHazards(components, ages)
    return _summed(hazards.spent, hazards.n_nodes, x)


def total_rate(components: Sequence[Component], ages: FloatArray, x: npt.ArrayLike) -> FloatArray:
    """Failure rate of all nodes together, per hour, in the shape of `x`."""
    hazards = NodeHazards(components, ages)
    return _summed(hazards.rate, hazards.n_nodes, x)


def prefix_cumulative_hazards(
    components: Sequence[Component], ages: FloatArray, order: npt.ArrayLike, x: npt.ArrayLike
) -> FloatArray:
    """Further cumulative hazard of the first k nodes of `order`, for every k: shape (K, m).

    Parameters
    ----------
    components : sequence of Component
    ages : ndarray, shape (n_nodes,)
        Hours.
    order : array_like of int, shape (K,)
        Positions of nodes.
    x : array_like, shape (m,)
        Hours from now.
    """
    positions = np.asarray(order, dtype=np.int64).reshape(-1)
    points = np.asarray(x, dtype=np.float64).reshape(-1)
    found = NodeHazards(components, ages).spent(points, positions)
    return np.cumsum(found, axis=0, out=found)
