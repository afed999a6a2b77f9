"""Alarms of rates that changed and of repairs that take longer, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.text import count, duration, number
from relfit.live.alarm_streams import Episode, Streams, WatchedFleet, stamp
from relfit.live.live_records import Alarm
from relfit.live.rate_scans import LOOKS, REFERENCE, RateScan, episodes, scan_rates, scan_scores

__all__ = ["rate_episodes", "repair_episodes"]

_FEWEST, _MOST = 30, 20_000  # repairs that others are held against
_LAG, _WEEK = 28, 7  # days before a repair at which those that it is compared with end; days that share them


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
    for stream, first, last in zip(*episodes(scan.p, np.array(alpha)), strict=True):
        lasts = last == scan.p.shape[1]
        day = int(last - 1 if lasts else first)
        seen, expected, days = (float(each[stream, day]) for each in (scan.seen, scan.expected, scan.window))
        begin = int(first) + 1 - int(scan.window[stream, first])
        name = _named(fleet, streams, stream)
        since = stamp(int(fleet.steps.edges[begin]))
        most = _most(causes, stream, begin, day + 1) if causes is not None else ""
        times = seen / max(expected, 1e-300)
        text = (
            f"The failure rate of {name} {'fell' if down else 'rose'}: {count(round(seen), 'incident')} in "
            f"{count(round(days), 'day')}, {number(expected)} expected ({number(times)} times){most}."
        )
        look = "see that nothing is missing in its records" if down else "look at what was changed there"
        alarm = Alarm(
            "rate", f"{name} down" if down else name, since, stamp(int(fleet.ends[first])), text,
            f"Since about {since:%Y-%m-%d}: {look}.",
            {"seen": seen, "expected": expected, "ratio": times, "days": days, "p": float(scan.p[stream, day])},
        )  # fmt: skip
        yield Episode(alarm, None if lasts else stamp(int(fleet.ends[last])))


def _named(fleet: WatchedFleet, streams: Streams, stream: int) -> str:
    name = f"{streams.kind} {streams.names[stream]}"
    several = fleet.several and streams.kind != "system"
    return f"{name} of {fleet.systems[streams.system[stream]]}" if several else name


def _most(causes: Streams, system: int, begin: int, end: int) -> str:
    """The cause with most of the excess."""
    mine = np.flatnonzero(causes.system == system)
    if not mine.size:
        return ""
    first = max(begin - REFERENCE, 0)
    counts = causes.counts[mine]
    more = counts[:, begin:end].sum(axis=1) - counts[:, first:begin].sum(axis=1) * (end - begin) / max(begin - first, 1)
    best = int(np.argmax(more))
    return f"; most of the excess is {causes.names[mine[best]]}" if more[best] > 0.5 * more.clip(0.0).sum() else ""


def repair_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of repairs that take longer than those of the year before."""
    system, end, hours = fleet.repairs()
    size, day = len(fleet.systems), np.searchsorted(fleet.ends, end)
    score = np.full(end.size, np.nan)
    for code in range(size):
        mine = np.flatnonzero(system == code)
        score[mine] = _scores(day[mine], hours[mine])
    used = np.isfinite(score)
    place = np.where(used, system, -1)
    sums = fleet.steps.counts(end, place, size, np.where(used, score, 0.0))
    numbers = fleet.steps.counts(end, place, size)
    scan = scan_scores(sums, numbers)
    for code, first, last in zip(*episodes(scan.p, np.array(allowed / (size * LOOKS))), strict=True):
        begin = int(first) + 1 - int(scan.window[code, first])
        lasts = last == scan.p.shape[1]
        until = int(last if lasts else first + 1)
        lately = hours[(system == code) & (day >= begin) & (day < until)]
        before = hours[(system == code) & (day >= begin - REFERENCE) & (day < begin)]
        since, name = stamp(int(fleet.steps.edges[begin])), f"system {fleet.systems[code]}"
        medians = [float(np.median(each)) for each in (lately, before)]
        times = medians[0] / medians[1]
        alarm = Alarm(
            "repair time", name, since, stamp(int(fleet.ends[first])),
            f"Repairs of {name} take longer: {duration(medians[0])} (median of {len(lately):,}), "
            f"{duration(medians[1])} before ({number(times)} times).",
            f"Since about {since:%Y-%m-%d}: look at what repairs wait for, staff or parts.",
            {"median": medians[0], "before": medians[1], "ratio": times, "repairs": float(lately.size),
             "p": float(scan.p[code, until - 1])},
        )  # fmt: skip
        yield Episode(alarm, None if lasts else stamp(int(fleet.ends[last])))


def _scores(day: IntArray, hours: FloatArray) -> FloatArray:
    """Normal score of each repair among those of the year until four weeks before it; nan where these are few."""
    out = np.full(day.size, np.nan)
    week = day // _WEEK
    edges = np.append(0, np.flatnonzero(np.diff(week)) + 1)
    for begin, end in zip(edges, np.append(edges[1:], day.size), strict=True):  # weeks, not repairs
        last = week[begin] * _WEEK - _LAG if day.size else 0
        past = hours[np.searchsorted(day, last - REFERENCE) : np.searchsorted(day, last)]
        past = np.sort(past[:: max(past.size // _MOST, 1)])
        if past.size >= _FEWEST:
            mine = hours[begin:end]
            rank = 0.5 * (np.searchsorted(past, mine, "left") + np.searchsorted(past, mine, "right"))
            out[begin:end] = special.ndtri((rank + 0.5) / (past.size + 1.0))
    return out
