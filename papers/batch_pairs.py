"""The break-even pairs of Figure 7 of the paper on repair time and reliability, and what decides where they are.

Load, requeue order, checkpoints and repairs are not printed; here each is changed by itself. The authors' settings are
those of their walkthrough (walkthrough_2.config of github.com/hpc/simulator): repairs of a fixed length, saves and
restores of 3 and 2 % of a job's run time, the best interval of each job, ORIGINAL-FCFS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import relfit as rf
from papers.batch_waits import JOBS, MTBF, NODES, PRINTED, grizzly, lost_per_failure
from relfit.base.arguments import durations
from relfit.base.errors import ArgumentError
from relfit.io.workloads import LublinFeitelson, Workload, scale_load, with_walltimes
from relfit.simulation.batch import CheckpointShares, RepairSweep, Scheduler, SystemFailures, simulate_batch
from relfit.system.jobs import Checkpoint

__all__ = ["DRAWN_AGAIN", "VARIANTS", "pairs", "variant"]

DRAWN_AGAIN = "jobs drawn again"
_REPAIRS = ("1min", "5D", "13D", "20D", "30D")
_YEAR = 0.73
"""Load at which 130,000 such jobs take the 11 months that the paper prints."""


def _jobs(n_jobs: int | None, load: float = 0.95, rng: int = 1) -> Workload:
    return grizzly(2018, n_jobs, load, rng)


def _lublin(n_jobs: int | None) -> Workload:
    """Jobs of Lublin and Feitelson's model, in which wide ones run longer, 16 hours at most."""
    jobs = LublinFeitelson(NODES, "batch").sample(n_jobs or JOBS[2018], 1)
    jobs = jobs.with_columns({"run_time": np.minimum(jobs.run_time, 16 * 3600.0)})
    return scale_load(with_walltimes(jobs, (1.0, 3.0), 1), 0.95)


def _one_node(n_jobs: int | None) -> Workload:
    """Jobs of the same lengths on one node each, at the same load."""
    jobs = _jobs(n_jobs)
    return scale_load(jobs.with_columns({"nodes": np.ones_like(jobs.nodes)}), 0.95)


VARIANTS: dict[str, tuple[Callable[[int | None], Workload], dict[str, Any]]] = {
    "as in the table": (_jobs, {}),
    "load 0.73 (11 months)": (partial(_jobs, load=_YEAR), {}),
    "load 1": (partial(_jobs, load=1.0), {}),
    "a killed job at the tail": (_jobs, {"scheduler": Scheduler(requeue="tail")}),
    "checkpoints every hour": (_jobs, {"checkpoint": Checkpoint("1h", "1min", "1min")}),
    "checkpoints every 4 hours": (_jobs, {"checkpoint": Checkpoint("4h", "1min", "1min")}),
    "the authors' settings": (_jobs, {"checkpoint": CheckpointShares(save=0.03, restore=0.02), "fixed": True}),
    "jobs of one node": (_one_node, {}),
    "Lublin and Feitelson's jobs": (_lublin, {}),
    **{f"{DRAWN_AGAIN} ({rng})": (partial(_jobs, rng=rng), {}) for rng in range(2, 9)},
}
"""What is changed: the jobs (of so many), and settings of the simulation."""


def pairs(
    jobs: Workload, n_runs: int, repairs: Sequence[Any] = _REPAIRS, rng: int = 0, *, fixed: bool = False, **options: Any
) -> list[RepairSweep]:
    """The cells that the printed pairs need: one rate over all repairs, the other at the shortest one.

    Returns
    -------
    list of RepairSweep
        One per pair. The second rate's waits at longer repairs are not simulated; they stand as at the shortest.
    """
    hours = durations("repairs", list(repairs))

    def wait(seed: int, rate: float, repair: float) -> float:
        failures = SystemFailures(mtbf=MTBF / rate, repair=repair, fixed=fixed)
        return float(simulate_batch(jobs, failures=failures, rng=seed, **options).jobs["waited"].mean()) / 3600.0

    sweeps = []
    for worse, better, _ in PRINTED:
        campaign = rf.campaigns.Campaign(
            run=wait,
            config={"rate": better, "repair": hours[0]},
            experiments=[
                {"label": "repairs", "parameter": "repair", "values": hours.tolist()},
                {"label": "quick", "parameter": "rate", "values": [worse]},
            ],
            second="seed",
            second_values=np.random.SeedSequence(rng).generate_state(n_runs).tolist(),
            replications=1,
        )
        cells = rf.campaigns.sweep(campaign, executor="threads")
        if len(cells.failed):
            raise ArgumentError(cells.failed["error"].iloc[0], remedy="see the settings of this variant")
        curve, quick = (cells.of(experiment=label)["mean"].to_numpy() for label in ("repairs", "quick"))
        slow = np.broadcast_to(quick[:, None], (n_runs, hours.size))
        waits = np.stack([curve.reshape(hours.size, n_runs).T, slow], axis=1)
        sweeps.append(RepairSweep(MTBF, np.array([better, worse], dtype=float), hours, waits))
    return sweeps


def variant(name: str, n_jobs: int | None, n_runs: int, rng: int = 0, *, jobs: Workload | None = None) -> pd.DataFrame:
    """The pairs where one thing is changed, and what node-hours alone say.

    Parameters
    ----------
    name : str
        Of `VARIANTS`.
    n_jobs : int, optional
        As many as the paper has when left out.
    n_runs : int
    rng : int
    jobs : Workload, optional
        In place of drawn ones.

    Returns
    -------
    pandas.DataFrame
        One row per pair: ``wait``, the mean at the better rate with quick repairs in hours;
        ``more`` and ``more_error``, by how many percent the worse rate's is above the better's with the printed
        repairs, and its standard error; ``days``, ``low``, ``high``, the break-even with its 95 % interval;
        ``by_node_hours``, in days.
    """
    make, options = VARIANTS[name]
    jobs = make(n_jobs) if jobs is None else jobs
    saves = options.get("checkpoint")
    rule = lost_per_failure(jobs, None if saves is None else saves.every) / 24.0
    rows = []
    for (worse, better, days), sweep in zip(PRINTED, pairs(jobs, n_runs, rng=rng, **options), strict=True):
        even = sweep.break_even(worse, better, sweep.repairs[0])
        at = int(np.flatnonzero(np.isclose(sweep.repairs, 24.0 * days))[0])
        printed, quick = sweep.waits[:, 0, at], sweep.waits[:, 1, 0]
        more = 100.0 * (quick - printed) / (printed.mean() or np.nan)  # no wait, no ratio
        limits = {"days": even.estimate, "low": even.low, "high": even.high}
        rows.append(
            {
                "variant": name,
                "pair": f"{better}X = {worse}X",
                "wait": sweep.mean[0, 0],
                "more": more.mean(),
                "more_error": more.std(ddof=1) / np.sqrt(n_runs) if n_runs > 1 else np.nan,
                **{key: float(hours) / 24.0 for key, hours in limits.items()},
                "by_node_hours": rule,
            }
        )
    return pd.DataFrame(rows)
