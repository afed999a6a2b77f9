"""The commands ``relfit plan ...``: what to do about failures whose rates are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relfit.cli import options as opt
from relfit.cli.plan_sparing import sparing

__all__ = ["plan"]

plan = typer.Typer(
    name="plan",
    help="Plan with known failure rates: checkpoints, migration, replication, spares.",
    no_args_is_help=False,
    rich_markup_mode=None,
)

Params = Annotated[
    Path | None,
    typer.Argument(metavar="[PARAMS]", help="Parameters, as relfit calibrate writes them (.toml or .json)."),
]
Mtbf = Annotated[
    str | None, typer.Option("--mtbf", metavar="TIME", help="Mean time between failures of one node, as 20000h.")
]
Nodes = Annotated[int | None, typer.Option("--nodes", metavar="N", help="Nodes; all of the fleet, where PARAMS knows.")]
Events = Annotated[
    float | None, typer.Option("--events", metavar="N", help="Failures behind --mtbf, for limits of everything.")
]
Save = Annotated[str | None, typer.Option("--save", metavar="TIME", help="Time to save a checkpoint.")]
Restore = Annotated[str, typer.Option("--restore", metavar="TIME", help="Time to restore one.")]
Downtime = Annotated[
    str, typer.Option("--downtime", metavar="TIME", help="From a failure to the begin of the restore.")
]
Draws = Annotated[int, typer.Option("--draws", metavar="N", help="How often uncertain parameters are drawn.")]


@plan.command()
def checkpoint(
    params: Params = None,
    mtbf: Mtbf = None,
    nodes: Nodes = None,
    events: Events = None,
    save: Save = None,
    restore: Restore = "0h",
    downtime: Downtime = "0h",
    interval: Annotated[
        str | None, typer.Option("--interval", metavar="TIME", help="Say what so much work between saves loses.")
    ] = None,
    period: Annotated[
        str | None, typer.Option("--period", metavar="TIME", help="The same, with the save in it.")
    ] = None,
    unexposed: Annotated[
        bool, typer.Option("--unexposed", help="Failures strike neither in saves nor in restores.")
    ] = False,
    slowed: Annotated[
        float, typer.Option("--slowed", metavar="P", help="Share of speed lost during a save; 1 blocks.")
    ] = 1.0,
    global_save: Annotated[
        str | None, typer.Option("--global-save", metavar="TIME", help="Two levels: time of a global save.")
    ] = None,
    global_restore: Annotated[
        str | None, typer.Option("--global-restore", metavar="TIME", help="Two levels: time of a global restore.")
    ] = None,
    share_global: Annotated[
        float | None, typer.Option("--share-global", metavar="P", help="Share of failures that need the global save.")
    ] = None,
    shape: Annotated[
        float | None,
        typer.Option("--shape", metavar="X", help="Weibull shape of the times between failures of the job."),
    ] = None,
    by_family: Annotated[
        bool, typer.Option("--by-family", help="Plan with the family of lives in PARAMS instead of its rates.")
    ] = False,
    age: Annotated[
        str, typer.Option("--age", metavar="TIME", help="Age of the nodes at every restart, with --by-family.")
    ] = "0h",
    work: Annotated[
        str | None, typer.Option("--work", metavar="TIME", help="Work of the job, for its expected time.")
    ] = None,
    robust: Annotated[
        str, typer.Option("--robust", metavar="mean|P", help="Robust interval by the mean or a quantile of the waste.")
    ] = "mean",
    level: opt.Level = 0.9,
    draws: Draws = 2000,
    seed: opt.RandomSeed = 0,
    json: opt.Json = False,
    out: opt.Out = None,
    plot: opt.Plot = None,
) -> None:
    """How often to save, what it costs, and how sure that is.

    --out writes a row for each rule with its interval and waste.
    """
    from relfit.cli import plan_commands
    from relfit.cli.answers import Output

    known = plan_commands.Known(params, mtbf, nodes, events, save, restore, downtime, level, draws, seed)
    how = plan_commands.Checkpointing(
        interval,
        period,
        unexposed,
        slowed,
        global_save,
        global_restore,
        share_global,
        shape,
        by_family,
        age,
        work,
        robust,
    )
    plan_commands.checkpoint(known, how, Output(json, out, plot))


@plan.command()
def migration(
    params: Params = None,
    mtbf: Mtbf = None,
    nodes: Nodes = None,
    events: Events = None,
    save: Save = None,
    restore: Restore = "0h",
    downtime: Downtime = "0h",
    move: Annotated[str | None, typer.Option("--migration", metavar="TIME", help="Time to migrate.")] = None,
    recall: Annotated[
        float, typer.Option("--recall", metavar="P", help="Share of the failures that are predicted.")
    ] = 1.0,
    precision: Annotated[
        float, typer.Option("--precision", metavar="P", help="Share of the predictions that are true.")
    ] = 1.0,
    lead: Annotated[
        str | None, typer.Option("--lead", metavar="TIME", help="How long before the failure the prediction comes.")
    ] = None,
    risk: Annotated[float, typer.Option("--risk", metavar="P", help="Probability to be short of a spare node.")] = 1e-4,
    spares: Annotated[int | None, typer.Option("--spares", metavar="N", help="So many spares instead.")] = None,
    sequential: Annotated[bool, typer.Option("--sequential", help="Every node has a job of its own.")] = False,
    share_sequential: Annotated[
        float, typer.Option("--share-sequential", metavar="P", help="Share of the jobs that have one node.")
    ] = 0.25,
    level: opt.Level = 0.9,
    draws: Draws = 1000,
    seed: opt.RandomSeed = 0,
    json: opt.Json = False,
    out: opt.Out = None,
    plot: opt.Plot = None,
) -> None:
    """Whether migration on predictions pays beside checkpoints, and with how many spares.

    --out writes a row for each size of job.
    """
    from relfit.cli import plan_commands
    from relfit.cli.answers import Output

    known = plan_commands.Known(params, mtbf, nodes, events, save, restore, downtime, level, draws, seed)
    how = plan_commands.Migrating(move, recall, precision, lead, risk, spares, sequential, share_sequential)
    plan_commands.migration(known, how, Output(json, out, plot))


@plan.command()
def replication(
    params: Params = None,
    mtbf: Mtbf = None,
    nodes: Nodes = None,
    events: Events = None,
    save: Save = None,
    restore: Restore = "0h",
    downtime: Downtime = "0h",
    replicas: Annotated[int, typer.Option("--replicas", metavar="N", help="Up to so many copies of a process.")] = 3,
    overhead: Annotated[
        float, typer.Option("--overhead", metavar="P", help="Share of speed that copies lose to keep in step.")
    ] = 0.0,
    level: opt.Level = 0.9,
    draws: Draws = 500,
    seed: opt.RandomSeed = 0,
    json: opt.Json = False,
    out: opt.Out = None,
    plot: opt.Plot = None,
) -> None:
    """Whether to run every process twice or more, and from which size of job on.

    --out writes a row for each strategy.
    """
    from relfit.cli import plan_commands
    from relfit.cli.answers import Output

    known = plan_commands.Known(params, mtbf, nodes, events, save, restore, downtime, level, draws, seed)
    plan_commands.replication(known, replicas, overhead, Output(json, out, plot))


plan.command()(sparing)
