"""Which idle nodes a job gets: RA-Opt, RA, RAS, LJRAS, round robin and ALL; a queue of jobs; how well they are off.

A policy is a function of the nodes' cumulative hazards over the length of the job and of who is idle, so that a
simulator of a cluster can ask it at any moment. The policies are those of reliability-aware allocation, chapters 5 and
6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.jobs._best_size import ra_opt
from relfit.jobs.completion import CompletionTime, Job, check_names, completion_time
from relfit.system.components import duration_array
from relfit.system.hazards import node_cumulative_hazards

if TYPE_CHECKING:
    import pandas as pd

    from relfit.system.system import System

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

FloatArray = npt.NDArray[np.float64]
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
    spent, free = _checked(hazards, idle, size)
    places = np.flatnonzero(free)
    if places.size < size:
        return None
    return np.sort(places[np.argsort(spent[places], kind="stable")[:size]])


def pick_window(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int, *, reliable: bool = True) -> IntArray | None:
    """RAS: the `size` adjacent idle nodes with the highest reliability together; None where no so many are adjacent.

    Adjacent are nodes of consecutive positions. Ties go to the lower positions. With ``reliable=False`` the window of
    the lowest reliability, which LJRAS gives to short jobs.

    Examples
    --------
    >>> pick_window([0.3, 0.1, 0.2, 0.1, 0.1], [True, True, True, False, True], 2).tolist()
    [1, 2]
    """
    spent, free = _checked(hazards, idle, size)
    if size > spent.size:
        return None
    busy = np.concatenate([[0], np.cumsum(~free)])
    begins = np.flatnonzero(busy[size:] == busy[:-size])
    if not begins.size:
        return None
    before = np.concatenate([[0.0], np.cumsum(np.where(free, np.minimum(spent, 1e300), 0.0))])
    total = before[begins + size] - before[begins]
    total = total if reliable else -total
    close = total <= total.min() + 1e-13 * before[-1]  # equal but for the rounding of the running sum
    place = int(np.argmax(close))
    return np.arange(begins[place], begins[place] + size)


def pick_by_length(
    hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int, length: Any, *, long_job: Any = LONG_JOB
) -> IntArray | None:
    """LJRAS: the most reliable adjacent idle nodes for jobs longer than a day, the least reliable ones for others.

    Examples
    --------
    >>> pick_by_length([0.3, 0.1, 0.2], [True] * 3, 1, "30h"), pick_by_length([0.3, 0.1, 0.2], [True] * 3, 1, "2h")
    (array([1]), array([0]))
    """
    longer = float(duration_array(length)) > float(duration_array(long_job))
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
    first = int(np.searchsorted(places, after, side="right"))
    return np.asarray(np.roll(places, -first)[:size])


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
    spent, free = np.asarray(hazards, dtype=np.float64), np.asarray(idle, dtype=bool)
    if spent.ndim != 1 or spent.shape != free.shape:
        raise ArgumentError(
            f"hazards of shape {spent.shape} and idle of shape {free.shape}", remedy="one for each node"
        )
    bad = np.flatnonzero(np.isnan(spent))
    if bad.size:
        raise ArgumentError(f"the hazard of node {bad[0]} is missing", remedy="leave the node out, as not idle")
    if size < 1 or int(size) != size:
        raise ArgumentError(f"a job of {size} nodes", remedy="give one node or more")
    return spent, free


# ------------------------------------------------------------------ many jobs


@dataclass(frozen=True, eq=False)
class Allocation:
    """Which nodes the jobs of a queue get, and how they are off there.

    Attributes
    ----------
    system : System
    jobs : tuple of Job
    policy : str
    positions : tuple
        For each job the positions of its nodes, None for one that waits.
    completions : tuple
        For each job its `CompletionTime`, or None.
    deadline : float or None
        Hours.
    """

    system: System
    jobs: tuple[Job, ...]
    policy: str
    positions: tuple[IntArray | None, ...]
    completions: tuple[CompletionTime | None, ...]
    deadline: float | None = None

    @property
    def idle(self) -> BoolArray:
        """Nodes that no job of the queue got."""
        free = np.ones(self.system.n_nodes, dtype=bool)
        for nodes in self.positions:
            if nodes is not None:
                free[nodes] = False
        return free

    def to_frame(self) -> pd.DataFrame:
        """A row a job: job, nodes, length, expected (hours), success, lost, waits, and in_time with a deadline."""
        import pandas as pd

        rows = []
        for number, (job, nodes, done) in enumerate(zip(self.jobs, self.positions, self.completions, strict=True)):
            row: dict[str, Any] = {"job": job.name if job.name is not None else number}
            missing = done is None or nodes is None
            row["nodes"] = 0 if nodes is None else nodes.size
            row["length"] = np.nan if done is None else done.length
            row["expected"] = np.nan if done is None else done.expected
            row["success"] = np.nan if done is None else done.success
            row["wasted"] = np.nan if done is None else done.expected - done.least
            row["waits"] = missing
            if self.deadline is not None:
                row["in_time"] = np.nan if done is None else float(done.finish_probability(self.deadline))
            rows.append(row)
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        rows = self.to_frame().astype(object)
        table = rows.map(lambda v: None if isinstance(v, float) and not np.isfinite(v) else v).to_dict("records")
        for row, nodes in zip(table, self.positions, strict=True):
            row["positions"] = None if nodes is None else nodes.tolist()
        return {"policy": self.policy, "deadline": self.deadline, "jobs": table, "sentence": self.sentence}

    @property
    def sentence(self) -> str:
        """How many jobs run, and what they lose, in a sentence."""
        done = [one for one in self.completions if one is not None]
        text = f"{self.policy}: {len(done)} of {len(self.jobs)} jobs get nodes"
        if done:
            whole = sum(one.expected for one in done)
            waste = sum(one.expected - one.least for one in done)
            if np.isfinite(whole):
                text += f", with {whole / len(done):.4g} h expected in the mean, {waste / len(done):.4g} h of them lost"
            else:
                text += ", and at least one of them will not finish"
        return text + "."

    def __repr__(self) -> str:
        return f"Allocation: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.to_frame().head(20).to_html(index=False, escape=True)}"


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
    """Give the idle nodes of a system to the jobs of a queue, one after the other.

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
        goes round the positions; ALL takes every node. A function gets ``(system, job, idle)`` and gives positions or
        None.
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
    for number, job in enumerate(queue):
        if not isinstance(job, Job):
            raise ArgumentError(f"job {number} is {type(job).__name__}", remedy="make it with Job(work, speedup, ...)")
    if not callable(policy) and policy not in POLICIES:
        raise ArgumentError(
            f"policy={policy!r} is not known", remedy=f"use one of {', '.join(POLICIES)}, or a function"
        )
    check_names(convention, "same")
    free = np.ones(system.n_nodes, dtype=bool) if idle is None else np.array(idle, dtype=bool)
    if free.shape != (system.n_nodes,):
        raise ArgumentError(f"idle has shape {free.shape}", remedy=f"give one for each of {system.n_nodes} nodes")
    limit = None if deadline is None else float(duration_array(deadline))
    places: list[IntArray | None] = []
    ends: list[CompletionTime | None] = []
    waiting = False
    for number, job in enumerate(queue):
        chosen = None
        if free.any() and not (waiting and strict):
            if callable(policy):
                chosen = _taken(policy(system, job, free.copy()), free)
            else:
                chosen = _pick(system, job, number, policy, free, after, convention, long_job)
        if chosen is None:
            waiting = True
            places.append(None)
            ends.append(None)
            continue
        if policy == "rr":
            after = int(chosen[-1])
        free[chosen] = False
        places.append(chosen)
        ends.append(completion_time(system.take(chosen), job, convention=convention))
    called = policy if isinstance(policy, str) else getattr(policy, "__name__", "own policy")
    return Allocation(system, queue, called, tuple(places), tuple(ends), limit)


