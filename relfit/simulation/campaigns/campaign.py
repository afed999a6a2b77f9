"""`Campaign`: a kind of run, the values of its parameters, replications and seed; its file, and its cells."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, PrivateAttr, model_validator
from scipy.stats import qmc

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.results import json_ready
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.io.datasets import lists_jobs
from relfit.io.parsing.settings import read_settings
from relfit.io.workloads.walkthrough import read_walkthrough
from relfit.simulation.engine.checked_settings import Settings

_MOST = 5_000_000


def _values(values: list[object]) -> list[object]:
    if not values:
        raise rejection("this has no values: the grid is empty", remedy="give some, as [10, 20]")
    for value in values:
        if isinstance(value, float) and not isfinite(value):
            raise rejection(f"{value} is not a possible value", remedy="give a finite number")
    return values


Values = Annotated[list[object], AfterValidator(_values)]  # values of a parameter


class Experiment(Model):
    """One parameter over values, or two at once; all others as in the configuration."""

    label: str = Field("", description="what it is called in tables, figures and files; the parameter when left out")
    parameter: str = Field(description="a key of the configuration, with dots where tables are nested")
    values: Values = Field(description="its values")
    second: str | None = Field(None, description="a second parameter, every value with every value of the first")
    second_values: Values = Field(default_factory=list, description="its values")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.second is None) != (not self.second_values) or self.second == self.parameter:
            raise rejection("the second parameter has no values of its own", at="second_values", remedy="give some")
        return self

    @property
    def name(self) -> str:
        """The label, or the parameter where there is none."""
        return self.label or self.parameter.replace("_", " ")


class Until(Model):
    """Replications are added to a cell until the interval of a mean is narrow enough."""

    output: str = Field(description="whose mean")
    width: float = Field(gt=0.0, description="of the interval, from end to end, as a share of the mean")
    at_most: int = Field(1000, ge=2, description="most replications of a cell")


class Campaign(Settings):
    """A kind of run, the values of its parameters, replications and seed.

    The fields are the keys of a campaign's file; `relfit.campaigns.read_campaign` reads one.

    Examples
    --------
    >>> campaign = Campaign(run="math:sqrt", parameters={"x": [1, 4]}, replications=1)
    >>> campaign.design
    'grid'
    """

    run: str | Callable[..., Any] = Field(
        description='"training", "batch", "sparing", "plan", "fit", or a function as "module:function"'
    )
    config: str | Path | dict[str, Any] | None = Field(None, description="what is run, without what is varied")
    workload: str | Path | None = Field(None, description="list of jobs of a batch system in place of the config's")
    replications: int = Field(30, ge=1, description="runs of each cell; the first so many with `until`")
    until: Until | None = Field(None, description="add runs to a cell until its interval is narrow enough")
    seed: int = Field(0, ge=0, description="of everything that is drawn; all cells share their random numbers")
    level: float = Field(0.95, gt=0.0, lt=1.0, description="of the intervals")
    output: str | None = Field(None, description="what the headline, the page and the best cell are about")
    best: Literal["least", "most"] | None = Field(None, description="which cell is the best; that of the kind of run")
    pareto: dict[str, Literal["least", "most"]] = Field(
        default_factory=dict, description="which side of outputs, of parameters, and of cost (with prices) is good"
    )
    design: Literal["grid", "one at a time", "latin hypercube", "sobol"] = "grid"
    points: int | None = Field(None, ge=1, description="of a latin hypercube or sobol design")
    parameters: dict[str, Values] = Field(default_factory=dict, description="values, or two ends, by parameter")
    experiments: list[Experiment] = Field(default_factory=list)
    second: str | None = Field(None, description="second parameter of all experiments")
    second_values: Values = Field(default_factory=list)
    prices: dict[str, Any] = Field(default_factory=dict, description="per unit of a parameter or output, or by value")
    units: dict[str, str] = Field(default_factory=dict, description="of outputs, and of parameters that are numbers")
    _folder: Path = PrivateAttr(Path())
    other_names: ClassVar[Mapping[str, str]] = {"planner": "it below [config]"}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.parameters and not self.experiments:
            what = "nothing is varied: the grid is empty"
            raise rejection(what, remedy="write [parameters] with lists, or [[experiments]]")
        labels = [experiment.name for experiment in self.experiments]
        if len(set(labels)) < len(labels):
            raise rejection("two experiments share a label", at="experiments", remedy="give each a label of its own")
        drawn = self.design in ("latin hypercube", "sobol")
        if drawn and self.experiments:
            raise rejection("a drawn design has no experiments", at="experiments", remedy="make two campaigns of it")
        if drawn and (self.points is None or not self.parameters):
            raise rejection(f"a {self.design} design needs points", at="points", remedy="write points = 64")
        if self.design == "sobol" and self.points is not None and self.points & (self.points - 1):
            raise rejection(f"{self.points} is not a power of two", at="points", remedy="write points = 64")
        if self.workload is not None and self.run != "batch":
            raise rejection("only a batch system has a workload", at="workload", remedy="leave it out")
        if self.until is not None and self.until.at_most < self.replications:
            raise rejection(f"at_most is below replications ({self.replications})", at="until", remedy="raise it")
        if (self.second is None) != (not self.second_values):
            raise rejection("the second parameter has no values", at="second_values", remedy="give some")
        return self

    @property
    def folder(self) -> Path:
        """The folder of the campaign's file."""
        return self._folder

    @property
    def most_replications(self) -> int:
        """Largest number of replications of a cell."""
        return self.replications if self.until is None else self.until.at_most

    def document(self) -> dict[str, Any]:
        """The campaign as plain values, for the file in its store."""
        values = self.model_dump(mode="json", exclude={"run"}, exclude_unset=True)
        run = self.run if isinstance(self.run, str) else f"{self.run.__module__}:{self.run.__qualname__}"
        return {"run": run, **values}


