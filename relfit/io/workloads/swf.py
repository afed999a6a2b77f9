"""The Standard Workload Format of the Parallel Workloads Archive, version 2: reader and writer.

A line of 18 numbers per job, -1 where one is not known; header lines begin with a semicolon.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ReadError
from relfit.base.text import count
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import Rejections, as_numbers
from relfit.io.parsing.text_content import as_text
from relfit.io.workloads.job_rows import JobRows, Machine
from relfit.io.workloads.workload import Workload

NAME = "swf"
_FIELDS = 18
_HEADER = re.compile(r"^;\s*(\w+)\s*:\s*(.*?)\s*$")
_PARTIAL = (2, 3, 4)  # states of the parts of a job that was swapped out; the job has its own line
_CANCELLED = 5


def recognises(content: Content) -> bool:
    """Whether the first line is a header of this format, or 18 numbers with blanks between them."""
    line = content.first_line()
    parts = line.split()
    return line.startswith(";") or (len(parts) == _FIELDS and all(re.fullmatch(r"-?[\d.]+", part) for part in parts))


def read(content: Content, machine: Machine, *, strict: bool = False, timezone: str | None = None) -> Workload:
    """Read a log of the Parallel Workloads Archive.

    A job takes its allocated processors or, where these are not known, the requested ones. ``MaxNodes`` and
    ``MaxProcs`` give the processors of a node, unless `machine` does. Cancelled jobs that never ran are rejected; lines
    of the pieces of a swapped job are left out. A walltime of 0 or -1 is none.
    """
    text = as_text(content)
    lines = text.data.decode().split("\n")
    header = _header(lines)
    if not machine.processors_per_node and header.get("maxnodes", 0) and header.get("maxprocs", 0):
        ratio = header["maxprocs"] / header["maxnodes"]
        if ratio == int(ratio) > 1:
            machine = Machine(machine.n_nodes, int(ratio))
    notes = list(text.notes)
    per_node = machine.processors_per_node
    notes.append(f"{count(per_node, 'processor')} per node" if per_node else "each processor is taken as a node")
    if machine.n_nodes is None:
        size = header.get("maxprocs", 0) or header.get("maxnodes", 0) * (per_node or 1)
        machine = Machine(-(-size // (per_node or 1)) or None, per_node)
    table, rejections, rows_read = _table(content.path, lines)
    declared = header.get("maxrecords", header.get("maxjobs", 0))
    if declared > rows_read:
        notes.append(f"the header says {declared:,} jobs and the file has {rows_read:,}: cleaned, or cut short")
    state = table[:, 10]
    partial = np.isin(state, _PARTIAL)
    if partial.any():
        notes.append(f"{count(int(partial.sum()), 'line')} of pieces of swapped jobs left out")
        table, rejections = table[~partial], rejections.part(~partial)
        state = state[~partial]
    submit, run, limit = table[:, 1], table[:, 3], table[:, 8]
    processors = np.where(table[:, 4] > 0, table[:, 4], table[:, 7])
    rejections.reject((state == _CANCELLED) & (run <= 0), "cancelled before it ran", "status")
    rejections.reject(submit < 0, "no time of submission", "submit")
    rejections.reject(run == -1, "run time not known", "run_time")
    rejections.reject(processors == -1, "number of processors not known", "nodes")
    failed = int(((state == 0) & rejections.kept).sum())
    if failed:
        notes.append(f"{count(failed, 'job')} failed; kept, each for as long as it ran")
    start = header.get("unixstarttime", 0)
    rows = JobRows(
        rejections,
        _whole(table[:, 0]),
        submit,
        machine.nodes(processors),
        run,
        np.where((limit == -1) | (limit == 0), np.inf, limit),
        user=_whole(table[:, 11]),
        notes=notes,
        deselected=int(partial.sum()),
        origin=pd.Timestamp(start, unit="s", tz="UTC") if 0 < start < 8e9 else None,
    )
    return rows.workload(content, NAME, machine, rows_read, strict=strict, ordered=True)


def _whole(values: FloatArray) -> IntArray:
    """As integers; -1 for other values."""
    return np.where(np.abs(values) < 2.0**53, values, -1.0).astype(np.int64)


def _header(lines: list[str]) -> dict[str, int]:
    """Integers in the header by their names in small letters; the first of a name stands."""
    numbers: dict[str, int] = {}
    for line in lines:
        match = _HEADER.match(line)
        if match:
            value = re.match(r"(\d{1,15})\b", match[2].replace(",", ""))
            if value:
                numbers.setdefault(match[1].lower(), int(value[1]))
    return numbers


def _table(path: Path, lines: list[str]) -> tuple[FloatArray, Rejections, int]:
    """Rows of 18 numbers; lines of another width are rejected, and so are rows whose first fields are no numbers."""
    width = {number: len(line.split()) for number, line in enumerate(lines, 1) if not line.lstrip().startswith(";")}
    body = [number for number, fields in width.items() if fields]
    if not body:
        raise ReadError("there is a header but no job", path=path, remedy="check how the file was written")
    good = [number for number in body if width[number] == _FIELDS]
    texts = [lines[number - 1] for number in good]
    rejections = Rejections(path, np.array(good, dtype=np.int64), texts.__getitem__)
    for number in body:
        if width[number] != _FIELDS:
            cut = "; the file is cut short" if number == body[-1] and width[number] < _FIELDS else ""
            what = f"{count(width[number], 'field')} where the format has {_FIELDS}{cut}"
            rejections.reject_line(number, what, lines[number - 1])
    if not good:
        rejections.settle(strict=True)
    rows = io.StringIO("\n".join(texts))
    names = range(_FIELDS)
    frame = pd.read_csv(
        rows, sep=r"\s+", header=None, names=names, low_memory=False, float_precision="round_trip", quoting=3
    )
    table = np.stack([_numbers(frame[i]) for i in range(_FIELDS)], 1)
    rejections.reject(np.isnan(table[:, :5]).any(axis=1), "a field is not a number")
    return table, rejections, len(body)


def _numbers(column: pd.Series) -> FloatArray:
    """A column as numbers; NaN where a text is no number."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64)
    return as_numbers(column.astype(str).tolist())


def swf_text(workload: Workload) -> str:
    """A workload in this format; a node is one processor. Run times and walltimes are rounded up, submissions down."""
    size, n = workload.n_nodes, len(workload)
    table = np.full((n, _FIELDS), -1, dtype=np.int64)
    table[:, 0] = workload.job_id if workload.job_id.dtype.kind == "i" else np.arange(1, n + 1)
    table[:, 1] = np.floor(workload.submit - min(0.0, float(workload.submit[0]) if n else 0.0))
    table[:, 3] = np.ceil(workload.run_time)
    table[:, 4] = table[:, 7] = workload.nodes
    limit = np.isfinite(workload.requested)
    table[limit, 8] = np.ceil(workload.requested[limit])
    table[:, 10] = 1
    if workload.user is not None and workload.user.dtype.kind in "iu":
        table[:, 11] = workload.user
    head = ["; Version: 2.2", f"; MaxJobs: {n}", f"; MaxRecords: {n}"]
    if workload.origin is not None:
        head.append(f"; UnixStartTime: {int(workload.origin.timestamp())}")
    head += [f"; MaxNodes: {size}", f"; MaxProcs: {size}"] if size else []
    body = pd.DataFrame(table).to_csv(sep=" ", header=False, index=False)
    return "\n".join(head) + "\n" + body
