"""Repairs that take longer than those of their cause in the year before: normal scores, and windows of their means.

More failures of a cause whose repairs are long do not make repairs longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.arrays import CodeArray, FloatArray, IntArray
from relfit.fleet.surveillance.rate_episodes import RateEpisode
from relfit.fleet.surveillance.rate_scans import REFERENCE, for_each_test, scan_scores
from relfit.fleet.surveillance.watched_fleet import WatchedFleet

_FEWEST, _MOST = 30, 20_000  # repairs to compare with, at least and at most
_LAG, _WEEK = 28, 7  # days between a repair and those it is compared with; days with the same comparison


@dataclass(frozen=True)
class RepairEpisode:
    """A time in which the repairs of a system (`when.stream`) took longer."""

    when: RateEpisode
    hours: FloatArray  # of the repairs since it began, until it was noticed, or until now if it lasts
    before: FloatArray  # of the year before
    times: float  # median of the former, each over the median of its cause in the year before


def slower_repairs(fleet: WatchedFleet, allowed: float) -> Iterator[RepairEpisode]:
    """Times in which repairs of a system took longer, with at most `allowed` false alarms per year."""
    system, cause, end, hours = fleet.repairs()
    size, day = len(fleet.systems), np.searchsorted(fleet.ends, end)
    score = np.full(end.size, np.nan)
    for code in range(size):
        mine = np.flatnonzero(system == code)
        score[mine] = _scores(day[mine], hours[mine], cause[mine])
    used = np.isfinite(score)
    place = np.where(used, system, np.int32(-1))
    sums = fleet.steps.counts(end, place, size, np.where(used, score, 0.0))
    scan = scan_scores(sums, fleet.steps.counts(end, place, size))
    for when in scan.episodes(for_each_test(allowed, size)):
        until = when.last if when.lasts else when.first
        mine = system == when.stream
        lately = mine & (day >= when.begin) & (day <= until)
        before = mine & (day >= when.begin - REFERENCE) & (day < when.begin)
        usual = pd.Series(hours[before]).groupby(cause[before]).median().reindex(cause[lately]).to_numpy()
        times = hours[lately] / np.where(np.isfinite(usual), usual, np.median(hours[before]))
        yield RepairEpisode(when, hours[lately], hours[before], float(np.median(times)))


def _scores(day: IntArray, hours: FloatArray, cause: CodeArray) -> FloatArray:
    """Normal score of each repair among those of its cause in the year until four weeks before; NaN if they are few."""
    out = np.full(day.size, np.nan)
    week = day // _WEEK
    edges = np.append(0, np.flatnonzero(np.diff(week)) + 1)
    for begin, end in zip(edges, np.append(edges[1:], day.size), strict=True):  # weeks, not repairs
        last = week[begin] * _WEEK - _LAG if day.size else 0
        first, until = np.searchsorted(day, [last - REFERENCE, last])
        past = slice(first, until, max((until - first) // _MOST, 1))
        often = np.bincount(cause[past], minlength=int(cause.max(initial=0)) + 1) >= _FEWEST
        kind, of_past = (np.where(often[codes], codes, -1) for codes in (cause[begin:end], cause[past]))
        for each in np.unique(kind):  # causes with few repairs in that year are one
            others = np.sort(hours[past][of_past == each])
            if others.size >= _FEWEST:
                mine = begin + np.flatnonzero(kind == each)
                rank = np.searchsorted(others, hours[mine], "left") + np.searchsorted(others, hours[mine], "right")
                out[mine] = special.ndtri((0.5 * rank + 0.5) / (others.size + 1.0))
    return out
