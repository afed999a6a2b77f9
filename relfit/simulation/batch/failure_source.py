"""Sources of failures: a rate of the system, times to failure of its nodes or of groups of them, a list to replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import durations
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.units import NANOSECONDS_PER_HOUR, instant
from relfit.fitting.families import Exponential, Weibull
from relfit.fitting.families.distribution import Distribution
from relfit.fleet.calibration import Parameters
from relfit.io.workloads import Workload
from relfit.log.failurelog import FailureLog
from relfit.log.outages import outages_of, system_outages_of
from relfit.simulation.batch.failure_processes import (
    Failures,
    Lives,
    Process,
    Renumbered,
    RepairedFailures,
    Replay,
    failure_table,
)
from relfit.simulation.engine.checked_settings import HOUR, in_seconds
from relfit.simulation.engine.repair_stages import listed

_REMEDIES = {
    FailureLog: "replay it, as ReplayedFailures.from_log(log), or draw alike: "
    "CalibratedFailures(parameters=rf.calibrate(log))",
    Parameters: "draw failures by them: CalibratedFailures(parameters=...)",
    object: 'give a source, as SystemFailures(mtbf="24h", repair="4h"), or several',
}


def _life(name: str, value: object) -> Distribution:
    if isinstance(value, Distribution):
        return value
    return Exponential(1.0 / durations(name, value, zero=False))


def weibull_parameters(life: object, n_nodes: int) -> Lives:
    """Shape and scale (seconds) of each node, for exponential and Weibull times to failure; else an `ArgumentError`."""
    own = _life("life", life)
    if isinstance(own, Weibull):
        shape, scale = own.shape, own.scale
    elif isinstance(own, Exponential):
        shape, scale = np.ones(1), own.mean()
    else:
        what = f"reliability by {type(own).__name__} is not known to the simulator"
        raise ArgumentError(what, remedy="give an Exponential or a Weibull, or EstimatedReliability()")
    return np.broadcast_to(shape, (n_nodes,)), HOUR * np.broadcast_to(scale, (n_nodes,))


@dataclass(frozen=True, kw_only=True)
class SystemFailures(RepairedFailures):
    """Failures of the system as a Poisson process, each of a node drawn from all, idle ones and those down included.

    A failure of a node that is down is ignored, so the realised rate is lower (BatSim's failure model).

    Parameters
    ----------
    mtbf : duration
        Mean time between failures of the system.
    repair : duration, Distribution or StagedRepairs
        Mean of exponential times to repair of a node, their distribution, or stages that depend on the node's earlier
        repairs; 0 by default: nodes come back at once.
    fixed : bool
        Every repair takes exactly `repair`.

    Examples
    --------
    >>> SystemFailures(mtbf="268h", repair="13days").mean_repair
    1123200.0
    """

    mtbf: Any

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Process:
        """A process with one unit, which stands for any node."""
        gap = Exponential(1.0 / durations("mtbf", self.mtbf, zero=False))
        return Process(self, gap, np.zeros(1), None, n_nodes, rng, start)

    def rates(self, n_nodes: int, *, steady: bool = False) -> FloatArray:
        """The rate of the system shared out equally."""
        return np.full(n_nodes, 1.0 / (n_nodes * in_seconds("mtbf", self.mtbf, zero=False)))


@dataclass(frozen=True, kw_only=True)
class NodeFailures(RepairedFailures):
    """Each node fails by itself and is as new after its repair.

    Parameters
    ----------
    life : duration or Distribution
        Mean of exponential times to failure, or their distribution: one for all nodes, or a batch with one per node.
    ages : array_like of float, shape (nodes,), optional
        Hours since each node's last repair when the simulation starts; by default drawn from the steady state, 0 where
        the mean life is infinite.
    repair, fixed
        As for `SystemFailures`.
    """

    life: Any
    ages: Any = None

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Process:
        """A process with one unit per node."""
        members = list(np.arange(n_nodes)[:, None])
        return Process(self, _life("life", self.life), self.ages, members, n_nodes, rng, start)

    def rates(self, n_nodes: int, *, steady: bool = False) -> FloatArray:
        """One over the mean life of each node."""
        life = _life("life", self.life)
        if steady and not isinstance(life, Exponential):
            return np.zeros(n_nodes)
        return np.broadcast_to(1.0 / (HOUR * np.asarray(life.mean())), (n_nodes,))

    def lives(self, n_nodes: int) -> Lives:
        return weibull_parameters(self.life, n_nodes)


@dataclass(frozen=True, kw_only=True)
class GroupFailures(RepairedFailures):
    """All nodes of a rack, or of another group, fail together; one group of all nodes is an outage of the system.

    Parameters
    ----------
    life : duration or Distribution
        Mean of exponential times to failure of a group, or their distribution.
    groups : array_like, shape (nodes,), or int, optional
        Group of each node, or the number of consecutive nodes in a group; by default all nodes are one group.
    share : float, optional
        Share of its nodes that each failure of a group strikes, at least two, drawn afresh each time; by default all.
    repair, fixed
        As for `SystemFailures`; one repair per failure of a group.
    """

    life: Any
    groups: Any = None
    share: float | None = None

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Process:
        """A process with one unit per group."""
        groups = group_numbers(self.groups, n_nodes)
        members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
        return Process(self, _life("life", self.life), None, members, n_nodes, rng, start)


@dataclass(frozen=True, eq=False)
class ReplayedFailures(Failures):
    """Recorded failures, replayed.

    Parameters
    ----------
    time : array_like of float, shape (n,)
        Seconds on the clock of the workload.
    node : array_like of int, shape (n,)
        Number of the node, from 0; -1 for all nodes.
    repair : array_like of float, shape (n,)
        Seconds until the node is back.
    labels : pandas.Index, optional
        Names of the nodes.
    dates : tuple of str, optional
        Start and end of the log that they are from.
    origin : str, optional
        The instant of second 0; by default the start of the log.

    Raises
    ------
    ArgumentError
        For times that are no numbers, repairs below zero, or arrays of different lengths.
    """

    time: FloatArray
    node: IntArray
    repair: FloatArray
    labels: pd.Index | None = None
    dates: tuple[str, str] | None = None
    origin: str | None = None

    def __post_init__(self) -> None:
        time, node, repair = (np.atleast_1d(np.asarray(v)) for v in (self.time, self.node, self.repair))
        if not time.shape == node.shape == repair.shape or time.ndim != 1:
            raise ArgumentError("times, nodes and repairs of failures do not go together", remedy="give one of each")
        bad = np.flatnonzero(~np.isfinite(time) | ~(repair >= 0.0))
        if bad.size:
            raise ArgumentError(f"failure {bad[0]} at {time[bad[0]]} is repaired in {repair[bad[0]]} seconds")
        order = np.argsort(time, kind="stable")
        object.__setattr__(self, "time", time[order].astype(np.float64))
        object.__setattr__(self, "node", node[order].astype(np.int64))
        object.__setattr__(self, "repair", repair[order].astype(np.float64))

    @classmethod
    def from_log(cls, log: FailureLog, origin: object = None) -> ReplayedFailures:
        """Outages of a log's nodes and of its system.

        Parameters
        ----------
        log : FailureLog
        origin : str or datetime, optional
            The instant of second 0 on the clock of the workload, in the log's zone if it has none. By default a
            simulation takes the calendar: that of the workload, if its jobs have dates and the log covers some of
            them; otherwise the first job is submitted when the log starts.

        Examples
        --------
        >>> import relfit as rf
        >>> failures = ReplayedFailures.from_log(rf.datasets.load("white"))
        >>> len(failures.labels), bool((failures.node == -1).any())
        (512, True)
        """
        begun = log.window.start.value
        nodes, system = outages_of(log), system_outages_of(log)
        parts = [
            (outages.start[own], code[own], outages.end[own] - outages.start[own])
            for outages, code in ((nodes, nodes.code), (system, np.full(system.code.size, -1)))
            for own in [outages.failures & (outages.start >= begun)]
        ]
        time, node, length = (np.concatenate(part) for part in zip(*parts, strict=True))
        unit = NANOSECONDS_PER_HOUR / HOUR
        dates = (log.window.start.isoformat(), log.window.end.isoformat())
        failures = cls((time - begun) / unit, node, length / unit, nodes.groups, dates)
        return failures if origin is None else failures._since(instant(origin, log.source.timezone), 0.0)

    def on_clock_of(self, workload: Workload) -> ReplayedFailures:
        """Failures of a log by the calendar of a workload, where its jobs have dates within the log.

        A node that is down when the first job comes is back after the rest of its repair.
        """
        if self.dates is None or self.origin is not None or workload.origin is None or not len(workload):
            return self
        begun, zero = float(workload.submit[0]), workload.origin
        span = [begun, float((workload.submit + workload.run_time).max())]
        first, last = (zero + pd.Timedelta(seconds=second) for second in span)
        start, end = (pd.Timestamp(date) for date in self.dates)
        return self._since(zero, begun) if first < end and last > start else self

    def _since(self, zero: pd.Timestamp, begun: float) -> ReplayedFailures:
        """The failures of a log with another instant as second 0, without those that are over by the second `begun`."""
        time = self.time + (pd.Timestamp(self.dates[0]) - zero).total_seconds() if self.dates else self.time
        stays = time + self.repair > begun
        late = np.maximum(time, begun)
        repair = self.repair - (late - time)
        return replace(self, time=late[stays], node=self.node[stays], repair=repair[stays], origin=zero.isoformat())

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Replay:
        """The list, a failure of all nodes as one failure of each."""
        bad = np.flatnonzero((self.node < -1) | (self.node >= n_nodes))
        if bad.size:
            what = f"failure {bad[0]} is of node {self.node[bad[0]]}"
            raise ArgumentError(what, remedy=f"there are nodes 0 to {n_nodes - 1}")
        each = np.where(self.node < 0, n_nodes, 1)
        node = np.repeat(self.node, each)
        node[node < 0] = np.tile(np.arange(n_nodes), int((self.node < 0).sum()))
        return Replay(failure_table(np.repeat(self.time, each), node, np.repeat(self.repair, each)))

    @property
    def mean_repair(self) -> float:
        return float(self.repair.mean()) if self.repair.size else 0.0


def read_failures(path: str | Path) -> ReplayedFailures:
    """Failures from a CSV file with the columns ``time`` (seconds), ``node`` (from 0; -1: all) and ``repair_seconds``.

    Raises
    ------
    ReadError
        When the file cannot be read, a column is missing, or a value is invalid.
    """
    remedy = "give time,node,repair_seconds"
    try:
        table = pd.read_csv(path, skipinitialspace=True)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no CSV table"
        raise ReadError(f"cannot be read: {why}", path=path, remedy=remedy) from error
    columns = []
    for name in ("time", "node", "repair_seconds"):
        if name not in table.columns:
            raise ReadError(f"no column {name}", path=path, line=1, remedy=remedy)
        values = pd.to_numeric(table[name], errors="coerce")
        wrong = {"time": values.isna(), "node": values != values.round(), "repair_seconds": ~(values >= 0)}[name]
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ReadError(f"{table[name].iloc[row]!r} is no {name}", path=path, line=row + 2, column=name)
        columns.append(values.to_numpy())
    return ReplayedFailures(columns[0], columns[1].astype(np.int64), columns[2])


@dataclass(frozen=True, kw_only=True)
class PartOfFailures(Failures):
    """Failures of a machine that strike a part of its nodes, from the number `first` on.

    Parts with one seed, drawn from the second `since` on, have the same failures: one strikes all parts at one instant.
    """

    machine: Failures
    n_machine: int
    first: int
    seed: int
    since: float

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Renumbered:
        """The failures of the machine, less those of other nodes."""
        machine = self.machine.process(self.n_machine, np.random.default_rng(self.seed), self.since)
        own = machine.up_since
        up_since = None if own is None else self.since - start + own[self.first : self.first + n_nodes]
        return Renumbered("machine", machine, -self.first, n_nodes, up_since)

    @property
    def mean_repair(self) -> float:
        return self.machine.mean_repair

    def rates(self, n_nodes: int, *, steady: bool = False) -> FloatArray:
        return self.machine.rates(self.n_machine, steady=steady)[self.first : self.first + n_nodes]

    def lives(self, n_nodes: int) -> Lives | None:
        lives = self.machine.lives(self.n_machine)
        own = slice(self.first, self.first + n_nodes)
        return None if lives is None else (lives[0][own], lives[1][own])


@dataclass(frozen=True, kw_only=True)
class ClassFailures(Failures):
    """Failures of one class of nodes, from `first` on in the machine; the source numbers them within the class."""

    source: Failures
    first: int
    size: int

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Renumbered:
        return Renumbered("source", self.source.process(self.size, rng, start), self.first, n_nodes)

    @property
    def mean_repair(self) -> float:
        return self.source.mean_repair

    def rates(self, n_nodes: int, *, steady: bool = False) -> FloatArray:
        """Those of the source; no other node fails."""
        rates = np.zeros(n_nodes)
        rates[self.first : self.first + self.size] = self.source.rates(self.size, steady=steady)
        return rates


def group_numbers(groups: int | npt.ArrayLike | None, n_nodes: int) -> IntArray:
    """Group of each node, numbered from 0; an `ArgumentError` where their number is not that of the nodes."""
    if groups is None:
        return np.zeros(n_nodes, dtype=np.int64)
    if np.ndim(groups) == 0:
        return np.arange(n_nodes) // int(np.asarray(groups))
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    if codes.size != n_nodes:
        raise ArgumentError(f"{codes.size} groups for {n_nodes} nodes", remedy="give the group of every node")
    return codes


def sources_of(failures: object, workload: Workload) -> tuple[Failures, ...]:
    """The sources of failures of a workload; an `ArgumentError` for what is none."""
    for source in (sources := listed(failures)):
        if not isinstance(source, Failures):
            remedy = next(text for kind, text in _REMEDIES.items() if isinstance(source, kind))
            raise ArgumentError(f"failures: {str(source)[:100]!r} is no source of failures", remedy=remedy)
    return tuple(each.on_clock_of(workload) if isinstance(each, ReplayedFailures) else each for each in sources)
