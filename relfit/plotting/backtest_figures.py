"""Predictions of a log's past: forecast intervals with what was counted, and the reliability curve of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.backtesting import Backtest
from relfit.base.errors import ArgumentError
from relfit.base.text import count, percent
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        raise ArgumentError(
            f"part {part!r} of a backtest cannot be drawn",
            remedy=f"use {' or '.join(drawn)}" if drawn else "test forecasts or jobs",
        )
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
    ends = np.array(
        [min(jobs["predicted"].min(), jobs["seen"].min()), max(jobs["predicted"].max(), jobs["seen"].max())]
    )
    ends = np.clip(ends + np.array([-0.03, 0.03]) * max(float(np.ptp(ends)), 0.02), 0.0, 1.0)
    ax.plot(ends, ends, color=style.GREY, linewidth=1.0, zorder=1)
    for i, size in enumerate(np.unique(jobs["size"])):
        rows = jobs[jobs["size"] == size]
        colour, label = style.PALETTE[i % len(style.PALETTE)], count(int(size), "node")
        ax.plot(rows["predicted"], rows["seen"], "o", markersize=3.5, alpha=0.5, color=colour, label=label)
    reach = np.maximum(np.stack([curve["seen"] - curve["low"], curve["high"] - curve["seen"]]), 0.0)
    look: dict[str, Any] = {"color": style.INK, "marker": "s", "markersize": 4, "linewidth": 1.2, "capsize": 2.5}
    ax.errorbar(curve["predicted"], curve["seen"], yerr=reach, label="mean", **look)
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    said, before = result.brier()
    message = f"Brier score of jobs {said:.3f}; by the share of the last 180 days {before:.3f}"
    return style.finish(ax, message, "predicted share of jobs without interruption", "counted share", True)
