"""What a report asks of the log beyond lives and counts: each question is asked once, and may have no answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from relfit.errors import DataError, RelfitError

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog
    from relfit.independence import Dependence
    from relfit.recurrence import (
        Availability,
        AvailabilityOverTime,
        EventHistories,
        MeanCumulative,
        ProcessComparison,
        TrendTests,
    )
    from relfit.screening import ChangePoints, Incidents, OutlierNodes, RepairKinds

__all__ = ["Answer", "Questions"]

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A result, or why there is none."""

    found: T | None
    problem: str = ""


def ask(work: Callable[[], T]) -> Answer[T]:
    """What `work` gives, or its complaint about the data as a sentence."""
    try:
        return Answer(work())
    except RelfitError as error:
        text = str(error)
        return Answer(None, f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}")


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions that the sections of a report share.

    Parameters
    ----------
    log : FailureLog
    systems : tuple
        Systems to cut into periods, each by itself.
    level : float
        Of the intervals.
    """

    log: FailureLog
    systems: tuple[Any, ...]
    level: float

    @cached_property
    def dependence(self) -> Answer[Dependence]:
        """Do failures depend on each other."""
        from relfit.independence import dependence

        return ask(lambda: dependence(self.log))

    @cached_property
    def change_points(self) -> dict[Any, Answer[ChangePoints]]:
        """The periods of each system."""
        from relfit.screening import change_points

        single = len(self.log.systems) <= 1

        def of(system: Any) -> ChangePoints:
            return change_points(self.log if single else self.log.where(system=system), level=self.level)

        return {system: ask(partial(of, system)) for system in self.systems}

    @cached_property
    def histories(self) -> Answer[EventHistories]:
        """When each node failed since its observation began."""
        from relfit.recurrence import histories_of_log

        def work() -> EventHistories:
            found = histories_of_log(self.log)
            if not found.times.size:
                raise DataError("no failure of a node within its time of observation is on record")
            return found

        return ask(work)

    def _of_histories(self, work: Callable[[EventHistories], T]) -> Answer[T]:
        found = self.histories.found
        return Answer(None, self.histories.problem) if found is None else ask(lambda: work(found))

    @cached_property
    def trend(self) -> Answer[TrendTests]:
        """Tests of trend of all nodes together."""
        from relfit.recurrence import trend_tests

        return self._of_histories(lambda h: trend_tests(h, "all"))

    @cached_property
    def trend_by_node(self) -> Answer[TrendTests]:
        """Tests of trend of every node."""
        from relfit.recurrence import trend_tests

        return self._of_histories(trend_tests)

    @cached_property
    def processes(self) -> Answer[ProcessComparison]:
        """Point processes fitted to all nodes as copies of one another."""
        from relfit.recurrence import compare_processes

        return self._of_histories(lambda h: compare_processes(h, "all", level=self.level))

    @cached_property
    def mean_cumulative(self) -> Answer[MeanCumulative]:
        """Failures of a node by age; by system where there are several."""
        from relfit.recurrence import mean_cumulative

        by = "system" if len(self.log.systems) > 1 else "all"
        return self._of_histories(lambda h: mean_cumulative(h, by, level=self.level))

    @cached_property
    def incidents(self) -> Answer[Incidents]:
        """What the records amount to when those of one incident are joined."""
        from relfit.screening import incidents

        return ask(lambda: incidents(self.log, level=self.level))

    @cached_property
    def outlier_nodes(self) -> Answer[OutlierNodes]:
        """Nodes that fail too often."""
        from relfit.screening import outlier_nodes

        return ask(lambda: outlier_nodes(self.log, level=self.level))

    @cached_property
    def repairs(self) -> Answer[RepairKinds]:
        """Quick and slow repairs by cause; of the system where no cause is stated."""
        from relfit.screening import repair_kinds

        def work() -> RepairKinds:
            stated = bool(self.log.events["cause"].notna().any())
            found = repair_kinds(self.log, "cause" if stated else "system", level=self.level)
            if not found.table["repairs"].sum():
                raise DataError("no repair was observed to its end")
            return found

        return ask(work)

    @cached_property
    def availability(self) -> Answer[Availability]:
        """Share of the nodes' hours without an outage."""
        from relfit.recurrence import availability

        def work() -> Availability:
            found = availability(self.log, level=self.level)
            if not found.node_hours.sum():
                raise DataError("no node was watched for any time")
            if not found.down_hours.sum():
                raise DataError("no outage of a node with a known end is on record")
            return found

        return ask(work)

    @cached_property
    def availability_over_time(self) -> Answer[AvailabilityOverTime]:
        """The same in calendar bins."""
        from relfit.recurrence import availability_over_time

        if self.availability.found is None:
            return Answer(None, self.availability.problem)
        return ask(lambda: availability_over_time(self.log, level=self.level))
