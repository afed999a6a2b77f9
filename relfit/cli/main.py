"""The command ``relfit``: its commands, and how a user's mistake becomes one line and exit code 2.

Nothing heavy is imported here at the top: ``relfit --help`` must come at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from relfit import __version__
from relfit.cli import options as opt
from relfit.cli import system_app
from relfit.cli.plan_app import plan
from relfit.errors import RelfitError

__all__ = ["app", "main"]

# typer keeps the base of its usage errors to itself, but hands out a class that derives from it
_USAGE_ERROR: type[BaseException] = typer.BadParameter.__mro__[1]
_LONGEST_MESSAGE = 1000

app = typer.Typer(
    name="relfit",
    help="From the failure logs of computing fleets to fitted lifetimes, reports and plans.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"relfit {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _relfit(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@app.command()
def info(
    log: opt.Log,
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
) -> None:
    """Say what a log holds: rows read, kept and rejected, window, nodes, causes.

    --out writes the rejected rows, each with its file, line and reason; as JSON, all that is known about the log.
    """
    from relfit.cli import commands

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    commands.info(reading, as_json=json, out=out)


@app.command()
def fit(
    log: opt.Log,
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    per: opt.Per = "node",
    measure: opt.Measure = "ttf",
    no_censor: opt.NoCensor = False,
    families: opt.Families = opt.FAMILIES,
    method: opt.Method = "ml",
    bias_correction: opt.Correct = False,
    bootstrap: opt.Bootstrap = "auto",
    seed: opt.Seed = 0,
    interval: opt.Interval = None,
    kind: opt.Kind = "profile",
    level: opt.Level = 0.95,
    json: opt.Json = False,
    out: opt.Out = None,
) -> None:
    """Fit distributions to the times to failure, or to repair, of every node, system or value of a column.

    --out writes a row for each group and family with everything that is known about the fit.
    """
    from relfit.cli import commands

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    fitting = opt.Fitting(
        per, measure, not no_censor, families, level, method, bias_correction, bootstrap, seed,
        tuple(interval or ()), kind,
    )  # fmt: skip
    commands.fit(reading, fitting, as_json=json, out=out)


@app.command()
def report(
    log: opt.Log,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.html", help="The report: one self-contained HTML file.")
    ] = Path("report.html"),
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    per: opt.Per = "node",
    no_censor: opt.NoCensor = False,
    families: opt.Families = opt.FAMILIES,
    level: opt.Level = 0.95,
    node: Annotated[
        list[str] | None, typer.Option("--node", metavar="NAME", help="Show this node by itself. Repeatable.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the report.")] = None,
    json: opt.Json = False,
) -> None:
    """Write a report on a log: where the data came from, events, causes, nodes, fits."""
    from relfit.cli import commands

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    commands.report(
        reading,
        out,
        families=families,
        per=per,
        censor=not no_censor,
        level=level,
        nodes=node,
        title=title,
        as_json=json,
    )


@app.command()
def dependence(
    log: opt.Log,
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    window: opt.Together = "1h",
    place: opt.At = None,
    correlation: opt.Correlation = "spearman",
    alpha: opt.Alpha = 0.05,
    seed: opt.RandomSeed = 0,
    plot: opt.Plot = None,
    json: opt.Json = False,
    out: opt.Tables = None,
) -> None:
    """Say whether nodes fail independently of each other, and failures independently of those before.

    --out writes a row for each question with its finding; into a folder, the tables behind them too.
    """
    from relfit.cli import dependence_commands
    from relfit.cli.answers import Output

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    how = Output(json, out, plot)
    dependence_commands.dependence(
        reading, how, window=window, place=place, correlation=correlation, alpha=alpha, seed=seed
    )


@app.command()
def trend(
    log: opt.Log,
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    per: opt.Per = "node",
    by: opt.By = None,
    alpha: opt.Alpha = 0.05,
    level: opt.Level = 0.95,
    seed: opt.RandomSeed = 0,
    plot: opt.Plot = None,
    json: opt.Json = False,
    out: opt.Tables = None,
) -> None:
    """Say whether the failure rate is steady and nodes alike: periods, trend, processes, outlier nodes, repairs, availability.

    --out writes a row for each group with its tests of trend; into a folder, the other tables too.
    """
    from relfit.cli import dependence_commands
    from relfit.cli.answers import Output

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    how = Output(json, out, plot)
    dependence_commands.trend(reading, how, per=per, by=by, alpha=alpha, level=level, seed=seed)


@app.command()
def incidents(
    log: opt.Log,
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    window: opt.JoinWindow = None,
    place: opt.Place = "system",
    level: opt.Level = 0.95,
    plot: opt.Plot = None,
    json: opt.Json = False,
    out: opt.Tables = None,
) -> None:
    """Join records that belong together in time and place to incidents.

    --out writes a row for each incident; into a folder, rates, causes and gaps too.
    """
    from relfit.cli import dependence_commands
    from relfit.cli.answers import Output

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    how = Output(json, out, plot)
    dependence_commands.incidents(reading, how, window=window, place=place, level=level)


system_app.add(app)


@app.command()
def calibrate(
    log: Annotated[
        str,
        typer.Argument(metavar="LOG", help="A failure log, the name of a bundled sample, or a parameter file (.toml)."),
    ],
    format: opt.Format = None,
    column: opt.Columns = None,
    mapping: opt.Mapping = None,
    timezone: opt.Timezone = None,
    strict: opt.Strict = False,
    where: opt.Where = None,
    since: opt.Since = None,
    until: opt.Until = None,
    period: Annotated[
        str | None, typer.Option("--period", metavar="stable|all", help="Part of the log; stable unless cut by hand.")
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            "--parts",
            metavar="A,B",
            help="Only these of period, mtbf, mttr, repair_kinds, families, bad_nodes, dependence, trend.",
        ),
    ] = None,
    families: opt.Families = opt.FAMILIES,
    window: opt.JoinWindow = None,
    rack: Annotated[
        str | None, typer.Option("--rack", metavar="COLUMN", help="Column that says in which rack a node stands.")
    ] = None,
    exposure: Annotated[
        str, typer.Option("--exposure", metavar="up|observed", help="Count hours of nodes that work, or all hours.")
    ] = "up",
    level: opt.Level = 0.95,
    seed: opt.RandomSeed = 0,
    export: Annotated[
        list[str] | None,
        typer.Option("--export", metavar="KIND=PATH", help="Write for airesim, batsim, fta or scipy too. Repeatable."),
    ] = None,
    airesim: Annotated[
        list[str] | None,
        typer.Option(
            "--airesim", metavar="NAME=VALUE", help="For airesim: job_size, working_pool_size ... Repeatable."
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", min=1, help="Of the cluster, for batsim and simulated fta.")
    ] = None,
    racks: Annotated[
        int | None, typer.Option("--racks", metavar="N", min=1, help="Of the cluster, for simulated fta.")
    ] = None,
    span: Annotated[
        str, typer.Option("--span", metavar="TIME", help="How long to simulate for fta from a parameter file.")
    ] = "8766h",
    json: opt.Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the parameters: .toml or .json.")
    ] = None,
) -> None:
    """Estimate what planners need from a log: times between failures and to repair, with intervals and provenance."""
    from relfit.cli import calibration_commands

    reading = opt.Reading(log, format, column, mapping, timezone, strict, where, since, until)
    how = calibration_commands.Calibrating(
        period,
        parts,
        families,
        window,
        rack,
        exposure,
        level,
        seed,
        tuple(export or ()),
        nodes,
        racks,
        span,
        tuple(airesim or ()),
    )
    calibration_commands.calibrate(reading, how, as_json=json, out=out)


app.add_typer(plan)


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(metavar="[PAPER]...", help="sparing, migration, allocation; all if left out.")
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="N", help="Show all cells of this table of one paper.")
    ] = None,
    json: opt.Json = False,
    out: opt.Out = None,
) -> None:
    """Print the tables of the papers beside what relfit computes.

    --out writes the agreement or the --table; into a folder, all tables and the data of figures.
    """
    from relfit.cli import reproduce_commands

    reproduce_commands.reproduce(papers or [], table=table, as_json=json, out=out)


@app.command()
def data(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A bundled sample.")] = None,
    json: opt.Json = False,
    out: opt.Out = None,
) -> None:
    """List the bundled samples, or write one of them to a file."""
    from relfit.cli import commands

    commands.data(name, as_json=json, out=out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; taken from the process when left out.

    Returns
    -------
    int
        0 when done, 2 after a user's mistake (told in one line on stderr), 130 after Ctrl-C.

    Examples
    --------
    >>> main(["--version"])
    relfit 0.1.0
    0
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name from a log may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="relfit", standalone_mode=False)
        sys.stdout.flush()
    except RelfitError as error:
        return _complain(str(error))
    except _USAGE_ERROR as error:
        return _complain(_usage(error))
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _complain(f"{error.filename or 'cannot go on'}: {error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        return 130
    return code if isinstance(code, int) else 0


def _usage(error: BaseException) -> str:
    message: str = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = "relfit" if context is None else context.command_path
    return f"{message.rstrip('.')}; see {command} --help"


def _complain(message: str) -> int:
    line = " ".join(message.split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    if len(line) > _LONGEST_MESSAGE:
        line = f"{line[: _LONGEST_MESSAGE // 2]} ... {line[-_LONGEST_MESSAGE // 2 :]}"
    typer.echo(f"relfit: error: {line}", err=True)
    return 2
