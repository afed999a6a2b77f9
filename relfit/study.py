"""`Study`: a log, the period of it that is used, its now, and each analysis of it, made once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import relfit as rf
from relfit.arguments import share
from relfit.backtesting import Backtest, backtest
from relfit.calibration import Parameters, calibrate
from relfit.failurelog import FailureLog
from relfit.fleet import ChosenPeriod, FleetModel, Forecast, chosen_period, fleet_model, forecast
from relfit.fleet.now import LONG_RUN, NOW, until_now
from relfit.independence import Dependence, dependence
from relfit.screening import (
    Bursts,
    ChangePoints,
    Incidents,
    OutlierNodes,
    RepeatFailures,
    bursts,
    change_points,
    outlier_nodes,
    repeat_failures,
)

__all__ = ["Study"]


class Study:
    """Everything that is asked of one log, each answer worked out once and kept.

    Answers are of the fleet as it is now where they say what to expect or to do; the period is what is steady enough to
    learn from how failures hit and how nodes age.

    Parameters
    ----------
    log : FailureLog
        With dated events; select one system first for most answers.
    period : {"stable", "all"} or tuple
        As for `relfit.fleet_model`.
    horizon : duration
        Ahead of the end of the log, that answers of now are for.
    group : str, optional
        Attribute that says in which rack a node stands.
    first : {"known", "always", "never"}
        The time before a place's first incident.
    level : float
        Of all limits.
    rng : int
        Seed of what is drawn.

    Raises
    ------
    ArgumentError
        For a period, level or horizon that cannot be.

    Examples
    --------
    >>> import relfit as rf
    >>> study = rf.Study(rf.datasets.load("white"))
    >>> study.now[:40]
    'As of 2004-10-01: 39 (34.9-43.1) inciden'
    >>> study.model is study.model
    True
    """

    def __init__(
        self,
        log: FailureLog,
        period: str | tuple[Any, Any] = "stable",
        *,
        horizon: Any = "90d",
        group: str | None = None,
        first: str = "known",
        level: float = 0.95,
        rng: int = 0,
    ) -> None:
        self.log, self.asked_period, self.horizon = log, period, horizon
        self.group, self.first, self.rng = group, first, rng
        self.level = float(share("level", level, zero=False, one=False))
        self._forecasts: dict[Any, Forecast] = {}
        self._backtests: dict[str, Backtest] = {}

    def __repr__(self) -> str:
        return f"Study of {self.log!r}"

    @cached_property
    def period(self) -> ChosenPeriod:
        """The part of the log that is steady enough to learn from, or that was asked for."""
        return chosen_period(self.log, self.asked_period, self.rng)

    @cached_property
    def until_now(self) -> ChosenPeriod:
        """The same, drawn out to the end of the log: what answers of now are of."""
        return until_now(self.log, self.period)

    @cached_property
    def model(self) -> FleetModel:
        """The fleet as it is now."""
        return self._model(NOW)

    @cached_property
    def long_run(self) -> FleetModel:
        """The fleet as it was in the period."""
        return self._model(LONG_RUN)

    def _model(self, at: str) -> FleetModel:
        return fleet_model(
            self.log, self.period, at=at, horizon=self.horizon, group=self.group, first=self.first, level=self.level
        )

    @property
    def now(self) -> str:
        """How many incidents a week come now, and came in the period."""
        return self.model.now_headline

    @property
    def incidents(self) -> Incidents:
        """What the records amount to when those of one incident are joined."""
        return self.model.found

    @cached_property
    def parameters(self) -> Parameters:
        """What planners need, of now."""
        return calibrate(self.log, model=self.model, level=self.level, rng=self.rng)

    @cached_property
    def change_points(self) -> ChangePoints:
        """The periods of the whole log."""
        points = self.period.points
        return points if points is not None else change_points(self.log, level=self.level, rng=self.rng)

    @cached_property
    def outlier_nodes(self) -> OutlierNodes:
        """Nodes with excess failures in the period, until now."""
        part = self.until_now.log
        joined = self.model.found if self.group is None else None
        return outlier_nodes(part, of=joined, level=self.level, rng=self.rng)

    @cached_property
    def repeat_failures(self) -> RepeatFailures:
        """The same node and cause again, sooner after the repair than equal nodes would, in all of the log."""
        joined = self.model.found if self.group is None and self.until_now.log is self.log else None
        return repeat_failures(self.log, of=joined)

    @cached_property
    def dependence(self) -> Dependence:
        """Whether failures depend on each other."""
        return dependence(self.until_now.log, incidents=self.model.found, rng=self.rng)

    @cached_property
    def bursts(self) -> Bursts:
        """Whether incidents come after one another."""
        return bursts(self.until_now.log, self.model.found, level=self.level, rng=self.rng)

    def forecast(self, horizons: Any = ("30d", "90d"), **options: Any) -> Forecast:
        """Failures, repairs and parts to expect; options are those of `relfit.forecast`."""
        given = isinstance(self.asked_period, tuple)
        own: dict[str, Any] = {
            "period": self.asked_period if given else None, "level": self.level, "rng": self.rng, "group": self.group,
        }  # fmt: skip
        options = own | options
        key = repr((horizons, sorted(options.items(), key=lambda item: item[0])))
        if key not in self._forecasts:
            self._forecasts[key] = forecast(self.log, horizons, **options)
        return self._forecasts[key]

    def backtest(self, **options: Any) -> Backtest:
        """How good predictions were on the log's own past; options are those of `relfit.backtest`."""
        own: dict[str, Any] = {"group": self.group, "rng": self.rng}
        key = repr(sorted((own | options).items(), key=lambda item: item[0]))
        if key not in self._backtests:
            self._backtests[key] = backtest(self.log, **own | options)
        return self._backtests[key]

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write the report; options are those of `relfit.report`."""
        return rf.report(self, path, **options)
