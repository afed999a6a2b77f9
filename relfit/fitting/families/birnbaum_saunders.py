"""The Birnbaum-Saunders family: wear that grows in random steps up to a threshold (fatigue)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import ShapeScale, log_moments, spread_table
from relfit.fitting.families.distribution import normal_quantile_of_hazard
from relfit.fitting.families.lognormal import NormalScore

_HALF_LOG_TWO_PI = 0.9189385332046727


class BirnbaumSaunders(NormalScore, ShapeScale):
    """``F(t) = Phi((sqrt(t / scale) - sqrt(scale / t)) / shape)`` (Birnbaum and Saunders 1969, J. Appl. Prob. 6, 319).

    Parameters
    ----------
    shape : array_like of float
        Above zero, without unit.
    scale : array_like of float
        Hours, above zero: the median.

    Examples
    --------
    >>> BirnbaumSaunders(1.0, 100.0).mean().tolist()
    150.0
    """

    name = "birnbaum_saunders"

    def _half_log(self, time: npt.ArrayLike) -> FloatArray:
        return np.asarray(0.5 * self._log_relative(time))

    def _z(self, time: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(2.0 * np.sinh(self._half_log(time)) / self.shape)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        y = self._half_log(t)
        with np.errstate(all="ignore"):
            log_cosh = np.abs(y) + np.log1p(np.exp(-2.0 * np.abs(y))) - np.log(2.0)
            value = log_cosh - np.log(self.shape) - np.log(t) - _HALF_LOG_TWO_PI - 0.5 * self._z(t) ** 2
        return np.where((t <= 0.0) | np.isposinf(t), -np.inf, value)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            z = normal_quantile_of_hazard(hazard)
            return np.asarray(self.scale * np.exp(2.0 * np.arcsinh(0.5 * self.shape * z)))

    def mean(self) -> FloatArray:
        return np.asarray(self.scale * (1.0 + 0.5 * self.shape**2))

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        middle, spread = log_moments(meanlog, sdlog)
        log_shape, _ = spread_table(cls._of_log_shape)(spread)
        return np.stack([np.exp(log_shape), np.exp(middle)], axis=-1)

    @classmethod
    def _of_log_shape(cls, log_shape: FloatArray) -> BirnbaumSaunders:
        return cls.unchecked(np.exp(log_shape), 1.0)
