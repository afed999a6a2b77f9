"""`plot`: the main figure of any result, found by its type. Figure modules register the types they draw.

They are imported when a type is asked for that none of those imported so far draws.
"""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from relfit.base.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]


@singledispatch
def plot(result: object, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the main figure of a result.

    Parameters
    ----------
    result : Result
        Any result with a figure.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    **options
        Options of the figure; `relfit.plotting` has each figure under its name, and more.

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
