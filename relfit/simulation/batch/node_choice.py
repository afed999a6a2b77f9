"""Which idle nodes a job gets, compiled: the built-in policies of `Allocation`, and for RA-Opt how many."""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.batch.engine_state import Engine
from relfit.simulation.batch.job_events import duration, idle_nodes, moldable_time, start_on
from relfit.simulation.batch.queue_order import next_job
from relfit.simulation.engine.records import compiled, making_arrays, part

FIRST_FIT, ROUND_ROBIN, RAS, LJRAS, RA, ALL, RA_OPT, BY_RACK = range(8)
# Gauss-Legendre on 0..1, 8 points
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_POINTS = 0.5 * (_POINTS + 1.0)
_WEIGHTS = 0.5 * _WEIGHTS


@part
def _hazard(e: Engine, node: int, now: float, length: float) -> float:
    """Cumulative hazard of a node over the next `length` seconds, as its parameters are estimated now."""
    scale, shape = e.nodes[node].scale, e.nodes[node].weibull_shape
    if not scale < math.inf:
        return 0.0
    if shape == 1.0:
        return length / scale
    age = max(now - e.nodes[node].up_since, 0.0)
    return ((age + length) / scale) ** shape - (age / scale) ** shape


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
        best = int(np.argmax(counts))
        for rack in range(n):
            if left <= counts[rack] < counts[best]:  # it suffices, and has fewer
                best = rack
        counts[best] = 0
        for i in range(idle.size):
            if e.nodes[idle[i]].rack == best and left > 0:
                taken[i] = True
                left -= 1
    return idle[taken]


@part
def _log_expected(e: Engine, job: int, nodes: IntArray, size: int, now: float) -> float:
    """Log of the expected completion time on the first `size` of `nodes`, restarts from zero.

    ``integral of R over 0..T / R(T) + restart F / (1 - F)``: (6.1) of the dissertation on reliability-aware allocation,
    with the exact mean time lost per failed attempt.
    """
    length, alive, last = moldable_time(e, job, size), 0.0, 0.0
    for k in range(_POINTS.size):
        spent = 0.0
        for node in nodes[:size]:
            spent += _hazard(e, node, now, _POINTS[k] * length)
        alive += _WEIGHTS[k] * math.exp(-spent)
    for node in nodes[:size]:
        last += _hazard(e, node, now, length)
    value = alive * length + e.state[0].repair_mean * -math.expm1(-min(last, 600.0))
    return math.log(max(value, 1e-300)) + last


@part
def _grows(e: Engine, job: int, order: IntArray, size: int, now: float) -> bool:
    """Whether one more node makes the expected time longer."""
    if size >= order.size:
        return True
    return _log_expected(e, job, order, size + 1, now) > _log_expected(e, job, order, size, now)


@making_arrays
def _ra_opt(e: Engine, job: int, idle: IntArray, now: float) -> IntArray:
    """The nodes that RA-Opt (Figure 6.6) gives a job of any size.

    The most reliable idle nodes over the length of the job on one node, added while the expected completion time does
    not grow; the place where it first grows is found by bisection.
    """
    hazards = np.empty(idle.size)
    for i in range(idle.size):
        hazards[i] = _hazard(e, idle[i], now, e.jobs[job].work)
    order = idle[np.argsort(hazards, kind="mergesort")]
    low, step = 1, 1  # low: a size at which one more node does no harm, or 1
    while low + step < idle.size and not _grows(e, job, order, low + step, now):
        low += step
        step *= 2
    high = min(low + step, idle.size)
    while low < high:
        middle = (low + high) >> 1
        if _grows(e, job, order, middle, now):
            high = middle
        else:
            low = middle + 1
    return np.sort(order[:low])


@compiled
def choose(e: Engine, job: int, idle: IntArray, now: float, length: float) -> IntArray:
    """The nodes that the policy of the engine gives a job; empty where it has to wait."""
    policy, size = e.state[0].allocation, e.jobs[job].nodes
    if policy == FIRST_FIT:
        return idle[:size]
    if policy == ALL:
        return idle if idle.size == len(e.nodes) - e.state[0].n_gone else idle[:0]
    if policy == RA_OPT:
        return _ra_opt(e, job, idle, now)
    if policy == ROUND_ROBIN:
        return _round_robin(e, idle, size)
    if policy == BY_RACK:
        return _racks(e, idle, size)
    hazards = np.empty(idle.size)
    for i in range(idle.size):
        hazards[i] = _hazard(e, idle[i], now, length)
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
