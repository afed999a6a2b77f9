"""Bursts: incidents per day after an incident, by delay, beside the rate without bursts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.analyses.screening import Bursts
from relfit.base.numeric.poisson import poisson_ppf
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "osD^"


@plot.register(Bursts)
def bursts(result: Bursts, ax: Axes | None = None) -> Axes:
    """Incidents per day after an incident, by delay and scope: counted, and expected without bursts (95 % band)."""
    ax = style.axes(ax)
    if not len(result.by_delay):
        return style.empty(ax, "Too few incidents to see what comes after them")
    shown: list[float] = []
    for nth, (scope, part) in enumerate(result.by_delay.groupby("scope", sort=False)):
        edges = np.append(part["from_hours"].to_numpy(float), part["to_hours"].iloc[-1])
        edges[0] = edges[1] / 4.0
        per = part["incidents"].to_numpy(float) * np.diff(np.append(0.0, edges[1:])) / 24.0
        counted, expected = (part[name].to_numpy(float) for name in ("counted", "expected"))
        low, high = (poisson_ppf(p, expected) / per for p in (0.025, 0.975))
        floor = 0.3 / per.max()
        colour, middle = style.PALETTE[nth], np.sqrt(edges[:-1] * edges[1:])
        ax.stairs(np.maximum(high, floor), edges, baseline=np.maximum(low, floor), fill=True, color=colour, alpha=0.25)
        ax.stairs(np.maximum(expected / per, floor), edges, baseline=None, color=colour, linewidth=1.2)
        name = {"node": "same node", "whole": "rest of the system"}.get(str(scope), f"another node of the {scope}")
        ax.plot(middle, np.where(counted > 0.0, counted / per, np.nan), _MARKS[nth], color=colour, ms=5, label=name)
        shown += [*(counted / per)[counted > 0.0], *np.maximum(expected / per, floor)]
    bottom, top = min(shown) / 1.5, max(shown) * 1.5
    style.decades(ax.xaxis, float(edges[0]), float(edges[-1]))
    style.decades(ax.yaxis, bottom, top)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(bottom, top * (top / bottom) ** 0.35)
    x, y = "hours after an incident", "incidents a day (band: without bursts)"
    return style.finish(ax, style.headline(result), x, y, True, loc="upper right")
