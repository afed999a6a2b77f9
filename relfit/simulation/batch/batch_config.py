"""The configuration file of a batch simulation: the settings of `relfit.simulate_batch` and the list of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from relfit.base.errors import ArgumentError, ReadError, RelfitError
from relfit.base.settings_advice import in_settings
from relfit.base.units import hours
from relfit.fitting.families import Weibull
from relfit.fleet.calibration.files import read_parameters
from relfit.fleet.calibration.parameter_values import rejection
from relfit.fleet.calibration.validation_errors import ParameterError
from relfit.io import read
from relfit.io.datasets import lists_jobs, read_workload
from relfit.io.parsing.settings import read_settings
from relfit.io.workloads import Workload, compress, copies, scale_load
from relfit.simulation.batch import failure_source
from relfit.simulation.batch.batch_settings import (
    Allocation,
    BatchCluster,
    CheckpointShares,
    NodeClass,
    Reservation,
    Saving,
    Scheduler,
)
from relfit.simulation.batch.calibrated_failures import CalibratedFailures
from relfit.simulation.batch.failure_processes import Failures
from relfit.simulation.engine.checked_settings import Settings, Time, check_duration, in_seconds
from relfit.simulation.engine.repair_stages import Repair, StagedRepairs
from relfit.system.jobs import Checkpoint


def _share(value: object) -> float | None:
    """The share that text such as ``"3%"`` names; None for other values."""
    if not (isinstance(value, str) and value.strip().endswith("%")):
        return None
    try:
        percent = float(value.strip()[:-1])
    except ValueError:
        percent = -1.0
    if not percent > 0.0:
        raise rejection(f"{value!r} is not a share", remedy='write "3%"')
    return percent / 100.0


TimeOrShare = Annotated[Any, AfterValidator(lambda value: check_duration(value) if _share(value) is None else value)]
"""A duration, or a share of the run time of each job: ``"3%"``."""


class WorkloadTable(Settings):
    """``[workload]``: the list of jobs, and how it is scaled."""

    file: Path | None = None  # a file, or the name of a fetched list of jobs
    format: str | None = None
    processors_per_node: int | None = Field(None, ge=1)
    timezone: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    jobs: int | None = Field(None, ge=1)  # number of jobs to take, from the first on; all by default
    walltime: TimeOrShare | None = None  # walltime of every job in place of the requested one
    load: float | None = Field(None, gt=0)
    compress: float | None = Field(None, gt=0)
    copies: int | None = Field(None, ge=1)


class FailureTable(Settings):
    """``[[failures]]``: one source of failures."""

    kind: Literal["system", "nodes", "groups", "replay", "log", "calibrated"]
    mtbf: Time | None = None
    shape: float = Field(1.0, gt=0)
    repair: Repair = 0.0
    fixed: bool = False
    nodes_per_group: int | None = Field(None, ge=1)
    file: Path | None = None
    columns: dict[str, Any] = Field(default_factory=dict)
    """Of a log that is a table: what its columns are, as for `relfit.read`."""

    def source(self) -> Failures:
        """The source of failures."""
        if self.columns and self.kind != "log":
            raise ArgumentError(f"failures of kind {self.kind} have no columns to name", remedy="leave out columns")
        if self.kind in ("replay", "log", "calibrated"):
            if self.file is None:
                raise ArgumentError(f"failures of kind {self.kind} need a file", remedy='write file = "..."')
            if self.kind != "calibrated" and isinstance(self.repair, StagedRepairs):
                what = f"failures of kind {self.kind} have their own times to repair"
                raise ArgumentError(what, remedy="leave out repair, or take another kind")
            if self.kind == "calibrated":
                staged = self.repair if isinstance(self.repair, StagedRepairs) else None
                return CalibratedFailures(
                    parameters=read_parameters(self.file), nodes_per_rack=self.nodes_per_group, repair=staged
                )
            if self.kind == "replay":
                return failure_source.read_failures(self.file)
            try:
                return failure_source.ReplayedFailures.from_log(read(self.file, **self.columns))
            except RelfitError as error:
                raise ReadError(in_settings(error)) from None
        if self.mtbf is None:
            raise ArgumentError(f"failures of kind {self.kind} need an mtbf", remedy='write mtbf = "2000h"')
        if self.kind == "system":
            return failure_source.SystemFailures(mtbf=self.mtbf, repair=self.repair, fixed=self.fixed)
        life: Any = self.mtbf
        if self.shape != 1.0:
            shape = np.asarray(self.shape)
            unit = Weibull(shape, np.asarray(1.0)).mean()
            life = Weibull(shape, hours(self.mtbf) / unit)
        if self.kind == "nodes":
            return failure_source.NodeFailures(life=life, repair=self.repair, fixed=self.fixed)
        return failure_source.GroupFailures(
            life=life, groups=self.nodes_per_group, repair=self.repair, fixed=self.fixed
        )


class CheckpointConfig(Settings):
    """``[checkpoint]``: checkpoints of the jobs; ``every = "optimal"``, the default, is each job's own interval."""

    every: Annotated[Any, AfterValidator(lambda value: value if value == "optimal" else check_duration(value))] = None
    save: TimeOrShare
    restore: TimeOrShare = 0.0

    @model_validator(mode="after")
    def _both(self) -> Self:
        if self.restore != 0.0 and (_share(self.save) is None) != (_share(self.restore) is None):
            what = "is not a share where the other is"
            raise rejection(what, at="restore", remedy='write save = "3%", restore = "2%"')
        return self

    def checkpoint(self) -> Checkpoint | CheckpointShares:
        """The checkpoints, as `relfit.simulate_batch` takes them."""
        every, share = None if self.every == "optimal" else self.every, _share(self.save)
        if share is None:
            return Checkpoint(every, self.save, self.restore)
        return CheckpointShares(save=share, restore=_share(self.restore) or 0.0, every=every)


