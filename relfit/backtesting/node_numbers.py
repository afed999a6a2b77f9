"""Numbers of nodes in service, by which counts of the past are scaled where nodes came or went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.log.failurelog import FailureLog
from relfit.log.outages import watched_of

_CHANGED = 1.05  # largest over smallest number of nodes, up to which counts are compared as they are


@dataclass(frozen=True, eq=False)
class NodeNumbers:
    """When each node came and went, nanoseconds."""

    entered: IntArray
    left: IntArray

    @classmethod
    def of(cls, log: FailureLog) -> NodeNumbers | None:
        """Those of a log; None where the number of nodes is not known."""
        watched = watched_of(log)
        return cls(watched.entered, watched.left) if watched.n_groups and log.question is None else None

    @classmethod
    def together(cls, each: Sequence[NodeNumbers | None]) -> NodeNumbers | None:
        """Those of several systems; None where one is not known."""
        there = [one for one in each if one is not None]
        if len(there) < len(each):
            return None
        return cls(np.concatenate([one.entered for one in there]), np.concatenate([one.left for one in there]))

    def part(self, nodes: BoolArray) -> NodeNumbers:
        """Those of some of the nodes."""
        return NodeNumbers(self.entered[nodes], self.left[nodes])

    def scales(self, edges: IntArray) -> FloatArray:
        """Nodes at the last edge over the mean number between each two edges: the factors of counts there.

        Ones where the numbers differ by no more than 5 %; NaN where there was no node.
        """
        first, last = edges[:-1, None], edges[1:, None]
        hours = (np.minimum(self.left, last) - np.maximum(self.entered, first)).astype(np.float64)
        mean = hours.clip(min=0.0).sum(axis=1) / np.diff(edges)
        ahead = float(((self.entered < edges[-1]) & (self.left >= edges[-1])).sum())
        every = np.append(mean, ahead)
        if every.max() <= _CHANGED * every.min() or not (mean > 0.0).any() or not ahead:
            return np.ones(mean.size)
        return ahead / np.where(mean > 0.0, mean, np.nan)
