"""Snapshots of Slurm's nodes: ``scontrol show node`` (one or many) and ``sinfo -R``.

A node in a failed state is down since the time of its reason. The next snapshot in which it is up ends the outage;
without one the outage is in progress. An outage that ended before the first snapshot is in none, so observation begins
with that snapshot: nodes that are down in it were down before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from relfit.io.alert_rules import AlertRules, Rules, rules_of
from relfit.io.clock_lines import instants_of
from relfit.io.host_lists import hosts
from relfit.io.parsing.opening import Content
from relfit.io.parsing.stamps import parse_stamps
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import check_zone
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.log.failurelog import FailureLog

_NAME = "slurm_nodes"
_NODE = re.compile(r"^\s*NodeName=(?P<name>\S+)")
_KEY = re.compile(r"(?<!\S)([A-Z][A-Za-z]*)=")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_STATE = re.compile(r"[a-zA-Z_+]+[*~#!%$@^-]?")
_HEADER = re.compile(r"^REASON\s+USER\s+TIMESTAMP\s+(?:(?P<state>STATE)\s+)?NODELIST\s*$")
MOMENT = re.compile(
    r"^#?\s*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d (?:UTC |GMT )?\d{4})\s*$"
)
_ALL_COUNT = "nodes that are drained count as failed: `sinfo -R` lists them too, `sinfo -lR` says which they are"
_SIGNS = "*~#!%$@^-"
_Look = tuple[int, list[dict[str, Any]], bool]
_TOLD = ("ReasonTime", "LastBusyTime", "SlurmdStartTime", "BootTime")


def _recognises(content: Content) -> bool:
    """Whether the first lines hold a node of scontrol, or the header of sinfo -R."""
    lines = [line for line in content.first_lines(4096) if line.strip()][:3]
    return any(_NODE.match(line) or _HEADER.match(line) for line in lines)


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None, rules: Rules = None) -> FailureLog:
    """Read snapshots, in the order of their times; a line with only a date is the time of the next one."""
    alerts, records = rules_of(_NAME, rules), RecordTally(contents, _NAME, check_zone(timezone))
    looks: list[_Look] = []
    for content in contents:
        text = as_text(content)
        records.notes += [note for note in text.notes if note not in records.notes]
        lines = text.data.decode().split("\n")
        headers = [header for line in lines[:5] if (header := _HEADER.match(line))]
        sinfo = bool(headers)
        if sinfo and headers[0]["state"] is None and _ALL_COUNT not in records.notes:
            records.notes.append(_ALL_COUNT)
        for moment, nodes in _sinfo(lines, content, records) if sinfo else _scontrol(lines, content, records):
            for each in nodes:
                each["since"] = instant(each["since"], records.zone)
                each["down"], meant = down_and_meant(each["state"], alerts)
                each["failed"] = each["down"] and not meant
            _apply_rules(nodes, alerts)
            times = [each["since"] for each in nodes if each["since"] is not None]
            told = [instant(each["told"], records.zone) for each in nodes if each["told"]]
            at = instant(moment, records.zone)
            latest = at if at is not None else max([*times, *(t for t in told if t is not None)], default=None)
            if latest is None and nodes:
                raise content.error(
                    "nothing tells when this was taken",
                    "put the date on a line of its own before it, as `date -Is; scontrol show node` does",
                )
            if latest is not None:
                looks.append((latest, nodes, sinfo))
    looks.sort(key=lambda look: look[0])
    return _log(looks, alerts, records, strict)


def _log(looks: list[_Look], rules: AlertRules, records: RecordTally, strict: bool) -> FailureLog:
    down: dict[str, dict[str, Any]] = {}
    outages: list[dict[str, Any]] = []
    everyone: dict[str, None] = {}
    for moment, nodes, only_failed in looks:
        if only_failed:  # a node that is not listed is up again
            named = {each["name"] for each in nodes}
            for name in [name for name in down if name not in named]:
                down.pop(name)["end"] = moment
        for each in nodes:
            name = each["name"]
            everyone[name] = None
            begun = each["since"] if each["since"] is not None else moment
            open_now = down.get(name)
            if each["failed"] and (open_now is None or begun > open_now["start"]):
                if open_now is not None:  # it came back in between, unobserved
                    open_now["end"] = -1
                down[name] = {**each, "start": begun, "end": None}
                outages.append(down[name])
            elif not each["down"] and open_now is not None:
                open_now["end"] = moment
                del down[name]
    first, last = (looks[0][0], looks[-1][0]) if looks else (0, 0)
    records.funnel += [
        ("records", records.read),
        ("of failed nodes", sum(each["failed"] for look in looks for each in look[1])),
    ]
    start = np.array([each["start"] for each in outages], dtype=np.int64)
    end = np.array([last if each["end"] is None else each["end"] for each in outages], dtype=np.int64)
    before = start < first if len(looks) > 1 else np.ones(start.size, dtype=bool)
    since = pd.to_datetime(start, utc=True).strftime("since %Y-%m-%d %H:%M:%S UTC")
    outcome = RawFailures(
        [each["name"] for each in outages],
        np.maximum(start, first),
        [each["reason"] or "unknown" for each in outages],
        np.array([each["line"] for each in outages], dtype=np.int64),
        end,
        start_cut=before,
        end_cut=np.array([each["end"] is None for each in outages], dtype=bool),
        detail=np.where(before, since, ""),
    )
    listed = not all(only_failed for _, _, only_failed in looks)
    return outcome.log(records, rules, [moment for moment, _, _ in looks], list(everyone), strict, listed=listed)


def down_and_meant(state: str, rules: AlertRules) -> tuple[bool, bool]:
    """Whether a state is one of failure, and whether a word or sign in it says that it was planned."""
    words = {word.rstrip(_SIGNS).upper() for word in state.split("+")}
    meant = rules.excused & {*words, *(sign for sign in state if sign in _SIGNS)}
    return not words.isdisjoint(rules.states), bool(meant)


def _apply_rules(nodes: list[dict[str, Any]], rules: AlertRules) -> None:
    """Name causes by the rules, by which a drained node may count as failed, too."""
    matches = rules.first_match(pa.array([each["reason"] for each in nodes], pa.string())).tolist()
    for each, match in zip(nodes, matches, strict=True):
        if match >= 0:
            rule = rules.rules[match]
            drained = rule.state == "drain" and "DRAIN" in each["state"].upper()
            each["failed"] = rule.ends == "node" and (each["failed"] or drained)
            each["down"] |= each["failed"]
            each["reason"] = rule.cause


def _scontrol(lines: list[str], content: Content, records: RecordTally) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each snapshot with its date; a record is all lines from NodeName to the next."""
    moment, begin = "", 0
    nodes: list[dict[str, Any]] = []
    record: list[str] = []
    seen: set[str] = set()
    for number, line in enumerate([*lines, "NodeName="], 1):
        stamp = MOMENT.match(line)
        starts = line.lstrip().startswith("NodeName=")
        if (starts or stamp or not line.strip()) and record:
            each = _node(record, begin, content, records)
            record = []
            if each is not None:
                if each["name"] in seen:  # the same node again: the next snapshot
                    yield moment, nodes
                    moment, nodes, seen = "", [], set()
                nodes.append(each)
                seen.add(each["name"])
        if stamp:
            if nodes:
                yield moment, nodes
            moment, nodes, seen = stamp[1], [], set()
        elif starts and number <= len(lines):
            record, begin = [line.strip()], number
        elif record and line.strip():
            record.append(line.strip())
        elif line.strip() and number <= len(lines):
            records.read += 1
            records.refuse(content.path, number, "", "belongs to no node", line)
    if nodes:
        yield moment, nodes


