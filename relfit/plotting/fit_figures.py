"""Times and the distributions fitted to them; curves of durations that are known within intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.base.text import count
from relfit.fitting import FamilyFit, Fits
from relfit.fitting.nonparametric import TurnbullEstimate, kaplan_meier, turnbull
from relfit.log.lifedata import LifeData
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot

DRAWN_STEPS = 400
DRAWN_POINTS = 160
MOST_GROUPS = 60
_FIRST = 0.002  # quantile of the failures: a few early ones would stretch the log axis
_MOST_CURVES = 6
_NO_MASS = 1e-9


@plot.register(Fits)
def distributions(fits: Fits, group: object = None, ax: Axes | None = None) -> Axes:
    """Empirical distribution function of one group, by Kaplan-Meier or Turnbull, and its fitted distributions.

    Parameters
    ----------
    group : label, optional
        Of the group. By default, where there are several, the curve of each group's best distribution.

    Returns
    -------
    matplotlib.axes.Axes
        Time in hours on a logarithmic axis.

    Raises
    ------
    ArgumentError
        When there is no such group.
    """
    ax = style.axes(ax)
    if group is None and len(fits.groups) > 1:
        return _every_group(fits, ax)
    position, name = _position(fits, group)
    if position is None:
        return style.empty(ax, "No group of durations to show")
    begun, times, failed = _empirical(fits.lives.take([position]))
    if not times.size:
        return style.empty(ax, _led(name, f"no {'failure' if _ttf(fits) else 'repair'} was observed"))
    seen = times[-1] * 1.6 if failed[-1] > 1.0 - 1e-9 else fits.lives.take([position]).durations.max()
    nth = int(np.searchsorted(failed, _FIRST * failed[-1]))
    grid = np.geomspace((begun[nth] or times[nth]) * 0.5, times[-1] * 1.6, 240)
    _draw_observed(ax, begun, times, failed, (min(grid[0], times[0]), seen), 2.4)
    drawn = []
    for family, fit in fits.results.items():
        if fit.status[position] != "ok":
            continue
        mark = style.family_mark(family)
        values = np.asarray(fit.distribution[position].cdf(grid), dtype=float).ravel()
        ax.plot(grid, values, color=mark.colour, linestyle=mark.line, linewidth=1.8, label=family)
        drawn.append((family, fit, np.interp(times, grid, values)))
    return _finish_shares(ax, fits, grid, _fit_message(_led(name, _measure(fits), ", "), drawn, position))


def _every_group(fits: Fits, ax: Axes) -> Axes:
    """The best fitted distribution function of each of at most 60 groups."""
    best = fits.best()
    rows = np.flatnonzero(best.notna().to_numpy())
    if not rows.size:
        return style.empty(ax, "No group has enough failures for a fit")
    rows = rows[np.unique(np.linspace(0, rows.size - 1, min(rows.size, MOST_GROUPS)).astype(int))]
    ends = fits.lives.durations[fits.lives.durations > 0.0]
    grid = np.geomspace(np.quantile(ends, _FIRST) * 0.5, ends.max() * 1.6, 160)
    for family in fits.families:
        mark, mine = style.family_mark(family), rows[best.iloc[rows].to_numpy() == family]
        for nth, values in enumerate(fits[family].take(mine.tolist()).cdf(grid) if mine.size else ()):
            label = f"{family} ({(best == family).sum():,})" if nth == 0 else None
            ax.plot(grid, values, color=mark.colour, linestyle=mark.line, linewidth=1.0, alpha=0.5, label=label)
    if not fits.lives.shared:
        begun, times, failed = _empirical(fits.lives.pooled())
        if times.size:
            _draw_observed(ax, begun, times, failed, (min(grid[0], times[0]), times[-1]), 2.2, "all together")
    shown = f" ({rows.size} of {len(fits.groups):,} shown)" if rows.size < len(fits.groups) else ""
    message = _led("", f"{_measure(fits)} of {len(fits.groups):,} groups, best distribution of each{shown}")
    return _finish_shares(ax, fits, grid, message)


def _finish_shares(ax: Axes, fits: Fits, grid: FloatArray, message: str) -> Axes:
    """The axes of distribution functions over the times of `grid`."""
    style.decades(ax.xaxis, grid[0], grid[-1])
    ax.set(xlim=(grid[0], grid[-1]), ylim=(0, 1.02))
    y = "fraction failed" if _ttf(fits) else "fraction repaired"
    return style.finish(ax, message, f"{_measure(fits)} (hours)", y, below=2)


@plot.register(FamilyFit)
def _one_family(fit: FamilyFit, group: object = None, ax: Axes | None = None) -> Axes:
    """`distributions` of one fitted distribution."""
    return distributions(Fits(fit.lives, {fit.name: fit}, fit.level), group, ax)


def probability_plot(fits: Fits, group: object = None, ax: Axes | None = None, *, family: str = "weibull") -> Axes:
    """Probability plot of one group on the distribution's paper, where the fitted line is straight.

    Points are at the mid-steps of the Kaplan-Meier estimate. Durations in intervals are bars, as long as the interval
    in which Turnbull's estimate falls. On Weibull and lognormal paper time is logarithmic; on exponential and gamma
    paper it is linear.

    Parameters
    ----------
    group : label, optional
        Of the group; by default the first.
    family : str
        Whose paper to use; it must be among the fitted distributions.

    Raises
    ------
    ArgumentError
        When there is no such group, or the distribution was not fitted.
    """
    from matplotlib.ticker import MaxNLocator

    ax = style.axes(ax)
    position, name = _position(fits, group)
    if position is None:
        return style.empty(ax, "No group of durations to show")
    fit = fits[family]
    begun, times, failed = _empirical(fits.lives.take([position]))
    if times.size < 2 or fit.status[position] != "ok":
        why = "fewer than two different durations" if times.size < 2 else f"no {family} fit ({fit.status[position]})"
        return style.empty(ax, _led(name, why))
    before = np.concatenate([[0.0], failed[:-1]])
    middle = (failed + before) / 2.0
    usable = (middle > 0.0) & (middle < 1.0)
    begun, times, before, failed, middle = (values[usable] for values in (begun, times, before, failed, middle))
    paper = _paper(family, fit, position)
    mark = style.family_mark(family)
    distribution = fit.distribution[position]
    thin = _thinned(times, DRAWN_POINTS)
    exact = np.array_equal(begun, times)
    if exact:
        (points,) = ax.plot(times[thin], paper(middle[thin]), mark.marker, color=style.INK, alpha=0.7, label="observed")
        points.set(markersize=3.6, markeredgewidth=0)
    else:
        starts = np.maximum(begun, 0.5 * times[0])  # none at zero on a logarithmic axis
        ax.hlines(paper(middle), starts, times, color=style.INK, linewidth=2.0, alpha=0.7, label="observed within")
    if family in ("exponential", "gamma"):
        line = np.linspace(0.0, times[-1] * 1.05, 60)[1:]
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter("{x:,.10g}")
    else:
        line = np.geomspace(times[0] * 0.7, times[-1] * 1.4, 60)
        style.decades(ax.xaxis, line[0], line[-1])
        ax.set_xlim(line[0], line[-1])
    chance = np.clip(np.asarray(distribution.cdf(line), dtype=float).ravel(), 1e-12, 1 - 1e-12)
    ax.plot(line, paper(chance), color=mark.colour, linestyle=mark.line, linewidth=1.8, label=f"fitted {family}")
    bottom, top = float(paper(middle[:1])[0]), float(paper(middle[-1:])[0])
    margin = 0.06 * (top - bottom) or 0.5
    ax.set_ylim(bottom - margin, top + margin)
    _probability_ticks(ax, paper, bottom - margin, top + margin)
    starts, ends = (np.asarray(distribution.cdf(at), dtype=float).ravel() for at in (begun, times))
    # of an interval the shares at its ends are known, of a time the middle of its step
    off = np.abs(ends - middle) if exact else np.maximum(np.abs(starts - before), np.abs(ends - failed))
    subject = _led(name, f"{_measure(fits)} on {family} paper", ", ")
    message = f"{subject}: at most {count(round(100.0 * float(off.max())), 'point')} of probability off the line"
    return style.finish(ax, message, f"{_measure(fits)} (hours)", "probability (%)", True, loc="lower right")


def _position(fits: Fits, group: object) -> tuple[int | None, str]:
    if len(fits.groups) == 0:
        return None, ""
    position = 0 if group is None else style.group_position(fits.groups, group)
    return position, _group_words(fits, fits.groups[position])


def _group_words(fits: Fits, label: object) -> str:
    """The group's name; a number alone says what it numbers, and a sample that nobody named has none."""
    key = str(fits.groups.name or "")
    if key == "group" and len(fits.groups) == 1 and label == 0:
        return ""
    alone = not isinstance(label, tuple) and key in ("system", "node")
    return style.plain(f"{key} {label}" if alone else style.group_name(label))


