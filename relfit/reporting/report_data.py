"""What the sections of a report share: the period, the model of its fleet, and each analysis, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import pandas as pd
from scipy import special

from relfit import recurrence, screening
from relfit.backtesting import Backtest
from relfit.calibration import Parameters, calibrate
from relfit.errors import DataError, RelfitError
from relfit.failurelog import FailureLog
from relfit.fleet import ChosenPeriod, FleetModel, Forecast
from relfit.independence import Dependence, dependence
from relfit.independence.resampling import shared_alpha
from relfit.independence.thresholds import ALPHA, held_to
from relfit.recurrence import Availability, AvailabilityOverTime
from relfit.reporting.checked_fits import CheckedFits
from relfit.results import Interval
from relfit.screening import Bursts, ChangePoints, Incidents, OutlierNodes, RepairKinds, RepeatFailures
from relfit.second_process import SecondProcess, later
from relfit.study import Study

__all__ = ["JOB_LENGTHS", "LATELY", "Answer", "ReportData"]

T = TypeVar("T")
_PARTS = ("correlation", "cofailure", "place", "serial", "pooled", "dispersion", "cycles")
_RANDOM_LOGS = 999  # behind the test of equal nodes: its p-value must be able to stand beside nine others
_JOB_SIZES = (64, 16, 4, 1)
JOB_LENGTHS = ("6h", "24h", "72h")
LATELY = 2160.0  # hours
_FEW = 40  # failures
_FEWEST_FITTED = 3
_HERE, _THERE = ("parameters", "forecast"), ("outlier_nodes", "repair_kinds", "interruptions", "repairs")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A result, or why there is none."""

    result: T | None
    problem: str = ""


def _ask(work: Callable[[], T]) -> Answer[T]:
    """What `work` gives, or its complaint about the data."""
    try:
        return Answer(work())
    except RelfitError as error:
        return Answer(None, str(error).rstrip("."))


def _job_size(nodes: int) -> int:
    """Nodes of the job that the first screen of a fleet of so many speaks of."""
    return next((size for size in _JOB_SIZES if 2 * size <= nodes), 1)


def backtested(study: Study) -> Answer[Backtest]:
    """Forecasts and jobs of the log's own past, without a model of the fleet at every origin."""

    def work() -> Backtest:
        if len(study.log.systems) > 1:
            raise DataError("several systems; select one")
        return study.backtest(
            parts=("forecasts", "jobs"), sizes=_job_size(study.log.n_nodes), level=study.level, fast=True
        )

    return _ask(work)


