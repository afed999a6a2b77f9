"""Figures of sparing: where GPU hours go, decision maps, uncertainty, simulation; hot spares of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.base.text import percent
from relfit.planning.sparing.evaluation import SparingEvaluation
from relfit.planning.sparing.job_spares import SparesPlan
from relfit.planning.sparing.maps import SparingMap
from relfit.planning.sparing.sparing_plan import SparingPlan
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.simulation.sparing.sparing_simulation import SparingSimulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "useful": style.BLUE,
    "spare_trays": style.SKY,
    "spare_blocks": style.GREEN,
    "stranded": style.OLIVE,
    "blocked": style.VERMILION,
    "reduced": style.PALE,
    "saves": style.INK,
    "rework": style.ORANGE,
    "detection": style.PURPLE,
    "restart": style.GREY,
}
_ROWS = 10
_SEEN = 0.0005  # least share of a part in the legend


@plot.register(SparingEvaluation)
def gpu_hours(evaluation: SparingEvaluation, ax: Axes | None = None) -> Axes:
    """Use of the GPU hours by strategy, best first (at most ten); the mean where there are several cases."""
    cases = tuple(range(1, evaluation.cett.ndim))
    goodput = evaluation.goodput.mean(axis=cases)
    order = np.argsort(-goodput, kind="stable")[:_ROWS]
    ax = style.axes(ax, (7.6, 1.7 + 0.36 * order.size))
    ax.grid(visible=False, axis="y")
    left = np.zeros(order.size)
    at = np.arange(order.size)
    for name, values in evaluation.shares.items():
        width = 100.0 * values.mean(axis=cases)[order]
        if width.max() <= 100.0 * _SEEN:
            continue
        ax.barh(at, width, left=left, height=0.72, color=_COLOURS[name], label=name.replace("_", " "))
        left += width
    labels = evaluation.labels
    ax.set_yticks(at, [f"{labels[i]}: {goodput[i]:,.0f} GPUs" for i in order])
    ax.invert_yaxis()
    ax.set_xlim(0.0, 100.0)
    style.finish(ax, style.headline(evaluation), "share of GPU hours [%]", "GPUs/working GPUs per block: goodput")
    style.title(ax, style.headline(evaluation), room=0.75)
    figure: Any = ax.get_figure(root=True)
    height = ax.get_position().height * figure.get_size_inches()[1]
    under: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.4, -0.55 / max(height, 0.5)), "ncols": 4}
    ax.legend(frameon=False, fontsize=8.5, columnspacing=1.2, handlelength=1.4, **under)
    return ax


@plot.register(SparingMap)
def decision_map(result: SparingMap, ax: Axes | None = None) -> Axes:
    """The best strategy by MTBF of a tray and MTTR, both in hours, with the boundaries between strategies."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ax = style.axes(ax, (6.8, 4.6))
    ax.grid(visible=False)
    won = np.bincount(result.winner.ravel(), minlength=len(result.evaluation.labels))
    order = [int(i) for i in np.argsort(-won, kind="stable") if won[i]]
    shown = np.searchsorted(np.sort(order), result.winner)
    palette = _tints(len(result.evaluation.labels))  # a strategy has the same colour in every map of the evaluation
    colours = ListedColormap([palette[i] for i in sorted(order)])
    scale: dict[str, Any] = {"cmap": colours, "vmin": -0.5, "vmax": len(order) - 0.5}
    ax.pcolormesh(result.mtbf, result.mttr, shown, shading="nearest", rasterized=True, **scale)
    if len(result.boundaries):
        ax.plot(result.boundaries["mtbf"], result.boundaries["mttr"], ".", color=style.INK, markersize=2.2)
    style.decades(ax.xaxis, float(result.mtbf[0]), float(result.mtbf[-1]))
    style.decades(ax.yaxis, float(result.mttr[0]), float(result.mttr[-1]))
    labels = result.evaluation.labels
    patches = [
        Patch(color=palette[i], label=f"{labels[i]} ({percent(won[i] / won.sum())})") for i in order[: len(_COLOURS)]
    ]
    message = f"blocks of {labels[order[0]]} GPUs are best at {percent(won[order[0]] / won.sum())} of the points"
    style.finish(ax, message, "MTBF of a tray (hours)", "MTTR (hours)")
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False}
    ax.legend(handles=patches, title="GPUs/working GPUs per block", **beside)
    return ax


