"""Clusters with spares as cells of a campaign."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from pydantic import ValidationError, model_validator

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.fleet.calibration.validation_errors import ParameterError
from relfit.planning.sparing import DeviceFailures
from relfit.planning.sparing.plan_file import ClusterTable
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.runners import Outputs, changed, document_of, stream
from relfit.simulation.engine.repair_stages import StagedRepairs
from relfit.simulation.sparing.device_times import DeviceTimes
from relfit.simulation.sparing.job_queue import SparingJob, simulate_sparing_queue
from relfit.simulation.sparing.sparing_simulation import SparingAssumptions, simulate_sparing

__all__ = ["SparingRuns"]


class DevicesTable(Model):
    """The table ``[devices]``: means, as of `DeviceFailures`, or repairs in stages."""

    mtbf_tray: str | float
    mtbf_rack: str | float = float("inf")
    mttr: str | float | None = None
    repair: StagedRepairs | None = None
    """Of trays (and racks), in place of `mttr`."""

    @model_validator(mode="after")
    def _repaired(self) -> Self:
        if (self.mttr is None) == (self.repair is None):
            raise rejection("repairs need a mean time, or stages", at="mttr", remedy="give one of mttr and repair")
        return self

    def times(self) -> DeviceFailures | DeviceTimes:
        """What `simulate_sparing` takes."""
        means = DeviceFailures(self.mtbf_tray, self.mtbf_rack, 1.0 if self.mttr is None else self.mttr)
        return means if self.repair is None else replace(DeviceTimes.exponential(means), repair=self.repair)


class AssumptionsTable(Model):
    """The table ``[assumptions]``, as of `SparingAssumptions`."""

    whole_block_repairs: bool = True
    separate_racks: bool | None = None
    undisturbed_recovery: bool | None = None


class SparingConfig(Model):
    """The configuration: ``[cluster]`` as of the sparing planner, ``[devices]``, and the simulated years."""

    cluster: ClusterTable
    devices: DevicesTable
    assumptions: AssumptionsTable = AssumptionsTable()
    jobs: tuple[SparingJob, ...] = ()
    years: float = 10.0


class SparingRuns:
    """`simulate_sparing` over keys such as ``devices.mttr`` and ``cluster.spare_blocks``; one strategy a cell.

    With ``[[jobs]]`` it is `simulate_sparing_queue`.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.base, _ = document_of(campaign.config, "a cluster with spares")
        self.output = "mean_wait" if self.base.get("jobs") else "useful"

    def identity(self) -> Any:
        """The configuration."""
        return self.base

    def check(self, settings: dict[str, object]) -> None:
        """As the planner checks a cluster; there must be one strategy."""
        self._arguments(settings)

    def _arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        try:
            config = SparingConfig(**changed(self.base, settings))
        except ValidationError as error:
            raise ParameterError(error, SparingConfig) from None
        strategies = config.cluster.strategies()
        if len(strategies) != 1:
            what = f"there are {len(strategies)} strategies in a cell"
            raise ArgumentError(what, remedy="give cluster.block and cluster.working, or vary them")
        queued = {"jobs": config.jobs} if config.jobs else {}
        return {
            **queued, "cluster": config.cluster.cluster(), "strategy": strategies,
            "devices": config.devices.times(), "assumptions": SparingAssumptions(**config.assumptions.model_dump()),
            "recovery": config.cluster.recovery(),
            "years": config.years,
        }  # fmt: skip

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Shares of GPU hours, and failures, stops and blockings per hour; of a queue waits, losses and use."""
        arguments, n = self._arguments(settings), last - first
        run: Any = simulate_sparing_queue if "jobs" in arguments else simulate_sparing
        result = run(**arguments, n_resamples=max(n, 2), rng=stream(seed, first), workers=1)  # it runs two or more
        table = result.replications.iloc[:n]
        return {str(name): column.to_numpy(dtype=np.float64) for name, column in table.items()}
