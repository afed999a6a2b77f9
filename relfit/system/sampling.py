"""Random times to failure of a job, and random sequences of failures of its nodes.

In a sequence a failed node is new and the others continue to age: the failures are those of the nodes' renewal
processes, in order of time (reliability-aware allocation, Figure 4.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from relfit.base.arguments import random_stream
from relfit.base.arrays import Durations, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.ragged import Ragged, offsets_of
from relfit.base.results import Result
from relfit.base.text import count
from relfit.system._nodes import SystemNodes
from relfit.system.checked_nodes import Component, duration_array
from relfit.system.first_k import CELLS, FailureRule

_MOST = 200_000_000  # failures in memory
_ROUNDS = 100_000


def times_left(
    components: Sequence[Component], ages: FloatArray, size: int, generator: np.random.Generator
) -> FloatArray:
    """Random times to failure of the nodes from now, hours, shape (size, nodes)."""
    out = np.empty((size, ages.size))
    for component in components:
        where = component.positions
        spent = generator.standard_exponential((size, where.size))
        out[:, where] = component.family.inverse_conditional_cumulative_hazard(spent, ages[where])
    return out


def sample(components: Sequence[Component], ages: FloatArray, rule: FailureRule, size: int, rng: Seed) -> FloatArray:
    """Random times to failure of the job, shape (size,); `System.sample` documents the arguments."""
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
        raise ArgumentError(f"size={size!r}", remedy="give the number of times to draw")
    generator, parts = random_stream(rng), [np.empty(0)]
    step = max(1, CELLS // ages.size)
    for first in range(0, int(size), step):
        number = min(step, int(size) - first)
        left = times_left(components, ages, number, generator)
        ends = np.full(number, np.inf)
        if rule.common is not None:
            ends = times_left(rule.common.components, rule.common.ages, number, generator).min(axis=1)
        if rule.racks is not None:
            racks = times_left(rule.racks.components, rule.racks.ages, number, generator)
            if rule.racks_count:
                left = np.minimum(left, racks[:, rule.racks.of_node])
            else:
                ends = np.minimum(ends, racks[:, np.unique(rule.racks.of_node)].min(axis=1))
        parts.append(np.minimum(ends, np.partition(left, rule.tolerance, axis=1)[:, rule.tolerance]))
    return np.concatenate(parts)


class Sequences(Result, Ragged):
    """Sequences of failures of a system, in order of time; made by `System.sequences`.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Hours from the start of the sequence.
    nodes : ndarray of int, shape (n,)
        Position of the node that failed.
    worked : ndarray, shape (n,)
        Hours since the node's last failure, including its age before the start.
    offsets : ndarray of int, shape (sequences + 1,)
        Start of each sequence.
    names : pandas.Index
        Names of the nodes.
    until : float
        End of the sequences in hours; infinite if a number of failures ends them.
    """

    times: FloatArray
    nodes: IntArray
    worked: FloatArray
    offsets: IntArray
    names: pd.Index
    until: float

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return self.n_groups

    @property
    def counts(self) -> IntArray:
        """Number of failures in each sequence."""
        return self.sizes

    def __len__(self) -> int:
        return int(self.times.size)

    @property
    def headline(self) -> str:
        """The number of failures, nodes and sequences."""
        end = f" until {self.until:g} h" if np.isfinite(self.until) else ""
        runs = count(self.n_sequences, "sequence")
        return f"{count(len(self), 'failure')} of {count(len(self.names), 'node')} in {runs}{end}"

    def to_frame(self) -> pd.DataFrame:
        """One row per failure: ``sequence``, ``time`` (hours), ``node``, its ``position``, ``worked`` (hours)."""
        columns = {"sequence": self.group_codes(), "time": self.times, "node": self.names[self.nodes]}
        return pd.DataFrame({**columns, "position": self.nodes, "worked": self.worked})


def sequences(nodes: SystemNodes, until: Durations | None, failures: int | None, size: int, rng: Seed) -> Sequences:
    """Random sequences of failures; `System.sequences` documents arguments and errors."""
    if (until is None) == (failures is None):
        raise ArgumentError("give either until= or failures=", remedy="an end, or how many failures")
    for name, value in (("size", size), ("failures", failures)):
        if value is not None and value < 1:
            raise ArgumentError(f"{name}={value!r}", remedy="give one or more")
    end = np.inf if until is None else float(duration_array(until))
    if not end > 0.0:
        raise ArgumentError(f"until={end:g} h", remedy="give a time above zero")
    generator = random_stream(rng)
    step = max(1, CELLS // nodes.n_nodes)
    parts: list[tuple[IntArray, FloatArray, IntArray, FloatArray]] = []
    for first in range(0, size, step):
        renewals = _Renewals(nodes, min(step, size - first), generator)
        rows, *rest = renewals.until(end) if failures is None else renewals.first(failures)
        parts.append((rows + first, *rest))  # type: ignore[arg-type]
    rows, times, failed, worked = (np.concatenate(p) for p in zip(*parts, strict=True))
    return Sequences(times, failed, worked, offsets_of(np.bincount(rows, minlength=size)), nodes.names, end)


class _Renewals:
    """The next failure of every node in every sequence, and the failures so far."""

    def __init__(self, nodes: SystemNodes, count: int, generator: np.random.Generator) -> None:
        self.count, self.nodes, self.generator = count, nodes.n_nodes, generator
        self.components = nodes.components
        self.kind, self.place = np.empty((2, self.nodes), dtype=np.int64)
        for number, component in enumerate(self.components):
            self.kind[component.positions] = number
            self.place[component.positions] = np.arange(len(component))
        left = times_left(self.components, nodes.ages, count, generator)
        self.life = (left + nodes.ages).ravel()
        self.next = left.ravel()
        self.seen: list[tuple[IntArray, FloatArray, FloatArray]] = []

    def _run(self, end: FloatArray) -> None:
        """Record all failures up to the end of each sequence."""
        total = sum(part[0].size for part in self.seen)
        due = np.flatnonzero(self.next <= np.repeat(end, self.nodes))
        for _ in range(_ROUNDS):
            if not due.size:
                return
            total += due.size
            if total > _MOST:
                raise ArgumentError(f"more than {_MOST} failures", remedy="ask for less time, or fewer sequences")
            self.seen.append((due, self.next[due], self.life[due]))
            fresh = self._as_new(due % self.nodes)
            self.life[due] = fresh
            self.next[due] += fresh
            due = due[self.next[due] <= end[due // self.nodes]]
        raise ArgumentError("a node fails without end", remedy="its lifetimes are too short compared with the horizon")

    def _as_new(self, nodes: IntArray) -> FloatArray:
        """Random times to failure of new nodes."""
        out = np.empty(nodes.size)
        spent = self.generator.standard_exponential(nodes.size)
        for number, component in enumerate(self.components):
            mine = self.kind[nodes] == number
            if mine.any():
                out[mine] = component.family[self.place[nodes[mine]]].inverse_cumulative_hazard(spent[mine])
        return out

    def until(self, end: float) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """All failures up to `end`: sequence, time, node, hours worked."""
        self._run(np.full(self.count, end))
        return self._ordered()

    def first(self, failures: int) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """The first failures of every sequence."""
        ahead = self.next.reshape(self.count, self.nodes)
        # once each of the m nodes that fail first has failed, a sequence has m failures
        most = min(failures, self.nodes) - 1
        end = np.partition(ahead, most, axis=1)[:, most]
        short = np.ones(self.count, dtype=np.bool_)
        for _ in range(_ROUNDS):
            if np.isinf(end[short]).any():
                raise ArgumentError(
                    f"fewer than {failures} failures ever come", remedy="some nodes never fail: give until= instead"
                )
            self._run(end)
            have = np.zeros(self.count, dtype=np.int64)
            for rows, _, _ in self.seen:
                have += np.bincount(rows // self.nodes, minlength=self.count)
            short = have < failures
            if not short.any():
                break
            coming = self.next.reshape(self.count, self.nodes).min(axis=1)
            grown = np.maximum(end * np.clip(1.2 * failures / np.maximum(have, 1), 1.2, 4.0), coming)
            end = np.where(short, grown, end)
        rows, times, nodes, worked = self._ordered()
        begin = np.searchsorted(rows, np.arange(self.count))
        first = np.arange(rows.size) - begin[rows] < failures
        return rows[first], times[first], nodes[first], worked[first]

    def _ordered(self) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        if not self.seen:
            none = np.empty(0)
            return none.astype(np.int64), none, none.astype(np.int64), none
        cells, times, worked = (np.concatenate(part) for part in zip(*self.seen, strict=True))
        rows, nodes = cells // self.nodes, cells % self.nodes
        order = np.lexsort((nodes, times, rows))
        return rows[order], times[order], nodes[order], worked[order]
