"""Nodes of which only the number is known: tables that name some are filled up to that of all files together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path

import pandas as pd

from relfit.base.errors import ArgumentError, Remedy
from relfit.io.frames import with_nodes
from relfit.io.parsing.opening import Content
from relfit.io.reader import one_by_one
from relfit.io.table_mapping import TableMapping, mapping_of
from relfit.log.failurelog import FailureLog, Window
from relfit.log.tables import NOT_SEEN


def of_all_files(read: Callable[..., FailureLog]) -> Callable[..., FailureLog]:
    """The `read` of several contents from that of one; ``n_nodes`` is the number of nodes of all of them together."""
    read_all = one_by_one(read)

    @wraps(read)
    def read_and_fill(
        contents: Sequence[Content],
        *,
        mapping: str | Path | Mapping[str, object] | None = None,
        **options: object,
    ) -> FailureLog:
        if len(contents) == 1:
            return read_all(contents, mapping=mapping, **options)
        fields = {name: value for name, value in options.items() if name in TableMapping.model_fields}
        meaning = mapping_of(mapping, {name: value for name, value in fields.items() if value is not None})
        if meaning.n_nodes is None:
            return read_all(contents, mapping=mapping, **options)
        refuse_a_list_too(meaning)
        log = read_all(contents, mapping=mapping, **{**options, "n_nodes": None})
        if log.lifetimes is not None:
            return log
        people, window = log.population, log.window
        there = people.assign(entered=window.start, left=window.end, left_known=window.end_known)
        return replace(log, population=filled_up(there, meaning.n_nodes, window))

    return read_and_fill


def refuse_a_list_too(mapping: TableMapping) -> None:
    """Refuse a number of nodes beside a list of them."""
    if mapping.population is not None:
        raise ArgumentError(
            "the number of nodes and a list of them are both given",
            remedy=Remedy("give n_nodes or population", "give --n-nodes or --population"),
        )


def filled_up(seen: pd.DataFrame, size: int, window: Window) -> pd.DataFrame:
    """The nodes that records name, filled up to `size` nodes."""
    if size < len(seen):
        raise ArgumentError(f"n_nodes={size}: the log names {len(seen)} nodes", remedy="give a larger number")
    systems = seen["system"].astype(object).unique()
    if len(systems) != 1:
        remedy = Remedy("give population, a table of the nodes", "give --population, a table of the nodes")
        raise ArgumentError(f"n_nodes={size}, and the log names {len(systems)} systems", remedy=remedy)
    return with_nodes(seen, [f"{NOT_SEEN} {i + 1}" for i in range(size - len(seen))], window)
