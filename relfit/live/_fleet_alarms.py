"""`fleet_alarms`: changes in a fleet, at a stated number of false alarms per year.

Every detector goes through the log until now, day by day, with what was known on each day, and depends on the log
alone: the same records give the same alarms, whatever rounds there were. The allowed number of false alarms per year is
shared out between the detectors (`SHARES`), and within each between its parts (Bonferroni), in proportion to time.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from relfit.base.arguments import positive
from relfit.base.errors import ArgumentError
from relfit.fleet.surveillance import WatchedFleet
from relfit.live.alarm_texts import (
    bursts,
    missed_forecasts,
    node_episodes,
    rate_episodes,
    repair_episodes,
    repeat_episodes,
    short_stock,
)
from relfit.live.live_records import Alarm, Episode
from relfit.log.failurelog import FailureLog

SHARES = {
    "system": 0.18,
    "system down": 0.05,
    "rack": 0.12,
    "cause": 0.12,
    "model": 0.12,
    "node": 0.15,
    "repeat": 0.15,
    "repair time": 0.06,
    "forecast": 0.05,
}
"""Share of the false alarms of a year, by detector. An alarm of stock comes from no test and has no share; chance
makes one of a burst less than once in a hundred years."""


def fleet_alarms(
    log: FailureLog,
    *,
    now: object = None,
    since: object = None,
    per_year: float = 4.0,
    stock: Mapping[str, object] | None = None,
    forecasts: pd.DataFrame | None = None,
) -> list[Alarm]:
    """The alarms that stand now.

    Changed rates of systems, racks, causes, models (every attribute of nodes with at most 60 values) and batches (month
    of installation); nodes that stand out; repairs that did not help; repairs that take longer; many nodes that failed
    at once in the last two days; stock that may run short; missed forecasts. In a fleet without changes all of them
    together raise at most `per_year` alarms per year on average. An alarm lasts while its condition does, under one
    ``key``.

    Parameters
    ----------
    log : FailureLog
    now : date or time, optional
        Leave out later records; by default the end of the log.
    since : date or time, optional
        Leave out earlier records, as for a fleet that was rebuilt then.
    per_year : float
        Largest mean number of false alarms per year.
    stock : mapping, optional
        Parts in stock by cause: a number, or a mapping of ``parts`` and ``lead_time`` (a duration, by default 30 days).
    forecasts : pandas.DataFrame, optional
        Scored ones, as `relfit.live.scored` gives them.

    Returns
    -------
    list of Alarm
        In the order in which they were raised. Nodes need two weeks of records, all else eight.

    Raises
    ------
    ArgumentError
        For a `per_year` that is not above zero, a `stock` that is not a number of parts, a log of lifetimes.

    Examples
    --------
    >>> import relfit as rf
    >>> [alarm.key for alarm in fleet_alarms(rf.datasets.load("white"), now="2002-08-01")]
    ['node: node n391', 'rate: rack frame25']
    """
    log = log.between(since, now)
    past = [each.alarm for each in alarm_history(log, per_year=per_year, forecasts=forecasts) if each.ended is None]
    return past + bursts(log) + short_stock(log, stock or {})


def alarm_history(log: FailureLog, *, per_year: float = 4.0, forecasts: pd.DataFrame | None = None) -> list[Episode]:
    """All alarms that the records of a log would have raised until its end, in order, but for bursts and stock.

    Parameters
    ----------
    log : FailureLog
    per_year, forecasts
        As for `fleet_alarms`.

    Examples
    --------
    >>> import relfit as rf
    >>> past = alarm_history(rf.datasets.load("white"))
    >>> all(a.alarm.raised <= b.alarm.raised for a, b in zip(past, past[1:]))
    True
    """
    allowed = float(positive("per_year", per_year))
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds lifetimes without dates: nothing changes in it")
    fleet = WatchedFleet(log)
    budget = {name: share * allowed for name, share in SHARES.items()}
    out = [*rate_episodes(fleet, budget), *repair_episodes(fleet, budget["repair time"])]
    if log.question is None:  # otherwise the number of nodes without a failure is unknown
        out += [*node_episodes(fleet, budget["node"]), *repeat_episodes(fleet, budget["repeat"])]
    if forecasts is not None:
        out += missed_forecasts(forecasts, budget["forecast"], log.window.end)
    return sorted(out, key=lambda each: (each.alarm.raised, each.alarm.key))
