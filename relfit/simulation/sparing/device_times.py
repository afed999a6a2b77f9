"""`DeviceTimes`: times to failure and to repair of the devices of a simulated cluster with spares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relfit.base.arguments import share
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution
from relfit.fitting.families.exponential import Exponential
from relfit.fitting.families.rescaled import Rescaled
from relfit.fleet.calibration import FailuresByScope, Parameters
from relfit.planning.sparing import DeviceFailures, device_failures
from relfit.simulation.engine.repair_stages import StagedRepairs

RepairTimes = Distribution | Sequence[tuple[float, Distribution]] | StagedRepairs

KINDS = ("repair", "rack_repair")


@dataclass(frozen=True)
class DeviceTimes:
    """Distributions of the times to failure and to repair of devices.

    Attributes
    ----------
    tray : Distribution
        Time to failure of a tray.
    repair : Distribution, sequence of (share, Distribution), or StagedRepairs
        Time to repair a tray; several kinds with the share of each, such as quick automatic and slow manual repairs; or
        `StagedRepairs`, which depend on the earlier repairs of the tray and may leave it beyond repair.
    rack : Distribution, optional
        Time to failure of a rack; by default racks do not fail.
    rack_repair : as `repair`, optional
        By default as for trays.

    All times are in hours.

    Examples
    --------
    >>> from relfit.fitting.families import Weibull
    >>> times = DeviceTimes(Weibull(0.8, 18_000.0), [(0.7, Exponential(1.0)), (0.3, Exponential(1 / 77))])
    >>> round(float(times.means().mttr), 1)
    23.8
    """

    tray: Distribution
    repair: RepairTimes
    rack: Distribution | None = None
    rack_repair: RepairTimes | None = None

    def __post_init__(self) -> None:
        times = [("tray", self.tray), *([("rack", self.rack)] if self.rack is not None else [])]
        for name, family in [*times, *((w, f) for w in KINDS for _, f in self.kinds(w))]:
            if not isinstance(family, Distribution):
                raise ArgumentError(f"{name} is {family!r}", remedy="give a distribution of rf.families")
            if family.batch_shape:
                raise ArgumentError(f"{name} is a batch of distributions", remedy="give one")

    @classmethod
    def exponential(cls, failures: DeviceFailures) -> DeviceTimes:
        """Exponential times with these means, as in the closed form; `failures` must be one case."""
        if failures.shape:
            raise ArgumentError("failures has many cases", remedy="simulate one of them: failures.take(i)")
        rack = None if np.isinf(failures.mtbf_rack) else Exponential(1.0 / failures.mtbf_rack)
        for name in ("mtbf_tray", "mttr"):
            if not 0.0 < getattr(failures, name) < np.inf:
                raise ArgumentError(f"{name} must be above zero and finite to be simulated")
        return cls(Exponential(1.0 / failures.mtbf_tray), Exponential(1.0 / failures.mttr), rack)

    @classmethod
    def of_parameters(cls, parameters: Parameters) -> DeviceTimes:
        """The calibrated distributions, rescaled to the calibrated means; exponential where there is none.

        Trays have the distribution of ``failure`` with the mean ``mtbf.node``. Repairs are quick and slow exponential
        ones where both are known, else have the distribution of ``repair``. Racks fail exponentially.

        Raises
        ------
        ArgumentError
            When ``mtbf.node`` or ``mttr.mean`` is missing.

        Examples
        --------
        >>> family = {"family": "weibull", "parameters": {"shape": 0.7, "scale": 1000.0}}
        >>> times = DeviceTimes.of_parameters(Parameters(mtbf="2000h", mttr="24h", failure=family))
        >>> round(float(times.tray.mean()), 6)
        2000.0
        """
        means = device_failures(parameters)
        plain = cls.exponential(means)
        tray, repair = plain.tray, plain.repair
        failures = FailuresByScope.of_parameters(parameters)
        tray = tray if failures.life is None else failures.life
        if failures.kinds is not None and all(failures.kinds[:2]):
            quick, slow, part = failures.kinds
            factor = float(means.mttr) / (part * quick + (1.0 - part) * slow)
            kinds = ((part, quick), (1.0 - part, slow))
            repair = [(each, Exponential(np.asarray(1.0 / (factor * mean)))) for each, mean in kinds]
        elif failures.repairs is not None:
            repair = Rescaled("repair", failures.repairs, float(means.mttr))
        return cls(tray, repair, plain.rack)

    def repairs_of(self, which: str) -> RepairTimes:
        """Repairs as given; `which` is ``"repair"`` or ``"rack_repair"``."""
        return self.rack_repair if which == "rack_repair" and self.rack_repair is not None else self.repair

    @property
    def has_history(self) -> bool:
        """Whether repairs depend on earlier ones."""
        return any(isinstance(self.repairs_of(which), StagedRepairs) for which in KINDS)

    def kinds(self, which: str) -> list[tuple[float, Distribution]]:
        """Kinds of these repairs with their shares; one kind with the long-run mean where there are stages."""
        repairs = self.repairs_of(which)
        if isinstance(repairs, StagedRepairs):
            return [(1.0, Exponential(np.asarray(1.0 / repairs.long_run_mean())))]
        if isinstance(repairs, Distribution):
            return [(1.0, repairs)]
        kinds = [(float(share(which, part)), family) for part, family in repairs]
        if not kinds or abs(sum(part for part, _ in kinds) - 1.0) > 1e-9:
            raise ArgumentError(f"{which}: the shares of the kinds of repair do not add to 1")
        return kinds

    def means(self) -> DeviceFailures:
        """The means, as the closed form takes them (the MTTR is that of the trays)."""
        rack = np.inf if self.rack is None else float(self.rack.mean())
        repair = sum(part * float(family.mean()) for part, family in self.kinds("repair"))
        return DeviceFailures(float(self.tray.mean()), rack, repair)

    @property
    def all_exponential(self) -> bool:
        """Whether every time is exponential, and repairs of one kind."""
        kinds = [self.kinds(which) for which in KINDS]
        families = [self.tray, *([self.rack] if self.rack else []), *(f for kind in kinds for _, f in kind)]
        one_kind = len(kinds[0]) == 1 and self.rack_repair is None and not self.has_history
        return one_kind and all(isinstance(family, Exponential) for family in families)
