"""Nodes of a system from fits or from a log: which distribution each node gets, and how old it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError, DataError
from relfit.families import FAMILIES, Family, family_named
from relfit.system.components import Component
from relfit.units import NANOSECONDS_PER_HOUR, instant

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog
    from relfit.fitting import FamilyFit, Fits, PooledFit

__all__ = ["ChosenNodes", "ages_of_log", "chosen_nodes", "positions_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MISSING = ("error", "drop", "pool")
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class ChosenNodes:
    """What a system is built from.

    Attributes
    ----------
    components : tuple of Component
    names : pandas.Index
    sources : ndarray of int, shape (n_nodes,)
        Fitted group of each node; -1 where its parameters are the fleet's.
    kept : ndarray of int, shape (n_nodes,)
        Positions among the nodes that were asked for.
    """

    components: tuple[Component, ...]
    names: pd.Index
    sources: IntArray
    kept: IntArray


def chosen_nodes(fits: Any, nodes: Any, family: str, by: str, missing: str) -> ChosenNodes:
    """The distribution of every node asked for; `System.from_fits` documents the arguments.

    Raises
    ------
    ArgumentError
        For an unknown family, criterion, option or label.
    DataError
        Where a fit has no estimate and `missing` is ``"error"``; it names the nodes.
    """
    from relfit.fitting import FamilyFit, Fits, PooledFit

    if missing not in MISSING:
        raise ArgumentError(f"missing={missing!r} is not known", remedy=f"use one of {', '.join(MISSING)}")
    if isinstance(fits, Fits):
        values, kind = _of_fits(fits, family, by)
    elif isinstance(fits, (FamilyFit, PooledFit)):
        if family not in ("best", fits.family.name):
            raise ArgumentError(f"these are {fits.family.name} fits, not {family}")
        array = fits.parameter_array
        values = {fits.family.name: array}
        kind = np.where(np.isfinite(array).all(axis=1), _code(fits.family.name), -1)
    else:
        raise ArgumentError(
            f"{type(fits).__name__} is no fit", remedy="give Fits, FamilyFit or PooledFit, as rf.fit(lives) returns"
        )
    sources, names = positions_of(fits.groups, nodes)
    known: BoolArray = kind[sources] >= 0
    pooled = None
    if not known.all():
        if missing == "error":
            _reject(fits, names, sources, known)
        elif missing == "drop":
            sources, names = sources[known], names[known]
            if not sources.size:
                raise DataError("no node has an estimate", remedy="use missing='pool', or a family with one parameter")
        else:
            pooled = _pooled(fits, family)
    kept = np.flatnonzero(known) if missing == "drop" else np.arange(sources.size)
    return _assembled(values, kind, sources, names, kept.astype(np.int64), pooled)


def _code(name: str) -> int:
    return list(FAMILIES).index(name)


def _of_fits(fits: Fits, family: str, by: str) -> tuple[dict[str, FloatArray], IntArray]:
    """Parameters by family, and which family each group takes: a number, -1 for none."""
    values = {name: result.parameter_array for name, result in fits.results.items()}
    if family != "best":
        name = family_named(family).name
        own = fits[name]
        return {name: own.parameter_array}, np.where(own.ok, _code(name), -1).astype(np.int64)
    codes = {name: _code(name) for name in values}
    best = fits.best(by).to_numpy()
    kind = np.array([-1 if name is None or name != name else codes[name] for name in best], dtype=np.int64)
    # too few failures for the criterion: the family with the fewest parameters that could be fitted
    for name in sorted(values, key=lambda n: values[n].shape[1]):
        kind = np.where((kind < 0) & fits[name].ok, codes[name], kind)
    return values, kind


def positions_of(groups: pd.Index, nodes: Any) -> tuple[IntArray, pd.Index]:
    """Position of each node among the fitted groups, and the nodes' names."""
    if nodes is None:
        return np.arange(len(groups), dtype=np.int64), _short(groups)
    if isinstance(nodes, (int, np.integer)) and not isinstance(nodes, bool) and len(groups) == 1:
        if nodes < 1:
            raise ArgumentError(f"{nodes} nodes", remedy="give at least one")
        return np.zeros(int(nodes), dtype=np.int64), pd.RangeIndex(int(nodes))
    if isinstance(nodes, str) or not isinstance(nodes, (Sequence, np.ndarray, pd.Index, pd.Series)):
        raise ArgumentError(
            f"nodes={nodes!r} are no labels", remedy="give a list of labels; a number of nodes needs fits of one group"
        )
    wanted = list(nodes)
    if not wanted:
        raise ArgumentError("a system of no nodes", remedy="give at least one node")
    lookup = {label: i for i, label in enumerate(groups)}
    last = groups.get_level_values(-1) if groups.nlevels > 1 else groups
    short: dict[Any, int] = {}
    for i, label in enumerate(last):
        short[label] = -1 if label in short else i
        short.setdefault(str(label), i)
    found = []
    for label in wanted:
        key = tuple(label) if isinstance(label, list) else label
        place = lookup.get(key)
        if place is None:
            place = short.get(key)
            if place is None:
                place = short.get(str(key))
        if place is None:
            raise ArgumentError(
                f"no node {label!r} among the {len(groups)} fitted",
                remedy=f"there is {', '.join(repr(g) for g in groups[:3])}" + (", ..." if len(groups) > 3 else ""),
            )
        if place < 0:
            raise ArgumentError(f"{label!r} names more than one node", remedy=f"give the whole label: {groups[0]!r}")
        found.append(place)
    sources = np.array(found, dtype=np.int64)
    if np.unique(sources).size < sources.size:
        return sources, pd.RangeIndex(sources.size)  # several nodes with the parameters of one group
    return sources, _short(groups)[sources]


