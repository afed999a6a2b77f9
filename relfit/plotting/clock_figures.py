"""Events on the clock: by hour of the day and by day of the week."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.screening.tallies import WEEKDAYS, ClockTally, on_the_clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["even_bars", "hour_of_day", "weekday"]


@plot.register(ClockTally)
def hour_of_day(tally: ClockTally | FailureLog, ax: Axes | None = None) -> Axes:
    """Events by hour of the day in the log's time zone, against an even spread.

    Parameters
    ----------
    tally : ClockTally or FailureLog
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    tally = tally if isinstance(tally, ClockTally) else on_the_clock(tally)
    ax = style.axes(ax, (6.4, 3.4))
    if not tally.hours.sum():
        return style.empty(ax, "No dated events to show by hour")
    even_bars(ax, np.arange(24) + 0.5, tally.hours, tally.expected_hours)
    ax.set_xlim(0, 24)
    ax.set_xticks(range(0, 25, 3), [f"{hour:02d}:00" for hour in range(0, 25, 3)])
    names = [f"{hour:02d}:00 to {hour + 1:02d}:00" for hour in range(24)]
    return style.finish(
        ax,
        _message(tally.hours, tally.expected_hours, names, "hour"),
        f"hour of the day ({tally.timezone})",
        "events",
        True,
    )


def weekday(tally: ClockTally | FailureLog, ax: Axes | None = None) -> Axes:
    """Events by day of the week in the log's time zone, against an even spread.

    Parameters
    ----------
    tally : ClockTally or FailureLog
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    tally = tally if isinstance(tally, ClockTally) else on_the_clock(tally)
    ax = style.axes(ax, (6.4, 3.4))
    if not tally.weekdays.sum():
        return style.empty(ax, "No dated events to show by weekday")
    even_bars(ax, np.arange(7) + 0.5, tally.weekdays, tally.expected_weekdays)
    ax.set_xlim(0, 7)
    ax.set_xticks(np.arange(7) + 0.5, [day[:3] for day in WEEKDAYS])
    ax.grid(visible=False, axis="x")
    days = list(WEEKDAYS)
    message = _message(tally.weekdays, tally.expected_weekdays, days, "day")
    return style.finish(ax, message, f"day of the week ({tally.timezone})", "events", True, loc="upper right", ncols=2)


def even_bars(ax: Axes, place: np.ndarray, counts: np.ndarray, expected: np.ndarray) -> None:
    """Counts on the clock as bars, and the range that an even spread gives by chance."""
    ax.bar(place, counts, 0.82, color=style.BLUE, label="events")
    spread = 1.96 * np.sqrt(expected)
    edges = np.append(place - 0.5, place[-1] + 0.5)
    high, low = expected + spread, np.maximum(expected - spread, 0.0)
    ax.fill_between(
        edges,
        np.append(low, low[-1]),
        np.append(high, high[-1]),
        step="post",
        color=style.ORANGE,
        alpha=0.35,
        linewidth=0,
        label="even spread, 95 % by chance",
    )
    ax.stairs(expected, edges, baseline=None, color=style.ORANGE, linewidth=1.6)
    ax.set_ylim(0, max(float(counts.max()), float(high.max())) * 1.28)


def _message(counts: np.ndarray, expected: np.ndarray, names: list[str], unit: str) -> str:
    total = int(counts.sum())
    if total < 30:
        return f"{total} event{'s' if total != 1 else ''}: too few to see a pattern by {unit}"
    ratio = counts / np.maximum(expected, 1e-9)
    most, least = int(ratio.argmax()), int(ratio.argmin())
    beyond = np.abs(counts - expected) > 1.96 * np.sqrt(expected)
    if beyond.sum() <= max(1, round(0.05 * counts.size)):
        return f"Events are spread evenly over the {unit}s, as far as chance lets us see"
    high, low = (style.percent(ratio[k] - 1, "+") for k in (most, least))
    return f"{names[most]} sees {high} against an even spread, {names[least]} {low}"
