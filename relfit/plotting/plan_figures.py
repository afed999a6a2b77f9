"""Plans: checkpoint intervals, migration and replication, spares of a cluster and of a job."""

from __future__ import annotations

from typing import Any

import numpy as np

from relfit.base.text import duration, percent
from relfit.planning.checkpointing.checkpoint_plan import CheckpointPlan
from relfit.planning.migration.migration_plan import MigrationPlan
from relfit.planning.replication.replication_plan import CopiedJob, ReplicationPlan
from relfit.planning.sparing.evaluation import SparingEvaluation
from relfit.planning.sparing.job_spares import SparesPlan
from relfit.planning.sparing.maps import SparingMap
from relfit.planning.sparing.sparing_plan import SparingPlan
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot
from relfit.simulation.sparing.sparing_simulation import SparingSimulation

_UNITS = ((1.0 / 60.0, 3600.0, "seconds"), (1.0, 60.0, "minutes"), (200.0, 1.0, "hours"), (np.inf, 1.0 / 24.0, "days"))
_SHARE = "share of the nodes that does useful work (%)"
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


@plot.register(CheckpointPlan)
def waste_over_interval(plan: CheckpointPlan, ax: Axes | None = None) -> Axes:
    """Waste by checkpoint interval, with the best interval, confidence intervals of both, and Young's and Daly's rules.

    The interval in use is marked where the plan has one.
    """
    ax = style.axes(ax)
    if plan.status != "ok" or plan.checkpoint_every <= 0.0:
        return style.empty(ax, style.headline(plan))
    scale, unit = next((scale, unit) for limit, scale, unit in _UNITS if plan.checkpoint_every < limit)
    x = plan.curve["checkpoint_every"].to_numpy() * scale
    y, low, high = (100.0 * plan.curve[name].to_numpy() for name in ("waste", "low", "high"))
    top = min(100.0, max(3.2 * 100.0 * plan.waste, 100.0 * plan.waste + 2.0))
    ax.plot(x, y, color=style.BLUE, linewidth=2.0, label="expected waste")
    if plan.n_draws:
        style.band(ax, x, low, high, style.BLUE, f"{percent(plan.level)} interval of the rate")
    if np.isfinite(plan.every_limits[0]):
        low_end, high_end = (end * scale for end in plan.every_limits)
        ax.axvspan(low_end, high_end, color=style.ORANGE, alpha=0.22, linewidth=0, label="interval of the best one")
    best, label = plan.checkpoint_every * scale, f"best: {duration(plan.checkpoint_every)}"
    ax.plot([best], [100.0 * plan.waste], "o", color=style.VERMILION, markersize=8, label=label, zorder=5)
    marks = {"Young 1974": "s", "Daly, higher order": "^"}
    rules = zip(*(plan.rules[name].tolist() for name in ("rule", "checkpoint_every", "waste")), strict=True)
    for rule, interval, waste in rules:
        if rule in marks and x[0] <= interval * scale <= x[-1] and 100.0 * waste < top:
            look: dict[str, Any] = {"color": style.INK, "markersize": 6, "markerfacecolor": "none", "zorder": 4}
            label = f"{rule}: {duration(interval)}"
            ax.plot([interval * scale], [100.0 * waste], marks[rule], label=label, **look)
    own = plan.checkpoint.every
    shown = np.flatnonzero(y < top)
    first, last = (x[shown[0]], x[shown[-1]]) if shown.size else (x[0], x[-1])
    if own is not None:
        label, place = f"in use: {duration(own)}", own * scale
        ax.axvline(place, color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.2, label=label)
        first, last = min(first, place / 1.2), max(last, place * 1.2)
    style.decades(ax.xaxis, float(first), float(last))
    ax.set(xlim=(first, last), ylim=(0.0, top))
    x_label = f"work between checkpoints ({unit})"
    return style.finish(ax, style.headline(plan), x_label, "time that is lost (%)", below=2)


