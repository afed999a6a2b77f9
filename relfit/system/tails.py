"""How fast the reliability of a family falls in the end: whether a mean time to failure is finite."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.families import CompetingRisks, Distribution, GeneralisedGamma, LimitedFailure, Loglogistic

__all__ = ["tail_index"]

FloatArray = npt.NDArray[np.float64]


def tail_index(family: Distribution) -> FloatArray:
    """The power a for which the reliability falls like ``x**-a``; infinite where it falls faster than any power.

    Examples
    --------
    >>> from relfit.families import Loglogistic, Weibull
    >>> tail_index(Weibull([0.5, 2.0], 100.0)).tolist(), tail_index(Loglogistic([0.8, 3.0], 10.0)).tolist()
    ([inf, inf], [0.8, 3.0])
    """
    shape = family.batch_shape
    if isinstance(family, LimitedFailure):
        return np.zeros(shape)
    if isinstance(family, Loglogistic):
        return np.broadcast_to(family.shape, shape).astype(np.float64)
    if isinstance(family, GeneralisedGamma):
        with np.errstate(divide="ignore"):
            index = np.where(family.q < 0.0, -1.0 / (family.sigma * np.minimum(family.q, -1e-300)), np.inf)
        return np.broadcast_to(index, shape).astype(np.float64)
    if isinstance(family, CompetingRisks):
        parts = [np.broadcast_to(tail_index(cause), shape) for cause in family.causes.values()]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)
    return np.full(shape, np.inf)