def read_campaign(path: str | Path, workload: str | Path | None = None) -> Campaign:
    """Read a campaign from a TOML file; a path in it is relative to its folder.

    Parameters
    ----------
    path : str or Path
        ``"airesim"`` is Table 1 of the AIReSim paper: 13 parameters, each at three sizes of the working pool.
        ``"walkthrough_2.config:2a"`` is an experiment of a configuration of the repair-time study's simulator.
    workload : str or Path, optional
        A list of jobs, or the name of one, in place of that of the file.

    Raises
    ------
    ReadError
        When it cannot be read, or has an unknown key or an invalid value: one line with the key.
    """
    place = Path(path)
    if place == Path("airesim"):
        place = Path(str(files("relfit.simulation.campaigns") / "files" / "airesim.toml"))
    remedy = 'write run = "training", config = "base.yaml" and [parameters] into a .toml file'
    file, _, experiment = place.name.partition(".config:")
    if experiment or place.suffix == ".config":
        place = place.with_name(f"{file}.config") if experiment else place
        values = read_walkthrough(place, experiment)
    else:
        values = read_settings(place, "toml", "a campaign", remedy)
    try:
        campaign = Campaign(**values if workload is None else {**values, "workload": workload})
    except ArgumentError as error:
        raise ReadError(error.what, path=place, remedy=error.remedy) from None
    if isinstance(campaign.config, str):
        campaign = campaign.model_copy(update={"config": place.parent / campaign.config})
    if workload is None and campaign.workload is not None and not lists_jobs(str(campaign.workload)):
        campaign = campaign.model_copy(update={"workload": place.parent / campaign.workload})
    campaign._folder = place.parent
    return campaign


@dataclass(frozen=True)
class Cell:
    """One set of values of parameters, and a key that is the same for equal settings."""

    experiment: str
    settings: dict[str, object]
    key: str


def canonical(values: object) -> str:
    """Values as JSON, the same text for equal values."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def cells_of(campaign: Campaign) -> list[Cell]:
    """Cells of the experiments (one of two experiments is listed twice, with one key), then of the parameters; an
    `ArgumentError` above five million.
    """
    cells = [
        Cell(label, values, hashlib.sha256(canonical(values).encode()).hexdigest()[:16])
        for label, values in itertools.islice(_all(campaign), _MOST + 1)
    ]
    if len(cells) > _MOST:
        raise ArgumentError(f"there are more than {_MOST:,} cells", remedy="give fewer values, or a drawn design")
    return cells


def _all(campaign: Campaign) -> Iterator[tuple[str, dict[str, object]]]:
    for experiment in campaign.experiments:
        second, values = experiment.second or campaign.second, experiment.second_values or campaign.second_values
        beside = {} if second in (None, experiment.parameter) else {second: values}
        for settings in _grid({experiment.parameter: experiment.values, **beside}):
            yield experiment.name, settings
    if campaign.parameters and campaign.design == "grid":
        yield from (("", settings) for settings in _grid(campaign.parameters))
    elif campaign.design == "one at a time":
        for name, values in campaign.parameters.items():
            yield from ((name, settings) for settings in _grid({name: values}))
    elif campaign.parameters:
        yield from _drawn(campaign)


def _grid(values: Mapping[str, list[object]]) -> Iterator[dict[str, object]]:
    ready = {name: json_ready(each) for name, each in values.items()}
    for row in itertools.product(*ready.values()):
        yield dict(zip(ready, row, strict=True))


def _drawn(campaign: Campaign) -> Iterator[tuple[str, dict[str, object]]]:
    """Cells of a latin hypercube, or Saltelli's samples A and B, and for each parameter A with that one as in B."""
    names, points = list(campaign.parameters), campaign.points or 0
    if campaign.design == "latin hypercube":
        sample = qmc.LatinHypercube(len(names), rng=np.random.default_rng(campaign.seed)).random(points)
        parts: list[tuple[str, FloatArray]] = [("", sample)]
    else:
        both = qmc.Sobol(2 * len(names), rng=np.random.default_rng(campaign.seed)).random(points)
        a, b = np.hsplit(both, 2)
        parts = [("A", a), ("B", b)]
        parts += [(f"AB {name}", np.where(np.arange(len(names)) == i, b, a)) for i, name in enumerate(names)]
    for label, rows in parts:
        for row in rows.tolist():
            yield label, {name: _value(campaign.parameters[name], u) for name, u in zip(names, row, strict=True)}


def _value(ends: list[Any], u: float) -> object:
    """The value at a share `u`: between two numbers (integers stay integers), else one of the list."""
    low, high = ends[0], ends[-1]
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in ends):
        return ends[min(int(u * len(ends)), len(ends) - 1)]
    if isinstance(low, int) and isinstance(high, int):
        return low + min(int(u * (high - low + 1)), high - low)
    return low + u * (high - low)
