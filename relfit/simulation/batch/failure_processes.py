"""Failures drawn ahead of a simulation, one interval of time at a time: they do not depend on the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution
from relfit.simulation.batch.engine_state import FAILURE
from relfit.simulation.batch.seconds import HOUR

Table = np.ndarray[Any, np.dtype[np.void]]

_PER_STRETCH = 4096.0
_BLOCK = 1024
_LONGEST = 100.0 * 8766.0 * HOUR


def failure_table(time: FloatArray, node: IntArray, repair: FloatArray, outcome: IntArray | int = 0) -> Table:
    """Failures as records of the engine."""
    rows = np.zeros(time.size, dtype=FAILURE)
    rows["time"], rows["node"], rows["repair"], rows["outcome"] = time, node, repair, outcome
    return rows


class FailureProcess(Protocol):
    """Draws the failures of some nodes."""

    rate: float
    """Failures per second."""
    up_since: FloatArray | None
    """When each node was last repaired before time 0, in seconds, where that is known."""

    def take(self, until: float) -> Table:
        """Failures up to a time."""

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where such a process was."""


class FailureSource(Protocol):
    """Makes a `FailureProcess`."""

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> FailureProcess:
        """The failures of `n_nodes` nodes, from `start` (seconds) on."""


class RepairedUnits(Protocol):
    """How the units of a `Process` are repaired."""

    @property
    def mean_repair(self) -> float:
        """Mean time to repair, in seconds."""

    @property
    def has_history(self) -> bool:
        """Whether a repair depends on those before it."""

    def repairs(self, earlier: IntArray, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Seconds and outcomes, by the number of earlier repairs."""


class Replay:
    """A list of failures, each taken once."""

    def __init__(self, rows: Table) -> None:
        self.rows = rows
        self.rate = 0.0
        self.up_since: FloatArray | None = None

    def take(self, until: float) -> Table:
        """Failures up to a time."""
        n = int(np.searchsorted(self.rows["time"], until, side="right"))
        taken, self.rows = self.rows[:n], self.rows[n:]
        return taken

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""
        return {"left": len(self.rows)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where such a process was."""
        self.rows = self.rows[len(self.rows) - state["left"] :]


class ClassProcess:
    """The failures of some nodes, numbered among those of the machine."""

    def __init__(self, source: FailureProcess, first: int) -> None:
        self.source, self.first = source, first
        self.rate: float = source.rate
        self.up_since: FloatArray | None = None

    def take(self, until: float) -> Table:
        """Failures up to a time."""
        rows = self.source.take(until).copy()
        rows["node"] += self.first
        return rows

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""
        return {"source": self.source.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where such a process was."""
        self.source.restore(state["source"])


class PartProcess:
    """The failures of some nodes of a machine, numbered among these."""

    def __init__(self, machine: FailureProcess, first: int, n_nodes: int, since: float) -> None:
        self.machine, self.first, self.n_nodes = machine, first, n_nodes
        self.rate: float = machine.rate
        own = machine.up_since
        self.up_since: FloatArray | None = None if own is None else since + own[first : first + n_nodes]

    def take(self, until: float) -> Table:
        """Failures up to a time."""
        rows = self.machine.take(until)
        rows = rows[(rows["node"] >= self.first) & (rows["node"] < self.first + self.n_nodes)]
        rows["node"] -= self.first
        return rows

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""
        return {"machine": self.machine.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where such a process was."""
        self.machine.restore(state["machine"])


class Process:
    """Units that fail and are repaired independently, each with the time of its next failure."""

    def __init__(
        self,
        kind: RepairedUnits,
        life: Distribution,
        ages: npt.ArrayLike | None,
        members: list[IntArray] | None,
        n_nodes: int,
        rng: np.random.Generator,
        start: float,
    ) -> None:
        self.kind, self.life, self.members, self.n_nodes, self.rng = kind, life, members, n_nodes, rng
        units = 1 if members is None else len(members)
        if life.batch_shape not in ((), (units,)):
            raise ArgumentError(
                f"{life.batch_shape} distributions of lives for {units}", remedy="give one, or one each"
            )
        age = np.zeros(units)
        if ages is not None:
            age = np.broadcast_to(np.asarray(ages, dtype=np.float64), (units,))
        elif np.all(np.isfinite(life.mean())):
            age = life.residual_sample(None if life.batch_shape else (units,), rng)
        hazards = rng.standard_exponential(units)
        self.next = start + HOUR * np.asarray(life.inverse_conditional_cumulative_hazard(hazards, age))
        single = members is not None and all(len(m) == 1 for m in members) and units == n_nodes
        self.up_since: FloatArray | None = -HOUR * age if single else None
        mean = HOUR * np.broadcast_to(life.mean(), (units,))
        self.rate = float(np.sum(1.0 / (mean + (0.0 if members is None else kind.mean_repair))))
        self.earlier = np.zeros(n_nodes if members is None else units, np.int64)  # earlier repairs of each
        self.down_until = np.full(self.earlier.size, -np.inf)

    def take(self, until: float) -> Table:
        """Failures up to a time."""
        if self.members is None:
            return self._take_any(until)
        parts = [np.zeros(0, dtype=FAILURE)]
        while (due := np.flatnonzero(self.next <= until)).size:
            time, (repair, outcome) = self.next[due], self._repairs(due)
            hazards = self.rng.standard_exponential(self.next.size if self.life.batch_shape else due.size)
            life = HOUR * np.asarray(self.life.inverse_cumulative_hazard(hazards))
            self.next[due] = time + repair + (life[due] if self.life.batch_shape else life)
            struck = [self._struck(self.members[i]) for i in due]
            of = np.repeat(np.arange(due.size), [len(nodes) for nodes in struck])
            parts.append(failure_table(time[of], np.concatenate(struck), repair[of], outcome[of]))
        rows = np.concatenate(parts)
        return rows[np.argsort(rows["time"], kind="stable")]

    def _repairs(self, units: IntArray) -> tuple[FloatArray, IntArray]:
        """Seconds and outcomes of a repair of each of some units; counts it, and starts at none for a replaced unit."""
        repair, outcome = self.kind.repairs(self.earlier[units], self.rng)
        self.earlier[units] = np.where(outcome < 0, 0, self.earlier[units] + 1)
        return repair, outcome

    def _struck(self, members: IntArray) -> IntArray:
        share = getattr(self.kind, "share", None)
        if share is None:
            return members
        return self.rng.choice(members, min(max(round(share * members.size), 2), members.size), replace=False)

    def _take_any(self, until: float) -> Table:
        """Failures of the single unit, each of a random node."""
        times = [self.next[:0]]
        while self.next[0] <= until:
            gaps = HOUR * np.asarray(self.life.sample(_BLOCK, self.rng))
            ahead = self.next[0] + np.concatenate([[0.0], np.cumsum(gaps)])
            due = int(np.searchsorted(ahead[:-1], until, side="right"))
            times.append(ahead[:due])
            self.next = ahead[due : due + 1]
        time = np.concatenate(times)
        nodes = self.rng.integers(self.n_nodes, size=time.size)
        if self.kind.has_history:
            return failure_table(time, nodes, *self._in_turn(time, nodes))
        return failure_table(time, nodes, *self.kind.repairs(nodes, self.rng))

    def _in_turn(self, time: FloatArray, nodes: IntArray) -> tuple[FloatArray, IntArray]:
        """Repairs by the history of each node; none for a failure of a node that is down."""
        repair, outcome, remaining = np.zeros(time.size), np.zeros(time.size, np.int64), np.arange(time.size)
        while remaining.size:
            first = np.unique(nodes[remaining], return_index=True)[1]  # the earliest failure of each node
            turn = remaining[first]
            turn = turn[time[turn] >= self.down_until[nodes[turn]]]
            repair[turn], outcome[turn] = self._repairs(nodes[turn])
            self.down_until[nodes[turn]] = time[turn] + repair[turn]
            remaining = np.delete(remaining, first)
        return repair, outcome

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""
        history = {"earlier": self.earlier.tolist(), "down_until": self.down_until.tolist()}
        return {"next": self.next.tolist(), "rng": self.rng.bit_generator.state, **history}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where such a process was."""
        self.next, self.earlier, self.down_until = (np.array(state[name]) for name in ("next", "earlier", "down_until"))
        self.rng.bit_generator.state = state["rng"]


class Together:
    """Several processes as one."""

    def __init__(self, parts: Sequence[FailureProcess]) -> None:
        self.parts = parts
        self.rate = float(sum(part.rate for part in parts))
        self.up_since = next((part.up_since for part in parts if part.up_since is not None), None)

    def take(self, until: float) -> Table:
        """Failures up to a time, those of each process in turn."""
        return np.concatenate([np.zeros(0, dtype=FAILURE), *(part.take(until) for part in self.parts)])

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""
        return {"parts": [part.state() for part in self.parts]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where such processes were."""
        for part, own in zip(self.parts, state["parts"], strict=True):
            part.restore(own)


class FailureStream:
    """Failures of several sources in order of time, one interval of time at a time.

    Parameters
    ----------
    sources : sequence of Failures
    n_nodes : int
    rng : int or numpy.random.Generator
    start : float
        Second from which failures are drawn.
    begun : sequence of dict
        ``state()["begun"]`` of the stream that this one continues: sources may draw the rates of their nodes.

    Examples
    --------
    >>> from relfit.simulation.batch.failure_source import NodeFailures
    >>> stream = FailureStream([NodeFailures(life="1000h", repair="10h")], 100, 1)
    >>> rows = stream.take()
    >>> bool(3500 < len(rows) < 4700), bool((np.diff(rows["time"]) >= 0).all())
    (True, True)
    """

    def __init__(
        self,
        sources: Sequence[FailureSource],
        n_nodes: int,
        rng: int | np.random.Generator | None,
        start: float = 0.0,
        begun: Sequence[Mapping[str, object]] = (),
    ) -> None:
        self.start = start
        generators = np.random.default_rng(rng).spawn(max(len(sources), 1))
        for own, state in zip(generators, begun, strict=False):
            own.bit_generator.state = state
        self._begun = [own.bit_generator.state for own in generators]
        parts = [source.process(n_nodes, own, start) for source, own in zip(sources, generators, strict=False)]
        self._together = Together(parts)
        rate, up_since = self._together.rate, self._together.up_since
        self.stretch = min(_PER_STRETCH / rate, _LONGEST) if rate > 0.0 else np.inf
        self.up_since = None if up_since is None else start + up_since
        """When each node was last repaired, in seconds, where the sources know."""
        self.until = -np.inf

    def take(self) -> Table:
        """The failures of the next interval, up to `until`; all of them where none are drawn."""
        self.until = (self.start if self.until == -np.inf else self.until) + self.stretch
        rows = self._together.take(self.until)
        return rows[np.argsort(rows["time"], kind="stable")]

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""
        return {"until": self.until, "begun": self._begun, **self._together.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of a stream of the same sources."""
        self.until = state["until"]
        self._together.restore(state)
