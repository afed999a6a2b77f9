"""Mean and median of durations as they were observed, without a distribution, each with its interval."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.ragged import sums
from relfit.base.results import Result, key_columns
from relfit.base.text import count, interval, number
from relfit.fitting.nonparametric.samples import lives_of
from relfit.fitting.nonparametric.survival_estimates import kaplan_meier

_OF = {"ttf": ("time to failure", "times to failure"), "ttr": ("time to repair", "times to repair")}
_ENDED = {"ttr": "repair"}


class ObservedTimes(Result):
    """Mean and median of each group, as they were observed.

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    measure : str
        As that of `relfit.LifeData`.
    times, ended : ndarray of int, shape (groups,)
        Durations, and those that were seen to end.
    mean, mean_low, mean_high : ndarray of float, shape (groups,)
        Hours under observation for each duration that ended: the sample mean where none is censored. The interval
        assumes no distribution (Student's t for the logarithm of the ratio); NaN where fewer than three ended: with two
        it spans a factor of thousands either way.
    median, median_low, median_high : ndarray of float, shape (groups,)
        Of the Kaplan-Meier curve, infinite where it stays above a half; NaN where no duration has a known age.
    level : float
    """

    groups: pd.Index
    measure: str
    times: IntArray
    ended: IntArray
    mean: FloatArray
    mean_low: FloatArray
    mean_high: FloatArray
    median: FloatArray
    median_low: FloatArray
    median_high: FloatArray
    level: float

    @property
    def headline(self) -> str:
        """The mean and the median, of the first group of several."""
        one, many = _OF.get(self.measure, ("lifetime", "lifetimes"))
        times, ended = int(self.times[0]), int(self.ended[0])
        if not ended:
            return f"Observed: {count(times, one, many)}, none of which ended."
        mean = _with_limits(self.mean[0], self.mean_low[0], self.mean_high[0])
        mean += "" if ended > 2 else " (too few for an interval)"
        parts = [f"mean {mean}" if times == ended else f"{mean} per {_ENDED.get(self.measure, 'failure')}"]
        if np.isfinite(self.median[0]):
            parts.append(f"median {_with_limits(self.median[0], self.median_low[0], self.median_high[0])}")
        censored = f", {times - ended:,} of them censored" if times > ended else ""
        return f"Observed: {', '.join(parts)}; {count(times, one, many)}{censored}."

    def to_frame(self) -> pd.DataFrame:
        """One row per group: ``times``, ``ended``, mean and median in hours with their intervals."""
        names = ("times", "ended", "mean", "mean_low", "mean_high", "median", "median_low", "median_high")
        frame = pd.DataFrame({name: getattr(self, name) for name in names})
        return pd.concat([key_columns(self.groups), frame], axis=1)


def _with_limits(value: float, low: float, high: float) -> str:
    """A time in hours and its interval; an end that is not known is left out, and both where all times agree."""
    text = f"{number(value)} h"
    if np.isnan(low) or (low == value and high in (value, np.inf)):
        return text
    return interval(text, number(low), number(high)) if np.isfinite(high) else f"{text} (above {number(low)})"


def observed_times(data: object, level: float = 0.95, observed: npt.ArrayLike | None = None) -> ObservedTimes:
    """Mean and median of every group as they were observed, before any distribution is fitted.

    Parameters
    ----------
    data : LifeData, FailureLog or array_like
        Durations in hours, without intervals and right truncation; of a log its times to failure.
    level : float
        Level of the intervals, between 0 and 1.
    observed : array_like of bool, optional
        With an array of durations: whether each ended.

    Raises
    ------
    ArgumentError
        For a level outside 0..1.
    DataError
        For intervals or right truncation.

    Examples
    --------
    >>> observed_times([1.0, 2.0, 3.0, 10.0]).headline
    'Observed: mean 4 h (0.98-16.3), median 2 h (above 1); 4 lifetimes.'
    """
    level_checked(level)
    lives = lives_of(data, observed)
    median = kaplan_meier(lives, level=level).median().to_numpy(dtype=np.float64, copy=True)
    median[lives.from_age_known().n_lives == 0] = np.nan
    weights = np.ones(lives.durations.size) if lives.weights is None else lives.weights.astype(np.float64)
    hours = lives.durations if lives.entry is None else lives.durations - lives.entry
    ended = lives.n_failures
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(ended > 0, lives.total_time / ended, np.nan)
        # variance of a ratio of sums, by its linear part
        residual = hours - np.repeat(mean, lives.sizes) * lives.observed
        error = np.sqrt(sums(weights * residual**2, lives.offsets)) / lives.total_time
    quantile = special.stdtrit(np.maximum(ended - 1, 1), 0.5 + 0.5 * level)
    far = np.where(ended > 2, quantile * error, np.nan)
    means, (middle, low, high) = (mean, mean * np.exp(-far), mean * np.exp(far)), median.T
    return ObservedTimes(lives.groups, lives.measure, lives.n_lives, ended, *means, middle, low, high, level)
