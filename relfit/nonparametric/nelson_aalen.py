"""The Nelson-Aalen estimate of the cumulative hazard of every group of a batch at once, with its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.lifedata import LifeData
from relfit.nonparametric.kernels import harmonic_increments, running_sum
from relfit.nonparametric.steps import FloatArray, IntArray, Steps, normal_quantile, risk_sets

if TYPE_CHECKING:
    from relfit.nonparametric.bands import Bands

__all__ = ["CumulativeHazards", "hazard_limits", "nelson_aalen"]

_TIES = ("fleming-harrington", "nelson")
_INTERVALS = ("log", "plain")


@dataclass(frozen=True, eq=False)
class CumulativeHazards(Steps):
    """Cumulative hazards that step at the observed times; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    times : ndarray of float, shape (steps,)
        Distinct times at which something ended, hours, rising within a group.
    hazard : ndarray of float, shape (steps,)
        Cumulative hazard just after each time.
    variance : ndarray of float, shape (steps,)
        Its estimated variance.
    at_risk, failures : ndarray of int, shape (steps,)
        Lives under observation just before each time, and those that failed at it.
    low, high : ndarray of float, shape (steps,)
        Pointwise limits at `level`; both are 0 before the first failure.
    level : float
    interval : str
        ``"log"`` or ``"plain"``.
    ties : str
        ``"fleming-harrington"`` or ``"nelson"``.
    lives : ndarray of int, shape (groups,)
        Lives in each group.
    """

    hazard: FloatArray
    variance: FloatArray
    at_risk: IntArray
    failures: IntArray
    low: FloatArray
    high: FloatArray
    level: float
    interval: str
    ties: str
    lives: IntArray

    def group(self, position: int) -> tuple[FloatArray, FloatArray]:
        """Times and cumulative hazard of the group at `position`."""
        part = self._slice(position)
        return self.times[part], self.hazard[part]

    def at(self, times: npt.ArrayLike, beyond: float | None = None) -> FloatArray:
        """Cumulative hazard at `times`.

        Parameters
        ----------
        times : array_like of float
            Hours: one, or m for all groups, or one row a group.
        beyond : float, optional
            What to give past the last time of a group; the last value is kept when left out.

        Returns
        -------
        ndarray of float, shape (groups,) or (groups, m)
        """
        return self._look_up(self.hazard, 0.0, times, beyond)

    def limits_at(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits at `times`, as `at`; past the last time, the last limits."""
        return self._look_up(self.low, 0.0, times, None), self._look_up(self.high, 0.0, times, None)

    def band(
        self,
        kind: str = "equal-precision",
        level: float = 0.95,
        between: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        interval: str = "log",
    ) -> Bands:
        """Limits that hold the whole curve over a range of time; see `relfit.nonparametric.bands.hazard_band`."""
        from relfit.nonparametric.bands import hazard_band

        return hazard_band(self, kind, level, between, interval)

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        return self._frame(
            hazard=self.hazard,
            variance=self.variance,
            at_risk=self.at_risk,
            failures=self.failures,
            low=self.low,
            high=self.high,
        )

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "estimate": "nelson_aalen",
            "groups": len(self.groups),
            "steps": int(self.times.size),
            "lives": int(self.lives.sum()),
            "failures": int(self.failures.sum()),
            "level": self.level,
            "interval": self.interval,
            "ties": self.ties,
        }

    def __repr__(self) -> str:
        return (
            f"CumulativeHazards: Nelson-Aalen curves of {len(self.groups)} groups, {self.times.size} steps, "
            f"{self.level:.4g} {self.interval} limits"
        )


def nelson_aalen(
    lives: LifeData, level: float = 0.95, interval: str = "log", ties: str = "fleming-harrington"
) -> CumulativeHazards:
    """Cumulative hazard of every group (Nelson 1972, Aalen 1978), with delayed entry and weights.

    Parameters
    ----------
    lives : LifeData
        Without intervals and without right truncation.
    level : float
        Level of the pointwise limits, between 0 and 1.
    interval : {"log", "plain"}
        Scale on which the limits are normal; ``plain`` is cut at 0.
    ties : {"fleming-harrington", "nelson"}
        What d failures at one time among n at risk add. ``fleming-harrington``: ``1/n + 1/(n-1) + ... + 1/(n-d+1)``,
        as if they had failed one after the other, with the sum of the squares as variance (Fleming and Harrington
        1984; the default of lifelines). ``nelson``: ``d/n``, for times that are discrete by nature, with variance
        ``d (n - d) / n**3``. Without ties, both estimates are the same; the variances are not.

    Returns
    -------
    CumulativeHazards
        A group without lives has no step and the hazard 0 everywhere, as has one with all lives censored.

    Raises
    ------
    ArgumentError
        For a level outside 0..1, an unknown interval or rule for ties.
    DataError
        For intervals or right truncation.

    Examples
    --------
    >>> curves = nelson_aalen(LifeData.from_array([1.0, 2.0, 2.0, 4.0]))
    >>> curves.hazard.round(4).tolist()
    [0.25, 1.0833, 2.0833]
    >>> nelson_aalen(LifeData.from_array([1.0, 2.0, 2.0, 4.0]), ties="nelson").hazard.round(4).tolist()
    [0.25, 0.9167, 1.9167]
    """
    z = normal_quantile(level)
    if interval not in _INTERVALS:
        raise ArgumentError(f"unknown interval {interval!r}", remedy=f"use one of {', '.join(_INTERVALS)}")
    if ties not in _TIES:
        raise ArgumentError(f"unknown rule for ties {ties!r}", remedy=f"use one of {', '.join(_TIES)}")
    sets = risk_sets(lives, "Nelson-Aalen")
    at_risk, failures = sets.at_risk.astype(np.float64), sets.failures.astype(np.float64)
    if ties == "nelson":
        share = np.divide(failures, at_risk, out=np.zeros_like(failures), where=failures > 0)
        steps, squares = share, np.divide(share * (1.0 - share), at_risk, out=np.zeros_like(share), where=share > 0)
    else:
        steps, squares = harmonic_increments(at_risk, failures)
    hazard, variance = running_sum(steps, sets.offsets), running_sum(squares, sets.offsets)
    low, high = hazard_limits(hazard, variance, z, interval)
    return CumulativeHazards(
        groups=lives.groups,
        offsets=sets.offsets,
        times=sets.times,
        hazard=hazard,
        variance=variance,
        at_risk=sets.at_risk,
        failures=sets.failures,
        low=low,
        high=high,
        level=level,
        interval=interval,
        ties=ties,
        lives=sets.lives,
    )


def hazard_limits(
    hazard: FloatArray, variance: FloatArray, factor: float | FloatArray, interval: str
) -> tuple[FloatArray, FloatArray]:
    """Limits `factor` standard errors either side of the cumulative hazard, on the scale that `interval` names."""
    error = np.asarray(factor * np.sqrt(variance), dtype=np.float64)
    if interval == "plain":
        return np.maximum(hazard - error, 0.0), hazard + error
    ratio = np.divide(error, hazard, out=np.zeros_like(hazard), where=hazard > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = hazard * np.exp(-ratio), hazard * np.exp(ratio)
    return np.where(hazard > 0, low, 0.0), np.where(hazard > 0, high, 0.0)
