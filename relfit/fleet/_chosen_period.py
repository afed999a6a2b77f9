"""Which part of a log an answer rests on: the stable period, all of it, or what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.errors import ArgumentError, RelfitError
from relfit.failurelog import FailureLog
from relfit.screening import ChangePoints, change_points

__all__ = ["ChosenPeriod", "chosen_period"]


@dataclass(frozen=True, eq=False)
class ChosenPeriod:
    """A part of a log.

    Attributes
    ----------
    log : FailureLog
        In that part.
    name : str
        ``all``, ``given``, or what the stable period is called.
    finding : str or None
        What the search for change points found.
    problem : str or None
        Why no stable period was looked for or found, so that all of the log is used.
    points : ChangePoints or None
        All periods, where the stable one was looked for.
    """

    log: FailureLog
    name: str
    finding: str | None = None
    problem: str | None = None
    points: ChangePoints | None = None


def chosen_period(
    log: FailureLog, period: str | tuple[Any, Any] = "stable", rng: int | np.random.Generator | None = 0
) -> ChosenPeriod:
    """The part of a log that is asked for.

    Parameters
    ----------
    log : FailureLog
    period : {"stable", "all"} or tuple
        ``(since, until)``. A log of several systems has no one stable period: all of it is used.
    rng : int or numpy.random.Generator

    Raises
    ------
    ArgumentError
        For a period that is none of these, or outside of the log.
    """
    if isinstance(period, tuple) and len(period) == 2:
        return ChosenPeriod(log.between(*period), "given")
    if period not in ("stable", "all"):
        raise ArgumentError(f"period {period!r} is not known", remedy='use "stable", "all" or (since, until)')
    if period == "all":
        return ChosenPeriod(log, "all")
    if len(log.systems) > 1:
        why = "the log has several systems, whose periods differ; select one"
        return ChosenPeriod(log, "all", problem=why)
    try:
        points = change_points(log, rng=rng)
        stable = points.stable_period
        return ChosenPeriod(log.between(stable.start, stable.end), stable.name, finding=points.headline, points=points)
    except RelfitError as error:
        return ChosenPeriod(log, "all", problem=str(error))
