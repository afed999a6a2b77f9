"""How often a job fails, and how uncertain that is: from a mean time, or from calibrated parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.arguments import durations, positive, whole
from relfit.arrays import FloatArray
from relfit.calibration import Draws, Parameters, draw_parameters
from relfit.errors import ArgumentError

__all__ = ["JobRate", "is_parameters", "rate_of_job"]


@dataclass(frozen=True, eq=False)
class JobRate:
    """Failures of a job.

    Attributes
    ----------
    node_mtbf : float
        Mean hours between the failures of one node, with its share of those that hit a rack.
    wide_rate : float
        Failures per hour that hit a whole system, however many of its nodes the job has.
    nodes : int
        Nodes of the job.
    node_draws, wide_draws : ndarray or None
        Drawn from the calibrated distribution; None where nothing is known of the uncertainty.
    source : str
        Where the rate comes from.
    """

    node_mtbf: float
    wide_rate: float
    nodes: int
    node_draws: FloatArray | None
    wide_draws: FloatArray | None
    source: str

    @property
    def mtbf(self) -> float:
        """Mean hours between the failures of the job."""
        return float(1.0 / (self.nodes / self.node_mtbf + self.wide_rate))

    @property
    def draws(self) -> FloatArray | None:
        """Drawn mean hours between the failures of the job."""
        if self.node_draws is None or self.wide_draws is None:
            return None
        return np.asarray(1.0 / (self.nodes / self.node_draws + self.wide_draws))


def is_parameters(source: Any) -> bool:
    """Whether these are calibrated parameters."""
    return isinstance(source, Parameters)


def rate_of_job(
    source: Any,
    nodes: Any = None,
    *,
    events: Any = None,
    n_draws: int = 2000,
    rng: int | np.random.Generator | None = 0,
) -> JobRate:
    """Failures of a job.

    Failures of a group of nodes or of a system hit any job of that system.

    Parameters
    ----------
    source : duration or Parameters
        Mean time between the failures of one node, or calibrated parameters: ``mtbf.node`` (else ``mtbf.outage``), a
        node's share of ``mtbf.rack``, ``mtbf.group`` and ``mtbf.system``.
    nodes : int, optional
        Nodes of the job: 1 for a mean time, all of the fleet for parameters that know it.
    events : float, optional
        Failures behind a mean time: its uncertainty then is that of a count, as in
        `relfit.calibration.Draws`.
    n_draws : int
        Draws of an uncertain rate.
    rng : int or Generator, optional

    Raises
    ------
    ArgumentError
        When no mean time is known, or values cannot be.

    Examples
    --------
    >>> job = rate_of_job("20000h", 1000, events=40, rng=1)
    >>> job.mtbf, np.quantile(job.draws, [0.05, 0.95]).round(1).tolist()
    (20.0, [15.7, 26.0])
    """
    if is_parameters(source):
        if events is not None:
            raise ArgumentError("events does not go with parameters", remedy="they know their own")
        return _of_parameters(source, nodes, n_draws, rng)
    mtbf = durations("mtbf", source, zero=False)
    if mtbf.ndim:
        raise ArgumentError("one mean time, please", remedy="for many cases use the functions on arrays")
    drawn = None
    if events is not None:
        count = float(positive("events", events))
        gamma = np.random.default_rng(rng).gamma(count + 0.5, size=int(whole("n_draws", n_draws, 2)))
        drawn = float(mtbf) * count / gamma
    size = 1 if nodes is None else int(whole("nodes", nodes))
    wide = None if drawn is None else np.zeros(drawn.size)
    basis = f"mean time between failures of a node {float(mtbf):g} h"
    basis += f", from {float(events):g} failures" if events is not None else ""
    return JobRate(float(mtbf), 0.0, size, drawn, wide, basis)


# ---------------------------------------------------------------------- details


def _of_parameters(parameters: Parameters, nodes: Any, n_draws: int, rng: int | np.random.Generator | None) -> JobRate:
    values = parameters.values()
    single = "mtbf.node" if "mtbf.node" in values else "mtbf.outage" if "mtbf.outage" in values else None
    fleet = parameters.fleet
    if single is None:
        parameters.require("mtbf.node")
        raise AssertionError
    if nodes is None and fleet.nodes is None:
        raise ArgumentError("how many nodes the job has is not known", remedy="give nodes")
    size = int(whole("nodes", fleet.nodes if nodes is None else nodes))
    by_scope = single == "mtbf.node"  # every outage of a node holds the wider ones already
    per_rack = fleet.nodes / fleet.racks if fleet.nodes and fleet.racks else None
    racks = by_scope and "mtbf.rack" in values and per_rack is not None
    wide = [name for name in ("mtbf.group", "mtbf.system") if by_scope and name in values]

    def rates(mtbf: Any) -> tuple[Any, Any]:
        node = 1.0 / mtbf[single]
        if racks and per_rack is not None:
            node = node + 1.0 / (mtbf["mtbf.rack"] * per_rack)
        return 1.0 / node, sum((1.0 / mtbf[name] for name in wide), start=0.0 * node)

    mean, rate = rates(values)
    drawn_node = drawn_wide = None
    certain = set(parameters.unknown_uncertainty)
    if any(name not in certain for name in (single, *wide)):
        drawn: Draws = draw_parameters(parameters, int(whole("n_draws", n_draws, 2)), rng)
        drawn_node, drawn_wide = rates(drawn)
    names = [single, *(["mtbf.rack"] if racks else []), *wide]
    basis = f"parameters ({', '.join(names)})" + (f" of {parameters.name}" if parameters.name else "")
    return JobRate(float(mean), float(rate), size, drawn_node, drawn_wide, basis)
