"""Probability paper, P-P and Q-Q plots: the observed lives of one group against one fitted family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.fitting import Fits
from relfit.fitting.family_fit import FamilyFit
from relfit.plotting import style
from relfit.plotting.chosen import (
    Chosen,
    Points,
    band,
    band_label,
    choose,
    kind_checked,
    level_checked,
    observed_points,
    thinned,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["pp_plot", "probability_plot", "qq_plot"]

FloatArray = npt.NDArray[np.float64]

DRAWN_POINTS = 600
DRAWN_TICKS = 400
BAND_POINTS = 41
_PERCENT = (1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999)
_NEAREST = 1e-16  # to 0 and 1: farther out a float cannot tell a probability from these


def probability_plot(
    fits: Fits | FamilyFit,
    group: Any = None,
    ax: Axes | None = None,
    *,
    family: str | None = None,
    level: float = 0.95,
    kind: str | None = "wald",
) -> Axes:
    """Lives of one group on the probability paper of a family, on which its fitted line is straight.

    Probabilities stand where the family's distribution function becomes a line: ``log(-log(1 - p))`` for the Weibull,
    probits for the lognormal, logits for the loglogistic, all over logarithmic time; ``-log(1 - p)`` over linear time
    for the exponential. Every other family has the logarithm of its own fitted quantiles, over logarithmic time.

    Points are median ranks, adjusted for censoring (Johnson 1964); for delayed entry the steps of the Kaplan-Meier
    estimate, for lives in intervals Turnbull's masses as bars from end to end. Censored lives are ticks on the time
    axis.

    Parameters
    ----------
    fits : Fits or FamilyFit
    group : label, optional
        Of the group; the first when left out.
    ax : matplotlib Axes, optional
    family : str, optional
        Whose paper; of `Fits`, the best of the group by AICc when left out.
    level : float
        Of the band.
    kind : str or None
        Interval of the fitted quantiles that the band consists of: see `FamilyFit.interval`. ``"profile"`` is better
        below some twenty failures; None draws no band. Fits by another method than maximum likelihood have no Wald and
        profile band.

    Returns
    -------
    matplotlib.axes.Axes
        Time in hours, probability in percent.

    Raises
    ------
    ArgumentError
        For an unknown group, family, level or kind.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> fits = rf.fit(rf.families.Weibull(0.8, 1000.0).sample((1, 40), rng=1), "weibull")
    >>> ax = probability_plot(fits, ax=Figure().add_subplot())
    >>> ax.get_ylabel()
    'failed (%)'
    """
    level, kind = level_checked(level), kind_checked(kind)
    chosen = choose(fits, group, family)
    ax = style.axes(ax)
    if chosen is None:
        return style.empty(ax, "No group of lives to show")
    points = observed_points(chosen, level)
    paper = _paper(chosen)
    if paper is None:
        return style.empty(ax, _because(chosen, chosen.why))
    points, beyond = _on_axis(points, paper.log_time)
    if not chosen.ok and not (points.last > 0.0).any():
        return style.empty(ax, _because(chosen, chosen.why))
    bottom, top, first, last = _frame(chosen, points, paper)
    _lay_out(ax, paper, bottom, top, first, last)
    _draw_points(ax, chosen, points, beyond, first)
    _draw_censored(ax, chosen, first)
    if not chosen.ok:
        return _finished(ax, chosen, f"{chosen.title} on {chosen.called} paper: {chosen.why}")
    heights = paper.back(np.linspace(float(paper.at(bottom)), float(paper.at(top)), BAND_POINTS))
    heights = np.clip(heights, _NEAREST, 1.0 - _NEAREST)
    time, low, high = band(chosen, "quantile", heights, level, kind)
    mark = style.family_mark(chosen.family)
    shown = np.isfinite(low) & ~np.isnan(high)
    if shown.any():
        ax.fill_betweenx(
            heights[shown],
            np.clip(low[shown], first / 1e3, last * 1e3),
            np.clip(high[shown], first / 1e3, last * 1e3),
            color=mark.colour,
            alpha=0.14,
            linewidth=0,
            label=band_label(level, kind),
        )
    drawn = np.isfinite(time)
    ax.plot(
        time[drawn], heights[drawn], color=mark.colour, linestyle=mark.line, linewidth=1.8, label=_fitted_label(chosen)
    )
    message = f"{chosen.title}"
    if points.share.size:
        message += f": {_away(chosen, points)}"
    return _finished(ax, chosen, message)


def pp_plot(
    fits: Fits | FamilyFit,
    group: Any = None,
    ax: Axes | None = None,
    *,
    family: str | None = None,
    level: float = 0.95,
) -> Axes:
    """Observed against fitted probabilities of one group; a family that holds has its points on the diagonal.

    Observed are the plotting positions of `probability_plot`. At the height of each point the band holds, under the
    fitted family and given censoring, the probability at which its life ends in a share `level` of all samples: the
    quantiles of the beta distribution of its rank (with delayed entry, the Kaplan-Meier limits). It takes the
    parameters as known. As they were fitted to the same lives, points should lie well inside; `FamilyFit.goodness` has
    tests that account for this. Lives in intervals and right-truncated lives have no band.

    Parameters
    ----------
    fits, group, ax, family, level
        As for `probability_plot`.

    Returns
    -------
    matplotlib.axes.Axes
        Both axes in percent.

    Raises
    ------
    ArgumentError
        For an unknown group, family or level.
    """
    level = level_checked(level)
    chosen = choose(fits, group, family)
    ax = style.axes(ax, (5.2, 5.0))
    if chosen is None:
        return style.empty(ax, "No group of lives to show")
    points = observed_points(chosen, level)
    if not chosen.ok or not points.share.size:
        return style.empty(ax, _because(chosen, chosen.why if not chosen.ok else f"no {chosen.event} to show"))
    kept = _thinned_points(points)
    fitted = [100.0 * np.asarray(chosen.distribution.cdf(t), np.float64) for t in (kept.first, kept.last)]
    mark = style.family_mark(chosen.family)
    ax.plot([0, 100], [0, 100], color=mark.colour, linestyle=mark.line, linewidth=1.8, label=_fitted_label(chosen))
    shown = np.isfinite(kept.low) & np.isfinite(kept.high)
    place, low, high = (100.0 * values[shown] for values in (kept.share, kept.low, kept.high))
    _draw_band(ax, place, low, high, chosen, level, upright=False)
    _draw_marks(ax, fitted[0], fitted[1], 100.0 * kept.share, _observed_label(chosen, points, 0))
    reach = [100.0 * kept.share.max(), float(fitted[1].max())]
    top = min(100.0, 1.15 * max(reach))
    ax.set_xlim(-0.02 * top, 1.02 * top)
    ax.set_ylim(-0.02 * top, 1.02 * top)
    return style.finish(
        ax,
        f"{chosen.title}: {_against(chosen, points, level)}",
        f"{chosen.ended} under the fitted {chosen.called} (%)",
        f"{chosen.ended}, observed (%)",
        True,
        loc="upper left",
    )


def qq_plot(
    fits: Fits | FamilyFit,
    group: Any = None,
    ax: Axes | None = None,
    *,
    family: str | None = None,
    level: float = 0.95,
) -> Axes:
    """Observed lives of one group against the fitted quantiles at their plotting positions.

    Both axes are logarithmic and in hours. The band is that of `pp_plot`, in hours: at each point, where its life ends
    in a share `level` of all samples from the fitted family, its parameters taken as known.

    Parameters
    ----------
    fits, group, ax, family, level
        As for `probability_plot`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        For an unknown group, family or level.
    """
    level = level_checked(level)
    chosen = choose(fits, group, family)
    ax = style.axes(ax, (5.2, 5.0))
    if chosen is None:
        return style.empty(ax, "No group of lives to show")
    points, beyond = _on_axis(observed_points(chosen, level), True)
    if not chosen.ok or not points.share.size:
        return style.empty(ax, _because(chosen, chosen.why if not chosen.ok else f"no {chosen.event} to show"))
    kept = _thinned_points(points)
    with np.errstate(all="ignore"):
        fitted, low, high = (
            np.asarray(chosen.distribution.quantile(np.clip(p, _NEAREST, 1.0 - _NEAREST)), np.float64)
            for p in (kept.share, kept.low, kept.high)
        )
    first = float(kept.last.min()) / 1.6
    last = float(kept.last.max()) * 1.6
    possible = fitted[(fitted > first / 300.0) & (fitted < last * 300.0)]
    if possible.size:
        first, last = min(first, float(possible.min()) / 1.6), max(last, float(possible.max()) * 1.6)
    mark = style.family_mark(chosen.family)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.plot(
        [first, last], [first, last], color=mark.colour, linestyle=mark.line, linewidth=1.8,
        label=_fitted_label(chosen),
    )  # fmt: skip
    shown = np.isfinite(low) & ~np.isnan(high) & np.isfinite(fitted) & (fitted > 0)
    low, high = (np.clip(values[shown], first / 1e3, last * 1e3) for values in (low, high))
    _draw_band(ax, fitted[shown], low, high, chosen, level, upright=True)
    begin = np.maximum(kept.first, first)
    _draw_marks(ax, begin, kept.last, fitted, _observed_label(chosen, points, beyond), upright=True)
    for axis in (ax.xaxis, ax.yaxis):
        style.decades(axis, first, last)
    ax.set_xlim(first, last)
    ax.set_ylim(first, last)
    return style.finish(
        ax,
        f"{chosen.title}: {_against(chosen, points, level)}",
        f"{chosen.measure} under the fitted {chosen.called} (hours)",
        f"{chosen.measure}, observed (hours)",
        True,
        loc="upper left",
    )


# ------------------------------------------------------------------------ paper


@dataclass(frozen=True)
class _Paper:
    """How high a probability stands, its inverse, and whether time is logarithmic."""

    at: Callable[[Any], FloatArray]
    back: Callable[[Any], FloatArray]
    log_time: bool


def _paper(chosen: Chosen) -> _Paper | None:
    """Paper of the family; None where it takes a fit and there is none."""
    from scipy.special import expit, logit, ndtr, ndtri

    def clipped(p: Any) -> FloatArray:
        return np.clip(np.asarray(p, dtype=np.float64), 1e-300, 1.0 - _NEAREST)

    name = chosen.family
    if name == "weibull":
        return _Paper(lambda p: np.log(-np.log1p(-clipped(p))), lambda y: -np.expm1(-np.exp(np.minimum(y, 7.0))), True)
    if name == "lognormal":
        return _Paper(lambda p: np.asarray(ndtri(clipped(p))), lambda y: np.asarray(ndtr(y)), True)
    if name == "exponential":
        return _Paper(lambda p: -np.log1p(-clipped(p)), lambda y: -np.expm1(-np.maximum(y, 0.0)), False)
    if name == "loglogistic":
        return _Paper(lambda p: np.asarray(logit(clipped(p))), lambda y: np.asarray(expit(y)), True)
    if not chosen.ok:
        return None
    distribution = chosen.distribution

    def at(p: Any) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.clip(np.log(np.asarray(distribution.quantile(clipped(p)), np.float64)), -700.0, 700.0)

    def back(y: Any) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.asarray(distribution.cdf(np.exp(np.clip(np.asarray(y, np.float64), -700.0, 700.0))))

    return _Paper(at, back, True)


def _frame(chosen: Chosen, points: Points, paper: _Paper) -> tuple[float, float, float, float]:
    """Lowest and highest probability, first and last time, that the axes show."""
    share = points.share if points.share.size else np.array([0.1, 0.9])
    least, most = float(share.min()), float(share.max())
    bottom, top = min(least, 0.1), max(most, min(0.9, 4.0 * most))
    if chosen.ok and paper.log_time:  # a share that has ended at age 0 has no height on logarithmic paper
        started = float(chosen.distribution.cdf(1e-300))
        bottom = max(bottom, started + 1e-3 * (1.0 - started)) if started > 1e-12 else bottom
        whole = float(chosen.distribution.cdf(1e300))
        top = min(top, 0.999 * whole) if whole < 1.0 - 1e-12 else top
        bottom = min(bottom, 0.5 * top) if bottom >= top else bottom
    low, high = float(paper.at(bottom)), float(paper.at(top))
    margin = 0.05 * (high - low)
    bottom, top = float(paper.back(low - margin)), float(paper.back(high + margin))
    ends = chosen.lives.ends
    times = np.concatenate([points.first, points.last, chosen.lives.durations[~np.isfinite(ends)]])
    times = times[(times > 0.0) & np.isfinite(times)]
    if not times.size:
        times = np.asarray(chosen.distribution.quantile([0.1, 0.9]), dtype=np.float64)
    if not paper.log_time:
        return bottom, top, 0.0, float(times.max()) * 1.05
    first, last = float(times.min()) / 1.5, float(times.max()) * 1.5
    if chosen.ok:  # show what the line does beyond the data, but not far beyond
        with np.errstate(all="ignore"):
            ends = np.asarray(chosen.distribution.quantile([max(bottom, _NEAREST), min(top, 1.0 - _NEAREST)]))
        width = (last / first) ** 0.3
        first = float(np.clip(ends[0], first / width, first)) if ends[0] > 0.0 else first
        last = float(np.clip(ends[1], last, last * width))
    return bottom, top, first, last


def _lay_out(ax: Axes, paper: _Paper, bottom: float, top: float, first: float, last: float) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

    ax.set_ylim(bottom, top)
    ax.set_yscale("function", functions=(paper.at, paper.back))
    low, high = float(paper.at(bottom)), float(paper.at(top))
    percent = np.array([p for p in _PERCENT if bottom <= p / 100.0 <= top])
    heights = paper.at(percent / 100.0)
    kept: list[int] = []
    for number in np.argsort(np.abs(percent - 50.0)):  # the middle first: what comes too close to it is left out
        if all(abs(heights[number] - heights[k]) > 0.055 * (high - low) for k in kept):
            kept.append(int(number))
    kept.sort()
    ax.yaxis.set_major_locator(FixedLocator((percent[kept] / 100.0).tolist()))
    ax.yaxis.set_major_formatter(FixedFormatter([f"{percent[k]:.10g}" for k in kept]))
    ax.yaxis.set_minor_locator(NullLocator())
    if paper.log_time:
        ax.set_xscale("log")
        style.decades(ax.xaxis, first, last)
        ax.set_xlim(first, last)
    else:
        ax.set_xlim(0.0, last)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter("{x:,.10g}")


def _draw_points(ax: Axes, chosen: Chosen, points: Points, beyond: int, first: float) -> None:
    if not points.share.size:
        return
    kept = _thinned_points(points)
    label = _observed_label(chosen, points, beyond)
    begin = np.maximum(kept.first, first)
    _draw_marks(ax, begin, kept.last, kept.share, label)


def _draw_marks(
    ax: Axes, first: FloatArray, last: FloatArray, place: FloatArray, label: str, upright: bool = False
) -> None:
    """Dots where both ends are equal, bars from end to end elsewhere; along the other axis if `upright`."""
    dot = first == last
    if dot.any():
        across, up = (place[dot], last[dot]) if upright else (last[dot], place[dot])
        ax.plot(
            across, up, "o", color=style.INK, markersize=3.6, alpha=0.7, markeredgewidth=0, label=label
        )  # fmt: skip
    if not dot.all():
        (ax.vlines if upright else ax.hlines)(
            place[~dot], first[~dot], last[~dot], color=style.INK, linewidth=1.6, alpha=0.7,
            label="in intervals" if dot.any() else label,
        )  # fmt: skip


def _draw_band(
    ax: Axes, place: FloatArray, low: FloatArray, high: FloatArray, chosen: Chosen, level: float, upright: bool
) -> None:
    """Band under the fit; bars where there are too few points for one."""
    colour = style.family_mark(chosen.family).colour
    label = f"{100 * level:.4g} % band under the fit"
    if place.size >= 3:
        fill = ax.fill_between if upright else ax.fill_betweenx
        fill(place, low, high, color=colour, alpha=0.14, linewidth=0, label=label)
    elif place.size:
        (ax.vlines if upright else ax.hlines)(place, low, high, color=colour, alpha=0.3, linewidth=5.0, label=label)


def _draw_censored(ax: Axes, chosen: Chosen, first: float) -> None:
    lives = chosen.lives
    ages = lives.durations[~np.isfinite(lives.ends)]
    if not ages.size:
        return
    ages = np.sort(np.maximum(ages, first))
    ages = ages[thinned(ages, DRAWN_TICKS)]
    ax.plot(
        ages, np.full(ages.size, 0.022), "|", transform=ax.get_xaxis_transform(), color=style.BLUE, markersize=9,
        markeredgewidth=1.0, alpha=0.7, label=f"censored ({int(lives.n_censored[0]):,})",
    )  # fmt: skip


# ---------------------------------------------------------------------- details


def _on_axis(points: Points, log_time: bool) -> tuple[Points, int]:
    """Points that have a place on the time axis, and how many have none."""
    kept = points.last > 0.0 if log_time else np.ones(points.last.size, dtype=bool)
    return points.take(kept), int((~kept).sum())


def _thinned_points(points: Points) -> Points:
    return points.take(thinned(points.last, DRAWN_POINTS))


def _observed_label(chosen: Chosen, points: Points, beyond: int) -> str:
    count = int(chosen.lives.n_failures[0])
    text = f"{count:,} {chosen.event}{'' if count == 1 else 's'} ({points.how}"
    if beyond:
        text += f"; {beyond:,} at 0 h not shown"
    if points.hidden:
        text += f"; {points.hidden:,} past the estimate's end"
    return f"{text})"


def _fitted_label(chosen: Chosen) -> str:
    how = chosen.fit.method
    return f"fitted {chosen.called}" if how == "maximum likelihood" else f"fitted {chosen.called}, by {how}"


def _away(chosen: Chosen, points: Points) -> str:
    """Largest distance of a point, or of its bar, to the fitted distribution function, in words."""
    first, last = (np.asarray(chosen.distribution.cdf(t), np.float64) for t in (points.first, points.last))
    farthest = 100.0 * float(np.maximum(np.maximum(first - points.share, points.share - last), 0.0).max())
    return f"at most {farthest:.1f} points of probability off the {chosen.called} line"


def _against(chosen: Chosen, points: Points, level: float) -> str:
    """How many points lie outside their band; where there is no band, how far the points are from the line."""
    if not np.isfinite(points.low).all():
        return _away(chosen, points)
    with np.errstate(all="ignore"):
        fitted = np.asarray(chosen.distribution.cdf(points.first), dtype=np.float64)
    out = int(((fitted < points.low) | (fitted > points.high)).sum())
    where = f"the {100 * level:.4g} % band of the fitted {chosen.called}"
    if points.share.size == 1:
        return f"the only point lies {'outside' if out else 'within'} {where}"
    if not out:
        return f"all {points.share.size:,} points lie within {where}"
    return f"{out:,} of {points.share.size:,} points lie outside {where}"


def _because(chosen: Chosen, why: str) -> str:
    return f"{chosen.title}: {why}"


def _finished(ax: Axes, chosen: Chosen, message: str) -> Axes:
    where = "upper left" if ax.get_xscale() == "log" else "best"
    return style.finish(ax, message, f"{chosen.measure} (hours)", f"{chosen.ended} (%)", True, loc=where)
