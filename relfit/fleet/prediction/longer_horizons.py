"""Predicted counts over a horizon that are nowhere below those over a shorter one.

Each horizon weighs the predictors by their past errors over its own length, so after a storm the lower limit of ninety
days might be below that of thirty. At each probability the quantile is the largest of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.fleet.prediction.mixing import Prediction

_STANDARD = (7 * 24.0, 30 * 24.0, 90 * 24.0, 365 * 24.0)  # hours; the same whatever other horizons are of interest


@dataclass(frozen=True, eq=False)
class Cumulative(Prediction):
    """A predicted count that is at least that of each shorter horizon; the other attributes are its own."""

    shorter: tuple[Prediction, ...]

    @property
    def expected(self) -> float:
        """The largest of the means."""
        return max(super().expected, *(one.expected for one in self.shorter))

    def cdf(self, x: FloatArray) -> FloatArray:
        """Probability of at most `x`: the smallest over the horizons."""
        return np.minimum.reduce([super().cdf(x), *(one.cdf(x) for one in self.shorter)])

    def quantile(self, p: float) -> float:
        """The smallest value that is not exceeded with probability `p`: the largest over the horizons."""
        return max(super().quantile(p), *(one.quantile(p) for one in self.shorter))

    def of_sizes(self, mean: float, square: float) -> Cumulative:
        """Prediction of the sum of the sizes of so many over each horizon."""
        sums = super().of_sizes(mean, square)
        return Cumulative(**{**vars(sums), "shorter": tuple(one.of_sizes(mean, square) for one in self.shorter)})

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Random counts, shape (size,), raised to the largest of those over shorter horizons at the same rank."""
        drawn = super().draw(size, rng)
        others = [one.draw(size, own) for one, own in zip(self.shorter, rng.spawn(len(self.shorter)), strict=True)]
        raised, order = np.empty_like(drawn), np.argsort(drawn, kind="stable")
        raised[order] = np.maximum(drawn[order], np.maximum.reduce([np.sort(one) for one in others]))
        return raised


def cumulative(over: Callable[[float], Prediction], hours: float) -> Prediction:
    """The prediction over `hours`, at least those over the standard horizons of 7, 30, 90 and 365 days within it.

    Parameters
    ----------
    over : callable
        Gives the prediction of a count over some hours by itself.
    hours : float

    Examples
    --------
    After a storm a week is expected to have 16 failures or more, a month by its own past one or more; said are 16:

    >>> from relfit.fleet.prediction import distribution_of_counts
    >>> month = cumulative(lambda hours: distribution_of_counts(30.0 if hours < 200.0 else 12.0, 90.0), 720.0)
    >>> month.expected, month.quantile(0.05)
    (30.0, 16.0)
    """
    own, shorter = over(hours), tuple(over(standard) for standard in _STANDARD if standard < hours)
    return Cumulative(**vars(own), shorter=shorter) if shorter else own
