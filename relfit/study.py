"""`Study`: a log, the period used of it, its present state, and each analysis, computed once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import relfit as rf
from relfit.analyses import independence, recurrence, screening
from relfit.backtesting import Backtest, backtest
from relfit.base.arrays import Duration, Durations, Seed
from relfit.base.numeric.levels import level_checked
from relfit.fleet import ChosenPeriod, FleetModel, Forecast, chosen_period, fleet_model, forecast
from relfit.fleet.calibration import Parameters, calibrate
from relfit.fleet.now import LONG_RUN, NOW, checked_at, until_now
from relfit.fleet.surveillance import rates_of_late
from relfit.log.durations import Rules
from relfit.log.failurelog import FailureLog
from relfit.log.tables import check_log
from relfit.planning.job_questions import WhatIf, what_if

__all__ = ["Study"]


class Study:
    """A log and the options that its analyses share: all use the same period, incidents and model.

    Each analysis is computed once and cached with the log. Predictions and plans are for the fleet as it is now;
    impact and ageing of failures are those of the period.

    Parameters
    ----------
    log : FailureLog
        Select one system first for most answers.
    period : {"stable", "all"} or tuple
        As for `relfit.fleet_model`.
    at : {"now", "long run"}
        Whether the model and its results are for now or the long run.
    horizon : duration
        Time after the end of the log that results for now cover.
    window : float or duration, optional
        Join records within this time to incidents, hours or text; chosen from the log by default.
    group : str, optional
        Attribute with the rack of a node; rack, frame, cabinet or chassis by default.
    first : {"known", "always", "never"}
        The time before a node's or rack's first incident, as for `FailureLog.ttf`.
    level : float
        Level of all intervals.
    rng : int
        Random seed; the search for the period is the same for every seed.

    Raises
    ------
    ArgumentError
        For an unknown `at` or `first`, or a level outside 0..1. An invalid period raises it on first use.

    Examples
    --------
    >>> import relfit as rf
    >>> study = rf.Study(rf.datasets.load("white"))
    >>> study.now[:39]
    'As of 2004-10-01: 38.9 incidents a week'
    >>> study.model is study.model is rf.fleet_model(study.log)
    True
    """

    def __init__(
        self,
        log: FailureLog,
        period: str | tuple[object, object] = "stable",
        *,
        at: str = NOW,
        horizon: Durations = "90d",
        window: Duration | None = None,
        group: str | None = None,
        first: str = "known",
        level: float = 0.95,
        rng: Seed = 0,
    ) -> None:
        check_log(log)
        Rules(first=first)
        self.log, self.asked_period, self.at, self.horizon = log, period, checked_at(at), horizon
        self.window, self.group, self.first, self.rng = window, group, first, rng
        self.level = level_checked(level)

    def __repr__(self) -> str:
        return f"Study of {self.log!r}"

    @property
    def period(self) -> ChosenPeriod:
        """The part of the log used: the stable period, or the selected one."""
        return chosen_period(self.log, self.asked_period)

    @property
    def until_now(self) -> ChosenPeriod:
        """The period extended to the end of the log, for results for now."""
        return until_now(self.log, self.period)

    @property
    def used(self) -> ChosenPeriod:
        """`until_now` if `at` is ``"now"``, else `period`."""
        return self.until_now if self.at == NOW else self.period

    @property
    def change_points(self) -> screening.ChangePoints:
        """Changes of the rate in the complete log, and the periods between them."""
        points = self.period.points
        if points is not None and points.level == self.level:
            return points
        return screening.change_points(self.log, level=self.level)

    @property
    def incidents(self) -> screening.Incidents:
        """Incidents of the period, joined from its records."""
        return screening.incidents(self.used.log, self.window, group=self.group, level=self.level)

    @property
    def model(self) -> FleetModel:
        """The model of the fleet, for now or the long run."""
        return self._model(self.at)

    @property
    def long_run(self) -> FleetModel:
        """The model of the fleet with the mean rates of the period."""
        return self._model(LONG_RUN)

    def _model(self, at: str) -> FleetModel:
        return fleet_model(self.log, self.period, at=at, **self._of_model)

    @property
    def _of_model(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("horizon", "window", "group", "first", "level")}

    @property
    def now(self) -> str:
        """Incidents per week now and in the period."""
        return self.model.now_headline

    @property
    def availability(self) -> recurrence.Availability:
        """Share of the nodes' hours without an outage."""
        return recurrence.availability(self.used.log, level=self.level)

    @property
    def availability_over_time(self) -> recurrence.AvailabilityOverTime:
        """`availability` in calendar bins."""
        return recurrence.availability_over_time(self.used.log, level=self.level)

    @property
    def outlier_nodes(self) -> screening.OutlierNodes:
        """Nodes with excess failures."""
        joined = self.incidents if self.group is None and self.window is None else None
        return screening.outlier_nodes(self.used.log, of=joined, level=self.level, rng=self.rng)

    @property
    def repeat_failures(self) -> screening.RepeatFailures:
        """Failures of the same node and cause that follow a repair sooner than by chance, in the complete log."""
        return screening.repeat_failures(self.log)

    @property
    def rates_of_late(self) -> tuple[str, ...]:
        """A sentence for each system of the complete log whose rate has a standing alarm, as of a watch."""
        return rates_of_late(self.log)

    @property
    def repair_kinds(self) -> screening.RepairKinds:
        """Whether repairs are of two kinds, quick and slow, by cause."""
        return screening.repair_kinds(self.used.log, level=self.level)

    @property
    def dependence(self) -> independence.Dependence:
        """Whether failures depend on each other."""
        return independence.dependence(self.used.log, incidents=self.incidents, rng=self.rng)

    @property
    def bursts(self) -> screening.Bursts:
        """Whether incidents trigger further incidents."""
        return screening.bursts(self.used.log, self.incidents, level=self.level, rng=self.rng)

    def calibrate(self, **options: Any) -> Parameters:
        """Parameters for planners; options are ``parts``, ``families`` and ``name`` of `relfit.calibrate`."""
        own = {"at": self.at, "period": self.asked_period, "rng": self.rng}
        return calibrate(self.log, **own, **self._of_model, **options)

    @property
    def parameters(self) -> Parameters:
        """Parameters for planners."""
        return self.calibrate()

    def forecast(self, horizons: Durations = ("30d", "90d"), **options: Any) -> Forecast:
        """Expected failures, repairs and parts; options are those of `relfit.forecast`.

        Current rates follow the complete log, unless the period was set by dates.
        """
        named = self.at == NOW and not isinstance(self.asked_period, tuple)
        period = None if named else self.asked_period
        own = {"at": self.at, "period": period, "level": self.level, "rng": self.rng, "group": self.group}
        return forecast(self.log, horizons, **own | options)

    def what_if(self) -> WhatIf:
        """Reliability of jobs by size, length, spares and repair time, with or without the worst nodes, from a grid.

        Examples
        --------
        >>> import relfit as rf
        >>> study = rf.Study(rf.datasets.load("white"))
        >>> now, then = (study.what_if().at(64, half_repair=half)["waste"] for half in (False, True))
        >>> bool(then < now)
        True
        """
        return what_if(self.model, self.calibrate(parts=("mtbf", "mttr")))

    def backtest(self, **options: Any) -> Backtest:
        """Predictions of the log's own past, compared with the outcome; options are those of `relfit.backtest`."""
        return backtest(self.log, **{"group": self.group, "rng": self.rng} | options)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the report; options are those of `relfit.report`."""
        return rf.report(self, path, **options)
