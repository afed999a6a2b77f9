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
    """The incidents of one scope.

    Attributes
    ----------
    name : str
        ``node``, ``rack``, ``group`` or ``system``.
    lives : LifeData
        Times between incidents of each place in hours of its clock, one group per place (node, rack or system).
    clock : ndarray, shape (lives, 2)
        Start and end of each time in `lives`, in hours that its system had been up.
    system : ndarray of int, shape (places,)
        System of each place.
    count : ndarray of int, shape (places,)
        Incidents that began under observation while the place was up. An incident that begins during an outage of the
        whole system interrupts no job; it only ends a time. Incidents at the very end of the one before are counted
        but not in `lives`.
    hours : ndarray, shape (places,)
        Hours that each place's clock ran.
    age : ndarray, shape (places,)
        Hours on the clock since its last incident, or since it was first watched.
    since_start : ndarray of bool, shape (places,)
        Whether it had no incident under observation, so that the age is a lower limit unless it was new.
    start_age : ndarray, shape (places,)
        Age when it was first watched: zero if new, NaN if unknown.
    repairs : LifeData
        Durations of the incidents, one group per system.
    incident_of, node_of : ndarray of int, shape (hits,)
        Incident, numbered from 0 within the scope, and position of each node hit; empty for scope ``node``.
    at_risk : ndarray of int, shape (incidents,)
        Nodes of its rack, or of its system, that were watched and up when it began; empty for scope ``node``.
    system_of_incident : ndarray of int, shape (incidents,)
    instants : ndarray, shape (incidents,)
        When the incidents began, in hours since the start of the window.
    """

    name: str
    lives: LifeData
    clock: FloatArray
    system: IntArray
    count: IntArray
    hours: FloatArray
    age: FloatArray
    since_start: BoolArray
    start_age: FloatArray
    repairs: LifeData
    incident_of: IntArray
    node_of: IntArray
    at_risk: IntArray
    system_of_incident: IntArray
    instants: FloatArray

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
