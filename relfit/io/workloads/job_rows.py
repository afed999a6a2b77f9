"""A `Workload` from the columns of a reader: rows are rejected, sorted and counted in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray, ObjectArray, ValueArray
from relfit.base.errors import ReadError
from relfit.base.text import count
from relfit.base.units import nanoseconds
from relfit.io.frames import source_of
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import Rejections, as_numbers
from relfit.io.parsing.times import instants
from relfit.io.workloads.workload import PER_JOB, Workload

_CLOCK = r"^(?:(?P<d>\d+)-)?(?P<a>\d+)(?::(?P<b>\d+))?(?::(?P<c>\d+(?:\.\d+)?))?$"
_NO_LIMIT = ("unlimited", "infinite")
_REQUEUED = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REVOKED")
_WAITING = ("PENDING", "REQUEUE_HOLD", "CONFIGURING")
_RUNNING = ("RUNNING", "SUSPENDED", "COMPLETING", "RESIZING")
_CUT_SHORT = {
    "NODE_FAIL": "ended by a node's failure: their run time is how far they came",
    "PREEMPTED": "preempted: their run time is how far they came",
    "TIMEOUT": "stopped at their walltime: they would have run for longer",
}


@dataclass(frozen=True)
class Machine:
    """The machine by the user's options: its nodes, and the processors of each, where a file counts processors."""

    n_nodes: int | None = None
    processors_per_node: int | None = None

    def nodes(self, processors: FloatArray) -> FloatArray:
        """Nodes that a number of processors takes, rounded up."""
        return np.ceil(processors / (self.processors_per_node or 1))

    def nodes_of(
        self, nodes: ObjectArray | None, processors: ObjectArray | None, missing: ReadError, uncounted: ReadError
    ) -> FloatArray:
        """Nodes of each job by the column of nodes, else by that of processors; an error where that does not tell."""
        if nodes is not None:
            return numbers(nodes)
        if processors is None:
            raise missing
        if self.processors_per_node is None:
            raise uncounted
        return self.nodes(numbers(processors))


@dataclass
class JobRows:
    """The jobs of a file; NaN if missing, infinite ``requested`` without a walltime; by ``dates``, the first is 0."""

    rejections: Rejections
    job_id: npt.NDArray[Any]
    submit: FloatArray
    nodes: FloatArray
    run_time: FloatArray
    requested: FloatArray
    user: npt.NDArray[Any] | None = None
    priority: FloatArray | None = None
    notes: list[str] = field(default_factory=list)
    deselected: int = 0
    origin: pd.Timestamp | None = None
    dates: bool = False
    timezone: str = "UTC"
    node_class: npt.NDArray[Any] | None = None

    @classmethod
    def of_runs(
        cls,
        rejections: Rejections,
        state: ObjectArray,
        columns: Mapping[str, ObjectArray | FloatArray | IntArray | None],
        notes: Sequence[str],
        *,
        dates: bool,
        timezone: str,
        step: BoolArray | bool = False,
    ) -> JobRows:
        """The last run of each job; runs that had not ended are rejected, requeues and records of steps left out."""
        every: dict[str, Any] = dict(columns)
        run = every["run_time"]
        rejections.reject(np.isin(state, _WAITING), "had not started", "state")
        rejections.reject(np.isin(state, _RUNNING), "was still running: its run time is not known", "state")
        rejections.reject((state == "CANCELLED") & ~(run > 0), "cancelled before it ran", "state")
        requeued, submit = requeued_runs(every["job_id"], state, every["submit"], step)
        keep = ~(step | requeued)
        jobs = rejections.kept & keep
        counts = [(int(requeued.sum()), "run", "that ended in a requeue left out: the last run of a job stands")]
        counts += [(int(((state == name) & jobs).sum()), "job", what) for name, what in _CUT_SHORT.items()]
        told = [f"{count(number, of)} {what}" for number, of, what in counts if number]
        every["submit"] = submit
        chosen = {name: values[keep] for name, values in every.items() if values is not None}
        chosen["job_id"], left_out = job_ids(chosen["job_id"]), int((~keep).sum())
        return cls(
            rejections.part(keep), **chosen, notes=[*notes, *told], deselected=left_out, dates=dates, timezone=timezone
        )

    def workload(
        self, content: Content, format: str, machine: Machine, rows_read: int, *, strict: bool, ordered: bool
    ) -> Workload:
        """The jobs that are not rejected, by time of submission; a `ReadError` when all are or, where `strict`, any is.

        With `ordered`, the format has jobs in the order of submission: where `strict`, one out of order is an error.
        """
        rows = self.rejections
        self._reject(machine.n_nodes)
        keep = rows.settle(strict)
        first = float(self.submit[keep].min()) if self.dates else 0.0
        origin = pd.Timestamp(round(first * 1e9), tz="UTC") if self.dates else self.origin
        late = np.flatnonzero(np.diff(self.submit[keep]) < 0)
        if late.size:
            one = np.flatnonzero(keep)[late[0] + 1]
            line = int(rows.lines[one])
            if strict and ordered:
                raise content.error(
                    f"job {self.job_id[one]} was submitted before the job ahead of it",
                    "sort the jobs, or read without strict to have them sorted",
                    line=line,
                )
            self.notes.append(
                f"{count(late.size, 'job')} submitted before the job ahead of it, the first on line {line}; sorted"
            )
        index = np.flatnonzero(keep)[np.argsort(self.submit[keep], kind="stable")]
        source = source_of(content, format, rows_read, index.size, self.timezone, self.notes)
        source = replace(source, rows_deselected=self.deselected)
        columns: dict[str, Any] = {name: getattr(self, name) for name in PER_JOB}
        columns |= {"submit": self.submit - first, "nodes": np.where(keep, self.nodes, 0.0).astype(np.int64)}
        chosen = {name: values[index] for name, values in columns.items() if values is not None}
        return Workload(**chosen, n_nodes=machine.n_nodes, origin=origin, rejected=rows.frame(), source=source)

    def _reject(self, n_nodes: int | None) -> None:
        reject = self.rejections.reject
        reject(~np.isfinite(self.submit), "no time of submission", "submit")
        reject(~np.isfinite(self.run_time), "run time not known", "run_time")
        reject(self.run_time < 0, "run time below zero", "run_time")
        reject(np.isnan(self.requested) | (self.requested < 0), "walltime below zero or not a number", "requested")
        reject(~np.isfinite(self.nodes), "number of nodes not known", "nodes")
        reject(self.nodes < 1, "fewer than 1 node", "nodes")
        reject((self.nodes != np.round(self.nodes)) | (self.nodes > 2.0**53), "not a whole number of nodes", "nodes")
        if n_nodes is not None:
            reject(
                self.nodes > n_nodes,
                lambda row: f"asks for {self.nodes[row]:,.0f} nodes of a machine of {n_nodes:,}",
                "nodes",
            )
        if self.priority is not None:
            reject(np.isnan(self.priority), "priority is not a number", "priority")
        stands = self.rejections.kept
        again = np.zeros(stands.size, dtype=bool)
        again[stands] = pd.Index(self.job_id[stands]).duplicated()
        reject(again, "the same job as an earlier row", "job_id")


