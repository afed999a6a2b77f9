"""Slurm's record of its nodes: ``sacctmgr -P show event``, one row per time that a node was down or drained.

Consecutive rows of a node without a gap are one outage: a node that is down is drained for its repair, or gets a better
reason. It is a failure where it begins with a state of failure, or where the reason of one of its rows names a fault.
Rows without a node are of the complete cluster; where they list its nodes, these are the population.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from relfit.base.errors import ReadError
from relfit.base.text import count
from relfit.io.alert_rules import AlertRules, Rules, rules_of
from relfit.io.host_lists import Hosts
from relfit.io.merging import merge
from relfit.io.parsing.opening import Content
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import check_zone, ends_after, instants, since_1970
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.io.slurm_nodes import MOMENT, down_and_meant, instant
from relfit.log.failurelog import FailureLog
from relfit.log.tables import FAILED_AGAIN

_NAME = "slurm_events"
_NEEDED = ("NodeName", "TimeStart", "TimeEnd", "State", "Reason")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT|\d{5,}$|Unknown$|0$|None$")
_USER = re.compile(r"|[^\s|]+(\(\d+\))?")
_MOST_LINES = 20  # lines of one row, whose reason holds line breaks
_SHOWN = 200
_SECOND = 1_000_000_000
_OPEN = np.iinfo(np.int64).max
_NOT_KNOWN = -1  # an end
_BASES = ("UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE")
_FLAGS = {
    0x200: "DRAIN",
    0x1000: "POWERED_DOWN",
    0x2000: "FAIL",
    0x8000: "MAINT",
    0x10000: "REBOOT_REQUESTED",
    0x40000: "POWERING_DOWN",
    0x100000: "REBOOT_ISSUED",
}


def _state_of_bits(state: int) -> str:
    """The words of a state that the accounting stores as a number."""
    base = state & 0xF
    words = [_BASES[base] if base < len(_BASES) else "UNKNOWN"]
    return "+".join(words + [word for bit, word in _FLAGS.items() if state & bit])


def _recognises(content: Content) -> bool:
    """Whether one of the first two lines is a header of sacctmgr with the columns that are needed."""
    return any(set(_NEEDED) <= set(line.strip().split("|")) for line in content.first_lines(4096)[:2])


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None, rules: Rules = None) -> FailureLog:
    """Read events; a line with only a date is the time of the export."""
    records = RecordTally(contents, _NAME, check_zone(timezone))
    rows: list[dict[str, object]] = []
    moments = [moment for content in contents for moment in _rows(content, records, rows)]
    taken = [at for moment in moments if (at := instant(moment, records.zone)) is not None]
    return log_of_node_events(rows, records, rules, strict=strict, until=max(taken, default=None))[0]


def read_node_events(
    content: Content, rules: Rules = None, *, until: int, since: int | None = None
) -> tuple[FailureLog, int]:
    """Read events printed at the moment `until`, in UTC; the rest as for `log_of_node_events`."""
    records = RecordTally([content], _NAME, "UTC")
    rows: list[dict[str, object]] = []
    _rows(content, records, rows)
    return log_of_node_events(rows, records, rules, until=until, since=since)


def _rows(content: Content, records: RecordTally, rows: list[dict[str, object]]) -> list[str]:
    """Add the rows of a file to `rows`; returns the dates between them. A reason may hold delimiters and line ends."""
    text = as_text(content)
    records.notes += [note for note in text.notes if note not in records.notes]
    header: list[str] = []
    moments: list[str] = []
    pending: list[str] = []
    begin = 0

    def finish() -> None:
        """Join the first pending lines that make a row; reject the others."""
        joined = (" ".join(pending[: size + 1]) for size in range(len(pending)))
        parts = [_fields(text, header) for text in joined]
        size = next((i for i, part in enumerate(parts) if part and _USER.fullmatch(part.get("User", ""))), -1) + 1
        if size:
            rows.append({**(parts[size - 1] or {}), "line": begin, "file": content.path})
        for at in range(size, len(pending)):
            records.refuse(content.path, begin + at, "", "not the fields that the header names", pending[at])
        records.read += bool(size) + len(pending) - size
        pending.clear()

    for number, line in enumerate(text.data.decode().split("\n"), 1):
        line = line.removesuffix("\r")
        stamp, names = MOMENT.match(line), [name.replace(" ", "") for name in line.split("|")]
        is_header = set(_NEEDED) <= set(names)
        if is_header or stamp or _begins(line, header) or len(pending) == _MOST_LINES:
            finish()
        if is_header:
            header = names
        elif stamp:
            moments.append(stamp[1])
        elif not header:
            raise content.error(
                "no header names NodeName, TimeStart, TimeEnd, State and Reason",
                "write it with `sacctmgr -P show event`, without -n",
            )
        elif line.strip():
            begin = begin if pending else number
            pending.append(line)
    finish()
    return moments


def _begins(line: str, header: list[str]) -> bool:
    """Whether a line begins a row: the fields of times before its reason are times."""
    at = header.index("Reason") if header else 0
    fields = line.split("|")[:at]
    pairs = [pair for pair in zip(header, fields, strict=False) if pair[0] in ("TimeStart", "TimeEnd")]
    return len(fields) == at > 0 and all(_STAMP.match(text) for _, text in pairs)


def _fields(line: str, header: list[str]) -> dict[str, str] | None:
    """The fields of a row by name; surplus delimiters belong to the reason."""
    fields, at = line.split("|"), header.index("Reason")
    extra = len(fields) - len(header)
    if extra < 0:
        return None
    fields[at : at + extra + 1] = ["|".join(fields[at : at + extra + 1])]
    return dict(zip(header, fields, strict=True))


def log_of_node_events(
    rows: Sequence[Mapping[str, object]],
    records: RecordTally,
    rules: Rules = None,
    *,
    strict: bool = False,
    until: int | None = None,
    since: int | None = None,
) -> tuple[FailureLog, int]:
    """The failures among events of nodes, one system per cluster, and the start of the oldest outage in progress.

    `rows` have sacctmgr's names of columns, with ``line`` and ``file``; times are stamps or seconds since 1970. `until`
    is the time of the export in nanoseconds since 1970, by default the last instant in the rows; outages that begin
    before `since` are left out. A `ReadError` when no row is an event, or `strict` and a row is rejected.
    """
    alerts = rules_of(_NAME, rules)
    events = _checked(pd.DataFrame(list(rows), dtype=object), records) if rows else pd.DataFrame()
    if not len(events):
        raise ReadError("no row is an event", path=records.contents[0].path, remedy="leave out format")
    last = int(np.maximum(events["start"], events["end"].where(events["end"] != _OPEN, 0)).max())
    last = last if until is None else until
    first = min(max(int(events["start"].min()), since or 0), last)
    logs, oldest = [], last
    for cluster, own in events[events["start"] <= last].groupby("cluster", sort=True):
        of_nodes = own[own["node"] != ""]
        of_nodes = of_nodes.assign(known=of_nodes["end"].where(of_nodes["end"] != _OPEN, _NOT_KNOWN))
        of_nodes = of_nodes.sort_values(["node", "start", "known"], kind="stable", ignore_index=True)
        outages = _outages(of_nodes, alerts, records)
        oldest = min([oldest, *outages.loc[outages["end"] > last, "start"]])
        outages = outages[outages["failed"] & (outages["start"] >= first)]
        people = _population(own, of_nodes, first, last)
        still = outages["end"].to_numpy() > last
        outcome = RawFailures(
            outages["node"].to_numpy(),
            outages["start"].to_numpy(np.int64),
            outages["cause"].to_numpy(),
            outages["line"].to_numpy(np.int64),
            np.where(still, last, outages["end"]).astype(np.int64),
            end_cut=still,
            detail=outages["detail"].to_numpy(),
            system=str(cluster),
        )
        spans = (people["entered"].to_numpy(np.int64), people["left"].to_numpy(np.int64))
        listed = people["listed"].to_numpy(bool)
        logs.append(
            outcome.log(records, alerts, (first, last), list(people.index), strict, watched=spans, listed=listed)
        )
        records = RecordTally(records.contents, _NAME, records.zone)  # for the next cluster: all rows are counted
    return logs[0] if len(logs) == 1 else merge(logs), oldest


def _checked(rows: pd.DataFrame, records: RecordTally) -> pd.DataFrame:
    """Rows with times as nanoseconds and states as words; those with invalid times are rejected."""
    rows = rows.rename(columns={"NodeName": "node", "Reason": "reason"})
    if "StateRaw" in rows:
        bits = {raw: _state_of_bits(int(raw)) for raw in set(rows["StateRaw"]) if str(raw).isdecimal()}
        rows["State"] = rows["StateRaw"].map(bits).fillna(rows["State"])
    good = np.ones(len(rows), dtype=bool)
    for name, column in (("start", "TimeStart"), ("end", "TimeEnd")):
        text = rows[column].astype(str)
        nothing = text.isin(["Unknown", "None", "0", ""])
        times, bad = instants(pa.array(text.mask(nothing, ""), pa.large_string()), records.zone)
        if name == "end":
            times = ends_after(since_1970(rows["start"].to_numpy(np.int64)), times, records.zone)
        rows[name] = np.where(times.isna(), _OPEN, times.astype("int64"))
        for row in np.flatnonzero(good & (bad | (nothing.to_numpy() if name == "start" else False))).tolist():
            good[row] = False
            records.refuse(rows["file"][row], int(rows["line"][row]), column, "not a date or time", text[row])
    good &= ~(back := good & (rows["end"] < rows["start"]).to_numpy())
    for row in np.flatnonzero(back).tolist():
        records.refuse(
            rows["file"][row], int(rows["line"][row]), "TimeEnd", "the end lies before the start", rows["TimeEnd"][row]
        )
    rows["cluster"] = rows["Cluster"].replace("", "system") if "Cluster" in rows else "system"
    rows["nodes"] = rows.get("ClusterNodes", "")
    rows["reason"] = rows["reason"].astype(str).str.split().str.join(" ")
    return rows.loc[good, ["cluster", "node", "start", "end", "State", "reason", "nodes", "line"]]


def _outages(events: pd.DataFrame, rules: AlertRules, records: RecordTally) -> pd.DataFrame:
    """Rows of nodes, sorted by node and time, as outages: a failure is named by the first row that makes it one."""
    node, start, end = (events[name].to_numpy() for name in ("node", "start", "end"))
    apart = np.ones(len(events), dtype=bool)
    apart[1:] = node[1:] != node[:-1]
    # Slurm ends a row when the node's next one begins: one without an end that is not the last was exported before it
    last = np.append(apart[1:], True)
    end = np.where((end == _OPEN) & ~last, _NOT_KNOWN, end)
    reach = events["end"].where(end != _NOT_KNOWN, events["start"]).groupby(events["node"]).cummax().to_numpy()
    # where an outage continues in another row, Slurm ends the first at that row's start or a second before
    apart[1:] |= start[1:] > reach[:-1] + _SECOND
    outage = np.cumsum(apart) - 1
    states = {text: down_and_meant(text, rules) for text in events["State"].unique()}
    texts = events["reason"].unique()
    matches = dict(zip(texts, rules.first_match(pa.array(texts, pa.string())).tolist(), strict=True))
    match = events["reason"].map(matches).to_numpy(np.int64)
    planned = np.array([*(rule.ends == "nothing" for rule in rules.rules), False], dtype=bool)[match]
    drained = np.array([*(rule.state == "drain" for rule in rules.rules), False], dtype=bool)[match]
    down, meant = np.array([states[text] for text in events["State"]], dtype=bool).reshape(-1, 2).T
    names = np.array([*(rule.cause for rule in rules.rules), ""], dtype=object)[match]
    cause = np.where(names == "", events["reason"].str[:_SHOWN].replace("", "unknown"), names)
    opens = np.flatnonzero(apart)
    counts = np.flatnonzero(((apart & down) | drained) & ~planned & ~meant)
    named = opens.copy()
    failed, at = np.unique(outage[counts], return_index=True)
    named[failed] = counts[at]
    ends = np.maximum.reduceat(end, opens) if opens.size else end
    records.funnel += [("records", records.read), ("of nodes", len(events)), ("outages", opens.size)]
    if opens.size > failed.size:
        records.notes.append(
            f"{count(opens.size - failed.size, 'outage')} by wish (drained, in maintenance): no failure"
        )
    lost = int((ends[outage[counts]] == _NOT_KNOWN).sum())
    if lost:
        records.notes.append(f"{count(lost, 'outage')} {FAILED_AGAIN}")
    return pd.DataFrame(
        {
            "node": node[opens],
            "start": start[opens].astype(np.int64),
            "end": ends.astype(np.int64),
            "failed": np.isin(np.arange(opens.size), failed),
            "cause": cause[named],
            "detail": events["reason"].str[:_SHOWN].to_numpy()[named],
            "line": events["line"].to_numpy()[named],
        }
    )


def _population(own: pd.DataFrame, of_nodes: pd.DataFrame, first: int, last: int) -> pd.DataFrame:
    """When each node was part of the cluster, by the rows without a node; a node that is not listed, all along."""
    entered: dict[str, int] = {}
    left: dict[str, int] = {}
    lists = own[(own["node"] == "") & (own["nodes"] != "")].sort_values("start")
    for start, end, names in zip(lists["start"], lists["end"], lists["nodes"], strict=True):
        hosts = Hosts()
        hosts.add(names)
        for name in hosts.names:
            entered.setdefault(name, max(first, start))
            left[name] = min(last, end)
    people = pd.DataFrame({"entered": entered, "left": left}, dtype=object)
    people["listed"] = True
    others = pd.Index(of_nodes["node"].unique()).difference(people.index)
    return pd.concat([people, pd.DataFrame({"entered": first, "left": last, "listed": False}, index=others)])


READER = Reader(_NAME, _recognises, _read, ("rules",))
