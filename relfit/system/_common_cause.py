"""Events that hit more than one node: all nodes of a rack, or the complete job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray, IntArray, NamedDurations
from relfit.base.errors import ArgumentError
from relfit.fitting.families import Distribution, Exponential, Family, Weibull
from relfit.system.checked_nodes import LONGEST_AGE, Component, ages_in_hours, components_of, duration_array


def _with_factors(components: tuple[Component, ...], factors: FloatArray) -> tuple[Component, ...]:
    """Exponential and Weibull distributions with their hazards multiplied by factors, one for each position."""
    scaled = []
    for component in components:
        family, by = component.family, factors[component.positions]
        if isinstance(family, Exponential):
            changed: Family = Exponential.unchecked(family.rate * by)
        elif isinstance(family, Weibull):
            changed = Weibull.unchecked(family.shape, family.scale * by ** (-1.0 / family.shape))
        else:
            raise TypeError(f"hazards of {type(family).__name__} are not multiplied")
        scaled.append(Component(changed, component.positions))
    return tuple(scaled)


@dataclass(frozen=True, eq=False)
class CommonCause:
    """Events that end the job on any nodes.

    Attributes
    ----------
    components : tuple of Component
        Distributions of the time to the next event of each cause; positions are those of `names`.
    ages : ndarray, shape (causes,)
        Hours since the last event of each cause.
    names : pandas.Index
        Names of the causes.
    hits : dict of int to ndarray
        For causes that need not hit the job, by position: the probability that an event hits a job on n nodes,
        n = 0, 1, ...
    """

    components: tuple[Component, ...]
    ages: FloatArray
    names: pd.Index
    hits: Mapping[int, FloatArray] = field(default_factory=dict)

    def node_shares(self, count: int) -> FloatArray:
        """What each of the first `count` nodes adds to the probability that an event hits the job, (causes, count)."""
        shares = np.zeros((self.ages.size, count))
        shares[:, 0] = 1.0  # an event that hits every job hits its first node
        for i, table in self.hits.items():
            shares[i] = added(table, np.arange(count))
        return shares

    def times(self, factors: FloatArray) -> CommonCause:
        """The causes with their hazards multiplied by one factor each."""
        return replace(self, components=_with_factors(self.components, factors))


@dataclass(frozen=True, eq=False)
class Racks:
    """Events of racks.

    Attributes
    ----------
    of_node : ndarray of int, shape (n_nodes,)
        Rack of each node.
    components : tuple of Component
        Distributions of the time to the next event of each rack; positions are those of `names`.
    ages : ndarray, shape (n_racks,)
        Hours since the last event of each rack.
    names : pandas.Index
        Labels of the racks.
    hits : ndarray, optional
        Probability that an event of a rack hits a job with n of its nodes, n = 0, 1, ...; 1 for n above 0 by default.
    """

    of_node: IntArray
    components: tuple[Component, ...]
    ages: FloatArray
    names: pd.Index
    hits: FloatArray | None = None

    def node_shares(self, count: int) -> FloatArray:
        """What each of the first `count` nodes adds to the probability that an event of its rack hits the job."""
        of_node = self.of_node[:count]
        order = np.argsort(of_node, kind="stable")
        sizes = np.bincount(of_node)
        turn = np.empty(count, np.int64)
        turn[order] = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return (turn == 0).astype(np.float64) if self.hits is None else added(self.hits, turn)

    def times(self, factor: float) -> Racks:
        """The racks with their hazards multiplied by a factor."""
        return replace(self, components=_with_factors(self.components, np.full(self.ages.size, factor)))

    def take(self, nodes: IntArray) -> Racks:
        """Racks of some of the nodes; racks without any are left out."""
        used, of_node = np.unique(self.of_node[nodes], return_inverse=True)
        return replace(
            self,
            of_node=of_node.astype(np.int64).ravel(),
            components=Component.taken(self.components, used, self.ages.size),
            ages=self.ages[used],
            names=self.names[used],
        )


def added(hits: FloatArray, turn: IntArray) -> FloatArray:
    """What the first, second, ... node of a job (`turn` 0, 1, ...) adds to the probability that an event hits it."""
    last = hits.size - 1
    return np.asarray(hits[np.minimum(turn + 1, last)] - hits[np.minimum(turn, last)])


def common_cause(causes: object) -> CommonCause | None:
    """Common causes from one distribution, a list or a dict of them, or of pairs (distribution, age)."""
    if causes is None or isinstance(causes, CommonCause):
        return causes
    if isinstance(causes, Distribution):
        causes = [causes]
    if isinstance(causes, Mapping):
        names, values = pd.Index([str(name) for name in causes]), list(causes.values())
    elif isinstance(causes, Sequence) and not isinstance(causes, str):
        values = list(causes)
        names = pd.Index([f"cause_{i}" for i in range(1, len(values) + 1)])
    else:
        raise ArgumentError(
            f"common={type(causes).__name__} is not a distribution",
            remedy="give a distribution, a list, or a dict of them",
        )
    if not values:
        return None
    lives = [v[0] if isinstance(v, tuple) else v for v in values]
    ages = [v[1] if isinstance(v, tuple) else 0.0 for v in values]
    components = components_of(lives, len(lives), names, "cause")
    return CommonCause(components, ages_in_hours(ages, len(lives), names, longest=LONGEST_AGE, what="cause"), names)


def racks_of(labels: object, lives: object, ages: NamedDurations, size: int) -> Racks | None:
    """Racks from a label for each node and distributions, one for all racks or by label; None without both."""
    if labels is None and lives is None:
        return None
    if labels is None or lives is None:
        raise ArgumentError("racks need a label for every node (racks=) and a life (rack_lives=)")
    racks = np.asarray(labels, dtype=object).reshape(-1)
    if racks.size != size:
        raise ArgumentError(f"{size} nodes but {racks.size} racks", remedy="give the rack of every node")
    codes, names = pd.factorize(racks)
    if (codes < 0).any():
        raise ArgumentError(f"node {int(np.flatnonzero(codes < 0)[0])} has no rack", remedy="give every node a label")
    names = pd.Index(names)
    if isinstance(lives, Mapping):
        lost = [name for name in names if name not in lives]
        if lost:
            raise ArgumentError(f"rack {lost[0]!r} has no life", remedy="give a distribution for every rack")
        lives = [lives[name] for name in names]
    components = components_of(lives, len(names), names, "rack")
    listed = [ages.get(name, 0.0) for name in names] if isinstance(ages, Mapping) else ages
    checked = ages_in_hours(duration_array(listed), len(names), names, what="rack")
    return Racks(codes.astype(np.int64), components, checked, names)
