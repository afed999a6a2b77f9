"""The Kaplan-Meier and Nelson-Aalen estimates, for every group of a batch at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.base.numeric.levels import normal_quantile
from relfit.base.numeric.ragged import cumulative
from relfit.fitting.nonparametric.curves import StepCurves
from relfit.fitting.nonparametric.risk_sets import at_each_time
from relfit.fitting.nonparametric.samples import lives_of

_LARGE = 100.0  # from here on Euler and Maclaurin's sum of 1/k has all digits


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
        variance; between 0 and 1.
    **columns
        Of a table, the columns ``duration``, ``weights``, ...; see `LifeData.from_frame`.

    Returns
    -------
    StepCurves
        Both bounds are 1 before the first failure. Where the curve has reached zero, `low` is zero and `high` the last
        bound before. With status ``collapsed`` the curve is of little use: all at risk failed before others entered. A
        group without durations has no step.

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
        low = np.where(inside, np.exp(log * np.exp(far)), survival)
        high = np.where(inside, np.exp(log * np.exp(-far)), survival)
    ended = survival == 0.0
    starts = sets.offsets[sets.codes]
    before = np.maximum.accumulate(np.where(ended, -1, np.arange(ended.size)))  # the last step above zero
    low, high = np.where(ended, 0.0, low), np.where(before >= starts, high[before], 1.0)
    final = np.zeros(ended.size, dtype=bool)
    final[sets.offsets[1:][np.diff(sets.offsets) > 0] - 1] = True
    status = np.full(data.n_groups, "ok", dtype=object)
    status[sets.codes[ended & ~final]] = "collapsed"
    return sets.curves("survival", "Kaplan-Meier", (survival, survival * error, low, high), status, level)


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
    status = np.full(data.n_groups, "ok", dtype=object)
    return sets.curves("cumulative hazard", "Nelson-Aalen", (hazard, error, low, high), status, level)


def hazard_limits(value: FloatArray, far: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Interval of a value that is not negative, `far` either side on the log scale; both ends 0 where it is 0."""
    with np.errstate(over="ignore"):
        factor = np.exp(np.divide(far, value, out=np.zeros_like(value), where=value > 0))
        return value / factor, value * factor


def _harmonic(n: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sum 1/(n - i)`` and ``sum 1/(n - i)**2`` over ``i = 0 .. d - 1``, for each pair of n and d.

    Examples
    --------
    >>> [x.round(6).tolist() for x in _harmonic(np.array([3.0]), np.array([2.0]))]
    [[0.833333], [0.361111]]
    """
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
