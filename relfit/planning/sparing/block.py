"""Mean time between failures of a compute block with spare trays (appendix A of the sparing paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["block_mtbf", "time_to_exhaust"]

FloatArray = npt.NDArray[np.float64]


def time_to_exhaust(trays: Any, spare_trays: Any, mtbf_tray: Any, mttr: Any) -> FloatArray:
    r"""Mean time from no failed tray to one more than there are spares.

    With n trays failed, the next fails at the rate :math:`\lambda_n = (K - n)/MTBF_T`, and one repair of rate
    :math:`\mu = 1/MTTR` restores the block. The paper's sum over elementary symmetric polynomials is a product:

    .. math:: \xi = \sum_{k=0}^J \mu^k e_{k+1}(1/\lambda_0, \ldots, 1/\lambda_J)
              = \frac{1}{\mu} \left[\prod_{n=0}^J (1 + \mu/\lambda_n) - 1\right]

    which is evaluated by logarithms: no term cancels, and J + 1 steps replace the 2^(J+1) subsets.

    Parameters
    ----------
    trays, spare_trays : array_like of int
        K and J; J below K.
    mtbf_tray, mttr : array_like
        Hours. All four broadcast.

    Returns
    -------
    ndarray
        Hours; infinite beyond what a float can hold.

    Notes
    -----
    Source: sparing paper, appendix A, with the summation bounds of its first derivation (those of its last line are a
    misprint).

    Examples
    --------
    >>> time_to_exhaust(36, [0, 1, 2], 20_000, 24).round(1).tolist()
    [555.6, 14354.5, 366768.6]
    """
    k, j, life, repair = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (trays, spare_trays, mtbf_tray, mttr))
    )
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_product = np.zeros(k.shape)
        for n in range(int(j.max(initial=0.0)) + 1):
            log_product += np.where(n <= j, np.log1p(life / (np.maximum(k - n, 1.0) * repair)), 0.0)
        time = np.expm1(log_product) * repair
        # immediate repairs: only a block without spare trays can fail
        return np.asarray(np.where(repair == 0.0, np.where(j == 0.0, life / k, np.inf), time))


def block_mtbf(trays: Any, spare_trays: Any, mtbf_tray: Any, mtbf_rack: Any, mttr: Any) -> FloatArray:
    """MTBF of a block: its spare trays run out, or its rack fails.

    Parameters
    ----------
    trays, spare_trays : array_like of int
    mtbf_tray, mtbf_rack, mttr : array_like
        Hours. All broadcast.

    Returns
    -------
    ndarray
        Hours; infinite when nothing fails.

    Notes
    -----
    Source: sparing paper, equation 3 as corrected: ``1/MTBF = 1/MTBF_R + 1/xi``. The time until spares run out is not
    exponential, so adding its rate to that of the rack is an approximation (exact without spare trays).

    Examples
    --------
    >>> block_mtbf(36, [0, 4], 20_000, 10_000, 24).round(1).tolist()
    [526.3, 9999.6]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(
            1.0
            / (
                1.0 / np.asarray(mtbf_rack, dtype=np.float64)
                + 1.0 / time_to_exhaust(trays, spare_trays, mtbf_tray, mttr)
            )
        )
