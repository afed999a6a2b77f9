"""Times to repair by scope: until an incident is over, and of each node that it took down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening import Incidents
from relfit.base.arrays import IntArray
from relfit.base.numeric.ordering import renumbered
from relfit.fleet import FleetModel
from relfit.fleet.calibration.parameter_values import Duration
from relfit.fleet.calibration.rates import nodeless_outages
from relfit.fleet.calibration.repair_times import mean_of_repairs, repairs_of_incidents
from relfit.fleet.calibration.schema import Check
from relfit.fleet.current_repairs import incident_repairs
from relfit.log.durations import Rules, times_to_repair
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.outages import clock_step, timed_repairs


@dataclass(frozen=True)
class Repairs:
    """The repairs of a model's period."""

    model: FleetModel
    outages: LifeData  # of every node
    incident: IntArray  # of each outage, -1 for none
    of_incidents: LifeData  # one repair per incident: the mean outage of its nodes

    NONE: ClassVar[str] = "the log gives times to failure only, and no repairs"

    @classmethod
    def of(cls, model: FleetModel) -> Repairs:
        """The repairs of a model's period."""
        repairs = times_to_repair(model.period.log, rules=Rules(zeros="keep"))
        incident = model.found.incident[repairs.begun]
        return cls(model, repairs.lives, incident, repairs_of_incidents(repairs.lives, incident))

    def means(self, level: float) -> tuple[dict[str, Duration | None], list[Check]]:
        """Mean times to repair (of all, by scope, of a node that an incident took down), and checks of assumptions."""
        log, joined = self.model.period.log, self.model.found
        step = clock_step(log)
        mean, check = mean_of_repairs(repairs_of_incidents(self.outages, self.incident, step), level)
        means: dict[str, Duration | None] = {"mean": mean, **repairs_by_scope(log, joined, level)}
        for name, scope in (("rack_node", joined.group), ("group_node", "group")):
            of_scope = np.append(joined.table["scope"].to_numpy() == scope, False)[self.incident]
            mine = np.where(of_scope, self.incident, -1)
            means[name] = repair_of_an_outage(self.outages, mine, level, step=step)
        means["outage"] = repair_of_an_outage(self.outages, self.incident, level, nodeless_outages(log), step)
        return means, [] if check is None else [check]


def repairs_by_scope(log: FailureLog, incidents: Incidents, level: float) -> dict[str, Duration]:
    """Mean time from an incident's first failure to the end of its last record, by scope: a job on all its nodes waits.
    Without those of unknown end or zero length; those in progress at the end are censored.
    """
    means: dict[str, Duration] = {}
    for name, value in (("node", "node"), ("rack", incidents.group), ("group", "group"), ("system", "system")):
        _, hours, ended = incident_repairs(log, incidents, str(value))
        mean = mean_of_repairs(LifeData.from_array(hours, ended, measure="ttr"), level)[0]
        if mean is not None:
            means[name] = mean
    return means


def repair_of_an_outage(
    outages: LifeData, incident: IntArray, level: float, nodeless: pd.DataFrame | None = None, step: int = 0
) -> Duration | None:
    """Mean time that a node is down in an outage; every node of an incident counts. None without a completed repair.

    With the mean time between outages it gives the share of node-hours lost. The interval is from the scatter between
    incidents, because their nodes are repaired together. `incident` is that of each outage, -1 for none; `nodeless` are
    `nodeless_outages`, `step` is the resolution of the clock in nanoseconds.
    """
    used = (incident >= 0) & timed_repairs(outages.durations, step)
    place, _ = renumbered(incident[used])
    hours = np.bincount(place, outages.durations[used])
    ended = np.bincount(place, outages.observed[used])
    if nodeless is not None:
        system = nodeless[nodeless["known"]]
        system = system[timed_repairs(system["hours"].to_numpy(dtype=np.float64), step)]
        hours = np.append(hours, system["nodes"] * system["hours"])
        ended = np.append(ended, system["nodes"] * system["ended"])
    total = float(ended.sum())
    if not total > 0.0:
        return None
    mean = float(hours.sum()) / total
    error = float(np.sqrt(((hours - mean * ended) ** 2).sum())) / total
    about = {"level": level, "events": int(total), "method": "hours down over outages, scatter of incidents"}
    if hours.size < 2 or not error > 0.0:
        return Duration(value=mean, **about)
    factor = float(np.exp(special.ndtri(0.5 + 0.5 * level) * error / mean))
    return Duration(value=mean, low=mean / factor, high=mean * factor, distribution="lognormal", **about)
