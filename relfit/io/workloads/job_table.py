"""Any table of jobs: BatSim's lists of finished jobs, our own, and tables whose columns are named."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray, IntArray, ObjectArray
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.writing import unguarded
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import TextTable
from relfit.io.parsing.stamps import same_clock
from relfit.io.parsing.table_rows import rows_of
from relfit.io.parsing.times import check_zone
from relfit.io.workloads.job_rows import JobRows, Machine, first_words, job_ids, numbers, seconds, seconds_since_1970
from relfit.io.workloads.workload import Workload

NAME = "table"
_SPELLINGS = {
    "job_id": ("job_id", "jobid", "id", "job"),
    "submit": ("submit", "submission_time", "submit_time", "subtime", "submitted", "queued", "arrival"),
    "nodes": ("nodes", "requested_number_of_resources", "n_nodes", "nnodes", "num_nodes", "req_nodes", "size", "res"),
    "processors": ("processors", "procs", "n_processors", "ncpus", "cores", "n_cores"),
    "run_time": ("run_time", "runtime", "execution_time", "elapsed", "duration", "delay"),
    "requested": ("requested", "walltime", "requested_time", "time_limit", "timelimit", "wallclock_limit"),
    "start": ("start", "starting_time", "start_time", "started"),
    "end": ("end", "finish_time", "end_time", "finished"),
    "user": ("user", "user_id", "user_name", "uid"),
    "priority": ("priority",),
    "node_class": ("node_class",),
    "workload": ("workload_name",),
    "state": ("final_state", "state", "end_state", "job_state"),
}
_OURS, _TEXTS = ("job_id", "submit", "nodes", "run_time"), ("job_id", "user", "node_class")
COLUMNS = tuple(name for name in _SPELLINGS if name != "workload")
"""Fields whose columns a user can name."""


def recognises(content: Content) -> bool:
    """Always true: anything may be a table."""
    return True


def read(
    content: Content,
    machine: Machine,
    columns: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
    timezone: str | None = None,
) -> Workload:
    """Read a table of jobs, text separated by commas, tabs, semicolons or bars, or Parquet.

    Times of submission, start and end are seconds, or dates in `timezone`, counted from the first submission; run times
    and walltimes are seconds, or ``D-HH:MM:SS``. Without a column of run times they are end minus start. A walltime of
    -1, or an empty one, is none. Of a job that was requeued, by its state, the last run stands.
    """
    table = rows_of(content)
    named = _named(table, columns or {})
    zone, rejections = check_zone(timezone), table.rejections
    ours = table.header[: len(_OURS)] == _OURS  # by `relfit.io.workloads.write_workload`, whose texts are guarded

    def column(what: str) -> ObjectArray | None:
        if what not in named:
            return None
        values = table[named[what]]
        return np.array([unguarded(value) for value in values], dtype=object) if ours and what in _TEXTS else values

    submit_text, start_text, end_text = column("submit"), column("start"), column("end")
    if submit_text is None:
        raise _missing(content, "submit")
    clocks: dict[str, set[bool]] = {name: set() for name in ("submit", "start", "end")}
    submit, dates = _times(submit_text, zone, clocks["submit"])
    if (run_text := column("run_time")) is not None:
        run = seconds(run_text)
    elif start_text is not None and end_text is not None:
        run = _times(end_text, zone, clocks["end"])[0] - _times(start_text, zone, clocks["start"])[0]
    else:
        raise _missing(content, "run_time")
    own = {named[field]: seen for field, seen in clocks.items() if field in named}
    clock = same_clock(table.columns, own, timezone, content.path)
    state = first_words(column("state"), submit.size)
    rejections.reject(state == "REJECTED", "the scheduler rejected it", "state")
    limit_text = column("requested")
    limit = np.full(submit.size, np.inf) if limit_text is None else seconds(limit_text)
    none = np.zeros(submit.size, dtype=bool) if limit_text is None else limit_text == ""
    priority = column("priority")
    uncounted = content.error(
        "the table counts processors, and how many a node has is not known",
        "give processors_per_node, 1 if a node is one processor",
    )
    jobs = {
        "job_id": _job_ids(column("job_id"), column("workload"), submit.size),
        "submit": submit,
        "nodes": machine.nodes_of(column("nodes"), column("processors"), _missing(content, "nodes"), uncounted),
        "run_time": run,
        "requested": np.where((limit == -1) | none, np.inf, limit),
        "user": column("user"),
        "priority": None if priority is None else numbers(priority),
        "node_class": column("node_class"),
    }
    taken = ", ".join(f"{what} from {name!r}" for what, name in named.items())
    notes = [*table.notes, f"columns: {taken}", *clock]
    rows = JobRows.of_runs(rejections, state, jobs, notes, dates=dates, timezone=zone)
    return rows.workload(content, NAME, machine, table.rows_read, strict=strict, ordered=False)


def _named(table: TextTable, columns: Mapping[str, str]) -> dict[str, str]:
    """The column of each field: the one that the user names, else one with a usual name."""
    small = {name.lower(): name for name in reversed(table.header)}
    named = {what: next((small[s] for s in names if s in small), "") for what, names in _SPELLINGS.items()}
    for what, name in columns.items():
        if name not in table.columns:
            raise ArgumentError(f"no column {name!r}", remedy=f"the table has {', '.join(table.header)}")
        named[what] = name
    if "processors" in columns and "nodes" not in columns:
        named["nodes"] = ""
    return {what: name for what, name in named.items() if name}


def _missing(content: Content, what: str) -> ReadError:
    usual = ", ".join(_SPELLINGS[what][:3])
    return content.error(f"no column for {what} (such as {usual})", f"name it with {what}=...", line=1)


def _times(values: ObjectArray, zone: str, seen: set[bool]) -> tuple[FloatArray, bool]:
    """Seconds, and whether the column has dates, which are seconds since 1970 then."""
    plain = numbers(values)
    if np.isfinite(plain).sum() * 2 >= (values != "").sum():
        return plain, False
    return seconds_since_1970(values, zone, seen), True


def _job_ids(names: ObjectArray | None, workload: ObjectArray | None, size: int) -> ObjectArray | IntArray:
    if names is None:
        return np.arange(1, size + 1)
    if workload is not None and pd.unique(pd.Series(workload)).size > 1:
        return np.array([f"{of}!{name}" for of, name in zip(workload.tolist(), names.tolist(), strict=True)], object)
    return job_ids(names)
