"""Newton's method for many small maximisations at once, with derivatives by central differences.

Every group has its own likelihood of a few free coordinates. Steps of the differences follow the curvature, so that
the result does not depend on the unit of time; a last step with differences of fourth order removes their error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import BoolArray, IntArray

FloatArray = npt.NDArray[Any]

_ITERATIONS = 120
_LARGEST_STEP = 2.0  # free coordinates are logs or logits: a factor of seven
LARGEST_VARIANCE = 1e4  # of a log or logit: beyond it the value counts as level
_STEP_IN_ERRORS = 3e-3  # of the differences, in standard errors
_VALUES_AT_ONCE = 4_000_000


class Objective(Protocol):
    """What is maximised: shape (trials, groups, k) to (trials, groups)."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        ...

    def __call__(self, free: FloatArray) -> FloatArray:
        """Value of each group at its point."""
        ...

    def take(self, positions: IntArray) -> Objective:
        """The groups at these positions."""
        ...


class Maximum(NamedTuple):
    """Where the search ended, one row per group.

    ``free`` has shape (groups, k), ``information`` (minus the Hessian) (groups, k, k), ``gradient`` (groups, k).
    ``converged`` says where the gradient vanishes and the information is positive definite, ``edge`` where the value
    still rises, or stays level, at any distance.
    """

    free: FloatArray
    value: FloatArray
    gradient: FloatArray
    information: FloatArray
    converged: BoolArray
    edge: BoolArray

    @classmethod
    def unsettled(cls, start: FloatArray) -> Maximum:
        """No search ended yet: the points where they start, without a value."""
        groups, k = start.shape
        value, gradient = np.full(groups, -np.inf), np.full((groups, k), np.nan)
        information = np.full((groups, k, k), np.nan)
        converged, edge = np.zeros((2, groups), np.bool_)
        return cls(start.copy(), value, gradient, information, converged, edge)

    def take_over(self, rows: IntArray | BoolArray, other: Maximum, which: IntArray | BoolArray | slice) -> None:
        """Put `which` of the groups of another search in the place of these rows."""
        for own, values in zip(self, other, strict=True):
            own[rows] = values[which]


def derivatives(
    function: Callable[[FloatArray], FloatArray], at: FloatArray, step: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value, gradient and Hessian at `at`, shape (groups, k), by central differences of width `step`."""
    groups, k = at.shape
    values = function(at[None] + _moves(k)[:, None, :] * step[None])
    centre = values[0]
    gradient = np.empty((groups, k))
    hessian = np.empty((groups, k, k))
    with np.errstate(invalid="ignore"):
        for i in range(k):
            up, down = values[1 + 2 * i], values[2 + 2 * i]
            gradient[:, i] = (up - down) / (2.0 * step[:, i])
            hessian[:, i, i] = (up - 2.0 * centre + down) / step[:, i] ** 2
        place = 1 + 2 * k
        for i, j in combinations(range(k), 2):
            pp, pm, mp, mm = values[place : place + 4]
            hessian[:, i, j] = hessian[:, j, i] = (pp - pm - mp + mm) / (4.0 * step[:, i] * step[:, j])
            place += 4
    return centre, gradient, hessian


@cache
def _moves(k: int) -> FloatArray:
    """Points at which `derivatives` evaluates, in steps."""
    each = np.eye(k)
    out = [np.zeros(k)]
    for one in each:
        out += [one, -one]
    for one, other in combinations(each, 2):
        out += [one + other, one - other, other - one, -one - other]
    return np.stack(out)


def _finite(matrices: FloatArray) -> BoolArray:
    """Which of a batch of matrices are finite throughout."""
    return np.asarray(np.all(np.isfinite(matrices), axis=(1, 2)))


def _fine_gradient(function: Callable[[FloatArray], FloatArray], at: FloatArray, step: FloatArray) -> FloatArray:
    """Gradient by central differences of fourth order."""
    k = at.shape[1]
    moves = np.concatenate([sign * np.eye(k) for sign in (1.0, -1.0, 2.0, -2.0)])
    values = function(at[None] + moves[:, None, :] * step[None]).reshape(4, k, -1)
    with np.errstate(invalid="ignore"):
        first = (values[0] - values[1]) / 2.0
        second = (values[2] - values[3]) / 4.0
        return np.asarray(((4.0 * first - second) / 3.0).T / step)


def _widths(hessian: FloatArray) -> FloatArray:
    curvature = np.maximum(np.abs(np.diagonal(hessian, axis1=1, axis2=2)), 1e-300)
    return np.asarray(np.clip(_STEP_IN_ERRORS / np.sqrt(curvature), 1e-9, 1e-2))


def _newton_step(gradient: FloatArray, hessian: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ascent step, expected gain and the smallest eigenvalue of the information scaled to unit diagonal."""
    with np.errstate(all="ignore"):
        scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diagonal(hessian, axis1=1, axis2=2)), 1e-300))
        scale = np.minimum(scale, 1e6)
        scaled = -hessian * scale[:, :, None] * scale[:, None, :]
        bad = ~_finite(scaled)
        scaled[bad] = np.eye(hessian.shape[1])
        values, vectors = np.linalg.eigh(scaled)
        along = np.einsum("gij,gi->gj", vectors, gradient * scale)
        size = np.maximum(np.abs(values), 1e-6 * np.abs(values).max(axis=1, keepdims=True) + 1e-12)
        step = np.einsum("gij,gj->gi", vectors, along / size) * scale
        step[~np.isfinite(step)] = 0.0
        largest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-300))
        gain = np.einsum("gi,gi->g", np.where(np.isfinite(gradient), gradient, 0.0), step)
    return step, gain, np.where(bad, -np.inf, values[:, 0])


