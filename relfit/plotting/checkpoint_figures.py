"""Checkpoint plans: waste over the interval, and intervals that follow the hazard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.base.text import duration, percent
from relfit.planning.checkpointing.checkpoint_plan import CheckpointPlan
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNITS = ((1.0 / 60.0, 3600.0, "seconds"), (1.0, 60.0, "minutes"), (200.0, 1.0, "hours"), (np.inf, 1.0 / 24.0, "days"))


@plot.register(CheckpointPlan)
def waste_over_interval(plan: CheckpointPlan, ax: Axes | None = None) -> Axes:
    """Waste by checkpoint interval, with the best interval, confidence intervals of both, and Young's and Daly's rules.

    The interval in use is marked where the plan has one.
    """
    ax = style.axes(ax)
    if plan.status != "ok" or plan.checkpoint_every <= 0.0:
        return style.empty(ax, style.headline(plan))
    scale, unit = _unit(plan.checkpoint_every)
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
    if own is not None:
        place = own * scale
        ax.axvline(place, color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.2, label=f"in use: {duration(own)}")
    shown = np.flatnonzero(y < top)
    first, last = (x[shown[0]], x[shown[-1]]) if shown.size else (x[0], x[-1])
    if own is not None:
        first, last = min(first, own * scale / 1.2), max(last, own * scale * 1.2)
    style.decades(ax.xaxis, float(first), float(last))
    ax.set_xlim(first, last)
    ax.set_ylim(0.0, top)
    return style.finish(
        ax, style.headline(plan), f"work between checkpoints ({unit})", "time that is lost (%)", below=2
    )


def _unit(hours: float) -> tuple[float, str]:
    return next((scale, unit) for limit, scale, unit in _UNITS if hours < limit)
