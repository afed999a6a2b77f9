"""Accounting of Slurm: ``sacct --parsable2`` (or ``--parsable``, or commas), and the tables that Los Alamos released.

Both have the same records under different column names. A record is one run of a job; records of its steps are left
out and counted, and so are runs that ended in a requeue: a simulation draws its own failures.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from relfit.base.arrays import FloatArray, ObjectArray
from relfit.base.errors import ReadError
from relfit.base.text import count
from relfit.base.units import nanoseconds
from relfit.io.parsing.delimited import read_delimited
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import Rejections, TextTable
from relfit.io.parsing.text_content import Text, as_text
from relfit.io.parsing.times import check_zone, instants
from relfit.io.workloads import job_rows
from relfit.io.workloads.job_rows import JobRows, Machine, first_words, job_ids, numbers, seconds
from relfit.io.workloads.workload import Workload

NAME = "slurm"
_HEAD = 65_536
_COLUMNS = {
    "job_id": ("jobid", "jobidraw"),
    "submit": ("submit", "submit_time", "eligible"),
    "start": ("start", "start_time"),
    "end": ("end", "end_time"),
    "elapsed": ("elapsedraw", "elapsed"),
    "minutes": ("timelimitraw",),
    "limit": ("timelimit", "wallclock_limit"),
    "nodes": ("nnodes", "allocnodes", "req_nodes", "reqnodes"),
    "processors": ("ncpus", "alloccpus", "num_procs_exe", "reqcpus"),
    "state": ("state", "end_state"),
    "user": ("user", "user_name", "uid"),
    "priority": ("priority",),
}
"""Columns by field: the names in ``sacct``, and those in the tables of Los Alamos, in small letters."""


def recognises(content: Content) -> bool:
    """Whether these are Slurm's columns with a state or elapsed time, or a list of dictionaries as Python prints it."""
    line = content.first_line().lstrip()
    if line.startswith("["):
        return b"'jobid'" in content.data[:_HEAD]
    names = {name.strip().lower() for name in line.replace("|", ",").split(",")}
    has = {what: any(name in names for name in spellings) for what, spellings in _COLUMNS.items()}
    sized = has["nodes"] or has["processors"] or "|" in line  # else a table, whose nodes are called otherwise
    run = has["state"] or has["elapsed"]
    return has["job_id"] and has["submit"] and run and sized and not {"submission_time"} & names


def read(content: Content, machine: Machine, *, strict: bool = False, timezone: str | None = None) -> Workload:
    """Read the records of Slurm's accounting; times without a zone are in `timezone`, the first submission is time 0.

    The last record of a job stands, with the first time of submission (``--duplicates`` lists all).
    """
    text = as_text(content)
    listed = content.first_line().lstrip().startswith("[")
    table = _printed_list(text) if listed else read_delimited(text, "|" if "|" in content.first_line() else ",")
    columns = {name.lower(): table[name] for name in table.header}  # --parsable ends lines with a bar
    zone = check_zone(timezone)
    names = _first(columns, "job_id")
    if names is None or _first(columns, "submit") is None:
        raise content.error("no column JobID or Submit", "name the columns of a table", line=1)
    state = first_words(_first(columns, "state"), names.size)
    stamp = _instants(columns, "submit", zone)
    run = _run_times(table, columns, zone)
    rejections = table.rejections
    step = np.array(["." in name for name in names.tolist()], dtype=bool)
    requeued, submitted = job_rows.requeued_runs(names, state, stamp, step)
    rejections.reject(names == "", "no job", "job_id")
    job_rows.reject_unfinished(rejections, state, run)
    steps = [f"{count(int(step.sum()), 'record')} of job steps left out"] if step.any() else []
    notes = [*text.notes, *steps, *job_rows.notes_on_states(state, rejections.kept & ~step & ~requeued, requeued)]
    keep = ~(step | requeued)
    if not keep.any():
        raise content.error("there are steps and no jobs", "leave out --name and --steps of sacct")
    nodes = _nodes(table, columns, machine)
    rows = JobRows(
        rejections.part(keep),
        job_ids(names[keep]),
        submitted[keep],
        nodes[keep],
        run[keep],
        _limits(columns, names.size)[keep],
        user=None if (user := _first(columns, "user")) is None else user[keep],
        priority=None if (priority := _first(columns, "priority")) is None else numbers(priority)[keep],
        notes=notes,
        deselected=int((~keep).sum()),
        dates=True,
        timezone=zone,
    )
    return rows.workload(content, NAME, machine, table.rows_read, strict=strict, ordered=False)


