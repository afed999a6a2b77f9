"""RAS tables of Blue Gene/P and /Q (Intrepid, Mira): one message per row, with severity, component, time and place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relfit.base.text import count
from relfit.io.alert_rules import Rules, rules_of
from relfit.io.clock_lines import instants_of
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import as_text_array
from relfit.io.parsing.stamps import day_and_month, parse_stamps
from relfit.io.parsing.table_rows import rows_of
from relfit.io.parsing.times import check_zone
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.log.failurelog import FailureLog

_NAME = "blue_gene"
_NEEDED = ("SEVERITY", "EVENT_TIME", "LOCATION")


def _recognises(content: Content) -> bool:
    """Whether the first line names severity, time and location as the RAS database does."""
    line = content.first_line().upper()
    return all(name in line for name in (*_NEEDED, "MSG_ID"))


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None, rules: Rules = None) -> FailureLog:
    """Read messages of the severities that the rules name; messages with the same record number count once."""
    severities, records = rules_of(_NAME, rules), RecordTally(contents, _NAME, check_zone(timezone))
    rows = []
    places: set[str] = set()
    edges: list[int] = []
    seen: set[str] = set()
    alerts = again = 0
    for content in contents:
        table = rows_of(content)
        columns = {name.upper(): name for name in table.header}
        missing = [name for name in _NEEDED if name not in columns]
        if missing:
            raise content.error(f"no column {missing[0]!r}", "a RAS table has it", line=1)
        times = as_text_array(table.columns[columns["EVENT_TIME"]])
        day_first, example = day_and_month([times])
        if example and day_first is None:
            remedy = "write the dates as 2009-01-31"
            raise content.error(f"{example!r}: nothing tells whether days or months come first", remedy)
        stamps = parse_stamps(times, bool(day_first))
        clock = instants_of(stamps, records.zone)
        severity = np.array([value.upper() for value in table[columns["SEVERITY"]].tolist()], dtype=object)
        table.rejections.reject(~stamps.good, "not a date or time", columns["EVENT_TIME"])
        table.rejections.reject(severity == "", "no severity", columns["SEVERITY"])
        good = table.rejections.kept
        edges += [int(clock[good].min()), int(clock[good].max())] if good.any() else []
        location = table[columns["LOCATION"]]
        places.update(location[good & (location != "")].tolist())
        number, component, category, message = (
            table[columns[name]] if name in columns else np.full(good.size, "", dtype=object)
            for name in ("RECID", "COMPONENT", "CATEGORY", "MESSAGE")
        )
        for row in np.flatnonzero(good & np.isin(severity, severities.severities)).tolist():
            alerts += 1
            if number[row] and number[row] in seen:
                again += 1
                continue
            seen.add(number[row])
            if severities.excused & {component[row].upper(), category[row].upper()}:
                continue
            cause, detail = component[row].lower() or None, message[row][:200] or None
            rows.append((location[row] or None, clock[row], cause, table.rejections.lines[row], detail))
        records.add(table)
    records.funnel += [("messages", records.read), ("alerts", alerts)]
    have = count(again, "message has", "messages have")
    records.notes += [f"{have} the record number of an earlier one; counted once"] if again else []
    node, start, cause, line, detail = (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 5
    outcome = RawFailures(node, np.array(start, dtype=np.int64), cause, np.array(line, dtype=np.int64), detail=detail)
    return outcome.log(records, severities, edges, sorted(places), strict)


READER = Reader(_NAME, _recognises, _read, ("rules",))
