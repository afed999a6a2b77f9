"""From a failure log to the table of a regression: one row per duration or per node, with its attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.analyses.screening import incidents
from relfit.base.arrays import BoolArray, IntArray
from relfit.base.errors import DataError
from relfit.log.durations import Rules, times_to_failure, times_to_repair
from relfit.log.failurelog import FailureLog
from relfit.log.outages import outages_of
from relfit.log.tables import pairs

_OF_EVENTS = ("cause", "detail", "scope")
_OWN = ("duration", "observed", "node")
_DROPPED = {
    "zero_gaps": "time to failure of zero",
    "zero_repairs": "time to repair of zero",
    "overlapping": "record of an outage that was already going on",
    "first_gap_unknown": "time to failure whose beginning is not known",
    "repair_unknown": "time to failure after an outage without a known end",
    "negative_gaps": "time to failure that began before the outage ended",
    "end_unknown": "outage without a known end",
    "under_way": "time to failure that was under way when observation began",
}


def regression_table(log: FailureLog, measure: str = "ttf") -> tuple[pd.DataFrame, dict[str, int]]:
    """One row per duration: ``system``, ``node``, ``duration`` (hours), ``observed``, then every attribute of the log.

    Where some entered late (left truncation), ``entry`` is the age from which each was observed, in hours. An attribute
    of a time to repair is that of its outage, else that of its node. One of a time to failure is that of its node, or
    where only events have it (``cause``), that of the failure with which the time began, since it must be known while
    the time runs; a time that began with the observation has none. Durations that the source gives itself have their
    own attributes. And how many rows `FailureLog.ttf` or `FailureLog.ttr` left out, by reason.
    """
    times = (times_to_failure if measure == "ttf" else times_to_repair)(log)
    data, rows = times.lives.from_age_known(), times.begun
    if times.lives.stationary is not None:
        rows = rows[~times.lives.stationary]
    table = data.to_frame().rename(columns={"duration_hours": "duration", "entry_hours": "entry"})
    listed = measure == "ttf" and log.lifetimes is not None
    of_node = _nodes_of(log, table)
    of_event = (log.lifetimes if listed and log.lifetimes is not None else log.events, rows)
    sources = (of_node, of_event) if measure == "ttf" and not listed else (of_event, of_node)
    said = [name for name in _OF_EVENTS if len(log.events) and log.events[name].notna().any()]
    for name in (*log.attributes, "system", *said):
        if name in table.columns or name in _OWN:
            continue
        columns = [_taken(frame[name], where) for frame, where in sources if name in frame.columns]
        if columns:
            first, last = columns[0], columns[-1]
            filled = sources[0] is of_event and first is not last and first.isna().any()
            if filled:
                first = first.astype(object).where(first.notna(), last.astype(object)).infer_objects()
            table[name] = first
    counts = {} if data.counts is None else {str(k): int(v) for k, v in data.counts.sum().items() if v}
    if rows.size < times.begun.size:
        counts["under_way"] = times.begun.size - rows.size
    return table, {_DROPPED.get(name, name): number for name, number in counts.items()}


def entry_column(log: FailureLog, table: pd.DataFrame) -> str | None:
    """The column of a `regression_table` with the ages of entry; none where all were observed from age 0."""
    return "entry" if log.lifetimes is not None and "entry" in table else None


def node_table(log: FailureLog) -> pd.DataFrame:
    """One row per node: ``system``, ``node``, its own ``failures``, ``hours`` observed, then every attribute."""
    if log.lifetimes is not None:
        raise DataError("this log gives one lifetime per unit, no count of failures", remedy="regress ttf instead")
    lives = times_to_failure(log, "node", Rules(zeros="keep")).lives
    table = lives.groups.to_frame(index=False)
    own = np.maximum(lives.n_failures - _in_shared_incidents(log, lives.groups), 0)
    table = table.assign(failures=own, hours=lives.total_time)
    nodes, at = _nodes_of(log, table)
    for name in log.attributes:
        if name in nodes.columns:
            table[name] = _taken(nodes[name], at)
    return table


def _shared_records(log: FailureLog) -> BoolArray:
    """Which records are part of an incident that hit several nodes: a group, a rack or the whole system."""
    joined = incidents(log)
    shared = np.append(joined.table["scope"].to_numpy() != "node", False)
    return np.asarray(shared[joined.incident], dtype=np.bool_)


def without_shared(log: FailureLog) -> tuple[FailureLog, int]:
    """The log without the records of incidents that hit several nodes, and how many these are."""
    if log.lifetimes is not None or not len(log.events):
        return log, 0
    shared = _shared_records(log)
    number = int(shared.sum())
    return replace(log, events=log.events[~shared].reset_index(drop=True)) if number else log, number


def _in_shared_incidents(log: FailureLog, nodes: pd.Index) -> IntArray:
    """Failures of each node that are part of an incident that hit several nodes."""
    outages = outages_of(log)
    rows = np.flatnonzero(outages.failures)
    rows = rows[_shared_records(log)[outages.row[rows]]]
    number = np.bincount(outages.code[rows], minlength=outages.n_groups)
    return np.append(number, 0)[outages.groups.get_indexer(nodes)]


def _nodes_of(log: FailureLog, table: pd.DataFrame) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """The nodes of a log, each once, and where the node of each row of a table stands among them."""
    listed = pairs(log.population)
    first = ~listed.duplicated()
    rows = pd.MultiIndex.from_frame(table[["system", "node"]].astype(object))
    return log.population[first], listed[first].get_indexer(rows)


def _taken(column: pd.Series, where: npt.NDArray[np.int64]) -> pd.Series:
    """Values at these positions, missing where the position is negative."""
    if not len(column):
        return pd.Series([None] * len(where), dtype=object)
    return column.iloc[where.clip(min=0)].reset_index(drop=True).where(where >= 0)
