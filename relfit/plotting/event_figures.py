"""Incidents over time: by cause, periods of their rate, bursts after them, how records are joined to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import Bursts, ChangePoints, Incidents, IncidentWindow
from relfit.analyses.screening.periods import Period
from relfit.analyses.screening.tallies import NOT_STATED, CauseTally, TimeTally, by_cause, over_time
from relfit.base.numeric.bursts import EXCESS
from relfit.base.numeric.poisson import poisson_ppf
from relfit.base.text import count, duration, number, percent
from relfit.base.units import HOURS_PER_YEAR
from relfit.log.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot

_CAUSES = 10  # most causes shown
_MOST_BINS, _MOST_MARKS = 90, 3
_LINE = 0.16  # height of a line of text in the report's picture, as a share of the axis
_UNITS = (("day", 24.0), ("week", 168.0), ("month", 730.5), ("year", HOURS_PER_YEAR))
_BOX = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}  # behind a number
_MARKS = "osD^"
_SECONDS = {"1 s": 1, "10 s": 10, "1 min": 60, "10 min": 600, "1 h": 3600, "6 h": 21600, "1 day": 86400}


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
    scale, unit = _unit_of_rate(cut)
    observed, edges = _rate_in_bins(cut)
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
                height, side = (
                    (value - 0.03 * top, "top") if below else (min(high, 0.85 * top) + 0.02 * top, "baseline")
                )
                look: Any = {"ha": "center", "va": side, "color": style.INK, "fontweight": "bold", "bbox": _BOX}
                ax.text(middle, height, number(value, 2), **look)
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
        offset, side = (6, "left") if middle < days[0] + 0.85 * (days[-1] - days[0]) else (-6, "right")
        ax.plot(middle, 0.975 * top, marker="^", markersize=5, color=style.VERMILION, linestyle="none")
        look: Any = {"va": "center", "ha": side, "color": style.VERMILION, "textcoords": "offset points"}
        ax.annotate(number(float(observed[i]), 2), (middle, 0.975 * top), (offset, 0), **look)


def _unit_of_rate(cut: ChangePoints) -> tuple[float, str]:
    """What makes events per hour of exposure events per unit, and the unit: a time where the fleet kept its size."""
    hours = np.diff(cut.edges) / 3.6e12
    nodes = cut.exposure / hours
    mean = float(cut.exposure.sum() / hours.sum())
    if np.abs(nodes / mean - 1.0).max() > 0.02:
        return HOURS_PER_YEAR, cut.stable_period.per
    per_hour = float(cut.counts.sum() / hours.sum())
    name, length = next(((n, h) for n, h in _UNITS if per_hour * h >= 1.0), _UNITS[-1])
    return mean * length, name


def _rate_in_bins(cut: ChangePoints) -> tuple[np.ndarray, np.ndarray]:
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


@plot.register(Bursts)
def bursts(result: Bursts, ax: Axes | None = None) -> Axes:
    """Incidents per day after an incident, by delay and scope: counted, and expected without bursts (95 % band)."""
    ax = style.axes(ax)
    if not len(result.by_delay):
        return style.empty(ax, "Too few incidents to see what comes after them")
    shown: list[float] = []
    for nth, (scope, part) in enumerate(result.by_delay.groupby("scope", sort=False)):
        edges = np.append(part["from_hours"].to_numpy(float), part["to_hours"].iloc[-1])
        edges[0] = edges[1] / 4.0
        per = part["incidents"].to_numpy(float) * np.diff(np.append(0.0, edges[1:])) / 24.0
        counted, expected = (part[name].to_numpy(float) for name in ("counted", "expected"))
        low, high = (poisson_ppf(p, expected) / per for p in (0.025, 0.975))
        floor = 0.3 / per.max()
        colour, middle = style.PALETTE[nth], np.sqrt(edges[:-1] * edges[1:])
        ax.stairs(np.maximum(high, floor), edges, baseline=np.maximum(low, floor), fill=True, color=colour, alpha=0.25)
        ax.stairs(np.maximum(expected / per, floor), edges, baseline=None, color=colour, linewidth=1.2)
        name = {"node": "same node", "whole": "rest of the system"}.get(str(scope), f"another node of the {scope}")
        ax.plot(middle, np.where(counted > 0.0, counted / per, np.nan), _MARKS[nth], color=colour, ms=5, label=name)
        shown += [*(counted / per)[counted > 0.0], *np.maximum(expected / per, floor)]
    bottom, top = min(shown) / 1.5, max(shown) * 1.5
    style.decades(ax.xaxis, float(edges[0]), float(edges[-1]))
    style.decades(ax.yaxis, bottom, top)
    ax.set(xlim=(edges[0], edges[-1]), ylim=(bottom, top * (top / bottom) ** 0.35))
    x, y = "hours after an incident", "incidents a day (band: without bursts)"
    return style.finish(ax, style.headline(result), x, y, True, loc="upper right")


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
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0, result.records * 1.35))
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
    ticks = [(seconds / 3600, name) for name, seconds in _SECONDS.items()]
    inside = [(at, name) for at, name in ticks if edges[1] * 1.3 <= at <= edges[-1]]
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
    most = 1
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
        ax.plot(values, beyond, _MARKS[nth], color=colour, ms=5, label=f"{name} ({size.size:,}{mtbf})")
        most = max(most, int(size[-1]))
    highest = float(max(len(result), 2))
    style.decades(ax.xaxis, 1.0, float(max(most, 2)))
    style.decades(ax.yaxis, 1.0, highest)
    ax.set(xlim=(0.85, max(most, 2) * 1.3), ylim=(0.7, highest * 2))
    return style.finish(ax, style.headline(result), "nodes hit, or more", "incidents", below=2)
