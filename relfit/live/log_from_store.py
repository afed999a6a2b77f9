"""The records of a store as one `FailureLog`, with the population by its sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.errors import DataError
from relfit.base.text import count
from relfit.io.frames import attribute_column, events_frame, open_outages, population_frame, with_nodes
from relfit.io.merging import joint_window
from relfit.io.parsing.times import UTC
from relfit.live.store_databases import Database
from relfit.live.store_schema import utc_stamps
from relfit.log.failurelog import FailureLog, Source, Window
from relfit.log.tables import EVENT_COLUMNS, POPULATION_COLUMNS, pairs

_MOST_TEXTS = 200_000  # distinct details, or sets of attributes, kept in memory
_TEXTS = ("system", "node", "cause", "scope", "unit")
_LAST_OF_SOURCES = "SELECT source, max(began), max(ended) FROM events GROUP BY source"


def stored_log(
    database: Database, *, nodes: int | Sequence[str] | None, timezone: str, until: pd.Timestamp | None = None
) -> FailureLog:
    """All records of a store; `nodes`, a number or names where no source lists them, were watched to `until`."""
    notes = []
    texts = []
    for name, what in (("detail", "details"), ("more", "attributes")):
        different = database.rows(f"SELECT count(DISTINCT {name}) FROM events")[0][0]
        if different <= _MOST_TEXTS:
            texts.append(name)
        else:
            notes.append(f"{what} of records are left out: there are {different:,} different ones")
    columns = [*_TEXTS, "began", "ended", "start_cut", "line", *texts]
    rows = database.frame(f"SELECT {', '.join(columns)} FROM events", [*_TEXTS, *texts])
    if rows.empty:
        raise DataError("the store holds no record yet", remedy="see what the sources gave: relfit watch status")
    rows = _in_order(rows)
    windows = _windows(database)
    events = events_frame(
        system=rows["system"],
        node=_stated(rows["node"]),
        cause=_stated(rows["cause"]),
        scope=rows["scope"],
        start=utc_stamps(rows["began"]),
        end=utc_stamps(rows["ended"]),
        detail=_stated(rows["detail"]) if "detail" in rows else None,
        start_cut=rows["start_cut"].to_numpy(bool),
        line=rows["line"].to_numpy(),
        attributes=_attributes(rows["more"], EVENT_COLUMNS) if "more" in rows else None,
    )
    del rows
    seen = events[["start", "end"]].max().max()
    window = joint_window(list(windows.values()))
    if seen > window.end:
        window = Window(window.start, seen, window.start_known, False)
    population = _population(database, windows, window)
    if until is not None and until > window.end:
        window = Window(window.start, until, window.start_known, True)
        population["left"] = population["left"].where(population["left_known"], until)
    if nodes is not None:
        population = _filled(population, nodes, window)
    events, still = open_outages(events, population, window.end, may_be_lost=False)
    size = len(events)
    source = Source((), "store", size, size, (), timezone, (*notes, *still))
    return FailureLog(events, population, window, source=source)


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows by time, and at one time by their texts, whatever the order in which they were stored."""
    keys = []
    for name in reversed(_TEXTS):
        kinds = rows[name].cat.categories
        rank = np.empty(len(kinds), dtype=np.int32)
        rank[np.argsort(np.asarray(kinds, dtype=object))] = np.arange(len(kinds))
        keys.append(rank[rows[name].cat.codes.to_numpy()])
    order = np.lexsort([*keys, rows["began"].to_numpy()])
    return rows.iloc[order].reset_index(drop=True)


