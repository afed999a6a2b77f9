"""Failures of a batch cluster by calibrated parameters: of nodes, racks, groups of nodes and the complete system."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families import Exponential, Weibull
from relfit.fitting.families.distribution import Distribution
from relfit.fitting.families.rescaled import Rescaled
from relfit.fleet.calibration import FailuresByScope, Parameters, ScopeFailures
from relfit.simulation.batch.failure_processes import Failures, Together
from relfit.simulation.batch.failure_source import GroupFailures, NodeFailures
from relfit.simulation.engine.checked_settings import HOUR
from relfit.simulation.engine.repair_stages import StagedRepairs


@dataclass(frozen=True, kw_only=True)
class CalibratedFailures(Failures):
    """Failures of every scope by calibrated parameters, each with its own repairs.

    Nodes fail by ``failure`` with the mean ``mtbf.node`` (exponentially without ``failure``), at rates that differ
    where ``failure.spread`` or ``bad_nodes`` says so (drawn afresh for each run), and are of steady-state ages when the
    simulation starts. Racks fail by
    ``mtbf.rack``, groups of nodes by ``mtbf.group`` and the system by ``mtbf.system``, as Poisson processes; the first
    two strike the share ``fleet.rack_share`` of a rack, or ``fleet.group_share`` of all nodes, which are down for
    ``mttr.rack_node`` or ``mttr.group_node`` on average. Repairs of nodes have the distribution ``repair``, rescaled to
    the mean ``mttr.node``.

    Parameters
    ----------
    parameters : Parameters
        As `relfit.calibrate` estimates them.
    nodes_per_rack : int, optional
        Consecutive nodes in a rack; by default as many as in the calibrated fleet.
    repair : StagedRepairs, optional
        Repairs of nodes that fail by themselves, in place of the calibrated ones.

    Raises
    ------
    ArgumentError
        When these are no parameters; when a simulation begins, and no time between failures of a node is known.

    Examples
    --------
    >>> from relfit.simulation.batch.failure_processes import FailureStream
    >>> known = Parameters(mtbf={"node": "1000h", "system": "500h"}, mttr={"mean": "2h"})
    >>> rows = FailureStream([CalibratedFailures(parameters=known)], 100, 1).take()
    >>> rows.dtype.names
    ('time', 'repair', 'node', 'outcome')
    """

    parameters: Parameters
    nodes_per_rack: int | None = None
    repair: StagedRepairs | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.parameters, Parameters):
            what = f"parameters are Parameters, not a {type(self.parameters).__name__}"
            raise ArgumentError(what, remedy="give what rf.calibrate(log) or rf.read_parameters(file) returns")

    @cached_property
    def _by_scope(self) -> FailuresByScope:
        return FailuresByScope.of_parameters(self.parameters)

    @property
    def node_mtbf(self) -> float:
        """Mean hours between outages of one node, whatever their scope."""
        mean = self._by_scope.outage_mtbf
        if mean is None:
            raise ArgumentError("no mean time between failures is known", remedy='give mtbf, as in mtbf = "20000h"')
        return mean

    def rates(self, n_nodes: int, *, steady: bool = False) -> FloatArray:
        """One over the mean time between outages of a node; 0 if `steady`."""
        return np.full(n_nodes, 0.0 if steady else 1.0 / (HOUR * self.node_mtbf))

    @property
    def mean_repair(self) -> float:
        mean, repairs = self._by_scope.mttr, self._by_scope.repairs
        return HOUR * float(mean if mean is not None else 0.0 if repairs is None else repairs.mean())

    def process(self, n_nodes: int, rng: np.random.Generator, start: float = 0.0) -> Together:
        """One process for each scope."""
        failures, per_rack = self._by_scope, self.nodes_per_rack
        own = self.repair or self._repair(failures.node)
        sources: list[Any] = [NodeFailures(life=self._lives(n_nodes, rng), repair=own)]
        for scope in failures.wider:
            size = (per_rack or math.ceil(scope.place)) if scope.name == "rack" else None
            if size or (scope.name != "rack" and scope.is_placed):
                repair = self._repair(scope)
                sources.append(GroupFailures(life=f"{scope.mtbf}h", groups=size, share=scope.share, repair=repair))
        return Together([one.process(n_nodes, part, start) for one, part in zip(sources, rng.spawn(4), strict=False)])

    def _repair(self, scope: ScopeFailures) -> Any:
        """Times to repair of one node of a scope: each node is back after its own repair.

        A fitted distribution has its own mean; the calibrated one is that of the repairs counted.
        """
        repairs = self._by_scope.repairs
        if repairs is not None and (scope.name == "node" or not scope.has_own_mttr):
            return repairs if scope.mttr is None else Rescaled("repair", repairs, scope.mttr)
        hours = scope.mttr if scope.mttr_node is None else scope.mttr_node
        return f"{0.0 if hours is None else hours}h"

    def _lives(self, n_nodes: int, rng: np.random.Generator) -> Distribution:
        failures, mean = self._by_scope, self._by_scope.node.mtbf
        rates, life = failures.relative_rates(rng, n_nodes), failures.life
        if life is not None:
            if np.ptp(rates) == 0.0:
                return life
            if isinstance(life, Weibull):
                return Weibull(np.full(n_nodes, float(life.shape)), float(life.scale) / rates)
        return Exponential(rates / (self.node_mtbf if mean is None else mean))
