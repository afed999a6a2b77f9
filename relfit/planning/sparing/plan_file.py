"""The table ``[cluster]`` of a parameter file, for the sparing planner.

It stands beside the tables that `relfit calibrate` writes, or alone. Durations are text (``"250s"``) or hours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Strict, ValidationError, ValidationInfo, field_validator

from relfit.base.arguments import durations
from relfit.base.errors import ArgumentError, ReadError
from relfit.fleet.calibration.files import parameters_of_document, read_document
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.fleet.calibration.schema import Parameters
from relfit.fleet.calibration.validation_errors import ParameterError
from relfit.planning.sparing.cluster import Cluster, Performance, PowerHeadroom, Strategies, TensorParallel
from relfit.planning.sparing.recovery import Recovery

Whole = Annotated[int, Strict(), Field(ge=1)]
Counted = Annotated[int, Strict(), Field(ge=0)]
Duration = str | Annotated[float, Field(ge=0.0)]
Number = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class ClusterTable(Model):
    """The table ``[cluster]``: the devices, the strategies to choose from, and how a job saves and recovers."""

    zones: Whole = Field(1, description="sparing zones")
    racks: Whole = Field(1, description="racks per zone")
    trays: Whole = Field(1, description="trays per rack")
    gpus: Whole = Field(1, description="GPUs per tray")
    group: Whole | None = Field(None, description="GPUs that must be placed in one zone")
    partial_groups: bool = Field(False, description="fill the last block of a group in part")
    shared_racks: bool = Field(True, description="whether a rack takes all its blocks down together")
    block: list[Whole] | Whole | None = Field(None, description="GPUs per block of the candidate strategies")
    working: list[Whole] | Whole | None = Field(None, description="working GPUs per block, one for each block")
    spare_blocks: Counted | None = Field(None, description="spare blocks per zone; the best number by default")
    most_spare_trays: Counted | None = Field(None, description="spare trays per block, at most")
    checkpoint_every: Duration | None = Field(None, description="work between checkpoints; the best by default")
    save: Duration = Field(0.0, description="time to save a checkpoint")
    detection: Duration = Field(0.0, description="time to notice a failure")
    restart: Duration = Field(0.0, description="time to find spares, load the state and restart")
    loss_limit: Counted = Field(0, description="missing blocks that a job tolerates")
    unit: Whole = Field(1, description="blocks that stop together")
    exchange: Duration = Field(0.0, description="time between exchanges of state among units")
    disturbed: bool = Field(False, description="whether failures during recovery restart it")
    exposed: Number | None = Field(None, description="share of time with exposed communication, for power headroom")
    idle_power: Number = Field(0.0, description="power of an idle tray, relative to one at its limit")
    power_ratio: Number | None = Field(None, description="power limit with spare trays over that without, as measured")
    alpha: Number | None = Field(None, description="exposed communication of tensor parallelism over very many GPUs")
    baseline: Whole = Field(16, description="GPUs of tensor parallelism at which the model's factor is one")

    @field_validator("checkpoint_every", "save", "detection", "restart", "exchange")
    @classmethod
    def _time(cls, value: str | float | None, info: ValidationInfo) -> str | float | None:
        if value is not None:
            _tried(lambda: durations("it", value, zero=info.field_name != "checkpoint_every"))
        return value

    @field_validator("block", "working", "spare_blocks", "save")
    @classmethod
    def _possible(cls, value: object, info: ValidationInfo) -> Any:
        """The value, checked by the planner's own classes with the fields before it."""
        data, name = info.data, info.field_name
        if value is None or not {"trays", "gpus", "racks"} <= set(data):
            return value
        if name == "save":
            _tried(lambda: Recovery(data.get("checkpoint_every"), value))
            return value
        cluster = Cluster(1, data["racks"], data["trays"], data["gpus"])
        values: dict[str, Any] = {**data, str(name): value}
        blocks = cluster.trays * cluster.gpus if values.get("block") is None else values["block"]
        _tried(
            lambda: Strategies.of_gpus(cluster, blocks, values.get("working"), values.get("spare_blocks")).check(
                cluster
            )
        )
        return value

    def cluster(self) -> Cluster:
        """The devices and placement rules."""
        return Cluster(**{field.name: getattr(self, field.name) for field in fields(Cluster)})

    def strategies(self) -> Strategies:
        """The strategies to choose from."""
        if self.block is None:
            every = Strategies.every(self.cluster(), most_spare_trays=self.most_spare_trays)
        else:
            every = Strategies.of_gpus(self.cluster(), self.block, self.working)
        return every if self.spare_blocks is None else every.with_spare_blocks([self.spare_blocks] * len(every))

    def recovery(self) -> Recovery:
        """How a job saves and recovers."""
        return Recovery(**{field.name: getattr(self, field.name) for field in fields(Recovery)})

    def performance(self) -> Performance:
        """Speed of blocks."""
        return Performance(
            hardware=None if self.exposed is None else PowerHeadroom(self.exposed, self.idle_power, self.power_ratio),
            model=None if self.alpha is None else TensorParallel(self.alpha, self.baseline),
        )


def _tried(check: Callable[[], object]) -> None:
    try:
        check()
    except ArgumentError as error:
        raise rejection(error.what.removeprefix("it: "), remedy=error.remedy) from None


@dataclass(frozen=True)
class PlanFile:
    """The parameters and the cluster of a file; None if missing."""

    parameters: Parameters | None
    cluster: ClusterTable | None


def read_plan_file(path: str | Path) -> PlanFile:
    """Read a TOML or JSON file that may hold ``[cluster]``; a `ReadError` names the key of an invalid value."""
    place = Path(path)
    document = read_document(place)
    cluster = None
    if "cluster" in document:
        table = document.pop("cluster")
        if not isinstance(table, dict):
            raise ReadError("cluster: this must be a table", path=place)
        try:
            cluster = ClusterTable(**table)
        except ValidationError as error:
            problem = ParameterError(error, ClusterTable, prefix=("cluster",))
            raise ReadError(problem.what, path=place, remedy=problem.remedy) from None
    alone = cluster is not None and not set(document) - {"version", "name"}
    return PlanFile(None if alone else parameters_of_document(document, place), cluster)
