"""Finding servers for a job, compiled: host selection, preemption of spare servers, stalls, depletion."""

from __future__ import annotations

import math

from relfit.simulation.engine.random_streams import below
from relfit.simulation.engine.records import entry, inlined, merged, part
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training import server_moves as moves
from relfit.simulation.training.cluster_state import ClusterState, JobRecord
from relfit.simulation.training.repair_events import to_spares


@part
def enter(state: ClusterState, job: JobRecord, phase: int, until: float) -> None:
    """Begin another phase of a job and book the time of the last one (of running, `stop_run` does)."""
    now = state.cluster.now
    if at.RUNNING < job.phase < at.DONE:
        job.spent[job.phase] += now - job.began
    if state.options.tracing and job.phase != phase:
        moves.log_change(state, at.NOBODY, job.number, job.phase, phase)
    job.phase, job.began, job.until = phase, now, until


@inlined
def recover(state: ClusterState, job: JobRecord) -> None:
    """Load the checkpoint and restart."""
    enter(state, job, at.RECOVERING, state.cluster.now + state.options.recovery_time)


@part
def release(state: ClusterState, job: JobRecord) -> None:
    """Let all servers of a job go idle."""
    while moves.n_active(state, job) > 0:
        server = moves.active_server(state, job, moves.n_active(state, job) - 1)
        moves.leave(state, job, server)
        moves.set_state(state, server, at.IDLE)
    _release_standbys(state, job)


@part
def _release_standbys(state: ClusterState, job: JobRecord) -> None:
    standbys = moves.standbys_of(state, job)
    while standbys.length > 0:
        moves.set_state(state, moves.take_first(state, standbys), at.IDLE)


@part
def look_for_hosts(state: ClusterState, job: JobRecord) -> None:
    """Begin host selection over all idle servers of the working pool and the job's own."""
    if state.options.return_borrowed == at.AT_SELECTION:
        _return_borrowed(state, job)
    if _within_reach(state, job) >= job.n_hosts:
        _choose(state, job)
    else:
        acquire(state, job)


@merged
def _return_borrowed(state: ClusterState, job: JobRecord) -> None:
    """Return the borrowed servers of a job, and idle borrowed ones, to the spare pool."""
    _release_standbys(state, job)
    for server in state.servers:
        if server.lent == at.BORROWED:
            if server.state == at.ACTIVE and server.job == job.number:
                moves.leave(state, job, server)
                to_spares(state, server)
            elif server.state == at.IDLE:
                to_spares(state, server)


@inlined
def _within_reach(state: ClusterState, job: JobRecord) -> int:
    """Servers that a job has or may take."""
    return state.cluster.held[at.IDLE] + _has(state, job)


@inlined
def _has(state: ClusterState, job: JobRecord) -> int:
    return moves.n_active(state, job) + moves.standbys_of(state, job).length


@part
def acquire(state: ClusterState, job: JobRecord) -> None:
    """Find servers: preempt a spare one, continue with fewer, take from jobs of lower priority, or stall."""
    cluster, held = state.cluster, state.cluster.held
    wanted = job.n_hosts + job.standbys
    least = wanted if state.options.needs_standbys else job.minimum
    for k in range(job.number):
        if state.jobs[k].phase == at.STALLED:  # an earlier job takes what becomes free
            enter(state, job, at.STALLED, math.inf)
            return
    while True:
        if _within_reach(state, job) >= (least if held[at.SPARE] == 0 else wanted):
            _choose(state, job)
            return
        if held[at.SPARE] > 0:
            enter(state, job, at.WAITING, cluster.now + state.options.preemption_wait_time)
            return
        if _take_from_lower(state, job):
            continue
        if state.options.needs_standbys or job.phase != at.STALLED:
            job.job_stall_count += 1
        if len(state.servers) - held[at.RETIRED] < least:
            enter(state, job, at.DEPLETED, math.inf)
            job.ended = cluster.now
            cluster.jobs_over += 1
            release(state, job)
            return
        # the original program looks again if a repair ended since the last stall
        if not (state.options.needs_standbys and cluster.repaired_since):
            enter(state, job, at.STALLED, math.inf)
            return
        cluster.repaired_since = False


@merged
def _take_from_lower(state: ClusterState, job: JobRecord) -> bool:
    """Stop the job of least priority below this one if that helps; its servers go idle."""
    obtainable = _within_reach(state, job)
    for k in range(job.number + 1, len(state.jobs)):
        obtainable += _has(state, state.jobs[k])
    if obtainable < job.minimum:
        return False
    for k in range(len(state.jobs) - 1, job.number, -1):
        other = state.jobs[k]
        if _has(state, other) > 0:
            if other.phase == at.RUNNING:
                stop_run(state, other)
                other.interruptions += 1
            release(state, other)
            enter(state, other, at.STALLED, state.cluster.now)
            return True
    return False


