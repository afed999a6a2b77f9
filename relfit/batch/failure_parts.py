"""Failures of a whole machine as one of its parts sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.arrays import FloatArray
from relfit.batch.engine_state import Table

__all__ = ["PartOfFailures", "whole_of"]


@dataclass(frozen=True, kw_only=True)
class PartOfFailures:
    """What failures of a whole machine do to some of its nodes, which follow each other.

    Each part of a machine that draws with the same seed sees the same failures, so one of the whole machine strikes
    all parts at one instant.

    Parameters
    ----------
    whole : Failures
        Of the machine, whose nodes are numbered from 0 to `n_whole`.
    n_whole, first : int
        Nodes of the machine, and which of them is node 0 of the part.
    seed : int
    since : float
        Second from which on failures are drawn.
    """

    whole: Any
    n_whole: int
    first: int
    seed: int
    since: float

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> _Part:
        """The failures of the machine, less those of other nodes."""
        machine = self.whole.process(self.n_whole, np.random.default_rng(self.seed), self.since)
        return _Part(machine, self.first, n_nodes, self.since - start)

    @property
    def mean_repair(self) -> float:
        """Seconds."""
        return float(self.whole.mean_repair)


def whole_of(source: Any, n_nodes: int) -> tuple[Any, int, slice]:
    """What a source of failures of `n_nodes` nodes is part of, how many nodes that has, and which of them these are."""
    if isinstance(source, PartOfFailures):
        return source.whole, source.n_whole, slice(source.first, source.first + n_nodes)
    return source, n_nodes, slice(0, n_nodes)


class _Part:
    """The failures of some nodes of a machine, numbered among these."""

    def __init__(self, machine: Any, first: int, n_nodes: int, since: float) -> None:
        self.machine, self.first, self.n_nodes = machine, first, n_nodes
        self.rate = machine.rate
        own = machine.up_since
        self.up_since: FloatArray | None = None if own is None else since + own[first : first + n_nodes]

    def take(self, until: float) -> Table:
        rows = self.machine.take(until)
        rows = rows[(rows["node"] >= self.first) & (rows["node"] < self.first + self.n_nodes)]
        rows["node"] -= self.first
        return rows

    def state(self) -> dict[str, Any]:
        return {"machine": self.machine.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.machine.restore(state["machine"])
