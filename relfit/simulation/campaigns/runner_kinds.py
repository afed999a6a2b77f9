"""Runners of each kind of campaign: training clusters, batch systems, clusters with spares, planners, fits."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

import numpy as np
from pydantic import model_validator

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.results import json_ready
from relfit.fitting import fit
from relfit.fleet.calibration import read_parameters
from relfit.fleet.calibration.files import parameters_of_document
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.planning import GlobalSaves, Predictor, Scenario, plan_checkpoints, plan_migration, plan_replication
from relfit.planning.sparing import DeviceFailures
from relfit.planning.sparing.plan_file import ClusterTable
from relfit.simulation.campaigns.campaign import Campaign, canonical
from relfit.simulation.campaigns.runners import Outputs, Runner, changed, check_names, columns, replicated, stream
from relfit.simulation.engine.checked_settings import Settings
from relfit.simulation.engine.repair_stages import StagedRepairs
from relfit.simulation.simulated_logs import simulate_log
from relfit.simulation.sparing.device_times import DeviceTimes
from relfit.simulation.sparing.job_queue import SparingJob, simulate_sparing_queue
from relfit.simulation.sparing.sparing_simulation import SparingAssumptions, simulate_sparing
from relfit.system.jobs import Checkpoint

if TYPE_CHECKING:
    from relfit.log.failurelog import FailureLog

_PLANNERS = {"checkpoint": plan_checkpoints, "migration": plan_migration, "replication": plan_replication}
_MAIN = {"checkpoint": "waste", "migration": "migration_yield", "replication": "yield"}
_OWN = ("planner", "params", "mtbf")
_TABLES = {"checkpoint": Checkpoint, "costs": Scenario, "global_saves": GlobalSaves, "predictor": Predictor}
_ECHOED = ("level", "n_draws", "restart", "robust_by", "overhead", "risk")
_OF_LOG = ("span", "nodes", "racks", "families")
_LEFT_OUT = ("saving", "rng", "keep")


class DevicesTable(Model):
    """The table ``[devices]``: means as for `DeviceFailures`, or repairs in stages."""

    mtbf_tray: str | float
    mtbf_rack: str | float = float("inf")
    mttr: str | float | None = None
    repair: StagedRepairs | None = None  # repairs of trays and racks, in place of `mttr`

    @model_validator(mode="after")
    def _repaired(self) -> Self:
        if (self.mttr is None) == (self.repair is None):
            raise rejection("repairs need a mean time, or stages", at="mttr", remedy="give one of mttr and repair")
        return self

    def times(self) -> DeviceFailures | DeviceTimes:
        """The times, as `simulate_sparing` takes them."""
        means = DeviceFailures(self.mtbf_tray, self.mtbf_rack, 1.0 if self.mttr is None else self.mttr)
        return means if self.repair is None else dataclasses.replace(DeviceTimes.exponential(means), repair=self.repair)


class AssumptionsTable(Model):
    """The table ``[assumptions]``, as for `SparingAssumptions`."""

    whole_block_repairs: bool = True
    separate_racks: bool | None = None
    undisturbed_recovery: bool | None = None


class SparingConfig(Settings):
    """The configuration: ``[cluster]`` as for the sparing planner, ``[devices]``, and the simulated years."""

    cluster: ClusterTable
    devices: DevicesTable
    assumptions: AssumptionsTable = AssumptionsTable()
    jobs: tuple[SparingJob, ...] = ()
    years: float = 10.0


class TrainingRuns(Runner):
    """`relfit.simulate_training` over keys of `TrainingParameters`; replications are those of its own seed."""

    output, beside = "total_training_time", ("manual_repairs", "least")

    def __init__(self, campaign: Campaign) -> None:
        config = campaign.config
        self.units = rf.training.TrainingSimulation.units
        if isinstance(config, (str, Path)):
            self.base = rf.training.read_training(config)
        else:
            self.base = rf.training.training_parameters(config)

    def identity(self) -> object:
        """The parameters of the configuration."""
        return self.base.model_dump(mode="json", exclude_unset=True)

    def arguments(self, settings: dict[str, object]) -> Any:
        """The parameters, checked as `TrainingParameters` does."""
        nested = {key.partition(".")[0] for key in settings if "." in key}
        return self.base.but(**changed(self.base.model_dump(include=nested) if nested else {}, settings))

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Every output of `TrainingSimulation`; of several jobs together."""
        result = rf.simulate_training(
            self.arguments(settings), n_replications=last - first, first=first, rng=seed, workers=1
        )
        return columns(result.whole)


