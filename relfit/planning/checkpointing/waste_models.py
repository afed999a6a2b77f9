"""Waste as a function of the checkpoint interval, and over draws, for exponential failures or any distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.numeric.grid_search import highest
from relfit.planning.checkpointing import exponential_failures as exact
from relfit.planning.checkpointing.renewal_failures import best_fixed_interval, renewal_waste
from relfit.system.jobs import Checkpoint, TimeToFailure
from relfit.system.jobs.checkpoint import best_interval


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
            return best_interval(mu, plan.save, plan.restore, restart, exposed=plan.exposed)
        if plan.save == 0.0:
            return np.zeros(mu.shape)
        guess = best_interval(mu, plan.save)
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
        return self._of(self.life, every)

    def drawn_at(self, every: FloatArray, most: int) -> FloatArray:
        """Waste of each interval for each of at most `most` draws, along a first axis."""
        return np.stack([self._of(life, every) for life in self.drawn[:most]])

    def best(self) -> tuple[float, float]:
        """Best interval, and its waste."""
        return self._best(self.life)

    def best_of_draws(self) -> tuple[FloatArray, FloatArray]:
        """Best interval of each draw, and its waste."""
        best = np.array([self._best(life) for life in self.drawn])
        return best[:, 0], best[:, 1]

    def _of(self, life: TimeToFailure, every: FloatArray) -> FloatArray:
        flat = np.ravel(every) if self.checkpoint.slowed < 1.0 else np.maximum(every, 1e-12).ravel()
        return renewal_waste(life, flat, self.checkpoint, self.restart).reshape(every.shape)

    def _best(self, life: TimeToFailure) -> tuple[float, float]:
        best = best_fixed_interval(life, self.checkpoint, self.restart)
        return best.every, best.waste


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
