"""Nodes against each other: events of each against a fleet of equal nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.failurelog import FailureLog
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.screening.tallies import NodeTally, by_node

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["count_axes", "failures_by_node", "group_name", "node_name"]


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
