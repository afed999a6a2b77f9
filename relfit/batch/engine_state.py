"""The state of the compiled batch simulator: tables alone, so that it can grow, go to a file, and be read again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relfit.arrays import IntArray

__all__ = ["Engine", "grown_log", "grown_queue", "new_engine", "new_jobs"]

FCFS, EASY, CONSERVATIVE = range(3)
BY_SUBMIT, BY_HEAD, BY_TAIL = range(3)
FIRST_FIT, ROUND_ROBIN, RAS, LJRAS, RA, ALL, RA_OPT, BY_RACK = range(8)
# status of a job
SUBMITTED_LATER, WAITING, RUNNING, DONE, OVER_WALLTIME, TOO_WIDE, REJECTED = range(7)
# what `advance` returns
FINISHED, PAUSED, SPENT, MORE_FAILURES, LARGER_QUEUE, LARGER_LOG = range(6)
# how jobs are started; each is compiled by itself
ON_FIRST_NODES, BY_POLICY, AS_PLANNED = range(3)
# kinds of lines in the log, and how an attempt ends
# (typed, so that a function that is called with some of them is compiled once)
_typed: Any = np.int64
LOG_START, LOG_SPAN, LOG_END, LOG_DOWN = _typed(0), _typed(1), _typed(2), _typed(3)
SUCCEEDED, KILLED, TIMED_OUT = _typed(0), _typed(1), _typed(2)
NO, YES, NONE = _typed(0), _typed(1), _typed(-1)

BLOCK_SIZE = 64
NOTHING = 1 << 40
"""Nodes of an empty place in the queue: more than any machine has."""

_F, _I = np.float64, np.int64

JOB = np.dtype(
    [(name, _F) for name in (
        "submit", "work", "walltime", "every", "save", "restore",  # what it is; seconds of work between two saves
        "saved", "wall_left", "start", "first_start", "finish", "estimate", "lost", "overhead", "planned",
        "queued", "waited", "killed_run",
        "class_key", "time_key",  # its order in the queue
    )]
    + [(name, _I) for name in (
        "nodes", "status", "kills", "backfilled", "late", "waited_repairs", "place", "heap", "block", "span",
    )]
)  # fmt: skip
NODE = np.dtype(
    [(name, _F) for name in ("up_since", "shape", "scale")] + [(name, _I) for name in ("down", "rack", "killed")]
)  # killed: a list of jobs at hand, no matter of the node
QUEUE = np.dtype([("class_key", _F), ("time_key", _F), ("job", _I)])
TREE = np.dtype([("walltime", _F), ("nodes", _I)])
HEAP = np.dtype([("time", _F), ("item", _I)])
FAILURE = np.dtype([("time", _F), ("repair", _F), ("node", _I)])
LOG = np.dtype([("time", _F), ("until", _F), ("kind", _I), ("job", _I), ("node", _I), ("value", _I)])
RESERVATION = np.dtype([("announced", _F), ("start", _F), ("end", _F), ("nodes", _I)])
STATE = np.dtype(
    [(name, _F) for name in (
        "now", "shadow", "known_until", "until", "parallel", "long_job", "repair_mean",
    )]
    + [(name, _I) for name in (
        "scheduler", "requeue", "offer_first", "reject_after", "allocation", "keep", "planned", "fixed_nodes",
        "speedup", "n_free", "n_up", "hint", "last_node", "queue_end", "n_waiting", "n_running", "n_repairing",
        "n_blocks", "next_submit", "next_failure", "n_failures", "head", "extra", "n_log", "n_outages", "n_ignored",
        "n_repairs",
        "n_kills", "n_events", "n_passes", "n_starts", "n_left", "n_apart", "cycles", "decision_cycles", "need",
        "stale", "drop", "free_span",
    )]
)  # fmt: skip

Table = npt.NDArray[np.void]


class Engine(NamedTuple):
    """Everything that `relfit.batch.event_loop.advance` works on; times in seconds."""

    jobs: Table
    """In order of submission."""
    nodes: Table
    free: npt.NDArray[np.uint64]
    """Bits of the nodes that are up and idle."""
    spans: IntArray
    """Nodes of running jobs: the first of some that follow each other, how many, and the job's next span or -1."""
    queue: Table
    """Places in order of their keys; a job below 0 is no longer there."""
    tree: Table
    """Least nodes and walltimes over pairs, pairs of pairs, ... of places."""
    heaps: Table
    """Running jobs by the time they end, nodes by the time they come back."""
    blocks: IntArray
    """Running jobs by the end of their walltime; columns: jobs in it, their nodes, (the order of blocks), the jobs."""
    failures: Table
    log: Table
    state: Table
    """One row: settings, counters, and how much of the other tables is in use."""
    masks: npt.NDArray[np.uint64]
    """Nodes planned for each job, where starts are planned."""
    reservations: Table
    reserved: npt.NDArray[np.uint64]
    """Nodes of each reservation."""


