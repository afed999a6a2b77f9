"""Simulated clusters: queue and nodes over time, waits over repair times, training jobs; what a workload is made of."""

from __future__ import annotations

import numpy as np

from relfit.base.errors import DataError
from relfit.base.text import duration, percent
from relfit.io.workloads import Workload, shares
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot
from relfit.simulation.batch import RepairSweep
from relfit.simulation.batch.batch_results import BatchRun
from relfit.simulation.training.designs import TrainingDesigns
from relfit.simulation.training.traces import states_over_time
from relfit.simulation.training.training_simulation import TrainingSimulation

_DAY = 86400.0
_JOB_COLOURS = style.PALETTE[:-1]  # without vermilion, which marks failures
_MOST_ATTEMPTS = 20_000
_LABELLED = 60
_RATE_COLOURS = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILION, style.PURPLE)
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


@plot.register(BatchRun)
def batch_states(run: BatchRun, ax: Axes | None = None) -> Axes:
    """Busy, idle and failed nodes over time, and the number of jobs in the queue.

    Raises
    ------
    DataError
        When the run was simulated with ``keep="jobs"``.
    """
    states = run.states
    ax = style.axes(ax, (7.6, 4.2))
    unit, name = (_DAY, "days") if run.now > 3.0 * _DAY else (3600.0, "hours")
    time = states["time"].to_numpy() / unit
    busy, down = states["busy"].to_numpy(), states["down"].to_numpy()
    style.band(ax, time, busy, 0.0, style.BLUE, "busy nodes", alpha=0.85, step="post")
    style.band(ax, time, run.n_nodes - down, run.n_nodes, style.VERMILION, "failed nodes", alpha=1.0, step="post")
    ax.set_ylim(0.0, 1.02 * run.n_nodes)
    queue = ax.twinx()  # thousands of jobs may wait for a few nodes
    queue.step(time, states["waiting"], where="post", color=style.INK, linewidth=0.9)
    ax.plot([], [], color=style.INK, linewidth=0.9, label="jobs in the queue (right)")
    queue.set_ylim(0.0, 1.02 * max(1, int(states["waiting"].max())))
    queue.set_ylabel("jobs in the queue")
    return style.finish(ax, style.headline(run), f"time ({name})", "nodes", below=3)


def gantt(run: BatchRun, ax: Axes | None = None) -> Axes:
    """Jobs on nodes over time; a cross marks an attempt ended by a failure, grey a failed node.

    Raises
    ------
    DataError
        When the run was not simulated with ``keep="nodes"``, or has more than 20,000 attempts.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> jobs = rf.workloads.Workload([1, 2], [0, 0], [2, 3], [3600, 1800], [3600, 1800], 4)
    >>> ax = rf.plotting.gantt(rf.simulate_batch(jobs, keep="nodes"), Figure().add_subplot())
    >>> len(ax.patches)
    2
    """
    from matplotlib.patches import Rectangle

    if run.settings["keep"] != "nodes":
        raise DataError("the run did not keep which nodes its jobs had", remedy='simulate with keep="nodes"')
    attempts = run.attempts
    if len(attempts) > _MOST_ATTEMPTS:
        problem = f"{len(attempts):,} attempts are far too many to be distinguished"
        raise DataError(problem, remedy="simulate fewer jobs")
    ax = style.axes(ax, (7.6, 4.2))
    ax.grid(visible=False)
    names = run.jobs["job_id"].tolist()
    end = np.where(np.isnan(attempts["end"]), run.now, attempts["end"])
    unit, name = (1.0, "s") if run.now < 600.0 else (3600.0, "hours") if run.now < 3.0 * _DAY else (_DAY, "days")
    columns = attempts["job"], attempts["start"] / unit, end / unit, attempts["outcome"], attempts["spans"]
    for job, start, stop, outcome, spans in zip(*columns, strict=True):
        for first, size in spans:
            colour = _JOB_COLOURS[job % len(_JOB_COLOURS)]
            box = Rectangle((start, first), stop - start, size, facecolor=colour, edgecolor="white", linewidth=0.6)
            ax.add_patch(box)
            if len(attempts) <= _LABELLED:
                ax.text((start + stop) / 2, first + size / 2, str(names[job]), ha="center", va="center", fontsize=8.5)
            if outcome == "killed by a failure":
                ax.plot([stop], [first + size / 2], marker="x", color=style.INK, markersize=5)
    for time, node, back in zip(run.outages["time"], run.outages["node"], run.outages["back"], strict=True):
        width = (min(back, run.now) - time) / unit
        ax.add_patch(Rectangle((time / unit, node), width, 1, facecolor=style.GREY, edgecolor="none"))
    ax.set(xlim=(0.0, max(run.now / unit, 1e-9)), ylim=(0.0, run.n_nodes))
    return style.finish(ax, style.headline(run), f"time ({name})", "node")


