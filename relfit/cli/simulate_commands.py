"""The commands ``relfit simulate batch|training``: read the configuration, simulate, show."""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps
from relfit.cli.stopping import STOPPED, default_signals

if TYPE_CHECKING:
    import pandas as pd

_CLASSES = ("jobs", "mean_wait", "mean_slowdown", "goodput_node_hours", "%MWT", "AWT")
_SECONDS = ("mean_wait", "AWT")  # of them; shown in hours
_NAMES = {
    "total_training_time": "total time (h)",
    "avg_run": "average run (min)",
    "etr": "effective training ratio",
    "total_failures": "server failures",
    "successful_repairs": "repairs that cure",
    "nonfaulty_repairs": "repairs of good servers",
    "failed_repairs": "repairs without cure",
    "standby_swaps": "standbys that took over",
    "interruptions": "stops for other jobs",
}
_CURE = (
    "A repair without cure leaves a bad server bad; a good one was good before it, and works again. A rack failure "
    "stops all servers of a rack and is no server failure; a standby takes over from each of its job's servers."
)
_MORE = "--details shows all outputs; --out FILE writes them."


def batch(
    config: Annotated[Path, opt.argument("CONFIG", "Machine, scheduler, failures and jobs: a .toml.")],
    to: output.Output,
    jobs_out: Path | None = opt.option(
        "FILE", "Write times, success, nodes per job (.csv, .parquet, .json); --out DIR/ has more."
    ),
    failures: Path | None = opt.option("FILE", "Replay these failures: a CSV with time, node, repair_seconds."),
    workload: Path | None = opt.option("FILE", "List of jobs; that of CONFIG by default."),
    runs: int | None = opt.option("N", "Number of runs, each with different failures.", min=1),
    resume: Path | None = opt.option("FILE", "Continue from FILE if it exists, and store the state in it."),
    seed: int | None = opt.option("N", "Random seed of the failures; that of CONFIG by default.", min=0),
) -> None:
    """A queue of jobs on nodes that fail.

    --out writes the measures per class of jobs, or all tables to a folder. A simulation that saves itself at its limit
    or on a signal writes no tables and ends with status 75: run the same command again, with --resume, until it ends
    with 0.
    """
    output.check_destination(jobs_out)
    if runs is not None and (jobs_out is not None or resume is not None or to.plot is not None):
        raise ArgumentError("--runs goes with neither --jobs-out, --resume nor --plot", remedy="leave it out")
    if runs is not None and failures is not None:
        raise ArgumentError("--runs has no effect: every run replays --failures", remedy="leave it out")
    with ProgressSteps("reading", "simulating") as steps:
        settings = rf.batch.read_batch_config(config)
        system = settings.settings()
        if failures is not None:
            system["failures"] = [rf.batch.read_failures(failures)]
            if settings.classes:
                system["cluster"] = [part.model_copy(update={"failures": ()}) for part in system["cluster"]]
        if seed is not None:
            system["rng"] = seed
        if to.plot is not None:
            system["keep"] = "nodes"
        jobs = settings.read_jobs(workload)
        saving: rf.batch.Saving | None = system.pop("saving")
        if resume is not None:  # to the file that it goes on from
            saving = rf.batch.Saving(path=resume) if saving is None else saving.model_copy(update={"path": resume})
        if saving is not None:
            own = {"--failures": failures, "--workload": workload, "seed": system["rng"], "keep": system["keep"]}
            saving = saving.model_copy(update={"of": _simulated(settings, jobs, own)})
        if saving is None or runs is not None:
            default_signals()
        steps.next()
        state = saving.newest if saving is not None and resume is not None else None
        if resume is not None and state is None:
            typer.echo(f"relfit: {resume} is not there yet: simulating from the beginning", err=True)
        if state is not None:
            run = rf.batch.resume_batch(state, saving, steps.say)
        elif runs is not None:
            system.pop("keep")
            _show_runs(rf.batch.simulate_batches(jobs, n_runs=runs, progress=steps.say, **system), to)
            return
        else:
            run = rf.simulate_batch(jobs, saving=saving, progress=steps.say, **system)
    notes = list(jobs.findings[1:])
    if not run.complete and saving is not None:
        options = {"--resume": saving.path, "--failures": failures, "--workload": workload, "--seed": seed}
        options |= {"--jobs-out": jobs_out, "--out": to.out, "--plot": to.plot, "--json": to.json or None}
        _stopped(run, saving, to, notes, ["relfit", "simulate", "batch", config, *_words(options)])
    if jobs_out is not None:
        output.write_table(run.jobs[list(rf.batch.JOB_COLUMNS)], jobs_out)
    _show(run, to, notes, jobs_out)


def _simulated(settings: rf.batch.BatchConfig, jobs: rf.workloads.Workload, own: dict[str, object]) -> dict[str, Any]:
    """What is simulated, for the file to go on from; places of files may change between two links of a chain."""
    from zlib import crc32

    tables = settings.model_dump(exclude={"saving", "simulation"}, exclude_unset=True)
    columns = (jobs.submit, jobs.nodes, jobs.run_time, jobs.requested)
    sums = [len(jobs), *(crc32(column.tobytes()) for column in columns)]
    document = {**tables, "until": settings.simulation.until, "jobs": sums, **own}
    plain: dict[str, Any] = json.loads(json.dumps(document, default=lambda path: path.name))
    return plain


def _words(options: dict[str, object]) -> list[Any]:
    """Options that are given, as words of a command."""
    used = {name: value for name, value in options.items() if value is not None}
    return [word for name, value in used.items() for word in ([name] if value is True else [name, value])]


