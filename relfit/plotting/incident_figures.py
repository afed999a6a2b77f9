"""Incidents: why the window that joins records is what it is, and how large incidents of each scope are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.screening import Incidents, IncidentWindow
from relfit.screening.incident_window import EXCESS
from relfit.text import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["incident_sizes", "incident_window", "incidents_by_window"]

_TICKS = (
    (1 / 3600, "1 s"), (10 / 3600, "10 s"), (1 / 60, "1 min"), (10 / 60, "10 min"), (1.0, "1 h"), (6.0, "6 h"),
    (24.0, "1 day"),
)  # fmt: skip


@plot.register(IncidentWindow)
def incident_window(found: Incidents | IncidentWindow, ax: Axes | None = None) -> Axes:
    """Gaps between records by length, times those that independent failures give: why the window ends where it does.

    Parameters
    ----------
    found : relfit.screening.Incidents or IncidentWindow
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = style.axes(ax)
    choice: Any = getattr(found, "window", found)
    table = choice.table
    if not len(table):
        return style.empty(ax, "Too few gaps between records to choose a window from")
    seen, expected = table["observed"].to_numpy(float), table["expected"].to_numpy(float)
    edges = _edges(choice)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(expected > 0.0, seen / expected, np.nan)
    smooth = table["smooth_ratio"].to_numpy(float)
    shown = np.concatenate([ratio[ratio > 0.0], [EXCESS, 1.0]])
    bottom, top = float(np.nanmin(shown)) / 1.4, float(np.nanmax(shown)) * 1.6
    ax.set_xscale("log")
    ax.set_yscale("log")
    middle = np.sqrt(edges[:-1] * edges[1:])
    ax.stairs(np.clip(smooth, bottom, top), edges, baseline=None, color=style.BLUE, linewidth=1.8, label="made to fall")
    ax.plot(middle, np.where(ratio > 0.0, ratio, np.nan), "o", color=style.BLUE, ms=4.5, label="a class of gaps")
    ax.axhline(1.0, color=style.ORANGE, linewidth=1.4, label="independent failures")
    ax.axhline(EXCESS, color=style.ORANGE, linewidth=1.2, linestyle="--", label=f"{EXCESS:g} times as many")
    at = max(choice.hours, float(edges[1])) if choice.hours > 0.0 else float(edges[1])
    if choice.hours > 0.0 or choice.status == "ok":
        ax.axvspan(edges[0], min(at, edges[-1]), color=style.GREEN, alpha=0.15, linewidth=0, label="joined")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(bottom, top * (top / bottom) ** 0.5)
    style.decades(ax.yaxis, bottom, top)
    _durations(ax, edges)
    if choice.specified:
        message = f"Records up to {duration(choice.hours)} apart are joined, as specified"
    elif choice.hours > 0.0:
        message = f"Up to {duration(choice.hours)}, gaps are more than {EXCESS:g} times as frequent as chance gives"
    elif choice.status == "ok":
        message = "Only gaps of zero are far more frequent than chance gives"
    else:
        message = "Short gaps are about as frequent as chance gives: no window is needed"
    y = "gaps, times those by chance"
    return style.finish(
        ax, message, "gap between records (first class: zero)", y, True, ncols=2, loc="upper right", columnspacing=1.0
    )


