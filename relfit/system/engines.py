"""Log reliability and failure rate of sets of nodes: all needed, or some allowed to fail.

An engine answers for several sets at once, each with times of its own. `Series` adds cumulative hazards. `Tolerant`
counts failed nodes: exactly by recursion, or by a contour integral where many may fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from relfit.system import kernels
from relfit.system.contour import counted
from relfit.system.hazards import CHUNK, NodeHazards, in_threads

__all__ = ["Engine", "Series", "Sets", "Tolerant"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MANY = 150  # failures allowed from which on the contour integral is quicker than the recursion
_DEEP = -300.0  # log of a reliability below which the contour integral takes over
_EARLY = 1e-100  # hours: where a limit at zero is wanted


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of positions, one after the other.

    Attributes
    ----------
    members : ndarray of int
    offsets : ndarray of int, shape (sets + 1,)
    """

    members: IntArray
    offsets: IntArray

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return int(self.offsets.size - 1)

    @property
    def sizes(self) -> IntArray:
        """Members of each set."""
        return np.diff(self.offsets)

    def rows(self, chosen: IntArray) -> Sets:
        """Some of the sets."""
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Sets(self.members[places], offsets)


class Engine(Protocol):
    """What a system, or several, can be asked."""

    @property
    def n_rows(self) -> int:
        """Number of sets."""

    def log_reliability(self, x: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Log of the probability that the job still runs, shape (rows, m), at times of that shape or (1, m)."""

    def rate(self, x: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Failure rate of the job, per hour, given that it runs."""


def _sums(values: FloatArray, sets: Sets) -> FloatArray:
    """Sums over the members of each set; a set may be empty."""
    if not values.shape[0]:
        return np.zeros((sets.n_sets, values.shape[1]))
    if sets.n_sets == 1:
        return values.sum(axis=0)[None]
    full = sets.sizes > 0
    out = np.zeros((sets.n_sets, values.shape[1]))
    if full.any():
        out[full] = np.add.reduceat(values, sets.offsets[:-1][full], axis=0)
    return out


@dataclass(frozen=True, eq=False)
class Series:
    """All members of a set are needed.

    Attributes
    ----------
    hazards : NodeHazards
        Of nodes, racks and common causes.
    sets : Sets
        Positions among these.
    """

    hazards: NodeHazards
    sets: Sets

    @property
    def n_rows(self) -> int:
        """Number of sets."""
        return self.sets.n_sets

    def log_reliability(self, x: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """See `Engine`."""
        return -self._summed(x, rows, rate=False)

    def rate(self, x: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """See `Engine`."""
        return self._summed(x, rows, rate=True)

    def _summed(self, x: FloatArray, rows: IntArray | None, rate: bool) -> FloatArray:
        sets = self.sets if rows is None else self.sets.rows(rows)
        ask = self.hazards.rate if rate else self.hazards.spent
        out = np.zeros((sets.n_sets, x.shape[1]))
        wide = max(1, CHUNK // 128)
        for begin in range(0, x.shape[1], wide):
            some = x[:, begin : begin + wide]
            for part, mine, times in _pieces(sets, some):
                values = ask(times, part.members)
                out[mine, begin : begin + wide] += _sums(values, part)
        return out


def _pieces(sets: Sets, x: FloatArray) -> list[tuple[Sets, slice, FloatArray]]:
    """Sets, or parts of one, small enough to hold a matrix of their members by the times."""
    step = max(1, CHUNK // max(1, x.shape[1]))
    found = []
    first = 0
    while first < sets.n_sets:
        last = int(np.searchsorted(sets.offsets, sets.offsets[first] + step, side="right")) - 1
        last = max(first + 1, min(last, sets.n_sets))
        begin, end = int(sets.offsets[first]), int(sets.offsets[last])
        for low in range(begin, max(end, begin + 1), step):
            high = min(low + step, end)
            offsets = np.clip(sets.offsets[first : last + 1], low, high) - low
            part = Sets(sets.members[low:high], offsets)
            times = x if x.shape[0] == 1 else np.repeat(x[first:last], np.diff(offsets), axis=0)
            found.append((part, slice(first, last), times))
        first = last
    return found


@dataclass(frozen=True, eq=False)
class Tolerant:
    """Up to `allowed` members of a set may fail; what is in `series` must not.

    Attributes
    ----------
    hazards : NodeHazards
        Of the nodes.
    sets : Sets
    allowed : int
    series : Series, optional
        Common causes, a set for each row.
    racks : NodeHazards, optional
        Of racks, an event of which takes down all its nodes.
    rack_of : ndarray of int, optional
        Rack of each node.
    """

    hazards: NodeHazards
    sets: Sets
    allowed: int
    series: Series | None = None
    racks: NodeHazards | None = None
    rack_of: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of sets."""
        return self.sets.n_sets

    def log_reliability(self, x: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """See `Engine`."""
        found = self._both(x, rows, rate=False)[0]
        return found if self.series is None else found + self.series.log_reliability(x, rows)

    def rate(self, x: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """See `Engine`."""
        found = self._both(np.maximum(x, _EARLY), rows, rate=True)[1]
        return found if self.series is None else found + self.series.rate(x, rows)

    def _both(self, x: FloatArray, rows: IntArray | None, rate: bool) -> tuple[FloatArray, FloatArray]:
        sets = self.sets if rows is None else self.sets.rows(rows)
        log_alive, density = np.zeros((sets.n_sets, x.shape[1])), np.zeros((sets.n_sets, x.shape[1]))
        wide = max(1, CHUNK // max(1, int(sets.sizes.max(initial=1))))
        for first in range(0, x.shape[1], wide):
            for row in _groups(sets, min(wide, x.shape[1])):
                part = sets.rows(row)
                some = x[:, first : first + wide] if x.shape[0] == 1 else x[row, first : first + wide]
                found = self._of(part, np.ascontiguousarray(some), rate)
                log_alive[row, first : first + wide], density[row, first : first + wide] = found
        return log_alive, density

    def _of(self, sets: Sets, x: FloatArray, rate: bool) -> tuple[FloatArray, FloatArray]:
        times = x if x.shape[0] == 1 else np.repeat(x, sets.sizes, axis=0)
        spent = self.hazards.spent(times, sets.members)
        rates = self.hazards.rate(times, sets.members) if rate else np.empty((0, x.shape[1]))
        if self.racks is not None and self.rack_of is not None:
            return counted(spent, rates, sets.offsets, self.allowed, x, self.racks, self.rack_of[sets.members])
        if self.allowed >= _MANY:
            return counted(spent, rates, sets.offsets, self.allowed, x, None, None)
        out = np.empty((sets.n_sets, x.shape[1])), np.empty((sets.n_sets, x.shape[1]))
        allowed = np.full(sets.n_sets, self.allowed, dtype=np.int64)
        cells = sets.n_sets * x.shape[1]
        weight = int(sets.sizes.max(initial=1)) * (self.allowed + 2) // 4
        in_threads(
            cells,
            weight,
            lambda a, b: kernels.tolerant(spent, rates, sets.offsets, allowed, out[0], out[1], a, b),
        )
        # so deep in the tail the recursion would need numbers below the smallest float
        deep = (out[0] < _DEEP).any(axis=0)
        if deep.any():
            again = counted(spent[:, deep], rates[:, deep], sets.offsets, self.allowed, x[:, deep], None, None)
            far = out[0][:, deep] < _DEEP
            out[0][:, deep] = np.where(far, again[0], out[0][:, deep])
            out[1][:, deep] = np.where(far, again[1], out[1][:, deep])
        return out


def _groups(sets: Sets, points: int) -> list[IntArray]:
    """Rows in groups whose members by the points fit into memory."""
    step = max(1, CHUNK // max(1, points))
    group = (sets.offsets[1:] - 1) // step
    edges = np.flatnonzero(np.diff(group)) + 1
    return [part.astype(np.int64) for part in np.split(np.arange(sets.n_sets), edges)]
