"""Step curves of durations and of repairable systems, trend tests, fitted point processes, availability over time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, special

from relfit.analyses.recurrence import AvailabilityOverTime, MeanCumulative, ProcessComparison, ProcessFit, TrendTests
from relfit.base.text import count, percent
from relfit.base.units import HOURS_PER_YEAR
from relfit.fitting.nonparametric import TurnbullEstimate
from relfit.fitting.nonparametric.curves import StepCurves
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot
from relfit.plotting.fit_figures import turnbull_curves

_MOST_CURVES = 6
_MOST_STEPS = 1200
_LINES = ("-", "--", "-.", (0, (1.2, 1.4)), (0, (6, 2, 1.2, 2)), (0, (3, 1)))
_TESTS = {"laplace": "Laplace", "mil_hdbk_189": "MIL-HDBK-189", "lewis_robinson": "Lewis-Robinson", "mann": "Mann"}
_SKEWED = 50.0  # longest time over the median
_LONG = 2.0 * HOURS_PER_YEAR  # axes longer than this are in years
_PROCESSES = {
    "hpp": ("constant rate", style.ORANGE, "--"),
    "power_law": ("power law", style.VERMILION, "-"),
    "log_linear": ("log-linear", style.PURPLE, (0, (6, 2, 1.2, 2))),
    "renewal": ("renewal (Weibull gaps)", style.GREEN, (0, (5, 2))),
}


@plot.register(StepCurves)
@plot.register(TurnbullEstimate)
def step_curves(curves: StepCurves | TurnbullEstimate, ax: Axes | None = None, *, group: object = None) -> Axes:
    """A survival, cumulative hazard or mean cumulative function with its confidence interval.

    Parameters
    ----------
    curves : StepCurves or TurnbullEstimate
        Of the latter the survival, shaded where the data do not say when it falls.
    group : label, optional
        Of the group; the six largest by default.

    Raises
    ------
    ArgumentError
        When there is no such group.
    """
    if isinstance(curves, TurnbullEstimate):
        return turnbull_curves(curves, ax, group=group)
    ax = style.axes(ax)
    if not curves.times.size:
        return style.empty(ax, "Nothing failed, so there is no curve to show")
    steps = np.diff(curves.offsets)
    order = np.lexsort((-steps, -curves.sizes))
    if group is not None:
        order = np.array([style.group_position(curves.groups, group)])
    order = order[steps[order] > 0][:_MOST_CURVES]
    if not order.size:
        return style.empty(ax, f"Nothing failed in {group}")
    several = len(order) > 1
    survival = curves.quantity == "survival"
    until = curves.until if isinstance(curves, MeanCumulative) else curves.last_times()
    for nth, place in enumerate(order):
        label = "mean number of failures" if isinstance(curves, MeanCumulative) else curves.quantity
        if several:
            label = f"{style.plain(style.group_name(curves.groups[place]), 18)} ({curves.sizes[place]:,})"
        look = {"linestyle": _LINES[nth], "label": label, "alpha": 0.07 if several else 0.25}
        limits = None if several else f"{percent(curves.level)} interval"
        colour = style.PALETTE[nth % len(style.PALETTE)]
        _draw_group(ax, curves, int(place), float(until[place]), colour, limits=limits, **look)
    last = curves.offsets[order + 1] - 1
    if isinstance(curves, MeanCumulative):
        x, y = "age: hours since observation began", f"failures of a {curves.unit}"
        if not several:
            ends = [0, float(until[order[0]])], [0, float(curves.estimate[last[0]])]
            ax.plot(*ends, color=style.ORANGE, linewidth=1.2, linestyle="--", label="at a constant rate")
    else:
        x, y = "duration (hours)", curves.quantity
    top = 1.0 if survival else float(np.nanmax([curves.estimate[last], curves.high[last]]))
    ax.set_ylim(0, top * (1.02 if survival else 1.25 if several else 1.12))
    end = float(np.nanmax(until[order]))
    _ages(ax, end)
    largest = curves.part(int(order[0]))
    half = curves.times[largest][curves.estimate[largest] <= 0.5] if survival else np.empty(0)
    if half.size and 0.0 < half[0] < end / _SKEWED:  # on a linear axis the curve would hug the axes
        style.decades(ax.xaxis, half[0] / 10.0, end)
        ax.set_xlim(half[0] / 10.0, end)
    elif end > _LONG and not isinstance(curves, MeanCumulative):
        x = "duration (years)"
        _years(ax, end)
    message = style.headline(curves)
    if group is not None:
        failures = count(curves.events[curves.part(int(order[0]))].sum(), "failure")
        message = f"{curves.method}: {curves.quantity} of {style.group_name(curves.groups[order[0]])}, {failures}"
    elif (steps > 0).sum() > len(order):
        message += f" ({count(int((steps > 0).sum()) - len(order), 'more group')} not shown)"
    style.finish(ax, message, x, y, not several, loc="lower left" if survival else "upper left")
    rows = _at_risk(ax, curves, order) if survival else 0
    if several:
        style.legend_below(ax, 3, rows=rows)
    return ax


def _at_risk(ax: Axes, curves: StepCurves, order: np.ndarray) -> int:
    """Numbers at risk under the ticks of the horizontal axis, one row per group in its colour; the number of rows."""
    low, high = ax.get_xlim()
    marks = [at for at in ax.get_xticks() if low <= at <= high]
    look: Any = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 8}
    for row, place in enumerate(order):
        part, colour = curves.part(int(place)), style.PALETTE[row % len(style.PALETTE)]
        below = (0.0, -20.0 - style.ROW * row)
        for at in marks:
            later = np.searchsorted(curves.times[part], at)
            if later < curves.times[part].size:
                text = f"{curves.at_risk[part][later]:,}"
                ax.annotate(text, (at, 0.0), below, xycoords=ax.get_xaxis_transform(), color=colour, **look)
    ax.set_xlabel(f"{ax.get_xlabel()}; at risk above", labelpad=4.0 + style.ROW * len(order))
    return len(order)


def _draw_group(ax: Axes, curves: StepCurves, place: int, end: float, colour: str, **look: Any) -> None:
    """Steps of one group from zero to the end of observation; at most 1,200 of them."""
    part = curves.part(place)
    time = curves.times[part]
    keep = np.unique(np.linspace(0, time.size - 1, min(time.size, _MOST_STEPS)).astype(int))
    before = 1.0 if curves.quantity == "survival" else 0.0
    values = (np.append(before, v[part][keep]) for v in (curves.estimate, curves.low, curves.high))
    style.steps(ax, np.concatenate([[0.0], time[keep], [max(end, time[-1])]]), *values, colour=colour, **look)


def _years(ax: Axes, end: float) -> None:
    """Years on the horizontal axis, which is in hours."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    step = HOURS_PER_YEAR * max(round(end / HOURS_PER_YEAR / 6.0), 1)
    ax.xaxis.set_major_locator(FixedLocator(np.arange(0.0, end, step).tolist()))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / HOURS_PER_YEAR:g}"))


