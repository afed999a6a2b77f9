"""Who was at risk and failed at each time, and the Kaplan-Meier, Nelson-Aalen and Aalen-Johansen estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import DataError
from relfit.base.numeric.levels import normal_quantile
from relfit.base.numeric.ordering import changes
from relfit.base.numeric.ragged import cumulative
from relfit.fitting.nonparametric.curves import StepCurves, exact_low
from relfit.fitting.nonparametric.samples import group_and_cause, lives_of
from relfit.log.lifedata import LifeData

Values = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
_LARGE = 100.0  # from here on Euler and Maclaurin's sum of 1/k has all digits


@dataclass(frozen=True)
class RiskSets:
    """Distinct times at which durations ended, rising within a group, and who was at risk and failed at each."""

    groups: pd.Index
    offsets: IntArray
    codes: IntArray  # group of each step
    times: FloatArray
    at_risk: IntArray
    events: IntArray
    sizes: IntArray  # durations of each group

    def curves(
        self, quantity: str, method: str, values: Values, level: float, survival: FloatArray | None = None
    ) -> StepCurves:
        """The curves of the values; ``collapsed`` where the `survival` is zero before the last step of a group."""
        status = np.full(len(self.groups), "ok", dtype=object)
        if survival is not None:
            final = np.zeros(survival.size, dtype=bool)
            final[self.offsets[1:][np.diff(self.offsets) > 0] - 1] = True
            status[self.codes[(survival == 0.0) & ~final]] = "collapsed"
        counts = self.at_risk, self.events, self.sizes
        return StepCurves(self.groups, self.offsets, quantity, method, self.times, *values, *counts, status, level)


def at_each_time(data: LifeData, estimate: str) -> RiskSets:
    """Count who was at risk and who failed at each distinct duration of each group.

    A duration is at risk at t if it entered before t and ended at t or later; one watched from the start (entry 0) is
    at risk at t = 0 too. One that ended at the age at which it entered is at risk at that age alone. Stationary
    durations, whose ages are unknown, are left out.
    """
    data = data.from_age_known()
    if data.upper is not None or data.exit is not None:
        what = "durations known to have ended within an interval" if data.upper is not None else "right truncation"
        raise DataError(f"{estimate} has no answer to {what}", remedy="use turnbull(data)")
    weights = np.ones(data.durations.size, dtype=np.int64) if data.weights is None else data.weights
    code, times = data.group_codes(), data.durations
    order = np.lexsort((times, code))
    order = order[weights[order] > 0]
    code, times, weights = code[order], times[order], weights[order]
    groups = np.arange(data.n_groups + 1)
    new = changes(code, times)
    starts = np.flatnonzero(new)
    owner, at = code[starts], times[starts]
    step = np.cumsum(new) - 1
    failed = np.bincount(step, np.where(data.observed[order], weights, 0), minlength=starts.size).astype(np.int64)
    gone = np.concatenate([[0], np.cumsum(weights)])
    ends = np.searchsorted(code, groups)
    at_risk = gone[ends[owner + 1]] - gone[starts]
    if data.entry is not None:
        at_risk = at_risk - _not_yet_entered(code, times, data.entry[order], weights, owner, at)
    offsets = np.searchsorted(owner, groups).astype(np.int64)
    return RiskSets(data.groups, offsets, owner, at, at_risk.astype(np.int64), failed, np.diff(gone[ends]))


def _not_yet_entered(
    code: IntArray, times: FloatArray, entry: FloatArray, weights: IntArray, owner: IntArray, at: FloatArray
) -> IntArray:
    """Durations of each step's group that enter at or after the step's time (but not those that also end at it)."""
    entry = np.where(entry > 0.0, entry, -np.inf)
    levels = np.unique(np.concatenate([entry, at]))
    # entering at the very end is entering just before it
    place = 2 * np.searchsorted(levels, entry) + (entry != times)
    width = 2 * levels.size + 2
    key = code * width + place
    order = np.argsort(key, kind="stable")
    key = key[order]
    entered = np.concatenate([[0], np.cumsum(weights[order])])
    before = entered[np.searchsorted(key, owner * width + 2 * np.searchsorted(levels, at), side="right")]
    last = entered[np.searchsorted(key, (owner + 1) * width, side="left")]
    return np.asarray(last - before, dtype=np.int64)


def kaplan_meier(
    data: object,
    observed: npt.ArrayLike | None = None,
    *,
    entry: npt.ArrayLike | None = None,
    by: npt.ArrayLike | None = None,
    level: float = 0.95,
    **columns: str,
) -> StepCurves:
    """Product-limit estimate of the survival function of every group (Kaplan and Meier 1958).

    Right censoring, delayed entry (left truncation) and weights are accounted for. A duration censored at the time of a
    failure counts as at risk then; one that enters at that time does not, unless it entered at 0. One that ended at the
    age at which it entered is at risk at that age alone.

    Parameters
    ----------
    data : array_like of float, shape (n,), LifeData, FailureLog or pandas.DataFrame
        Hours, without intervals and right truncation; of a log its times to failure. In two dimensions each row is a
        group. Of a table, `observed`, `entry` and `by` name columns, as for `relfit.fit`.
    observed : array_like of bool, shape (n,), optional
        Whether each ended in a failure; all by default.
    entry : array_like of float, shape (n,), optional
        Age in hours at which each came under observation (left truncation).
    by : array_like, shape (n,), optional
        The group of each duration.
    level : float
        Level of the pointwise intervals, which are normal on the scale of the log cumulative hazard, with Greenwood's
        variance; before the first failure exact, for as many as were at risk; between 0 and 1.
    **columns
        Of a table, the columns ``duration``, ``weights``, ...; see `LifeData.from_frame`.

    Returns
    -------
    StepCurves
        Before the first failure `high` is 1, and `low` the limit of Clopper and Pearson (1934). Where the curve has
        reached zero, `low` is zero and `high` the last bound before. With status ``collapsed`` the curve is of little
        use: all at risk failed before others entered. A group without durations has no step.

    Raises
    ------
    ArgumentError
        For a level outside 0..1.
    DataError
        For intervals or right truncation: `relfit.fitting.nonparametric.turnbull` takes these.

    Examples
    --------
    >>> curves = kaplan_meier([1.0, 2.0, 3.0], [True, False, True])
    >>> curves.estimate.round(4).tolist()
    [0.6667, 0.6667, 0.0]
    >>> curves.low.round(4).tolist(), curves.high.round(4).tolist()
    ([0.0541, 0.0541, 0.0], [0.9452, 0.9452, 0.9452])
    """
    z = normal_quantile(level)
    data = lives_of(data, observed, entry, by, **columns)
    sets = at_each_time(data, "Kaplan-Meier")
    at_risk, failed = sets.at_risk.astype(np.float64), sets.events.astype(np.float64)
    alive = at_risk - failed
    share = np.divide(alive, at_risk, out=np.ones_like(alive), where=at_risk > 0)
    survival = cumulative(share, sets.codes, product=True)
    empty = (alive == 0) & (failed > 0)
    terms = np.divide(failed, at_risk * alive, out=np.zeros_like(alive), where=(failed > 0) & ~empty)
    error = np.sqrt(cumulative(terms, sets.codes))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.log(survival)
        far = z * error / -log
        inside = (survival > 0.0) & (survival < 1.0)
        low = np.where(inside, np.exp(log * np.exp(far)), _none_failed(sets, level))
        high = np.where(inside, np.exp(log * np.exp(-far)), survival)
    ended = survival == 0.0
    starts = sets.offsets[sets.codes]
    before = np.maximum.accumulate(np.where(ended, -1, np.arange(ended.size)))  # the last step above zero
    low, high = np.where(ended, 0.0, low), np.where(before >= starts, high[before], 1.0)
    return sets.curves("survival", "Kaplan-Meier", (survival, survival * error, low, high), level, survival)


def _none_failed(sets: RiskSets, level: float) -> FloatArray:
    """Lower limit of the survival at each step if none has failed by then: exact, for the fewest at risk so far."""
    apart = sets.codes * (int(sets.at_risk.max(initial=0)) + 1)
    fewest = np.minimum.accumulate(sets.at_risk - apart) + apart
    return exact_low(fewest, level)


def nelson_aalen(
    data: object,
    observed: npt.ArrayLike | None = None,
    *,
    entry: npt.ArrayLike | None = None,
    by: npt.ArrayLike | None = None,
    level: float = 0.95,
    **columns: str,
) -> StepCurves:
    """Cumulative hazard of every group (Nelson 1972, Aalen 1978), with delayed entry and weights.

    Parameters
    ----------
    data, observed, entry, by, **columns
        As for `kaplan_meier`.
    level : float
        Level of the pointwise intervals, which are normal on the log scale; between 0 and 1.

    Returns
    -------
    StepCurves
        Both bounds are 0 before the first failure. A group without durations has no step.

    Raises
    ------
    ArgumentError
        For a level outside 0..1.
    DataError
        For intervals or right truncation.

    Notes
    -----
    d failures at one time among n at risk add ``1/n + 1/(n-1) + ... + 1/(n-d+1)``, as if they had failed in turn, with
    the sum of the squares as variance (Fleming and Harrington 1984). With delayed entry the curve is flat at ages
    at which none is at risk, which is no estimate.

    Examples
    --------
    >>> nelson_aalen([1.0, 2.0, 2.0, 4.0]).estimate.round(4).tolist()
    [0.25, 1.0833, 2.0833]
    """
    z = normal_quantile(level)
    data = lives_of(data, observed, entry, by, **columns)
    sets = at_each_time(data, "Nelson-Aalen")
    steps, squares = _harmonic(sets.at_risk.astype(np.float64), sets.events.astype(np.float64))
    hazard, error = cumulative(steps, sets.codes), np.sqrt(cumulative(squares, sets.codes))
    low, high = hazard_limits(hazard, z * error)
    return sets.curves("cumulative hazard", "Nelson-Aalen", (hazard, error, low, high), level)


def hazard_limits(value: FloatArray, far: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Interval of a value that is not negative, `far` either side on the log scale; both ends 0 where it is 0."""
    with np.errstate(over="ignore"):
        factor = np.exp(np.divide(far, value, out=np.zeros_like(value), where=value > 0))
        return value / factor, value * factor


