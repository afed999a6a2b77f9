"""Forecasts with what was counted before them, and predictions of the past with what was counted after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relfit.backtesting import Backtest
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, percent
from relfit.fleet import Forecast
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot

_DAY = 24.0


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
