"""Repairable systems: mean cumulative functions and their difference, trends, fitted processes, availability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.plotting.node_figures import group_name
from relfit.recurrence import (
    AvailabilityOverTime,
    MeanCumulative,
    ProcessComparison,
    TrendTests,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TEST_NAMES", "availability_over_time", "mean_cumulative", "processes", "trends"]

_MOST_CURVES = 6
_MOST_STEPS = 1200
_LINES = ("-", "--", "-.", (0, (1.2, 1.4)), (0, (6, 2, 1.2, 2)), (0, (3, 1)))
TEST_NAMES = {
    "laplace": "Laplace",
    "mil_hdbk_189": "MIL-HDBK-189",
    "lewis_robinson": "Lewis-Robinson",
    "mann": "Mann",
}
_PROCESSES = {
    "hpp": ("constant rate", style.ORANGE, "--"),
    "power_law": ("power law", style.VERMILION, "-"),
    "log_linear": ("log-linear", style.PURPLE, (0, (6, 2, 1.2, 2))),
}


@plot.register(MeanCumulative)
def mean_cumulative(found: MeanCumulative, ax: Axes | None = None) -> Axes:
    """Mean number of failures of a system by age, with limits; of the six groups with the most systems.

    Parameters
    ----------
    found : relfit.recurrence.MeanCumulative
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = style.axes(ax)
    if not found.times.size:
        return style.empty(ax, "Nothing failed, so there is no mean cumulative function")
    sizes = np.diff(found.offsets)
    order = np.lexsort((-sizes, -found.sizes))
    order = order[sizes[order] > 0][:_MOST_CURVES]
    several = len(order) > 1
    for number, place in enumerate(order):
        part = slice(int(found.offsets[place]), int(found.offsets[place + 1]))
        end = float(found.until[place])
        time, (mean, low, high) = _thin(found.times[part], end, found.estimate[part], found.low[part], found.high[part])
        colour = style.PALETTE[number % len(style.PALETTE)]
        name = style.plain(group_name(found.groups[place]), 18) if several else "mean number of failures"
        ax.step(time, mean, where="post", color=colour, linewidth=1.8, linestyle=_LINES[number % 6],
                label=f"{name} ({found.sizes[place]:,})" if several else name)  # fmt: skip
        if np.isfinite(low[1:]).any():
            label = f"{style.percent(found.level)} limits" if not several else None
            ax.fill_between(time, low, high, step="post", color=colour, alpha=0.18, linewidth=0, label=label)
    until = float(found.until[order].max())
    if not several:
        last = float(found.estimate[found.offsets[order[0] + 1] - 1])
        ax.plot([0, until], [0, last], color=style.ORANGE, linewidth=1.2, linestyle="--", label="at a constant rate")
    tops = [np.nanmax([found.estimate[found.offsets[g + 1] - 1], found.high[found.offsets[g + 1] - 1]]) for g in order]
    ax.set_xlim(0, until)
    ax.set_ylim(0, float(max(tops)) * (1.25 if several else 1.12))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    _few_ticks(ax)
    extra = f"; {int((sizes > 0).sum()) - len(order)} more groups" if (sizes > 0).sum() > len(order) else ""
    if several:
        ends = np.array([found.estimate[found.offsets[g + 1] - 1] for g in order])
        most, least = order[int(ends.argmax())], order[int(ends.argmin())]
        message = (
            f"Failures a {found.unit}: from {style.figures(float(ends.min()))} "
            f"({style.plain(group_name(found.groups[least]), 16)}) to {style.figures(float(ends.max()))} "
            f"({style.plain(group_name(found.groups[most]), 16)}){extra}"
        )
    else:
        message = _turn(found, int(order[0]))
    return style.finish(
        ax, message, "age: hours since observation began", f"failures of a {found.unit}", True, loc="upper left"
    )


