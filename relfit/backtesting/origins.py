"""Origins from which a log's own future is predicted, with only the data known then, and numbers of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import DataError, Remedy
from relfit.base.text import count, duration
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.fleet.prediction import TimeSteps
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_values, records_counted, watched_of

DAY = 24 * 3_600_000_000_000
_FEWEST, _MOST = 4, 60
_APART = 30  # days, at least
_FIRST = 365  # days, or a third of the log
_RECORDS = 30  # of a system, at least
_CHANGED = 1.05  # largest over smallest number of nodes, up to which counts are compared as they are


def origins_of(log: FailureLog, horizon: float, every: float | None) -> IntArray:
    """Origins in nanoseconds, rising, at equal distances up to one `horizon` (hours) before the end of the log.

    They are `every` days apart; by default 30 or more, for about sixty at most. A `DataError` for fewer than four.
    """
    window = log.window
    first, end = window.start.as_unit("ns").value, window.end.as_unit("ns").value
    last = end - int(horizon / 24.0 * DAY)
    first += min(_FIRST * DAY, (end - first) // 3)
    days = max((last - first) / DAY, 0.0)
    step = max(_APART, int(np.ceil(days / _MOST))) if every is None else max(round(every), 1)
    number = int(days // step) + 1 if last >= first else 0
    if number < _FEWEST:
        least = int(np.ceil(1.5 * ((_FEWEST - 1) * step + horizon / 24.0)))
        closer = int(days // (_FEWEST - 1))  # days between four origins
        ways = (f"every='{closer}d'", f"--every {closer}d") if closer else ("shorter horizons", "shorter horizons")
        be = "is" if number == 1 else "are"
        few = f"{count(number, 'origin')} in {duration(window.hours)} {be} too few"
        few = f"{few}: predictions are made every {step} days"
        longer = f"take a log of {least} days or more, or"
        remedy = Remedy(f"{longer} {ways[0]}", f"{longer} {ways[1]}")
        raise DataError(f"{few}, from a third of the log on", remedy=remedy)
    return last - step * DAY * np.arange(number - 1, -1, -1)


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

    def present(self, instant: int) -> float:
        """Number of nodes at an instant."""
        return float(((self.entered < instant) & (self.left >= instant)).sum())

    def scales(self, edges: IntArray) -> FloatArray:
        """Nodes at the last edge over the mean number between each two edges: the factors of counts there.

        Ones where the numbers differ by no more than 5 %; NaN where there was no node.
        """
        first, last = edges[:-1, None], edges[1:, None]
        hours = (np.minimum(self.left, last) - np.maximum(self.entered, first)).astype(np.float64)
        mean = hours.clip(min=0.0).sum(axis=1) / np.diff(edges)
        ahead = self.present(edges[-1])
        every = np.append(mean, ahead)
        if every.max() <= _CHANGED * every.min() or not (mean > 0.0).any() or not ahead:
            return np.ones(mean.size)
        return ahead / np.where(mean > 0.0, mean, np.nan)


@dataclass(frozen=True, eq=False)
class SystemPast:
    """One system of a log with its origins (nanoseconds)."""

    log: FailureLog
    name: str
    origins: IntArray
    at: IntArray  # starts of the records that count as failures, rising
    steps: TimeSteps  # days to the end of the log, with the origins at their edges

    @classmethod
    def of(cls, log: FailureLog, name: str, origins: IntArray, horizon: float) -> SystemPast:
        """A system and the origins with a past and a future; a `DataError` for too few of them or of records."""
        window, at = log.window, nanoseconds(log.events["start"])[records_counted(log)]
        begin, end = window.start.as_unit("ns").value, window.end.as_unit("ns").value
        first, last = begin + min(_FIRST * DAY, (end - begin) // 3), end - int(horizon / 24.0 * DAY)
        mine = origins[(origins >= first) & (origins <= last)]
        if mine.size < _FEWEST or at.size < _RECORDS:
            raise DataError(f"{count(at.size, 'record')} and {count(mine.size, 'origin')} are too few")
        begin = min(begin, int(at.min()))
        until = mine[-1] + (end - mine[-1]) // DAY * DAY
        steps = TimeSteps.of(pd.Timestamp(begin, tz="UTC"), pd.Timestamp(int(until), tz="UTC"))
        return cls(log, name, mine, np.sort(at), steps)

    def row(self, part: str, of: str, origin: int, hours: float, **more: object) -> dict[str, Any]:
        """A row of a prediction of this system, of the `hours` after an origin."""
        return {"part": part, "of": of, "system": self.name, "origin": origin, "horizon": hours, **more}

    def hours(self, instant: int) -> float:
        """Hours from the start of the log to an instant."""
        return (instant - self.log.window.start.as_unit("ns").value) / NANOSECONDS_PER_HOUR

    def cut(self, origin: int) -> FailureLog:
        """The log until an origin."""
        return self.log.between(None, pd.Timestamp(int(origin), tz="UTC"))

    def day(self, origin: int) -> int:
        """Number of days of `steps` before an origin."""
        return int(np.searchsorted(self.steps.edges, origin))

    def seen(self, origin: int, hours: float, at: IntArray | None = None) -> int:
        """Number of records in the `hours` after an origin; of those at `at`, if set."""
        edges = np.array([origin, origin + int(hours / 24.0 * DAY)])
        first, last = np.searchsorted(self.at if at is None else at, edges, side="left")
        return int(last - first)

    def lasts(self, origin: int, hours: float) -> bool:
        """Whether the log covers `hours` after an origin."""
        return bool(origin + int(hours / 24.0 * DAY) <= self.log.window.end.as_unit("ns").value)

    @cached_property
    def records(self) -> FloatArray:
        """Number of records by day."""
        inside = self.at[self.at <= self.steps.edges[-1]]
        return self.steps.counts(inside)[0]

    @cached_property
    def nodes(self) -> NodeNumbers | None:
        """When nodes came and went; None if their number is not known."""
        return NodeNumbers.of(self.log)

    def nodes_of(self, attribute: str, value: str) -> NodeNumbers | None:
        """Those of the nodes with one value of an attribute; of all nodes where none has it."""
        if self.nodes is None:
            return None
        has = node_values(self.log, attribute, watched_of(self.log).groups).astype(object).astype(str) == value
        return self.nodes.part(np.asarray(has)) if has.any() else self.nodes

    @cached_property
    def units(self) -> FloatArray:
        """Nodes watched by day; ones if the number of nodes is not known."""
        if self.nodes is None:
            return np.ones(self.steps.size)
        return np.asarray(self.steps.watched(self.nodes.entered, self.nodes.left)[0])

    def present(self, origin: int) -> float:
        """Nodes watched at an origin; 1 if the number of nodes is not known."""
        return 1.0 if self.nodes is None else self.nodes.present(origin)
