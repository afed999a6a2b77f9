"""Clusters with spares as cells of a campaign."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration.parameter_values import Model
from relfit.fleet.calibration.validation_errors import ParameterError
from relfit.planning.sparing import DeviceFailures
from relfit.planning.sparing.plan_file import ClusterTable
from relfit.simulation.campaigns.runners import DocumentRuns, Outputs, changed, columns, stream
from relfit.simulation.sparing.sparing_simulation import simulate_sparing

__all__ = ["SparingRuns"]


class DevicesTable(Model):
    """The table ``[devices]``: means, as of `DeviceFailures`."""

    mtbf_tray: str | float
    mtbf_rack: str | float = float("inf")
    mttr: str | float


class SparingConfig(Model):
    """The configuration: ``[cluster]`` as of the sparing planner, ``[devices]``, and the simulated years."""

    cluster: ClusterTable
    devices: DevicesTable
    years: float = 10.0


class SparingRuns(DocumentRuns):
    """`simulate_sparing` over keys such as ``devices.mttr`` and ``cluster.spare_blocks``; one strategy a cell."""

    output = "useful"
    document = "a cluster with spares"

    def arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        """As the planner checks a cluster; there must be one strategy."""
        try:
            config = SparingConfig(**changed(self.base, settings))
        except ValidationError as error:
            raise ParameterError(error, SparingConfig) from None
        strategies = config.cluster.strategies()
        if len(strategies) != 1:
            what = f"there are {len(strategies)} strategies in a cell"
            raise ArgumentError(what, remedy="give cluster.block and cluster.working, or vary them")
        return {
            "cluster": config.cluster.cluster(), "strategy": strategies,
            "devices": DeviceFailures(**config.devices.model_dump()), "recovery": config.cluster.recovery(),
            "years": config.years,
        }  # fmt: skip

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Shares of GPU hours, and failures, stops and blockings per hour."""
        n = last - first  # the simulator runs two or more
        result = simulate_sparing(**self.arguments(settings), n_resamples=max(n, 2), rng=stream(seed, first), workers=1)
        return columns(result.replications.iloc[:n])
