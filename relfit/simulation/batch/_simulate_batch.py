"""`simulate_batch`: a workload, a machine, a scheduler and failures in, a `BatchRun` out; and `resume_batch`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relfit.base.errors import ArgumentError, ReadError
from relfit.io.workloads import Workload
from relfit.simulation.batch.batch_driver import Progress, Simulation
from relfit.simulation.batch.batch_results import BatchRun
from relfit.simulation.batch.batch_settings import (
    Allocation,
    BatchCluster,
    CheckpointShares,
    NodeClass,
    Part,
    Reservation,
    Saving,
    Scheduler,
)
from relfit.simulation.batch.failure_processes import Failures
from relfit.simulation.batch.failure_source import sources_of
from relfit.simulation.batch.initial_state import first_state
from relfit.simulation.batch.run_results import go_on
from relfit.simulation.batch.several_classes import in_classes
from relfit.simulation.batch.simulation_files import read_simulation
from relfit.system.jobs import Checkpoint


def simulate_batch(
    workload: Workload,
    cluster: int | BatchCluster | Sequence[NodeClass] | None = None,
    scheduler: str | Scheduler = "easy",
    *,
    failures: Failures | Sequence[Failures] = (),
    allocation: str | Allocation = "first_fit",
    checkpoint: Checkpoint | CheckpointShares | None = None,
    reservations: Sequence[Reservation] = (),
    until: object = None,
    keep: str = "jobs",
    saving: Saving | None = None,
    progress: Progress | None = None,
    rng: int | np.random.Generator | None = 0,
) -> BatchRun:
    """Simulate a batch system.

    Order of events at one instant: jobs end, nodes return, failures strike, jobs join the queue, the scheduler decides.

    Parameters
    ----------
    workload : Workload
        Jobs wider than the machine are rejected and counted.
    cluster : int, BatchCluster or sequence of NodeClass, optional
        The machine, or its number of nodes; that of the workload by default. Each class of nodes has its own queue, and
        a job runs only on nodes of its `node_class`. The clock of a class runs from its first job to the end of its
        last; the nodes of the first class come first in the result. Where a job takes nodes of
        several classes, as ``"cpu:2+gpu:4"``, all classes are one machine with one queue.
    scheduler : str or Scheduler
        ``"easy"``, ``"fcfs"``, ``"conservative"``, or a `Scheduler` with options.
    failures : Failures or sequence of them
        `SystemFailures`, `NodeFailures`, `GroupFailures`, `ReplayedFailures`, `CalibratedFailures`; none by default. A
        failure of a node that is down is ignored. Failures of a log strike by the calendar where the jobs have dates
        within it; else the log starts at second 0. A note says which. With classes of nodes, failures strike all
        classes at one instant; nodes are numbered over the classes in their order.
    allocation : str or Allocation
        Which idle nodes a job gets: the name of a policy, or an `Allocation` with options.
    checkpoint : Checkpoint or CheckpointShares, optional
        Checkpoints of the jobs; none by default. Without ``every``, the interval is ``sqrt(2 save M) - save`` with M
        the MTBF of the nodes of the job (needs ``BatchCluster(mtbf=...)``, or failures with an MTBF).
    reservations : sequence of Reservation
        Planned maintenance: no job starts whose walltime overlaps it on these nodes.
    until : duration, optional
        End of the simulation, on the clock of the workload; hours, or text such as ``"30 days"``. By default the end
        of the last job.
    keep : {"jobs", "attempts", "nodes"}
        What to store: jobs alone, also all attempts and outages, or also the nodes of each attempt.
    saving : Saving, optional
        When and where the simulation stores its state, for `resume_batch`. Classes are simulated in turn: intervals of
        simulated time are those of the current class.
    progress : callable, optional
        Called regularly with a text on the progress and the share of the jobs that have ended.
    rng : int or numpy.random.Generator
        Failures of the machine and of each class have their own random streams.

    Returns
    -------
    BatchRun
        Jobs in the order of the workload; times in seconds.

    Raises
    ------
    ArgumentError
        For unknown names and incompatible settings.
    DataError
        When jobs wait for more nodes than are ever up at once, or failures hardly let a job end.

    Notes
    -----
    The first call of an installation compiles the simulator, which takes some ten seconds. Allocation policies and
    planned starts are compiled on first use.

    References
    ----------
    Mu'alem and Feitelson (2001); "Exploring the Trade-off Between Repair Time and Reliability in Large Scale Cluster
    Computers", Algorithms 1, 2 and 3.

    Examples
    --------
    >>> from relfit.simulation.batch import NodeClass, Scheduler
    >>> from relfit.io.workloads import Workload
    >>> jobs = Workload([1, 2, 3, 4], [0, 1, 2, 3], [3, 4, 1, 1], [10, 10, 8, 20], [10, 10, 8, 20], 4)
    >>> run = simulate_batch(jobs)
    >>> run.jobs["starting_time"].tolist(), run.jobs["backfilled"].tolist()
    ([0.0, 10.0, 2.0, 20.0], [False, False, True, False])
    >>> simulate_batch(jobs, 8, Scheduler(name="fcfs", requeue="tail")).jobs["starting_time"].tolist()
    [0.0, 1.0, 2.0, 10.0]
    >>> jobs = Workload([1, 2, 3], [0, 0, 5], [2, 2, 2], [60, 30, 10], node_class=["cpu", "gpu", "gpu"])
    >>> run = simulate_batch(jobs, [NodeClass(name="cpu", nodes=2), NodeClass(name="gpu", nodes=2)], "fcfs")
    >>> run.jobs["starting_time"].tolist(), run.by_class("node_class")["mean_wait"].round(1).tolist()
    ([0.0, 0.0, 30.0], [0.0, 12.5, 8.3])
    """
    if not isinstance(workload, Workload):
        what = f"jobs are a Workload, not a {type(workload).__name__}"
        raise ArgumentError(what, remedy="read a file with rf.read_workload, or give arrays to rf.workloads.Workload")
    own = Part(
        cluster=BatchCluster(),
        scheduler=_named(Scheduler, "name", scheduler),
        failures=sources_of(failures, workload),
        keep=keep,
        allocation=_named(Allocation, "policy", allocation),
        checkpoint=checkpoint,
        reservations=tuple(reservations),
        until=until,
    )
    if isinstance(cluster, Sequence):
        return go_on(in_classes(workload, cluster, own, np.random.default_rng(rng)), saving, progress)
    machine = cluster if isinstance(cluster, BatchCluster) else BatchCluster(nodes=cluster)
    return go_on(Simulation([first_state(workload, own._replace(cluster=machine), rng)]), saving, progress)


def resume_batch(path: str | Path, saving: Saving | None = None, progress: Progress | None = None) -> BatchRun:
    """Resume a simulation from the file in which it stored its state; the result is that of an uninterrupted run.

    Parameters
    ----------
    path : str or Path
        A file written by `simulate_batch` or `resume_batch` with `saving`.
    saving : Saving, optional
        When and where to store the state again.
    progress : callable, optional
        As for `simulate_batch`.

    Returns
    -------
    BatchRun

    Raises
    ------
    ReadError
        For a file of another version of the format, one that is damaged, or one of another simulation than
        ``saving.of`` describes.
    """
    simulation = read_simulation(path)
    if saving is not None and saving.of is not None and simulation.of is not None:
        names = dict.fromkeys([*saving.of, *simulation.of])
        if differ := [name for name in names if saving.of.get(name) != simulation.of.get(name)]:
            what = f"is of another simulation: {', '.join(differ)} differ{'s' if len(differ) == 1 else ''}"
            raise ReadError(what, path=path, remedy="save to another file, or remove this one to begin anew")
    return go_on(simulation, saving, progress)


def _named(kind: type, field: str, value: object) -> Any:
    return kind(**{field: value}) if isinstance(value, str) else value
