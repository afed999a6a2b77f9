"""Who was at risk at each time at which durations of a group ended, and who failed then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray, IntArray, ObjectArray
from relfit.base.errors import DataError
from relfit.base.numeric.ordering import changes
from relfit.fitting.nonparametric.curves import StepCurves
from relfit.log.lifedata import LifeData

Values = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


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

    def curves(self, quantity: str, method: str, values: Values, status: ObjectArray, level: float) -> StepCurves:
        """The curves of an estimate, its standard error and the ends of its interval at each step."""
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
