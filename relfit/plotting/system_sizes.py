"""Reliability, failure rate and mean time to failure by the number of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.errors import ArgumentError
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.system import SystemsBySize

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["by_size"]

_DRAWS = 199
_NAMES = {
    "reliability": "reliability",
    "hazard": "failure rate (per hour)",
    "mttf": "mean time to failure (hours)",
}


@plot.register(SystemsBySize)
def by_size(
    result: SystemsBySize,
    quantity: str = "reliability",
    ax: Axes | None = None,
    *,
    level: float | None = 0.95,
    **line: Any,
) -> Axes:
    """A quantity of the first k nodes for every k (reliability-aware allocation, Figures 4.8 and 4.9).

    Parameters
    ----------
    result : SystemsBySize
    quantity : {"reliability", "hazard", "mttf"}
    ax : matplotlib Axes, optional
    level : float or None
        Of the band of systems that were made from fits; None draws none.
    **line
        For the lines.

    Returns
    -------
    matplotlib.axes.Axes
        Logarithmic where the quantity spans more than a factor of twenty.

    Raises
    ------
    ArgumentError
        For another quantity.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> found = rf.System(rf.families.Weibull(0.8606, [1542.0] * 50), ages=200.0).by_size("24h")
    >>> by_size(found, "mttf", ax=Figure().add_subplot()).get_xlabel()
    'nodes'
    """
    if quantity not in _NAMES:
        raise ArgumentError(f"no quantity {quantity!r} by size", remedy=f"use one of {', '.join(_NAMES)}")
    ax = style.axes(ax)
    k = result.sizes
    table = getattr(result, quantity).reshape(k.size, -1)
    horizons = result.horizon.reshape(-1) if quantity != "mttf" else np.zeros(1)
    shown = np.unique(np.geomspace(1, k.size, 400).round().astype(np.int64)) - 1 if k.size > 400 else np.arange(k.size)
    band = level is not None and result.system.origin is not None
    limits = result.interval(quantity, float(level or 0.95), n_draws=_DRAWS) if band else None
    for i, horizon in enumerate(horizons):
        colour = style.PALETTE[i % len(style.PALETTE)]
        label = None if quantity == "mttf" else f"after {style.figures(float(horizon))} h"
        ax.plot(k[shown], table[shown, i], **{"color": colour, "linewidth": 1.8, "label": label, **line})
        if limits is not None:
            low, high = (end.reshape(k.size, -1)[shown, i] for end in (limits.low, limits.high))
            ax.fill_between(
                k[shown], low, high, color=colour, alpha=0.18, linewidth=0,
                label=f"{100 * limits.level:g} % limits" if i == 0 else None,
            )  # fmt: skip
    if k.size > 1000:
        ax.set_xscale("log")
    values = table[shown][np.isfinite(table[shown]) & (table[shown] > 0.0)]
    if quantity == "reliability":
        ax.set_ylim(0.0, 1.02)
    elif values.size and values.max() > 20.0 * values.min():
        ax.set_yscale("log")
        style.decades(ax.yaxis, float(values.min()), float(values.max()))
    first, last = (style.figures(float(v)) for v in (table[0, 0], table[-1, 0]))
    if quantity == "reliability":
        first, last = style.percent(table[0, 0]), style.percent(table[-1, 0])
    what = _NAMES[quantity].split(" (")[0]
    after = "" if quantity == "mttf" else f" after {style.figures(float(horizons[0]))} h"
    message = f"{what}{after} goes from {first} with one node to {last} with {k.size:,}"
    return style.finish(ax, message, "nodes", _NAMES[quantity], quantity != "mttf" or band)
