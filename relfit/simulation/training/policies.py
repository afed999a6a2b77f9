"""Policies: which servers a job takes, and which repaired servers are retired; your own may be any function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.simulation.engine.random_streams import hazard_at
from relfit.simulation.engine.records import compiled, part
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training.cluster_state import ClusterState, ServerRecord


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


def built_in_selection(name: str, life_table: FloatArray | None) -> HostSelection | None:
    """The policy of a name in `TrainingParameters.host_selection`; None for ``"random"``."""
    policies: dict[str, HostSelection] = {
        "fewest_failures": lambda servers, minute: servers.failures,
        "highest_score": lambda servers, minute: -servers.score,
        "most_reliable": lambda servers, minute: (
            np.zeros(servers.age.size) if life_table is None else _hazards_of_a_day(life_table, servers.age)
        ),  # exponential lives, which have no table, are all equal
        "packed": lambda servers, minute: _racks_in_order(servers),
    }
    return policies.get(name)


@compiled
def _hazards_of_a_day(table: FloatArray, ages: FloatArray) -> FloatArray:
    """Cumulative hazards of the next day of running."""
    hazards = np.empty(ages.size)
    for i in range(ages.size):
        hazards[i] = hazard_at(table, ages[i] + 1440.0) - hazard_at(table, ages[i])
    return hazards


def _racks_in_order(servers: Servers) -> IntArray:
    """Keys by the number of servers of the rack that can be chosen, most first, then by the rack: few are used."""
    free = np.bincount(servers.rack[servers.idle], minlength=int(servers.rack.max()) + 1)
    return servers.rack - free[servers.rack] * servers.rack.size


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
    if state.options.retirement == at.THRESHOLD:  # whether the oldest of the latest failures is within the window
        most = state.options.max_failures
        oldest = state.latest[server.number, server.failures % most]
        return server.failures >= most and oldest >= state.cluster.now - state.options.window_minutes
    if state.options.retirement == at.SCORE:
        return server.score <= state.options.retirement_threshold
    return False