def new_jobs(size: int) -> Table:
    """A table of jobs without checkpoints that have not been submitted yet."""
    jobs = np.zeros(size, dtype=JOB)
    for name in ("start", "first_start", "finish"):
        jobs[name] = np.nan
    jobs["every"] = jobs["planned"] = np.inf
    jobs["place"] = jobs["span"] = -1
    return jobs


def words(n_nodes: int) -> int:
    """Words of 64 bits that the nodes of a machine need."""
    return (n_nodes + 63) // 64


def mask_of(nodes: npt.NDArray[np.intp], n_nodes: int) -> npt.NDArray[np.uint64]:
    """Bits of some nodes.

    Examples
    --------
    >>> mask_of(np.array([0, 1, 64]), 70).tolist()
    [3, 1]
    """
    bits = np.zeros(64 * words(n_nodes), dtype=np.uint8)
    bits[nodes] = 1
    return np.packbits(bits, bitorder="little").view(np.dtype("<u8")).astype(np.uint64)


def new_engine(jobs: Table, n_nodes: int, *, planned: bool = False) -> Engine:
    """An engine before its first event, with all nodes idle and room for little; it grows when it asks for more.

    Parameters
    ----------
    jobs : ndarray of JOB
        In order of submission.
    n_nodes : int
    planned : bool
        Whether starts are planned ahead, which needs room for the plan of every job.
    """
    nodes = np.zeros(n_nodes, dtype=NODE)
    nodes["shape"], nodes["scale"] = 1.0, np.inf
    spans = np.zeros((n_nodes + 1, 3), dtype=np.int64)
    spans[:, 2] = np.append(np.arange(1, n_nodes + 1), -1)
    blocks = np.zeros((2 * (n_nodes // (BLOCK_SIZE // 2) + 1) + 4, BLOCK_SIZE + 3), dtype=np.int64)
    blocks[:, 2] = np.arange(len(blocks))
    state = np.zeros(1, dtype=STATE)
    state["n_free"] = state["n_up"] = n_nodes
    state["head"] = state["last_node"] = -1
    state["n_left"] = int(np.count_nonzero(jobs["status"] == SUBMITTED_LATER))
    state["now"], state["until"], state["known_until"], state["planned"] = -np.inf, np.inf, np.inf, planned
    queue, tree = _empty_queue(64)
    size = words(n_nodes)
    return Engine(
        jobs, nodes, mask_of(np.arange(n_nodes), n_nodes), spans, queue, tree,
        np.zeros((2, n_nodes + 1), dtype=HEAP), blocks,
        np.zeros(0, dtype=FAILURE), np.zeros(0, dtype=LOG), state,
        np.zeros((len(jobs) if planned else 0, size), dtype=np.uint64),
        np.zeros(0, dtype=RESERVATION), np.zeros((0, size), dtype=np.uint64),
    )  # fmt: skip


def _empty_queue(size: int) -> tuple[Table, Table]:
    queue, tree = np.zeros(size, dtype=QUEUE), np.zeros(2 * size, dtype=TREE)
    queue["job"] = -1
    tree["nodes"], tree["walltime"] = NOTHING, np.inf
    return queue, tree


def grown_queue(engine: Engine) -> Engine:
    """The engine with the queue that it needs, and as much again."""
    old = engine.queue.size
    size = old
    while size < 2 * int(engine.state["need"][0]):
        size *= 2
    queue, tree = _empty_queue(size)
    queue[:old] = engine.queue
    tree[size : size + old] = engine.tree[old:]
    while size > 1:
        for name in ("nodes", "walltime"):
            tree[name][size // 2 : size] = tree[name][size : 2 * size].reshape(-1, 2).min(axis=1)
        size //= 2
    return engine._replace(queue=queue, tree=tree)


def grown_log(engine: Engine) -> Engine:
    """The engine with room for the lines that it needs, and as many again as there are."""
    used = int(engine.state["n_log"][0])
    log = np.zeros(2 * used + 2 * int(engine.state["need"][0]) + 1024, dtype=LOG)
    log[:used] = engine.log[:used]
    return engine._replace(log=log)
