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
    """Where each curve is highest between its ends, which broadcast, and its value there.

    `function` takes places, shape (..., n), to values. Of the first grid the highest point should lie on the highest
    hill; each of the other `rounds` has 25 points between the neighbours of the highest one before.
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
