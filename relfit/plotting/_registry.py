"""`plot`: the main figure of any result, found by its type. Figure modules register the types they draw."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from relfit.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]


@singledispatch
def plot(result: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the main figure of a result.

    Parameters
    ----------
    result : Result
        Anything relfit returns that has a figure.
    ax : matplotlib.axes.Axes, optional
        A new figure where it is left out.
    **options
        Of the figure; `relfit.plotting` has each under its name, and further figures.

    Raises
    ------
    ArgumentError
        For what has no figure.
    """
    drawn = sorted({kind.__name__ for kind in plot.registry if kind is not object})
    raise ArgumentError(f"{type(result).__name__} has no figure", remedy=f"relfit draws {', '.join(drawn)}")
