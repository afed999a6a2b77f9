"""Sweeps in the paper's manner: one parameter, or two, over values; which parameter matters most."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit.errors import ArgumentError
from relfit.results import Result
from relfit.training.parameters import TrainingParameters, training_parameters
from relfit.training.training_simulation import simulate_training
from relfit.writing import complete

__all__ = ["OneWay", "TrainingSweep", "TwoWay", "sweep_training", "table_1"]


@dataclass(frozen=True)
class OneWay:
    """One parameter over values, the others as they are.

    Attributes
    ----------
    parameter : str
        A key of `TrainingParameters`.
    values : sequence
    label : str
        What it is called in tables and figures; the key when left out.

    Examples
    --------
    >>> OneWay("recovery_time", [10, 20, 30]).label
    'recovery time'
    """

    parameter: str
    values: Sequence[Any]
    label: str = ""

    def __post_init__(self) -> None:
        if not len(self.values):
            raise ArgumentError(f"{self.parameter} has no values", remedy="give some, as [10, 20, 30]")
        if not self.label:
            object.__setattr__(self, "label", self.parameter.replace("_", " "))

    @property
    def designs(self) -> list[dict[str, Any]]:
        """The keys that each simulation sets."""
        return [{self.parameter: value} for value in self.values]


@dataclass(frozen=True)
class TwoWay(OneWay):
    """Two parameters at once, every value of one with every value of the other.

    Attributes
    ----------
    parameter, values, label
        As in `OneWay`.
    second : str
    second_values : sequence
    """

    second: str = "working_pool_size"
    second_values: Sequence[Any] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.second_values) or self.second == self.parameter:
            raise ArgumentError(f"{self.label}: the second parameter has no values of its own", remedy="give some")

    @property
    def designs(self) -> list[dict[str, Any]]:
        """The keys that each simulation sets."""
        pairs = itertools.product(self.values, self.second_values)
        return [{self.parameter: one, self.second: other} for one, other in pairs]


class TrainingSweep(Result):
    """What simulations over the values of parameters gave.

    Attributes
    ----------
    experiments : tuple of OneWay or TwoWay
    statistics : pandas.DataFrame
        One row per experiment, value and output: ``experiment``, ``parameter``, ``value``, ``second``,
        ``second_value``, ``output``, and the columns of `TrainingSimulation.outputs`.
    n_replications : int
    level : float
    """

    experiments: tuple[OneWay, ...]
    statistics: pd.DataFrame
    n_replications: int
    level: float

    def of(self, experiment: str, output: str = "total_training_time") -> pd.DataFrame:
        """The rows of one experiment and one output.

        Raises
        ------
        ArgumentError
            When there is none.
        """
        table = self.statistics
        rows = table[(table["experiment"] == experiment) & (table["output"] == output)]
        if rows.empty:
            have = ", ".join(each.label for each in self.experiments)
            raise ArgumentError(f"there is no {output} of {experiment!r}", remedy=f"the experiments are {have}")
        return rows.drop(columns=["experiment", "output"]).reset_index(drop=True)

    def ranges(self, output: str = "total_training_time") -> pd.DataFrame:
        """How far each experiment's values move an output, the widest first.

        ``low``, ``high``, ``range``, and the values that give them; of experiments with two parameters, over the first,
        at the middle value of the second.

        Examples
        --------
        >>> small = {"job_size": 30, "working_pool_size": 40, "spare_pool_size": 2, "job_length": "5 days"}
        >>> found = sweep_training([OneWay("recovery_time", [5, 60])], small, n_replications=3)
        >>> found.ranges().index.tolist()
        ['recovery time']
        """
        rows = []
        for experiment in self.experiments:
            table = self.of(experiment.label, output)
            if isinstance(experiment, TwoWay):
                middle = experiment.second_values[len(experiment.second_values) // 2]
                table = table[table["second_value"] == middle]
            means = table["mean"].to_numpy(dtype=np.float64)
            least, most = table.iloc[int(means.argmin())], table.iloc[int(means.argmax())]
            rows.append(
                {
                    "experiment": experiment.label, "low": least["mean"], "high": most["mean"],
                    "range": most["mean"] - least["mean"], "low_at": least["value"], "high_at": most["value"],
                }
            )  # fmt: skip
        return pd.DataFrame(rows).sort_values("range", ascending=False).set_index("experiment")

    @property
    def headline(self) -> str:
        """Which parameter moves the training time most."""
        ranges = self.ranges()[["low", "high"]] / 60.0
        first = ranges.iloc[0]
        text = f"{ranges.index[0]} moves the training time most: {first['low']:,.0f} to {first['high']:,.0f} h"
        if len(ranges) > 1:
            second = ranges.iloc[1]
            text += f"; next {ranges.index[1]}: {second['low']:,.0f} to {second['high']:,.0f} h"
        return text

    def to_frame(self) -> pd.DataFrame:
        """As `statistics`."""
        return self.statistics

    def write(self, folder: str | Path) -> list[Path]:
        """Write the statistics of each experiment to a CSV file of its own; the folder is made where there is none.

        Raises
        ------
        ArgumentError
            When the folder, or a file in it, cannot be written.
        """
        place, paths = Path(folder), []
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(f"cannot make the folder {place}: {error.strerror}", remedy="choose another") from error
        for experiment, table in self.statistics.groupby("experiment", sort=False):
            path = place / f"{re.sub(r'[^a-z0-9]+', '_', str(experiment).lower()).strip('_')}.csv"
            with complete(path) as part:
                table.drop(columns="experiment").to_csv(part, index=False)
            paths.append(path)
        return paths


def table_1() -> list[OneWay]:
    """The experiments of the paper's Table 1: 13 parameters, each at three sizes of the working pool.

    Examples
    --------
    >>> len(table_1()), sum(len(experiment.designs) for experiment in table_1())
    (13, 126)
    """
    document = tomllib.loads(files("relfit.training").joinpath("files/table_1.toml").read_text(encoding="utf-8"))
    second = {"second": document["second"], "second_values": document["second_values"]}
    return [TwoWay(**experiment, **second) for experiment in document["experiments"]]


def sweep_training(
    experiments: Sequence[OneWay],
    params: TrainingParameters | Mapping[str, Any] | None = None,
    *,
    n_replications: int = 30,
    rng: int = 0,
    level: float = 0.95,
    program_semantics: bool = False,
    workers: int | None = None,
) -> TrainingSweep:
    """Simulate a training cluster over values of its parameters, all with the same random numbers.

    Parameters
    ----------
    experiments : sequence of OneWay or TwoWay
    params : TrainingParameters or mapping, optional
        What is not swept.
    n_replications, rng, level, program_semantics, workers
        As in `simulate_training`.

    Raises
    ------
    ArgumentError
        Before anything is simulated, for a value that cannot be.

    References
    ----------
    Pattabiraman, Patel and Lin, AIReSim: sections 3.4 and 4, Table 1, Figure 2.
    """
    base = params if isinstance(params, TrainingParameters) else training_parameters(params)
    base = base.as_program() if program_semantics else base
    labels = [experiment.label for experiment in experiments]
    if not labels or len(set(labels)) < len(labels):
        raise ArgumentError("experiments are missing or share a label", remedy="give each a label of its own")
    cases = [(experiment, keys, base.but(**keys)) for experiment in experiments for keys in experiment.designs]
    tables = []
    for experiment, keys, case in cases:
        run = simulate_training(case, n_replications=n_replications, rng=rng, level=level, workers=workers)
        second = experiment.second if isinstance(experiment, TwoWay) else ""
        about = {
            "experiment": experiment.label, "parameter": experiment.parameter, "value": keys[experiment.parameter],
            "second": second, "second_value": keys.get(second),
        }  # fmt: skip
        outputs = run.outputs.reset_index()
        tables.append(pd.concat([pd.DataFrame([about] * len(outputs)), outputs], axis=1))
    return TrainingSweep(tuple(experiments), pd.concat(tables, ignore_index=True), n_replications, level)