def _led(name: str, text: str, mark: str = ": ") -> str:
    """The text behind the name of what it is about."""
    return f"{name}{mark}{text}" if name else text[:1].upper() + text[1:]


def _empirical(lives: LifeData) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Between which times above zero (equal for Kaplan-Meier) lives of one group ended, and the share that ended."""
    if lives.upper is not None or lives.exit is not None:
        begun, times, failed = _masses(turnbull(lives.from_age_known()), 0)
        keep = np.isfinite(times) & (times > 0.0)
        return begun[keep], times[keep], failed[keep]
    times, survival = kaplan_meier(lives).group(0)
    times, failed = np.asarray(times, dtype=np.float64), 1.0 - np.asarray(survival, dtype=np.float64)
    keep = (np.diff(failed, prepend=0.0) > 0.0) & (times > 0.0)
    return times[keep], times[keep], failed[keep]


def _draw_observed(
    ax: Axes,
    begun: FloatArray,
    times: FloatArray,
    failed: FloatArray,
    ends: tuple[float, float],
    width: float,
    label: str = "",
) -> None:
    """The empirical distribution function, from one end to the other."""
    if not np.array_equal(begun, times):
        values = np.concatenate([[0.0], failed])
        label = label or "observed (Turnbull)"
        _draw_bounds(ax, begun, times, values, ends, colour=style.INK, label=label, width=width)
        return
    thin = _thinned(times, DRAWN_STEPS)
    x = np.concatenate([[ends[0]], times[thin], [ends[1]]])
    y = np.concatenate([[0.0], failed[thin], [failed[-1]]])
    label = label or "observed (Kaplan-Meier)"
    ax.step(x, y, where="post", color=style.INK, linewidth=width, alpha=0.85, label=label)


def _thinned(times: FloatArray, most: int) -> npt.NDArray[np.int64]:
    """Positions of at most about `most` steps: evenly along the logarithm of time and along the ranks."""
    if times.size <= most:
        return np.arange(times.size)
    by_rank = np.linspace(0, times.size - 1, most // 2).astype(np.int64)
    by_time = np.searchsorted(times, np.geomspace(times[0], times[-1], most // 2)).clip(0, times.size - 1)
    return np.unique(np.concatenate([by_rank, by_time]))


def _paper(family: str, fit: FamilyFit, position: int) -> Callable[[FloatArray], FloatArray]:
    """From a probability to the height at which this distribution's function is a straight line."""
    from scipy.special import gammaincinv, ndtri

    if family == "weibull":
        return lambda p: np.log(-np.log1p(-p))
    if family == "lognormal":
        return lambda p: np.asarray(ndtri(p), dtype=np.float64)
    if family == "exponential":
        return lambda p: -np.log1p(-p)
    if family == "gamma":
        shape = float(fit.parameters["shape"][position])
        return lambda p: np.asarray(gammaincinv(shape, p), dtype=np.float64)
    distribution = fit.distribution[position]
    return lambda p: np.log(np.asarray(distribution.quantile(p), dtype=np.float64)).ravel()


