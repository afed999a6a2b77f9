"""Accounting of Slurm: ``sacct --parsable2`` (or ``--parsable``, or commas), and the tables that Los Alamos released.

Both have the same records under different column names. A record is one run of a job; records of its steps are left
out and counted, and so are runs that ended in a requeue: a simulation draws its own failures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from relfit.base.arrays import FloatArray, ObjectArray
from relfit.base.text import count
from relfit.io.parsing.delimited import read_delimited
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import Rejections, TextTable
from relfit.io.parsing.text_content import Text, as_text
from relfit.io.parsing.times import check_zone
from relfit.io.workloads.job_rows import JobRows, Machine, first_words, numbers, seconds, seconds_since_1970
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
    fields = {
        what: next((columns[name] for name in names if name in columns), None) for what, names in _COLUMNS.items()
    }
    zone, names, submit, priority = check_zone(timezone), fields["job_id"], fields["submit"], fields["priority"]
    if names is None or submit is None:
        raise content.error("no column JobID or Submit", "name the columns of a table", line=1)
    stamp, run = seconds_since_1970(submit, zone), _run_times(content, fields, zone)
    step = np.array(["." in name for name in names.tolist()], dtype=bool)
    table.rejections.reject(names == "", "no job", "job_id")
    if step.all():
        raise content.error("there are steps and no jobs", "leave out --name and --steps of sacct")
    missing = content.error("no column NNodes", "ask sacct for NNodes, or for NCPUS", line=1)
    uncounted = content.error(
        "the file counts processors, and how many a node has is not known",
        "give processors_per_node, or ask sacct for NNodes",
    )
    jobs = {
        "job_id": names,
        "submit": stamp,
        "nodes": machine.nodes_of(fields["nodes"], fields["processors"], missing, uncounted),
        "run_time": run,
        "requested": _limits(fields, "timelimit" in columns, names.size),
        "user": fields["user"],
        "priority": None if priority is None else numbers(priority),
    }
    state = first_words(fields["state"], names.size)
    notes = [*text.notes, *([f"{count(int(step.sum()), 'record')} of job steps left out"] if step.any() else [])]
    rows = JobRows.of_runs(table.rejections, state, jobs, notes, dates=True, timezone=zone, step=step)
    return rows.workload(content, NAME, machine, table.rows_read, strict=strict, ordered=False)


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


def _run_times(content: Content, fields: Mapping[str, ObjectArray | None], zone: str) -> FloatArray:
    if (elapsed := fields["elapsed"]) is not None:
        return seconds(elapsed)
    start, end = fields["start"], fields["end"]
    if start is None or end is None:
        raise content.error("no column Elapsed, nor Start and End", "ask sacct for Elapsed", line=1)
    return seconds_since_1970(end, zone) - seconds_since_1970(start, zone)


def _limits(fields: Mapping[str, ObjectArray | None], in_minutes: bool, size: int) -> FloatArray:
    """Walltimes in seconds; infinite for a job without one, or with that of its partition."""
    if (minutes := fields["minutes"]) is not None:
        result = seconds(minutes, 60.0)
    elif (limit := fields["limit"]) is not None:
        # a plain number means minutes in Slurm, and seconds in the tables of Los Alamos
        result = seconds(limit, 60.0 if in_minutes else 1.0)
    else:
        return np.full(size, np.inf)
    return np.where(np.isnan(result), np.inf, result)
