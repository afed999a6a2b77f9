"""The command that says what an installation has: versions, cores, compiled functions, what is missing."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from relfit import __version__
from relfit.cli import options as opt
from relfit.cli import output

_PACKAGE = Path(__file__).parents[1]
_NEEDED = (
    *("numpy", "scipy", "pandas", "pyarrow", "numba", "matplotlib", "jinja2", "pydantic", "typer", "rich", "lifelines"),
)
_OPTIONAL = {
    "pooch": ("relfit fetch", "datasets"),
    "requests": ("relfit fetch", "datasets"),
    "dask": ("tables larger than memory", "dask"),
    "distributed": ("tables larger than memory", "dask"),
}


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
