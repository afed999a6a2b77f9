"""Cumulative hazards of many nodes at many horizons: of each, of all together, and of the first k for every k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from relfit.system.components import Component
from relfit.system.excess import excess_hazard, excess_log_rate

__all__ = [
    "node_cumulative_hazards",
    "node_rates",
    "prefix_cumulative_hazards",
    "total_cumulative_hazard",
    "total_rate",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CHUNK = 2_000_000  # entries of a matrix of nodes by horizons that are held at a time


def _chunks(component: Component, points: int) -> Iterator[tuple[slice, IntArray]]:
    width = max(1, _CHUNK // max(1, points))
    for first in range(0, len(component), width):
        part = slice(first, first + width)
        yield part, component.positions[part]


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
    points = np.asarray(x, dtype=np.float64).reshape(-1)
    out = np.empty((ages.size, points.size))
    for component in components:
        for part, places in _chunks(component, points.size):
            out[places] = excess_hazard(component.family[part], ages[places], points[:, None]).T
    return out


def node_rates(components: Sequence[Component], ages: FloatArray, x: npt.ArrayLike) -> FloatArray:
    """Failure rate of every node at ``age + x``, per hour, shape (n_nodes, m)."""
    points = np.asarray(x, dtype=np.float64).reshape(-1)
    out = np.empty((ages.size, points.size))
    with np.errstate(over="ignore", under="ignore"):
        for component in components:
            for part, places in _chunks(component, points.size):
                out[places] = np.exp(excess_log_rate(component.family[part], ages[places], points[:, None])).T
    return out


def total_cumulative_hazard(components: Sequence[Component], ages: FloatArray, x: npt.ArrayLike) -> FloatArray:
    """Further cumulative hazard of all nodes together, in the shape of `x`."""
    times = np.asarray(x, dtype=np.float64)
    points = times.reshape(-1)
    total = np.zeros(points.size)
    for component in components:
        for part, places in _chunks(component, points.size):
            total += excess_hazard(component.family[part], ages[places], points[:, None]).sum(axis=1)
    return total.reshape(times.shape)


def total_rate(components: Sequence[Component], ages: FloatArray, x: npt.ArrayLike) -> FloatArray:
    """Failure rate of all nodes together, per hour, in the shape of `x`."""
    times = np.asarray(x, dtype=np.float64)
    points = times.reshape(-1)
    total = np.zeros(points.size)
    with np.errstate(over="ignore", under="ignore"):
        for component in components:
            for part, places in _chunks(component, points.size):
                rates = np.exp(excess_log_rate(component.family[part], ages[places], points[:, None]))
                total += rates.sum(axis=1)
    return total.reshape(times.shape)


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
    return np.cumsum(node_cumulative_hazards(components, ages, x)[positions], axis=0)
