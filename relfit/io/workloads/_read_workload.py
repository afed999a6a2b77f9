"""`read_workload`, which detects the format of a list of jobs, and `write_workload`."""

from __future__ import annotations

import gzip
import lzma
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from relfit.base.errors import ArgumentError
from relfit.base.writing import complete, guarded_table
from relfit.io.parsing.opening import open_content
from relfit.io.workloads import batsim, job_table, slurm, swf
from relfit.io.workloads.job_rows import Machine
from relfit.io.workloads.workload import Workload

_READERS: tuple[Any, ...] = (batsim, swf, slurm, job_table)
"""A module per format, in the order in which they are tried."""

WORKLOAD_FORMATS = tuple(reader.NAME for reader in _READERS)


def read_workload(
    path: str | Path,
    format: str | None = None,
    *,
    n_nodes: int | None = None,
    processors_per_node: int | None = None,
    strict: bool = False,
    timezone: str | None = None,
    **columns: str,
) -> Workload:
    r"""Read the jobs of a batch system.

    Parameters
    ----------
    path : str or Path
        A file, plain or compressed with gz, bz2, xz, zst or zip: the Standard Workload Format, Slurm's ``sacct`` with
        ``--parsable2``, the job tables of Los Alamos, BatSim's JSON or CSV, or any table.
    format : {"batsim", "swf", "slurm", "table"}, optional
        Detected from the content by default.
    n_nodes : int, optional
        Nodes of the machine, by default as the file says; wider jobs are rejected.
    processors_per_node : int, optional
        Where the file counts processors: a job takes whole nodes.
    strict : bool
        Raise an error for a row that would be rejected, and for a job out of order where the format has an order.
    timezone : str, optional
        Zone of dates without one; UTC by default.
    **columns : str
        For tables, the names of columns: ``submit="queued_at"``, and in the same way ``job_id``, ``nodes`` or
        ``processors``, ``run_time`` or ``start`` and ``end``, ``requested``, ``user``, ``priority``, ``state``,
        ``node_class``.

    Returns
    -------
    Workload
        Its ``rejected`` has file, line, column and reason of every rejected row.

    Raises
    ------
    ReadError
        When the file cannot be read in this format, or every row is rejected.
    ArgumentError
        For an unknown format or column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "jobs.csv")
    ...     _ = path.write_text("job_id,submit,nodes,walltime,run_time\n1,0,4,7200,3600\n2,60,99,60,30\n3,90,1,-5,30\n")
    ...     jobs = read_workload(path, n_nodes=16)
    >>> len(jobs), jobs.rejected[["line", "reason"]].values.tolist()
    (1, [[3, 'asks for 99 nodes of a machine of 16'], [4, 'walltime below zero or not a number']])
    """
    _check(path, format, n_nodes, processors_per_node)
    unknown = [name for name in columns if name not in job_table.COLUMNS]
    if unknown:
        raise ArgumentError(f"unknown option {unknown[0]!r}", remedy=f"columns are {', '.join(job_table.COLUMNS)}")
    if columns and format not in (None, job_table.NAME):
        raise ArgumentError(f"columns can be named for tables only, and this is {format}", remedy="leave them out")
    content = open_content(path)
    if format is None:
        tried = (job_table,) if columns else _READERS
        format = next(reader.NAME for reader in tried if reader.recognises(content))
    machine = Machine(n_nodes, processors_per_node)
    if format == job_table.NAME:
        return job_table.read(content, machine, columns, strict=strict, timezone=timezone)
    reader = next(reader for reader in _READERS if format == reader.NAME)
    workload: Workload = reader.read(content, machine, strict=strict, timezone=timezone)
    return workload


def _check(path: str | Path, format: str | None, n_nodes: int | None, processors_per_node: int | None) -> None:
    if not isinstance(path, (str, Path)):
        raise ArgumentError(f"{path!r} is not a path", remedy="give the name of a file")
    if format is not None and format not in WORKLOAD_FORMATS:
        near = get_close_matches(str(format), WORKLOAD_FORMATS, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"use one of {', '.join(WORKLOAD_FORMATS)}"
        raise ArgumentError(f"unknown format {format!r}", remedy=remedy)
    for name, value in (("n_nodes", n_nodes), ("processors_per_node", processors_per_node)):
        if value is not None and (isinstance(value, bool) or int(value) != value or value < 1):
            raise ArgumentError(f"{name} is {value!r}", remedy="give a whole number of 1 or more")


def write_workload(workload: Workload, path: str | Path) -> Path:
    """Write a workload; the file is complete or absent.

    Parameters
    ----------
    workload : Workload
    path : str or Path
        A file that ends in ``.swf``, ``.json`` (BatSim) or ``.csv``, with ``.gz`` or ``.xz`` behind it compressed. The
        Standard Workload Format has whole seconds: submissions are rounded down, run times and walltimes up.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    ArgumentError
        For another ending, or a file that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> jobs = Workload([7], [0.0], [2], [90.5], [120.0], 16)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     back = read_workload(write_workload(jobs, Path(folder, "jobs.json.gz")))
    >>> back.run_time.tolist(), back.n_nodes
    ([90.5], 16)
    """
    place = Path(path)
    endings = [ending.lower() for ending in place.suffixes]
    packed = endings.pop() if endings and endings[-1] in (".gz", ".xz") else ""
    ending = endings[-1] if endings else ""
    if ending == ".swf":
        text = swf.swf_text(workload)
    elif ending == ".json":
        text = batsim.batsim_text(workload)
    elif ending == ".csv":
        text = guarded_table(workload.to_frame()).to_csv(index=False)
    else:
        raise ArgumentError(
            f"{place.name}: no format of this ending", remedy="use .swf, .json or .csv, also with .gz appended"
        )
    data = text.encode()
    if packed:
        data = gzip.compress(data, mtime=0) if packed == ".gz" else lzma.compress(data)
    with complete(place) as part:
        part.write_bytes(data)
    return place
