"""The state of the batch simulator: only records, so that a file can store it; times in seconds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.engine.event_heap import EventHeap, empty_heap
from relfit.simulation.engine.records import Records, new_records, record_dtype

ENGINE_VERSION = 1
"""Version of the simulator: raised whenever a run with the same seed and settings comes out differently."""

_typed: Any = np.int64  # constants of one type, so that a function called with several of them compiles once
# status of a job
SUBMITTED_LATER, WAITING, RUNNING, DONE, OVER_WALLTIME, TOO_WIDE, REJECTED = map(_typed, range(7))
# what `advance` returns
FINISHED, PAUSED, SPENT, DECIDE, MORE_FAILURES, LARGER_QUEUE, LARGER_LOG = map(_typed, range(7))
# where a killed job goes
BY_SUBMIT, BY_HEAD, BY_TAIL = map(_typed, range(3))
# kinds of events, in their order at one instant
END, REPAIR = map(_typed, range(2))
# kinds of lines in the log, and how an attempt ends
LOG_START, LOG_SPAN, LOG_END, LOG_DOWN = map(_typed, range(4))
SUCCEEDED, KILLED, TIMED_OUT = map(_typed, range(3))
# what remains to be done at this instant
EVENTS, QUEUE = map(_typed, range(2))
# owners of a node without a job
IDLE, DOWN = _typed(-1), _typed(-2)
NONE, NO, YES = _typed(-1), _typed(0), _typed(1)
NOTHING = _typed(1 << 40)  # nodes of an empty place in the queue: more than any machine has


class BatchJob:
    """A job: its request, what it has done, its place in the queue."""

    submit: float
    work: float
    walltime: float
    every: float  # seconds of work between two checkpoints
    save: float
    restore: float
    saved: float  # work in its last checkpoint
    wall_left: float
    start: float
    first_start: float
    finish: float
    estimate: float  # when it ends by its walltime
    lost: float
    overhead: float
    planned: float  # its planned start; infinite without a plan
    queued: float
    waited: float
    killed_run: float
    class_key: float
    time_key: float  # its order in the queue: by class, then time, then number
    nodes: int
    status: int
    kills: int
    backfilled: int
    late: int
    waited_repairs: int
    place: int
    first: int  # first of its nodes; -1 for none


class Node:
    """A node: since when it is up, and the Weibull life that the allocation assumes."""

    up_since: float
    weibull_shape: float
    scale: float
    rack: int


class Place:
    """A place in the queue; a job below 0 is ``-1 - job`` and no longer there."""

    class_key: float
    time_key: float
    job: int


class Least:
    """Least nodes and walltime of a pair of places, of a pair of pairs, ..."""

    walltime: float
    nodes: int


class Failure:
    """A failure of a node and the time to its repair; infinite where it is never back."""

    time: float
    repair: float
    node: int
    outcome: int
    """How a repair in stages ends, see `relfit.simulation.engine.repair_stages`; 0 for others."""


class Line:
    """A line of the log."""

    time: float
    until: float
    kind: int
    job: int
    node: int
    value: int


class Reserved:
    """A reservation of nodes."""

    announced: float
    start: float
    end: float


class State:
    """Settings, counters, and how much of the tables is in use."""

    now: float
    drawn_until: float  # the time up to which failures are drawn
    until: float
    repair_mean: float
    parallel: float
    speedup: int
    head: int
    """First waiting job, which can start at `shadow` with `extra` nodes to spare; -1 where that is not computed."""
    shadow: float
    extra: int
    scheduler: int
    fixed_nodes: int
    allocation: int
    long_job: float
    outside: int  # whether the loop stops for each decision of the scheduler
    requeue: int
    offer_first: int
    reject_after: int
    keep: int
    n_free: int
    n_up: int
    lowest: int  # no idle node has a lower number
    last_node: int
    queue_end: int
    n_waiting: int
    n_running: int
    running_end: int
    next_submit: int
    next_failure: int
    phase: int
    n_killed: int  # jobs killed at this instant, in the first rows of `Engine.killed`
    changed: int  # whether more than an arrival has happened since the last decision
    drop_plans: int
    need: int
    n_log: int
    n_left: int
    n_failures: int
    n_ignored: int
    n_repairs: int
    n_replaced: int
    n_gone: int  # nodes that are never back
    n_kills: int
    n_starts: int
    n_events: int
    n_passes: int
    n_apart: int


JOB, NODE, FAILURE, LINE = (record_dtype(fields) for fields in (BatchJob, Node, Failure, Line))


class Engine(NamedTuple):
    """The complete state on which `relfit.simulation.batch.event_loop.advance` works."""

    jobs: Records[BatchJob]  # in order of submission
    nodes: Records[Node]
    owner: IntArray  # job that has each node, `IDLE` or `DOWN`
    following: IntArray  # next node of the same job; -1 after the last
    queue: Records[Place]
    tree: Records[Least]  # the least over all places, over halves, ..., over each place
    running: IntArray  # running jobs, in order of their estimates; -1 where one has ended
    estimates: FloatArray  # the estimates of these jobs
    events: EventHeap  # ends of running jobs by job, repairs by the number of jobs and the node
    failures: Records[Failure]
    killed: IntArray
    log: Records[Line]
    state: Records[State]  # one row
    plans: npt.NDArray[np.bool_]  # nodes planned for each job, where plans fix nodes
    reservations: Records[Reserved]
    reserved: npt.NDArray[np.bool_]  # nodes of each reservation
    needs: IntArray
    """Nodes of each class that each job takes, shape (jobs, classes); empty where all nodes are of one class."""
    class_of: IntArray  # class of each node, likewise


def new_jobs(size: int) -> Records[BatchJob]:
    """Jobs without checkpoints that have not been submitted yet."""
    jobs = new_records(BatchJob, size)
    for name in ("start", "first_start", "finish"):
        jobs[name] = np.nan
    jobs["every"] = jobs["planned"] = np.inf
    jobs["place"] = jobs["first"] = -1
    return jobs


def new_engine(jobs: Records[BatchJob], n_nodes: int, *, fixed_plans: bool = False) -> Engine:
    """An engine before its first event, all nodes idle; jobs in order of submission. Plans that fix nodes need room."""
    nodes, state = new_records(Node, n_nodes), new_records(State, 1)
    nodes["weibull_shape"], nodes["scale"] = 1.0, np.inf
    state["n_free"] = state["n_up"] = n_nodes
    state["last_node"] = state["head"] = -1
    state["n_left"] = int(np.count_nonzero(jobs["status"] == SUBMITTED_LATER))
    state["now"], state["until"], state["drawn_until"] = -np.inf, np.inf, np.inf
    return Engine(
        jobs=jobs,
        nodes=nodes,
        owner=np.full(n_nodes, IDLE),
        following=np.full(n_nodes, NONE),
        **_empty_queue(64),
        running=np.zeros(2 * n_nodes + 64, np.int64),
        estimates=np.zeros(2 * n_nodes + 64),
        events=empty_heap(len(jobs) + n_nodes, n_nodes),
        failures=new_records(Failure, 0),
        killed=np.zeros(n_nodes, np.int64),
        log=new_records(Line, 0),
        state=state,
        plans=np.zeros((len(jobs) if fixed_plans else 0, n_nodes), np.bool_),
        reservations=new_records(Reserved, 0),
        reserved=np.zeros((0, n_nodes), np.bool_),
        needs=np.zeros((0, 0), np.int64),
        class_of=np.zeros(0, np.int64),
    )


def _empty_queue(size: int) -> dict[str, Any]:
    queue, tree = new_records(Place, size), new_records(Least, 2 * size)
    queue["job"] = -1
    tree["nodes"], tree["walltime"] = NOTHING, np.inf
    return {"queue": queue, "tree": tree}


def grown_queue(engine: Engine) -> Engine:
    """The engine with a queue of at least twice the places that it needs."""
    old = len(engine.queue)
    size = old
    while size < 2 * int(engine.state["need"][0]):
        size *= 2
    tables = _empty_queue(size)
    tables["queue"][:old] = engine.queue
    tree = tables["tree"]
    tree[size : size + old] = engine.tree[old:]
    while size > 1:
        for name in ("nodes", "walltime"):
            tree[name][size // 2 : size] = tree[name][size : 2 * size].reshape(-1, 2).min(axis=1)
        size //= 2
    return engine._replace(**tables)


def grown_log(engine: Engine) -> Engine:
    """The engine with a log of more than twice the lines that it needs."""
    used = int(engine.state["n_log"][0])
    log = new_records(Line, 2 * used + 2 * int(engine.state["need"][0]) + 1024)
    log[:used] = engine.log[:used]
    return engine._replace(log=log)
