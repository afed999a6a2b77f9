"""Replications of a batch simulation with independent failures, on several threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arguments import random_stream, whole
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result, json_ready
from relfit.base.text import count, duration_interval, percent
from relfit.io.workloads import Workload
from relfit.simulation.batch._simulate_batch import simulate_batch
from relfit.simulation.batch.batch_driver import Progress
from relfit.simulation.batch.batch_results import BatchRun
from relfit.simulation.batch.batch_settings import BatchCluster, NodeClass, Scheduler
from relfit.simulation.engine.replications import replicate, summary

_COUNTS = ("failures", "repairs", "kills", "replaced", "gone")
_SHARES = ("utilisation", "goodput", "wasted", "checkpoints", "backfilled")
_THREADS = 2


class BatchRuns(Result):
    """Runs that differ only in their failures.

    Attributes
    ----------
    runs : pandas.DataFrame
        One row per run: `BatchRun.summary`, and counts of failures, repairs, kills, nodes replaced and gone for good.
    level : float
        Level of the confidence intervals of the means.
    notes : tuple of str
        Remarks on the workload, the allocation and replayed failures, of the longest run.
    """

    runs: pd.DataFrame
    level: float
    notes: tuple[str, ...] = ()

    @cached_property
    def means(self) -> pd.DataFrame:
        """One row per measure: ``mean``, ``low`` and ``high`` (Student's interval, at zero at the lowest), ``sd``."""
        table = summary(self.runs, self.level, least=0.0, shares=_SHARES)
        return table[["mean", "low", "high", "sd"]].rename_axis("measure")

    @property
    def headline(self) -> str:
        """The mean wait over the runs, and the shares of node time that are lost work and checkpoints."""
        means: Any = self.means.to_dict("index")
        wait, saves = means["mean_wait"], float(means["checkpoints"]["mean"])
        hours = (wait[name] / 3600.0 for name in ("mean", "low", "high"))
        return (
            f"{count(len(self.runs), 'run')}: mean wait {duration_interval(*hours)}, "
            f"{percent(float(means['wasted']['mean']), 2)} of the node time is work lost to failures"
            + (f", {percent(saves, 2)} is spent on checkpoints." if saves > 0.0 else ".")
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, that all runs are equal where they are, and the notes."""
        drawn = self.runs.drop(columns="elapsed_seconds").nunique(dropna=False).max() > 1
        equal = len(self.runs) > 1 and not drawn
        return (self.headline, *(["All runs are equal: none has a random failure."] * equal), *self.notes)

    def to_frame(self) -> pd.DataFrame:
        """One row per measure; times in seconds, as in `BatchRun.summary`."""
        return self.means.reset_index()

    def to_dict(self) -> dict[str, Any]:
        """Findings, the means, and the runs."""
        return {**super().to_dict(), "means": json_ready(self.to_frame()), "units": dict(BatchRun.units)}


def simulate_batches(
    workload: Workload,
    cluster: int | BatchCluster | Sequence[NodeClass] | None = None,
    scheduler: str | Scheduler = "easy",
    *,
    n_runs: int = 100,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> BatchRuns:
    """Simulate a batch system many times, each with its own random failures.

    Parameters
    ----------
    workload : Workload
    cluster, scheduler
        As for `simulate_batch`.
    n_runs : int
        Number of runs.
    level : float
        Level of the confidence intervals of the means.
    rng : int or numpy.random.Generator
        Each run has a stream of its own: the result does not depend on the number of threads.
    workers : int, optional
        Threads; 2 by default.
    progress : callable, optional
        Called after each run with a text on the progress and the share of runs done.
    **settings
        As for `simulate_batch`: failures, allocation, ...

    Returns
    -------
    BatchRuns

    Examples
    --------
    >>> from relfit.simulation.batch import SystemFailures
    >>> jobs = Workload([1, 2], [0, 0], [4, 4], [3600, 3600], [3600, 3600], 8)
    >>> runs = simulate_batches(jobs, n_runs=20, failures=SystemFailures(mtbf="30min", repair="5min"), rng=1)
    >>> bool((runs.runs["kills"] > 0).any()), len(runs.runs)
    (True, 20)
    """
    n = int(whole("n_runs", n_runs))
    level_checked(level)
    generators = random_stream(rng).spawn(n)

    def one(i: int) -> tuple[dict[str, float], tuple[str, ...]]:
        run = simulate_batch(workload, cluster, scheduler, rng=generators[i], **settings)
        return {**run.summary, **{name: run.counts[name] for name in _COUNTS}}, run.notes

    def tell(done: int) -> None:
        if progress is not None:
            progress(f"simulating: {done:,} of {n:,} runs", done / n)

    results = replicate(one, range(n), workers or _THREADS, tell)
    _, notes = max(results, key=lambda result: result[0]["makespan"])
    return BatchRuns(pd.DataFrame([row for row, _ in results]), float(level), notes)
