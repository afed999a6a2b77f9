"""Times at which rising curves reach given levels, for many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray

IntArray = npt.NDArray[np.intp]

_LOWEST, _HIGHEST = -745.0, 709.0  # logs of times that a float can hold
_CLOSE = 1e-14


def time_at_level(
    log_curve: Callable[[IntArray, FloatArray], FloatArray], log_level: FloatArray, guess: npt.ArrayLike = 1.0
) -> FloatArray:
    """Hours at which the log of a cumulative hazard, or of another rising curve, reaches `log_level`, shape (rows,).

    `log_curve` takes rows and a time for each, and must not fall with time; `guess` is near the answer. Zero where the
    curve begins above the level, infinite where it never gets there, NaN where the level or the curve is.

    On the log scale of time, where a Weibull curve is a straight line: brackets by doubling steps, then the
    Anderson-Bjoerck variant of regula falsi, with halving where that is slow.
    """
    rows = np.flatnonzero(np.isfinite(log_level))
    out = np.where(np.isneginf(log_level), 0.0, np.where(np.isposinf(log_level), np.inf, np.nan))
    y = np.clip(np.log(np.broadcast_to(np.asarray(guess, dtype=np.float64), log_level.shape)), -700.0, 700.0)

    def gap(some: IntArray, at: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.clip(log_curve(some, np.exp(at)) - log_level[some], -1e4, 1e4)

    low, high = np.full(out.shape, np.nan), np.full(out.shape, np.nan)
    f_low, f_high = np.full(out.shape, -np.inf), np.full(out.shape, np.inf)
    now, value, step = y.copy(), np.full(out.shape, np.nan), 0.25
    value[rows] = gap(rows, now[rows])
    todo = rows = rows[~np.isnan(value[rows])]
    while todo.size:
        up = value[todo] < 0.0
        low[todo[up]], f_low[todo[up]] = now[todo[up]], value[todo[up]]
        high[todo[~up]], f_high[todo[~up]] = now[todo[~up]], value[todo[~up]]
        todo = todo[np.isnan(low[todo]) | np.isnan(high[todo])]
        # a first step by the slope one, ever larger ones then
        jump = np.where(np.isnan(high[todo]), 1.0, -1.0) * (step + np.minimum(np.abs(value[todo]), 40.0))
        now[todo] = np.clip(now[todo] + jump, _LOWEST, _HIGHEST)
        value[todo] = gap(todo, now[todo])
        stuck = ((now[todo] >= _HIGHEST) & (value[todo] < 0.0)) | ((now[todo] <= _LOWEST) & (value[todo] >= 0.0))
        out[todo[stuck]] = np.where(now[todo[stuck]] > 0.0, np.inf, 0.0)
        todo, step = todo[~stuck], step * 2.0
    todo = bracketed = rows[~np.isnan(low[rows]) & ~np.isnan(high[rows])]
    root = np.where(f_high == 0.0, high, low)
    before = np.full(out.shape, np.inf)
    for turn in range(200):
        if not todo.size:
            break
        a, b, fa, fb = low[todo], high[todo], f_low[todo], f_high[todo]
        with np.errstate(all="ignore"):
            cut = b - fb * (b - a) / (fb - fa)
        slow = (b - a > 0.5 * before[todo]) & (turn % 3 == 2)
        if turn % 3 == 2:
            before[todo] = b - a
        cut = np.where(slow | ~(cut > a) | ~(cut < b), 0.5 * (a + b), cut)
        f = gap(todo, cut)
        below = f < 0.0
        with np.errstate(all="ignore"):
            share_high = np.where(below, 1.0 - f / fa, 1.0)
            share_low = np.where(below, 1.0, 1.0 - f / fb)
        # the end that stays loses weight, so that the next cut falls beyond the root
        f_high[todo] = np.where(below, fb * np.where(share_high > 0.0, share_high, 0.5), f)
        f_low[todo] = np.where(below, f, fa * np.where(share_low > 0.0, share_low, 0.5))
        low[todo], high[todo] = np.where(below, cut, a), np.where(below, b, cut)
        root[todo] = cut
        small = _CLOSE * np.maximum(1.0, np.abs(cut))
        todo = todo[(np.abs(f) > _CLOSE * np.maximum(1.0, np.abs(log_level[todo]))) & (high[todo] - low[todo] > small)]
    out[bracketed] = np.exp(root[bracketed])
    return out
