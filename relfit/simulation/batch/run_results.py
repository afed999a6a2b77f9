"""Runs a simulation, from its first event or from its file, and makes the `BatchRun` with its notes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from relfit.base.arrays import IntArray
from relfit.base.text import duration
from relfit.base.writing import check_writable
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.batch_driver import Drive, Progress, Simulation, drive
from relfit.simulation.batch.batch_results import STATUS, BatchRun
from relfit.simulation.batch.batch_settings import Saving
from relfit.simulation.batch.failure_processes import Failures, Table
from relfit.simulation.batch.failure_source import ClassFailures, PartOfFailures, ReplayedFailures
from relfit.simulation.batch.several_classes import class_labels
from relfit.simulation.batch.simulation_files import described, write_simulation


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
        jobs = runs[0].jobs.assign(node_class=class_labels(engine.needs, sizes))
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
        notes.append(f"{endless:,} jobs have no walltime: the scheduler takes them to run indefinitely.")
    if counts["not_adjacent"]:
        notes.append(f"{counts['not_adjacent']:,} starts found no adjacent idle nodes and took others.")
    now = max(float(state.now), run.start)
    notes += filter(None, (replayed_dates(source, run.start, now) for source in run.part.failures))
    log = np.asarray(run.engine.log[: int(state.n_log)]).view(np.ndarray)
    return BatchRun(
        table,
        len(run.engine.nodes),
        run.settings,
        counts,
        complete,
        now,
        run.seconds,
        log,
        tuple(notes),
    )


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
    """The dates whose failures strike a run between two seconds of its clock; "" where they are not of a log.

    Examples
    --------
    >>> import numpy as np
    >>> month = ReplayedFailures(np.ones(1), np.zeros(1), np.ones(1), dates=("2024-01-01T00Z", "2024-01-31T00Z"))
    >>> replayed_dates(month, 0.0, 10 * 86400.0)
    'Failures are those of the log from 2024-01-01 to 2024-01-11, whose start is second 0 of the jobs.'
    >>> print(replayed_dates(replace(month, origin="2023-12-30T00Z"), 0.0, 42 * 86400.0))
    Failures are those of the log from 2024-01-01 to 2024-01-31, by the dates of the jobs. The run begins 48 hours \
before the log and goes on for 10 days after its end, without its failures.
    """
    if isinstance(failures, (PartOfFailures, ClassFailures)):
        return replayed_dates(failures.machine if isinstance(failures, PartOfFailures) else failures.source, start, end)
    if not isinstance(failures, ReplayedFailures) or failures.dates is None:
        return ""
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
