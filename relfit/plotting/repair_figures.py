"""Repair times: quick and slow repairs of one group as densities, and of all groups side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import RepairKinds
from relfit.base.errors import ArgumentError
from relfit.base.text import duration, percent
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_ROWS = 14
_CURVES = {"ok": "both", "one_class": "two classes (no better)", "no_split": "two kinds that no time tells apart"}
_FITTED = tuple(_CURVES)


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
    if group is None:
        place = int(rows["repairs"].to_numpy().argmax())
    elif group in labels:
        place = labels.index(group)
    else:
        raise ArgumentError(f"no group {group!r}", remedy=f"the groups are {', '.join(map(str, labels[:8]))}")
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
            for kind, weight, density, colour in (
                ("quick", share, quick, style.GREEN),
                ("slow", 1.0 - share, slow, style.VERMILION),
            ):
                label = f"{kind}: {percent(weight)}"
                ax.plot(at, weight * density, color=colour, linewidth=1.6, linestyle="--", label=label)
                style.band(ax, at, weight * density, 0.0, colour)
            if low < row["split"] < high:
                label = f"split at {duration(row['split'])}"
                ax.axvline(row["split"], color=style.GREY, linewidth=1.4, linestyle=":", label=label)
        top = max(top, float(both.max()))
    style.decades(ax.xaxis, low, high)
    ax.set_xlim(low / 1.05, high * 1.05)
    ax.set_ylim(0, top * 1.06)
    if row["status"] == "ok":
        message = (
            f"{name}: {percent(row['share_quick'])} quick repairs of {duration(row['mean_quick'])} on "
            f"average; the others take {duration(row['mean_slow'])}"
        )
    elif row["status"] == "too_few":
        message = f"{name}: too few repairs to tell quick from slow ones"
    elif row["status"] == "no_split":
        message = f"{name}: two kinds of repair that no length tells apart, {duration(float(ended.mean()))} on average"
    else:
        message = f"{name}: one kind of repair, {duration(float(ended.mean()))} on average"
    return style.finish(ax, message, "time to repair (hours)", "repairs (%)", below=2)


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
        ax.text(
            0.985, y, words, transform=ax.get_yaxis_transform(), ha="right", va="center", fontsize=8.5, color=style.INK
        )
    names = [
        style.group_name(tuple(row)) if len(row) > 1 else str(row[0]) for row in shown[keys].to_numpy(dtype=object)
    ]
    counts = shown["repairs"].to_numpy()
    ax.set_yticks(place, [f"{style.plain(n, 14)} ({c:,})" for n, c in zip(names, counts, strict=True)])
    ax.grid(visible=False, axis="y")
    ax.set_ylim(-0.7, len(shown) - 0.3)
    message = style.headline(result)
    if left_out > 0:
        message += f" ({left_out} smaller ones not shown)"
    return style.finish(ax, message, "time to repair (hours)", "", below=3)