def _ages(ax: Axes, end: float) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlim(0, end)
    ax.xaxis.set_major_formatter("{x:,.0f}" if end > 10.0 else "{x:g}")
    ax.xaxis.set_major_locator(MaxNLocator(5))


@plot.register(TrendTests)
def trends(result: TrendTests, ax: Axes | None = None, *, alpha: float | None = None) -> Axes:
    """Trend tests: the statistics of one group, or the share of groups with a rising or falling rate.

    Parameters
    ----------
    alpha : float, optional
        Size of the tests; that of the result by default.
    """
    result = result if alpha is None else replace(result, alpha=alpha)
    alpha = result.alpha
    ax = style.axes(ax, (6.4, 3.4))
    place = np.arange(len(result.tests))[::-1].astype(float)
    made = result.status == "ok"
    if not made.any():
        return style.empty(ax, "Too few failures for any test of trend")
    names = [_TESTS.get(test, test) for test in result.tests]
    ax.grid(visible=False, axis="y")
    if len(result.groups) == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = result.direction[0] * -special.ndtri(np.maximum(result.p[0], 1e-300) / 2.0)
        z = np.where(made[0], z, np.nan)
        edge = float(-special.ndtri(alpha / 2.0))
        ax.axvspan(-edge, edge, color=style.ORANGE, alpha=0.3, linewidth=0, label=f"{percent(1 - alpha)} by chance")
        ax.axvline(0.0, color=style.ORANGE, linewidth=1.4)
        out = np.abs(z) > edge
        ax.hlines(place, 0.0, z, color=style.GREY, linewidth=1.2)
        for mask, colour in ((out, style.VERMILION), (~out & made[0], style.BLUE)):
            ax.plot(z[mask], place[mask], "o", color=colour, ms=7)
        reach = max(float(np.nanmax(np.abs(z))), edge) * 1.3
        ax.set_xlim(-reach, reach)
        ax.set_yticks(place, [n if ok else f"{n} (none)" for n, ok in zip(names, made[0], strict=True)])
        message = "No trend of the rate beyond chance"
        if result.lasting:
            message = f"A {'rising' if result.slope[0] > 0.0 else 'falling'} rate of failures, beyond chance"
        elif not result.steady:
            message = "No constant rate, but no lasting rise or fall beyond chance"
        label = "falling rate  ←  in standard deviations  →  rising rate"
        ax.set_ylim(-0.7, len(names) + 0.1)
        return style.finish(ax, message, label, "", below=1)
    tested = made.sum(axis=0)
    with np.errstate(invalid="ignore"):
        hit = (result.p <= alpha) & made
    several = np.maximum(tested, 1)
    rising, falling = (100.0 * (hit & (result.direction == sign)).sum(axis=0) / several for sign in (1, -1))
    adjusted = (np.nan_to_num(result.p_adjusted, nan=1.0) <= alpha).sum(axis=0)
    ax.barh(place, falling, 0.6, color=style.BLUE, label="falling")
    ax.barh(place, rising, 0.6, left=falling, color=style.VERMILION, label="rising")
    ax.axvline(100.0 * alpha, color=style.ORANGE, linewidth=1.6, label=f"by chance {percent(alpha)}")
    top = max(float((rising + falling).max()), 100.0 * alpha)
    for y, total, rejected, n in zip(place, rising + falling, adjusted, tested, strict=True):
        ax.text(total + 0.015 * top, y, f"{rejected:,} of {n:,} adjusted", va="center", fontsize=8.5, color=style.INK)
    ax.set_xlim(0, top * 1.55)
    ax.set_yticks(place, names)
    ax.set_ylim(-0.7, len(names) + 0.1)
    i = result.tests.index("lewis_robinson") if "lewis_robinson" in result.tests else len(result.tests) - 1
    share = (rising[i] + falling[i]) / 100.0
    most = f"mostly {'rising' if rising[i] > falling[i] else 'falling'}"
    message = f"{names[i]} sees a trend in {percent(share)} of {int(tested[i]):,} groups, "
    message += "about what chance gives" if share <= 1.3 * alpha else most
    label = f"groups with p of {alpha:g} or less (%)"
    return style.finish(ax, message, label, "", True, ncols=3, loc="upper right", columnspacing=1.0, handlelength=1.2)


