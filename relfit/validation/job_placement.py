"""Jobs placed on random nodes of a log that are up, with each node's age and next failure at that instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arrays import FloatArray, IntArray
from relfit.outages import outages_of
from relfit.units import NANOSECONDS_PER_HOUR

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["Fleet", "Placed", "place"]


@dataclass(frozen=True)
class Fleet:
    """Nodes with their outages in hours from the beginning of the log, and the pools that jobs take nodes from."""

    starts: FloatArray
    ends: FloatArray
    renewals: FloatArray
    offsets: IntArray
    entered: FloatArray
    left: FloatArray
    members: IntArray
    pool_offsets: IntArray
    systems: npt.NDArray[Any]
    names: pd.Index

    @classmethod
    def of(cls, log: FailureLog, origin: str) -> Fleet:
        """All nodes of a log, ages by the last failure or repair; a pool is a system."""
        outages = outages_of(log)
        zero = log.window.start.as_unit("ns").value

        def in_hours(nanoseconds: IntArray) -> FloatArray:
            return (nanoseconds - zero) / NANOSECONDS_PER_HOUR

        starts, ends = in_hours(outages.start), in_hours(outages.end)
        entered = in_hours(outages.entered)
        # an outage that was under way when observation began is no failure, so age still counts from the beginning
        renewals = ends if origin == "repair" else np.where(outages.start_cut, entered[outages.code], starts)
        system = outages.groups.get_level_values(0).to_numpy(dtype=object)
        systems, pool = np.unique(system.astype(str), return_inverse=True)
        order = np.argsort(pool, kind="stable")
        return cls(
            starts, ends, renewals,
            outages.offsets,
            entered, in_hours(outages.left), order.astype(np.int64),
            np.concatenate([[0], np.cumsum(np.bincount(pool, minlength=systems.size))]).astype(np.int64),
            systems, outages.groups,
        )  # fmt: skip


@dataclass(frozen=True)
class Placed:
    """Jobs at their instants: nodes in the order drawn, ages, hours to each node's next failure, how many were up."""

    at: FloatArray
    pool: IntArray
    chosen: npt.NDArray[np.int32]
    age: FloatArray
    failure: FloatArray
    count: IntArray


def place(
    fleet: Fleet, jobs: int, since: float, until: float, sizes: IntArray, longest: float, rng: np.random.Generator
) -> Placed:
    """Jobs at random instants on random nodes that are up, of systems with room for the largest."""
    at = np.sort(rng.uniform(since, until - longest, jobs))
    # only systems that are large enough for the largest job, so that sizes are compared on equal terms
    room = np.diff(fleet.pool_offsets).astype(np.float64)
    room[room < sizes.max()] = 0.0
    pool = rng.choice(room.size, jobs, p=room / room.sum())
    seeds = rng.integers(0, 2**63, jobs, dtype=np.int64).astype(np.uint64)
    shape = (jobs, int(sizes.max()))
    chosen, age, failure = np.full(shape, -1, np.int32), np.full(shape, np.nan), np.full(shape, np.nan)
    count = np.zeros(jobs, dtype=np.int64)
    _place_jobs(
        at, pool, seeds, fleet.members, fleet.pool_offsets, fleet.starts, fleet.ends, fleet.renewals, fleet.offsets,
        fleet.entered, fleet.left, longest, chosen, age, failure, count,
    )  # fmt: skip
    return Placed(at, pool, chosen, age, failure, count)


@numba.njit(cache=True, nogil=True)
def _next_random(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The next state and number of SplitMix64 (Steele, Lea and Flood 2014)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@numba.njit(cache=True, nogil=True)
def _place_jobs(
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
    placed: np.ndarray,
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
    placed : int (jobs,), written
        How many nodes were up.
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
        placed[j] = count
