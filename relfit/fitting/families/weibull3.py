"""The Weibull family with a threshold: no life ends before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.fitting.families.base import EULER, LOG_WEIBULL_SD, ShapeScale, log_moments
from relfit.fitting.families.weibull import Weibull


@dataclass(frozen=True, eq=False, repr=False)
class Weibull3(ShapeScale):
    """``F(t) = 1 - exp(-((t - threshold) / scale)**shape)`` for t above the threshold.

    Parameters
    ----------
    shape : array_like of float
        Above zero, without unit.
    scale : array_like of float
        Hours, above zero.
    threshold : array_like of float
        Hours, above zero: the earliest possible life. Use `Weibull` for a threshold of zero.

    Notes
    -----
    For a shape below 1 the likelihood grows without bound as the threshold goes to the earliest life.

    Examples
    --------
    >>> Weibull3(2.0, 100.0, 30.0).quantile([0.0, 0.5]).round(3).tolist()
    [30.0, 113.255]
    """

    threshold: FloatArray
    name = "weibull3"
    domains = ("positive", "positive", "positive")

    @property
    def _beyond(self) -> Weibull:
        return Weibull.unchecked(self.shape, self.scale)

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return self._beyond.log_sf(np.asarray(time, dtype=np.float64) - self.threshold)

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        return self._beyond.log_cdf(np.asarray(time, dtype=np.float64) - self.threshold)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        return self._beyond.log_pdf(np.asarray(time, dtype=np.float64) - self.threshold)

    def log_hazard(self, time: npt.ArrayLike) -> FloatArray:
        return self._beyond.log_hazard(np.asarray(time, dtype=np.float64) - self.threshold)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`; the threshold for a hazard of zero."""
        return np.asarray(self.threshold + self._beyond.inverse_cumulative_hazard(hazard))

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``: that of a Weibull life after the wait for the threshold."""
        x, t = np.asarray(time, dtype=np.float64), np.asarray(age, dtype=np.float64)
        wait = np.maximum(self.threshold - t, 0.0)
        return self._beyond.conditional_cumulative_hazard(
            np.maximum(x - wait, 0.0), np.maximum(t - self.threshold, 0.0)
        )

    def inverse_conditional_cumulative_hazard(self, hazard: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        t = np.asarray(age, dtype=np.float64)
        inner = self._beyond.inverse_conditional_cumulative_hazard(hazard, np.maximum(t - self.threshold, 0.0))
        return np.asarray(np.maximum(self.threshold - t, 0.0) + inner)

    def mean(self) -> FloatArray:
        return np.asarray(self.threshold + self._beyond.mean())

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike, earliest: npt.ArrayLike | None = None) -> FloatArray:
        """Parameters for which the log of life has about this mean and standard deviation.

        The threshold is half of the earliest life of each sample (hours); without it so small that hardly any life is
        below.
        """
        middle, spread = log_moments(meanlog, sdlog)
        shape = LOG_WEIBULL_SD / spread
        scale = np.exp(middle + EULER / shape)
        small = np.exp(middle - 8.0 * spread)
        if earliest is None:
            return np.stack([shape, scale, small], axis=-1)
        first = np.minimum(np.asarray(earliest, dtype=np.float64), scale)
        threshold = np.where(first > 0.0, 0.5 * first, small)
        # what is left of the scale, and of the shape in proportion, once the threshold is taken away
        left = (scale - threshold) / scale
        return np.stack(np.broadcast_arrays(shape * left, scale * left, threshold), axis=-1)

    @classmethod
    def starts(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike, earliest: npt.ArrayLike) -> FloatArray:
        """With a threshold at half of the earliest life, and next to none."""
        return np.stack([cls.start(meanlog, sdlog, earliest), cls.start(meanlog, sdlog)])
