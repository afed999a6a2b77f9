"""Intervals that follow the hazard: short while failures are likely, long while they are not.

Young's rule with the hazard of the moment: hours of work w with ``w = sqrt(2 C / h)``, h the mean hazard over w (Ling,
Mi and Lin 2001, IEEE Transactions on Computers 50, 699-708).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relfit.arguments import durations
from relfit.arrays import FloatArray
from relfit.errors import ArgumentError
from relfit.jobs import Checkpoint, TimeToFailure, time_to_failure
from relfit.planning.checkpointing.renewal_failures import LEAST_PROGRESS, best_fixed_interval, lattice_sum
from relfit.results import Result
from relfit.text import duration, percent

__all__ = ["Schedule", "schedule_by_hazard"]

_MOST_SAVES = 2500
_FAR, _NEAR = -13.0, -9.0  # logs of survival to which saves are computed, and to which they are kept


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Result):
    """When to save after a restart.

    Attributes
    ----------
    work : ndarray
        Hours of work before each save; after the last, that interval again and again.
    saved_at : ndarray
        Hours from the restart (with the restore, if failures can strike in it) to the end of each save.
    waste : float
        Share of time that is not kept work, in the long run, if every restart meets the same ages.
    fixed_every, fixed_waste : float
        The best fixed hours of work between two saves, and their waste.
    status : str
        ``"ok"`` or ``"no_progress"``.
    """

    work: FloatArray
    saved_at: FloatArray
    waste: float
    fixed_every: float
    fixed_waste: float
    status: str

    def __len__(self) -> int:
        return self.work.size

    @property
    def headline(self) -> str:
        """What the schedule does and gains."""
        if self.status != "ok":
            return "No schedule makes progress: failures come faster than a save can be done."
        gain = self.fixed_waste - self.waste
        if gain < 5e-6:
            return (
                f"Intervals that follow the hazard gain nothing over a fixed one of {duration(self.fixed_every)} "
                f"(waste {percent(self.fixed_waste, 2)})."
            )
        way = "growing" if self.work[-1] > self.work[0] else "shrinking"
        return (
            f"Intervals {way} from {duration(self.work[0])} to {duration(self.work[-1])} waste "
            f"{percent(self.waste, 2)}, a fixed one of {duration(self.fixed_every)} {percent(self.fixed_waste, 2)}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per interval: ``work`` before the save, ``saved_at`` its end, hours."""
        return pd.DataFrame({"work": self.work, "saved_at": self.saved_at})


def schedule_by_hazard(
    source: Any, checkpoint: Checkpoint, restart: Any = 0.0, *, ages: Any = 0.0, nodes: int = 1
) -> Schedule:
    """Intervals that follow the hazard; arguments as in `renewal_waste`, with `ages` at the restart.

    Raises
    ------
    ArgumentError
        For values that cannot be, and saves that take no time or in which nothing can fail.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> plan = schedule_by_hazard(Weibull(0.6, 24.0), Checkpoint(save="5min", restore="10min"))
    >>> plan.work[[0, 1, 10]].round(2).tolist(), round(plan.fixed_waste, 4), round(plan.waste, 4)
    ([1.26, 1.61, 2.55], 0.0675, 0.0653)
    """
    if "save" not in checkpoint.exposed or checkpoint.slowed < 1.0:
        raise ArgumentError("a schedule needs saves that block, with failures in them too", remedy="leave exposed out")
    save = float(durations("save", checkpoint.save, zero=False))
    life = time_to_failure(source, ages, nodes)
    start = checkpoint.exposed_restore
    fixed = best_fixed_interval(life, checkpoint, restart)
    if fixed.status != "ok":
        one = np.array([fixed.every])
        return Schedule(one, start + one + save, fixed.waste, fixed.every, fixed.waste, fixed.status)
    ends = _ends_of_saves(life, start, save)
    sure = np.flatnonzero(life.log_sf(ends) - float(life.log_sf(np.asarray(start))) > _NEAR)
    ends = ends[: sure[-1] + 1] if sure.size else ends[:1]
    work = np.diff(ends, prepend=start) - save
    kept = float((work * life.sf(ends)).sum())
    if np.isfinite(work[-1]):
        kept += float(work[-1] * lattice_sum(life, float(ends[-1]), work[-1] + save))
    kept /= life.mean() + float(durations("restart", restart)) + checkpoint.restore - start
    status = "ok" if kept > LEAST_PROGRESS else "no_progress"
    return Schedule(work, ends, 1.0 - kept, fixed.every, fixed.waste, status)


def _ends_of_saves(life: TimeToFailure, start: float, save: float) -> FloatArray:
    """Ends of saves after hours of work w with ``w (H(t + w) - H(t)) = 2 C``, until hardly any run goes on."""
    edges, _ = life.panels
    far = np.flatnonzero(life.log_sf(edges) - float(life.log_sf(np.asarray(start))) < _FAR)
    end = max(float(edges[far[0] if far.size else -1]), start + 2.0 * save)
    span = end - start
    # the cumulative hazard is read linearly from a fine table
    time = np.unique(np.concatenate([start + span * np.logspace(-9.0, 1.0, 6000), np.linspace(start, end, 6000)]))
    hazard = np.asarray(-life.log_sf(time))
    ends: list[float] = []
    now = start
    while now < end and len(ends) < _MOST_SAVES:
        first = int(np.searchsorted(time, now, side="right"))
        spent = hazard[first:] - float(np.interp(now, time, hazard))
        k = min(int(np.searchsorted((time[first:] - now) * spent, 2.0 * save)), spent.size - 1) + first
        # within the panel that ends at k: (a + x) (b + s x) = 2 C with x hours into it
        left = max(time[k - 1], now)
        slope = (hazard[k] - hazard[k - 1]) / (time[k] - time[k - 1])
        a, b = left - now, float(np.interp(left, time, hazard) - np.interp(now, time, hazard))
        half = 0.5 * (a * slope + b)
        root = a + (np.sqrt(max(half * half - slope * (a * b - 2.0 * save), 0.0)) - half) / slope if slope > 0.0 else a
        if slope <= 0.0 < b:
            root = 2.0 * save / b
        now += float(root) + save
        ends.append(now)
    return np.array(ends)