def incidents_by_window(found: Incidents, ax: Axes | None = None) -> Axes:
    """How many incidents the records make, by the window, and how many independent failures would make.

    Parameters
    ----------
    found : relfit.screening.Incidents
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = style.axes(ax)
    choice, table = found.window, found.window.table
    if not len(table):
        return style.empty(ax, "Too few gaps between records to show what a window does")
    edges = _edges(choice)
    made = found.records - np.cumsum(table["observed"].to_numpy(float))
    chance = found.records - np.cumsum(table["expected"].to_numpy(float))
    ax.set_xscale("log")
    ax.plot(edges[1:], chance, color=style.ORANGE, linewidth=1.8, label="if failures were independent")
    ax.plot(edges[1:], made, color=style.BLUE, linewidth=1.8, marker="o", ms=3.5, label="incidents")
    at = float(np.clip(choice.hours, edges[1], edges[-1]))
    ax.axvline(at, color=style.GREEN, linewidth=1.6, linestyle="--",
               label=f"window {'specified' if choice.specified else 'estimated'}")  # fmt: skip
    ax.plot([at], [len(found)], "D", color=style.GREEN, ms=7, mec="white")
    ax.axhline(found.records, color=style.GREY, linewidth=1.0, linestyle=":", label="records")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, found.records * 1.35)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    _durations(ax, edges)
    message = f"{found.records:,} records are {len(found):,} incidents with a window of {duration(choice.hours)}"
    return style.finish(ax, message, "window (left end: zero)", "incidents", True, ncols=2, loc="upper right")


def _edges(choice: IncidentWindow) -> np.ndarray:
    """Ends of the classes of gaps in hours; that of zero gets a place to the left of all others."""
    ends = choice.table["to_hours"].to_numpy(float)
    after = ends[1:] if len(ends) > 1 else np.array([choice.resolution])
    zero = float(after[0]) / 4.0
    return np.concatenate([[zero / 2.0, zero], after]) if len(ends) > 1 else np.array([zero / 2.0, zero])


def _durations(ax: Axes, edges: np.ndarray) -> None:
    from matplotlib.ticker import NullLocator

    zero = float(np.sqrt(edges[0] * edges[1]))
    inside = [(at, name) for at, name in _TICKS if edges[1] * 1.3 <= at <= edges[-1]]
    while len(inside) > 5:
        inside = inside[::2]
    if not inside and edges.size > 2:
        inside = [(float(edges[-1]), f"{60 * edges[-1]:.2g} min")]
    ax.set_xticks([zero, *(at for at, _ in inside)], ["0", *(name for _, name in inside)])
    ax.xaxis.set_minor_locator(NullLocator())


@plot.register(Incidents)
def incident_sizes(found: Incidents, ax: Axes | None = None) -> Axes:
    """How many incidents of each scope hit at least so many nodes.

    Parameters
    ----------
    found : relfit.screening.Incidents
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = style.axes(ax)
    if not len(found):
        return style.empty(ax, "The log has no events to join to incidents")
    table = found.table
    scopes = [name for name in ("node", found.group, "group", "system") if name is not None]
    rates = dict(zip(*(found.rates()[c] for c in ("scope", "mtbf")), strict=True))
    ax.set_xscale("log")
    ax.set_yscale("log")
    most, marks = 1, "osD^"
    for number, scope in enumerate(scopes):
        size = np.sort(table.loc[table["scope"] == scope, "nodes"].to_numpy(np.int64).clip(min=1))
        if not size.size:
            continue
        values, first = np.unique(size, return_index=True)
        beyond = size.size - first
        colour = style.PALETTE[number]
        name = {"group": "several nodes"}.get(scope, style.plain(scope, 16))
        mtbf = rates[scope]
        each = (
            f"{name} ({size.size:,}; MTBF {style.figures(mtbf)} h)" if np.isfinite(mtbf) else f"{name} ({size.size:,})"
        )
        ax.step(values, beyond, where="pre", color=colour, linewidth=1.6)
        ax.plot(values, beyond, marks[number % 4], color=colour, ms=5, label=each)
        most = max(most, int(size[-1]))
    ax.set_xlim(0.85, max(most, 2) * 1.3)
    highest = float(max(len(found), 2))
    ax.set_ylim(0.7, highest * highest**0.5 * 2)
    style.decades(ax.xaxis, 1.0, float(max(most, 2)))
    style.decades(ax.yaxis, 1.0, highest)
    wide = table["nodes"].to_numpy() > 1
    share = float(table.loc[wide, "records"].sum()) / max(found.records, 1)
    if wide.any():
        message = f"{int(wide.sum()):,} of {len(found):,} incidents hit several nodes and hold {style.percent(share)} "
        message += "of the records"
    else:
        message = f"None of the {len(found):,} incidents hit more than one node"
    return style.finish(ax, message, "nodes hit, or more", "incidents", True, loc="upper right")
