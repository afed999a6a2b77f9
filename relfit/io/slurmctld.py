"""The log of Slurm's controller: lines that say that nodes go down or come back, paired into outages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.failurelog import FailureLog
from relfit.io.alert_rules import rules_of
from relfit.io.clock_lines import in_order
from relfit.io.host_lists import hosts
from relfit.io.raw_lines import blocks_of_lines, texts
from relfit.io.raw_logs import Found, Records
from relfit.io.up_and_down import outages_between
from relfit.parsing.opening import Content
from relfit.parsing.stamps import parse_stamps
from relfit.parsing.times import check_zone

__all__ = ["NAME", "read", "recognises"]

NAME = "slurmctld"
STREAMS = True
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\] ")
_TIME = r"^\[(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\]"


def recognises(content: Content) -> bool:
    """Whether most of the first lines begin with a time in brackets."""
    lines = [line for line in content.first_lines(8192)[:-1] if line.strip()][:20]
    return bool(lines) and 2 * sum(bool(_STAMP.match(line)) for line in lines) > len(lines)


def read(
    contents: Sequence[Content], *, strict: bool = False, timezone: str | None = None,
    rules: str | Path | dict[str, Any] | None = None,
) -> FailureLog:  # fmt: skip
    """Read what the controller says of nodes; times are of `timezone`, UTC when left out."""
    known, records = rules_of(NAME, rules), Records(contents, NAME, check_zone(timezone))
    clocks: list[Any] = []
    node: list[str] = []
    place: list[int] = []
    rule: list[int] = []
    line: list[int] = []
    message: list[str] = []
    stamps = 0
    for content in contents:
        for block in blocks_of_lines(content):
            records.read += block.count + bool(block.too_long)
            if block.too_long:
                records.refuse(content.path, block.too_long, "", "a line of more than a million bytes", "")
            ends = pa.array([text.decode(errors="replace") for text in (block.first_text(), block.last_text())])
            pieces = [(first, texts(block.data, edges)) for first, edges in block.pieces(known.pattern)]
            for first, lines in [(0, ends[:1]), *pieces, (0, ends[1:])]:
                found = parse_stamps(pc.struct_field(pc.extract_regex(lines, pattern=_TIME), "time"))
                number = np.where(found.good, stamps + np.cumsum(found.good) - 1, -1)
                clocks.append(found.clock[found.good])
                stamps += int(found.good.sum())
                if first == 0:
                    continue
                kinds = known.first_match(lines)
                for i in np.flatnonzero(kinds >= 0).tolist():
                    text = lines[i].as_py()
                    named = re.search(known.rules[kinds[i]].pattern, text)
                    names = hosts(named.groupdict().get("node") or "") if named else []
                    if number[i] < 0 or not names:
                        records.refuse(content.path, first + i, "", "no time or no node", text)
                        continue
                    node += names
                    place += [int(number[i])] * len(names)
                    rule += [int(kinds[i])] * len(names)
                    line += [first + i] * len(names)
                    message += [text[:200]] * len(names)
    times = in_order(np.concatenate(clocks) if clocks else np.empty(0, dtype=np.int64), records.zone)
    span = (int(times.min()), int(times.max())) if times.size else None
    names_of, codes = np.unique(np.array(node, dtype=object).astype(str), return_inverse=True)
    down = np.array([known.rules[kind].state == "down" for kind in rule], dtype=bool)
    at = times[np.array(place, dtype=np.int64)] if place else np.empty(0, dtype=np.int64)
    outages = outages_between(codes.astype(np.int64), at, down)
    records.funnel += [("lines", records.read), ("lines of nodes", len(set(zip(line, place, strict=True))))]
    causes = [known.rules[kind].cause for kind in rule]
    found_all = Found.of_outages(outages, names_of.tolist(), causes, np.array(line, dtype=np.int64), message)
    if span is not None:
        found_all.end = np.where(outages.open, span[1], outages.end)
    return found_all.log(records, known, span, names_of.tolist(), strict)
