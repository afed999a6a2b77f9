"""Jobs of any size, compiled: RA-Opt takes the number of nodes with the least expected completion time."""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import IntArray
from relfit.simulation.batch.engine_state import Engine
from relfit.simulation.engine.records import making_arrays, part

# Gauss-Legendre on 0..1, 8 points
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_POINTS = 0.5 * (_POINTS + 1.0)
_WEIGHTS = 0.5 * _WEIGHTS


@part
def hazard(e: Engine, node: int, now: float, length: float) -> float:
    """Cumulative hazard of a node over the next `length` seconds, as its parameters are estimated now."""
    scale, shape = e.nodes[node].scale, e.nodes[node].weibull_shape
    if not scale < math.inf:
        return 0.0
    if shape == 1.0:
        return length / scale
    age = max(now - e.nodes[node].up_since, 0.0)
    return ((age + length) / scale) ** shape - (age / scale) ** shape


@part
def moldable_time(e: Engine, job: int, size: int) -> float:
    """Seconds that a job runs on `size` nodes, by Amdahl (1) or Gustafson (2)."""
    p = e.state[0].parallel
    speedup = 1.0 / (p / size + 1.0 - p) if e.state[0].speedup == 1 else 1.0 - p + size * p
    return e.jobs[job].work / speedup


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
            spent += hazard(e, node, now, _POINTS[k] * length)
        alive += _WEIGHTS[k] * math.exp(-spent)
    for node in nodes[:size]:
        last += hazard(e, node, now, length)
    value = alive * length + e.state[0].repair_mean * -math.expm1(-min(last, 600.0))
    return math.log(max(value, 1e-300)) + last


@part
def _grows(e: Engine, job: int, order: IntArray, size: int, now: float) -> bool:
    """Whether one more node makes the expected time longer."""
    if size >= order.size:
        return True
    return _log_expected(e, job, order, size + 1, now) > _log_expected(e, job, order, size, now)


@making_arrays
def ra_opt(e: Engine, job: int, idle: IntArray, now: float) -> IntArray:
    """The nodes that RA-Opt (Figure 6.6) gives a job of any size.

    The most reliable idle nodes over the length of the job on one node, added while the expected completion time does
    not grow; the place where it first grows is found by bisection.
    """
    hazards = np.empty(idle.size)
    for i in range(idle.size):
        hazards[i] = hazard(e, idle[i], now, e.jobs[job].work)
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
