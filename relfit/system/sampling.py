"""Random times to failure of a job: the lives left of its nodes, and which of them ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.system.components import Component
from relfit.system.excess import excess_inverse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relfit.system.system import System

__all__ = ["lives_left", "sample"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CHUNK = 2_000_000


def lives_left(
    components: Sequence[Component], ages: FloatArray, size: int, generator: np.random.Generator
) -> FloatArray:
    """Random lives left, shape (size, nodes)."""
    out = np.empty((size, ages.size))
    for component in components:
        where = component.positions
        out[:, where] = excess_inverse(
            component.family, ages[where], generator.standard_exponential((size, where.size))
        )
    return out


def sample(system: System, size: int, rng: int | np.random.Generator | None) -> FloatArray:
    """Random times to failure; `System.sample` documents the arguments."""
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
        raise ArgumentError(f"size={size!r}", remedy="give the number of times to draw")
    generator = np.random.default_rng(rng)
    out = np.empty(int(size))
    step = max(1, _CHUNK // system.n_nodes)
    for first in range(0, int(size), step):
        count = min(step, int(size) - first)
        out[first : first + count] = _times(system, count, generator)
    return out


def _times(system: System, size: int, generator: np.random.Generator) -> FloatArray:
    left = lives_left(system.components, system.ages, size, generator)
    ends = np.full(size, np.inf)
    if system.common is not None:
        ends = lives_left(system.common.components, system.common.ages, size, generator).min(axis=1)
    if system.racks is not None:
        racks = lives_left(system.racks.components, system.racks.ages, size, generator)
        if system.tolerance == 0 or system.rack_events == "job":
            ends = np.minimum(ends, racks[:, np.unique(system.racks.of_node)].min(axis=1))
        else:
            left = np.minimum(left, racks[:, system.racks.of_node])
    if system.tolerance:
        return np.minimum(ends, np.partition(left, system.tolerance, axis=1)[:, system.tolerance])
    return np.minimum(ends, left.min(axis=1))
