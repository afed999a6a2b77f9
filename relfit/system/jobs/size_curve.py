"""Expected completion time of a job on the first k nodes of an order, for many k at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.system.jobs._expected_time import Attempts, attempts, best_checkpoint, log_expected_time
from relfit.system.jobs._time_to_failure import HazardTable, has_constant_rates, table_by_size
from relfit.system.jobs.checkpoint import Checkpoint, best_interval, expected_exponential, exposed_hours
from relfit.system.jobs.completion import Job, check_names, expected_paper, young

if TYPE_CHECKING:
    from relfit.system import System

RULES = ("least", "first")
_MOST_WITH_CHECKPOINTS = 200


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """Results by number of nodes: fields as in `BestSize` (NaN if not computed)."""

    lengths: FloatArray
    log_expected: FloatArray
    success: FloatArray
    lost: FloatArray
    every: FloatArray
    restart: FloatArray


@dataclass(frozen=True)
class Judged:
    """The job and the rules for the best size, without the nodes; arguments as for `best_size`, hours."""

    job: Job
    rule: str
    convention: str
    after_failure: str
    repair: float = 0.0

    def __post_init__(self) -> None:
        check_names(self.convention, self.after_failure)
        if self.rule not in RULES:
            raise ArgumentError(f"rule={self.rule!r} is not known", remedy="use 'least' or 'first'")

    def choose(self, log_expected: FloatArray) -> int:
        """Index of the best size among those that are not NaN."""
        looked = np.flatnonzero(~np.isnan(log_expected))
        values = log_expected[looked]
        if self.rule == "first":
            grows = np.flatnonzero(~(values[1:] <= values[:-1]))
            return int(looked[grows[0] if grows.size else values.size - 1])
        return int(looked[np.argmin(values)])

    def expected(self, system: System, order: IntArray, sizes: IntArray, every: FloatArray | None = None) -> SizeCurve:
        """Expected times on the first nodes of an order, by number of working nodes; spares are the next ones.

        `every` has the hours of work between two saves for each size; by default that of the job, or the best.
        """
        job, plan = self.job, self.job.checkpoint
        lengths = job.time(sizes)
        if plan is None:
            every = np.full(sizes.size, np.nan)
        elif plan.every is not None:
            every = np.full(sizes.size, plan.every)
        ends = float(lengths.min()), float(lengths.max())
        if plan is not None:  # saves and the restore take time too
            most_saves = 1.0 + lengths / (np.minimum(plan.save, lengths) if every is None else every)
            ends = ends[0], ends[1] + plan.restore + plan.save * float(most_saves.max())
        rows = sizes + system.tolerance - 1
        table = table_by_size(system, order, rows, *ends)
        once = _attempts(table, lengths)
        restart, lost = self._restart(once), once.lost
        if self.convention == "paper":
            lost = np.asarray(system.take(order).by_size().mttf, dtype=np.float64)[rows]
            if plan is None:
                log_expected = once.log_expected_paper(restart, lost)
            else:
                if every is None:
                    every = np.minimum(best_interval(lost, plan.save, plan.restore, restart, exposed=()), lengths)
                log_expected = np.log(expected_paper(lost, lengths, plan, restart, every))
        else:
            later = table if self.after_failure == "same" else table_by_size(system.at_age(0.0), order, rows, *ends)
            if plan is None and later is table:
                log_expected = once.log_expected(restart)
            elif plan is None:
                log_expected = once.log_expected_then(restart, _attempts(later, lengths).log_expected(restart))
            elif has_constant_rates(system):
                mtbf = 1.0 / table(np.arange(rows.size), np.ones((rows.size, 1)))[:, 0]
                log_expected, every = _at_constant_rates(plan, mtbf, lengths, restart, every)
            else:
                log_expected, every = self._with_checkpoints(plan, table, later, once, every)
        assert every is not None
        hazard = once.hazard
        if plan is not None and self.convention == "exact":
            hazard = table(np.arange(rows.size), exposed_hours(lengths, every, plan)[:, None])[:, 0]
        return SizeCurve(once.lengths, log_expected, np.exp(-hazard), lost, every, restart)

    def _restart(self, once: Attempts) -> FloatArray:
        """Hours from a failure to the restore: the restart, and the wait until all nodes are up again."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            rate = once.hazard / once.lengths
            wait = np.where(rate * self.repair > 1e-9, np.expm1(rate * self.repair) / rate, self.repair)
        return np.asarray(self.job.restart + wait)

    def _with_checkpoints(
        self, plan: Checkpoint, table: HazardTable, later: HazardTable, once: Attempts, every: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Size by size: a grid of sizes, and then those around the best."""
        restarts, lengths = self._restart(once), once.lengths
        value, interval = np.full(lengths.size, np.nan), np.full(lengths.size, np.nan)

        def fill(some: IntArray) -> None:
            for i in some[np.isnan(value[some])].tolist():
                now = table.life(i)
                then = now if later is table else later.life(i)
                length, restart = float(lengths[i]), float(restarts[i])
                if every is None:
                    near = float(young(length, once.hazard[i], plan.save))
                    best, value[i] = best_checkpoint(now, length, plan, restart, then, near)
                    interval[i] = best.every
                else:
                    interval[i] = every[i]
                    value[i] = log_expected_time(now, length, replace(plan, every=every[i]), restart, then)

        few = min(lengths.size, _MOST_WITH_CHECKPOINTS // 2)
        net = np.unique(np.geomspace(1, lengths.size, few).round()).astype(int)
        fill(net - 1 if lengths.size > _MOST_WITH_CHECKPOINTS else np.arange(lengths.size))
        while True:  # halve the gaps next to the best
            looked = np.flatnonzero(~np.isnan(value))
            at = int(np.searchsorted(looked, self.choose(value)))
            left, here, right = (int(looked[np.clip(at + d, 0, looked.size - 1)]) for d in (-1, 0, 1))
            new = np.unique([(left + here) // 2, (here + right + 1) // 2])
            new = new[np.isnan(value[new])]
            if not new.size:
                return value, interval
            fill(new)


def _attempts(table: HazardTable, lengths: FloatArray) -> Attempts:
    return attempts(table, lengths, tolerance=1e-8, levels=3)


def _at_constant_rates(
    plan: Checkpoint, mtbf: FloatArray, lengths: FloatArray, restart: FloatArray, every: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """All sizes at once; for the best interval, numbers of segments near that of the long run are tried."""
    if every is None:
        near = np.floor(lengths / best_interval(mtbf, plan.save, plan.restore, restart, exposed=plan.exposed))
        tried = lengths / np.maximum(near + np.arange(-1.0, 3.0)[:, None], 1.0)
        times = [expected_exponential(mtbf, lengths, interval, plan, restart) for interval in tried]
        every = np.take_along_axis(tried, np.argmin(times, axis=0)[None], axis=0)[0]
    return np.log(expected_exponential(mtbf, lengths, every, plan, restart)), every
