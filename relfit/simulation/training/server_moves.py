"""Moves of servers, compiled: between states, into and out of a job, and between good and bad.

The active servers of a job are its roster. Where lives are redrawn at every restart, bad servers are first in it and
only the first failure of each class is drawn; where servers carry their ages, it is a heap by the job's clock at which
each will fail.
"""

from __future__ import annotations

import math

from relfit.simulation.engine.event_heap import EventHeap, put, remove
from relfit.simulation.engine.random_streams import below, exponential, time_at, uniform
from relfit.simulation.engine.records import inlined, part
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training.cluster_state import ClusterState, JobRecord, Queue, ServerRecord


@inlined
def events_of(state: ClusterState) -> EventHeap:
    """The planned events: of each server by its number, then of each rack, then of the cluster by their kinds."""
    n = len(state.servers) + state.options.n_racks + at.N_KINDS
    return EventHeap(state.heaps.events[:n], state.heaps.place[:n], state.heaps.size[:1])


@inlined
def roster_of(state: ClusterState, job: JobRecord) -> EventHeap:
    """The active servers of a job: by its clock at which they fail, or bad ones first where lives are redrawn."""
    n = len(state.servers) + state.options.n_racks + at.N_KINDS
    events = state.heaps.events[job.roster_begin : job.roster_begin + job.n_hosts]
    return EventHeap(events, state.heaps.place[n:], state.heaps.size[1 + job.number : 2 + job.number])


@inlined
def rack_is_down(state: ClusterState, rack: int) -> bool:
    """Whether a rack is down: its return is planned."""
    return state.heaps.place[len(state.servers) + rack] >= 0


@inlined
def n_active(state: ClusterState, job: JobRecord) -> int:
    """Active servers of a job."""
    return state.heaps.size[1 + job.number]


@inlined
def standbys_of(state: ClusterState, job: JobRecord) -> Queue:
    """The servers that stand by for a job."""
    return state.queues[at.STANDBYS + job.number]


@inlined
def add_last(state: ClusterState, queue: Queue, server: ServerRecord) -> None:
    """Put a server at the end of a queue."""
    state.lists[queue.begin + (queue.head + queue.length) % queue.room] = server.number
    queue.length += 1


@inlined
def take_first(state: ClusterState, queue: Queue) -> ServerRecord:
    """Take the first server off a queue that has one."""
    server = state.servers[state.lists[queue.begin + queue.head]]
    queue.head = (queue.head + 1) % queue.room
    queue.length -= 1
    return server


@inlined
def ask(state: ClusterState, what: int, kind: int, number: int) -> None:
    """Stop the loop for a request to Python."""
    state.cluster.asks, state.cluster.asks_kind, state.cluster.asks_number = what, kind, number


@part
def log_change(state: ClusterState, server: int, job: int, before: int, after: int) -> None:
    """Write a change into the trace."""
    change = state.trace[state.cluster.changes]
    change.minute = state.cluster.now
    change.server, change.job, change.before, change.after = server, job, before, after
    state.cluster.changes += 1


@inlined
def set_state(state: ClusterState, server: ServerRecord, new: int) -> None:
    """Move a server to another state."""
    state.cluster.held[server.state] -= 1
    state.cluster.held[new] += 1
    server.state = new
    if state.options.tracing and not state.cluster.quiet and server.traced != new:
        log_change(state, server.number, server.job, server.traced, new)
        server.traced = new


@part
def log_changes(state: ClusterState) -> None:
    """Trace the changes of a quiet time: not those of servers that a selection released and took again."""
    state.cluster.quiet = False
    if state.options.tracing:
        for server in state.servers:
            if server.traced != server.state:
                log_change(state, server.number, server.job, server.traced, server.state)
                server.traced = server.state


@part
def draw_life(state: ClusterState, bad: bool) -> float:
    """Minutes of running until a new server fails."""
    options, hazard = state.options, exponential(state.cluster.streams, at.LIFE)
    life = hazard / options.random_failure_rate if options.exponential_lives else time_at(options.life_table, hazard)
    return life / options.bad_factor if bad else life


@inlined
def active_server(state: ClusterState, job: JobRecord, place: int) -> ServerRecord:
    """A server of a job's roster."""
    return state.servers[state.heaps.events[job.roster_begin + place].number]


@inlined
def _set_place(roster: EventHeap, place: int, number: int) -> None:
    roster.events[place].number = number
    roster.place[number] = place