@part
def _choose(state: ClusterState, job: JobRecord) -> None:
    if state.options.random_hosts:
        _settle(state, job, _take_at_random(state, job, _list_candidates(state, job)))
    else:
        moves.ask(state, at.HOSTS, 0, job.number)


@part
def _list_candidates(state: ClusterState, job: JobRecord) -> int:
    """Write the idle servers into the list of choice; surplus borrowed ones may go back. Returns their number."""
    state.cluster.quiet = True
    _release_standbys(state, job)
    surplus = 0
    if state.options.return_borrowed == at.AT_ONCE:
        surplus = max(_within_reach(state, job) - job.n_hosts - job.standbys, 0)
    if surplus > 0:
        for i in range(moves.n_active(state, job) - 1, -1, -1):
            server = moves.active_server(state, job, i)
            if surplus > 0 and server.lent != at.OWN:
                moves.leave(state, job, server)
                to_spares(state, server)
                surplus -= 1
    n, choice = 0, state.lists
    for server in state.servers:
        if server.state == at.IDLE:
            if surplus > 0 and server.lent != at.OWN:
                to_spares(state, server)
                surplus -= 1
            else:
                choice[n] = server.number
                n += 1
    return n


@merged
def _take_at_random(state: ClusterState, job: JobRecord, n: int) -> int:
    """Let random servers run the job; the others follow in the list of choice from the returned place, standbys first.

    Those that will not run it are drawn, one by one, from the active and the n idle servers; as a rule they are few.
    """
    choice, streams = state.lists, state.cluster.streams
    left = n  # idle servers before this place in the list are not drawn yet, later ones are
    for _ in range(max(moves.n_active(state, job) + n - job.n_hosts, 0)):
        active = moves.n_active(state, job)
        pick = below(streams, at.SELECTION, active + left)
        if pick < active:
            server = moves.active_server(state, job, pick)
            moves.leave(state, job, server)
            moves.set_state(state, server, at.IDLE)
            choice[n] = server.number
            n += 1
        else:
            left -= 1
            choice[pick - active], choice[left] = choice[left], choice[pick - active]
    for i in range(left):
        moves.join(state, job, state.servers[choice[i]])
    for i in range(left, min(left + job.standbys, n)):
        place = i + below(streams, at.SELECTION, n - i)
        choice[i], choice[place] = choice[place], choice[i]
    return left


@part
def _settle(state: ClusterState, job: JobRecord, first: int) -> None:
    """Begin the time of a selection; idle servers from `first` on in the list of choice stand by."""
    for i in range(first, first + min(job.standbys, state.cluster.held[at.IDLE])):
        moves.stand_by(state, job, state.servers[state.lists[i]])
    moves.log_changes(state)
    job.host_selection_count += 1
    enter(state, job, at.SELECTING, state.cluster.now + state.options.host_selection_time)


@entry
def candidates(state: ClusterState, job: JobRecord) -> int:
    """Release the servers of a job and write all that it may take into the list of choice, in random order."""
    state.cluster.quiet = True
    release(state, job)
    n = _list_candidates(state, job)
    for i in range(n - 1, 0, -1):
        place = below(state.cluster.streams, at.SELECTION, i + 1)
        state.lists[i], state.lists[place] = state.lists[place], state.lists[i]
    return n


@entry
def take_in_order(state: ClusterState, job: JobRecord) -> None:
    """Let the first servers of the list of choice run the job, and the next ones stand by."""
    first = min(state.cluster.held[at.IDLE], job.n_hosts)
    for i in range(first):
        moves.join(state, job, state.servers[state.lists[i]])
    _settle(state, job, first)


@part
def stop_run(state: ClusterState, job: JobRecord) -> float:
    """End a run now and book what it computed, lost and spent on checkpoints; returns its minutes.

    With checkpoints, work since the last one is lost unless the job ended; without them, nothing is lost.
    """
    every, now = state.options.checkpoint_every, state.cluster.now
    lasted, done = now - job.began, job.length - job.remaining
    cycle = every + state.options.checkpoint_save
    if every <= 0.0:
        computed, retained, saved = lasted, lasted, 0.0
    elif job.ends_by == at.END_OF_WORK and now >= job.until:
        computed = min(job.remaining / job.speed, lasted)
        retained, saved = computed, lasted - computed
    else:
        full = math.floor(lasted / cycle)
        computed = full * every + min(lasted - full * cycle, every)
        retained, saved = full * every, lasted - computed
    job.compute += retained
    job.lost += computed - retained
    job.save += saved
    job.clock += lasted
    if job.corrupt_in < lasted and job.clean < 0.0:
        clean = job.corrupt_in if every <= 0.0 else math.floor(job.corrupt_in / cycle) * every
        if clean < retained:
            job.clean = done + clean * job.speed
            job.found_at = job.clock - lasted + job.found_in
    job.remaining -= retained * job.speed
    period = state.options.time_period
    job.credits += math.floor(lasted / period) if period > 0.0 else 1.0
    return lasted
