"""What a check of a training cluster's books must find: each account, falsified by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relfit.simulation.engine.random_streams import new_streams
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training import training_events as loop
from relfit.simulation.training import training_parameters
from relfit.simulation.training.cluster_state import ClusterState
from relfit.simulation.training.replication import fault_of, setting_of


def running() -> ClusterState:
    """A cluster of 14 servers after some failures, a job of eight of them under way."""
    params = training_parameters(
        {
            "job_size": 8,
            "warm_standbys": 2,
            "working_pool_size": 12,
            "spare_pool_size": 2,
            "job_length": "30 days",
            "random_failure_rate": 0.2 / 1440,
        }
    )
    state = setting_of(params, check=True).begin
    state.cluster.streams[:] = new_streams(at.N_STREAMS, [1, 0])
    checks = 0
    while checks < 40:
        assert loop.advance(state) == loop.TO_CHECK
        checks += 1
    assert state.jobs[0].compute > 1000.0
    return state


def first(state: ClusterState, kind: int) -> int:
    return int(np.flatnonzero(state.servers["state"] == kind)[0])


def lose_a_server(state: ClusterState) -> None:
    state.servers["state"][first(state, at.ACTIVE)] = at.SPARE


def lend_a_server(state: ClusterState) -> None:
    state.servers["job"][first(state, at.ACTIVE)] = at.NOBODY


def shorten_a_queue(state: ClusterState) -> None:
    state.queues["length"][at.SPARES] -= 1


def forget_a_standby(state: ClusterState) -> None:
    state.queues["length"][at.STANDBYS] -= 1


def swap_two_servers(state: ClusterState) -> None:
    roster = state.heaps.events["number"][state.jobs["roster_begin"][0] :]
    roster[:2] = roster[1::-1].copy()


def lose_seconds(state: ClusterState) -> None:
    state.jobs["lost"][0] -= 0.05


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lose_a_server, "servers were lost or doubled"),
        (lend_a_server, "active servers are not those of the jobs"),
        (shorten_a_queue, "servers of the state spare are not those of its queue"),
        (forget_a_standby, "standbys are not those of the jobs"),
        (swap_two_servers, "active servers are not where they belong"),
        (lose_seconds, "the time of a job does not add up"),
    ],
)
def test_what_is_falsified_is_noticed(change: Callable[[ClusterState], None], fault: str) -> None:
    state = running()
    assert fault_of(state) == ""
    change(state)
    assert fault_of(state) == fault
