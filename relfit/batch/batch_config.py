"""The configuration file of a batch simulation: which keys there are, and what they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from relfit.batch.batch_driver import Saving
from relfit.batch.calibrated_failures import CalibratedFailures
from relfit.batch.failure_lists import read_failures
from relfit.batch.failure_source import (
    Failures,
    GroupFailures,
    NodeFailures,
    ReplayedFailures,
    SystemFailures,
)
from relfit.batch.reliability import EstimatedReliability
from relfit.batch.reservations import Reservation
from relfit.calibration.files import read_parameters
from relfit.calibration.parameter_values import Model
from relfit.calibration.validation_errors import ParameterError
from relfit.errors import ArgumentError, ReadError
from relfit.families import Weibull
from relfit.io import read
from relfit.jobs import Amdahl, Checkpoint, Gustafson
from relfit.parsing.settings import read_settings
from relfit.units import hours
from relfit.workloads import Workload, compress, copies, read_workload, scale_load

__all__ = ["BatchConfig", "read_batch_config"]

Time = str | float


class WorkloadTable(Model):
    """``[workload]``: the list of jobs, and what is done to it."""

    file: Path | None = None
    format: str | None = None
    processors_per_node: int | None = Field(None, ge=1)
    timezone: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    load: float | None = Field(None, gt=0)
    compress: float | None = Field(None, gt=0)
    copies: int | None = Field(None, ge=1)


class ClusterTable(Model):
    """``[cluster]``: the machine."""

    nodes: int | None = Field(None, ge=1)
    nodes_per_rack: int | None = Field(None, ge=1)


class SchedulerTable(Model):
    """``[scheduler]``: who runs when."""

    name: Literal["easy", "fcfs", "conservative"] = "easy"
    fixed_nodes: bool = False
    requeue: Literal["submit", "head", "tail"] = "submit"
    offer_freed_first: bool = True
    reject_after_repairs: int | None = Field(None, ge=1)
    walltimes: Literal["requested", "true"] = "requested"


class FailureTable(Model):
    """``[[failures]]``: one source of failures."""

    kind: Literal["system", "nodes", "groups", "replay", "log", "calibrated"]
    mtbf: Time | None = None
    shape: float = Field(1.0, gt=0)
    repair: Time = 0.0
    fixed: bool = False
    nodes_per_group: int | None = Field(None, ge=1)
    file: Path | None = None


class AllocationTable(Model):
    """``[allocation]``: which nodes a job gets."""

    policy: Literal["first_fit", "round_robin", "ras", "ljras", "ra", "all", "ra_opt", "rack"] = "first_fit"
    estimate: Literal["weibull", "exponential"] | None = None
    every: Time = "1000min"
    amdahl: float | None = Field(None, ge=0, le=1)
    gustafson: float | None = Field(None, ge=0, le=1)


class CheckpointTable(Model):
    """``[checkpoint]``: of the jobs."""

    every: Time | None = None
    save: Time
    restore: Time = 0.0


class ReservationTable(Model):
    """``[[reservations]]``: nodes kept free for planned maintenance."""

    start: Time
    end: Time
    nodes: str | None = None
    announced: Time | None = None


class ClassTable(Model):
    """``[[classes]]``: nodes of one kind, with a queue of their own; what is left out is as for the machine."""

    name: str
    nodes: int = Field(ge=1)
    nodes_per_rack: int | None = Field(None, ge=1)
    failures: list[FailureTable] = Field(default_factory=list)
    scheduler: SchedulerTable | None = None
    allocation: AllocationTable | None = None
    checkpoint: CheckpointTable | None = None
    reservations: list[ReservationTable] | None = None


class SimulationTable(Model):
    """``[simulation]``: how long, how random, and what is kept."""

    seed: int = Field(0, ge=0)
    until: Time | None = None
    keep: Literal["jobs", "attempts", "nodes"] = "jobs"


class SavingTable(Model):
    """``[saving]``: when the simulation writes itself to a file."""

    file: Path
    every: Time | None = None
    every_simulated: Time | None = None
    keep: int = Field(2, ge=1)
    time_limit: Time | None = None


class BatchConfig(Model):
    """A configuration, checked; `read_batch_config` reads one."""

    workload: WorkloadTable = WorkloadTable()
    cluster: ClusterTable = ClusterTable()
    scheduler: SchedulerTable = SchedulerTable()
    classes: list[ClassTable] = Field(default_factory=list)
    failures: list[FailureTable] = Field(default_factory=list)
    allocation: AllocationTable = AllocationTable()
    checkpoint: CheckpointTable | None = None
    reservations: list[ReservationTable] = Field(default_factory=list)
    simulation: SimulationTable = SimulationTable()
    saving: SavingTable | None = None

    def read_jobs(self, file: Path | None = None) -> Workload:
        """The workload of `file`, or of the configuration, scaled as asked for.

        Raises
        ------
        ArgumentError
            When neither names a file.
        """
        table = self.workload
        place = table.file if file is None else file
        if place is None:
            raise ArgumentError("there is no list of jobs", remedy='write file = "jobs.swf" under [workload]')
        jobs = read_workload(
            place, table.format, n_nodes=None, processors_per_node=table.processors_per_node,
            timezone=table.timezone, **table.columns,
        )  # fmt: skip
        nodes = self.nodes
        if nodes is not None:
            jobs = jobs.with_columns({}, n_nodes=sum(nodes.values()) if isinstance(nodes, dict) else nodes)
        if table.copies is not None:
            jobs = copies(jobs, table.copies)
        if table.compress is not None:
            jobs = compress(jobs, table.compress)
        if table.load is not None:
            jobs = scale_load(jobs, table.load)
        return jobs

    @property
    def nodes(self) -> int | dict[str, int] | None:
        """Nodes of the machine, or of each of its classes.

        Raises
        ------
        ArgumentError
            When both are given, or two classes have one name.
        """
        if not self.classes:
            return self.cluster.nodes
        sizes = {each.name: each.nodes for each in self.classes}
        if self.cluster.nodes is not None or len(sizes) < len(self.classes):
            what = "nodes of the cluster stand beside classes" if self.cluster.nodes else "two classes have one name"
            raise ArgumentError(what, remedy="write each class once under [[classes]], with its nodes")
        return sizes

    def settings(self) -> dict[str, Any]:
        """The arguments of `relfit.simulate_batch`, or `relfit.simulate_classes`, without workload and nodes."""
        saving = self.saving
        each = {part.name: _class_settings(part) for part in self.classes}
        return {
            **({"each": each} if each else {}),
            **_scheduling(self.scheduler),
            **_allocating(self.allocation),
            "failures": [_source(table) for table in self.failures],
            "racks": self.cluster.nodes_per_rack,
            "checkpoint": Checkpoint(**self.checkpoint.model_dump()) if self.checkpoint else None,
            "reservations": _reserved(self.reservations),
            "until": self.simulation.until,
            "keep": self.simulation.keep,
            "rng": self.simulation.seed,
            "saving": None
            if saving is None
            else Saving(
                path=saving.file, every=saving.every, every_simulated=saving.every_simulated, keep=saving.keep,
                time_limit=saving.time_limit,
            ),
        }  # fmt: skip


def _scheduling(table: SchedulerTable) -> dict[str, Any]:
    settings = table.model_dump()
    return {"scheduler": settings.pop("name"), **settings}


def _allocating(table: AllocationTable) -> dict[str, Any]:
    speedup: Any = None
    if table.amdahl is not None:
        speedup = Amdahl(table.amdahl)
    elif table.gustafson is not None:
        speedup = Gustafson(table.gustafson)
    reliability = EstimatedReliability(family=table.estimate, every=table.every) if table.estimate else None
    return {"allocation": table.policy, "reliability": reliability, "speedup": speedup}


def _reserved(tables: list[ReservationTable]) -> list[Reservation]:
    return [Reservation(each.start, each.end, each.nodes, each.announced) for each in tables]


def _class_settings(table: ClassTable) -> dict[str, Any]:
    """What a class has of its own."""
    settings: dict[str, Any] = {"failures": [_source(each) for each in table.failures]}
    if table.nodes_per_rack is not None:
        settings["racks"] = table.nodes_per_rack
    if table.scheduler is not None:
        settings |= _scheduling(table.scheduler)
    if table.allocation is not None:
        settings |= _allocating(table.allocation)
    if table.checkpoint is not None:
        settings["checkpoint"] = Checkpoint(**table.checkpoint.model_dump())
    if table.reservations is not None:
        settings["reservations"] = _reserved(table.reservations)
    return settings


def _source(table: FailureTable) -> Failures:
    if table.kind in ("replay", "log", "calibrated"):
        if table.file is None:
            raise ArgumentError(f"failures of kind {table.kind} need a file", remedy='write file = "..."')
        if table.kind == "calibrated":
            return CalibratedFailures(parameters=read_parameters(table.file), nodes_per_rack=table.nodes_per_group)
        return read_failures(table.file) if table.kind == "replay" else ReplayedFailures.from_log(read(table.file))
    if table.mtbf is None:
        raise ArgumentError(f"failures of kind {table.kind} need an mtbf", remedy='write mtbf = "2000h"')
    if table.kind == "system":
        return SystemFailures(mtbf=table.mtbf, repair=table.repair, fixed=table.fixed)
    life: Any = table.mtbf
    if table.shape != 1.0:
        shape = np.asarray(table.shape)
        unit = Weibull(shape, np.asarray(1.0)).mean()
        life = Weibull(shape, hours(table.mtbf) / unit)
    if table.kind == "nodes":
        return NodeFailures(life=life, repair=table.repair, fixed=table.fixed)
    return GroupFailures(life=life, groups=table.nodes_per_group, repair=table.repair, fixed=table.fixed)


def read_batch_config(path: str | Path) -> BatchConfig:
    """A configuration from a TOML file; paths in it are relative to its folder.

    Raises
    ------
    ReadError
        When it cannot be read, or a key in it is unknown or has a value that it cannot have.
    """
    place = Path(path)
    document = read_settings(place, "toml", "settings of a batch system", "name a .toml file")
    try:
        config = BatchConfig(**document)
    except ValidationError as error:
        problem = ParameterError(error, BatchConfig)
        raise ReadError(problem.what, path=path, remedy=problem.remedy) from None
    base = place.parent

    def beside(table: Any) -> Any:
        return table if table is None or table.file is None else table.model_copy(update={"file": base / table.file})

    return config.model_copy(
        update={
            "workload": beside(config.workload),
            "failures": [beside(table) for table in config.failures],
            "classes": [
                table.model_copy(update={"failures": [beside(each) for each in table.failures]})
                for table in config.classes
            ],
            "saving": beside(config.saving),
        }
    )
