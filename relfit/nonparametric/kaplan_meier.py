"""The Kaplan-Meier estimate of the survival function of every group of a batch at once, with its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.lifedata import LifeData
from relfit.nonparametric.kernels import first_below, running_product, running_sum
from relfit.nonparametric.steps import (
    INTERVALS,
    BoolArray,
    FloatArray,
    IntArray,
    Steps,
    normal_quantile,
    risk_sets,
)

if TYPE_CHECKING:
    from relfit.nonparametric.bands import Bands

__all__ = ["StepFunctions", "kaplan_meier", "survival_limits"]

_SAME = 1e-12  # relative difference below which two probabilities count as equal


@dataclass(frozen=True, eq=False)
class StepFunctions(Steps):
    """Survival curves that step at the observed times; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    times : ndarray of float, shape (steps,)
        Distinct times at which something ended, hours, rising within a group.
    survival : ndarray of float, shape (steps,)
        Estimate just after each time.
    standard_error : ndarray of float, shape (steps,)
        Greenwood's formula; zero where the curve is at zero.
    at_risk, failures : ndarray of int, shape (steps,)
        Lives under observation just before each time, and those that failed at it.
    low, high : ndarray of float, shape (steps,)
        Pointwise limits at `level`. Both are 1 before the first failure. Where the curve has reached zero, `low` is
        zero and `high` is the last limit before.
    level : float
    interval : str
        ``"log-log"``, ``"log"`` or ``"plain"``.
    lives : ndarray of int, shape (groups,)
        Lives in each group.
    collapsed : ndarray of bool, shape (groups,)
        Groups with delayed entry whose curve fell to zero because all lives then at risk failed, though others came
        or failed later: the estimate says little there.
    """

    survival: FloatArray
    standard_error: FloatArray
    at_risk: IntArray
    failures: IntArray
    low: FloatArray
    high: FloatArray
    level: float
    interval: str
    lives: IntArray
    collapsed: BoolArray

    def group(self, position: int) -> tuple[FloatArray, FloatArray]:
        """Times and survival of the group at `position`."""
        part = self._slice(position)
        return self.times[part], self.survival[part]

    def at(self, times: npt.ArrayLike, beyond: float | None = None) -> FloatArray:
        """Survival at `times`.

        Parameters
        ----------
        times : array_like of float
            Hours: one, or m for all groups, or one row a group.
        beyond : float, optional
            What to give past the last time of a group, where the estimate is not defined unless it is zero: 0 is
            Efron's rule, NaN leaves it open. The last value is kept (Gill's rule) when left out.

        Returns
        -------
        ndarray of float, shape (groups,) or (groups, m)

        Examples
        --------
        >>> curves = kaplan_meier(LifeData.from_array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
        >>> curves.at([2.0, 4.0]).round(4).tolist()
        [[0.3333, 0.0], [1.0, 0.6667]]
        """
        return self._look_up(self.survival, 1.0, times, beyond)

    def limits_at(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits at `times`, as `at`; past the last time, the last limits."""
        return self._look_up(self.low, 1.0, times, None), self._look_up(self.high, 1.0, times, None)

    def quantile(self, probability: float) -> pd.DataFrame:
        """Time by which a share `probability` has failed, with limits from the inverted pointwise limits.

        Parameters
        ----------
        probability : float
            Between 0 and 1.

        Returns
        -------
        pandas.DataFrame
            One row a group: ``time``, ``low``, ``high`` in hours. Each is the first step at which the curve (its
            limit) is at or below ``1 - probability``, infinite where it never is (Brookmeyer and Crowley 1982).

        Raises
        ------
        ArgumentError
            For a probability outside 0..1.
        """
        if not 0.0 <= probability <= 1.0:
            raise ArgumentError(f"probability {probability} is not between 0 and 1")
        found = [self._first_below(curve, 1.0 - probability) for curve in (self.survival, self.low, self.high)]
        return pd.DataFrame(dict(zip(("time", "low", "high"), found, strict=True)), index=self.groups)

    def median(self) -> pd.DataFrame:
        """Time by which half have failed, with limits; see `quantile`.

        Examples
        --------
        >>> kaplan_meier(LifeData.from_array([1.0, 2.0, 3.0, 9.0])).median().values.tolist()
        [[2.0, 1.0, inf]]
        """
        return self.quantile(0.5)

    def restricted_mean(self, until: npt.ArrayLike | None = None) -> pd.DataFrame:
        """Mean life up to a horizon: the area below the curve from 0 to `until`.

        Parameters
        ----------
        until : array_like of float, optional
            Hours, one for all groups or one a group; the last time of each group when left out.

        Returns
        -------
        pandas.DataFrame
            One row a group: ``until``, ``mean``, ``standard_error`` (Klein and Moeschberger 2003, section 4.5) and the
            normal limits ``low`` and ``high`` at `level`. Past the last time the curve keeps its value. A group
            without lives has ``until`` 0 and mean 0 unless `until` is given: nothing then says it fails.
        """
        groups = len(self.groups)
        horizon = np.nan_to_num(self._last(), nan=0.0) if until is None else np.asarray(until, dtype=np.float64)
        if np.isnan(horizon).any() or (horizon < 0.0).any() or np.isinf(horizon).any():
            raise ArgumentError("until must be zero or more hours, finite")
        if horizon.ndim > 1 or (horizon.ndim == 1 and horizon.size != groups):
            raise ArgumentError(f"until must be one number or one for each of the {groups} groups")
        horizon = np.broadcast_to(horizon, (groups,)).astype(np.float64)
        ends = horizon[self._rows()]
        first = np.zeros(self.times.size, dtype=bool)
        first[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        until_next = np.append(self.times[1:], 0.0)
        until_next[np.append(first[1:], True)] = np.inf
        widths = np.maximum(np.minimum(until_next, ends) - np.minimum(self.times, ends), 0.0)
        start = np.full(groups, np.inf)
        filled = np.diff(self.offsets) > 0
        start[filled] = self.times[self.offsets[:-1][filled]]
        areas = self.survival * widths
        total = _sums(areas, self.offsets)
        beyond = total[self._rows()] - running_sum(areas, self.offsets) + areas
        alive = (self.at_risk - self.failures).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(
                (alive > 0) & (self.times <= ends), beyond**2 * self.failures / (self.at_risk * alive), 0.0
            )
        error = np.sqrt(_sums(terms, self.offsets))
        mean = np.minimum(start, horizon) + total
        z = normal_quantile(self.level)
        return pd.DataFrame(
            {
                "until": horizon,
                "mean": mean,
                "standard_error": error,
                "low": np.maximum(mean - z * error, 0.0),
                "high": np.minimum(mean + z * error, horizon),
            },
            index=self.groups,
        )

    def band(
        self,
        kind: str = "equal-precision",
        level: float = 0.95,
        between: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        interval: str = "log-log",
    ) -> Bands:
        """Limits that hold the whole curve over a range of time; see `relfit.nonparametric.bands.survival_band`."""
        from relfit.nonparametric.bands import survival_band

        return survival_band(self, kind, level, between, interval)

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        return self._frame(
            survival=self.survival,
            standard_error=self.standard_error,
            at_risk=self.at_risk,
            failures=self.failures,
            low=self.low,
            high=self.high,
        )

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "estimate": "kaplan_meier",
            "groups": len(self.groups),
            "steps": int(self.times.size),
            "lives": int(self.lives.sum()),
            "failures": int(self.failures.sum()),
            "level": self.level,
            "interval": self.interval,
            "collapsed": int(self.collapsed.sum()),
        }

    def __repr__(self) -> str:
        return (
            f"StepFunctions: Kaplan-Meier curves of {len(self.groups)} groups, {self.times.size} steps, "
            f"{self.level:.4g} {self.interval} limits"
        )

    def _first_below(self, curve: FloatArray, height: float) -> FloatArray:
        """First time of each group at which a falling curve is at or below `height`."""
        if height >= 1.0:
            return np.zeros(len(self.groups))
        before = first_below(curve, self.offsets, height * (1.0 + _SAME))
        out = np.full(len(self.groups), np.inf)
        reached = before < self.offsets[1:]
        out[reached] = self.times[before[reached]]
        return out


def kaplan_meier(lives: LifeData, level: float = 0.95, interval: str = "log-log") -> StepFunctions:
    """Product-limit estimate of the survival function of every group (Kaplan and Meier 1958).

    Right censoring, delayed entry (left truncation) and weights are accounted for. A life censored at the time of a
    failure counts as at risk then; one that enters at that time does not, unless it entered at 0.

    Parameters
    ----------
    lives : LifeData
        Without intervals and without right truncation.
    level : float
        Level of the pointwise limits, between 0 and 1.
    interval : {"log-log", "log", "plain"}
        Scale on which the limits are normal: the log of the cumulative hazard (the default: the limits stay within
        0..1), the cumulative hazard, or the survival itself; the last two are cut at 0 and 1.

    Returns
    -------
    StepFunctions
        A group without lives has no step and the survival 1 everywhere; one with all lives censored has the survival
        1 at every step.

    Raises
    ------
    ArgumentError
        For a level outside 0..1 or an unknown interval.
    DataError
        For intervals or right truncation: `relfit.nonparametric.turnbull` takes these.

    Examples
    --------
    >>> curves = kaplan_meier(LifeData.from_array([1.0, 2.0, 3.0], [True, False, True]))
    >>> curves.survival.round(4).tolist()
    [0.6667, 0.6667, 0.0]
    >>> curves.low.round(4).tolist(), curves.high.round(4).tolist()
    ([0.0541, 0.0541, 0.0], [0.9452, 0.9452, 0.9452])
    """
    z = normal_quantile(level)
    _check_interval(interval)
    sets = risk_sets(lives, "Kaplan-Meier")
    at_risk, failures = sets.at_risk.astype(np.float64), sets.failures.astype(np.float64)
    alive = at_risk - failures
    survival = running_product(np.divide(alive, at_risk, out=np.ones_like(alive), where=at_risk > 0), sets.offsets)
    empty = (alive == 0) & (failures > 0)
    terms = np.divide(failures, at_risk * alive, out=np.zeros_like(alive), where=(failures > 0) & (alive > 0))
    variance = running_sum(terms, sets.offsets)
    ended = running_sum(empty.astype(np.float64), sets.offsets) > 0
    low, high = survival_limits(survival, variance, z, interval)
    high = _hold_last(np.where(ended, np.nan, high), sets.offsets)
    low = np.where(ended, 0.0, low)
    last = np.zeros(ended.size, dtype=bool)
    last[sets.offsets[1:][np.diff(sets.offsets) > 0] - 1] = True
    collapsed = np.zeros(lives.n_groups, dtype=bool)
    collapsed[sets.owner[ended & ~last]] = True
    return StepFunctions(
        groups=lives.groups,
        offsets=sets.offsets,
        times=sets.times,
        survival=survival,
        standard_error=survival * np.sqrt(variance),
        at_risk=sets.at_risk,
        failures=sets.failures,
        low=low,
        high=high,
        level=level,
        interval=interval,
        lives=sets.lives,
        collapsed=collapsed,
    )


def survival_limits(
    survival: FloatArray, variance: FloatArray, factor: float | FloatArray, interval: str
) -> tuple[FloatArray, FloatArray]:
    """Limits `factor` standard errors either side of the survival, on the scale that `interval` names.

    Parameters
    ----------
    survival : ndarray of float
    variance : ndarray of float
        Variance of the log of the survival.
    factor : float or ndarray
        Standard errors on that scale; for ``log-log`` it is divided by the cumulative hazard.
    interval : {"log-log", "log", "plain"}

    Returns
    -------
    low, high : ndarray of float
        Both equal to the survival where it is 0 or 1.
    """
    error = np.asarray(factor * np.sqrt(variance), dtype=np.float64)
    if interval == "plain":
        return np.maximum(survival - survival * error, 0.0), np.minimum(survival + survival * error, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.log(survival)
        if interval == "log":
            low, high = np.exp(log - error), np.minimum(np.exp(log + error), 1.0)
        else:
            ratio = error / -log
            low, high = np.exp(log * np.exp(ratio)), np.exp(log * np.exp(-ratio))
    fixed = (survival <= 0.0) | (survival >= 1.0)
    return np.where(fixed, survival, low), np.where(fixed, survival, high)


def _check_interval(interval: str) -> None:
    if interval not in INTERVALS:
        raise ArgumentError(f"unknown interval {interval!r}", remedy=f"use one of {', '.join(INTERVALS)}")


def _hold_last(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Replace NaN by the last number before it in its group, or by 1."""
    place = np.where(np.isnan(values), -1, np.arange(values.size))
    first = np.repeat(offsets[:-1], np.diff(offsets))
    place = np.maximum.accumulate(place) if values.size else place
    held = values[np.maximum(place, 0)] if values.size else values
    return np.where(place >= first, held, 1.0)


def _sums(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Sum of each group."""
    totals = np.zeros(offsets.size - 1)
    filled = np.diff(offsets) > 0
    if filled.any():
        totals[filled] = running_sum(values, offsets)[offsets[1:][filled] - 1]
    return totals