@plot.register(RepairSweep)
def repair_sweep(result: RepairSweep, ax: Axes | None = None, *, relative: bool = False) -> Axes:
    """Mean wait by repair time, one curve per failure rate.

    Parameters
    ----------
    relative : bool
        Each curve divided by its own wait at the shortest repair.

    Returns
    -------
    matplotlib.axes.Axes
        Repair times in hours, logarithmic; bands are two standard errors to either side (of the ratio, from runs with
        the same random numbers).
    """
    ax = style.axes(ax)
    values = result.relative if relative else result.mean
    error = np.zeros_like(values)
    if result.n_runs > 1:
        each = (result.waits - values * result.waits[..., :1]) / result.mean[:, :1] if relative else result.waits
        error = 2.0 * each.std(axis=0, ddof=1) / np.sqrt(result.n_runs)
    for i, (rate, row, spread) in enumerate(zip(result.rates, values, error, strict=True)):
        colour = _RATE_COLOURS[i % len(_RATE_COLOURS)]
        ax.plot(result.repairs, row, color=colour, linewidth=1.8, marker="o", markersize=3.0, label=f"{rate:g}X")
        style.band(ax, result.repairs, row - spread, row + spread, colour)
    _repair_axis(ax, result)
    shown = np.concatenate([values - error, values + error])
    shown = shown[np.isfinite(shown) & (shown > 0.0)]
    style.decades(ax.yaxis, float(shown.min()), float(shown.max()))
    ax.legend(title="failure rate", frameon=False)
    label = "mean wait over that of the shortest repair" if relative else "mean wait (hours)"
    return style.finish(ax, style.headline(result), "mean time to repair", label, False)


def repair_sweep_map(result: RepairSweep, ax: Axes | None = None) -> Axes:
    """Mean wait by repair time and failure rate; lines join pairs of equal wait.

    Returns
    -------
    matplotlib.axes.Axes
        Both axes logarithmic.
    """
    ax = style.axes(ax)
    if min(result.mean.shape) < 2:
        return style.empty(ax, "a map needs two failure rates and two repair times")
    mean = np.maximum.accumulate(np.maximum.accumulate(result.mean, axis=1), axis=0)
    log = np.log10(mean)
    mesh = ax.pcolormesh(result.repairs, result.rates, log, cmap="YlOrRd", shading="nearest")
    levels = np.linspace(log.min(), log.max(), 8)[1:-1]
    lines = ax.contour(result.repairs, result.rates, log, levels=levels, colors=style.INK, linewidths=0.9)
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.add_lines(lines)
    bar.set_ticks(list(levels), labels=[duration(10.0**level) for level in levels])
    bar.set_label("mean wait, at the lines")
    _repair_axis(ax, result)
    ax.set_yscale("log", base=2)
    ax.set_yticks(result.rates, [f"{rate:g}X" for rate in result.rates])
    return style.finish(ax, style.headline(result), "mean time to repair", "failure rate", False)


def _repair_axis(ax: Axes, result: RepairSweep) -> None:
    ax.set_xscale("log")
    marks = {1 / 60: "1 min", 10 / 60: "10 min", 1.0: "1 h", 6.0: "6 h", 24.0: "1 d", 120.0: "5 d", 480.0: "20 d"}
    shown = {at: text for at, text in marks.items() if result.repairs[0] <= at <= result.repairs[-1]}
    if len(shown) > 1:
        ax.set_xticks(list(shown), list(shown.values()))
        ax.minorticks_off()


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
            ax.barh([0.0], [hours], left=left, height=0.6, color=colour, label=f"{name}: {hours:,.0f} h")
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
    return style.finish(ax, style.headline(result), by.replace("_", " "), "effective training ratio (%)", legend=True)


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
        ax.step(states.index / 1440.0, states[name], where="post", color=colour, label=name.replace("_", " "), lw=1.0)
    active = states["active"]
    message = f"{int(active.max()):,} servers run the job; the others over {states.index[-1] / 1440.0:,.0f} days"
    return style.finish(ax, message, "time (days)", "servers", legend=True)


@plot.register(Workload)
def job_shares(result: Workload, ax: Axes | None = None, *, weight: str = "jobs") -> Axes:
    """Shares of the jobs by width and by run time.

    Parameters
    ----------
    weight : {"jobs", "work"}
        Share of the jobs, or of their node-hours.

    Returns
    -------
    matplotlib.axes.Axes
        One cell per class; shares of half a percent or more are written into it.
    """
    ax = style.axes(ax)
    if not len(result):
        return style.empty(ax, "no jobs")
    table = shares(result, weight=weight)
    values = 100.0 * table.to_numpy()
    ax.grid(False)
    ax.imshow(values, cmap="Blues", aspect="auto", origin="lower", vmin=0.0)
    for row, column in np.argwhere(values >= 0.5):
        dark = values[row, column] > 0.6 * values.max()
        text = f"{values[row, column]:.0f}" if values[row, column] >= 0.95 else "<1"
        ax.text(column, row, text, ha="center", va="center", fontsize=9, color="white" if dark else style.INK)
    ax.set_xticks(range(table.shape[1]), [str(name) for name in table.columns], rotation=45, ha="right")
    ax.set_yticks(range(table.shape[0]), [str(name) for name in table.index])
    serial = percent(float(values[:, 0].sum()) / 100.0, 0)
    what = "jobs take one node" if weight == "jobs" else "node-hours are of jobs of one node"
    return style.finish(ax, f"{serial} of the {what}; percent by width and length", "nodes", "length", False)
