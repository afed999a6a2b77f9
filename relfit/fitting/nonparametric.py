"""The Kaplan-Meier estimate for every group of a batch at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.lifedata import LifeData

__all__ = ["StepFunctions", "kaplan_meier"]


@dataclass(frozen=True, eq=False)
class StepFunctions:
    """Survival curves that step at the observed times; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    times : ndarray of float, shape (steps,)
        Distinct times at which something ended, hours, rising within a group.
    survival : ndarray of float, shape (steps,)
        Estimate just after each time.
    standard_error : ndarray of float, shape (steps,)
        Greenwood's formula.
    at_risk, failures : ndarray of int, shape (steps,)
        Lives under observation just before each time, and those that failed at it.
    """

    groups: pd.Index
    offsets: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    survival: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]
    at_risk: npt.NDArray[np.int64]
    failures: npt.NDArray[np.int64]

    def group(self, position: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Times and survival of the group at `position`."""
        part = slice(int(self.offsets[position]), int(self.offsets[position + 1]))
        return self.times[part], self.survival[part]

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        rows = np.repeat(np.arange(len(self.groups)), np.diff(self.offsets))
        return pd.DataFrame(
            {
                "time": self.times,
                "survival": self.survival,
                "standard_error": self.standard_error,
                "at_risk": self.at_risk,
                "failures": self.failures,
            },
            index=self.groups[rows],
        )


def kaplan_meier(lives: LifeData) -> StepFunctions:
    """Product-limit estimate of the survival function of every group (Kaplan and Meier 1958).

    A life censored at the time of a failure counts as at risk then.

    Parameters
    ----------
    lives : LifeData

    Examples
    --------
    >>> curves = kaplan_meier(LifeData.from_array([1.0, 2.0, 3.0], [True, False, True]))
    >>> curves.survival.round(4).tolist()
    [0.6667, 0.6667, 0.0]
    """
    code = lives.group_codes()
    order = np.lexsort((lives.durations, code))
    code, times, observed = code[order], lives.durations[order], lives.observed[order]
    if times.size == 0:
        empty, none = np.empty(0), np.empty(0, dtype=np.int64)
        return StepFunctions(lives.groups, np.zeros(lives.n_groups + 1, np.int64), empty, empty, empty, none, none)
    new = np.ones(times.size, dtype=bool)
    new[1:] = (code[1:] != code[:-1]) | (times[1:] != times[:-1])
    starts = np.flatnonzero(new)
    failures = np.add.reduceat(observed.astype(np.int64), starts)
    owner = code[starts]
    at_risk = lives.offsets[owner + 1] - starts
    offsets = np.searchsorted(owner, np.arange(lives.n_groups + 1)).astype(np.int64)
    alive = at_risk - failures
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(alive / at_risk)
        variance = np.where(alive > 0, failures / (at_risk * alive), 0.0)
    # a curve that has reached zero stays there: keep the zeros out of the running sum
    ended = alive == 0
    log_survival = _running_sum(np.where(ended, 0.0, steps), offsets)
    survival = np.where(ended, 0.0, np.exp(log_survival))
    error = survival * np.sqrt(_running_sum(variance, offsets))
    return StepFunctions(lives.groups, offsets, times[starts], survival, error, at_risk, failures)


def _running_sum(values: npt.NDArray[np.float64], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    total = np.cumsum(values)
    sizes = np.diff(offsets)
    first = offsets[:-1][sizes > 0]
    before = total[first] - values[first]
    return total - np.repeat(before, sizes[sizes > 0])
