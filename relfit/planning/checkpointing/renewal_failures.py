"""Checkpoints at a fixed interval when failures have any distribution: exact, by the renewal equation.

Between two failures the clock runs from a restart; the stretch to the next failure has a distribution (a life, nodes of
some age, a system). What is kept of a stretch is the work before its last complete save. When every restart begins a
stretch of the same distribution, kept work over time is the mean of one stretch over its mean length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.arguments import FloatArray, durations, share
from relfit.errors import ArgumentError
from relfit.jobs._time_to_failure import TimeToFailure, time_to_failure
from relfit.planning.checkpointing.exponential_failures import Costs, best_interval, check_period

__all__ = ["BestFixed", "best_fixed_interval", "job_time", "lattice_sum", "renewal_waste"]

_DIRECT = 384  # terms of a lattice sum that are added one by one
_CHUNK = 2_000_000

LEAST_PROGRESS = 1e-9  # kept hours for an hour of time, below which a job is said to make no progress
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_MOST_SEGMENTS = 4000


@dataclass(frozen=True, eq=False)
class BestFixed:
    """The best fixed interval.

    Attributes
    ----------
    interval : float
        Hours from the end of a save to the begin of the next; 0 where saves best follow one another.
    waste : float
        Share of time that is not kept work, in the long run.
    status : str
        ``"ok"``, or ``"no_progress"``: at any interval less than a billionth of the time is kept work.
    """

    interval: float
    waste: float
    status: str


def renewal_waste(
    source: Any,
    interval: npt.ArrayLike,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    nodes: int = 1,
    exposed: tuple[str, ...] = ("save", "restore"),
    slowed: float = 1.0,
) -> FloatArray:
    """Long-run waste of fixed intervals, when every restart begins a stretch with these ages.

    Parameters
    ----------
    source, ages, nodes
        As in `time_to_failure`: a mean time, a family, or a system.
    interval : array_like of durations
        Hours from the end of one save to the begin of the next; where saves block, the work between them. Zero where
        saves take time and do not block: they follow one another.
    save, restore, downtime : duration
        Hours. A restore in which failures can strike is the begin of its stretch.
    exposed : tuple of str
        In which of ``"save"`` and ``"restore"`` failures can strike.
    slowed : float
        Share of speed lost while a save goes on: 1 blocks, 0 is an asynchronous save that costs nothing by itself.
        What is done meanwhile is in the next save.

    Returns
    -------
    ndarray
        Waste, of the shape of `interval`.

    Raises
    ------
    ArgumentError
        For values that cannot be, and asynchronous saves in which nothing can fail.
    DataError
        When the mean stretch is infinite.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> renewal_waste(Weibull(0.7, 24.0), [1, 2, 4], "5min", "10min").round(4).tolist()
    [0.0975, 0.0759, 0.0853]
    """
    stretch = time_to_failure(source, ages, nodes)
    cost, speed = _costs(save, restore, downtime, exposed, slowed)
    gap = durations("interval", interval, zero=speed < 1.0 and float(cost.save) > 0.0)
    return 1.0 - _progress(stretch, gap, cost, speed)


def best_fixed_interval(
    source: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    nodes: int = 1,
    exposed: tuple[str, ...] = ("save", "restore"),
    slowed: float = 1.0,
) -> BestFixed:
    """The fixed interval with the least waste, by search over eight decades and refinement.

    Examples
    --------
    Exponential failures give the optimum in closed form:

    >>> best = best_fixed_interval(24, "5min", "10min")
    >>> round(best.interval, 4), round(best.waste, 4)
    (1.9448, 0.0874)
    """
    stretch = time_to_failure(source, ages, nodes)
    cost, speed = _costs(save, restore, downtime, exposed, slowed)
    guess = float(best_interval(stretch.mean(), cost.save))
    if guess <= 0.0:  # saves that cost nothing: as often as one likes
        return BestFixed(0.0, float(1.0 - _progress(stretch, np.array(1e-9 * stretch.mean()), cost, speed)), "ok")
    if speed < 1.0:
        at_once = float(_progress(stretch, np.array(0.0), cost, speed))
        if at_once >= float(_progress(stretch, np.array(1e-4 * guess), cost, speed)):  # one save after another
            return BestFixed(0.0, 1.0 - at_once, "ok" if at_once > LEAST_PROGRESS else "no_progress")
    grid = np.log(guess) + np.linspace(-9.5, 9.5, 96)
    for _ in range(7):
        progress = _progress(stretch, np.exp(grid), cost, speed)
        best = int(progress.argmax())
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
        if high - low < 1e-9:
            break
        grid = np.linspace(low, high, 25)
    # near the top the curve is a parabola: its vertex is steadier than the highest of noisy points
    middle, width = grid[best], 1e-3
    left, centre, right = _progress(stretch, np.exp(middle + np.array([-width, 0.0, width])), cost, speed)
    bend = left - 2.0 * centre + right
    shift = 0.5 * width * (left - right) / bend if bend < 0.0 else 0.0
    found = float(np.exp(middle + np.clip(shift, -width, width)))
    kept = float(_progress(stretch, np.array(found), cost, speed))
    return BestFixed(found, 1.0 - kept, "ok" if kept > LEAST_PROGRESS else "no_progress")


def job_time(
    source: Any,
    work: Any,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    after: Any = 0.0,
    nodes: int = 1,
    exposed: tuple[str, ...] = ("save", "restore"),
    last_save: bool = True,
) -> float:
    """Expected hours until a job of `work` hours is done, by the renewal equation.

    The first stretch begins with `ages`, every later one with the ages `after` a restart. With ``G(k)`` the mean time
    for the last k intervals from a restart, ``G(k)`` is the mean time to failure or end, plus the mean over the
    failures of the downtime and of ``G`` of what is then left. Beyond 4000 intervals ``G`` goes on with its long-run
    slope. A system keeps its own ages in every stretch. `relfit.jobs.completion_time` with checkpoints is this
    function with ``last_save=False``: with a system for ``after_failure="same"``, with the nodes' distribution and
    `ages` for ``"as_new"``.

    Returns
    -------
    float
        Infinite where no interval can be completed.

    Examples
    --------
    >>> round(job_time(24, 500, "117min", "5min", "10min"), 2)
    547.91
    >>> from relfit.families import Weibull
    >>> round(job_time(Weibull(0.7, 24.0), 500, "117min", "5min", "10min", ages="10 days"), 2)
    540.27
    """
    cost, _ = _costs(save, restore, downtime, exposed, 1.0)
    total, pace = float(durations("work", work)), float(durations("interval", interval, zero=False))
    if total == 0.0:
        return 0.0
    first, later = time_to_failure(source, ages, nodes), time_to_failure(source, after, nodes)
    c, r = float(cost.save), float(cost.restore)
    held = c if "save" in exposed else 0.0  # hours of a save that count for the stretch
    struck = r if "restore" in exposed else 0.0
    fall = float(cost.downtime) + (r - struck)
    count = max(int(np.ceil(total / pace * (1.0 - 1e-12))), 1)
    used = min(count, _MOST_SEGMENTS)
    final = total - (count - 1) * pace
    end = final + (held if last_save else 0.0)
    aside = c - held  # hours of a save outside of the stretch

    ends = struck + (pace + held) * np.arange(used, dtype=np.float64)  # of whole intervals, counted from the restore
    sf, area = later.sf(ends), _area(later, ends)
    finish = ends + end
    sf_end, area_end = later.sf(finish), _area_beyond(later, ends, finish, area)
    lost = 1.0 - sf[1:2] if used > 1 else np.ones(1)
    if (sf_end[0] <= 0.0) or (used > 1 and sf[1] <= 0.0):
        return float("inf")
    step = -np.diff(sf, prepend=1.0)  # step[j]: failure within interval j, step[0] within the restore
    saved = np.concatenate([[0.0], np.cumsum(sf[1:])])  # mean complete saves before the last interval
    g = np.empty(used + 1)
    g[0] = 0.0
    for k in range(1, used + 1):
        whole = k - 1
        mean = area_end[whole] + fall * (1.0 - sf_end[whole]) + aside * (saved[whole] + last_save * sf_end[whole])
        # failing in interval j + 1 leaves k - j; the last interval is the shorter one
        if whole == 0:
            g[k] = mean / sf_end[0]
            continue
        mean += (step[2 : whole + 1] * g[k - 1 : 1 : -1][: whole - 1]).sum() + (sf[whole] - sf_end[whole]) * g[1]
        g[k] = mean / (1.0 - lost[0])
    slope = g[used] - g[used - 1]
    # the first stretch, without a restore
    begin = (pace + held) * np.arange(used, dtype=np.float64)
    sf0, area0 = first.sf(begin), _area(first, begin)
    last, whole = begin[-1] + end, used - 1
    sf_last = float(first.sf(last))
    mean = float(_area_beyond(first, begin[-1:], np.array([last]), area0[-1:])[0])
    mean += fall * (1.0 - sf_last) + aside * (float(sf0[1:].sum()) + last_save * sf_last)
    mean += float((-np.diff(sf0) * g[used:1:-1][:whole]).sum()) + (float(sf0[-1]) - sf_last) * g[1]
    return float(mean + (count - used) * slope)


def lattice_sum(stretch: TimeToFailure, start: npt.ArrayLike, step: npt.ArrayLike) -> FloatArray:
    """Sum of survival at ``start + step``, ``start + 2 step`` and so on without end.

    The first terms are added, the rest is the integral with the corrections of Euler and Maclaurin.
    """
    begin, pace = np.broadcast_arrays(np.asarray(start, np.float64), np.asarray(step, np.float64))
    if not np.isnan(stretch.constant):
        with np.errstate(over="ignore", divide="ignore"):
            return np.exp(-stretch.constant * begin) / np.expm1(stretch.constant * pace)
    shape, begin, pace = begin.shape, begin.ravel(), pace.ravel()
    found = np.empty(begin.shape)
    count = np.arange(1.0, _DIRECT + 1.0)
    chunk = max(1, _CHUNK // (_DIRECT * max(stretch.nodes, 1)))
    for i in range(0, begin.size, chunk):
        a, h = begin[i : i + chunk], pace[i : i + chunk]
        found[i : i + chunk] = stretch.sf(a[:, None] + h[:, None] * count).sum(axis=1)
    last = begin + _DIRECT * pace
    left = stretch.log_sf(last) > -40.0
    if left.any():
        x, h = last[left], pace[left]
        s = stretch.sf(x)
        found[left] += stretch.area_from(x) / h - 0.5 * s + h * stretch.hazard(x) * s / 12.0
    return found.reshape(shape)


# ---------------------------------------------------------------------- details


def _costs(save: Any, restore: Any, downtime: Any, exposed: tuple[str, ...], slowed: float) -> tuple[Costs, float]:
    cost = Costs.of(save, restore, downtime, exposed)
    if cost.save.ndim or cost.restore.ndim or cost.downtime.ndim:
        raise ArgumentError("one case at a time: save, restore and downtime must be single durations")
    speed = float(share("slowed", slowed))
    if speed < 1.0 and "save" not in exposed:
        raise ArgumentError(
            "an asynchronous save in which nothing can fail is not known", remedy="add 'save' to exposed"
        )
    return cost, speed


def _progress(stretch: TimeToFailure, gap: FloatArray, cost: Costs, slowed: float) -> FloatArray:
    """Kept work for an hour of time."""
    c, r, d = float(cost.save), float(cost.restore), float(cost.downtime)
    held = c if "save" in cost.exposed else 0.0
    struck = r if "restore" in cost.exposed else 0.0
    period = gap + held
    kept = lattice_sum(stretch, struck, period)  # mean number of complete saves
    first = stretch.sf(struck + period)
    work = gap * first + (gap + (1.0 - slowed) * held) * (kept - first)
    return np.asarray(work / (stretch.mean() + d + (r - struck) + (c - held) * kept))


def _area(stretch: TimeToFailure, ends: FloatArray) -> FloatArray:
    """Area under survival up to each of the rising times."""
    whole = stretch.area_from(0.0)
    return np.asarray(whole - stretch.area_from(ends)) if np.isfinite(whole) else np.full(ends.shape, np.nan)


def _area_beyond(stretch: TimeToFailure, ends: FloatArray, finish: FloatArray, area: FloatArray) -> FloatArray:
    half = 0.5 * (finish - ends)
    x = (ends + half)[:, None] + half[:, None] * _NODES
    near = (stretch.sf(x) * _WEIGHTS).sum(axis=1) * half
    exact = stretch.area_from(0.0) - stretch.area_from(finish)
    return np.asarray(np.where(ends > 0.0, area + near, exact))


def asynchronous_period(period: Any, save: Any) -> float:
    """Hours from the end of a save to the begin of the next, of a period.

    Raises
    ------
    ArgumentError
        When a save takes longer than its period.

    Examples
    --------
    >>> asynchronous_period("1h", "15min")
    0.75
    """
    whole, c = durations("period", period, zero=False), durations("save", save)
    check_period(whole, c)
    return float(whole - c)