def _pick(
    system: System, job: Job, number: int, policy: str, free: BoolArray, after: int, convention: str, long_job: Any
) -> IntArray | None:
    if policy == "all":
        return pick_all(free)
    if policy == "ra_opt":
        places = np.flatnonzero(free)
        most = places.size if job.nodes is None else min(job.nodes, places.size)
        found = ra_opt(system.take(places), job, k_max=most, convention=convention)
        return np.sort(places[found.positions])
    if job.nodes is None:
        name = f"job {number}" if job.name is None else f"job {job.name!r}"
        raise ArgumentError(f"{name} does not say how many nodes it needs", remedy="give Job(..., nodes=k), or ra_opt")
    if policy == "rr":
        return pick_round_robin(free, job.nodes, after)
    length = float(job.time([job.nodes])[0])
    spent = node_cumulative_hazards(system.components, system.ages, np.array([length]))[:, 0]
    if policy == "ra":
        return most_reliable(spent, free, job.nodes)
    if policy == "ras":
        return pick_window(spent, free, job.nodes)
    return pick_by_length(spent, free, job.nodes, length, long_job=long_job)


def _taken(chosen: Any, free: BoolArray) -> IntArray | None:
    """Positions that a function of the user's gave, checked."""
    if chosen is None:
        return None
    places = np.asarray(chosen)
    if places.ndim != 1 or not places.size or places.dtype.kind not in "iu" or np.unique(places).size < places.size:
        raise ArgumentError("the policy gave no list of positions", remedy="give each position once, or None to wait")
    if places.min() < 0 or places.max() >= free.size or not free[places].all():
        raise ArgumentError("the policy gave a node that is not idle", remedy="choose among idle nodes")
    return places.astype(np.int64)
