"""Simultaneous bands: limits that hold a whole survival curve, or cumulative hazard, over a range of time.

With ``a(t) = n s2(t) / (1 + n s2(t))`` and ``s2`` the estimated variance of the log of the survival (of the cumulative
hazard), the standardised error is close to a Brownian bridge at ``a``. The equal-precision band (Nair 1984) is a fixed
number of standard errors wide everywhere, the band of Hall and Wellner (1980) a fixed multiple of ``1 + n s2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.nonparametric.kaplan_meier import StepFunctions, survival_limits
from relfit.nonparametric.nelson_aalen import CumulativeHazards, hazard_limits
from relfit.nonparametric.steps import INTERVALS, BoolArray, FloatArray, IntArray, Steps, normal_quantile
from relfit.nonparametric.suprema import bridge_critical, standardised_bridge_critical

__all__ = ["KINDS", "Bands", "hazard_band", "survival_band"]

KINDS = ("equal-precision", "hall-wellner")
_TRIM = 0.1  # the equal-precision band leaves out this share of the range of a(t) at either end, if not told otherwise
_FEWEST = 5  # and steps after which fewer lives are left


@dataclass(frozen=True, eq=False)
class Bands(Steps):
    """Limits that hold a whole curve with probability `level`; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    times : ndarray of float, shape (steps,)
        Start of each step, hours; the first of a group is where its band begins.
    estimate, low, high : ndarray of float, shape (steps,)
        The curve and its limits from each time until the next; those of the last step hold until `until`.
    since, until : ndarray of float, shape (groups,)
        Range of time over which the band holds; NaN where there is none.
    critical : ndarray of float, shape (groups,)
        Critical value of the supremum; infinite where there is no band.
    defined : ndarray of bool, shape (groups,)
        Groups that have a band. The others have the limits that are always right: 0 and 1 (for a hazard, infinity).
    kind, level, interval : str, float, str
        As asked for.
    top : float
        The largest value possible: 1 for a survival curve, infinity for a hazard.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    since: FloatArray
    until: FloatArray
    critical: FloatArray
    defined: BoolArray
    kind: str
    level: float
    interval: str
    top: float

    def at(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Limits at `times`; outside the band's range 0 and 1 (for a hazard, 0 and infinity).

        Parameters
        ----------
        times : array_like of float
            Hours: one, or m for all groups, or one row a group.

        Returns
        -------
        low, high : ndarray of float, shape (groups,) or (groups, m)
        """
        wanted = self._wanted(times)
        with np.errstate(invalid="ignore"):
            outside = ~((wanted >= self.since[:, None]) & (wanted < self.until[:, None]))
        low = np.where(outside, 0.0, self._look_up(self.low, 0.0, wanted, None))
        high = np.where(outside, self.top, self._look_up(self.high, self.top, wanted, None))
        return (low[:, 0], high[:, 0]) if np.ndim(times) == 0 else (low, high)

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        return self._frame(estimate=self.estimate, low=self.low, high=self.high)

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "kind": self.kind,
            "level": self.level,
            "interval": self.interval,
            "groups": len(self.groups),
            "defined": int(self.defined.sum()),
        }

    def __repr__(self) -> str:
        return (
            f"Bands: {self.kind} {self.level:.4g} bands of {len(self.groups)} groups "
            f"({int(self.defined.sum())} defined), {self.interval} scale"
        )


def survival_band(
    curves: StepFunctions,
    kind: str = "equal-precision",
    level: float = 0.95,
    between: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    interval: str = "log-log",
) -> Bands:
    """Simultaneous band for Kaplan-Meier curves.

    Parameters
    ----------
    curves : StepFunctions
    kind : {"equal-precision", "hall-wellner"}
    level : float
        Probability that the band holds the whole curve over its range, between 0 and 1.
    between : pair of float or of arrays of shape (groups,), optional
        First and last hour of the range. It is cut to where the band exists: from the first failure until the curve
        reaches zero or the last life ends. When left out, the equal-precision band is also kept to where ``a(t)`` is
        in 0.05..0.95, and the Hall-Wellner band takes all of it.
    interval : {"log-log", "log", "plain"}
        Scale on which the band is symmetric.

    Returns
    -------
    Bands
        Groups without a range (no failure, all failed at one time) have none, and say so in ``defined``.

    Raises
    ------
    ArgumentError
        For an unknown kind or interval, a level outside 0..1, or a range with its ends exchanged.

    Examples
    --------
    >>> from relfit import LifeData
    >>> from relfit.nonparametric import kaplan_meier
    >>> curves = kaplan_meier(LifeData.from_array(np.arange(1.0, 101.0)))
    >>> band = survival_band(curves, "hall-wellner", between=(10, 90))
    >>> [limit.round(3).tolist() for limit in band.at(50.0)]
    [[0.359], [0.626]]
    """
    if interval not in INTERVALS:
        raise ArgumentError(f"unknown interval {interval!r}", remedy=f"use one of {', '.join(INTERVALS)}")
    alive = curves.survival > 0.0
    variance = np.divide(curves.standard_error, curves.survival, out=np.zeros_like(curves.survival), where=alive) ** 2

    def limits(rows: IntArray, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
        return survival_limits(curves.survival[rows], variance[rows], factor, interval)

    return _band(curves, curves.survival, variance, alive, curves.lives, kind, level, between, interval, 1.0, limits)


def hazard_band(
    curves: CumulativeHazards,
    kind: str = "equal-precision",
    level: float = 0.95,
    between: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    interval: str = "log",
) -> Bands:
    """Simultaneous band for Nelson-Aalen curves; arguments as for `survival_band`.

    Parameters
    ----------
    curves : CumulativeHazards
    kind, level, between
        See `survival_band`. The range ends where the last life does.
    interval : {"log", "plain"}
        Scale on which the band is symmetric.

    Returns
    -------
    Bands
    """
    if interval not in ("log", "plain"):
        raise ArgumentError(f"unknown interval {interval!r}", remedy="use one of log, plain")
    everywhere = np.ones(curves.times.size, dtype=bool)

    def limits(rows: IntArray, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
        return hazard_limits(curves.hazard[rows], curves.variance[rows], factor, interval)

    return _band(
        curves, curves.hazard, curves.variance, everywhere, curves.lives, kind, level, between, interval, np.inf, limits
    )


def _band(
    curves: StepFunctions | CumulativeHazards,
    estimate: FloatArray,
    variance: FloatArray,
    alive: BoolArray,
    lives: IntArray,
    kind: str,
    level: float,
    between: tuple[npt.ArrayLike, npt.ArrayLike] | None,
    interval: str,
    top: float,
    limits: Any,
) -> Bands:
    normal_quantile(level)
    if kind not in KINDS:
        raise ArgumentError(f"unknown kind of band {kind!r}", remedy=f"use one of {', '.join(KINDS)}")
    groups = len(curves.groups)
    owner = curves._rows()
    scaled = lives[owner] * variance
    share = scaled / (1.0 + scaled)
    # the step's end: the next step of the group, or the end of its last life
    ends = np.append(curves.times[1:], 0.0)
    final = np.zeros(owner.size, dtype=bool)
    final[curves.offsets[1:][np.diff(curves.offsets) > 0] - 1] = True
    ends[final] = curves.times[final]
    usable = (variance > 0.0) & alive & (ends > curves.times)
    since, until = _range(between, groups)
    if between is None and kind == "equal-precision":
        usable &= (share >= _TRIM) & (share <= 1.0 - _TRIM) & (curves.at_risk - curves.failures >= _FEWEST)
    usable &= (curves.times < until[owner]) & (ends > since[owner])
    rows = np.flatnonzero(usable)
    group = owner[rows]
    offsets = np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
    defined = np.diff(offsets) > 0
    first, last = rows[offsets[:-1][defined]], rows[offsets[1:][defined] - 1]
    begin, finish = np.full(groups, np.nan), np.full(groups, np.nan)
    begin[defined] = np.maximum(curves.times[first], since[defined])
    finish[defined] = np.minimum(ends[last], until[defined])
    critical = np.full(groups, np.inf)
    if defined.any():
        find = standardised_bridge_critical if kind == "equal-precision" else bridge_critical
        critical[defined] = find(level, share[first], share[last])
    factor = critical[group]
    if kind == "hall-wellner":
        factor = factor * (1.0 + scaled[rows]) / np.sqrt(scaled[rows])
    low, high = limits(rows, factor)
    return Bands(
        groups=curves.groups,
        offsets=offsets,
        times=np.maximum(curves.times[rows], begin[group]),
        estimate=estimate[rows],
        low=low,
        high=high,
        since=begin,
        until=finish,
        critical=critical,
        defined=defined,
        kind=kind,
        level=level,
        interval=interval,
        top=top,
    )


def _range(between: tuple[npt.ArrayLike, npt.ArrayLike] | None, groups: int) -> tuple[FloatArray, FloatArray]:
    low, high = (0.0, np.inf) if between is None else between
    since = np.broadcast_to(np.asarray(low, dtype=np.float64), (groups,))
    until = np.broadcast_to(np.asarray(high, dtype=np.float64), (groups,))
    if not np.all(since < until):
        raise ArgumentError("between must be two times in hours, the first before the last")
    return since, until
