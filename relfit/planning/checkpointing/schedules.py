"""Intervals that follow the hazard: short while failures are likely, long while they are not.

Failures do not depend on when a job saves. So what a schedule can change is the work that is kept of each stretch
between two failures, and the best schedule keeps the most of every stretch: with saves that end at ``t1 < t2 < ...``
and survival S, the sum of ``(t[j] - t[j-1] - C) S(t[j])``. It is found by dynamic programming over a grid of times
that is fine where saves are frequent, and then moved to where the derivatives vanish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from relfit.arguments import FloatArray, durations
from relfit.errors import ArgumentError
from relfit.jobs._time_to_failure import TimeToFailure, time_to_failure
from relfit.planning.checkpointing.exponential_failures import Costs, best_interval
from relfit.planning.checkpointing.renewal_failures import LEAST_PROGRESS, best_fixed_interval, lattice_sum
from relfit.planning.checkpointing.schedule_kernels import best_next, steps_by_hazard

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Schedule", "best_schedule", "schedule_by_hazard"]

_PER_INTERVAL = 24  # points of the grid for an interval
_MOST_POINTS = 60_000
_FAR, _NEAR = -13.0, -9.0  # logs of survival to which saves are searched, and to which they are kept


@dataclass(frozen=True, eq=False)
class Schedule:
    """When to save after a restart.

    Attributes
    ----------
    work : ndarray
        Hours of work before each save; after the last, that interval again and again.
    saved_at : ndarray
        Hours from the restart (with the restore, if failures can strike in it) to the end of each save.
    waste : float
        Share of time that is not kept work, in the long run, if every stretch is like this one.
    fixed_interval, fixed_waste : float
        The best fixed interval, and its waste.
    save : float
        Hours of a save.
    rule : str
        ``"optimal"`` or ``"by hazard"``.
    status : str
        ``"ok"`` or ``"no_progress"``.
    """

    work: FloatArray
    saved_at: FloatArray
    waste: float
    fixed_interval: float
    fixed_waste: float
    save: float
    rule: str
    status: str

    def __len__(self) -> int:
        return self.work.size

    @property
    def sentence(self) -> str:
        """What the schedule does and gains, in a sentence."""
        if self.status != "ok":
            return "No schedule makes progress: failures come faster than a save can be done."
        gain = self.fixed_waste - self.waste
        if gain < 5e-6:
            return (
                f"Intervals that follow the hazard gain nothing over a fixed one of {self.fixed_interval:.3g} hours "
                f"(waste {100 * self.fixed_waste:.3g} %)."
            )
        way = "growing" if self.work[-1] > self.work[0] else "shrinking"
        return (
            f"Intervals {way} from {self.work[0]:.3g} to {self.work[-1]:.3g} hours waste {100 * self.waste:.3g} %, "
            f"a fixed one of {self.fixed_interval:.3g} hours {100 * self.fixed_waste:.3g} % "
            f"({100 * gain:.2g} points more)."
        )

    def to_frame(self) -> pd.DataFrame:
        """A row an interval: ``work`` before the save, ``saved_at`` its end, hours."""
        import pandas as pd

        return pd.DataFrame({"work": self.work, "saved_at": self.saved_at})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "rule": self.rule,
            "status": self.status,
            "work_hours": self.work.tolist(),
            "saved_at_hours": self.saved_at.tolist(),
            "waste": self.waste,
            "fixed_interval_hours": self.fixed_interval,
            "fixed_waste": self.fixed_waste,
            "save_hours": self.save,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"Schedule ({self.rule}): {self.sentence}"


def best_schedule(
    source: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    nodes: int = 1,
    exposed: tuple[str, ...] = ("save", "restore"),
    running: bool = False,
) -> Schedule:
    """The sequence of intervals that keeps the most work of a stretch.

    Parameters
    ----------
    source, ages, nodes
        As in `time_to_failure`. Ages are those at the restart.
    save, restore, downtime : duration
        Hours. Failures must be able to strike in saves; `save` above zero.
    running : bool
        The job runs already: the stretch begins with work, not with a restore. The waste is then that of this
        stretch, its share of time until the next failure is repaired.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> plan = best_schedule(Weibull(0.6, 24.0), "5min", "10min")
    >>> plan.work[[0, 1, 10]].round(2).tolist()
    [1.41, 1.66, 2.52]
    >>> round(plan.fixed_waste, 4), round(plan.waste, 4)
    (0.0675, 0.0653)
    """
    return _schedule(source, save, restore, downtime, ages, nodes, exposed, running, "optimal")


def schedule_by_hazard(
    source: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    nodes: int = 1,
    exposed: tuple[str, ...] = ("save", "restore"),
    running: bool = False,
) -> Schedule:
    """Young's rule with the hazard of the moment: intervals w with ``w = sqrt(2 C / h)``, h the mean hazard over w.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> plan = schedule_by_hazard(Weibull(0.6, 24.0), "5min", "10min")
    >>> round(plan.waste, 4)
    0.0653
    """
    return _schedule(source, save, restore, downtime, ages, nodes, exposed, running, "by hazard")


# ---------------------------------------------------------------------- details


def _schedule(
    source: Any, save: Any, restore: Any, downtime: Any, ages: Any, nodes: int, exposed: tuple[str, ...],
    running: bool, rule: str,
) -> Schedule:  # fmt: skip
    if "save" not in exposed:
        raise ArgumentError("a schedule takes failures to strike in saves too", remedy="add 'save' to exposed")
    stretch = time_to_failure(source, ages, nodes)
    cost = Costs.of(durations("save", save, zero=False), restore, downtime, exposed)
    c, r, d = float(cost.save), float(cost.restore), float(cost.downtime)
    start = r if "restore" in exposed and not running else 0.0
    aside = d if running or "restore" in exposed else d + r
    fixed = best_fixed_interval(
        stretch, c, 0.0 if running else r, d, exposed=("save",) if running else exposed
    )  # fmt: skip
    if fixed.status != "ok":
        one = np.array([fixed.interval])
        return Schedule(one, start + one + c, fixed.waste, fixed.interval, fixed.waste, c, rule, fixed.status)
    end = _end(stretch, start, c)
    ends = _by_hazard(stretch, start, end, c)
    if rule == "optimal":
        ends = _polish(stretch, start, _by_programming(stretch, start, end, c, ends), c)
    # the last saves feel the end of the search, and hardly any stretch gets so far: they are cut off
    sure = np.flatnonzero(stretch.log_sf(ends) - stretch.log_sf(np.asarray(start)) > _NEAR)
    ends = ends[: sure[-1] + 1] if sure.size else ends[:1]
    last = float(ends[-1] - (ends[-2] if ends.size > 1 else start)) - c
    kept = _kept(stretch, start, ends, c, last) / (stretch.mean() + aside)
    work = np.diff(ends, prepend=start) - c
    status = "ok" if kept > LEAST_PROGRESS else "no_progress"
    return Schedule(work, ends, 1.0 - kept, fixed.interval, fixed.waste, c, rule, status)


def _end(stretch: TimeToFailure, start: float, c: float) -> float:
    """When to stop following the hazard: survival is small, or the intervals are very many."""
    edges, _ = stretch.panels
    log_sf = stretch.log_sf(edges)
    reached = np.flatnonzero(log_sf - float(stretch.log_sf(np.asarray(start))) < _FAR)
    end = float(edges[reached[0]]) if reached.size else float(edges[-1])
    return max(end, start + 2.0 * c)


def _table(stretch: TimeToFailure, start: float, end: float) -> tuple[FloatArray, FloatArray]:
    """Rising times and cumulative hazards, fine enough to be read linearly."""
    beyond = start + 10.0 * (end - start)
    near = (end - start) * np.logspace(-9.0, 1.0, 6000)
    time = np.unique(np.concatenate([[start], start + near, np.linspace(start, end, 6000), [beyond]]))
    return time, np.asarray(-stretch.log_sf(time))


def _by_hazard(stretch: TimeToFailure, start: float, end: float, c: float) -> FloatArray:
    time, hazard = _table(stretch, start, end)
    out = np.empty(_MOST_POINTS // _PER_INTERVAL)
    return out[: steps_by_hazard(time, hazard, start, end, c, out)].copy()


def _last_interval(stretch: TimeToFailure, time: float, c: float) -> float:
    """The best interval if the hazard stayed what it is at `time`."""
    hazard = float(stretch.hazard(np.asarray(time)))
    return float(best_interval(1.0 / hazard, c)) if hazard > 0.0 else np.inf


def _by_programming(stretch: TimeToFailure, start: float, end: float, c: float, rough: FloatArray) -> FloatArray:
    # so many points between the saves of the rule by hazard, and beyond its last
    knots = np.concatenate([[start], rough])
    share = np.arange(_PER_INTERVAL) / _PER_INTERVAL
    time = (knots[:-1, None] + np.diff(knots)[:, None] * share).ravel()
    time = np.append(time, knots[-1] + np.diff(knots)[-1] * np.arange(_PER_INTERVAL + 1) / _PER_INTERVAL)
    time = np.unique(time)
    log_sf = np.asarray(stretch.log_sf(time))
    log_sf = np.maximum(log_sf, -1e6)
    value, following = np.empty(time.size), np.empty(time.size, dtype=np.int64)
    hazard = float(stretch.hazard(time[-1:])[0])
    last = _last_interval(stretch, float(time[-1]), c)
    last_value = last / np.expm1(hazard * (last + c)) if np.isfinite(last) and hazard * (last + c) < 700.0 else 0.0
    best_next(time, log_sf, c, last_value, value, following)
    found, i = [], int(following[0])
    while i >= 0:
        found.append(float(time[i]))
        i = int(following[i])
    return np.array(found) if found else rough


def _polish(stretch: TimeToFailure, start: float, ends: FloatArray, c: float) -> FloatArray:
    """Move the saves to where the derivatives of the kept work vanish (Newton, tridiagonal)."""
    n = ends.size
    if n < 2:
        return ends
    best = _kept_of(stretch, start, ends, c)
    scale = np.diff(ends, prepend=start)
    for _ in range(30):
        # the last save stays where it is: what follows it weighs next to nothing
        with np.errstate(under="ignore"):
            s = stretch.sf(ends)
            f = stretch.hazard(ends) * s
            tiny = 1e-5 * scale
            bend = (stretch.hazard(ends + tiny) * stretch.sf(ends + tiny)
                    - stretch.hazard(ends - tiny) * stretch.sf(ends - tiny)) / (2.0 * tiny)  # fmt: skip
        w = np.diff(ends, prepend=start) - c
        slope = s[:-1] - s[1:] - f[:-1] * w[:-1]
        weight = np.maximum(s[:-1], 1e-300)
        band = np.zeros((3, n - 1))
        band[1] = (-2.0 * f[:-1] - bend[:-1] * w[:-1]) / weight
        band[0, 1:] = f[1:-1] / weight[:-1]
        band[2, :-1] = f[1:-1] / weight[1:]
        try:
            step = linalg.solve_banded((1, 1), band, -slope / weight)
        except (linalg.LinAlgError, ValueError):
            return ends
        most = float(np.max(np.abs(step) / scale[:-1]))
        moved = False
        for part in (1.0, 0.5, 0.25, 0.1, 0.02):
            new = ends.copy()
            new[:-1] += step * min(part, 0.4 * part / max(most, 1e-300))
            if np.all(np.diff(new, prepend=start) > c) and (kept := _kept_of(stretch, start, new, c)) >= best:
                moved, best, ends = kept > best * (1.0 + 1e-14), kept, new
                break
        if not moved or most < 1e-10:
            break
    return ends


def _kept_of(stretch: TimeToFailure, start: float, ends: FloatArray, c: float) -> float:
    return float(((np.diff(ends, prepend=start) - c) * stretch.sf(ends)).sum())


def _kept(stretch: TimeToFailure, start: float, ends: FloatArray, c: float, last: float) -> float:
    """Mean kept work of a stretch, with the last interval again and again after the schedule."""
    kept = _kept_of(stretch, start, ends, c)
    if not np.isfinite(last) or last <= 0.0:
        return kept
    return kept + last * float(lattice_sum(stretch, float(ends[-1]), last + c))
