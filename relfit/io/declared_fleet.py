"""What a user declares of a log: the time of its observation, and the number of its nodes or a list of them.

Tables read it with their columns; `declared` applies it to the log of any other format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError, ReadError, Remedy
from relfit.base.text import count
from relfit.base.units import instant
from relfit.io.frames import text_column, with_nodes
from relfit.io.node_list import NodeList, listed
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import Rejections, TextTable
from relfit.io.raw_logs import SYSTEM
from relfit.io.reader import one_by_one
from relfit.io.table_columns import Columns
from relfit.io.table_mapping import TableMapping, mapping_of
from relfit.io.under_observation import observed_events
from relfit.log.failurelog import FailureLog, Window
from relfit.log.tables import FAILED_AGAIN, NOT_SEEN, pair_codes, pairs, recounted

DECLARATIONS = ("n_nodes", "population", "entered", "left", "window_start", "window_end", "system_name")
"""Options of `relfit.read` that name no column of a log, and go with every format."""
_LONGEST_WINDOW = 290  # years; the range of nanoseconds


@dataclass
class Observed:
    """The events and the nodes of a log within its window, what to note, and why how many events were left out."""

    events: pd.DataFrame
    population: pd.DataFrame
    window: Window
    order_note: str
    notes: list[str] = field(default_factory=list)
    left_out: list[tuple[str, int]] = field(default_factory=list)


def declared(log: FailureLog, options: Mapping[str, object]) -> FailureLog:
    """A log with what `options`, some of `DECLARATIONS`, say of its fleet and its window."""
    if log.lifetimes is not None:
        raise ArgumentError(
            f"{', '.join(options)}: this log has complete lifetimes, without a window and without other units",
            remedy=Remedy(f"leave out {', '.join(options)}", "leave it out"),
        )
    mapping, source = mapping_of(None, dict(options)), log.source
    names = () if log.systems in ((), (SYSTEM,)) else log.systems
    if mapping.system_name != SYSTEM and names:
        what = f"system_name={mapping.system_name!r}: this log names its systems, {', '.join(names)[:300]}"
        raise ArgumentError(what, remedy=Remedy("leave out system_name", "leave out --column system_name=..."))
    path = Path(source.paths[0] if source.paths else "a log")
    rows = TextTable((), {}, Rejections(path, np.array([], dtype=np.int64), str), 0, ())
    columns = Columns(rows, {"system": "system"} if names else {}, mapping, source.timezone)
    window = declared_window(columns, log.window)
    nodes = NodeList.of(columns, Path())
    tables, told = [log.events, log.population], list[str]()
    if not names:
        tables = [frame.assign(system=text_column([mapping.system_name] * len(frame))) for frame in tables]
    if nodes is not None:
        for i, frame in enumerate(tables):
            node, system, told = nodes.names_of(frame["node"], frame["system"], columns)
            tables[i] = frame.assign(node=text_column(node), system=text_column(system))
    events, people = tables
    if window.end_known:  # what went on at the last record went on
        going_on = events["end_cut"] & (events["end"] == log.window.end)
        events = events.assign(end=events["end"].mask(going_on, window.end))
    early = (people["entered"] == log.window.start) | (people["entered"] < window.start)
    late = (people["left"] == log.window.end) | (people["left"] > window.end)
    people = people.assign(
        entered=people["entered"].mask(early, window.start),
        entered_known=people["entered_known"] & ~(early & (people["entered"] != window.start)),
        left=people["left"].mask(late, window.end),
        left_known=people["left_known"] | (late & window.end_known),
    )
    seen = observed(columns, nodes, events, people, window)
    source = replace(
        source,
        notes=tuple(dict.fromkeys((*source.notes, *told, *filter(None, [seen.order_note]), *seen.notes))),
        rows_deselected=source.rows_deselected + sum(number for _, number in seen.left_out),
        left_out=(*source.left_out, *seen.left_out),
    )
    return FailureLog(seen.events, seen.population, seen.window, log.rejected, source)


def declared_window(columns: Columns, seen: Window) -> Window:
    """The window that the mapping declares, else from the first to the last time seen."""
    mapping = columns.mapping
    start_known, end_known = mapping.window_start is not None, mapping.window_end is not None
    first = instant(mapping.window_start, columns.zone) if start_known else seen.start
    last = instant(mapping.window_end, columns.zone) if end_known else seen.end
    if last < first or (start_known and end_known and first == last):
        raise ArgumentError(
            f"the window ends at {last} before it starts at {first}",
            remedy=Remedy("correct window_start or window_end", "correct --observed FROM/TO"),
        )
    tomorrow = pd.Timestamp.now("UTC") + pd.Timedelta("1D")
    if seen.end <= tomorrow < last:  # a simulated log may have its records there, too
        raise ArgumentError(
            f"the window ends on {last:%Y-%m-%d}, which is still to come",
            remedy=Remedy("give window_end the last time that the log covers", "end --observed FROM/TO with the log"),
        )
    if last.year - first.year > _LONGEST_WINDOW:
        raise columns.rejections.error(
            f"the log lasts from {first:%Y-%m-%d} to {last:%Y-%m-%d}, longer than {_LONGEST_WINDOW} years",
            Remedy(
                "correct the years, or declare a window with window_start and window_end",
                "correct the years, or declare a window with --observed FROM/TO",
            ),
        )
    return Window(first, last, start_known or seen.start_known, end_known or seen.end_known)


def observed(
    columns: Columns, nodes: NodeList | None, events: pd.DataFrame, population: pd.DataFrame, window: Window
) -> Observed:
    """The events within the window, of the declared nodes; `population` are the nodes that the log names."""
    mapping = columns.mapping
    fleet = Observed(events, population, window, columns.order_note)
    if mapping.n_nodes is not None:
        _refuse_a_list_too(mapping)
        fleet.population = _filled_up(population, mapping.n_nodes, window)
    if nodes is not None:
        fleet.population, fleet.window, fleet.order_note, fleet.notes = listed(
            columns, nodes, population, window, len(events)
        )
    people = fleet.population
    gone = (people["left"] < people["entered"]).to_numpy()
    absent = pairs(events).isin(pairs(people[gone])) if gone.any() else None
    if nodes is not None and gone.all():
        raise ReadError(
            f"no node of the list was in service from {fleet.window.start:%Y-%m-%d} to {fleet.window.end:%Y-%m-%d}",
            path=nodes.place,
            remedy=Remedy("correct its dates, or the window", "correct its dates, or --observed FROM/TO"),
        )
    if gone.any():
        were = "was" if gone.sum() == 1 else "were"
        late = not fleet.window.end_known and bool((fleet.population["entered"] > fleet.window.end).any())
        until = ", which ends with the last record; if records ended later: --observed /TO" if late else ""
        fleet.notes.append(f"{count(int(gone.sum()), 'node')} of the list {were} not there within the window{until}")
        people = people[~gone].reset_index(drop=True)
        fleet.population = people.assign(**{name: text_column(people[name]) for name in ("system", "node")})
    inside = observed_events(
        events,
        fleet.population,
        fleet.window,
        columns.zone,
        declared_end=mapping.window_end,
        in_service=nodes is not None,
        absent=absent,
    )
    fleet.events, fleet.left_out = inside.events, inside.left_out
    fleet.notes += inside.notes
    return fleet


def of_all_files(read: Callable[..., FailureLog]) -> Callable[..., FailureLog]:
    """The `read` of several contents from that of one; ``n_nodes`` is the number of nodes of all of them together."""
    read_each = one_by_one(read)

    def read_all(contents: Sequence[Content], **options: object) -> FailureLog:
        return _not_beyond_next(read_each(contents, **options))

    @wraps(read)
    def read_and_fill(
        contents: Sequence[Content], *, mapping: str | Path | Mapping[str, object] | None = None, **options: object
    ) -> FailureLog:
        if len(contents) == 1:
            return read_each(contents, mapping=mapping, **options)
        fields = {name: value for name, value in options.items() if name in TableMapping.model_fields}
        meaning = mapping_of(mapping, {name: value for name, value in fields.items() if value is not None})
        if meaning.n_nodes is None:
            return read_all(contents, mapping=mapping, **options)
        _refuse_a_list_too(meaning)
        log = read_all(contents, mapping=mapping, **{**options, "n_nodes": None})
        if log.lifetimes is not None:
            return log
        people, window = log.population, log.window
        there = people.assign(entered=window.start, left=window.end, left_known=window.end_known)
        return replace(log, population=_filled_up(there, meaning.n_nodes, window))

    return read_and_fill


def _not_beyond_next(log: FailureLog) -> FailureLog:
    """The log of several files: an outage open in one of them, in which another has a failure, has no known end."""
    events = log.events
    following = events["start"].groupby(pair_codes(events)).shift(-1)
    again = events["end_cut"] & (events["start"] < following) & (following < events["end"])
    if not again.any():
        return log
    events = events.assign(end=events["end"].mask(again), end_cut=events["end_cut"] & ~again)
    notes = [recounted(note, events) for note in log.source.notes if not note.endswith(FAILED_AGAIN)]
    notes.append(f"{count(int(events['end'].isna().sum()), 'outage')} {FAILED_AGAIN}")
    return replace(log, events=events, source=replace(log.source, notes=tuple(filter(None, notes))))


def _refuse_a_list_too(mapping: TableMapping) -> None:
    """Refuse a number of nodes beside a list of them."""
    if mapping.population is not None:
        raise ArgumentError(
            "the number of nodes and a list of them are both given",
            remedy=Remedy("give n_nodes or population", "give --n-nodes or --population"),
        )


def _filled_up(seen: pd.DataFrame, size: int, window: Window) -> pd.DataFrame:
    """The nodes that records name, filled up to `size` nodes."""
    if size < len(seen):
        raise ArgumentError(f"n_nodes={size}: the log names {len(seen)} nodes", remedy="give a larger number")
    systems = seen["system"].astype(object).unique()
    if len(systems) != 1:
        remedy = Remedy("give population, a table of the nodes", "give --population, a table of the nodes")
        raise ArgumentError(f"n_nodes={size}, and the log names {len(systems)} systems", remedy=remedy)
    return with_nodes(seen, [f"{NOT_SEEN} {i + 1}" for i in range(size - len(seen))], window)
