"""Events along time, by cause, and on the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from relfit.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.screening.tallies import (
    NOT_STATED,
    CauseTally,
    TimeTally,
    by_cause,
    over_time,
)
from relfit.text import count, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["causes", "even_bars", "event_rate", "events_over_time"]


def events_over_time(tally: TimeTally | FailureLog, ax: Axes | None = None) -> Axes:
    """Events in bins of time, stacked by cause (reliability-aware allocation, Figure 3.1)."""
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
        ax.bar(
            edges[:-1], heights, np.diff(edges), bottom=base, align="edge", color=colour, edgecolor="white",
            linewidth=0.4 if total.size <= 80 else 0.0, label=style.plain(cause),
        )  # fmt: skip
        base += heights
    style.dates(ax, edges, tally.unit not in ("quarter", "year"))
    several = len(tally.causes) > 1
    ax.set_ylim(0, total.max() * (1.15 + (0.16 * -(-len(tally.causes) // 2) if several else 0.0)))
    ax.locator_params(axis="y", integer=True)
    peak = int(total.argmax())
    message = f"{count(int(total.sum()), 'event')}: most in the {tally.unit} from {tally.edges[peak]:%Y-%m-%d} on "
    message += f"({total[peak]:,}), {np.median(total):,.0f} in a typical {tally.unit}"
    return style.finish(ax, message, _zone(tally), f"events per {tally.unit}", several, ncols=2, loc="upper right")


@plot.register(TimeTally)
def event_rate(tally: TimeTally | FailureLog, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Events per node-year in bins of time with exact Poisson intervals; bins that leave the overall rate are shaded.

    Parameters
    ----------
    level : float
        Of the intervals.
    """
    tally = tally if isinstance(tally, TimeTally) else over_time(tally)
    ax = style.axes(ax)
    if not tally.total.sum() or not tally.node_hours.sum():
        return style.empty(ax, "No dated events to take a rate of")
    rate, low, high = tally.rate(level)
    overall = tally.total.sum() / tally.node_hours.sum() * 8766.0
    edges = style.days(tally.edges)
    above, below = low > overall, high < overall
    words: str | None
    for mask, colour, words in (
        (above, style.VERMILION, "above the average"),
        (below, style.BLUE, "below the average"),
    ):
        for first, last in _runs(mask):
            ax.axvspan(edges[first], edges[last], color=colour, alpha=0.10, linewidth=0, label=words)
            words = None  # once in the legend
    style.steps(
        ax, edges, rate, low, high, colour=style.INK, shade=style.GREY, alpha=0.35, linewidth=1.6,
        label=f"rate, {percent(level)} Poisson band",
    )  # fmt: skip
    ax.axhline(overall, color=style.GREY, linewidth=1.2, linestyle="--", label=f"average {number(overall)}")
    style.dates(ax, edges, tally.unit not in ("quarter", "year"))
    top = np.nanmax(np.where(tally.node_hours > 0.02 * np.nanmax(tally.node_hours), high, np.nan))
    if float(np.nanmax(rate)) > 6.0 * overall and float(np.nanmin(rate)) > 0.0:
        lowest, highest = float(np.nanmin(rate)), float(np.nanmax(rate))
        style.decades(ax.yaxis, lowest / 1.6, highest * 2.0)
        ax.set_ylim(lowest / 1.6, highest * 6.0)
    else:
        ax.set_ylim(0, max(float(top), overall) * 1.3)
    return style.finish(
        ax,
        _period_message(tally, rate, above, below),
        _zone(tally),
        "events per node and year",
        True,
        ncols=2,
        loc="upper right",
    )


@plot.register(CauseTally)
def causes(tally: CauseTally | FailureLog, ax: Axes | None = None, *, most: int = 10) -> Axes:
    """Each cause's share of the events and of the hours of outage.

    Parameters
    ----------
    most : int
        Causes shown; the others are joined.
    """
    tally = tally if isinstance(tally, CauseTally) else by_cause(tally)
    ax = style.axes(ax)
    table = tally.table[["events_share", "outage_share"]]
    if not tally.stated:
        return style.empty(ax, "The log states no causes")
    if len(table) > most:
        rest = table.iloc[most - 1 :].sum(min_count=1).to_frame().T.set_axis([f"{len(table) - most + 1} others"])
        table = pd.concat([table.iloc[: most - 1], rest])
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
    """Counts on the clock as bars, and the range that an even spread gives by chance."""
    ax.bar(place, counts, 0.82, color=style.BLUE, label="events")
    spread = 1.96 * np.sqrt(expected)
    high = expected + spread
    edges = np.append(place - 0.5, place[-1] + 0.5)
    style.steps(
        ax, edges, expected, np.maximum(expected - spread, 0.0), high, colour=style.ORANGE, alpha=0.35,
        limits="even spread, 95 % by chance", linewidth=1.6,
    )  # fmt: skip
    ax.set_ylim(0, max(float(counts.max()), float(high.max())) * 1.28)


# ---------------------------------------------------------------------- details


def _zone(tally: TimeTally) -> str:
    return f"time ({tally.edges.tz})"


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last edge of every unbroken run of true bins."""
    change = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in change.reshape(-1, 2)]


def _period_message(tally: TimeTally, rate: np.ndarray, above: np.ndarray, below: np.ndarray) -> str:
    bins = rate.size
    if bins < 4 or not (above.any() or below.any()):
        return f"The rate per node is steady: no {tally.unit} leaves the average by more than chance"
    half = bins // 2
    hours, total = tally.node_hours, tally.total
    if not (hours[:half].sum() and hours[half:].sum()):
        return f"{int(above.sum() + below.sum())} of {bins} {tally.unit}s leave the average rate by more than chance"
    early = total[:half].sum() / hours[:half].sum() * 8766.0
    late = total[half:].sum() / hours[half:].sum() * 8766.0
    word = "fell" if late < early else "rose"
    return (
        f"The rate {word} from {number(early)} to {number(late)} per node and year between the halves; "
        f"{int(above.sum() + below.sum())} of {bins} {tally.unit}s leave the average"
    )
