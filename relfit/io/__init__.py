"""Readers and writers: one module per format, `read`, which finds the format out, and `write`."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd

from relfit.errors import ArgumentError, ReadError
from relfit.failurelog import FailureLog
from relfit.io import fta, lanl, relfit_parquet, table, titan
from relfit.io.frames import NODELESS, with_nodeless
from relfit.io.opening import open_content, size_in_bytes
from relfit.io.relfit_parquet import write

__all__ = ["FORMATS", "read", "write"]

_READERS = (relfit_parquet, lanl, titan, fta, table)
"""A module per format, in the order in which they are tried: each has ``NAME``, ``recognises`` and ``read``."""

FORMATS = tuple(reader.NAME for reader in _READERS)


def read(
    path: str | Path | pd.DataFrame,
    format: str | None = None,  # the word that users of pandas and pyarrow expect
    *,
    strict: bool = False,
    timezone: str | None = None,
    nodeless: str | None = None,
    max_size: str | float | None = None,
    mapping: str | Path | dict[str, Any] | None = None,
    **options: Any,
) -> FailureLog:
    r"""Read a failure log.

    Parameters
    ----------
    path : str, Path or DataFrame
        A file, plain or compressed with gz, bz2, xz, zst or zip, the folder of a Failure Trace Archive trace, or a
        table in memory.
    format : {"lanl", "fta", "titan", "table", "relfit"}, optional
        Found out from the content when left out.
    strict : bool
        A row that would be rejected is an error.
    timezone : str, optional
        Zone of times that carry none, such as ``"America/Denver"``; UTC for tables when left out.
    nodeless : {"system", "node", "ignore"}, optional
        What records are that name neither a node nor their scope: outages of the whole system (so taken, with a note,
        when left out), failures of one node, unknown which, or nothing to count.
    max_size : str or float, optional
        Bytes that the content may have once it is decompressed, as ``"32GB"``; 8 GiB, and a thousand times the size on
        disk, when left out.
    mapping : str, Path or dict, optional
        For tables: a TOML file, or its content, with the same keys as `options`.
    **options
        For tables: ``node="hostname"``, ``start="down_at"`` and so on; see `relfit.io.table_mapping.TableMapping`.

    Returns
    -------
    FailureLog
        ``log.source.rows_read`` is ``rows_kept`` plus the rows in ``log.rejected``.

    Raises
    ------
    ReadError
        When the file cannot be read as what it is said or found to be.
    ArgumentError
        For an unknown format or option.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("node,start,end\nn1,2024-01-01 10:00,2024-01-01 12:30\nn1,not a date,\n")
    ...     log = read(path)
    >>> len(log), log.rejected[["line", "column", "reason"]].values.tolist()
    (1, [[3, 'start', "'not a date' is not a date or time"]])
    """
    if format is not None and format not in FORMATS:
        near = get_close_matches(str(format), FORMATS, n=1)
        raise ArgumentError(
            f"unknown format {format!r}",
            remedy=f"did you mean {near[0]}?" if near else f"use one of {', '.join(FORMATS)}",
        )
    if isinstance(path, pd.DataFrame):
        return _read_frame(path, format, strict, timezone, nodeless, mapping, options)
    if not isinstance(path, (str, Path)):
        raise ArgumentError(f"{path!r} is not a path", remedy="give the name of a file or folder")
    if nodeless is not None and nodeless not in NODELESS:
        raise ArgumentError(f"nodeless={nodeless!r} is not known", remedy=f"use one of {', '.join(NODELESS)}")
    place = Path(path)
    if format in (None, fta.NAME) and place.is_dir():
        place, format = fta.trace_in(place), fta.NAME
    content = open_content(place, max_size=None if max_size is None else size_in_bytes(max_size))
    if mapping is not None:
        options["mapping"] = mapping
    if format is None:
        # what is named by columns is a table, whatever else it looks like
        tried = (relfit_parquet, table) if options else _READERS
        format = next(reader.NAME for reader in tried if reader.recognises(content))
    if options and format != table.NAME:
        raise ReadError(f"columns can be named for tables only, and this is {format}", remedy="leave them out")
    reader: Any = next(reader for reader in _READERS if format == reader.NAME)
    if format == table.NAME and nodeless is not None:
        options["nodeless"] = nodeless
    log: FailureLog = reader.read(content, strict=strict, timezone=timezone, **options)
    return with_nodeless(log, nodeless)


def _read_frame(
    frame: pd.DataFrame,
    format: str | None,
    strict: bool,
    timezone: str | None,
    nodeless: str | None,
    mapping: Any,
    options: dict[str, Any],
) -> FailureLog:
    if format not in (None, table.NAME):
        raise ArgumentError(f"a DataFrame is a table, not {format}", remedy="leave out format")
    log = table.read(frame, strict=strict, timezone=timezone, nodeless=nodeless, mapping=mapping, **options)
    return with_nodeless(log, nodeless)