@plot.register(MigrationPlan)
def yield_by_size(plan: MigrationPlan, ax: Axes | None = None) -> Axes:
    """Yield of checkpoints alone and of migration on predictions, by size of the job.

    Without a predictor in the plan: the recall from which migration pays, by precision.
    """
    ax = style.axes(ax)
    predictor = plan.predictor
    if predictor is None:
        return _quality_needed(plan, ax)
    table = plan.by_size
    sizes = table["nodes"].to_numpy(dtype=np.float64)
    alone = 100.0 * table["checkpoint_yield"].to_numpy(dtype=np.float64)
    moving = 100.0 * table["migration_yield"].to_numpy(dtype=np.float64)
    if sizes.size == 1:
        ax.bar([0, 1], [alone[0], moving[0]], 0.6, color=[style.BLUE, style.ORANGE])
        ax.set_xticks([0, 1], ["checkpoints alone", "migration on predictions"])
        low = float(min(alone[0], moving[0]))
        for place, value in enumerate((alone[0], moving[0])):
            ax.annotate(f"{value:.4g} %", (place, value), ha="center", va="bottom")
        bottom = 5.0 * np.floor(max(0.0, low - 5.0) / 5.0) if low > 60.0 else 0.0
        ax.set_ylim(bottom, bottom + 1.15 * (float(max(alone[0], moving[0])) - bottom))
        ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= 100.0])
        ax.grid(visible=False, axis="x")
        return style.finish(ax, style.headline(plan), "", _SHARE)
    label = f"migration on predictions (recall {float(predictor.recall):g}, precision {float(predictor.precision):g})"
    ax.plot(sizes, alone, "s-", color=style.BLUE, linewidth=1.8, markersize=5, label="checkpoints alone")
    ax.plot(sizes, moving, "o-", color=style.ORANGE, linewidth=1.8, markersize=5, label=label)
    ax.fill_between(sizes, alone, moving, where=moving > alone, color=style.ORANGE, alpha=0.12, linewidth=0)
    style.decades(ax.xaxis, sizes[0], sizes[-1])
    ax.set(xlim=(sizes[0] * 0.85, sizes[-1] * 1.2), ylim=(0.0, 128.0))
    ax.set_yticks(range(0, 101, 20))
    share = "share of its nodes that does useful work (%)"
    return style.finish(ax, style.headline(plan), "nodes of the job", share, True, loc="upper right")


def _quality_needed(plan: MigrationPlan, ax: Axes) -> Axes:
    """Recall from which migration pays, by precision."""
    table = plan.break_even.dropna()
    if not len(table):
        return style.empty(ax, style.headline(plan))
    ax.plot(table["precision"], table["recall"], "o-", color=style.ORANGE, linewidth=1.8, markersize=5)
    ax.set(xlim=(0.0, 1.05), ylim=(0.0, 1.0))
    return style.finish(ax, style.headline(plan), "precision", "least recall from which migration pays")


@plot.register(ReplicationPlan)
def yield_of_replicas(plan: ReplicationPlan, ax: Axes | None = None) -> Axes:
    """Yield of checkpoints alone, pairs and triples by number of nodes, with the break-even."""
    ax = style.axes(ax)
    middle = plan.break_even if np.isfinite(plan.break_even) else float(plan.nodes)
    low, high = max(min(middle, plan.nodes) / 60.0, 8.0), max(middle, plan.nodes) * 60.0
    nodes = np.unique(np.round(np.geomspace(low, high, 90)).astype(np.int64))
    save, restore, restart = plan.costs["save"], plan.costs["restore"], plan.costs["restart"]
    for replicas, name in plan.strategies[["replicas", "strategy"]].itertuples(index=False):
        share = CopiedJob(plan.mtbf, save, restore, restart, replicas, plan.overhead, plan.wide_rate).useful(nodes)
        ax.plot(nodes, 100.0 * share, color=style.PALETTE[replicas - 1], linewidth=2.0, label=name)
    if np.isfinite(plan.break_even_low):
        limits = plan.break_even_low, plan.break_even_high
        label = f"{percent(plan.level)} interval of the break-even"
        ax.axvspan(*limits, color=style.ORANGE, alpha=0.2, linewidth=0, label=label)
    ax.axvline(plan.nodes, color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.2, label=f"{plan.nodes:,} nodes")
    style.decades(ax.xaxis, float(nodes[0]), float(nodes[-1]))
    ax.set(xlim=(float(nodes[0]), float(nodes[-1])), ylim=(0.0, 100.0))
    return style.finish(ax, style.headline(plan), "nodes of the job, copies included", _SHARE, True, loc="upper right")


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
    shares = [percent(share) for share in won / won.sum()]
    patches = [Patch(color=palette[i], label=f"{labels[i]} ({shares[i]})") for i in order[: len(_COLOURS)]]
    message = f"blocks of {labels[order[0]]} GPUs are best at {shares[order[0]]} of the points"
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
    from matplotlib.ticker import MaxNLocator

    ax = style.axes(ax)
    spare = result.over_draws.spare_blocks[0]
    values, counts = np.unique(spare, return_counts=True)
    step = float(np.diff(values).min()) if values.size > 1 else 1.0
    ax.bar(values, 100.0 * counts / spare.size, width=0.85 * step, color=style.SKY)
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
