"""The configuration file of a batch simulation: the settings of `relfit.simulate_batch`, and where its jobs are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from relfit.batch.batch_settings import (
    Allocation,
    BatchCluster,
    NodeClass,
    Reservation,
    Saving,
    Scheduler,
    Settings,
    Time,
)
from relfit.batch.calibrated_failures import CalibratedFailures
from relfit.batch.failure_source import (
    Failures,
    GroupFailures,
    NodeFailures,
    ReplayedFailures,
    SystemFailures,
    read_failures,
)
from relfit.calibration.files import read_parameters
from relfit.calibration.validation_errors import ParameterError
from relfit.errors import ArgumentError, ReadError
from relfit.families import Weibull
from relfit.io import read
from relfit.jobs import Checkpoint
from relfit.parsing.settings import read_settings
from relfit.units import hours
from relfit.workloads import Workload, compress, copies, read_workload, scale_load

__all__ = ["BatchConfig", "read_batch_config"]


class WorkloadTable(Settings):
    """``[workload]``: the list of jobs, and what is done to it."""

    file: Path | None = None
    format: str | None = None
    processors_per_node: int | None = Field(None, ge=1)
    timezone: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    load: float | None = Field(None, gt=0)
    compress: float | None = Field(None, gt=0)
    copies: int | None = Field(None, ge=1)


class FailureTable(Settings):
    """``[[failures]]``: one source of failures."""

    kind: Literal["system", "nodes", "groups", "replay", "log", "calibrated"]
    mtbf: Time | None = None
    shape: float = Field(1.0, gt=0)
    repair: Time = 0.0
    fixed: bool = False
    nodes_per_group: int | None = Field(None, ge=1)
    file: Path | None = None

    def source(self) -> Failures:
        """The source of failures."""
        if self.kind in ("replay", "log", "calibrated"):
            if self.file is None:
                raise ArgumentError(f"failures of kind {self.kind} need a file", remedy='write file = "..."')
            if self.kind == "calibrated":
                return CalibratedFailures(parameters=read_parameters(self.file), nodes_per_rack=self.nodes_per_group)
            return read_failures(self.file) if self.kind == "replay" else ReplayedFailures.from_log(read(self.file))
        if self.mtbf is None:
            raise ArgumentError(f"failures of kind {self.kind} need an mtbf", remedy='write mtbf = "2000h"')
        if self.kind == "system":
            return SystemFailures(mtbf=self.mtbf, repair=self.repair, fixed=self.fixed)
        life: Any = self.mtbf
        if self.shape != 1.0:
            shape = np.asarray(self.shape)
            unit = Weibull(shape, np.asarray(1.0)).mean()
            life = Weibull(shape, hours(self.mtbf) / unit)
        if self.kind == "nodes":
            return NodeFailures(life=life, repair=self.repair, fixed=self.fixed)
        return GroupFailures(life=life, groups=self.nodes_per_group, repair=self.repair, fixed=self.fixed)


class CheckpointConfig(Settings):
    """``[checkpoint]``: of the jobs."""

    every: Time | None = None
    save: Time
    restore: Time = 0.0


class ClassTable(NodeClass):
    """``[[classes]]``: nodes of one kind, with a queue of their own; what is left out is as for the machine."""

    failures: list[FailureTable] = Field(default_factory=list)
    checkpoint: CheckpointConfig | None = None  # type: ignore[assignment]

    def node_class(self) -> NodeClass:
        """The class, as `relfit.simulate_batch` takes it."""
        own = {name: getattr(self, name) for name in self.model_fields_set}
        failures = [table.source() for table in self.failures]
        return NodeClass(**{**own, "failures": failures, "checkpoint": _checkpoint(self.checkpoint)})


class SimulationTable(Settings):
    """``[simulation]``: how long, how random, and what is kept."""

    seed: int = Field(0, ge=0)
    until: Time | None = None
    keep: Literal["jobs", "attempts", "nodes"] = "jobs"


class BatchConfig(Settings):
    """A configuration, checked; `read_batch_config` reads one."""

    workload: WorkloadTable = WorkloadTable()
    cluster: BatchCluster = BatchCluster()
    scheduler: Scheduler = Scheduler()
    classes: list[ClassTable] = Field(default_factory=list)
    failures: list[FailureTable] = Field(default_factory=list)
    allocation: Allocation = Allocation()
    checkpoint: CheckpointConfig | None = None
    reservations: list[Reservation] = Field(default_factory=list)
    simulation: SimulationTable = SimulationTable()
    saving: Saving | None = None

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
        nodes = sum(part.nodes for part in self.classes) or self.cluster.nodes
        if nodes is not None:
            jobs = jobs.with_columns({}, n_nodes=nodes)
        if table.copies is not None:
            jobs = copies(jobs, table.copies)
        if table.compress is not None:
            jobs = compress(jobs, table.compress)
        if table.load is not None:
            jobs = scale_load(jobs, table.load)
        return jobs

    def settings(self) -> dict[str, Any]:
        """The arguments of `relfit.simulate_batch`, without the workload.

        Raises
        ------
        ArgumentError
            When nodes are given for the cluster and for classes.
        """
        if self.classes and self.cluster.nodes is not None:
            what = "nodes of the cluster stand beside classes"
            raise ArgumentError(what, remedy="write each class once under [[classes]], with its nodes")
        return {
            "cluster": [part.node_class() for part in self.classes] or self.cluster,
            "scheduler": self.scheduler,
            "allocation": self.allocation,
            "failures": [table.source() for table in self.failures],
            "checkpoint": _checkpoint(self.checkpoint),
            "reservations": self.reservations,
            "until": self.simulation.until,
            "keep": self.simulation.keep,
            "rng": self.simulation.seed,
            "saving": self.saving,
        }


def _checkpoint(table: CheckpointConfig | None) -> Checkpoint | None:
    return None if table is None else Checkpoint(**table.model_dump())


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

    def beside(table: Any, name: str = "file") -> Any:
        file = getattr(table, name, None)
        return table if file is None else table.model_copy(update={name: base / file})

    return config.model_copy(
        update={
            "workload": beside(config.workload),
            "failures": [beside(table) for table in config.failures],
            "classes": [
                table.model_copy(update={"failures": [beside(each) for each in table.failures]})
                for table in config.classes
            ],
            "saving": beside(config.saving, "path"),
        }
    )
