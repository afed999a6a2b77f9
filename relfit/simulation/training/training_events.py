"""The event loop of the training-cluster simulator, compiled.

`advance` returns its request to Python: a policy, a rare event, a full trace, the end. Called again, it continues.
"""

from __future__ import annotations

import math

from relfit.simulation.engine.event_heap import pop
from relfit.simulation.engine.random_streams import below, exponential, hazard_at, time_at, uniform
from relfit.simulation.engine.records import entry, merged, part
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training import server_moves as moves
from relfit.simulation.training.cluster_state import ClusterState, JobRecord, ServerRecord
from relfit.simulation.training.host_events import acquire, enter, look_for_hosts, recover, release, stop_run
from relfit.simulation.training.repair_events import auto_ends, finish_repair, give_back, manual_ends, submit, wake

ENGINE_VERSION = 1
"""Version of the simulator: raised whenever a run with the same seed and settings comes out differently."""

OVER, TRACE_FULL, TOO_MANY_EVENTS, STUCK, TO_CHECK = range(4, 9)


@merged
def _begin(state: ClusterState) -> None:
    """Turn servers bad at random, and draw their ages where the cluster has long been running."""
    options, streams, n = state.options, state.cluster.streams, len(state.servers)
    order = state.lists
    for i in range(n):
        order[i] = i
    for i in range(int(n * options.systematic_failure_fraction)):
        place = i + below(streams, at.SETUP, n - i)
        order[i], order[place] = order[place], order[i]
        state.servers[order[i]].bad = True
    if options.steady_ages:
        for server in state.servers:
            age = time_at(options.age_table, exponential(streams, at.SETUP))
            hazard = hazard_at(options.life_table, age) + exponential(streams, at.SETUP)
            slower = options.bad_factor if server.bad else 1.0
            server.age = age / slower
            server.life = max(time_at(options.life_table, hazard) - age, 0.0) / slower


@entry
def advance(state: ClusterState) -> int:
    """Run from the start, or from the last request, to the next request to Python."""
    cluster, options = state.cluster, state.options
    if not cluster.begun:
        cluster.begun = True
        _begin(state)
    if cluster.asks == at.RETIREMENT:
        finish_repair(state, state.servers[cluster.asks_number], cluster.retires)
    cluster.asks = at.NOTHING
    while True:
        if cluster.asks != at.NOTHING:
            return cluster.asks
        if cluster.jobs_begun < len(state.jobs):
            cluster.jobs_begun += 1
            look_for_hosts(state, state.jobs[cluster.jobs_begun - 1])
            continue
        # the original program completes repairs in progress, and counts them
        if cluster.jobs_over == len(state.jobs) and not (options.drain_repairs and _in_repair(state)):
            return OVER
        if options.tracing and cluster.changes > len(state.trace) - 4 * len(state.servers) - 16:
            return TRACE_FULL  # an event might find too little room for its changes
        cluster.events += 1
        if cluster.events > options.max_events:
            return TOO_MANY_EVENTS
        job, events = _next_job(state), moves.events_of(state)
        time = events.events[0].time if events.size[0] > 0 else math.inf
        if job.until == math.inf and time == math.inf:
            return STUCK
        if job.until < time:
            cluster.now = job.until
            _job_event(state, job)
        else:
            cluster.now, kind, number = pop(events)
            if kind == at.AUTO_END:
                auto_ends(state, state.servers[number])
            elif kind == at.MANUAL_END:
                manual_ends(state, state.servers[number])
            else:
                moves.ask(state, at.RARE_EVENT, kind, number)
        if options.checking and cluster.asks == at.NOTHING:
            return TO_CHECK


@merged
def _next_job(state: ClusterState) -> JobRecord:
    """The job whose phase ends first; the first of them in a tie."""
    first = state.jobs[0]
    for job in state.jobs:
        if job.until < first.until:
            first = job
    return first


@merged
def _in_repair(state: ClusterState) -> bool:
    held = state.cluster.held
    return held[at.AUTO_REPAIR] + held[at.MANUAL_REPAIR] + held[at.AUTO_QUEUE] + held[at.MANUAL_QUEUE] > 0


@merged
def _job_event(state: ClusterState, job: JobRecord) -> None:
    """Handle the end of a phase of a job."""
    if job.phase == at.RUNNING:
        if job.ends_by == at.END_OF_WORK:
            stop_run(state, job)
            _finish(state, job)
        elif job.ends_by == at.FAILURE:
            _server_fails(state, job, state.servers[job.next_failed])
        else:
            moves.ask(state, at.RARE_EVENT, at.CORRUPTION_FOUND, job.number)
    elif job.phase == at.RECOVERING or job.phase == at.SELECTING:
        _resume(state, job)
    elif job.phase == at.WAITING:
        spares = state.queues[at.SPARES]
        if spares.length > 0:
            server = moves.take_first(state, spares)
            server.lent, server.home = at.BORROWED, job.number
            job.preemption_count += 1
            moves.set_state(state, server, at.IDLE)
        acquire(state, job)
    elif job.phase == at.STALLED:
        state.cluster.repaired_since = False
        acquire(state, job)
    else:
        recover(state, job)


