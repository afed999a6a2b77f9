"""Syslog and kernel lines of many nodes: ``Jan  5 10:00:00 node kernel: ...``, or with a time in ISO 8601.

Only lines that a rule matches are read (NVIDIA XIDs, kernel panics, machine checks, and those of a user's rules), and
the times of some others, whose order supplies years and resolves doubled hours.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import BoolArray, IntArray, ObjectArray
from relfit.base.errors import ArgumentError
from relfit.base.text import count
from relfit.io.alert_rules import AlertRules, Rules, rules_of
from relfit.io.clock_lines import Clock, stamps_without_year, turns
from relfit.io.parsing.opening import Content
from relfit.io.parsing.stamps import parse_stamps
from relfit.io.parsing.times import check_zone, in_utc
from relfit.io.raw_lines import LineBlock
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.log.failurelog import FailureLog

_NAME = "syslog"
_PRIORITY = r"(?:<\d{1,3}>1? ?)?"
_OLD = re.compile(rf"{_PRIORITY}(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \S+ ")
_NEW = re.compile(rf"{_PRIORITY}\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)? \S+ ")
_OLD_HEAD = r"^(?:<\d{1,3}>)?.{15} (?P<node>\S+) "
_NEW_HEAD = r"^(?:<\d{1,3}>1? ?)?(?P<time>\d{4}-\d\d-\d\dT\S+) (?P<node>\S+) "
_SHOWN = 200
_TOGETHER = 50_000


def _recognises(content: Content) -> bool:
    """Whether most of the first lines begin with a time and a host."""
    lines = [line for line in content.first_lines(8192)[:-1] if line.strip()][:20]
    hits = sum(bool(_OLD.match(line) or _NEW.match(line)) for line in lines)
    return bool(lines) and 2 * hits > len(lines)


def _read(
    contents: Sequence[Content],
    *,
    strict: bool,
    timezone: str | None,
    rules: Rules = None,
    year: int | None = None,
    ends: str = "node",
) -> FailureLog:
    """Read alerts, by relfit's patterns or those of `rules`.

    `year` is that of the first line, where stamps have none; by default the latest by which the last line is not later
    than the last change of its file. By `ends`, a failure is the end of a node's availability ("node"), or also that of
    a job (an application's XID, a contained memory error, a program that the kernel killed).
    """
    alerts, records = rules_of(_NAME, rules), RecordTally(contents, _NAME, check_zone(timezone))
    if year is not None and not 1970 <= int(year) <= 2200:
        raise ArgumentError(f"year={year} is not a year", remedy="give the year of the first line")
    if ends not in ("node", "job"):
        raise ArgumentError(f"ends={ends!r} is not known", remedy="use node or job")
    without_year = any(_OLD.match(line) for line in contents[0].first_lines(8192))
    reader = (_OldStamps if without_year else _NewStamps)(records, alerts, ends)
    for content, block in records.blocks():
        reader.take(content, block)
    times = reader.times(int(year) if year is not None else None)
    node, message, rule, file, line, place = reader.failures()
    again = _in_an_earlier_file(file, times[place], node, message)
    if again.any():
        stand = "line stands" if again.sum() == 1 else "lines stand"
        records.notes.append(
            f"{again.sum():,} {stand} in an earlier file, too (same time, node and text); counted once"
        )
        node, message, rule, line, place = (each[~again] for each in (node, message, rule, line, place))
    records.funnel += [("lines", records.read), ("alerts", reader.alerts), ("that end a job", reader.of_jobs)]
    causes = np.array([each.cause for each in alerts.rules], dtype=object)
    outcome = RawFailures(node, times[place], causes[rule], line, detail=message)
    return outcome.log(records, alerts, times, sorted(reader.nodes), strict)


def _in_an_earlier_file(file: IntArray, time: IntArray, node: ObjectArray, message: ObjectArray) -> BoolArray:
    """Which lines an earlier file has, too; a line that stands twice in one file is two lines."""
    if not np.diff(file).any():
        return np.zeros(file.size, dtype=np.bool_)
    table = pd.DataFrame({"time": time, "node": node, "message": message})
    table["repeat"] = table.groupby([*table, file]).cumcount()
    return table.duplicated().to_numpy()


class _Stamps:
    """Lines that a rule matches, and further ones whose times and hosts are read."""

    head = ""

    def __init__(self, records: RecordTally, rules: AlertRules, ends: str) -> None:
        self.records, self.rules = records, rules
        self.counted, self.ending_jobs = rules.ending(ends), rules.ending("job")
        self.nodes: set[str] = set()
        self.alerts = self.of_jobs = self.count = 0
        self._files: list[Content] = []
        self._times: list[IntArray] = []
        self._waiting: list[tuple[Path, pa.Array, IntArray]] = []  # files, lines and times
        nothing = pa.array([], pa.large_string())
        self._texts = [pa.table({"node": nothing, "message": nothing})]
        self._numbers = [np.empty((4, 0), dtype=np.int64)]  # rule, file, line and time

    def take(self, content: Content, block: LineBlock) -> None:
        """Read a block."""
        if not self._files or content is not self._files[-1]:
            self._files.append(content)
        hits = block.matching(self.rules.pattern)
        rows, places = self._times_of(block, hits)
        sample = rows[(places >= 0) & np.isin(rows, block.sample())]
        self._note_nodes(pc.struct_field(pc.extract_regex(block.texts(sample), pattern=self.head), "node"))
        if hits.size:
            file = np.full(hits.size, len(self._files))
            numbers = np.stack([file, block.first + hits, places[np.searchsorted(rows, hits)]])
            self._waiting.append((content.path, block.texts(hits), numbers))
        if sum(len(lines) for _, lines, _ in self._waiting) > _TOGETHER:
            self._sort_out()

    def _times_of(self, block: LineBlock, hits: IntArray) -> tuple[IntArray, IntArray]:
        """Lines whose times are stored, `hits` among them, and the positions of these times, negative for none."""
        raise NotImplementedError

    def times(self, year: int | None) -> IntArray:
        """All stored times, in nanoseconds since 1970."""
        raise NotImplementedError

    def _placed(self, good: BoolArray) -> IntArray:
        places = np.where(good, self.count + np.cumsum(good) - 1, -1)
        self.count += int(good.sum())
        return places

    def _note_nodes(self, names: pa.Array) -> None:
        self.nodes.update(names.unique().drop_null().to_pylist())

    def _sort_out(self) -> None:
        """Apply the rules to the waiting alerts: many at a time, since each call compiles every pattern again."""
        lines = pa.concat_arrays([lines for _, lines, _ in self._waiting])
        files, numbers, places = np.concatenate([each for _, _, each in self._waiting], axis=1)
        path = np.repeat([str(path) for path, _, _ in self._waiting], [len(lines) for _, lines, _ in self._waiting])
        self._waiting = []
        fields = pc.extract_regex(lines, pattern=self.head)
        odd = pc.is_null(fields).to_numpy(zero_copy_only=False) | (places < 0)
        for i in np.flatnonzero(odd).tolist():
            self.records.refuse(Path(path[i]), int(numbers[i]), "", "no time or no host", lines[i].as_py())
        if odd.any():
            good = pa.array(~odd)
            fields, lines = fields.filter(good), lines.filter(good)
            files, numbers, places = files[~odd], numbers[~odd], places[~odd]
        rule = self.rules.first_match(lines)
        if (rule < 0).any():  # a pattern that needs the end of the line
            some = rule >= 0
            lines, fields = lines.filter(pa.array(some)), fields.filter(pa.array(some))
            rule, files, numbers, places = rule[some], files[some], numbers[some], places[some]
        self.alerts += rule.size
        self.of_jobs += int(self.ending_jobs[rule].sum())
        node = pc.struct_field(fields, "node")
        self._note_nodes(node)
        counted = self.counted[rule]
        message = pc.replace_substring_regex(lines.filter(pa.array(counted)), pattern=self.head, replacement="")
        message = pc.utf8_slice_codeunits(message, 0, _SHOWN)
        self._texts.append(pa.table({"node": node.filter(pa.array(counted)), "message": message}))
        self._numbers.append(np.stack([rule, files, numbers, places])[:, counted])

    def failures(self) -> tuple[Any, Any, IntArray, IntArray, IntArray, IntArray]:
        """Node, message, rule, file, line and position of the time of all alerts that count as failures."""
        if self._waiting:
            self._sort_out()
        table = pa.concat_tables(self._texts)
        node, message = (table[name].to_numpy(zero_copy_only=False) for name in ("node", "message"))
        rule, file, line, place = np.concatenate(self._numbers, axis=1)
        return node, message, rule, file, line, place


class _OldStamps(_Stamps):
    """``Jan  5 10:00:00``: every line is searched for clocks that go back."""

    head = _OLD_HEAD

    def __init__(self, records: RecordTally, rules: AlertRules, ends: str) -> None:
        super().__init__(records, rules, ends)
        self.clock = Clock(records.zone)

    def _times_of(self, block: LineBlock, hits: IntArray) -> tuple[IntArray, IntArray]:
        month, day, second, good = stamps_without_year(block.octets, block.begins)
        rows = np.unique(np.concatenate([hits, block.sample(), turns(month, day, second, good)]))
        dated = rows[good[rows]]
        self.clock.add(month[dated], day[dated], second[dated])
        return rows, self._placed(good[rows])

    def times(self, year: int | None) -> IntArray:
        first = year if year is not None else self._first_year()
        times, twice = self.clock.instants(first)
        if twice:
            lie = count(twice, "time lies", "times lie")
            self.records.notes.append(
                f"{lie} in an hour that comes twice; the order of lines decides, else the first is meant"
            )
        how = "as given" if year is not None else "from when the file was last changed; --year says it"
        self.records.notes.append(f"stamps have no year: the first line is of {first}, {how}")
        return times

    def _first_year(self) -> int:
        """The latest year of the first line by which the last one is not later than its file."""
        changed = max(
            (content.place.stat().st_mtime for content in self.records.contents if content.place.exists()), default=0.0
        )
        latest = dt.datetime.fromtimestamp(changed, tz=dt.UTC).year - self.clock.rollovers
        times, _ = self.clock.instants(latest)
        return latest - 1 if times.size and times[-1] > (changed + 86_400) * 1e9 else latest


class _NewStamps(_Stamps):
    """ISO 8601, with or without a zone."""

    head = _NEW_HEAD

    def _times_of(self, block: LineBlock, hits: IntArray) -> tuple[IntArray, IntArray]:
        rows = np.union1d(hits, block.sample())
        stamps = parse_stamps(pc.struct_field(pc.extract_regex(block.texts(rows), pattern=self.head), "time"))
        self._times.append(in_utc(stamps, self.records.zone).clock[stamps.good])
        return rows, self._placed(stamps.good)

    def times(self, year: int | None) -> IntArray:
        return np.concatenate(self._times) if self._times else np.empty(0, dtype=np.int64)


READER = Reader(_NAME, _recognises, _read, ("rules", "year", "ends"))
