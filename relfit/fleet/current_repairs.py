"""How long repairs take now, relative to those of a part of the log: of all outages, and of each scope."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relfit.analyses.screening import Incidents
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.fleet.job_shares import Lately
from relfit.fleet.prediction import TimeSteps, mean_time_ahead
from relfit.log.failurelog import FailureLog
from relfit.log.outages import clock_step, outages_of, timed_repairs

_FEWEST = 10  # repairs of a scope that are followed by themselves


@dataclass(frozen=True)
class RepairsNow:
    """The mean repair over a horizon relative to that of the part of the log."""

    factor: float
    variance: float  # relative
    own: bool = True  # from the repairs of the scope itself, or from all outages


@dataclass(frozen=True, eq=False)
class _PastRepairs:
    """Repairs of known end: when each began (nanoseconds), its hours so far, and whether it ended."""

    at: IntArray
    hours: FloatArray
    ended: BoolArray

    def now(self, log: FailureLog, since: pd.Timestamp, horizon: float, fewest: int) -> RepairsNow | None:
        """Over a horizon after the log, relative to those since a date; None if fewer than `fewest` of these ended."""
        then = self.at >= since.as_unit("ns").value
        number, spent = int((then & self.ended).sum()), float(self.hours[then].sum())
        if number < fewest or not spent > 0.0:
            return None
        steps = TimeSteps.of(log.window.start, log.window.end)
        mean, variance, _ = mean_time_ahead(steps, self.at, self.hours, self.ended, horizon)
        return RepairsNow(mean * number / spent, variance)


def repairs_now(
    lately: Lately, since: pd.Timestamp, scope: str | None = None, system: str | None = None
) -> RepairsNow | None:
    """Those of the incidents of a scope (as in the table of incidents), of all outages if it has few or none is given;
    None if no outage ended since that date.
    """
    log, found = lately.log, lately.found
    mine = np.ones(len(found.table), bool) if system is None else (found.table["system"] == system).to_numpy()
    if scope is not None:
        own = _PastRepairs(*incident_repairs(log, found, scope, mine)).now(log, since, lately.horizon, _FEWEST)
        if own is not None:
            return own
    outages, step = outages_of(log if system is None else log.where(system=system)), clock_step(log)
    hours = (outages.end - outages.start) / NANOSECONDS_PER_HOUR
    used = outages.failures & outages.end_known
    used[used] = timed_repairs(hours[used], step)
    every = _PastRepairs(outages.start[used], hours[used], ~outages.end_cut[used]).now(log, since, lately.horizon, 2)
    return None if every is None else replace(every, own=scope is None)


def incident_repairs(
    log: FailureLog, found: Incidents, scope: str, among: BoolArray | None = None
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Starts of a scope's incidents, hours to the end of the last record, and whether it was seen."""
    length = found.table["duration"].to_numpy(dtype=np.float64)
    cut = log.events["end_cut"].to_numpy(dtype=bool) & (found.incident >= 0)
    going = np.bincount(found.incident[cut], minlength=length.size) > 0
    mine = (found.table["scope"].astype(str).to_numpy(dtype=object) == scope) & (length >= 0.0)
    mine &= True if among is None else among
    mine[mine] = timed_repairs(length[mine], clock_step(log))
    return nanoseconds(found.table["start"])[mine], length[mine], ~going[mine]
