"""Hazards of one group: fitted families with their bands beside failures per hour at risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.fitting import Fits
from relfit.fitting.family_fit import FamilyFit
from relfit.lifedata import LifeData
from relfit.plotting import style
from relfit.plotting.chosen import Chosen, band, band_label, choose_several, kind_checked, level_checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Rates", "hazard_plot", "observed_rates"]

FloatArray = npt.NDArray[np.float64]
CURVE_POINTS = 61
MOST_BINS = 14
MOST_BANDS = 4


@dataclass(frozen=True)
class Rates:
    """Failures per hour at risk in bins of age; arrays of shape (bins,).

    Attributes
    ----------
    start, end, middle : ndarray of float
        Ends of each bin, and its median failure time (its geometric middle without failures), hours.
    failures : ndarray of int
    hours : ndarray of float
        Hours at risk within the bin, over all lives.
    rate, low, high : ndarray of float
        Per hour, with exact Poisson limits.
    """

    start: FloatArray
    end: FloatArray
    middle: FloatArray
    failures: npt.NDArray[np.int64]
    hours: FloatArray
    rate: FloatArray
    low: FloatArray
    high: FloatArray


def observed_rates(lives: LifeData, bins: int | None = None, level: float = 0.95) -> Rates | None:
    """Failures per hour at risk in bins of age with about equal numbers of failures.

    Parameters
    ----------
    lives : LifeData
        Of one group.
    bins : int, optional
        At most; the square root of the number of failures, up to 14, when left out.
    level : float
        Of the exact Poisson (Garwood) limits.

    Returns
    -------
    Rates or None
        None where no failure after age 0 was observed, and for lives in intervals or right truncation, whose hours at
        risk are not known.

    Examples
    --------
    >>> import relfit as rf
    >>> rates = observed_rates(rf.LifeData.from_array([1.0, 2.0, 4.0, 9.0]), bins=1)
    >>> rates.rate.tolist()
    [0.25]
    """
    from relfit.numeric.poisson import poisson_interval

    if lives.upper is not None or lives.exit is not None:
        return None
    weights = np.ones(lives.durations.size) if lives.weights is None else lives.weights.astype(np.float64)
    entry = np.zeros(lives.durations.size) if lives.entry is None else lives.entry
    seen = lives.observed & (lives.durations > 0.0) & (weights > 0)
    times = lives.durations[seen]
    if not times.size:
        return None
    number = int(np.clip(round(np.sqrt(times.size)), 1, MOST_BINS)) if bins is None else max(int(bins), 1)
    distinct = np.unique(times)
    # bins meet halfway between failures, so that no failure decides where its own bin ends
    halfway = np.sqrt(distinct[:-1] * distinct[1:])
    wanted = np.quantile(times, np.arange(1, number) / number)
    between = np.minimum(np.searchsorted(distinct[1:], wanted), max(halfway.size - 1, 0))
    inner = np.unique(halfway[between]) if halfway.size else halfway
    edges = np.concatenate([[float(entry.min())], inner, [float(lives.durations.max())]])
    edges = np.unique(np.minimum(edges, edges[-1]))
    if edges.size == 1:
        edges = np.array([0.0, edges[0]])
    start, end = edges[:-1], edges[1:]
    place = np.searchsorted(end, times)
    failures = np.bincount(place, weights=weights[seen], minlength=end.size).astype(np.int64)
    # hours at risk before an age, over all lives, is piecewise linear in it
    before = np.array([float((weights * (np.minimum(lives.durations, e) - np.minimum(entry, e))).sum()) for e in edges])
    hours = np.diff(before)
    middle = np.sqrt(np.maximum(start, end / 10.0) * end)
    filled = np.flatnonzero(failures)
    middle[filled] = [np.median(times[place == i]) for i in filled]
    low, high = poisson_interval(failures, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate, low, high = failures / hours, low / hours, high / hours
    return Rates(start, end, middle, failures, hours, rate, low, high)


def hazard_plot(
    fits: Fits | FamilyFit,
    group: Any = None,
    ax: Axes | None = None,
    *,
    families: str | Sequence[str] | None = None,
    level: float = 0.95,
    kind: str | None = "wald",
    bins: int | None = None,
    per: float | None = None,
) -> Axes:
    """Fitted hazards of one group, each with its pointwise band, beside the observed rates.

    Observed are the failures divided by the hours at risk, in bins of age with about equal numbers of failures, with
    exact Poisson limits (`relfit.plotting.hazard.observed_rates`). Each is drawn at the median failure time of its bin.
    Lives in intervals and right-truncated lives have none.

    Parameters
    ----------
    fits : Fits or FamilyFit
    group : label, optional
        Of the group; the first when left out.
    ax : matplotlib Axes, optional
    families : str or sequence of str, optional
        Those to draw; all fitted when left out. With more than four, only the best by AICc has a band.
    level : float
        Of the bands and the observed limits.
    kind : str or None
        Interval of the fitted hazards: see `FamilyFit.interval`; None draws no band. Fits by another method than
        maximum likelihood have no Wald and profile band.
    bins : int, optional
        Bins of the observed rates; see `observed_rates`.
    per : float, optional
        Hours that the rates are for; 1 or 1,000, whichever suits the data, when left out.

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic.

    Raises
    ------
    ArgumentError
        For an unknown group, family, level or kind, or rates per no time.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> fits = rf.fit(rf.families.Weibull(0.8, 1000.0).sample((1, 40), rng=1), "weibull")
    >>> hazard_plot(fits, ax=Figure().add_subplot()).get_ylabel()
    'hazard (failures per 1,000 hours)'
    """
    from relfit.errors import ArgumentError

    level, kind = level_checked(level), kind_checked(kind)
    if per is not None and not (per > 0.0 and np.isfinite(per)):
        raise ArgumentError(f"rates per {per} hours have no meaning", remedy="give a number of hours above zero")
    if bins is not None and bins < 1:
        raise ArgumentError(f"{bins} bins are too few", remedy="use one or more")
    several = choose_several(fits, group, families)
    ax = style.axes(ax, (6.4, 4.0) if len(several or ()) <= 2 * MOST_BANDS - 2 else (8.8, 4.4))
    if several is None:
        return style.empty(ax, "No group of lives to show")
    one = several[0]
    drawn = [chosen for chosen in several if chosen.ok]
    rates = observed_rates(one.lives, bins, level)
    if not drawn and rates is None:
        return style.empty(ax, f"{one.title}: {one.why}")
    ages = np.concatenate([one.lives.durations, one.lives.ends])
    ages = ages[(ages > 0.0) & np.isfinite(ages)]
    first, last = float(ages.min()) / 1.2, float(ages.max()) * 1.2
    at = np.geomspace(first, last, CURVE_POINTS)
    best = _best(drawn)
    few = len(drawn) <= MOST_BANDS
    curves = [(c, *band(c, "hazard", at, level, kind if few or c is best else None)) for c in drawn]
    typical = float(one.lives.n_failures[0]) / max(float(one.lives.total_time[0]), 1e-300)
    scale = per if per is not None else 1.0 if typical > 0.02 else 1000.0
    bottom, top = _range(rates, [curve[1] for curve in curves])
    ax.set_xscale("log")
    ax.set_yscale("log")
    for chosen, estimate, low, high in curves:
        _draw_curve(ax, chosen, at, (estimate, low, high), scale, (bottom, top))
    if any(np.isfinite(low).any() for _, _, low, _ in curves):
        label = band_label(level, kind) + ("" if few or best is None else f", {best.called} only")
        ax.fill_between([], [], color=style.GREY, alpha=0.3, linewidth=0, label=label)
    if rates is not None:
        _draw_rates(ax, one, rates, scale, (first, bottom), level)
    style.decades(ax.xaxis, first, last)
    style.decades(ax.yaxis, bottom * scale, top * scale)
    ax.set_xlim(first, last)
    entries = len(ax.get_legend_handles_labels()[1])
    columns = 1 if entries < 4 else 2
    room = 0.04 + 0.1 * -(-entries // columns) if entries <= 2 * MOST_BANDS else 0.0
    ax.set_ylim(bottom * scale, top * scale * (top / bottom) ** room)  # for the legend
    where = {"ncols": columns, "columnspacing": 1.2} if room else {"bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    hours = "hour" if scale == 1.0 else f"{style.figures(scale)} hours"
    return style.finish(
        ax,
        f"{one.title}: {_message(several, drawn, rates, level)}",
        f"age ({one.measure}, hours)" if one.measure != "life" else "age (hours)",
        f"hazard ({one.event}s per {hours})",
        True,
        loc="upper left",
        **where,
    )


# ---------------------------------------------------------------------- details


def _draw_curve(
    ax: Axes,
    chosen: Chosen,
    at: FloatArray,
    curve: tuple[FloatArray, FloatArray, FloatArray],
    scale: float,
    limits: tuple[float, float],
) -> None:
    mark = style.family_mark(chosen.family)
    estimate, low, high = curve
    shown = np.isfinite(low) & ~np.isnan(high)
    label = chosen.called
    if chosen.fit.method != "maximum likelihood":
        label += f", by {chosen.fit.method}"
    if shown.any():
        floor, ceiling = limits[0] * 1e-3, limits[1] * 1e3
        ax.fill_between(
            at[shown], np.clip(low[shown], floor, ceiling) * scale, np.clip(high[shown], floor, ceiling) * scale,
            color=mark.colour, alpha=0.13, linewidth=0,
        )  # fmt: skip
    kept = np.isfinite(estimate) & (estimate > 0.0)
    ax.plot(at[kept], estimate[kept] * scale, color=mark.colour, linestyle=mark.line, linewidth=1.8, label=label)


def _draw_rates(
    ax: Axes, chosen: Chosen, rates: Rates, scale: float, corner: tuple[float, float], level: float
) -> None:
    first, bottom = corner
    some = rates.failures > 0
    zeros = int(chosen.lives.n_zeros[0])
    label = f"{chosen.event}s / hours at risk, {100 * level:.4g} % limits"
    if zeros:
        label += f" ({zeros:,} at 0 h left out)"
    left = np.maximum(rates.start, first)
    ax.vlines(
        rates.middle, np.maximum(rates.low, bottom * 1e-3) * scale, rates.high * scale, color=style.INK, linewidth=1.0,
        alpha=0.6,
    )  # fmt: skip
    ax.hlines(rates.rate[some] * scale, left[some], rates.end[some], color=style.INK, linewidth=1.0, alpha=0.6)
    ax.plot(rates.middle[some], rates.rate[some] * scale, "o", color=style.INK, markersize=4.5, label=label)
    if (~some).any():
        ax.plot(rates.middle[~some], rates.high[~some] * scale, "v", color=style.INK, markersize=4.5, alpha=0.6,
                label=f"no {chosen.event}, upper limit")  # fmt: skip


def _range(rates: Rates | None, curves: list[FloatArray]) -> tuple[float, float]:
    """Lowest and highest rate per hour to show: all observed limits, and curves as far as they stay near."""
    values = []
    if rates is not None:
        values += [rates.rate[rates.failures > 0], rates.low[rates.failures > 0], rates.high]
    observed = np.concatenate(values) if values else np.empty(0)
    observed = observed[np.isfinite(observed) & (observed > 0.0)]
    drawn = np.concatenate(curves) if curves else np.empty(0)
    drawn = drawn[np.isfinite(drawn) & (drawn > 0.0)]
    if observed.size and drawn.size:
        drawn = drawn[(drawn > observed.min() / 30.0) & (drawn < observed.max() * 30.0)]
    elif drawn.size:
        middle = float(np.median(drawn))
        drawn = drawn[(drawn > middle / 1e4) & (drawn < middle * 1e4)]
    everything = np.concatenate([observed, drawn])
    return float(everything.min()) / 1.4, float(everything.max()) * 1.4


def _best(drawn: list[Chosen]) -> Chosen | None:
    """The best by AICc; the first where no family has one."""
    if not drawn:
        return None
    scores = [float(c.fit.aicc[0]) if np.isfinite(c.fit.aicc[0]) else np.inf for c in drawn]
    return drawn[int(np.argmin(scores))]


def _message(several: list[Chosen], drawn: list[Chosen], rates: Rates | None, level: float) -> str:
    best = _best(drawn)
    if best is None:
        return several[0].why if len(several) == 1 else "no family could be fitted"
    if rates is None:
        return "fitted hazards; the hours at risk of such lives are not known"
    scored = bool(np.isfinite(best.fit.aicc[0]))
    with np.errstate(all="ignore"):
        mean = np.asarray(best.distribution.hazard(rates.middle), dtype=np.float64)
    inside = int(((mean >= rates.low) & (mean <= rates.high)).sum())
    known = "the best by AICc, " if scored and len(drawn) > 1 else ""
    return f"{best.called}, {known}passes {inside} of {rates.rate.size} observed rates within their limits"
