"""Files that grow, are corrected, rotated or exported again: those that changed are read again completely."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import pandas as pd
from pydantic import Field

from relfit.base.errors import AbsentValueError, RelfitError
from relfit.base.paths import files_meant
from relfit.base.settings_advice import in_settings
from relfit.base.text import count, on_one_line
from relfit.io import READERS, read
from relfit.io.parsing.opening import members
from relfit.io.parsing.rows import NoRowsError
from relfit.live.live_records import Fetched
from relfit.live.sources.source_base import FilePath, SourceBase, SourceError
from relfit.log.failurelog import FailureLog

_SETTLED = 2.0  # seconds after which another change also changes the file's time
_NAMED = 3  # unreadable files named
_TABLES = ("file", "tickets")  # kinds of source whose tables do not become empty; a log may, when it is rotated


class FileSource(SourceBase):
    """A file, a folder or a pattern of files, in any format that `relfit.read` knows."""

    kind: Literal["file"]
    path: FilePath = Field(description="a file, a folder, or a pattern such as logs/*.csv")
    format: str | None = Field(None, description="as for relfit.read; recognised when left out")
    columns: dict[str, Any] = Field(default_factory=dict, description="of tables: node = 'hostname' and so on")
    rules: FilePath | None = Field(None, description="of raw logs: what counts as a failure")
    nodeless: str | None = Field(None, description="what records without a node are: system, node or ignore")
    population: FilePath | None = Field(None, description="a table of the nodes that the files are of")
    where: dict[str, Any] = Field(
        default_factory=dict, description='the part that is watched: system = "gpu", "cause!" = "x"'
    )
    max_size: str | None = Field(None, description="bytes that a file may have, as 32GB")

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """The logs of all files that changed since the last round, each under its name."""
        fetched = fetched_documents(self, self.path, cursor, self._read, self._groups)
        return replace(fetched, listed=self.population is not None)

    def _groups(self, files: Sequence[Path]) -> list[list[Path]]:
        """Files to read together: tables one by one, raw logs all at once, as outages continue from one to the next."""
        if len(files) < 2 or self.format == "table" or self.columns:
            return _one_by_one(files)
        with suppress(RelfitError, OSError):
            head = members(files[0])[0]
            for reader in READERS:
                if self.format == reader.name or (not self.format and reader.recognises(head)):
                    return _one_by_one(files) if hasattr(reader.read, "__wrapped__") else [list(files)]
        return _one_by_one(files)

    def _read(self, files: Sequence[Path]) -> FailureLog:
        names = ("format", "timezone", "nodeless", "max_size", "rules", "population")
        own = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        log = read(list(files), **{**own, **self.columns})
        return watched_part(log, self.where)


def watched_part(log: FailureLog, where: Mapping[str, object]) -> FailureLog:
    """The part of a log with these values, or without those of a column with ``!`` at its end; such may be absent."""
    for column, wanted in where.items():
        values = [None if each == "" else each for each in (wanted if isinstance(wanted, list) else [wanted])]
        if not column.endswith("!"):
            log = log.where({column: values})
            continue
        with suppress(AbsentValueError):
            log = log.without({column[:-1].rstrip(): values})
    return log


def _one_by_one(files: Sequence[Path]) -> list[list[Path]]:
    return [[file] for file in files]


def fetched_documents(
    source: SourceBase,
    path: str,
    cursor: Mapping[str, object],
    reader: Callable[[Sequence[Path]], FailureLog],
    groups: Callable[[Sequence[Path]], Sequence[Sequence[Path]]] = _one_by_one,
) -> Fetched:
    """Documents of changed files, one per group read together; a `SourceError` carries the content of the others."""
    changed, state, held = _changed_files(path, cursor)
    shown = getattr(path, "short", str)
    documents: list[tuple[str, FailureLog]] = []
    failures: list[str] = []
    for group in groups(changed):
        names = [shown(file) for file in group]
        try:
            log = reader(group)
        except (RelfitError, OSError) as error:
            if isinstance(error, NoRowsError) and not held.intersection(names):  # a new log, or no matching line
                continue
            failures.append(on_one_line(in_settings(error, type(source).model_fields)))
            for name in names:
                state.pop(name, None)
            continue
        # other files that change together are another document, which says nothing of the rest
        several = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
        documents.append((names[0] if len(group) == 1 else f"{source.title} {several}", log))
        if source.kind in _TABLES and log.source.format == "table":
            held.update(names)
    notes = documents[-1][1].source.notes if documents else ()
    form = form_of(documents[-1][1]) if documents else ""
    fetched = Fetched(None, {"files": state, "held": sorted(held)}, form, notes, tuple(documents))
    if failures:
        more = f" (and {len(failures) - _NAMED} more)" if len(failures) > _NAMED else ""
        raise SourceError("; ".join(failures[:_NAMED]) + more, fetched=fetched)
    return fetched


def _changed_files(path: str, cursor: Mapping[str, object]) -> tuple[list[Path], dict[str, list[int]], set[str]]:
    """Files of a path that changed; the state of all, bytes and time by name; tables that had rows under that name."""
    shown = getattr(path, "short", str)
    before: Any = cursor.get("files", {})
    state: dict[str, list[int]] = {}
    changed = []
    try:
        files = files_meant(path)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from None
    for file in files:
        try:
            about = file.stat()
        except OSError as error:
            if len(files) == 1:
                raise SourceError(f"{file}: {error.strerror or error}") from None
            continue  # rotated since the folder was listed; it is read under its new name
        now = [about.st_size, about.st_mtime_ns]
        if before.get(shown(file)) != now:
            changed.append(file)
        # a change right after this one may not change the time
        state[shown(file)] = now if time.time() - about.st_mtime > _SETTLED else [about.st_size, 0]
    if not files:
        raise SourceError(f"{path}: no file matches")
    moved, had = [state[shown(file)] for file in changed], cast("list[str]", cursor.get("held", []))
    held = {name for name in had if name in state and before.get(name) not in moved}
    return [file for file in changed if state[shown(file)][0] or shown(file) in held], state, held


def form_of(log: FailureLog) -> str:
    """The format of a log and its attributes, as ``table: rack``, to notice that they change."""
    names = log.attributes
    shown = ", ".join(sorted(names)) if len(names) <= 50 else f"{count(len(names), 'column')} of its own"
    return f"{log.source.format}: {shown}"
