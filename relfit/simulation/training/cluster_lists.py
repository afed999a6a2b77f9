"""The lists of a cluster, compiled: planned events, the servers that run a job, queues; and requests to Python."""

from __future__ import annotations

from relfit.simulation.engine.event_heap import EventHeap
from relfit.simulation.engine.records import inlined
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
