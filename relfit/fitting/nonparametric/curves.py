"""`StepCurves`: functions of time that step at the observed times, with intervals, for many groups at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import durations
from relfit.base.arrays import BoolArray, Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.ragged import first_below, places
from relfit.base.results import Interval, Result
from relfit.base.text import count, interval, number

_STEPS = ("times", "estimate", "standard_error", "low", "high", "at_risk", "events")
_SAME = 1e-12  # relative difference below which two probabilities count as equal


class Grouped(Result):
    """Base of results in flat arrays; group ``j`` owns ``offsets[j]:offsets[j + 1]``."""

    groups: pd.Index
    offsets: IntArray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    def codes(self) -> IntArray:
        """Number of the group of each entry."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.offsets))

    def part(self, position: int) -> slice:
        """Entries of the group at `position`."""
        return slice(int(self.offsets[position]), int(self.offsets[position + 1]))

    def _table(self, *names: str) -> pd.DataFrame:
        return pd.DataFrame({name: getattr(self, name) for name in names}, index=self.groups[self.codes()])


class StepCurves(Grouped):
    """Curves that step at the observed times; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    quantity, method : str
        What is estimated (``"survival"``, ``"cumulative hazard"``, ``"mean number of failures"``), and how.
    groups : pandas.Index, shape (groups,)
    offsets : ndarray of int, shape (groups + 1,)
    times : ndarray of float, shape (steps,)
        Distinct times at which something ended or failed, hours, rising within a group.
    estimate, standard_error : ndarray of float, shape (steps,)
        From each time until the next. Before the first it is 1 for a survival, else 0.
    low, high : ndarray of float, shape (steps,)
        Pointwise confidence interval at `level`; NaN where there is none.
    at_risk, events : ndarray of int, shape (steps,)
        Durations, or systems, at risk at each time, and the failures at it.
    sizes : ndarray of int, shape (groups,)
        Durations, or systems, in each group.
    status : ndarray of object, shape (groups,)
        ``ok``, or what is amiss; the function that made the curves documents the values.
    level : float
    """

    _not_in_json = ("offsets", *_STEPS)

    quantity: str
    method: str
    times: FloatArray
    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    at_risk: IntArray
    events: IntArray
    sizes: IntArray
    status: npt.NDArray[np.object_]
    level: float

    @property
    def headline(self) -> str:
        """The median of the largest group, or where its curve ends."""
        start = (
            f"{self.method}: {self.quantity} of {count(self.n_groups, 'group')}, {count(self.events.sum(), 'failure')}"
        )
        if not self.events.any():
            return f"{start}."
        place = int(np.bincount(self.codes(), self.events, minlength=self.n_groups).argmax())
        which = "" if self.n_groups == 1 else " of the group with most failures"
        if self.quantity == "survival":
            median = [float(v) for v in self.median().iloc[place]]
            if np.isinf(median[0]):
                above = f", above {number(median[1])} h" if np.isfinite(median[1]) else ""
                return f"{start}; the median{which} is not reached{above}."
            return f"{start}; the median{which} is {interval(f'{number(median[0])} h', *map(number, median[1:]))}."
        last = int(self.offsets[place + 1]) - 1
        value, low, high = (number(float(v[last])) for v in (self.estimate, self.low, self.high))
        return f"{start}; the curve{which} reaches {interval(value, low, high)} at {number(self.times[last])} h."

    def group(self, position: int) -> tuple[FloatArray, FloatArray]:
        """Times and estimates of the group at `position`."""
        return self.times[self.part(position)], self.estimate[self.part(position)]

    def last_times(self) -> FloatArray:
        """Time of the last step of each group, NaN for a group without one; shape (groups,)."""
        last = np.full(self.n_groups, np.nan)
        filled = np.diff(self.offsets) > 0
        last[filled] = self.times[self.offsets[1:][filled] - 1]
        return last

    def seen_until(self) -> FloatArray:
        """Time up to which each group was observed, shape (groups,); the curve says nothing beyond it."""
        return self.last_times()

    def at(self, times: Durations) -> FloatArray:
        """Estimates at `times`; past the last time of a group its last value (Gill's rule).

        Parameters
        ----------
        times : durations
            Hours, or text such as "24h": one, or m for all groups, or one row per group.

        Returns
        -------
        ndarray of float, shape (groups,) or (groups, m)

        Raises
        ------
        ArgumentError
            For times below zero or missing, or of a shape that does not fit.
        """
        return self._look_up(self.estimate, times)

    def interval(self, times: Durations) -> Interval:
        """Estimates with their pointwise intervals at `times`, as `at`; past the last time, the last ones.

        Returns
        -------
        relfit.base.results.Interval
            Arrays of shape (groups,) or (groups, m); one label per group and time. The status is ``ok``, ``no_limits``,
            or ``beyond_data``: none of the group was observed at that time, and estimate and limits are those before.
        """
        estimate, low, high = (self._look_up(values, times) for values in (self.estimate, self.low, self.high))
        if self.quantity == "survival":
            low = np.where(self._look_up(np.zeros(self.times.size), times) > 0.0, self._low_before(times), low)
        status = np.where(np.isnan(low) | np.isnan(high), "no_limits", "ok").astype(object)
        at = durations("times", times, infinite=True)
        status[self._beyond(at).reshape(status.shape)] = "beyond_data"
        rows = np.repeat(np.arange(self.n_groups), estimate.size // max(self.n_groups, 1))
        return Interval(self.quantity, self.method, self.level, at, estimate, low, high, status, self.groups[rows])

    def sf(self, times: Durations) -> FloatArray:
        """Reliability at `times`, as `at`; of a cumulative hazard H it is ``exp(-H)``.

        Raises
        ------
        ArgumentError
            For a curve of another quantity, or times that `at` rejects.

        Examples
        --------
        >>> import relfit as rf
        >>> curve = rf.kaplan_meier([1.0, 2.0, 3.0, 9.0])
        >>> curve.sf([0.5, 2.0]).tolist(), curve.cdf(2.0).tolist(), curve.conditional_sf(1.0, age=2.0).tolist()
        ([[1.0, 0.5]], [0.5], [0.5])
        """
        if self.quantity not in ("survival", "cumulative hazard"):
            raise ArgumentError(f"a {self.quantity} has no reliability", remedy="use kaplan_meier(data)")
        values = self.at(times)
        return values if self.quantity == "survival" else np.exp(-values)

    def cdf(self, times: Durations) -> FloatArray:
        """Share that has failed by `times`."""
        return 1.0 - self.sf(times)

    def cumulative_hazard(self, times: Durations) -> FloatArray:
        """Cumulative hazard at `times`; of a survival function minus its log."""
        if self.quantity == "cumulative hazard":
            return self.at(times)
        with np.errstate(divide="ignore"):
            return -np.log(self.sf(times))

    def conditional_sf(self, times: Durations, age: float | str) -> FloatArray:
        """Probability of surviving `times` hours more at an `age`; NaN where the data do not say.

        That is where the curve is zero by that age, and beyond the last time observed, unless the curve is zero there.
        """
        start = float(durations("age", age))
        until = durations("times", times, infinite=True) + start
        with np.errstate(invalid="ignore", divide="ignore"):
            later, now = self.sf(until), self.sf(start)
            share = np.asarray(later / (now if later.ndim == 1 else now[:, None]))
        unseen = self._beyond(until).reshape(share.shape) & (later > 0.0)
        return np.where(unseen, np.nan, share)

    def quantile(self, probability: float) -> pd.DataFrame:
        """Time by which a share `probability` has failed; the interval inverts the pointwise intervals.

        Parameters
        ----------
        probability : float
            Between 0 and 1.

        Returns
        -------
        pandas.DataFrame
            One row per group: ``time``, ``low``, ``high`` in hours. Each is the first step at which the curve (or the
            end of its interval) is at or below ``1 - probability``, infinite where it never is (Brookmeyer and Crowley
            1982).

        Raises
        ------
        ArgumentError
            For a probability outside 0..1, or curves other than survival.
        """
        if self.quantity != "survival":
            raise ArgumentError(f"a {self.quantity} has no quantiles", remedy="use kaplan_meier(data)")
        if not 0.0 <= probability <= 1.0:
            raise ArgumentError(f"probability {probability} is not between 0 and 1")
        out = np.full((self.n_groups, 3), np.inf)
        low = np.where(self.estimate < 1.0, self.low, 1.0)  # before the first failure there is nothing to invert
        for i, curve in enumerate((self.estimate, low, self.high)):
            place = first_below(curve, self.offsets, (1.0 - probability) * (1.0 + _SAME))
            reached = place < self.offsets[1:]
            out[reached, i] = self.times[place[reached]]
        if probability == 0.0:
            out[:] = 0.0
        return pd.DataFrame(out, columns=["time", "low", "high"], index=self.groups)

    def ppf(self, probability: float) -> pd.DataFrame:
        """`quantile`, by the name that scipy has."""
        return self.quantile(probability)

    def median(self) -> pd.DataFrame:
        """Time by which half have failed, with its interval; see `quantile`.

        Examples
        --------
        >>> from relfit import LifeData
        >>> from relfit.fitting.nonparametric import kaplan_meier
        >>> kaplan_meier(LifeData.from_array([1.0, 2.0, 3.0, 9.0])).median().values.tolist()
        [[2.0, 1.0, inf]]
        """
        return self.quantile(0.5)

    def to_frame(self) -> pd.DataFrame:
        """One row per step: ``time`` (hours), ``estimate``, ``standard_error``, ``low``, ``high``, and numbers."""
        return self._table(*_STEPS).rename(columns={"times": "time"})

    def _beyond(self, times: FloatArray) -> BoolArray:
        """Where times are past the end of observation, shape (groups, m); everywhere for a group without durations."""
        return times_per_group(times, self.n_groups) > np.nan_to_num(self.seen_until(), nan=-1.0)[:, None]

    def _low_before(self, times: Durations) -> FloatArray:
        """Lower limit of a survival before the first step of each group, with all at risk then; 1 at time 0."""
        wanted, filled = times_per_group(times, self.n_groups), np.diff(self.offsets) > 0
        first = np.full(self.n_groups, np.inf)
        first[filled] = self.at_risk[self.offsets[:-1][filled]]
        out = np.where(wanted > 0.0, exact_low(first, self.level)[:, None], 1.0)
        return out[:, 0] if np.ndim(times) == 0 else out  # type: ignore[arg-type]

    def _look_up(self, values: FloatArray, times: Durations) -> FloatArray:
        wanted = times_per_group(times, self.n_groups)
        rows = places(self.times, self.offsets, wanted)
        padded = np.append(values, 1.0 if self.quantity == "survival" else 0.0)
        out = padded[np.where(rows > 0, self.offsets[:-1, None] + rows - 1, values.size)]
        return out[:, 0] if np.ndim(times) == 0 else out  # type: ignore[arg-type]


def exact_low(at_risk: npt.ArrayLike, level: float) -> FloatArray:
    """Lower limit of a survival of which as many at risk show no failure (Clopper and Pearson 1934)."""
    return np.asarray((0.5 - level / 2.0) ** (1.0 / np.maximum(np.asarray(at_risk, np.float64), 1.0)))


def times_per_group(times: Durations, groups: int) -> FloatArray:
    """Times to look up, (groups, m); an `ArgumentError` for those below zero or missing, or another shape."""
    wanted = durations("times", times, infinite=True)
    if wanted.ndim > 2 or (wanted.ndim == 2 and wanted.shape[0] != groups):
        raise ArgumentError(f"times of shape {wanted.shape} do not have one row for each of the {groups} groups")
    return np.broadcast_to(np.atleast_1d(wanted), (groups, wanted.shape[-1] if wanted.ndim else 1))
