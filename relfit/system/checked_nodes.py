"""The parts of a system: nodes grouped by distribution, with checked ages and names, racks and common causes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from relfit.base.arrays import Durations, FloatArray, IntArray, NamedDurations
from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.text import count
from relfit.base.units import hours, unit_in_hours
from relfit.fitting.families import CompetingRisks, Distribution, Exponential, Family, Weibull

Life: TypeAlias = Family | CompetingRisks
"""Possible distributions of a node: batches of them can be indexed."""

_REMEDY = "use a family of the toolkit"
_AGES = Remedy("give one age for all, or one for every node", "write --age once for all, or once for each of --nodes")
LONGEST_AGE = 100.0 * 365.25 * 24.0  # hours; a longer age is taken to be in other units


@dataclass(frozen=True, eq=False)
class Component:
    """Nodes of one distribution: ``family``, a batch of shape (n,), and their ``positions`` in the system."""

    family: Life
    positions: IntArray

    def __len__(self) -> int:
        return int(self.positions.size)

    def __repr__(self) -> str:
        return f"Component({self.family!r}, {len(self)} nodes)"

    @staticmethod
    def taken(components: Iterable[Component], places: IntArray, size: int) -> tuple[Component, ...]:
        """The components of the nodes at some of `size` places, numbered in the order of these."""
        number = np.full(size, -1, dtype=np.int64)
        number[places] = np.arange(places.size)
        parts = []
        for component in components:
            new = number[component.positions]
            some = np.flatnonzero(new >= 0)
            if some.size:
                some = some[np.argsort(new[some])]
                parts.append(Component(component.family[some], new[some]))
        return tuple(parts)


def node_label(names: pd.Index | None, position: int, what: str = "node") -> str:
    """The name of a node in an error."""
    plain = names is None or isinstance(names, pd.RangeIndex)
    return f"{what} {position}" if plain or names is None else f"{what} {names[position]!r}"


def components_of(
    nodes: object, count: int | None, names: pd.Index | None = None, what: str = "node"
) -> tuple[Component, ...]:
    """Components from a batch, one distribution for `count` equal nodes, or a sequence of distributions.
    An `ArgumentError` for none, a batch of more dimensions, or another number than `count`; a `DataError` names a node
    with missing or impossible parameters.
    """
    if isinstance(nodes, Distribution):
        components: tuple[Component, ...] = (_of_batch(nodes, count),)
    elif isinstance(nodes, (str, bytes)) or not isinstance(nodes, Iterable):
        raise ArgumentError(
            f"nodes are {type(nodes).__name__}, not distributions",
            remedy="give a family such as Weibull(0.8, 1000.0), a batch of one, or a list of them",
        )
    else:
        components = _of_sequence(list(nodes), names, what)
    total = sum(len(component) for component in components)
    if total == 0:
        raise ArgumentError("a system of no nodes", remedy="give at least one node")
    if count is not None and total != count:
        raise ArgumentError(f"{total} {what}s but {count} ages or names")
    for component in components:
        _check_parameters(component, names, what)
    return components


def _of_batch(family: Distribution, count: int | None) -> Component:
    shape = family.batch_shape
    if len(shape) > 1:
        raise ArgumentError(f"a batch of shape {shape} is not a list of nodes", remedy="give a batch of one dimension")
    size = shape[0] if shape and (shape != (1,) or not count) else 1 if count is None else count
    batch = family if isinstance(family, (Family, CompetingRisks)) and shape == (size,) else _spread(family, size)
    return Component(batch, np.arange(size, dtype=np.int64))


def _spread(family: Distribution, size: int) -> Life:
    """One distribution as a batch of equal ones."""
    if isinstance(family, Family):
        return family.unchecked(*(np.broadcast_to(v.reshape(-1), (size,)) for v in family.parameters().values()))
    if isinstance(family, CompetingRisks):
        return CompetingRisks({name: _spread(cause, size) for name, cause in family.causes.items()})
    raise ArgumentError(f"{type(family).__name__} cannot be the life of a node", remedy=_REMEDY)


def _of_sequence(nodes: Sequence[Any], names: pd.Index | None, what: str) -> tuple[Component, ...]:
    for position, node in enumerate(nodes):
        if not isinstance(node, Distribution):
            problem = f"{node_label(names, position, what)} is not a distribution but {type(node).__name__}"
            raise ArgumentError(problem, remedy="give a family such as Weibull(0.8, 1000.0) for every node")
        if int(np.prod(node.batch_shape, dtype=np.int64)) != 1:
            problem = f"{node_label(names, position, what)} is a batch of shape {node.batch_shape}"
            raise ArgumentError(problem, remedy="give one distribution for every node, or one batch for all")
    kinds: dict[Any, list[int]] = {}
    for position, node in enumerate(nodes):
        # composite distributions stay separate, unless they are the same object
        kinds.setdefault(type(node) if isinstance(node, Family) else id(node), []).append(position)
    components = []
    for places in kinds.values():
        first = nodes[places[0]]
        if isinstance(first, Family):
            values = [
                np.array([float(np.ravel(getattr(nodes[p], name))[0]) for p in places])
                for name in first.parameter_names()
            ]
            batch: Life = first.unchecked(*values)
        else:
            batch = _spread(first, len(places))
        components.append(Component(batch, np.array(places, dtype=np.int64)))
    return tuple(components)


def _check_parameters(component: Component, names: pd.Index | None, what: str) -> None:
    family = component.family
    if not isinstance(family, Family):
        return
    for (name, value), domain in zip(family.parameters().items(), family.domains, strict=True):
        spread = np.broadcast_to(value, component.positions.shape)
        bad = ~np.isfinite(spread)
        if domain != "real":
            bad |= spread <= 0.0
        if domain == "fraction":
            bad |= spread >= 1.0
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            label = node_label(names, int(component.positions[place]), what)
            if np.isnan(spread[place]):
                raise DataError(
                    f"{label} has no {name} ({family.name})", remedy="its fit gave no estimate: leave it out"
                )
            raise DataError(f"{label} has the {name} {spread[place]:g} ({family.name})", remedy="correct it")


def duration_array(value: Any, what: str = "duration", unit: str = "hours") -> FloatArray:
    """Durations in hours, from numbers in `unit`, text, Timedelta, or arrays of these."""
    factor = unit_in_hours(unit)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item() if value.dtype.kind in "iufOU" else value[()]
    if isinstance(value, (str, bytes)) or np.ndim(value) == 0:
        numbers = (int, float, np.integer, np.floating)
        plain = isinstance(value, numbers) and not isinstance(value, (bool, np.timedelta64))
        return np.asarray(float(value) * factor if plain else hours(value), dtype=np.float64)
    array = value.to_numpy() if isinstance(value, (pd.Series, pd.Index)) else np.asarray(value)
    if array.dtype.kind in "iuf":
        return np.asarray(array, dtype=np.float64) * factor
    if array.dtype.kind == "m":
        missing = np.isnat(array)
        durations = array / np.timedelta64(1, "ns") / 3.6e12
        return np.where(missing, np.nan, durations)
    flat = np.array([float(duration_array(one, what, unit)) for one in np.asarray(value, dtype=object).ravel()])
    return flat.reshape(array.shape)


def ages_in_hours(
    ages: Durations, size: int, names: pd.Index | None, longest: Durations | None = LONGEST_AGE, what: str = "node"
) -> FloatArray:
    """Ages of the nodes in hours, shape (size,); a DataError names a node of negative, infinite or too high age."""
    values = duration_array(ages)
    if values.ndim > 1 or values.size not in (1, size):
        raise ArgumentError(f"{count(size, 'node')}, but {count(values.size, 'age')}", remedy=_AGES)
    values = np.broadcast_to(values.reshape(-1), (size,))
    bad = ~(values >= 0.0) | np.isinf(values)
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        problem = f"{node_label(names, place, what)} has the age {values[place]:g} h"
        raise DataError(problem, remedy="an age is the time since the node's last failure, at or above zero")
    if longest is not None and (values > duration_array(longest)).any():
        place = int(np.flatnonzero(values > duration_array(longest))[0])
        raise DataError(
            f"{node_label(names, place, what)} has an age of {values[place] / 8766.0:.4g} years",
            remedy=Remedy(
                "ages are hours: give unit='seconds', text such as '30 days', or longest_age=None to allow it",
                "ages are hours: give --unit seconds, text such as '30 days', or a shorter --age",
            ),
        )
    checked = np.array(values, dtype=np.float64)
    checked.flags.writeable = False
    return checked


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


def _is_pair(values: tuple[object, ...]) -> bool:
    """Whether these are a distribution and the age of its last event."""
    return len(values) == 2 and isinstance(values[0], Distribution) and not isinstance(values[1], (Distribution, tuple))


def common_cause(causes: object) -> CommonCause | None:
    """Common causes from one distribution or pair (distribution, age), or a list or a dict of these."""
    if causes is None or isinstance(causes, CommonCause):
        return causes
    if isinstance(causes, Distribution) or (isinstance(causes, tuple) and _is_pair(causes)):
        causes = [causes]
    if isinstance(causes, Mapping):
        names, values = pd.Index([str(name) for name in causes]), list(causes.values())
    elif isinstance(causes, Sequence) and not isinstance(causes, str):
        values = list(causes)
        names = pd.Index([f"cause_{i}" for i in range(1, len(values) + 1)])
    else:
        what = f"common={type(causes).__name__} is not a distribution"
        raise ArgumentError(what, remedy="give a distribution, a list, or a dict of them")
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
        raise ArgumentError("racks need a label for every node (racks=) and a distribution (rack_lives=)")
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
