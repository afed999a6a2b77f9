"""Incidents: how the window that joins records was estimated, and how large incidents of each scope are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.analyses.screening import Incidents, IncidentWindow
from relfit.base.numeric.bursts import EXCESS
from relfit.base.text import duration, number
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = (
    (1 / 3600, "1 s"),
    (10 / 3600, "10 s"),
    (1 / 60, "1 min"),
    (10 / 60, "10 min"),
    (1.0, "1 h"),
    (6.0, "6 h"),
    (24.0, "1 day"),
)


@plot.register(IncidentWindow)
def incident_window(result: Incidents | IncidentWindow, ax: Axes | None = None) -> Axes:
    """Gaps between records of different nodes as a multiple of chance, with the incident window."""
    ax = style.axes(ax)
    choice = result.window if isinstance(result, Incidents) else result
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
    middle = np.sqrt(edges[:-1] * edges[1:])
    smooth, label = np.clip(smooth, bottom, top), "smoothed, never rising"
    ax.stairs(smooth, edges, baseline=None, color=style.BLUE, linewidth=1.8, label=label)
    ax.plot(middle, np.where(ratio > 0.0, ratio, np.nan), "o", color=style.BLUE, ms=4.5, label="a class of gaps")
    ax.axhline(1.0, color=style.ORANGE, linewidth=1.4, label="independent failures")
    ax.axhline(EXCESS, color=style.ORANGE, linewidth=1.2, linestyle="--", label=f"{EXCESS:g} times as many")
    at = max(choice.hours, float(edges[1])) if choice.hours > 0.0 else float(edges[1])
    if choice.hours > 0.0 or choice.status == "ok":
        ax.axvspan(edges[0], min(at, edges[-1]), color=style.GREEN, alpha=0.15, linewidth=0, label="joined")
    ax.set_xlim(edges[0], edges[-1])
    style.decades(ax.yaxis, bottom, top)
    ax.set_ylim(bottom, top * (top / bottom) ** 0.5)
    _durations(ax, edges)
    x, y = "gap between records (first class: zero)", "gaps, times those by chance"
    return style.finish(ax, style.headline(choice), x, y, True, ncols=2, loc="upper right", columnspacing=1.0)


def incidents_by_window(result: Incidents, ax: Axes | None = None) -> Axes:
    """Number of incidents by window, beside the number expected of independent failures."""
    ax = style.axes(ax)
    choice, table = result.window, result.window.table
    if not len(table):
        return style.empty(ax, "Too few gaps between records to show what a window does")
    edges = _edges(choice)
    observed, reach = table["observed"].to_numpy(float), np.nan_to_num(choice.hours, nan=-1.0)
    before = choice.incidents + observed[table["to_hours"].to_numpy(float) <= reach * (1.0 + 1e-9)].sum()
    made, chance = before - np.cumsum(observed), before - np.cumsum(table["expected"].to_numpy(float))
    ax.set_xscale("log")
    ax.plot(edges[1:], chance, color=style.ORANGE, linewidth=1.8, label="if failures were independent")
    ax.plot(edges[1:], made, color=style.BLUE, linewidth=1.8, marker="o", ms=3.5, label="incidents")
    at = float(np.clip(reach, edges[1], edges[-1]))
    label = f"window {'specified' if choice.specified else 'estimated'}"
    ax.axvline(at, color=style.GREEN, linewidth=1.6, linestyle="--", label=label)
    ax.plot([at], [len(result)], "D", color=style.GREEN, ms=7, mec="white")
    ax.axhline(result.records, color=style.GREY, linewidth=1.0, linestyle=":", label="records")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, result.records * 1.35)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    _durations(ax, edges)
    message = f"With a window of {duration(max(reach, 0.0))}, {result.records:,} records are {len(result):,} incidents"
    return style.finish(ax, message, "window (left end: zero)", "incidents", True, ncols=2, loc="upper right")


def _edges(choice: IncidentWindow) -> np.ndarray:
    """Edges of the classes of gaps in hours; the class of zero is drawn left of all others."""
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
def incident_sizes(result: Incidents, ax: Axes | None = None) -> Axes:
    """Incidents of each scope that hit at least a number of nodes; one of the whole system hits all of its nodes."""
    ax = style.axes(ax)
    if not len(result):
        return style.empty(ax, "The log has no events to join to incidents")
    table = result.table
    scopes = [name for name in ("node", result.group, "group", "system") if name is not None]
    table_of_rates = result.rates().set_index("scope")
    rates, hours = table_of_rates["mtbf"].to_dict(), table_of_rates["hours"].to_dict()
    nodes_of_system = hours.get("node", np.nan) / hours.get("system", np.nan)  # on average
    most, marks = 1, "osD^"
    for nth, scope in enumerate(scopes):
        size = np.sort(table.loc[table["scope"] == scope, "nodes"].to_numpy(np.int64).clip(min=1))
        if not size.size:
            continue
        if scope == "system" and np.isfinite(nodes_of_system):
            size = np.maximum(size, round(nodes_of_system))
        values, first = np.unique(size, return_index=True)
        beyond = size.size - first
        colour = style.PALETTE[nth]
        name = {"group": "several nodes", "system": "whole system"}.get(scope, style.plain(scope, 16))
        mtbf = f"; MTBF {number(rates[scope])} h" if np.isfinite(rates[scope]) else ""
        ax.step(values, beyond, where="pre", color=colour, linewidth=1.6)
        ax.plot(values, beyond, marks[nth], color=colour, ms=5, label=f"{name} ({size.size:,}{mtbf})")
        most = max(most, int(size[-1]))
    highest = float(max(len(result), 2))
    style.decades(ax.xaxis, 1.0, float(max(most, 2)))
    style.decades(ax.yaxis, 1.0, highest)
    ax.set_xlim(0.85, max(most, 2) * 1.3)
    ax.set_ylim(0.7, highest * 2)
    return style.finish(ax, style.headline(result), "nodes hit, or more", "incidents", below=2)
