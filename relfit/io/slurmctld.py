"""The log of Slurm's controller: lines on nodes that go down or come back, paired into outages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError
from relfit.io.alert_rules import AlertRules, Rules, rules_of
from relfit.io.clock_lines import in_order
from relfit.io.host_lists import hosts
from relfit.io.parsing.opening import Content
from relfit.io.parsing.stamps import parse_stamps
from relfit.io.parsing.times import check_zone
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.io.up_and_down import outages_between
from relfit.log.failurelog import FailureLog

_NAME = "slurmctld"
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\] ")
_TIME = r"^\[(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)\]"


def _recognises(content: Content) -> bool:
    """Whether most of the first lines begin with a time in brackets."""
    lines = [line for line in content.first_lines(8192)[:-1] if line.strip()][:20]
    return bool(lines) and 2 * sum(bool(_STAMP.match(line)) for line in lines) > len(lines)


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None, rules: Rules = None) -> FailureLog:
    """Read the lines on nodes; times are in `timezone`, by default UTC."""
    alerts, records = rules_of(_NAME, rules), RecordTally(contents, _NAME, check_zone(timezone))
    clocks: list[Any] = []
    node: list[str] = []
    message: list[str] = []
    numbers: list[IntArray] = []  # rule, line and time
    stamps = 0
    for content, block in records.blocks():
        hits = block.matching(alerts.pattern)
        rows = np.union1d(hits, block.sample())
        lines = block.texts(rows)
        parsed = parse_stamps(pc.struct_field(pc.extract_regex(lines, pattern=_TIME), "time"))
        place = np.where(parsed.good, stamps + np.cumsum(parsed.good) - 1, -1)[np.searchsorted(rows, hits)]
        clocks.append(parsed.clock[parsed.good])
        stamps += int(parsed.good.sum())
        said = lines.take(pa.array(np.searchsorted(rows, hits)))
        kinds = alerts.first_match(said)
        lists = _lists(alerts, said, kinds)
        expanded = {text: hosts(text) for text in set(lists)}
        names = [expanded[text] for text in lists]
        size = np.array([len(each) for each in names], dtype=np.int64)
        good = (place >= 0) & (size > 0)
        texts = said.to_pylist()
        for i in np.flatnonzero(~good).tolist():
            records.refuse(content.path, block.first + int(hits[i]), "", "no time or no node", texts[i])
        size = np.where(good, size, 0)
        node += [name for i in np.flatnonzero(good).tolist() for name in names[i]]
        message += [texts[i][:200] for i in np.repeat(np.arange(size.size), size).tolist()]
        numbers.append(np.repeat(np.stack([kinds, block.first + hits, place]), size, axis=1))
    rule, line, place = np.concatenate([np.empty((3, 0), dtype=np.int64), *numbers], axis=1)
    times = in_order(np.concatenate(clocks) if clocks else np.empty(0, dtype=np.int64), records.zone)
    names_of, codes = np.unique(np.array(node, dtype=object).astype(str), return_inverse=True)
    down = np.array([each.state == "down" for each in alerts.rules], dtype=bool)
    outages = outages_between(codes.astype(np.int64), times[place], down[rule])
    records.funnel += [("lines", records.read), ("lines of nodes", int(np.unique(place).size))]
    causes = np.array([each.cause for each in alerts.rules], dtype=object)
    latest = int(times.max()) if times.size else 0
    outcome = RawFailures.of_outages(outages, names_of.tolist(), causes[rule], line, latest, message)
    return outcome.log(records, alerts, times, names_of.tolist(), strict)


def _lists(rules: AlertRules, lines: pa.Array, kinds: IntArray) -> list[str]:
    """The list of hosts in each line, by the group ``node`` of its rule; empty where there is none."""
    lists = np.full(len(lines), "", dtype=object)
    for kind in np.unique(kinds[kinds >= 0]).tolist():
        at = np.flatnonzero(kinds == kind)
        pattern = rules.rules[kind].pattern
        if "(?P<node>" in pattern:
            try:
                fields = pc.extract_regex(lines.take(pa.array(at)), pattern=pattern)
            except pa.ArrowInvalid:
                raise ArgumentError(
                    f"pattern {pattern[:80]!r} has a group without a name", remedy="write (?:...) for it"
                ) from None
            lists[at] = pc.fill_null(pc.struct_field(fields, "node"), "").to_numpy(zero_copy_only=False)
    result: list[str] = lists.tolist()
    return result


READER = Reader(_NAME, _recognises, _read, ("rules",))