def _windows(database: Database) -> dict[str, Window]:
    """The observation window of each source: that of its documents, and to its last record in the store."""
    windows: dict[str, list[Window]] = {}
    for source, *ends in database.rows("SELECT source, first_seen, last_seen, first_known, last_known FROM documents"):
        if ends[0] is not None:
            first, last = (pd.Timestamp(end, tz="UTC").as_unit("ns") for end in ends[:2])
            windows.setdefault(source, []).append(Window(first, last, bool(ends[2]), bool(ends[3])))
    latest = {source: max(filter(None, ends)) for source, *ends in database.rows(_LAST_OF_SOURCES)}
    joint = {source: joint_window(every) for source, every in windows.items()}
    for source, window in joint.items():
        if source in latest and (seen := pd.Timestamp(latest[source], tz="UTC").as_unit("ns")) > window.end:
            joint[source] = Window(window.start, seen, window.start_known, False)
    return joint


def _population(database: Database, windows: dict[str, Window], window: Window) -> pd.DataFrame:
    """One row per node; a list of nodes takes precedence over records, and the latest attributes stand."""
    rows = database.frame("SELECT * FROM nodes ORDER BY noted, source, more")
    start = rows["source"].map({name: each.start for name, each in windows.items()}).astype(UTC)
    end = rows["source"].map({name: each.end for name, each in windows.items()}).astype(UTC)
    declared = rows["declared"].to_numpy(bool)
    rows["entered"] = utc_stamps(rows["entered"]).fillna(start.fillna(window.start))
    rows["leaving"] = utc_stamps(rows["leaving"]).fillna(end.fillna(window.end))
    gone = declared & (rows["leaving"] < end).to_numpy()  # no longer in the latest list
    rows["leaving_known"] |= gone
    key = ["system", "node"]
    listed = rows[declared | ~pairs(rows).isin(pairs(rows[declared]))]
    first = listed.sort_values("entered", kind="stable").drop_duplicates(key).set_index(key)
    last = listed.sort_values("leaving", kind="stable").drop_duplicates(key, keep="last").set_index(key)
    last = last.reindex(first.index)
    latest = rows.drop_duplicates(key, keep="last").set_index(key).reindex(first.index)
    return population_frame(
        system=first.index.get_level_values(0),
        node=first.index.get_level_values(1),
        entered=first["entered"],
        left=last["leaving"].reset_index(drop=True),
        entered_known=first["entered_known"].to_numpy(bool),
        left_known=last["leaving_known"].to_numpy(bool),
        declared=first["declared"].to_numpy(bool),
        attributes=_attributes(latest["more"].reset_index(drop=True).astype("category"), POPULATION_COLUMNS),
    )


def _filled(population: pd.DataFrame, nodes: int | Sequence[str], window: Window) -> pd.DataFrame:
    """The population with the nodes of a list, or filled up to a number of nodes."""
    if len(population["system"].unique()) != 1:
        what = "nodes stands for one system, and the records are of several"
        raise DataError(what, remedy='give their source a list with a system for each: population = "nodes.csv"')
    if isinstance(nodes, int):
        if nodes < len(population):
            what = f"nodes = {nodes}, and {count(len(population), 'node is', 'nodes are')} known"
            raise DataError(what, remedy="correct nodes")
        return with_nodes(population, [f"not seen {i + 1}" for i in range(nodes - len(population))], window)
    seen = set(population["node"].astype(str))
    return with_nodes(population, [name for name in dict.fromkeys(nodes) if name not in seen], window)


def _attributes(texts: pd.Series, standard: Sequence[str]) -> dict[str, Any]:
    """Columns from the JSON texts of rows; each distinct text is parsed once."""
    kinds = texts.cat
    rows = [json.loads(text) for text in kinds.categories]
    codes = kinds.codes.to_numpy()
    names = sorted({name for row in rows for name in row} - set(standard))
    columns = {name: attribute_column([*(row.get(name) for row in rows), None]) for name in names}
    return {name: column.iloc[codes].reset_index(drop=True) for name, column in columns.items()}


def _stated(texts: pd.Series) -> pd.Series:
    """The texts; empty ones are missing."""
    return texts.cat.remove_categories([""]) if "" in texts.cat.categories else texts