def maximise(
    objective: Objective, start: FloatArray, tolerance: float = 1e-9, iterations: int = _ITERATIONS
) -> Maximum:
    """Maximise every group's value from its row of `start`, free coordinates of shape (groups, k).

    A row that is not finite, or has no finite value, is left as not converged. The search ends when a Newton step would
    gain less than `tolerance`, and after so many `iterations` in any case.
    """
    groups, k = start.shape
    free, value, gradient, hessian, converged, _ = Maximum.unsettled(start)
    positive = np.zeros(groups, np.bool_)
    step_size = np.full((groups, k), 1e-4)
    active = np.flatnonzero(np.isfinite(start).all(axis=1))
    part: Objective = objective if active.size == groups else objective.take(active)
    held = active  # groups that `part` holds
    for _ in range(iterations):
        if not active.size:
            break
        if active.size < 0.6 * held.size:
            part, held = objective.take(active), active
        here = np.searchsorted(held, active)
        function = _restricted(part, here, held.size)
        centre, slope, curve = derivatives(function, free[active], step_size[active])
        value[active], gradient[active], hessian[active] = centre, slope, curve
        step_size[active] = np.where(_finite(curve)[:, None], _widths(curve), step_size[active])
        step, gain, least = _newton_step(slope, curve)
        usable: BoolArray = np.isfinite(centre) & np.isfinite(slope).all(axis=1)
        positive[active] = least > 1e-9
        done = usable & (np.abs(gain) < tolerance) & (least > 1e-9)
        converged[active[done]] = True
        moving = usable & ~done
        step[~moving] = 0.0
        accepted = ~moving
        length = np.ones(active.size)
        for _ in range(40):
            trial = function((free[active] + length[:, None] * step)[None])[0]
            better = trial >= centre + 1e-4 * length * gain - 1e-13 * np.abs(centre)
            accepted |= better
            if accepted.all():
                break
            length = np.where(accepted, length, 0.35 * length)
        # close to the maximum the error of the differences can outweigh the gradient
        stuck = moving & (~accepted | ((length < 1e-3) & (gain < 1e-6)))
        length[stuck] = 0.0
        free[active] += length[:, None] * step
        # no further rise: a maximum within rounding, if the expected gain was slight
        converged[active[stuck & (gain < 1e-6) & (least > 1e-9)]] = True
        active = active[moving & ~stuck & (np.abs(free[active]) < 1e3).all(axis=1)]
    _polish(objective, free, value, gradient, hessian, step_size, converged)
    unbounded = _largest_variance(-hessian) > LARGEST_VARIANCE
    edge = np.isfinite(value) & np.where(converged, unbounded, ~positive | (np.abs(free - start).max(axis=1) > 12.0))
    converged &= ~edge
    return Maximum(free, value, gradient, -hessian, converged, edge)


def _largest_variance(information: FloatArray) -> FloatArray:
    """Largest variance of a free coordinate; infinite where the information is not positive definite."""
    usable = _finite(information)
    values = np.linalg.eigvalsh(np.where(usable[:, None, None], information, np.eye(information.shape[1])))
    with np.errstate(divide="ignore"):
        return np.where(usable & (values[:, 0] > 0.0), 1.0 / values[:, 0], np.inf)


def _restricted(part: Objective, here: IntArray, size: int) -> Callable[[FloatArray], FloatArray]:
    """The objective for the groups at positions `here` of `part`, few enough trials at a time for the memory."""
    lives = getattr(part, "lives", None)
    rows = max(size, 1 if lives is None else lives.durations.size)

    def function(free: FloatArray) -> FloatArray:
        trials = free.shape[0]
        at_once = max(1, _VALUES_AT_ONCE // rows)
        out = np.empty(free.shape[:2])
        for first in range(0, trials, at_once):
            block = free[first : first + at_once]
            padded = block
            if here.size != size:
                padded = np.full((block.shape[0], size, block.shape[2]), np.nan)
                padded[:, here] = block
                padded[:, np.setdiff1d(np.arange(size), here)] = block[:, :1]
            out[first : first + at_once] = part(padded)[:, here]
        return out

    return function


def _polish(
    objective: Objective,
    free: FloatArray,
    value: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    step_size: FloatArray,
    converged: BoolArray,
) -> None:
    """One more step with finer differences, and the Hessian where it leads; in place."""
    rows = np.flatnonzero(converged)
    if not rows.size:
        return
    part = objective if rows.size == converged.size else objective.take(rows)
    function = _restricted(part, np.arange(rows.size), rows.size)
    fine = _fine_gradient(function, free[rows], 2.0 * step_size[rows])
    step, _, _ = _newton_step(fine, hessian[rows])
    small = np.isfinite(fine) & (np.abs(step) < 0.1 * _widths(hessian[rows]) / _STEP_IN_ERRORS)
    step = np.where(np.all(small, axis=1, keepdims=True), step, 0.0)
    centre, _, curve = derivatives(function, free[rows] + step, step_size[rows])
    better = (centre >= value[rows] - 1e-9 * (1.0 + np.abs(value[rows]))) & _finite(curve)
    improved = rows[better]
    free[improved] += step[better]
    value[improved], hessian[improved] = centre[better], curve[better]
    gradient[improved] = fine[better]
    gradient[improved] += np.einsum("gij,gj->gi", hessian[improved], step[better])


def whitening(information: FloatArray) -> FloatArray:
    """Matrices that take standard errors to free coordinates, shape (groups, k, k)."""
    values, vectors = np.linalg.eigh(information)
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-12))[:, None, :])
