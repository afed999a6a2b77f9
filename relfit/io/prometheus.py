"""Range exports of Prometheus: samples of ``up`` (1 or 0) by instance, as JSON of its API or as CSV.

A CSV has one row per sample or, as Grafana writes it, one row per time and one column per series. A node is down from
the first sample of 0 to the next of 1. One that is down at its first sample was down before: that is no failure. Where
samples are missing the node was not observed and no failure is counted; a note says how many hours count as up. A node
is a host, without a port: it is down while all of its exporters are, as where it is watched.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from relfit.base.arrays import FloatArray, IntArray, ObjectArray
from relfit.base.numeric.ordering import changes
from relfit.base.text import count, number, percent
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.io.clock_lines import instants_of
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import TextTable, as_numbers, as_text_array
from relfit.io.parsing.stamps import parse_stamps
from relfit.io.parsing.table_rows import rows_of
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import check_zone
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.io.up_and_down import outages_between, states
from relfit.log.failurelog import FailureLog
from relfit.log.tables import COUNT_AS_UP

_NAME = "prometheus"
_GAP = 2.5  # usual sampling steps; a longer step is a gap
_FEW = 2  # steps of a node that do not say what is usual
_LARGEST = 8.8e9
_TIMES = ("timestamp", "time")
_LABELS = re.compile(r"""(?:[a-z_:]+)?\{.*\}""", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(r"""\b(?:instance|node|nodename|hostname)="([^"]+)\"""")
_PORT = re.compile(r"(?P<host>[^:]+|\[.+\]):\d{1,5}")
_ADDRESS = re.compile(r"[\w.-]+:\d{1,5}|\[[0-9a-f:.]+\]:\d{1,5}", re.IGNORECASE)


def _recognises(content: Content) -> bool:
    """Whether this is a matrix of the API, or a CSV of time and value by instance, metric or column.

    The columns of a wide one are named by labels (``{instance="n1:9100", job="node"}``) or addresses (``n1:9100``).
    """
    line = content.first_line().strip()
    if line.startswith("{"):
        head = "".join(content.first_lines(2048)).replace(" ", "")
        return '"resultType":"matrix"' in head
    try:
        header = [name.strip() for name in next(csv.reader([line]))]
    except csv.Error:
        return False
    names = {name.lower() for name in header}
    if not names & set(_TIMES):
        return False
    if "value" in names and names & {"instance", "metric"}:
        return "instance" in names or any(_LABELS.search(text) for text in content.first_lines()[1:8])
    series = [name for name in header if name.lower() not in _TIMES]
    return bool(series) and all(_LABELS.fullmatch(name) or _ADDRESS.fullmatch(name) for name in series)


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None) -> FailureLog:
    """Read samples; a value that is neither 0 nor 1 is rejected."""
    records = RecordTally(contents, _NAME, check_zone(timezone))
    parts = [
        _api(content, records) if content.first_line().lstrip().startswith("{") else _table(content, records)
        for content in contents
    ]
    names, time, value, line = (np.concatenate([part[i] for part in parts]) for i in range(4))
    targets, codes = np.unique(names.astype(str), return_inverse=True)
    nodes, samples = _of_hosts(targets.astype(object), codes, time, value, line, records)
    codes, time, value, line = (samples[name].to_numpy() for name in ("node", "time", "value", "line"))
    return log_of_samples(nodes, codes, time, value, line, records, strict=strict)


def _of_hosts(
    targets: ObjectArray, codes: IntArray, time: IntArray, value: FloatArray, line: IntArray, records: RecordTally
) -> tuple[ObjectArray, pd.DataFrame]:
    """Hosts, and their samples by number of the ``node``; of several exporters on one, the highest of each step."""
    hosts = [match["host"] if (match := _PORT.fullmatch(name)) else name for name in targets.tolist()]
    nodes, host = np.unique(np.array(hosts, dtype=object), return_inverse=True)
    ported = [(name, short) for name, short in zip(targets.tolist(), hosts, strict=True) if name != short]
    if ported:
        records.notes.append(f"nodes are named without their ports: {ported[0][0]!r} is {ported[0][1]!r}")
    table = pd.DataFrame({"target": codes, "node": host[codes], "time": time, "value": value, "line": line})
    several = np.flatnonzero(np.bincount(host, minlength=nodes.size) > 1)
    if not several.size:
        return nodes, table
    have = f"{count(several.size, 'node has', 'nodes have')} several exporters"
    records.notes.append(f"{have}: such a node is down while all of them are")
    table = table.sort_values(["target", "time"], kind="stable")
    by_target = table.groupby("target")["time"]
    step = by_target.diff().groupby(table["target"]).median()
    step = step.groupby(host[step.index.to_numpy()]).max().fillna(1.0).clip(lower=1.0)  # of a host, the longest
    first, each = by_target.transform("min"), table["node"].map(step)
    begun = table.groupby("node")["time"].transform("min")
    table["step"] = ((table["time"] - first) / each).round() + ((first - begun) / each).floordiv(1.0)
    together = table["node"].isin(several)
    joined = (
        table[together].groupby(["node", "step"], as_index=False).agg({"time": "min", "value": "max", "line": "min"})
    )
    return nodes, pd.concat([table[~together], joined])


def log_of_samples(
    nodes: ObjectArray,
    codes: IntArray,
    time: IntArray,
    value: FloatArray,
    line: IntArray,
    records: RecordTally,
    *,
    strict: bool = False,
    system: str = "system",
) -> FailureLog:
    """The log of the outages in samples: numbers of nodes, nanoseconds since 1970, values 0 (down) or 1."""
    order = np.lexsort((-value, time, codes))
    codes, time, value, line = codes[order], time[order], value[order], line[order]
    once = changes(codes, time)
    codes, time, value, line = codes[once], time[once], value[once], line[once]
    step = np.diff(time)
    within = codes[1:] == codes[:-1]
    of_node = pd.Series(step[within]).groupby(codes[1:][within])
    usual = np.zeros(step.size)  # of a node; with few samples, of all
    usual[within] = of_node.transform("median").where(of_node.transform("size") > _FEW, of_node.obj.median())
    gap = np.zeros(time.size, dtype=bool)
    gap[1:] = within & (step > _GAP * usual)
    # a gap separates two stretches: no outage reaches across it
    new = gap.copy()
    new[1:] |= ~within
    stretch = np.cumsum(new)
    outages = outages_between(stretch, time, value == 0)
    records.funnel += [("samples", records.read), ("that say down", int((value == 0).sum()))]
    if gap.any():
        hours, watched = (steps.sum() / NANOSECONDS_PER_HOUR for steps in ((step - usual)[gap[1:]], step[within]))
        share = f"{number(hours)} of {number(watched)} node-hours ({percent(hours / watched)})"
        gaps = f"{count(int(gap.sum()), 'gap')} between samples, to be cut off with --since and --until if long"
        records.notes.append(f"{gaps}: {share} {COUNT_AS_UP}")
    last_of = np.append(np.flatnonzero(new[1:]), time.size - 1)  # the last sample of each stretch
    names_of = nodes[codes[last_of]].tolist() if time.size else []
    until = time[last_of][outages.node] if time.size else time
    outcome = RawFailures.of_outages(outages, names_of, np.full(time.size, "down"), line, until)
    outcome.system = system
    # down at the first sample, or on both sides of a gap: the start was not observed
    unseen = np.ones(time.size, dtype=bool)
    unseen[1:] = ~within | (gap[1:] & (value[:-1] == 0))
    outcome.start_cut = unseen[outages.row]
    first = np.searchsorted(codes, np.arange(nodes.size))
    last = np.searchsorted(codes, np.arange(nodes.size), side="right") - 1
    watched = (time[first], time[last])
    return outcome.log(records, None, time, nodes.tolist(), strict, watched=watched, listed=True)


def _api(content: Content, records: RecordTally) -> tuple[ObjectArray, IntArray, FloatArray, IntArray]:
    try:
        results = json.loads(as_text(content).data)["data"]["result"]
        series = [(dict(each["metric"]), list(each["values"])) for each in results]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise content.error("this is not a matrix of Prometheus", "export query_range") from None
    names: list[str] = []
    samples: list[tuple[str, str]] = []
    for metric, values in series:
        name = str(metric.get("instance") or metric.get("node") or json.dumps(metric, sort_keys=True))
        for pair in values:
            good = isinstance(pair, list) and len(pair) == 2
            samples.append((str(pair[0]), str(pair[1])) if good else ("", ""))
            names.append(name)
    seconds, value = (as_numbers([pair[i] for pair in samples]) for i in (0, 1))
    return _checked(content, records, np.array(names, dtype=object), seconds, value, np.arange(1, len(names) + 1))


def _table(content: Content, records: RecordTally) -> tuple[ObjectArray, IntArray, FloatArray, IntArray]:
    table = rows_of(content)
    column = {name.lower(): name for name in table.header}
    when = next((column[name] for name in _TIMES if name in column), None)
    series = [name for name in table.header if name != when]
    if when is None or not series:
        raise content.error(
            "this is not a table of samples",
            "it needs columns time, instance and value, or time and one for each series",
        )
    seconds, line = _seconds(table, when, records.zone), table.rejections.lines
    records.add(table)
    records.read -= line.size  # samples are counted below
    by = next((column[name] for name in ("instance", "metric") if name in column and "value" in column), None)
    if by is not None:
        return _checked(content, records, _instances(table[by]), seconds, _values(table[column["value"]]), line)
    cells = np.concatenate([table[name] for name in series])
    there = np.flatnonzero(cells != "")  # an empty cell is no sample
    names = np.repeat(_instances(np.array(series, dtype=object)), line.size)[there]
    seconds, line = np.tile(seconds, len(series))[there], np.tile(line, len(series))[there]
    return _checked(content, records, names, seconds, _values(cells[there]), line)


def _seconds(table: TextTable, when: str, zone: str) -> FloatArray:
    """Seconds since 1970, from numbers, which may be milliseconds, and from time stamps."""
    stamp, numbers = table.columns[when], as_numbers(table[when])
    if pa.types.is_timestamp(stamp.type):
        stamp = pa.chunked_array([as_text_array(stamp)])
    stamps = parse_stamps(as_text_array(stamp))
    seconds = np.where(np.isfinite(numbers), numbers, np.where(stamps.good, instants_of(stamps, zone) / 1e9, np.nan))
    return np.where(np.isfinite(numbers) & (np.abs(seconds) > 1e11), seconds / 1000.0, seconds)


def _values(cells: ObjectArray) -> FloatArray:
    """Numbers, or the words that Grafana may show for them."""
    value = as_numbers(cells)
    odd = np.flatnonzero(np.isnan(value))
    if odd.size:
        down, is_state = states(cells[odd])
        value[odd] = np.where(is_state, np.where(down, 0.0, 1.0), np.nan)
    return value


def _instances(names: ObjectArray) -> ObjectArray:
    """The instance in the labels of a series; a name without labels unchanged."""
    instances = {name: match[1] if (match := _LABEL.search(name)) else name for name in dict.fromkeys(names.tolist())}
    return np.array([instances[name] for name in names.tolist()], dtype=object)


def _checked(
    content: Content, records: RecordTally, names: ObjectArray, seconds: FloatArray, value: FloatArray, line: IntArray
) -> tuple[ObjectArray, IntArray, FloatArray, IntArray]:
    good = np.isfinite(seconds) & (np.abs(seconds) < _LARGEST) & np.isin(value, (0.0, 1.0)) & (names != "")
    for row in np.flatnonzero(~good).tolist():
        records.refuse(content.path, int(line[row]), "", "not a time and 0 or 1", f"{names[row]} {value[row]}")
    records.read += names.size
    return names[good], np.round(seconds[good] * 1e3).astype(np.int64) * 1_000_000, value[good], line[good]


READER = Reader(_NAME, _recognises, _read)
