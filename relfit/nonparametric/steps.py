"""What happened at each distinct time in each group: who was at risk and who failed; and step functions of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.errors import ArgumentError, DataError
from relfit.lifedata import LifeData
from relfit.nonparametric.kernels import locate

__all__ = ["INTERVALS", "BoolArray", "FloatArray", "IntArray", "RiskSets", "Steps", "normal_quantile", "risk_sets"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

INTERVALS = ("log-log", "log", "plain")


@dataclass(frozen=True, eq=False)
class RiskSets:
    """Distinct times at which lives ended; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    offsets : ndarray of int, shape (groups + 1,)
    owner : ndarray of int, shape (steps,)
        Number of the group of each step.
    times : ndarray of float, shape (steps,)
        Hours, rising within a group.
    at_risk, failures : ndarray of int, shape (steps,)
        Lives under observation just before each time, and those that failed at it.
    lives : ndarray of int, shape (groups,)
        Lives in each group.
    """

    offsets: IntArray
    owner: IntArray
    times: FloatArray
    at_risk: IntArray
    failures: IntArray
    lives: IntArray


def risk_sets(lives: LifeData, estimate: str) -> RiskSets:
    """Count who was at risk and who failed at each distinct duration of each group.

    A life is at risk at t if it entered before t and ended at t or later; one watched from the start (entry 0) is at
    risk at t = 0 too. A life that ended at the age at which it entered is at risk at that age alone.

    Raises
    ------
    DataError
        For intervals or right truncation, which `estimate` has no answer to.
    """
    if lives.upper is not None or lives.exit is not None:
        what = "lives known to have ended within an interval" if lives.upper is not None else "right truncation"
        raise DataError(f"{estimate} has no answer to {what}", remedy="use turnbull(lives)")
    code, times, observed = lives.group_codes(), lives.durations, lives.observed
    weights = np.ones(times.size, dtype=np.int64) if lives.weights is None else lives.weights
    entry = lives.entry
    if lives.weights is not None:
        kept = weights > 0
        code, times, observed, weights = code[kept], times[kept], observed[kept], weights[kept]
        entry = None if entry is None else entry[kept]
    groups = lives.n_groups
    if times.size == 0:
        none = np.empty(0, dtype=np.int64)
        return RiskSets(np.zeros(groups + 1, np.int64), none, np.empty(0), none, none, np.zeros(groups, np.int64))
    order = np.lexsort((times, code))
    code, times, observed, weights = code[order], times[order], observed[order], weights[order]
    new = np.ones(times.size, dtype=bool)
    new[1:] = (code[1:] != code[:-1]) | (times[1:] != times[:-1])
    starts = np.flatnonzero(new)
    owner = code[starts]
    failures = np.add.reduceat(np.where(observed, weights, 0), starts)
    gone = np.concatenate([[0], np.cumsum(weights)])
    ends = np.searchsorted(code, np.arange(groups + 1))
    at_risk = gone[ends[owner + 1]] - gone[starts]
    if entry is not None:
        at_risk -= _not_yet_entered(code, times, entry[order], weights, owner, times[starts])
    offsets = np.searchsorted(owner, np.arange(groups + 1)).astype(np.int64)
    total = gone[ends[1:]] - gone[ends[:-1]]
    return RiskSets(offsets, owner, times[starts], at_risk, failures, total)


def _not_yet_entered(
    code: IntArray, times: FloatArray, entry: FloatArray, weights: IntArray, owner: IntArray, at: FloatArray
) -> IntArray:
    """Lives of each step's group that enter at or after the step's time (but not those that also end at it)."""
    entry = np.where(entry > 0.0, entry, -np.inf)
    levels = np.unique(np.concatenate([entry, at]))
    # entering at the very end of life is entering just before it
    place = 2 * np.searchsorted(levels, entry) + (entry != times)
    width = 2 * levels.size + 2
    key = code * width + place
    order = np.argsort(key, kind="stable")
    key = key[order]
    entered = np.concatenate([[0], np.cumsum(weights[order])])
    before = entered[np.searchsorted(key, owner * width + 2 * np.searchsorted(levels, at), side="right")]
    last = entered[np.searchsorted(key, (owner + 1) * width, side="left")]
    return np.asarray(last - before, dtype=np.int64)


def normal_quantile(level: float) -> float:
    """Two-sided normal quantile of a level.

    Raises
    ------
    ArgumentError
        When the level is not between 0 and 1.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    return float(special.ndtri(0.5 + 0.5 * level))


@dataclass(frozen=True, eq=False)
class Steps:
    """Functions that step at the observed times; group ``j`` owns ``offsets[j]:offsets[j + 1]``."""

    groups: pd.Index
    offsets: IntArray
    times: FloatArray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    def _rows(self) -> IntArray:
        return np.repeat(np.arange(len(self.groups)), np.diff(self.offsets))

    def _slice(self, position: int) -> slice:
        return slice(int(self.offsets[position]), int(self.offsets[position + 1]))

    def _last(self) -> FloatArray:
        """Last time of each group, NaN for a group without one."""
        sizes = np.diff(self.offsets)
        last = np.full(sizes.size, np.nan)
        last[sizes > 0] = self.times[self.offsets[1:][sizes > 0] - 1]
        return last

    def _wanted(self, times: npt.ArrayLike) -> FloatArray:
        """Times to look up, one row a group."""
        wanted = np.asarray(times, dtype=np.float64)
        if np.isnan(wanted).any() or (wanted < 0.0).any():
            raise ArgumentError("times to look up must be zero or more hours, none missing")
        groups = len(self.groups)
        if wanted.ndim == 2 and wanted.shape[0] != groups:
            raise ArgumentError(f"times have {wanted.shape[0]} rows for {groups} groups")
        if wanted.ndim > 2:
            raise ArgumentError("times must have at most two dimensions: one row a group")
        return np.ascontiguousarray(
            np.broadcast_to(np.atleast_1d(wanted), (groups, wanted.shape[-1] if wanted.ndim else 1))
        )

    def _look_up(self, values: FloatArray, before: float, times: npt.ArrayLike, beyond: float | None) -> FloatArray:
        """Values of a step function at `times`, `before` the first step; past the last, `beyond` or the last value."""
        wanted = self._wanted(times)
        found = locate(self.times, self.offsets, wanted)
        padded = np.append(values, before)
        index = np.where(found > 0, self.offsets[:-1, None] + found - 1, values.size)
        out = padded[index]
        if beyond is not None:
            last = np.nan_to_num(self._last(), nan=-np.inf)
            out = np.where(wanted > last[:, None], beyond, out)
        return out[:, 0] if np.ndim(times) == 0 else out

    def _frame(self, **columns: Any) -> pd.DataFrame:
        return pd.DataFrame({"time": self.times, **columns}, index=self.groups[self._rows()])
