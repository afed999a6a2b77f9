"""Where failures come from: a rate of the system, the lives of its nodes, of groups of them, or a list to replay.

Failures do not depend on the jobs, so they are drawn ahead of the simulation, stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import durations
from relfit.arrays import FloatArray, IntArray
from relfit.batch.engine_state import FAILURE, Table
from relfit.batch.seconds import HOUR, in_seconds
from relfit.errors import ArgumentError
from relfit.failurelog import FailureLog
from relfit.families import Exponential
from relfit.families.distribution import Distribution
from relfit.outages import outages_of, system_outages_of
from relfit.units import NANOSECONDS_PER_HOUR

__all__ = [
    "FailureStream",
    "Failures",
    "GroupFailures",
    "NodeFailures",
    "ReplayedFailures",
    "SystemFailures",
]

_PER_STRETCH = 4096.0
_BLOCK = 1024
_LONGEST = 100.0 * 8766.0 * HOUR


def _life(name: str, value: Any) -> Distribution:
    if isinstance(value, Distribution):
        return value
    return Exponential(1.0 / durations(name, value, zero=False))


@dataclass(frozen=True)
class _Repaired:
    """What all drawn failures share.

    Parameters
    ----------
    repair : duration or Distribution
        Mean of exponential times to repair, or their distribution; 0 for nodes that come back at once.
    fixed : bool
        Every repair takes just `repair`.
    """

    repair: Any = 0.0
    fixed: bool = False

    def repairs(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Seconds of some repairs."""
        if isinstance(self.repair, Distribution):
            return HOUR * self.repair.sample(size, rng)
        mean = in_seconds("repair", self.repair)
        return np.full(size, mean) if self.fixed else mean * rng.standard_exponential(size)

    @property
    def mean_repair(self) -> float:
        """Seconds."""
        if isinstance(self.repair, Distribution):
            return HOUR * float(np.mean(self.repair.mean()))
        return in_seconds("repair", self.repair)


@dataclass(frozen=True, kw_only=True)
class SystemFailures(_Repaired):
    """Failures of the system as a Poisson process, each of a node drawn from all, idle ones and those down included.

    A failure of a node that is down is ignored, so the rate that is realised is lower (BatSim's failure model).

    Parameters
    ----------
    mtbf : duration
        Mean time between failures of the system.
    repair, fixed
        See above.

    Examples
    --------
    >>> SystemFailures(mtbf="268h", repair="13days").mean_repair
    1123200.0
    """

    mtbf: Any

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> _Process:
        """One unit that stands for any node."""
        gap = Exponential(1.0 / durations("mtbf", self.mtbf, zero=False))
        return _Process(self, gap, np.zeros(1), None, n_nodes, rng, start, waits=False)


@dataclass(frozen=True, kw_only=True)
class NodeFailures(_Repaired):
    """Each node fails by itself and is as new after its repair.

    Parameters
    ----------
    life : duration or Distribution
        Mean of exponential times to failure, or their distribution: one for all nodes, or a batch with one per node.
    ages : array_like of hours, optional
        Time since each node's last repair when the simulation starts; ages of a steady state when left out.
    repair, fixed
        See above.
    """

    life: Any
    ages: Any = None

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> _Process:
        """One unit per node."""
        return _Process(self, _life("life", self.life), self.ages, _single(np.arange(n_nodes)), n_nodes, rng, start)


@dataclass(frozen=True, kw_only=True)
class GroupFailures(_Repaired):
    """Racks, or other groups of nodes, fail as wholes; one group of all nodes is an outage of the system.

    Parameters
    ----------
    life : duration or Distribution
        Of a group: mean, or distribution, of its times to failure.
    groups : array_like of int, shape (nodes,), or int, optional
        Group of each node, or how many nodes that follow each other make a group; all nodes are one when left out.
    share : float, optional
        Share of its nodes that each failure of a group strikes, two at least, drawn anew; all of them when left out.
    repair, fixed
        See above.
    """

    life: Any
    groups: Any = None
    share: float | None = None

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> _Process:
        """One unit per group."""
        groups = group_numbers(self.groups, n_nodes)
        members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
        return _Process(self, _life("life", self.life), None, members, n_nodes, rng, start)


