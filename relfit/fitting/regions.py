"""The likelihood region: the parameters whose log-likelihood is within half a chi-square quantile of its maximum.

Profile-likelihood limits of any quantity are its least and largest value in that region. With one free coordinate the
region has two ends; with two its border is traced along rays from the maximum; with more, the likelihood plus a
multiple of the quantity is maximised, whose maxima lie on the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.fitting.likelihood import LogLikelihood
from relfit.numeric.newton import maximise

__all__ = ["Region", "profile_limits", "region", "whitening"]

FloatArray = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]
Transformed = Callable[[FloatArray], FloatArray]  # free coordinates (trials, groups, k) to values (trials, groups)

_ANGLES = 36
_FARTHEST = 1e3  # in standard errors


@dataclass(frozen=True)
class Region:
    """Border of the region of every group, along rays from the maximum.

    Attributes
    ----------
    directions : ndarray, shape (rays, k)
        Unit vectors in coordinates in which the information is the identity.
    radius : ndarray, shape (rays, groups)
        How far the border is, in standard errors; infinite where the region has no end that way.
    free : ndarray, shape (rays, groups, k)
        Points of the border in free coordinates.
    """

    directions: FloatArray
    radius: FloatArray
    free: FloatArray


def whitening(information: FloatArray) -> FloatArray:
    """Matrices that take standard errors to free coordinates, shape (groups, k, k)."""
    values, vectors = np.linalg.eigh(information)
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-12))[:, None, :])


def _radius(
    objective: LogLikelihood,
    centre: FloatArray,
    unit: FloatArray,
    top: FloatArray,
    drop: float,
    guess: FloatArray,
    tolerance: float = 1e-9,
) -> FloatArray:
    """Distance along `unit`, shape (rays, groups, k), at which the value has fallen by `drop`; infinite if it never is.

    Safeguarded secant steps on the root of the fall, which is close to linear in the distance.
    """
    goal = np.sqrt(drop)

    def fall(r: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(top - objective(centre[None] + r[..., None] * unit), 0.0)) - goal

    low = np.zeros(guess.shape)
    low_value = np.full(guess.shape, -goal)
    high = np.full(guess.shape, np.inf)
    high_value = np.full(guess.shape, np.nan)
    found = np.zeros(guess.shape, np.bool_)
    r = guess.copy()
    for turn in range(120):
        value = fall(r)
        beyond = value > 0.0
        high, high_value = np.where(beyond, r, high), np.where(beyond, value, high_value)
        low, low_value = np.where(beyond, low, r), np.where(beyond, low_value, value)
        closed = np.isfinite(high)
        found |= (np.abs(value) < tolerance) | (closed & (high - low < 1e-10 * high))
        if np.all(found | (~closed & (low > _FARTHEST))):
            break
        with np.errstate(all="ignore"):
            secant = low - low_value * (high - low) / (high_value - low_value)
            margin = 1e-3 * (high - low)
            inside = np.isfinite(secant) & (secant > low + margin) & (secant < high - margin)
            # near the root one end stays: accept a secant close to the other, where the value is small already
            inside |= np.isfinite(secant) & (secant > low) & (secant < high) & (np.abs(value) < 1e-2)
            halved = np.where(np.isinf(high_value), low + 0.25 * (high - low), 0.5 * (low + high))
        if turn % 3 == 2:
            inside[...] = False  # bisect now and then, so that the bracket closes whatever the shape
        onward = np.where(closed, np.where(inside, secant, halved), np.minimum(2.0 * low, 2.0 * _FARTHEST))
        r = np.where(found, r, onward)
    return np.where(found, r, np.where(np.isfinite(high), 0.5 * (low + high), np.inf))


def region(
    objective: LogLikelihood, centre: FloatArray, information: FloatArray, top: FloatArray, drop: float
) -> Region:
    """Border of the likelihood region for one or two free coordinates.

    Parameters
    ----------
    objective : LogLikelihood
    centre : ndarray, shape (groups, k)
        Where the maximum is.
    information : ndarray, shape (groups, k, k)
    top : ndarray, shape (groups,)
        The maximum.
    drop : float
        Half a quantile of chi-square.
    """
    k = centre.shape[1]
    if k == 1:
        directions = np.array([[1.0], [-1.0]])
    else:
        angle = 2.0 * np.pi * np.arange(_ANGLES) / _ANGLES
        directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    white = whitening(information)
    unit = np.einsum("gij,rj->rgi", white, directions)
    guess = np.full((directions.shape[0], centre.shape[0]), np.sqrt(2.0 * drop))
    radius = _radius(objective, centre, unit, top, drop, guess, 1e-9 if k == 1 else 1e-6)
    return Region(directions, radius, centre[None] + np.where(np.isfinite(radius), radius, _FARTHEST)[..., None] * unit)


def profile_limits(
    objective: LogLikelihood,
    centre: FloatArray,
    information: FloatArray,
    top: FloatArray,
    drop: float,
    quantity: Transformed,
    border: Region | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of `quantity` in the likelihood region, each of shape (groups,).

    Minus or plus infinity where the region has no end on that side; NaN where the search failed.

    Parameters
    ----------
    objective, centre, information, top, drop
        As for `region`.
    quantity : callable
        On an unbounded scale; shape (trials, groups, k) to (trials, groups).
    border : Region, optional
        The region, where it is known already.
    """
    k = centre.shape[1]
    if k > 2:
        return _by_multiplier(objective, centre, information, top, drop, quantity)
    edge = region(objective, centre, information, top, drop) if border is None else border
    with np.errstate(all="ignore"):
        values = quantity(edge.free)
    values = np.where(np.isnan(values), np.nan, values)
    open_ = np.isinf(edge.radius)
    limits = []
    for sign in (-1.0, 1.0):
        along = np.where(np.isnan(values), -np.inf, sign * values)
        best = along.argmax(axis=0)
        columns = np.arange(centre.shape[0])
        limit = along[best, columns]
        if k == 2:
            limit = np.maximum(limit, _refined(objective, centre, information, top, drop, quantity, sign, edge, best))
        unbounded = open_[best, columns]
        limit = np.where(unbounded, np.inf, limit)
        limits.append(sign * limit)
    return limits[0], limits[1]


