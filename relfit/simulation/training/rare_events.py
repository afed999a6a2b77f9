"""Events that most simulations do not have, compiled apart: of racks and the cluster, corruptions, deliveries."""

from __future__ import annotations

from relfit.simulation.engine.event_heap import put
from relfit.simulation.engine.random_streams import below, exponential, uniform
from relfit.simulation.engine.records import entry, merged, part
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training import server_moves as moves
from relfit.simulation.training.cluster_state import ClusterState, JobRecord, ServerRecord
from relfit.simulation.training.host_events import enter, recover, stop_run
from relfit.simulation.training.repair_events import give_back, submit
from relfit.simulation.training.training_events import plan_end


@entry
def rare_event(state: ClusterState) -> None:
    """Handle the requested event; without a request, at the start, plan the first of each kind."""
    kind, number = state.cluster.asks_kind, state.cluster.asks_number
    if state.cluster.asks != at.RARE_EVENT:
        if state.options.regeneration_interval > 0.0:
            _plan(state, at.REGENERATE, state.options.regeneration_interval)
        _plan_rack_failure(state)
        _plan_cluster_failure(state)
    elif kind == at.RACK_FAILS:
        _rack_fails(state)
    elif kind == at.RACK_BACK:
        for server in state.servers:
            if server.rack == number - len(state.servers) and server.state == at.RACK_DOWN:
                give_back(state, server)
    elif kind == at.CLUSTER_FAILS:
        _cluster_fails(state)
    elif kind == at.REGENERATE:
        _regenerate(state)
    elif kind == at.DELIVERED:
        _is_delivered(state, state.servers[number])
    else:
        _corruption_is_found(state, state.jobs[number])


@part
def _plan(state: ClusterState, kind: int, time: float) -> None:
    """Plan an event of no server or rack: their kinds have numbers after those of the racks."""
    put(moves.events_of(state), len(state.servers) + state.options.n_racks + kind, time, kind)


@part
def _plan_rack_failure(state: ClusterState) -> None:
    if state.options.rack_failure_rate > 0.0:
        wait = exponential(state.cluster.streams, at.RACKS) / (state.options.rack_failure_rate * state.options.n_racks)
        _plan(state, at.RACK_FAILS, state.cluster.now + wait)


@part
def _plan_cluster_failure(state: ClusterState) -> None:
    if state.options.cluster_failure_rate > 0.0:
        wait = exponential(state.cluster.streams, at.CLUSTER) / state.options.cluster_failure_rate
        _plan(state, at.CLUSTER_FAILS, max(state.cluster.now, state.cluster.down_until) + wait)


@merged
def _is_delivered(state: ClusterState, server: ServerRecord) -> None:
    """A new server takes the place of a retired one; it is bad with the probability of those at the start."""
    options = state.options
    state.jobs[server.home].servers_replaced += 1
    server.bad = uniform(state.cluster.streams, at.RETIREMENTS) < options.systematic_failure_fraction
    server.failures, server.repairs = 0, 0
    server.life, server.age, server.score = -1.0, 0.0, options.initial_score
    for i in range(state.latest.shape[1]):
        state.latest[server.number, i] = 0.0
    give_back(state, server)


@merged
def _regenerate(state: ClusterState) -> None:
    """Turn a share of the good servers bad: a tenth of the fraction of bad ones, at least one server."""
    n, choice = 0, state.lists
    for server in state.servers:
        if not server.bad and server.state not in (at.RETIRED, at.ON_ORDER):
            choice[n] = server.number
            n += 1
    for i in range(min(max(1, int(n * state.options.systematic_failure_fraction * 0.1)), n)):
        place = i + below(state.cluster.streams, at.REGENERATION, n - i)
        choice[i], choice[place] = choice[place], choice[i]
        moves.change_class(state, state.servers[choice[i]], True)
    _plan(state, at.REGENERATE, state.cluster.now + state.options.regeneration_interval)
    for job in state.jobs:
        if job.phase == at.RUNNING and not state.options.renew_lives:
            plan_end(state, job)


@merged
def _corruption_is_found(state: ClusterState, job: JobRecord) -> None:
    """Go back to the last checkpoint from before the corruption; a server is blamed for it."""
    job.run_time += stop_run(state, job)
    job.corruptions_found += 1
    if job.clean >= 0.0:
        back = max(job.length - job.remaining - job.clean, 0.0)
        moved = min(back / job.speed, job.compute)
        job.remaining += back
        job.compute -= moved
        job.lost += moved
        job.clean = -1.0
    blamed = moves.active_server(state, job, below(state.cluster.streams, at.CORRUPTIONS, moves.n_active(state, job)))
    moves.leave(state, job, blamed)
    submit(state, job, blamed)
    recover(state, job)


@merged
def _rack_fails(state: ClusterState) -> None:
    """Servers of a rack are down until it is repaired; those in repair stay there."""
    _plan_rack_failure(state)
    streams = state.cluster.streams
    rack = below(streams, at.RACKS, state.options.n_racks)
    if moves.rack_is_down(state, rack):
        return
    _strike(state, rack)
    back = state.cluster.now + exponential(streams, at.RACKS) * state.options.rack_repair_time
    put(moves.events_of(state), len(state.servers) + rack, back, at.RACK_BACK)
    for job in state.jobs:
        _struck_leave_job(state, job)
    spares = state.queues[at.SPARES]
    for _ in range(spares.length):  # each once
        server = moves.take_first(state, spares)
        if server.struck:
            moves.set_state(state, server, at.RACK_DOWN)
            server.lent = at.OF_SPARES
        else:
            moves.add_last(state, spares, server)
    for server in state.servers:
        if server.struck and server.state == at.IDLE:
            moves.set_state(state, server, at.RACK_DOWN)


@merged
def _strike(state: ClusterState, rack: int) -> None:
    """Mark the servers of a rack that its failure hits: the stated share on average, one or more, at random."""
    left = 0
    for server in state.servers:
        server.struck = server.rack == rack
        left += server.struck
    if state.options.rack_share >= 1.0:
        return
    streams = state.cluster.streams
    hits = max(int(state.options.rack_share * left + uniform(streams, at.RACKS)), 1)
    for server in state.servers:
        if server.struck:
            server.struck = below(streams, at.RACKS, left) < hits
            hits -= server.struck
            left -= 1


@merged
def _struck_leave_job(state: ClusterState, job: JobRecord) -> None:
    for server in state.servers:
        if server.struck and server.state == at.ACTIVE and server.job == job.number:
            if job.phase == at.RUNNING:
                job.run_time += stop_run(state, job)
                job.rack_failures += 1
                recover(state, job)
            moves.leave(state, job, server)
            server.home = job.number
            moves.set_state(state, server, at.RACK_DOWN)
    standbys = moves.standbys_of(state, job)
    for _ in range(standbys.length):
        server = moves.take_first(state, standbys)
        if server.struck:
            server.home = job.number
            moves.set_state(state, server, at.RACK_DOWN)
        else:
            moves.stand_by(state, job, server)


@merged
def _cluster_fails(state: ClusterState) -> None:
    """Nothing runs until the power or the file system is back; then every job recovers."""
    cluster = state.cluster
    cluster.down_until = cluster.now + exponential(cluster.streams, at.CLUSTER) * state.options.cluster_repair_time
    _plan_cluster_failure(state)
    for job in state.jobs:
        if job.phase == at.RUNNING:
            job.run_time += stop_run(state, job)
            job.cluster_failures += 1
            enter(state, job, at.DOWN, cluster.down_until)
