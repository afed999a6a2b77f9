"""A `System` of the nodes of a fleet, with failures of racks, groups and whole systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import DataError
from relfit.fitting.families import Exponential, Family, Weibull
from relfit.fleet.fleet_parts import FleetParts
from relfit.system import System
from relfit.system.checked_nodes import CommonCause, Component, Racks, components_of


def system_of(model: FleetParts, nodes: IntArray, ages: FloatArray, **options: Any) -> System:
    """Nodes of a fleet, by position and hours of operation since their last failures, as `FleetModel.system` has it."""
    origin, racks = _Origin.of(model, nodes), _racks(model, nodes)
    if not ((model.node_rates[nodes] > 0.0).any() or origin.causes or racks is not None):
        raise DataError(
            "nothing failed under observation in this period, so the lifetime of nodes is unknown",
            remedy="take a longer period; relfit calibrate says what the time without a failure rules out",
        )
    labels = model.places.nodes
    short = labels.get_level_values(-1)
    family = Weibull.unchecked(*origin.parameters(model.node_rates[nodes], model.renewals["node"].shape[:, 1]))
    return System.of_components(
        (Component(family, np.arange(nodes.size)),),
        ages,
        names=(short if short.is_unique else labels)[nodes],
        sources=nodes,
        origin=origin,
        common=_common(model, origin),
        racks=racks,
        ages_observed=True,
        **options,
    )


def ages_now(model: FleetParts) -> FloatArray:
    """Operating hours since each node's last failure, shape (nodes,); of one that never failed since it was watched,
    and may have before: the age at which its hazard is that of stationary renewals.
    """
    now = model.standing
    shape = model.renewals["node"].shape[model.places.system, 1]
    with np.errstate(all="ignore"):
        scale = 1.0 / (model.node_rates * special.gamma(1.0 + 1.0 / shape))
        c = (now.age / scale) ** shape
        # S(T) over the integral of S from T on
        hazard = np.exp(-c) / (scale * special.gamma(1.0 + 1.0 / shape) * special.gammaincc(1.0 / shape, c))
        equal = scale * (hazard * scale / shape) ** (1.0 / (shape - 1.0))
    usable = now.unseen & np.isfinite(equal) & (np.abs(shape - 1.0) > 1e-3)
    return np.where(usable, np.clip(equal, 0.0, 10.0 * scale), now.age)


@dataclass(frozen=True, eq=False)
class _Origin:
    """The source of a system's parameters, and their uncertainty (`relfit.system.uncertainty`)."""

    model: FleetParts
    nodes: IntArray
    systems: IntArray
    causes: list[tuple[str, int]] = field(default_factory=list)
    family: ClassVar[type[Weibull]] = Weibull
    pooled: ClassVar[bool] = True

    @classmethod
    def of(cls, model: FleetParts, nodes: IntArray) -> _Origin:
        systems = np.unique(model.places.system[nodes])
        named = [(scope, int(code)) for code in systems for scope in ("group", "system")]
        return cls(model, nodes, systems, [(s, code) for s, code in named if model.rates[s].count[code]])

    @property
    def lives(self) -> Any:
        """Times between the failures of nodes."""
        return self.model.by_scope["node"].lives

    def parameters(self, rate: FloatArray, shape: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weibull shapes and scales of the nodes, from rates (..., k) and the shape of each system (..., systems)."""
        b = np.broadcast_to(shape[..., self.model.places.system[self.nodes]], rate.shape)
        return b.copy(), 1.0 / (np.maximum(rate, 1e-300) * special.gamma(1.0 + 1.0 / b))

    def node_sources(self, components: Sequence[Component], groups: IntArray | None) -> list[Any]:
        """One source: all nodes."""
        assert groups is not None
        return [_Origin.of(self.model, groups)]

    @property
    def positions(self) -> IntArray:
        """As a source of parameters, these are of all nodes."""
        return np.arange(self.nodes.size)

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Random parameters of the nodes, shape (size, nodes, 2)."""
        rate, shape = self.model.drawn_nodes(size, rng)
        return np.stack(self.parameters(rate[:, self.nodes], shape), axis=-1)

    def wide_factors(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Factors of the hazards of common causes, shape (size, causes), and of racks, shape (size,)."""

        def drawn(scope: str, code: int) -> FloatArray:
            rates = self.model.rates[scope]
            return np.asarray(rates.draw(size, rng)[:, code] / rates.rate[code])

        causes = [drawn(scope, code) for scope, code in self.causes]
        racks = [drawn("rack", int(code)) for code in self.systems if self.model.rates["rack"].count[code]]
        return (
            np.stack(causes, axis=1) if causes else np.zeros((size, 0)),
            np.mean(racks, axis=0) if racks else np.ones(size),
        )


def _common(model: FleetParts, origin: _Origin) -> CommonCause | None:
    """Incidents of whole systems, and of groups of nodes, which need not hit the job."""
    if not origin.causes:
        return None
    lives: list[Family] = []
    ages, hits, names = [], {}, []
    for i, (scope, code) in enumerate(origin.causes):
        rate, shape = model.rates[scope].rate[code], model.renewals[scope].shape[code, 1]
        of_scope = model.by_scope[scope]
        if scope == "system":
            lives.append(Weibull.unchecked(shape, 1.0 / (rate * special.gamma(1.0 + 1.0 / shape))))
        else:
            lives.append(Exponential.unchecked(rate))
            hits[i] = model.hit_table(scope, int((model.places.system == code).sum()), code)
        ages.append(float(of_scope.age[code]) if scope == "system" else 0.0)
        names.append(f"{scope} {model.places.systems[code]}" if origin.systems.size > 1 else scope)
    labels = pd.Index(names)
    return CommonCause(components_of(lives, len(lives), labels, "cause"), np.array(ages), labels, hits)


def _racks(model: FleetParts, nodes: IntArray) -> Racks | None:
    """Incidents of racks, as Poisson processes; nodes without a rack have none."""
    places, rates = model.places, model.rates["rack"]
    if not rates.count.any() or (places.rack[nodes] < 0).any():
        return None
    used, of_node = np.unique(places.rack[nodes], return_inverse=True)
    rate = np.maximum(np.nan_to_num(rates.rate[places.system_of_rack[used]]), 1e-300)
    component = Component(Exponential.unchecked(rate), np.arange(used.size))
    of_node = of_node.astype(np.int64).ravel()
    return Racks(of_node, (component,), np.zeros(used.size), places.racks[used], model.rack_hits)
