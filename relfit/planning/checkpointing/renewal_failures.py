"""Checkpoints every so many hours when failures have any distribution: exact, by the renewal equation.

Between two failures the clock runs from a restart; the time to the next failure has a distribution (nodes of some age,
a system). What is kept of it is the work before its last complete save. When every restart meets the same distribution,
kept work over time is the mean of both between two failures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.arguments import durations
from relfit.arrays import FloatArray
from relfit.jobs import Checkpoint, TimeToFailure, time_to_failure
from relfit.jobs.checkpoint import best_interval
from relfit.numeric.grid_search import highest

__all__ = ["LEAST_PROGRESS", "BestFixed", "best_fixed_interval", "lattice_sum", "renewal_waste"]

LEAST_PROGRESS = 1e-9  # kept hours per hour, below which a job is said to make no progress
_DIRECT = 384  # terms of a lattice sum that are added one by one
_CHUNK = 2_000_000


@dataclass(frozen=True)
class BestFixed:
    """The best fixed interval.

    Attributes
    ----------
    every : float
        Hours of work from the end of a save to the start of the next; 0 where saves best follow one another.
    waste : float
        Share of time that is not kept work, in the long run.
    status : str
        ``"ok"``, or ``"no_progress"``: however often the job saves, less than a billionth of the time is kept work.
    """

    every: float
    waste: float
    status: str


def renewal_waste(source: Any, every: npt.ArrayLike, checkpoint: Checkpoint, restart: Any = 0.0) -> FloatArray:
    """Long-run waste of saves after every so many hours of work, when every restart meets the same ages.

    Parameters
    ----------
    source
        A mean time, a distribution or a system, as for `relfit.jobs.time_to_failure`, or what that gives.
    every : array_like of durations
        Hours from the end of one save to the start of the next; where saves block, the work between them. Zero where
        saves take time and do not block: they follow one another.
    checkpoint : Checkpoint
        Its costs; its own ``every`` does not matter. A restore in which failures can strike counts for the time to the
        next failure.
    restart : duration

    Returns
    -------
    ndarray
        Waste, of the shape of `every`.

    Raises
    ------
    ArgumentError
        For a time that is not above zero where it must be.
    DataError
        When the mean time to failure is infinite.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> renewal_waste(Weibull(0.7, 24.0), [1, 2, 4], Checkpoint(save="5min", restore="10min")).round(4).tolist()
    [0.0975, 0.0759, 0.0853]
    """
    gap = durations("every", every, zero=checkpoint.slowed < 1.0 and checkpoint.save > 0.0)
    return 1.0 - _progress(time_to_failure(source), gap, checkpoint, float(durations("restart", restart)))


def best_fixed_interval(source: Any, checkpoint: Checkpoint, restart: Any = 0.0) -> BestFixed:
    """The interval with the least waste, by search over eight decades and refinement; arguments as in `renewal_waste`.

    Examples
    --------
    Exponential failures give the optimum in closed form:

    >>> best = best_fixed_interval(24, Checkpoint(save="5min", restore="10min"))
    >>> round(best.every, 4), round(best.waste, 4)
    (1.9448, 0.0874)
    """
    life, pause = time_to_failure(source), float(durations("restart", restart))

    def progress(every: npt.ArrayLike) -> FloatArray:
        return _progress(life, np.asarray(every, dtype=np.float64), checkpoint, pause)

    def result(every: float, kept: float) -> BestFixed:
        return BestFixed(every, 1.0 - kept, "ok" if kept > LEAST_PROGRESS else "no_progress")

    guess = float(best_interval(life.mean(), checkpoint.save))
    if guess <= 0.0:  # saves that cost nothing: as often as one likes
        return result(0.0, float(progress(1e-9 * life.mean())))
    if checkpoint.slowed < 1.0 and float(progress(0.0)) >= float(progress(1e-4 * guess)):  # one save after another
        return result(0.0, float(progress(0.0)))
    middle, _ = highest(lambda log: progress(np.exp(log)), np.log(guess) - 9.5, np.log(guess) + 9.5, first=96, rounds=5)
    # near the top the curve is a parabola: its vertex is steadier than the highest of noisy points
    width = 1e-3
    left, centre, right = progress(np.exp(middle + np.array([-width, 0.0, width])))
    bend = left - 2.0 * centre + right
    shift = 0.5 * width * (left - right) / bend if bend < 0.0 else 0.0
    every = float(np.exp(middle + np.clip(shift, -width, width)))
    return result(every, float(progress(every)))


def lattice_sum(life: TimeToFailure, start: npt.ArrayLike, step: npt.ArrayLike) -> FloatArray:
    """Sum of survival at ``start + step``, ``start + 2 step`` and so on without end.

    The first terms are added, the rest is the integral with the corrections of Euler and Maclaurin.
    """
    first, pace = np.broadcast_arrays(np.asarray(start, np.float64), np.asarray(step, np.float64))
    if not np.isnan(life.constant):
        with np.errstate(over="ignore", divide="ignore"):
            return np.exp(-life.constant * first) / np.expm1(life.constant * pace)
    shape, first, pace = first.shape, first.ravel(), pace.ravel()
    total = np.empty(first.shape)
    terms = np.arange(1.0, _DIRECT + 1.0)
    chunk = max(1, _CHUNK // (_DIRECT * max(life.nodes, 1)))
    for i in range(0, first.size, chunk):
        a, h = first[i : i + chunk], pace[i : i + chunk]
        total[i : i + chunk] = life.sf(a[:, None] + h[:, None] * terms).sum(axis=1)
    last = first + _DIRECT * pace
    left = life.log_sf(last) > -40.0
    if left.any():
        x, h = last[left], pace[left]
        s = life.sf(x)
        total[left] += life.area_from(x) / h - 0.5 * s + h * life.hazard(x) * s / 12.0
    return total.reshape(shape)


def _progress(life: TimeToFailure, gap: FloatArray, checkpoint: Checkpoint, restart: float) -> FloatArray:
    """Kept work per hour."""
    held, struck = checkpoint.exposed_save, checkpoint.exposed_restore
    period = gap + held
    saves = lattice_sum(life, struck, period)  # mean number of complete saves
    first = life.sf(struck + period)
    work = gap * first + (gap + (1.0 - checkpoint.slowed) * held) * (saves - first)
    return np.asarray(work / (life.mean() + restart + (checkpoint.restore - struck) + (checkpoint.save - held) * saves))
