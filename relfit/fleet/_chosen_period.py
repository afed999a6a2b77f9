"""The part of a log that results rest on: the stable period, all of it, or the dates requested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import ChangePoints, change_points, incidents
from relfit.base.errors import ArgumentError, RelfitError
from relfit.base.results import json_ready
from relfit.fleet._new_nodes import explained_by_ages
from relfit.log.failurelog import FailureLog
from relfit.log.tables import Window, made_once

KNOWN_WITHIN = 0.5
"""A stable period is used where the confidence interval of its start is at most this share of its length."""


@dataclass(frozen=True, eq=False)
class ChosenPeriod:
    """The part of a log that results rest on.

    Attributes
    ----------
    log : FailureLog
        The log in that part.
    name : str
        ``all``, ``given`` (by dates), or the name of the stable period.
    points : ChangePoints or None
        Result of the search for change points, if there was one.
    problem : str or None
        Why all of the log is used instead of a stable period.
    before_now : Window, optional
        The period itself, if `log` was extended to the end of the complete log.
    """

    log: FailureLog
    name: str
    points: ChangePoints | None = None
    problem: str | None = None
    before_now: Window | None = None

    @property
    def finding(self) -> str | None:
        """Headline of the search for change points; None without one."""
        return None if self.points is None else self.points.headline

    @property
    def start_limits(self) -> tuple[pd.Timestamp, pd.Timestamp] | None:
        """Confidence interval of the start of the stable period; None if there is none."""
        if self.points is None or self.problem is not None or not self.points.stable:
            return None
        stable = self.points.stable_period
        return stable.start_low, stable.start_high

    @property
    def headline(self) -> str:
        """Which period is used, how well its start is known, and since when no node has been in service, if so."""
        gone = self.log.window.gone
        return f"{self._used} {gone[:1].upper()}{gone[1:]}." if gone else self._used

    @property
    def _used(self) -> str:
        window = self.log.window if self.before_now is None else self.before_now
        if not window.hours >= 0.0:
            return "Period used: all of the log."
        dates = f"{window.start:%Y-%m-%d} to {window.end:%Y-%m-%d}"
        if self.name == "given":
            return f"Period used: {dates}, as asked."
        if window.end < self.log.window.end:
            steady = f"{window.end:%Y-%m-%d}"
            dates = f"{window.start:%Y-%m-%d} to {self.log.window.end:%Y-%m-%d}, at a steady rate until {steady}"
        elif self.points is not None and window.end < self.points.periods[-1].end:
            dates += f", the steady part of a log until {self.points.periods[-1].end:%Y-%m-%d}"
        if self.name == "all":
            if self.log.undated:
                return f"Period used: all of the log ({self.problem or 'durations without dates'})."
            return f"Period used: all of the log, {dates}{'' if self.problem is None else f' ({self.problem})'}."
        limits = self.start_limits
        if limits is not None:
            return f"Period used: {dates} (its start lies between {limits[0]:%Y-%m-%d} and {limits[1]:%Y-%m-%d})."
        assert self.points is not None
        if self.points.status == "too_few":
            return f"Period used: all of the log, {dates} (too few failures to distinguish periods)."
        if len(self.points) == 1:
            return f"Period used: all of the log, {dates} ({self.points.finding})."
        return f"Period used: {dates}."

    def to_dict(self) -> dict[str, Any]:
        """Name, dates and headline, ready for JSON."""
        (low, high), window = self.start_limits or (None, None), self.log.window
        dates = {"start": window.start, "end": window.end, "start_low": low, "start_high": high}
        return {"name": self.name, **json_ready(dates), "headline": self.headline}


@made_once
def chosen_period(
    log: FailureLog, period: str | tuple[object, object] = "stable", rng: int | np.random.Generator | None = 0
) -> ChosenPeriod:
    """The stable period of a log, all of it, or the part between two dates.

    Parameters
    ----------
    log : FailureLog
    period : {"stable", "all"} or tuple
        A tuple is ``(since, until)``. ``"stable"`` uses all of the log if it has several systems or lifetimes, if the
        confidence interval of the stable period's start is wider than half of the period, or if the ages of new nodes
        explain the changes of the rate.
    rng : int or numpy.random.Generator
        For the search for change points.

    Raises
    ------
    ArgumentError
        For an unknown period, or one outside the log.
    DataError
        For a log whose records all have one instant, which gives no rate.

    Examples
    --------
    >>> import relfit as rf
    >>> chosen_period(rf.datasets.load("white")).headline
    'Period used: 2002-10-06 to 2004-10-01 (its start lies between 2002-09-17 and 2002-10-13).'
    """
    if log.at_one_instant:
        log.ask()
    if isinstance(period, tuple) and len(period) == 2:
        return ChosenPeriod(log.between(*period), "given")
    if period not in ("stable", "all"):
        raise ArgumentError(f"period {period!r} is not known", remedy='use "stable", "all" or (since, until)')
    if period == "all":
        return ChosenPeriod(log, "all")
    if log.lifetimes is not None:
        return ChosenPeriod(log, "all", problem="lifetimes are not cut in time")
    if len(log.systems) > 1:
        why = "the log has several systems, whose periods differ; select one"
        return ChosenPeriod(log, "all", problem=why)
    try:
        points = change_points(log, of=incidents(log) if len(log.events) else "incidents", rng=rng)
    except RelfitError as error:
        return ChosenPeriod(log, "all", problem=str(error))
    stable = points.stable_period
    if points.stable and stable.start_high - stable.start_low > KNOWN_WITHIN * (stable.end - stable.start):
        why = (
            f"the rate changed between {stable.start_low:%Y-%m-%d} and {stable.start_high:%Y-%m-%d}, but when is not "
            "known well"
        )
        return ChosenPeriod(log, "all", points, why)
    if len(points) > 1 and explained_by_ages(log, points, incidents(log)):
        why = "its nodes were new, and the rate changed as their ages would give"
        return ChosenPeriod(log, "all", points, why)
    until = stable.end if stable.end < log.window.end else None
    part = log if len(points) == 1 else log.between(stable.start, until)
    return ChosenPeriod(part, stable.name, points)
