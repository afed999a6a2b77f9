"""`fleet_alarms`: changes in a fleet, at a stated number of false alarms per year.

Every detector goes through the log day by day, with what was known on each day: the same records give the same alarms,
whatever rounds there were. The false alarms allowed are shared out between detectors (`SHARES`) and their parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, positive, whole
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, number, percent, system_named
from relfit.fleet.surveillance import (
    RateEpisode,
    Streams,
    WatchedFleet,
    failed_repairs,
    failures_ahead,
    missed_counts,
    nodes_standing_out,
    rate_changes,
    slower_repairs,
    wide_incidents,
)
from relfit.live.live_records import Alarm, Episode
from relfit.log.failurelog import FailureLog

_SHORT = 0.10  # probability of running short that raises an alarm
_LEAD = "30d"
_NEARLY = 0.85  # likeness of a cause's name to that of a stock
_CAUSES = 8  # named
_BURST_STANDS = pd.Timedelta("2d")  # so that a round that is missed loses none
SHARES = {
    "system": 0.18,
    "system down": 0.05,
    "rack": 0.12,
    "cause": 0.12,
    "model": 0.12,
    "node": 0.15,
    "repeat": 0.15,
    "repair time": 0.06,
    "forecast": 0.05,
}
"""Share of the false alarms of a year, by detector. An alarm of stock comes from no test and has no share; chance
makes one of a burst less than once in a hundred years."""


def fleet_alarms(
    log: FailureLog,
    *,
    now: object = None,
    since: object = None,
    per_year: float = 4.0,
    stock: Mapping[str, object] | None = None,
    forecasts: pd.DataFrame | None = None,
) -> list[Alarm]:
    """The alarms that stand now.

    Changed rates of systems, racks, causes, models (every attribute of nodes with at most 60 values) and batches (month
    of installation); nodes that stand out; repairs that did not help; repairs that take longer; many nodes that failed
    at once in the last two days; stock that may run short; missed forecasts. In a fleet without changes all of them
    together raise at most `per_year` alarms per year on average. An alarm lasts while its condition does, under one
    ``key``.

    Parameters
    ----------
    log : FailureLog
    now : date or time, optional
        Leave out later records; by default the end of the log.
    since : date or time, optional
        Leave out earlier records, as for a fleet that was rebuilt then.
    per_year : float
        Largest mean number of false alarms per year.
    stock : mapping, optional
        Parts in stock by cause: a number, or a mapping of ``parts`` and ``lead_time`` (a duration, by default 30 days).
    forecasts : pandas.DataFrame, optional
        Scored ones, as `relfit.live.scored` gives them.

    Returns
    -------
    list of Alarm
        In the order in which they were raised. Nodes need two weeks of records, all else eight.

    Raises
    ------
    ArgumentError
        For a `per_year` that is not above zero, a `stock` that is not a number of parts, a log of lifetimes.

    Examples
    --------
    >>> import relfit as rf
    >>> [alarm.key for alarm in fleet_alarms(rf.datasets.load("white"), now="2002-08-01")]
    ['node: node n391', 'rate: rack frame25']
    """
    log = log.between(since, now)
    past = [each.alarm for each in alarm_history(log, per_year=per_year, forecasts=forecasts) if each.ended is None]
    return past + bursts(log) + short_stock(log, stock or {})


def alarm_history(log: FailureLog, *, per_year: float = 4.0, forecasts: pd.DataFrame | None = None) -> list[Episode]:
    """All alarms that the records of a log would have raised until its end, in order, but for bursts and stock.

    Parameters
    ----------
    log : FailureLog
    per_year, forecasts
        As for `fleet_alarms`.

    Examples
    --------
    >>> import relfit as rf
    >>> past = alarm_history(rf.datasets.load("white"))
    >>> all(a.alarm.raised <= b.alarm.raised for a, b in zip(past, past[1:]))
    True
    """
    allowed = float(positive("per_year", per_year))
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds lifetimes without dates: nothing changes in it")
    fleet = WatchedFleet(log)
    budget = {name: share * allowed for name, share in SHARES.items()}
    out = [*rate_episodes(fleet, budget), *repair_episodes(fleet, budget["repair time"])]
    if log.question is None:  # otherwise the number of nodes without a failure is unknown
        for repeat, name in ((False, "node"), (True, "repeat")):
            out += node_episodes(fleet, budget[name], repeat=repeat)
    if forecasts is not None:
        out += missed_forecasts(forecasts, budget["forecast"], log.window.end)
    return sorted(out, key=lambda each: (each.alarm.raised, each.alarm.key))


def rate_episodes(fleet: WatchedFleet, budget: Mapping[str, float]) -> Iterator[Episode]:
    """Alarms of rates that changed, by system, cause, rack, model and batch."""
    for change in rate_changes(fleet, budget):
        when, down = change.when, change.down
        name, since = _named(fleet, change.streams, when.stream), fleet.stamp(fleet.steps.edges[when.begin])
        begin, end = when.window
        last = fleet.stamp(fleet.steps.edges[end] - 1)
        times, part = when.seen / max(when.expected, 1e-300), _named(fleet, change.streams, when.stream, in_words=True)
        excess = f"; most of the excess is {change.cause}" if change.cause else ""
        by_node = f"; {change.of_node:,} are of node {change.node}" if change.node else ""
        text = (
            f"The failure rate of {part} {'fell' if down else 'rose'}"
            f"{f' about {since:%Y-%m-%d}; the strongest window now' if begin > when.begin else ''}: "
            f"{count(round(when.seen), 'incident')} in the {count(when.days, 'day')} to "
            f"{last:%Y-%m-%d}, {number(when.expected)} expected ({number(times)} times)"
            f"{excess}{by_node}."
        )
        common = "what these failures have in common" if change.streams.kind == "cause" else "what was changed then"
        common = f"node {change.node} first" if change.node and begin <= when.begin else common
        look = "see that nothing is missing in its records" if down else f"look at {common}"
        said = text, f"The change began about {since:%Y-%m-%d}: {look}."
        evidence = {"seen": when.seen, "expected": when.expected, "ratio": times, "days": float(when.days), "p": when.p}
        yield _of_windows(fleet, when, "rate", f"{name} down" if down else name, said, evidence)


def _of_windows(
    fleet: WatchedFleet, when: RateEpisode, kind: str, subject: str, said: tuple[str, str], evidence: dict[str, float]
) -> Episode:
    """The alarm of a stream, with its text and advice."""
    instants = fleet.stamp(fleet.steps.edges[when.begin]), fleet.stamp(fleet.ends[when.first])
    alarm = Alarm(kind, subject, *instants, *said, evidence)
    return Episode(alarm, None if when.lasts else fleet.stamp(fleet.ends[when.last + 1]))


def _named(fleet: WatchedFleet, streams: Streams, stream: int, *, in_words: bool = False) -> str:
    """The name of a stream; that of an alarm has the bare name of the system, a sentence (`in_words`) has not."""
    if streams.kind == "system":
        return system_named(streams.names[stream])
    name, system = f"{streams.kind} {streams.names[stream]}", fleet.systems[streams.system[stream]]
    return f"{name} of {system_named(system) if in_words else system}" if fleet.several else name


def repair_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of repairs that take longer than those of the year before."""
    for each in slower_repairs(fleet, allowed):
        when = each.when
        since, name = fleet.stamp(fleet.steps.edges[when.begin]), system_named(fleet.systems[when.stream])
        lately, before = float(np.median(each.hours)), float(np.median(each.before))
        text = (
            f"Repairs of {name} take longer: {duration(lately)} (median of {each.hours.size:,}), "
            f"{duration(before)} before; {number(each.times)} times as long as others of their cause."
        )
        said = text, f"Since about {since:%Y-%m-%d}: look at what repairs wait for, staff or parts."
        repairs = float(each.hours.size)
        evidence = {"median": lately, "before": before, "ratio": each.times, "repairs": repairs, "p": when.p}
        yield _of_windows(fleet, when, "repair time", name, said, evidence)


