"""The studies of "Exploring the trade-off between repair time and reliability in large scale cluster computers".

Its workloads are those of Grizzly at Los Alamos, 2018 and 2022, which Los Alamos has released: ``relfit fetch
grizzly2018``, and ``--workload grizzly2018`` of ``papers/studies.py``. Where they are not at hand ours are drawn from
the two-stage model with their number of jobs, the machine's 1,490 nodes, a walltime of 16 hours at most, and the share
of jobs of one node (45 to 50 %) that the text gives. The load is not printed: 0.95 here, so that a failure costs
somebody something.

The 23 repair times are not printed (see `relfit.simulation.batch.REPAIRS`), and 276 and 624 combinations do not follow
from 6 rates and 23 repairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from relfit.io.workloads import TwoStage, Workload, scale_load, width_classes
from relfit.simulation.batch import REPAIRS, RepairSweep, Scheduler, SystemFailures, simulate_batch, sweep_repairs

__all__ = [
    "JOBS",
    "MTBF",
    "NODES",
    "PRINTED",
    "grizzly",
    "lost_per_failure",
    "scatter_by_width",
    "twice_the_cluster",
    "waits",
    "waits_by_width",
]

NODES = 1490
MTBF = 24.0 * 20_000 / NODES
"""Hours between failures of the machine at 1X: a day on 20,000 nodes."""
JOBS = {2018: 130_000, 2022: 190_000}
_WALLTIME = 16.0 * 3600.0
PRINTED = ((2, 1, 13.0), (8, 4, 5.0))
"""Break-even pairs: a rate with repairs of a minute, the rate and the days that cost the same."""


def grizzly(year: int = 2018, n_jobs: int | None = None, load: float = 0.95, rng: int = 1) -> Workload:
    """Jobs like those of one year; fewer of them take less time to simulate.

    Examples
    --------
    >>> jobs = grizzly(2018, 2000)
    >>> jobs.n_nodes, round(jobs.load(), 6)
    (1490, 0.95)
    """
    source = TwoStage(
        NODES,
        load,
        serial=0.47,
        power_of_two=0.36,
        widest=1024,
        first_stage=0.998,
        stages_apart=3.5,
        short="15min",
        long="10h" if year == 2018 else "5h",
        short_share=0.35 if year == 2018 else 0.5,
        walltime=(1.0, 3.0),
    )
    jobs = source.sample(JOBS[year] if n_jobs is None else n_jobs, rng)
    return scale_load(jobs.with_columns({"requested": np.minimum(jobs.requested, _WALLTIME)}), load)


def lost_per_failure(jobs: Workload, every: float | None = None) -> float:
    """Node-hours that a failure of any node costs on average: what its job has run since it last saved.

    A job of n nodes and length T is hit in proportion to n T. It loses n T / 2 then, or, where it saves every so many
    hours, half of that or of what it runs after its last save.
    """
    length = np.minimum(jobs.run_time, jobs.requested) / 3600.0
    step = length if every is None else np.minimum(length, every)
    saves = np.floor(length / step)
    squares = saves * step**2 + (length - saves * step) ** 2
    return float(jobs.load() * (jobs.nodes**2 * squares).sum() / (2.0 * (jobs.nodes * length).sum()))


def waits(
    jobs: Workload, n_runs: int = 4, repairs: Sequence[Any] = REPAIRS, rng: int = 0, **options: Any
) -> RepairSweep:
    """Figures 7 and 8: mean waits over 1X to 32X and repairs of a minute to 20 days."""
    return sweep_repairs(jobs, MTBF, repairs=repairs, n_runs=n_runs, rng=rng, **options)


def waits_by_width(jobs: Workload) -> pd.DataFrame:
    """Figures 3 and 4 and Table II: mean waits by width under the original EASY (Algorithm 1) and the modified one.

    Returns
    -------
    pandas.DataFrame
        One row per class of widths, and ``all``; by algorithm ``wait`` and ``backfilled_wait`` in hours, of all jobs
        and of those that were backfilled, and ``backfilled_percent``, the share of all backfilled jobs that is of this
        class (at ``all`` that of backfilled jobs); ``difference``: by how many percent waits of the modified one are
        longer. Seconds that each run took stand in ``attrs``.
    """
    columns, times = {}, {}
    for name, fixed in (("original", True), ("modified", False)):
        run = simulate_batch(jobs, scheduler=Scheduler(fixed_nodes=fixed))
        table = run.jobs.assign(width=np.asarray(width_classes(run.jobs["nodes"]), dtype=object))
        back = table[table["backfilled"]]
        for measure, part in (("wait", table), ("backfilled_wait", back)):
            mean = part.groupby("width")["waited"].mean() / 3600.0
            columns[name, measure] = pd.concat([mean, pd.Series({"all": part["waited"].mean() / 3600.0})])
        share = 100.0 * back["width"].value_counts(normalize=True)
        columns[name, "backfilled_percent"] = pd.concat([share, pd.Series({"all": 100.0 * len(back) / len(table)})])
        times[name] = run.elapsed_seconds
    frame = pd.DataFrame(columns).reindex([*width_classes(jobs.nodes).categories, "all"])
    for measure in ("wait", "backfilled_wait"):
        frame["difference", measure] = 100.0 * (frame["modified", measure] / frame["original", measure] - 1.0)
    frame.attrs["seconds"] = times
    return frame


def scatter_by_width(year: int, n_jobs: int, n_runs: int, level: float = 0.95) -> pd.DataFrame:
    """How far the differences of `waits_by_width` depend on the workload that is drawn.

    Returns
    -------
    pandas.DataFrame
        One row per class of widths, and ``all``: ``mean`` of the differences in percent over so many workloads, its
        limits ``low`` and ``high`` (Student), ``least`` and ``most`` of single workloads.
    """
    workloads = (grizzly(year, n_jobs, rng=seed) for seed in range(1, n_runs + 1))
    more = pd.DataFrame([waits_by_width(jobs)["difference", "wait"] for jobs in workloads])
    more = more[[*more.columns.drop("all"), "all"]]
    mean, seen = more.mean(), more.count()  # not every workload has jobs of every width
    half = special.stdtrit(seen - 1, 0.5 + 0.5 * level) * more.std() / np.sqrt(seen)
    table = {"mean": mean, "low": mean - half, "high": mean + half, "least": more.min(), "most": more.max()}
    return pd.DataFrame(table)


def twice_the_cluster(
    jobs: Workload,
    second: Workload,
    rates: Sequence[float] = (1, 8, 32),
    repair: Any = "1D",
    *,
    n_runs: int = 1,
    rng: int = 0,
) -> pd.DataFrame:
    """A cluster of twice the nodes for two groups of users, or a second cluster, one for each.

    Parameters
    ----------
    jobs, second : Workload
        Of the two groups.
    rates : sequence of float
        Failure rates as multiples.
    repair : duration
    n_runs : int
    rng : int

    Returns
    -------
    pandas.DataFrame
        One row per failure rate: mean waits in hours on two clusters and on one of twice the nodes.
    """
    columns = ["submit", "nodes", "run_time", "requested"]
    frame = pd.concat([part.to_frame()[columns] for part in (jobs, second)]).sort_values("submit", kind="stable")
    both = Workload(job_id=np.arange(len(frame)), **frame.to_dict("list"), n_nodes=2 * NODES)

    def wait(workload: Workload, nodes: int, mtbf: float, seed: int) -> float:
        run = simulate_batch(workload, nodes, failures=SystemFailures(mtbf=mtbf, repair=repair), rng=seed)
        return float(run.jobs["waited"].mean()) / 3600.0

    rows = []
    for rate in rates:
        mtbf, seeds = MTBF / rate, range(rng, rng + 2 * n_runs, 2)
        apart = [wait(part, NODES, mtbf, seed + k) for seed in seeds for k, part in enumerate((jobs, second))]
        one = float(np.mean([wait(both, 2 * NODES, mtbf / 2.0, seed) for seed in seeds]))
        two = float(np.mean(apart))
        rows.append({"rate": rate, "two_clusters": two, "one_of_twice": one, "ratio": two / (one or np.nan)})
    return pd.DataFrame(rows).set_index("rate")
