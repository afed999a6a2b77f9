"""Origins from which a log's own future is predicted, with only the data known then."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from relfit.backtesting.node_numbers import NodeNumbers
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import DataError, Remedy
from relfit.base.text import duration
from relfit.base.units import nanoseconds
from relfit.fleet.prediction import TimeSteps
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_values, watched_of

DAY = 24 * 3_600_000_000_000
_FEWEST, _MOST = 4, 60
_APART = 30  # days, at least
_FIRST = 365  # days, or a third of the log
_RECORDS = 30  # of a system, at least


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
        least = 1.5 * ((_FEWEST - 1) * step + horizon / 24.0)
        closer = int(days // (_FEWEST - 1))  # days between four origins
        python, option = (
            (f"every={f'{closer}d'!r}", f"--every {closer}d") if closer else ("shorter horizons", "shorter horizons")
        )
        raise DataError(
            f"{number} origins in {duration(window.hours)} are too few: predictions are made every {step} days, from a "
            "third of the log on",
            remedy=Remedy(
                f"take a log of {int(np.ceil(least))} days or more, or {python}",
                f"take a log of {int(np.ceil(least))} days or more, or {option}",
            ),
        )
    return last - step * DAY * np.arange(number - 1, -1, -1)


@dataclass(frozen=True, eq=False)
class SystemPast:
    """One system of a log with its origins (nanoseconds)."""

    log: FailureLog
    name: str
    origins: IntArray
    at: IntArray  # when the records that began under observation did, rising
    steps: TimeSteps  # days to the end of the log, with the origins at their edges

    @classmethod
    def of(cls, log: FailureLog, name: str, origins: IntArray, horizon: float) -> SystemPast:
        """A system and the origins with a past and a future; a `DataError` for too few of them or of records."""
        window, begun = log.window, ~log.events["start_cut"].to_numpy(bool)
        at = nanoseconds(log.events["start"])[begun]
        begin, end = window.start.as_unit("ns").value, window.end.as_unit("ns").value
        first, last = begin + min(_FIRST * DAY, (end - begin) // 3), end - int(horizon / 24.0 * DAY)
        mine = origins[(origins >= first) & (origins <= last)]
        if mine.size < _FEWEST or at.size < _RECORDS:
            raise DataError(f"{at.size} records and {mine.size} origins are too few")
        begin = min(begin, int(at.min()))
        until = mine[-1] + (end - mine[-1]) // DAY * DAY
        steps = TimeSteps.of(pd.Timestamp(begin, tz="UTC"), pd.Timestamp(int(until), tz="UTC"))
        return cls(log, name, mine, np.sort(at), steps)

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
    def _known(self) -> bool:
        """Whether the number of nodes is known."""
        return bool(watched_of(self.log).n_groups) and self.log.question is None

    @cached_property
    def units(self) -> FloatArray:
        """Nodes watched by day; ones if the number of nodes is not known."""
        watched = watched_of(self.log)
        if not self._known:
            return np.ones(self.steps.size)
        return np.asarray(self.steps.watched(watched.entered, watched.left)[0])

    def present(self, origin: int) -> float:
        """Nodes watched at an origin; 1 if the number of nodes is not known."""
        watched = watched_of(self.log)
        if not self._known:
            return 1.0
        return float(((watched.entered < origin) & (watched.left >= origin)).sum())
