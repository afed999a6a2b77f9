"""The command that fetches public failure logs and lists of jobs by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import relfit as rf
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.look import Json


def fetch(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A data set; lists all by default.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it too: a log as .parquet, jobs as .csv.")
    ] = None,
    cache: Annotated[Path | None, opt.option("FOLDER", "Folder for the files; the user's cache by default.")] = None,
    mirror: Annotated[str | None, opt.option("URL", "Fetch from here; files are checked, too.")] = None,
    timeout: Annotated[float, opt.option("SECONDS", "Seconds to wait for a silent source.")] = 30.0,
    json: Json = False,
) -> None:
    """Public failure logs and lists of jobs.

    What is fetched is checked and kept; every other command then reads it by its name, as in relfit info lanl.
    """
    jobs = rf.datasets.lists_jobs(name or "")
    output.check_destination(out, endings=(".csv",) if jobs else (".parquet",))
    if name is None:
        checked.without_effect({"--out": out, "--mirror": mirror}, "NAME", False)
        _list(cache, json)
        return
    data = rf.datasets.fetch(name, cache=cache, mirror=mirror, progress=sys.stderr.isatty(), timeout=timeout)
    is_log = isinstance(data, rf.FailureLog)
    if out is not None:
        write: Any = rf.write if is_log else rf.workloads.write_workload
        write(data, out)
    if json:
        content = {"log": data.info()} if is_log else {"workload": data.to_dict()}
        output.print_json(
            {"files": list(data.source.paths), "written": None if out is None else str(out), **content}, unit=None
        )
        return
    output.print_lines([repr(data), *(f"kept at {path}" for path in data.source.paths)])
    if out is not None:
        output.print_lines([f"written to {out}"])


def _list(cache: Path | None, json: bool) -> None:
    known = rf.datasets.public()
    there = {name: rf.datasets.is_fetched(name, cache) for name in known}
    if json:
        output.print_json(
            {"public": [{"name": name, "what": known[name], "fetched": there[name]} for name in known]}, unit=None
        )
    else:
        output.print_lines([f"{name:<11} {what}{' (fetched)' * there[name]}" for name, what in known.items()])
