"""Compiled: jobs placed on random nodes that are up, with each node's age and next failure at that instant."""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["place_jobs"]


@numba.njit(cache=True, nogil=True)
def _next_random(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The next state and number of SplitMix64 (Steele, Lea and Flood 2014)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def place_jobs(
    at: np.ndarray,
    pool: np.ndarray,
    seeds: np.ndarray,
    members: np.ndarray,
    pool_offsets: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    renewals: np.ndarray,
    offsets: np.ndarray,
    entered: np.ndarray,
    left: np.ndarray,
    horizon: float,
    chosen: np.ndarray,
    age: np.ndarray,
    failure: np.ndarray,
    found: np.ndarray,
) -> None:
    """Draw nodes of each job's pool in random order until there are enough that are up.

    Parameters
    ----------
    at : float (jobs,)
        Instants, hours.
    pool : int (jobs,)
        The pool that each job takes its nodes from: ``members[pool_offsets[p]:pool_offsets[p + 1]]``.
    seeds : uint64 (jobs,)
    starts, ends, renewals : float (outages,)
        Of each node's outages in the order of time, ``offsets[i]:offsets[i + 1]`` those of node i; `renewals` is the
        instant from which age counts after the outage.
    entered, left : float (nodes,)
        Observation of each node; it must last until ``at + horizon``.
    chosen, age, failure : (jobs, size), written
        Nodes, their ages, and the hours from the job's start to the node's next failure (infinite if there is none).
    found : int (jobs,), written
        How many nodes were found.
    """
    size = chosen.shape[1]
    for j in range(at.size):
        first, last = pool_offsets[pool[j]], pool_offsets[pool[j] + 1]
        mine = members[first:last].copy()
        state = seeds[j]
        t = at[j]
        count = 0
        for i in range(mine.size):
            if count == size:
                break
            state, number = _next_random(state)
            # a uniform double, scaled: the bias is below 2**-40 for any pool that fits in memory
            other = i + int((number >> np.uint64(11)) * (1.0 / 9007199254740992.0) * (mine.size - i))
            node = mine[other]
            mine[other] = mine[i]
            if entered[node] > t or left[node] < t + horizon:
                continue
            low, high = offsets[node], offsets[node + 1]
            while low < high:  # the first outage that begins after t
                middle = (low + high) // 2
                if starts[middle] <= t:
                    low = middle + 1
                else:
                    high = middle
            born = entered[node]
            if low > offsets[node]:
                if ends[low - 1] > t:
                    continue
                born = renewals[low - 1]
            chosen[j, count] = node
            age[j, count] = t - born
            failure[j, count] = starts[low] - t if low < offsets[node + 1] else np.inf
            count += 1
        found[j] = count
