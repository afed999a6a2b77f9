"""`plot`: the main figure of any result, found by its type; figure modules register the types that they draw.

All of them are imported at the first result that none of those imported so far can draw.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from relfit.base.errors import ArgumentError
from relfit.base.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any  # matplotlib is loaded when a figure is drawn

_NEAREST = {
    "BatchRuns": "simulate_batch(...) of the same settings",
    "EventHistories": "mean_cumulative(...) of these histories",
    "Goodness": "the fit that it tests",
    "LifeData": "fit(...) or kaplan_meier(...) of these lives",
    "LogRank": "kaplan_meier(...) of the same lives",
    "PooledFit": "fit(...) of the same lives",
    "ProcessFit": "compare_processes(...) of the same histories",
}
"""What to draw instead of a result without a figure."""


@singledispatch
def plot(result: object, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the main figure of a result.

    Parameters
    ----------
    result : Result, FailureLog or Workload
        Most results have a figure; the error for another says what to plot instead.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new pyplot figure by default.
    **options
        Options of that figure. `relfit.plotting` has every figure under its own name.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        For an object without a figure.
    """
    package = import_module("relfit.plotting")
    for module in iter_modules(package.__path__, "relfit.plotting."):
        import_module(module.name)
    draw = plot.dispatch(type(result))
    if draw is not plot.dispatch(object):
        return draw(result, ax=ax, **options)
    name = next((kind.__name__ for kind in type(result).__mro__ if kind.__name__ in _NEAREST), "")
    remedy = f"plot {_NEAREST[name]}" if name else "give a log, a workload or another result"
    if not name and isinstance(result, Result):
        remedy = "look at its headline and to_frame()"
    raise ArgumentError(f"{type(result).__name__} has no figure", remedy=remedy)