def _probability_ticks(ax: Axes, paper: Callable[[FloatArray], FloatArray], bottom: float, top: float) -> None:
    percent = np.array([0.001, 0.01, 0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999])
    heights = paper(percent / 100.0)
    spaced: list[int] = []
    order = np.argsort(np.abs(percent - 50.0))  # from the middle outwards; labels too close to a drawn one are dropped
    for number in order:
        height = heights[number]
        if bottom <= height <= top and all(abs(height - heights[k]) > 0.055 * (top - bottom) for k in spaced):
            spaced.append(int(number))
    ax.set_yticks(heights[spaced], [f"{percent[k]:.10g}" for k in spaced], minor=False)
    ax.set_yticks([], minor=True)


def _fit_message(name: str, drawn: list[tuple[str, FamilyFit, FloatArray]], position: int) -> str:
    usable = [(family, float(fit.aicc[position])) for family, fit, _ in drawn if np.isfinite(fit.aicc[position])]
    if not usable:
        return f"{name}: no family could be compared"
    (best, score), *others = sorted(usable, key=lambda pair: pair[1])
    if others and others[0][1] - score < 2.0:
        return f"{name}: {best} and {others[0][0]} fit equally well (AICc)"
    return f"{name}: {best} fits best (AICc)"


def _ttf(fits: Fits) -> bool:
    return fits.lives.measure != "ttr"


