"""Nodes against each other: events of each against a fleet of equal nodes, and mean times with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.screening.tallies import NodeTally, by_node
from relfit.text import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["count_axes", "failures_by_node", "group_name", "means_by_group", "node_name"]

MOST_GROUPS = 40


@plot.register(NodeTally)
def failures_by_node(tally: NodeTally | FailureLog, ax: Axes | None = None, *, name: int = 4) -> Axes:
    """How many nodes had how many events, against what equal nodes would show by chance (Poisson).

    Parameters
    ----------
    name : int
        Busiest nodes to name.
    """
    tally = tally if isinstance(tally, NodeTally) else by_node(tally)
    ax = style.axes(ax)
    counts = tally.table["events"].to_numpy(dtype=np.int64)
    if not counts.size or not counts.sum():
        return style.empty(ax, "No node failed, as far as the records name nodes")
    most = int(counts.max())
    width = max(int(np.ceil((most + 1) / 45)), 1)
    bins = most // width + 1
    heights = np.bincount(counts // width, minlength=bins)
    expected = np.add.reduceat(
        np.append(tally.expected_histogram(bins * width - 1), 0.0), np.arange(0, bins * width, width)
    )
    edges = np.arange(bins + 1) * width - 0.5
    ax.bar(edges[:-1], heights, width, align="edge", color=style.BLUE, edgecolor="white", linewidth=0.4, label="nodes")
    ax.stairs(expected, edges, color=style.ORANGE, linewidth=2.0, baseline=None, label="if all nodes were equal")
    top = max(float(heights.max()), float(expected.max()))
    count_axes(ax, edges, top, top > 60 * float(np.median(heights[heights > 0])), 1.2, 6)
    several = len(tally.table["system"].unique()) > 1
    named = tally.table.iloc[:name]
    words = "\n".join(
        f"{style.plain(group_name((s, n)) if several else node_name(n), 20)}: {count:,}"
        for s, n, count in zip(named["system"], named["node"], named["events"], strict=True)
        if count
    )
    ax.text(
        0.98, 0.70, f"most events\n{words}", ha="right", va="top", transform=ax.transAxes, fontsize=8.5,
        color=style.INK, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2},
    )  # fmt: skip
    unit = "events of a node" if width == 1 else f"events of a node (in steps of {width})"
    return style.finish(ax, style.headline(tally), unit, "nodes", True, loc="upper right")


def means_by_group(table: pd.DataFrame, ax: Axes | None = None, *, what: str = "MTTF", level: float = 0.95) -> Axes:
    """Mean times of groups, sorted, each with its interval; of the 40 groups with the most failures.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `relfit.fitting.mean_time`: indexed by group; ``failures``, ``hours``, ``mean``, ``low``, ``high``.
    what : str
        Name of the mean, such as ``"MTTF"``.
    level : float
        Of the intervals, for the legend.
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
    ax.set_xticks(place, [style.plain(group_name(label), 12) for label in shown.index],
                  rotation=90 if mean.size > 12 else 0)  # fmt: skip
    ax.set_xlim(-0.7, mean.size - 0.3)
    ax.grid(visible=False, axis="x")
    return style.finish(ax, message, "", f"{what} (hours)", True, ncols=2, loc="upper left", columnspacing=1.0)


def count_axes(ax: Axes, edges: np.ndarray, top: float, logarithmic: bool, room: float, log_room: float) -> None:
    """Axes of a histogram of nodes by their number of failures; `room` is left above the highest bar."""
    from matplotlib.ticker import MaxNLocator

    if logarithmic:
        ax.set_yscale("symlog", linthresh=1)
        ax.set_yticks([y for y in (0, 1, 10, 100, 1000, 10_000, 100_000) if y <= top * 3], minor=False)
        ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylim(0, top * (log_room if logarithmic else room))
    span = edges[-1] - edges[0]
    ax.set_xlim(edges[0] - 0.01 * span, edges[-1] * 1.02)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))


def group_name(label: Any) -> str:
    """A group's label as people write it: ``system / node``."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def node_name(node: str) -> str:
    """A node's name; a number alone says what it numbers.

    Examples
    --------
    >>> node_name("17"), node_name("n017")
    ('node 17', 'n017')
    """
    return f"node {node}" if str(node).isdecimal() else str(node)


def _mean_message(what: str, mean: np.ndarray, low: np.ndarray, high: np.ndarray, fleet: float, unseen: int) -> str:
    if mean.size == 1:
        return f"{what} {number(mean[0])} h, between {number(low[0])} and {number(high[0])} h"
    apart = int(((high < fleet) | (low > fleet)).sum())
    text = (
        f"{what} from {number(mean[0])} to {number(mean[-1])} h; "
        f"{apart:,} of {mean.size:,} intervals miss the common mean"
    )
    return f"{text} ({unseen:,} without a {'repair' if what == 'MTTR' else 'failure'})" if unseen else text
