"""Numbers with their intervals, side by side; results that are drawn by one of their parts."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.analyses.independence import Dependence
from relfit.analyses.recurrence import Availability
from relfit.analyses.regression import AttributeEffects, Regression
from relfit.analyses.screening import Period
from relfit.base.errors import ArgumentError
from relfit.base.results import Interval
from relfit.base.text import duration, number, percent
from relfit.base.units import HOURS_PER_YEAR
from relfit.fitting.field_forecast import FailuresAhead
from relfit.fitting.nonparametric import ObservedTimes
from relfit.fleet import ChosenPeriod, FleetModel
from relfit.fleet.calibration import Parameters
from relfit.log.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot
from relfit.plotting.event_figures import change_points, events_over_time

MOST_GROUPS = 40
_MOST = 30  # rows drawn
_ROOM = 18  # rows whose names have room
_PARTS = ("place", "cofailure", "dispersion", "serial", "correlation", "cycles", "pooled")


def means_by_group(table: pd.DataFrame, ax: Axes | None = None, *, what: str = "MTTF", level: float = 0.95) -> Axes:
    """Mean times of the 40 groups with the most failures, sorted, with intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by group: ``failures``, ``hours``, ``mean``, ``low``, ``high`` (times in hours).
    what : str
        Name of the mean, such as ``"MTTF"``.
    level : float
        Level of the intervals, for the legend.
    """
    ax = style.axes(ax)
    mean = table["mean"].to_numpy(float)
    shown = table[np.isfinite(mean) & (mean > 0)]
    if shown.empty:
        return style.empty(ax, f"No group has an observed failure, so no {what} can be shown")
    fleet = float(shown["hours"].sum() / max(shown["failures"].sum(), 1))
    shown = shown.sort_values("mean")
    low = shown["low"].where(shown["low"] > 0.0, shown["mean"]).to_numpy(float)
    high = shown["high"].where(np.isfinite(shown["high"]), shown["mean"]).to_numpy(float)
    message = _mean_message(what, shown["mean"].to_numpy(float), low, high, fleet, len(table) - len(shown))
    drawn = np.sort(np.argsort(-shown["failures"].to_numpy(), kind="stable")[:MOST_GROUPS])
    shown, low, high = shown.iloc[drawn], low[drawn], high[drawn]
    mean = shown["mean"].to_numpy(float)
    place = np.arange(mean.size)
    style.decades(ax.yaxis, float(low.min()), float(high.max()))
    ax.vlines(place, low, high, color=style.SKY, linewidth=3.0, label=f"{percent(level)} interval")
    ax.plot(place, mean, "o", color=style.BLUE, markersize=5, label=what)
    names = [style.plain(style.group_name(label), 12) for label in shown.index]
    ax.set_xticks(place, names, rotation=90 if mean.size > 12 else 0)
    ax.set_xlim(-0.7, mean.size - 0.3)
    ax.grid(visible=False, axis="x")
    return style.finish(ax, message, "", f"{what} (hours)", True, ncols=2, loc="upper left", columnspacing=1.0)


def _mean_message(what: str, mean: np.ndarray, low: np.ndarray, high: np.ndarray, fleet: float, unseen: int) -> str:
    if mean.size == 1:
        return f"{what} {number(mean[0])} h, between {number(low[0])} and {number(high[0])} h"
    apart = int(((high < fleet) | (low > fleet)).sum())
    text = f"{what} from {number(mean[0])} to {number(mean[-1])} h; {apart:,} of {mean.size:,} intervals miss the "
    text += "common mean"
    return f"{text} ({unseen:,} without a {'repair' if what == 'MTTR' else 'failure'})" if unseen else text


def _dots(
    ax: Axes | None, frame: pd.DataFrame, message: str, x: str, *, log: bool = False, none: float | None = None
) -> Axes:
    """One row per entry of ``value``, ``low``, ``high``, the first on top; `none` is where the line of no effect is."""
    ax = style.axes(ax)
    shown = frame[np.isfinite(frame["value"].to_numpy(float))].head(_MOST).iloc[::-1]
    if not len(shown):
        return style.empty(ax, message)
    value, low, high = (shown[name].to_numpy(float) for name in ("value", "low", "high"))
    place = np.arange(value.size)
    ends = np.where(np.isfinite(low), low, value), np.where(np.isfinite(high), high, value)
    ax.hlines(place, *ends, color=style.SKY, linewidth=3.0)
    ax.plot(value, place, "o", color=style.BLUE, markersize=5)
    ax.set_ylim(-0.6, value.size - 0.4)
    ax.set_yticks(place, [style.plain(style.group_name(label), 28) for label in shown.index])
    if value.size > _ROOM:
        ax.tick_params(axis="y", labelsize=7)
    ax.grid(visible=False, axis="y")
    if log:
        ax.set_xscale("log")
        every = np.concatenate([value, *ends])
        if (every > 0.0).all():
            style.decades(ax.xaxis, float(every.min()) / 1.2, float(every.max()) * 1.2)
    if none is not None:
        ax.axvline(none, color=style.GREY, linewidth=1.0, linestyle="--")
    if len(frame) > _MOST:
        message += f" ({len(frame) - _MOST} more not shown)"
    return style.finish(ax, message, x, "")


def _frame(index: pd.Index | list[str], value: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike) -> pd.DataFrame:
    columns = {name: np.asarray(v, dtype=float) for name, v in (("value", value), ("low", low), ("high", high))}
    return pd.DataFrame(columns, index=index)


@plot.register(Availability)
def availability(result: Availability, ax: Axes | None = None, *, group: object = None) -> Axes:
    """Availability of each group, or of one `group`, with its interval, the lowest on top."""
    from matplotlib.ticker import PercentFormatter

    frame = _frame(result.groups, result.operational, result.low, result.high)
    if group is not None:
        frame = frame.iloc[[style.group_position(frame.index, group)]]
    frame = frame.sort_values("value", kind="stable")
    ax = _dots(ax, frame, style.headline(result), f"availability ({percent(result.level)} intervals)")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    return ax


@plot.register(FleetModel)
def fleet(model: FleetModel, ax: Axes | None = None) -> Axes:
    """Hours between incidents of a node, a rack and a system, with their intervals."""
    scopes = model.scopes
    end = "_now" if "mtbf_now" in scopes else ""
    columns = (scopes[f"mtbf{end}{side}"] for side in ("", "_low", "_high"))
    when = "now" if end else "in the period"
    x = f"hours between incidents of one of them, {when}"
    return _dots(ax, _frame(scopes.index, *columns), style.headline(model), x, log=True)


@plot.register(Parameters)
def parameters(params: Parameters, ax: Axes | None = None) -> Axes:
    """Mean times between failures and to repair, with intervals."""
    rows = {}
    for part, title in ((params.mtbf, "MTBF"), (params.mttr, "MTTR")):
        for name in type(part).model_fields:
            quantity = getattr(part, name)
            if getattr(quantity, "value", None) is not None:
                ends = (getattr(quantity, end, None) for end in ("low", "high"))
                words = f"{title} {name.replace('_', ' ')}"
                rows[words] = [quantity.value, *(np.nan if end is None else end for end in ends)]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high"])
    message = f"Parameters of {params.name}" if params.name else "Parameters"
    return _dots(ax, frame, message if rows else "No parameter is known", "hours", log=True)


@plot.register(Regression)
def effects(fit: Regression, ax: Axes | None = None) -> Axes:
    """The effect of each covariate as a ratio with its interval; 1 is no effect."""
    ratio = next(str(name) for name in fit.table.columns if str(name).endswith("_ratio"))
    columns = (fit.table[f"{ratio}{side}"] for side in ("", "_low", "_high"))
    labels = [re.sub(r"\[T\.(.*)\]", r" \1", str(term)) for term in fit.table.index]
    return _dots(ax, _frame(labels, *columns), style.headline(fit), ratio.replace("_", " "), log=True, none=1.0)


@plot.register(AttributeEffects)
def _attributes(result: AttributeEffects, ax: Axes | None = None) -> Axes:
    """The largest effect of each attribute, as a ratio with its interval."""
    rows = result.answered
    index = [f"{row['attribute']} {row['term']}, {row['measure']}" for _, row in rows.iterrows()]
    frame = _frame(index, rows["ratio"], rows["low"], rows["high"])
    return _dots(ax, frame, style.headline(result), "ratio", log=True, none=1.0)


@plot.register(ChosenPeriod)
def period(chosen: ChosenPeriod, ax: Axes | None = None) -> Axes:
    """The failure rate over time with the period used; events over time if no change points were estimated."""
    return change_points(chosen.points, ax) if chosen.points is not None else events_over_time(chosen.log, ax)


@plot.register(Period)
def _rate_of_period(result: Period, ax: Axes | None = None) -> Axes:
    """The failure rate of one period with its interval."""
    frame = _frame([f"{result.start:%Y-%m-%d} to {result.end:%Y-%m-%d}"], [result.rate], [result.low], [result.high])
    return _dots(ax, HOURS_PER_YEAR * frame, style.headline(result), f"failures per {result.per}")


@plot.register(Interval)
def _interval(result: Interval, ax: Axes | None = None) -> Axes:
    """A quantity of each group with its interval."""
    values = (np.ravel(v) for v in (result.estimate, result.low, result.high))
    return _dots(ax, _frame(result.labels, *values), style.headline(result), result.quantity)


@plot.register(FailuresAhead)
def _failures_ahead(result: FailuresAhead, ax: Axes | None = None) -> Axes:
    """The expected failures of each group within each time, with the prediction interval of their number."""
    several = len(result.groups) > 1
    within = [f"within {duration(float(time))}" for time in result.times]
    groups = [f"{style.group_name(group)}, " if several else "" for group in result.groups]
    values = (np.ravel(v) for v in (result.expected, result.low, result.high))
    frame = _frame([f"{group}{time}" for group in groups for time in within], *values)
    return _dots(ax, frame, style.headline(result), "failures of running units")


@plot.register(ObservedTimes)
def _observed(result: ObservedTimes, ax: Axes | None = None) -> Axes:
    """The mean of the times of each group as observed, with its interval."""
    frame = _frame(result.groups, result.mean, result.mean_low, result.mean_high)
    return _dots(ax, frame.sort_values("value", kind="stable"), style.headline(result), "mean (hours)", log=True)


@plot.register(Dependence)
def dependence(result: Dependence, ax: Axes | None = None, *, part: str | None = None) -> Axes:
    """The figure of one `part` of the tests of dependence; the first with a result by default.

    Raises
    ------
    ArgumentError
        When that part has no result.
    """
    answered = [name for name in _PARTS if getattr(result, name) is not None]
    if part is not None and part not in answered:
        raise ArgumentError(f"there is no answer to {part!r}", remedy=f"it answers {', '.join(answered) or 'none'}")
    if not answered:
        return style.empty(style.axes(ax), style.headline(result))
    return plot(getattr(result, part or answered[0]), ax=ax)


plot.register(FailureLog)(events_over_time)
