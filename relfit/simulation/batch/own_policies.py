"""Checks of what a scheduler or an allocation of the user's own returns: compiled code takes it as it is."""

from __future__ import annotations

from operator import index

import numpy as np

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError
from relfit.base.text import count
from relfit.simulation.batch.engine_state import DOWN, IDLE, WAITING, Engine
from relfit.simulation.engine.records import compiled


def checked_job(engine: Engine, policy: object, given: object) -> int:
    """The waiting job that an own `next_job` returned, -1 for none; an `ArgumentError` for anything else."""
    try:
        job = index(given)  # type: ignore[arg-type]
    except TypeError:
        job = len(engine.jobs)
    if job < 0:
        return -1
    free, moldable = int(engine.state["n_free"][0]), engine.state["speedup"][0] > 0
    if job >= len(engine.jobs):
        wrong = f"jobs have the numbers 0 to {len(engine.jobs) - 1}"
    elif engine.jobs["status"][job] != WAITING:
        wrong = "this job does not wait"
    elif engine.jobs["nodes"][job] > free and not moldable:
        wrong = (
            f"it needs {count(int(engine.jobs['nodes'][job]), 'node')}, and {free} {'is' if free == 1 else 'are'} idle"
        )
    else:
        return job
    remedy = "return the number of a waiting job that fits, or -1"
    raise ArgumentError(f"{type(policy).__name__}.next_job returned {given!r}: {wrong}", remedy=remedy)


@compiled
def _n_right(owner: IntArray, nodes: IntArray) -> int:
    """How many nodes are there and idle, each once, before the first that is not."""
    n = 0
    while n < nodes.size and 0 <= nodes[n] < owner.size and owner[nodes[n]] == IDLE:
        owner[nodes[n]] = DOWN
        n += 1
    for i in range(n):
        owner[nodes[i]] = IDLE
    return n


def checked_nodes(engine: Engine, policy: object, job: int, given: object) -> IntArray:
    """The nodes that an own `choose` returned for a job, empty where it waits; an `ArgumentError` for anything else."""
    nodes, size = np.asarray(given), int(engine.jobs["nodes"][job])
    if nodes.size == 0:
        return np.zeros(0, np.int64)
    kind = nodes.dtype.kind if nodes.ndim == 1 else ""
    if kind in ("i", "u") or (kind == "f" and (nodes % 1 == 0).all()):
        nodes = nodes.astype(np.int64, copy=False)
        if nodes.size != size and not engine.state["speedup"][0]:
            wrong = f"the job needs {count(size, 'node')}"
        elif (n := _n_right(engine.owner, nodes)) == nodes.size:
            return nodes
        elif not 0 <= nodes[n] < engine.owner.size:
            wrong = f"nodes have the numbers 0 to {engine.owner.size - 1}"
        else:
            wrong = f"node {nodes[n]} is {'named twice' if engine.owner[nodes[n]] == IDLE else 'not idle'}"
    else:
        wrong = "these are no numbers of nodes"
    text = np.array2string(nodes, threshold=10, edgeitems=4, separator=", ", max_line_width=10_000)
    remedy = "return as many of the idle nodes as it needs, or none where it has to wait"
    raise ArgumentError(f"{type(policy).__name__}.choose gave job {job} {text}: {wrong}", remedy=remedy)
