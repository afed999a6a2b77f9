"""The data of a fleet model: incidents by scope, with rates, ageing and the spread of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import Incidents
from relfit.analyses.screening.frailty_results import RenewalModels
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.fleet._chosen_period import ChosenPeriod
from relfit.fleet._placements import hit_probability
from relfit.fleet.incident_scopes import Places, ScopeIncidents, Standing
from relfit.fleet.prediction import Multiples
from relfit.fleet.scope_rates import ScopeRates


@dataclass(frozen=True, eq=False, repr=False)
class FleetParts:
    """Incidents of a period by scope: ``node``, ``rack``, ``group`` (several nodes, not of one rack), ``system``.

    ``renewals`` are fits of the times between incidents, one group per system; ``standing`` has the ages of nodes at
    the end of the period, and whether they were up; ``multiples`` are current rates of the nodes relative to the mean,
    None in the long run, where they follow from ``renewals``; ``level`` is the default of the intervals.
    """

    period: ChosenPeriod
    found: Incidents
    places: Places
    by_scope: dict[str, ScopeIncidents]
    renewals: dict[str, RenewalModels]
    rates: dict[str, ScopeRates]
    standing: Standing
    level: float
    multiples: Multiples | None = None

    @property
    def hours(self) -> float:
        """Length of the period, hours."""
        return float(self.period.log.window.hours)

    @cached_property
    def in_service(self) -> BoolArray:
        """Nodes under observation at the end of the period; all of a system whose nodes had left by then."""
        system, present = self.places.system, self.standing.present
        return present | (np.bincount(system, present, len(self.places.systems)) == 0.0)[system]

    @property
    def question(self) -> str | None:
        """Why nothing can be said of single nodes (only nodes that failed are known), else None."""
        return self.period.log.question

    def label(self, scope: str) -> str:
        """The name of a scope in the log: racks may be frames or cabinets there."""
        return self.found.group if scope == "rack" and self.found.group is not None else scope

    def incidents_of(self, name: str) -> FloatArray:
        """Incidents of a scope in each system, including those that began while the system was down; (systems,)."""
        scope = self.by_scope[name]
        return np.bincount(scope.system_of_incident, minlength=len(self.places.systems)).astype(np.float64)

    @property
    def within_outages(self) -> str:
        """How many incidents of single nodes are not counted, as they began during an outage; empty for none."""
        joined = int((self.found.table["scope"] == "node").sum())
        left_out = joined - int(self.incidents_of("node").sum())
        if left_out <= 0:
            return ""
        return f"Of {joined:,} incidents of nodes {left_out:,} began on a node that was down: part of that outage."

    def nodes_hit(self, scope: ScopeIncidents) -> IntArray:
        """Number of nodes hit by each incident, shape (incidents,); all that were up if it names none."""
        hit = np.bincount(scope.incident_of, minlength=scope.system_of_incident.size)
        return np.where(hit > 0, hit, np.maximum(scope.at_risk, 1))

    def hit_table(self, name: str, most: int, system: int | None = None) -> FloatArray:
        """Probability that an incident of a scope hits a job with n of the nodes up, n = 0 ... `most`."""
        scope = self.by_scope[name]
        mine = slice(None) if system is None else scope.system_of_incident == system
        hit = self.nodes_hit(scope)[mine]
        return hit_probability(hit, np.maximum(scope.at_risk[mine], hit), most)

    def hours_down(self, name: str, system: int) -> float:
        """Mean hours that a node hit by an incident of a scope is down; 0 if no repair was seen to end."""
        outages = self.places.watched
        of = np.append(self.found.table["scope"].to_numpy(dtype=object) == self.label(name), False)
        mine = of[np.append(self.found.incident, -1)[outages.row]] & outages.failures & outages.end_known
        mine &= self.places.system[outages.code] == system
        ended = int((mine & ~outages.end_cut).sum())
        return float((outages.end - outages.start)[mine].sum()) / NANOSECONDS_PER_HOUR / ended if ended else 0.0

    @cached_property
    def rack_hits(self) -> FloatArray:
        """Probability that an incident of a rack hits a job with n of its nodes, n = 0, 1, ..."""
        return self.hit_table("rack", int(self.places.rack_sizes.max(initial=0)))

    @cached_property
    def node_multipliers(self) -> FloatArray:
        """Failure rate of each node as a multiple of its system's mean, given its history; shape (nodes,)."""
        rates = self.renewals["node"].rates() if self.multiples is None else self.multiples.rate
        return self._normalised(rates[None])[0]

    @property
    def node_rates(self) -> FloatArray:
        """Failures of single nodes per operating hour of each node, given its history; shape (nodes,)."""
        return np.nan_to_num(self.rates["node"].rate)[self.places.system] * self.node_multipliers

    def drawn_nodes(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draws of the node rates, shape (size, nodes), and of the shapes of their systems, (size, systems)."""
        streams = rng.spawn(3)
        fits = self.renewals["node"]
        rate = self.rates["node"].draw(size, streams[0])
        error = np.sqrt(fits.covariance[:, 0, 0])
        shape = np.exp(np.log(fits.shape[:, 1]) + error * streams[1].standard_normal((size, error.size)))
        finite = np.isfinite(fits.posterior[:, 0])
        a, b = (np.where(finite, values, 1.0) for values in fits.posterior.T)
        system = self.places.system
        multiplier = np.ones((size, a.size))
        if self.multiples is not None:
            multiplier = self._normalised(self.multiples.draw(size, streams[2]))
        elif finite.any():
            frailty = np.where(finite, streams[2].gamma(a, size=(size, a.size)) / b, 1.0)
            multiplier = self._normalised(frailty ** (1.0 / shape[:, system]))
        return rate[:, system] * multiplier, shape

    def _normalised(self, rates: FloatArray) -> FloatArray:
        """Rates of nodes, (draws, nodes), over their system's mean: by hours in the period, or of nodes present now."""
        hours, system = self.by_scope["node"].hours, self.places.system
        weight = hours if self.multiples is None else self.standing.present.astype(np.float64)
        size = len(self.places.systems)
        total = np.bincount(system, weight, size)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.stack([np.bincount(system, row * weight, size) for row in rates]) / total
            return np.nan_to_num(rates / means[:, system], nan=1.0, posinf=1.0)

    def positions(self, nodes: Iterable[object]) -> IntArray:
        """Positions of nodes by label: (system, node), or the node alone if its name is unique."""
        labels = self.places.nodes
        short = labels.get_level_values(-1)
        wanted = [nodes] if isinstance(nodes, (str, tuple)) else list(nodes)
        keys: list[Any] = [tuple(key) if isinstance(key, (tuple, list)) else key for key in wanted]
        index = labels if keys and isinstance(keys[0], tuple) else short.astype(str)
        if index is not labels:
            keys = [str(key) for key in keys]
            if not index.is_unique:
                raise ArgumentError(
                    "a node's name is not unique in this log",
                    remedy=Remedy("give (system, node)", "select its system with --where system=NAME"),
                )
        pairs = index is labels
        at = index.get_indexer(pd.MultiIndex.from_tuples(map(tuple, keys)) if pairs else pd.Index(keys))
        if not at.size or (at < 0).any():
            shown = ", ".join(map(str, index[:3]))
            what = f"no node {keys[int(np.argmin(at))] if keys else ''!r} in this log"
            raise ArgumentError(what, remedy=f"its nodes are {shown}{', ...' if len(index) > 3 else ''}")
        return np.asarray(at, dtype=np.int64)
