"""Checkpoints at a fixed interval for failures of any distribution: exact, by the renewal equation.

The time from a restart to the next failure has a distribution (of nodes of some age, or of a system). The work before
the last complete save is kept. If the distribution is the same at every restart, the long-run share of useful work is
the mean work kept over the mean time between two failures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations
from relfit.base.arrays import Durations, FloatArray
from relfit.base.numeric.grid_search import highest
from relfit.system.jobs import Checkpoint, TimeToFailure, time_to_failure
from relfit.system.jobs.checkpoint import best_interval

LEAST_PROGRESS = 1e-9  # useful share of time below which a job makes no progress
_DIRECT = 384  # terms of a lattice sum that are added directly
_CHUNK = 2_000_000


@dataclass(frozen=True)
class BestFixed:
    """The best hours of work between two saves (0: saves without a pause), and their waste."""

    every: float
    waste: float
    status: str


def renewal_waste(source: object, every: npt.ArrayLike, checkpoint: Checkpoint, restart: Durations = 0.0) -> FloatArray:
    """Long-run waste of checkpoints at fixed hours of work, if the ages are the same at every restart.

    `source` as for `relfit.system.jobs.time_to_failure`. A restore in which failures can occur is part of the time to
    the next failure. `every` may be zero if saves take time and do not stop the work: they then run without a pause.

    Examples
    --------
    >>> from relfit.fitting.families import Weibull
    >>> renewal_waste(Weibull(0.7, 24.0), [1, 2, 4], Checkpoint(save="5min", restore="10min")).round(4).tolist()
    [0.0975, 0.0759, 0.0853]
    """
    gap = durations("every", every, zero=checkpoint.slowed < 1.0 and checkpoint.save > 0.0)
    return 1.0 - _progress(time_to_failure(source), gap, checkpoint, float(durations("restart", restart)))


def best_fixed_interval(source: object, checkpoint: Checkpoint, restart: Durations = 0.0) -> BestFixed:
    """The interval with the least waste, by a search over eight decades; arguments as for `renewal_waste`.

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

    def result(every: float, useful: float) -> BestFixed:
        return BestFixed(every, 1.0 - useful, "ok" if useful > LEAST_PROGRESS else "no_progress")

    guess = float(best_interval(life.mean(), checkpoint.save))
    if guess <= 0.0:  # saves cost nothing
        return result(0.0, float(progress(1e-9 * life.mean())))
    if checkpoint.slowed < 1.0 and float(progress(0.0)) >= float(progress(1e-4 * guess)):  # saves without a pause
        return result(0.0, float(progress(0.0)))
    middle, _ = highest(lambda log: progress(np.exp(log)), np.log(guess) - 9.5, np.log(guess) + 9.5, first=96, rounds=5)
    # near the top the curve is a parabola: its vertex is more precise than the highest of noisy points
    width = 1e-3
    left, centre, right = progress(np.exp(middle + np.array([-width, 0.0, width])))
    bend = left - 2.0 * centre + right
    shift = 0.5 * width * (left - right) / bend if bend < 0.0 else 0.0
    every = float(np.exp(middle + np.clip(shift, -width, width)))
    return result(every, float(progress(every)))


def lattice_sum(life: TimeToFailure, start: npt.ArrayLike, step: npt.ArrayLike) -> FloatArray:
    """Sum of survival at ``start + step``, ``start + 2 step`` and so on, the far terms by Euler-Maclaurin."""
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
    """Useful work per hour."""
    held, struck = checkpoint.exposed_save, checkpoint.exposed_restore
    period = gap + held
    saves = lattice_sum(life, struck, period)  # mean number of complete saves
    first = life.sf(struck + period)
    work = gap * first + (gap + (1.0 - checkpoint.slowed) * held) * (saves - first)
    return np.asarray(work / (life.mean() + restart + (checkpoint.restore - struck) + (checkpoint.save - held) * saves))
