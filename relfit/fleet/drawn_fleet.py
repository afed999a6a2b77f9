"""Draws of the rates, shapes and frailties of a fleet, and the failures of a job in each draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray, Seed
from relfit.fleet._placements import Placements
from relfit.fleet.current_repairs import RepairsNow
from relfit.fleet.fleet_parts import FleetParts
from relfit.fleet.incident_scopes import SCOPES

_CELLS = 20_000_000  # draws times nodes
KEPT = 1_000_000  # of them that are cached


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """Placements of a job, with the rack incidents and the share of group incidents that hit each of them."""

    where: Placements
    racks: FloatArray  # expected number of hits if each rack has one incident
    groups: FloatArray
    often: FloatArray  # share of time in which all nodes of a placement are up: jobs start there in proportion

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean of values of shape (placements, draws) over placements, weighted by how often jobs start there."""
        weights = self.often if self.often.any() else np.ones(self.often.size)
        return np.asarray(weights @ values / weights.sum())


@dataclass(frozen=True, eq=False)
class DrawnFleet:
    """Draws of the rates (per operating hour), shapes and node rates of one system."""

    system: int
    rate: FloatArray  # as the shape, (scopes, draws)
    shape: FloatArray
    node: FloatArray  # shape (draws, nodes)
    central: bool
    _of_nodes: dict[float, FloatArray] = field(default_factory=dict, init=False)  # their cumulative hazards, by hours

    @classmethod
    def centre(cls, model: FleetParts, code: int) -> DrawnFleet:
        """The estimates, as one draw."""
        rate = np.nan_to_num(np.stack([model.rates[name].rate[[code]] for name in SCOPES]))
        shape = np.stack([model.renewals[name].shape[[code], 1] for name in SCOPES])
        return cls(code, rate, shape, model.node_rates[None], True)

    @classmethod
    def of(cls, model: FleetParts, code: int, size: int, rng: np.random.Generator) -> DrawnFleet:
        """`size` draws, fewer for very large fleets."""
        size = max(19, min(size, _CELLS // max(model.places.system.size, 1)))
        streams = rng.spawn(3)
        node, own = model.drawn_nodes(size, streams[0])
        mine = model.places.system == code
        hours = model.by_scope["node"].hours[mine]
        own_rate = node[:, mine] @ hours / max(hours.sum(), 1e-300)
        rate = np.stack([own_rate, *(model.rates[name].draw(size, streams[1])[:, code] for name in SCOPES[1:])])
        for i, name in enumerate(SCOPES):
            if i and not model.rates[name].count[code]:
                rate[i] = 0.0  # no incident of this scope was seen
        fits = [model.renewals[name] for name in SCOPES]
        error = np.array([np.sqrt(fit.covariance[code, 0, 0]) for fit in fits])
        centre = np.array([np.log(fit.shape[code, 1]) for fit in fits])
        shape = np.exp(centre[:, None] + error[:, None] * streams[2].standard_normal((len(SCOPES), size)))
        shape[0] = own[:, code]
        return cls(code, rate, shape, node, False)

    @cached_property
    def _alike(self) -> bool:
        """Whether all nodes have the same rate in each draw."""
        return bool((self.node == self.node[:, :1]).all())

    def hazard(self, scope: str, x: float) -> FloatArray:
        """Cumulative hazard over `x` hours from a random time at which the place is up, shape (draws,)."""
        i = SCOPES.index(scope)
        return _from_a_random_instant(x, self.rate[i], self.shape[i])

    def survival(self, x: float, job: PlacedJob) -> FloatArray:
        """Probability that a job runs for `x` hours without interruption, shape (placements, draws)."""
        node = self._of_nodes.get(x)
        if node is None:
            different = self.node[:, :1] if self._alike else self.node
            hazards = _from_a_random_instant(x, different, self.shape[0][:, None])
            node = np.broadcast_to(hazards, self.node.shape)
            if node.size <= KEPT:
                self._of_nodes[x] = node
        spent = job.where.sums(node) + np.multiply.outer(job.racks, self.hazard("rack", x))
        spent += np.multiply.outer(job.groups, self.hazard("group", x)) + self.hazard("system", x)
        return np.asarray(np.exp(-spent))

    def spent(self, x: float, job: PlacedJob) -> dict[str, float]:
        """Cumulative hazard of a job over `x` hours by scope, in the first draw."""
        node = _from_a_random_instant(x, self.node[:1], self.shape[0][:1, None])
        of = {"rack": job.racks, "group": job.groups, "system": np.ones(job.racks.size)}
        wide = {name: each * self.hazard(name, x)[0] for name, each in of.items()}
        of_scopes = {"node": job.where.sums(node)[:, 0], **wide}
        return {name: float(job.mean(each[:, None])[0]) for name, each in of_scopes.items()}

    def job_rate(self, job: PlacedJob) -> FloatArray:
        """Incidents per hour that hit a job, by placement and draw, shape (placements, draws)."""
        rack, group, system = self.rate[1:]
        of_racks, of_groups = np.multiply.outer(job.racks, rack), np.multiply.outer(job.groups, group)
        return np.asarray(job.where.sums(self.node) + of_racks + of_groups + system)

    def mean_repair(self, of: str, model: FleetParts, now: RepairsNow | None, rng: Seed) -> FloatArray:
        """Mean hours to repair by draw: bootstrap of total over completed repairs, times `now`'s factor, log-normal."""
        lives = model.by_scope[of].repairs.take(np.array([self.system]))
        if not lives.n_failures.sum():
            return np.full(self.rate.shape[1], np.nan)
        factor, variance = (1.0, 0.0) if now is None else (now.factor, now.variance)
        if self.central:
            return np.asarray(lives.total_time / lives.n_failures * factor)
        size, generator = (self.rate.shape[1], lives.durations.size), random_stream(rng)
        picked = generator.integers(lives.durations.size, size=size)
        factors = factor * np.exp(np.sqrt(np.log1p(variance)) * generator.standard_normal(size[0]))
        with np.errstate(divide="ignore"):
            return np.asarray(factors * lives.durations[picked].sum(axis=1) / lives.observed[picked].sum(axis=1))

    def down_quantile(self, p: float, model: FleetParts, longer: Sequence[float], rng: Seed) -> FloatArray:
        """Quantile `p` of the number of nodes down at a random time, in each draw; repairs of a scope take so many
        times as long (`longer`) as in the period.
        """
        generator = random_stream(rng)
        mean = [model.hours_down(name, self.system) * factor for name, factor in zip(SCOPES[:3], longer, strict=True)]
        mine = np.flatnonzero(model.places.system == self.system)
        out = np.empty(self.rate.shape[1])
        racks = int((model.by_scope["rack"].system == self.system).sum())
        for d in range(out.size):
            busy = self.node[d, mine] * mean[0]
            number = generator.poisson(float((busy / (1.0 + busy)).sum()), 4000)
            for i, places in ((1, racks), (2, 1)):
                scope = model.by_scope[SCOPES[i]]
                hit = model.nodes_hit(scope)[scope.system_of_incident == self.system]
                if not hit.size:
                    continue
                going = generator.poisson(self.rate[i, d] * places * mean[i], number.size)
                added = generator.choice(hit, int(going.sum()))
                number = number + np.bincount(np.repeat(np.arange(number.size), going), added, number.size)
            out[d] = np.quantile(np.minimum(number, mine.size), p, method="inverted_cdf")
        return out


def _from_a_random_instant(x: float, rate: FloatArray, shape: FloatArray) -> FloatArray:
    """Cumulative hazard over `x` hours of stationary Weibull renewals with these long-run rates (Cox 1962)."""
    with np.errstate(divide="ignore", under="ignore", over="ignore"):
        spent = (x * rate * special.gamma(1.0 + 1.0 / shape)) ** shape
        return np.asarray(-np.log(special.gammaincc(1.0 / shape, spent)), np.float64)
