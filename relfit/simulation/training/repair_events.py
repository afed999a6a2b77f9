"""Repairs, compiled: automatic and manual ones, crews and shifts, their outcomes, retirement and return."""

from __future__ import annotations

import math

from relfit.simulation.engine.event_heap import put
from relfit.simulation.engine.random_streams import exponential, time_at, uniform
from relfit.simulation.engine.records import entry, inlined, merged, part
from relfit.simulation.engine.repair_stages import HISTORIES
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training import server_moves as moves
from relfit.simulation.training.cluster_state import ClusterState, JobRecord, ServerRecord
from relfit.simulation.training.policies import retires

_DAY = 1440.0


@part
def submit(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """Send a server that left a job to repair."""
    server.home = job.number
    if not server.bad:
        job.nonfaulty_repairs += 1
    server.score -= state.options.failure_penalty
    if 0 < state.options.auto_crews <= state.cluster.auto_busy:
        moves.add_last(state, state.queues[at.AUTO_WAITING], server)
        moves.set_state(state, server, at.AUTO_QUEUE)
    else:
        _begin_auto(state, server)


@inlined
def _history(server: ServerRecord) -> int:
    """Earlier repairs of a server, at most those that settings tell apart."""
    return min(server.repairs, HISTORIES - 1)


@part
def _begin_auto(state: ClusterState, server: ServerRecord) -> None:
    state.cluster.auto_busy += 1
    options, hazard = state.options, exponential(state.cluster.streams, at.AUTO_TIME)
    mean = options.auto_repair_times[_history(server)]
    time = time_at(options.auto_table, hazard) if options.auto_table_used else hazard * mean
    moves.set_state(state, server, at.AUTO_REPAIR)
    put(moves.events_of(state), server.number, state.cluster.now + time, at.AUTO_END)


@part
def _begin_manual(state: ClusterState, server: ServerRecord) -> None:
    state.cluster.manual_busy += 1
    options, hazard = state.options, exponential(state.cluster.streams, at.MANUAL_TIME)
    mean = options.manual_repair_times[_history(server)]
    time = time_at(options.manual_table, hazard) if options.manual_table_used else hazard * mean
    moves.set_state(state, server, at.MANUAL_REPAIR)
    end = shift_end(state.cluster.now, time, options.shift_from, options.shift_to, options.shift_days)
    put(moves.events_of(state), server.number, end, at.MANUAL_END)


@entry
def shift_end(now: float, work: float, shift_from: float, shift_to: float, days: int) -> float:
    """When `work` minutes end that are done only in shifts, from one minute of the day to another.

    `days` has a bit per day of a week that begins at time zero.
    """
    if days == 127 and shift_from <= 0.0 and shift_to >= _DAY:
        return now + work
    day = math.floor(now / _DAY)
    while True:
        if (days >> int(day % 7)) & 1:
            begin = max(day * _DAY + shift_from, now)
            room = day * _DAY + shift_to - begin
            if room > 0.0:
                if work <= room:
                    return begin + work
                work -= room
        day += 1


@merged
def auto_ends(state: ClusterState, server: ServerRecord) -> None:
    """The automatic repair of a server is over."""
    options, streams = state.options, state.cluster.streams
    state.jobs[server.home].auto_repairs += 1
    state.cluster.auto_busy -= 1
    waiting = state.queues[at.AUTO_WAITING]
    if waiting.length > 0:
        _begin_auto(state, moves.take_first(state, waiting))
    if uniform(streams, at.ESCALATION) >= options.probs_auto_to_manual[_history(server)]:
        _repaired(state, server, uniform(streams, at.OUTCOME) >= options.auto_repair_fail_probs[_history(server)])
    elif 0 < options.manual_crews <= state.cluster.manual_busy:
        moves.add_last(state, state.queues[at.MANUAL_WAITING], server)
        moves.set_state(state, server, at.MANUAL_QUEUE)
    else:
        _begin_manual(state, server)


@merged
def manual_ends(state: ClusterState, server: ServerRecord) -> None:
    """The manual repair of a server is over."""
    state.jobs[server.home].manual_repairs += 1
    state.cluster.manual_busy -= 1
    waiting = state.queues[at.MANUAL_WAITING]
    if waiting.length > 0:
        _begin_manual(state, moves.take_first(state, waiting))
    fails = state.options.manual_repair_fail_probs[_history(server)]
    _repaired(state, server, uniform(state.cluster.streams, at.OUTCOME) >= fails)


@part
def _repaired(state: ClusterState, server: ServerRecord, success: bool) -> None:
    """Book the outcome of a repair, and decide on retirement."""
    job = state.jobs[server.home]
    if success:
        job.successful_repairs += 1
    else:
        job.failed_repairs += 1
    if server.bad and success:
        job.bad_servers_cured += 1
        moves.change_class(state, server, False)
    elif server.bad:
        job.bad_server_repair_failures += 1
    beyond = state.options.beyond_repair_probs[_history(server)]
    server.repairs += 1
    if beyond > 0.0 and uniform(state.cluster.streams, at.RETIREMENTS) < beyond:
        job.servers_beyond_repair += 1
        finish_repair(state, server, True)
    elif state.options.retirement == at.OWN_RULE:
        moves.ask(state, at.RETIREMENT, 0, server.number)
    else:
        finish_repair(state, server, retires(state, server))


@part
def finish_repair(state: ClusterState, server: ServerRecord, retire: bool) -> None:
    """Give a repaired server back; or retire it, and order a new one where servers are replaced."""
    if not retire:
        give_back(state, server)
        return
    job = state.jobs[server.home]
    job.servers_retired += 1
    if not server.bad:
        job.good_servers_retired += 1
    if state.options.replacement_time >= 0.0:
        moves.set_state(state, server, at.ON_ORDER)
        put(moves.events_of(state), server.number, state.cluster.now + state.options.replacement_time, at.DELIVERED)
    else:
        moves.set_state(state, server, at.RETIRED)
    wake(state)


@part
def give_back(state: ClusterState, server: ServerRecord) -> None:
    """A server is available: as a standby where one is missing, else idle in the working pool or a spare.

    Jobs are served in order of priority; none after one that is stalled.
    """
    if server.struck and moves.rack_is_down(state, server.rack):
        moves.set_state(state, server, at.RACK_DOWN)
        return
    if server.lent == at.OF_SPARES:
        to_spares(state, server)
    elif not _refill_standbys(state, server):
        if state.options.return_borrowed == at.AT_ONCE and server.lent == at.BORROWED:
            to_spares(state, server)
        else:
            moves.set_state(state, server, at.IDLE)
    wake(state)


@merged
def _refill_standbys(state: ClusterState, server: ServerRecord) -> bool:
    for job in state.jobs:
        if job.phase == at.STALLED:
            break
        misses = moves.standbys_of(state, job).length < job.standbys
        misses = misses and (state.options.refill_any or server.home == job.number)
        if misses and (job.phase <= at.SELECTING or job.phase == at.DOWN):
            moves.stand_by(state, job, server)
            return True
    return False


@part
def to_spares(state: ClusterState, server: ServerRecord) -> None:
    """Put a server into the spare pool."""
    if server.lent == at.BORROWED:
        state.jobs[server.home].returned_servers += 1
    server.lent = at.OWN
    moves.add_last(state, state.queues[at.SPARES], server)
    moves.set_state(state, server, at.SPARE)


@part
def wake(state: ClusterState) -> None:
    """Let stalled jobs look for servers again."""
    state.cluster.repaired_since = True
    for job in state.jobs:
        if job.phase == at.STALLED:
            job.until = state.cluster.now
