"""Waits over repair times and failure rates: one curve per rate, or a map with the pairs that cost the same."""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np

from relfit.base.text import duration
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.simulation.batch import RepairSweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILION, style.PURPLE)


@plot.register(RepairSweep)
def repair_sweep(result: RepairSweep, ax: Axes | None = None, *, relative: bool = False) -> Axes:
    """Mean wait by repair time, one curve per failure rate.

    Parameters
    ----------
    relative : bool
        Each curve divided by its own wait at the shortest repair.

    Returns
    -------
    matplotlib.axes.Axes
        Repair times in hours, logarithmic; bands are two standard errors to either side (of the ratio, from runs with
        the same random numbers).
    """
    ax = style.axes(ax)
    values = result.relative if relative else result.mean
    error = np.zeros_like(values)
    if result.n_runs > 1:
        each = (result.waits - values * result.waits[..., :1]) / result.mean[:, :1] if relative else result.waits
        error = 2.0 * each.std(axis=0, ddof=1) / np.sqrt(result.n_runs)
    colours = islice(cycle(_COLOURS), result.rates.size)
    for rate, row, spread, colour in zip(result.rates, values, error, colours, strict=True):
        ax.plot(result.repairs, row, color=colour, linewidth=1.8, marker="o", markersize=3.0, label=f"{rate:g}X")
        style.band(ax, result.repairs, row - spread, row + spread, colour)
    _repair_axis(ax, result)
    shown = np.concatenate([values - error, values + error])
    shown = shown[np.isfinite(shown) & (shown > 0.0)]
    style.decades(ax.yaxis, float(shown.min()), float(shown.max()))
    ax.legend(title="failure rate", frameon=False)
    label = "mean wait over that of the shortest repair" if relative else "mean wait (hours)"
    return style.finish(ax, style.headline(result), "mean time to repair", label, False)


def repair_sweep_map(result: RepairSweep, ax: Axes | None = None) -> Axes:
    """Mean wait by repair time and failure rate; lines join pairs of equal wait.

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic.
    """
    ax = style.axes(ax)
    if min(result.mean.shape) < 2:
        return style.empty(ax, "a map needs two failure rates and two repair times")
    mean = np.maximum.accumulate(np.maximum.accumulate(result.mean, axis=1), axis=0)
    log = np.log10(mean)
    mesh = ax.pcolormesh(result.repairs, result.rates, log, cmap="YlOrRd", shading="nearest")
    levels = np.linspace(log.min(), log.max(), 8)[1:-1]
    lines = ax.contour(result.repairs, result.rates, log, levels=levels, colors=style.INK, linewidths=0.9)
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.add_lines(lines)
    bar.set_ticks(list(levels), labels=[duration(10.0**level) for level in levels])
    bar.set_label("mean wait, at the lines")
    _repair_axis(ax, result)
    ax.set_yscale("log", base=2)
    ax.set_yticks(result.rates, [f"{rate:g}X" for rate in result.rates])
    return style.finish(ax, style.headline(result), "mean time to repair", "failure rate", False)


def _repair_axis(ax: Axes, result: RepairSweep) -> None:
    ax.set_xscale("log")
    marks = {1 / 60: "1 min", 10 / 60: "10 min", 1.0: "1 h", 6.0: "6 h", 24.0: "1 d", 120.0: "5 d", 480.0: "20 d"}
    shown = {at: text for at, text in marks.items() if result.repairs[0] <= at <= result.repairs[-1]}
    if len(shown) > 1:
        ax.set_xticks(list(shown), list(shown.values()))
        ax.minorticks_off()
