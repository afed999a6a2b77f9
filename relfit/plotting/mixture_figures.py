"""Unequal nodes and unequal repairs: nodes by number of failures, quick and slow repairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import OutlierNodes, RepairKinds
from relfit.base.errors import ArgumentError
from relfit.base.numeric.poisson import poisson_pmf
from relfit.base.text import duration, first_names, percent
from relfit.fleet.prediction.mixing import log_negative_binomial
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot

_BARS = 45
_KINDS = 60  # different observation times
_MOST_ROWS = 14
_CURVES = {"ok": "both", "one_class": "two classes (no better)", "no_split": "two kinds that no time tells apart"}
_FITTED = tuple(_CURVES)


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
    _count_axes(ax, edges, max(float((good + bad).max()), float(equal.max())))
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
    wide = np.exp(log_negative_binomial(at, mean, mean + over))
    return np.asarray(np.where(over > 1e-6 * mean, wide, poisson_pmf(at, mean)))


def _kinds(hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different times under observation, similar ones joined where there are many, and how many nodes have each."""
    time, weight = np.unique(hours, return_counts=True)
    if time.size > _KINDS:
        place = np.arange(time.size) * _KINDS // time.size
        total = np.bincount(place, weight, _KINDS)
        return np.bincount(place, weight * time, _KINDS) / total, total
    return time, weight.astype(np.float64)


def repair_times(result: RepairKinds, ax: Axes | None = None, *, group: object = None) -> Axes:
    """Repair times of one group on a log axis, with the fitted quick and slow repairs and the split.

    Parameters
    ----------
    group : hashable, optional
        Such as a cause; by default the group with the most repairs.

    Raises
    ------
    ArgumentError
        When there is no such group, or the result does not hold its repairs.
    """
    ax = style.axes(ax)
    lives = result.lives
    if lives is None:
        raise ArgumentError("this result does not hold its repairs", remedy="make it with rf.screening.repair_kinds")
    rows = result.best()
    if not len(rows) or not rows["repairs"].sum():
        return style.empty(ax, "No repair was observed to its end, so there are no repair times to show")
    labels = list(lives.groups)
    if group is not None and group not in labels:
        raise ArgumentError(f"no group {group!r}", remedy=f"the groups are {first_names(labels)}")
    place = int(rows["repairs"].to_numpy().argmax()) if group is None else labels.index(group)
    row, name = rows.iloc[place], style.plain(style.group_name(labels[place]), 24)
    part = slice(int(lives.offsets[place]), int(lives.offsets[place + 1]))
    ended = lives.durations[part][lives.observed[part]]
    ended = ended[ended > 0.0]
    if not ended.size:
        return style.empty(ax, f"No repair of {name} was observed to its end")
    low, high = float(ended.min()), float(ended.max())
    if low == high:
        low, high = low / 2.0, high * 2.0
    edges = np.geomspace(low, high * 1.0001, int(np.clip(np.sqrt(ended.size) * 1.5, 6, 45)) + 1)
    counts = np.histogram(ended, edges)[0]
    step = np.log(edges[1] / edges[0])
    ax.set_xscale("log")
    ax.stairs(100.0 * counts / ended.size, edges, fill=True, color=style.SKY, label=f"{ended.size:,} repairs")
    at = np.geomspace(low, high, 400)
    top = 100.0 * float(counts.max()) / ended.size
    if row["status"] in _FITTED:
        share = float(row["share_quick"])
        quick, slow = (100.0 * step * _density(row, kind, at) for kind in ("quick", "slow"))
        both = share * quick + (1.0 - share) * slow
        ax.plot(at, both, color=style.INK, linewidth=1.8, label=_CURVES[row["status"]])
        if row["status"] == "ok":
            parts = ("quick", share, quick, style.GREEN), ("slow", 1.0 - share, slow, style.VERMILION)
            for kind, weight, density, colour in parts:
                label = f"{kind}: {percent(weight)}"
                ax.plot(at, weight * density, color=colour, linewidth=1.6, linestyle="--", label=label)
                style.band(ax, at, weight * density, 0.0, colour)
            if low < row["split"] < high:
                label = f"split at {duration(row['split'])}"
                ax.axvline(row["split"], color=style.GREY, linewidth=1.4, linestyle=":", label=label)
        top = max(top, float(both.max()))
    style.decades(ax.xaxis, low, high)
    ax.set(xlim=(low / 1.05, high * 1.05), ylim=(0, top * 1.06))
    message = f"one kind of repair, {duration(float(ended.mean()))} on average"
    if row["status"] == "ok":
        message = f"{percent(row['share_quick'])} quick repairs of {duration(row['mean_quick'])} on average; "
        message += f"the others take {duration(row['mean_slow'])}"
    elif row["status"] == "too_few":
        message = "too few repairs to tell quick from slow ones"
    elif row["status"] == "no_split":
        message = f"two kinds of repair that no length tells apart, {duration(float(ended.mean()))} on average"
    return style.finish(ax, f"{name}: {message}", "time to repair (hours)", "repairs (%)", below=2)


