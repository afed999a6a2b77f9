"""The population of a table of failures: a list of the nodes, with the times they entered and left."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import pandas as pd

from relfit.base.errors import ReadError
from relfit.io.frames import population_frame
from relfit.io.parsing.opening import open_content
from relfit.io.parsing.rows import TextTable, as_text_array
from relfit.io.parsing.table_rows import rows_of, rows_of_frame
from relfit.io.parsing.times import are_dates, are_times, unsaid
from relfit.io.table_columns import Columns, check_column
from relfit.io.table_mapping import COMMON_NAMES, SINGLE_NAMES, guessed
from relfit.log.failurelog import Window
from relfit.log.tables import pairs

__all__ = ["listed"]

_NODES = {"node": COMMON_NAMES["node"], "system": COMMON_NAMES["system"]}
_IN_SERVICE = {
    "entered": (
        *("entered", "entered_at", "installed", "installed_at", "installed_on", "install_date", "installation_date"),
        *("in_service", "in_service_since", "in_service_from", "in_service_date", "commissioned", "commissioned_at"),
        *("commissioned_on", "commission_date", "commissioning_date", "deployed", "deployed_at", "deployed_on"),
        *("deploy_date", "deployment_date", "added", "added_at", "added_on", "date_added", "since", "active_since"),
    ),
    "left": (
        *("left", "left_at", "retired", "retired_at", "retired_on", "retirement_date", "decommissioned"),
        *("decommissioned_at", "decommissioned_on", "decommission_date", "removed", "removed_at", "removed_on"),
        *("date_removed", "in_service_until", "in_service_to", "out_of_service", "out_of_service_since"),
    ),
}
"""Usual names of the columns of the times between which a node was in service, in small letters."""
_QUIET = 0.1  # time before the first record, as a share of the time after it, above which it is doubted
_UNLIKELY = 1e-4


def listed(
    events: Columns, seen: pd.DataFrame, window: Window, n_events: int, folder: Path
) -> tuple[pd.DataFrame, Window, str, list[str]]:
    """The population by its own table, the window widened to its nodes' time, the note on dates, and further ones."""
    path = events.mapping.population
    if isinstance(path, pd.DataFrame):
        place = Path("population")
        table = rows_of_frame(path, place)
    else:
        place = Path(str(path))
        place = place if place.is_absolute() or place.exists() else folder / place
        table = rows_of(open_content(place), SINGLE_NAMES)
    columns = _columns(table, events)
    entered, left = columns.instants("entered"), columns.instants("left")
    node, rejections = columns.category("node"), columns.rejections
    table.reject_duplicates()
    rejections.reject(node.isna().to_numpy(), "no node", columns.named("node"))
    rejections.reject((left < entered).to_numpy(), "left before it entered", columns.named("left"))
    rejections.raise_first()
    all_entered, all_left = bool(entered.notna().all()), bool(left.notna().all())
    notes = _notes(columns)
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
    declared = population_frame(
        system=columns.category("system", columns.mapping.system_name),
        node=node,
        entered=watched_from,
        left=left.fillna(last),
        entered_known=(entered == watched_from).to_numpy(),
        left_known=left.notna().to_numpy() | window.end_known,
        declared=True,
        attributes=columns.attributes(rejections.kept),
    )
    _check(declared, seen, place, events.rejections.path)
    return declared, window, events.order_note or columns.order_note, notes


def _columns(table: TextTable, events: Columns) -> Columns:
    """The columns of a list of nodes: those of the mapping, else those with usual names that hold times."""
    mapping = events.mapping
    names = guessed(table.header, _NODES)
    if "node" not in names:
        raise ReadError("no column names the node", path=table.rejections.path, line=1, remedy="call it node")
    for field in ("entered", "left"):
        wanted = getattr(mapping, field)
        if wanted:
            check_column(table, wanted, field)
            names[field] = wanted
    if mapping.rack and (mapping.rack in table.columns or "rack" not in events):
        check_column(table, mapping.rack, "rack")
        names["rack"] = mapping.rack
    numbers = mapping.time_origin is not None or (mapping.time_format or "").startswith("unix")
    free = [
        name
        for name, values in table.columns.items()
        if numbers or unsaid(as_text_array(values)).all() or are_times(values) or are_times(values, mapping.time_format)
    ]
    open_fields = {field: usual for field, usual in _IN_SERVICE.items() if getattr(mapping, field) is None}
    names |= guessed(free, open_fields, names.values())
    return Columns(table, names, mapping, events.zone).in_one_order(events.day_first)


def _notes(columns: Columns) -> list[str]:
    """Which columns are when nodes entered and left, where they are called otherwise, and other columns of dates."""
    names = {field: columns.names[field] for field in _IN_SERVICE if columns.names.get(field, field) != field}
    notes = [", ".join(f"nodes {field} as {name!r} says" for field, name in names.items())] if names else []
    options = [field for field in _IN_SERVICE if field not in columns and getattr(columns.mapping, field) is None]
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
