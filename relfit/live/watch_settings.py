"""`WatchSettings`: the sources of a watch, its store, alarms and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializeAsAny, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from relfit.base.errors import ArgumentError, ReadError
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.fleet.calibration.validation_errors import ParameterError
from relfit.io.host_lists import hosts
from relfit.io.parsing.settings import read_settings
from relfit.io.parsing.times import check_zone
from relfit.live.sources import SOURCES, SourceBase
from relfit.live.sources.source_base import FilePath, Located, PlainUrl, without_password

_NODES = 'write how many, as 512, or lists, as ["n[001-512]"], or the name of a file with a list on each line'


class AlarmSettings(Model):
    """The allowed number of false alarms, and the parts in stock."""

    per_year: float = Field(4.0, gt=0.0, le=366.0, description="false alarms in a year, all kinds together")
    stock: dict[str, int] = Field(default_factory=dict, description="spare parts by cause, as memory = 12")


class OutputSettings(Model):
    """Outputs of a round, in addition to standard output."""

    page: FilePath | None = Field(None, description="the page of the day: one HTML file")
    json_file: FilePath | None = Field(None, alias="json", description="the round as JSON")
    metrics: FilePath | None = Field(None, description="a text file for the collector of Prometheus' node exporter")
    alertmanager: PlainUrl | None = Field(None, description="URL of an Alertmanager, as http://localhost:9093")
    slurm: FilePath | None = Field(None, description="folder of weights, features and the drain list for Slurm")
    params: FilePath | None = Field(None, description="parameters for planners and simulators: a .toml")


def _names(lists: Sequence[str]) -> list[str]:
    """The nodes of lists; an invalid list, or one of too many nodes, is rejected."""
    names: list[str] = []
    for text in lists:
        own = hosts(text)
        if any("[" in name for name in own):
            raise rejection(f"{text!r} is not a list of nodes, or one of more than a million", remedy=_NODES)
        names += own
    return names


class WatchSettings(Model):
    """The settings of a fleet's ``watch.toml``, without passwords; paths are relative to the folder of the file."""

    store: str = Field(description="a DuckDB file, or postgresql://user@host/database")
    password_env: str | None = Field(None, description="environment variable with the password of the store")
    fleet: str = Field("", description="its name; a store of another fleet is refused")
    timezone: str = Field("UTC", description="zone of times that carry none")
    nodes: Annotated[int, Field(ge=1)] | list[str] | FilePath | None = Field(
        None, description='nodes where no source lists them: how many, ["n[001-200]"], or a file of such lists'
    )
    observed_until: Literal["now"] | None = Field(
        None, description="now: sources that can be read say all until the round; else their last record ends the log"
    )
    sources: list[SerializeAsAny[SourceBase]] = Field(min_length=1, description="what is watched")
    alarms: AlarmSettings = AlarmSettings()
    outputs: OutputSettings = OutputSettings()

    @field_validator("store")
    @classmethod
    def _placed(cls, store: str, info: ValidationInfo) -> str:
        if "://" in store:
            if not store.startswith(("postgresql://", "postgresql+psycopg://")):
                raise rejection(
                    "this is neither a file nor a PostgreSQL URL", remedy="write postgresql://host/database"
                )
            return without_password(store)
        return Located.of(store, info)

    @field_validator("nodes", mode="before")
    @classmethod
    def _a_number_or_lists(cls, nodes: object) -> object:
        number = isinstance(nodes, int) and not isinstance(nodes, bool) and nodes > 0
        if isinstance(nodes, list) and nodes and all(isinstance(each, str) for each in nodes):
            _names(nodes)
        elif not (nodes is None or number or (isinstance(nodes, str) and "[" not in nodes)):
            raise rejection("this does not name nodes", remedy=_NODES)
        return nodes

    @field_validator("timezone")
    @classmethod
    def _zone(cls, zone: str) -> str:
        try:
            return check_zone(zone)
        except ArgumentError as error:
            raise rejection(error.what, remedy=error.remedy) from None

    @field_validator("sources", mode="before")
    @classmethod
    def _of_their_kinds(cls, items: object, info: ValidationInfo) -> Any:
        if not isinstance(items, list):
            return items
        sources = []
        for number, item in enumerate(items):
            if isinstance(item, SourceBase):
                sources.append(item)
                continue
            kind = item.get("kind") if isinstance(item, dict) else None
            if kind not in SOURCES:
                remedy = f"it must be one of {', '.join(SOURCES)}"
                raise rejection(f"this cannot be {kind!r}", at=f"{number}.kind", remedy=remedy)
            try:
                sources.append(SOURCES[kind].model_validate(item, context=info.context))
            except ValidationError as error:
                wrong = ParameterError(error, SOURCES[kind])
                at = ".".join(map(str, (number, *wrong.place)))
                raise rejection(wrong.what_is_wrong, at=at, remedy=wrong.remedy) from None
        return sources

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        titles = [source.title for source in self.sources]
        twice = next((title for title in titles if titles.count(title) > 1), None)
        if twice is not None:
            raise rejection(f"two are called {twice!r}", at="sources", remedy="give each a name of its own")
        return self

    @property
    def population(self) -> int | list[str] | None:
        """The number of nodes, or their names; None for neither, a `ReadError` for a file that lists none."""
        if self.nodes is None or isinstance(self.nodes, int):
            return self.nodes
        if isinstance(self.nodes, list):
            return _names(self.nodes)
        path = Path(self.nodes)
        try:
            return _names([line.partition("#")[0] for line in path.read_text(encoding="utf-8").splitlines()])
        except (OSError, UnicodeDecodeError) as error:
            raise ReadError(f"the list of nodes cannot be read: {error}", path=path) from None
        except PydanticCustomError as error:
            raise ReadError(error.message(), path=path, remedy=_NODES) from None


def read_watch_settings(path: str | Path) -> WatchSettings:
    """Read the settings of a watch from a TOML file; a `ReadError`, one line, names a key or value that is invalid."""
    place = Path(path)
    values = read_settings(place, "toml", "the settings of a watch", "relfit watch init writes such a file")
    try:
        return WatchSettings.model_validate(values, context={"folder": place.resolve().parent})
    except ValidationError as error:
        wrong = ParameterError(error, WatchSettings)
        raise ReadError(wrong.what, path=place, remedy=wrong.remedy) from None
