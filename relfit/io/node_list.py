"""A list of nodes beside a table of failures: its columns, its names for the nodes, and the population it gives."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np
import pandas as pd

from relfit.base.errors import ReadError, Remedy
from relfit.base.text import count
from relfit.io.frames import population_frame
from relfit.io.parsing.opening import open_content
from relfit.io.parsing.rows import TextTable, as_text_array, category, in_categories
from relfit.io.parsing.table_rows import rows_of, rows_of_frame
from relfit.io.parsing.times import are_dates, are_times, unsaid
from relfit.io.table_columns import Columns, check_column, with_key
from relfit.io.table_mapping import COMMON_NAMES, SINGLE_NAMES, guessed
from relfit.log.failurelog import Window
from relfit.log.tables import pairs

IN_SERVICE = {
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


@dataclass(frozen=True)
class NodeList:
    """The columns of a list of nodes, where it is, and what their choice assumed."""

    columns: Columns
    place: Path
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, events: Columns, folder: Path) -> NodeList | None:
        """The list that the mapping of a table names, None without one; a relative path may be one from `folder`."""
        source = events.mapping.population
        if source is None:
            return None
        if isinstance(source, pd.DataFrame):
            place = Path("population")
            table = rows_of_frame(source, place)
        else:
            place = Path(str(source))
            place = place if place.is_absolute() or place.exists() else folder / place
            table = rows_of(open_content(place), SINGLE_NAMES)
        columns, notes = _columns(table, events)
        return cls(columns, place, notes)

    def names_of(self, node: pd.Series, system: pd.Series, events: Columns) -> tuple[pd.Series, pd.Series, list[str]]:
        """The nodes and systems of a log's records as the list has them, and notes on those that differ."""
        listed = self.columns.category("node")
        node, notes = _in_their_case(node, listed)
        if "system" not in self.columns or "system" in events:
            return node, system, notes
        twice = listed[listed.duplicated() & listed.notna()]
        if len(twice):
            raise ReadError(
                f"node {twice.iloc[0]!r} is listed twice, and the log does not say of which system its nodes are",
                path=self.place,
                remedy=Remedy(
                    "give each node a name of its own, or name the column of the log with system=...",
                    "give each node a name of its own, or name the column of the log with --column system=NAME",
                ),
            )
        owner = pd.Series(self.columns.category("system").to_numpy(), index=listed.to_numpy(dtype=object))
        rows = node.map(owner[owner.index.notna()]).astype(object)
        systems = owner.dropna().unique()
        rows = rows.fillna(systems[0] if len(systems) == 1 else events.mapping.system_name)
        return node, rows.astype("category"), notes


def _in_their_case(node: pd.Series, listed: pd.Series) -> tuple[pd.Series, list[str]]:
    """Names listed in another case or with or without a port only, under the one that they can mean; and a note."""
    kinds = [str(kind) for kind in node.cat.categories]
    there = {str(name) for name in listed.cat.categories}
    by_folded = defaultdict(list)
    for name in there:
        by_folded[_folded(name)].append(name)
    meant = {
        kind: by_folded[_folded(kind)][0]
        for kind in kinds
        if kind not in there and len(by_folded.get(_folded(kind), ())) == 1
    }
    if not meant:
        return node, []
    names = [meant.get(kind, kind) for kind in kinds]
    all_names = sorted(set(names))
    number = {name: i for i, name in enumerate(all_names)}
    places = np.array([*(number[name] for name in names), -1], dtype=np.int64)
    renamed = in_categories(places, node.cat.codes.to_numpy(), pd.Index(all_names, dtype=object))
    example, name = next(iter(meant.items()))
    be = "differs" if len(meant) == 1 else "differ"
    by = "case" if all(kind.casefold() == name.casefold() for kind, name in meant.items()) else "port or case"
    said = f"{count(len(meant), 'name')} of nodes in the log {be} from the list by {by} only ({example!r} is {name!r})"
    return renamed, [said]


def _folded(name: str) -> str:
    """A name in small letters, without the port of an address."""
    return re.sub(r":\d{1,5}$", "", name.casefold())


def differing_in_case(node: pd.Series) -> list[str]:
    """The question about names of nodes without a list, where some differ by case only."""
    by_folded = defaultdict(list)
    for kind in map(str, node.cat.categories):
        by_folded[kind.casefold()].append(kind)
    pairs = [names for names in by_folded.values() if len(names) > 1]
    if not pairs:
        return []
    be, is_two = ("differs", "counts") if len(pairs) == 1 else ("differ", "count")
    return [
        f"{count(len(pairs), 'pair')} of names {be} by case only ({pairs[0][0]!r} and {pairs[0][1]!r}) and {is_two} as "
        "two nodes; if they are one: --population FILE, whose names they then take"
    ]


