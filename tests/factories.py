"""Failure logs made in memory, for tests: instants are whole hours after the epoch below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from relfit.log.failurelog import FailureLog, Source, Window
from relfit.planning import Scenario
from relfit.system.jobs import Checkpoint

EPOCH = pd.Timestamp("2001-01-01", tz="UTC")


def at(hour: float | None) -> pd.Timestamp:
    """The instant `hour` hours after the epoch; NaT for None."""
    return pd.NaT if hour is None else EPOCH + pd.Timedelta(hours=hour)


def _times(hours: list[float | None]) -> pd.Series:
    return pd.Series(pd.to_datetime([at(hour) for hour in hours], utc=True), dtype="datetime64[ns, UTC]")


def make_log(
    events: Sequence[dict[str, Any]] = (),
    nodes: Sequence[dict[str, Any]] | None = None,
    *,
    window: tuple[float, float] = (0, 100),
    start_known: bool = True,
    end_known: bool = True,
    lifetimes: Sequence[dict[str, Any]] | None = None,
    categories: bool = False,
) -> FailureLog:
    """A log of `events` (dicts with at least ``start``) on `nodes` (by default those that have events).

    Keys beyond the standard columns become attributes. With `categories`, text columns are categoricals.
    """
    rows = [{"system": "s", "node": "n", "end": None, "cause": "hardware", **event} for event in events]
    extra = [k for k in dict.fromkeys(k for row in rows for k in row) if k not in ("system", "node", "start", "end")]
    table = pd.DataFrame(
        {
            "system": pd.Series([row["system"] for row in rows], dtype=object),
            "node": pd.Series([row["node"] for row in rows], dtype=object),
            "start": _times([row["start"] for row in rows]),
            "end": _times([row["end"] for row in rows]),
            **{key: pd.Series([row.get(key) for row in rows], dtype=object) for key in extra},
        }
    )
    for column, default in {"cause": None, "detail": None, "scope": "node"}.items():
        if column not in table:
            table[column] = pd.Series([default] * len(rows), dtype=object)
    for column in ("start_cut", "end_cut"):
        table[column] = pd.Series([bool(row.get(column, False)) for row in rows], dtype=bool)
    table["line"] = range(2, len(rows) + 2)
    if nodes is None:
        pairs = dict.fromkeys((row["system"], row["node"]) for row in rows if row["node"] is not None)
        nodes = [{"system": system, "node": node} for system, node in pairs]
    default = {"system": "s", "entered": window[0], "left": window[1], "entered_known": True, "left_known": True}
    members = [{**default, "declared": True, **node} for node in nodes]
    population = pd.DataFrame(
        {
            "system": pd.Series([m["system"] for m in members], dtype=object),
            "node": pd.Series([m["node"] for m in members], dtype=object),
            "entered": _times([m["entered"] for m in members]),
            "left": _times([m["left"] for m in members]),
            **{k: pd.Series([m[k] for m in members], dtype=bool) for k in ("entered_known", "left_known", "declared")},
        }
    )
    for key in dict.fromkeys(k for m in members for k in m if k not in population.columns):
        population[key] = pd.Series([m.get(key) for m in members], dtype=object)
    if categories:
        for frame in (table, population):
            for column in frame.columns:
                if frame[column].dtype == object:
                    frame[column] = frame[column].astype("category")
    lives = None
    if lifetimes is not None:
        lives = pd.DataFrame([{"system": "s", "line": i + 2, **life} for i, life in enumerate(lifetimes)])
    return FailureLog(
        table,
        population,
        Window(at(window[0]), at(window[1]), start_known, end_known),
        source=Source(rows_read=len(rows), rows_kept=len(rows)),
        lifetimes=lives,
    )


def migration_costs(saves: Checkpoint, migration: Any, restart: Any = 0.0) -> Scenario:
    """Costs of a machine whose jobs save as `saves` says."""
    return Scenario(saves.save, saves.restore, restart, migration)
