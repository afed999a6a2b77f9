"""Events along time and by cause, and counts on the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.analyses.screening.tallies import NOT_STATED, CauseTally, TimeTally, by_cause, over_time
from relfit.base.text import count, percent
from relfit.log.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CAUSES = 10  # most causes shown


@plot.register(TimeTally)
def events_over_time(tally: TimeTally | FailureLog, ax: Axes | None = None) -> Axes:
    """Events of a tally, or of a log, in calendar bins, stacked by cause."""
    tally = tally if isinstance(tally, TimeTally) else over_time(tally)
    ax = style.axes(ax)
    total = tally.total
    if not total.sum():
        return style.empty(ax, "No dated events to show over time")
    edges = style.days(tally.edges)
    base = np.zeros(total.size)
    colours = iter(style.CAUSE_COLOURS * len(tally.causes))
    for cause, heights in zip(tally.causes, tally.counts.T, strict=True):
        colour = style.GREY if cause == NOT_STATED and len(tally.causes) > 1 else next(colours)
        look: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.4 if total.size <= 80 else 0.0}
        ax.bar(edges[:-1], heights, np.diff(edges), bottom=base, align="edge", label=style.plain(cause), **look)
        base += heights
    style.dates(ax, edges, tally.unit not in ("quarter", "year"))
    several = len(tally.causes) > 1
    ax.set_ylim(0, total.max() * (1.15 + (0.16 * -(-len(tally.causes) // 2) if several else 0.0)))
    ax.locator_params(axis="y", integer=True)
    peak = int(total.argmax())
    message = f"{count(int(total.sum()), 'event')}: most in the {tally.unit} from {tally.edges[peak]:%Y-%m-%d} on "
    message += f"({total[peak]:,}), {np.median(total):,.0f} in a typical {tally.unit}"
    ax.yaxis.set_major_formatter("{x:,.10g}")
    x, y = f"time ({tally.edges.tz})", f"events per {tally.unit}"
    return style.finish(ax, message, x, y, several, ncols=2, loc="upper right")


@plot.register(CauseTally)
def causes(tally: CauseTally | FailureLog, ax: Axes | None = None) -> Axes:
    """Each cause's share of the events and outage hours of a tally or log; beyond ten causes, rare ones are joined."""
    tally = tally if isinstance(tally, CauseTally) else by_cause(tally)
    ax = style.axes(ax)
    table = tally.table[["events_share", "outage_share"]]
    if not tally.stated:
        return style.empty(ax, "The log states no causes")
    if len(table) > _CAUSES:
        rest = table.iloc[_CAUSES - 1 :].sum(min_count=1).to_frame().T.set_axis([f"{len(table) - _CAUSES + 1} others"])
        table = pd.concat([table.iloc[: _CAUSES - 1], rest])
    place = np.arange(len(table))[::-1].astype(float)
    both = tally.ends_known
    height = 0.38 if both else 0.7
    shares = [("events_share", "of the events", style.BLUE, height / 2 if both else 0.0)]
    if both:
        shares.append(("outage_share", "of the outage hours", style.ORANGE, -height / 2))
    for column, words, colour, shift in shares:
        values = table[column].fillna(0.0).to_numpy(float) * 100
        ax.barh(place + shift, values, height, color=colour, label=words)
        for at, value in zip(place + shift, values, strict=True):
            ax.text(value + 0.8, at, percent(value / 100), va="center", fontsize=8.5)
    ax.set_yticks(place, [style.plain(name, 22) for name in table.index])
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, min(float(np.nanmax(table.to_numpy(float))) * 118 + 4, 112))
    return style.finish(ax, style.headline(tally), "share (%)", "", both, loc="lower right")


def even_bars(ax: Axes, place: np.ndarray, counts: np.ndarray, expected: np.ndarray) -> None:
    """Counts by hour or weekday as bars, with the 95 % range of an even spread."""
    ax.bar(place, counts, 0.82, color=style.BLUE, label="events")
    spread = 1.96 * np.sqrt(expected)
    high = expected + spread
    edges = np.append(place - 0.5, place[-1] + 0.5)
    low, limits = np.maximum(expected - spread, 0.0), "even spread, 95 % by chance"
    style.steps(ax, edges, expected, low, high, colour=style.ORANGE, alpha=0.35, limits=limits, linewidth=1.6)
    ax.set_ylim(0, max(float(counts.max()), float(high.max())) * 1.28)
