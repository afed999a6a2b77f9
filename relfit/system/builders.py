"""Systems from fits: the distribution and the age of each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, Durations, FloatArray, IntArray, ObjectArray
from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.text import out_of
from relfit.fitting import FamilyFit, Fits, PooledFit, pool
from relfit.fitting.families import FAMILIES, family_named
from relfit.system._model import System
from relfit.system.checked_nodes import LONGEST_AGE, Component, ages_in_hours, duration_array

MISSING = ("error", "drop", "pool")
_MOST_NAMED = 5


def system_from_fits(
    fits: Fits | FamilyFit | PooledFit,
    nodes: object = None,
    ages: Durations = 0.0,
    *,
    family: str = "best",
    by: str = "aicc",
    missing: str = "error",
    unit: str = "hours",
    longest_age: Durations | None = LONGEST_AGE,
    **options: Any,
) -> System:
    """A system whose nodes have fitted times to failure.

    Parameters
    ----------
    fits : Fits, FamilyFit or PooledFit
        A result of `relfit.fit`, ``fits["weibull"]`` or ``fits.pool()``, with one group per node.
    nodes : sequence of labels, or int, optional
        Groups to use, in this order; a repeated label makes several nodes with the parameters of one group. With a
        single group, the number of nodes. All groups by default.
    ages : float, duration, or array of these
        As for `System`: one for all nodes, or one for each of `nodes`.
    family : str
        ``"best"``: the best distribution of each node by the criterion `by`, or the simplest one if a node has too few
        failures to compare; else the distribution of all nodes.
    by : str
        Criterion, as for ``Fits.best``.
    missing : {"error", "drop", "pool"}
        Nodes without an estimate: raise an error, omit them, or use what is expected of a node of the fleet given its
        failure-free time (``Fits.pool``). For intervals with pooled nodes, build the system from ``fits.pool()``.
    unit, longest_age, **options
        As for `System`.

    Raises
    ------
    DataError
        For a node without an estimate, or with an impossible age; the error names it.
    ArgumentError
        For an unknown label, distribution or option.

    Examples
    --------
    >>> import relfit as rf
    >>> fits = rf.fit(rf.datasets.load("white").ttf(), families=["weibull", "lognormal"])
    >>> rf.system_from_fits(fits, nodes=["n000", "n001", "n002"], ages="10 days").n_nodes
    3
    """
    if missing not in MISSING:
        raise ArgumentError(f"missing={missing!r} is not known", remedy=f"use one of {', '.join(MISSING)}")
    if isinstance(fits, Fits):
        values, kind = _of_fits(fits, family, by)
    elif isinstance(fits, (FamilyFit, PooledFit)):
        if family not in ("best", fits.family.name):
            raise ArgumentError(f"these are {fits.family.name} fits, not {family}")
        array = fits.parameter_array
        values = {fits.family.name: array}
        kind = np.where(np.isfinite(array).all(axis=1), family_code(fits.family.name), -1)
    else:
        raise ArgumentError(
            f"{type(fits).__name__} is not a fit",
            remedy=Remedy(
                "give Fits, FamilyFit or PooledFit, as rf.fit(times) returns",
                "give a log, or a file that relfit fit --out wrote",
            ),
        )
    status = getattr(fits, "status", None) if not isinstance(fits, Fits) else next(iter(fits.results.values())).status
    remedy = Remedy(
        "use missing='pool' to give them what is expected of the fleet, or missing='drop'",
        "use --missing pool to give them what is expected of the fleet, or --missing drop",
    )
    options |= {"origin": fits, "unit": unit, "longest_age": longest_age, "pooled": lambda: _pooled(fits, family)}
    return system_of_estimates(fits.groups, nodes, ages, values, kind, missing, remedy, status=status, **options)


def system_of_estimates(
    groups: pd.Index,
    nodes: object,
    ages: Durations,
    values: Mapping[str, FloatArray],
    kind: IntArray,
    missing: str,
    remedy: str,
    *,
    status: ObjectArray | None = None,
    pooled: Callable[[], PooledFit] | None = None,
    origin: object = None,
    unit: str = "hours",
    longest_age: Durations | None = LONGEST_AGE,
    **options: Any,
) -> System:
    """A system of fitted groups, each with the distribution of its `kind` (a `family_code`, -1 for none).

    `values` are parameters by distribution; `remedy` says what to do about nodes without an estimate, `status` why they
    have none; `pooled` gives the pooled fit for these; `origin` has the fits with their uncertainty. Other arguments as
    for `system_from_fits`.
    """
    sources, names = positions_of(groups, nodes)
    estimated: BoolArray = kind[sources] >= 0
    wanted, rows = sources.size, np.arange(sources.size)
    fleet = None
    if not estimated.all():
        if missing == "error":
            lost = np.flatnonzero(~estimated)
            why = "" if status is None else f" ({status[sources[lost[0]]]})"
            shown = ", ".join(repr(names[i]) for i in lost[:_MOST_NAMED]) + (", ..." if lost.size > _MOST_NAMED else "")
            have = out_of(lost.size, sources.size, "node", "has", "have")
            raise DataError(f"{have} no estimate: {shown}{why}", remedy=remedy)
        if missing == "pool" and pooled is not None:
            fleet = pooled()
        else:
            sources, names, rows = sources[estimated], names[estimated], np.flatnonzero(estimated)
            if not sources.size:
                remedy = Remedy(
                    "use missing='pool', or a family with one parameter",
                    "use --missing pool, or a family with one parameter",
                )
                raise DataError("no node has an estimate", remedy=remedy)
    own = kind[sources]
    components = []
    for name, array in values.items():
        places = np.flatnonzero(own == family_code(name))
        if places.size:
            components.append(Component(FAMILIES[name].unchecked(*array[sources[places]].T.copy()), places))
    places = np.flatnonzero(own < 0)
    if places.size and fleet is not None:
        array = fleet.parameter_array[sources[places]]
        usable = np.isfinite(array).all(axis=1, keepdims=True)
        array = np.where(usable, array, [float(v) for v in fleet.fleet.parameters().values()])
        components.append(Component(fleet.family.unchecked(*array.T.copy()), places))
        sources = np.where(own < 0, -1, sources)
    hours = duration_array(ages, "age", unit)
    if hours.ndim == 1 and hours.size == wanted:
        hours = hours[rows]  # without those of nodes that are dropped
    checked = ages_in_hours(hours, names.size, names, longest=longest_age)
    carried = None if origin is None else sources
    return System.of_components(tuple(components), checked, names=names, sources=carried, origin=origin, **options)


def family_code(name: str) -> int:
    """The position of a distribution in `FAMILIES`."""
    return list(FAMILIES).index(name)


def _of_fits(fits: Fits, family: str, by: str) -> tuple[dict[str, FloatArray], IntArray]:
    """Parameters by distribution, and the code of each group's distribution, -1 for none."""
    values = {name: result.parameter_array for name, result in fits.results.items()}
    if family != "best":
        name = family_named(family).name
        own = fits[name]
        return {name: own.parameter_array}, np.where(own.ok, family_code(name), -1).astype(np.int64)
    codes = {name: family_code(name) for name in values}
    best = fits.best(by).to_numpy()
    kind = np.array([-1 if name is None or name != name else codes[name] for name in best], dtype=np.int64)
    # too few failures for the criterion: the fitted distribution with the fewest parameters
    for name in sorted(values, key=lambda n: values[n].shape[1]):
        kind = np.where((kind < 0) & fits[name].ok, codes[name], kind)
    return values, kind


