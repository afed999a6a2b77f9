"""Failures drawn ahead of a simulation, one interval of time at a time, and the base of their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution
from relfit.simulation.batch.engine_state import FAILURE
from relfit.simulation.engine.checked_settings import HOUR, in_seconds
from relfit.simulation.engine.repair_stages import StagedRepairs

Table = np.ndarray[Any, np.dtype[np.void]]

_PER_STRETCH = 4096.0
_BLOCK = 1024
_LONGEST = 100.0 * 8766.0 * HOUR
Lives = tuple[FloatArray, FloatArray]  # Weibull shape and scale (seconds) of each node


def failure_table(time: FloatArray, node: IntArray, repair: FloatArray, outcome: IntArray | int = 0) -> Table:
    """Failures as records of the engine."""
    rows = np.zeros(time.size, dtype=FAILURE)
    rows["time"], rows["node"], rows["repair"], rows["outcome"] = time, node, repair, outcome
    return rows


class FailureProcess(Protocol):
    """Draws the failures of some nodes."""

    rate: float  # failures per second
    up_since: FloatArray | None  # when each node was last repaired before time 0, in seconds, where that is known

    def take(self, until: float) -> Table:
        """Failures up to a time."""

    def state(self) -> dict[str, Any]:
        """What `restore` needs, ready for JSON."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where such a process was."""


class Failures:
    """A source of failures."""

    @property
    def mean_repair(self) -> float:
        """Mean time to repair, in seconds."""
        raise NotImplementedError

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> FailureProcess:
        """The process that draws the failures of a machine: ``take(until)``, ``state()`` and ``restore(state)``."""
        raise NotImplementedError

    def rates(self, n_nodes: int, *, steady: bool = False) -> FloatArray:
        """Failures per second of each node, 0 where they are not known; `steady`: only rates that depend on no age."""
        return np.zeros(n_nodes)

    def lives(self, n_nodes: int) -> Lives | None:
        """Weibull shape and scale of each node, of a source of failures of single nodes; else None."""
        return None


@dataclass(frozen=True)
class RepairedFailures(Failures):
    """Failures with drawn repairs, as `SystemFailures` documents them; stages count those after its own failures."""

    repair: Any = 0.0
    fixed: bool = False

    def __post_init__(self) -> None:
        if self.fixed and self.has_history:
            raise ArgumentError(
                "fixed is given together with repairs in stages", remedy="set fixed=True on a stage instead"
            )

    @property
    def has_history(self) -> bool:
        """Whether a repair depends on those before it."""
        return isinstance(self.repair, StagedRepairs)

    def repairs(self, earlier: IntArray, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Seconds and outcomes of repairs of units with `earlier` repairs; outcome 0 without stages."""
        if isinstance(self.repair, StagedRepairs):
            drawn = self.repair.draw(earlier, rng)
            return HOUR * drawn.hours, drawn.outcome
        if isinstance(self.repair, Distribution):
            return HOUR * self.repair.sample(earlier.size, rng), np.zeros(earlier.size, np.int64)
        mean = in_seconds("repair", self.repair)
        times = np.full(earlier.size, mean) if self.fixed else mean * rng.standard_exponential(earlier.size)
        return times, np.zeros(earlier.size, np.int64)

    @property
    def mean_repair(self) -> float:
        if isinstance(self.repair, StagedRepairs):
            return HOUR * self.repair.long_run_mean()
        if isinstance(self.repair, Distribution):
            return HOUR * float(np.mean(self.repair.mean()))
        return in_seconds("repair", self.repair)


class Replay:
    """A list of failures, each taken once."""

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


class Renumbered:
    """The failures of a source, `shift` added to their nodes, less those outside of `n_nodes` nodes: of a class of
    nodes in the machine, or of the machine in a part of it. `key` names the source in the state.
    """

    def __init__(
        self, key: str, source: FailureProcess, shift: int, n_nodes: int, up_since: FloatArray | None = None
    ) -> None:
        self.key, self.source, self.shift, self.n_nodes = key, source, shift, n_nodes
        self.rate: float = source.rate
        self.up_since = up_since

    def take(self, until: float) -> Table:
        rows = self.source.take(until).copy()
        rows["node"] += self.shift
        return rows[(rows["node"] >= 0) & (rows["node"] < self.n_nodes)]

    def state(self) -> dict[str, Any]:
        return {self.key: self.source.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.source.restore(state[self.key])


class Process:
    """Units that fail and are repaired independently, each with the time of its next failure."""

    def __init__(
        self,
        kind: RepairedFailures,
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
            what = f"{life.batch_shape} distributions of lifetimes for {units}"
            raise ArgumentError(what, remedy="give one, or one each")
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
        history = {"earlier": self.earlier.tolist(), "down_until": self.down_until.tolist()}
        return {"next": self.next.tolist(), "rng": self.rng.bit_generator.state, **history}

    def restore(self, state: dict[str, Any]) -> None:
        self.next, self.earlier, self.down_until = (np.array(state[name]) for name in ("next", "earlier", "down_until"))
        self.rng.bit_generator.state = state["rng"]


class Together:
    """Several processes as one."""

    def __init__(self, parts: Sequence[FailureProcess]) -> None:
        self.parts = parts
        self.rate = float(sum(part.rate for part in parts))
        self.up_since = next((part.up_since for part in parts if part.up_since is not None), None)

    def take(self, until: float) -> Table:
        return np.concatenate([np.zeros(0, dtype=FAILURE), *(part.take(until) for part in self.parts)])

    def state(self) -> dict[str, Any]:
        return {"parts": [part.state() for part in self.parts]}

    def restore(self, state: dict[str, Any]) -> None:
        for part, own in zip(self.parts, state["parts"], strict=True):
            part.restore(own)


class FailureStream:
    """Failures of several sources in order of time, one interval of time at a time, from the second `start` on.

    `begun` is ``state()["begun"]`` of the stream that this one continues: sources may draw the rates of their nodes.
    """

    def __init__(
        self,
        sources: Sequence[Failures],
        n_nodes: int,
        rng: int | np.random.Generator | None,
        start: float = 0.0,
        begun: Sequence[Mapping[str, object]] = (),
    ) -> None:
        self.start = start
        generators = random_stream(rng).spawn(max(len(sources), 1))
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
        return {"until": self.until, "begun": self._begun, **self._together.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the state of a stream of the same sources."""
        self.until = state["until"]
        self._together.restore(state)
