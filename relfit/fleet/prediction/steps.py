"""Equal steps of time that end with the observation, with counts and exposure in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.arrays import CodeArray, FloatArray, IntArray
from relfit.base.units import NANOSECONDS_PER_HOUR

_DAY = 24.0
_MOST = 20_000  # steps: half a century of days


@dataclass(frozen=True, eq=False)
class TimeSteps:
    """Steps of `width` hours, the last of which ends with the observation."""

    edges: IntArray  # nanoseconds since 1970, shape (steps + 1,)
    width: float

    @classmethod
    def of(cls, start: pd.Timestamp, end: pd.Timestamp, width: float = _DAY) -> TimeSteps:
        """As many complete steps of `width` hours as fit between two instants, or one shorter step."""
        first, last = start.as_unit("ns").value, end.as_unit("ns").value
        hours = max((last - first) / NANOSECONDS_PER_HOUR, 1e-6)
        width = min(width, hours)
        number = min(max(int(hours / width * (1.0 + 1e-12)), 1), _MOST)
        edges = last - (np.arange(number, -1, -1) * (width * NANOSECONDS_PER_HOUR)).astype(np.int64)
        return cls(edges, width)

    @property
    def size(self) -> int:
        """Number of steps."""
        return self.edges.size - 1

    @property
    def days(self) -> float:
        """Days in a step."""
        return self.width / _DAY

    def counts(
        self, at: IntArray, group: CodeArray | None = None, size: int = 1, weight: FloatArray | None = None
    ) -> FloatArray:
        """Number of instants (nanoseconds) in each step, or sum of their weights, shape (groups, steps); those outside
        all steps, or in group -1, do not count.
        """
        step = np.searchsorted(self.edges, at, side="right") - 1
        step[at == self.edges[-1]] = self.size - 1
        code = np.zeros(at.size, np.int64) if group is None else group
        inside = (step >= 0) & (step < self.size) & (code >= 0)
        weight = None if weight is None else weight[inside]
        flat = np.bincount(code[inside] * self.size + step[inside], weight, size * self.size)
        return flat.reshape(size, self.size).astype(np.float64)

    def watched(self, entered: IntArray, left: IntArray, group: IntArray | None = None, size: int = 1) -> FloatArray:
        """Mean number of units watched in each step, shape (groups, steps), from their entry and exit (nanoseconds)."""
        code = np.zeros(entered.size, np.int64) if group is None else group
        left = np.maximum(left, entered)
        until = np.zeros((size, self.edges.size))
        for sign, instants in ((1.0, entered), (-1.0, left)):
            # cumulative hours after each instant
            at = np.clip(np.searchsorted(self.edges, instants, side="right"), 0, self.edges.size)
            number, sums = np.zeros((size, self.edges.size + 1)), np.zeros((size, self.edges.size + 1))
            np.add.at(number, (code, at), 1.0)
            np.add.at(sums, (code, at), (instants - self.edges[0]) / NANOSECONDS_PER_HOUR)
            number, sums = np.cumsum(number, axis=1)[:, :-1], np.cumsum(sums, axis=1)[:, :-1]
            until += sign * (number * (self.edges - self.edges[0]) / NANOSECONDS_PER_HOUR - sums)
        return np.maximum(np.diff(until, axis=1) / self.width, 0.0)
