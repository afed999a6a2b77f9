"""Data classes: the places of a fleet, the incidents of one scope, and the nodes at the end of a log."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.log.lifedata import LifeData
from relfit.log.outages import Outages

SCOPES = ("node", "rack", "group", "system")


@dataclass(frozen=True, eq=False)
class Places:
    """Where incidents happen: nodes, with the codes of the system and the rack of each."""

    nodes: pd.Index  # labels, (system, node)
    system: IntArray  # of each node
    rack: IntArray  # of each node, -1 if unknown
    systems: pd.Index
    racks: pd.Index
    system_of_rack: IntArray
    watched: Outages  # when each node was watched, and its outages

    @property
    def rack_sizes(self) -> IntArray:
        """Number of nodes of each rack, shape (racks,)."""
        return np.bincount(self.rack[self.rack >= 0], minlength=len(self.racks)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ScopeIncidents:
    """The incidents of one scope: ``node``, ``rack``, ``group`` or ``system``.

    An incident that begins during an outage of the whole system interrupts no job: it only ends a time and does not
    count. Incidents at the very end of the one before count, but are not in `lives`.
    """

    name: str
    lives: LifeData  # times between incidents in hours of the clock, one group per place (node, rack or system)
    clock: FloatArray  # start and end of each time in `lives`, in hours that its system had been up, shape (lives, 2)
    system: IntArray  # of each place, as the next five
    count: IntArray  # incidents that began under observation while the place was up
    hours: FloatArray  # that the clock ran
    age: FloatArray  # hours on the clock since the last incident, or since the place was first watched
    since_start: BoolArray  # no incident was observed: the age is a lower limit unless the place was new
    start_age: FloatArray  # when it was first watched: zero if new, NaN if unknown
    repairs: LifeData  # durations of the incidents, one group per system
    incident_of: IntArray  # of each node hit: incident, numbered from 0 within the scope; empty for scope ``node``
    node_of: IntArray  # and the node's position
    at_risk: IntArray  # nodes of each incident's rack or system watched and up when it began; empty for scope ``node``
    system_of_incident: IntArray
    instants: FloatArray  # when each incident began, in hours since the start of the window

    def of_unknown_age(self, systems: BoolArray) -> ScopeIncidents:
        """The same, with the start ages of the places of these systems (mask of shape (systems,)) unknown."""
        mine = systems[self.system] & ~np.isnan(self.start_age)
        begins = self.lives.offsets[:-1][mine & (self.lives.sizes > 0)]
        stationary = np.zeros(self.lives.durations.size, np.bool_)
        if self.lives.stationary is not None:
            stationary |= self.lives.stationary
        stationary[begins] = True
        alone = mine & (self.count == 0)
        return replace(
            self,
            lives=replace(self.lives, stationary=stationary),
            start_age=np.where(mine, np.nan, self.start_age),
            since_start=self.since_start | alone,
        )


@dataclass(frozen=True, eq=False)
class Standing:
    """The nodes at the end of a log, arrays of shape (nodes,)."""

    nodes: pd.Index  # labels, (system, node)
    age: FloatArray  # operating hours since the node's own last failure, or since it was first watched
    unseen: BoolArray  # it neither failed nor was new under observation: the age is a lower limit
    present: BoolArray  # watched until the end
    up: BoolArray  # and not down then
