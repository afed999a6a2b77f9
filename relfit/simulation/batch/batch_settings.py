"""The settings of `relfit.simulate_batch`, by which its configuration files are checked, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from pydantic import AliasChoices, Field

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError
from relfit.simulation.batch.engine_state import IDLE, NO, YES, Engine
from relfit.simulation.batch.failure_processes import Failures
from relfit.simulation.batch.job_events import duration, start_on
from relfit.simulation.batch.node_choice import choose, schedule_chosen
from relfit.simulation.batch.own_policies import checked_job, checked_nodes
from relfit.simulation.batch.planned_starts import plan_pass
from relfit.simulation.batch.queue_order import next_job, schedule_in_classes
from relfit.simulation.batch.reliability import EstimatedReliability
from relfit.simulation.batch.waiting_queue import waiting_jobs
from relfit.simulation.engine.checked_settings import Settings, Time, in_seconds
from relfit.system.jobs import Amdahl, Checkpoint, Gustafson


class BatchCluster(Settings):
    """The machine.

    Parameters
    ----------
    nodes : int, optional
        Number of nodes; by default that of the workload.
    nodes_per_rack : int, optional
        Nodes in a rack, of consecutive numbers.
    racks : array_like, shape (nodes,), optional
        The rack of each node, in place of `nodes_per_rack`.
    mtbf : duration, optional
        Mean time between failures of the machine, for checkpoint intervals; by default that of the failures.
    """

    nodes: int | None = Field(None, ge=1)
    nodes_per_rack: int | None = Field(None, ge=1)
    racks: Any = None
    mtbf: Time | None = None


class Scheduler(Settings):
    """Which waiting jobs start when. For a policy of your own derive a class with its own `next_job`.

    Parameters
    ----------
    name : {"easy", "fcfs", "conservative"}
        EASY backfilling reserves nodes for the first waiting job, conservative backfilling for every job; ``"fcfs"``
        starts jobs in the order of the queue.
    fixed_nodes : bool
        Reserve particular nodes, chosen when a job is planned, as in the original EASY (Algorithm 1) and in BatSim's
        conservative backfilling; by default only their number.
    requeue : {"submit", "head", "tail"}
        Place of a killed job in the queue: by its first submission, at the head, or by the time it was killed.
    offer_freed_first : bool
        Offer the nodes of a killed job to the queue before that job is in it again, as BatSim does.
    reject_after_repairs : int, optional
        A job that needs more nodes than are up is passed over; reject it after this many repairs of nodes. Never by
        default.
    walltimes : {"requested", "true"}
        What the scheduler plans with and kills at: the requested walltime, or the job's actual run time.
    """

    name: Literal["easy", "fcfs", "conservative"] = "easy"
    fixed_nodes: bool = False
    requeue: Literal["submit", "head", "tail"] = "submit"
    offer_freed_first: bool = True
    reject_after_repairs: int | None = Field(None, ge=1)
    walltimes: Literal["requested", "true"] = "requested"

    next_job: ClassVar[Any] = staticmethod(next_job)
    """``next_job(engine, now)``: number of the waiting job that starts now on nodes that are idle; -1 if none.

    An `ArgumentError` for a job that does not wait, or needs more nodes than are idle.
    """

    @property
    def is_own(self) -> bool:
        """Whether this is a class on `Scheduler` that decides by itself."""
        return type(self).next_job is not Scheduler.next_job

    def decide(self, engine: Engine, now: float, allocation: Allocation, planned: bool) -> None:
        """Start all jobs that start now."""
        if engine.class_of.size:
            schedule_in_classes(engine, now)
            return
        if planned:
            plan_pass(engine, now, self.name != "fcfs", self.name == "conservative")
            return
        if not self.is_own and not allocation.is_own:
            schedule_chosen(engine, now)
            return
        while True:
            job = self.next_job(engine, now)
            if self.is_own:
                job = checked_job(engine, self, job)
            if job < 0:
                return
            if self.is_own:
                engine.jobs["backfilled"][job] = NO if job == waiting_jobs(engine)[0] else YES
            idle = np.flatnonzero(engine.owner == IDLE)
            nodes = allocation.choose(engine, job, idle, now, duration(engine, job))
            if allocation.is_own:
                nodes = checked_nodes(engine, allocation, job, nodes)
            if not nodes.size:
                return
            start_on(engine, job, now, nodes)


class Allocation(Settings):
    """Which idle nodes a job gets. For a policy of your own derive a class with its own `choose`.

    Parameters
    ----------
    policy : {"first_fit", "round_robin", "ras", "ljras", "ra", "all", "ra_opt", "rack"}
        `first_fit`: the lowest numbers; `round_robin`: the next after those given last; `ras`: the adjacent nodes
        most likely to survive the job; `ljras`: those for jobs above a day, the least reliable for others; `ra`: the
        most reliable, adjacent or not; `rack`: one rack where possible. `all` and `ra_opt` also set the size of jobs,
        and need a speedup and FCFS; the workload's run times are then those on one node.
    reliability : Distribution or EstimatedReliability, optional
        Times to failure of the nodes as the policy assumes them; by default the true ones, exponential or Weibull.
    estimate : {"weibull", "exponential"}, optional
        The same as ``EstimatedReliability(family=estimate, every=every)``.
    every : duration
        Time between two estimates.
    speedup : Amdahl or Gustafson, optional
        Run times become those on the nodes that a job gets.
    amdahl, gustafson : float, optional
        The same as ``Amdahl(amdahl)`` and ``Gustafson(gustafson)``.
    """

    policy: Literal["first_fit", "round_robin", "ras", "ljras", "ra", "all", "ra_opt", "rack"] = "first_fit"
    reliability: Any = None
    estimate: Literal["weibull", "exponential"] | None = None
    every: Time = "1000min"
    speedup: Any = None
    amdahl: float | None = Field(None, ge=0, le=1)
    gustafson: float | None = Field(None, ge=0, le=1)

    choose: ClassVar[Any] = staticmethod(choose)
    """``choose(engine, job, idle, now, length)``: nodes for a job that will run `length` seconds; empty: it waits.

    `idle` are the numbers of all idle nodes in order; there are enough. As many as the job needs are returned, by
    `all` and `ra_opt` any number. An `ArgumentError` for others, for nodes that are not idle, or one twice.
    """

    @property
    def is_own(self) -> bool:
        """Whether this is a class on `Allocation` that chooses by itself."""
        return type(self).choose is not Allocation.choose

    @property
    def code(self) -> int:
        """Of the policy in compiled code."""
        return get_args(type(self).model_fields["policy"].annotation).index(self.policy)

    @property
    def moldable(self) -> bool:
        """Whether the policy sets the size of jobs."""
        return self.policy in ("all", "ra_opt")

    @property
    def law(self) -> Amdahl | Gustafson | None:
        """The speedup."""
        if self.amdahl is not None:
            return Amdahl(self.amdahl)
        return Gustafson(self.gustafson) if self.gustafson is not None else self.speedup

    @property
    def judgement(self) -> Any:
        """The reliability of nodes as the policy takes it."""
        return EstimatedReliability(family=self.estimate, every=self.every) if self.estimate else self.reliability


class CheckpointShares(Settings):
    """Checkpoints that cost shares of each job's run time, in whole seconds rounded up, as BatSim has them.

    Parameters
    ----------
    save, restore : float
        Cost of a checkpoint and of a restore; 0.03 is 3 % of the run time.
    every : duration, optional
        Work between two checkpoints; by default each job's own, as in `relfit.simulate_batch`.
    """

    save: float = Field(gt=0, lt=1)
    restore: float = Field(0.0, ge=0, lt=1)
    every: Time | None = None


class Reservation(Settings):
    """Nodes that no job may hold for a time.

    Parameters
    ----------
    start, end : duration
        On the clock of the workload; numbers are hours.
    nodes : str or sequence of int, optional
        Numbers from 0, as ``"0-99 200"``; by default all nodes.
    announced : duration, optional
        When the scheduler learns of it; by default it always knows.

    Examples
    --------
    >>> Reservation("24h", "32h", "0-2 5").numbers(8).tolist()
    [0, 1, 2, 5]
    """

    start: Time
    end: Time
    nodes: Any = None
    announced: Time | None = None

    def __init__(self, /, start: object, end: object, nodes: object = None, announced: object = None) -> None:
        super().__init__(start=start, end=end, nodes=nodes, announced=announced)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def numbers(self, n_nodes: int) -> IntArray:
        """The nodes, in order; an `ArgumentError` where it names none, one that does not exist, or one twice."""
        if self.nodes is None:
            return np.arange(n_nodes)
        numbers = np.array(_numbers(self.nodes), dtype=np.int64)
        if not numbers.size or numbers.min() < 0 or numbers.max() >= n_nodes:
            raise ArgumentError(f"a reservation of nodes {self.nodes}", remedy=f"there are nodes 0 to {n_nodes - 1}")
        values, times = np.unique(numbers, return_counts=True)
        if times.max() > 1:
            raise ArgumentError(f"a reservation names node {values[times > 1][0]} twice", remedy="name it once")
        return values


def _numbers(nodes: str | Iterable[int]) -> list[int]:
    """Numbers of nodes, or of those in text such as ``"0-99 200"``."""
    if not isinstance(nodes, str):
        return [int(node) for node in nodes]
    numbers: list[int] = []
    for item in nodes.replace(",", " ").split():
        first, _, last = item.partition("-")
        if not (first.isdigit() and (last.isdigit() or not last)):
            raise ArgumentError(f"{item!r} in a reservation names no nodes", remedy="write 0-99 or 7")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


class NodeClass(BatchCluster):
    """Nodes of one kind, with a queue of their own; jobs of this `node_class` run only on them.

    Where a job takes nodes of several classes (`node_class` ``"cpu:2+gpu:4"``) all classes have one queue.

    Parameters
    ----------
    name : str
        The `node_class` of its jobs.
    nodes : int
    nodes_per_rack, racks, mtbf
        As for `BatchCluster`.
    failures : Failures or sequence of them
        In addition to the machine's; nodes are numbered within the class.
    scheduler, allocation, checkpoint, reservations
        As for `relfit.simulate_batch`; by default those of the machine.
    """

    name: str
    nodes: int = Field(ge=1)
    failures: Any = ()
    scheduler: Scheduler | None = None
    allocation: Allocation | None = None
    checkpoint: Checkpoint | CheckpointShares | None = None
    reservations: tuple[Reservation, ...] | None = None


class Part(NamedTuple):
    """The settings of a machine, or of a class of its nodes, as `relfit.simulate_batch` has them."""

    cluster: BatchCluster
    scheduler: Scheduler
    failures: tuple[Failures, ...]
    allocation: Allocation
    checkpoint: Checkpoint | CheckpointShares | None
    reservations: tuple[Reservation, ...]
    until: Any
    keep: str

    @property
    def planned(self) -> bool:
        """Whether starts are planned ahead."""
        own = self.scheduler
        fixed = own.name == "easy" and own.fixed_nodes
        return not own.is_own and (own.name == "conservative" or fixed or len(self.reservations) > 0)


class Saving(Settings):
    """When a simulation stores its state in a file, to be resumed later or elsewhere.

    Parameters
    ----------
    path : str or Path
        The file written when the simulation is stopped; those written at intervals have a number before the ending.
        ``file`` in a configuration.
    every : duration, optional
        Real time between two files; longer where writing them would take more than 1.5 % of it.
    every_simulated : duration, optional
        Simulated time between two files.
    keep : int
        How many numbered files to keep.
    time_limit : duration, optional
        Real time after which the simulation stops.
    of : mapping, optional
        A description of the simulation, as names and values that JSON can hold. It is stored in the file;
        `resume_batch` with another description is an error.
    """

    path: Path = Field(validation_alias=AliasChoices("path", "file"))
    every: Time | None = None
    every_simulated: Time | None = None
    keep: int = Field(2, ge=1)
    time_limit: Time | None = None
    of: Mapping[str, Any] | None = None

    def seconds(self, name: str) -> float:
        """One of the durations in seconds; infinite where it is None."""
        value = getattr(self, name)
        return np.inf if value is None else in_seconds(name, value)

    @property
    def newest(self) -> Path | None:
        """The file written last, at a stop or at an interval; None where there is none."""
        path = self.path
        numbered = re.compile(rf"{re.escape(path.stem)}-\d+{re.escape(path.suffix)}")
        files = [file for file in path.parent.glob("*") if file.name == path.name or numbered.fullmatch(file.name)]
        return max(files, key=lambda file: file.stat().st_mtime_ns, default=None)
