"""Events along time and by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.screening.tallies import CauseTally, TimeTally, by_cause, over_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["causes", "event_rate", "events_over_time"]


def events_over_time(tally: TimeTally | FailureLog, ax: Axes | None = None) -> Axes:
    """Events in bins of time, stacked by cause (reliability-aware allocation, Figure 3.1).

    Parameters
    ----------
    tally : TimeTally or FailureLog
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    tally = tally if isinstance(tally, TimeTally) else over_time(tally)
    ax = style.axes(ax)
    total = tally.total
    if not total.sum():
        return style.empty(ax, "No dated events to show over time")
    left, width = _bars(tally)
    base = np.zeros(total.size)
    for number, cause in enumerate(tally.causes):
        heights = tally.counts[:, number]
        ax.bar(
            left,
            heights,
            width,
            bottom=base,
            align="edge",
            color=_cause_colour(tally.causes, number),
            edgecolor="white",
            linewidth=0.4 if total.size <= 80 else 0.0,
            label=style.plain(cause),
        )
        base += heights
    _dates(ax, tally)
    ax.set_ylim(0, total.max() * 1.18)
    several = len(tally.causes) > 1
    return style.finish(
        ax, _when_message(tally), _zone(tally), f"events per {tally.unit}", several, ncols=2, loc="upper right"
    )


@plot.register(TimeTally)
def event_rate(tally: TimeTally | FailureLog, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Events per node-year in bins of time with exact Poisson intervals; bins that leave the overall rate are shaded.

    Parameters
    ----------
    tally : TimeTally or FailureLog
    ax : matplotlib Axes, optional
    level : float
        Of the intervals.

    Returns
    -------
    matplotlib.axes.Axes
    """
    tally = tally if isinstance(tally, TimeTally) else over_time(tally)
    ax = style.axes(ax)
    if not tally.total.sum() or not tally.node_hours.sum():
        return style.empty(ax, "No dated events to take a rate of")
    rate, low, high = tally.rate(level)
    overall = tally.total.sum() / tally.node_hours.sum() * 8766.0
    edges = _numbers(tally.edges)
    above, below = low > overall, high < overall
    for mask, colour, words in (
        (above, style.VERMILION, "above the average"),
        (below, style.BLUE, "below the average"),
    ):
        for number, (first, last) in enumerate(_runs(mask)):
            ax.axvspan(
                edges[first], edges[last], color=colour, alpha=0.10, linewidth=0, label=words if not number else None
            )
    ax.fill_between(edges, _step(low), _step(high), step="post", color=style.GREY, alpha=0.35, linewidth=0)
    ax.stairs(
        rate, edges, color=style.INK, linewidth=1.6, label=f"rate, {style.percent(level)} Poisson band", baseline=None
    )
    ax.axhline(overall, color=style.GREY, linewidth=1.2, linestyle="--", label=f"average {style.figures(overall)}")
    _dates(ax, tally)
    top = np.nanmax(np.where(tally.node_hours > 0.02 * np.nanmax(tally.node_hours), high, np.nan))
    if float(np.nanmax(rate)) > 6.0 * overall and float(np.nanmin(rate)) > 0.0:
        lowest, highest = float(np.nanmin(rate)), float(np.nanmax(rate))
        ax.set_yscale("log")
        ax.set_ylim(lowest / 1.6, highest * 6.0)
        style.decades(ax.yaxis, lowest / 1.6, highest * 2.0)
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
    tally : CauseTally or FailureLog
    ax : matplotlib Axes, optional
    most : int
        Causes shown; the others are joined.

    Returns
    -------
    matplotlib.axes.Axes
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
            ax.text(value + 0.8, at, f"{value:.0f} %" if value >= 1 else f"{value:.1f} %", va="center", fontsize=8.5)
    ax.set_yticks(place, [style.plain(name, 22) for name in table.index])
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, min(float(np.nanmax(table.to_numpy(float))) * 118 + 4, 112))
    return style.finish(ax, _cause_message(tally), "share (%)", "", both, loc="lower right")


# ---------------------------------------------------------------------- details


def _bars(tally: TimeTally) -> tuple[np.ndarray, np.ndarray]:
    edges = _numbers(tally.edges)
    return edges[:-1], np.diff(edges)


def _numbers(times: pd.DatetimeIndex) -> np.ndarray:
    """Matplotlib's days, on the log's own clocks."""
    return np.asarray(times.tz_localize(None).as_unit("ns").astype("int64"), dtype=float) / 86.4e12


def _dates(ax: Axes, tally: TimeTally) -> None:
    from matplotlib import dates

    made: Any = dates  # its classes carry no types
    locator = made.AutoDateLocator(minticks=3, maxticks=7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(made.ConciseDateFormatter(locator, show_offset=tally.unit not in ("quarter", "year")))
    edges = _numbers(tally.edges)
    ax.set_xlim(edges[0], edges[-1])


def _zone(tally: TimeTally) -> str:
    return f"time ({tally.edges.tz})"


def _step(values: np.ndarray) -> np.ndarray:
    return np.append(values, values[-1])


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last edge of every unbroken run of true bins."""
    change = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in change.reshape(-1, 2)]


def _cause_colour(causes: tuple[str, ...], number: int) -> str:
    if causes[number] == "not stated":
        return style.GREY if len(causes) > 1 else style.BLUE
    return style.CAUSE_COLOURS[number % len(style.CAUSE_COLOURS)]


def _bin_name(tally: TimeTally, number: int) -> str:
    start = tally.edges[number]
    return {
        "year": f"{start:%Y}",
        "quarter": f"Q{start.quarter} {start:%Y}",
        "month": f"{start:%B %Y}",
        "hour": f"{start:%Y-%m-%d %H:%M}",
    }.get(tally.unit, f"{start:%Y-%m-%d}" if tally.unit == "day" else f"the week of {start:%Y-%m-%d}")


def _when_message(tally: TimeTally) -> str:
    total = tally.total
    if total.sum() == 1:
        return f"One event, in {_bin_name(tally, int(total.argmax()))}"
    peak = int(total.argmax())
    typical = float(np.median(total))
    most = f"most in {_bin_name(tally, peak)} ({total[peak]:,})"
    return f"{total.sum():,} events: {most}, {typical:,.0f} in a typical {tally.unit}"


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
        f"The rate {word} from {style.figures(early)} to {style.figures(late)} per node and year between the halves; "
        f"{int(above.sum() + below.sum())} of {bins} {tally.unit}s leave the average"
    )


def _cause_message(tally: CauseTally) -> str:
    table = tally.table
    first = table.index[0]
    head = f"{style.plain(first)} is behind {style.percent(table['events_share'].iloc[0])} of the events"
    if not tally.ends_known or table["outage_share"].isna().all():
        return head
    longest = table["outage_share"].idxmax()
    if longest == first:
        return f"{head} and {style.percent(table['outage_share'].max())} of the outage hours"
    return f"{head}, {style.plain(longest)} behind {style.percent(table['outage_share'].max())} of the outage hours"
