"""Migration and replication plans: what each strategy yields by the size of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.base.text import percent
from relfit.planning.migration.migration_plan import MigrationPlan
from relfit.planning.replication.replication_plan import ReplicationPlan
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARE = "share of the nodes that does useful work (%)"
_NAMES = {1: "checkpoints alone", 2: "pairs", 3: "triples"}


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
    ax.set_xlim(sizes[0] * 0.85, sizes[-1] * 1.2)
    ax.set_ylim(0.0, 128.0)
    ax.set_yticks(range(0, 101, 20))
    share = "share of its nodes that does useful work (%)"
    return style.finish(ax, style.headline(plan), "nodes of the job", share, True, loc="upper right")


def _quality_needed(plan: MigrationPlan, ax: Axes) -> Axes:
    """Recall from which migration pays, by precision."""
    table = plan.break_even.dropna()
    if not len(table):
        return style.empty(ax, style.headline(plan))
    ax.plot(table["precision"], table["recall"], "o-", color=style.ORANGE, linewidth=1.8, markersize=5)
    ax.set_xlim(0.0, 1.05)
    ax.set_ylim(0.0, 1.0)
    return style.finish(ax, style.headline(plan), "precision", "least recall from which migration pays")


@plot.register(ReplicationPlan)
def yield_of_replicas(plan: ReplicationPlan, ax: Axes | None = None) -> Axes:
    """Yield of checkpoints alone, pairs and triples by number of nodes, with the break-even."""
    from relfit.planning.replication.replicas import CopiedJob

    ax = style.axes(ax)
    middle = plan.break_even if np.isfinite(plan.break_even) else float(plan.nodes)
    low, high = min(middle, plan.nodes) / 60.0, max(middle, plan.nodes) * 60.0
    low = max(low, 8.0)
    nodes = np.unique(np.round(np.geomspace(low, high, 90)).astype(np.int64))
    save, restore, restart = plan.costs["save"], plan.costs["restore"], plan.costs["restart"]
    most = int(plan.strategies["replicas"].max())
    for replicas in range(1, most + 1):
        share = CopiedJob(plan.mtbf, save, restore, restart, replicas, plan.overhead, plan.wide_rate).useful(nodes)
        name = _NAMES.get(replicas, f"{replicas} copies")
        ax.plot(nodes, 100.0 * share, color=style.PALETTE[replicas - 1], linewidth=2.0, label=name)
    if np.isfinite(plan.break_even_low):
        limits = plan.break_even_low, plan.break_even_high
        label = f"{percent(plan.level)} interval of the break-even"
        ax.axvspan(*limits, color=style.ORANGE, alpha=0.2, linewidth=0, label=label)
    ax.axvline(plan.nodes, color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.2, label=f"{plan.nodes:,} nodes")
    style.decades(ax.xaxis, float(nodes[0]), float(nodes[-1]))
    ax.set_xlim(float(nodes[0]), float(nodes[-1]))
    ax.set_ylim(0.0, 100.0)
    return style.finish(ax, style.headline(plan), "nodes of the job, copies included", _SHARE, True, loc="upper right")
