"""A `FailureLog` in one Parquet file: the events are the table, everything else stands in the schema's metadata.

Any Parquet reader shows the events. relfit reads back the same log: the other tables are kept as Arrow streams, the
window and the source as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from relfit.errors import DataError, ReadError
from relfit.failurelog import FailureLog, Source, Window
from relfit.io.opening import Content
from relfit.writing import complete

__all__ = ["NAME", "read", "recognises", "write"]

NAME = "relfit"
_MARK = b"relfit.log"
_VERSION = 1
_TABLES = ("population", "rejected", "lifetimes")


def write(log: FailureLog, path: str | Path) -> Path:
    """Write a log; the file is complete or absent.

    Raises
    ------
    ArgumentError
        When the folder does not exist or may not be written to.
    DataError
        When a text is none that Parquet can hold.
    """
    place = Path(path)
    table = pa.Table.from_pandas(log.events, preserve_index=False)
    source = asdict(log.source)
    window = log.window
    frames = {"events": log.events, **{name: getattr(log, name) for name in _TABLES if getattr(log, name) is not None}}
    document = {
        "categorical": _columns_of_kind(frames, lambda kind: isinstance(kind, pd.CategoricalDtype)),
        "object": _columns_of_kind(frames, pd.api.types.is_object_dtype),
        "version": _VERSION,
        "source": source,
        "window": {
            "start": None if pd.isna(window.start) else window.start.isoformat(),
            "end": None if pd.isna(window.end) else window.end.isoformat(),
            "start_known": bool(window.start_known),
            "end_known": bool(window.end_known),
        },
    }
    metadata = {**(table.schema.metadata or {}), _MARK: json.dumps(document).encode()}
    for name in _TABLES:
        if name in frames:
            metadata[_MARK + b"." + name.encode()] = _to_stream(frames[name])
    try:
        with complete(place) as part:
            parquet.write_table(table.replace_schema_metadata(metadata), part, compression="zstd")
    except pa.ArrowException as error:
        raise DataError(
            f"this log cannot be kept as Parquet: {error}", path=path, remedy="look at its texts"
        ) from error
    return place


def _columns_of_kind(frames: dict[str, pd.DataFrame], is_kind: Callable[[Any], bool]) -> dict[str, list[str]]:
    return {name: [str(c) for c, kind in frame.dtypes.items() if is_kind(kind)] for name, frame in frames.items()}


def recognises(content: Content) -> bool:
    """Whether this is a Parquet file that relfit wrote."""
    if not content.head.startswith(b"PAR1"):
        return False
    try:
        return _MARK in (parquet.read_schema(pa.BufferReader(content.data)).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def read(content: Content, *, strict: bool = False, timezone: str | None = None) -> FailureLog:
    """Read back what `write` wrote; the file knows its rejected rows and its time zone itself.

    Raises
    ------
    ReadError
        When this is not such a file, or it is damaged.
    """
    if not recognises(content):
        raise ReadError("this is not a log that relfit wrote", path=content.path, remedy="leave out format")
    try:
        return _restored(content)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise ReadError("the file is damaged", path=content.path, remedy="write it again from the source") from None


def _restored(content: Content) -> FailureLog:
    table = parquet.read_table(pa.BufferReader(content.data))
    metadata: dict[bytes, bytes] = table.schema.metadata
    document = json.loads(metadata[_MARK])
    if document["version"] != _VERSION:
        raise ReadError(
            f"version {document['version']} of relfit's own format is not known",
            path=content.path,
            remedy="update relfit",
        )
    frames = {"events": table.to_pandas()} | {
        name: _from_stream(metadata[_MARK + b"." + name.encode()])
        for name in _TABLES
        if _MARK + b"." + name.encode() in metadata
    }
    for name, frame in frames.items():
        for column in document["object"][name]:
            frame[column] = frame[column].astype(object)  # pandas 3 reads text as a type of its own
        for column in document["categorical"][name]:
            # a column without any value comes back without its type
            if not isinstance(frame[column].dtype, pd.CategoricalDtype):
                frame[column] = frame[column].astype(object).astype("category")
    span = document["window"]
    window = Window(_instant(span["start"]), _instant(span["end"]), span["start_known"], span["end_known"])
    origin: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in document["source"].items()}
    return FailureLog(
        frames["events"], frames["population"], window, frames["rejected"], Source(**origin), frames.get("lifetimes")
    )


def _instant(text: str | None) -> Any:
    return pd.NaT if text is None else pd.Timestamp(text).as_unit("ns")


def _to_stream(frame: pd.DataFrame) -> bytes:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _from_stream(data: bytes) -> pd.DataFrame:
    with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
        frame: pd.DataFrame = reader.read_all().to_pandas()
    return frame