class BatchSystemRuns(Runner):
    """`simulate_batches` over keys such as ``failures.0.repair``; jobs are read once and sent to the workers."""

    output, beside = "mean_wait", ("utilisation", "most")

    def __init__(self, campaign: Campaign) -> None:
        config, self.units = campaign.config, rf.batch.BatchRun.units
        if config is None:
            raise ArgumentError("a campaign of a batch system needs a configuration", remedy='write config = "c.toml"')
        if not isinstance(config, dict):
            config = rf.batch.read_batch_config(config).model_dump(exclude_unset=True)
        self.base = copy.deepcopy(config)
        if campaign.workload is not None:
            self.base.setdefault("workload", {})["file"] = Path(campaign.workload)
        self._jobs: dict[str, Any] = {}

    def identity(self) -> object:
        """The configuration, and a checksum of each file that it names."""
        sums: dict[str, int] = {}
        return {"config": json_ready(_by_name(self.base, sums)), "files": sums}

    def arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        """The arguments of a simulation, checked as the configuration is, with its failures and its jobs."""
        config = rf.batch.BatchConfig(**changed(self.base, settings))
        options = {name: value for name, value in config.settings().items() if name not in _LEFT_OUT}
        key = canonical(json_ready(config.model_dump(include={"workload", "cluster", "classes"})))
        if key not in self._jobs:
            self._jobs[key] = config.read_jobs()
        return {"workload": self._jobs[key], **options}

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Every measure of `BatchRun.summary`, and the counts of `BatchRuns`."""
        arguments, rng = self.arguments(settings), stream(seed, first)
        runs = rf.batch.simulate_batches(**arguments, n_runs=last - first, rng=rng, workers=1).runs
        return columns(runs.drop(columns="elapsed_seconds"))  # of this computer, not of the simulated one


def _by_name(tables: object, sums: dict[str, int]) -> Any:
    """The tables with names of files in place of paths, so that a campaign can be moved; checksums go to `sums`."""
    if isinstance(tables, Path):
        if tables.is_file():
            sums[tables.name] = crc32(tables.read_bytes())
        return tables.name
    if isinstance(tables, dict):
        return {key: _by_name(value, sums) for key, value in tables.items()}
    return [_by_name(value, sums) for value in tables] if isinstance(tables, list) else tables


class SparingRuns(Runner):
    """`simulate_sparing`, or with ``[[jobs]]`` `simulate_sparing_queue`, over keys such as ``devices.mttr``."""

    document = "a cluster with spares"

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        self.output, self.beside = "useful", ("stops", "least")
        devices = dict.fromkeys(("mtbf_tray", "mtbf_rack", "mttr"), "h")
        self.units = devices | dict.fromkeys(("hits", "stops", "blockings"), "per h")
        if self.base.get("jobs"):
            self.units = devices | dict.fromkeys(("mean_wait", "longest_wait", "makespan", "lost"), "h")
            self.output, self.beside = "mean_wait", ("utilisation", "most")

    def arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        """The arguments of a simulation, checked as by the planner; there must be one strategy."""
        config = SparingConfig(**changed(self.base, settings))
        strategies = config.cluster.strategies()
        if len(strategies) != 1:
            what = f"there are {len(strategies)} strategies in a cell"
            raise ArgumentError(what, remedy="give cluster.block and cluster.working, or vary them")
        queued = {"jobs": config.jobs} if config.jobs else {}
        return {
            **queued,
            "cluster": config.cluster.cluster(),
            "strategy": strategies,
            "devices": config.devices.times(),
            "assumptions": SparingAssumptions(**config.assumptions.model_dump()),
            "recovery": config.cluster.recovery(),
            "years": config.years,
        }

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Shares of GPU hours, and failures, stops and blockings per hour; for a queue waits, losses and use."""
        arguments, n = self.arguments(settings), last - first
        simulate: Any = simulate_sparing_queue if "jobs" in arguments else simulate_sparing
        result = simulate(**arguments, n_resamples=max(n, 2), rng=stream(seed, first), workers=1)  # it needs at least 2
        return columns(result.replications.iloc[:n])


def _of_table(name: str, value: object) -> object:
    """The object that a table of a planner's configuration describes; an `ArgumentError` for a wrong table."""
    signature = inspect.signature(_TABLES[name])
    remedy = f"write it below [config] with {', '.join(signature.parameters)}"
    if not isinstance(value, dict):
        raise ArgumentError(f"{name}: {value!r} is no table", remedy=remedy)
    try:
        signature.bind(**value)
    except TypeError as error:
        raise ArgumentError(f"{name}: {error}", remedy=remedy) from None
    return _TABLES[name](**value)


class PlannerRuns(Runner):
    """A planner over its arguments.

    The configuration has ``planner`` (checkpoint, migration or replication), ``mtbf`` of a node or ``params`` (a
    parameter file), and arguments of the planner by their names: tables, as `_TABLES`, and single values.
    """

    document = "settings of a planner"
    units = dict.fromkeys(("mtbf", "checkpoint_every", "robust_every", "expected_hours", "save", "restore"), "h")

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        if "planner" not in self.base:
            raise ArgumentError("no planner is named", remedy='write planner = "checkpoint" below [config]')
        self.planner = str(self.base["planner"])
        check_names([self.planner], list(_PLANNERS), "planner")
        alone = self.planner == "migration" and "predictor" not in self.base
        self.output = "checkpoint_yield" if alone else _MAIN[self.planner]
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
        return {name: _of_table(name, value) if name in _TABLES else value for name, value in tables.items()}

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Every number of the plan, and the ``yield`` of its best strategy."""
        tables = self.arguments(settings)
        own = {name: tables.pop(name, None) for name in _OWN}
        source = own["mtbf"] if self.parameters is None or "mtbf" in settings else self.parameters
        plan = _PLANNERS[self.planner](source, rng=seed, **tables)
        values = {each.name: getattr(plan, each.name) for each in dataclasses.fields(plan)}
        if self.planner == "replication":
            values["yield"] = plan.strategies["yield"].max()
        return {
            name: np.full(last - first, float(value))
            for name, value in values.items()
            if name not in _ECHOED and isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        }


class LogFitRuns(Runner):
    """`simulate_log` from a parameter file (with ``span``, ``nodes``, ``racks``), and `relfit.fit` of ``families``."""

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
