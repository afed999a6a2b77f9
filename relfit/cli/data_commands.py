"""The commands about what is installed and stored: convert, data, fetch, doctor."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

import relfit as rf
from relfit import __version__
from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

_PACKAGE = Path(__file__).parents[1]
_NEEDED = (
    *("numpy", "scipy", "pandas", "pyarrow", "numba", "matplotlib", "jinja2", "pydantic", "typer", "rich", "lifelines"),
)
_OPTIONAL = {
    "pooch": ("relfit fetch", "datasets"),
    "requests": ("relfit fetch", "datasets"),
    "dask": ("tables larger than memory", "dask"),
    "distributed": ("tables larger than memory", "dask"),
    "duckdb": ("relfit watch", "live"),
    "sqlalchemy": ("relfit watch with databases", "live"),
}


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
    name: str | None = opt.argument("[NAME]", "A bundled sample."), json: opt.Json = False, out: opt.Out = None
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


def doctor(json: opt.Json = False) -> None:
    """What this installation has and lacks.

    Ends with status 1 if a package is missing or compiled functions cannot be cached.
    """
    needed = {name: _version(name) for name in _NEEDED}
    optional = {name: _version(name) for name in _OPTIONAL}
    folder, writable = _cache_folder()
    below = _PACKAGE if folder.is_relative_to(_PACKAGE) else folder
    compiled = sum(1 for _ in below.rglob("*.nbc"))
    problems = [f"{name} is missing: pip install {name}" for name, number in needed.items() if number is None]
    if not writable:
        costs = "each run takes some seconds more; set NUMBA_CACHE_DIR to a folder of your own"
        problems.append(f"compiled functions cannot be cached in {folder}: {costs}")
    absent = {name: about for name, about in _OPTIONAL.items() if optional[name] is None}
    notes = [f"{name} is not installed ({use}): pip install 'relfit[{extra}]'" for name, (use, extra) in absent.items()]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    python, system = platform.python_version(), platform.platform()
    cache = {"folder": str(folder), "writable": writable, "compiled_functions": compiled}
    if json:
        about = {"relfit": __version__, "python": python, "executable": sys.executable, "platform": system}
        versions = {"cores": cores, "needed": needed, "optional": optional}
        output.print_json({**about, **versions, "cache": cache, "problems": problems, "notes": notes}, unit=None)
    else:
        state = f"{compiled} compiled functions" if compiled else "nothing compiled yet: the first command takes longer"
        there = [f"{name} {number}" for name, number in {**needed, **optional}.items() if number is not None]
        first = f"{problems[0][:1].upper()}{problems[0][1:]}." if problems else "All required packages are installed."
        of_cache = f"cache: {folder} ({'can be written' if writable else 'cannot be written'}; {state})"
        about_this = f"relfit {__version__}, Python {python}, {cores} cores, {system}"
        output.print_lines([first, *problems[1:], *notes, about_this, ", ".join(there), of_cache])
    if problems:
        raise typer.Exit(1)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache_folder() -> tuple[Path, bool]:
    """Where numba keeps what it compiles of relfit, and whether that can be written."""
    own = os.environ.get("NUMBA_CACHE_DIR")
    candidates = [Path(own)] if own else [_PACKAGE / "__pycache__", Path.home() / ".cache" / "numba"]
    for folder in candidates:
        nearest = next(place for place in (folder, *folder.parents) if place.exists())
        if nearest.is_dir() and os.access(nearest, os.W_OK):
            return folder, True
    return candidates[0], False
