"""The base of runners, one per kind of campaign (`identity`, `check`, `arguments`, `run`); that of any function."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.io.parsing.settings import read_settings
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.function_sources import source_checksums

Outputs = dict[str, FloatArray]  # by output one value per replication

_KINDS = {
    "training": "TrainingRuns",
    "batch": "BatchSystemRuns",
    "sparing": "SparingRuns",
    "plan": "PlannerRuns",
    "fit": "LogFitRuns",
}
_MOST = ("useful", "etr", "goodput", "utilisation", "avg_run", "yield", "checkpoint_yield", "migration_yield")
"""Outputs of which more is better."""


class Runner:
    """Runs the replications of a cell, a changed copy of one configuration; it is sent to other processes."""

    output = ""  # the default of the campaign's `output`; the first output where it is empty
    beside: tuple[str, ...] = ()  # a further output and its good side, for a Pareto front
    units: Mapping[str, str] = MappingProxyType({})
    """Units of outputs, and of parameters that are plain numbers, by the last part of their keys."""
    document = "settings"  # name of the configuration, for messages
    base: Any

    def __init__(self, campaign: Campaign) -> None:
        config = campaign.config
        self.base, self.folder = dict(config) if isinstance(config, dict) else {}, Path()
        if isinstance(config, (str, Path)):
            place, kinds = Path(config), {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
            kind = kinds.get(place.suffix.lower(), "toml")
            self.base, self.folder = read_settings(place, kind, self.document, "name a .toml file"), place.parent

    def identity(self) -> object:
        """The settings that all cells share, as JSON: with others it is another campaign."""
        return self.base

    def configured(self, key: str) -> object:
        """The configuration's value at a dotted key; None without one."""
        at: Any = self.base if isinstance(self.base, dict) else self.base.model_dump(mode="json")
        try:
            for part in key.split("."):
                at = at[int(part) if isinstance(at, list) else part]
        except (LookupError, TypeError, ValueError):
            return None
        return at

    def sides(self, campaign: Campaign) -> dict[str, Any]:
        """``best``, ``pareto`` and ``units`` of the campaign, or their defaults for this kind of run."""
        output = campaign.output or self.output
        best = campaign.best or ("most" if output in _MOST else "least")
        second = ("cost", "least") if campaign.prices else self.beside
        pareto: Any = campaign.pareto or ({output: best, second[0]: second[1]} if second else {})
        return {"best": best, "pareto": pareto, "units": {**self.units, **campaign.units}}

    def check(self, settings: dict[str, object]) -> None:
        """Raise an `ArgumentError` for invalid settings, before anything is run."""
        self.arguments(settings)

    def arguments(self, settings: dict[str, object]) -> Any:
        """The arguments of the runs of a cell."""
        return changed(self.base, settings)

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Run the replications from `first` up to `last`, which is excluded; each is the same whatever the others."""
        raise NotImplementedError


def runner_of(campaign: Campaign) -> Runner:
    """The runner of a campaign; an `ArgumentError` with the nearest kind for an unknown one."""
    kind = campaign.run
    if callable(kind) or ":" in kind:
        return OwnFunction(campaign)
    check_names([kind], [*_KINDS, "module:function"], "kind of run")
    runner: Runner = getattr(import_module("relfit.simulation.campaigns.runner_kinds"), _KINDS[kind])(campaign)
    return runner


def check_names(names: Iterable[str], known: Sequence[str], what: str = "parameter") -> None:
    """Reject an unknown name, with the nearest one."""
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"use one of {', '.join(known)}"
            raise ArgumentError(f"{name}: there is no such {what}", remedy=remedy)


def changed(document: Mapping[str, object], settings: Mapping[str, object]) -> dict[str, Any]:
    """A copy of the tables with other values at dotted keys; a number is a position in a list.

    The limits of an estimate, or of a fitted family, go with its value. An `ArgumentError` for a place that is not
    there.
    """
    tables: dict[str, Any] = copy.deepcopy(dict(document))
    for key, value in settings.items():
        *path, last = (int(part) if part.isdigit() else part for part in key.split("."))
        above: Any = tables
        at: Any = tables
        try:
            for part in path:
                if isinstance(at, dict) and at.get(part) is None:
                    at[part] = {}
                above, at = at, at[part]
            at[last] = copy.deepcopy(value)  # a later key may change a table that this one sets
            estimate = above if path[-1:] == ["parameters"] else at if last == "value" else {}
            for name in ("low", "high", "covariance", "mean") if {"family", "level"} & set(estimate) else ():
                estimate.pop(name, None)
        except (LookupError, TypeError):
            raise ArgumentError(f"{key}: there is no such place", remedy="write it in the configuration") from None
    return tables


def stream(seed: int, first: int) -> np.random.Generator:
    """A generator that spawns those of the replications from `first` on."""
    return np.random.default_rng(np.random.SeedSequence(seed, n_children_spawned=first))


def replicated(run: Callable[[np.random.Generator], Mapping[str, float]], first: int, last: int, seed: int) -> Outputs:
    """Results of a function by name, with the generator of each replication; NaN where one lacks a name."""
    rows = [run(rng) for rng in stream(seed, first).spawn(last - first)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}


def columns(table: pd.DataFrame) -> Outputs:
    """The columns of a table with one row per replication, as outputs."""
    return {str(name): values.to_numpy(dtype=np.float64) for name, values in table.items()}


class OwnFunction(Runner):
    """A function of the parameters, and a generator if it takes `rng`; it returns a number, or several by name."""

    document = "parameters of a function"

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        self.function = campaign.run if callable(campaign.run) else _imported(campaign.run, campaign.folder)
        names = inspect.signature(self.function).parameters
        self.takes_any = inspect.Parameter.VAR_KEYWORD in {each.kind for each in names.values()}
        self.names = [name for name in names if name != "rng"]
        self.random = "rng" in names or self.takes_any
        if not self.random and campaign.most_replications > 1:
            raise ArgumentError("a function without rng is the same in every run", remedy="write replications = 1")

    def identity(self) -> object:
        """The parameters that are not varied, and checksums of the function's source."""
        return {"config": self.base, "source": source_checksums(self.function)}

    def arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        """The parameters, their names checked."""
        values = super().arguments(settings)
        if not self.takes_any:
            check_names(values, self.names)
        return dict(values)

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """The values that the function returns; a single number is called ``value``."""
        values = self.arguments(settings)

        def one(rng: np.random.Generator) -> dict[str, float]:
            result = self.function(**values, **({"rng": rng} if self.random else {}))
            outputs = result if isinstance(result, Mapping) else {"value": result}
            for name, value in outputs.items():
                if not isinstance(value, (int, float, np.number, np.bool_)):
                    remedy = "return a number, or several by name"
                    raise ArgumentError(f"{name} is {value!r}, not a number", remedy=remedy)
            return {str(name): float(value) for name, value in outputs.items()}

        return replicated(one, first, last, seed)


def _imported(name: str, folder: Path) -> Any:
    """The function of ``module:function``; modules beside the campaign's file take precedence."""
    module, _, function = name.partition(":")
    place = str(folder.resolve())
    if place not in sys.path:  # stays: other processes import the function by name, too
        sys.path.insert(0, place)
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        remedy = "write 'module:function', of a module in this folder or an installed one"
        raise ArgumentError(f"run = {name!r}: {error}", remedy=remedy) from None
