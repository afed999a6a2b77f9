"""OutlierNodes: how many nodes had how many failures, against equal nodes and against two classes of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from relfit.analyses.screening import OutlierNodes
from relfit.base.numeric.poisson import poisson_pmf
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BARS = 45
_KINDS = 60  # different observation times


@plot.register(OutlierNodes)
def outlier_nodes(result: OutlierNodes, ax: Axes | None = None) -> Axes:
    """Nodes by number of failures, beside equal nodes and the best model of their differences; outliers are marked.

    That model is two classes of nodes, or rates that vary continuously.
    """
    ax = style.axes(ax)
    nodes = result.nodes
    events = nodes["events"].to_numpy(np.int64)
    if not events.sum():
        return style.empty(ax, "No node failed, as far as the records name nodes, so none stands out")
    flagged = nodes["outlier"].to_numpy(bool)
    most = int(events.max())
    width = max(-(-(most + 1) // _BARS), 1)
    bins = most // width + 1
    edges = np.arange(bins + 1) * width - 0.5
    good = np.bincount(events[~flagged] // width, minlength=bins)
    bad = np.bincount(events[flagged] // width, minlength=bins)
    look: Any = {"align": "edge", "edgecolor": "white", "linewidth": 0.4}
    ax.bar(edges[:-1], good, width, color=style.SKY, label="nodes", **look)
    if flagged.any():
        ax.bar(edges[:-1], bad, width, bottom=good, color=style.VERMILION, label="outlier nodes", **look)
    equal, best, worse, words = _expected(result, bins * width, width)
    ax.stairs(equal, edges, color=style.ORANGE, linewidth=2.0, baseline=None, label="if all were equal")
    if words:
        ax.stairs(best, edges, color=style.INK, linewidth=1.6, baseline=None, label=words)
    if worse.any():
        ax.stairs(worse, edges, color=style.INK, linewidth=1.2, linestyle=":", baseline=None, label="the bad class")
    top = max(float((good + bad).max()), float(equal.max()))
    _count_axes(ax, edges, top)
    unit = "failures of a node" if width == 1 else f"failures of a node (in steps of {width})"
    return style.finish(ax, style.headline(result), unit, "nodes", below=2)


def _count_axes(ax: Axes, edges: np.ndarray, top: float) -> None:
    """Axes of a histogram of nodes by their number of failures, with a little room above the highest bar."""
    from matplotlib.ticker import MaxNLocator

    if top > 40:
        ax.set_yscale("symlog", linthresh=1)
        ax.set_yticks([y for y in (0, 1, 10, 100, 1000, 10_000, 100_000) if y <= top * 3], minor=False)
        ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set_ylim(0, top * (2.0 if top > 40 else 1.1))
    span = edges[-1] - edges[0]
    ax.set_xlim(edges[0] - 0.01 * span, edges[-1] * 1.02)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))


def _expected(result: OutlierNodes, count: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Expected nodes in each bar: equal within a system, by the best model, its bad class; and that model's name."""
    equal, best, worse = (np.zeros(count) for _ in range(3))
    at = np.arange(count)
    rows = {str(row["system"]): row for _, row in result.classes.iterrows()}
    used = set()
    for system, part in result.nodes.groupby("system", observed=True, sort=False):
        hours = part["hours"].to_numpy(float)
        watched = hours > 0.0
        if not watched.any():
            continue
        rate = part["events"].to_numpy(float)[watched].sum() / hours[watched].sum()
        time, weight = _kinds(hours[watched])
        row = rows[str(system)]
        excess = float(row["scatter"]) - 1.0
        alike = weight @ _counts(at, rate * time, excess)
        equal += alike
        if np.isfinite(row["ratio"]):
            used.add("two classes of nodes")
            other = row["fraction"] * (weight @ _counts(at, row["rate"] * row["ratio"] * time, excess))
            best += (1.0 - row["fraction"]) * (weight @ _counts(at, row["rate"] * time, excess)) + other
            worse += other
        elif row["spread"] > 0.0:
            used.add("rates that vary continuously")
            best += weight @ _counts(at, rate * time, excess, row["spread"] ** 2)
        else:
            best += alike
    starts = np.arange(0, count, width)
    equal, best, worse = (np.add.reduceat(values, starts) for values in (equal, best, worse))
    return equal, best, worse, used.pop() if len(used) == 1 else "rates that differ" if used else ""


def _counts(at: np.ndarray, mean: np.ndarray, excess: float, spread: float = 0.0) -> np.ndarray:
    """Probabilities of numbers of failures, shape (means, numbers): variance ``mean (1 + excess) + spread mean**2``."""
    mean = mean[:, None]
    over = np.maximum(excess * mean + spread * mean**2, 0.0)
    with np.errstate(all="ignore"):
        shape = mean**2 / over
        ways = special.gammaln(at + shape) - special.gammaln(at + 1.0) - special.gammaln(shape)
        wide = np.exp(ways + shape * np.log(shape / (shape + mean)) + special.xlogy(at, mean / (shape + mean)))
    return np.asarray(np.where(over > 1e-6 * mean, wide, poisson_pmf(at, mean)))


def _kinds(hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different times under observation, similar ones joined where there are many, and how many nodes have each."""
    time, weight = np.unique(hours, return_counts=True)
    if time.size > _KINDS:
        place = np.arange(time.size) * _KINDS // time.size
        total = np.bincount(place, weight, _KINDS)
        return np.bincount(place, weight * time, _KINDS) / total, total
    return time, weight.astype(np.float64)
