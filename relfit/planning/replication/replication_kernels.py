"""Compiled loop that follows replicated jobs from save to save."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["replicated_runs"]


@numba.njit(cache=True, nogil=True)
def _life(log_hazard: np.ndarray, log_time: np.ndarray) -> float:
    """A random life by the table of cumulative hazards, linear between logs."""
    spent = math.log(np.random.exponential(1.0))  # noqa: NPY002 - numba's own stream, one a thread
    step = log_hazard[1] - log_hazard[0]
    place = (spent - log_hazard[0]) / step
    i = min(max(int(place), 0), log_hazard.size - 2)
    return math.exp(log_time[i] + (log_time[i + 1] - log_time[i]) * (place - i))


@numba.njit(cache=True, nogil=True)
def replicated_runs(
    log_hazard: np.ndarray,
    log_time: np.ndarray,
    processes: int,
    replicas: int,
    interval: float,
    costs: np.ndarray,  # save, restore, downtime
    at_saves: bool,  # failed copies are restarted at every save, else at interruptions only
    periods: int,
    seeds: np.ndarray,
    kept: np.ndarray,
    time: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Follow the runs first..last for so many tries to complete a period."""
    nodes = processes * replicas
    dead = np.empty(nodes)  # when each node fails, on the clock that stops in downtimes
    for run in range(first, last):
        np.random.seed(seeds[run])  # noqa: NPY002
        for node in range(nodes):
            dead[node] = _life(log_hazard, log_time)
        clock, down, saved, restoring = 0.0, 0.0, 0.0, False
        for _ in range(periods):
            end = clock + interval + costs[0] + (costs[1] if restoring else 0.0)
            stop = np.inf  # when the first process has lost all its copies
            for process in range(processes):
                latest = 0.0
                for copy in range(replicas):
                    latest = max(latest, dead[process * replicas + copy])
                stop = min(stop, latest)
            interrupted = stop < end
            clock = stop if interrupted else end
            if interrupted:
                down += costs[2]
                restoring = True
            else:
                saved += interval
                restoring = False
            if interrupted or at_saves:
                for node in range(nodes):
                    if dead[node] <= clock:
                        dead[node] = clock + _life(log_hazard, log_time)
        kept[run] = saved
        time[run] = clock + down
