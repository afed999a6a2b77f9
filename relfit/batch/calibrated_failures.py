"""Failures of a batch cluster as calibrated parameters have them: nodes, racks, groups of nodes, the whole system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.arrays import FloatArray
from relfit.batch.failure_processes import Table
from relfit.batch.failure_source import Failures, GroupFailures, NodeFailures
from relfit.batch.seconds import HOUR
from relfit.calibration import Parameters
from relfit.errors import ArgumentError
from relfit.families import Exponential, Weibull
from relfit.families.distribution import Distribution
from relfit.simulation.simulated_logs import relative_rates

__all__ = ["CalibratedFailures"]


@dataclass(frozen=True, kw_only=True)
class CalibratedFailures(Failures):
    """Failures of every scope that a log told, each with its own repairs.

    Nodes fail by ``failure``, else by ``mtbf.node``, at rates that differ where ``failure.spread`` or ``bad_nodes``
    says so (drawn anew for each run), and are of all ages when the simulation starts. Racks fail by ``mtbf.rack``,
    groups of nodes by ``mtbf.group`` and the system by ``mtbf.system``, as Poisson processes; the first two strike the
    share ``fleet.rack_share`` of a rack, or ``fleet.group_share`` of all nodes, which are down for
    ``mttr.rack_node`` or ``mttr.group_node`` on average.

    Parameters
    ----------
    parameters : Parameters
        As `relfit.calibrate` estimates them.
    nodes_per_rack : int, optional
        Nodes that follow each other make a rack; as many as in the fleet when left out.

    Raises
    ------
    ArgumentError
        When no time between failures of a node is known; when a simulation begins.

    Examples
    --------
    >>> from relfit.batch.failure_processes import FailureStream
    >>> known = Parameters(mtbf={"node": "1000h", "system": "500h"}, mttr={"mean": "2h"})
    >>> rows = FailureStream([CalibratedFailures(parameters=known)], 100, 1).take()
    >>> rows.dtype.names
    ('time', 'repair', 'node')
    """

    parameters: Parameters
    nodes_per_rack: int | None = None

    @property
    def node_mtbf(self) -> float:
        """Mean hours between outages of one node, whatever their scope."""
        known = self.parameters.values()
        mean = known.get("mtbf.outage", known.get("mtbf.node"))
        if mean is None:
            raise ArgumentError("no mean time between failures is known", remedy='give mtbf, as in mtbf = "20000h"')
        return float(mean)

    def rates(self, n_nodes: int, *, steady: bool = False) -> FloatArray:
        """One over the mean time between outages of a node."""
        return np.full(n_nodes, 0.0 if steady else 1.0 / (HOUR * self.node_mtbf))

    @property
    def mean_repair(self) -> float:
        """Seconds."""
        own = self.parameters.repair
        return HOUR * float(
            self.parameters.values().get("mttr.mean", 0.0) if own is None else own.distribution().mean()
        )

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> _Together:
        """One process for each scope."""
        known, fleet = self.parameters.values(), self.parameters.fleet
        own = self.parameters.repair
        per_rack = self.nodes_per_rack
        if per_rack is None and fleet.nodes and fleet.racks:
            per_rack = -(-fleet.nodes // fleet.racks)

        def repair(scope: str) -> Any:
            if own is not None and (scope == "node" or f"mttr.{scope}" not in known):
                return own.distribution()
            names = (f"mttr.{scope}_node", f"mttr.{scope}", "mttr.mean")  # each node is back when it is repaired
            return f"{next((known[name] for name in names if name in known), 0.0)}h"

        sources: list[Any] = [NodeFailures(life=self._lives(n_nodes, rng), repair=repair("node"))]
        wide = (("rack", per_rack, fleet.rack_share), ("group", None, fleet.group_share), ("system", None, None))
        for scope, size, share in wide:
            unplaced = (scope == "rack" and size is None) or (scope == "group" and share is None)
            if f"mtbf.{scope}" in known and "mtbf.node" in known and not unplaced:
                life = f"{known[f'mtbf.{scope}']}h"
                sources.append(GroupFailures(life=life, groups=size, share=share, repair=repair(scope)))
        return _Together([one.process(n_nodes, part, start) for one, part in zip(sources, rng.spawn(4), strict=False)])

    def _lives(self, n_nodes: int, rng: np.random.Generator) -> Distribution:
        known, fitted = self.parameters.values(), self.parameters.failure
        rates = relative_rates(self.parameters, rng, n_nodes)
        if fitted is not None:
            life = fitted.distribution()
            if np.ptp(rates) == 0.0:
                return life
            if isinstance(life, Weibull):
                return Weibull(np.full(n_nodes, float(life.shape)), float(life.scale) / rates)
        return Exponential(rates / known.get("mtbf.node", self.node_mtbf))


class _Together:
    """Several processes as one."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts
        self.rate = float(sum(part.rate for part in parts))
        self.up_since: FloatArray | None = parts[0].up_since

    def take(self, until: float) -> Table:
        return np.concatenate([part.take(until) for part in self.parts])

    def state(self) -> dict[str, Any]:
        return {"parts": [part.state() for part in self.parts]}

    def restore(self, state: dict[str, Any]) -> None:
        for part, own in zip(self.parts, state["parts"], strict=True):
            part.restore(own)
