"""The command ``relfit``: its commands, and how a user's mistake becomes one line and exit code 2.

Nothing heavy is imported here at the top: ``relfit --help`` must come at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from relfit import __version__
from relfit.base.errors import RelfitError
from relfit.base.paths import files_meant
from relfit.base.writing import sparing
from relfit.cli import (
    best_size_command,
    calibrating,
    data_commands,
    dependence_commands,
    fit_command,
    forecast_commands,
    look,
    output,
    plan_commands,
    plan_sparing,
    predict,
    simulate_commands,
    survival_command,
    sweep_command,
    trend_commands,
    watch_command,
)
from relfit.cli.examples import Commands, epilog
from relfit.cli.options import grouped

# typer keeps the base of its usage errors to itself, but hands out a class that derives from it
_USAGE_ERROR: type[BaseException] = typer.BadParameter.__mro__[1]
_LONGEST_MESSAGE = 1000
gc.set_threshold(100_000, 50, 50)  # a command throws little away: looking for garbage takes a tenth of its time
atexit.register(gc.freeze)  # what is there at the end goes with the process: looking for garbage takes half a second

app = typer.Typer(
    name="relfit",
    cls=Commands,
    help="From the failure logs of computing fleets to distributions, forecasts, reports and plans.",
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_OF_LOGS = (
    *(
        look.info,
        fit_command.fit,
        survival_command.survival,
        look.report,
        dependence_commands.dependence,
        trend_commands.trend,
    ),
    *(dependence_commands.incidents, trend_commands.regress, predict.system, best_size_command.nodes),
    *(forecast_commands.forecast, forecast_commands.backtest, calibrating.calibrate, data_commands.convert),
    *(data_commands.data, data_commands.fetch, data_commands.doctor),
)
_OF_PLANS = (plan_commands.checkpoint, plan_commands.migration, plan_commands.replication, plan_commands.spares)


def _group(name: str, about: str, cls: type[TyperGroup] = TyperGroup) -> typer.Typer:
    return typer.Typer(name=name, help=about, cls=cls, no_args_is_help=False, rich_markup_mode=None)


plans = _group("plan", "Plan checkpoints, spares, migration, replication.")
simulations = _group("simulate", "Simulate a cluster, event by event.")
sweeps = _group("sweep", "Simulate over values of parameters.", cls=sweep_command.CampaignCommands)
watches = _group("watch", "Watch a fleet: what changed, what to do.")
for _group_of_commands, _before, _commands in (
    (app, "", _OF_LOGS),
    (plans, "plan ", (*_OF_PLANS, plan_sparing.sparing)),
    (simulations, "simulate ", (simulate_commands.training, simulate_commands.batch)),
    (sweeps, "sweep ", (sweep_command.run, sweep_command.status, sweep_command.report)),
    (watches, "watch ", (watch_command.init, watch_command.run, watch_command.status, watch_command.drain)),
):
    for _command in _commands:
        _group_of_commands.command(epilog=epilog(f"{_before}{_command.__name__}"))(grouped(_command))
    if _group_of_commands is not app:
        app.add_typer(_group_of_commands)


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


@cache
def built() -> Any:
    """The commands with their options, read from the functions behind them once a process."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with what follows the command's name, by default that of the process; its exit status.

    It is 0 when done, 2 after a user's mistake (one line on stderr), 75 for a simulation or a sweep that stopped before
    its end and can go on, 1 for a sweep with failed runs and for problems that ``doctor`` finds, 3 for a watch with
    alarms, 4 for one with sources, outputs or drains that failed, 130 after Ctrl-C.
    """
    lost = StringIO()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us; no other file shall get its number
            os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, lost if name == "stdout" else StringIO())
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name from a log may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    if arguments is None:  # nobody else's process: a line of our code beside a warning would tell the user nothing
        warnings.formatwarning = lambda message, *_, **__: f"relfit: warning: {message}\n"
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        with sparing(_read_by(words)):
            code = built()(args=words, prog_name="relfit", standalone_mode=False)
        sys.stdout.flush()
        if lost.getvalue():
            return _complain("standard output is closed, so the answer is lost; write >/dev/null to discard it")
    except RelfitError as error:
        return _complain(error.in_options())
    except _USAGE_ERROR as error:
        return _complain(_usage(error))
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _complain(f"{error.filename or 'cannot go on'}: {error.strerror or error}")
    except MemoryError:
        return _complain("there is not enough memory; use part of the log (--where, --since) or ask for less")
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except Exception as error:
        if _interrupted(error):
            return 130
        raise
    return code if isinstance(code, int) else 0


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: a compiler that it strikes may say something else."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _read_by(arguments: Sequence[str]) -> list[Path]:
    """Files that a command is given, those of folders and patterns too, but for those that it writes."""
    written = ("-o", "--out", "--plot", "--jobs-out", "--trace", "--export", "--resume", "--store")
    read: list[Path] = []
    for before, text in zip(["", *arguments], arguments, strict=False):
        if before in written or text.startswith("-"):
            continue
        for part in filter(None, (text, text.partition("=")[2])):
            with suppress(OSError, ValueError):
                read += [file for file in files_meant(part) if file.is_file()]
    return read


def _usage(error: BaseException) -> str:
    message: str = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = "relfit" if context is None else context.command_path
    return f"{message.rstrip('.')}; see {command} --help"


def _complain(message: str) -> int:
    line = output.visible(" ".join(message.split()))
    if len(line) > _LONGEST_MESSAGE:
        line = f"{line[: _LONGEST_MESSAGE // 2]} ... {line[-_LONGEST_MESSAGE // 2 :]}"
    typer.echo(f"relfit: error: {line}", err=True)
    return 2
