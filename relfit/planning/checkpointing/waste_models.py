"""Waste over the interval, and what it becomes over draws of the parameters: exponential failures, or any stretches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relfit.arguments import FloatArray
from relfit.jobs._time_to_failure import TimeToFailure
from relfit.planning.checkpointing import exponential_failures as exact
from relfit.planning.checkpointing.exponential_failures import Costs
from relfit.planning.checkpointing.renewal_failures import best_fixed_interval, renewal_waste

__all__ = ["ExponentialWaste", "WasteOfLives", "robust_interval"]

_STEPS = 27


@dataclass(frozen=True, eq=False)
class ExponentialWaste:
    """Waste under exponential failures.

    Attributes
    ----------
    mtbf : float
        Of the job, hours.
    drawn : ndarray or None
        Drawn mean times.
    costs : Costs
    slowed : float
        Share of speed lost during a save.
    """

    mtbf: float
    drawn: FloatArray | None
    costs: Costs
    slowed: float

    def at(self, interval: FloatArray) -> FloatArray:
        """Waste of each interval."""
        return self._of(np.asarray(self.mtbf), interval)

    def drawn_at(self, interval: FloatArray, most: int) -> FloatArray:
        """The same for each of at most so many draws; draws first."""
        assert self.drawn is not None
        mu = self.drawn[:most]
        return self._of(mu.reshape((-1,) + (1,) * interval.ndim), interval[None])

    def best(self) -> tuple[float, float]:
        """Best interval, and its waste."""
        best = self._best(np.asarray([self.mtbf]))
        return float(best[0]), float(self.at(best)[0])

    def best_of_draws(self) -> tuple[FloatArray, FloatArray]:
        """Best interval of each draw, and its waste."""
        assert self.drawn is not None
        best = self._best(self.drawn)
        return best, self._of(self.drawn, best)

    def _of(self, mu: FloatArray, w: FloatArray) -> FloatArray:
        cost = self.costs
        if self.slowed == 1.0:
            return exact.waste(mu, w, cost.save, cost.restore, cost.downtime, exposed=cost.exposed)
        # `renewal_waste` in closed form
        c, r, d = float(cost.save), float(cost.restore), float(cost.downtime)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            pace = (w + c) / mu
            kept = (w + (1.0 - self.slowed) * c) / np.expm1(pace) - (1.0 - self.slowed) * c * np.exp(-pace)
            progress = kept * np.exp(-r / mu) / (mu + d) if "restore" in cost.exposed else kept / (mu + d + r)
        return np.asarray(1.0 - np.where(np.isfinite(progress), progress, 0.0))

    def _best(self, mu: FloatArray) -> FloatArray:
        cost = self.costs
        if self.slowed == 1.0:
            return exact.best_interval(mu, cost.save, cost.restore, cost.downtime, exposed=cost.exposed)
        if float(cost.save) == 0.0:
            return np.zeros(mu.shape)
        guess = exact.best_interval(mu, cost.save)
        low, high = np.log(guess)[..., None] - 9.0, np.log(guess)[..., None] + 4.0
        where = low
        for _ in range(7):
            grid = low + (high - low) * np.linspace(0.0, 1.0, _STEPS)
            best = self._of(mu[..., None], np.exp(grid)).argmin(axis=-1)[..., None]
            where = np.take_along_axis(grid, best, axis=-1)
            low = np.take_along_axis(grid, np.maximum(best - 1, 0), axis=-1)
            high = np.take_along_axis(grid, np.minimum(best + 1, _STEPS - 1), axis=-1)
        # one save after another, where that is better still
        at_once = self._of(mu, np.zeros(mu.shape)) <= self._of(mu, 1e-4 * guess)
        return np.where(at_once, 0.0, np.exp(where[..., 0]))


@dataclass(frozen=True, eq=False)
class WasteOfLives:
    """Waste when every restart begins a stretch of any one distribution.

    Attributes
    ----------
    stretch : TimeToFailure
    drawn : sequence of TimeToFailure
        By draws of the parameters of the lives; empty where nothing is known of their uncertainty.
    costs, slowed
        As in `ExponentialWaste`.
    """

    stretch: TimeToFailure
    drawn: Sequence[TimeToFailure]
    costs: Costs
    slowed: float

    def at(self, interval: FloatArray) -> FloatArray:
        """Waste of each interval."""
        return self._of(self.stretch, interval)

    def drawn_at(self, interval: FloatArray, most: int) -> FloatArray:
        """The same for each of at most so many draws; draws first."""
        return np.stack([self._of(stretch, interval) for stretch in self.drawn[:most]])

    def best(self) -> tuple[float, float]:
        """Best interval, and its waste."""
        return self._best(self.stretch)

    def best_of_draws(self) -> tuple[FloatArray, FloatArray]:
        """Best interval of each draw, and its waste."""
        found = np.array([self._best(stretch) for stretch in self.drawn])
        return found[:, 0], found[:, 1]

    def _of(self, stretch: TimeToFailure, interval: FloatArray) -> FloatArray:
        cost = self.costs
        flat = np.ravel(interval) if self.slowed < 1.0 else np.maximum(interval, 1e-12).ravel()
        found = renewal_waste(
            stretch, flat, cost.save, cost.restore, cost.downtime, exposed=cost.exposed, slowed=self.slowed
        )
        return np.asarray(found).reshape(interval.shape)

    def _best(self, stretch: TimeToFailure) -> tuple[float, float]:
        cost = self.costs
        found = best_fixed_interval(
            stretch, cost.save, cost.restore, cost.downtime, exposed=cost.exposed, slowed=self.slowed
        )
        return found.interval, found.waste


def robust_interval(
    model: ExponentialWaste | WasteOfLives, near: float, by: str | float, most: int
) -> tuple[float, float]:
    """The interval with the least mean, or quantile, of the waste over the draws, and that mean or quantile.

    Parameters
    ----------
    model
        With draws.
    near : float
        An interval from which to search, hours.
    by : "mean" or float
    most : int
        Draws to look at.
    """

    def over_draws(interval: FloatArray) -> FloatArray:
        found = model.drawn_at(interval, most)
        return np.asarray(found.mean(axis=0) if by == "mean" else np.quantile(found, float(by), axis=0))

    if near <= 0.0:
        return near, float(over_draws(np.asarray([near]))[0])
    low, high, where = np.log(near) - 5.0, np.log(near) + 4.0, np.log(near)
    for _ in range(8):
        grid = np.linspace(low, high, _STEPS)
        best = int(over_draws(np.exp(grid)).argmin())
        where, low, high = grid[best], grid[max(best - 1, 0)], grid[min(best + 1, _STEPS - 1)]
    return float(np.exp(where)), float(over_draws(np.exp(np.asarray([where])))[0])