@dataclass(frozen=True, eq=False)
class ReportData:
    """A log, the period of it that is used, and what was asked of it.

    Parameters
    ----------
    study : Study
        Of the log.
    families : tuple of str
        To fit.
    """

    study: Study
    families: tuple[str, ...]

    @property
    def log(self) -> FailureLog:
        """All of the log."""
        return self.study.log

    @property
    def level(self) -> float:
        """Of the intervals."""
        return self.study.level

    @property
    def chosen(self) -> ChosenPeriod:
        """The period that is learnt from, up to the end of the log."""
        return self.study.until_now

    def answer_with(self, second: SecondProcess, tested: Callable[[], Answer[Backtest]]) -> None:
        """Answer what takes longest in two processes at once; the second one has been testing for a while."""
        there = {name: later(second, getattr, replace(self), name) for name in _THERE}
        for name in _HERE:
            getattr(self, name)
        vars(self)["_dependence"] = self._whether_dependent(second)
        if not self.few:
            vars(self)["backtest"] = tested()
        vars(self).update({name: ask() for name, ask in there.items()})

    @property
    def part(self) -> FailureLog:
        """The log in the period."""
        return self.chosen.log

    @cached_property
    def lately(self) -> FailureLog:
        """The last 90 days of the log; all of the period where the log is no longer than twice that."""
        window = self.log.window
        if not window.hours > 2.0 * LATELY:
            return self.part
        return self.log.between(window.end - pd.Timedelta(hours=LATELY), None)

    @property
    def several_systems(self) -> bool:
        """Whether the log holds more than one system."""
        return len(self.log.systems) > 1

    @property
    def failures(self) -> int:
        """Incidents in the period."""
        model = self.model.result
        return 0 if model is None else int(sum(model.incidents_of(name).sum() for name in model.by_scope))

    @property
    def few(self) -> bool:
        """Whether there are too few incidents for most answers."""
        return self.failures < _FEW

    # ------------------------------------------------------------------ the fleet

    @cached_property
    def model(self) -> Answer[FleetModel]:
        """What the period implies about the fleet."""
        return _ask(lambda: self.study.model)

    @cached_property
    def incidents(self) -> Answer[Incidents]:
        """What the records amount to when those of one incident are joined."""
        model = self.model.result
        return Answer(None, self.model.problem) if model is None else Answer(model.found)

    @cached_property
    def parameters(self) -> Answer[Parameters]:
        """Rates and repairs, those of `relfit calibrate`."""
        model = self.model.result
        if model is None:
            return Answer(None, self.model.problem)
        return _ask(lambda: calibrate(self.log, model=model, parts=("mtbf", "mttr"), level=self.level))

    @property
    def job_size(self) -> int:
        """Nodes of the job that the first screen speaks of."""
        return _job_size(self.part.n_nodes)

    @cached_property
    def job(self) -> Interval:
        """Probability that nothing interrupts a job of that size, by length; asked only where there is a model."""
        assert self.model.result is not None
        return self.model.result.interval("reliability", list(JOB_LENGTHS), size=self.job_size, placement="packed")

    @cached_property
    def availability(self) -> Answer[Availability]:
        """Share of the nodes' hours without an outage, lately."""

        def work() -> Availability:
            whole = recurrence.availability(self.lately, level=self.level)
            if not whole.down_hours.sum():
                raise DataError("no outage of a node with a known end is on record")
            return whole

        return _ask(work)

    @cached_property
    def availability_over_time(self) -> Answer[AvailabilityOverTime]:
        """The same in calendar bins, of UTC as all of the page."""
        if self.availability.result is None:
            return Answer(None, self.availability.problem)
        part = replace(self.part, source=replace(self.part.source, timezone="UTC"))
        return _ask(lambda: recurrence.availability_over_time(part, level=self.level))

    # ------------------------------------------------------------------ questions

    @cached_property
    def change_points(self) -> Answer[ChangePoints]:
        """The periods of the whole log; of several systems there are none."""
        if self.chosen.points is not None:
            return Answer(self.chosen.points)
        if self.several_systems:
            return Answer(None, "the periods of several systems differ")
        return _ask(lambda: screening.change_points(self.log, level=self.level))

    @cached_property
    def outlier_nodes(self) -> Answer[OutlierNodes]:
        """Nodes that fail too often."""

        def work() -> OutlierNodes:
            joined = self.chosen.joined if self.part is self.log else None
            found = screening.outlier_nodes(self.part, of=joined, level=self.level, n_resamples=_RANDOM_LOGS)
            if len(found.nodes) < 3 or not (found.classes["status"] == "ok").any():
                raise DataError("too few failures to tell nodes apart")
            return found

        return _ask(work)

    @cached_property
    def nodes_now(self) -> Answer[pd.DataFrame]:
        """The nodes that are there, by how often they fail lately."""
        model = self.model.result
        return Answer(None, self.model.problem) if model is None else _ask(model.nodes_now)

    @cached_property
    def repeat_failures(self) -> Answer[RepeatFailures]:
        """The nodes that failed again soon after a repair."""
        return _ask(lambda: self.study.repeat_failures)

    @cached_property
    def _dependence(self) -> Answer[Dependence]:
        return self._whether_dependent()

    def _whether_dependent(self, second: SecondProcess | None = None) -> Answer[Dependence]:
        if self.several_systems:  # their failures make one series of unlike parts
            return Answer(None, "several systems; select one")
        model = self.model.result
        return _ask(lambda: dependence(self.part, incidents=None if model is None else model.found, second=second))

    @cached_property
    def _p_values(self) -> dict[str, float]:
        """The p-value of every question that has one."""
        p: dict[str, float] = {}
        points, nodes, model = self.change_points.result, self.outlier_nodes.result, self.model.result
        if points is not None and points.status == "ok":
            p["steady"] = points.p
        if nodes is not None:
            tested = nodes.classes["p"].dropna()
            p["alike"] = min(float(tested.min()) * len(tested), 1.0) if len(tested) else np.nan
        if model is not None and not self.several_systems and not self.few:  # normal limits need failures
            fits = model.renewals["node"]
            if fits.status[0] == "ok":
                z = np.log(fits.shape[0, 1]) / np.sqrt(fits.covariance[0, 0, 0])
                p["ageing"] = float(2.0 * special.ndtr(-abs(z)))
        found = self._dependence.result
        if found is not None:
            p |= {part: getattr(found, part).p_overall for part in _PARTS if getattr(found, part) is not None}
        return {name: value for name, value in p.items() if np.isfinite(value)}

    @cached_property
    def _alpha(self) -> dict[str, float]:
        """The size at which each question is answered, so that all together are wrong in 5 % of the logs (Holm)."""
        names = list(self._p_values)
        sizes = shared_alpha(np.array([self._p_values[name] for name in names]), ALPHA)
        return dict(zip(names, map(float, sizes), strict=True))

    @property
    def asked(self) -> int:
        """Number of questions with a p-value."""
        return len(self._p_values)

    def firm(self, question: str) -> bool:
        """Whether ``steady``, ``alike`` or ``ageing`` is denied, all questions taken together."""
        return question in self._p_values and self._p_values[question] <= self._alpha[question]

    @cached_property
    def dependence(self) -> Answer[Dependence]:
        """Whether failures depend on each other, as one of the questions of the report."""
        found = self._dependence.result
        if found is None:
            return self._dependence
        parts = {name: getattr(found, name) for name in _PARTS if getattr(found, name) is not None}
        held = {name: held_to(self._alpha.get(name, ALPHA), part) for name, part in parts.items()}
        return Answer(replace(found, **held, asked=self.asked))

    @cached_property
    def backtest(self) -> Answer[Backtest]:
        """How forecasts, and jobs of the size of the first screen, did on the log's own past."""
        return Answer(None, "too few failures") if self.few else backtested(self.study)

    @cached_property
    def bursts(self) -> Answer[Bursts]:
        """Whether incidents come after one another."""
        if self.several_systems:
            return Answer(None, "several systems; select one")
        return _ask(lambda: self.study.bursts)

    @cached_property
    def forecast(self) -> Answer[Forecast]:
        """Failures, repairs and parts of the next month and quarter, as `relfit forecast` has them."""

        def work() -> Forecast:
            if self.several_systems:
                raise DataError("several systems; select one")
            if self.few:
                raise DataError("too few failures")
            return self.study.forecast()

        return _ask(work)

    # ------------------------------------------------------------------ distributions

    @cached_property
    def interruptions(self) -> Answer[CheckedFits]:
        """Families fitted to the times between interruptions; of several systems, of the one with most of them."""

        def work() -> CheckedFits:
            lives = self.part.ttf("system")
            if not lives.n_groups or lives.n_failures.max() < _FEWEST_FITTED:
                raise DataError("too few failures")
            return CheckedFits.of(lives.take([int(lives.n_failures.argmax())]), self.families, self.level)

        return _ask(work)

    @cached_property
    def repairs(self) -> Answer[CheckedFits]:
        """Families fitted to the times to repair."""

        def work() -> CheckedFits:
            lives = self.part.ttr("system").pooled()
            if lives.n_failures.sum() < _FEWEST_FITTED:
                raise DataError(f"fewer than {_FEWEST_FITTED} outages have a known end")
            return CheckedFits.of(lives, self.families, self.level)

        return _ask(work)

    @cached_property
    def repair_kinds(self) -> Answer[RepairKinds]:
        """Whether the repairs of a system are of two kinds."""
        if self.several_systems:
            return Answer(None, "several systems; select one")
        return _ask(lambda: screening.repair_kinds(self.part, "system", level=self.level))
