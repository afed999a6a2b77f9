"""Readers and writers: one module per format, `read`, which detects the format, and `write`.

``parsing`` makes columns of files, with line numbers and rejected rows; ``workloads`` reads and generates jobs of batch
systems; ``datasets`` has the bundled sample and fetches public data. Files go in, a `FailureLog` comes out; rows read
are rows kept plus rows rejected. A newcomer adds a reader: its module, and its place in `READERS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from relfit.base.errors import ArgumentError, ReadError, Remedy
from relfit.base.paths import files_meant
from relfit.io import (
    backblaze,
    blue_gene,
    fta,
    journal_lines,
    lanl,
    loghub,
    machine_events,
    prometheus,
    relfit_parquet,
    sacct,
    slurm_events,
    slurm_nodes,
    slurmctld,
    syslog_lines,
    table,
    titan,
)
from relfit.io.declared_fleet import DECLARATIONS, declared
from relfit.io.frames import NODELESS, with_nodeless
from relfit.io.merging import merge
from relfit.io.parsing.opening import Content, members, size_in_bytes
from relfit.io.reader import Reader
from relfit.io.relfit_parquet import write
from relfit.log.failurelog import FailureLog

__all__ = ["FORMATS", "READERS", "merge", "read", "write"]

_MODULES = (
    *(relfit_parquet, lanl, titan, fta, backblaze, blue_gene, sacct, slurm_events, slurm_nodes, slurmctld, loghub),
    *(journal_lines, prometheus, machine_events, syslog_lines, table),
)
READERS = tuple(module.READER for module in _MODULES)
"""A reader per format, in the order in which they are tried."""

_OPTIONS = {"failures": "--failures", "duration_unit": "--unit", "mapping": "--mapping"}
"""How the command line calls options of tables; others are columns."""

_NO_COLUMNS = ("duration_unit", "node_name", "time_format", "day_first", "decimal")

FORMATS = tuple(reader.name for reader in READERS)


def read(
    path: str | Path | pd.DataFrame | Iterable[str | Path],
    format: str | None = None,  # as pandas and pyarrow call it
    *,
    strict: bool = False,
    timezone: str | None = None,
    nodeless: str | None = None,
    max_size: str | float | None = None,
    mapping: str | Path | Mapping[str, object] | None = None,
    **options: object,
) -> FailureLog:
    r"""Read a failure log.

    Parameters
    ----------
    path : str, Path, DataFrame, or several paths
        A file, plain or compressed with gz, bz2, xz, zst or zip, the folder of a Failure Trace Archive trace, a folder
        or a pattern (``"logs/*.gz"``) of files of one format, or a table in memory.
    format : str, optional
        One of `FORMATS`; detected from the content by default.
    strict : bool
        Raise an error for a row that would be rejected.
    timezone : str, optional
        Zone of times without one, such as ``"America/Denver"``; by default that of the format, UTC for most.
    nodeless : {"system", "node", "ignore"}, optional
        How to read records that name neither a node nor a scope: as outages of the whole system (the default, with a
        note), as failures of an unknown node, or not at all.
    max_size : str or float, optional
        Largest size of the decompressed content, as ``"32GB"``; by default 8 GiB and, above 256 MiB, a thousand times
        the size on disk. Formats read block by block have only the second of these.
    mapping : str, Path or dict, optional
        For tables: a TOML file, or its content, with the same keys as `options`.
    **options
        For any log: ``n_nodes`` or ``population``, with ``entered`` and ``left``; ``window_start``, ``window_end``;
        ``system_name``. For tables: ``node="hostname"``, ``start="down_at"`` and so on; see
        `relfit.io.table_mapping.TableMapping`.
        For raw logs: ``rules``, a TOML file of what counts as a failure, and for some ``year``, ``ends``, ``node`` or
        ``time_origin``. For ``titan``: ``outcome``.

    Returns
    -------
    FailureLog
        ``log.source.rows_read`` is ``rows_kept`` plus the rows in ``log.rejected``.

    Raises
    ------
    ReadError
        When the file cannot be read in this format.
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
    if nodeless is not None and nodeless not in NODELESS:
        raise ArgumentError(f"nodeless={nodeless!r} is not known", remedy=f"use one of {', '.join(NODELESS)}")
    if mapping is not None:
        options["mapping"] = mapping
    if isinstance(path, pd.DataFrame):
        if format not in (None, table.READER.name):
            raise ArgumentError(f"a DataFrame is a table, not {format}", remedy="leave out format")
        contents, reader = [Content(Path("a DataFrame"), b"")], table.READER
        contents[0].frame = path
    else:
        limit = None if max_size is None else size_in_bytes(max_size)
        contents = [content for place in _places(path, format) for content in members(place, max_size=limit)]
        reader = _reader(contents[0], format, options)
    if nodeless is not None and "nodeless" in reader.options:
        options["nodeless"] = nodeless
    own = {name: value for name, value in options.items() if name not in DECLARATIONS or name in reader.options}
    log = with_nodeless(reader.read(contents, strict=strict, timezone=timezone, **own), nodeless)
    said = {name: value for name, value in options.items() if name not in own and value is not None}
    return declared(log, said) if said else log


