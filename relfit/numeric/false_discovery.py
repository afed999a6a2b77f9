"""P-values of many groups adjusted for their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError

__all__ = ["adjusted_p"]


def adjusted_p(p: npt.ArrayLike, method: str = "bh") -> npt.NDArray[np.float64]:
    """P-values adjusted so that rejecting those below alpha keeps the false-discovery rate below alpha.

    Parameters
    ----------
    p : array_like of float
        NaN where there is no test; these stay NaN and do not count.
    method : {"bh", "by", "holm"}
        Benjamini and Hochberg 1995, for independent tests or such as depend positively; Benjamini and Yekutieli 2001,
        under any dependence; Holm 1979, which keeps the probability of even one false rejection below alpha.

    Raises
    ------
    ArgumentError
        For another method, or a p-value outside 0..1.

    Examples
    --------
    >>> adjusted_p([0.01, 0.02, 0.03, float("nan")]).round(3).tolist()
    [0.03, 0.03, 0.03, nan]
    """
    values = np.asarray(p, dtype=np.float64)
    known = ~np.isnan(values)
    if np.any((values[known] < 0.0) | (values[known] > 1.0)):
        raise ArgumentError("a p-value must lie between 0 and 1")
    out = np.full(values.shape, np.nan)
    if method in ("bh", "by"):
        given = values[known]
        order, rank = np.argsort(given), np.arange(1, given.size + 1)
        scaled = given[order] * given.size / rank * (1.0 if method == "bh" else np.sum(1.0 / rank))
        adjusted = np.empty_like(given)
        adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
        out[known] = adjusted
    elif method == "holm":
        given = values[known]
        order = np.argsort(given)
        steps = np.maximum.accumulate((given.size - np.arange(given.size)) * given[order])
        adjusted = np.empty_like(given)
        adjusted[order] = np.minimum(steps, 1.0)
        out[known] = adjusted
    else:
        raise ArgumentError(f"method {method!r} is not known", remedy="use bh, by or holm")
    return out
