"""Periods of the failure rate: each with its rate and interval over the observed rate, the one to use marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from relfit.analyses.screening import ChangePoints
from relfit.analyses.screening.periods import Period
from relfit.base.text import number
from relfit.base.units import HOURS_PER_YEAR
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BINS, _MOST_MARKS = 90, 3
_LINE = 0.16  # height of a line of text in the report's picture, as a share of the axis
_UNITS = (("day", 24.0), ("week", 168.0), ("month", 730.5), ("year", HOURS_PER_YEAR))


@plot.register(ChangePoints)
def change_points(cut: ChangePoints, ax: Axes | None = None, *, used: Period | str | None = "stable") -> Axes:
    """The failure rate over time and the mean of each period; the period used is shaded.

    Parameters
    ----------
    used : Period, "stable" or None
        The period to shade; None shades none.
    """
    ax = style.axes(ax)
    if not cut.counts.sum() or not cut.exposure.sum():
        return style.empty(ax, "No failure under observation, so there is no rate to cut into periods")
    chosen = cut.stable_period if used == "stable" else used
    scale, unit = _unit(cut)
    observed, edges = _observed(cut)
    zone = cut.periods[0].start.tz
    days = style.days(pd.to_datetime(edges, utc=True).tz_convert(zone))
    observed = scale * observed
    ax.stairs(observed, days, color=style.GREY, linewidth=1.2, baseline=None)
    rates = scale * np.array([period.rate for period in cut.periods])
    top = 1.3 * max(float(np.nanmax(rates)), float(np.nanquantile(observed, 0.97)))
    if top < np.nanmax(observed) < 1.6 * top:
        top = 1.1 * float(np.nanmax(observed))
    cuts = bool((observed > top).any())  # marked along the upper edge
    label_top = (0.9 if cuts else 0.975) * top
    for period, value in zip(cut.periods, rates, strict=True):
        left, right = style.days(pd.DatetimeIndex([period.start, period.end])).tolist()
        use = period is chosen
        if use:
            ax.axvspan(left, right, color=style.GREEN, alpha=0.14, linewidth=0)
            now = period.end == cut.periods[-1].end
            text = f" no change since {period.start:%b %Y}" if now else f" steady until {period.end:%b %Y}"
            text = " the whole log is used" if len(cut.periods) == 1 else text
            ax.text(left, label_top, text, color=style.GREEN, va="top")
        if np.isfinite(value):
            ax.hlines(value, left, right, color=style.INK if use else style.BLUE, linewidth=3.0)
            if right - left > 0.04 * (days[-1] - days[0]):
                middle = 0.5 * (left + right)
                near = observed[np.abs(0.5 * (days[1:] + days[:-1]) - middle) < 0.03 * (days[-1] - days[0])]
                high = max(float(np.nanmax(np.append(near, value))), value)
                below = use and high > label_top - 2.0 * _LINE * top  # no room above for it and the period's own label
                ax.text(
                    middle,
                    value - 0.03 * top if below else min(high, 0.85 * top) + 0.02 * top,
                    number(value, 2),
                    ha="center",
                    va="top" if below else "baseline",
                    color=style.INK,
                    fontweight="bold",
                    bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5},
                )
    _mark_cut(ax, days, observed, top)
    ax.set_ylim(0.0, top)
    style.dates(ax, days)
    return style.finish(ax, style.headline(cut), f"time ({zone})", f"{cut.of}\nper {unit}")


def _mark_cut(ax: Axes, days: np.ndarray, observed: np.ndarray, top: float) -> None:
    """Arrows where the rate leaves the picture, with the value of the highest bin of each run."""
    above = np.flatnonzero(observed > top)
    runs = np.split(above, np.flatnonzero(np.diff(above) > 1) + 1) if above.size else []
    peaks = sorted((int(run[np.argmax(observed[run])]) for run in runs), key=lambda i: -observed[i])[:_MOST_MARKS]
    for i in peaks:
        middle = 0.5 * (days[i] + days[i + 1])
        right = middle < days[0] + 0.85 * (days[-1] - days[0])
        ax.plot(middle, 0.975 * top, marker="^", markersize=5, color=style.VERMILION, linestyle="none")
        ax.annotate(
            number(float(observed[i]), 2),
            (middle, 0.975 * top),
            (6 if right else -6, 0),
            va="center",
            ha="left" if right else "right",
            color=style.VERMILION,
            textcoords="offset points",
        )


def _unit(cut: ChangePoints) -> tuple[float, str]:
    """What makes events per hour of exposure events per unit, and the unit: a time where the fleet kept its size."""
    hours = np.diff(cut.edges) / 3.6e12
    nodes = cut.exposure / hours
    mean = float(cut.exposure.sum() / hours.sum())
    if np.abs(nodes / mean - 1.0).max() > 0.02:
        return HOURS_PER_YEAR, cut.stable_period.per
    per_hour = float(cut.counts.sum() / hours.sum())
    name, length = next(((n, h) for n, h in _UNITS if per_hour * h >= 1.0), _UNITS[-1])
    return mean * length, name


def _observed(cut: ChangePoints) -> tuple[np.ndarray, np.ndarray]:
    """Rate per hour in at most some ninety bins, and their edges."""
    count = cut.counts.size
    # several events a bin, or the rate is all gaps and spikes
    wanted = int(np.clip(cut.counts.sum() / 4, 8, _MOST_BINS))
    step = max(-(-count // wanted), 1)
    starts = np.arange(0, count, step)
    hours = np.add.reduceat(cut.exposure, starts)
    events = np.add.reduceat(cut.counts, starts)
    rate = np.where(hours > 0.0, events / np.where(hours > 0.0, hours, 1.0), np.nan)
    return rate, np.append(cut.edges[starts], cut.edges[-1]).astype(np.float64)