def _reader(content: Content, format: str | None, options: dict[str, object]) -> Reader:
    """The reader of a format, detected where none is named; an error if it does not take these options."""
    if format is not None:
        reader = next(reader for reader in READERS if format == reader.name)
    else:
        # options that name columns mean a table, whatever the file looks like
        naming = set(options) - {*_NO_COLUMNS, *DECLARATIONS}
        taking = [each for each in READERS if each is relfit_parquet.READER or naming <= set(each.options)]
        reader = next(each for each in (*taking, *READERS) if each.recognises(content))
    further = [name for name in options if name not in (*reader.options, *DECLARATIONS)]
    if further and reader is not table.READER:
        if set(further) & set(table.READER.options):
            raise content.error(
                f"{', '.join(further)}: for tables only, and this is {reader.name}",
                _without(further, reader is relfit_parquet.READER),
            )
        raise ArgumentError(f"{reader.name} has no option {', '.join(further)}", remedy="leave it out")
    return reader


def _without(names: list[str], converted: bool) -> Remedy:
    """To leave out these options of tables; a log that was converted from one had its say then."""
    words = [(name, _OPTIONS.get(name, f"--column {name}=...")) for name in names]
    python, options = (", ".join(dict.fromkeys(each)) for each in zip(*words, strict=True))
    return Remedy(
        f"leave out {python}" + (", or read and write the table again with it" if converted else ""),
        f"leave out {options}" + (", or convert the table again with it" if converted else ""),
    )


def _places(path: str | Path | Iterable[str | Path], format: str | None) -> list[Path]:
    """The files that are meant: one, those of a folder or a pattern, or several."""
    if isinstance(path, (str, Path)):
        place, files = Path(path), files_meant(path)
        if files == [place]:
            return files
        is_folder = place.is_dir()
        if is_folder and format in (None, fta.READER.name):
            try:
                return [fta.trace_in(place)]
            except ReadError:
                if format == fta.READER.name:
                    raise
        if not files and is_folder:
            raise ReadError("this folder holds no event_trace and no other file", path=place, remedy="name a file")
        if not files:
            raise ReadError("no file matches", path=place, remedy="check the pattern")
        return files
    try:
        places = [Path(each) for each in path]
    except TypeError:
        kinds = {type(each).__name__ for each in path} if isinstance(path, Iterable) else set[str]()
        what = f"a {type(path).__name__} of {' and '.join(sorted(kinds))}" if kinds else repr(path)
        remedy = "give the name of a file or folder, or one DataFrame: pandas.concat joins several"
        raise ArgumentError(f"{what} is not a path", remedy=remedy) from None
    if not places:
        raise ArgumentError("there is no path to read", remedy="give the name of a file or folder")
    return [file for place in places for file in _places(place, format)]
