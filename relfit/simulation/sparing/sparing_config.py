"""`SparingConfig`: the file of a simulated cluster with spares: cluster, devices, assumptions, jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from pydantic import model_validator

from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.planning.sparing import DeviceFailures
from relfit.planning.sparing.plan_file import ClusterTable
from relfit.simulation.engine.checked_settings import Settings
from relfit.simulation.engine.repair_stages import StagedRepairs
from relfit.simulation.sparing.device_times import DeviceTimes
from relfit.simulation.sparing.job_queue import SparingJob


class DevicesTable(Model):
    """The table ``[devices]``: means as for `DeviceFailures`, or repairs in stages."""

    mtbf_tray: str | float
    mtbf_rack: str | float = float("inf")
    mttr: str | float | None = None
    repair: StagedRepairs | None = None
    """Repairs of trays and racks, in place of `mttr`."""

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
