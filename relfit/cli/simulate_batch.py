"""The command ``relfit simulate batch``: read the configuration, simulate, show."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import relfit as rf
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import Steps
from relfit.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from relfit.batch import BatchRun, BatchRuns

__all__ = ["batch"]

_CLASSES = ("jobs", "mean_wait", "mean_slowdown", "goodput_node_hours", "%MWT", "AWT")


def batch(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Machine, scheduler, failures and jobs: a .toml.")],
    to: opt.Output,
    jobs_out: Annotated[Path | None, opt.option("FILE", "Write a row per job (.csv, .parquet, .json).")] = None,
    failures: Annotated[
        Path | None, opt.option("FILE", "Replay these failures: a CSV with time, node, repair_seconds.")
    ] = None,
    workload: Annotated[Path | None, opt.option("FILE", "List of jobs; that of CONFIG when left out.")] = None,
    runs: Annotated[int | None, opt.option("N", "Simulate so many times, with other failures each.", min=2)] = None,
    resume: Annotated[Path | None, opt.option("FILE", "Go on with a simulation that saved itself.")] = None,
    seed: Annotated[int | None, opt.option("N", "Seed of the failures; that of CONFIG when left out.", min=0)] = None,
) -> None:
    """A queue of jobs on nodes that fail.

    --out writes the measures per class of jobs, or all tables to a folder.
    """
    output.check_output(to)
    output.check_destination(jobs_out)
    if runs is not None and (jobs_out is not None or resume is not None or to.plot is not None):
        raise ArgumentError("--runs goes with neither --jobs-out, --resume nor --plot", remedy="leave it out")
    with Steps("reading", "simulating") as steps:
        settings = rf.batch.read_batch_config(config)
        nodes, given = settings.nodes, settings.settings()
        if failures is not None:
            given["failures"] = [rf.batch.read_failures(failures)]
            given["each"] = {name: {**own, "failures": ()} for name, own in given.get("each", {}).items()}
        if seed is not None:
            given["rng"] = seed
        if to.plot is not None:
            given["keep"] = "nodes"
        jobs = settings.read_jobs(workload) if resume is None else None
        saving = given.pop("saving")
        if not isinstance(nodes, dict):
            given.pop("each", None)
        steps.next()
        if jobs is None:
            run = rf.resume_batch(resume, saving)
        elif runs is not None:
            given.pop("keep")
            _show_runs(rf.batch.simulate_batches(jobs, nodes, n_runs=runs, **given), to)
            return
        elif isinstance(nodes, dict):
            run = rf.batch.simulate_classes(jobs, nodes, saving=saving, **given)
        else:
            run = rf.simulate_batch(jobs, nodes, saving=saving, **given)
    if jobs_out is not None:
        output.write_table(run.jobs[list(rf.batch.JOB_COLUMNS)], jobs_out)
    _show(run, to, [] if jobs is None else list(jobs.findings[1:]), jobs_out)


def _show(run: BatchRun, to: opt.Output, notes: list[str], jobs_out: Path | None) -> None:
    kinds = ["length", "width", *(["node_class"] if "node_class" in run.jobs else [])]
    tables = {f"by_{by}": run.by_class(by).reset_index() for by in kinds}
    pictures = [("states", partial(rf.plot, run))]
    written = output.write_results(to, {**tables, "jobs": run.jobs}, "by_length", pictures)
    if to.json:
        output.print_json({**run.to_dict(), "workload": notes})
        return
    lines = [*run.findings, *notes, "", *output.table(_measures(run.summary))]
    for by in kinds[::2]:
        lines += ["", *output.table(tables[f"by_{by}"][[by, *_CLASSES]])]
    if jobs_out is not None:
        written.append(f"jobs written to {jobs_out}")
    output.print_lines([*lines, *written])


def _measures(summary: dict[str, float]) -> pd.DataFrame:
    """The summary as a table."""
    import pandas as pd

    return pd.DataFrame({"measure": [name.replace("_", " ") for name in summary], "value": list(summary.values())})


def _show_runs(runs: BatchRuns, to: opt.Output) -> None:
    written = output.write_results(to, {"means": runs.to_frame(), "runs": runs.runs}, "means", [])
    if to.json:
        output.print_json(runs.to_dict())
        return
    output.print_lines([*runs.findings, "", *output.table(runs.to_frame()), *written])
