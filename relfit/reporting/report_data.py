"""Results that the sections of a report share: the period, the model of its fleet, and each analysis, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses import recurrence, screening
from relfit.analyses.independence import Dependence, dependence
from relfit.analyses.independence.resampling import shared_alpha
from relfit.analyses.independence.thresholds import ALPHA, held_to
from relfit.analyses.recurrence import Availability, AvailabilityOverTime
from relfit.analyses.screening import Bursts, ChangePoints, Incidents, OutlierNodes, RepairKinds, RepeatFailures
from relfit.backtesting import Backtest
from relfit.backtesting.backtest_results import MARK_LEVEL, MATTERS, REFUTED
from relfit.backtesting.interval_scores import lost_lately
from relfit.base.arrays import IntArray
from relfit.base.errors import DataError, RelfitError
from relfit.base.results import Interval
from relfit.base.text import duration, interval, percent
from relfit.fleet import ChosenPeriod, FleetModel, Forecast
from relfit.fleet.calibration import Parameters
from relfit.fleet.calibration.repair_scopes import Repairs
from relfit.fleet.job_placement import NodeOutages
from relfit.log.failurelog import FailureLog
from relfit.log.units_in_service import leave_at_failure
from relfit.planning import CheckpointPlan, plan_checkpoints
from relfit.planning.job_questions import WhatIf, what_if
from relfit.reporting.checked_fits import CheckedFits
from relfit.study import Study
from relfit.system.jobs import Checkpoint

T = TypeVar("T")
_PARTS = ("correlation", "cofailure", "place", "serial", "pooled", "dispersion", "cycles")
_RANDOM_LOGS = 999  # for the test of equal nodes: its p-value must stay small enough after Holm with nine others
_JOB_SIZES = (64, 16, 4, 1)
JOB_LENGTHS = ("6h", "24h", "72h")
LATELY = 2160.0  # hours
_FEW = 40  # failures
_FEW_LATELY = 10  # records of the last 90 days, with fewer of which no availability is taken from them
_FEWEST_FITTED = 3
_SAVE = "5min"


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A result, or why there is none."""

    result: T | None
    problem: str = ""

    @property
    def needed(self) -> T:
        """The result; without one, a `DataError` with the reason."""
        if self.result is None:
            raise DataError(self.problem)
        return self.result


def answered(work: Callable[[ReportData], T]) -> cached_property[Answer[T]]:
    """A method's result, computed once, or its error as the reason for none."""

    def answer(data: ReportData) -> Answer[T]:
        try:
            return Answer(work(data))
        except RelfitError as error:
            return Answer(None, str(error).rstrip("."))

    answer.__doc__ = work.__doc__
    return cached_property(answer)


@dataclass(frozen=True)
class AdvisedCheckpoints:
    """A plan for one size of job, and the share of time that such jobs lost in the last 90 days, with its limits."""

    size: int
    plan: CheckpointPlan
    lost: tuple[float, float, float]

    @property
    def advice(self) -> str:
        """The interval, what failures cost with it, and what spares would change."""
        size = "a job on one node" if self.size == 1 else f"a {self.size}-node job"
        spared = getattr(self.plan, "spared_waste", None)
        spare = f", {percent(spared)} with spares at once" if spared is not None and self.plan.waits else ""
        lately = f" ({percent(self.lost[1])} in the last 90 days)" if self.refuted else ""
        cost = interval(percent(self.plan.waste), *(percent(end).removesuffix(" %") for end in self.plan.waste_limits))
        return (
            f"Checkpoint {size} every {duration(self.plan.checkpoint_every)} (5 minutes to save or restore): "
            f"checkpoints and failures cost {cost} of its time{lately}{spare}."
        )

    @property
    def refuted(self) -> str:
        """Why the predicted loss is refuted: it is clearly more, or less, than what such jobs lost; else empty."""
        low, mean, high = self.lost
        least, most = self.plan.waste_limits
        far = abs(self.plan.waste - mean) > REFUTED * MATTERS["decisions"]
        if not far or not (least > high or most < low):
            return ""
        return f"{percent(self.plan.waste)} predicted, {percent(mean)} in the last 90 days"


