"""Time that past jobs would have lost with the advised checkpoint interval, Young's, and the best in hindsight."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from relfit.backtesting.origins import SystemPast
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import RelfitError
from relfit.base.text import count
from relfit.fleet import FleetModel
from relfit.fleet.calibration import calibrate
from relfit.fleet.job_placement import NodeOutages
from relfit.log.failurelog import FailureLog
from relfit.planning import plan_checkpoints
from relfit.system.jobs import Checkpoint

AHEAD = 90  # days
_LATELY = 180  # days in which the mean time between interruptions is counted
_PLACES = (8, 2048)  # jobs of a size, at least; nodes of all these jobs, about
_GRID = np.geomspace(0.1, 720.0, 161)  # hours of work between two saves
_ENDS = (1e-3, 8766.0)
_DRAWS = 500
_WEEK, _LEAST_WEEKS = 168.0, 4


@dataclass(frozen=True, eq=False)
class FollowedJob:
    """A job on fixed nodes: the times in which all of them are up, arrays of shape (times,)."""

    hours: FloatArray  # length of each time
    failed: BoolArray  # whether an outage ended it, instead of the end of observation
    restored: BoolArray  # whether an outage came before it
    total: float  # hours observed, including those in which the job waited

    @property
    def between(self) -> float:
        """Hours in which all nodes are up per interruption; infinite without one."""
        return float(self.hours.sum()) / n if (n := int(self.failed.sum())) else float("inf")

    def lost(self, every: FloatArray, save: float, restore: float) -> FloatArray:
        """Share of time lost for each of `every`, hours of work between two saves."""
        usable = np.maximum(self.hours - restore * self.restored, 0.0)
        segment = np.asarray(every)[:, None] + save
        saved = np.floor(usable / segment * (1.0 + 1e-12))
        rest = np.where(self.failed, 0.0, np.minimum(usable - saved * segment, segment - save))
        useful = (saved * (segment - save) + np.maximum(rest, 0.0)).sum(axis=1)
        return np.asarray(1.0 - useful / self.total)


def run_of(start: FloatArray, end: FloatArray, first: float, last: float) -> FollowedJob:
    """A job from `first` to `last` (hours), from the outages of its nodes; it runs while all of them are up."""
    inside = (start < last) & ((end > first) | (start >= first))
    order = np.argsort(start[inside], kind="stable")
    start, end = start[inside][order], np.minimum(end[inside][order], last)
    reach = np.maximum.accumulate(end) if end.size else end
    new = np.append(True, start[1:] > reach[:-1])[: start.size]
    begun, over = start[new], reach[np.append(new[1:], True)[: start.size]]
    ups, downs = np.append(first, over), np.append(begun, last)
    used = downs > ups
    failed, restored = np.append(np.ones(begun.size, bool), False), np.append(False, np.ones(begun.size, bool))
    return FollowedJob((downs - ups)[used], failed[used], restored[used], last - first)


def _runs(nodes: NodeOutages, size: int, first: float, last: float, members: IntArray) -> list[FollowedJob]:
    """Jobs on consecutive nodes of `members`, evenly spaced."""
    runs = []
    places = np.linspace(0, members.size - size, max(_PLACES[0], _PLACES[1] // size))
    for begin in np.unique(places.round().astype(np.int64)):
        mine = np.zeros(nodes.labels.size, bool)
        mine[members[begin : begin + size]] = True
        rows = mine[nodes.node]
        start = np.concatenate([nodes.start[rows], nodes.whole_start])
        end = np.concatenate([nodes.end[rows], nodes.whole_end])
        runs.append(run_of(start, end, first, last))
    return runs


def lost_lately(
    nodes: NodeOutages, until: float, size: int, every: float, checkpoint: Checkpoint, level: float
) -> tuple[float, float, float]:
    """Low, mean and high share of time that jobs of `size` nodes lost in the last 90 days, with limits from its weeks.

    A save comes after `every` hours of work; observation ends at `until` (hours). Limits take weeks as independent. NaN
    without four weeks, or with fewer nodes observed in them than the job needs.
    """
    weeks = int(min(24.0 * AHEAD, until - float(nodes.entered.min())) // _WEEK)
    first = until - weeks * _WEEK
    members = np.flatnonzero((nodes.entered <= first) & (nodes.left >= until))
    if weeks < _LEAST_WEEKS or members.size < size:
        return np.nan, np.nan, np.nan
    costs, lost = (checkpoint.save, checkpoint.restore), []
    for begin in first + _WEEK * np.arange(weeks):
        runs = _runs(nodes, size, begin, begin + _WEEK, members)
        lost.append(np.mean([run.lost(np.array([every]), *costs)[0] for run in runs]))
    mean = float(np.mean(lost))
    half = float(special.stdtrit(weeks - 1.0, 0.5 + 0.5 * level) * np.std(lost, ddof=1) / np.sqrt(weeks))
    return max(mean - half, 0.0), mean, min(mean + half, 1.0)


@dataclass
class IntervalScores:
    """Jobs of one system with checkpoints."""

    past: SystemPast
    nodes: NodeOutages
    """Of the complete log."""
    sizes: tuple[int, ...]
    checkpoint: Checkpoint
    """Time of saves and restores."""
    level: float
    seed: int
    problems: Counter[str] = field(default_factory=Counter, init=False)

    def rows(self, origin: int, part: FailureLog, model: FleetModel) -> list[dict[str, Any]]:
        """Rows of one origin by size of the job, from the log until then (`part`) and its model."""
        if not self.past.lasts(origin, 24.0 * AHEAD):
            return []
        now = self.past.hours(origin)
        until = now + 24.0 * AHEAD
        members = np.flatnonzero((self.nodes.entered <= now) & (self.nodes.left >= until))
        sizes = [size for size in self.sizes if size <= members.size]
        if not sizes:
            return []
        params = calibrate(part, model=model, parts=("mtbf", "mttr"), level=self.level)
        rows, options = [], {"n_draws": _DRAWS, "rng": self.seed}
        for size in sizes:
            try:
                plan = plan_checkpoints(params, self.checkpoint, nodes=size, level=self.level, **options)
            except RelfitError as error:
                of = f"{count(size, 'node')} of system {self.past.name}"
                self.problems[f"no checkpoint interval for {of}: {error}"] += 1
                continue
            costs = self.checkpoint.save, self.checkpoint.restore
            before = _runs(self.nodes, size, max(now - 24.0 * _LATELY, 0.0), now, members)
            number = sum(int(run.failed.sum()) for run in before)
            between = sum(float(run.hours.sum()) for run in before) / max(number, 1)
            young = float(np.sqrt(2.0 * self.checkpoint.save * between))
            ahead = _runs(self.nodes, size, now, until, members)
            every = np.append(_GRID, np.clip([plan.checkpoint_every, young], *_ENDS))
            lost = np.mean([run.lost(every, *costs) for run in ahead], axis=0)
            best = int(lost.argmin())
            low, high = plan.waste_limits
            row = self.past.row("decisions", "checkpoints", origin, 24.0 * AHEAD, size=size)
            row |= {"predicted": plan.waste, "low": low, "high": high, "seen": lost[-2], "score": lost[-2]}
            row |= {"every": plan.checkpoint_every, "count_1": young, "score_1": lost[-1]}
            rows.append(row | {"count_2": every[best], "score_2": lost[best]})
        return rows
