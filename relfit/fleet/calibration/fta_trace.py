"""Logs as folders of the Failure Trace Archive: tables of components, nodes, platforms, and events in Unix seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.units import nanoseconds
from relfit.base.writing import workplace
from relfit.log.failurelog import FailureLog
from relfit.log.outages import of_whole_system, outages_of
from relfit.log.tables import EVENT_COLUMNS, check_log

_CONTROLS = [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # of terminals and writing
_BAD = dict.fromkeys(_CONTROLS, "_") | dict.fromkeys(map(ord, "\t\n\r"), " ")
_WIDEST = 64  # characters to which columns are padded, at most
_NANOSECONDS = 1_000_000_000  # per second
_PLACE = ("location", "rack", "frame", "cabinet", "row")


def to_fta(log: FailureLog, folder: str | Path) -> Path:
    """Write a log as a folder of the Failure Trace Archive.

    Times are whole seconds. An outage of a whole system is one of every node then in service. Causes and records of
    groups that name no node are left out: the format has no place for them; overlapping outages of a node are joined;
    an outage without a known end lasts zero seconds. Before its first and after its last outage a node counts as
    available.

    Parameters
    ----------
    log : FailureLog
    folder : str or Path
        A new folder, written completely or not at all.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ArgumentError
        If the path exists already or cannot be written.
    DataError
        For a log without dates, without nodes, or with nodes of unknown time under observation.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white").between("2004-09-01")
    >>> written = to_fta(log, "white-fta")
    >>> sorted(file.name for file in written.iterdir())
    ['component.tab', 'event_trace.tab', 'node.tab', 'platform.tab']
    >>> rf.read(written).n_nodes == log.n_nodes
    True
    """
    check_log(log)
    target = Path(folder)
    if target.exists():
        raise ArgumentError(f"{target} is there already", remedy="name a new folder")
    if log.lifetimes is not None and not len(log.events):
        raise DataError("this log gives times to failure without dates, and cannot be a trace")
    people = log.population
    if not len(people):
        raise DataError("this log names no node, and a trace lists nodes")
    tables = _tables(log)
    try:
        with workplace(target) as part:
            made = part / "trace"
            made.mkdir()  # with the permissions of any new folder, where the workplace is private
            for name, (header, rows) in tables.items():
                (made / f"{name}.tab").write_text(_text(header, rows), encoding="utf-8", newline="\n")
            made.replace(target)
    except OSError as error:
        what = f"cannot write {target}: {error.strerror or error}"
        raise ArgumentError(what, remedy="choose another place") from error
    return target


def _text(header: str, columns: list[Iterable[object]]) -> str:
    padded = []
    for column in columns:
        cells = [str(value) for value in column]
        width = min(max(map(len, cells), default=0), _WIDEST)
        padded.append([cell.rjust(width) for cell in cells])
    return "\n".join([header, *map("\t".join, zip(*padded, strict=True))]) + "\n"


def _tables(log: FailureLog) -> dict[str, tuple[str, list[Iterable[object]]]]:
    people = log.population
    first, last = _seconds(people["entered"]), _seconds(people["left"])
    if people["entered"].isna().any() or people["left"].isna().any() or bool((last < first).any()):
        what = "this log does not say when every node was under observation"
        raise DataError(what, remedy="declare a window, or when nodes entered and left")
    systems, system_names = pd.factorize(people["system"].astype(str))
    platforms = [str(name).translate(_BAD) for name in system_names]
    names = [str(name).translate(_BAD) for name in people["node"].astype(str)]
    count = len(people)
    number = np.arange(count)
    owner, begin, end, kind = _intervals(log, first, last)
    named = [names[i] for i in owner]
    place = next((name for name in _PLACE if name in people.columns), None)
    location = ["NULL"] * count if place is None else people[place].astype(object).fillna("NULL").astype(str).tolist()
    nothing = ["NULL"] * count
    return {
        "event_trace": (
            "# event_id component_id node_id platform_id node_name event_type event_start_time event_stop_time "
            "event_end_reason",
            [np.arange(owner.size), owner, owner, systems[owner], named, kind, begin, end, ["NULL"] * owner.size],
        ),
        "component": (
            "# component_id node_id platform_id creator_id node_name component_type trace_start trace_end resolution",
            [number, number, systems, [0] * count, names, [0] * count, first, last, [1] * count],
        ),
        "node": (
            "# node_id platform_id node_name node_ip node_location timezone proc_model os_name cores_per_proc "
            "num_procs mem_size disk_size up_bw down_bw metric_id notes",
            [number, systems, names, nothing, [text.translate(_BAD) for text in location], *[nothing] * 11],
        ),
        "platform": (
            "# platform_id platform_name platform_location platform_type notes",
            [range(len(platforms)), platforms, *[["NULL"] * len(platforms)] * 3],
        ),
    }


def _intervals(log: FailureLog, first: IntArray, last: IntArray) -> tuple[IntArray, ...]:
    """When each node was down (0) and up (1): positions in the population, starts, ends, kinds."""
    people, outages = log.population, outages_of(_by_node(log), "node")
    named = pd.MultiIndex.from_arrays([outages.groups.get_level_values(i).astype(str) for i in ("system", "node")])
    listed = pd.MultiIndex.from_arrays([people["system"].astype(str), people["node"].astype(str)])
    node = listed.get_indexer(named)
    owner = node[outages.code]
    begin, end = (np.clip(t // _NANOSECONDS, first[owner], last[owner]) for t in (outages.start, outages.end))
    # up from the start of observation or the end of an outage to the next one, or to the end
    since = np.insert(end, outages.offsets[:-1], first[node])
    until = np.insert(begin, outages.offsets[1:], last[node])
    who = np.repeat(node, np.diff(outages.offsets) + 1)
    up = until > since
    parts = ((owner, begin, end, np.zeros_like(owner)), (who[up], since[up], until[up], np.ones(int(up.sum()), int)))
    who, since, until, kind = (np.concatenate(pair) for pair in zip(*parts, strict=True))
    order = np.lexsort((until, since, who))
    return who[order], since[order], until[order], kind[order]


def _by_node(log: FailureLog) -> FailureLog:
    """The log with every outage of a whole system as outages of the nodes that were in service during it, too."""
    events = log.events[list(EVENT_COLUMNS)].astype({"system": object, "node": object})
    people = log.population[["system", "node", "entered", "left"]].astype({"system": object, "node": object})
    each = events[of_whole_system(events)].drop(columns="node").merge(people, on="system")
    there = (each["entered"] <= each["end"].fillna(each["start"])) & (each["left"] >= each["start"])
    if not there.any():
        return log
    return replace(log, events=pd.concat([events, each.loc[there, list(events.columns)]], ignore_index=True))


def _seconds(times: pd.Series) -> IntArray:
    return nanoseconds(times) // _NANOSECONDS
