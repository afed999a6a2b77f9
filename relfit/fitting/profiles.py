"""Profile-likelihood intervals of any quantity, and the border of the joint region of two parameters.

The profile of a quantity is, for each of its values, the largest likelihood of parameters with that value. One free
coordinate is solved for the value, the search maximises over the others; the interval ends where the profile has fallen
by half a chi-square quantile. The profile is followed outwards from the maximum, each search starting from the last,
for all groups at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import BoolArray, IntArray
from relfit.base.numeric.newton import maximise, whitening
from relfit.fitting.likelihood import LogLikelihood
from relfit.log.lifedata import LifeData

FloatArray = npt.NDArray[Any]
Transformed = Callable[[FloatArray], FloatArray]  # free coordinates (trials, groups, k) to values (trials, groups)

_SOLVING, _SEARCHING, _FOLLOWING = 25, 25, 80  # turns
_FARTHEST = 300.0  # of the quantity from its estimate, on its unbounded scale (a log, mostly): no limit
_OUTERMOST = 100.0  # of a free coordinate from its estimate, likewise
_CLOSE = 1e-8  # of the root of the fall
_ANGLES = 72


@dataclass(frozen=True)
class _Held:
    """The likelihood over the coordinates that a value of the quantity leaves free."""

    objective: LogLikelihood
    quantity: Transformed
    value: FloatArray
    start: FloatArray
    solved: IntArray

    @property
    def n_groups(self) -> int:
        return self.objective.n_groups

    @property
    def lives(self) -> LifeData:
        return self.objective.lives

    @property
    def others(self) -> IntArray:
        """Coordinates that are left to the search, shape (groups, k - 1)."""
        k = self.start.shape[1]
        rest = np.arange(k - 1) + (np.arange(k - 1) >= self.solved[:, None])
        return np.asarray(rest, dtype=np.int64)

    def take(self, positions: IntArray) -> _Held:
        rows = self.value[positions], self.start[positions], self.solved[positions]
        return _Held(self.objective.take(positions), self.quantity, *rows)

    def points(self, others: FloatArray) -> FloatArray:
        """Free coordinates with the quantity at its value, for the others, shape (trials, groups, k - 1)."""
        columns = np.arange(self.n_groups)
        at = np.broadcast_to(self.start, (*others.shape[:2], self.start.shape[1])).copy()
        at[:, columns[:, None], self.others] = others
        move = 1e-5 * np.eye(self.start.shape[1])[self.solved]
        with np.errstate(all="ignore"):
            gap = self.quantity(at) - self.value
            slope = (self.quantity(at + move) - self.quantity(at - move)) / 2e-5
            for _ in range(_SOLVING):
                step = np.clip(gap / slope, -8.0, 8.0)
                step = np.where(np.isfinite(step), step, 0.0)
                at[:, columns, self.solved] -= step
                before, gap = gap, self.quantity(at) - self.value
                if np.all(np.abs(step) < 1e-11 * (1.0 + np.abs(at[:, columns, self.solved]))):
                    break
                secant = (before - gap) / step
                slope = np.where(np.isfinite(secant) & (secant != 0.0), secant, slope)
            missed = ~(np.abs(gap) < 1e-6 * (1.0 + np.abs(self.value)))
        at[missed] = np.inf
        return at

    def __call__(self, free: FloatArray) -> FloatArray:
        return self.objective(self.points(free))

    def highest(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """The profile at the value, NaN where the search failed; where it is, (groups, k); and if that is a maximum."""
        others = np.take_along_axis(self.start, self.others, axis=1)
        if others.shape[1] == 0:
            points = self.points(others[None])
            value = self.objective(points)[0]
            return np.where(np.isfinite(value), value, np.nan), points[0], np.isfinite(value)
        best = maximise(self, others, iterations=_SEARCHING)
        points = self.points(best.free[None])[0]
        usable = (best.converged | best.edge) & np.isfinite(points).all(axis=1)
        return np.where(usable, best.value, np.nan), points, best.converged


def _straightest(quantity: Transformed, at: FloatArray) -> IntArray:
    """The coordinate in which the quantity is closest to linear at `at`, shape (groups, k)."""
    moves = 0.25 * np.eye(at.shape[1])[:, None]
    with np.errstate(all="ignore"):
        up, down, here = quantity(at + moves), quantity(at - moves), quantity(at[None])
        slope = np.abs(up - down)
        bend = np.abs(up - 2.0 * here + down) / slope
        bend = np.where(np.isfinite(bend) & (slope > 1e-3 * np.nanmax(slope, axis=0, initial=0.0)), bend, np.inf)
    return np.asarray(bend.round(6).argmin(axis=0), dtype=np.int64)


def profile_limits(
    objective: LogLikelihood,
    centre: FloatArray,
    covariance: FloatArray,
    top: FloatArray,
    drop: float,
    quantity: Transformed,
) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of `quantity` whose profile is within `drop` of the maximum, each of shape (groups,).

    Minus or plus infinity where the profile does not fall so far on that side; NaN where the search failed. `centre`
    are the free coordinates of the maximum `top`, (groups, k); from their covariance the search starts. `drop` is half
    a quantile of chi-square. The quantity is on an unbounded scale, and takes shape (trials, groups, k) to (trials,
    groups).
    """
    errors = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 1e-300))
    step = np.clip(1e-3 * errors, 1e-8, 1e-3)
    moves = np.eye(centre.shape[1])[:, None] * step
    with np.errstate(all="ignore"):
        middle = quantity(centre[None])[0]
        slope = ((quantity(centre + moves) - quantity(centre - moves)) / (2.0 * step.T)).T
        along = np.einsum("gij,gj->gi", covariance, slope)
        error = np.sqrt(np.einsum("gi,gi->g", along, slope))
        direction = along / error[:, None] ** 2
    return (
        -_limit(objective, centre, top, drop, lambda at: -quantity(at), -middle, error, -direction),
        _limit(objective, centre, top, drop, quantity, middle, error, direction),
    )