def _columns(table: TextTable, events: Columns) -> tuple[Columns, tuple[str, ...]]:
    """The columns of a list of nodes: those of the mapping, else those with usual names that hold times; and notes."""
    mapping = events.mapping
    table, names = _named(table, events)
    if "node" not in names:
        other = events.named("node")
        raise table.rejections.error(
            "no column names the node", f"call it node{f' or, as in the log, {other}' if other else ''}", line=1
        )
    notes = []
    if "system" in names and "system" not in events and names["system"] != mapping.system:
        values = category(table.columns[names["system"]]).cat.categories
        if list(values) != [mapping.system_name]:
            name = names.pop("system")
            notes.append(
                f"column {name!r} of the list of nodes is only an attribute, as the log names no system; if it is the "
                f"system: --column {quote(f'system={name}')}"
            )
    numbers = mapping.time_origin is not None or (mapping.time_format or "").startswith("unix")
    free = [
        name
        for name, values in table.columns.items()
        if numbers or unsaid(as_text_array(values)).all() or are_times(values) or are_times(values, mapping.time_format)
    ]
    open_fields = {field: usual for field, usual in IN_SERVICE.items() if getattr(mapping, field) is None}
    names |= guessed(free, open_fields, names.values())
    return Columns(table, names, mapping, events.zone).in_one_order(events.day_first), tuple(notes)


def _named(table: TextTable, events: Columns) -> tuple[TextTable, dict[str, str]]:
    """The columns that the mapping names, and those with usual names of nodes and systems."""
    mapping = events.mapping
    names = dict[str, str]()
    if mapping.node:
        table = with_key(table, mapping.node, "node")
        if mapping.node in table.columns:
            names["node"] = mapping.node
    for field in ("system", "rack", "entered", "left"):
        wanted = getattr(mapping, field)
        if wanted and (wanted in table.columns or field not in events):
            check_column(table, wanted, field)
            names[field] = wanted
    usual = {field: COMMON_NAMES[field] for field in ("node", "system") if field not in names}
    return table, names | guessed(table.header, usual, names.values())


def listed(
    events: Columns, nodes: NodeList, seen: pd.DataFrame, window: Window, n_events: int
) -> tuple[pd.DataFrame, Window, str, list[str]]:
    """The population by its own table, the window with what its dates say, the note on dates, and further ones."""
    columns = nodes.columns
    entered, left = columns.instants("entered"), columns.instants("left")
    node, rejections = columns.category("node"), columns.rejections
    columns.table.reject_duplicates()
    rejections.reject(node.isna().to_numpy(), "no node", columns.named("node"))
    rejections.reject((left < entered).to_numpy(), "left before it entered", columns.named("left"))
    rejections.raise_first()
    all_entered, all_left = bool(entered.notna().all()), bool(left.notna().all())
    notes = [*nodes.notes, *_notes(columns)]
    before, seen_for, after = _hours_around(entered, left, window)
    if all_entered and not window.start_known and _unwatched(before, seen_for, n_events):
        all_entered = False
        notes.append(
            f"nodes entered from {entered.min():%Y-%m-%d} on, long before the first record: taken as watched from "
            f"{window.start:%Y-%m-%d} on; if records began earlier: --observed FROM/"
        )
    if all_left and not window.end_known and (_unwatched(after, seen_for, n_events) or _to_come(left, window)):
        all_left = False
        notes.append(
            f"nodes left up to {left.max():%Y-%m-%d}, long after the last record: taken as watched until "
            f"{window.end:%Y-%m-%d}; if records ended later: --observed /TO"
        )
    first = window.start if window.start_known or not all_entered else min(entered.min(), window.start)
    last = window.end if window.end_known or not all_left else max(left.max(), window.end)
    # failures before the window are not in the log, so a node installed earlier has an unknown age at its start
    watched_from = entered.fillna(first)
    watched_from = watched_from.where(watched_from >= first, first)
    window = Window(first, last, window.start_known or all_entered, window.end_known or all_left)
    systems = seen["system"].astype(object).unique()
    declared = population_frame(
        system=columns.category("system", str(systems[0]) if len(systems) == 1 else columns.mapping.system_name),
        node=node,
        entered=watched_from,
        left=left.where(left < last, last),
        entered_known=(entered == watched_from).to_numpy(),
        left_known=(left <= last).to_numpy() | window.end_known,
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


def _hours_around(entered: pd.Series, left: pd.Series, window: Window) -> tuple[float, float, float]:
    """Hours of all nodes before the window, in it and after it."""

    def hours(first: pd.Series, last: pd.Series) -> float:
        return float(((last - first).dt.total_seconds() / 3600.0).clip(lower=0.0).sum())

    since, until = entered.fillna(window.start), left.fillna(window.end)
    return (
        hours(since, until.where(until < window.start, window.start)),
        hours(since.where(since > window.start, window.start), until.where(until < window.end, window.end)),
        hours(since.where(since > window.end, window.end), until),
    )


def _unwatched(quiet: float, seen: float, n_events: int) -> bool:
    """Whether hours before or after all records are too many to have passed without one, at the log's rate."""
    chance = (seen / (quiet + seen)) ** max(n_events - 1, 0) if quiet else 1.0
    return quiet > _QUIET * seen and chance < _UNLIKELY


def _to_come(left: pd.Series, window: Window) -> bool:
    """Whether nodes are still to leave, and the records are no simulated ones of the future."""
    return bool(window.end <= pd.Timestamp.now("UTC") + pd.Timedelta("1D") < left.max())


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