def job_ids(names: ObjectArray | IntArray) -> ObjectArray | IntArray:
    """Job identifiers as integers if all are; otherwise text, as of job arrays (``12_3``)."""
    if names.dtype.kind == "i":
        return names
    plain = all(name.isascii() and name.isdigit() and len(name) < 19 for name in names.tolist())
    return names.astype(np.int64) if plain and names.size else names


def numbers(values: ValueArray) -> FloatArray:
    """Values as numbers; NaN where a text is no number."""
    texts = [str(value) for value in values.tolist()]
    return np.where([text in ("inf", "Infinity") for text in texts], np.inf, as_numbers(texts))


def seconds(values: ValueArray, plain: float = 1.0) -> FloatArray:
    """Seconds of ``D-HH:MM:SS``, shorter forms, or numbers of `plain` seconds; infinite if ``UNLIMITED``, else NaN."""
    codes, texts = pd.factorize(pd.Series(values, dtype=object).astype(str).str.strip())
    text = pd.Series(texts, dtype=object)
    result = numbers(text.to_numpy()) * plain
    part = text.str.extract(_CLOCK)
    a, b, c, d = (pd.to_numeric(part[name], errors="coerce").to_numpy(dtype=np.float64) for name in "abcd")
    clock = ~np.isnan(a) & (~np.isnan(b) | ~np.isnan(d))
    whole_hours = ~np.isnan(d) | ~np.isnan(c)  # with days or seconds the first number is hours; otherwise minutes
    b, c, d = (np.nan_to_num(value) for value in (b, c, d))
    spelled = np.where(whole_hours, 86_400.0 * d + 3600.0 * a + 60.0 * b + c, 60.0 * a + b)
    result = np.where(clock, spelled, result)
    result[text.str.lower().isin(_NO_LIMIT).to_numpy(dtype=bool)] = np.inf
    return np.asarray(result[codes], dtype=np.float64)


def seconds_since_1970(values: ObjectArray, zone: str, seen: set[bool] | None = None) -> FloatArray:
    """Dates as seconds since 1970, NaN where there is no time; `zone` and `seen` as for `instants`."""
    stamps, missing = instants(values, zone, seen=seen)
    return np.where(missing | stamps.isna(), np.nan, nanoseconds(stamps) / 1e9)


def first_words(state: ObjectArray | None, size: int) -> ObjectArray:
    """The first word of each state, empty without a column of states."""
    if state is None:
        return np.full(size, "", dtype=object)
    codes, texts = pd.factorize(pd.Series(state, dtype=object))
    words = [str(text).upper().rstrip("+").partition(" ")[0] for text in texts]
    return np.array(words, dtype=object)[codes]


def requeued_runs(
    names: ValueArray, state: ObjectArray, stamp: FloatArray, step: BoolArray | bool = False
) -> tuple[BoolArray, FloatArray]:
    """Which runs were requeued, and the first submission of the job of each record; `step` are records of no run."""
    rows = pd.DataFrame({"name": names, "stamp": stamp, "row": np.arange(stamp.size)})[
        ~np.broadcast_to(step, stamp.size)
    ]
    rows = rows.sort_values(["stamp", "row"], kind="stable")
    last = ~rows["name"].duplicated(keep="last").to_numpy()
    requeued = np.zeros(stamp.size, dtype=bool)
    requeued[rows["row"]] = ~last & np.isin(state[rows["row"]], _REQUEUED)
    counted = rows[last | requeued[rows["row"]]]
    first = counted.groupby("name", sort=False)["stamp"].min()
    submitted = stamp.copy()
    ends = rows[last]
    submitted[ends["row"]] = first.reindex(ends["name"]).to_numpy()
    return requeued, submitted
