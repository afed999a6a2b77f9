"""Jobs of any size, compiled: ALL takes every node, RA-Opt as many as the expected completion time is best on."""

from __future__ import annotations

import math

import numpy as np

from relfit.batch.compiling import inner, making_arrays
from relfit.batch.engine_state import ALL, Engine
from relfit.batch.node_pool import hazard, idle_nodes, in_order, most_reliable

__all__ = ["moldable_nodes", "moldable_time"]

# Gauss-Legendre on 0..1, 8 points
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_POINTS = 0.5 * (_POINTS + 1.0)
_WEIGHTS = 0.5 * _WEIGHTS


@inner
def moldable_time(e: Engine, job: int, size: int) -> float:
    """Seconds that a job runs on `size` nodes: Amdahl (1) or Gustafson (2)."""
    p = e.state[0].parallel
    speedup = 1.0 / (p / size + 1.0 - p) if e.state[0].speedup == 1 else 1.0 - p + size * p
    return float(e.jobs[job].work / speedup)


@making_arrays
def _log_expected(e: Engine, job: int, nodes: np.ndarray, size: int, now: float) -> float:
    """Log of the expected completion time on the first `size` of `nodes`, restarts from zero.

    ``integral of R over 0..T / R(T) + restart F / (1 - F)``, the exact form of the dissertation's (6.1).
    """
    length = moldable_time(e, job, size)
    spent = np.zeros(_POINTS.size + 1)
    for i in range(size):
        scale, shape = e.nodes[nodes[i]].scale, e.nodes[nodes[i]].shape
        if not scale < math.inf:
            continue
        age = max(now - e.nodes[nodes[i]].up_since, 0.0)
        before = (age / scale) ** shape
        for k in range(_POINTS.size):
            spent[k] += ((age + _POINTS[k] * length) / scale) ** shape - before
        spent[-1] += ((age + length) / scale) ** shape - before
    total = 0.0
    for k in range(_POINTS.size):
        total += _WEIGHTS[k] * math.exp(-spent[k])
    last = min(spent[-1], 600.0)
    value = total * length + e.state[0].repair_mean * -math.expm1(-last)
    return float(math.log(max(value, 1e-300)) + spent[-1])


@making_arrays
def moldable_nodes(e: Engine, job: int, now: float) -> np.ndarray:
    """The nodes that ALL or RA-Opt give a job now; none where it has to wait.

    RA-Opt (Figure 6.6): the most reliable idle nodes over the length of the job on one node, added while the expected
    completion time does not grow; the place where it first grows is found by bisection.
    """
    if e.state[0].allocation == ALL:
        if e.state[0].n_free < e.nodes.size:
            return np.empty(0, dtype=np.int64)
        return idle_nodes(e)
    idle = idle_nodes(e)
    if idle.size == 0:
        return idle
    hazards = np.empty(idle.size)
    for i in range(idle.size):
        hazards[i] = hazard(e, idle[i], now, e.jobs[job].work)
    order = most_reliable(idle, hazards, idle.size)
    low, step = 1, 1  # low: a size at which one node more does not harm, or 1
    while low + step < idle.size and _grows(e, job, order, low + step, now) <= 0.0:
        low += step
        step *= 2
    high = min(low + step, idle.size)
    while low < high:
        middle = (low + high) >> 1
        if _grows(e, job, order, middle, now) <= 0.0:
            low = middle + 1
        else:
            high = middle
    return in_order(e, order[:low])


@making_arrays
def _grows(e: Engine, job: int, order: np.ndarray, size: int, now: float) -> float:
    """By how much the log of the expected time grows with one node more."""
    if size >= order.size:
        return 1.0
    return _log_expected(e, job, order, size + 1, now) - _log_expected(e, job, order, size, now)