def node_episodes(fleet: WatchedFleet, allowed: float, *, repeat: bool) -> Iterator[Episode]:
    """Alarms of nodes with more failures than the others, or that failed again from one cause after a repair."""
    for each in failed_repairs(fleet, allowed) if repeat else nodes_standing_out(fleet, allowed):
        node, lasts = _with_system(fleet, each.node), each.over >= fleet.steps.edges[-1]
        slower = each.slower and lasts  # it has failed less often since the run that raised the alarm
        since = f"; since then it had {f'{each.later:,}' if each.later else 'none'}" if slower else ""
        others = f"{fleet.stamp(each.at):%Y-%m-%d}, others had {number(each.others)} on average{since}"
        evidence = {"failures": float(each.number), "others": each.others, "expected": each.expected}
        kind, subject = "repeat" if repeat else "node", f"node {fleet.node_label(each.node)}"
        if repeat:
            why = fleet.causes[each.cause]
            subject, evidence["hours"] = f"{subject}, {why}", each.hours
            said, of = f"The repair of node {node} did not help", f"attributed to {why}"
            advice = "Don't put it back into service after the same repair: look for another cause."
            if slower:
                advice = "It has failed less often since: if it fails this way again, look for another cause."
        else:
            evidence["ratio"] = each.number / max(each.expected, 1e-9)
            said, of = f"Node {node} stands out", "of any cause"
            advice = "Take it out of service and test it, or replace the part that its failures have in common."
            if slower:
                advice = "It has failed less often since: test it when it is free. relfit nodes shows current rates."
        text = f"{said}: {count(each.number, 'failure')} {of} in the {duration(each.hours)} to {others}."
        instants = fleet.stamp(each.since), fleet.stamp(each.raised)
        alarm = Alarm(kind, subject, *instants, text, advice, {**evidence, "p": each.p})
        yield Episode(alarm, None if lasts else fleet.stamp(each.over))