def positions_of(groups: pd.Index, nodes: object) -> tuple[IntArray, pd.Index]:
    """Position of each node among the fitted groups, and the nodes' names: the last level of labels if it is unique."""
    last = groups.get_level_values(-1)
    names = last if last.is_unique else groups
    if nodes is None:
        return np.arange(len(groups), dtype=np.int64), names
    if isinstance(nodes, (int, np.integer)) and not isinstance(nodes, bool) and len(groups) == 1:
        if nodes < 1:
            raise ArgumentError(f"{nodes} nodes", remedy="give at least one")
        return np.zeros(int(nodes), dtype=np.int64), pd.RangeIndex(int(nodes))
    if isinstance(nodes, str) or not isinstance(nodes, (Sequence, np.ndarray, pd.Index, pd.Series)):
        raise ArgumentError(
            f"nodes={nodes!r} are not labels", remedy="give a list of labels; a number of nodes needs fits of one group"
        )
    wanted = list(nodes)
    if not wanted:
        raise ArgumentError("a system of no nodes", remedy="give at least one node")
    lookup = {label: i for i, label in enumerate(groups)}
    short: dict[Any, int] = {}
    for i, label in enumerate(last):
        short[label] = -1 if label in short else i
        short.setdefault(str(label), i)
    places = []
    for label in wanted:
        key = tuple(label) if isinstance(label, list) else label
        place = lookup.get(key, short.get(key, short.get(str(key))))
        if place is None:
            raise ArgumentError(
                f"no node {label!r} among the {len(groups)} fitted",
                remedy=f"the nodes are {', '.join(repr(g) for g in groups[:3])}" + (", ..." if len(groups) > 3 else ""),
            )
        if place < 0:
            raise ArgumentError(f"{label!r} names more than one node", remedy=f"give the whole label: {groups[0]!r}")
        places.append(place)
    sources = np.array(places, dtype=np.int64)
    if np.unique(sources).size < sources.size:
        return sources, pd.RangeIndex(sources.size)  # several nodes with the parameters of one group
    return sources, names[sources]


def _pooled(fits: Fits | FamilyFit | PooledFit, family: str) -> PooledFit:
    if isinstance(fits, PooledFit):
        return fits
    if isinstance(fits, Fits):
        return fits.pool("weibull" if family == "best" else family)
    return pool(fits.family, fits.lives, fits.level)
