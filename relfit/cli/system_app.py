"""The commands that ask about jobs on nodes: system, nodes, validate. Thin, so that ``--help`` comes at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relfit.cli import options as opt

__all__ = ["add"]


def add(app: typer.Typer) -> None:
    """Give `app` these commands."""
    for command in (system, nodes, validate):
        app.command()(command)


def system(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="A failure log, a bundled sample, or what relfit fit --out wrote.")
    ],
    nodes: Annotated[
        str | None, typer.Option("--nodes", metavar="A,B,C", help="These nodes, in this order; all when left out.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", metavar="K", help="Only the first K of them.")] = None,
    age: Annotated[
        list[str] | None,
        typer.Option(
            "--age", metavar="TIME", help="Age of all nodes, as 10days, or repeated for each; else the log's."
        ),
    ] = None,
    horizon: Annotated[
        list[str] | None, typer.Option("--horizon", metavar="TIME", help="Show reliability at 24h, ... Repeatable.")
    ] = None,
    tolerate: Annotated[
        int, typer.Option("--tolerate", metavar="S", help="Nodes that may fail; none are replaced.")
    ] = 0,
    at: Annotated[
        str | None, typer.Option("--at", metavar="DATE", help="When the job starts; the end of the log if left out.")
    ] = None,
    families: Annotated[
        str | None,
        typer.Option("--families", metavar="A,B", help="To fit: one, Weibull when left out; several with --own-fits."),
    ] = None,
    family: Annotated[str, typer.Option("--family", metavar="NAME", help="One for all nodes, or best.")] = "best",
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="NAME",
            help="Nodes without an estimate: pool, drop or error (a file of fits: no pool).",
        ),
    ] = None,
    own_fits: Annotated[
        bool, typer.Option("--own-fits", help="Fit every node on its own; else each is drawn towards the fleet.")
    ] = False,
    interval: Annotated[
        float | None, typer.Option("--interval", metavar="P", help="Level of intervals from the doubt about the fits.")
    ] = None,
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    json: opt.Json = False,
    out: opt.Out = None,
    plot: opt.Plot = None,
) -> None:
    """Say how long 1 to K nodes hold out together: reliability, failure rate, mean time to failure.

    --out writes a row for each number of nodes.
    """
    from relfit.cli import system_commands

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    chosen = system_commands.Chosen(nodes, k, age, at, tolerate, families, family, missing, own_fits)
    system_commands.system(reading, chosen, horizons=horizon, level=interval, as_json=json, out=out, plot=plot)


def nodes(
    log: opt.Log,
    work: Annotated[
        str | None, typer.Option("--work", metavar="TIME", help="How long the job takes on one node without failures.")
    ] = None,
    parallel_fraction: Annotated[
        float | None, typer.Option("--parallel-fraction", metavar="P", help="Share of the work that runs in parallel.")
    ] = None,
    law: Annotated[
        str, typer.Option("--law", metavar="NAME", help="Of the speed-up: amdahl, gustafson or table.")
    ] = "amdahl",
    table: Annotated[
        Path | None, typer.Option("--table", metavar="FILE", help="Measured: columns nodes, and time or speedup.")
    ] = None,
    restart: Annotated[str, typer.Option("--restart", metavar="TIME", help="From a failure to the next start.")] = "0h",
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="TIME", help="Work between two checkpoints; none without.")
    ] = None,
    save: Annotated[str, typer.Option("--save", metavar="TIME", help="To write a checkpoint.")] = "0h",
    restore: Annotated[str, typer.Option("--restore", metavar="TIME", help="To read a checkpoint.")] = "0h",
    k_max: Annotated[int | None, typer.Option("--k-max", metavar="K", help="Largest number of nodes.")] = None,
    rule: Annotated[
        str, typer.Option("--rule", metavar="NAME", help="least of all sizes, or first: add nodes while it pays.")
    ] = "least",
    convention: Annotated[
        str, typer.Option("--convention", metavar="NAME", help="Of the time lost to a failure: exact, or the paper's.")
    ] = "exact",
    after_failure: Annotated[
        str, typer.Option("--after-failure", metavar="NAME", help="Nodes are the same as at first, or as_new.")
    ] = "same",
    deadline: Annotated[
        str | None, typer.Option("--deadline", metavar="TIME", help="Show the probability to be done by then.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Look for a better set than the most reliable nodes too.")
    ] = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="DATE", help="When the job starts; the end of the log if left out.")
    ] = None,
    age: Annotated[
        list[str] | None,
        typer.Option(
            "--age", metavar="TIME", help="Age of all nodes, as 10days, or repeated for each; else the log's."
        ),
    ] = None,
    families: Annotated[
        str | None,
        typer.Option("--families", metavar="A,B", help="To fit: one, Weibull when left out; several with --own-fits."),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="NAME",
            help="Nodes without an estimate: pool, drop or error (a file of fits: no pool).",
        ),
    ] = None,
    own_fits: Annotated[
        bool, typer.Option("--own-fits", help="Fit every node on its own; else each is drawn towards the fleet.")
    ] = False,
    interval: Annotated[
        float | None, typer.Option("--interval", metavar="P", help="Level of intervals from the doubt about the fits.")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="Draws of the parameters behind them.")] = 200,
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    seed: opt.RandomSeed = 0,
    json: opt.Json = False,
    out: opt.Out = None,
    plot: opt.Plot = None,
) -> None:
    """Say on how many nodes, and on which, a job is done first.

    --out writes a row for each number of nodes.
    """
    from relfit.cli import nodes_commands, system_commands

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    asked = nodes_commands.Asked(work, law, parallel_fraction, table, restart, checkpoint, save, restore)
    chosen = system_commands.Chosen(None, None, age, at, 0, families, "best", missing, own_fits)
    nodes_commands.nodes(
        reading, asked, k_max=k_max, rule=rule, convention=convention, after_failure=after_failure, deadline=deadline,
        search=search, chosen=chosen, level=interval, draws=draws, seed=seed, as_json=json, out=out, plot=plot,
    )  # fmt: skip


def validate(
    log: opt.Log,
    split: Annotated[
        str, typer.Option("--split", metavar="DATE|SHARE", help="Fit before, replay after: a date, or a share.")
    ] = "0.5",
    size: Annotated[
        list[int] | None, typer.Option("--size", metavar="N", help="Nodes of a job; 1, 4 and 16. Repeatable.")
    ] = None,
    length: Annotated[
        list[str] | None, typer.Option("--length", metavar="TIME", help="Of a job; 6h, 24h and 72h. Repeatable.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", help="Instants at which jobs of every size begin.")
    ] = 1000,
    families: opt.Families = "weibull,exponential",
    parameters: Annotated[
        str, typer.Option("--parameters", metavar="NAME", help="Of a node: pooled, fleet or node (its own).")
    ] = "pooled",
    origin: Annotated[
        str, typer.Option("--origin", metavar="NAME", help="Ages count from the last failure, or repair.")
    ] = "failure",
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    level: opt.Level = 0.95,
    seed: opt.RandomSeed = 0,
    json: opt.Json = False,
    out: opt.Out = None,
    plot: opt.Plot = None,
) -> None:
    """Fit the first part of a log and look whether jobs in the rest survive as often as predicted.

    --out writes a row for each size, length and family.
    """
    from relfit.cli import validate_commands

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    validate_commands.validate(
        reading, split=split, sizes=size, lengths=length, jobs=jobs, families=families, parameters=parameters,
        origin=origin, level=level, seed=seed, as_json=json, out=out, plot=plot,
    )  # fmt: skip