def _measure(fits: Fits) -> str:
    return {"ttf": "time to failure", "ttr": "time to repair"}.get(fits.lives.measure, "life")


def _masses(estimate: TurnbullEstimate, position: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ends of the intervals of one group that have a mass, and the share that has failed by the end of each."""
    part = estimate.part(position)
    some = estimate.mass[part] > _NO_MASS
    return estimate.left[part][some], estimate.right[part][some], np.cumsum(estimate.mass[part][some])


def _draw_bounds(
    ax: Axes,
    left: FloatArray,
    right: FloatArray,
    values: FloatArray,
    ends: tuple[float, float],
    *,
    colour: str,
    label: str,
    width: float = 1.8,
) -> None:
    """A curve from one of the n + 1 `values` to the next between two ends, none if infinite; where these are equal it
    steps, else the line is broken, and the rectangle between the two values is filled.
    """
    begin, end = ends
    x, y = [begin], [float(values[0])]
    corners: list[tuple[float, float, float]] = []  # where the filled part steps, and its two heights
    for low, high, before, after in zip(left, right, values[:-1], values[1:], strict=True):
        start = max(float(low), begin)
        x, y = [*x, start], [*y, float(before)]
        if not np.isfinite(high):
            break
        if high > low:
            x, y = [*x, np.nan], [*y, np.nan]
            corners += [(start, before, after), (float(high), after, after)]
        x, y = [*x, float(high)], [*y, float(after)]
    else:
        x, y = [*x, max(end, x[-1])], [*y, y[-1]]
    ax.plot(x, y, color=colour, linewidth=width, label=label)
    if corners:
        where, one, other = np.array(corners).T
        style.band(ax, where, one, other, colour, alpha=0.22, step="post")
        ax.plot(where, one, "o", color=colour, markersize=3.0)  # the curve is determined there, if only there


def turnbull_curves(estimate: TurnbullEstimate, ax: Axes | None = None, *, group: object = None) -> Axes:
    """Survival of one group, or of up to six; `relfit.plotting.step_curves` draws it."""
    ax = style.axes(ax)
    sizes = np.diff(estimate.offsets)
    order = np.argsort(-sizes, kind="stable") if group is None else [style.group_position(estimate.groups, group)]
    order = [int(place) for place in order if sizes[place]][:_MOST_CURVES]
    if not order:
        return style.empty(ax, "There are no durations, so there is no curve to show")
    parts = [_masses(estimate, place) for place in order]
    ends = [np.concatenate([left, right]) for left, right, _ in parts]
    end = max(float(values[np.isfinite(values)].max()) for values in ends)
    for nth, (place, (left, right, failed)) in enumerate(zip(order, parts, strict=True)):
        name = "survival" if len(order) == 1 else style.plain(style.group_name(estimate.groups[place]), 18)
        survival = 1.0 - np.concatenate([[0.0], failed])
        _draw_bounds(ax, left, right, survival, (0.0, end), colour=style.PALETTE[nth], label=name)
    ax.set(xlim=(0.0, end), ylim=(0.0, 1.02))
    style.thousands(ax.xaxis)
    of = f" of {count(len(order), 'group')}" if len(sizes) > 1 else ""
    of = of if group is None else f" of {style.group_name(estimate.groups[order[0]])}"
    more = f" ({len(sizes) - len(order)} more not shown)" if group is None and len(sizes) > len(order) else ""
    message = f"Turnbull: survival{of}{more}; where shaded, the data do not say when it falls"
    return style.finish(ax, message, "duration (hours)", "survival", below=3 if len(order) > 1 else 0)