@dataclass(frozen=True, eq=False)
class ReplayedFailures:
    """Failures as they were.

    Parameters
    ----------
    time : array_like of float, shape (n,)
        Seconds on the clock of the workload.
    node : array_like of int, shape (n,)
        From 0; -1 for all nodes.
    repair : array_like of float, shape (n,)
        Seconds until the node is back.
    labels : pandas.Index, optional
        Names of the nodes.

    Raises
    ------
    ArgumentError
        For times that are no numbers, repairs below zero, or arrays that do not go together.
    """

    time: FloatArray
    node: IntArray
    repair: FloatArray
    labels: pd.Index | None = None

    def __post_init__(self) -> None:
        time, node, repair = (np.atleast_1d(np.asarray(v)) for v in (self.time, self.node, self.repair))
        if not time.shape == node.shape == repair.shape or time.ndim != 1:
            raise ArgumentError("times, nodes and repairs of failures do not go together", remedy="give one of each")
        bad = np.flatnonzero(~np.isfinite(time) | ~(repair >= 0.0))
        if bad.size:
            raise ArgumentError(f"failure {bad[0]} at {time[bad[0]]} is repaired in {repair[bad[0]]} seconds")
        order = np.argsort(time, kind="stable")
        object.__setattr__(self, "time", time[order].astype(np.float64))
        object.__setattr__(self, "node", node[order].astype(np.int64))
        object.__setattr__(self, "repair", repair[order].astype(np.float64))

    @classmethod
    def from_log(cls, log: FailureLog) -> ReplayedFailures:
        """Outages of a log's nodes, and outages of its system, from the start of its window on.

        Examples
        --------
        >>> import relfit as rf
        >>> failures = ReplayedFailures.from_log(rf.datasets.load("white"))
        >>> len(failures.labels), bool((failures.node == -1).any())
        (512, True)
        """
        begun = log.window.start.value
        nodes, whole = outages_of(log), system_outages_of(log)
        parts = [
            (found.start[keep], code[keep], found.end[keep] - found.start[keep])
            for found, code in ((nodes, nodes.code), (whole, np.full(whole.code.size, -1)))
            for keep in [found.failures & (found.start >= begun)]
        ]
        time, node, length = (np.concatenate(part) for part in zip(*parts, strict=True))
        unit = NANOSECONDS_PER_HOUR / HOUR
        return cls((time - begun) / unit, node, length / unit, nodes.groups)

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> _Replay:
        """The list, with failures of all nodes as one failure of each."""
        bad = np.flatnonzero((self.node < -1) | (self.node >= n_nodes))
        if bad.size:
            what = f"failure {bad[0]} is of node {self.node[bad[0]]}"
            raise ArgumentError(what, remedy=f"there are nodes 0 to {n_nodes - 1}")
        each = np.where(self.node < 0, n_nodes, 1)
        node = np.repeat(self.node, each)
        node[node < 0] = np.tile(np.arange(n_nodes), int((self.node < 0).sum()))
        return _Replay(_table(np.repeat(self.time, each), node, np.repeat(self.repair, each)))

    @property
    def mean_repair(self) -> float:
        """Seconds."""
        return float(self.repair.mean()) if self.repair.size else 0.0


class Failures(Protocol):
    """A source of failures."""

    @property
    def mean_repair(self) -> float:
        """Seconds."""

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Any:
        """What hands out the failures of so many nodes."""


def group_numbers(groups: Any, n_nodes: int) -> IntArray:
    """Group of each node, from 0.

    Examples
    --------
    >>> group_numbers(3, 7).tolist(), group_numbers(["b", "a", "b"], 3).tolist()
    ([0, 0, 0, 1, 1, 1, 2], [1, 0, 1])
    """
    if groups is None:
        return np.zeros(n_nodes, dtype=np.int64)
    if np.ndim(groups) == 0:
        return np.arange(n_nodes) // int(groups)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    if codes.size != n_nodes:
        raise ArgumentError(f"{codes.size} groups for {n_nodes} nodes", remedy="give the group of every node")
    return codes


def _single(units: IntArray) -> list[IntArray]:
    return [units[i : i + 1] for i in range(units.size)]


def _table(time: FloatArray, node: IntArray, repair: FloatArray) -> Table:
    rows = np.zeros(time.size, dtype=FAILURE)
    rows["time"], rows["node"], rows["repair"] = time, node, repair
    return rows


class _Replay:
    """A list that is handed out once."""

    def __init__(self, rows: Table) -> None:
        self.rows = rows
        self.rate = 0.0
        self.up_since: FloatArray | None = None

    def take(self, until: float) -> Table:
        n = int(np.searchsorted(self.rows["time"], until, side="right"))
        taken, self.rows = self.rows[:n], self.rows[n:]
        return taken

    def state(self) -> dict[str, Any]:
        return {"left": len(self.rows)}

    def restore(self, state: dict[str, Any]) -> None:
        self.rows = self.rows[len(self.rows) - state["left"] :]


