"""Syslog and kernel lines of many nodes: ``Jan  5 10:00:00 node kernel: ...``, or with a time as ISO 8601.

Only lines that a rule matches are looked at (NVIDIA XIDs, kernel panics, machine checks, and what the user adds), and
the lines around them, whose order tells years and doubled hours.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.arrays import IntArray
from relfit.errors import ArgumentError
from relfit.failurelog import FailureLog
from relfit.io.alert_rules import AlertRules, rules_of
from relfit.io.clock_lines import Clock, stamps_without_year
from relfit.io.raw_lines import Block, blocks_of_lines, texts
from relfit.io.raw_logs import Found, Records
from relfit.parsing.opening import Content
from relfit.parsing.stamps import parse_stamps
from relfit.parsing.times import check_zone, localised, since_1970

__all__ = ["NAME", "read", "recognises"]

NAME = "syslog"
STREAMS = True
_PRIORITY = r"(?:<\d{1,3}>1? ?)?"
_OLD = re.compile(rf"{_PRIORITY}(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \S+ ")
_NEW = re.compile(rf"{_PRIORITY}\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? \S+ ")
_AFTER_STAMP = r"^.{15} (?P<node>\S+) (?P<message>.*)$"
_ISO_LINE = r"^(?:<\d{1,3}>1? ?)?(?P<time>\d{4}-\d\d-\d\dT\S+) (?P<node>\S+) (?P<message>.*)$"
_SAMPLED = 1 << 16  # bytes from one line that is looked at for its time to the next
_SHOWN = 200


@dataclass
class _Alerts:
    """Alerts as they are found; ``place`` is their number among all stamps that were read."""

    node: list[str] = field(default_factory=list)
    message: list[str] = field(default_factory=list)
    rule: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)


def recognises(content: Content) -> bool:
    """Whether most of the first lines begin with a time and a host."""
    lines = [line for line in content.first_lines(8192)[:-1] if line.strip()][:20]
    hits = sum(bool(_OLD.match(line) or _NEW.match(line)) for line in lines)
    return bool(lines) and 2 * hits > len(lines)


def read(
    contents: Sequence[Content], *, strict: bool = False, timezone: str | None = None,
    rules: str | Path | dict[str, Any] | None = None, year: int | None = None, ends: str = "node",
) -> FailureLog:  # fmt: skip
    """Read alerts.

    Parameters
    ----------
    rules : str, Path or dict, optional
        Patterns and what they mean; relfit's own when left out.
    year : int, optional
        Of the first line, where stamps have none; when left out the last line is taken to be from before the file was
        last changed.
    ends : {"node", "job"}
        What counts as a failure: the end of a node's availability, or that of a job too (an application's XID, a
        contained memory error, a program that the kernel killed).

    A line that a rule matches and that has no time is refused.
    """
    known, records = rules_of(NAME, rules), Records(contents, NAME, check_zone(timezone))
    if year is not None and not 1970 <= int(year) <= 2200:
        raise ArgumentError(f"year={year} is none", remedy="give the year of the first line")
    if ends not in ("node", "job"):
        raise ArgumentError(f"ends={ends!r} is not known", remedy="use node or job")
    without_year = any(_OLD.match(line) for line in contents[0].first_lines(8192))
    reader = _OldStamps(records, known) if without_year else _NewStamps(records, known)
    for content in contents:
        for block in blocks_of_lines(content):
            records.read += block.count + bool(block.too_long)
            if block.too_long:
                records.refuse(content.path, block.too_long, "", "a line of more than a million bytes", "")
            reader.take(content, block)
    times = reader.times(int(year) if year is not None else None)
    alerts = reader.alerts
    at = times[np.array(alerts.place, dtype=np.int64)] if alerts.place else np.empty(0, dtype=np.int64)
    rule = np.array(alerts.rule, dtype=np.int64)
    counted = known.ending(ends)[rule]
    records.funnel += [("lines", records.read), ("alerts", rule.size)]
    records.funnel += [("that end a job", int(known.ending("job")[rule].sum()))]

    def kept(values: Any) -> Any:
        return np.asarray(values, dtype=object)[counted]

    causes = np.array([each.cause for each in known.rules], dtype=object)
    found = Found(
        kept(alerts.node), at[counted], causes[rule[counted]] if rule.size else [],
        np.array(alerts.line, dtype=np.int64)[counted],
        detail=kept(alerts.message),
    )  # fmt: skip
    span = (int(times.min()), int(times.max())) if times.size else None
    return found.log(records, known, span, sorted(alerts.nodes | set(alerts.node)), strict)


class _Stamps:
    """What both kinds of stamps share: lines that match a rule, and one line in every so many for its time."""

    def __init__(self, records: Records, rules: AlertRules) -> None:
        self.records, self.rules, self.alerts = records, rules, _Alerts()
        self.count = 0

    def take(self, content: Content, block: Block) -> None:
        """Look through a block."""
        if not block.data:
            return
        pieces = dict(block.pieces(self.rules.pattern))
        whole = {int(edges[0]): (first, edges) for first, edges in pieces.items()}
        at = 0
        while at < len(block.data):
            if at in whole:
                first, edges = whole[at]
                self._piece(content, block.data, first, edges)
                at = int(edges[-1])
                continue
            end = block.data.find(b"\n", at) + 1
            self._stamp_of(block.data, np.array([at, end]))
            following = block.data.find(b"\n", min(at + _SAMPLED, len(block.data) - 1)) + 1
            at = following if following > at else len(block.data)
        last = block.data.rfind(b"\n", 0, len(block.data) - 1) + 1
        if last not in whole:
            self._stamp_of(block.data, np.array([last, len(block.data)]))

    def _stamp_of(self, data: bytes, edges: IntArray) -> None:
        raise NotImplementedError

    def _piece(self, content: Content, data: bytes, first: int, edges: IntArray) -> None:
        raise NotImplementedError

    def times(self, year: int | None) -> IntArray:
        """All times in nanoseconds since 1970."""
        raise NotImplementedError

    def _keep(self, content: Content, lines: pa.Array, numbers: IntArray, places: IntArray, pattern: str) -> None:
        """Sort out what lines say; `places` is negative where there is no time."""
        fields = pc.extract_regex(lines, pattern=pattern)
        odd = pc.is_null(fields).to_numpy(zero_copy_only=False) | (places < 0)
        for i in np.flatnonzero(odd).tolist():
            self.records.refuse(content.path, int(numbers[i]), "", "no time or no host", lines[i].as_py())
        good = pa.array(~odd)
        messages = pc.struct_field(fields, "message").filter(good)
        self.alerts.node += pc.struct_field(fields, "node").filter(good).to_pylist()
        self.alerts.message += pc.utf8_slice_codeunits(messages, 0, _SHOWN).to_pylist()
        self.alerts.rule += self.rules.first_match(lines.filter(good)).tolist()
        self.alerts.line += numbers[~odd].tolist()
        self.alerts.place += places[~odd].tolist()


class _OldStamps(_Stamps):
    """``Jan  5 10:00:00``."""

    def __init__(self, records: Records, rules: AlertRules) -> None:
        super().__init__(records, rules)
        self.clock = Clock(records.zone)

    def _add(self, data: bytes, begins: IntArray) -> IntArray:
        """Places of the stamps of lines, negative where there is none."""
        shift = np.array([data.find(b">", a, a + 5) + 1 - a if data[a : a + 1] == b"<" else 0 for a in begins.tolist()])
        month, day, second, good = stamps_without_year(data, begins + np.maximum(shift, 0))
        self.clock.add(month[good], day[good], second[good])
        places = np.full(begins.size, -1, dtype=np.int64)
        places[good] = self.count + np.arange(int(good.sum()))
        self.count += int(good.sum())
        return places

    def _stamp_of(self, data: bytes, edges: IntArray) -> None:
        line = data[edges[0] : min(int(edges[1]), int(edges[0]) + 300)].decode(errors="replace")
        if _OLD.match(line):
            self._add(data, edges[:1])
            self.alerts.nodes.add(line.split(">", 1)[-1][16:].split(" ", 1)[0].strip())

    def _piece(self, content: Content, data: bytes, first: int, edges: IntArray) -> None:
        places = self._add(data, edges[:-1])
        lines = texts(data, edges)
        at = np.flatnonzero(pc.match_substring_regex(lines, pattern=self.rules.pattern).to_numpy(zero_copy_only=False))
        chosen = pc.replace_substring_regex(lines.take(pa.array(at)), pattern=r"^<\d{1,3}>", replacement="")
        self._keep(content, chosen, first + at, places[at], _AFTER_STAMP)
        head = data[edges[0] : min(int(edges[1]), int(edges[0]) + 300)].decode(errors="replace")
        if _OLD.match(head):
            self.alerts.nodes.add(head.split(">", 1)[-1][16:].split(" ", 1)[0].strip())

    def times(self, year: int | None) -> IntArray:
        first = year if year is not None else self._first_year()
        times, twice = self.clock.instants(first)
        if twice:
            self.records.notes.append(
                f"{twice} times lie in an hour that comes twice; the order of lines decides, else the first is meant"
            )
        how = "as given" if year is not None else "from when the file was last changed; say it with year=..."
        self.records.notes.append(f"stamps have no year: the first line is of {first}, {how}")
        return times

    def _first_year(self) -> int:
        """The year of the first line by which the last one is not younger than its file."""
        changed = max((content.place.stat().st_mtime for content in self.records.contents if content.place.exists()),
                      default=0.0)  # fmt: skip
        latest = dt.datetime.fromtimestamp(changed, tz=dt.UTC).year - self.clock.rollovers
        times, _ = self.clock.instants(latest)
        return latest - 1 if times.size and times[-1] > (changed + 86_400) * 1e9 else latest


class _NewStamps(_Stamps):
    """ISO 8601, with or without a zone."""

    def __init__(self, records: Records, rules: AlertRules) -> None:
        super().__init__(records, rules)
        self._times: list[IntArray] = []

    def _add(self, lines: pa.Array) -> IntArray:
        fields = pc.extract_regex(lines, pattern=_ISO_LINE)
        found = parse_stamps(pc.struct_field(fields, "time"))
        clock, local = found.clock, found.good & ~found.absolute
        if local.any() and self.records.zone != "UTC":
            naive = since_1970(clock[local]).dt.tz_localize(None)
            clock[local] = localised(naive, self.records.zone).astype("int64").to_numpy()
        places = np.full(len(lines), -1, dtype=np.int64)
        places[found.good] = self.count + np.arange(int(found.good.sum()))
        self.count += int(found.good.sum())
        self._times.append(clock[found.good])
        self.alerts.nodes.update(pc.struct_field(fields, "node").drop_null()[:1].to_pylist())
        return places

    def _stamp_of(self, data: bytes, edges: IntArray) -> None:
        self._add(texts(data, edges))

    def _piece(self, content: Content, data: bytes, first: int, edges: IntArray) -> None:
        lines = texts(data, edges)
        hits = pc.match_substring_regex(lines, pattern=self.rules.pattern).to_numpy(zero_copy_only=False).astype(bool)
        hits[0] = True  # for its time
        at = np.flatnonzero(hits)
        chosen = lines.take(pa.array(at))
        places = self._add(chosen)
        matched = (
            pc.match_substring_regex(chosen, pattern=self.rules.pattern).to_numpy(zero_copy_only=False).astype(bool)
        )
        self._keep(content, chosen.filter(pa.array(matched)), (first + at)[matched], places[matched], _ISO_LINE)

    def times(self, year: int | None) -> IntArray:
        return np.concatenate(self._times) if self._times else np.empty(0, dtype=np.int64)
