"""Repairs that take longer than in the year before: normal scores of repairs, and windows of their means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.fleet.surveillance.rate_episodes import RateEpisode
from relfit.fleet.surveillance.rate_scans import REFERENCE, for_each_test, scan_scores
from relfit.fleet.surveillance.watched_fleet import WatchedFleet

_FEWEST, _MOST = 30, 20_000  # repairs to compare with, at least and at most
_LAG, _WEEK = 28, 7  # days between a repair and those it is compared with; days with the same comparison


@dataclass(frozen=True)
class RepairEpisode:
    """A time in which the repairs of a system (`when.stream`) took longer.

    Attributes
    ----------
    when : RateEpisode
    hours, before : ndarray
        Hours of the repairs since it began (until it was noticed, or until now if it lasts), and of the year before.
    """

    when: RateEpisode
    hours: FloatArray
    before: FloatArray


def slower_repairs(fleet: WatchedFleet, allowed: float) -> Iterator[RepairEpisode]:
    """Times in which repairs of a system took longer, with at most `allowed` false alarms per year."""
    system, end, hours = fleet.repairs()
    size, day = len(fleet.systems), np.searchsorted(fleet.ends, end)
    score = np.full(end.size, np.nan)
    for code in range(size):
        mine = np.flatnonzero(system == code)
        score[mine] = _scores(day[mine], hours[mine])
    used = np.isfinite(score)
    place = np.where(used, system, np.int32(-1))
    sums = fleet.steps.counts(end, place, size, np.where(used, score, 0.0))
    scan = scan_scores(sums, fleet.steps.counts(end, place, size))
    for when in scan.episodes(for_each_test(allowed, size)):
        until = when.last if when.lasts else when.first
        mine = system == when.stream
        lately = hours[mine & (day >= when.begin) & (day <= until)]
        yield RepairEpisode(when, lately, hours[mine & (day >= when.begin - REFERENCE) & (day < when.begin)])


def _scores(day: IntArray, hours: FloatArray) -> FloatArray:
    """Normal score of each repair among those of the year until four weeks before it; NaN if they are few."""
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
