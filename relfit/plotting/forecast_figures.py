"""Failures counted in the past, and those forecast with their prediction intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from relfit.base.text import count, duration, percent
from relfit.fleet import Forecast
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DAY = 24.0


@plot.register(Forecast)
def forecast(result: Forecast, ax: Axes | None = None) -> Axes:
    """Past failures in bins as long as the first horizon, and the forecast.

    Longer horizons are drawn as means per bin: their intervals are those of the whole horizon.

    Returns
    -------
    matplotlib.axes.Axes
        Dates, failures per bin.
    """
    ax = style.axes(ax)
    width = result.horizons[0]
    past = result.history
    edges = style.days(pd.DatetimeIndex([*past["start"], result.start]))
    ax.stairs(past["failures"].to_numpy(dtype=float), edges, fill=True, color=style.BLUE, alpha=0.35, label="counted")
    begin = float(edges[-1])
    shades = (style.VERMILION, style.ORANGE, style.PURPLE, style.GREEN)
    for i, row in reversed(list(enumerate(result.total.to_dict("records")))):
        share, until = width / row["horizon"], begin + row["horizon"] / _DAY
        colour = shades[i % len(shades)]
        low, high = row["failures_low"] * share, row["failures_high"] * share
        label = f"next {_name(row['horizon'])}, {percent(result.level)}"
        style.band(ax, [begin, until], low, high, colour, label, alpha=0.25)
        ax.plot([begin, until], [row["failures"] * share] * 2, color=colour, linewidth=2.0)
    ax.set_ylim(bottom=0.0)
    style.thousands(ax.yaxis)
    last = begin + max(result.horizons) / _DAY
    style.dates(ax, np.array([edges[0], last + 0.01 * (last - edges[0])]))
    return style.finish(ax, style.headline(result), "", f"failures per {_name(width)}", below=2)


def _name(hours: float) -> str:
    return count(round(hours / _DAY), "day") if hours >= 72.0 and hours % _DAY == 0.0 else duration(hours)
