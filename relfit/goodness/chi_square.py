"""P-values of the chi-square statistic when the parameters were estimated from the raw data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

__all__ = ["chi_square_p"]


def chi_square_p(statistic: npt.NDArray[np.float64], degrees: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Upper tail of the chi-square distribution; NaN where there are no degrees of freedom.

    With ``c`` cells and ``k`` parameters fitted to the raw lives (not to the counts) the null distribution lies
    between chi-square with ``c - 1 - k`` and ``c - 1`` degrees of freedom (Chernoff and Lehmann 1954). relfit gives
    both p-values: ``chi2_p`` with the fewer degrees, which rejects at least as often as its level says, and
    ``chi2_p_upper`` with the more, which rejects at most as often.

    Parameters
    ----------
    statistic : ndarray of float
    degrees : ndarray of int, same shape

    Examples
    --------
    >>> chi_square_p(np.array([7.814727903]), np.array([3])).round(6).tolist()
    [0.05]
    """
    usable = degrees > 0
    tail = special.chdtrc(np.where(usable, degrees, 1), np.where(usable, statistic, 0.0))
    return np.where(usable, tail, np.nan)