def _refined(
    objective: LogLikelihood,
    centre: FloatArray,
    information: FloatArray,
    top: FloatArray,
    drop: float,
    quantity: Transformed,
    sign: float,
    edge: Region,
    best: IntArray,
) -> FloatArray:
    """Best value on the border near the best ray: found on a spline through the rays, then made exact."""
    columns = np.arange(centre.shape[0])
    white = whitening(information)
    width = 2.0 * np.pi / _ANGLES
    log_radius = np.log(np.where(np.isfinite(edge.radius), edge.radius, _FARTHEST))
    spline = _PeriodicSpline(log_radius)

    def value(theta: FloatArray, radius: FloatArray) -> FloatArray:
        direction = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
        with np.errstate(all="ignore"):
            at = centre[None] + radius[..., None] * np.einsum("gij,rgj->rgi", white, direction)
            found = sign * quantity(at)
        return np.where(np.isnan(found), -np.inf, found)

    theta = (best * width)[None] + np.linspace(-width, width, 41)[:, None]
    pick = value(theta, np.exp(spline(theta))).argmax(axis=0)
    angle = theta[pick, columns]
    peak = np.full(columns.size, -np.inf)
    step = np.full(columns.size, 0.1 * width)
    settled = np.zeros(columns.size, np.bool_)
    for _ in range(12):
        three = np.stack([angle - step, angle, angle + step])
        direction = np.stack([np.cos(three), np.sin(three)], axis=-1)
        unit = np.einsum("gij,rgj->rgi", white, direction)
        radius = _radius(objective, centre, unit, top, drop, np.exp(spline(three)))
        values = value(three, np.where(np.isfinite(radius), radius, _FARTHEST))
        highest = values.argmax(axis=0)
        peak = np.maximum(peak, values[highest, columns])
        with np.errstate(all="ignore"):
            bend = values[0] - 2.0 * values[1] + values[2]
            move = np.clip(0.5 * (values[0] - values[2]) / bend, -2.0, 2.0) * step
            # the top of the parabola through the three
            crest = values[1] + 0.5 * (values[2] - values[0]) * (move / step) + 0.5 * bend * (move / step) ** 2
            between = np.isfinite(move) & (bend < 0.0) & (np.abs(move) <= step)
            settled |= between & (np.abs(crest - peak) < 1e-7 * (1.0 + np.abs(peak)))
            settled |= step < 1e-6 * width
        angle = np.where(np.isfinite(move) & (bend < 0.0), angle + move, three[highest, columns])
        if settled.all():
            break
        # close in where the top lies between the three, go on where it does not
        step = np.where(between | (highest == 1), 0.3 * step, step)
    return peak


