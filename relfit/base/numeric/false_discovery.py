"""P-values of many groups adjusted for their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.base.errors import ArgumentError


def adjusted_p(p: npt.ArrayLike, method: str = "bh") -> npt.NDArray[np.float64]:
    """P-values adjusted so that rejecting those below alpha keeps the false-discovery rate below alpha; NaN stay NaN.
    By ``bh`` (Benjamini and Hochberg 1995; independent or positively dependent tests), or ``holm`` (1979), which keeps
    the probability of even one false rejection below alpha. An `ArgumentError` for others.
    """
    values = np.asarray(p, dtype=np.float64)
    finite = ~np.isnan(values)
    if np.any((values[finite] < 0.0) | (values[finite] > 1.0)):
        raise ArgumentError("a p-value must lie between 0 and 1")
    out = np.full(values.shape, np.nan)
    order = np.argsort(values)[: finite.sum()]  # NaN come last
    rank = np.arange(1, order.size + 1)
    if method == "bh":
        steps = np.minimum.accumulate((values[order] * order.size / rank)[::-1])[::-1]
    elif method == "holm":
        steps = np.maximum.accumulate((order.size + 1 - rank) * values[order])
    else:
        raise ArgumentError(f"method {method!r} is not known", remedy="use bh or holm")
    out[order] = np.minimum(steps, 1.0)
    return out
