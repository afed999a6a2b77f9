"""Machine events of Google's cluster traces: 2011 as CSV without a header, 2019 as JSON Lines or CSV with one.

A machine that is removed is down until it is added again. Events at time 0 list the machines at the start of the trace;
an update changes a machine's capacity, not whether it is up. Times are microseconds since ten minutes before the trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from relfit.base.units import instant
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import as_numbers
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import check_zone
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.io.up_and_down import outages_between
from relfit.log.failurelog import FailureLog

_NAME = "machine_events"
_ROW = re.compile(r"^\d+,\d+,[012],[^,]*,[\d.]*,[\d.]*\s*$")
_NAMES_2019 = ("time", "machine_id", "type")
_KINDS_2019 = {1: "add", 2: "remove", 3: "update"}
_KINDS_2011 = {0: "add", 1: "remove", 2: "update"}
_ORIGIN = "1970-01-01"


def _recognises(content: Content) -> bool:
    """Whether the first lines are events of machines in either layout."""
    lines = [line for line in content.first_lines(4096)[:-1] if line.strip()][:5]
    if not lines:
        return False
    if _places(lines[0]):
        return True
    if lines[0].lstrip().startswith("{"):
        # task events have these fields too, but also name their collection
        return all(f'"{name}"' in lines[0] for name in _NAMES_2019) and '"collection_id"' not in lines[0]
    return all(_ROW.match(line) for line in lines)


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None, time_origin: str = _ORIGIN) -> FailureLog:
    """Read events; `time_origin` is the instant that time 0 stands for."""
    records = RecordTally(contents, _NAME, check_zone(timezone))
    begin = instant(time_origin, records.zone).value
    rows: list[tuple[float, str, str, int]] = []
    for content in contents:
        text = as_text(content)
        places = _places(content.first_line())
        for number, line in enumerate(text.data.decode().split("\n"), 1):
            if not line.strip() or (places and _places(line)):
                continue
            records.read += 1
            event = _of_2019(line) if line.lstrip().startswith("{") else _of_fields(line, places)
            if event is None:
                records.refuse(content.path, number, "", "not a time, machine and kind of event", line)
            else:
                rows.append((*event, number))
    events = pd.DataFrame(rows, columns=["micro", "name", "kind", "line"])
    kind = events["kind"].to_numpy(dtype=object)
    changes = kind != "update"
    nodes, codes = np.unique(events["name"].to_numpy(dtype=object).astype(str), return_inverse=True)
    when = begin + events["micro"].to_numpy(dtype=np.int64) * 1000
    outages = outages_between(codes[changes].astype(np.int64), when[changes], (kind == "remove")[changes])
    records.funnel += [("events", records.read), ("removals", int((kind == "remove").sum()))]
    lines = events["line"].to_numpy(dtype=np.int64)[changes]
    latest = int(when.max()) if when.size else 0
    outcome = RawFailures.of_outages(outages, nodes.tolist(), np.full(lines.size, "removed"), lines, latest)
    first = np.full(nodes.size, np.iinfo(np.int64).max)
    np.minimum.at(first, codes, when)
    last = np.full(nodes.size, latest, dtype=np.int64)
    records.notes.append("a machine that is removed and does not come back is down to the end of the trace")
    return outcome.log(records, None, when, nodes.tolist(), strict, watched=(first, last), listed=True)


def _places(line: str) -> tuple[int, ...]:
    """Positions of time, machine and kind of event in a line of 2019, from its header; empty where this is none."""
    names = [name.strip().strip('"') for name in line.split(",")]
    named = set(_NAMES_2019) <= set(names) and "collection_id" not in names
    return tuple(names.index(name) for name in _NAMES_2019) if named else ()


def _of_fields(line: str, places: tuple[int, ...]) -> tuple[float, str, str] | None:
    fields = [field.strip().strip('"') for field in line.split(",")]
    time, name, kind = places or (0, 1, 2)
    if len(fields) <= max(time, name, kind) or not fields[name]:
        return None
    return _event(fields[time], fields[name], fields[kind], _KINDS_2019 if places else _KINDS_2011)


def _of_2019(line: str) -> tuple[float, str, str] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value.get("machine_id"):
        return None
    return _event(str(value.get("time")), str(value["machine_id"]), str(value.get("type")), _KINDS_2019)


def _event(time: str, name: str, kind: str, kinds: dict[int, str]) -> tuple[float, str, str] | None:
    by_name = {name: code for code, name in kinds.items()}
    micro, number = as_numbers([time, str(by_name.get(kind.lower(), kind))]).tolist()
    if micro != micro or not 0 <= micro < 8.8e15 or number not in kinds:
        return None
    return micro, name, kinds[int(number)]


READER = Reader(_NAME, _recognises, _read, ("time_origin",))
