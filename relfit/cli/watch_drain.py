"""The command ``relfit watch drain``: the nodes that alarms name, drained on Slurm's controller, and undone."""

from __future__ import annotations

from typing import Annotated

import typer

from relfit.base.errors import ArgumentError
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.look import Json
from relfit.cli.watch_command import Settings

NOT_ALL = 4
"""Exit status where a node was not drained or undrained."""


def drain(
    settings: Settings,
    apply: Annotated[bool, opt.flag("--apply", "Run the commands on Slurm's controller.")] = False,
    undo: Annotated[bool, opt.flag("--undo", "Undrain what --apply drained.")] = False,
    share: Annotated[float, opt.option("SHARE", "Largest share of a partition's nodes that --apply drains.")] = 0.02,
    json: Json = False,
) -> None:
    """Drain nodes of standing alarms in Slurm.

    The commands are shown; --apply runs them, --undo takes them back.

    Reasons begin with "relfit watch: "; --undo touches no other node. Ends with status 4 if a node was not drained or
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
        if apply:
            result = apply_drains(result, share)
    if json:
        output.print_json(result.to_dict())
    else:
        output.print_lines(list(result.findings))
    if result.table["done"].str.startswith("not done").any():
        raise typer.Exit(NOT_ALL)
