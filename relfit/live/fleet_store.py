"""`FleetStore`: every record of a fleet once, its nodes with their history, forecasts, alarms, cursors of sources."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.errors import DataError
from relfit.base.results import json_ready
from relfit.base.text import count, first_names
from relfit.live.live_records import Alarm, Fetched, Gone, stamp
from relfit.live.log_from_store import stored_log
from relfit.live.store_databases import Database, opened
from relfit.live.store_schema import (
    event_rows,
    merged_nodes,
    naive,
    naive_stamps,
    node_rows,
    parts_of,
    pieces_of,
    prepare,
    utc_stamps,
)
from relfit.live.withdrawn_records import EVENT_KEY, KEPT, MANY, SAME, SAME_PLACE, SEVERAL, withdraw
from relfit.log.failurelog import FailureLog

_NAMED = 8  # nodes that left
_VALUES = ("ended", "detail", "more", "start_cut", "line", "source", "place")
_FORECAST = ("made", "system", "horizon_hours", "mean", "lower", "upper", "level", "happened", "score")


class FleetStore:
    """A store of one fleet, opened by `open`; as a context manager it closes itself.

    Records that sources give in any order, late, again or overlapping, lead to the same state. System, node, start,
    cause, scope and unit (slot, drive) identify a record; of several ends the latest stands, a known one over none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str, fleet: str = "", *, password_env: str | None = None, read_only: bool = False) -> FleetStore:
        """Open a store, a DuckDB file or ``postgresql://user@host/database``; create it where there is none, and bring
        it to the present version. A `RelfitError` when it cannot be opened, another round uses it, or it is of another
        fleet or a later version. `read_only` changes nothing; with PostgreSQL a round may run meanwhile.
        """
        database = opened(str(url), password_env, read_only=read_only)
        try:
            prepare(database, fleet, str(url).rpartition("@")[2], read_only=read_only)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def __enter__(self) -> FleetStore:
        return self

    def __exit__(self, *error: object) -> None:
        self._database.close()

    @property
    def size(self) -> int:
        """Number of records."""
        return int(self._database.rows("SELECT count(*) FROM events")[0][0])

    def cursor(self, source: str) -> dict[str, Any]:
        """The cursor of a source; empty before its first round."""
        rows = self._database.rows("SELECT cursor_json FROM sources WHERE source = ?", (source,))
        return dict(json.loads(rows[0][0])) if rows else {}

    def sources(self) -> pd.DataFrame:
        """One row per source: ``form``, ``form_before``, ``gave_at``, ``asked_at``, ``failure``, ``failing_since``."""
        return self._database.frame(
            "SELECT source, form, form_before, gave_at, asked_at, failure, failing_since FROM sources ORDER BY source"
        ).set_index("source")

    def add(
        self, source: str, fetched: Fetched, now: pd.Timestamp, failure: str, before: Fetched | None
    ) -> tuple[int, list[Gone]]:
        """Store what a source gave, all or nothing; returns the number of new records, and what documents have lost.
        Where its settings have changed, `before` is what the former ones read from it now: that is taken back. Records
        that the source no longer holds stay. A `DataError` when what it gave must not be stored: durations, or the
        records that it gave before, of other systems.
        """
        pieces, size, gone = pieces_of(source, fetched), self.size, list[Gone]()
        for _, log in pieces:
            if log.lifetimes is not None:
                raise DataError(
                    f"{source} gives durations without dates", remedy="give a log with dates: a watch needs them"
                )
        at = naive(now)
        with self._database.transaction():
            if before is not None:
                read = dict(pieces)
                former = [each for each in pieces_of(source, before) if not failure or each[0] in read]
                gone += self._take_back(source, former, exact=bool(before.documents))
            for part in parts_of(pieces):
                gone += self._add_events(source, part, exact=bool(fetched.documents))
            if fetched.listed:  # a store of 0.4 has the end of a document there
                self._database.execute(
                    "UPDATE nodes SET leaving = NULL WHERE source = ? AND declared AND NOT leaving_known", (source,)
                )
            if pieces:
                gone += self._add_nodes(source, pieces, now if fetched.listed else None)
            for place, log in pieces:
                self._add_document(source, place, log, listed=fetched.listed)
            new = max(self.size - size + sum(each[2] for each in gone), 0)
            self._note(source, fetched, at, new, failure, again=before is not None)
        return new, gone

    def failed(self, source: str, now: pd.Timestamp, failure: str) -> None:
        """Note that a source could not be fetched."""
        with self._database.transaction():
            self._note(source, None, naive(now), 0, failure)

    def _note(
        self, source: str, fetched: Fetched | None, at: Any, new: int, failure: str, *, again: bool = False
    ) -> None:
        """Store the cursor of a source, when it last gave records, and since when it fails."""
        database = self._database
        rows = database.rows(
            "SELECT cursor_json, form, form_before, gave_at, failing_since FROM sources WHERE source = ?", (source,)
        )
        cursor, form, before, gave, failing = rows[0] if rows else ("{}", "", "", None, None)
        if fetched is not None:
            cursor = json.dumps(json_ready(dict(fetched.cursor)), sort_keys=True)
            if fetched.form:
                before, form = fetched.form if again or not form else form, fetched.form
        if fetched is not None and new:  # those of a first round are of the past
            starts = [log.events["start"].max() for _, log in pieces_of(source, fetched) if len(log.events)]
            gave = at if gave else min(at, naive(max(starts)))
        since = (failing or at) if failure else None
        database.execute("DELETE FROM sources WHERE source = ?", (source,))
        database.insert("sources", source, cursor, form, before, gave, at, failure, since)

    def _add_events(self, source: str, pieces: Sequence[tuple[str, FailureLog]], *, exact: bool) -> list[Gone]:
        database = self._database
        database.load("incoming", event_rows(source, pieces, many=SEVERAL), "events")
        gone = [withdraw(database, source, place, log) for place, log in pieces if exact]
        # a record in one document is as that one says; of several documents, the latest end is kept
        own = f"{SAME_PLACE} AND {str(exact).upper()}"
        one_source = f"e.source = i.source AND e.place <> '{MANY}'"
        choices = {
            "ended": f"CASE WHEN {own} THEN i.ended ELSE greatest(e.ended, i.ended) END",
            "detail": f"CASE WHEN {own} THEN i.detail ELSE greatest(e.detail, i.detail) END",
            "more": f"CASE WHEN {own} THEN i.more ELSE greatest(e.more, i.more) END",
            "start_cut": "e.start_cut AND i.start_cut",
            "line": f"CASE WHEN {own} THEN i.line ELSE least(e.line, i.line) END",
            "source": "least(e.source, i.source)",
            "place": f"CASE WHEN {SAME_PLACE} THEN i.place WHEN {one_source} THEN '{SEVERAL}' ELSE '{MANY}' END",
        }
        chosen = ", ".join(f"{rule} AS {name}" for name, rule in choices.items())
        database.keep("changed", f"SELECT {EVENT_KEY}, {chosen} FROM events e JOIN incoming i ON {SAME}")
        news = ", ".join(f"{name} = i.{name}" for name in _VALUES)
        differs = " OR ".join(f"e.{name} IS DISTINCT FROM i.{name}" for name in _VALUES)
        database.execute(f"UPDATE events AS e SET {news} FROM changed i WHERE {SAME} AND ({differs})")
        database.execute(
            f"INSERT INTO events SELECT i.* FROM incoming i WHERE NOT EXISTS (SELECT 1 FROM events e WHERE {SAME})"
        )
        self._join_continued()
        return [each for each in gone if each is not None]

    def _take_back(self, source: str, pieces: Sequence[tuple[str, FailureLog]], *, exact: bool) -> list[Gone]:
        """Remove records that only this source gave, nodes without other records, and times that it alone observed.
        What documents have lost goes as if the settings had not changed.
        """
        database, gone = self._database, list[Gone | None]()
        for part in parts_of(pieces):
            database.load("incoming", event_rows(source, part, many=SEVERAL), "events")
            gone += [withdraw(database, source, place, log, former=True) for place, log in part if exact]
            own = f"e.place <> '{MANY}' AND (e.source = i.source OR {SAME_PLACE})"
            database.execute(f"DELETE FROM events AS e USING incoming i WHERE {SAME} AND {own}")
            database.load("incoming", node_rows(source, part), "nodes")
            database.execute(
                "DELETE FROM nodes AS e USING incoming i WHERE e.source = i.source AND e.system = i.system AND "
                "e.node = i.node AND NOT EXISTS (SELECT 1 FROM events v WHERE v.system = i.system AND v.node = i.node)"
            )
            for place, log in part:
                database.execute(
                    "DELETE FROM documents WHERE source = ? AND place = ? AND first_seen >= ? AND last_seen <= ?",
                    (source, place, naive(log.window.start), naive(log.window.end)),
                )
        return [each for each in gone if each is not None]

    def lost(self) -> list[tuple[str, int]]:
        """Documents that lack records which they had, but were not rotated away, and how many stay in the store."""
        name = f"substr(place, {len(KEPT) + 1})"
        marked = f"left(place, 1) = '{KEPT}' GROUP BY place ORDER BY place"
        return [
            (str(each), int(n))
            for each, n in self._database.rows(f"SELECT {name}, count(*) FROM events WHERE {marked}")
        ]

    def remove_lost(self) -> None:
        """Remove these records."""
        with self._database.transaction():
            self._database.execute(f"DELETE FROM events WHERE left(place, 1) = '{KEPT}'")

    def _join_continued(self) -> None:
        """Join an outage in progress when its source began to the one whose start another source recorded."""
        if not self._database.rows("SELECT 1 FROM events WHERE start_cut LIMIT 1"):
            return
        self._database.keep(
            "continued",
            "SELECT c.system, c.node, c.began AS cut_at, c.cause AS cut_cause, c.scope, "
            "max(e.began) AS began, max(c.ended) AS ended FROM events c JOIN events e ON e.system = c.system "
            "AND e.node = c.node AND e.scope = c.scope AND e.began < c.began AND c.node <> '' "
            "AND (e.ended IS NULL OR e.ended >= c.began) WHERE c.start_cut "
            "GROUP BY c.system, c.node, c.began, c.cause, c.scope",
        )
        self._database.execute(
            "UPDATE events AS e SET ended = greatest(e.ended, i.ended) FROM continued i WHERE e.system = i.system "
            "AND e.node = i.node AND e.scope = i.scope AND e.began = i.began"
        )
        self._database.execute(
            "DELETE FROM events AS e USING continued i WHERE e.system = i.system AND e.node = i.node "
            "AND e.scope = i.scope AND e.began = i.cut_at AND e.cause = i.cut_cause AND e.start_cut"
        )

    def _add_nodes(
        self, source: str, pieces: Sequence[tuple[str, FailureLog]], listed: pd.Timestamp | None
    ) -> list[Gone]:
        """Store nodes; those that a list no longer has leave when it was read (`listed`), or never were."""
        database, gone = self._database, list[Gone]()
        incoming = node_rows(source, pieces, listed=listed is not None)
        if incoming.empty:
            return gone
        database.load("incoming", incoming, "nodes")
        if listed is not None:
            database.keep(
                "unlisted",
                "SELECT DISTINCT e.system, e.node, EXISTS (SELECT 1 FROM events v WHERE v.system = e.system AND "
                "v.node = e.node) AS failed FROM nodes e WHERE e.source = ? AND NOT e.leaving_known AND NOT EXISTS "
                "(SELECT 1 FROM incoming i WHERE i.system = e.system AND i.node = e.node)",
                (source,),
            )
            end = naive(max(log.window.end for _, log in pieces))
            before = end - dt.timedelta(microseconds=1)  # a former list may have reached further
            database.execute("UPDATE nodes SET noted = least(noted, ?) WHERE source = ? AND declared", (before, source))
            database.execute(
                "UPDATE nodes AS e SET leaving = i.leaving, leaving_known = i.leaving_known FROM incoming i WHERE "
                "e.source = i.source AND e.system = i.system AND e.node = i.node AND e.declared AND i.declared"
            )
            left = min(naive(listed), before)
            same = "e.source = ? AND e.system = i.system AND e.node = i.node"
            database.execute(f"DELETE FROM nodes AS e USING unlisted i WHERE {same} AND NOT i.failed", (source,))
            database.execute(
                f"UPDATE nodes AS e SET leaving = ?, leaving_known = TRUE FROM unlisted i WHERE {same}", (left, source)
            )
            names = [name for (name,) in database.rows("SELECT node FROM unlisted ORDER BY system, node")]
            text = f"{count(len(names), 'node is', 'nodes are')} no longer listed: {first_names(names, _NAMED)}"
            gone += [(text, False, 0)] if names else []
        present = database.frame(
            "SELECT n.* FROM nodes n WHERE EXISTS (SELECT 1 FROM incoming i WHERE i.source = n.source)"
        )
        merged = merged_nodes(present, incoming)
        if len(merged) == len(present) and merged.equals(present[merged.columns]):
            return gone
        database.execute("DELETE FROM nodes WHERE source = ?", (source,))
        database.load("incoming", merged, "nodes")
        database.execute(f"INSERT INTO nodes ({', '.join(merged.columns)}) SELECT * FROM incoming")
        return gone

    def _add_document(self, source: str, place: str, log: FailureLog, *, listed: bool) -> None:
        database, window = self._database, log.window
        first, last = naive(window.start), naive(window.end)
        first_known, last_known = window.start_known, window.end_known
        rows = database.rows(
            "SELECT first_seen, last_seen, first_known, last_known FROM documents WHERE source = ? AND place = ?",
            (source, place),
        )
        if rows and rows[0][0] is not None:  # a rotated log was watched before, too
            before = rows[0]
            first, first_known = min((first, first_known), (before[0], before[2]), key=lambda end: end[0])
            if not listed:  # else the end may be that of a former list
                last, last_known = max((last, last_known), (before[1], before[3]), key=lambda end: end[0])
        kinds = log.rejections().head(5)
        reasons = json.dumps([[str(reason), int(row["rows"])] for reason, row in kinds.iterrows()])
        rows_of = int(log.source.rows_read), len(log.rejected)
        database.execute("DELETE FROM documents WHERE source = ? AND place = ?", (source, place))
        certain = bool(first_known), bool(last_known)
        database.insert("documents", source, place, first, last, *certain, *rows_of, reasons)

    def log(
        self, *, nodes: int | Sequence[str] | None = None, timezone: str = "UTC", until: pd.Timestamp | None = None
    ) -> FailureLog:
        """All records as one log; see `stored_log`."""
        return stored_log(self._database, nodes=nodes, timezone=timezone, until=until)

    def answered(self, now: pd.Timestamp) -> pd.Timestamp:
        """Until when every source could be read."""
        failing = self.sources()["failing_since"].dropna()
        return min([now, *map(stamp, failing)])

    def pauses(self, source: str, now: pd.Timestamp) -> tuple[int, float, float, pd.Timestamp]:
        """Of a source's last year: number of distinct starts of records, mean and longest hours between, the last."""
        at = naive(now)
        number, first, last, longest = self._database.rows(
            "SELECT count(*), min(began), max(began), max(pause) FROM (SELECT began, EXTRACT(EPOCH FROM began) - "
            "EXTRACT(EPOCH FROM lag(began) OVER (ORDER BY began)) AS pause FROM (SELECT DISTINCT began FROM events "
            "WHERE source = ? AND began <= ? AND began >= (SELECT max(began) FROM events "
            "WHERE source = ? AND began <= ?) - INTERVAL '366 days') AS d) AS p",
            (source, at, source, at),
        )[0]
        if number < 2:
            return int(number), 0.0, 0.0, stamp(last)
        hours = (last - first).total_seconds() / 3600.0
        return int(number), hours / (number - 1), float(longest) / 3600.0, stamp(last)

    def rejected(self) -> int:
        """Number of rejected rows of all documents."""
        return int(self._database.rows("SELECT coalesce(sum(rows_rejected), 0) FROM documents")[0][0])

    def save_forecasts(self, frame: pd.DataFrame) -> None:
        """Store forecasts; those of the same time, system and horizon are replaced."""
        if frame.empty:
            return
        rows = pd.DataFrame({name: frame.get(name, np.nan) for name in _FORECAST})
        rows["made"] = naive_stamps(pd.to_datetime(rows["made"], utc=True))
        rows["system"] = rows["system"].astype(object)
        rows = rows.astype(dict.fromkeys(_FORECAST[2:], float))
        with self._database.transaction():
            self._database.load("incoming", rows.drop_duplicates(list(_FORECAST[:3]), keep="last"), "forecasts")
            self._database.execute(
                "DELETE FROM forecasts AS e USING incoming i "
                "WHERE e.made = i.made AND e.system = i.system AND e.horizon_hours = i.horizon_hours"
            )
            self._database.execute(f"INSERT INTO forecasts ({', '.join(_FORECAST)}) SELECT * FROM incoming")

    def forecasts(self) -> pd.DataFrame:
        """Forecasts and outcomes: ``made``, ``system``, ``horizon_hours``, ``mean`` and so on, oldest first."""
        frame = self._database.frame("SELECT * FROM forecasts ORDER BY made, system, horizon_hours")
        return frame.assign(made=utc_stamps(frame["made"]))

    def save_alarms(self, alarms: Sequence[Alarm], now: pd.Timestamp) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Store the alarms of a round; returns the keys of the new ones, and of those that are over."""
        at, new = naive(now), []
        with self._database.transaction():
            open_before, now_open = ({alarm.key: alarm for alarm in each} for each in (self.open_alarms(), alarms))
            over = [a for key, a in open_before.items() if key not in now_open or now_open[key].follows(a)]
            for alarm in over:
                self._database.execute(
                    "UPDATE alarms SET over = ? WHERE kind = ? AND subject = ? AND over IS NULL",
                    (at, alarm.kind, alarm.subject),
                )
                del open_before[alarm.key]
            for alarm in alarms:
                told = (alarm.text, alarm.advice, json.dumps(json_ready(alarm.evidence)), at)
                if alarm.key in open_before:
                    self._database.execute(
                        "UPDATE alarms SET text = ?, advice = ?, evidence = ?, seen = ? "
                        "WHERE kind = ? AND subject = ? AND over IS NULL",
                        (*told, alarm.kind, alarm.subject),
                    )
                else:
                    new.append(alarm.key)
                    begun = (alarm.kind, alarm.subject, naive(alarm.since), naive(alarm.raised))
                    self._database.insert("alarms", *begun, *told, None)
        return tuple(new), tuple(alarm.key for alarm in over if alarm.key not in now_open)

    def open_alarms(self) -> list[Alarm]:
        """Alarms that are not over, as they were first raised, with their latest text, advice and evidence."""
        rows = self._database.rows(
            "SELECT kind, subject, since, raised, text, advice, evidence FROM alarms "
            "WHERE over IS NULL ORDER BY raised, kind, subject"
        )
        return [
            Alarm(kind, subject, stamp(since), stamp(raised), text, advice, json.loads(evidence))
            for kind, subject, since, raised, text, advice, evidence in rows
        ]

    def save_round(self, now: pd.Timestamp, document: Mapping[str, object]) -> None:
        """Store the results of a round."""
        with self._database.transaction():
            numbers = document["records"], document["new"]
            self._database.insert("rounds", naive(now), *numbers, json.dumps(json_ready(document)))

    def last_round(self) -> dict[str, Any] | None:
        """The results of the last round; None before the first."""
        rows = self._database.rows("SELECT document FROM rounds ORDER BY made DESC LIMIT 1")
        return dict(json.loads(rows[0][0])) if rows else None
