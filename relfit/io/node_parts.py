"""Stored logs partitioned by node, in bounded memory: each part is a log with all records of its nodes.

The hash of system and node decides the part of a row, so the rows of a node may be in any files and in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.errors import DataError
from relfit.base.numeric.worker_processes import in_processes
from relfit.base.paths import files_meant
from relfit.io.frames import text_column
from relfit.io.merging import joint_window, merge
from relfit.io.parsing.opening import Content, members
from relfit.io.relfit_parquet import damage_named, events_keep_the_rules, opened, population_keeps_the_rules, recognises
from relfit.log.failurelog import FailureLog
from relfit.log.tables import EVENT_COLUMNS, POPULATION_COLUMNS, Source, Window

_ROWS = 1_000_000  # rows per part
_MOST_PARTS = 256  # files that a process has open
_TEXT = ("system", "node", "cause", "scope")
_STAMPS = ("start", "end", "entered", "left")


def _schema(names: Sequence[str]) -> pa.Schema:
    kinds = {**dict.fromkeys(_TEXT, pa.string()), **dict.fromkeys(_STAMPS, pa.timestamp("ns", tz="UTC"))}
    return pa.schema([(name, kinds.get(name, pa.bool_())) for name in names])


_EVENTS, _PEOPLE = _schema((*_TEXT, "start", "end", "start_cut", "end_cut")), _schema(POPULATION_COLUMNS)


@dataclass(frozen=True)
class NodeParts:
    """The ``number`` parts of a log in a folder, each written by as many processes as there are ``shares``; ``files``
    counts those of the log, ``records`` its rows of events and ``ended`` those with an end.
    """

    folder: Path
    number: int
    shares: int
    files: int
    records: int
    ended: int
    window: Window
    timezone: str

    def log(self, part: int) -> FailureLog:
        """The log of the nodes of a part, as `relfit.read` of all files gives it, but without details and lines."""
        events = self._frame("events", part, _EVENTS)
        events = events.assign(detail=text_column(pd.Series([None] * len(events))), line=0)
        people = self._frame("people", part, _PEOPLE)
        log = FailureLog(
            events[list(EVENT_COLUMNS)], people, self.window, source=Source(timezone=self.timezone, format="relfit")
        )
        return merge([log]) if self.files > 1 else log

    def _frame(self, what: str, part: int, schema: pa.Schema) -> pd.DataFrame:
        tables = []
        for share in range(self.shares):
            with pa.OSFile(str(_place(self.folder, what, part, share))) as file, pa.ipc.open_stream(file) as reader:
                tables.append(reader.read_all())
        table = pa.concat_tables(tables)
        for i, name in enumerate(table.column_names):
            if name in _TEXT:
                kinds = table[name].dictionary_encode().unify_dictionaries()
                table = table.set_column(i, name, kinds.combine_chunks() if kinds.num_chunks else kinds)
        frame: pd.DataFrame = table.to_pandas()
        return frame


def set_apart(path: str | Path | Sequence[str | Path], folder: Path, workers: int = 1) -> NodeParts:
    """Write the rows of `relfit.write`'s files to an empty folder, by their nodes; it needs thrice the space."""
    places = [path] if isinstance(path, (str, Path)) else list(path)
    contents = [content for place in places for file in files_meant(place) for content in members(file)]
    sizes, windows, zones = [], [], set()
    for content in contents:
        if not recognises(content):
            raise content.error(
                "this is not a log that relfit wrote", "write it as one first: relfit convert LOG --out FILE.parquet"
            )
        with damage_named(content):
            stored = opened(content)
            meta = stored.file.metadata
            sizes.append([meta.row_group(i).num_rows for i in range(meta.num_row_groups)])
            windows.append(stored.window)
            zones.add(stored.source.timezone)
        if "lifetimes" in stored.streams:
            raise content.error(
                "this log holds complete lifetimes, which are not read part by part", "fit it in memory"
            )
    records = sum(map(sum, sizes))
    if not records:
        raise DataError(f"{path} holds no event", remedy="name a folder of logs that relfit wrote")
    number = int(min(-(-records // _ROWS), _MOST_PARTS))
    units = [(content, i) for content, groups in zip(contents, sizes, strict=True) for i in range(-1, len(groups))]
    # each share is a contiguous run of rows, so that parts keep their order
    rows = np.array([count for groups in sizes for count in (0, *groups)])
    share = np.minimum((np.cumsum(rows) - rows) * workers // records, workers - 1)
    tasks = [([units[i] for i in np.flatnonzero(share == each)], folder, number, each) for each in range(workers)]
    ended = sum(in_processes(_scatter, tasks, workers))
    zone = zones.pop() if len(zones) == 1 else "UTC"
    return NodeParts(folder, number, workers, len(contents), records, ended, joint_window(windows), zone)


def _place(folder: Path, what: str, part: int, share: int) -> Path:
    return folder / f"{what}-{part}-{share}.arrow"


def _scatter(units: Sequence[tuple[Content, int]], folder: Path, number: int, share: int) -> int:
    """Write row groups (-1: the population) to the parts of one share; returns the number of events with an end."""
    ended = 0
    with ExitStack() as stack:
        writers = {
            (schema, part): stack.enter_context(_writer(_place(folder, what, part, share), schema, stack))
            for what, schema in (("events", _EVENTS), ("people", _PEOPLE))
            for part in range(number)
        }
        for content, of_file in groupby(units, itemgetter(0)):
            with damage_named(content):
                stored = opened(content)
                for _, group in of_file:
                    if group < 0:
                        schema, frame = _PEOPLE, stored.frame("population")
                        good = population_keeps_the_rules(frame)
                        table = pa.Table.from_pandas(frame[list(POPULATION_COLUMNS)], preserve_index=False)
                    else:
                        schema = _EVENTS
                        table = stored.file.read_row_group(group, schema.names, use_threads=False)
                        good = events_keep_the_rules(table.select(["start", "end"]).to_pandas())
                        ended += len(table) - table["end"].null_count
                    if not good:
                        raise ValueError
                    for part, rows in _divided(table.select(schema.names), schema, number):
                        writers[schema, part].write_table(rows)
    return ended


def _writer(place: Path, schema: pa.Schema, stack: ExitStack) -> Any:
    file = stack.enter_context(pa.OSFile(str(place), "wb"))
    return pa.ipc.new_stream(file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


def _divided(table: pa.Table, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each part, in their order."""
    part = (_hashed(table["system"]) * np.uint64(0x9E3779B97F4A7C15) + _hashed(table["node"])) % np.uint64(number)
    order = np.argsort(part.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(part.astype(np.int64), minlength=number))
    sorted_rows = table.take(pa.array(order)).cast(schema)
    for i, (begin, end) in enumerate(zip((0, *ends[:-1]), ends, strict=True)):
        if end > begin:
            yield i, sorted_rows.slice(begin, end - begin)


def _hashed(column: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """A number for each text, the same in every process; 0 where it is missing."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    coded = column.unify_dictionaries().combine_chunks()
    kinds = pd.util.hash_array(coded.dictionary.cast(pa.string()).to_numpy(zero_copy_only=False), categorize=False)
    codes = pc.fill_null(coded.indices, len(kinds)).to_numpy(zero_copy_only=False)
    return np.asarray(np.append(kinds, np.uint64(0))[codes], dtype=np.uint64)
