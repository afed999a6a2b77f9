"""`simulate_batch`: a workload, a machine, a scheduler and failures in, a `BatchRun` out; and `resume_batch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arguments import random_stream
from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.text import count, duration
from relfit.base.writing import check_writable
from relfit.io.workloads import Workload
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.batch_driver import Drive, Progress, Simulation, drive
from relfit.simulation.batch.batch_results import STATUS, BatchRun
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
from relfit.simulation.batch.calibrated_failures import CalibratedFailures
from relfit.simulation.batch.failure_processes import Failures, Table
from relfit.simulation.batch.failure_source import ClassFailures, PartOfFailures, ReplayedFailures, sources_of
from relfit.simulation.batch.initial_state import first_state, in_classes
from relfit.simulation.batch.simulation_files import described, read_simulation, write_simulation
from relfit.simulation.engine.checked_settings import HOUR
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
        return go_on(in_classes(workload, cluster, own, random_stream(rng)), saving, progress)
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
            raise ReadError(what, path=path, remedy="save to another file, or remove this one to start over")
    return go_on(simulation, saving, progress)


def _named(kind: type, field: str, value: object) -> Any:
    return kind(**{field: value}) if isinstance(value, str) else value


def go_on(simulation: Simulation, saving: Saving | None, progress: Progress | None = None) -> BatchRun:
    """Simulate to the end, or until it is stopped."""
    if saving is not None:
        check_writable(saving.path)
        simulation.of = simulation.of if saving.of is None else saving.of
        described(simulation)  # raise now, not after hours, if it cannot be written
        for run in simulation.parts:
            run.next_save = max(float(run.engine.state["now"][0]), run.start) + saving.seconds("every_simulated")
    complete = drive(simulation, write_simulation, saving, progress)
    runs = [_result(run, complete) for run in simulation.parts]
    engine, sizes = simulation.parts[0].engine, simulation.classes
    if sizes is not None and engine.class_of.size:
        names = np.array(list(sizes), dtype=object)
        classes = np.array(["+".join(names[row > 0]) for row in engine.needs], dtype=object)
        jobs = runs[0].jobs.assign(node_class=classes)
        return replace(runs[0], jobs=jobs, settings={"classes": sizes, **runs[0].settings})
    return runs[0] if sizes is None else _joined(runs, simulation.rows, sizes)


def _result(run: Drive, complete: bool) -> BatchRun:
    jobs, state = run.engine.jobs, run.engine.state[0]
    status = np.ascontiguousarray(jobs["status"])
    ended = (status == es.DONE) | (status == es.OVER_WALLTIME)
    started = ended | (status == es.RUNNING)
    columns = {
        "job_id": run.job_id,
        "submission_time": jobs["submit"],
        "starting_time": np.where(started, jobs["start"], np.nan),
        "finish_time": np.where(ended, jobs["finish"], np.nan),
        "success": status == es.DONE,
        "nodes": jobs["nodes"],
        "status": np.asarray(STATUS, dtype=object)[status],
        "first_start": jobs["first_start"],
        "kills": jobs["kills"],
        "backfilled": jobs["backfilled"] != 0,
        "waited": np.where(started, jobs["waited"], np.nan),
        "run_time": jobs["work"],
        "requested": run.requested,
        "waste": jobs["lost"],
        "overhead": jobs["overhead"],
        "killed_run_time": jobs["killed_run"],
    }
    # one array per column: pandas would copy them all into one block per type
    table = pd.DataFrame({name: np.array(column) for name, column in columns.items()}, copy=False)
    counts = {
        "failures": state.n_failures,
        "ignored_failures": state.n_ignored,
        "repairs": state.n_repairs,
        "replaced": state.n_replaced,
        "gone": state.n_gone,
        "kills": state.n_kills,
        "starts": state.n_starts,
        "events": state.n_events,
        "passes": state.n_passes,
        "not_adjacent": state.n_apart,
    }
    counts = {name: int(value) for name, value in counts.items()}
    notes = []
    endless = int(np.isinf(jobs["walltime"]).sum())
    if endless and run.settings["scheduler"] != "fcfs":
        have = count(endless, "job has", "jobs have")
        notes.append(f"{have} no walltime: the scheduler takes this as running indefinitely.")
    if counts["not_adjacent"]:
        notes.append(f"{count(counts['not_adjacent'], 'start')} found no adjacent idle nodes and took others.")
    now = max(float(state.now), run.start)
    notes += filter(None, (replayed_dates(source, run.start, now) for source in run.part.failures))
    log = np.asarray(run.engine.log[: int(state.n_log)]).view(np.ndarray)
    return BatchRun(table, len(run.engine.nodes), run.settings, counts, complete, now, run.seconds, log, tuple(notes))


def _joined(runs: list[BatchRun], rows: list[IntArray], sizes: dict[str, int]) -> BatchRun:
    """The runs of all classes as one; its log in order of time, a start and its nodes together."""
    named = list(zip(sizes, runs, strict=True))
    jobs = pd.concat([run.jobs.assign(node_class=name) for name, run in named], ignore_index=True)
    first = np.cumsum([0, *sizes.values()])
    log = np.concatenate([_renumbered(*part) for part in zip(runs, rows, first, strict=False)])
    per_class = {key: {name: run.settings[key] for name, run in named} for key in runs[0].settings if key != "keep"}
    return BatchRun(
        jobs.iloc[np.argsort(np.concatenate(rows))].reset_index(drop=True),
        int(first[-1]),
        {"classes": sizes, "keep": runs[0].settings["keep"], **per_class},
        {key: sum(run.counts[key] for run in runs) for key in runs[0].counts},
        all(run.complete for run in runs),
        max(run.now for run in runs),
        sum(run.elapsed_seconds for run in runs),
        log[np.argsort(log["time"], kind="stable")],
        tuple(f"{name}: {note}" for name, run in named for note in run.notes),
    )


def _renumbered(run: BatchRun, rows: IntArray, first: int) -> Table:
    """The log of a class with the numbers that its jobs and nodes have in the machine."""
    log = run.log.copy()
    has_job, has_node = log["job"] >= 0, log["node"] >= 0
    log["job"][has_job] = rows[log["job"][has_job]]
    log["node"][has_node] += first
    return log


def replayed_dates(failures: Failures, start: float, end: float) -> str:
    """What the failures of a run are: dates of a log between two seconds of its clock, a list that ends early, or
    calibrated parameters.
    """
    if isinstance(failures, (PartOfFailures, ClassFailures)):
        return replayed_dates(failures.machine if isinstance(failures, PartOfFailures) else failures.source, start, end)
    if isinstance(failures, CalibratedFailures) and failures.parameters.at:
        return f"Failures by the {failures.parameters.title}."
    if not isinstance(failures, ReplayedFailures):
        return ""
    if failures.dates is None:
        moments = np.array([start, *failures.time, end]) / HOUR
        gap = moments[-1] - moments[-2]
        if len(moments) == 2 or gap <= np.diff(moments)[:-1].max():
            return ""
        return f"The list of failures ends after {duration(moments[-2])}, {duration(gap)} before the run does."
    first, last = (pd.Timestamp(date) for date in failures.dates)
    zero = first if failures.origin is None else pd.Timestamp(failures.origin).tz_convert(first.tz)
    run = [zero + pd.Timedelta(seconds=second) for second in (start, end)]
    begun, ended = (min(max(moment, first), last) for moment in run)
    clock = "whose start is second 0 of the jobs" if zero == first else "by the dates of the jobs"
    text = f"Failures are those of the log from {begun:%Y-%m-%d} to {ended:%Y-%m-%d}, {clock}."
    hour = pd.Timedelta(hours=1)
    before, after = (first - run[0]) / hour, (run[1] - max(last, run[0])) / hour
    parts = [f"begins {duration(before)} before the log"] if before > 0.0 else []
    parts += [f"goes on for {duration(after)} after {'its end' if parts else 'the end of the log'}"] * (after > 0.0)
    return f"{text} The run {' and '.join(parts)}, without its failures." if parts else text
