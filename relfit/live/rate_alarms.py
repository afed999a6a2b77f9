"""Texts of the alarms of changed rates and of repairs that take longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from relfit.base.text import count, duration, number, system_named
from relfit.fleet.surveillance import Streams, WatchedFleet, rate_changes, slower_repairs
from relfit.live.live_records import Alarm, Episode, stamp


def rate_episodes(fleet: WatchedFleet, budget: Mapping[str, float]) -> Iterator[Episode]:
    """Alarms of rates that changed, by system, cause, rack, model and batch."""
    for change in rate_changes(fleet, budget):
        when, down = change.when, change.down
        name, since = _named(fleet, change.streams, when.stream), stamp(fleet.steps.edges[when.begin])
        begin, end = when.window
        times = when.seen / max(when.expected, 1e-300)
        excess = f"; most of the excess is {change.cause}" if change.cause else ""
        by_node = f"; {change.of_node:,} are of node {change.node}" if change.node else ""
        text = (
            f"The failure rate of {name} {'fell' if down else 'rose'}"
            f"{f' about {since:%Y-%m-%d}; the strongest window now' if begin > when.begin else ''}: "
            f"{count(round(when.seen), 'incident')} in the {count(when.days, 'day')} to "
            f"{stamp(fleet.steps.edges[end] - 1):%Y-%m-%d}, {number(when.expected)} expected ({number(times)} times)"
            f"{excess}{by_node}."
        )
        common = "what these failures have in common" if change.streams.kind == "cause" else "what was changed then"
        common = f"node {change.node} first" if change.node and begin <= when.begin else common
        look = "see that nothing is missing in its records" if down else f"look at {common}"
        alarm = Alarm(
            "rate",
            f"{name} down" if down else name,
            since,
            stamp(fleet.ends[when.first]),
            text,
            f"The change began about {since:%Y-%m-%d}: {look}.",
            {"seen": when.seen, "expected": when.expected, "ratio": times, "days": float(when.days), "p": when.p},
        )
        yield Episode(alarm, None if when.lasts else stamp(fleet.ends[when.last + 1]))


def _named(fleet: WatchedFleet, streams: Streams, stream: int) -> str:
    if streams.kind == "system":
        return system_named(streams.names[stream])
    name = f"{streams.kind} {streams.names[stream]}"
    return f"{name} of {fleet.systems[streams.system[stream]]}" if fleet.several else name


def repair_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of repairs that take longer than those of the year before."""
    for each in slower_repairs(fleet, allowed):
        when = each.when
        since, name = stamp(fleet.steps.edges[when.begin]), system_named(fleet.systems[when.stream])
        lately, before = float(np.median(each.hours)), float(np.median(each.before))
        times = lately / before
        alarm = Alarm(
            "repair time",
            name,
            since,
            stamp(fleet.ends[when.first]),
            f"Repairs of {name} take longer: {duration(lately)} (median of {each.hours.size:,}), "
            f"{duration(before)} before ({number(times)} times).",
            f"Since about {since:%Y-%m-%d}: look at what repairs wait for, staff or parts.",
            {"median": lately, "before": before, "ratio": times, "repairs": float(each.hours.size), "p": when.p},
        )
        yield Episode(alarm, None if when.lasts else stamp(fleet.ends[when.last + 1]))
