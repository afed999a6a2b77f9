"""Cumulative hazards of the first k nodes of an order, for every k at horizons of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from relfit.families import Family
from relfit.jobs.size_kernels import interpolate
from relfit.numeric.batches import over_groups
from relfit.system.excess import excess_hazard
from relfit.system.hazards import (
    node_cumulative_hazards,
    prefix_cumulative_hazards,
    total_cumulative_hazard,
)

if TYPE_CHECKING:
    from relfit.system.system import System

__all__ = ["DIRECT", "Prefixes", "along_time", "common_hazard", "equal_nodes", "node_hazards_along"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

DIRECT = 128  # sizes up to which hazards are summed node by node for every size
_ENTRIES = 2_000_000
_STEP = 0.25  # of the grid in the log of time
_LEFT = 14.0  # how far below the shortest length the grid goes, in the log of time


def along_time(hazard: Callable[[FloatArray], FloatArray], length: float) -> Callable[[FloatArray], FloatArray]:
    """One system's cumulative hazard up to `length`, interpolated to some nine digits, to be asked many times."""
    first = np.log(length) - _LEFT
    x = np.exp(first + _STEP * np.arange(int(_LEFT / _STEP) + 3))
    with np.errstate(divide="ignore"):
        table = np.log(hazard(x))[None, :]

    def quick(time: FloatArray) -> FloatArray:
        asked = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_x = np.log(asked.reshape(1, -1))
        out = np.empty(log_x.shape)
        interpolate(table, float(first), _STEP, np.zeros(1, dtype=np.int64), log_x, 0, 1, out)
        return np.where(asked > 0.0, out.reshape(asked.shape), 0.0)

    return quick


def node_hazards_along(system: System, x: FloatArray) -> FloatArray:
    """Cumulative hazard of every node at many horizons, shape (n, m).

    Interpolated along the log of time, to some nine digits, for families that have no closed form and many horizons.
    """
    plain = all(getattr(c.family, "name", "") in ("weibull", "exponential") for c in system.components)
    least = float(x.min())
    count = max(int(np.ceil(np.log(float(x.max()) / least) / _STEP)) + 2, 12)
    if plain or x.size < 2 * count:
        return node_cumulative_hazards(system.components, system.ages, x)
    first = float(np.log(least))
    with np.errstate(divide="ignore"):
        table = node_cumulative_hazards(system.components, system.ages, np.exp(first + _STEP * np.arange(count)))
        np.log(table, out=table)
    rows = np.arange(system.n_nodes)
    log_x = np.broadcast_to(np.log(x), (rows.size, x.size))
    out = np.empty(log_x.shape)
    over_groups(
        x.size * np.arange(rows.size + 1), lambda a, b: interpolate(table, first, _STEP, rows, log_x, a, b, out)
    )
    return out


def common_hazard(system: System, x: FloatArray) -> FloatArray:
    """Cumulative hazard of what ends the job whatever its nodes are, in the shape of `x`."""
    if system.common is None:
        return np.zeros(x.shape)
    return total_cumulative_hazard(system.common.components, system.common.ages, x)


def equal_nodes(system: System) -> bool:
    """Whether all nodes have the same family, parameters and age, and there are no racks."""
    if system.racks is not None or len(system.components) != 1 or np.any(system.ages != system.ages[0]):
        return False
    family = system.components[0].family
    if not isinstance(family, Family):
        return len(system.components[0]) == 1
    return all(np.all(value == np.ravel(value)[0]) for value in family.parameters().values())


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The first 1, 2, ... nodes of an order as systems, all nodes needed.

    A rack comes in with the first of its nodes; common causes are there for all.

    Attributes
    ----------
    system : System
    order : ndarray of int, shape (K,)
        Positions of nodes.
    span : tuple of float
        Least and greatest length of a job that will be asked for, hours.
    """

    system: System
    order: IntArray
    span: tuple[float, float]

    @property
    def exact(self) -> bool:
        """Whether hazards are summed and not interpolated."""
        return self.order.size <= DIRECT or self._equal

    @cached_property
    def _equal(self) -> bool:
        return equal_nodes(self.system)

    def __call__(self, rows: IntArray, x: FloatArray) -> FloatArray:
        """Cumulative hazards (r, m) of the first ``rows + 1`` nodes at horizons (r, m)."""
        if self._equal:
            component = self.system.components[0]
            one = excess_hazard(component.family[:1], self.system.ages[:1], x.reshape(-1, 1))
            return np.asarray(one.reshape(x.shape) * (rows[:, None] + 1.0)) + common_hazard(self.system, x)
        return self._summed(rows, x) if self.exact else self._interpolated(rows, x)

    def _by_step(self, count: int, x: FloatArray) -> FloatArray:
        """What each of the first `count` nodes adds, shape (count, m), without common causes."""
        part = self.system.take(self.order[:count])
        added = node_cumulative_hazards(part.components, part.ages, x)
        if part.racks is not None:
            _, first = np.unique(part.racks.of_node, return_index=True)
            added[first] += node_cumulative_hazards(part.racks.components, part.racks.ages, x)
        return added

    def _summed(self, rows: IntArray, x: FloatArray) -> FloatArray:
        out = np.empty(x.shape)
        count = int(rows.max()) + 1 if rows.size else 0
        width = max(1, _ENTRIES // max(1, count * x.shape[1]))
        for first in range(0, rows.size, width):
            here = rows[first : first + width]
            most = int(here.max()) + 1
            spent = self._by_step(most, x[first : first + width].ravel()).reshape(most, here.size, x.shape[1])
            inside = np.arange(most)[:, None] <= here[None, :]
            out[first : first + width] = np.where(inside[:, :, None], spent, 0.0).sum(axis=0)
        return out + common_hazard(self.system, x)

    @cached_property
    def _grid(self) -> tuple[float, FloatArray]:
        """Log of the first horizon, and logs of the hazards of all sizes on the grid."""
        first = np.log(self.span[0]) - _LEFT
        count = max(int(np.ceil((np.log(self.span[1]) - first) / _STEP)) + 2, 12)
        x = np.exp(first + _STEP * np.arange(count))
        if self.system.racks is None:
            part = self.system.take(self.order)
            table = prefix_cumulative_hazards(part.components, part.ages, np.arange(self.order.size), x)
        else:
            table = self._by_step(self.order.size, x)
            np.cumsum(table, axis=0, out=table)
        table += common_hazard(self.system, x)
        with np.errstate(divide="ignore"):
            np.log(table, out=table)
        return float(first), table

    def _interpolated(self, rows: IntArray, x: FloatArray) -> FloatArray:
        first, table = self._grid
        with np.errstate(divide="ignore"):
            log_x = np.log(x)
        out = np.empty(x.shape)
        offsets = x.shape[1] * np.arange(rows.size + 1, dtype=np.int64)
        over_groups(offsets, lambda a, b: interpolate(table, first, _STEP, rows, log_x, a, b, out))
        return out
