"""The first settings of a watch: the logs that there are, what they hold, and how to run a round every day."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w

from relfit.base.errors import ArgumentError
from relfit.base.paths import files_meant
from relfit.base.settings_advice import in_settings
from relfit.base.writing import complete
from relfit.io import read
from relfit.live.sources.file_source import FileSource, watched_part
from relfit.live.sources.source_base import of_extra
from relfit.live.watch_settings import read_watch_settings
from relfit.log.hints_of_rows import hints

_LOOKED_FOR = ("logs", "*.csv", "*.parquet", "*.log")
_LATELY = pd.Timedelta("90d")  # a table that ends before is not written any more
_WAIT = 10.0  # seconds to wait for Slurm's first answer


def write_settings(
    places: Sequence[str],
    out: Path,
    *,
    fleet: str | None = None,
    columns: Mapping[str, str] | None = None,
    timezone: str | None = None,
    nodes: int | None = None,
    population: Path | None = None,
    where: Mapping[str, list[str]] | None = None,
    timer: bool = False,
) -> list[str]:
    """Write the settings of a watch over logs; returns lines on what the logs hold and what to do next, cron's last.

    `places` are files, folders or patterns; without any, common ones in the folder of `out`, and Slurm. `nodes` is
    their number, or `population` a table of all, where no source lists them; `columns` as for `relfit.read`; `where`
    has the values of columns that are watched, or of columns with ``!`` at their end those that are not. A `timer`
    for systemd is written beside it. An `ArgumentError` when `out` exists, or there is nothing to watch; a `ReadError`
    names the option by which a log can be read; a `RelfitError` where DuckDB, which keeps the store, is not installed.
    """
    of_extra("duckdb")
    if out.exists():
        raise ArgumentError(f"{out} is there already", remedy="change it, or name another file with --out")
    if population is not None and not Path(population).is_file():
        raise ArgumentError(f"{population}: no such file", remedy="give --population the table of the nodes")
    folder = out.resolve().parent
    sources: list[dict[str, Any]] = []
    lines, ends = list[str](), list[pd.Timestamp]()
    start = Path.cwd() if places else folder
    listed = None if population is None else _as_written(Path.cwd() / population, folder)
    for place in places or [place for place in _LOOKED_FOR if _files(folder / place)]:
        written = _as_written(start / place, folder)
        chosen = {name: each[0] if len(each) == 1 else each for name, each in (where or {}).items()}
        own = {"population": listed, "where": chosen, "columns": dict(columns or {})}
        sources.append({"kind": "file", "path": written, **{name: value for name, value in own.items() if value}})
        reading = {**(columns or {}), "timezone": timezone, "n_nodes": nodes, "population": population}
        told, end = _said_of(folder / written, reading, chosen)
        lines += told
        ends += [end] if end is not None else []
    if not places and shutil.which("sacctmgr"):
        if answers := _slurm_answers():
            sources.append({"kind": "slurm"})
        lines.append(f"Slurm: {'its events, by sacctmgr' if answers else 'left out: sacctmgr does not answer'}")
    if not sources:
        raise ArgumentError("no log to watch was found", remedy="name files or a folder: relfit watch init logs")
    document: dict[str, Any] = {"store": "fleet.duckdb", "fleet": fleet or folder.name}
    document |= {name: value for name, value in {"timezone": timezone, "nodes": nodes}.items() if value}
    if ends and pd.Timestamp.now(tz="UTC") - max(ends) < _LATELY:  # tables do not say until when all is in them
        document["observed_until"] = "now"
        lines.append("all counts as in the tables until the time of each round; else remove observed_until")
    document |= {"sources": sources, "alarms": {"per_year": 4.0}, "outputs": {"page": "today.html"}}
    with complete(out) as part:
        part.write_text(tomli_w.dumps(document), encoding="utf-8")
    read_watch_settings(out)
    lines.append(f"written to {out}")
    command = [sys.executable, "-m", "relfit", "watch", "run", str(out.resolve())]
    if timer:
        lines += _write_timer(command, folder)
    lines += [f"now: relfit watch run {shlex.quote(str(out))}", "for cron, which mails to MAILTO what is printed:"]
    return [*lines, f"0 6 * * * {shlex.join(command)} --quiet".replace("%", r"\%")]


def _slurm_answers() -> bool:
    try:
        return not subprocess.run(["sacctmgr", "-nP", "show", "cluster"], capture_output=True, timeout=_WAIT).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


def _files(place: Path) -> list[Path]:
    with suppress(OSError):
        return [file for file in files_meant(place) if file.is_file()]
    return []


def _as_written(place: Path, folder: Path) -> str:
    """The path relative to the folder of the settings; a folder as the pattern of its files."""
    if place.is_dir():
        endings = {"".join(file.suffixes[-2:]) for file in _files(place)}
        place = place / (f"*{endings.pop()}" if len(endings) == 1 else "*")
    return str(place.relative_to(folder) if place.is_relative_to(folder) else place)


def _said_of(
    place: Path, reading: Mapping[str, Any], where: Mapping[str, object]
) -> tuple[list[str], pd.Timestamp | None]:
    """Lines on a log, by its last file, with the question that it leaves open; and the end of a table, if unknown."""
    files = _files(place)
    if not files:  # it is still to come
        return [f"{place}: no such file yet"], None if "window_end" in reading else pd.Timestamp.now(tz="UTC")
    log = watched_part(read(files[-1], **reading), where)
    asked = [f"question: {log.question}"] if log.question else []
    told = [in_settings(note, FileSource.model_fields) for note in (*hints(log), *log.source.notes[:3], *asked)]
    end = log.window.end if log.source.format == "table" and not log.window.end_known else None
    return [f"{place}: {log!r}", *(f"  {text}" for text in told)], end


def _write_timer(command: Sequence[str], folder: Path) -> list[str]:
    # systemd expands % and $ in a command
    quoted = " ".join(
        '"{}"'.format(word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$"))
        for word in command
    )
    for name in ("relfit-watch.service", "relfit-watch.timer"):
        text = resources.files("relfit.live").joinpath(f"files/{name}").read_text(encoding="utf-8")
        with complete(folder / name) as part:
            part.write_text(text.replace("{command}", quoted), encoding="utf-8")
    return [
        f"relfit-watch.service and relfit-watch.timer written to {folder}: "
        "systemctl --user enable --now relfit-watch.timer, once they are in ~/.config/systemd/user"
    ]
