"""Alarms of rates that changed and of repairs that take longer, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from relfit.base.text import count, duration, number
from relfit.fleet.surveillance import RateScan, Streams, WatchedFleet, scan_rates, slower_repairs
from relfit.fleet.surveillance.rate_scans import LOOKS
from relfit.live.live_records import Alarm, Episode, stamp

__all__ = ["rate_episodes", "repair_episodes"]


def rate_episodes(fleet: WatchedFleet, budget: Mapping[str, float]) -> Iterator[Episode]:
    """Alarms of rates that changed, by system, cause, rack, model and batch."""
    systems = fleet.of_systems
    causes = fleet.of_causes()
    for down in (False, True):
        alpha = budget["system down" if down else "system"] / (len(systems.names) * LOOKS)
        scan = scan_rates(systems.counts, systems.exposure, down=down)
        yield from _of_streams(fleet, systems, scan, alpha, None if down else causes, down=down)
    parts = fleet.of_parts()
    models = sum(len(streams.names) for streams in parts if streams.kind != fleet.joined.group)
    for streams in (causes, *parts):
        if not streams.names:
            continue
        every = streams.of_system(len(fleet.systems))
        kind = "cause" if streams is causes else "rack" if streams.kind == fleet.joined.group else "model"
        rest = every[0] - streams.counts, every[1] - streams.exposure
        if streams is causes:
            rest = rest[0], streams.exposure
        scan = scan_rates(streams.counts, streams.exposure, prior=None if streams is causes else rest, rest=rest)
        yield from _of_streams(
            fleet, streams, scan, budget[kind] / ((models if kind == "model" else len(streams.names)) * LOOKS)
        )


def _of_streams(
    fleet: WatchedFleet, streams: Streams, scan: RateScan, alpha: float, causes: Streams | None = None, *,
    down: bool = False,
) -> Iterator[Episode]:  # fmt: skip
    for each in scan.episodes(alpha):
        name, since = _named(fleet, streams, each.stream), stamp(fleet.steps.edges[each.begin])
        until = each.last if each.lasts else each.first
        cause = causes.main_excess(each.stream, each.begin, until + 1) if causes is not None else ""
        times = each.seen / max(each.expected, 1e-300)
        text = (
            f"The failure rate of {name} {'fell' if down else 'rose'}: {count(round(each.seen), 'incident')} in "
            f"{count(each.days, 'day')}, {number(each.expected)} expected ({number(times)} times)"
            f"{f'; most of the excess is {cause}' if cause else ''}."
        )
        look = "see that nothing is missing in its records" if down else "look at what was changed there"
        alarm = Alarm(
            "rate", f"{name} down" if down else name, since, stamp(fleet.ends[each.first]), text,
            f"Since about {since:%Y-%m-%d}: {look}.",
            {"seen": each.seen, "expected": each.expected, "ratio": times, "days": float(each.days), "p": each.p},
        )  # fmt: skip
        yield Episode(alarm, None if each.lasts else stamp(fleet.ends[each.last + 1]))


def _named(fleet: WatchedFleet, streams: Streams, stream: int) -> str:
    name = f"{streams.kind} {streams.names[stream]}"
    several = fleet.several and streams.kind != "system"
    return f"{name} of {fleet.systems[streams.system[stream]]}" if several else name


def repair_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of repairs that take longer than those of the year before."""
    for each in slower_repairs(fleet, allowed / (len(fleet.systems) * LOOKS)):
        when = each.when
        since, name = stamp(fleet.steps.edges[when.begin]), f"system {fleet.systems[when.stream]}"
        lately, before = float(np.median(each.hours)), float(np.median(each.before))
        times = lately / before
        alarm = Alarm(
            "repair time", name, since, stamp(fleet.ends[when.first]),
            f"Repairs of {name} take longer: {duration(lately)} (median of {each.hours.size:,}), "
            f"{duration(before)} before ({number(times)} times).",
            f"Since about {since:%Y-%m-%d}: look at what repairs wait for, staff or parts.",
            {"median": lately, "before": before, "ratio": times, "repairs": float(each.hours.size), "p": when.p},
        )  # fmt: skip
        yield Episode(alarm, None if when.lasts else stamp(fleet.ends[when.last + 1]))
