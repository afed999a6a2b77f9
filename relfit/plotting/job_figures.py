"""Jobs: expected completion time by number of nodes, and probability of completion over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.base.text import number, percent
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.system.jobs import BestSize, CompletionTime

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASH: Any = (0, (4, 2))
_DRAWN = 600
_HIGHEST = 30.0  # times the best expected time: the curve rises without bound


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
    heights = np.concatenate([shown[np.isfinite(shown)], result.lengths[places]])
    _log_axes(ax, sizes, heights)
    share = np.log(result.best / sizes[0]) / max(np.log(sizes[-1] / sizes[0]), 1e-9)
    side = "right" if share > 0.85 else "left" if share < 0.15 else "center"
    ax.annotate(
        f"{result.best:,} nodes: {number(best)} h",
        (result.best, best),
        (0, -9),
        textcoords="offset points",
        ha=side,
        va="top",
        color=style.INK,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )
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
    ax.set_xlim(0.0, 1.02 * high)
    ax.set_ylim(0.0, 102.0)
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
