"""How a node's further cumulative hazard and its failure rate move with the free coordinates of its parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from relfit.families import Exponential, Family, Weibull
from relfit.system.excess import excess_hazard, excess_log_rate

__all__ = ["further_hazard", "rate"]

FloatArray = npt.NDArray[np.float64]
_STEP = 1e-3  # in free coordinates, mostly logs; the five-point rule's error is its fourth power


def family_at(kind: type[Family], free: FloatArray) -> Family:
    """The batch with these free coordinates, shape (..., k), and an axis for times behind."""
    return kind.unchecked(*np.moveaxis(kind.from_free(free), -1, 0)[..., None])


def further_hazard(
    kind: type[Family], free: FloatArray, age: FloatArray, time: FloatArray, *, gradient: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Further cumulative hazard of each node, and its derivative by each free coordinate.

    Parameters
    ----------
    kind : type
    free : ndarray, shape (n, k)
    age : ndarray, shape (n,)
        Hours.
    time : ndarray, shape (m,) or (n, m)
        Hours.
    gradient : bool
        Whether the derivative is wanted; it is empty otherwise.

    Returns
    -------
    value, slope : ndarray, shapes (n, m) and (n, m, k)
    """
    t = age[:, None]

    def value(at: FloatArray) -> FloatArray:
        return np.asarray(excess_hazard(family_at(kind, at), t, time))

    here = value(free)
    if not gradient:
        return here, np.empty((*here.shape, 0))
    if kind is Exponential:
        return here, here[..., None]
    if kind is Weibull:
        return here, _weibull_slope(free, t, time, here)
    return here, _differences(value, free)


def rate(
    kind: type[Family], free: FloatArray, age: FloatArray, time: FloatArray, *, gradient: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Failure rate of each node in `time` hours, and its derivative by each free coordinate; see `further_hazard`."""
    t = age[:, None]

    def value(at: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.exp(excess_log_rate(family_at(kind, at), t, time))

    here = value(free)
    if not gradient:
        return here, np.empty((*here.shape, 0))
    if kind is Exponential:
        return here, here[..., None]
    if kind is Weibull:
        shape = np.exp(free[:, 0])[:, None]
        with np.errstate(all="ignore"):
            depth = shape * (np.log(t + time) - free[:, 1][:, None])
            by_shape = np.where(here > 0.0, here * (1.0 + depth), 0.0)
        return here, np.stack([by_shape, -shape * here], axis=-1)
    return here, _differences(value, free)


def _weibull_slope(free: FloatArray, age: FloatArray, time: FloatArray, value: FloatArray) -> FloatArray:
    """By log shape and log scale: ``H log H`` at both ends, written so that the difference keeps its digits."""
    shape = np.exp(free[:, 0])[:, None]
    with np.errstate(all="ignore"):
        end = shape * (np.log(age + time) - free[:, 1][:, None])  # log of H at the end
        growth = shape * np.log1p(time / age)  # by how much log H grows
        start = np.where(age > 0.0, np.exp(end - growth), 0.0)
        # H1 log H1 - H0 log H0 = (H1 - H0) log H1 + H0 (log H1 - log H0)
        by_shape = value * end + np.where(start > 0.0, start * growth, 0.0)
        by_shape = np.where(value > 0.0, by_shape, 0.0)
    return np.stack([by_shape, -shape * value], axis=-1)


def _differences(value: Callable[[FloatArray], FloatArray], free: FloatArray) -> FloatArray:
    """Central differences, five points, one coordinate after the other."""
    slopes = []
    for i in range(free.shape[1]):
        move = np.zeros(free.shape[1])
        move[i] = _STEP
        with np.errstate(all="ignore"):
            near = value(free + move) - value(free - move)
            far = value(free + 2.0 * move) - value(free - 2.0 * move)
            slopes.append((8.0 * near - far) / (12.0 * _STEP))
    return np.stack(slopes, axis=-1)
