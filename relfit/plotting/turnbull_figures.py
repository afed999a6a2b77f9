"""Curves of durations known within intervals: Turnbull's estimate, with the intervals in which it is not determined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.text import count
from relfit.fitting.nonparametric import TurnbullEstimate
from relfit.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CURVES = 6
_NO_MASS = 1e-9


def masses(estimate: TurnbullEstimate, position: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ends of the intervals of one group that have a mass, and the share that has failed by the end of each."""
    part = estimate.part(position)
    some = estimate.mass[part] > _NO_MASS
    return estimate.left[part][some], estimate.right[part][some], np.cumsum(estimate.mass[part][some])


def draw_bounds(
    ax: Axes,
    left: FloatArray,
    right: FloatArray,
    values: FloatArray,
    ends: tuple[float, float],
    *,
    colour: str,
    label: str,
    width: float = 1.8,
) -> None:
    """A curve from ``ends[0]`` to ``ends[1]`` that goes from `values` to the next somewhere between `left` and `right`.

    Where the ends are equal it steps; else the line is broken, with a dot at each end, and the rectangle between the
    two values is filled.

    Parameters
    ----------
    left, right : ndarray of float, shape (n,)
        Rising; an infinite end is not drawn.
    values : ndarray of float, shape (n + 1,)
        Before the first interval, and after each.
    """
    begin, end = ends
    x, y = [begin], [float(values[0])]
    corners: list[tuple[float, float, float]] = []  # where the filled part steps, and its two heights
    for low, high, before, after in zip(left, right, values[:-1], values[1:], strict=True):
        start = max(float(low), begin)
        x, y = [*x, start], [*y, float(before)]
        if not np.isfinite(high):
            break
        if high > low:
            x, y = [*x, np.nan], [*y, np.nan]
            corners += [(start, before, after), (float(high), after, after)]
        x, y = [*x, float(high)], [*y, float(after)]
    else:
        x, y = [*x, max(end, x[-1])], [*y, y[-1]]
    ax.plot(x, y, color=colour, linewidth=width, label=label)
    if corners:
        where, one, other = np.array(corners).T
        style.band(ax, where, one, other, colour, alpha=0.22, step="post")
        ax.plot(where, one, "o", color=colour, markersize=3.0)  # the curve is determined there, if only there


def turnbull_curves(estimate: TurnbullEstimate, ax: Axes | None = None, *, group: object = None) -> Axes:
    """Survival of one group, or of up to six; `relfit.plotting.step_curves` draws it."""
    ax = style.axes(ax)
    sizes = np.diff(estimate.offsets)
    order = np.argsort(-sizes, kind="stable") if group is None else [style.group_position(estimate.groups, group)]
    order = [int(place) for place in order if sizes[place]][:_MOST_CURVES]
    if not order:
        return style.empty(ax, "There are no durations, so there is no curve to show")
    parts = [masses(estimate, place) for place in order]
    ends = [np.concatenate([left, right]) for left, right, _ in parts]
    end = max(float(values[np.isfinite(values)].max()) for values in ends)
    for nth, (place, (left, right, failed)) in enumerate(zip(order, parts, strict=True)):
        name = "survival" if len(order) == 1 else style.plain(style.group_name(estimate.groups[place]), 18)
        survival = 1.0 - np.concatenate([[0.0], failed])
        draw_bounds(ax, left, right, survival, (0.0, end), colour=style.PALETTE[nth], label=name)
    ax.set_xlim(0.0, end)
    ax.set_ylim(0.0, 1.02)
    style.thousands(ax.xaxis)
    of = f" of {count(len(order), 'group')}" if len(sizes) > 1 else ""
    of = of if group is None else f" of {style.group_name(estimate.groups[order[0]])}"
    more = f" ({len(sizes) - len(order)} more not shown)" if group is None and len(sizes) > len(order) else ""
    message = f"Turnbull: survival{of}{more}; where shaded, the data do not say when it falls"
    return style.finish(ax, message, "duration (hours)", "survival", below=3 if len(order) > 1 else 0)
