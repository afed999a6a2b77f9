"""Figures of simulated training clusters: where time goes, designs, states of servers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.simulation.training.designs import TrainingDesigns
from relfit.simulation.training.traces import states_over_time
from relfit.simulation.training.training_simulation import TrainingSimulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PARTS = {
    "compute": ("total_compute_time", style.BLUE),
    "lost": ("total_lost_time", style.VERMILION),
    "saving": ("total_save_time", style.SKY),
    "recovery": ("total_recovery_time", style.ORANGE),
    "host selection": ("total_host_selection_time", style.GREEN),
    "waiting for spares": ("total_wait_time", style.PURPLE),
    "stalled": ("total_stall_time", style.OLIVE),
    "cluster down": ("total_down_time", style.GREY),
}
_SEEN = 0.0005  # least share of a part in the legend


@plot.register(TrainingSimulation)
def training_time(result: TrainingSimulation, ax: Axes | None = None) -> Axes:
    """Mean use of the job's time over the runs."""
    ax = style.axes(ax, (7.6, 2.6))
    ax.grid(visible=False, axis="y")
    mean, left = result.outputs["mean"], 0.0
    total = sum(float(mean.loc[key]) for key, _ in _PARTS.values())
    for name, (key, colour) in _PARTS.items():
        hours = float(mean.loc[key]) / 60.0
        if hours > _SEEN * total / 60.0:
            label = f"{name}: {hours:,.0f} h"
            ax.barh([0.0], [hours], left=left, height=0.6, color=colour, label=label)
        left += hours
    ax.set_yticks([])
    ax.set_ylim(-0.9, 0.5)
    return style.finish(ax, style.headline(result), "time (hours)", "", legend=True, loc="lower left", ncol=3)


@plot.register(TrainingDesigns)
def training_designs(result: TrainingDesigns, ax: Axes | None = None) -> Axes:
    """Effective training ratio of designs, by cost or by the parameter that differs."""
    ax = style.axes(ax)
    table = result.designs
    by = "cost" if "cost" in table else result.keys[0]
    table = table.sort_values(by)
    etr = 100.0 * table[["etr", "etr_low", "etr_high"]].to_numpy(dtype=float)
    for enough, colour, label in ((True, style.BLUE, "suffices"), (False, style.ORANGE, "does not")):
        rows = (table["suffices"] == enough).to_numpy()
        if rows.any():
            error = np.abs(etr[rows, 1:].T - etr[rows, 0])
            at = table[by].to_numpy(dtype=float)[rows]
            ax.errorbar(at, etr[rows, 0], error, fmt="o", color=colour, capsize=3.0, label=label)
    message = style.headline(result)
    return style.finish(ax, message, by.replace("_", " "), "effective training ratio (%)", legend=True)


def server_states(result: TrainingSimulation, ax: Axes | None = None, *, replication: int = 0) -> Axes:
    """Servers in each state except active and spare over time, in one replication.

    Parameters
    ----------
    replication : int
        Number of the replication, from 0.

    Raises
    ------
    ArgumentError
        When the simulation kept no trace, or has no such replication.
    """
    states = states_over_time(result, replication)
    states = states.iloc[:-1]  # at the end all servers become idle
    ax = style.axes(ax)
    for i, name in enumerate(name for name in states.columns if name not in ("active", "spare")):
        colour = style.CAUSE_COLOURS[i % len(style.CAUSE_COLOURS)]
        label = name.replace("_", " ")
        ax.step(states.index / 1440.0, states[name], where="post", color=colour, label=label, lw=1.0)
    active = states["active"]
    message = f"{int(active.max()):,} servers run the job; the others over {states.index[-1] / 1440.0:,.0f} days"
    return style.finish(ax, message, "time (days)", "servers", legend=True)
