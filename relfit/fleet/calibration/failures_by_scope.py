"""`FailuresByScope`: failures and repairs of nodes, racks, groups of nodes and whole systems, from parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.base.text import duration, number
from relfit.fitting.families import Family
from relfit.fitting.families.distribution import Distribution
from relfit.fitting.families.rescaled import with_mean
from relfit.fleet.calibration.draws import Draws
from relfit.fleet.calibration.schema import Parameters

_WIDER = ("rack", "group", "system")


@dataclass(frozen=True, eq=False)
class ScopeFailures:
    """Failures of nodes, racks, groups of nodes or the whole system; numbers, or arrays over draws.

    Attributes
    ----------
    name : str
        ``node``, ``rack``, ``group`` or ``system``.
    mtbf : float or ndarray, optional
        Mean hours between failures of one node, rack or system; None if unknown.
    mttr : float or ndarray, optional
        Mean hours until everything that a failure hit is repaired; None if unknown.
    mttr_name : str
        The parameter behind `mttr`: that of the scope, or ``mttr.mean``.
    mttr_node : float or ndarray, optional
        Mean hours until one node hit by a failure is repaired; None if unknown.
    place : float
        Nodes of a rack, or (``group``) all nodes; 0 if unknown.
    share : float, optional
        Mean share of these nodes that a failure hits; all of them by default.
    hits : sequence of (int, float, float), optional
        Size of a job, share of the failures that hit such a job, and share of the time in which all its nodes are up.
    """

    name: str
    mtbf: Any
    mttr: Any = None
    mttr_name: str = ""
    mttr_node: Any = None
    place: float = 0.0
    share: float | None = None
    hits: Sequence[tuple[int, float, float]] | None = None

    @property
    def is_wide(self) -> bool:
        """Whether failures are neither of a node nor of a rack."""
        return self.name in ("group", "system")

    @property
    def is_placed(self) -> bool:
        """Whether the nodes that a failure can hit are known."""
        return {"rack": self.place > 0.0, "group": self.share is not None}.get(self.name, True)

    @property
    def has_own_mttr(self) -> bool:
        """Whether `mttr` is that of this scope, not of all repairs."""
        return self.mttr is not None and self.mttr_name != "mttr.mean"

    def met(self, sizes: npt.ArrayLike) -> FloatArray:
        """Expected hits of a job with this many nodes if each place has one failure; shape of `sizes`."""
        n = np.asarray(sizes, dtype=np.float64)
        if self.name == "rack":
            part = _hit(self.share, np.minimum(n, self.place), self.place)
            return np.asarray(np.maximum(1.0, n / self.place) * part)
        if self.name == "group":
            return _hit(self.share, n, self.place or None) if self.hits is None else counted_share(self.hits, n)
        return n if self.name == "node" else np.ones_like(n)

    def rate_of(self, sizes: npt.ArrayLike) -> FloatArray:
        """Failures per hour that hit jobs on this many nodes, along a last axis."""
        return np.asarray(np.asarray(1.0 / self.mtbf)[..., None] * self.met(sizes))

    def repair_of(self, sizes: npt.ArrayLike) -> FloatArray:
        """Hours until all nodes that such jobs lose in a failure are repaired, along a last axis."""
        n, together = np.asarray(sizes, dtype=np.float64), 0.0 if self.mttr is None else self.mttr
        if self.mttr_node is None or not (self.has_own_mttr and self.place and self.share):
            return np.asarray(np.asarray(together)[..., None] + np.zeros(n.shape))
        inside = np.minimum(n, self.place)
        lost = inside * self.share / self.met(inside)  # nodes of the job, on average
        part = np.clip((lost - 1.0) / max(self.place * self.share - 1.0, 1e-9), 0.0, 1.0)
        one = np.asarray(self.mttr_node)[..., None]
        return np.asarray(one + (np.asarray(together)[..., None] - one) * part)


@dataclass(frozen=True, eq=False)
class FailuresByScope:
    """Failures and repairs of a fleet by scope, as simulators and planners use them.

    Attributes
    ----------
    node : ScopeFailures
        Failures of single nodes; all their outages if only those are known.
    wider : tuple of ScopeFailures
        Failures of racks, groups of nodes and the system, as far as known.
    outage_mtbf : float, optional
        Mean hours between outages of a node of any scope.
    times : Family, optional
        Distribution fitted to the times to failure of a node, hours; simulations take `life`.
    spread : float
        Variance of the nodes' frailty, which is gamma distributed with mean one.
    bad_nodes : tuple of float, optional
        Share of bad nodes, and their failure rate relative to the other nodes.
    repairs : Family, optional
        Distribution of the times to repair, hours.
    kinds : tuple of float, optional
        Mean hours of quick and of slow repairs, and the share of quick ones.
    mttr : float, optional
        Mean time to repair, hours.
    job_failures : sequence of (int, float), optional
        Size of a job, and its counted failure rate relative to that from the rates of the scopes.

    Examples
    --------
    >>> fleet = {"nodes": 64, "racks": 4, "rack_share": 0.25}
    >>> failures = FailuresByScope.of_parameters(Parameters(mtbf={"node": "9000h", "rack": "1000h"}, fleet=fleet))
    >>> [(scope.name, scope.met(16).round(1).item()) for scope in failures.scopes]
    [('node', 16.0), ('rack', 1.0)]
    """

    node: ScopeFailures
    wider: tuple[ScopeFailures, ...]
    outage_mtbf: float | None
    times: Family | None
    spread: float
    bad_nodes: tuple[float, float] | None
    repairs: Family | None
    kinds: tuple[float, float, float] | None
    mttr: float | None
    job_failures: Sequence[tuple[int, float]] | None = None

    @classmethod
    def of_parameters(
        cls, parameters: Parameters, draws: Draws | None = None, *, nodes: int | None = None, racks: int | None = None
    ) -> FailuresByScope:
        """From parameters, or draws of them.

        Parameters
        ----------
        parameters : Parameters
        draws : Draws, optional
            Draws of these parameters; the means by scope are then arrays of shape (n_draws,).
        nodes, racks : int, optional
            Numbers of nodes and racks; those of ``parameters.fleet`` by default.
        """
        values, fleet = parameters.values(), parameters.fleet
        of: Any = values if draws is None else draws
        n, shelves = nodes or fleet.nodes, racks or fleet.racks
        places = {"rack": n / shelves if n and shelves else 0.0, "group": float(n or 0)}
        shares = {"rack": fleet.rack_share, "group": fleet.group_share}

        def scope(name: str, own: str) -> ScopeFailures:
            mttr = next((key for key in (f"mttr.{own}", "mttr.mean") if key in values), "")
            mtbf, one = (of[key] if key in values else None for key in (f"mtbf.{own}", f"mttr.{name}_node"))
            hits = fleet.group_hits if name == "group" else None
            place, share = places.get(name, 0.0), shares.get(name)
            return ScopeFailures(name, mtbf, of[mttr] if mttr else None, mttr, one, place, share, hits)

        # outages of a node include the failures of its rack and system
        single = "outage" if "mtbf.outage" in values and "mtbf.node" not in values else "node"
        wider = [name for name in _WIDER if single == "node" and f"mtbf.{name}" in values]

        def several(*names: str) -> Any:
            return tuple(values[name] for name in names) if all(name in values for name in names) else None

        failure, repair = parameters.failure, parameters.repair
        return cls(
            node=scope("node", single),
            wider=tuple(scope(name, name) for name in wider),
            outage_mtbf=values.get("mtbf.outage", values.get("mtbf.node")),
            times=None if failure is None else failure.distribution(),
            spread=0.0 if failure is None else failure.spread or 0.0,
            bad_nodes=several("bad_nodes.fraction", "bad_nodes.factor"),
            repairs=None if repair is None else repair.distribution(),
            kinds=several("mttr.quick", "mttr.slow", "mttr.share_quick"),
            mttr=values.get("mttr.mean"),
            job_failures=fleet.job_failures,
        )

    @property
    def life(self) -> Distribution | None:
        """Times to failure of a node: the shape of `times` with the mean of `node`, where that is known."""
        return None if self.times is None else with_mean("failure", self.times, self.node.mtbf)

    @property
    def scopes(self) -> tuple[ScopeFailures, ...]:
        """All scopes, nodes first."""
        return (self.node, *self.wider)

    @property
    def placed(self) -> tuple[ScopeFailures, ...]:
        """The scopes whose failures can be assigned to jobs: racks only if their size is known."""
        return tuple(scope for scope in self.scopes if scope.name != "rack" or scope.is_placed)

    def left_out(self, *used: str) -> str:
        """Which failures there are of scopes other than nodes and `used`, in a sentence; "" without any.

        Examples
        --------
        >>> known = Parameters(mtbf={"node": "90d", "group": "15d"}, fleet={"nodes": 384, "group_share": 0.0417})
        >>> FailuresByScope.of_parameters(known).left_out("rack")
        'Left out: failures of groups of nodes, one every 15 days, of 16 nodes on average (mtbf.group).'
        """
        texts = []
        for scope in (scope for scope in self.wider if scope.name not in used):
            hit = scope.place * (scope.share or 0.0)
            what = {"rack": "each rack", "group": "groups of nodes", "system": "the system"}[scope.name]
            nodes = f", of {number(hit)} nodes on average" if hit else ""
            texts.append(f"failures of {what}, one every {duration(scope.mtbf)}{nodes} (mtbf.{scope.name})")
        return f"Left out: {'; '.join(texts)}." if texts else ""

    def totals(self, sizes: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Failures per hour, and hours of repair per hour, of jobs on this many nodes, from the rates of the scopes."""
        rates = [scope.rate_of(sizes) for scope in self.placed]
        repairs = [scope.repair_of(sizes) * rate for scope, rate in zip(self.placed, rates, strict=True)]
        return np.asarray(sum(rates)), np.asarray(sum(repairs))

    def relative_rates(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Random failure rates of `count` nodes relative to their mean: with bad nodes, or with a gamma frailty."""
        if self.bad_nodes is not None:
            share, factor = self.bad_nodes
            rates = np.where(rng.permutation(count) < round(share * count), factor, 1.0)
            return rates / (1.0 + share * (factor - 1.0))
        if self.times is None or not self.spread:
            return np.ones(count)
        k = 1.0 / self.spread
        power = 1.0 / float(self.times.parameters().get("shape", np.ones(1)).item())
        mean = np.exp(special.gammaln(k + power) - special.gammaln(k) - power * np.log(k))
        return np.asarray((rng.gamma(k, size=count) / k) ** power / mean)


def counted_share(hits: Sequence[tuple[int, float, float]], sizes: FloatArray, column: int = 1) -> FloatArray:
    """A share for jobs of some sizes, interpolated on log scales between the sizes for which it was counted."""
    points = np.array([(row[0], row[column]) for row in hits if row[column] > 0.0])
    return np.asarray(np.exp(np.interp(np.log(sizes), *np.log(points).T)))


def _hit(share: float | None, nodes: FloatArray, of: float | None) -> FloatArray:
    """Probability that an incident that hits a share of the `of` nodes of a place, at random, hits a job with some."""
    if share is None or share >= 1.0:
        return np.ones_like(nodes)
    if of is None:
        return np.asarray(-np.expm1(nodes * np.log1p(-share)))
    hit, spared = of * share, of * (1.0 - share)
    left = np.maximum(spared - nodes, 0.0)
    # C(of - hit, nodes) of C(of, nodes) cases miss the job
    missed = special.betaln(spared + 1.0, hit) - special.betaln(left + 1.0, hit)
    return np.where(nodes > spared, 1.0, -np.expm1(missed))
