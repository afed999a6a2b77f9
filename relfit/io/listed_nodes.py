"""The population of a table of failures: a list of the nodes, with the times they entered and left."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import pandas as pd

from relfit.base.errors import ReadError
from relfit.io.frames import population_frame
from relfit.io.node_list import IN_SERVICE, NodeList
from relfit.io.parsing.times import are_dates
from relfit.io.table_columns import Columns
from relfit.log.failurelog import Window
from relfit.log.tables import pairs

_QUIET = 0.1  # time before the first record, as a share of the time after it, above which it is doubted
_UNLIKELY = 1e-4


def listed(
    events: Columns, nodes: NodeList, seen: pd.DataFrame, window: Window, n_events: int
) -> tuple[pd.DataFrame, Window, str, list[str]]:
    """The population by its own table, the window widened to its nodes' time, the note on dates, and further ones."""
    columns = nodes.columns
    entered, left = columns.instants("entered"), columns.instants("left")
    node, rejections = columns.category("node"), columns.rejections
    columns.table.reject_duplicates()
    rejections.reject(node.isna().to_numpy(), "no node", columns.named("node"))
    rejections.reject((left < entered).to_numpy(), "left before it entered", columns.named("left"))
    rejections.raise_first()
    all_entered, all_left = bool(entered.notna().all()), bool(left.notna().all())
    notes = [*nodes.notes, *_notes(columns)]
    if all_entered and not window.start_known and _unwatched(entered, left, window, n_events):
        all_entered = False
        notes.append(
            f"nodes entered from {entered.min():%Y-%m-%d} on, long before the first record: taken as watched from "
            f"{window.start:%Y-%m-%d} on; if records began earlier: --observed FROM/"
        )
    first = window.start if window.start_known or not all_entered else min(entered.min(), window.start)
    dates = pd.concat([entered, left]) if all_left else entered
    last = window.end if window.end_known else max([window.end, *dates.dropna()])
    # failures before the window are not in the log, so a node installed earlier has an unknown age at its start
    watched_from = entered.fillna(first)
    watched_from = watched_from.where(watched_from >= first, first)
    window = Window(first, last, window.start_known or all_entered, window.end_known or all_left)
    systems = seen["system"].astype(object).unique()
    declared = population_frame(
        system=columns.category("system", str(systems[0]) if len(systems) == 1 else columns.mapping.system_name),
        node=node,
        entered=watched_from,
        left=left.fillna(last),
        entered_known=(entered == watched_from).to_numpy(),
        left_known=left.notna().to_numpy() | window.end_known,
        declared=True,
        attributes=columns.attributes(rejections.kept),
    )
    _check(declared, seen, nodes.place, events.rejections.path)
    return declared, window, events.order_note or columns.order_note, notes


def _notes(columns: Columns) -> list[str]:
    """Which columns are when nodes entered and left, where they are called otherwise, and other columns of dates."""
    names = {field: columns.names[field] for field in IN_SERVICE if columns.names.get(field, field) != field}
    notes = [", ".join(f"nodes {field} as {name!r} says" for field, name in names.items())] if names else []
    options = [field for field in IN_SERVICE if field not in columns and getattr(columns.mapping, field) is None]
    for name, values in columns.table.columns.items() if options else ():
        if name and name not in columns.names.values() and are_dates(values):
            how = ", or ".join(f"--column {field}={quote(name)} if nodes {field} then" for field in options)
            notes.append(f"column {name!r} of the list of nodes holds dates and is only an attribute: {how}")
    return notes


def _unwatched(entered: pd.Series, left: pd.Series, window: Window, n_events: int) -> bool:
    """Whether the time before the first record is too long to have passed without one, at the log's rate."""

    def hours(first: pd.Series, last: pd.Series) -> float:
        return float(((last - first).dt.total_seconds() / 3600.0).clip(lower=0.0).sum())

    until = left.fillna(window.end)
    before = hours(entered, until.where(until < window.start, window.start))
    after = hours(entered.where(entered > window.start, window.start), until.where(until < window.end, window.end))
    chance = (after / (before + after)) ** max(n_events - 1, 0) if before else 1.0
    return before > _QUIET * after and chance < _UNLIKELY


def _check(declared: pd.DataFrame, seen: pd.DataFrame, place: Path, log: Path) -> None:
    """Raise a `ReadError` where a node is listed twice, or has a record and is not listed."""
    names = pairs(declared)
    if names.duplicated().any():
        raise ReadError(
            f"node {names[names.duplicated()][0][1]!r} is listed twice", path=place, remedy="one row per node"
        )
    unlisted = ~pairs(seen).isin(names)
    if unlisted.any():
        raise ReadError(
            f"node {seen['node'].astype(object)[unlisted].iloc[0]!r} is not listed ({int(unlisted.sum())} such)",
            path=place,
            remedy=f"list every node of {log}",
        )
