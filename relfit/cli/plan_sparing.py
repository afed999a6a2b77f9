"""The command ``relfit plan sparing``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relfit.cli import options as opt

__all__ = ["sparing"]


def sparing(
    params: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PARAMS]", help="Parameters (.toml or .json), which may hold the tables [cluster] and [prices]."
        ),
    ] = None,
    mtbf: Annotated[
        str | None, typer.Option("--mtbf", metavar="TIME", help="Mean time between failures of a tray, as 20000h.")
    ] = None,
    mtbf_rack: Annotated[
        str | None, typer.Option("--mtbf-rack", metavar="TIME", help="Of a rack as a whole; never when left out.")
    ] = None,
    mttr: Annotated[str | None, typer.Option("--mttr", metavar="TIME", help="Mean time to repair.")] = None,
    zones: Annotated[int | None, typer.Option("--zones", metavar="N", help="Sparing zones.")] = None,
    racks: Annotated[int | None, typer.Option("--racks", metavar="N", help="Racks a zone.")] = None,
    trays: Annotated[int | None, typer.Option("--trays", metavar="N", help="Trays a rack.")] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", metavar="N", help="GPUs a tray.")] = None,
    group: Annotated[
        int | None, typer.Option("--group", metavar="N", help="GPUs that must be placed in one zone.")
    ] = None,
    partial_groups: Annotated[
        bool, typer.Option("--partial-groups", help="Fill the last block of a group in part, if need be.")
    ] = False,
    block: Annotated[
        list[int] | None,
        typer.Option("--block", metavar="N", help="Choose from these block sizes only, in GPUs. Repeatable."),
    ] = None,
    working: Annotated[
        list[int] | None,
        typer.Option("--working", metavar="N", help="Working GPUs of each --block; all when left out. Repeatable."),
    ] = None,
    spare_blocks: Annotated[
        int | None,
        typer.Option("--spare-blocks", metavar="N", help="So many spare blocks a zone instead of the best number."),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option("--period", metavar="TIME", help="Work between checkpoints; the best when left out, or best."),
    ] = None,
    save: Annotated[str | None, typer.Option("--save", metavar="TIME", help="Time to save a checkpoint.")] = None,
    detection: Annotated[str | None, typer.Option("--detection", metavar="TIME", help="To notice a failure.")] = None,
    restart: Annotated[
        str | None, typer.Option("--restart", metavar="TIME", help="To find spares, load the state and restart.")
    ] = None,
    loss_limit: Annotated[
        int | None, typer.Option("--loss-limit", metavar="N", help="Go on with so many blocks missing.")
    ] = None,
    disturbed: Annotated[
        bool, typer.Option("--disturbed", help="Failures during detection and restart start them again.")
    ] = False,
    alpha: Annotated[
        float | None, typer.Option("--alpha", metavar="X", help="Exposed communication of tensor parallelism.")
    ] = None,
    exposed: Annotated[
        float | None, typer.Option("--exposed", metavar="P", help="Exposed communication, for power headroom.")
    ] = None,
    idle_power: Annotated[
        float | None, typer.Option("--idle-power", metavar="P", help="Power of an idle tray, as a share of its limit.")
    ] = None,
    blocking: Annotated[
        float | None,
        typer.Option("--blocking", metavar="P", help="Also the spare blocks that block the job at most so often."),
    ] = None,
    required: Annotated[
        float | None,
        typer.Option("--required", metavar="N", help="Also the cheapest plan for so many useful GPUs, by [prices]."),
    ] = None,
    simulate: Annotated[
        float | None,
        typer.Option("--simulate", metavar="YEARS", help="Also simulate the plan, trays repaired one by one."),
    ] = None,
    robust: Annotated[
        str, typer.Option("--robust", metavar="mean|P", help="Robust plan by the mean or a quantile of goodput.")
    ] = "mean",
    level: opt.Level = 0.9,
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", help="How often uncertain parameters are drawn.")
    ] = 1000,
    seed: opt.RandomSeed = 0,
    json: opt.Json = False,
    out: opt.Out = None,
    plot: opt.Plot = None,
) -> None:
    """Which spares to keep: block size, spare trays, spare blocks, and what goodput to expect.

    --out writes a row for each strategy; into a folder, the sensitivity to MTBF and MTTR and the decision map with its
    boundaries too.
    """
    from relfit.cli import sparing_commands
    from relfit.cli.answers import Output

    given = {
        "zones": zones, "racks": racks, "trays": trays, "gpus": gpus, "group": group,
        "partial_groups": partial_groups or None, "block": block, "working": working, "period": period, "save": save,
        "detection": detection, "restart": restart, "loss_limit": loss_limit, "alpha": alpha, "exposed": exposed,
        "idle_power": idle_power, "disturbed": disturbed or None, "spare_blocks": spare_blocks,
    }  # fmt: skip
    asked = sparing_commands.Sparing(
        params, mtbf, mtbf_rack, mttr, given, blocking, required, simulate, robust, level, draws, seed,
        out is not None and out.is_dir(), plot is not None,
    )  # fmt: skip
    sparing_commands.sparing(asked, Output(json, out, plot))
