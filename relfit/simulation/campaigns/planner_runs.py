"""Planners as cells of a campaign: closed forms, of which one run says all."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration import read_parameters
from relfit.planning import (
    GlobalSaves,
    Predictor,
    Scenario,
    plan_checkpoints,
    plan_migration,
    plan_replication,
)
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.runners import Outputs, Runner, check_names
from relfit.system.jobs import Checkpoint

__all__ = ["PlannerRuns"]

_PLANNERS = {"checkpoint": plan_checkpoints, "migration": plan_migration, "replication": plan_replication}
_OWN = ("planner", "params", "mtbf")
_TABLES = {"checkpoint": Checkpoint, "costs": Scenario, "global_saves": GlobalSaves, "predictor": Predictor}
_ECHOED = ("level", "n_draws", "restart", "robust_by", "overhead", "risk")


class PlannerRuns(Runner):
    """A planner over its arguments.

    The configuration has ``planner`` (checkpoint, migration or replication), ``mtbf`` of a node or ``params`` (a
    parameter file), and arguments of the planner by their names: tables ``checkpoint`` (every, save, restore), for
    migration ``costs`` (save, restore, restart, migration) and ``predictor``, and single values.
    """

    document = "settings of a planner"

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        self.planner = str(self.base.get("planner"))
        check_names([self.planner], list(_PLANNERS), "planner")
        self.parameters = read_parameters(self.folder / self.base["params"]) if "params" in self.base else None
        if campaign.most_replications > 1 and "n_draws" not in self.base:
            raise ArgumentError("a plan is the same in every run", remedy="write replications = 1")

    def identity(self) -> Any:
        """The configuration with its parameters."""
        return {**self.base, "parameters": None if self.parameters is None else self.parameters.model_dump(mode="json")}

    def arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        """The planner's arguments by name, those that are tables as what they describe, and those of `_OWN`."""
        tables = super().arguments(settings)
        check_names(tables, [*_OWN, *list(inspect.signature(_PLANNERS[self.planner]).parameters)[1:]])
        return {name: _TABLES[name](**value) if name in _TABLES else value for name, value in tables.items()}

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Every number of the plan."""
        tables = self.arguments(settings)
        own = {name: tables.pop(name, None) for name in _OWN}
        source = own["mtbf"] if self.parameters is None or "mtbf" in settings else self.parameters
        plan = _PLANNERS[self.planner](source, rng=seed, **tables)
        values = {each.name: getattr(plan, each.name) for each in dataclasses.fields(plan)}
        numbers = {name: _number(value) for name, value in values.items() if name not in _ECHOED}
        return {name: np.full(last - first, value) for name, value in numbers.items() if value is not None}


def _number(value: Any) -> float | None:
    number = isinstance(value, (int, float, np.generic)) and not isinstance(value, (bool, str))
    return float(value) if number else None
