"""The tables ``[cluster]`` and ``[prices]`` that a parameter file may carry for the sparing planner.

They stand beside what `relfit calibrate` writes, or alone. Durations are text (``"250s"``) or hours.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, ValidationInfo, field_validator

from relfit.arguments import durations
from relfit.calibration.positions import lines_of_json, lines_of_toml
from relfit.errors import ArgumentError, ReadError
from relfit.planning.sparing.cluster import Cluster, Strategies
from relfit.planning.sparing.performance import Performance, PowerHeadroom, TensorParallel
from relfit.planning.sparing.prices import Prices, RepairService
from relfit.planning.sparing.recovery import Recovery, SemiSynchronous

if TYPE_CHECKING:
    from relfit.calibration.schema import Parameters

__all__ = ["ClusterTable", "PlanFile", "PricesTable", "ServiceTable", "read_plan_file"]

Whole = Annotated[int, Strict(), Field(ge=1)]
Duration = str | Annotated[float, Field(ge=0.0)]
Number = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
_TABLES = ("cluster", "prices")


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ClusterTable(_Table):
    """The table ``[cluster]``: what stands there, what may be chosen, how a job saves and recovers.

    Examples
    --------
    >>> table = ClusterTable(zones=4, racks=256, trays=36, gpus=2, group=2304, save="50ms", restart="6min")
    >>> table.cluster().total_gpus
    73728
    """

    zones: Whole = Field(1, description="sparing zones")
    racks: Whole = Field(1, description="racks a zone")
    trays: Whole = Field(1, description="trays a rack")
    gpus: Whole = Field(1, description="GPUs a tray")
    group: Whole | None = Field(None, description="GPUs that must be placed in one zone")
    partial_groups: bool = Field(False, description="fill the last block of a group in part")
    shared_racks: bool = Field(False, description="whether a rack's failure interrupts once for all its blocks")
    block: list[Whole] | Whole | None = Field(None, description="GPUs a block, of the strategies to choose from")
    working: list[Whole] | Whole | None = Field(None, description="working GPUs a block, one for each block")
    spare_blocks: Annotated[int, Strict(), Field(ge=0)] | None = Field(
        None, description="spare blocks a zone; the best number when left out"
    )
    most_spare_trays: Annotated[int, Strict(), Field(ge=0)] | None = Field(None, description="a block, at most")
    period: Duration | None = Field(None, description="work between checkpoints; the best when left out")
    save: Duration = Field(0.0, description="time to save a checkpoint")
    detection: Duration = Field(0.0, description="time to notice a failure")
    restart: Duration = Field(0.0, description="time to find spares, load the state and restart")
    loss_limit: Annotated[int, Strict(), Field(ge=0)] = Field(0, description="missing blocks that a job can stand")
    unit: Whole = Field(1, description="blocks that drop out together")
    exchange: Duration = Field(0.0, description="time between exchanges of state among units")
    disturbed: bool = Field(False, description="whether failures during recovery start it again")
    exposed: Number | None = Field(None, description="share of time with exposed communication, for power headroom")
    idle_power: Number = Field(0.0, description="power of an idle tray, as a share of one at its limit")
    power_ratio: Number | None = Field(None, description="power limit with spare trays over that without, as measured")
    alpha: Number | None = Field(None, description="exposed communication of tensor parallelism without bound")
    baseline: Whole = Field(16, description="GPUs of tensor parallelism at which the model's factor is one")

    @field_validator("period", "save", "detection", "restart", "exchange")
    @classmethod
    def _time(cls, value: str | float | None, info: ValidationInfo) -> str | float | None:
        return _checked_time(value, zero=info.field_name != "period")

    @field_validator("save")
    @classmethod
    def _shorter(cls, value: str | float, info: ValidationInfo) -> str | float:
        period = info.data.get("period")
        if period is not None and durations("save", value) > durations("period", period):
            raise ValueError(f"a save of {value} takes longer than the period of {period}")
        return value

    @field_validator("block")
    @classmethod
    def _divides(cls, value: list[int] | int | None, info: ValidationInfo) -> list[int] | int | None:
        trays, gpus = info.data.get("trays"), info.data.get("gpus")
        for size in value if isinstance(value, list) else [value]:
            if trays and gpus and size is not None and (size % gpus or trays % (size // gpus)):
                raise ValueError(f"blocks of {size} GPUs do not divide a rack of {trays} trays of {gpus} GPUs")
        return value

    @field_validator("working")
    @classmethod
    def _fits(cls, value: list[int] | int | None, info: ValidationInfo) -> list[int] | int | None:
        block = info.data.get("block")
        if value is not None and block is not None:
            sizes, used = (v if isinstance(v, list) else [v] for v in (block, value))
            if len(used) not in (1, len(sizes)):
                raise ValueError(f"there are {len(used)} of them for {len(sizes)} block sizes")
            if any(u > size for u, size in zip(used * (len(sizes) // len(used)), sizes, strict=True)):
                raise ValueError("a block cannot have more working GPUs than GPUs")
        return value

    @field_validator("spare_blocks")
    @classmethod
    def _leaves_some(cls, value: int | None, info: ValidationInfo) -> int | None:
        racks, trays, gpus, block = (info.data.get(name) for name in ("racks", "trays", "gpus", "block"))
        if value is not None and racks and trays and gpus:
            sizes = block if isinstance(block, list) else [trays * gpus if block is None else block]
            fewest = min(racks * trays * gpus // size for size in sizes)
            if value >= fewest:
                raise ValueError(f"{value} spare blocks leave none at work of the {fewest} in a zone")
        return value

    def cluster(self) -> Cluster:
        """The cluster."""
        return Cluster(
            self.zones, self.racks, self.trays, self.gpus, self.group, self.partial_groups, self.shared_racks
        )

    def strategies(self) -> Strategies:
        """What to choose from."""
        if self.block is None:
            found = Strategies.every(self.cluster(), most_spare_trays=self.most_spare_trays)
        else:
            block = self.block if isinstance(self.block, list) else [self.block]
            found = Strategies.of_gpus(self.cluster(), block, self.working)
        return found if self.spare_blocks is None else found.with_spare_blocks([self.spare_blocks] * len(found))

    def recovery(self) -> Recovery:
        """How a job saves and recovers."""
        if self.loss_limit == 0:
            return Recovery(self.period, self.save, self.detection, self.restart, disturbed=self.disturbed)
        scheme = SemiSynchronous(self.loss_limit, self.unit, self.exchange)  # type: ignore[arg-type]
        return Recovery(self.period, self.save, self.detection, self.restart, scheme, self.disturbed)

    def performance(self) -> Performance:
        """Speed of blocks."""
        given: dict[str, Any] = {}
        if self.exposed is not None:
            given["hardware"] = PowerHeadroom(self.exposed, self.idle_power, self.power_ratio)
        if self.alpha is not None:
            given["model"] = TensorParallel(self.alpha, self.baseline)
        return Performance(**given)


def _checked_time(value: str | float | None, zero: bool = True) -> str | float | None:
    if value is not None:
        try:
            durations("it", value, zero=zero)
        except ArgumentError as error:
            raise ValueError(str(error).removeprefix("it: ").removeprefix("it is ")) from None
    return value


class ServiceTable(_Table):
    """A kind of repair service in ``[[prices.services]]``."""

    name: str = Field(description="as day shift")
    visit: Number = Field(0.0, description="price of a repair visit")
    mttr: Duration | None = Field(None, description="mean time to repair under this service")
    standing: Number = Field(0.0, description="price an hour of having it")

    @field_validator("mttr")
    @classmethod
    def _time(cls, value: str | float | None) -> str | float | None:
        return _checked_time(value)

    def service(self) -> RepairService:
        """The service."""
        return RepairService(self.name, self.visit, self.mttr, self.standing)


class PricesTable(_Table):
    """The table ``[prices]``; a node is a tray."""

    node: Number = Field(0.0, description="price of a node at work")
    spare: Number | None = Field(None, description="price of a spare node")
    life: Duration = Field(43_800.0, description="time over which a node is paid off")
    energy: Number = Field(0.0, description="price of a kWh")
    power: Number = Field(0.0, description="kW of a node at work")
    idle_power: Number = Field(0.0, description="kW of an idle spare node")
    value: Number | None = Field(None, description="worth of a useful hour of a node")
    racks: list[Whole] | None = Field(None, description="racks a zone to choose from for a required goodput")
    services: list[ServiceTable] = Field(default_factory=list, description="kinds of repair to choose from")

    @field_validator("life")
    @classmethod
    def _time(cls, value: str | float) -> str | float | None:
        return _checked_time(value, zero=False)

    def prices(self) -> Prices:
        """The prices, with the first service."""
        first = {"service": self.services[0].service()} if self.services else {}
        return Prices(
            self.node, self.spare, self.life, self.energy, self.power, self.idle_power, value=self.value, **first
        )


@dataclass(frozen=True)
class PlanFile:
    """What a file says: parameters, cluster, prices; None for what is not in it."""

    parameters: Parameters | None
    cluster: ClusterTable | None
    prices: PricesTable | None


def read_plan_file(path: str | Path) -> PlanFile:
    r"""Read a parameter file that may hold ``[cluster]`` and ``[prices]``.

    Parameters
    ----------
    path : str or Path
        TOML or JSON, by its ending.

    Raises
    ------
    ReadError
        With the line and the key of what is wrong.

    Examples
    --------
    >>> text = 'mtbf = "20000h"\n[cluster]\nracks = 16\ntrays = 4\n'
    >>> _ = Path("params.toml").write_text(text)
    >>> found = read_plan_file("params.toml")
    >>> found.cluster.racks, found.parameters.mtbf.node.value
    (16, 20000.0)
    >>> _ = Path("params.toml").write_text(text.replace("racks", "rakcs"))
    >>> read_plan_file("params.toml")
    Traceback (most recent call last):
    relfit.errors.ReadError: params.toml, line 3: cluster.rakcs: there is no such key; did you mean racks?
    """
    place = Path(path)
    from relfit.calibration import Parameters
    from relfit.calibration.files import parameters_of_text

    try:
        text = place.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text) if place.suffix.lower() == ".toml" else json.loads(text)
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict) or not any(name in document for name in _TABLES):
        return PlanFile(Parameters.read(place), None, None)
    if place.suffix.lower() == ".toml":
        lines, rest = lines_of_toml(text), _without(text, place)
    else:
        lines, rest = (
            lines_of_json(text),
            json.dumps({key: value for key, value in document.items() if key not in _TABLES}),
        )
    tables: dict[str, Any] = {}
    for name, kind in (("cluster", ClusterTable), ("prices", PricesTable)):
        if name in document:
            try:
                tables[name] = kind.model_validate(document[name])
            except ValidationError as error:
                raise _complaint(error, name, kind, lines, place) from None
    known = None
    if any(key not in (*_TABLES, "version", "name") for key in document):
        known = parameters_of_text(rest, place.suffix.lower()[1:], place)
    return PlanFile(known, tables.get("cluster"), tables.get("prices"))


def _without(text: str, path: Path) -> str:
    """The text with the planner's tables blanked out, so that lines keep their numbers."""
    inside = False
    kept: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        head = re.match(r"\s*\[\[?\s*([^\].]+)", line)
        if head:
            inside = head[1].strip().strip("\"'") in _TABLES
        if (
            not inside
            and re.match(r"\s*(cluster|prices)\s*[.=]", line)
            and not any(k.strip().startswith("[") for k in kept)
        ):
            raise ReadError("write this as a table with a line of its own, [cluster]", path=path, line=number)
        kept.append("" if inside else line)
    return "\n".join(kept)


def _complaint(
    error: ValidationError, table: str, kind: type[BaseModel], lines: dict[Any, int], path: Path
) -> ReadError:
    found = error.errors()[0]
    place = tuple(
        part for part in found["loc"] if not (isinstance(part, str) and re.search(r"[\[\(,]|constrained", part))
    )
    names = [str(part) for part in place if part not in ("int", "float", "str", "list")]
    key = ".".join([table, *names])
    line = next((lines[spot] for n in range(len(names), -1, -1) if (spot := (table, *names[:n])) in lines), None)
    if found["type"] == "extra_forbidden":
        kind = ServiceTable if "services" in names else kind
        near = get_close_matches(names[-1], kind.model_fields, n=1, cutoff=0.5)
        remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(kind.model_fields)}"
        return ReadError(f"{key}: there is no such key", path=path, line=line, remedy=remedy)
    said = found["msg"].removeprefix("Value error, ")
    return ReadError(f"{key}: {said[:1].lower()}{said[1:]}", path=path, line=line)
