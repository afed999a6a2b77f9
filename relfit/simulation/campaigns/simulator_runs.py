"""Runners of the simulators as cells of a campaign: training clusters, batch systems, clusters with spares."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from zlib import crc32

from pydantic import model_validator

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.results import json_ready
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.planning.sparing import DeviceFailures
from relfit.planning.sparing.plan_file import ClusterTable
from relfit.simulation.campaigns.campaign import Campaign, canonical
from relfit.simulation.campaigns.runners import Outputs, Runner, changed, columns, stream
from relfit.simulation.engine.checked_settings import Settings
from relfit.simulation.engine.repair_stages import StagedRepairs
from relfit.simulation.sparing.device_times import DeviceTimes
from relfit.simulation.sparing.job_queue import SparingJob, simulate_sparing_queue
from relfit.simulation.sparing.sparing_simulation import SparingAssumptions, simulate_sparing

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
        return means if self.repair is None else replace(DeviceTimes.exponential(means), repair=self.repair)


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
        tables = changed(self.base.model_dump(include=nested) if nested else {}, settings)
        return self.base.but(**tables)

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Every output of `TrainingSimulation`; of several jobs together."""
        result = rf.simulate_training(
            self.arguments(settings), n_replications=last - first, first=first, rng=seed, workers=1
        )
        return columns(result.whole)


class BatchSystemRuns(Runner):
    """`simulate_batches` over keys of its configuration, such as ``failures.0.repair``.

    The lists of jobs are read when the cells are checked, and sent to the workers.
    """

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
