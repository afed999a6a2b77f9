"""A `FailureLog` in one Parquet file: the events are the table, everything else is in the schema's metadata.

Any Parquet reader shows the events. relfit reads back the same log: the other tables are stored as Arrow streams, the
window and the source as JSON.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pandas.api.extensions import ExtensionDtype
from pyarrow import parquet

from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.writing import complete, guarded_table
from relfit.io.parsing.opening import MAX_SIZE, Content
from relfit.io.reader import Reader, one_by_one
from relfit.log.failurelog import FailureLog, Source, Window
from relfit.log.tables import check_log

_NAME = "relfit"
_MARK = b"relfit.log"
_VERSION = 1
_LONGEST = 50  # characters of a system in the name of a file
_TABLES = ("population", "rejected", "lifetimes")
_DAMAGES = (pa.ArrowException, MemoryError, OverflowError, RecursionError, OSError, ValueError, LookupError)


def write(log: FailureLog, path: str | Path, *, by: str | None = None) -> Path:
    """Write a log; the file is complete or absent.

    Parameters
    ----------
    log : FailureLog
    path : str or Path
        A ``.parquet`` file, or with `by` a new or empty folder. A ``.csv`` file has only the events, those that go on
        without an end, and no nodes that never failed, no window and no rejected rows.
    by : {"year", "month", "system"}, optional
        Write one file for each, as ``2003.parquet``, ``2003-07.parquet`` or ``system-20.parquet`` (with the nodes of
        that system alone); `relfit.read` of the folder gives the log back,
        and that of one month or year this period of it.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    ArgumentError
        For another ending, a folder that does not exist or is not writable or, with `by`, one that is not empty.
    DataError
        When Parquet cannot hold a text, or the log has no events to write as a table.
    """
    check_log(log)
    place = Path(path)
    if by is not None:
        return _write_parts(log, place, by)
    if place.suffix.lower() == ".csv":
        return _write_events(log, place)
    if place.suffix.lower() != ".parquet":
        remedy = "write to .parquet, which holds everything, or the events to .csv"
        raise ArgumentError(f"{place} does not end in .parquet or .csv", remedy=remedy)
    return _write_log(log, place)


def _write_log(log: FailureLog, path: Path, part: dict[str, object] | None = None) -> Path:
    """Write a log, or a `part` of one: how many there are, and the period of this one."""
    table = pa.Table.from_pandas(log.events, preserve_index=False)
    source = asdict(log.source)
    if not log.source.left_out:  # relfit 0.4 does not know this entry
        del source["left_out"]
    window = log.window
    frames = {"events": log.events, **{name: getattr(log, name) for name in _TABLES if getattr(log, name) is not None}}
    document = {
        "categorical": _columns_of_kind(frames, lambda kind: isinstance(kind, pd.CategoricalDtype)),
        "object": _columns_of_kind(frames, pd.api.types.is_object_dtype),
        "version": _VERSION,
        "source": source,
        **({} if part is None else {"part": part}),
        "window": {
            "start": None if pd.isna(window.start) else window.start.isoformat(),
            "end": None if pd.isna(window.end) else window.end.isoformat(),
            "start_known": bool(window.start_known),
            "end_known": bool(window.end_known),
            **({} if window.log_end is None else {"log_end": window.log_end.isoformat()}),
        },
    }
    streams = {name: _to_stream(frames[name]) for name in _TABLES if name in frames}
    document["sha256"] = {name: hashlib.sha256(stream).hexdigest() for name, stream in streams.items()}
    metadata = {**(table.schema.metadata or {}), _MARK: json.dumps(document).encode()}
    metadata |= {_MARK + b"." + name.encode(): stream for name, stream in streams.items()}
    try:
        with complete(path) as new:
            parquet.write_table(
                table.replace_schema_metadata(metadata), new, compression="zstd", write_page_checksum=True
            )
    except pa.ArrowException as error:
        raise DataError(
            f"this log cannot be written as Parquet: {error}", path=path, remedy="check its text columns"
        ) from error
    return path


def _write_events(log: FailureLog, place: Path) -> Path:
    """The events as a table; what goes on has no end."""
    if log.events.empty:
        raise DataError("the log has no events with dates", path=place, remedy="write it to .parquet")
    events = log.events.assign(end=log.events["end"].mask(log.events["end_cut"].astype(bool)))
    with complete(place) as part:
        guarded_table(events.drop(columns=["start_cut", "end_cut", "line"])).to_csv(part, index=False)
    return place


def _write_parts(log: FailureLog, folder: Path, by: str) -> Path:
    """Write one file per part of the events; the first holds the counts and the rejected rows."""
    if by not in ("year", "month", "system"):
        raise ArgumentError(f"by={by!r} is not known", remedy="use year, month or system")
    if by == "system":
        systems = {
            name: frame["system"].astype(object).fillna("missing").astype(str) for name, frame in log.tables.items()
        }
        names = _file_names(pd.concat(list(systems.values())).unique())
        keys = {name: of.map(names) for name, of in systems.items()}
    else:
        keys = {"events": log.events["start"].dt.strftime("%Y" if by == "year" else "%Y-%m")}
    parts = sorted(pd.concat(list(keys.values())).unique()) or ["empty"]
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"cannot make {folder}: {error.strerror}", remedy="choose another place") from None
    if any(folder.iterdir()):
        raise ArgumentError(f"the folder {folder} is not empty", remedy="name a new one")
    nothing = replace(log.source, rows_read=0, rows_kept=0, rows_deselected=0, left_out=())
    for i, key in enumerate(parts):
        mine = {name: log.tables[name][(of == key).to_numpy()].reset_index(drop=True) for name, of in keys.items()}
        rejected, source = (log.rejected, log.source) if i == 0 else (log.rejected.iloc[:0], nothing)
        part = {"parts": len(parts), "period": key} if by != "system" and key != "empty" else None
        _write_log(replace(log, rejected=rejected, source=source, **mine), folder / f"{key}.parquet", part)
    return folder


def _file_names(systems: Iterable[str]) -> dict[str, str]:
    """A name of a file for each system, without what no path may hold; none twice, even where case does not count."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for system in dict.fromkeys(systems):
        base = "system-" + re.sub(r"[^\w.+-]", "_", unicodedata.normalize("NFC", system))[:_LONGEST]
        tries = (base if i == 1 else f"{base}-{i}" for i in itertools.count(1))
        names[system] = next(name for name in tries if name.casefold() not in taken)
        taken.add(names[system].casefold())
    return names


