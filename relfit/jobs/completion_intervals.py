"""Limits of expected times from draws of the fitted parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.arguments import FloatArray
from relfit.fitting import PooledFit

if TYPE_CHECKING:
    from relfit.system import System

__all__ = ["limits_of_draws"]


def limits_of_draws(
    system: System, log_estimate: FloatArray, log_drawn: FloatArray, log_length: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits, in hours, of expected times, from their logs at the estimate (m,) and in the draws (draws, m).

    On the scale of ``log(E / T - 1)``, what failures add to the length T. Draws around maximum-likelihood fits are
    reflected at the estimate (basic bootstrap: Davison and Hinkley 1997, section 5.2), which carry the uncertainty
    about many nodes once already, as a shift. Draws of pooled nodes are draws of the nodes themselves and are taken as
    they are. Limits are widened to hold the estimate where the shift leaves it outside.
    """

    def scaled(log_time: FloatArray) -> FloatArray:
        gap = np.clip(log_time - log_length, 1e-300, 1e300)
        return np.where(gap > 30.0, gap, np.log(np.expm1(np.minimum(gap, 30.0))))

    def hours(value: FloatArray) -> FloatArray:
        return np.exp(np.where(value > 30.0, value, np.log1p(np.exp(np.minimum(value, 30.0)))) + log_length)

    with np.errstate(over="ignore", invalid="ignore"):
        middle, drawn = scaled(log_estimate), scaled(log_drawn)
        low, high = np.quantile(drawn, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0, method="median_unbiased")
        if not isinstance(system.origin, PooledFit):
            low, high = 2.0 * middle - high, 2.0 * middle - low
        return hours(np.minimum(low, middle)), hours(np.maximum(high, middle))
