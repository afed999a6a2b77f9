"""Figures of a simulated batch cluster: queue and nodes over time, and which job was on which nodes when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.base.errors import DataError
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.simulation.batch.batch_results import BatchRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DAY = 86400.0
_COLOURS = style.PALETTE[:-1]  # without vermilion, which marks failures
_MOST = 20_000
_LABELLED = 60


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
    if len(attempts) > _MOST:
        raise DataError(
            f"{len(attempts):,} attempts are far too many to be distinguished", remedy="simulate fewer jobs"
        )
    ax = style.axes(ax, (7.6, 4.2))
    ax.grid(visible=False)
    names = run.jobs["job_id"].tolist()
    end = np.where(np.isnan(attempts["end"]), run.now, attempts["end"])
    unit, name = (1.0, "s") if run.now < 600.0 else (3600.0, "hours") if run.now < 3.0 * _DAY else (_DAY, "days")
    for job, start, stop, outcome, spans in zip(
        attempts["job"], attempts["start"] / unit, end / unit, attempts["outcome"], attempts["spans"], strict=True
    ):
        for first, size in spans:
            colour = _COLOURS[job % len(_COLOURS)]
            box = Rectangle((start, first), stop - start, size, facecolor=colour, edgecolor="white", linewidth=0.6)
            ax.add_patch(box)
            if len(attempts) <= _LABELLED:
                ax.text((start + stop) / 2, first + size / 2, str(names[job]), ha="center", va="center", fontsize=8.5)
            if outcome == "killed by a failure":
                ax.plot([stop], [first + size / 2], marker="x", color=style.INK, markersize=5)
    for time, node, back in zip(run.outages["time"], run.outages["node"], run.outages["back"], strict=True):
        width = (min(back, run.now) - time) / unit
        ax.add_patch(Rectangle((time / unit, node), width, 1, facecolor=style.GREY, edgecolor="none"))
    ax.set_xlim(0.0, max(run.now / unit, 1e-9))
    ax.set_ylim(0.0, run.n_nodes)
    return style.finish(ax, style.headline(run), f"time ({name})", "node")
