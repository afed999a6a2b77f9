"""Maximum likelihood of Weibull, gamma and lognormal, also with late entry, unknown ages and weights, compiled.

The likelihood of a group is a sum of log densities, of log reliabilities ``c log S(t)`` (c is -1 at an age of entry)
and of log integrated tails; all three have closed first and second derivatives in the families' free coordinates, so
that Newton's method needs few looks at the data. It ends with a look around the maximum: truncated lives have
likelihoods with several.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.newton import LARGEST_VARIANCE, Maximum
from relfit.fitting.conditional_terms import (
    FAR,
    GroupRows,
    GroupTerms,
    Space,
    copy_into,
    new_space,
    rows_of_groups,
    start_of,
    terms_of,
    value_of_group,
)
from relfit.log.lifedata import LifeData

KINDS = {"weibull": 0, "gamma": 1, "lognormal": 2}
_STEPS = 200
_DIRECTIONS, _DISTANCES = 12, np.array([0.5, 1.0, 2.0, 3.0])  # where to look for a higher value, in standard errors
_LEAST_FALL = 0.2  # of what a parabola falls there
_CLIMBS = 3
_PLAIN = 1e-3  # slope below which a likelihood without curvature rises no more
_LOST, _SETTLED, _EDGE = 0, 1, 2


def suited(lives: LifeData) -> bool:
    """Whether these kernels have all kinds of these lives: none in intervals, none right-truncated."""
    return lives.upper is None and lives.exit is None


def maximise_conditional(
    name: str, lives: LifeData, start: FloatArray | None = None, groups: IntArray | None = None
) -> Maximum:
    """Search some groups of `suited` lives; ``converged`` and ``edge`` are both false where the search failed.
    `start`: free coordinates, shape (groups, 2), needed with truncation or unknown ages, where there may be several
    maxima; `groups`: rising positions, all when left out.
    """
    groups = np.arange(lives.n_groups) if groups is None else groups
    best = Maximum.unsettled(np.full((groups.size, 2), np.nan) if start is None else start)
    if not groups.size:
        return best
    several = lives.entry is not None or lives.stationary is not None
    angle = 2.0 * np.pi * np.arange(_DIRECTIONS if several else 0) / _DIRECTIONS
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    first = int(groups[0])
    rows = rows_of_groups(lives, first, int(groups[-1]) + 1)
    work = np.empty((4, 2 * int(lives.sizes[groups].max())))
    _climb_all(KINDS[name], groups - first, rows, around, work, best)
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _climb(kind: int, point: np.ndarray, terms: GroupTerms, space: Space, out: np.ndarray, trial: np.ndarray) -> int:
    """Damped Newton's method from `point`, in place; `out` holds value, gradient and Hessian there. How it ended."""
    start0, start1 = point[0], point[1]
    value = value_of_group(kind, point[0], point[1], terms, space, out)
    if not value > -math.inf:
        return _LOST
    damping = 0.0
    for _ in range(_STEPS):
        trace = 1e-8 * (abs(out[3]) + abs(out[5])) + 1e-300
        for _ in range(60):
            d00, d11 = damping - out[3], damping - out[5]
            determinant = d00 * d11 - out[4] * out[4]
            if determinant > 1e-12 * abs(d00 * d11) and d00 > 0.0:
                step0 = (d11 * out[1] + out[4] * out[2]) / determinant
                step1 = (d00 * out[2] + out[4] * out[1]) / determinant
                size = max(abs(step0), abs(step1))
                if not size < 1e300:
                    return _LOST
                gain = step0 * out[1] + step1 * out[2]
                last = damping == 0.0 and gain < 1e-9  # convergence is quadratic: one more step is enough
                shrink = min(1.0, 2.0 / size)
                u, v = point[0] + shrink * step0, point[1] + shrink * step1
                moved = value_of_group(kind, u, v, terms, space, trial)
                if moved >= value - 1e-13 * (1.0 + abs(value)):
                    point[0] += shrink * step0
                    point[1] += shrink * step1
                    copy_into(trial, out)
                    value = moved
                    if last:
                        return _SETTLED
                    damping = 0.0 if damping <= trace else 0.1 * damping
                    break
                if damping == 0.0 and gain < 1e-7:
                    return _SETTLED  # no further rise within rounding
            damping = max(10.0 * damping, trace, 1e-3 * (abs(out[3]) + abs(out[5])))
        else:
            return _LOST
        if max(abs(point[0] - start0), abs(point[1] - start1)) > FAR - 2.0:
            return _EDGE
    return _LOST


@njit(cache=True, nogil=True, error_model="numpy")
def _climb_all(
    kind: int, groups: np.ndarray, rows: GroupRows, around: np.ndarray, work: np.ndarray, maximum: Maximum
) -> None:
    free, value, gradient, information, converged, edge = maximum
    space = new_space()
    out, trial, point = np.empty(6), np.empty(6), np.empty(2)
    best, best_out = np.empty(2), np.empty(6)
    for group in range(groups.size):
        own = terms_of(kind, groups[group], rows, work)
        best[0], best[1] = free[group, 0], free[group, 1]
        if math.isnan(best[0]):
            start_of(kind, groups[group], rows, own, best)
        settled = _climb(kind, best, own, space, best_out, trial)
        for _ in range(_CLIMBS):
            if settled != _SETTLED:
                break
            i00, i01, i11 = -best_out[3], -best_out[4], -best_out[5]
            determinant = i00 * i11 - i01 * i01
            if not (determinant > 0.0 and max(i00, i11) < LARGEST_VARIANCE * determinant):
                break
            # the root of the inverse of the information takes standard errors to free coordinates
            l00 = math.sqrt(i11 / determinant)
            l10 = -i01 / determinant / l00
            l11 = math.sqrt(1.0 / i11)
            highest = -math.inf
            for k in range(_DISTANCES.size):
                distance = _DISTANCES[k]
                for j in range(around.shape[0]):
                    x, y = distance * around[j, 0], distance * around[j, 1]
                    u, v = best[0] + l00 * x, best[1] + l10 * x + l11 * y
                    there = value_of_group(kind, u, v, own, space, out)
                    there += 0.5 * _LEAST_FALL * distance * distance - best_out[0]
                    if there > highest:
                        highest = there
                        point[0], point[1] = u, v
            if not highest > 0.0:
                break
            again = _climb(kind, point, own, space, out, trial)
            if not out[0] > best_out[0] + 1e-7 * (1.0 + abs(best_out[0])):
                break
            settled = again
            copy_into(point, best)
            copy_into(out, best_out)
        free[group, 0], free[group, 1] = best[0], best[1]
        value[group] = best_out[0]
        gradient[group, 0], gradient[group, 1] = best_out[1], best_out[2]
        i00, i01, i11 = -best_out[3], -best_out[4], -best_out[5]
        information[group, 0, 0], information[group, 1, 1] = i00, i11
        information[group, 0, 1] = information[group, 1, 0] = i01
        determinant = i00 * i11 - i01 * i01
        middle, radius = 0.5 * (i00 + i11), math.sqrt(0.25 * (i00 - i11) ** 2 + i01 * i01)
        slope = max(abs(best_out[1]), abs(best_out[2]))
        plain = abs(middle - radius) * LARGEST_VARIANCE < 1.0 and slope < _PLAIN
        if settled == _SETTLED and determinant > 0.0 and i00 > 0.0:
            converged[group] = middle + radius < LARGEST_VARIANCE * determinant
            edge[group] = not converged[group]
        elif settled == _EDGE or plain:
            edge[group] = True