class _Process:
    """Units that fail one after another, each with the time of its next failure."""

    def __init__(
        self, kind: _Repaired, life: Distribution, ages: npt.ArrayLike | None, members: list[IntArray] | None,
        n_nodes: int, rng: np.random.Generator, start: float, waits: bool = True,
    ) -> None:  # fmt: skip
        self.kind, self.life, self.members, self.n_nodes, self.rng, self.waits = (
            kind, life, members, n_nodes, rng, waits,
        )  # fmt: skip
        units = 1 if members is None else len(members)
        if life.batch_shape not in ((), (units,)):
            raise ArgumentError(
                f"{life.batch_shape} distributions of lives for {units}", remedy="give one, or one each"
            )
        whole = () if life.batch_shape else (units,)
        age = np.zeros(units)
        if ages is not None:
            age = np.broadcast_to(np.asarray(ages, dtype=np.float64), (units,))
        elif np.all(np.isfinite(life.mean())):
            age = life.residual_sample(whole or None, rng)
        hazards = rng.standard_exponential(units)
        self.next = start + HOUR * np.asarray(life.inverse_conditional_cumulative_hazard(hazards, age))
        single = members is not None and all(len(m) == 1 for m in members) and units == n_nodes
        self.up_since: FloatArray | None = -HOUR * age if single else None
        mean = HOUR * np.broadcast_to(life.mean(), (units,))
        self.rate = float(np.sum(1.0 / (mean + (kind.mean_repair if waits else 0.0))))

    def take(self, until: float) -> Table:
        if self.members is None:
            return self._take_any(until)
        times, nodes, repairs = [], [], []
        while True:
            due = np.flatnonzero(self.next <= until)
            if not due.size:
                break
            time, repair = self.next[due], self.kind.repairs(due.size, self.rng)
            hazards = self.rng.standard_exponential(self.next.size if self.life.batch_shape else due.size)
            life = HOUR * np.asarray(self.life.inverse_cumulative_hazard(hazards))
            self.next[due] = time + (repair if self.waits else 0.0) + (life[due] if self.life.batch_shape else life)
            struck = [self._struck(self.members[i]) for i in due]
            sizes = [len(nodes) for nodes in struck]
            times.append(np.repeat(time, sizes))
            nodes += struck
            repairs.append(np.repeat(repair, sizes))
        if not times:
            return np.zeros(0, dtype=FAILURE)
        rows = _table(np.concatenate(times), np.concatenate(nodes), np.concatenate(repairs))
        return rows[np.argsort(rows["time"], kind="stable")]

    def _struck(self, members: IntArray) -> IntArray:
        share = getattr(self.kind, "share", None)
        if share is None:
            return members
        return self.rng.choice(members, min(max(round(share * members.size), 2), members.size), replace=False)

    def _take_any(self, until: float) -> Table:
        """Failures of a stream without memory, each of any node."""
        times = [self.next[:0]]
        while self.next[0] <= until:
            gaps = HOUR * np.asarray(self.life.sample(_BLOCK, self.rng))
            ahead = self.next[0] + np.concatenate([[0.0], np.cumsum(gaps)])
            known = int(np.searchsorted(ahead[:-1], until, side="right"))
            times.append(ahead[:known])
            self.next = ahead[known : known + 1]
        time = np.concatenate(times)
        return _table(time, self.rng.integers(self.n_nodes, size=time.size), self.kind.repairs(time.size, self.rng))

    def state(self) -> dict[str, Any]:
        return {"next": self.next.tolist(), "rng": self.rng.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        self.next = np.array(state["next"])
        self.rng.bit_generator.state = state["rng"]


class FailureStream:
    """Failures of several sources in the order of time, handed out stretch by stretch.

    Parameters
    ----------
    sources : sequence of Failures
    n_nodes : int
    rng : int or numpy.random.Generator
    start : float
        Second from which on failures are drawn.
    begun : sequence of dict
        ``state()["begun"]`` of the stream that this one goes on from: sources may draw what their nodes are like.

    Examples
    --------
    >>> stream = FailureStream([NodeFailures(life="1000h", repair="10h")], 100, 1)
    >>> rows = stream.take()
    >>> bool(3500 < len(rows) < 4700), bool((np.diff(rows["time"]) >= 0).all())
    (True, True)
    """

    def __init__(
        self, sources: Sequence[Failures], n_nodes: int, rng: int | np.random.Generator | None, start: float = 0.0,
        begun: Sequence[dict[str, Any]] = (),
    ) -> None:  # fmt: skip
        self.start = start
        generators = np.random.default_rng(rng).spawn(max(len(sources), 1))
        for own, state in zip(generators, begun, strict=False):
            own.bit_generator.state = state
        self._begun = [own.bit_generator.state for own in generators]
        self._parts = [source.process(n_nodes, own, start) for source, own in zip(sources, generators, strict=False)]
        rate = sum(part.rate for part in self._parts)
        self.stretch = min(_PER_STRETCH / rate, _LONGEST) if rate > 0.0 else np.inf
        self.until = -np.inf

    @property
    def up_since(self) -> FloatArray | None:
        """When each node was last repaired before time 0, in seconds, where the sources know."""
        return next((self.start + part.up_since for part in self._parts if part.up_since is not None), None)

    def take(self) -> Table:
        """The failures of the next stretch, up to `until`; of all time where nothing is drawn."""
        self.until = (self.start if self.until == -np.inf else self.until) + self.stretch
        rows = np.concatenate([np.zeros(0, dtype=FAILURE), *(part.take(self.until) for part in self._parts)])
        return rows[np.argsort(rows["time"], kind="stable")]

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""
        return {"until": self.until, "begun": self._begun, "parts": [part.state() for part in self._parts]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where a stream of the same sources was."""
        self.until = state["until"]
        for part, own in zip(self._parts, state["parts"], strict=True):
            part.restore(own)
