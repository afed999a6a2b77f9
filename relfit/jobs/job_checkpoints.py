"""Expected completion time of a job with checkpoints: exact, for systems that age or not, and as in the papers.

Between failures the system ages; a failure is followed by the restart, the read of the last checkpoint and the work
since. Reads and saves are exposed to failures, the restart is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.jobs.restarts import Attempts, attempts, log_expm1
from relfit.units import hours

__all__ = ["Checkpoint", "expected_exponential", "expected_paper", "expected_with_checkpoints"]

FloatArray = npt.NDArray[np.float64]
Hazard = Callable[[FloatArray], FloatArray]
"""Horizons, any shape, to cumulative hazards of one system."""

MOST_SEGMENTS = 50_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True)
class Checkpoint:
    """How a job saves its state.

    Parameters
    ----------
    interval : float or duration
        Hours of work between two saves.
    save : float or duration
        Time to save, during which the work stands still.
    restore : float or duration
        Time to read the last checkpoint after a failure.

    Examples
    --------
    >>> Checkpoint("4h", "6min", "10min")
    Checkpoint(interval=4.0, save=0.1, restore=0.16666666666666666)
    """

    interval: Any
    save: Any = 0.0
    restore: Any = 0.0

    def __post_init__(self) -> None:
        for name in ("interval", "save", "restore"):
            value = hours(getattr(self, name))
            if not (math.isfinite(value) and (value > 0.0 if name == "interval" else value >= 0.0)):
                wanted = "above zero" if name == "interval" else "not negative"
                raise ArgumentError(
                    f"{name} of the checkpoints is {value:g} hours", remedy=f"it must be finite and {wanted}"
                )
            object.__setattr__(self, name, value)

    def segments(self, length: float) -> int:
        """Pieces that a job of `length` hours falls into; after each but the last a checkpoint is written."""
        return max(1, math.ceil(length / self.interval - 1e-9))

    def to_dict(self) -> dict[str, float]:
        """Ready for JSON, hours."""
        return {"interval": self.interval, "save": self.save, "restore": self.restore}


def expected_exponential(rate: npt.ArrayLike, length: npt.ArrayLike, plan: Checkpoint, restart: float) -> FloatArray:
    """Expected hours on systems of constant failure rate, shape of `rate` and `length` broadcast.

    ``exp(rate r) (1/rate + R) (n - 1) (exp(rate (i + s)) - 1)`` for the whole segments and alike for the last, which
    is not saved (Daly 2006, equation 13, where both kinds of segments are alike); infinite beyond the largest float.
    """
    lam, total = np.broadcast_arrays(np.asarray(rate, np.float64), np.asarray(length, np.float64))
    pieces = np.maximum(1.0, np.ceil(total / plan.interval - 1e-9))
    rest = total - (pieces - 1.0) * plan.interval
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        whole = np.log(pieces - 1.0) + log_expm1(lam * (plan.interval + plan.save))
        log_value = (
            lam * plan.restore
            + np.logaddexp(-np.log(lam), np.log(restart))
            + np.logaddexp(whole, log_expm1(lam * rest))
        )
        least = (pieces - 1.0) * (plan.interval + plan.save) + rest
        return np.where(lam > 0.0, np.maximum(np.exp(log_value), least), least)


def expected_paper(mttf: npt.ArrayLike, length: npt.ArrayLike, plan: Checkpoint, restart: float) -> FloatArray:
    """Expected hours by the efficiency of the sparing study, appendix C: saves and reads meet no failure, rate 1/MTTF.

    ``length / interval * ((exp(interval/M) - 1) (M + R + r) + s)``; an interval is at most the job's length.
    """
    mean, total = np.broadcast_arrays(np.asarray(mttf, np.float64), np.asarray(length, np.float64))
    interval = np.minimum(plan.interval, total)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        log_each = log_expm1(interval / mean) + np.log(mean + restart + plan.restore)
        value = total / interval * (np.exp(log_each) + plan.save)
        return np.where(np.isposinf(mean), total * (1.0 + plan.save / interval), value)


def expected_with_checkpoints(
    hazard: Hazard, length: float, plan: Checkpoint, restart: float, again: Hazard | None = None
) -> float:
    """Expected hours on one system whose hazard may change with age; infinite beyond the largest float.

    Parameters
    ----------
    hazard : callable
        Horizons to cumulative hazards from the first start on.
    length : float
        Hours without failures and saves.
    plan : Checkpoint
    restart : float
        Hours from a failure to the next start.
    again : callable, optional
        The same from a restart on; `hazard` when left out. With it at the first ages, every failure gives the system
        back as it was first; with ages of zero, as new.

    Raises
    ------
    ArgumentError
        For more than 50 000 segments.
    """
    from relfit.jobs.completion_kernels import walk_back

    n = plan.segments(length)
    if n > MOST_SEGMENTS:
        raise ArgumentError(
            f"a job of {length:g} hours has {n} checkpoints at every {plan.interval:g} hours",
            remedy=f"at most {MOST_SEGMENTS} are computed: lengthen the interval",
        )
    step = plan.interval + plan.save
    rest = length - (n - 1) * plan.interval
    later = hazard if again is None else again
    alive = np.exp(-later(plan.restore + step * np.arange(1, n + 1)))
    ends = plan.restore + rest + step * np.arange(n)
    alive_end, mean_end = np.exp(-later(ends)), _means(later, ends)
    total = rest + step * (n - 1)
    alive_first = np.exp(-hazard(step * np.arange(1, n + 1)))
    once = _attempt(hazard, total)
    return float(
        walk_back(
            alive, alive_end, mean_end, alive_first, math.exp(-once.hazard[0]), math.exp(once.log_mean[0]),
            restart, np.empty(n),
        )
    )  # fmt: skip


def _attempt(hazard: Hazard, length: float) -> Attempts:
    return attempts(lambda rows, x: hazard(x.ravel()).reshape(x.shape), [length])


def _means(hazard: Hazard, ends: FloatArray) -> FloatArray:
    """Integral of the reliability from 0 to each of rising `ends`."""
    few = min(2, ends.size)
    first = np.exp(attempts(lambda rows, x: hazard(x.ravel()).reshape(x.shape), ends[:few]).log_mean)
    if ends.size == few:
        return first
    half = 0.5 * np.diff(ends[few - 1 :])
    x = ends[few - 1 : -1, None] + half[:, None] * (1.0 + _NODES)
    pieces = (np.exp(-hazard(x.ravel()).reshape(x.shape)) @ _WEIGHTS) * half
    return np.concatenate([first, first[-1] + np.cumsum(pieces)])
