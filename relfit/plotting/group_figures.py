"""Mean times of groups side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from relfit.base.text import number, percent
from relfit.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_GROUPS = 40


def means_by_group(table: pd.DataFrame, ax: Axes | None = None, *, what: str = "MTTF", level: float = 0.95) -> Axes:
    """Mean times of the 40 groups with the most failures, sorted, with intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by group: ``failures``, ``hours``, ``mean``, ``low``, ``high`` (times in hours).
    what : str
        Name of the mean, such as ``"MTTF"``.
    level : float
        Level of the intervals, for the legend.
    """
    ax = style.axes(ax)
    mean = table["mean"].to_numpy(float)
    shown = table[np.isfinite(mean) & (mean > 0)]
    if shown.empty:
        return style.empty(ax, f"No group has an observed failure, so no {what} can be shown")
    fleet = float(shown["hours"].sum() / max(shown["failures"].sum(), 1))
    shown = shown.sort_values("mean")
    low = shown["low"].where(shown["low"] > 0.0, shown["mean"]).to_numpy(float)
    high = shown["high"].where(np.isfinite(shown["high"]), shown["mean"]).to_numpy(float)
    message = _mean_message(what, shown["mean"].to_numpy(float), low, high, fleet, len(table) - len(shown))
    drawn = np.sort(np.argsort(-shown["failures"].to_numpy(), kind="stable")[:MOST_GROUPS])
    shown, low, high = shown.iloc[drawn], low[drawn], high[drawn]
    mean = shown["mean"].to_numpy(float)
    place = np.arange(mean.size)
    style.decades(ax.yaxis, float(low.min()), float(high.max()))
    ax.vlines(place, low, high, color=style.SKY, linewidth=3.0, label=f"{percent(level)} interval")
    ax.plot(place, mean, "o", color=style.BLUE, markersize=5, label=what)
    ax.set_xticks(
        place, [style.plain(style.group_name(label), 12) for label in shown.index], rotation=90 if mean.size > 12 else 0
    )
    ax.set_xlim(-0.7, mean.size - 0.3)
    ax.grid(visible=False, axis="x")
    return style.finish(ax, message, "", f"{what} (hours)", True, ncols=2, loc="upper left", columnspacing=1.0)


def _mean_message(what: str, mean: np.ndarray, low: np.ndarray, high: np.ndarray, fleet: float, unseen: int) -> str:
    if mean.size == 1:
        return f"{what} {number(mean[0])} h, between {number(low[0])} and {number(high[0])} h"
    apart = int(((high < fleet) | (low > fleet)).sum())
    text = (
        f"{what} from {number(mean[0])} to {number(mean[-1])} h; "
        f"{apart:,} of {mean.size:,} intervals miss the common mean"
    )
    return f"{text} ({unseen:,} without a {'repair' if what == 'MTTR' else 'failure'})" if unseen else text
