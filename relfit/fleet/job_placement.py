"""Jobs placed on nodes of a log that are up, and the time until the first outage of one of their nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray, NumberArray
from relfit.base.numeric.compiled import njit
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_values, outages_of, system_outages_of

_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class NodeOutages:
    """The nodes of one system, rack by rack, with all outages that take them down, in hours of the log."""

    system: str
    labels: pd.Index  # (system, node)
    rack: IntArray  # code of each node's rack; zero if the log names none
    entered: FloatArray  # when each node was watched
    left: FloatArray
    node: IntArray  # of each outage, sorted by node and time
    start: FloatArray
    end: FloatArray
    whole_start: FloatArray  # outages of the whole system
    whole_end: FloatArray

    @classmethod
    def of(cls, log: FailureLog) -> list[NodeOutages]:
        """One entry per system of a log that has nodes."""
        outages, of_system = outages_of(log), system_outages_of(log)
        zero = log.window.start.as_unit("ns").value

        def hours(instants: IntArray) -> FloatArray:
            return (instants - zero) / NANOSECONDS_PER_HOUR

        name = outages.groups.get_level_values(0).astype(str)
        racks = np.zeros(len(name), dtype=np.int64)
        if "rack" in log.population.columns:
            racks = pd.factorize(pd.Series(node_values(log, "rack", outages.groups)).astype(str))[0].astype(np.int64)
        systems = []
        for code, system in enumerate(of_system.groups.astype(str)):
            mine, together = np.flatnonzero(name == system), of_system.code == code
            if not mine.size:
                continue
            mine = mine[np.argsort(racks[mine], kind="stable")]
            place = np.full(len(name), -1, dtype=np.int64)
            place[mine] = np.arange(mine.size)
            rows = np.argsort(place[outages.code], kind="stable")
            rows = rows[place[outages.code[rows]] >= 0]
            entered, left = hours(outages.entered[mine]), hours(outages.left[mine])
            down = place[outages.code[rows]], hours(outages.start[rows]), hours(outages.end[rows])
            whole = hours(of_system.start[together]), hours(of_system.end[together])
            systems.append(cls(system, outages.groups[mine], racks[mine], entered, left, *down, *whole))
        return systems

    @property
    def offsets(self) -> IntArray:
        """Index of the first outage of each node, and the number of outages; shape (nodes + 1,)."""
        return np.searchsorted(self.node, np.arange(self.labels.size + 1))

    def numbers_at(self, instants: FloatArray) -> tuple[IntArray, IntArray]:
        """Nodes watched at each instant, and nodes that are watched and up."""

        def begun(at: FloatArray) -> IntArray:
            return np.searchsorted(np.sort(at), instants, side="right")

        watched = begun(self.entered) - begun(np.maximum(self.left, self.entered))
        down = begun(self.whole_start) > begun(self.whole_end)
        return watched, np.where(down, 0, watched - begun(self.start) + begun(self.end))

    def at(self, instants: FloatArray, horizon: float) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Nodes up and watched for `horizon` or until they fail, ages, hours to outages: all (instants, nodes)."""
        t = instants[:, None]
        before = np.empty((instants.size, self.labels.size), dtype=np.int64)
        _begun(self.start, self.offsets, instants, np.argsort(instants, kind="stable"), before)
        node, start, end = (np.append(v, x) for v, x in ((self.node, -1), (self.start, np.inf), (self.end, np.inf)))
        nodes = np.arange(self.labels.size)
        has = (before > 0) & (node[before - 1] == nodes)
        following = np.where(node[before] == nodes, start[before] - t, np.inf)
        watched = (self.left >= t + horizon) | (following <= np.minimum(self.left - t, horizon))
        up = ~(has & (end[before - 1] > t)) & (self.entered <= t) & watched
        age = t - np.where(has, start[before - 1], self.entered)
        outage = np.searchsorted(self.whole_start, instants, side="right")
        up &= ~((outage > 0) & (np.append(self.whole_end, np.inf)[outage - 1] > instants))[:, None]
        until = np.append(self.whole_start, np.inf)[outage] - instants
        return up, age, np.minimum(following, until[:, None])

    def ranks(self, up: BoolArray, how: str, rng: np.random.Generator) -> FloatArray:
        """The order in which jobs take the nodes that are up, shape of `up`; infinite for nodes that are down."""
        if how == "packed":  # consecutive nodes that are up; the caller shifts the first one at random
            order = np.cumsum(up, axis=1) - 1.0
            return np.where(up, order, np.inf)
        rank = np.where(up, rng.random(up.shape), np.inf)
        if how == "spread":  # the first of every rack, then the second of every rack, and so on
            for rack in np.unique(self.rack):
                mine = np.flatnonzero(self.rack == rack)
                turn = np.argsort(np.argsort(rank[:, mine], axis=1), axis=1)
                rank[:, mine] = np.where(up[:, mine], turn + 0.5 * rng.random((up.shape[0], 1)), np.inf)
        return rank


@njit(cache=True, nogil=True)
def _begun(start: np.ndarray, offsets: np.ndarray, instants: np.ndarray, order: np.ndarray, out: np.ndarray) -> None:
    """Index after the last outage of each node that began by each instant; `order` sorts the instants."""
    for node in range(offsets.size - 1):
        place, end = offsets[node], offsets[node + 1]
        for i in order:
            while place < end and start[place] <= instants[i]:
                place += 1
            out[i, node] = place


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs of one placement, shape (jobs, largest size); a job of size k has the first k nodes of its row."""

    nodes: npt.NDArray[np.int32]  # positions in the system; -1 if fewer were up
    age: FloatArray  # hours since each node's last outage
    ends: FloatArray  # hours until an outage of one of the first k nodes; infinite if there is none


def place(
    nodes: NodeOutages, instants: FloatArray, placement: str, size: int, horizon: float, rng: np.random.Generator
) -> Jobs:
    """Jobs of `size` nodes that start at each of `instants` (hours) on nodes up then, watched for `horizon` hours."""
    shape = (instants.size, size)
    chosen, age, ends = np.full(shape, -1, np.int32), np.full(shape, np.nan), np.full(shape, np.nan)
    step = max(1, _CELLS_AT_ONCE // max(nodes.labels.size, 1))
    for first in range(0, instants.size, step):
        part = slice(first, first + step)
        up, old, following = nodes.at(instants[part], horizon)
        rank = nodes.ranks(up, placement, rng)
        if placement == "packed":
            room = np.maximum(up.sum(axis=1) - size, 0)
            rank -= rng.integers(0, room + 1)[:, None]
            rank[rank < 0] = np.inf
        order = _first(rank, size)
        there = np.isfinite(np.take_along_axis(rank, order, axis=1))
        chosen[part] = np.where(there, order, -1)
        age[part] = np.where(there, np.take_along_axis(old, order, axis=1), np.nan)
        met = np.where(there, np.take_along_axis(following, order, axis=1), np.inf)
        ends[part] = np.minimum.accumulate(met, axis=1)
    return Jobs(chosen, age, ends)


def _first(rank: NumberArray, size: int) -> IntArray:
    """Positions of the `size` lowest ranks of each row, lowest first."""
    if size < rank.shape[1]:
        lowest = np.argpartition(rank, size - 1, axis=1)[:, :size]
        inner = np.argsort(np.take_along_axis(rank, lowest, axis=1), axis=1)
        return np.take_along_axis(lowest, inner, axis=1)
    return np.argsort(rank, axis=1)
