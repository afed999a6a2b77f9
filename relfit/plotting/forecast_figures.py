"""Predictions: forecasts and their test on the past; jobs on nodes, by length and number; a test of a system."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.backtesting import Backtest
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, interval_ends, number, percent
from relfit.fleet import Forecast
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot
from relfit.system import System, SystemChiSquare, SystemsBySize
from relfit.system.jobs import BestSize, CompletionTime

_NAMES = {"reliability": "reliability", "hazard": "failure rate (per hour)", "mttf": "mean time to failure (hours)"}
_DAY = 24.0
_POINTS = 80
_DRAWS = 399
_DRAWS_BY_SIZE = 199
_DASH: Any = (0, (4, 2))
_DRAWN = 600
_HIGHEST = 30.0  # times the best expected time: the curve rises without bound


@plot.register(Forecast)
def forecast(result: Forecast, ax: Axes | None = None) -> Axes:
    """Past failures in bins as long as the first horizon, and the forecast.

    Longer horizons are drawn as means per bin: their intervals are those of the whole horizon.

    Returns
    -------
    matplotlib.axes.Axes
        Dates, failures per bin.
    """
    ax = style.axes(ax)
    width = result.horizons[0]
    past = result.history
    edges = style.days(pd.DatetimeIndex([*past["start"], result.start]))
    ax.stairs(past["failures"].to_numpy(dtype=float), edges, fill=True, color=style.BLUE, alpha=0.35, label="counted")
    begin = float(edges[-1])
    shades = (style.VERMILION, style.ORANGE, style.PURPLE, style.GREEN)
    for i, row in reversed(list(enumerate(result.total.to_dict("records")))):
        share, until = width / row["horizon"], begin + row["horizon"] / _DAY
        colour = shades[i % len(shades)]
        low, high = row["failures_low"] * share, row["failures_high"] * share
        label = f"next {_name(row['horizon'])}, {percent(result.level)}"
        style.band(ax, [begin, until], low, high, colour, label, alpha=0.25)
        ax.plot([begin, until], [row["failures"] * share] * 2, color=colour, linewidth=2.0)
    ax.set_ylim(bottom=0.0)
    style.thousands(ax.yaxis)
    last = begin + max(result.horizons) / _DAY
    style.dates(ax, np.array([edges[0], last + 0.01 * (last - edges[0])]))
    return style.finish(ax, style.headline(result), "", f"failures per {_name(width)}", below=2)


def _name(hours: float) -> str:
    return count(round(hours / _DAY), "day") if hours >= 72.0 and hours % _DAY == 0.0 else duration(hours)


@plot.register(Backtest)
def backtest(result: Backtest, ax: Axes | None = None, *, part: str | None = None, system: str | None = None) -> Axes:
    """Past forecasts with the observed counts, or predicted against observed shares of jobs.

    Parameters
    ----------
    part : {"forecasts", "jobs"}, optional
        By default forecasts where they were tested, else jobs.
    system : str, optional
        Whose forecasts; by default those of all systems together.

    Raises
    ------
    ArgumentError
        For another part, one that was not tested, or a system that is not in the backtest.
    """
    part = ("forecasts" if "forecasts" in result.parts else "jobs") if part is None else part
    if part not in ("forecasts", "jobs") or part not in result.parts:
        drawn = [name for name in ("forecasts", "jobs") if name in result.parts]
        remedy = f"use {' or '.join(drawn)}" if drawn else "test forecasts or jobs"
        raise ArgumentError(f"part {part!r} of a backtest cannot be drawn", remedy=remedy)
    return _forecasts(result, system, style.axes(ax)) if part == "forecasts" else _jobs(result, style.axes(ax))


def _forecasts(result: Backtest, system: str | None, ax: Axes) -> Axes:
    rows = result.table[result.table["part"] == "forecasts"]
    wanted = rows["of"] == "all" if system is None and (rows["of"] == "all").any() else rows["of"] == "system"
    if system is not None:
        wanted = rows["of"].isin(["all", "system"]) & (rows["system"].astype(str) == str(system))
        if not wanted.any():
            raise ArgumentError(f"no system {system!r} in this backtest")
    rows = rows[wanted]
    rows = rows[(rows["horizon"] == rows["horizon"].min()) & (rows["system"] == rows["system"].iloc[0])]
    x = style.days(pd.DatetimeIndex(rows["origin"]))
    held = ((rows["seen"] >= rows["low"]) & (rows["seen"] <= rows["high"])).to_numpy()
    low, high, seen = (rows[name].to_numpy(np.float64) for name in ("low", "high", "seen"))
    ax.vlines(x, low, high, color=style.SKY, linewidth=4.0, alpha=0.6, label=f"{percent(result.level)} interval")
    ax.plot(x, rows["predicted"], color=style.BLUE, marker="_", linestyle="", markersize=7, label="forecast")
    ax.plot(x[held], seen[held], color=style.INK, marker="o", linestyle="", markersize=3.5, label="counted")
    if not held.all():
        ax.plot(x[~held], seen[~held], color=style.VERMILION, marker="X", linestyle="", markersize=6, label="outside")
    ax.set_ylim(bottom=0.0)
    style.thousands(ax.yaxis)
    wide = max(float(x[-1] - x[0]), 1.0)
    style.dates(ax, np.array([x[0] - 0.02 * wide, x[-1] + 0.02 * wide]))
    name = count(round(float(rows["horizon"].iloc[0]) / 24.0), "day")
    return style.finish(ax, style.headline(result), "", f"failures of the next {name}", below=2)


def _jobs(result: Backtest, ax: Axes) -> Axes:
    curve = result.reliability()
    jobs = result.table[result.table["part"] == "jobs"]
    shares = jobs[["predicted", "seen"]].to_numpy(float)
    ends = np.array([np.nanmin(shares), np.nanmax(shares)])
    ends = np.clip(ends + np.array([-0.03, 0.03]) * max(float(np.ptp(ends)), 0.02), 0.0, 1.0)
    ax.plot(ends, ends, color=style.GREY, linewidth=1.0, zorder=1)
    for i, size in enumerate(np.unique(jobs["size"])):
        rows = jobs[jobs["size"] == size]
        colour, label = style.PALETTE[i % len(style.PALETTE)], count(int(size), "node")
        ax.plot(rows["predicted"], rows["seen"], "o", markersize=3.5, alpha=0.5, color=colour, label=label)
    reach = np.maximum(np.stack([curve["seen"] - curve["low"], curve["high"] - curve["seen"]]), 0.0)
    look: dict[str, Any] = {"color": style.INK, "marker": "s", "markersize": 4, "linewidth": 1.2, "capsize": 2.5}
    ax.errorbar(curve["predicted"], curve["seen"], yerr=reach, label="mean", **look)
    ax.set(xlim=ends, ylim=ends)
    said, before = result.brier()
    message = f"Brier score of jobs {said:.3f}; by the share of the last 180 days {before:.3f}"
    return style.finish(ax, message, "predicted share of jobs without interruption", "counted share", True)


@plot.register(System)
def reliability_curve(
    system: System, until: object = None, ax: Axes | None = None, *, level: float | None = 0.95
) -> Axes:
    """Reliability of a system by length of the job, with its confidence interval if made from fits.

    Parameters
    ----------
    until : float or duration, optional
        Length of the longest job, in hours; by default where reliability falls to 2 %.
    level : float or None
        Level of the band; None draws none.

    Raises
    ------
    ArgumentError
        For a length that is not above zero and finite.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> system = rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0)
    >>> reliability_curve(system, "30 days", ax=Figure().add_subplot()).get_xlabel()
    'length of the job (hours)'
    """
    from relfit.base.units import hours

    last = float(system.quantile(0.98)) if until is None else hours(until)
    if not (last > 0.0 and np.isfinite(last)):
        raise ArgumentError(f"a curve until {last:g} hours", remedy="give until=, in hours or as '72h'")
    x = np.linspace(0.0, last, _POINTS)
    ax = style.axes(ax)
    value = system.reliability(x)
    ax.plot(x, value, color=style.BLUE, linewidth=1.8, label=f"{system.n_nodes} nodes")
    message = f"a job of {number(last)} h on {system.n_nodes:,} nodes survives with {_chance(value[-1])}"
    if level is not None and system.origin is not None:
        limits = system.interval("reliability", x, level, n_draws=_DRAWS)
        style.band(ax, x, limits.low, limits.high, style.BLUE, f"{percent(level)} interval")
        message += f" ({percent(level)} interval {interval_ends(_chance(limits.low[-1]), _chance(limits.high[-1]))})"
    ax.set(ylim=(0.0, 1.02), xlim=(0.0, last))
    return style.finish(ax, message, "length of the job (hours)", "reliability", True)


def _chance(share: float) -> str:
    """A probability in percent; one that is nearly zero as ``< 0.01 %``."""
    return "< 0.01 %" if 0.0 < share < 5e-5 else percent(share)


@plot.register(SystemsBySize)
def by_size(
    result: SystemsBySize,
    quantity: str = "reliability",
    ax: Axes | None = None,
    *,
    level: float | None = 0.95,
    **line: Any,
) -> Axes:
    """A quantity of the first k nodes, for every k.

    Parameters
    ----------
    quantity : {"reliability", "hazard", "mttf"}
    level : float or None
        Level of the band, which systems made from fits have; None draws none.
    **line
        Options of matplotlib for the lines.

    Returns
    -------
    matplotlib.axes.Axes
        Logarithmic where the quantity spans more than a factor of twenty.

    Raises
    ------
    ArgumentError
        For another quantity.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> result = rf.System(rf.families.Weibull(0.8606, [1542.0] * 50), ages=200.0).by_size("24h")
    >>> by_size(result, "mttf", ax=Figure().add_subplot()).get_xlabel()
    'nodes'
    """
    if quantity not in _NAMES:
        raise ArgumentError(f"no quantity {quantity!r} by size", remedy=f"use one of {', '.join(_NAMES)}")
    ax = style.axes(ax)
    k = result.sizes
    table = getattr(result, quantity).reshape(k.size, -1)
    horizons = result.horizon.reshape(-1) if quantity != "mttf" else np.zeros(1)
    shown = np.unique(np.geomspace(1, k.size, 400).round().astype(np.int64)) - 1 if k.size > 400 else np.arange(k.size)
    band = level is not None and result.system.origin is not None
    limits = result.interval(quantity, float(level or 0.95), n_draws=_DRAWS_BY_SIZE) if band else None
    for i, horizon in enumerate(horizons):
        colour = style.PALETTE[i % len(style.PALETTE)]
        label = None if quantity == "mttf" else f"after {number(float(horizon))} h"
        ax.plot(k[shown], table[shown, i], **{"color": colour, "linewidth": 1.8, "label": label, **line})
        if limits is not None:
            low, high = (end.reshape(k.size, -1)[shown, i] for end in (limits.low, limits.high))
            style.band(ax, k[shown], low, high, colour, f"{percent(limits.level)} interval" if i == 0 else None)
    if k.size > 1000:
        ax.set_xscale("log")
    values = table[shown][np.isfinite(table[shown]) & (table[shown] > 0.0)]
    if quantity == "reliability":
        ax.set_ylim(0.0, 1.02)
    elif values.size and values.max() > 20.0 * values.min():
        style.decades(ax.yaxis, float(values.min()), float(values.max()))
    write = percent if quantity == "reliability" else number
    unit = " h" if quantity == "mttf" else ""
    after = "" if quantity == "mttf" else f" after {number(float(horizons[0]))} h"
    message = f"{_NAMES[quantity].split(' (')[0]}{after} goes from {write(float(table[0, 0]))}{unit} with one node to "
    message += f"{write(float(table[-1, 0]))}{unit} with {k.size:,}"
    return style.finish(ax, message, "nodes", _NAMES[quantity], quantity != "mttf" or band)


@plot.register(SystemChiSquare)
def chi_square_bins(result: SystemChiSquare, ax: Axes | None = None) -> Axes:
    """Observed and expected numbers of failures by time to failure, with each bin's part of the statistic.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> from relfit.system import chi_square
    >>> system = rf.System(rf.families.Weibull(0.8, [1000.0] * 2), ages=600.0)
    >>> result = chi_square(system.sample(100, rng=1), system)
    >>> chi_square_bins(result, ax=Figure().add_subplot()).get_ylabel()
    'failures'
    """
    ax = style.axes(ax, (7.2, 4.0))
    place = np.arange(result.observed.size, dtype=np.float64)
    ax.bar(place - 0.2, result.observed, 0.38, color=style.BLUE, label="observed")
    ax.bar(place + 0.2, result.expected, 0.38, color=style.GREY, label="expected")
    top = float(max(result.observed.max(), result.expected.max()))
    for x, value, high in zip(place, result.contributions, np.maximum(result.observed, result.expected), strict=True):
        ax.text(x, high + 0.015 * top, f"{value:.2f}", ha="center", va="bottom", fontsize=8, color=style.INK)
    ends = [number(float(edge)) for edge in result.edges[:-1]]
    labels = [f"{a} to {b}" for a, b in pairwise(ends)] + [f"over {ends[-1]}"]
    ax.set_xticks(place, labels)
    if len(labels) > 7:
        ax.tick_params(axis="x", rotation=30)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0.0, 1.16 * top)
    return style.finish(ax, style.headline(result), "time to failure (hours)", "failures", True)


@plot.register(BestSize)
def completion_by_size(result: BestSize, ax: Axes | None = None) -> Axes:
    """Expected completion time by number of nodes, with and without failures.

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic; the band is the confidence interval, where the result has one.
    """
    ax = style.axes(ax)
    if result.status == "never":
        return style.empty(ax, style.headline(result))
    best, top = result.best_expected, _HIGHEST * max(result.best_expected, float(result.lengths[0]))
    places = _thinned(result.sizes.size, result.place)
    sizes = result.sizes[places]
    shown = np.where(result.expected[places] <= top, result.expected[places], np.nan)
    if result.draws is not None:
        nodes, low, high = (np.asarray(result.draws[name]) for name in ("nodes", "low", "high"))
        label = f"{percent(result.level or 0.0)} interval"
        style.band(ax, nodes, np.minimum(low, top), np.minimum(high, top), style.VERMILION, label)
    mark: dict[str, Any] = {"marker": "o", "markersize": 3.0} if sizes.size <= 40 else {}
    ax.plot(sizes, result.lengths[places], color=style.BLUE, linestyle=_DASH, linewidth=1.6, label="without failures")
    ax.plot(sizes, shown, color=style.VERMILION, linewidth=1.8, label="with failures", **mark)
    ax.plot([result.best], [best], marker="o", markersize=8, color=style.INK, linestyle="none", zorder=5)
    _log_axes(ax, sizes, np.concatenate([shown[np.isfinite(shown)], result.lengths[places]]))
    share = np.log(result.best / sizes[0]) / max(np.log(sizes[-1] / sizes[0]), 1e-9)
    side = "right" if share > 0.85 else "left" if share < 0.15 else "center"
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    look: Any = {"textcoords": "offset points", "ha": side, "va": "top", "color": style.INK, "bbox": box}
    ax.annotate(f"{result.best:,} nodes: {number(best)} h", (result.best, best), (0, -9), **look)
    return style.finish(ax, style.headline(result), "nodes", "expected completion time (hours)", True)


@plot.register(CompletionTime)
def completion_curve(done: CompletionTime, ax: Axes | None = None) -> Axes:
    """Probability of completion, over time.

    Returns
    -------
    matplotlib.axes.Axes
        Hours from the start, probability in percent.
    """
    ax = style.axes(ax)
    if done.status == "never":
        return style.empty(ax, style.headline(done))
    high = float(done.quantile(0.99))
    high = max(high if np.isfinite(high) else 3.0 * done.expected, 1.05 * done.expected, 1.2 * done.least)
    time = np.concatenate([[0.0, done.least * (1.0 - 1e-12)], np.linspace(done.least, 1.02 * high, 300)])
    ax.plot(time, 100.0 * done.finish_probability(time), color=style.VERMILION, linewidth=1.8)
    ax.axvline(done.expected, color=style.INK, linestyle=_DASH, linewidth=1.2)
    mean = f"mean {number(done.expected)} h"
    ax.annotate(mean, (done.expected, 4), (6, 0), textcoords="offset points", color=style.INK)
    ax.set(xlim=(0.0, 1.02 * high), ylim=(0.0, 102.0))
    return style.finish(ax, style.headline(done), "hours from the start", "done (%)")


def _thinned(count: int, place: int) -> Any:
    """Places on a logarithmic net, with the best one."""
    if count <= _DRAWN:
        return np.arange(count)
    net = np.geomspace(1, count, _DRAWN).round().astype(int) - 1
    return np.unique(np.append(net, place))


def _log_axes(ax: Axes, x: npt.ArrayLike, y: npt.ArrayLike) -> None:
    ax.set_yscale("log")
    low, high = float(np.nanmin(y)), float(np.nanmax(y))
    if high < 1.02 * low:
        low, high = low / 1.2, high * 1.2
    ax.set_ylim(low / (high / low) ** 0.06, high * (high / low) ** 0.06)
    style.decades(ax.yaxis, low, high)
    if float(np.max(x)) > float(np.min(x)):
        ax.set_xscale("log")
        style.decades(ax.xaxis, float(np.min(x)), float(np.max(x)))