def _stopped(
    run: rf.batch.BatchRun, saving: rf.batch.Saving, to: output.Output, notes: list[str], again: list[object]
) -> None:
    """Say how to go on with a run that saved itself before its end, and end with a status of its own."""
    if to.json:
        output.print_json({**run.to_dict(), "workload": notes}, unit=None)
    ended = int(run.jobs["finish_time"].notna().sum())
    told = f"{ended:,} of {len(run.jobs):,} jobs ended; saved in {saving.path}"
    command = shlex.join(map(str, again))
    typer.echo(f"relfit: stopped before the end: {told}; go on with: {command}", err=True)
    sys.stdout.flush()
    raise typer.Exit(STOPPED)


def _show(run: rf.batch.BatchRun, to: output.Output, notes: list[str], jobs_out: Path | None) -> None:
    import pandas as pd

    kinds = ["length", "width", *(["node_class"] if "node_class" in run.jobs else [])]
    tables = {f"by_{by}": run.by_class(by).reset_index() for by in kinds}
    pictures = [("states", partial(rf.plot, run))]
    written = output.write_results(to, {**tables, "jobs": run.jobs}, "by_length", pictures)
    if to.json:
        output.print_json({**run.to_dict(), "workload": notes}, unit=None)
        return
    measures = pd.DataFrame({"measure": list(run.summary), "value": [float(value) for value in run.summary.values()]})
    lines = [*run.findings, *notes, "", *output.table(_in_hours(measures))]
    for by in kinds[::2]:
        table = tables[f"by_{by}"][[by, *_CLASSES]]
        table = table.assign(**{name: table[name] / 3600.0 for name in _SECONDS})
        lines += ["", *output.table(table.rename(columns={name: f"{name} (h)" for name in _SECONDS}))]
    if jobs_out is not None:
        written.append(f"jobs written to {jobs_out}")
    output.print_lines([*lines, *written])


def _in_hours(table: pd.DataFrame) -> pd.DataFrame:
    """A table with a row per measure of the system, its name in words, times in hours; stored are seconds."""
    import pandas as pd

    table = table[table["measure"] != "elapsed_seconds"]
    seconds = table["measure"].map(lambda name: rf.batch.BatchRun.units.get(name) == "s")
    names = table["measure"].str.replace("_", " ")
    numbers = table.drop(columns="measure")
    numbers = numbers.where(~seconds, numbers / 3600.0)
    return pd.concat([names.where(~seconds, names + " (h)"), numbers], axis=1)


def _show_runs(runs: rf.batch.BatchRuns, to: output.Output) -> None:
    written = output.write_results(to, {"means": runs.to_frame(), "runs": runs.runs}, "means", [])
    if to.json:
        output.print_json(runs.to_dict(), unit=None)
        return
    output.print_lines([*runs.findings, "", *output.table(_in_hours(runs.to_frame())), *written])


def training(
    config: Annotated[Path, opt.argument("CONFIG", "Cluster and job: .toml, or the .yaml or .json of AIReSim.")],
    to: output.Output,
    runs: int | None = opt.option("N", "Runs; those of CONFIG, else 30, by default.", min=1),
    seed: int | None = opt.option("N", "Random seed; that of CONFIG by default.", min=0),
    program_semantics: bool = opt.flag(
        "--program-semantics", "Behave as the published program where it differs from its paper."
    ),
    accuracy: float | None = opt.option(
        "P", "Add runs until the mean training time has this relative error, such as 0.01."
    ),
    level: float | None = opt.option("P", "Level of the intervals, between 0 and 1."),
    trace: Path | None = opt.option("FILE", "Write every change of state (.parquet or .csv)."),
    details: opt.Details = False,
) -> None:
    """A training job on servers that fail.

    --out writes one row per output; into a folder, one row per run too.
    """
    output.check_destination(trace, (".parquet", ".csv"))
    if accuracy is not None and not 0.0 < accuracy < 1.0:
        raise ArgumentError(f"--accuracy is {accuracy:g}", remedy="give a share, as 0.01")
    params = rf.training.read_training(config)
    with ProgressSteps("simulating"):
        how: dict[str, Any] = {"program_semantics": program_semantics, "relative_accuracy": accuracy}
        how |= {"n_replications": runs, "rng": seed, "level": level, "trace": trace is not None}
        result = rf.simulate_training(params, **how)
    if trace is not None and result.trace is not None:
        output.write_table(result.trace, trace)
    tables = {"outputs": result.outputs.reset_index(), "runs": result.replications}
    pictures: list[output.Picture] = [("training_time", partial(rf.plot, result))]
    if result.trace is not None:
        pictures.append(("server_states", partial(rf.plotting.server_states, result)))
    written = output.write_results(to, tables, "outputs", pictures)
    if to.json:
        output.print_json(result.to_dict(), unit=None)
        return
    findings = [*result.findings, *([f"trace written to {trace}"] if trace is not None else [])]
    table = ["", *output.table(_shown(result)), _CURE] if details else [_MORE]
    output.print_lines([*findings, *table, *written])


def _shown(result: rf.training.TrainingSimulation) -> pd.DataFrame:
    """The outputs; the total time in hours, parts of it in minutes."""
    table = result.outputs[["mean", "sd", "low", "high", "p5", "p50", "p95"]].copy()
    table.loc["total_training_time"] /= 60.0
    units = {name: f" ({unit})" for name, unit in result.units.items()}
    return table.rename(index=lambda name: _NAMES.get(name, name.replace("_", " ") + units.get(name, ""))).reset_index()