class ClassTable(NodeClass):
    """``[[classes]]``: nodes of one kind, with a queue of their own; what is not set is as for the machine."""

    failures: list[FailureTable] = Field(default_factory=list)
    checkpoint: CheckpointConfig | None = None  # type: ignore[assignment]

    def node_class(self) -> NodeClass:
        """The class, as `relfit.simulate_batch` takes it."""
        own = {name: getattr(self, name) for name in self.model_fields_set}
        failures = [table.source() for table in self.failures]
        checkpoint = self.checkpoint and self.checkpoint.checkpoint()
        return NodeClass(**{**own, "failures": failures, "checkpoint": checkpoint})


class SimulationTable(Settings):
    """``[simulation]``: the seed, the end, and what to store."""

    seed: int = Field(0, ge=0)
    until: Time | None = None
    keep: Literal["jobs", "attempts", "nodes"] = "jobs"


class BatchConfig(Settings):
    """A checked configuration, with one field per table; `read_batch_config` reads one."""

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
        """The workload of `file`, or of the configuration, scaled as that says; an `ArgumentError` without a file."""
        table = self.workload
        place = table.file if file is None else file
        if place is None:
            raise ArgumentError("there is no list of jobs", remedy='write file = "jobs.swf" under [workload]')
        jobs = read_workload(
            place, table.format, processors_per_node=table.processors_per_node, timezone=table.timezone, **table.columns
        )
        nodes = sum(part.nodes for part in self.classes) or self.cluster.nodes
        if nodes is not None:
            jobs = jobs.with_columns({}, n_nodes=nodes)
        if table.jobs is not None:
            jobs = jobs.where(np.arange(min(table.jobs, len(jobs))))
        if table.walltime is not None:
            share = _share(table.walltime)
            limit = float(in_seconds("walltime", table.walltime)) if share is None else share * jobs.run_time
            jobs = jobs.with_columns({"requested": np.broadcast_to(limit, len(jobs))})
        scalings: Any = ((copies, table.copies), (compress, table.compress), (scale_load, table.load))
        for scale, factor in scalings:
            jobs = jobs if factor is None else scale(jobs, factor)
        return jobs

    def settings(self) -> dict[str, Any]:
        """The arguments of `relfit.simulate_batch`, without the workload."""
        if self.classes and self.cluster.nodes is not None:
            what = "nodes of the cluster stand beside classes"
            raise ArgumentError(what, remedy="write each class once under [[classes]], with its nodes")
        return {
            "cluster": [part.node_class() for part in self.classes] or self.cluster,
            "scheduler": self.scheduler,
            "allocation": self.allocation,
            "failures": [table.source() for table in self.failures],
            "checkpoint": self.checkpoint and self.checkpoint.checkpoint(),
            "reservations": self.reservations,
            "until": self.simulation.until,
            "keep": self.simulation.keep,
            "rng": self.simulation.seed,
            "saving": self.saving,
        }


def read_batch_config(path: str | Path) -> BatchConfig:
    """A configuration from a TOML file; paths in it are relative to its folder.

    Raises
    ------
    ReadError
        When it cannot be read, or has an unknown key or an invalid value.
    """
    place = Path(path)
    document = read_settings(place, "toml", "settings of a batch system", "name a .toml file")
    try:
        config = BatchConfig(**document)
    except ParameterError as error:
        raise ReadError(error.what, path=path, remedy=error.remedy) from None
    base = place.parent

    def beside(table: Settings | None, name: str = "file") -> Settings | None:
        file = getattr(table, name, None)
        if table is None or file is None or (lists_jobs(str(file)) and not (base / file).exists()):
            return table
        return table.model_copy(update={name: base / file})

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