@part
def join(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """Let a server run a job."""
    server.job = job.number
    set_state(state, server, at.ACTIVE)
    server.credited, server.joined = job.credits, job.clock
    roster = roster_of(state, job)
    if not state.options.renew_lives:
        if server.life < 0.0:
            server.life = draw_life(state, server.bad)
        put(roster, server.number, job.clock + server.life)
        return
    place = roster.size[0]
    roster.size[0] += 1
    if server.bad:
        if job.n_bad < place:
            _set_place(roster, place, roster.events[job.n_bad].number)
        place = job.n_bad
        job.n_bad += 1
    _set_place(roster, place, server.number)


@part
def leave(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """Take an active server off its job; the caller sets its state."""
    credit(state, job, server)
    server.age += job.clock - server.joined
    server.joined = job.clock
    roster = roster_of(state, job)
    place = roster.place[server.number]
    if not state.options.renew_lives:
        server.life = max(roster.events[place].time - job.clock, 0.0)
        remove(roster, server.number)
        return
    last = roster.size[0] - 1
    roster.size[0], roster.place[server.number] = last, -1
    if server.bad:
        job.n_bad -= 1
        if place < job.n_bad:
            _set_place(roster, place, roster.events[job.n_bad].number)
        place = job.n_bad
    if place < last:
        _set_place(roster, place, roster.events[last].number)


@inlined
def stand_by(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """Make a server the last standby of a job."""
    server.job = job.number
    add_last(state, standbys_of(state, job), server)
    set_state(state, server, at.STANDBY)


@inlined
def credit(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """Add to the score of an active server for the full periods that it ran."""
    server.score += (job.credits - server.credited) * state.options.success_increment
    server.credited = job.credits


@part
def new_life(state: ClusterState, job: JobRecord, server: ServerRecord) -> None:
    """Draw another life for an active server that failed and stays."""
    server.age, server.joined = 0.0, job.clock
    if not state.options.renew_lives:
        put(roster_of(state, job), server.number, job.clock + draw_life(state, server.bad))


@part
def change_class(state: ClusterState, server: ServerRecord, bad: bool) -> None:
    """Make a server bad or good; what remains of its life shrinks or grows by the factor between the classes."""
    if server.bad == bad:
        return
    factor = 1.0 / state.options.bad_factor if bad else state.options.bad_factor
    server.bad = bad
    if server.state != at.ACTIVE:
        if server.life > 0.0:
            server.life *= factor
        return
    job = state.jobs[server.job]
    roster = roster_of(state, job)
    place = roster.place[server.number]
    if not state.options.renew_lives:
        put(roster, server.number, job.clock + (roster.events[place].time - job.clock) * factor)
        return
    edge = job.n_bad if bad else job.n_bad - 1
    job.n_bad += 1 if bad else -1
    _set_place(roster, place, roster.events[edge].number)
    _set_place(roster, edge, server.number)


@part
def next_failure(state: ClusterState, job: JobRecord) -> float:
    """Minutes of running until a server of a job fails; `JobRecord.next_failed` is that server."""
    options, streams, roster = state.options, state.cluster.streams, roster_of(state, job)
    n, n_bad = roster.size[0], job.n_bad
    job.next_failed = at.NOBODY
    if n == 0:
        return math.inf
    if not options.renew_lives:
        job.next_failed = roster.events[0].number
        return max(roster.events[0].time - job.clock, 0.0)
    good = n - n_bad
    if options.exponential_lives:
        weight = good + n_bad * options.bad_factor
        if options.random_failure_rate <= 0.0:
            return math.inf
        life = exponential(streams, at.LIFE) / (options.random_failure_rate * weight)
        of_bad = uniform(streams, at.PICK) * weight >= good and n_bad > 0
    else:
        # of n equal lives the first ends where n times their cumulative hazard reaches an exponential time
        first, second = exponential(streams, at.LIFE), exponential(streams, at.LIFE)
        life = time_at(options.life_table, first / good) if good > 0 else math.inf
        of_bad = False
        if n_bad > 0:
            sooner = time_at(options.life_table, second / n_bad) / options.bad_factor
            of_bad = sooner < life
            life = min(life, sooner)
    place = below(streams, at.PICK, n_bad) if of_bad else n_bad + below(streams, at.PICK, max(good, 1))
    job.next_failed = roster.events[place].number
    return life