def _turn(found: MeanCumulative, place: int) -> str:
    end = float(found.until[place])
    half, whole = (float(found.at(t)[place]) for t in (0.5 * end, end))
    share = 1.0 - half / whole
    word = "as many" if abs(share - 0.5) < 0.05 else "fewer" if share < 0.5 else "more"
    tail = "as in the first" if word == "as many" else "than in the first"
    return (
        f"A {found.unit} fails {style.figures(whole)} times in {style.figures(end)} h: "
        f"{word} in the second half {tail} ({style.percent(share)})"
    )


def _thin(time: np.ndarray, end: float, *values: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Steps from age zero to the end of observation, of many only so many as can be seen."""
    keep = np.arange(time.size)
    if time.size > _MOST_STEPS:
        keep = np.unique(np.linspace(0, time.size - 1, _MOST_STEPS).astype(int))
    shown = np.concatenate([[0.0], time[keep], [end]])
    return shown, [np.concatenate([[0.0], v[keep], [v[-1]]]) for v in values]


def _few_ticks(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(5))


@plot.register(TrendTests)
def trends(found: TrendTests, ax: Axes | None = None, *, alpha: float = 0.05) -> Axes:
    """Overview of the trend tests: of one group the statistics, of many the share with a rising or falling rate.

    Parameters
    ----------
    found : relfit.recurrence.TrendTests
    ax : matplotlib Axes, optional
    alpha : float
        Level of the tests.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = style.axes(ax, (6.4, 3.4))
    place = np.arange(len(found.tests))[::-1].astype(float)
    made = found.status == "ok"
    if not made.any():
        return style.empty(ax, "Too few failures for any test of trend")
    names = [TEST_NAMES.get(test, test) for test in found.tests]
    ax.grid(visible=False, axis="y")
    if len(found.groups) == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = found.direction[0] * stats.norm.isf(np.maximum(found.p[0], 1e-300) / 2.0)
        z = np.where(made[0], z, np.nan)
        edge = float(stats.norm.isf(alpha / 2.0))
        ax.axvspan(
            -edge, edge, color=style.ORANGE, alpha=0.3, linewidth=0, label=f"{style.percent(1 - alpha)} by chance"
        )
        ax.axvline(0.0, color=style.ORANGE, linewidth=1.4)
        out = np.abs(z) > edge
        ax.hlines(place, 0.0, z, color=style.GREY, linewidth=1.2)
        for mask, colour in ((out, style.VERMILION), (~out & made[0], style.BLUE)):
            ax.plot(z[mask], place[mask], "o", color=colour, ms=7)
        reach = max(float(np.nanmax(np.abs(z))), edge) * 1.3
        ax.set_xlim(-reach, reach)
        ax.set_yticks(place, [n if ok else f"{n} (none)" for n, ok in zip(names, made[0], strict=True)])
        renewal = [i for i, test in enumerate(found.tests) if test in ("lewis_robinson", "mann") and made[0, i]]
        hit = [i for i in renewal if out[i]]
        way = "rising" if hit and z[hit[0]] > 0 else "falling"
        message = f"A {way} rate of failures, beyond chance" if hit else "No trend of the rate beyond chance"
        if not renewal:
            message = "Too few gaps for the tests that allow for bursts"
        label = "falling rate  ←  in standard deviations  →  rising rate"
        ax.set_ylim(-0.7, len(names) + 0.1)
        return style.finish(ax, message, label, "", True, loc="upper right")
    tested = made.sum(axis=0)
    with np.errstate(invalid="ignore"):
        hit = (found.p <= alpha) & made
    rising, falling = (
        100.0 * (hit & (found.direction == sign)).sum(axis=0) / np.maximum(tested, 1) for sign in (1, -1)
    )
    adjusted = (np.nan_to_num(found.p_adjusted, nan=1.0) <= alpha).sum(axis=0)
    ax.barh(place, falling, 0.6, color=style.BLUE, label="falling")
    ax.barh(place, rising, 0.6, left=falling, color=style.VERMILION, label="rising")
    ax.axvline(100.0 * alpha, color=style.ORANGE, linewidth=1.6, label=f"by chance {style.percent(alpha)}")
    top = max(float((rising + falling).max()), 100.0 * alpha)
    for y, total, count, n in zip(place, rising + falling, adjusted, tested, strict=True):
        ax.text(total + 0.015 * top, y, f"{count:,} of {n:,} adjusted", va="center", fontsize=8.5, color=style.INK)
    ax.set_xlim(0, top * 1.55)
    ax.set_yticks(place, names)
    ax.set_ylim(-0.7, len(names) + 0.1)
    i = found.tests.index("lewis_robinson") if "lewis_robinson" in found.tests else len(found.tests) - 1
    share = (rising[i] + falling[i]) / 100.0
    message = f"{names[i]} sees a trend in {style.percent(share)} of {int(tested[i]):,} groups, "
    if share <= 1.3 * alpha:
        message += "about what chance gives"
    else:
        message += f"mostly {'rising' if rising[i] > falling[i] else 'falling'}"
    label = f"groups with p of {alpha:g} or less (%)"
    return style.finish(ax, message, label, "", True, ncols=3, loc="upper right", columnspacing=1.0, handlelength=1.2)


@plot.register(ProcessComparison)
def processes(found: ProcessComparison, ax: Axes | None = None, *, group: int | None = None) -> Axes:
    """The fitted point processes over the mean cumulative number of failures of one group of systems.

    Parameters
    ----------
    found : relfit.recurrence.ProcessComparison
    ax : matplotlib Axes, optional
    group : int, optional
        Position of the group; the one with the most events when left out.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Renewal has no expected number in closed form; the title names it where it does best.
    """
    from relfit.recurrence import mean_cumulative as estimate

    ax = style.axes(ax)
    fits = [found.fits[model] for model in found.models]
    events = fits[0].events
    if not events.size or not events.sum():
        return style.empty(ax, "Nothing failed, so there is no process to fit")
    place = int(events.argmax()) if group is None else group
    copies = fits[0].arranged.take(np.array([place]))
    histories = copies.histories
    curve = estimate(histories, np.zeros(histories.n_histories, dtype=np.int64))
    end = float(curve.until[0])
    if not curve.times.size:
        return style.empty(ax, "Nothing failed, so there is no process to fit")
    time, (mean, low, high) = _thin(curve.times, end, curve.estimate, curve.low, curve.high)
    if np.isfinite(low[1:]).any():
        ax.fill_between(time, low, high, step="post", color=style.GREY, alpha=0.28, linewidth=0,
                        label=f"{style.percent(curve.level)} limits")  # fmt: skip
    ax.step(time, mean, where="post", color=style.INK, linewidth=1.8, label="observed")
    at = np.linspace(0.0, end, 200)[1:]
    top = float(np.nanmax([mean[-1], high[-1]]))
    for fitted in fits:
        if fitted.model in _PROCESSES and fitted.ok[place]:
            words, colour, line = _PROCESSES[fitted.model]
            values = fitted.expected(at)[place]
            top = max(top, float(values[-1]))
            ax.plot(at, values, color=colour, linewidth=1.8, linestyle=line, label=words)
    ax.set_xlim(0, end)
    ax.set_ylim(0, top * 1.12)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    _few_ticks(ax)
    best = found.best[place]
    shape = ""
    if "power_law" in found.fits and found.fits["power_law"].ok[place]:
        limits = found.fits["power_law"].interval("shape")
        value, lower, upper = (float(v[place]) for v in (limits.estimate, limits.low, limits.high))
        shape = f"; power-law shape {value:.2f} ({lower:.2f} to {upper:.2f}; 1 is constant)"
    name = {"renewal": "renewal with Weibull gaps", "hpp": "a constant rate"}.get(
        str(best), str(best).replace("_", "-")
    )
    message = f"Lowest AIC: {name}{shape}" if best is not None else "No process could be fitted"
    several = len(found.groups) > 1
    what = f"failures ({style.plain(group_name(found.groups[place]), 16)})" if several else "failures of a system"
    return style.finish(ax, message, "age: hours since observation began", what, True, loc="upper left")


@plot.register(AvailabilityOverTime)
def availability_over_time(found: AvailabilityOverTime, ax: Axes | None = None) -> Axes:
    """Availability in calendar bins, with limits; of the six groups with the most node-hours.

    Parameters
    ----------
    found : relfit.recurrence.AvailabilityOverTime
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib import dates

    ax = style.axes(ax, (6.4, 3.6))
    known = np.isfinite(found.operational)
    if not known.any() or not found.down_hours.sum():
        return style.empty(ax, "No outage with a known end, so there is no availability to show")
    hours = found.node_hours.sum(axis=1)
    order = [int(g) for g in np.argsort(-hours, kind="stable") if known[g].any()][:_MOST_CURVES]
    edges = np.asarray(found.edges.tz_localize(None).as_unit("ns").astype("int64"), dtype=float) / 86.4e12
    several = len(order) > 1
    lowest = 100.0
    for number, place in enumerate(order):
        colour = style.PALETTE[number % len(style.PALETTE)]
        value, low, high = (100.0 * x[place] for x in (found.operational, found.low, found.high))
        name = style.plain(group_name(found.groups[place]), 16) if several else "availability"
        if not several:
            ax.fill_between(edges, _post(low), _post(high), step="post", color=colour, alpha=0.22, linewidth=0,
                            label=f"{style.percent(found.level)} limits")  # fmt: skip
        ax.stairs(value, edges, baseline=None, color=colour, linewidth=1.8, linestyle=_LINES[number % 6], label=name)
        seen = value[np.isfinite(value)]
        lowest = min(lowest, float(seen.min()))
        if not several and np.isfinite(low).any():
            lowest = min(lowest, max(float(np.nanmin(low)), 100.0 - 2.5 * (100.0 - float(seen.min()))))
    total = hours[order].sum()
    mean = 100.0 * (1.0 - found.down_hours[order].sum() / total)
    ax.axhline(mean, color=style.GREY, linewidth=1.2, linestyle="--", label=f"average {mean:.4g} %")
    span = max(100.0 - lowest, 1e-6)
    ax.set_ylim(lowest - 0.42 * span, 100.0 + 0.04 * span)
    digits = int(np.clip(np.ceil(-np.log10(span)) + 1, 0, 6))
    ax.yaxis.set_major_formatter(f"{{x:.{digits}f}}")
    made: Any = dates
    locator = made.AutoDateLocator(minticks=3, maxticks=7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(made.ConciseDateFormatter(locator))
    ax.set_xlim(edges[0], edges[-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        up = 1.0 - found.down_hours.sum(axis=0) / np.where(
            found.node_hours.sum(axis=0) > 0, found.node_hours.sum(axis=0), np.nan
        )
    worst, best = int(np.nanargmin(up)), int(np.nanargmax(up))
    message = f"Lowest from {found.edges[worst]:%B %Y} on ({_nines(up[worst])}), highest from "
    message += f"{found.edges[best]:%B %Y} on ({_nines(up[best])})"
    return style.finish(
        ax, message, f"time ({found.edges.tz})", "availability (%)", True, ncols=3 if several else 2,
        loc="lower right", columnspacing=1.0,
    )  # fmt: skip


def _nines(value: float) -> str:
    down = 100.0 * (1.0 - value)
    digits = int(np.clip(np.ceil(-np.log10(max(down, 1e-6))) + 1, 1, 5))
    return f"{100.0 * value:.{digits}f} %"


def _post(values: np.ndarray) -> np.ndarray:
    return np.append(values, values[-1])
