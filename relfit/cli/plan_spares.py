"""The command ``relfit plan spares``: how many hot spares a job needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.plan_commands import rate_source, show_plan

_DRAWS = 200


def spares(
    to: opt.Output,
    params: Annotated[
        Path | None,
        typer.Argument(metavar="[PARAMS]", help="Parameters, as relfit calibrate writes them (.toml or .json)."),
    ] = None,
    mtbf: Annotated[
        str | None, opt.option("TIME", "Mean time between failures of one node, as 20000h, 2%AFR or 500FIT.")
    ] = None,
    mttr: Annotated[str | None, opt.option("TIME", "Mean time to repair; that of PARAMS by default.")] = None,
    job: Annotated[int | None, opt.option("N", "Nodes of the job, without the spares (required).", min=1)] = None,
    blocking: Annotated[float, opt.option("P", "Share of the time that the job may wait for a node.")] = 0.01,
    level: opt.Level = 0.95,
    draws: Annotated[int, opt.option("N", "Number of draws of uncertain parameters.", min=2, max=10_000)] = _DRAWS,
    seed: opt.Seed = 0,
    details: opt.Details = False,
) -> None:
    """How many hot spares a job needs.

    --out writes one row per number of spares.
    """
    output.check_output(to)
    if job is None:
        raise ArgumentError("--job is missing", remedy="write --job 128 or the like")
    plan = rf.planning.plan_spares(
        rate_source(params, mtbf),
        job,
        checked.probability("--blocking", blocking),
        repair=mttr,
        n_draws=draws,
        level=checked.probability("--level", level),
        rng=seed,
    )
    show_plan(plan, "Share of the time that the job waits, by number of spares", [], to, (), details=details)
