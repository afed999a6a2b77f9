"""Checks that nothing is lost: every server is in one place, every minute in one account."""

from __future__ import annotations

import numpy as np

from relfit.simulation.training import cluster_state as at
from relfit.simulation.training.cluster_state import ClusterState, JobRecord


def fault_of(state: ClusterState) -> str:
    """The first inconsistency in words; empty without one."""
    states, held = state.servers["state"], state.cluster.held
    if not np.array_equal(np.bincount(states, minlength=len(at.STATES)), held):
        return "servers were lost or doubled"
    jobs = [state.jobs[j] for j in range(len(state.jobs))]
    for job in jobs:
        if fault := _fault_of_job(state, job):
            return fault
    if held[at.ACTIVE] != state.heaps.size[1:].sum():
        return "active servers are not those of the jobs"
    if held[at.STANDBY] != state.queues["length"][at.STANDBYS :].sum():
        return "standbys are not those of the jobs"
    for queue, where in ((at.SPARES, at.SPARE), (at.AUTO_WAITING, at.AUTO_QUEUE), (at.MANUAL_WAITING, at.MANUAL_QUEUE)):
        if state.queues[queue].length != held[where] or (states[_queued(state, queue)] != where).any():
            return f"servers of the state {at.STATES[where]} are not those of its queue"
    kinds = state.heaps.events["kind"][: state.heaps.size[0]]
    if np.isin(kinds, (at.AUTO_END, at.MANUAL_END)).sum() != held[at.AUTO_REPAIR] + held[at.MANUAL_REPAIR]:
        return "there are more repairs than servers in repair"
    return ""


def _queued(state: ClusterState, number: int) -> np.ndarray:
    queue = state.queues[number]
    turns = queue.head + np.arange(queue.length)
    return state.lists[queue.begin + turns % max(queue.room, 1)]


def _fault_of_job(state: ClusterState, job: JobRecord) -> str:
    n, servers = int(state.heaps.size[1 + job.number]), state.servers
    roster = state.heaps.events[job.roster_begin : job.roster_begin + n]
    active = roster["number"]
    if n > job.n_hosts or (servers["state"][active] != at.ACTIVE).any() or (servers["job"][active] != job.number).any():
        return "active servers are not those of the jobs"
    if not np.array_equal(state.heaps.place[-len(servers) :][active], np.arange(n)):
        return "active servers are not where they belong"
    if state.options.renew_lives and not np.array_equal(servers["bad"][active], np.arange(n) < job.n_bad):
        return "bad servers are not where they belong"
    times = roster["time"]
    if not state.options.renew_lives and (times[1:] < times[(np.arange(1, n) - 1) // 2]).any():
        return "lives of active servers are out of order"
    standbys = _queued(state, at.STANDBYS + job.number)
    if standbys.size > job.standbys or (servers["state"][standbys] != at.STANDBY).any():
        return "standbys are not those of the jobs"
    spent = job.compute + job.lost + job.save + job.spent.sum()
    since = job.began if job.phase < at.DONE else job.ended
    return "the time of a job does not add up" if abs(spent - since) > 1e-7 * max(state.cluster.now, 1.0) else ""