class _PeriodicSpline:
    """Cubic through equidistant values on the circle, for many columns: slopes by fourth-order differences."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values
        near = np.roll(values, -1, axis=0) - np.roll(values, 1, axis=0)
        far = np.roll(values, -2, axis=0) - np.roll(values, 2, axis=0)
        self.slopes = (8.0 * near - far) / 12.0

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Values at angles of shape (m, columns)."""
        place = theta * (self.values.shape[0] / (2.0 * np.pi))
        cell = np.floor(place).astype(np.int64)
        x = place - cell
        left, right = cell % self.values.shape[0], (cell + 1) % self.values.shape[0]
        columns = np.arange(self.values.shape[1])
        y0, y1 = self.values[left, columns], self.values[right, columns]
        d0, d1 = self.slopes[left, columns], self.slopes[right, columns]
        bend = 3.0 * (y1 - y0) - 2.0 * d0 - d1
        return np.asarray(y0 + x * (d0 + x * (bend + x * (d0 + d1 - 2.0 * (y1 - y0)))))


def _by_multiplier(
    objective: LogLikelihood,
    centre: FloatArray,
    information: FloatArray,
    top: FloatArray,
    drop: float,
    quantity: Transformed,
) -> tuple[FloatArray, FloatArray]:
    """Limits for any number of coordinates: maximise value + multiplier x quantity, and search the multiplier."""
    k = centre.shape[1]
    inverse = np.linalg.inv(information)
    step = 1e-4 * np.sqrt(np.maximum(np.diagonal(inverse, axis1=1, axis2=2), 1e-300))
    with np.errstate(all="ignore"):
        moves = np.eye(k)[:, None, :] * step[None]
        slope = ((quantity(centre[None] + moves) - quantity(centre[None] - moves)) / (2.0 * step.T)).T
    error = np.sqrt(np.maximum(np.einsum("gi,gij,gj->g", slope, inverse, slope), 1e-300))
    limits = []
    for sign in (-1.0, 1.0):
        # follow the profile outwards from the maximum, and close in on where it has fallen by `drop`
        weight = 0.2 * np.sqrt(2.0 * drop) / error
        low, high = np.zeros(weight.size), np.full(weight.size, np.inf)
        at = centre.copy()
        limit = np.full(weight.size, np.nan)
        close = np.zeros(weight.size, np.bool_)
        for _ in range(40):
            found = maximise(_Tilted(objective, quantity, sign * weight), at, tolerance=1e-10)
            with np.errstate(all="ignore"):
                fall = np.where(found.found, top - objective(found.free[None])[0], np.inf)
                here = quantity(found.free[None])[0]
                ratio = np.sqrt(drop / fall)
            usable = found.found & np.isfinite(here)
            reached = usable & (np.abs(fall - drop) < 1e-6 * drop)
            limit = np.where(reached & ~close, here, limit)
            close |= reached
            inside = usable & (fall <= drop)
            at = np.where((inside & (weight > low))[:, None], found.free, at)
            low = np.where(inside, np.maximum(low, weight), low)
            high = np.where(inside, high, np.minimum(high, weight))
            if np.all(close | (np.isfinite(high) & (high - low < 1e-9 * high))):
                break
            guess = np.where(usable & np.isfinite(ratio), weight * np.minimum(ratio, 2.0), 0.5 * (low + high))
            wild = ~((guess > low) & (guess < high))
            guess = np.where(wild, np.where(np.isfinite(high), 0.5 * (low + high), 2.0 * low + weight), guess)
            weight = np.where(close, weight, guess)
        limits.append(limit)
    return limits[0], limits[1]


class _Tilted:
    """Likelihood plus a multiple of a quantity."""

    def __init__(self, objective: LogLikelihood, quantity: Transformed, weight: FloatArray) -> None:
        self.objective, self.quantity, self.weight = objective, quantity, weight
        self.lives = objective.lives

    @property
    def n_groups(self) -> int:
        return self.objective.n_groups

    def take(self, positions: IntArray) -> _Tilted:
        return _Tilted(self.objective.take(positions), self.quantity, self.weight[positions])

    def __call__(self, free: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            total = self.objective(free) + self.weight * self.quantity(free)
        return np.where(np.isfinite(total), total, -np.inf)