def _density(row: pd.Series, kind: str, at: np.ndarray) -> np.ndarray:
    """Density of the log of the repair time, per unit of the natural log."""
    median, sigma = float(row[f"median_{kind}"]), float(row[f"sigma_{kind}"])
    if np.isfinite(sigma):
        return np.asarray(np.exp(-0.5 * (np.log(at / median) / sigma) ** 2) / (sigma * np.sqrt(2.0 * np.pi)))
    share = at / (median / np.log(2.0))
    return np.asarray(share * np.exp(-share))


@plot.register(RepairKinds)
def repair_classes(result: RepairKinds, ax: Axes | None = None) -> Axes:
    """Means of quick and slow repairs with intervals, and the share of quick ones; the 14 groups with most repairs."""
    ax = style.axes(ax)
    rows = result.best()
    shown = rows[rows["status"].isin(_FITTED)].sort_values("repairs", ascending=False, kind="stable")
    left_out = len(shown) - _MOST_ROWS
    shown = shown.head(_MOST_ROWS)
    if shown.empty:
        return style.empty(ax, "No group has ten repairs with a known end that could be distinguished")
    keys = list(rows.columns[: rows.columns.get_loc("model")])
    place = np.arange(len(shown))[::-1].astype(float)
    two = (shown["status"] == "ok").to_numpy()  # otherwise there are no two kinds, quick and slow
    share = shown["share_quick"].to_numpy(float)
    ax.set_xscale("log")
    limits = []
    kinds = (("quick", style.GREEN, "o", share), ("slow", style.VERMILION, "s", 1.0 - share))
    for kind, colour, mark, weight in kinds:
        mean, low, high = (shown[f"mean_{kind}{end}"].to_numpy(float)[two] for end in ("", "_low", "_high"))
        if not mean.size:
            continue
        low, high = np.where(np.isfinite(low), low, mean), np.where(np.isfinite(high), high, mean)
        low, high = np.maximum(low, mean / 30.0), np.minimum(high, mean * 30.0)  # wider ones squeeze the others
        ax.hlines(place[two], low, high, color=colour, linewidth=2.4, alpha=0.55)
        edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.5, "label": f"mean of {kind} ones"}
        ax.scatter(mean, place[two], s=18.0 + 110.0 * weight[two], marker=mark, color=colour, zorder=3, **edge)
        limits += [low, high]
    if (~two).any():
        mean = shown["mean"].to_numpy(float)[~two]
        ax.plot(mean, place[~two], "D", color=style.GREY, ms=6, label="mean: one kind")
        limits.append(mean)
    split = np.where(two, shown["split"].to_numpy(float), np.nan)
    if np.isfinite(split).any():
        ax.plot(split, place, "|", color=style.INK, ms=13, mew=1.6, label="split")
        limits.append(split[np.isfinite(split)])
    every = np.concatenate(limits)
    first, last = float(every.min()), float(every.max())
    ax.set_xlim(first / 1.5, last * max((last / first) ** 0.45, 3.0))
    style.decades(ax.xaxis, first / 1.5, last * 1.5)
    for y, status, part in zip(place, shown["status"], share, strict=True):
        words = {"one_class": "one kind", "no_split": "no clear split"}.get(status, f"{percent(part)} quick")
        at_right: Any = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center"}
        ax.text(0.985, y, words, fontsize=8.5, color=style.INK, **at_right)
    names = [" / ".join(map(str, row)) for row in shown[keys].to_numpy(dtype=object)]
    counts = shown["repairs"].to_numpy()
    ax.set_yticks(place, [f"{style.plain(n, 14)} ({c:,})" for n, c in zip(names, counts, strict=True)])
    ax.grid(visible=False, axis="y")
    ax.set_ylim(-0.7, len(shown) - 0.3)
    message = style.headline(result) + (f" ({left_out} smaller ones not shown)" if left_out > 0 else "")
    return style.finish(ax, message, "time to repair (hours)", "", below=3)
