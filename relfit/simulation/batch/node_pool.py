"""Nodes that jobs take and give back, compiled; the nodes of a job are linked from the first to the last."""

from __future__ import annotations

import numpy as np

from relfit.base.arrays import IntArray
from relfit.simulation.batch.engine_state import DOWN, IDLE, LOG_SPAN, NONE, Engine
from relfit.simulation.engine.records import making_arrays, part


@part
def write_line(e: Engine, kind: int, time: float, until: float, job: int, node: int, value: int) -> None:
    """Add a line to the log."""
    line = e.log[e.state[0].n_log]
    e.state[0].n_log += 1
    line.time, line.until, line.kind = time, until, kind
    line.job, line.node, line.value = job, node, value


@part
def _take(e: Engine, job: int, node: int, last: int) -> None:
    """Give a job an idle node, after its node `last`."""
    e.owner[node] = job
    e.following[node] = NONE
    if last < 0:
        e.jobs[job].first = node
    else:
        e.following[last] = node


@part
def take_lowest(e: Engine, job: int, size: int) -> None:
    """First fit: the idle nodes of the lowest numbers."""
    node, last = e.state[0].lowest, NONE
    for _ in range(size):
        while e.owner[node] != IDLE:
            node += 1
        _take(e, job, node, last)
        last = node
    e.state[0].lowest = node
    e.state[0].n_free -= size


@part
def take_listed(e: Engine, job: int, nodes: IntArray) -> None:
    """Give a job the nodes listed, which are idle."""
    last = NONE
    for node in nodes:
        _take(e, job, node, last)
        last = node
    e.state[0].n_free -= nodes.size


@part
def give_back(e: Engine, job: int) -> None:
    """The nodes of a job, all up, are idle again."""
    node, lowest = e.jobs[job].first, e.state[0].lowest
    e.jobs[job].first = NONE
    while node >= 0:
        e.owner[node] = IDLE
        lowest = min(lowest, node)
        node = e.following[node]
    e.state[0].lowest = lowest
    e.state[0].n_free += e.jobs[job].nodes


@part
def take_down(e: Engine, node: int) -> None:
    """An idle node is down."""
    e.owner[node] = DOWN
    e.state[0].n_up -= 1
    e.state[0].n_free -= 1
    e.state[0].head = NONE


@part
def take_up(e: Engine, node: int) -> None:
    """A node that was down is idle."""
    e.owner[node] = IDLE
    e.state[0].n_up += 1
    e.state[0].n_free += 1
    e.state[0].head = NONE
    e.state[0].lowest = min(e.state[0].lowest, node)


@part
def log_nodes(e: Engine, job: int, now: float) -> None:
    """Write down which nodes a job has got, a line for those that follow each other."""
    first = node = e.jobs[job].first
    while node >= 0:
        following = e.following[node]
        if following != node + 1:
            write_line(e, LOG_SPAN, now, 0.0, job, first, node + 1 - first)
            first = following
        node = following


@making_arrays
def idle_nodes(e: Engine) -> IntArray:
    """Numbers of all idle nodes, in order."""
    nodes = np.empty(e.state[0].n_free, np.int64)
    n, node = 0, e.state[0].lowest
    while n < nodes.size:
        if e.owner[node] == IDLE:
            nodes[n] = node
            n += 1
        node += 1
    return nodes
