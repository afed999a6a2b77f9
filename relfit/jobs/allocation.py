"""Which idle nodes a job gets: RA-Opt, RA, RAS, LJRAS, round robin and ALL; a queue of jobs, and what each loses.

A policy is a function of the nodes' cumulative hazards over the length of the job and of who is idle, so that a
simulator of a cluster can ask it at any moment. The policies are those of reliability-aware allocation, chapters 5 and
6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import FloatArray, durations
from relfit.errors import ArgumentError
from relfit.jobs._best_size import ra_opt
from relfit.jobs.completion import CompletionTime, Job, check_names, completion_time
from relfit.results import Result
from relfit.system.first_k import node_cumulative_hazards
from relfit.text import duration

if TYPE_CHECKING:
    from relfit.system import System

__all__ = [
    "POLICIES",
    "Allocation",
    "allocate",
    "most_reliable",
    "pick_all",
    "pick_by_length",
    "pick_round_robin",
    "pick_window",
]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

POLICIES = ("ra_opt", "ra", "ras", "ljras", "rr", "all")
LONG_JOB = 24.0
"""Hours above which LJRAS takes a job for a long one."""


# -------------------------------------------------------------------- choosing


def most_reliable(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int) -> IntArray | None:
    """RA: the `size` most reliable idle nodes, ties by position; None where fewer are idle.

    Parameters
    ----------
    hazards : array_like, shape (n,)
        Cumulative hazard of each node over the length of the job; the reliability is ``exp(-hazard)``.
    idle : array_like of bool, shape (n,)
    size : int

    Examples
    --------
    >>> most_reliable([0.3, 0.1, 0.2, 0.1], [True, True, True, False], 2).tolist()
    [1, 2]
    """
    hazard, free = _checked(hazards, idle, size)
    places = np.flatnonzero(free)
    return None if places.size < size else np.sort(places[np.argsort(hazard[places], kind="stable")[:size]])


def pick_window(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int, *, reliable: bool = True) -> IntArray | None:
    """RAS: the `size` adjacent idle nodes with the highest reliability together; None where no so many are adjacent.

    Adjacent are nodes of consecutive positions. Ties go to the lower positions. With ``reliable=False`` the window of
    the lowest reliability, which LJRAS gives to short jobs.

    Examples
    --------
    >>> pick_window([0.3, 0.1, 0.2, 0.1, 0.1], [True, True, True, False, True], 2).tolist()
    [1, 2]
    """
    hazard, free = _checked(hazards, idle, size)
    if size > hazard.size:
        return None
    busy = np.concatenate([[0], np.cumsum(~free)])
    starts = np.flatnonzero(busy[size:] == busy[:-size])
    if not starts.size:
        return None
    before = np.concatenate([[0.0], np.cumsum(np.where(free, np.minimum(hazard, 1e300), 0.0))])
    total = (before[starts + size] - before[starts]) * (1.0 if reliable else -1.0)
    close = total <= total.min() + 1e-13 * before[-1]  # equal but for the rounding of the running sum
    place = int(np.argmax(close))
    return np.arange(starts[place], starts[place] + size)


def pick_by_length(
    hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int, length: Any, *, long_job: Any = LONG_JOB
) -> IntArray | None:
    """LJRAS: the most reliable adjacent idle nodes for jobs longer than a day, the least reliable ones for others.

    Examples
    --------
    >>> pick_by_length([0.3, 0.1, 0.2], [True] * 3, 1, "30h"), pick_by_length([0.3, 0.1, 0.2], [True] * 3, 1, "2h")
    (array([1]), array([0]))
    """
    longer = bool(durations("length", length) > durations("long_job", long_job))
    return pick_window(hazards, idle, size, reliable=longer)


def pick_round_robin(idle: npt.ArrayLike, size: int, after: int = -1) -> IntArray | None:
    """RR: the next `size` idle nodes by position, from the one after `after` on and around; None where fewer are idle.

    Nodes are in the order in which they are taken; the last is the next call's `after`.

    Examples
    --------
    >>> pick_round_robin([True, False, True, True], 2, after=2).tolist()
    [3, 0]
    """
    free = np.asarray(idle, dtype=bool)
    _checked(np.zeros(free.size), free, size)
    places = np.flatnonzero(free)
    if places.size < size:
        return None
    return np.asarray(np.roll(places, -int(np.searchsorted(places, after, side="right")))[:size])


def pick_all(idle: npt.ArrayLike) -> IntArray | None:
    """ALL: every node, once all are idle; None until then.

    Examples
    --------
    >>> pick_all([True, True]), pick_all([True, False])
    (array([0, 1]), None)
    """
    free = np.asarray(idle, dtype=bool)
    return np.arange(free.size) if free.size and free.all() else None


def _checked(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int) -> tuple[FloatArray, BoolArray]:
    hazard, free = np.asarray(hazards, dtype=np.float64), np.asarray(idle, dtype=bool)
    if hazard.ndim != 1 or hazard.shape != free.shape:
        raise ArgumentError(f"hazards of shape {hazard.shape}, idle of shape {free.shape}", remedy="one for each node")
    bad = np.flatnonzero(np.isnan(hazard))
    if bad.size:
        raise ArgumentError(f"the hazard of node {bad[0]} is missing", remedy="leave the node out, as not idle")
    if size < 1 or int(size) != size:
        raise ArgumentError(f"a job of {size} nodes", remedy="give one node or more")
    return hazard, free


# ------------------------------------------------------------------ many jobs


@dataclass(frozen=True, eq=False, repr=False)
class Allocation(Result):
    """Which nodes the jobs of a queue get, and what they lose there.

    Attributes
    ----------
    n_nodes : int
        Of the system.
    jobs : tuple of Job
    policy : str
    positions : tuple
        For each job the positions of its nodes, None for one that waits.
    completions : tuple
        For each job its `CompletionTime`, or None.
    deadline : float or None
        Hours.
    """

    n_nodes: int
    jobs: tuple[Job, ...]
    policy: str
    positions: tuple[IntArray | None, ...]
    completions: tuple[CompletionTime | None, ...]
    deadline: float | None = None

    _not_in_json: ClassVar[tuple[str, ...]] = ("jobs",)

    @property
    def idle(self) -> BoolArray:
        """Nodes that no job of the queue got."""
        free = np.ones(self.n_nodes, dtype=bool)
        for nodes in self.positions:
            if nodes is not None:
                free[nodes] = False
        return free

    def to_frame(self) -> pd.DataFrame:
        """One row per job: nodes, length, expected, wasted (hours), success, waits, and in_time with a deadline."""
        rows = []
        for i, (job, nodes, done) in enumerate(zip(self.jobs, self.positions, self.completions, strict=True)):
            row: dict[str, Any] = {
                "job": i if job.name is None else job.name,
                "nodes": 0 if nodes is None else nodes.size,
            }
            for name in ("length", "expected", "success"):
                row[name] = np.nan if done is None else getattr(done, name)
            row["wasted"] = np.nan if done is None else done.expected - done.least
            row["waits"] = done is None
            if self.deadline is not None:
                row["in_time"] = np.nan if done is None else float(done.finish_probability(self.deadline))
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def headline(self) -> str:
        """How many jobs run, and what they lose."""
        table = self.to_frame().query("not waits")
        text = f"{self.policy}: {len(table)} of {len(self.jobs)} jobs get nodes"
        if len(table) and np.isfinite(table["expected"]).all():
            text += f", with {duration(float(table['expected'].mean()))} expected on average, "
            text += f"{duration(float(table['wasted'].mean()))} of them lost"
        elif len(table):
            text += ", and at least one of them will not finish"
        return text + "."


def allocate(
    system: System,
    jobs: Sequence[Job] | Job,
    policy: str | Callable[..., IntArray | None] = "ra_opt",
    *,
    idle: npt.ArrayLike | None = None,
    after: int = -1,
    strict: bool = True,
    deadline: Any = None,
    convention: str = "exact",
    long_job: Any = LONG_JOB,
) -> Allocation:
    """Give the idle nodes of a system to the jobs of a queue, in turn.

    Parameters
    ----------
    system : System
        All nodes, and their ages now.
    jobs : sequence of Job
        In the order of the queue. All policies but ``ra_opt`` and ``all`` need `Job.nodes`; for ``ra_opt`` it is the
        largest number of nodes.
    policy : {"ra_opt", "ra", "ras", "ljras", "rr", "all"} or callable
        RA-Opt takes the most reliable idle nodes while the expected completion time does not grow; RA the k most
        reliable; RAS the k adjacent ones; LJRAS these for jobs longer than a day, and the least reliable for others; RR
        goes round the positions; ALL takes every node. A function takes ``(system, job, idle)`` and returns positions
        or None.
    idle : array_like of bool, optional
        Nodes that may be taken; all when left out.
    after : int
        Where round robin goes on: the position taken last.
    strict : bool
        Whether all further jobs wait as soon as one must, as in the papers; otherwise later ones may go before.
    deadline : float or duration, optional
        For the probability to be done in time.
    convention : {"exact", "paper"}
    long_job : float or duration
        From which length on LJRAS takes a job for a long one.

    Returns
    -------
    Allocation

    Raises
    ------
    ArgumentError
        For an unknown policy, or a job that does not say how many nodes it needs.

    Examples
    --------
    >>> from relfit.jobs import Amdahl
    >>> from relfit.system import System
    >>> from relfit.families import Weibull
    >>> system = System(Weibull(0.7, [2000.0, 900.0, 3000.0, 1500.0, 2500.0]))
    >>> queue = [Job("40h", Amdahl(0.9), nodes=2), Job("10h", Amdahl(0.9), nodes=2)]
    >>> [nodes.tolist() for nodes in allocate(system, queue, "ra").positions]
    [[2, 4], [0, 3]]
    """
    queue = (jobs,) if isinstance(jobs, Job) else tuple(jobs)
    for i, job in enumerate(queue):
        if not isinstance(job, Job):
            raise ArgumentError(f"job {i} is {type(job).__name__}", remedy="make it with Job(work, speedup, ...)")
        if policy in ("ra", "ras", "ljras", "rr") and job.nodes is None:
            name = f"job {i}" if job.name is None else f"job {job.name!r}"
            raise ArgumentError(
                f"{name} does not say how many nodes it needs", remedy="give Job(..., nodes=k), or ra_opt"
            )
    if not callable(policy) and policy not in POLICIES:
        raise ArgumentError(
            f"policy={policy!r} is not known", remedy=f"use one of {', '.join(POLICIES)}, or a function"
        )
    check_names(convention, "same")
    free = np.ones(system.n_nodes, dtype=bool) if idle is None else np.array(idle, dtype=bool)
    if free.shape != (system.n_nodes,):
        raise ArgumentError(f"idle has shape {free.shape}", remedy=f"give one for each of {system.n_nodes} nodes")
    limit = None if deadline is None else float(durations("deadline", deadline))
    places: list[IntArray | None] = []
    ends: list[CompletionTime | None] = []
    for job in queue:
        chosen = None
        if free.any() and not (strict and None in ends):
            if callable(policy):
                chosen = _taken(policy(system, job, free.copy()), free)
            else:
                chosen = _pick(system, job, policy, free, after, convention, long_job)
        places.append(chosen)
        ends.append(None if chosen is None else completion_time(system.take(chosen), job, convention=convention))
        if chosen is not None:
            after = int(chosen[-1]) if policy == "rr" else after
            free[chosen] = False
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", "own policy")
    return Allocation(system.n_nodes, queue, name, tuple(places), tuple(ends), limit)


def _pick(
    system: System, job: Job, policy: str, free: BoolArray, after: int, convention: str, long_job: Any
) -> IntArray | None:
    if policy == "all":
        return pick_all(free)
    if policy == "ra_opt":
        places = np.flatnonzero(free)
        most = places.size if job.nodes is None else min(job.nodes, places.size)
        return np.sort(places[ra_opt(system.take(places), job, k_max=most, convention=convention).positions])
    assert job.nodes is not None
    if policy == "rr":
        return pick_round_robin(free, job.nodes, after)
    length = float(job.time(job.nodes))
    hazard = node_cumulative_hazards(system.components, system.ages, np.array([length]))[:, 0]
    if policy == "ra":
        return most_reliable(hazard, free, job.nodes)
    if policy == "ras":
        return pick_window(hazard, free, job.nodes)
    return pick_by_length(hazard, free, job.nodes, length, long_job=long_job)


def _taken(chosen: Any, free: BoolArray) -> IntArray | None:
    """Positions that a function of the user's returned, checked."""
    if chosen is None:
        return None
    places = np.asarray(chosen)
    if places.ndim != 1 or not places.size or places.dtype.kind not in "iu" or np.unique(places).size < places.size:
        raise ArgumentError("the policy gave no list of positions", remedy="give each position once, or None to wait")
    if places.min() < 0 or places.max() >= free.size or not free[places].all():
        raise ArgumentError("the policy gave a node that is not idle", remedy="choose among idle nodes")
    return places.astype(np.int64)
