"""A list of nodes beside a table of failures: which of its columns are what, and its names for the log's nodes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np
import pandas as pd

from relfit.base.errors import ReadError, Remedy
from relfit.base.text import count
from relfit.io.parsing.opening import open_content
from relfit.io.parsing.rows import TextTable, as_text_array, category, in_categories
from relfit.io.parsing.table_rows import rows_of, rows_of_frame
from relfit.io.parsing.times import are_times, unsaid
from relfit.io.table_columns import Columns, check_column, with_key
from relfit.io.table_mapping import COMMON_NAMES, SINGLE_NAMES, guessed

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
    """Names that are listed in another case only, under the one listed name that they can mean; and a note."""
    kinds = [str(kind) for kind in node.cat.categories]
    there = {str(name) for name in listed.cat.categories}
    by_folded = defaultdict(list)
    for name in there:
        by_folded[name.casefold()].append(name)
    meant = {
        kind: by_folded[kind.casefold()][0]
        for kind in kinds
        if kind not in there and len(by_folded.get(kind.casefold(), ())) == 1
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
    said = f"{count(len(meant), 'name')} of nodes in the log {be} from the list by case only ({example!r} is {name!r})"
    return renamed, [said]


def differing_in_case(node: pd.Series) -> list[str]:
    """The question about names of nodes without a list, where some differ by case only.

    Examples
    --------
    >>> differing_in_case(pd.Series(["a1", "A1", "b2"], dtype="category"))[0][:57]
    "1 pair of names differs by case only ('A1' and 'a1') and "
    """
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
