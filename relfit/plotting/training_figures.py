"""Figures of simulated training clusters: where time goes, sweeps, what matters most, states of servers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.errors import ArgumentError
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.training.designs import TrainingDesigns
from relfit.training.sweeps import TrainingSweep, TwoWay
from relfit.training.traces import states_over_time
from relfit.training.training_simulation import TrainingSimulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["server_states", "training_designs", "training_sweep", "training_time", "training_tornado", "two_way_map"]

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
_MARKERS = "osD^vP"
_SEEN = 0.0005  # share from which a part is in the legend


@plot.register(TrainingSimulation)
def training_time(result: TrainingSimulation, ax: Axes | None = None) -> Axes:
    """Where the time of the job goes, in the mean over the runs."""
    ax = style.axes(ax, (7.6, 2.6))
    ax.grid(visible=False, axis="y")
    mean, left = result.outputs["mean"], 0.0
    whole = sum(float(mean.loc[key]) for key, _ in _PARTS.values())
    for name, (key, colour) in _PARTS.items():
        hours = float(mean.loc[key]) / 60.0
        if hours > _SEEN * whole / 60.0:
            label = f"{name}: {hours:,.0f} h"
            ax.barh([0.0], [hours], left=left, height=0.6, color=colour, label=label)
        left += hours
    ax.set_yticks([])
    ax.set_ylim(-0.9, 0.5)
    return style.finish(ax, style.headline(result), "time (hours)", "", legend=True, loc="lower left", ncol=3)


@plot.register(TrainingSweep)
def training_sweep(sweep: TrainingSweep, ax: Axes | None = None, *, experiment: str | None = None) -> Axes:
    """Training time over the values of an experiment, with intervals; one line per value of the second parameter.

    Parameters
    ----------
    experiment : str, optional
        Label of the experiment; the first when left out.
    """
    ax = style.axes(ax)
    chosen = next((each for each in sweep.experiments if experiment in (None, each.label)), None)
    if chosen is None:
        raise ArgumentError(
            f"there is no experiment {experiment!r}", remedy=f"the first is {sweep.experiments[0].label}"
        )
    table = sweep.of(chosen.label)
    groups = [("", table)]
    if isinstance(chosen, TwoWay):
        name = chosen.second.replace("_", " ")
        groups = [(f"{name} {value:g}", table[table["second_value"] == value]) for value in chosen.second_values]
    for i, (label, rows) in enumerate(groups):
        hours = rows[["mean", "low", "high"]].to_numpy(dtype=float) / 60.0
        error = np.abs(hours[:, 1:].T - hours[:, 0])
        colour = style.PALETTE[i % len(style.PALETTE)]
        at = rows["value"].to_numpy(dtype=float)
        ax.errorbar(at, hours[:, 0], error, marker=_MARKERS[i % 6], color=colour, capsize=3.0, label=label or None)
    message = f"{chosen.label}: mean training time with {100 * sweep.level:g} % limits, {sweep.n_replications} runs"
    return style.finish(ax, message, chosen.label, "training time (hours)", legend=len(groups) > 1)


def training_tornado(sweep: TrainingSweep, ax: Axes | None = None) -> Axes:
    """How far the range of each parameter moves the training time, the widest first."""
    ranges = sweep.ranges()
    ax = style.axes(ax, (7.6, 1.6 + 0.34 * len(ranges)))
    ax.grid(visible=False, axis="y")
    low, high = ranges["low"].to_numpy(dtype=float) / 60.0, ranges["high"].to_numpy(dtype=float) / 60.0
    at = np.arange(len(ranges))
    ax.barh(at, high - low, left=low, height=0.66, color=style.BLUE)
    for i, row in enumerate(ranges.itertuples()):
        ax.annotate(f" {row.low_at:g} to {row.high_at:g}", (high[i], i), va="center", fontsize=8)
    ax.set_yticks(at, [str(name) for name in ranges.index])
    ax.invert_yaxis()
    ax.margins(x=0.18)
    style.finish(ax, style.headline(sweep), "training time (hours)", "")
    style.title(ax, style.headline(sweep), room=0.6)
    return ax


def two_way_map(sweep: TrainingSweep, ax: Axes | None = None, *, experiment: str | None = None) -> Axes:
    """Training time over two parameters as a map.

    Parameters
    ----------
    experiment : str, optional
        Label of an experiment with two parameters; the first of them when left out.
    """
    two = [each for each in sweep.experiments if isinstance(each, TwoWay) and experiment in (None, each.label)]
    ax = style.axes(ax)
    if not two:
        return style.empty(ax, "no experiment has two parameters")
    chosen = two[0]
    table = sweep.of(chosen.label).pivot_table(index="second_value", columns="value", values="mean", sort=False) / 60.0
    image = ax.imshow(table.to_numpy(), aspect="auto", origin="lower", cmap="cividis")
    ax.grid(visible=False)
    middle = float(table.to_numpy().mean())
    for (i, j), hours in np.ndenumerate(table.to_numpy()):
        ax.text(j, i, f"{hours:,.0f}", ha="center", va="center", color="white" if hours < middle else "black")
    ax.set_xticks(range(table.shape[1]), [f"{value:g}" for value in table.columns])
    ax.set_yticks(range(table.shape[0]), [f"{value:g}" for value in table.index])
    ax.figure.colorbar(image, ax=ax, label="training time (hours)")
    return style.finish(
        ax, f"mean training time, {sweep.n_replications} runs", chosen.label, chosen.second.replace("_", " ")
    )


@plot.register(TrainingDesigns)
def training_designs(result: TrainingDesigns, ax: Axes | None = None) -> Axes:
    """Effective training ratio of the designs, by cost or by the one key that differs."""
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
    """Servers that neither run the job nor idle, over time, in one replication.

    Parameters
    ----------
    replication : int
        Which one; the simulation must have kept its trace.
    """
    states = states_over_time(result, replication)
    states = states.iloc[:-1]  # at the end all go idle
    ax = style.axes(ax)
    for i, name in enumerate(name for name in states.columns if name not in ("active", "spare")):
        colour = style.CAUSE_COLOURS[i % len(style.CAUSE_COLOURS)]
        label = name.replace("_", " ")
        ax.step(states.index / 1440.0, states[name], where="post", color=colour, label=label, lw=1.0)
    active = states["active"]
    message = f"{int(active.max()):,} servers run the job; the others over {states.index[-1] / 1440.0:,.0f} days"
    return style.finish(ax, message, "time (days)", "servers", legend=True)
