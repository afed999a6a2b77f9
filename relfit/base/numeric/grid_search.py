"""The highest point of many curves at once, by ever finer grids: without derivatives, and robust to some noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relfit.base.arrays import FloatArray

_POINTS = 25


def highest(
    function: Callable[[FloatArray], FloatArray],
    low: FloatArray | float,
    high: FloatArray | float,
    first: int = _POINTS,
    rounds: int = 8,
) -> tuple[FloatArray, FloatArray]:
    """Where each curve is highest between its ends, and its value there.

    Parameters
    ----------
    function : callable
        From places, shape (..., n), to values of that shape.
    low, high : array_like
        Ends of each curve; they broadcast.
    first : int
        Points of the first grid: so many that the highest of them lies on the highest hill.
    rounds : int
        Grids; each but the first has 25 points between the neighbours of the highest one before.

    Returns
    -------
    place, value : ndarray

    Examples
    --------
    >>> place, value = highest(lambda x: -((x - 0.3) ** 2), np.zeros(2), [1.0, 0.2])
    >>> place.round(6).tolist(), value.round(6).tolist()
    ([0.3, 0.2], [-0.0, -0.01])
    """
    a, b = np.broadcast_arrays(np.asarray(low, np.float64)[..., None], np.asarray(high, np.float64)[..., None])
    place = value = a
    for i in range(rounds):
        grid = a + (b - a) * np.linspace(0.0, 1.0, first if i == 0 else _POINTS)
        values = function(grid)
        best = values.argmax(axis=-1)[..., None]
        place, value, a, b = (
            np.take_along_axis(of, at, axis=-1)
            for of, at in (
                (grid, best),
                (values, best),
                (grid, np.maximum(best - 1, 0)),
                (grid, np.minimum(best + 1, grid.shape[-1] - 1)),
            )
        )
    return place[..., 0], value[..., 0]