def _columns_of_kind(
    frames: dict[str, pd.DataFrame], is_kind: Callable[[ExtensionDtype], bool]
) -> dict[str, list[str]]:
    return {name: [str(c) for c, kind in frame.dtypes.items() if is_kind(kind)] for name, frame in frames.items()}


def recognises(content: Content) -> bool:
    """Whether this is a Parquet file that relfit wrote."""
    if not content.head.startswith(b"PAR1"):
        return False
    try:
        return _MARK in (parquet.read_schema(content.seekable()).metadata or {})
    except (pa.ArrowException, OSError, UnicodeError):
        return False


def _read(content: Content, *, strict: bool, timezone: str | None) -> FailureLog:
    """Read a file of `write`, which holds its zone and rejected rows: `strict` and `timezone` have no effect."""
    with damage_named(content):
        log = _restored(content)
        counted = log.source.rows_read == log.source.rows_kept + len(log.rejected)
        lasted = log.lifetimes is None or bool((log.lifetimes["duration"] >= 0).all())
        if not (
            events_keep_the_rules(log.events) and population_keeps_the_rules(log.population) and counted and lasted
        ):
            raise ValueError
    return log


def events_keep_the_rules(events: pd.DataFrame, begin: str = "start", end: str = "end") -> bool:
    """Whether every start is an instant, and nothing ends before it starts."""
    return bool(
        all(isinstance(events[name].dtype, pd.DatetimeTZDtype) for name in (begin, end))
        and events[begin].notna().all()
        and not (events[end] < events[begin]).any()
    )


def population_keeps_the_rules(people: pd.DataFrame) -> bool:
    """Whether each node is listed once, and does not leave before it enters."""
    return events_keep_the_rules(people, "entered", "left") and not people.duplicated(["system", "node"]).any()


