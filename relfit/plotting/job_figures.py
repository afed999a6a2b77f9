"""On how many nodes, and until when: expected completion times by size, speed-ups, the chance to be done in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.jobs import BestSize, CompletionTime
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["best_size_by_work", "completion_by_shape", "completion_by_size", "completion_curve", "speedup_curves"]

_DASH: Any = (0, (4, 2))
_DRAWN = 600
_HIGHEST = 30.0  # times the best expected time: what is drawn of a curve that rises without end


@plot.register(BestSize)
def completion_by_size(found: BestSize, ax: Axes | None = None) -> Axes:
    """Expected completion time by number of nodes, with and without failures (Figures 6.5 and 6.7 a).

    Parameters
    ----------
    found : BestSize
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic; the band is the interval, where one was asked for.
    """
    ax = style.axes(ax)
    if found.status == "never":
        return style.empty(ax, "On no number of nodes will the job finish")
    best, top = found.best_expected, _HIGHEST * max(found.best_expected, float(found.lengths[0]))
    places = _thinned(found.sizes.size, found.place)
    sizes = found.sizes[places]
    shown = np.where(found.expected[places] <= top, found.expected[places], np.nan)
    if found.draws is not None:
        limits = found.draws
        ax.fill_between(
            limits["nodes"], np.minimum(limits["low"], top), np.minimum(limits["high"], top),
            color=style.VERMILION, alpha=0.14, linewidth=0, label=f"{100 * (found.level or 0.0):g} % interval",
        )  # fmt: skip
    mark: dict[str, Any] = {"marker": "o", "markersize": 3.0} if sizes.size <= 40 else {}
    ax.plot(sizes, found.lengths[places], color=style.BLUE, linestyle=_DASH, linewidth=1.6, label="without failures")
    ax.plot(sizes, shown, color=style.VERMILION, linewidth=1.8, label="with failures", **mark)
    ax.plot([found.best], [best], marker="o", markersize=8, color=style.INK, linestyle="none", zorder=5)
    heights = np.concatenate([shown[np.isfinite(shown)], found.lengths[places]])
    _log_axes(ax, sizes, heights)
    share = np.log(found.best / sizes[0]) / max(np.log(sizes[-1] / sizes[0]), 1e-9)
    side = "right" if share > 0.85 else "left" if share < 0.15 else "center"
    ax.annotate(
        f"{found.best:,} nodes: {style.figures(best)} h", (found.best, best), (0, -9),
        textcoords="offset points", ha=side, va="top", color=style.INK,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )  # fmt: skip
    what = "All nodes are best" if found.status == "all" else f"The job is done first on {found.best:,} nodes"
    if found.best == 1:
        what = "The job is done first on one node"
    if found.convention == "paper":
        what += ", by the paper's formula"
    return style.finish(ax, what, "nodes", "expected completion time (hours)", True)


@plot.register(CompletionTime)
def completion_curve(done: CompletionTime, ax: Axes | None = None) -> Axes:
    """Probability to be done by any time.

    Parameters
    ----------
    done : CompletionTime
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Hours from the start, probability in percent.
    """
    ax = style.axes(ax)
    if done.status == "never":
        return style.empty(ax, "The job will not finish on these nodes")
    high = float(done.quantile(0.99))
    high = max(high if np.isfinite(high) else 3.0 * done.expected, 1.05 * done.expected, 1.2 * done.least)
    time = np.concatenate([[0.0, done.least * (1.0 - 1e-12)], np.linspace(done.least, 1.02 * high, 300)])
    ax.plot(time, 100.0 * done.finish_probability(time), color=style.VERMILION, linewidth=1.8)
    ax.axvline(done.expected, color=style.INK, linestyle=_DASH, linewidth=1.2)
    ax.annotate(
        f"mean {style.figures(done.expected)} h",
        (done.expected, 4),
        (6, 0),
        textcoords="offset points",
        color=style.INK,
    )
    ax.set_xlim(0.0, 1.02 * high)
    ax.set_ylim(0.0, 102.0)
    one = "node" if done.size == 1 else "nodes"
    message = f"On {done.size} {one}, {style.percent(done.success)} of the runs meet no failure"
    return style.finish(ax, message, "hours from the start", "done (%)")


def completion_by_shape(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Expected completion time of a job of fixed length by number of nodes (Figure 6.3).

    Parameters
    ----------
    table : DataFrame
        ``shape``, ``scale``, ``nodes``, ``expected``, as `papers.allocation.figure_6_3` gives.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = style.axes(ax)
    by = "scale" if len(set(table["scale"])) > 1 else "shape"
    groups = list(table.groupby(by, sort=True))
    for number, (key, rows) in enumerate(groups):
        value: Any = key
        name = f"scale {style.figures(float(value))} h" if by == "scale" else f"shape {float(value):g}"
        line: Any = "-" if number < len(style.PALETTE) else _DASH
        colour = style.PALETTE[number % len(style.PALETTE)]
        ax.plot(rows["nodes"], rows["expected"], color=colour, linestyle=line, linewidth=1.7, label=name)
    ax.set_yscale("log")
    style.decades(ax.yaxis, float(table["expected"].min()), float(table["expected"].max()))
    small = "scale" if by == "scale" else "shape"
    message = f"More nodes take longer where the work is not shared, most with a small {small}"
    return style.finish(ax, message, "nodes", "expected completion time (hours)", True)


def speedup_curves(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Completion time without failures by number of nodes and law (Figure 6.4).

    Parameters
    ----------
    table : DataFrame
        ``law``, ``parallel_fraction``, ``nodes``, ``length``, as `papers.allocation.figure_6_4` gives.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic.
    """
    ax = style.axes(ax)
    fractions = sorted(table["parallel_fraction"].unique())
    for (law, fraction), rows in table.groupby(["law", "parallel_fraction"], sort=True):
        colour = style.PALETTE[fractions.index(fraction) % len(style.PALETTE)]
        line: Any = "-" if law == "amdahl" else _DASH
        name = f"{str(law).capitalize()}, {fraction:g} parallel"
        ax.plot(rows["nodes"], rows["length"], color=colour, linestyle=line, linewidth=1.7, label=name)
    _log_axes(ax, table["nodes"].to_numpy(), table["length"].to_numpy())
    return style.finish(
        ax, "After Amdahl more nodes soon gain nothing, after Gustafson always", "nodes",
        "completion time without failures (hours)", True,
    )  # fmt: skip


