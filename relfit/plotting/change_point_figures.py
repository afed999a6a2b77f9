"""Periods of the failure rate: each with its rate and interval over the observed rate, the one to use marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.screening import ChangePoints
from relfit.text import percent
from relfit.units import HOURS_PER_YEAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["change_points"]

_MOST_BINS = 90
_COLOURS = {"steady": style.GREEN, "higher early rate": style.VERMILION, "higher later rate": style.PURPLE}


@plot.register(ChangePoints)
def change_points(cut: ChangePoints, ax: Axes | None = None) -> Axes:
    """The failure rate over time, cut into periods; higher early and later rates and the period to use are shaded."""
    ax = style.axes(ax)
    if not cut.counts.sum() or not cut.exposure.sum():
        return style.empty(ax, "No failure under observation, so there is no rate to cut into periods")
    observed, edges = _observed(cut)
    days = edges / 86.4e12  # from nanoseconds
    ax.stairs(observed, days, color=style.GREY, linewidth=1.0, baseline=None, label="observed")
    named: set[str] = set()
    for number, period in enumerate(cut.periods):
        left, right = (stamp.as_unit("ns").value / 86.4e12 for stamp in (period.start, period.end))
        use = number == cut.stable
        colour = style.GREEN if use else _COLOURS.get(period.name, style.BLUE)
        if use or period.name in ("higher early rate", "higher later rate"):
            words = f"use this ({period.name})" if use else period.name
            ax.axvspan(left, right, color=colour, alpha=0.16 if use else 0.09, linewidth=0,
                       label=None if words in named else words)  # fmt: skip
            named.add(words)
        low, value, high = (HOURS_PER_YEAR * x for x in (period.low, period.rate, period.high))
        if np.isfinite(value):
            line = style.INK if use else style.BLUE
            ax.fill_between([left, right], low, high, color=line, alpha=0.25, linewidth=0)
            ax.hlines(value, left, right, color=line, linewidth=3.0 if use else 2.0,
                      label=f"rate of a period, {percent(cut.level)} limits" if not number else "_")  # fmt: skip
    rates = HOURS_PER_YEAR * np.array([period.rate for period in cut.periods])
    highs = HOURS_PER_YEAR * np.array([period.high for period in cut.periods])
    positive = np.concatenate([rates[rates > 0], observed[observed > 0]])
    top = max(float(np.nanmax(highs)), float(np.nanquantile(observed, 0.99)))
    if positive.size and top > 12.0 * float(np.median(positive)):
        bottom = max(float(positive.min()), float(np.median(positive)) / 200.0) / 1.6
        style.decades(ax.yaxis, bottom, top * 1.3)
        ax.set_ylim(bottom, top * (top / bottom) ** 0.42)
    else:
        ax.set_ylim(0, top * 1.5)
    style.dates(ax, days)
    per = "node and year" if _nodes_known(cut) else "year"
    return style.finish(
        ax, style.headline(cut), "time (UTC)", f"{cut.of} per {per}", True, ncols=2, loc="upper right",
        columnspacing=1.0, handlelength=1.6,
    )  # fmt: skip


def _observed(cut: ChangePoints) -> tuple[np.ndarray, np.ndarray]:
    """Rate a year in at most some ninety bins, and their edges."""
    count = cut.counts.size
    # several events a bin, or the rate is all gaps and spikes
    wanted = int(np.clip(cut.counts.sum() / 4, 8, _MOST_BINS))
    step = max(-(-count // wanted), 1)
    starts = np.arange(0, count, step)
    hours = np.add.reduceat(cut.exposure, starts)
    events = np.add.reduceat(cut.counts, starts)
    rate = HOURS_PER_YEAR * np.where(hours > 0.0, events / np.where(hours > 0.0, hours, 1.0), np.nan)
    return rate, np.append(cut.edges[starts], cut.edges[-1]).astype(np.float64)


def _nodes_known(cut: ChangePoints) -> bool:
    hours = float(cut.edges[-1] - cut.edges[0]) / 3.6e12
    return bool(abs(cut.exposure.sum() / hours - 1.0) > 1e-6)