def _harmonic(n: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sum 1/(n - i)`` and ``sum 1/(n - i)**2`` over ``i = 0 .. d - 1``, for each pair of n and d."""
    first, second = d / n, d / n**2
    several = d > 1
    if several.any():
        first[several], second[several] = _harmonic_sums(n[several], d[several])
    return first, second


def _harmonic_sums(n: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    low = n - d
    small = low < _LARGE
    a, b = np.where(small, _LARGE, low), np.where(small, _LARGE + d, n)
    first = np.log1p(d / a) + 0.5 * (1 / b - 1 / a) - (b**-2.0 - a**-2.0) / 12 + (b**-4.0 - a**-4.0) / 120
    second = d / (a * b) + 0.5 * (b**-2.0 - a**-2.0) - (b**-3.0 - a**-3.0) / 6 + (b**-5.0 - a**-5.0) / 30
    direct = special.digamma(n + 1.0) - special.digamma(low + 1.0)
    squares = special.polygamma(1, low + 1.0) - special.polygamma(1, n + 1.0)
    return np.where(small, direct, first), np.where(small, squares, second)


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
        raise DataError("the causes of a group have different durations", remedy="give each duration to every cause")
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
    return sets.curves("cumulative incidence", "Aalen-Johansen", (value, error, low, high), level, survival)
