"""Incidents on one line of days, system after system, and the background rate that follows their calendar."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relfit.analyses.screening.incident_results import Incidents
from relfit.analyses.screening.segmentation import excess, segments
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.compiled import njit
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_codes, node_values, watched_of

_DAY = 24.0 * NANOSECONDS_PER_HOUR
_APART = 1000.0  # days between two systems, after which the first has no effect
_HALF_LIVES = (7.0, 14.0, 30.0, 60.0, 120.0, 240.0, 1e6)  # days, of the background
_PENALTY, _SHORTEST = 6.0, 14  # of the log-likelihood for each step of the background; days between two
_OUT = 10  # days next to an incident that do not count in the choice of the half-life


@dataclass(frozen=True, eq=False)
class IncidentLine:
    """Incidents in the order of system and time; a system begins long after the one before it has ended.

    The exposure is nodes watched on each day times the rate on this day of the week, relative to the mean.
    """

    time: FloatArray  # days
    system: IntArray
    node: IntArray  # -1 where an incident hit several nodes, or none
    rack: IntArray  # likewise
    cycle: FloatArray  # the rate at this hour relative to the mean
    exposure: FloatArray  # shape (systems, days)
    ends: FloatArray  # days at which the log of each system begins and ends, shape (systems, 2)

    @classmethod
    def of(cls, log: FailureLog, joined: Incidents) -> IncidentLine:
        """The incidents of a log."""
        table, zone = joined.table, log.source.timezone
        names = list(dict.fromkeys([*log.systems, *map(str, table["system"])]))
        system = pd.Index(names).get_indexer(pd.Index(table["system"].astype(str)))
        midnight = log.window.start.tz_convert(zone).normalize()
        origin = midnight.tz_convert("UTC").as_unit("ns").value
        begin, end = ((at.as_unit("ns").value - origin) / _DAY for at in (log.window.start, log.window.end))
        days = int(np.ceil(end))
        offset = (days + _APART) * np.arange(len(names))
        time = (nanoseconds(table["start"]) - origin) / _DAY + offset[system]
        local = table["start"].dt.tz_convert(zone)
        clock = ((local.dt.hour, 24), (local.dt.dayofweek, 7))
        of_hour, of_day = (_shrunk(np.bincount(part, minlength=size)) for part, size in clock)
        exposure = _watched(log, names, origin, days, begin, end) * of_day[(midnight.dayofweek + np.arange(days)) % 7]
        node, rack = _places(log, joined)
        order = np.argsort(time, kind="stable")
        cycle = of_hour[local.dt.hour.to_numpy()]
        ends = np.array([begin, end]) + offset[:, None]
        return cls(time[order], system[order], node[order], rack[order], cycle[order], exposure, ends)

    def scopes(self, group: str | None) -> list[tuple[str, IntArray, IntArray]]:
        """Each scope, the label that two incidents must share, -1 of no part in it, and the one they must not."""
        nobody, everybody = np.full(self.node.size, -1), np.zeros(self.node.size, np.int64)
        out = [("node", self.node, nobody)]
        if group is None:
            return [*out, ("whole", everybody, self.node)]
        alone = np.where(self.node >= 0, self.node + int(self.rack.max(initial=-1)) + 1, -1)
        return [*out, (group, self.rack, self.node), ("whole", everybody, np.where(self.rack >= 0, self.rack, alone))]

    def take(self, which: IntArray) -> IncidentLine:
        """Only some of the incidents."""
        places = {name: getattr(self, name)[which] for name in ("time", "system", "node", "rack", "cycle")}
        return replace(self, **places)

    def background(self) -> tuple[FloatArray, FloatArray]:
        """The smoothed rate at each incident, that one left out, and the number expected on each day of the line."""
        number, days = self.exposure.shape
        day = np.clip((self.time - (days + _APART) * self.system).astype(np.int64), 0, days - 1)
        counts = np.bincount(self.system * days + day, minlength=number * days).reshape(number, days).astype(np.float64)
        exposure = np.where((counts > 0.0) & (self.exposure <= 0.0), 1.0, self.exposure)
        total, watched = (values.sum(axis=1, keepdims=True) for values in (counts, exposure))
        mean = np.maximum(total, 0.5) / np.maximum(watched, 1e-9)
        best, sums = -np.inf, (counts, exposure)
        for half_life in _HALF_LIVES:
            keep = 0.5 ** (1.0 / half_life)
            each = [np.array([_two_sided(row, keep, _OUT) for row in values]) for values in (counts, exposure)]
            far = [np.maximum(sums_of[:, 0] - sums_of[:, 1], 0.0) for sums_of in each]
            rate = (far[0] + 0.5) / (far[1] + 0.5 / mean)
            score = float((counts * np.log(rate) - exposure * rate).sum())
            if score > best:
                best, sums = score, (each[0][:, 0], each[1][:, 0])
        steps = [_in_periods(*each) for each in zip(counts, exposure, strict=True)]
        if sum(score for score, *_ in steps) > best:
            sums = np.array([number for _, number, _ in steps]), np.array([time for *_, time in steps])
        daily = exposure * (sums[0] + 0.5) / (sums[1] + 0.5 / mean)
        at = self.system, day
        left_out = (np.maximum(sums[0][at] - 1.0, 0.0) + 0.5) / (sums[1][at] + 0.5 / mean[self.system, 0])
        line = np.pad(daily * (day.size / daily.sum()), ((0, 0), (0, int(_APART)))).ravel()
        return left_out * exposure[at] * self.cycle, line


def _in_periods(counts: FloatArray, exposure: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Log-likelihood of a rate that changes by steps, less penalties; incidents and exposure of a day's period."""
    penalty = _PENALTY * excess(counts.astype(np.int64), exposure, _SHORTEST)
    cuts = segments(counts, np.maximum(exposure, 1e-9), penalty, _SHORTEST)
    number, time = (np.add.reduceat(values, cuts[:-1]) for values in (counts, exposure))
    rate = np.maximum(number, 0.5) / np.maximum(time, 1e-9)
    score = float((number * np.log(rate)).sum() - rate @ time) - penalty * (cuts.size - 2)
    return score, np.repeat(number, np.diff(cuts)), np.repeat(time, np.diff(cuts))


