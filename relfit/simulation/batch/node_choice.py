"""Which idle nodes a job gets, compiled: the built-in policies of `Allocation`."""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.batch.engine_state import Engine
from relfit.simulation.batch.job_events import duration, start_on
from relfit.simulation.batch.node_pool import idle_nodes
from relfit.simulation.batch.optimal_size import hazard, ra_opt
from relfit.simulation.batch.queue_order import next_job
from relfit.simulation.engine.records import compiled, making_arrays, part

FIRST_FIT, ROUND_ROBIN, RAS, LJRAS, RA, ALL, RA_OPT, BY_RACK = range(8)


@making_arrays
def _round_robin(e: Engine, idle: IntArray, size: int) -> IntArray:
    """The next idle nodes after the last one that a job got."""
    first = np.searchsorted(idle, e.state[0].last_node + 1)
    chosen = np.empty(size, np.int64)
    for i in range(size):
        chosen[i] = idle[(first + i) % idle.size]
    e.state[0].last_node = chosen[size - 1]
    return chosen


@making_arrays
def _adjacent(e: Engine, idle: IntArray, hazards: FloatArray, size: int) -> IntArray:
    """The adjacent idle nodes with the least sum of hazards; where too few are, ones that follow each other."""
    best, apart, chosen = math.inf, True, 0
    total = 0.0
    for i in range(idle.size):
        total += hazards[i]
        if i >= size:
            total -= hazards[i - size]
        if i >= size - 1:
            broken = idle[i] - idle[i - size + 1] != size - 1
            if (apart and not broken) or (apart == broken and total < best - 1e-12 * abs(best)) or best == math.inf:
                best, apart, chosen = total, broken, i - size + 1
    if apart:
        e.state[0].n_apart += 1
    return idle[chosen : chosen + size]


@part
def _best_rack(counts: IntArray, size: int) -> int:
    """The rack with the fewest idle nodes that suffice; else the one with the most."""
    best = int(np.argmax(counts))
    for rack in range(counts.size):
        if size <= counts[rack] < counts[best]:
            best = rack
    return best


@making_arrays
def _racks(e: Engine, idle: IntArray, size: int) -> IntArray:
    """One rack where possible; else the racks with the most idle nodes first."""
    n = 0
    for node in range(len(e.nodes)):
        n = max(n, e.nodes[node].rack + 1)
    counts = np.zeros(n, np.int64)
    for node in idle:
        counts[e.nodes[node].rack] += 1
    taken = np.zeros(idle.size, np.bool_)
    left = size
    while left > 0:
        best = _best_rack(counts, left)
        counts[best] = 0
        for i in range(idle.size):
            if e.nodes[idle[i]].rack == best and left > 0:
                taken[i] = True
                left -= 1
    return idle[taken]


@compiled
def choose(e: Engine, job: int, idle: IntArray, now: float, length: float) -> IntArray:
    """The nodes that the policy of the engine gives a job; empty where it has to wait."""
    policy, size = e.state[0].allocation, e.jobs[job].nodes
    if policy == FIRST_FIT:
        return idle[:size]
    if policy == ALL:
        return idle if idle.size == len(e.nodes) - e.state[0].n_gone else idle[:0]
    if policy == RA_OPT:
        return ra_opt(e, job, idle, now)
    if policy == ROUND_ROBIN:
        return _round_robin(e, idle, size)
    if policy == BY_RACK:
        return _racks(e, idle, size)
    hazards = np.empty(idle.size)
    for i in range(idle.size):
        hazards[i] = hazard(e, idle[i], now, length)
    if policy == RA:
        return np.sort(idle[np.argsort(hazards, kind="mergesort")[:size]])
    if policy == LJRAS and length <= e.state[0].long_job:
        hazards = -hazards
    return _adjacent(e, idle, hazards, size)


@compiled
def schedule_chosen(e: Engine, now: float) -> None:
    """Start all jobs that start now by FCFS or EASY, on the nodes that the policy of the engine chooses."""
    job = next_job(e, now)
    while job >= 0:
        nodes = choose(e, job, idle_nodes(e), now, duration(e, job))
        if nodes.size == 0:
            break
        start_on(e, job, now, nodes)
        job = next_job(e, now)
