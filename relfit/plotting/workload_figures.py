"""What a workload is made of: how wide its jobs are and how long they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.base.text import percent
from relfit.io.workloads import Workload, shares
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    message = f"{serial} of the {what}; percent by width and length"
    return style.finish(ax, message, "nodes", "length", False)