@merged
def _resume(state: ClusterState, job: JobRecord) -> None:
    """Run again once enough servers are there; standbys take over without a selection."""
    cluster, options = state.cluster, state.options
    if cluster.now < cluster.down_until:
        enter(state, job, at.DOWN, cluster.down_until)
        return
    selected, standbys = job.phase == at.SELECTING, moves.standbys_of(state, job)
    while moves.n_active(state, job) < job.n_hosts and standbys.length > 0:
        moves.join(state, job, moves.take_first(state, standbys))
        if not selected:
            job.standby_swaps += 1
    if moves.n_active(state, job) < (job.minimum if selected else job.n_hosts):
        look_for_hosts(state, job)
        return
    enter(state, job, at.RUNNING, math.inf)
    job.speed = moves.n_active(state, job) / job.n_hosts
    job.corrupt_in, job.found_in = math.inf, math.inf
    if options.corruption_rate > 0.0:
        if job.clean < 0.0:
            rate, streams = options.corruption_rate * moves.n_active(state, job), cluster.streams
            job.corrupt_in = exponential(streams, at.CORRUPTIONS) / rate
            job.found_in = job.corrupt_in + exponential(streams, at.CORRUPTIONS) * options.corruption_delay
        else:
            job.found_in = max(job.found_at - job.clock, 0.0)
    plan_end(state, job)


@part
def plan_end(state: ClusterState, job: JobRecord) -> None:
    """Plan when the current run ends, and by what."""
    ran = state.cluster.now - job.began  # above 0 if servers changed class during the run
    job.clock += ran
    fails = ran + moves.next_failure(state, job)
    job.clock -= ran
    every = state.options.checkpoint_every
    ends = job.remaining / job.speed
    if every > 0.0:
        ends += state.options.checkpoint_save * max(math.ceil(ends / every) - 1.0, 0.0)
    if ends <= min(fails, job.found_in):
        job.ends_by, job.until = at.END_OF_WORK, job.began + ends
    elif fails <= job.found_in:
        job.ends_by, job.until = at.FAILURE, job.began + fails
    else:
        job.ends_by, job.until = at.CORRUPTION, job.began + job.found_in


@merged
def _finish(state: ClusterState, job: JobRecord) -> None:
    if job.clean >= 0.0:
        job.undetected_corruptions += 1
    job.ended, job.remaining = state.cluster.now, 0.0
    state.cluster.jobs_over += 1
    enter(state, job, at.DONE, math.inf)
    release(state, job)
    wake(state)


@merged
def _server_fails(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """A server fails; it, an innocent one or none is sent to repair, and the job recovers."""
    options = state.options
    moves.credit(state, job, server)
    job.run_time += stop_run(state, job)
    server.credited = job.credits  # no credit for the period that its failure ended
    job.total_failures += 1
    if server.bad and uniform(state.cluster.streams, at.KIND) * options.bad_factor >= 1.0:
        job.systematic_failures += 1
    else:
        job.random_failures += 1
    if state.latest.shape[1] > 0:
        state.latest[server.number, server.failures % options.max_failures] = state.cluster.now
    server.failures += 1
    _diagnose(state, job, server)
    recover(state, job)


@merged
def _diagnose(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """Send the server that is blamed to repair, if any is."""
    options, streams, others = state.options, state.cluster.streams, moves.n_active(state, job) - 1
    if options.diagnosis_probability < 1.0 and uniform(streams, at.DIAGNOSIS) >= options.diagnosis_probability:
        job.undiagnosed_failures += 1
        if options.undiagnosed_stay:
            moves.new_life(state, job, server)
        else:
            moves.leave(state, job, server)
            server.life, server.age, server.home = -1.0, 0.0, job.number
            give_back(state, server)
    elif (
        options.diagnosis_uncertainty > 0.0
        and others > 0
        and uniform(streams, at.DIAGNOSIS) < options.diagnosis_uncertainty
    ):
        place = below(streams, at.DIAGNOSIS, others)
        place += place >= moves.roster_of(state, job).place[server.number]  # not the server itself
        blamed = moves.active_server(state, job, place)
        job.misattributed_repairs += 1
        moves.new_life(state, job, server)
        moves.leave(state, job, blamed)
        submit(state, job, blamed)
        wake(state)
    else:
        moves.leave(state, job, server)
        server.life, server.age = -1.0, 0.0
        submit(state, job, server)