def _tints(count: int) -> list[str]:
    """A number of colours: those of the palette, then lighter ones."""
    from matplotlib.colors import to_hex, to_rgb

    colours = []
    for i in range(count):
        base = np.array(to_rgb(style.PALETTE[i % len(style.PALETTE)]))
        light = 0.25 + 0.65 * min(i // len(style.PALETTE), 4) / 4.0
        red, green, blue = (base + light * (1.0 - base)).tolist()
        colours.append(to_hex((red, green, blue)))
    return colours


@plot.register(SparingPlan)
def uncertain_spares(result: SparingPlan, ax: Axes | None = None) -> Axes:
    """Share of the draws in which each number of spare blocks is best."""
    ax = style.axes(ax)
    spare = result.over_draws.spare_blocks[0]
    values, counts = np.unique(spare, return_counts=True)
    step = float(np.diff(values).min()) if values.size > 1 else 1.0
    ax.bar(values, 100.0 * counts / spare.size, width=0.85 * step, color=style.SKY)
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    row: Any = result.intervals.set_index("quantity").loc["spare_blocks"]
    ax.set_xlim(float(values.min()) - step - 0.5, float(values.max()) + step + 0.5)
    ax.set_ylim(0.0, 130.0 * counts.max() / spare.size)  # room for the legend
    ax.axvspan(row["low"] - 0.5 * step, row["high"] + 0.5 * step, color=style.PALE, zorder=0)
    ax.axvline(row["estimate"], color=style.VERMILION, label=f"best for the estimates: {row['estimate']:.0f}")
    robust = float(result.robust.spare_blocks.flat[0])
    label = f"robust: {robust:.0f} ({result.robust.labels[0]})"
    ax.axvline(robust, color=style.INK, linestyle=(0, (3, 2)), label=label)
    x = f"best number of spare blocks per zone ({result.over_draws.labels[0]})"
    return style.finish(ax, style.headline(result), x, "share of draws [%]", legend=True)


@plot.register(SparingSimulation)
def simulated_hours(result: SparingSimulation, ax: Axes | None = None) -> Axes:
    """Shares of GPU hours, simulated and by the closed form."""
    table = result.shares
    table = table[(table["simulated"] > _SEEN) | (table["closed_form"] > _SEEN)]
    ax = style.axes(ax, (6.8, 1.4 + 0.42 * len(table)))
    ax.grid(visible=False, axis="y")
    at = np.arange(len(table))
    middle = 100.0 * table["simulated"].to_numpy()
    reach = 100.0 * (table["high"] - table["simulated"]).to_numpy()
    ax.barh(at - 0.19, 100.0 * table["closed_form"], height=0.36, color=style.SKY, label="closed form")
    ax.barh(at + 0.19, middle, height=0.36, color=style.BLUE, label="simulated")
    ax.errorbar(middle, at + 0.19, xerr=reach, fmt="none", ecolor=style.INK, capsize=2)
    ax.set_yticks(at, [str(name).replace("_", " ") for name in table.index])
    ax.invert_yaxis()
    return style.finish(ax, style.headline(result), "share of GPU hours [%]", "", legend=True, loc="lower right")


@plot.register(SparesPlan)
def hot_spares(plan: SparesPlan, ax: Axes | None = None) -> Axes:
    """Share of the time that the job waits for a node, by number of hot spares, with its interval and the limit."""
    ax = style.axes(ax)
    spares = plan.table["spares"].to_numpy()
    waiting, low, high = (100.0 * plan.table[name].to_numpy() for name in ("waiting", "waiting_low", "waiting_high"))
    if waiting.max() <= 0.0:
        return style.empty(ax, style.headline(plan))
    ax.plot(spares, waiting, "o-", color=style.BLUE, linewidth=1.6, markersize=5, label="waiting")
    if plan.n_draws:
        style.band(ax, spares, low, high, style.BLUE, f"{percent(plan.level)} interval")
    ax.axhline(100.0 * plan.limit, color=style.INK, linestyle=(0, (3, 2)), label=f"limit: {percent(plan.limit)}")
    label = f"needed: {plan.spares} ({percent(plan.waiting)})"
    ax.plot([plan.spares], [100.0 * plan.waiting], "o", color=style.VERMILION, markersize=9, label=label, zorder=5)
    shares = np.concatenate([waiting, low, high, [100.0 * plan.limit]])
    shares = shares[shares > 0.0]  # a share of less than 1e-300 is none on a logarithmic axis
    style.decades(ax.yaxis, max(float(shares.min()), 1e-6 * float(shares.max())), float(shares.max()))
    ax.set_xticks(spares)
    y = "share of the time that it waits (%)"
    return style.finish(ax, style.headline(plan), "hot spares of the job", y, legend=True)
