"""What a report asks of the log beyond fits and counts: each analysis runs once, and may have no answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from relfit import recurrence, screening
from relfit.errors import DataError, RelfitError
from relfit.failurelog import FailureLog
from relfit.independence import Dependence, dependence
from relfit.recurrence import (
    Availability,
    AvailabilityOverTime,
    EventHistories,
    MeanCumulative,
    ProcessComparison,
    TrendTests,
)
from relfit.screening import ChangePoints, Incidents, OutlierNodes, RepairKinds
from relfit.validation import Replay, replay

__all__ = ["Analyses", "Answer"]

T = TypeVar("T")
_HELD_OUT = 0.25
_JOBS = (1, 16, 64)


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A result, or why there is none."""

    result: T | None
    problem: str = ""


def ask(work: Callable[[], T]) -> Answer[T]:
    """What `work` gives, or its complaint about the data as a sentence."""
    try:
        return Answer(work())
    except RelfitError as error:
        text = str(error)
        return Answer(None, f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}")


@dataclass(frozen=True, eq=False)
class Analyses:
    """The analyses that the sections of a report share.

    Parameters
    ----------
    log : FailureLog
    systems : tuple
        Systems to divide into periods, each by itself.
    level : float
        Of the intervals.
    """

    log: FailureLog
    systems: tuple[Any, ...]
    level: float

    @cached_property
    def dependence(self) -> Answer[Dependence]:
        """Do failures depend on each other."""
        return ask(lambda: dependence(self.log))

    @cached_property
    def change_points(self) -> dict[Any, Answer[ChangePoints]]:
        """The periods of each system."""
        single = len(self.log.systems) <= 1

        def of(system: Any) -> ChangePoints:
            log = self.log if single else self.log.where(system=system)
            return screening.change_points(log, level=self.level)

        return {system: ask(partial(of, system)) for system in self.systems}

    @cached_property
    def histories(self) -> Answer[EventHistories]:
        """When each node failed since its observation began."""

        def work() -> EventHistories:
            histories = recurrence.histories_of_log(self.log)
            if not histories.times.size:
                raise DataError("no failure of a node within its time of observation is on record")
            return histories

        return ask(work)

    def _of_histories(self, work: Callable[[EventHistories], T]) -> Answer[T]:
        histories = self.histories.result
        return Answer(None, self.histories.problem) if histories is None else ask(lambda: work(histories))

    @cached_property
    def trend(self) -> Answer[TrendTests]:
        """Tests of trend of all nodes together."""
        return self._of_histories(lambda histories: recurrence.trend_tests(histories, "all"))

    @cached_property
    def trend_by_node(self) -> Answer[TrendTests]:
        """Tests of trend of every node."""
        return self._of_histories(recurrence.trend_tests)

    @cached_property
    def processes(self) -> Answer[ProcessComparison]:
        """Point processes fitted to all nodes as copies of one another."""
        return self._of_histories(lambda histories: recurrence.compare_processes(histories, "all", level=self.level))

    @cached_property
    def mean_cumulative(self) -> Answer[MeanCumulative]:
        """Failures of a node by age; by system where there are several."""
        by = "system" if len(self.log.systems) > 1 else "all"
        return self._of_histories(lambda histories: recurrence.mean_cumulative(histories, by, level=self.level))

    @cached_property
    def incidents(self) -> Answer[Incidents]:
        """What the records amount to when those of one incident are joined."""
        return ask(lambda: screening.incidents(self.log, level=self.level))

    @cached_property
    def outlier_nodes(self) -> Answer[OutlierNodes]:
        """Nodes that fail too often."""
        return ask(lambda: screening.outlier_nodes(self.log, level=self.level))

    @cached_property
    def repair_kinds(self) -> Answer[RepairKinds]:
        """Quick and slow repairs by cause; of the system where no cause is stated."""

        def work() -> RepairKinds:
            stated = bool(self.log.events["cause"].notna().any())
            kinds = screening.repair_kinds(self.log, "cause" if stated else "system", level=self.level)
            if not kinds.table["repairs"].sum():
                raise DataError("no repair was observed to its end")
            return kinds

        return ask(work)

    @cached_property
    def availability(self) -> Answer[Availability]:
        """Share of the nodes' hours without an outage."""

        def work() -> Availability:
            whole = recurrence.availability(self.log, level=self.level)
            if not whole.node_hours.sum():
                raise DataError("no node was watched for any time")
            if not whole.down_hours.sum():
                raise DataError("no outage of a node with a known end is on record")
            return whole

        return ask(work)

    @cached_property
    def availability_over_time(self) -> Answer[AvailabilityOverTime]:
        """The same in calendar bins."""
        if self.availability.result is None:
            return Answer(None, self.availability.problem)
        return ask(lambda: recurrence.availability_over_time(self.log, level=self.level))

    @cached_property
    def replay(self) -> Answer[Replay]:
        """The model of the log's first three quarters, held to the last; of the system that fails most often."""

        def work() -> Replay:
            if not self.systems:
                raise DataError("nothing failed, so no model can be held to the log")
            log = self.log if len(self.log.systems) <= 1 else self.log.where(system=self.systems[0])
            sizes = [size for size in _JOBS if 2 * size <= log.n_nodes] or [1]
            return replay(log, 1.0 - _HELD_OUT, sizes, ["24h"], 500, placements=("packed", "random"), level=self.level)

        return ask(work)