@dataclass(frozen=True)
class Stored:
    """A file of `write`: its events, not read yet, and its metadata."""

    file: parquet.ParquetFile
    document: dict[str, Any]
    streams: dict[str, bytes]

    @property
    def window(self) -> Window:
        """The observation window of the log."""
        span = self.document["window"]
        known = span["start_known"], span["end_known"]
        log_end = _instant(span["log_end"]) if "log_end" in span else None
        return Window(_instant(span["start"]), _instant(span["end"]), *known, log_end)

    @property
    def source(self) -> Source:
        """The source of the log."""
        origin: dict[str, Any] = {name: _tuples(value) for name, value in self.document["source"].items()}
        return Source(**origin)

    def frame(self, name: str) -> pd.DataFrame:
        """One of the tables, with the types it had: ``events``, or one of `streams`."""
        if name == "events":
            frame: pd.DataFrame = self.file.read(use_threads=False).to_pandas()
        else:
            frame = pa.ipc.open_stream(self.streams[name]).read_pandas()
        for column in self.document["object"][name]:
            frame[column] = frame[column].astype(object)  # pandas 3 reads text as its own type
        for column in self.document["categorical"][name]:
            # a column without values loses its type
            if not isinstance(frame[column].dtype, pd.CategoricalDtype):
                frame[column] = frame[column].astype(object).astype("category")
        return frame


def opened(content: Content) -> Stored:
    """Open a file of `write` of this version (else a `ReadError`): metadata are checked, events are not read."""
    if not recognises(content):
        raise content.error("this is not a log that relfit wrote", "leave out format")
    file = parquet.ParquetFile(content.seekable(), page_checksum_verification=True, pre_buffer=False)
    metadata: dict[bytes, bytes] = file.schema_arrow.metadata
    document = json.loads(metadata[_MARK])
    if document["version"] != _VERSION:
        raise content.error(f"version {document['version']} of relfit's own format is not known", "update relfit")
    for name, digest in document.get("sha256", {}).items():  # check before a damaged length is used
        if hashlib.sha256(metadata[_MARK + b"." + name.encode()]).hexdigest() != digest:
            raise ValueError
    marks = {name: _MARK + b"." + name.encode() for name in _TABLES}
    return Stored(file, document, {name: metadata[mark] for name, mark in marks.items() if mark in metadata})


@contextmanager
def damage_named(content: Content) -> Iterator[None]:
    """A context in which any error of a damaged file becomes a `ReadError` that says so."""
    try:
        yield
    except (*_DAMAGES, TypeError, AttributeError):
        raise content.error("the file is damaged", "write it again from the source") from None


def _restored(content: Content) -> FailureLog:
    stored = opened(content)
    meta = stored.file.metadata
    size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    if size > (MAX_SIZE if content.max_size is None else content.max_size):
        raise content.error(
            "the log is larger than the limit",
            Remedy(
                "raise it with max_size, or fit its nodes part by part: rf.fitting.fit_stored",
                "raise it with --max-size, or fit its nodes part by part: relfit fit LOG --stream",
            ),
        )
    frames = {name: stored.frame(name) for name in ("events", *stored.streams)}
    return FailureLog(**frames, window=stored.window, source=stored.source)


def _tuples(value: object) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def _instant(text: str | None) -> Any:
    return pd.NaT if text is None else pd.Timestamp(text).as_unit("ns")


def _to_stream(frame: pd.DataFrame) -> bytes:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _read_all(contents: Sequence[Content], *, strict: bool, timezone: str | None) -> FailureLog:
    """The log of all files; of some of the months or years of one, as observed from the first to the last of them."""
    log = one_by_one(_read)(contents, strict=strict, timezone=timezone)
    with damage_named(contents[0]):
        parts = [part for content in contents if (part := opened(content).document.get("part"))]
        periods = sorted(pd.Period(part["period"]) for part in parts)
        if not parts or len(parts) != len(contents) or len(parts) >= parts[0]["parts"] or log.lifetimes is not None:
            return log
    zone = log.events["start"].dt.tz
    cut = log.between(periods[0].start_time.tz_localize(zone), (periods[-1] + 1).start_time.tz_localize(zone))
    note = f"{len(parts)} of {parts[0]['parts']} parts of a log: observed from {cut.window.start:%Y-%m-%d} to "
    note += f"{cut.window.end:%Y-%m-%d} only; for all of it read the folder"
    return replace(cut, source=replace(cut.source, notes=(*cut.source.notes, note)))


READER = Reader(_NAME, recognises, _read_all)
