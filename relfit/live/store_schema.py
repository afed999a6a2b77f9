"""The tables of a fleet's store, the steps from one version to the next, and their rows from logs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.errors import RelfitError
from relfit.io.table_columns import PARTS
from relfit.io.table_mapping import plain
from relfit.live.live_records import Fetched
from relfit.live.store_databases import Database
from relfit.log.failurelog import FailureLog
from relfit.log.tables import EVENT_COLUMNS, POPULATION_COLUMNS

KEY = ("system", "node", "began", "cause", "scope", "unit")
"""Columns that identify a record; a missing text is empty."""

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE events (system TEXT NOT NULL, node TEXT NOT NULL, began TIMESTAMP NOT NULL, cause TEXT NOT NULL, "
        "scope TEXT NOT NULL, ended TIMESTAMP, detail TEXT NOT NULL, more TEXT NOT NULL, start_cut BOOLEAN NOT NULL, "
        "line BIGINT NOT NULL, source TEXT NOT NULL, place TEXT NOT NULL)",
        "CREATE TABLE nodes (system TEXT NOT NULL, node TEXT NOT NULL, source TEXT NOT NULL, "
        "declared BOOLEAN NOT NULL, more TEXT NOT NULL, entered TIMESTAMP, "
        "entered_known BOOLEAN NOT NULL, leaving TIMESTAMP, leaving_known BOOLEAN NOT NULL, noted TIMESTAMP NOT NULL)",
        "CREATE TABLE documents (source TEXT NOT NULL, place TEXT NOT NULL, first_seen TIMESTAMP, last_seen TIMESTAMP, "
        "first_known BOOLEAN NOT NULL, last_known BOOLEAN NOT NULL, rows_read BIGINT NOT NULL, "
        "rows_rejected BIGINT NOT NULL, reasons TEXT NOT NULL, PRIMARY KEY (source, place))",
        "CREATE TABLE sources (source TEXT PRIMARY KEY, cursor_json TEXT NOT NULL, form TEXT NOT NULL, "
        "form_before TEXT NOT NULL, gave_at TIMESTAMP, asked_at TIMESTAMP, failure TEXT NOT NULL, "
        "failing_since TIMESTAMP)",
        "CREATE TABLE rounds (made TIMESTAMP NOT NULL, records BIGINT NOT NULL, new_records BIGINT NOT NULL, "
        "document TEXT NOT NULL)",
        "CREATE TABLE forecasts (made TIMESTAMP NOT NULL, system TEXT NOT NULL, "
        "horizon_hours DOUBLE PRECISION NOT NULL, mean DOUBLE PRECISION, "
        "lower DOUBLE PRECISION, upper DOUBLE PRECISION, level DOUBLE PRECISION, "
        "happened DOUBLE PRECISION, score DOUBLE PRECISION, PRIMARY KEY (made, system, horizon_hours))",
        "CREATE TABLE alarms (kind TEXT NOT NULL, subject TEXT NOT NULL, since TIMESTAMP NOT NULL, "
        "raised TIMESTAMP NOT NULL, text TEXT NOT NULL, advice TEXT NOT NULL, evidence TEXT NOT NULL, "
        "seen TIMESTAMP NOT NULL, over TIMESTAMP)",
    ),
    ("ALTER TABLE events ADD COLUMN unit TEXT DEFAULT ''",),
)
"""Statements that make each version of the tables from the one before; the first from nothing."""
_THERE = "SELECT 1 FROM information_schema.tables WHERE table_name = 'about' AND table_schema IN ('relfit', 'main')"
MOST_ATTRIBUTES = 50
"""Largest number of attributes of a log that are stored, the first by name."""
_TOGETHER = 500_000  # records stored at a time
_NODE_KEY = ["system", "node", "declared", "more"]


def unit_of(more: str) -> str:
    """The unit within a node that the attributes (JSON) of a record name, as ``Slot=2``; empty where they name none."""
    values = json.loads(more)
    return " ".join(f"{name}={values[name]}".removesuffix(".0") for name in sorted(values) if plain(name) in PARTS)


def _add_units(database: Database) -> None:
    """Fill in the units of records that a store of version 1 holds."""
    for (more,) in database.rows("SELECT DISTINCT more FROM events"):
        if unit := unit_of(more):
            database.execute("UPDATE events SET unit = ? WHERE more = ?", (unit, more))


def prepare(database: Database, fleet: str, place: str, *, read_only: bool) -> None:
    """Create the tables, or bring them to the present version; refuse a store of another fleet or a later version."""
    with database.transaction():
        if not read_only:
            database.execute("CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        elif not database.rows(_THERE):
            raise RelfitError(f"there is no store in {place}", remedy="relfit watch run creates it")
        about = dict(database.rows("SELECT name, value FROM about"))
        version = int(about.get("version", 0))
        if version > len(STEPS):
            raise RelfitError(f"{place} was written by a later version of relfit", remedy="update relfit")
        if about.get("fleet") and fleet and about["fleet"] != fleet:
            what = f"{place} is the store of the fleet {about['fleet']!r}, and this is {fleet!r}"
            raise RelfitError(what, remedy="name another store, or correct fleet")
        if read_only:
            return
        steps = [statement for step in STEPS[version:] for statement in step]
        for statement in [*steps, *(() if version else database.further)]:
            database.execute(statement)
        if version == 1:
            _add_units(database)
        for name, value in (("version", str(len(STEPS))), ("fleet", fleet or about.get("fleet", ""))):
            if about.get(name) != value:
                database.execute("DELETE FROM about WHERE name = ?", (name,))
                database.insert("about", name, value)


def event_rows(source: str, pieces: Sequence[tuple[str, FailureLog]], *, many: str) -> pd.DataFrame:
    """Events of several documents, each record once, with its latest end; `many` is the place of those of several."""
    frames = [_events(source, place, log) for place, log in pieces]
    rows = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    key = list(KEY)
    rows = rows.sort_values(["ended", "detail", "more"], kind="stable", na_position="first")
    again = rows.duplicated(key, keep=False)
    if again.any():
        groups = rows[again].groupby(key, sort=False, observed=True)
        rows.loc[again, "start_cut"] = groups["start_cut"].transform("all")
        several = groups["place"].transform("nunique") > 1
        rows.loc[several[several].index, "place"] = many
        rows = rows[~rows.duplicated(key, keep="last")]
    return rows.sort_index().reset_index(drop=True)


def _events(source: str, place: str, log: FailureLog) -> pd.DataFrame:
    events = log.events
    ended, more = naive_stamps(events["end"]), _more(events, EVENT_COLUMNS)
    code, different = pd.factorize(more)
    return pd.DataFrame(
        {
            "system": _texts(events["system"]),
            "node": _texts(events["node"]),
            "began": naive_stamps(events["start"]),
            "cause": _texts(events["cause"]),
            "scope": _texts(events["scope"]),
            # an outage in progress has no end yet
            "ended": ended.where(~events["end_cut"].to_numpy(bool)),
            "detail": _texts(events["detail"]),
            "more": more,
            "start_cut": events["start_cut"].to_numpy(bool),
            "line": events["line"].to_numpy(np.int64),
            "source": source,
            "place": place,
            "unit": np.array([*map(unit_of, different), ""], dtype=object)[code],
        }
    )


def node_rows(source: str, pieces: Sequence[tuple[str, FailureLog]], *, listed: bool = False) -> pd.DataFrame:
    """Nodes of several documents; entry and leaving are missing where they are only those of the document's window.

    The end of a document is no leaving where a list names every node (`listed`): other documents may reach further.
    """
    frames = []
    for _, log in pieces:
        people = log.population
        declared = people["declared"].to_numpy(bool)
        entered, leaving = naive_stamps(people["entered"]), naive_stamps(people["left"])
        entered_known, leaving_known = (people[name].to_numpy(bool) for name in ("entered_known", "left_known"))
        ends = (leaving < naive_stamps(pd.Series([log.window.end]))[0]).to_numpy()
        frames.append(
            pd.DataFrame(
                {
                    "system": _texts(people["system"]),
                    "node": _texts(people["node"]),
                    "source": source,
                    "declared": declared,
                    "more": _more(people, POPULATION_COLUMNS),
                    "entered": entered.where(declared | entered_known),
                    "entered_known": entered_known,
                    "leaving": leaving.where((declared & (not listed)) | (leaving_known & ends)),
                    "leaving_known": leaving_known & ends,
                    "noted": naive_stamps(pd.Series([log.window.end] * len(people), dtype="datetime64[ns, UTC]")),
                }
            )
        )
    return merged_nodes(*frames)


def merged_nodes(*frames: pd.DataFrame) -> pd.DataFrame:
    """Rows of nodes, one per node, source and set of attributes: from the first to the last instant of any."""
    rows = pd.concat(frames, ignore_index=True)
    key = ["source", *_NODE_KEY]
    first = rows.sort_values(["entered", "entered_known"], kind="stable", na_position="first").drop_duplicates(key)
    last = rows.sort_values(["leaving", "leaving_known"], kind="stable", na_position="first")
    last = last.drop_duplicates(key, keep="last").set_index(key)
    noted = rows.groupby(key, sort=False)["noted"].max()
    place = pd.MultiIndex.from_frame(first[key])
    merged = first.assign(
        leaving=last["leaving"].reindex(place).to_numpy(),
        leaving_known=last["leaving_known"].reindex(place).to_numpy(bool),
        noted=noted.reindex(place).to_numpy(),
    )
    return merged.sort_values(key, kind="stable").reset_index(drop=True)


def _texts(column: pd.Series) -> pd.Series:
    """A text for each row, empty where it is missing."""
    kinds = column.astype("category").cat
    names = [str(name).replace("\0", "\u2400") for name in kinds.categories]
    return pd.Series(np.array([*names, ""], dtype=object)[kinds.codes.to_numpy()])


def naive(instant: pd.Timestamp | dt.datetime | None) -> Any:
    """An instant for the store: UTC without a zone, in microseconds."""
    if pd.isna(instant):
        return None
    moment = pd.Timestamp(instant)
    return (moment if moment.tzinfo is None else moment.tz_convert("UTC").tz_localize(None)).floor("us").to_pydatetime()


def naive_stamps(column: pd.Series) -> pd.Series:
    """Instants for the store: UTC without a zone, in microseconds."""
    return column.dt.tz_convert("UTC").dt.tz_localize(None).astype("datetime64[us]").reset_index(drop=True)


def utc_stamps(column: pd.Series) -> pd.Series:
    """Instants of the store, in UTC."""
    return pd.to_datetime(column).astype("datetime64[ns]").dt.tz_localize("UTC")


def _more(frame: pd.DataFrame, standard: Sequence[str]) -> pd.Series:
    """The attributes of each row as JSON, without missing ones; equal rows are encoded once."""
    names = sorted(str(name) for name in frame.columns if name not in standard)[:MOST_ATTRIBUTES]
    if not names:
        return pd.Series(np.full(len(frame), "{}", dtype=object))
    codes = pd.DataFrame({name: pd.factorize(frame[name])[0] for name in names})
    group = codes.groupby(names, sort=False).ngroup().to_numpy()
    first = np.unique(group, return_index=True)[1]
    few = frame[names].iloc[first]
    values = [dict(zip(names, row, strict=True)) for row in zip(*(few[name].tolist() for name in names), strict=True)]
    texts = [
        json.dumps({name: _plain(v) for name, v in row.items() if not pd.isna(v)}, sort_keys=True) for row in values
    ]
    return pd.Series(np.array(texts, dtype=object)[group])


def _plain(value: object) -> Any:
    return value if isinstance(value, (bool, int, float)) else str(value).replace("\0", "\u2400")


def pieces_of(source: str, fetched: Fetched) -> list[tuple[str, FailureLog]]:
    """The documents that a source gave, or its log under the name of the source."""
    return list(fetched.documents) or ([] if fetched.log is None else [(source, fetched.log)])


def parts_of(pieces: Sequence[tuple[str, FailureLog]]) -> Iterator[list[tuple[str, FailureLog]]]:
    """Documents in groups, each closed once it has more than half a million records."""
    part: list[tuple[str, FailureLog]] = []
    for piece in pieces:
        part.append(piece)
        if sum(len(log) for _, log in part) > _TOGETHER:
            yield part
            part = []
    if part:
        yield part
