"""`Workload`: the jobs of a batch system, as they were submitted, and the rows that were rejected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import DataError
from relfit.base.results import Result
from relfit.base.text import count, duration, number, percent
from relfit.log.tables import REJECTED_COLUMNS, Source

_REASONS = 5
PER_JOB = ("job_id", "submit", "nodes", "run_time", "requested", "user", "priority", "node_class")


class Workload(Result):
    """Jobs of a batch system; times in seconds.

    Parameters
    ----------
    job_id : array_like, shape (jobs,)
        Integers or text, each once.
    submit : array_like of float, shape (jobs,)
        When each job was submitted, from any origin; never falling.
    nodes : array_like of int, shape (jobs,)
        Whole nodes that the job takes, 1 or more.
    run_time : array_like of float, shape (jobs,)
        How long it runs if nothing stops it.
    requested : array_like of float, shape (jobs,), optional
        Requested walltime, at which the job is killed; infinite where there was none, as when left out.
    n_nodes : int, optional
        Nodes of the machine. A workload may hold wider jobs; a simulation rejects them.
    user : array_like, shape (jobs,), optional
        Who submitted it.
    priority : array_like of float, shape (jobs,), optional
        Jobs of higher priority start first.
    origin : pandas.Timestamp, optional
        The instant of time 0, in UTC.
    rejected : pandas.DataFrame
        Rejected rows of the source: ``file``, ``line``, ``column``, ``reason``, ``text``.
    source : Source
        Files, format, counts, notes.
    node_class : array_like of text, shape (jobs,), optional
        Which kind of node the job runs on, such as ``"gpu"``; ``"cpu:2+gpu:4"`` where it takes nodes of several.

    Raises
    ------
    DataError
        For arrays of different lengths, submissions out of order, a job twice, fewer than 1 node, or a time that is
        below zero or no number; it names the first such job.

    Examples
    --------
    >>> jobs = Workload([1, 2, 3], [0.0, 60.0, 90.0], [4, 1, 8], [3600.0, 60.0, 600.0], [7200.0, 300.0, 900.0], 8)
    >>> jobs
    Workload: 3 jobs of 1-8 nodes over 1.5 minutes on 8 nodes; they need 5.35 node-hours.
    >>> jobs.to_frame()["requested"].tolist()
    [7200.0, 300.0, 900.0]
    """

    job_id: npt.NDArray[Any]
    submit: FloatArray
    nodes: IntArray
    run_time: FloatArray
    requested: FloatArray = None  # type: ignore[assignment]
    n_nodes: int | None = None
    user: npt.NDArray[Any] | None = None
    priority: FloatArray | None = None
    origin: pd.Timestamp | None = None
    rejected: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(REJECTED_COLUMNS)))
    source: Source = field(default_factory=Source)
    node_class: npt.NDArray[Any] | None = None

    _not_in_json = PER_JOB

    def __post_init__(self) -> None:
        size = np.size(self.submit)
        requested = np.full(size, np.inf) if self.requested is None else self.requested
        columns: dict[str, npt.NDArray[Any]] = {
            "job_id": _names(self.job_id),
            "submit": np.array(self.submit, dtype=np.float64),
            "nodes": _whole(self.nodes),
            "run_time": np.array(self.run_time, dtype=np.float64),
            "requested": np.array(requested, dtype=np.float64),
        }
        if self.user is not None:
            columns["user"] = np.array(self.user)
        if self.priority is not None:
            columns["priority"] = np.array(self.priority, dtype=np.float64)
        if self.node_class is not None:
            columns["node_class"] = np.array([str(name) for name in self.node_class], dtype=object)
        for name, values in columns.items():
            if values.shape != (size,):
                raise DataError(f"{name} has shape {values.shape} and submit {np.shape(self.submit)}: one value a job")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if self.n_nodes is not None:
            object.__setattr__(self, "n_nodes", int(self.n_nodes))
            self._refuse(np.full(size, self.n_nodes < 1), f"a machine of {self.n_nodes} nodes")
        self._check()

    def _check(self) -> None:
        for name in ("submit", "run_time"):
            self._refuse(~np.isfinite(getattr(self, name)), f"{name} is not a number")
        self._refuse(self.run_time < 0, "run_time is below zero")
        self._refuse(np.isnan(self.requested) | (self.requested < 0), "requested is below zero or not a number")
        self._refuse(self.nodes < 1, "fewer than 1 node")
        late = np.zeros(len(self), dtype=bool)
        late[1:] = self.submit[1:] < self.submit[:-1]
        self._refuse(late, "submitted before the job ahead of it", "sort the jobs by their time of submission")
        self._refuse(pd.Index(self.job_id).duplicated(), "the same job_id as an earlier job")
        if self.priority is not None:
            self._refuse(np.isnan(self.priority), "priority is not a number")

    def _refuse(self, bad: BoolArray, reason: str, remedy: str | None = None) -> None:
        where = np.flatnonzero(bad)
        if where.size:
            raise DataError(
                f"job {self.job_id[where[0]]} (position {where[0]}): {reason}; {count(where.size, 'such job')}",
                remedy=remedy,
            )

    def __len__(self) -> int:
        return int(self.submit.size)

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """What is known of each job, by name; arrays of shape (jobs,)."""
        named = {name: getattr(self, name) for name in PER_JOB}
        return {name: values for name, values in named.items() if values is not None}

    @property
    def node_seconds(self) -> FloatArray:
        """Work of each job in node-seconds: its nodes times its run time, or its walltime where that is shorter."""
        return self.nodes.astype(np.float64) * np.minimum(self.run_time, self.requested)

    @property
    def span(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.submit[-1] - self.submit[0]) if len(self) else 0.0

    def load(self, n_nodes: int | None = None) -> float:
        """Offered load: work submitted per unit of time over what the machine can do.

        Parameters
        ----------
        n_nodes : int, optional
            Nodes of the machine; by default those of the workload.

        Returns
        -------
        float
            Sum of `node_seconds` over nodes of the machine times `span`; infinite where all jobs come at once.

        Raises
        ------
        DataError
            When the number of nodes is not known, or there is no job.
        """
        size = self.n_nodes if n_nodes is None else n_nodes
        if size is None:
            raise DataError("how many nodes the machine has is not known", remedy="give n_nodes")
        if not len(self):
            raise DataError("a workload without jobs has no load")
        return float(self.node_seconds.sum() / size / self.span) if self.span else float("inf")

    @property
    def headline(self) -> str:
        """Number and width of the jobs, the time that they span, and their load."""
        if not len(self):
            return "No jobs."
        low, high = int(self.nodes.min()), int(self.nodes.max())
        width = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        text = f"{count(len(self), 'job')} of {width} {'node' if high == 1 else 'nodes'}"
        text += f" over {duration(self.span / 3600.0)}"
        if self.n_nodes is None:
            return f"{text}; they need {number(float(self.node_seconds.sum()) / 3600.0)} node-hours."
        text += f" on {count(self.n_nodes, 'node')}"
        load = self.load()
        if not np.isfinite(load) or load > 10.0:
            return f"{text}; they need {number(float(self.node_seconds.sum()) / 3600.0)} node-hours."
        return f"{text}: offered load {percent(load)}."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, what was rejected, and the notes of the source."""
        lost: tuple[str, ...] = ()
        if not self.rejected.empty:
            kinds = self.rejected["reason"].value_counts()
            reasons = [f"{reason} ({number:,})" for reason, number in kinds.head(_REASONS).items()]
            reasons += [f"{len(kinds) - _REASONS} more reasons"] if len(kinds) > _REASONS else []
            lost = (f"{count(len(self.rejected), 'row')} rejected: {'; '.join(reasons)}.",)
        return (self.headline, *lost, *self.source.notes)

    def to_frame(self) -> pd.DataFrame:
        """One row per job: ``job_id``, ``submit``, ``nodes``, ``run_time``, ``requested`` (seconds), ..."""
        return pd.DataFrame(self.columns)

    def where(self, keep: npt.ArrayLike) -> Workload:
        """The jobs that a mask, or positions in rising order, select.

        Examples
        --------
        >>> jobs = Workload([1, 2], [0.0, 60.0], [4, 1], [3600.0, 60.0])
        >>> len(jobs.where(jobs.nodes > 1))
        1
        """
        index = np.asarray(keep)
        return self.with_columns({name: values[index] for name, values in self.columns.items()})

    def with_columns(
        self, columns: Mapping[str, Any], *, note: str | None = None, n_nodes: int | None = None
    ) -> Workload:
        """The same workload with other columns (and another machine); `note` is added to its source."""
        notes = (*self.source.notes, note) if note else self.source.notes
        size = self.n_nodes if n_nodes is None else n_nodes
        return replace(self, **columns, n_nodes=size, source=replace(self.source, notes=notes))


def _names(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Numbers of jobs as integers where all are; otherwise text."""
    array = np.array(values)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    return np.array([str(value) for value in array.tolist()], dtype=object)


def _whole(values: npt.ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        numbers = array.astype(np.float64)
        if not np.array_equal(numbers, np.round(numbers)):
            raise DataError("nodes are not whole numbers", remedy="jobs take whole nodes; round them up")
        array = numbers
    return array.astype(np.int64)
