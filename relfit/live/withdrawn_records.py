"""Records that a document no longer has: corrected, moved in time, rotated away, or lost."""

from __future__ import annotations

from collections.abc import Sequence

from relfit.base.errors import DataError
from relfit.base.text import count
from relfit.live.live_records import Gone
from relfit.live.store_databases import Database
from relfit.live.store_schema import KEY, naive
from relfit.log.failurelog import FailureLog

EVENT_KEY = ", ".join(f"e.{name}" for name in KEY)
SAME = " AND ".join(f"e.{name} = i.{name}" for name in KEY)
_SAME_UNIT = " AND ".join(f"e.{name} = i.{name}" for name in KEY if name != "cause")
_ELSEWHERE = " AND ".join(f"e.{name} = i.{name}" for name in KEY if name != "system") + " AND e.system <> i.system"
_CHANGED = (  # a new record of the same node and end, or of the same line
    "EXISTS (SELECT 1 FROM incoming i WHERE i.system = e.system AND i.node = e.node AND "
    "i.scope = e.scope AND (i.ended = e.ended OR i.line = e.line) AND NOT EXISTS (SELECT 1 FROM events v WHERE "
    f"{' AND '.join(f'v.{name} = i.{name}' for name in KEY)}))"
)
_MOVED = (  # a new record of the same line, node and cause: its time was corrected
    "EXISTS (SELECT 1 FROM incoming i WHERE i.place = e.place AND i.line = e.line AND {} AND "
    f"{' AND '.join(f'i.{name} = e.{name}' for name in KEY if name != 'began')} AND NOT EXISTS "
    f"(SELECT 1 FROM events v WHERE {' AND '.join(f'v.{name} = i.{name}' for name in KEY)}))"
)
_AS_LONG = "(i.ended - i.began = e.ended - e.began OR (i.ended IS NULL AND e.ended IS NULL))"
MANY, SEVERAL, KEPT = "*", "+", "!"
"""Place of a record of several sources, and of several documents of one (or before one that no longer has it, as it was
rotated away); before a document that no longer has it for no known reason."""
SAME_PLACE = f"e.place IN (i.place, '{SEVERAL}' || i.place, '{KEPT}' || i.place) AND e.place <> '{SEVERAL}'"
_CORRECTED = 0.2  # share of a document's records that its next version may lack; beyond it, it is another log


def withdraw(database: Database, source: str, place: str, log: FailureLog, *, former: bool = False) -> Gone | None:
    """Remove records that a document no longer has within the time it covers; earlier ones were rotated away.

    Few that are missing were corrected, and most at once if most have another time now, as in another time zone. `log`
    is the present document, whose records are the table `incoming`; `former`: as former settings read it.
    """
    if log.events.empty or not database.rows("SELECT 1 FROM documents WHERE source = ? AND place = ?", (source, place)):
        return None
    first, last = naive(log.events["start"].min()), naive(log.events["start"].max())
    again = {"twin": _SAME_UNIT, "elsewhere": _ELSEWHERE}
    flags = [f"EXISTS (SELECT 1 FROM incoming i WHERE {same}) AS {name}" for name, same in again.items()]
    flags += [f"{_MOVED.format('TRUE')} AS moved", f"{_MOVED.format(_AS_LONG)} AS shifted"]
    flags += ["e.began BETWEEN ? AND ? AS inside"]
    database.keep(
        "vanished",
        f"SELECT {EVENT_KEY}, e.ended, e.line, {', '.join(flags)} "
        f"FROM events e WHERE e.place = ? AND NOT EXISTS (SELECT 1 FROM incoming i WHERE {SAME})",
        (first, last, place),
    )

    def counts(*conditions: str) -> Sequence[int]:
        numbers = ", ".join(f"count(CASE WHEN {each} THEN 1 END)" for each in conditions)
        return database.rows(f"SELECT {numbers} FROM vanished e")[0]

    inside, twins, shifted, elsewhere = counts("inside", "inside AND twin", "inside AND shifted", "elsewhere")
    span = "SELECT count(*) FROM events WHERE began BETWEEN ? AND ? AND place = ?"
    given = database.rows(span, (first, last, place))[0][0]
    few = inside - twins <= max(1, _CORRECTED * given) and inside < given
    if not few and 2 * elsewhere > inside:
        if former:  # the present settings say of which system they are
            return None
        what = f"{elsewhere:,} records of {place} came again with another system, and were not stored"
        raise DataError(what, remedy="correct the file, or the column of the system in the settings")
    moving = "OR moved" if 2 * shifted > inside - twins else ""
    removing = "inside" if few else f"(inside AND twin {moving})"
    staying = f"NOT twin AND NOT {removing} AND (inside OR began > '{last}')"
    removed, stored = counts(f"{removing} AND NOT twin", staying)
    changed = counts(f"{removing} AND NOT twin AND {_CHANGED}")[0] if removed else 0
    database.execute(f"DELETE FROM events AS e USING vanished i WHERE {SAME} AND {removing}")
    mark = f"CASE WHEN {staying} THEN '{KEPT}' ELSE '{SEVERAL}' END"
    database.keep("marks", f"SELECT {EVENT_KEY}, {mark} AS mark FROM vanished e")
    database.execute(f"UPDATE events AS e SET place = i.mark || e.place FROM marks i WHERE {SAME}")
    texts = [f"{count(changed, 'record was', 'records were')} changed in {place}"] if changed else []
    removed -= changed
    if removed or stored:
        gone = count(removed + stored, "record is", "records are")
        texts.append(f"{gone} gone from {place}: {removed:,} removed from the store, {stored:,} stay in it")
    return ("; ".join(texts), stored > 0, removed) if texts else None