@plot.register(ProcessComparison)
def processes(result: ProcessComparison, ax: Axes | None = None, *, observed: MeanCumulative | None = None) -> Axes:
    """Expected failures of a node by age under the fitted point processes, for the group with the most failures.

    Parameters
    ----------
    observed : MeanCumulative, optional
        Of the same groups, to draw below.

    Notes
    -----
    The expected number of renewals solves the renewal equation, in steps of a two-hundredth of the time shown; nodes
    that had run for an unknown time when observation began have the same number in every hour.
    """
    ax = style.axes(ax)
    fits = [result.fits[model] for model in result.models]
    events = fits[0].events
    if not events.size or not events.sum():
        return style.empty(ax, "Nothing failed, so there is no process to fit")
    place = int(events.argmax())
    end = float(fits[0].hours[place] / fits[0].copies[place])
    top, band, ends = 0.0, (-np.inf, np.inf), {}
    if observed is not None and observed.part(place).stop > observed.part(place).start:
        end, last = float(observed.until[place]), observed.part(place).stop - 1
        limits = f"{percent(observed.level)} interval"
        _draw_group(ax, observed, place, end, style.INK, shade=style.GREY, label="observed", limits=limits)
        top = float(np.nanmax([observed.estimate[last], observed.high[last]]))
        band = float(observed.low[last]), float(observed.high[last])
    at = np.linspace(0.0, end, 200)[1:]
    for fitted in sorted(fits, key=lambda fit: fit.model == "renewal"):
        if fitted.ok[place]:
            words, colour, line = _PROCESSES[fitted.model]
            values = _renewals(fitted, place, at) if fitted.model == "renewal" else fitted.expected(at)[place]
            ends[fitted.model] = float(values[-1])
            ax.plot(at, values, color=colour, linewidth=1.8, linestyle=line, label=words)
    ax.set_ylim(0, 1.12 * max([top, *ends.values()]) or 1.0)
    _ages(ax, end)
    best = result.best[place]
    shape = ""
    if "power_law" in result.fits and result.fits["power_law"].ok[place]:
        shape_limits = result.fits["power_law"].interval("shape")
        value, lower, upper = (float(v[place]) for v in (shape_limits.estimate, shape_limits.low, shape_limits.high))
        shape = f"; power-law shape {value:.2f} ({lower:.2f} to {upper:.2f}; 1 is constant)"
    names = {"renewal": "a Weibull renewal process", "hpp": "a constant rate"}
    name = names.get(str(best), str(best).replace("_", "-"))
    message = f"Lowest AIC: {name}{shape}" if best is not None else "No process could be fitted"
    if best in ends and not band[0] <= ends[best] <= band[1]:
        message = f"Lowest AIC: {name}, which does not give the number of failures that was observed"
    several = len(result.groups) > 1
    what = f"failures ({style.plain(style.group_name(result.groups[place]), 16)})" if several else "failures of a node"
    return style.finish(ax, message, "age: hours since observation began", what, True, loc="upper left")


