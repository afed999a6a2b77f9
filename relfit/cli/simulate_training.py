"""The command ``relfit simulate training``: read the cluster and its job, simulate, show."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.figures import Picture
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

    from relfit.simulation.training import TrainingSimulation

_SHOWN = (
    "total_training_time",
    "etr",
    "total_failures",
    "random_failures",
    "systematic_failures",
    "auto_repairs",
    "manual_repairs",
    "host_selection_count",
    "preemption_count",
    "job_stall_count",
    "servers_retired",
    "avg_run",
)
_NAMES = {
    "total_training_time": "total time (h)",
    "avg_run": "average run (min)",
    "etr": "effective training ratio",
    "total_failures": "server failures",
    "successful_repairs": "repairs that cure",
    "failed_repairs": "repairs without cure",
    "standby_swaps": "standbys that took over",
}
_CURE = "A repair without cure leaves a bad server bad; a good one was good before it, and works again."
_MORE = "--details shows all outputs; --out FILE writes them."


def training(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Cluster and job: .toml, or the .yaml or .json of AIReSim.")
    ],
    to: opt.Output,
    runs: Annotated[int | None, opt.option("N", "Runs; those of CONFIG, else 30, by default.", min=1)] = None,
    seed: Annotated[int | None, opt.option("N", "Random seed; that of CONFIG by default.", min=0)] = None,
    program_semantics: Annotated[
        bool, opt.flag("--program-semantics", "Behave as the published program where it differs from its paper.")
    ] = False,
    accuracy: Annotated[
        float | None, opt.option("P", "Add runs until the mean training time has this relative error, as 0.01.")
    ] = None,
    level: Annotated[float | None, opt.option("P", "Level of the intervals, between 0 and 1.")] = None,
    trace: Annotated[Path | None, opt.option("FILE", "Write every change of state (.parquet or .csv).")] = None,
    details: opt.Details = False,
) -> None:
    """A training job on servers that fail.

    --out writes one row per output; into a folder, one row per run too.
    """
    output.check_output(to)
    output.check_destination(trace, (".parquet", ".csv"))
    if accuracy is not None and not 0.0 < accuracy < 1.0:
        raise ArgumentError(f"--accuracy is {accuracy:g}", remedy="give a share, as 0.01")
    params = rf.training.read_training(config)
    with ProgressSteps("simulating"):
        result = rf.simulate_training(
            params,
            n_replications=runs,
            rng=seed,
            level=level,
            program_semantics=program_semantics,
            relative_accuracy=accuracy,
            trace=trace is not None,
        )
    if trace is not None and result.trace is not None:
        output.write_table(result.trace, trace)
    tables = {"outputs": result.outputs.reset_index(), "runs": result.replications}
    pictures: list[Picture] = [("training_time", partial(rf.plot, result))]
    if result.trace is not None:
        pictures.append(("server_states", partial(rf.plotting.server_states, result)))
    written = output.write_results(to, tables, "outputs", pictures)
    if to.json:
        output.print_json(result.to_dict())
        return
    findings = [*result.findings, *([f"trace written to {trace}"] if trace is not None else [])]
    table = output.table(_shown(result, list(result.outputs.index) if details else list(_SHOWN)))
    output.print_lines([*findings, "", *table, _CURE if details else _MORE, *written])


def _shown(result: TrainingSimulation, outputs: list[str]) -> pd.DataFrame:
    """Some outputs; the total time in hours, parts of it in minutes."""
    table = result.outputs.loc[outputs, ["mean", "sd", "low", "high", "p5", "p50", "p95"]]
    table.loc["total_training_time"] /= 60.0
    units = {name: f" ({unit})" for name, unit in result.units.items()}
    return table.rename(index=lambda name: _NAMES.get(name, name.replace("_", " ") + units.get(name, ""))).reset_index()
