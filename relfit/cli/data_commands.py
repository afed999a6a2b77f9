"""The commands that write logs and samples: convert, data, fetch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps


def convert(
    reading: opt.Reading,
    out: Annotated[Path, opt.out("PLACE", "A .parquet file, or with --by a folder.")],
    by: str | None = opt.option("year|month|system", "Write one file for each, in a folder."),
    json: opt.Json = False,
) -> None:
    """Write any log as Parquet."""
    if by is None:
        if out.suffix.lower() != ".parquet":
            why = "convert writes relfit's own Parquet, which holds the whole log"
            remedy = "name a .parquet file; relfit incidents LOG --out FILE.csv writes a table of its incidents, and "
            remedy += "rf.write(log, 'FILE.csv') in Python its events"
            raise ArgumentError(f"--out {out} does not end in .parquet: {why}", remedy=remedy)
        output.check_destination(out, endings=(".parquet",))
    else:
        checked.choice("--by", by, ("year", "month", "system"))
    with ProgressSteps("reading", "writing") as steps:
        log = reading.read(tell=False)
        steps.next()
        place = rf.io.write(log, out, by=by)
    if json:
        output.print_json({"written": str(place), "log": log.info()})
    else:
        output.print_lines([repr(log), f"written to {place}"])


def data(
    name: str | None = opt.argument("[NAME]", "A bundled sample."),
    json: opt.Json = False,
    out: opt.Out = None,
) -> None:
    """List or write the bundled samples."""
    output.check_destination(out)
    listing = rf.datasets.listing()
    names = [str(known) for known in listing["name"]]
    if name is not None and name not in names:
        raise ArgumentError(f"no bundled sample {name!r}", remedy=f"use {', '.join(names)}")
    if name is None and out is not None and len(names) > 1:
        raise ArgumentError("--out needs the name of a sample", remedy=f"use one of {', '.join(names)}")
    if out is not None:
        log = rf.datasets.load(name or names[0])
        if out.suffix.lower() in (".parquet", ".csv"):
            rf.write(log, out)
        else:  # the events
            output.write_table(log.events.drop(columns=["start_cut", "end_cut", "line"]), out)
    shown = listing if name is None else listing[listing["name"].astype(str) == name]
    if json:
        output.print_json({"samples": shown.reset_index(drop=True)})
        return
    output.print_lines([*output.table(shown), *output.told(out)])


def fetch(
    name: str | None = opt.argument("[NAME]", "A data set; lists all by default."),
    out: Path | None = opt.out("FILE", "Write it too: a log as .parquet, jobs as .csv."),
    cache: Path | None = opt.option("FOLDER", "Folder for the files; the user's cache by default."),
    mirror: str | None = opt.option("URL", "Fetch from this mirror; checksums are verified, too."),
    timeout: float = opt.option("SECONDS", "Seconds to wait for a source that does not respond.", 30.0),
    json: opt.Json = False,
) -> None:
    """Public failure logs and lists of jobs.

    Files are verified and cached; every other command then reads them by name, as in relfit info lanl.
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
        written = None if out is None else str(out)
        output.print_json({"files": list(data.source.paths), "written": written, **content}, unit=None)
        return
    output.print_lines([repr(data), *(f"kept at {path}" for path in data.source.paths), *output.told(out)])


def _list(cache: Path | None, json: bool) -> None:
    known = rf.datasets.public()
    there = {name: rf.datasets.is_fetched(name, cache) for name in known}
    if json:
        sets = [{"name": name, "what": what, "fetched": there[name]} for name, what in known.items()]
        output.print_json({"public": sets}, unit=None)
    else:
        output.print_lines([f"{name:<11} {what}{' (fetched)' * there[name]}" for name, what in known.items()])
