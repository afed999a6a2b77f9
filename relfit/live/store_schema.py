"""The tables of a fleet's store, and the steps from one version to the next."""

from __future__ import annotations

import json

from relfit.base.errors import RelfitError
from relfit.io.table_columns import PARTS
from relfit.io.table_mapping import plain
from relfit.live.store_databases import Database

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


def unit_of(more: str) -> str:
    """The unit within a node that the attributes (JSON) of a record name; empty where they name none.

    Examples
    --------
    >>> unit_of('{"rack": "r1", "Slot": 2}'), unit_of('{"rack": "r1"}')
    ('Slot=2', '')
    """
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
            raise RelfitError(f"there is no store in {place}", remedy="relfit watch run makes it")
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
                database.execute("INSERT INTO about VALUES (?, ?)", (name, value))