def _short(groups: pd.Index) -> pd.Index:
    """The labels without levels that are the same for all."""
    if groups.nlevels == 1:
        return groups
    last = groups.get_level_values(-1)
    return last if last.is_unique else groups


def _reject(fits: Any, names: pd.Index, sources: IntArray, known: BoolArray) -> None:
    lost = np.flatnonzero(~known)
    status = getattr(fits, "status", None)
    if status is None and hasattr(fits, "results"):
        status = next(iter(fits.results.values())).status
    why = "" if status is None else f" ({status[sources[lost[0]]]})"
    shown = ", ".join(repr(names[i]) for i in lost[:_MOST_NAMED]) + (", ..." if lost.size > _MOST_NAMED else "")
    raise DataError(
        f"{lost.size} of {sources.size} nodes have no estimate: {shown}{why}",
        remedy="use missing='pool' to give them what is expected of the fleet, or missing='drop'",
    )


def _pooled(fits: Any, family: str) -> PooledFit:
    from relfit.fitting import Fits, PooledFit, pool

    if isinstance(fits, PooledFit):
        return fits
    if isinstance(fits, Fits):
        return fits.pool("weibull" if family == "best" else family)
    single: FamilyFit = fits
    return pool(single.family, single.lives, single.level)


def _assembled(
    values: dict[str, FloatArray],
    kind: IntArray,
    sources: IntArray,
    names: pd.Index,
    kept: IntArray,
    pooled: PooledFit | None,
) -> ChosenNodes:
    own = kind[sources]
    components = []
    for name, array in values.items():
        places = np.flatnonzero(own == _code(name)).astype(np.int64)
        if places.size:
            components.append(Component(_batch(FAMILIES[name], array[sources[places]]), places))
    lost = np.flatnonzero(own < 0).astype(np.int64)
    if lost.size and pooled is not None:
        array = pooled.parameter_array[sources[lost]]
        fleet = np.array([float(v) for v in pooled.fleet.parameters().values()])
        drawn = np.asarray(np.isfinite(array).all(axis=1), dtype=np.bool_)
        array = np.where(drawn[:, None], array, fleet)
        components.append(Component(_batch(pooled.family, array), lost))
        sources = np.where(own < 0, -1, sources)
    return ChosenNodes(tuple(components), names, sources, kept)


def _batch(family: type[Family], array: FloatArray) -> Family:
    return family.unchecked(*(np.ascontiguousarray(array[:, i]) for i in range(array.shape[1])))


# ------------------------------------------------------------------------- ages


def ages_of_log(log: FailureLog, at: Any = None) -> pd.DataFrame:
    """Age of every node at an instant: the time since its last failure, or since it was first watched.

    Parameters
    ----------
    log : FailureLog
    at : str, datetime or pandas.Timestamp, optional
        End of the window when left out.

    Returns
    -------
    pandas.DataFrame
        Indexed by system and node: ``age`` in hours; ``failed`` (whether it failed before; an age without a failure
        is a lower limit unless the node was watched from its first day); ``down`` (whether an outage was going on);
        ``present`` (watched at that instant).

    Raises
    ------
    ArgumentError
        For an instant outside the window, or a log of whole lives, which has no calendar.

    Examples
    --------
    >>> import relfit as rf
    >>> ages_of_log(rf.datasets.load("white"))["age"].iloc[:3].round(1).tolist()
    [4866.5, 2241.0, 76.0]
    """
    from relfit.outages import outages_of

    if log.lifetimes is not None:
        raise ArgumentError(
            "this log holds whole lives, so the age of a node at an instant is not known",
            remedy="fit it and give the ages: rf.System.from_fits(rf.fit(log.ttf()), ages=...)",
        )
    moment = log.window.end if at is None else instant(at, log.source.timezone)
    if not log.window.start < moment <= log.window.end:
        raise ArgumentError(
            f"{moment:%Y-%m-%d %H:%M} UTC was not observed",
            remedy=f"the log covers {log.window.start:%Y-%m-%d} to {log.window.end:%Y-%m-%d}",
        )
    now = moment.as_unit("ns").value
    outages = outages_of(log)
    size = outages.n_groups
    before = outages.start <= now
    last = np.full(size, np.iinfo(np.int64).min)
    np.maximum.at(last, outages.code[before], outages.start[before])
    failed = np.bincount(outages.code[before], minlength=size) > 0
    down = np.zeros(size, dtype=np.bool_)
    going = before & (outages.end > now)
    going |= before & outages.end_cut & (outages.end >= now)
    down[outages.code[going]] = True
    begun = np.where(failed, last, outages.entered)
    return pd.DataFrame(
        {
            "age": np.maximum(now - begun, 0) / NANOSECONDS_PER_HOUR,
            "failed": failed,
            "down": down,
            "present": (outages.entered <= now) & (outages.left >= now),
        },
        index=outages.groups,
    )
