"""The commands ``relfit watch``: write the settings of a watch, make a round, say how things stand, drain nodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

ALARMS, FAILED = 3, 4
"""Exit status of a round with alarms, and of one in which a source, an output or a drain failed."""
Settings = Annotated[Path, opt.argument("WATCH.toml", "The settings of the watch.")]


def init(
    places: list[str] | None = opt.argument("[FOLDER|FILES]...", "Logs; searched for by default."),
    out: Path = opt.out("FILE", "The settings to write.", Path("watch.toml")),
    fleet: str | None = opt.option("NAME", "Name of the fleet; that of the folder by default."),
    column: list[str] | None = opt.option("FIELD=NAME", "Column of a table, such as node=hostname. Repeatable."),
    timezone: str | None = opt.option("ZONE", "Time zone of times without one, such as America/Denver."),
    n_nodes: int | None = opt.option("N", "Number of all nodes, where no log lists them.", min=1),
    population: Path | None = opt.option("FILE", "A table of all nodes, failed or not."),
    observed: str | None = opt.option("FROM/", "Start of observation in a table; FROM/TO for its end, too."),
    where: list[str] | None = opt.option("COLUMN=VALUE", "Watch only this part, or all but this: cause!=network."),
    timer: bool = opt.flag("--timer", "Write a service and a timer for systemd too."),
) -> None:
    """Write the settings of a watch.

    Each log is read once, to identify its format and the settings that it needs. --timer writes relfit-watch.service
    and relfit-watch.timer beside the settings; the line for cron is printed.
    """
    from relfit.live.watch_init import write_settings

    with ProgressSteps("reading"):
        columns = {name: values[-1] for name, values in checked.pairs("--column", column).items()}
        columns |= checked.window(observed)
        checked.conditions("--where", where)
        part: dict[str, Any] = {"nodes": n_nodes, "population": population, "where": checked.pairs("--where", where)}
        lines = write_settings(places or [], out, fleet=fleet, columns=columns, timezone=timezone, timer=timer, **part)
    output.print_lines(lines[:-1])
    output.print_lines(lines[-1:], wrap=False)


def run(
    settings: Settings,
    json: opt.Json = False,
    now: str | None = opt.option("DATE", "Time of the round, in the time zone of the settings; now by default."),
    remove_lost: bool = opt.flag("--remove-lost", "Remove records that their files no longer have."),
    quiet: bool = opt.flag("--quiet", "Print only if an alarm is new, records have disappeared, or something failed."),
) -> None:
    """Check a fleet once: one round of a watch.

    Ends with status 0 without alarms, 3 with alarms, 4 if a source failed or an output was not written.
    """
    from relfit.live.watch_round import watch
    from relfit.live.watch_settings import read_watch_settings

    with ProgressSteps("fetching") as steps:
        result = watch(read_watch_settings(settings), now, steps.say, remove_lost=remove_lost)
    if quiet and not (result.raised or result.failed or result.undone or result.gone):
        pass
    elif json:
        output.print_json(result.to_dict())
    else:
        output.print_lines([*result.findings, *(f"written to {place}" for place in result.written)])
    sys.stdout.flush()
    if result.failed or result.undone:
        raise typer.Exit(FAILED)
    if result.alarms:
        raise typer.Exit(ALARMS)


def status(settings: Settings, json: opt.Json = False) -> None:
    """Status of a watch: sources, alarms, rounds."""
    import pandas as pd

    from relfit.live.watch_round import watch_status
    from relfit.live.watch_settings import read_watch_settings

    asked = read_watch_settings(settings)
    document = watch_status(asked)
    if json:
        output.print_json(document.to_dict())
        return
    sources = document.sources.rename(columns={"failure": "error"})
    for name in ("last_asked", "last_new"):
        times = pd.to_datetime(sources[name], utc=True).dt.tz_convert(asked.timezone)
        sources[name] = times.dt.strftime("%Y-%m-%d %H:%M").fillna("")
    output.print_lines([*document.findings, "", *output.few_rows("sources", sources)])


def drain(
    settings: Settings,
    apply: bool = opt.flag("--apply", "Run the commands, and undrain where an alarm is over."),
    undo: bool = opt.flag("--undo", "Undrain the nodes that --apply drained."),
    share: float = opt.option("SHARE", "Largest share of a partition's nodes that --apply drains.", 0.02),
    json: opt.Json = False,
) -> None:
    """Drain nodes with active alarms in Slurm.

    The commands are shown; --apply runs them, and undrains nodes whose alarm is over and whose outages have ended;
    --undo undrains all nodes that --apply drained.

    Reasons begin with "relfit watch: "; no other node is undrained. Ends with status 4 if a node was not drained or
    undrained.
    """
    from relfit.live.fleet_store import FleetStore
    from relfit.live.slurm_actions import apply_drains, drains_of, undo_drains
    from relfit.live.watch_settings import read_watch_settings

    if apply and undo:
        raise ArgumentError("--apply and --undo exclude each other", remedy="give one")
    watched = read_watch_settings(settings)
    if undo:
        result = undo_drains()
    else:
        with FleetStore.open(watched.store, watched.fleet, password_env=watched.password_env, read_only=True) as store:
            result = drains_of(store.open_alarms())
            events = store.log().events if apply and store.size else None
        if apply:
            going_on = () if events is None else events.loc[events["end_cut"], "node"].dropna()
            result = apply_drains(result, share, going_on)
    if json:
        output.print_json(result.to_dict())
    else:
        output.print_lines(list(result.findings))
    if result.table["done"].str.startswith("not done").any():
        raise typer.Exit(FAILED)
