"""Starting values for families of a scale and one shape: the shape whose log life has a given standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from relfit.base.arrays import FloatArray

if TYPE_CHECKING:
    from relfit.fitting.families.base import Family

_LOG_SHAPES = np.linspace(-12.0, 12.0, 49)


class OfLogShape(Protocol):
    """A family with a distribution of scale 1 for the log of a shape."""

    def _of_log_shape(self, log_shape: FloatArray, /) -> Family: ...


@cache
def spread_table(family: OfLogShape) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Function from the standard deviation of the log of life to the log of the shape and the mean of that log.

    Parameters
    ----------
    family : type
        A family with a classmethod ``_of_log_shape`` that gives its distribution of scale 1.

    Returns
    -------
    callable
        From an array of standard deviations to two arrays; beyond the table, the nearest entry.
    """
    log_shapes: FloatArray = _LOG_SHAPES
    # moments over the quantiles at equal steps of the log odds, whose weights are the logistic density
    x = np.linspace(-36.0, 36.0, 41)[:, None]
    weight = np.exp(-np.abs(x)) / (1.0 + np.exp(-np.abs(x))) ** 2
    weight /= weight.sum()
    with np.errstate(all="ignore"):
        log_life = np.log(family._of_log_shape(log_shapes).inverse_cumulative_hazard(np.logaddexp(0.0, x)))
    log_life = np.where(np.isfinite(log_life), log_life, 0.0)
    middle = (weight * log_life).sum(axis=0)
    spread = np.sqrt((weight * (log_life - middle) ** 2).sum(axis=0))
    order = np.argsort(spread, kind="stable")

    def look_up(wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
        target, spreads = np.log(wanted), np.log(spread[order])
        return np.interp(target, spreads, log_shapes[order]), np.interp(target, spreads, middle[order])

    return look_up