def limit_apart(
    objective: LogLikelihood, start: FloatArray, top: FloatArray, drop: float, quantity: Transformed, held: int
) -> FloatArray:
    """Largest value of a quantity that has none at the maximum; as `profile_limits`.

    It is followed from the maximum over the other coordinates where that of number `held` is as in `start`.
    """
    size = top.size
    _, near, _ = _Held(objective, lambda at: at[..., held], start[:, held], start, np.full(size, held)).highest()
    with np.errstate(all="ignore"):
        middle = quantity(near[None])[0]
    return _limit(objective, near, top, drop, quantity, middle, np.ones(size), np.zeros(near.shape))


def _limit(
    objective: LogLikelihood,
    centre: FloatArray,
    top: FloatArray,
    drop: float,
    quantity: Transformed,
    middle: FloatArray,
    error: FloatArray,
    direction: FloatArray,
) -> FloatArray:
    """Largest value within `drop`. `direction` is how the profile leaves the maximum, per unit of the quantity."""
    goal = np.sqrt(drop)
    usable = np.isfinite(middle) & np.isfinite(error) & (error > 0.0) & np.isfinite(direction).all(axis=1)
    active = np.flatnonzero(usable)
    # inside: the farthest value known to be within; beyond: the nearest known not to be
    inside, fall_inside, near, heading = middle.copy(), np.full(top.size, -goal), centre.copy(), direction.copy()
    beyond, fall_beyond = np.full(top.size, np.inf), np.full(top.size, np.nan)
    firm = np.ones(top.size, np.bool_)  # whether a maximum was found there
    trial = middle + goal * np.sqrt(2.0) * error
    out = np.full(top.size, np.nan)
    for turn in range(_FOLLOWING):
        if not active.size:
            break
        start = near[active] + heading[active] * (trial - inside)[active, None]
        solved = _straightest(quantity, near[active])
        part = _Held(objective.take(active), quantity, trial[active], start, solved)
        with np.errstate(all="ignore"):
            value, points, settled = part.highest()
            fall = np.sqrt(np.maximum(top[active] - value, 0.0)) - goal
        lost, within = np.isnan(value), fall <= 0.0
        hit = active[np.abs(fall) < _CLOSE]
        out[hit] = trial[hit]
        rows, here = active[within], points[within]
        with np.errstate(all="ignore"):
            pace = (here - near[rows]) / (trial[rows] - inside[rows])[:, None]
        heading[rows] = np.where(np.isfinite(pace), pace, 0.0)
        inside[rows], fall_inside[rows], near[rows] = trial[rows], fall[within], here
        rows = active[~lost & ~within]
        beyond[rows], fall_beyond[rows], firm[rows] = trial[rows], fall[~lost & ~within], settled[~lost & ~within]
        with np.errstate(invalid="ignore"):
            outermost = np.abs(points - centre[active]).max(axis=1) > _OUTERMOST
        out[active[within & (outermost | (trial[active] - middle[active] > _FARTHEST))]] = np.inf
        gap = beyond[active] - inside[active]
        # where the fall leaps, the search failed beyond: what it found there is forgotten
        leapt = ~firm[active] & (gap < 1e-3 * error[active]) & (fall_inside[active] < -0.01 * goal)
        beyond[active[leapt]], gap[leapt] = np.inf, np.inf
        shut = active[gap < 1e-9 * (1.0 + np.abs(inside[active]))]
        out[shut] = np.where(np.isnan(out[shut]), inside[shut], out[shut])
        with np.errstate(all="ignore"):
            share = -fall_inside[active] / (fall_beyond[active] - fall_inside[active])
            share = np.where(np.isfinite(share) & (turn % 4 != 3) & firm[active], np.clip(share, 0.001, 0.999), 0.5)
            away = inside[active] - middle[active]
            # the root of the fall is close to linear in the distance
            further = np.clip(goal / (goal + fall_inside[active]), 1.01, 2.0) * away
        onward = np.where(np.isfinite(gap), inside[active] + share * gap, middle[active] + further)
        onward = np.where(lost, inside[active] + 0.3 * (trial[active] - inside[active]), onward)
        heading[active[lost]] = 0.0
        stalled = lost & (onward - inside[active] < 1e-9 * (1.0 + np.abs(inside[active])))
        trial[active] = onward
        active = active[np.isnan(out[active]) & ~stalled]
    return out


def border(
    objective: LogLikelihood, centre: FloatArray, information: FloatArray, top: float, drop: float
) -> FloatArray:
    """Border of one group's region within `drop` of the maximum, (angles, 2), along rays; NaN where it has no end."""
    angle = 2.0 * np.pi * np.arange(_ANGLES) / _ANGLES
    rays = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ whitening(information[None])[0].T

    def within(radius: FloatArray) -> npt.NDArray[np.bool_]:
        return np.asarray(top - objective((centre + radius[:, None] * rays)[:, None])[:, 0] <= drop)

    low, high = np.zeros(_ANGLES), np.full(_ANGLES, np.sqrt(2.0 * drop))
    for _ in range(10):  # up to a thousand standard errors
        low, high = np.where(within(high), high, low), np.where(within(high), 2.0 * high, high)
    open_ = within(high)
    for _ in range(50):
        middle = 0.5 * (low + high)
        inner = within(middle)
        low, high = np.where(inner, middle, low), np.where(inner, high, middle)
    return np.where(open_[:, None], np.nan, centre + low[:, None] * rays)
