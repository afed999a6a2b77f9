"""Scores of past predictions of jobs: the share without interruption, compared with that of the last 180 days."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relfit.backtesting.origins import SystemPast
from relfit.base.arrays import FloatArray
from relfit.fleet import FleetModel
from relfit.fleet.job_placement import NodeOutages
from relfit.fleet.job_shares import TRIALS, interrupted_shares, side_by_side
from relfit.fleet.prediction import levels_of, mix

JOB_HORIZON = 2160.0  # hours: a quarter
_LATELY = 180  # days that are counted
_CELLS = 4_000_000  # starts times nodes, about
_A_DAY = 12  # starts a day, at most
_FEWEST = 30  # days with such jobs that are needed


class JobScores:
    """Shares of all possible jobs of one system that an outage interrupts, by the day on which they start.

    Each start counts as many jobs as fit on the system at once. `nodes` are those of the complete log, `lengths` hours.
    """

    def __init__(
        self,
        past: SystemPast,
        nodes: NodeOutages,
        sizes: tuple[int, ...],
        lengths: tuple[float, ...],
        level: float,
        seed: int,
    ) -> None:
        self.past, self.sizes, self.lengths, self.level = past, sizes, lengths, level
        steps, rng = past.steps, np.random.default_rng(seed)
        a_day = float(np.clip(_CELLS / max(nodes.labels.size * steps.size, 1), 0.25, _A_DAY))
        first, last = (past.hours(int(edge)) for edge in steps.edges[[0, -1]])
        starts = np.arange(first, last, 24.0 / a_day)
        starts = starts + rng.uniform(0.0, 24.0 / a_day, starts.size)
        starts = starts[(starts >= 0.0) & (starts <= past.log.window.hours - max(lengths))]
        shares = interrupted_shares(nodes, starts, sizes, lengths, "packed", rng)
        day = np.clip(((starts - first) / 24.0).astype(np.int64), 0, steps.size - 1)
        self.beside = [side_by_side(nodes, size) for size in sizes]
        self.met, self.jobs = np.zeros((2, len(sizes), len(lengths), steps.size))
        for i, j in np.ndindex(len(sizes), len(lengths)):
            placed, beside = np.isfinite(shares[i, j]), self.beside[i]
            self.met[i, j] = beside * np.bincount(day[placed], shares[i, j][placed], steps.size)
            self.jobs[i, j] = beside * np.bincount(day[placed], minlength=steps.size)

    def before(self, i: int, j: int, origin: int) -> tuple[FloatArray, FloatArray]:
        """Interrupted jobs and all jobs by day, of those that had ended at an origin."""
        day = self.past.day(origin)
        over = np.arange(day) < day - int(np.ceil(self.lengths[j] / 24.0))
        return self.met[i, j, :day] * over, self.jobs[i, j, :day] * over

    def counted(self, i: int, j: int, origin: int) -> float:
        """Share of the jobs of the last 180 days without interruption."""
        return _uninterrupted(*(values[-_LATELY:] for values in self.before(i, j, origin)))

    def seen(self, i: int, j: int, origin: int) -> float:
        """Share of the jobs of the next 90 days without interruption."""
        day = self.past.day(origin)
        days = slice(day, day + round(JOB_HORIZON / 24.0))
        return _uninterrupted(self.met[i, j, days], self.jobs[i, j, days])

    def by_counts(self, i: int, j: int, origin: int) -> tuple[float, float, float] | None:
        """Prediction and limits from past daily shares, without a model of the fleet; None with too few days."""
        met, jobs = self.before(i, j, origin)
        if (jobs > 0.0).sum() < _FEWEST:
            return None
        levels, trials = levels_of(met, jobs), TRIALS * self.beside[i]
        comes = mix(levels, met, jobs, JOB_HORIZON / 24.0, 1.0, shares=True, trials=trials)
        tail = 0.5 - self.level / 2.0
        return 1.0 - comes.expected, 1.0 - comes.quantile(1.0 - tail), 1.0 - comes.quantile(tail)

    def rows(
        self, origin: int, answer: Callable[[int, int], tuple[float, float, float] | None]
    ) -> list[dict[str, Any]]:
        """Rows of one origin; `answer` gives the prediction and its limits by index of size and length."""
        rows: list[dict[str, Any]] = []
        if not self.past.lasts(origin, JOB_HORIZON):
            return rows
        for i, j in np.ndindex(len(self.sizes), len(self.lengths)):
            seen, before = self.seen(i, j, origin), self.counted(i, j, origin)
            if np.isnan(seen) or np.isnan(before):
                continue
            said = answer(i, j)
            if said is None:
                continue
            row = self.past.row("jobs", "job", origin, JOB_HORIZON, size=self.sizes[i], length=self.lengths[j])
            row |= dict(zip(("predicted", "low", "high"), said, strict=True))
            row |= {"seen": seen, "score": abs(said[0] - seen), "count_1": before, "score_1": abs(before - seen)}
            rows.append(row)
        return rows

    def by_model(self, model: FleetModel) -> Callable[[int, int], tuple[float, float, float] | None]:
        """Predictions by a model of the fleet."""

        def answer(i: int, j: int) -> tuple[float, float, float] | None:
            size, length = self.sizes[i], self.lengths[j]
            if size > len(model.places.nodes):
                return None
            one = model.interval("reliability", length, size=size, placement="packed", level=self.level)
            return float(one.estimate), float(one.low), float(one.high)

        return answer


def _uninterrupted(met: FloatArray, jobs: FloatArray) -> float:
    """Share of jobs without interruption, from those interrupted and all of them by day."""
    return float(1.0 - met.sum() / jobs.sum()) if jobs.sum() > 0.0 else float("nan")
