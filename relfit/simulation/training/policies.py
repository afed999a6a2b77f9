"""Policies: which servers a job takes, and which repaired servers are retired; your own may be any function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.simulation.engine.records import entry, inlined, part
from relfit.simulation.engine.time_tables import hazard_at
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training.cluster_state import ClusterState, ServerRecord

__all__ = [
    "FewestFailures",
    "HighestScore",
    "HostSelection",
    "MostReliable",
    "Packed",
    "RetirementRule",
    "Server",
    "Servers",
    "built_in_selection",
    "retires",
]


@dataclass(frozen=True)
class Servers:
    """All servers, as a host selection sees them: arrays of shape (servers,).

    Attributes
    ----------
    rack, failures : ndarray of int
        Number of the rack; failures so far.
    age, score : ndarray of float
        Minutes of running since the last repair; the score.
    borrowed, idle : ndarray of bool
        Whether it comes from the spare pool; whether it can be chosen.
    """

    rack: IntArray
    failures: IntArray
    age: FloatArray
    score: FloatArray
    borrowed: BoolArray
    idle: BoolArray


HostSelection = Callable[[Servers, float], Any]
"""``key(servers, minute)``: one key per server; those with the lowest are taken, equal ones at random."""


@dataclass(frozen=True)
class FewestFailures:
    """Servers with the fewest failures come first."""

    def __call__(self, servers: Servers, minute: float) -> IntArray:
        """Failures of each server."""
        return servers.failures


@dataclass(frozen=True)
class HighestScore:
    """Servers of the highest score come first."""

    def __call__(self, servers: Servers, minute: float) -> FloatArray:
        """Negative scores."""
        return -servers.score


@dataclass(frozen=True, eq=False)
class MostReliable:
    """Servers of the least hazard at their age come first.

    Attributes
    ----------
    life_table : ndarray or None
        Times to failure, see `relfit.simulation.engine.time_tables`; None where they are exponential, and all servers
        equal.
    ahead : float
        Minutes of running over which the hazard is taken.
    """

    life_table: FloatArray | None
    ahead: float = 1440.0

    def __call__(self, servers: Servers, minute: float) -> FloatArray:
        """Cumulative hazards of the coming minutes."""
        if self.life_table is None:
            return np.zeros(servers.age.size)
        keys = np.empty(servers.age.size)
        _coming_hazards(self.life_table, servers.age, self.ahead, keys)
        return keys


@entry
def _coming_hazards(table: FloatArray, ages: FloatArray, ahead: float, keys: FloatArray) -> None:
    for i in range(ages.size):
        keys[i] = hazard_at(table, ages[i] + ahead) - hazard_at(table, ages[i])


@dataclass(frozen=True)
class Packed:
    """Racks with the most servers that can be chosen come first, so that few racks are used."""

    def __call__(self, servers: Servers, minute: float) -> IntArray:
        """Keys by the number of such servers in the rack, then by the rack."""
        free = np.bincount(servers.rack[servers.idle], minlength=int(servers.rack.max()) + 1)
        return servers.rack - free[servers.rack] * servers.rack.size


def built_in_selection(name: str, life_table: FloatArray | None) -> HostSelection | None:
    """The policy of a name in `TrainingParameters.host_selection`; None for ``"random"``."""
    policies: dict[str, HostSelection] = {
        "fewest_failures": FewestFailures(),
        "highest_score": HighestScore(),
        "most_reliable": MostReliable(life_table),
        "packed": Packed(),
    }
    return policies.get(name)


@dataclass(frozen=True)
class Server:
    """A repaired server, as a retirement rule sees it.

    Attributes
    ----------
    number, rack, failures : int
        Its number and that of its rack, from 0; its failures so far.
    age, score : float
        Minutes of running since its last repair; its score.
    failure_times : tuple of float
        Minutes of its latest failures, the latest last; at most `Retirement.max_failures` of them.
    repairs : int
        Its repairs so far.
    """

    number: int
    rack: int
    failures: int
    age: float
    score: float
    failure_times: tuple[float, ...]
    repairs: int = 0


RetirementRule = Callable[[Server, float], bool]
"""``rule(server, minute)``: whether a repaired server is retired."""


@part
def retires(state: ClusterState, server: ServerRecord) -> bool:
    """Whether the built-in rule retires a repaired server."""
    if state.options.retirement == at.THRESHOLD:
        return _too_many_failures(state, server)
    if state.options.retirement == at.SCORE:
        return server.score <= state.options.retirement_threshold
    return False


@inlined
def _too_many_failures(state: ClusterState, server: ServerRecord) -> bool:
    """Whether the oldest of the latest failures is within the window."""
    most = state.options.max_failures
    oldest = state.latest[server.number, server.failures % most]
    return server.failures >= most and oldest >= state.cluster.now - state.options.window_minutes
