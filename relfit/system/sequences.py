"""Random sequences of failures of a system: a node that fails starts anew, and the others go on ageing.

Nodes fail independently, so the failures of the system are those of the nodes' renewal processes, put in order (Figure
4.1). They are drawn for all nodes and sequences at once, life by life.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.families import Distribution
from relfit.system.components import Component, duration_array
from relfit.system.sampling import lives_left

if TYPE_CHECKING:
    from relfit.system.system import System

__all__ = ["Sequences", "sequences"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CHUNK = 2_000_000  # nodes times sequences that are drawn at a time
_MOST = 200_000_000  # failures that are held
_ROUNDS = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Sequences:
    """Failures of a system in order of time, sequence after sequence.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Hours from the beginning of the sequence.
    nodes : ndarray of int, shape (n,)
        Position of the node that failed.
    lives : ndarray, shape (n,)
        Hours that the node had worked since its last failure or repair; for its first failure its age counts.
    offsets : ndarray of int, shape (sequences + 1,)
        Where each sequence begins.
    names : pandas.Index
        Of the nodes.
    until : float
        End of observation in hours; infinite where the number of failures ends a sequence.
    """

    times: FloatArray
    nodes: IntArray
    lives: FloatArray
    offsets: IntArray
    names: pd.Index
    until: float

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return int(self.offsets.size - 1)

    @property
    def counts(self) -> IntArray:
        """Failures in each sequence."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return int(self.times.size)

    def gaps(self) -> FloatArray:
        """Times to failure of the system: from each failure, or the beginning, to the next; shape (n,)."""
        gaps = np.diff(self.times, prepend=0.0)
        first = self.offsets[:-1][self.counts > 0]
        gaps[first] = self.times[first]
        return gaps

    def of_sequence(self, number: int) -> tuple[FloatArray, IntArray]:
        """Times and nodes of one sequence."""
        if not 0 <= number < self.n_sequences:
            raise ArgumentError(f"there is no sequence {number} among {self.n_sequences}")
        part = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        return self.times[part], self.nodes[part]

    def to_frame(self) -> pd.DataFrame:
        """One row a failure: sequence, time in hours, node, its position, and the life that ended."""
        return pd.DataFrame(
            {
                "sequence": np.repeat(np.arange(self.n_sequences), self.counts),
                "time": self.times,
                "node": self.names[self.nodes],
                "position": self.nodes,
                "life": self.lives,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Failures by column, ready for JSON."""
        frame = self.to_frame()
        return {
            "until": self.until if np.isfinite(self.until) else None,
            "sequences": self.n_sequences,
            **{str(name): frame[name].tolist() for name in frame},
        }

    def __repr__(self) -> str:
        end = f"until {self.until:g} h" if np.isfinite(self.until) else "by number"
        return f"Sequences: {self.n_sequences} of {len(self.names)} nodes, {len(self)} failures ({end})"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.to_frame().to_html(max_rows=10, float_format='{:.5g}'.format)}"


def sequences(
    system: System,
    until: Any,
    failures: int | None,
    size: int,
    rng: int | np.random.Generator | None,
    repair: Distribution | float | str | None,
) -> Sequences:
    """Random failures; `System.sequences` documents the arguments.

    Raises
    ------
    ArgumentError
        Where neither an end nor a number of failures is given, or both, or a number that cannot be.
    """
    if (until is None) == (failures is None):
        raise ArgumentError("give either until= or failures=", remedy="an end, or how many failures")
    if size < 1:
        raise ArgumentError(f"size={size!r}", remedy="give the number of sequences")
    if failures is not None and failures < 1:
        raise ArgumentError(f"failures={failures!r}", remedy="give how many failures a sequence has")
    end = np.inf if until is None else float(duration_array(until))
    if not end > 0.0:
        raise ArgumentError(f"until={end:g} h", remedy="give a time above zero")
    down = _repairs(repair)
    generator = np.random.default_rng(rng)
    step = max(1, _CHUNK // system.n_nodes)
    parts: list[tuple[IntArray, FloatArray, IntArray, FloatArray]] = []
    for first in range(0, size, step):
        count = min(step, size - first)
        drawn = _Renewals(system.components, system.ages, count, generator, down)
        found = drawn.until(end) if failures is None else drawn.first(failures)
        parts.append((found[0] + first, *found[1:]))
    rows, times, nodes, lives = (np.concatenate(p) for p in zip(*parts, strict=True))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]).astype(np.int64)
    return Sequences(times, nodes, lives, offsets, system.names, end)


def _repairs(repair: Any) -> Distribution | float:
    if repair is None:
        return 0.0
    if isinstance(repair, Distribution):
        if repair.batch_shape not in ((), (1,)):
            raise ArgumentError(f"a batch of shape {repair.batch_shape} of repairs", remedy="give one distribution")
        return repair
    fixed = float(duration_array(repair))
    if not fixed >= 0.0 or np.isinf(fixed):
        raise ArgumentError(f"a repair of {fixed:g} h", remedy="give a time at or above zero")
    return fixed


class _Renewals:
    """The next failure of every node in every sequence, and what has come before."""

    def __init__(
        self,
        components: Sequence[Component],
        ages: FloatArray,
        count: int,
        generator: np.random.Generator,
        repair: Distribution | float,
    ) -> None:
        self.count, self.nodes, self.generator, self.repair = count, ages.size, generator, repair
        self.kinds = [(component.family, component.positions) for component in components]
        self.kind = np.empty(ages.size, dtype=np.int64)
        self.place = np.empty(ages.size, dtype=np.int64)
        for number, (_, where) in enumerate(self.kinds):
            self.kind[where], self.place[where] = number, np.arange(where.size)
        left = lives_left(components, ages, count, generator)
        self.life = (left + ages).ravel()
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
            fresh = self._fresh(due % self.nodes)
            self.life[due] = fresh
            self.next[due] += self._down(due.size) + fresh
            due = due[self.next[due] <= end[due // self.nodes]]
        raise ArgumentError("a node fails without end", remedy="its lives are too short beside the horizon")

    def _fresh(self, nodes: IntArray) -> FloatArray:
        """Lives from age 0."""
        out = np.empty(nodes.size)
        spent = self.generator.standard_exponential(nodes.size)
        for number, (family, _) in enumerate(self.kinds):
            mine = self.kind[nodes] == number
            if mine.any():
                out[mine] = family[self.place[nodes[mine]]].inverse_cumulative_hazard(spent[mine])
        return out

    def _down(self, count: int) -> FloatArray | float:
        if isinstance(self.repair, float):
            return self.repair
        return np.ravel(self.repair.sample(count, self.generator))

    def until(self, end: float) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """All failures up to `end`: sequence, time, node, life."""
        self._run(np.full(self.count, end))
        return self._ordered()

    def first(self, failures: int) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """The first failures of every sequence."""
        ahead = self.next.reshape(self.count, self.nodes)
        # a sequence that has a failure of each of the m nodes that come first has as many
        most = min(failures, self.nodes) - 1
        end = np.partition(ahead, most, axis=1)[:, most]
        if not np.isfinite(end).all():
            raise ArgumentError(
                f"fewer than {failures} failures ever come", remedy="some nodes never fail: give until= instead"
            )
        for _ in range(_ROUNDS):
            self._run(end)
            have = np.zeros(self.count, dtype=np.int64)
            for rows, _, _ in self.seen:
                have += np.bincount(rows // self.nodes, minlength=self.count)
            if (have >= failures).all():
                break
            short = have < failures
            coming = self.next.reshape(self.count, self.nodes).min(axis=1)
            grown = np.maximum(end * np.clip(1.2 * failures / np.maximum(have, 1), 1.2, 4.0), coming)
            if np.isinf(grown[short]).any():
                raise ArgumentError(
                    f"fewer than {failures} failures ever come", remedy="some nodes never fail: give until= instead"
                )
            end = np.where(short, grown, end)
        rows, times, nodes, lives = self._ordered()
        begin = np.searchsorted(rows, np.arange(self.count))
        kept = np.arange(rows.size) - begin[rows] < failures
        return rows[kept], times[kept], nodes[kept], lives[kept]

    def _ordered(self) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        if not self.seen:
            none = np.empty(0)
            return none.astype(np.int64), none, none.astype(np.int64), none
        cells, times, lives = (np.concatenate(part) for part in zip(*self.seen, strict=True))
        rows, nodes = cells // self.nodes, cells % self.nodes
        order = np.lexsort((nodes, times, rows))
        return rows[order], times[order], nodes[order], lives[order]