def _with_system(fleet: WatchedFleet, node: int) -> str:
    """A node in a sentence, with its system if the name is not unique."""
    label, system = fleet.node_label(node), str(fleet.nodes[node][0]).replace(", ", ",")
    name = label.removesuffix(f" of {system}")
    return label if name == label else f"{name} of {system_named(system)}"


def missed_forecasts(forecasts: pd.DataFrame, allowed: float, now: pd.Timestamp) -> list[Episode]:
    """Alarms of counts far outside their forecast, one of each system at a time, `allowed` false ones per year."""
    out: list[Episode] = []
    for system, run, until in missed_counts(forecasts, allowed, now):
        row, name = run.iloc[-1], system_named(system)
        made = row["made"].tz_convert(now.tz)
        text = (
            f"The forecast of {name} was missed: {count(int(row['happened']), 'incident')} came in "
            f"{duration(float(row['horizon_hours']))} from {made:%Y-%m-%d}, {number(row['mean'])} "
            f"({number(row['lower'])}-{number(row['upper'])}) were forecast."
        )
        alarm = Alarm(
            "forecast",
            name,
            run.iloc[0]["made"],
            run.iloc[0]["end"],
            text,
            "Plan with a margin until forecasts hold again, and look at what else changed.",
            {name: float(row[name]) for name in ("happened", "mean", "lower", "upper", "p")},
        )
        out.append(Episode(alarm, until if until < now else None))
    return out


def bursts(log: FailureLog) -> list[Alarm]:
    """Alarms of many nodes that failed at once in the last two days, the latest of each system."""
    out: dict[str, Alarm] = {}
    for each in wide_incidents(log):
        if each.end < log.window.end - _BURST_STANDS:
            continue
        name = system_named(each.system)
        text = (
            f"{each.nodes:,} of {count(each.of, 'node')} of {name} failed within {duration(max(each.hours, 1 / 60))}, "
            f"from {each.start.tz_convert(log.source.timezone):%Y-%m-%d %H:%M}"
            f"{': ' if each.shared else ''}{', '.join(each.shared)}."
        )
        advice = "Look first at what these nodes share: power, cooling, network, a change of software."
        evidence = {"nodes": float(each.nodes), "of": float(each.of), "hours": each.hours}
        out[name] = Alarm("burst", name, each.start, each.end, text, advice, evidence)
    return list(out.values())


def short_stock(log: FailureLog, stock: Mapping[str, object]) -> list[Alarm]:
    """Alarms of parts that may run short in their lead time, one part per failure; `stock` as for `fleet_alarms`."""
    out, now = [], log.window.end
    for name, value in stock.items():
        given = dict(value) if isinstance(value, Mapping) else {"parts": value}
        if not {"parts"} <= set(given) <= {"parts", "lead_time"}:
            raise ArgumentError(f"the stock of {name!r} cannot be {value!r}", remedy="give a number of parts")
        parts = int(whole(f"stock of {name}", given["parts"], least=0))
        lead = float(durations("lead_time", given.get("lead_time", _LEAD), zero=False))
        ahead = failures_ahead(log, name, lead)
        if ahead is None:
            out += _misspelt(log, str(name), parts)
            continue
        short = 1.0 - float(ahead.cdf(np.array(parts)))
        if short >= _SHORT:
            enough = int(ahead.quantile(0.95))
            out.append(
                Alarm(
                    "stock",
                    f"cause {name}",
                    now,
                    now,
                    f"Parts for {name} may run short: {parts:,} in stock, {number(ahead.expected)} needed in "
                    f"{duration(lead)}, chance of too few {percent(min(short, 0.99))}.",
                    f"Order {enough - parts:,} now: {enough:,} last with probability 95 %.",
                    {"stock": float(parts), "expected": ahead.expected, "chance": short, "enough": float(enough)},
                )
            )
    return out


def unknown_stock(log: FailureLog, stock: Mapping[str, object]) -> list[str]:
    """A sentence for each stock of a cause that no failure of a log has; alarms tell of misspelt ones."""
    causes = set(log.events["cause"].dropna().astype(str))
    unknown = [name for name in stock if name not in causes and not _misspelt(log, name, 0)]
    return [f"no failure has the cause {name!r} of the stock yet: it is not judged" for name in unknown]


def _misspelt(log: FailureLog, name: str, parts: int) -> list[Alarm]:
    """An alarm where no failure has the cause of a stock but one has nearly its name, apart from digits."""
    causes = log.events["cause"].dropna().astype(str).value_counts().index.tolist()
    plain = {re.sub(r"\d", "", cause): str(cause) for cause in reversed(causes)}
    stem = re.sub(r"\d", "", name)
    near = [] if name in causes or stem in plain else get_close_matches(stem, plain, 1, _NEARLY)
    if not near:
        return []
    now = log.window.end
    text = f"No failure has the cause {name!r} of the stock of {parts:,}; did you mean {plain[near[0]]!r}?"
    action = f"Name the cause as the log does: {', '.join(causes[:_CAUSES])}."
    return [Alarm("stock", f"cause {name}", now, now, text, action, {"stock": float(parts)})]