def _places(log: FailureLog, joined: Incidents) -> tuple[IntArray, IntArray]:
    """Node and rack of each incident, -1 where it hit several or none."""
    table = joined.table
    codes, _, labels = node_codes(log)
    node, scope = codes[joined.first_records], table["scope"].to_numpy(object)
    alone = (table["nodes"].to_numpy() == 1) & (scope == "node")
    rack = np.full(len(table), -1)
    if joined.group is not None and len(labels):
        value = node_values(log, joined.group, labels)
        code = pd.factorize(pd.MultiIndex.from_arrays([labels.get_level_values(0), value]))[0]
        of_node = np.append(np.where(pd.isna(value), -1, code), -1)
        one = (table["groups"].to_numpy() == 1) & ((scope == "node") | (scope == joined.group))
        rack = np.where(one, of_node[node], -1)
    return np.where(alone, node, -1), rack


def _watched(log: FailureLog, names: list[str], origin: int, days: int, begin: float, end: float) -> FloatArray:
    """Nodes watched on each day, shape (systems, days); where they are not known, the system is one."""
    nodes, edges = watched_of(log), origin + (np.arange(days + 1) * _DAY).astype(np.int64)
    of_system = nodes.groups.get_level_values(0).astype(str)
    at = np.arange(days)
    out = np.tile(np.clip(end - at, 0.0, 1.0) - np.clip(begin - at, 0.0, 1.0), (len(names), 1))
    for k, name in enumerate(names):  # systems, not nodes
        mine = np.flatnonzero(of_system == name)
        if mine.size and log.question is None:
            part = replace(nodes, entered=nodes.entered[mine], left=nodes.left[mine])
            out[k] = np.diff(part.hours_until(edges)) / 24.0
    return out


def _shrunk(counts: IntArray) -> FloatArray:
    """Counts relative to their mean, shrunk to one by as much as chance makes them differ."""
    mean = max(float(counts.mean()), 1e-9)
    seen = float(np.mean((counts - mean) ** 2)) * counts.size / (counts.size - 1)
    return np.asarray(1.0 + max(1.0 - mean / max(seen, 1e-9), 0.0) * (counts / mean - 1.0))


@njit(cache=True, nogil=True)
def _two_sided(values: FloatArray, keep: float, near: int) -> FloatArray:
    """Sums discounted by the days before and after each day: of all days, and of those that are near."""
    out = np.zeros((2, values.size))
    before = behind = 0.0
    for i in range(values.size):
        before = before * keep + values[i]
        out[0, i] += before
        last = values.size - 1 - i
        out[0, last] += behind * keep
        behind = behind * keep + values[last]
        for k in range(max(i - near, 0), min(i + near + 1, values.size)):
            out[1, i] += values[k] * keep ** abs(i - k)
    return out
