"""Waste of checkpoints as a function of their interval: for failures of any distribution, and over draws.

Of any distribution it is exact, by the renewal equation. The time from a restart to the next failure has a distribution
(of nodes of some age, or of a system). The work before the last complete save is kept. If the distribution is the same
at every restart, the long-run share of useful work is the mean work kept over the mean time between two failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations
from relfit.base.arrays import Durations, FloatArray
from relfit.base.numeric.grid_search import highest
from relfit.system.jobs import Checkpoint, TimeToFailure, time_to_failure
from relfit.system.jobs import checkpoint as exact

LEAST_PROGRESS = 1e-9  # useful share of time below which a job makes no progress
_DIRECT = 384  # terms of a lattice sum that are added directly
_CHUNK = 2_000_000


@dataclass(frozen=True)
class BestFixed:
    """The best hours of work between two saves (0: saves without a pause), and their waste."""

    every: float
    waste: float


def renewal_waste(source: object, every: npt.ArrayLike, checkpoint: Checkpoint, restart: Durations = 0.0) -> FloatArray:
    """Long-run waste of checkpoints at fixed hours of work, if the ages are the same at every restart.

    `source` as for `relfit.system.jobs.time_to_failure`. A restore in which failures can occur is part of the time to
    the next failure. `every` may be zero if saves take time and do not stop the work: they then run without a pause.
    """
    gap = durations("every", every, zero=checkpoint.slowed < 1.0 and checkpoint.save > 0.0)
    return 1.0 - _progress(time_to_failure(source), gap, checkpoint, float(durations("restart", restart)))


def best_fixed_interval(source: object, checkpoint: Checkpoint, restart: Durations = 0.0) -> BestFixed:
    """The interval with the least waste, by a search over eight decades; arguments as for `renewal_waste`."""
    life, pause = time_to_failure(source), float(durations("restart", restart))

    def progress(every: npt.ArrayLike) -> FloatArray:
        return _progress(life, np.asarray(every, dtype=np.float64), checkpoint, pause)

    guess = float(exact.best_interval(life.mean(), checkpoint.save))
    if guess <= 0.0:  # saves cost nothing
        return BestFixed(0.0, 1.0 - float(progress(1e-9 * life.mean())))
    if checkpoint.slowed < 1.0 and float(progress(0.0)) >= float(progress(1e-4 * guess)):  # saves without a pause
        return BestFixed(0.0, 1.0 - float(progress(0.0)))
    middle, _ = highest(lambda log: progress(np.exp(log)), np.log(guess) - 9.5, np.log(guess) + 9.5, first=96, rounds=5)
    # near the top the curve is a parabola: its vertex is more precise than the highest of noisy points
    width = 1e-3
    left, centre, right = progress(np.exp(middle + np.array([-width, 0.0, width])))
    bend = left - 2.0 * centre + right
    shift = 0.5 * width * (left - right) / bend if bend < 0.0 else 0.0
    every = float(np.exp(middle + np.clip(shift, -width, width)))
    return BestFixed(every, 1.0 - float(progress(every)))


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


@dataclass(frozen=True, eq=False)
class ExponentialWaste:
    """Waste under exponential failures; hours."""

    mtbf: float  # of the job
    drawn: FloatArray | None
    checkpoint: Checkpoint
    restart: float  # with the wait for a repair
    drawn_restart: FloatArray | None = None

    def at(self, every: FloatArray) -> FloatArray:
        """Waste of each interval."""
        return self._of(np.asarray(self.mtbf), every, np.asarray(self.restart))

    def drawn_at(self, every: FloatArray, most: int) -> FloatArray:
        """Waste of each interval for each of at most `most` draws, along a first axis."""
        mu, restart = (values[:most].reshape((-1,) + (1,) * every.ndim) for values in self._draws)
        return self._of(mu, every[None], restart)

    def best(self) -> tuple[float, float]:
        """Best interval, and its waste."""
        best = self._best(np.asarray([self.mtbf]), np.asarray([self.restart]))
        return float(best[0]), float(self.at(best)[0])

    def best_of_draws(self) -> tuple[FloatArray, FloatArray]:
        """Best interval of each draw, and its waste."""
        mu, restart = self._draws
        best = self._best(mu, restart)
        return best, self._of(mu, best, restart)

    @property
    def _draws(self) -> tuple[FloatArray, FloatArray]:
        assert self.drawn is not None
        restart = self.restart if self.drawn_restart is None else self.drawn_restart
        return self.drawn, np.broadcast_to(restart, self.drawn.shape)

    def _of(self, mu: FloatArray, w: FloatArray, d: FloatArray) -> FloatArray:
        c, r = self.checkpoint.save, self.checkpoint.restore
        exposed, slowed = self.checkpoint.exposed, self.checkpoint.slowed
        if slowed == 1.0:
            return exact.waste(mu, w, c, r, d, exposed=exposed)
        # `renewal_waste` in closed form
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            pace = (w + c) / mu
            work = (w + (1.0 - slowed) * c) / np.expm1(pace) - (1.0 - slowed) * c * np.exp(-pace)
            progress = work * np.exp(-r / mu) / (mu + d) if "restore" in exposed else work / (mu + d + r)
        return np.asarray(1.0 - np.where(np.isfinite(progress), progress, 0.0))

    def _best(self, mu: FloatArray, restart: FloatArray) -> FloatArray:
        plan = self.checkpoint
        if plan.slowed == 1.0:
            return exact.best_interval(mu, plan.save, plan.restore, restart, exposed=plan.exposed)
        if plan.save == 0.0:
            return np.zeros(mu.shape)
        guess = exact.best_interval(mu, plan.save)
        low, high = np.log(guess) - 9.0, np.log(guess) + 4.0
        where, _ = highest(lambda log: -self._of(mu[..., None], np.exp(log), restart[..., None]), low, high)
        # saves without a pause, if that is better still
        at_once = self._of(mu, np.zeros(mu.shape), restart) <= self._of(mu, 1e-4 * guess, restart)
        return np.where(at_once, 0.0, np.exp(where))


@dataclass(frozen=True, eq=False)
class RenewalWaste:
    """Waste for times to failure of any distribution, the same at every restart; hours."""

    life: TimeToFailure
    drawn: Sequence[TimeToFailure]
    checkpoint: Checkpoint
    restart: float

    @property
    def mtbf(self) -> float:
        """Mean hours between failures."""
        return self.life.mean()

    def at(self, every: FloatArray) -> FloatArray:
        """Waste of each interval."""
        flat = np.ravel(every) if self.checkpoint.slowed < 1.0 else np.maximum(every, 1e-12).ravel()
        return renewal_waste(self.life, flat, self.checkpoint, self.restart).reshape(every.shape)

    def drawn_at(self, every: FloatArray, most: int) -> FloatArray:
        """Waste of each interval for each of at most `most` draws, along a first axis."""
        return np.stack([replace(self, life=life).at(every) for life in self.drawn[:most]])

    def best(self) -> tuple[float, float]:
        """Best interval, and its waste."""
        best = best_fixed_interval(self.life, self.checkpoint, self.restart)
        return best.every, best.waste

    def best_of_draws(self) -> tuple[FloatArray, FloatArray]:
        """Best interval of each draw, and its waste."""
        every, waste = np.array([replace(self, life=life).best() for life in self.drawn]).T
        return every, waste


def robust_interval(
    model: ExponentialWaste | RenewalWaste, near: float, by: str | float, most: int
) -> tuple[float, float]:
    """The interval near `near` with the least mean (or quantile) waste over at most `most` draws, and that waste."""

    def over_draws(interval: FloatArray) -> FloatArray:
        waste = model.drawn_at(interval, most)
        return np.asarray(waste.mean(axis=0) if by == "mean" else np.quantile(waste, float(by), axis=0))

    if near <= 0.0:
        return near, float(over_draws(np.asarray([near]))[0])
    where, least = highest(lambda log: -over_draws(np.exp(log)), np.log(near) - 5.0, np.log(near) + 4.0)
    return float(np.exp(where)), -float(least)
