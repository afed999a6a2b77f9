"""Runners of planners, and of fits to simulated logs, as cells of a campaign."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.base.errors import ArgumentError
from relfit.fitting import fit
from relfit.fleet.calibration import read_parameters
from relfit.fleet.calibration.files import parameters_of_document
from relfit.planning import GlobalSaves, Predictor, Scenario, plan_checkpoints, plan_migration, plan_replication
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.runners import Outputs, Runner, check_names, replicated
from relfit.simulation.simulated_logs import simulate_log
from relfit.system.jobs import Checkpoint

if TYPE_CHECKING:
    from relfit.log.failurelog import FailureLog

_PLANNERS = {"checkpoint": plan_checkpoints, "migration": plan_migration, "replication": plan_replication}
_OWN = ("planner", "params", "mtbf")
_TABLES = {"checkpoint": Checkpoint, "costs": Scenario, "global_saves": GlobalSaves, "predictor": Predictor}
_ECHOED = ("level", "n_draws", "restart", "robust_by", "overhead", "risk")
_OF_LOG = ("span", "nodes", "racks", "families")


class PlannerRuns(Runner):
    """A planner over its arguments.

    The configuration has ``planner`` (checkpoint, migration or replication), ``mtbf`` of a node or ``params`` (a
    parameter file), and arguments of the planner by their names: tables, as `_TABLES`, and single values.
    """

    document = "settings of a planner"
    units = dict.fromkeys(("mtbf", "checkpoint_every", "robust_every", "expected_hours", "save", "restore"), "h")

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        self.planner = str(self.base.get("planner"))
        check_names([self.planner], list(_PLANNERS), "planner")
        self.parameters = read_parameters(self.folder / self.base["params"]) if "params" in self.base else None
        if campaign.most_replications > 1 and "n_draws" not in self.base:
            raise ArgumentError("a plan is the same in every run", remedy="write replications = 1")

    def identity(self) -> object:
        """The configuration with its parameters."""
        return {**self.base, "parameters": None if self.parameters is None else self.parameters.model_dump(mode="json")}

    def arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        """The planner's arguments by name, tables as the objects that they describe, and those of `_OWN`."""
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
        return {
            name: np.full(last - first, float(value))
            for name, value in values.items()
            if name not in _ECHOED and isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        }


class LogFitRuns(Runner):
    """`simulate_log` from a parameter file, and `relfit.fit` of its times to failure.

    In addition the configuration has ``span``, ``nodes``, ``racks`` and ``families`` to fit.
    """

    output = "mean"
    units = dict.fromkeys(("mean", "median", "mtbf"), "h")
    document = "parameters of a log"

    def arguments(self, settings: dict[str, object]) -> tuple[Any, dict[str, Any]]:
        """The checked parameters of the log, and the arguments of `_OF_LOG`."""
        tables = super().arguments(settings)
        own = {name: tables.pop(name) for name in _OF_LOG if name in tables}
        if "nodes" not in own and "nodes" not in tables.get("fleet", {}):
            raise ArgumentError("the number of nodes is not known", remedy="write nodes = 100")
        return parameters_of_document(tables, None), own

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """``failures``, the ``mean`` of the best fit, and per distribution ``.mean``, ``.aic`` and its parameters."""
        parameters, own = self.arguments(settings)
        families = own.pop("families", ["exponential", "weibull", "lognormal"])

        def one(rng: np.random.Generator) -> dict[str, float]:
            log = simulate_log(parameters, rng=rng, **own)
            return {"failures": float(len(log)), **_fitted(log, families)}

        return replicated(one, first, last, seed)


def _fitted(log: FailureLog, families: list[str]) -> dict[str, float]:
    """Mean, AIC and parameters of each distribution, fitted to the times to failure of all nodes together."""
    rows: Any = fit(log.ttf().pooled(), families=families, n_resamples=0).to_frame().to_dict("records")
    values = {"mean": min(rows, key=lambda row: row["aic"])["mean"]}
    for row in rows:
        names = [*(name for name in row if f"{name}_se" in row), "mean", "median", "aic"]
        values |= {f"{row['family']}.{name}": row[name] for name in names if np.isfinite(row[name])}
    return values
