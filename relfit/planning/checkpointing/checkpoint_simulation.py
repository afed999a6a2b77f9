"""Checkpointed jobs followed event by event: a check on every formula, and the answer where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arguments import FloatArray, durations, share, whole
from relfit.errors import ArgumentError
from relfit.jobs._time_to_failure import time_to_failure
from relfit.numeric.batches import over_groups
from relfit.planning.checkpointing.checkpoint_kernels import checkpointed_runs
from relfit.planning.checkpointing.exponential_failures import Costs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SimulatedJobs", "share_of_time", "simulate_checkpoints"]


@dataclass(frozen=True, eq=False)
class SimulatedJobs:
    """Jobs that were followed.

    Attributes
    ----------
    kept, time : ndarray, shape (runs,)
        Hours of saved work, and hours, of each run.
    failures : ndarray of int, shape (runs,)
    waste, low, high : float
        Share of time that is not kept work, over all runs, and its limits.
    level : float
        Level of the limits.
    finished : ndarray of bool, shape (runs,)
        Runs that did all their work; in the long run, where work never ends, none.
    """

    kept: FloatArray
    time: FloatArray
    failures: npt.NDArray[np.int64]
    waste: float
    low: float
    high: float
    level: float
    finished: npt.NDArray[np.bool_]

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        return (
            f"{self.time.size} runs with {int(self.failures.sum())} failures: waste {100 * self.waste:.3g} % "
            f"({100 * self.low:.3g} to {100 * self.high:.3g} %)."
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a run."""
        import pandas as pd

        return pd.DataFrame(
            {"kept": self.kept, "time": self.time, "failures": self.failures, "finished": self.finished}
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the single runs."""
        return {
            "runs": int(self.time.size),
            "failures": int(self.failures.sum()),
            "waste": self.waste,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "finished": int(self.finished.sum()),
            "mean_hours": float(self.time.mean()),
        }

    def __repr__(self) -> str:
        return f"SimulatedJobs: {self.sentence}"


def simulate_checkpoints(
    source: Any,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    nodes: int = 1,
    exposed: tuple[str, ...] = ("save", "restore"),
    slowed: float = 1.0,
    every: int = 1,
    global_save: Any = None,
    global_restore: Any = None,
    share_global: float = 0.0,
    work: Any = float("inf"),
    runs: int = 200,
    failures: int = 500,
    level: float = 0.95,
    rng: int | np.random.Generator | None = None,
    workers: int | None = None,
) -> SimulatedJobs:
    """Follow jobs through failures, event by event.

    Parameters
    ----------
    source, ages, nodes
        As in `time_to_failure`: a mean time, a family with the ages of the nodes, or a system. Every restart begins one
        with these ages; for nodes that grow older while others are replaced, see `simulate_ageing_nodes`.
    interval : duration, or sequence of them
        Hours from the end of a save to the begin of the next. Of a sequence (as `Schedule.work`), the first holds after
        each restart, and the last goes on.
    save, restore, downtime : duration
    exposed, slowed
        As in `renewal_waste`.
    every, global_save, global_restore, share_global
        As in `two_level_waste`: of so many saves one is global; the costs of local ones when left out.
    work : duration
        Hours of work of a job; in the long run without end.
    runs, failures : int
        Independent runs, and the most failures of each.
    level : float
        Of the limits of the waste.
    rng : int or Generator, optional
        The same seed gives the same runs.

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    >>> found = simulate_checkpoints(24, 2, "5min", "10min", rng=1)
    >>> found.low < 0.0874 < found.high
    True
    """
    cost = Costs.of(save, restore, downtime, exposed)
    gaps = np.atleast_1d(durations("interval", interval, zero=False))
    c2 = cost.save if global_save is None else durations("global_save", global_save)
    r2 = cost.restore if global_restore is None else durations("global_restore", global_restore)
    given = [cost.save, c2, cost.restore, r2, cost.downtime]
    if any(np.ndim(x) for x in given):
        raise ArgumentError("one case at a time: durations of saves and restores must be single")
    costs = np.array([float(x) for x in given])
    count, most = int(whole("runs", runs, 2)), int(whole("failures", failures))
    total = float(durations("work", work, zero=False, infinite=True))
    speed, phi = float(share("slowed", slowed)), float(share("share_global", share_global))
    share("level", level, zero=False, one=False)
    generator = np.random.default_rng(rng)
    stretches = time_to_failure(source, ages, nodes).draw(count * most, generator).reshape(count, most)
    kind = generator.random((count, most)) if phi > 0.0 else np.ones((count, most))
    kept, time, failed = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
    step = int(whole("every", every))

    def follow(first: int, last: int) -> None:
        checkpointed_runs(
            stretches, kind, gaps, costs, step, phi, speed, "save" in exposed, "restore" in exposed, total, kept, time,
            failed, first, last,
        )  # fmt: skip

    over_groups(np.arange(count + 1) * most, follow, workers)
    waste, low, high = share_of_time(kept, time, level)
    return SimulatedJobs(kept, time, failed, waste, low, high, level, np.isfinite(total) & (kept >= total))


def share_of_time(kept: FloatArray, time: FloatArray, level: float) -> tuple[float, float, float]:
    """Waste over all runs, with normal limits by the spread between runs (a ratio's linearised variance)."""
    ratio = kept.sum() / time.sum()
    error = float(np.std(kept - ratio * time, ddof=1) / (np.sqrt(kept.size) * time.mean()))
    far = float(special.ndtri(0.5 + 0.5 * level)) * error
    return float(1.0 - ratio), float(1.0 - ratio - far), float(1.0 - ratio + far)
