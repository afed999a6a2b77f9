"""Profile-likelihood limits of one quantity by following the ridge, where a likelihood region is too bent for rays.

The ridge holds, for each value of the quantity, the parameters that are likeliest with it. Of the two free coordinates
one is solved for the value, the other is left to the search; the limit is where the ridge has fallen by `drop`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.fitting.likelihood import LogLikelihood
from relfit.numeric.newton import maximise

__all__ = ["bent", "ridge_limits"]

FloatArray = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]
Transformed = Callable[[FloatArray], FloatArray]  # free coordinates (trials, groups, k) to values (trials, groups)

_BEND = 0.25  # of the log radius between neighbouring rays
_SOLVING = 60
_SEARCHING = 60
_FARTHEST = 700.0  # of the quantity, on its unbounded scale (a log, mostly), from the estimate


class _Ridge:
    """The likelihood over the one coordinate that a value of the quantity leaves free."""

    def __init__(
        self, objective: LogLikelihood, quantity: Transformed, value: FloatArray, near: FloatArray, solved: IntArray
    ) -> None:
        self.objective, self.quantity = objective, quantity
        self.value, self.near, self.solved = value, near, solved
        self.lives = objective.lives

    @property
    def n_groups(self) -> int:
        return self.objective.n_groups

    def take(self, positions: IntArray) -> _Ridge:
        return _Ridge(
            self.objective.take(positions), self.quantity, self.value[positions], self.near[positions],
            self.solved[positions],
        )  # fmt: skip

    def points(self, other: FloatArray) -> FloatArray:
        """Free coordinates with the quantity at its value, for the other coordinate, shape (trials, groups)."""
        columns = np.arange(self.n_groups)
        at = np.broadcast_to(self.near, (*other.shape, 2)).copy()
        at[:, columns, 1 - self.solved] = other
        one = np.eye(2)[self.solved]
        with np.errstate(all="ignore"):
            for _ in range(_SOLVING):
                gap = self.quantity(at) - self.value
                slope = (self.quantity(at + 1e-5 * one) - self.quantity(at - 1e-5 * one)) / 2e-5
                move = np.clip(gap / slope, -4.0, 4.0)
                move = np.where(np.isfinite(move), move, 0.0)
                at[:, columns, self.solved] -= move
                if np.all(np.abs(move) < 1e-11 * (1.0 + np.abs(at[:, columns, self.solved]))):
                    break
            missed = ~(np.abs(self.quantity(at) - self.value) < 1e-6 * (1.0 + np.abs(self.value)))
        at[missed] = np.nan
        return at

    def __call__(self, free: FloatArray) -> FloatArray:
        at = self.points(free[..., 0])
        return self.objective(np.where(np.isnan(at), np.inf, at))


def bent(radius: FloatArray) -> npt.NDArray[np.bool_]:
    """Groups whose region, by its `radius` along rays of shape (rays, groups), may go on behind its border."""
    with np.errstate(all="ignore"):
        logs = np.log(np.where(np.isfinite(radius), radius, np.nan))
        turns = np.abs(logs - np.roll(logs, 1, axis=0))
    return np.asarray((np.where(np.isnan(turns), np.inf, turns) > _BEND).any(axis=0))


def ridge_limits(
    objective: LogLikelihood,
    quantity: Transformed,
    centre: FloatArray,
    top: FloatArray,
    drop: float,
    sign: float,
    start: FloatArray,
) -> FloatArray:
    """Largest value of ``sign * quantity`` whose ridge is within `drop` of the top, shape (groups,).

    Parameters
    ----------
    objective : LogLikelihood
        Of a family with two free coordinates.
    quantity : callable
        On an unbounded scale; shape (trials, groups, 2) to (trials, groups).
    centre : ndarray, shape (groups, 2)
        Where the maximum is.
    top : ndarray, shape (groups,)
    drop : float
        Half a quantile of chi-square.
    sign : float
        1 for the upper limit, -1 for the lower.
    start : ndarray, shape (groups, 2)
        A point of the likelihood region, from which the ridge is followed outwards.

    Returns
    -------
    ndarray, shape (groups,)
        Infinite where the ridge does not fall so far; NaN where it was lost.
    """
    groups = np.arange(centre.shape[0])
    one = 1e-4 * np.eye(2)[:, None, :]
    with np.errstate(all="ignore"):
        middle = sign * quantity(centre[None])[0]
        slopes = np.abs(quantity(start[None] + one) - quantity(start[None] - one))
        inside = sign * quantity(start[None])[0]
    solved = np.where(slopes[1] > 1e-3 * slopes[0], 1, 0).astype(np.int64)
    near = start.copy()

    def ridge(value: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        part = _Ridge(objective.take(rows), quantity, sign * value, near[rows], solved[rows])
        best = maximise(part, near[rows, 1 - solved[rows]][:, None])
        points = part.points(best.free[None, :, 0])[0]
        usable = (best.found | best.edge) & np.isfinite(points).all(axis=1)
        return np.where(usable, best.value, np.nan), points

    low, low_fall = inside.copy(), np.full(groups.size, np.nan)
    high, high_fall = np.full(groups.size, np.inf), np.full(groups.size, np.nan)
    step = np.maximum(0.5 * (inside - middle), 1e-3)
    trial = inside.copy()
    out = np.full(groups.size, np.nan)
    active = groups
    for turn in range(_SEARCHING):
        value, points = ridge(trial[active], active)
        fall = np.sqrt(np.maximum(top[active] - value, 0.0)) - np.sqrt(drop)
        lost = np.isnan(value)
        within = ~lost & (fall <= 0.0)
        beyond = ~lost & ~within
        out[active[~lost & (np.abs(fall) < 1e-7)]] = trial[active[~lost & (np.abs(fall) < 1e-7)]]
        rows = active[within]
        low[rows], low_fall[rows], near[rows] = trial[rows], fall[within], points[within]
        rows = active[beyond]
        high[rows], high_fall[rows] = trial[rows], fall[beyond]
        rows = active[lost]
        step[rows] *= 0.25
        far = within & (trial[active] - middle[active] > _FARTHEST)
        out[active[far]] = np.inf
        narrow = (high[active] - low[active]) < 1e-9 * (1.0 + np.abs(low[active]))
        out[active[narrow]] = low[active[narrow]]
        active = active[np.isnan(out[active]) & ~(lost & (step[active] < 1e-9))]
        if not active.size:
            break
        lost = np.isin(active, rows)
        closed = np.isfinite(high[active])
        with np.errstate(all="ignore"):
            share = -low_fall[active] / (high_fall[active] - low_fall[active])
            share = np.where(np.isfinite(share) & (turn % 3 != 2), np.clip(share, 0.01, 0.99), 0.5)
            inner = low[active] + share * (high[active] - low[active])
        step[active] = np.where(closed | lost, step[active], 2.0 * step[active])
        trial[active] = np.where(closed & ~lost, inner, low[active] + step[active])
    return sign * out
