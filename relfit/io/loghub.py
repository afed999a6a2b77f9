"""System logs in the layout of LogHub with the alert tag first: Blue Gene/L, Thunderbird, Spirit, Liberty.

A line is a tag (``-`` where it is no alert), the Unix time, the date, the node, and the message. Every line with a tag
is an alert; the rules name the cause of each tag, and the tags that do not end a node's availability.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.io.alert_rules import Rules, rules_of
from relfit.io.parsing.opening import Content
from relfit.io.parsing.times import check_zone
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.log.failurelog import FailureLog

_NAME = "loghub"
_HEAD = re.compile(r"(\S+) (\d{9,10}) \d{4}\.\d\d\.\d\d (\S+) ")
_LINE = r"^(?P<tag>\S+) (?P<time>\d{9,10}) \d{4}\.\d\d\.\d\d (?P<node>\S+) (?P<message>.*)$"
_DRESSED = re.compile(r"^(?:[A-Z]_)?(.*?)\d*$")  # R_GM_PAR1 is GM_PAR
_SECOND = 1_000_000_000
_PARTS = ("tag", "time", "node", "message")
_NOTHING = pa.table({**dict.fromkeys(_PARTS, pa.array([], pa.large_string())), "line": pa.array([], pa.int64())})


def _recognises(content: Content) -> bool:
    """Whether the first line has a tag, a Unix time and a date in a row."""
    return _HEAD.match(content.first_line()) is not None


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None, rules: Rules = None) -> FailureLog:
    """Read alerts in Unix times; nodes are those of alerts and of a sample of lines, one in every 64 kB."""
    alerts, records = rules_of(_NAME, rules), RecordTally(contents, _NAME, check_zone(timezone))
    parts = [_NOTHING]
    nodes: set[str] = set()
    times: list[int] = []
    for content, block in records.blocks():
        for head in filter(None, map(_HEAD.match, block.texts(block.sample()).to_pylist())):
            times.append(int(head[2]) * _SECOND)
            nodes.add(head[3])
        # a line that begins with - is no alert; empty lines are skipped
        letters = block.octets[block.begins]
        at = np.flatnonzero((letters != 45) & (letters != 10) & (letters != 13))
        if at.size:
            lines = block.texts(at)
            fields = pc.extract_regex(lines, pattern=_LINE)
            odd = pc.is_null(fields).to_numpy(zero_copy_only=False)
            for i in np.flatnonzero(odd).tolist():
                records.refuse(
                    content.path, int(block.first + at[i]), "", "not a tag, time, date, node", lines[i].as_py()
                )
            good = pa.array(~odd)
            columns = {name: pc.struct_field(fields, name).filter(good) for name in _PARTS}
            parts.append(pa.table({**columns, "line": pa.array(block.first + at[~odd])}))
    table = pa.concat_tables(parts)
    records.funnel += [("lines", records.read), ("alerts", table.num_rows)]
    stamps = pc.cast(table["time"], pa.int64()).to_numpy() * _SECOND
    tags = table["tag"].to_numpy(zero_copy_only=False)
    names = table["node"].to_numpy(zero_copy_only=False)
    unique, codes = np.unique(tags.astype(str), return_inverse=True)
    plain = [tag if tag in alerts.tags or tag in alerts.harmless else _DRESSED.sub(r"\1", tag) for tag in unique]
    keep = ~np.isin(plain, alerts.harmless)[codes]
    causes, codes = np.array([alerts.tags.get(tag, "unknown") for tag in plain], dtype=object), codes[keep]
    messages = pc.utf8_slice_codeunits(table["message"], 0, 200).to_numpy(zero_copy_only=False)
    outcome = RawFailures(
        names[keep],
        stamps[keep],
        causes[codes],
        table["line"].to_numpy()[keep],
        detail=messages[keep],
        attributes={"tag": tags[keep]} if tags.size else {},
    )
    instants = np.append(np.array(times, dtype=np.int64), stamps)
    return outcome.log(records, alerts, instants, sorted(nodes | set(names.tolist())), strict)


READER = Reader(_NAME, _recognises, _read, ("rules",))
