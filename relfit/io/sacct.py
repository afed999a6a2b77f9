"""Slurm's accounting as failures: each run of a job that a node's failure ended (``sacct --parsable2 --duplicates``).

Such a run is one failure, at its end; its steps repeat it and are skipped. The node is the one that ``FailedNode``
names, or the only one of ``NodeList``; of several nodes it is not known which failed, so the failure has the scope
``group`` and no node. The other jobs show which nodes there were. With ``Start`` and ``AllocNodes`` (or ``NNodes``)
a note has the node-hours of these runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.text import number
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.io.alert_rules import Rules, rules_of
from relfit.io.clock_lines import instants_of
from relfit.io.host_lists import Hosts
from relfit.io.parsing.delimited import read_delimited
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import TextTable, as_text_array
from relfit.io.parsing.stamps import parse_stamps
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import check_zone, unsaid
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.log.failurelog import FailureLog

_NAME = "sacct"
_NEEDED = ("JobID", "State", "End", "NodeList")


def _recognises(content: Content) -> bool:
    """Whether the first line is a header of sacct with the columns that are needed."""
    names = content.first_line().strip().split("|")
    return all(name in names for name in _NEEDED)


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None, rules: Rules = None) -> FailureLog:
    """Read failures of nodes; times are in `timezone`, by default UTC. Overlapping exports count a run once."""
    alerts, records = rules_of(_NAME, rules), RecordTally(contents, _NAME, check_zone(timezone))
    failures: dict[tuple[str, int], tuple[str | None, str, int, float]] = {}
    everyone, named_hosts = Hosts(), Hosts()
    edges: list[int] = []
    again = steps = 0
    for content in contents:
        text = as_text(content)
        table = read_delimited(text, "|", quotes=False)
        table.require(_NEEDED, "sacct with JobID, State, End and NodeList")
        rejections = table.rejections
        states = np.array([value.split(" ")[0].rstrip("+") for value in table["State"].tolist()], dtype=object)
        failed = np.isin(states, alerts.states)
        only = {value: everyone.add(value) for value in dict.fromkeys(table["NodeList"].tolist())}
        times = dict[str, IntArray]()
        for name in ("End", "Start"):
            if name not in table.columns:
                continue
            stamps = parse_stamps(as_text_array(table.columns[name]))
            clock = instants_of(stamps, records.zone)
            times[name] = np.where(stamps.good, clock, -1)
            edges += [int(clock[stamps.good].min()), int(clock[stamps.good].max())] if stamps.good.any() else []
            nothing = unsaid(table[name])
            rejections.reject(~stamps.good & ~nothing, "not a date or time", name)
        rejections.reject(failed & (times["End"] < 0), "a failure without an end", "End")
        rejections.reject(table["JobID"] == "", "no job", "JobID")
        good, jobs, lists = rejections.kept, table["JobID"], table["NodeList"]
        spent = _node_hours(table, times)
        named = table["FailedNode"] if "FailedNode" in table.columns else np.full(jobs.size, "", dtype=object)
        for row in np.flatnonzero(failed & good).tolist():
            if "." in jobs[row]:
                steps += 1
                continue
            key = (str(jobs[row]), int(times["End"][row]))
            again += key in failures
            node = named_hosts.add(str(named[row]))
            node = only[lists[row]] or None if node == "" else node
            cause, line = str(states[row]).lower().replace("_", " "), int(rejections.lines[row])
            failures.setdefault(key, (node, cause, line, float(spent[row])))
        records.add(table)
    records.funnel += [("records", records.read), ("of failed nodes", len(failures) + steps + again)]
    for repeats, what in ((steps, "steps of failed jobs say the same again"), (again, "runs are listed twice")):
        records.notes += [f"{repeats} {what}; counted once"] if repeats else []
    lost = np.array([hours for *_, hours in failures.values()])
    if (known := np.isfinite(lost)).any():
        of = "" if known.all() else f" ({known.sum():,} of {lost.size:,} runs)"
        records.notes.append(f"node-hours of the runs that node failures ended: {number(lost[known].sum())}{of}")
    nodes = [node for node, *_ in failures.values()]
    unclear = nodes.count(None)
    if unclear:
        records.notes.append(
            f"{unclear} failures hit one of several nodes, unknown which: of scope group; ask sacct for FailedNode"
        )
    outcome = RawFailures(
        nodes,
        np.array([end for _, end in failures], dtype=np.int64),
        [cause for _, cause, *_ in failures.values()],
        np.array([line for _, _, line, _ in failures.values()], dtype=np.int64),
        scope=["group" if node is None else "node" for node in nodes],
        attributes={"job": [job for job, _ in failures]},
    )
    return outcome.log(records, alerts, edges, list(everyone.names), strict)


def _node_hours(table: TextTable, times: dict[str, IntArray]) -> FloatArray:
    """Nodes times hours of each run; NaN where the table does not say."""
    name = next((name for name in ("AllocNodes", "NNodes") if name in table.columns), None)
    if name is None or "Start" not in times:
        return np.full(times["End"].size, np.nan)
    nodes = np.array([float(text) if text.isdecimal() else np.nan for text in map(str, table[name].tolist())])
    known = (times["Start"] >= 0) & (times["End"] >= times["Start"])
    return np.where(known, nodes * (times["End"] - times["Start"]) / NANOSECONDS_PER_HOUR, np.nan)


READER = Reader(_NAME, _recognises, _read, ("rules",))
