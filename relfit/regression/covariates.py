"""From a failure log to the table of a regression: a row a life, with the attributes of its node and its event."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.durations import Rules, times_to_failure, times_to_repair
from relfit.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from relfit.failurelog import FailureLog

__all__ = ["MEASURES", "attributes_of_lives", "measure_named", "regression_table", "suggestion"]

MEASURES = {"life": "ttf", "ttf": "ttf", "repair": "ttr", "ttr": "ttr"}
_OPTIONS = {"censor": True, "origin": "failure", "first": "known", "overlaps": "merge", "zeros": "apart"}
_OF_EVENTS = ("cause", "detail", "scope")
_OWN = ("duration", "observed", "node")
LEFT_OUT = {
    "zero_gaps": "life of length zero",
    "zero_repairs": "repair of length zero",
    "overlapping": "record of an outage that was already going on",
    "first_gap_unknown": "life whose beginning is not known",
    "repair_unknown": "life after an outage without a known end",
    "negative_gaps": "life that began before the outage ended",
    "end_unknown": "outage without a known end",
}


def suggestion(name: str, known: Iterable[str]) -> str:
    """What to do about a name that is not there: the nearest one, and all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1) or get_close_matches(name.lower(), names, n=1)
    listed = f"there is {', '.join(names)}" if names else "there is none"
    return f"did you mean {near[0]!r}? {listed}" if near else listed


def measure_named(left: str) -> str:
    """The measure that the left side of a formula asks for.

    Raises
    ------
    ArgumentError
        When it is neither a life nor a repair.

    Examples
    --------
    >>> measure_named("repair")
    'ttr'
    """
    try:
        return MEASURES[left]
    except KeyError:
        raise ArgumentError(
            f"{left!r} on the left side is not known",
            remedy="use life (time to failure) or repair (time to repair), as in 'life ~ rack'",
        ) from None


def attributes_of_lives(log: FailureLog) -> list[str]:
    """Names that the right side of a formula can use: attributes, the system, and what events say of themselves."""
    said = [name for name in _OF_EVENTS if len(log.events) and log.events[name].notna().any()]
    return [*log.attributes, "system", *said]


def regression_table(log: FailureLog, measure: str = "ttf", **options: Any) -> tuple[pd.DataFrame, dict[str, int]]:
    """A row a life: ``system``, ``node``, ``duration`` (hours), ``observed``, then every attribute of the log.

    An attribute of a time to repair is that of its outage, else that of its node. One of a time to failure is that of
    its node, or where only events have it (``cause``), that of the failure with which the life began, since it has to
    be known while the life lasts. A life that began with the observation has none. Lives that the source gives whole
    bring their own attributes.

    Parameters
    ----------
    log : FailureLog
    measure : {"ttf", "ttr"}
    **options
        ``censor``, ``origin``, ``first``, ``overlaps`` and ``zeros`` of `FailureLog.lives`.

    Returns
    -------
    pandas.DataFrame
    dict
        How many rows `FailureLog.lives` left out, by reason.

    Raises
    ------
    ArgumentError
        For an unknown option.

    Examples
    --------
    >>> import relfit as rf
    >>> table, _ = regression_table(rf.datasets.load("white"), "ttr")
    >>> list(table.columns)
    ['system', 'node', 'duration', 'observed', 'rack', 'cause', 'detail', 'scope']
    """
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise ArgumentError(f"no option {unknown[0]!r}", remedy=suggestion(unknown[0], _OPTIONS))
    chosen: dict[str, Any] = {**_OPTIONS, **options}
    times = (times_to_failure if measure == "ttf" else times_to_repair)(log, "node", Rules(**chosen))
    lives, rows = times.lives, times.begun
    table = lives.to_frame().rename(columns={"duration_hours": "duration"})
    whole = log.lifetimes is not None and measure == "ttf"
    nodes = pd.MultiIndex.from_frame(log.population[["system", "node"]].astype(object))
    people = log.population.loc[~nodes.duplicated()]
    at = nodes[~nodes.duplicated()].get_indexer(pd.MultiIndex.from_frame(table[["system", "node"]].astype(object)))
    own = log.lifetimes if whole and log.lifetimes is not None else log.events
    first, second = ((people, at), (own, rows)) if measure == "ttf" and not whole else ((own, rows), (people, at))
    for name in attributes_of_lives(log):
        if name in table.columns or name in _OWN:
            continue
        found = [_taken(frame[name], where) for frame, where in (first, second) if name in frame.columns]
        if found:
            table[name] = found[0]
            if len(found) == 2 and first[0] is own and found[0].isna().any():
                mixed = found[0].astype(object).where(found[0].notna(), found[1].astype(object))
                table[name] = mixed.infer_objects()
    counts = {} if lives.counts is None else {str(k): int(v) for k, v in lives.counts.sum().items() if v}
    return table, {LEFT_OUT.get(name, name): number for name, number in counts.items()}


def _taken(column: pd.Series, where: npt.NDArray[np.int64]) -> pd.Series:
    """Values at these positions, missing where the position is negative."""
    if not len(column):
        return pd.Series([None] * len(where), dtype=object)
    return column.iloc[where.clip(min=0)].reset_index(drop=True).where(where >= 0)