def _first(columns: dict[str, ObjectArray], what: str) -> ObjectArray | None:
    return next((columns[name] for name in _COLUMNS[what] if name in columns), None)


def _printed_list(text: Text) -> TextTable:
    """A list of dictionaries as Python prints it; the line of a row is where its dictionary begins."""
    try:
        rows = json.loads(text.data.replace(b"'", b'"'))
    except (ValueError, RecursionError):
        raise text.error("this is not a list of dictionaries of plain text", "the file may be cut short") from None
    good = [row for row in rows if isinstance(row, dict)]
    if not good or len(good) < len(rows):
        raise text.error("this is not a list of jobs", "write the jobs as a table")
    data = np.frombuffer(text.data, dtype=np.uint8)
    newline, begin = np.flatnonzero(data == ord("\n")), np.flatnonzero(data == ord("{"))
    lines = (np.searchsorted(newline, begin) + 1).astype(np.int64)[: len(good)]
    names = tuple(dict.fromkeys(str(name) for row in good for name in row))
    columns = {name: pa.chunked_array([[str(row.get(name, "")).strip() for row in good]]) for name in names}
    texts = [str(row) for row in good]
    return TextTable(names, columns, Rejections(text.path, lines, texts.__getitem__), len(good))


def _instants(columns: dict[str, ObjectArray], what: str, zone: str) -> FloatArray:
    """Seconds since 1970; NaN where there is no time."""
    values = _first(columns, what)
    assert values is not None
    stamps, missing = instants(values, zone)
    return np.where(missing | stamps.isna(), np.nan, nanoseconds(stamps) / 1e9)


def _run_times(table: TextTable, columns: dict[str, ObjectArray], zone: str) -> FloatArray:
    elapsed = _first(columns, "elapsed")
    if elapsed is not None:
        return seconds(elapsed)
    if _first(columns, "start") is None or _first(columns, "end") is None:
        path = table.rejections.path
        raise ReadError("no column Elapsed, nor Start and End", path=path, line=1, remedy="ask sacct for Elapsed")
    return _instants(columns, "end", zone) - _instants(columns, "start", zone)


def _limits(columns: dict[str, ObjectArray], size: int) -> FloatArray:
    """Walltimes in seconds; infinite for a job without one, or with that of its partition."""
    minutes, limit = _first(columns, "minutes"), _first(columns, "limit")
    if minutes is None and limit is None:
        return np.full(size, np.inf)
    # a plain number means minutes in Slurm, and seconds in the tables of Los Alamos
    plain = 60.0 if "timelimit" in columns else 1.0
    result = seconds(minutes, 60.0) if minutes is not None else seconds(np.asarray(limit), plain)
    return np.where(np.isnan(result), np.inf, result)


def _nodes(table: TextTable, columns: dict[str, ObjectArray], machine: Machine) -> FloatArray:
    nodes, processors = _first(columns, "nodes"), _first(columns, "processors")
    if nodes is not None:
        return numbers(nodes)
    path = table.rejections.path
    if processors is None:
        raise ReadError("no column NNodes", path=path, line=1, remedy="ask sacct for NNodes, or for NCPUS")
    if machine.processors_per_node is None:
        remedy = "give processors_per_node, or ask sacct for NNodes"
        raise ReadError("the file counts processors, and how many a node has is not known", path=path, remedy=remedy)
    return machine.nodes(numbers(processors))