def _node(record: list[str], line: int, content: Content, records: RecordTally) -> dict[str, Any] | None:
    records.read += 1
    fields: dict[str, str] = {}
    for text in record:
        if text.startswith("Reason="):  # free text
            fields["Reason"] = text.removeprefix("Reason=")
            continue
        keys = list(_KEY.finditer(text))
        for key, end in zip(keys, [*(key.start() for key in keys[1:]), len(text)], strict=False):
            fields[key[1]] = text[key.end() : end].rstrip()
    if not fields.get("NodeName") or not fields.get("State"):
        records.refuse(content.path, line, "", "no name or no state", " ".join(record))
        return None
    reason, since = _reason_and_time(fields.get("Reason", ""))
    told = [fields[name] for name in _TOLD if fields.get(name, "")[:2] in ("19", "20", "21")]
    return {
        "name": fields["NodeName"],
        "state": fields["State"].split()[0],
        "reason": reason,
        "since": since,
        "told": max(told, default=""),
        "line": line,
    }


def _reason_and_time(text: str) -> tuple[str, str]:
    """A reason and when it was given: ``power [root@2024-05-01T00:00:00]``."""
    body = text.rstrip()
    begin = body.find("[", body.rfind("]", 0, -1) + 1)
    time = body[begin + 1 : -1].partition("@")[2]
    return (body[:begin].rstrip(), time) if begin >= 0 and body.endswith("]") and time else (text, "")


def _columns(line: str) -> tuple[str, str, str, str] | None:
    """Reason, time, state and nodes of a line of sinfo, from its last words; the state may be missing."""
    line = f".{line}"  # the reason may be empty
    words = line.rsplit(None, 4)
    if len(words) == 5 and _TIME.fullmatch(words[2]) and _STATE.fullmatch(words[3]):
        return words[0][1:].strip(), words[2], words[3], words[4]
    words = line.rsplit(None, 3)
    if len(words) == 4 and _TIME.fullmatch(words[2]):
        return words[0][1:].strip(), words[2], "DOWN", words[3]
    return None


def _sinfo(lines: list[str], content: Content, records: RecordTally) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    moment = ""
    nodes: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        stamp = MOMENT.match(line)
        if stamp or _HEADER.match(line):
            if nodes:
                yield moment, nodes
            moment, nodes = stamp[1] if stamp else moment if not nodes else "", []
            continue
        if not line.strip():
            continue
        records.read += 1
        row = _columns(line)
        if row is None:
            records.refuse(content.path, number, "", "not a reason, user, time and list of nodes", line)
            continue
        reason, since, state, names = row
        nodes += [
            {"name": name, "state": state, "reason": reason, "since": since, "told": "", "line": number}
            for name in hosts(names)
        ]
    if nodes or moment:
        yield moment, nodes


def instant(text: str, zone: str) -> int | None:
    """Nanoseconds since 1970 of a time stamp; None for an invalid one."""
    stamps = parse_stamps(pa.array([text or None], pa.string()))
    return int(instants_of(stamps, zone)[0]) if stamps.good[0] else None


READER = Reader(_NAME, _recognises, _read, ("rules",))
