"""The store of a campaign's results: a folder of Parquet files, each complete or absent, for many writers at once.

``campaign.json`` has the campaign and who wrote it, ``cells.parquet`` the values of each cell, ``runs/*.parquet`` one
row per run (``cell``, ``replication``, the outputs), ``failed/*.parquet`` one row per run that failed.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from relfit.base.errors import ArgumentError, ReadError
from relfit.base.writing import complete
from relfit.simulation.campaigns.campaign import Cell, canonical

_FORMAT = 1
_KEYS = ("cell", "replication")
_LIBRARIES = ("relfit", "numpy", "scipy", "pandas", "numba")


@dataclass
class Block:
    """Finished runs: columns by name (``cell``, ``replication``, outputs or ``error``), of one length in each part."""

    runs: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    failed: list[tuple[int, int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Block) -> None:
        """Add the runs of another block."""
        self.runs += other.runs
        self.failed += other.failed
        self.seconds += other.seconds

    def packed(self) -> Block:
        """The same runs in one part, to be sent between processes."""
        names = dict.fromkeys(name for part in self.runs for name in part)
        columns = {
            name: np.concatenate([part.get(name, np.full(part["cell"].size, np.nan)) for part in self.runs])
            for name in names
        }
        return Block([columns] if columns else [], self.failed, self.seconds)

    @property
    def size(self) -> int:
        """Number of runs."""
        return sum(part["cell"].size for part in self.runs) + len(self.failed)


class CampaignStore:
    """The folder of one campaign."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.damaged: list[str] = []
        self._seen: set[str] = set()

    @property
    def document(self) -> dict[str, Any]:
        """The content of ``campaign.json``; a `ReadError` when the folder is no store."""
        place = self.folder / "campaign.json"
        try:
            document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            remedy = "name a folder that relfit sweep run --store wrote"
            what = f"this is not the store of a campaign: {getattr(error, 'strerror', None) or error}"
            raise ReadError(what, path=self.folder, remedy=remedy) from None
        form = document.get("format") if isinstance(document, dict) else None
        if form != _FORMAT or not {"campaign", "identity", "output", "versions"} <= set(document):
            what = f"campaign.json is damaged, or of another format than {_FORMAT}"
            raise ReadError(what, path=self.folder, remedy="use the version of relfit that wrote it")
        return document

    @property
    def cells(self) -> pd.DataFrame:
        """``cells.parquet``: one row per cell, also of those that no longer belong; a `ReadError` if it is damaged."""
        place = self.folder / "cells.parquet"
        try:
            return pq.read_table(place).to_pandas()
        except (pa.ArrowException, OSError):
            remedy = "remove this file, and run the same relfit sweep again: it writes it anew"
            raise ReadError("the cells are missing or damaged", path=place, remedy=remedy) from None

    def begin(self, document: Mapping[str, object], identity: object, output: str, cells: Sequence[Cell]) -> bool:
        """Create the store, or open one of the same campaign; whether it existed. Nothing is overwritten: an
        `ArgumentError` for the store of another campaign, or a folder with other files.
        """
        common = json.loads(canonical({"run": document["run"], "seed": document.get("seed", 0), "config": identity}))
        there = (self.folder / "campaign.json").exists()
        versions = {name: [version(name)] for name in _LIBRARIES} | {"python": [platform.python_version()]}
        if there:
            before = self.document
            differ = [name for name in common if before["identity"].get(name) != common[name]]
            if differ:
                which = f"its {' and '.join(differ)} differ{'s' if len(differ) == 1 else ''}"
                which += _changed_source(before["identity"].get("config"), common["config"])
                what = f"{self.folder} is the store of another campaign: {which}"
                raise ArgumentError(what, remedy="name another folder")
            versions = {n: list(dict.fromkeys([*before["versions"].get(n, []), *v])) for n, v in versions.items()}
        elif self.folder.is_dir():
            names = {each.name for each in self.folder.iterdir() if not each.name.startswith(".relfit-")}
            if strange := sorted(names - {"cells.parquet", "runs", "failed"}):
                raise ArgumentError(f"{self.folder} has other files, as {strange[0]}", remedy="name an empty folder")
        try:
            for kind in ("runs", "failed"):
                (self.folder / kind).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot make {self.folder}: {error.strerror}"
            raise ArgumentError(what, remedy="choose another place") from error
        self._write_cells(cells)
        everything = {"format": _FORMAT, "identity": common, "campaign": document, "output": output}
        everything["versions"] = versions
        if not there or everything != before:
            with complete(self.folder / "campaign.json") as part:
                part.write_text(json.dumps(everything, indent=1), encoding="utf-8")
        return there

    def _write_cells(self, cells: Sequence[Cell]) -> None:
        """The cells in their order; those of an earlier form of the campaign stay, as not belonging."""
        own = {cell.key for cell in cells}
        settings = pd.DataFrame([cell.settings for cell in cells])
        rows = [(cell.key, cell.experiment, True, json.dumps(cell.settings)) for cell in cells]
        fixed = pd.DataFrame(rows, columns=["cell", "experiment", "belongs", "settings"])
        table = pd.concat([fixed, settings.apply(_one_type).add_prefix("value.")], axis=1)
        place = self.folder / "cells.parquet"
        if place.exists():
            before = self.cells
            gone = before[~before["cell"].isin(own)].drop_duplicates("cell").assign(belongs=False)
            if not gone.empty:
                table = pd.concat([table, gone], ignore_index=True)
                table = table.assign(**{str(name): _one_type(table[name]) for name in table.filter(like="value.")})
            if table.equals(before):
                return
        with complete(place) as part:
            table.to_parquet(part, index=False)

    def write(self, block: Block, keys: Sequence[str]) -> None:
        """Write runs as files, synced to disk when this returns; all of them, or none and an `ArgumentError`."""
        for runs in block.packed().runs:
            names = pa.DictionaryArray.from_arrays(pa.array(runs["cell"].astype(np.int32)), pa.array(list(keys)))
            own = {"cell": names.cast(pa.string()), "replication": runs["replication"].astype(np.int32)}
            self._write_part("runs", pa.table({**runs, **own}))
        if block.failed:
            rows = [{"cell": keys[cell], "replication": int(r), "error": text} for cell, r, text in block.failed]
            self._write_part("failed", pa.Table.from_pylist(rows))

    def _write_part(self, kind: str, table: pa.Table) -> None:
        name = f"{time.time_ns()}-{secrets.token_hex(6)}.parquet"
        with complete(self.folder / kind / name) as part:
            pq.write_table(table, part, compression="zstd")
            with part.open("rb") as written:
                os.fsync(written.fileno())
        self._seen.add(f"{kind}/{name}")

    def new_rows(self) -> Iterator[pd.DataFrame]:
        """Cell and replication of the runs in files that were not read before."""
        for kind in ("runs", "failed"):
            for place in self._parts(kind):
                new = f"{kind}/{place.name}" not in self._seen
                self._seen.add(f"{kind}/{place.name}")
                if new and (table := self._read(place, list(_KEYS))) is not None:
                    yield table.to_pandas()

    def rows(self, kind: str = "runs", columns: Sequence[str] | None = None) -> pd.DataFrame:
        """All rows of one kind, each run once, in the order of cells and replications."""
        wanted = None if columns is None else [*_KEYS, *columns]
        tables = [table for place in self._parts(kind) if (table := self._read(place, wanted)) is not None]
        if not tables:
            return pd.DataFrame({"cell": pd.Series(dtype=str), "replication": pd.Series(dtype=np.int32)})
        frame = pa.concat_tables(tables, promote_options="permissive").to_pandas()
        frame = frame.sort_values(list(_KEYS), kind="stable", ignore_index=True)
        return frame.drop_duplicates(list(_KEYS), ignore_index=True)

    def _parts(self, kind: str) -> list[Path]:
        return sorted((self.folder / kind).glob("[!.]*.parquet"))

    def _read(self, place: Path, columns: list[str] | None) -> pa.Table | None:
        """A part; None, and its name among those damaged, where it is not complete."""
        try:
            file = pq.ParquetFile(place)
            names = file.schema_arrow.names
            return file.read(columns=None if columns is None else [name for name in columns if name in names])
        except (pa.ArrowException, OSError):
            name = f"{place.parent.name}/{place.name}"
            if name not in self.damaged:
                self.damaged.append(name)
            return None


def _changed_source(before: object, now: object) -> str:
    """Which modules of a function are not those of the store; nothing where this is not why they differ."""
    old, new = (each.get("source") if isinstance(each, dict) else None for each in (before, now))
    if old == new or not isinstance(new, dict):
        return ""
    if not isinstance(old, dict):
        return " (it was written before the modules of a function were compared)"
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return f" (the source of {', '.join(names)} was changed)"


def _one_type(column: pd.Series) -> pd.Series:
    """A column of one type, as Parquet needs: numbers, booleans, or text where types are mixed."""
    typed = column.infer_objects()
    if typed.dtype != object:
        return typed
    return column.map(lambda value: value if isinstance(value, str) else json.dumps(value), "ignore")
