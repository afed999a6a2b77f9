"""`plot`: the main figure of any result, found by its type; figure modules register the types that they draw.

All of them are imported at the first result that none of those imported so far can draw.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from relfit.base.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@singledispatch
def plot(result: object, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the main figure of a result.

    Parameters
    ----------
    result : Result, FailureLog or Workload
        Any result with a figure.
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
    drawn = sorted({kind.__name__ for kind in plot.registry if kind is not object})
    raise ArgumentError(f"{type(result).__name__} has no figure", remedy=f"relfit draws {', '.join(drawn)}")