def _renewals(fit: ProcessFit, place: int, at: np.ndarray) -> np.ndarray:
    """Expected renewals of a group by equally spaced times; nodes that have run for long have a constant rate."""
    shape, scale = (float(value) for value in fit.estimates[place])
    running = float(fit.running[place])
    steady = at / (scale * float(special.gamma(1.0 + 1.0 / shape)))
    return np.asarray(running * steady + (1.0 - running) * _new_renewals(shape, scale, at))


def _new_renewals(shape: float, scale: float, at: np.ndarray) -> np.ndarray:
    """Of Weibull gaps from the beginning: M(t) = F(t) + the integral of M(t - s) dF(s)."""
    failed = -np.expm1(-((at / scale) ** shape))
    step = np.diff(failed, prepend=0.0)
    weight = 0.5 * (step + np.append(0.0, step[:-1]))  # trapezoidal rule; the last value is part of its own step
    return np.asarray(linalg.solve_triangular(np.eye(at.size) - linalg.toeplitz(weight), failed, lower=True))


@plot.register(AvailabilityOverTime)
def availability_over_time(result: AvailabilityOverTime, ax: Axes | None = None) -> Axes:
    """Availability in calendar bins: the six groups with the most node-hours, and the mean of all.

    A single group has its confidence interval.
    """
    from matplotlib.ticker import MaxNLocator

    ax = style.axes(ax, (6.4, 3.6))
    finite = np.isfinite(result.operational)
    if not finite.any() or not result.down_hours.sum():
        return style.empty(ax, "No outage with a known end, so there is no availability to show")
    hours = result.node_hours.sum(axis=1)
    order = [int(g) for g in np.argsort(-hours, kind="stable") if finite[g].any()][:_MOST_CURVES]
    edges = style.days(result.edges)
    several = len(order) > 1
    lowest = 100.0
    for nth, place in enumerate(order):
        value, low, high = (100.0 * x[place] for x in (result.operational, result.low, result.high))
        name = style.plain(style.group_name(result.groups[place]), 16) if several else "availability"
        if several:
            low, high = np.full_like(low, np.nan), np.full_like(high, np.nan)  # overlapping bands cannot be read
        colour = style.PALETTE[nth % len(style.PALETTE)]
        complete, partial = np.where(result.comparable, value, np.nan), np.where(result.comparable, np.nan, value)
        limits = f"{percent(result.level)} interval"
        style.steps(ax, edges, complete, low, high, colour=colour, linestyle=_LINES[nth], label=name, limits=limits)
        in_part = "watched in part" if not nth and not result.comparable.all() else None
        ax.stairs(partial, edges, baseline=None, color=colour, linestyle=":", label=in_part)
        seen = value[np.isfinite(value)]
        lowest = min(lowest, float(seen.min()))
        if np.isfinite(low).any():
            lowest = min(lowest, max(float(np.nanmin(low)), 100.0 - 2.5 * (100.0 - float(seen.min()))))
    mean = 100.0 * (1.0 - result.down_hours.sum() / hours.sum())
    of = f"all {hours.size}" if len(order) < hours.size else "average"
    ax.axhline(mean, color=style.GREY, linewidth=1.2, linestyle="--", label=f"{of} {mean:.4g} %")
    span = max(100.0 - lowest, 1e-6)
    ax.set_ylim(lowest - 0.42 * span, 100.0 + 0.04 * span)
    digits = int(np.clip(np.ceil(-np.log10(span)) + 1, 0, 6))
    ax.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))  # labels of steps of 2.5 would be rounded
    ax.yaxis.set_major_formatter(f"{{x:.{digits}f}}")
    style.dates(ax, edges)
    where: dict[str, Any] = {"ncols": 3 if several else 2, "loc": "lower right", "columnspacing": 1.0}
    return style.finish(ax, style.headline(result), f"time ({result.edges.tz})", "availability (%)", True, **where)
