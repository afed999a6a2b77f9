"""``relfit fit --stream``: fits of every node of logs that are larger than memory."""

from __future__ import annotations

from pathlib import Path

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.fitting_options import Fitting
from relfit.cli.progress import ProgressSteps


def fit_in_parts(
    reading: opt.PeriodReading, fitting: Fitting, families: list[str], json: bool, out: Path | None
) -> None:
    """Fit part by part, and say what was written."""
    for name in (*opt.OF_A_FILE, "strict", "where"):
        if getattr(reading, name):
            raise ArgumentError(
                f"--{name.replace('_', '-')} does not go with --stream", remedy="give it to relfit convert, before"
            )
    if not Path(reading.log).exists() and reading.is_named:
        raise ArgumentError(
            f"--stream takes a log in files, not a data set by its name, {reading.log}",
            remedy=f"relfit convert {reading.log} --out FILE.parquet writes it as one",
        )
    parquet = out is not None and out.suffix.lower() == ".parquet"
    checked.without_effect({"--stream": True}, "--out FILE.parquet", parquet)
    checked.without_effect({"--stream": True}, "--per node", fitting.per == "node")
    for name, value in (("interval", fitting.interval), ("ahead", fitting.ahead)):
        checked.without_effect({"--stream": True}, f"no --{name}", value is None)
    if fitting.resamples.strip().lower() not in ("auto", "0"):
        raise ArgumentError("--resamples does not go with --stream", remedy="leave it out: none are drawn")
    span = reading.span()
    if span == "stable":
        raise ArgumentError(
            "--stream looks for no stable period", remedy="add --period all, or --since and --until, or FROM/TO"
        )
    since, until = (reading.since, reading.until) if isinstance(span, str) else span
    if reading.cut and span != "all":
        raise ArgumentError("--stream takes one period", remedy="leave out --period, or --since and --until")
    assert out is not None
    with ProgressSteps("setting nodes apart", "fitting") as steps:
        result = rf.fitting.fit_stored(
            reading.log,
            out,
            families,
            measure=fitting.measure,
            censor=not fitting.no_censor,
            first=reading.first,
            since=since,
            until=until,
            method=fitting.method,
            bias_correction=fitting.bias_correction,
            level=fitting.level,
            progress=steps.say,
        )
    if json:
        output.print_json(result.to_dict())
        return
    left_out = ", ".join(f"{name} {number}" for name, number in result.left_out.items())
    output.print_lines(
        [
            result.headline,
            *([f"left out: {left_out}"] if left_out else []),
            *result.notes,
            "",
            "Nodes by status of their fit",
            *output.table(result.status.reset_index()),
        ]
    )