@dataclass(frozen=True, eq=False)
class ReportData:
    """A study, the names of distributions to fit, and the results that sections use."""

    study: Study
    families: tuple[str, ...]

    @property
    def log(self) -> FailureLog:
        """The complete log."""
        return self.study.log

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return self.study.level

    @property
    def chosen(self) -> ChosenPeriod:
        """The period used, extended to the end of the log."""
        return self.study.until_now

    @property
    def part(self) -> FailureLog:
        """The log in the period."""
        return self.chosen.log

    @cached_property
    def lately(self) -> FailureLog:
        """The last 90 days of the log; the period, if the log has under twice that, or these have few records."""
        window = self.log.window
        since = window.end - pd.Timedelta(hours=LATELY)
        if not window.hours > 2.0 * LATELY or int((self.log.events["start"] >= since).sum()) < _FEW_LATELY:
            return self.part
        return self.log.between(since, None)

    @property
    def when_lately(self) -> str:
        """``in the last 90 days``, after a space; empty where all of the period stands for them."""
        return "" if self.lately is self.part else " in the last 90 days"

    @property
    def several_systems(self) -> bool:
        """Whether the log holds more than one system."""
        return len(self.log.systems) > 1

    @property
    def by_system(self) -> IntArray:
        """Incidents in the period by system."""
        model = self.model.needed
        return np.sum([model.incidents_of(name) for name in model.by_scope], axis=0).astype(np.int64)

    @property
    def failures(self) -> int:
        """Incidents in the period."""
        return 0 if self.model.result is None else int(self.by_system.sum())

    @property
    def few(self) -> bool:
        """Whether there are too few incidents for most answers."""
        return self.failures < _FEW

    @answered
    def model(self) -> FleetModel:
        """The model of the fleet."""
        return self.study.model

    @answered
    def incidents(self) -> Incidents:
        """The records joined to incidents."""
        return self.model.needed.found

    @answered
    def parameters(self) -> Parameters:
        """Rates and repairs, as `relfit calibrate` has them."""
        self.model.needed  # noqa: B018 - or why there is none
        return self.study.calibrate(parts=("mtbf", "mttr"))

    @property
    def job_size(self) -> int:
        """Nodes of the job on the first screen."""
        return next((size for size in _JOB_SIZES if 2 * size <= self.part.n_nodes), 1)

    @cached_property
    def job(self) -> Interval:
        """Probability that nothing interrupts a job of that size, by length; an error without a model."""
        return self.model.needed.interval("reliability", list(JOB_LENGTHS), size=self.job_size, placement="packed")

    @answered
    def availability(self) -> Availability:
        """Share of the nodes' hours without an outage, lately."""
        lately = recurrence.availability(self.lately, level=self.level)
        if not lately.down_hours.sum():
            raise DataError("no outage of a node has a known end")
        return lately

    @answered
    def availability_over_time(self) -> AvailabilityOverTime:
        """Availability in calendar bins."""
        self.availability.needed  # noqa: B018 - or why there is none
        return recurrence.availability_over_time(self.part, level=self.level)

    def _one_system(self) -> None:
        if self.several_systems:
            raise DataError("several systems; select one")

    @answered
    def change_points(self) -> ChangePoints:
        """The periods of the whole log; of several systems there are none."""
        if self.chosen.points is not None:
            return self.chosen.points
        if self.several_systems:
            raise DataError("the periods of several systems differ")
        return screening.change_points(self.log, level=self.level)

    @answered
    def outlier_nodes(self) -> OutlierNodes:
        """Nodes with excess failures."""
        nodes = screening.outlier_nodes(self.part, level=self.level, n_resamples=_RANDOM_LOGS)
        if len(nodes.nodes) < 3 or not (nodes.classes["status"] == "ok").any():
            raise DataError("too few failures to distinguish nodes")
        return nodes

    @answered
    def nodes_now(self) -> pd.DataFrame:
        """The present nodes, by their recent failure rate."""
        return self.model.needed.nodes_now()

    @answered
    def repeat_failures(self) -> RepeatFailures:
        """The nodes that failed again soon after a repair."""
        return self.study.repeat_failures

    @answered
    def _dependence(self) -> Dependence:
        self._one_system()  # failures of several systems are no homogeneous series
        joined = None if self.model.result is None else self.model.result.found
        return dependence(self.part, incidents=joined)

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
        if model is not None and not self.several_systems and not self.few:  # normal intervals need many failures
            fits = model.renewals["node"]
            if fits.status[0] == "ok" and fits.covariance[0, 0, 0] > 0.0:
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
        """Whether ``steady``, ``alike`` or ``ageing`` is rejected, with all questions taken together."""
        return question in self._p_values and self._p_values[question] <= self._alpha[question]

    @answered
    def dependence(self) -> Dependence:
        """Whether failures depend on each other, as one of the questions of the report."""
        found = self._dependence.needed
        parts = {name: getattr(found, name) for name in _PARTS if getattr(found, name) is not None}
        held = {name: held_to(self._alpha.get(name, ALPHA), part) for name, part in parts.items()}
        return replace(found, **held, asked=self.asked)

    @answered
    def backtest(self) -> Backtest:
        """Backtest, without models, of forecasts and jobs of the first screen's size, at the level of the mark."""
        if self.few:
            raise DataError("too few failures")
        self._one_system()
        return self.study.backtest(parts=("forecasts", "jobs"), sizes=self.job_size, level=MARK_LEVEL, fast=True)

    def used_periods(self, points: ChangePoints) -> list[bool]:
        """Which periods of the rate the report uses: the steady one, or all that its own part of the log meets."""
        if self.chosen.name in ("all", "given"):
            window = self.part.window
            return [bool(period.start < window.end and period.end > window.start) for period in points.periods]
        return [i == points.stable for i in range(len(points.periods))]

    @property
    def units_leave(self) -> bool:
        """Whether the nodes are units that leave when they fail: no job runs on them."""
        return leave_at_failure(self.log)

    def _jobs(self) -> None:
        self._one_system()
        if self.few or self.part.question is not None:
            raise DataError("too few failures" if self.few else "only nodes that failed are known")
        if self.units_leave:
            raise DataError("units leave when they fail")

    @answered
    def checkpoints(self) -> AdvisedCheckpoints:
        """The plan for a job of the size of the first screen that saves and restores in five minutes, and its loss."""
        self._jobs()
        size, costs = self.job_size, Checkpoint(save=_SAVE, restore=_SAVE)
        plan = plan_checkpoints(self.parameters.needed, costs, nodes=size)
        nodes = NodeOutages.of(self.log)
        if not nodes:
            raise DataError("no node is known")
        lost = lost_lately(nodes[0], self.log.window.hours, size, plan.checkpoint_every, costs, MARK_LEVEL)
        return AdvisedCheckpoints(size, plan, lost)

    @answered
    def bursts(self) -> Bursts:
        """Bursts of incidents."""
        self._one_system()
        return self.study.bursts

    @answered
    def forecast(self) -> Forecast:
        """Failures, repairs and parts of the next month and quarter, as `relfit forecast` has them."""
        self._one_system()
        if self.few:
            raise DataError("too few failures")
        return self.study.forecast()

    @answered
    def what_if(self) -> WhatIf:
        """The grid of answers about jobs."""
        self._jobs()
        return what_if(self.model.needed, self.parameters.needed)

    @answered
    def interruptions(self) -> CheckedFits:
        """Distributions fitted to times between interruptions; of several systems, those of the one with most."""
        lives = self.part.ttf("system")
        if not lives.n_groups or lives.n_failures.max() < _FEWEST_FITTED:
            raise DataError("too few failures")
        return CheckedFits.of(lives.take([int(lives.n_failures.argmax())]), self.families, self.level)

    @answered
    def repairs(self) -> CheckedFits:
        """Distributions fitted to the times to repair."""
        lives = self.part.ttr("system").pooled()
        if lives.n_failures.sum() < _FEWEST_FITTED:
            raise DataError(f"fewer than {_FEWEST_FITTED} outages have a known end")
        return CheckedFits.of(lives, self.families, self.level)

    @answered
    def repair_kinds(self) -> RepairKinds:
        """Whether the repairs of a system, one per incident, are of two kinds, as `relfit calibrate` has it."""
        self._one_system()
        return screening.repair_kinds(Repairs.of(self.model.needed).of_incidents, level=self.level)
