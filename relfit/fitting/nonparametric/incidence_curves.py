"""The Aalen-Johansen estimate of competing causes, for every group of a batch at once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import DataError
from relfit.base.numeric.levels import normal_quantile
from relfit.base.numeric.ragged import cumulative
from relfit.fitting.nonparametric.curves import StepCurves
from relfit.fitting.nonparametric.risk_sets import at_each_time
from relfit.fitting.nonparametric.samples import group_and_cause, lives_of


def cumulative_incidence(data: object, *, level: float = 0.95, **columns: str) -> StepCurves:
    """Probability of having failed from each cause by each age, with all causes present (Aalen and Johansen 1978).

    One minus Kaplan-Meier of a cause, with the others as censoring, is too high: it is the probability if the other
    causes did not exist.

    Parameters
    ----------
    data : LifeData or pandas.DataFrame
        Of a log ``log.ttf(competing="cause")``; of a table the column `cause` names the cause of each failure, and is
        missing for lives that did not end in a failure. Without intervals and right truncation.
    level : float
        Level of the pointwise intervals, which are normal on the scale of the log cumulative hazard; between 0 and 1.
    **columns
        Of a table, the columns ``duration``, ``cause``, ``by``, ``entry``, ..., as for `relfit.fit`.

    Returns
    -------
    StepCurves
        One curve per group and cause. Both bounds are 0 before the first failure of the cause. With status
        ``collapsed`` all at risk failed before others entered.

    Raises
    ------
    ArgumentError
        For a level outside 0..1, or data that are not by group and cause.
    DataError
        For intervals or right truncation, or causes of one group with different lives.

    Notes
    -----
    Causes need not be independent. The variance is that of Marubini and Valsecchi (1995), equation 10.12.

    Examples
    --------
    >>> lives = pd.DataFrame({"hours": [1.0, 2.0, 3.0, 4.0], "mode": ["fan", "disk", None, "fan"]})
    >>> curves = cumulative_incidence(lives, duration="hours", cause="mode")
    >>> curves.groups.tolist()
    [('all', 'disk'), ('all', 'fan')]
    >>> curves.at(4.0).tolist()
    [0.25, 0.75]
    """
    z = normal_quantile(level)
    lives = lives_of(data, **columns)
    group = pd.factorize(group_and_cause(lives.groups)[0])[0]
    sets = at_each_time(lives, "Aalen-Johansen")
    like = np.unique(group, return_index=True)[1][group]  # the first cause of the same group
    steps = np.diff(sets.offsets)
    if (steps != steps[like]).any() or (sets.sizes != sets.sizes[like]).any():
        raise DataError("the causes of a group have different lives", remedy="give each life to every cause")
    place = np.arange(sets.times.size) - sets.offsets[sets.codes] + sets.offsets[like][sets.codes]
    n, failed = sets.at_risk.astype(np.float64), sets.events.astype(np.float64)
    every = np.bincount(place, failed, minlength=place.size)[place]

    def summed(terms: FloatArray) -> FloatArray:
        return cumulative(terms, sets.codes)

    alive = n - every
    survival = cumulative(np.divide(alive, n, out=np.ones_like(n), where=n > 0.0), sets.codes, product=True)
    begins = np.arange(place.size) == sets.offsets[sets.codes]
    before = np.where(begins, 1.0, np.roll(survival, 1))
    hazard = np.divide(failed, n, out=np.zeros_like(n), where=n > 0.0)
    value = summed(before * hazard)
    spread = np.divide(every, n * alive, out=np.zeros_like(n), where=(n > 0.0) & (alive > 0.0))
    both = np.divide(before * hazard, n, out=np.zeros_like(n), where=n > 0.0)
    variance = value**2 * summed(spread) - 2.0 * value * summed(value * spread) + summed(value**2 * spread)
    variance += summed(before * both * (1.0 - hazard)) - 2.0 * (value * summed(both) - summed(value * both))
    error = np.sqrt(np.maximum(variance, 0.0))
    inside = (value > 0.0) & (value < 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = np.exp(z * error / -(value * np.log(value)))
        low, high = np.where(inside, value**factor, value), np.where(inside, value ** (1.0 / factor), value)
    final = np.zeros(place.size, dtype=bool)
    final[sets.offsets[1:][steps > 0] - 1] = True
    status = np.full(lives.n_groups, "ok", dtype=object)
    status[sets.codes[(survival == 0.0) & ~final]] = "collapsed"
    return sets.curves("cumulative incidence", "Aalen-Johansen", (value, error, low, high), status, level)