def best_size_by_work(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Expected time on the best number of nodes by length of the job, sorted and random nodes (Figure 6.7 b).

    Parameters
    ----------
    table : DataFrame
        ``work``, ``nodes``, ``expected``, ``random_nodes``, ``random_expected``, as
        `papers.allocation.figure_6_7b` gives.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic; the numbers beside the marks are numbers of nodes.
    """
    ax = style.axes(ax)
    rows = (
        ("random_expected", "random_nodes", "nodes in random order", style.BLUE, _DASH, "s", 8),
        ("expected", "nodes", "most reliable first (RA-Opt)", style.VERMILION, "-", "o", -8),
    )
    for value, count, name, colour, line, marker, shift in rows:
        shown = np.where(np.isfinite(table[value]), table[value], np.nan)
        ax.plot(table["work"], shown, color=colour, linestyle=line, marker=marker, linewidth=1.7, label=name)
        for work, height, nodes in zip(table["work"], shown, table[count], strict=True):
            if np.isfinite(height):
                ax.annotate(
                    f"{nodes:.0f}", (work, height), (0, shift), textcoords="offset points", color=colour, fontsize=8,
                    ha="center", va="bottom" if shift > 0 else "top",
                )  # fmt: skip
    heights = table[["expected", "random_expected"]].to_numpy(dtype=np.float64).ravel()
    heights = heights[np.isfinite(heights)]
    _log_axes(ax, table["work"].to_numpy(), np.array([heights.min() / 2.0, heights.max() * 2.0]))
    return style.finish(
        ax, "The longer the job, the more it gains from reliable nodes, and from fewer of them",
        "work on one node (hours)", "expected completion time (hours)", True, loc="upper left",
    )  # fmt: skip


def _thinned(count: int, place: int) -> Any:
    """Places on a logarithmic net, with the best one."""
    if count <= _DRAWN:
        return np.arange(count)
    net = np.geomspace(1, count, _DRAWN).round().astype(int) - 1
    return np.unique(np.append(net, place))


def _log_axes(ax: Axes, x: Any, y: Any) -> None:
    ax.set_yscale("log")
    low, high = float(np.nanmin(y)), float(np.nanmax(y))
    if high < 1.02 * low:
        low, high = low / 1.2, high * 1.2
    ax.set_ylim(low / (high / low) ** 0.06, high * (high / low) ** 0.06)
    style.decades(ax.yaxis, low, high)
    if float(np.max(x)) > float(np.min(x)):
        ax.set_xscale("log")
        style.decades(ax.xaxis, float(np.min(x)), float(np.max(x)))
