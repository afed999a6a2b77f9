"""`simulate_sparing_queue`: a queue of jobs on a cluster with spares, their waits and what failures cost them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from relfit.base.arguments import durations, positive, random_stream, whole
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result, json_ready
from relfit.base.text import count, duration_interval, percent
from relfit.io.workloads import Workload
from relfit.planning.sparing import Cluster, DeviceFailures, Recovery, Strategies
from relfit.simulation.engine.checked_settings import Settings, Time
from relfit.simulation.engine.records import Records, new_records
from relfit.simulation.engine.replications import replicate, summary
from relfit.simulation.sparing.device_times import DeviceTimes
from relfit.simulation.sparing.sparing_events import QueuedJob, simulate_queue
from relfit.simulation.sparing.sparing_simulation import HOURS_PER_YEAR, PreparedSparing, SparingAssumptions, prepared
from relfit.simulation.sparing.sparing_state import Accounts
from relfit.system.jobs.checkpoint import best_interval

_SPENT = ("saves", "rework", "detection", "restart", "blocked")
_COUNTS = ("hits", "stops", "blockings")
_SECONDS = 3600.0


class SparingJob(Settings):
    """A job of the queue.

    Parameters
    ----------
    blocks : int
        Working blocks that it takes.
    work : duration
        Its run time without failures and checkpoints; numbers are hours.
    submit : duration
        When it joins the queue; numbers are hours.
    name : str
        By default its number, from 0.
    """

    blocks: int = Field(ge=1)
    work: Time
    submit: Time = 0.0
    name: str = ""


class SparingQueue(Result):
    """The simulated jobs of a queue.

    Attributes
    ----------
    jobs : pandas.DataFrame
        One row per replication and job: ``replication``, ``job``, ``blocks``; in hours ``submitted``, ``started``,
        ``ended`` (NaN where it did not), ``waited``, and from its start on ``useful``, ``saves`` (checkpoints),
        ``rework``, ``detection``, ``restart``, ``blocked`` (for want of a spare); counts of ``hits`` (failures that hit
        it), ``stops`` and ``blockings``.
    total_blocks : int
        Blocks of the cluster, including the spare ones.
    level : float
        Level of the confidence intervals.
    """

    jobs: pd.DataFrame
    total_blocks: int
    level: float

    @cached_property
    def replications(self) -> pd.DataFrame:
        """One row per replication.

        ``finished`` (share of the jobs), ``mean_wait`` and ``longest_wait`` (hours) of those that started, ``makespan``
        (hours from the first submission to the last end), ``lost`` (hours per job on all but work and checkpoints),
        ``blocked`` (hours per job), ``stops`` (per job), ``utilisation`` (block-hours of work over those of the
        makespan).
        """
        jobs = self.jobs.assign(
            lost=self.jobs[["rework", "detection", "restart", "blocked"]].sum(axis=1),
            held=self.jobs["useful"] * self.jobs["blocks"],
            is_over=self.jobs["ended"].notna(),
        )
        groups = jobs.groupby("replication")
        makespan = groups["ended"].max() - groups["submitted"].min()
        return pd.DataFrame(
            {
                "finished": groups["is_over"].mean(),
                "mean_wait": groups["waited"].mean(),
                "longest_wait": groups["waited"].max(),
                "makespan": makespan,
                "lost": groups["lost"].mean(),
                "blocked": groups["blocked"].mean(),
                "stops": groups["stops"].mean(),
                "utilisation": groups["held"].sum() / (self.total_blocks * makespan),
            }
        )

    @cached_property
    def outputs(self) -> pd.DataFrame:
        """Statistics of `replications`: ``mean``, ``sd``, ``low`` and ``high`` of the mean, percentiles."""
        return summary(self.replications, self.level, least=0.0, shares=("finished", "utilisation"))

    @property
    def headline(self) -> str:
        """The share of jobs that end, their mean wait, and what failures cost them."""
        wait, lost = (self.outputs.loc[name].to_dict() for name in ("mean_wait", "lost"))
        texts = [duration_interval(*(row[key] for key in ("mean", "low", "high"))) for row in (wait, lost)]
        n, runs = self.jobs["job"].nunique(), self.jobs["replication"].nunique()
        ended = float(self.replications["finished"].mean())
        return (
            f"{percent(ended)} of {count(n, 'job')} end, over {count(runs, 'run')}: mean wait {texts[0]}; failures "
            f"cost a job {texts[1]}."
        )

    def to_frame(self) -> pd.DataFrame:
        """As `outputs`."""
        return self.outputs.reset_index()

    def to_dict(self) -> dict[str, Any]:
        """Findings, `outputs`, and the means of each job."""
        means = self.jobs.drop(columns="replication").groupby("job", sort=False).mean().reset_index()
        return json_ready({"findings": self.findings, "outputs": self.to_frame(), "jobs": means, "level": self.level})


def simulate_sparing_queue(
    cluster: Cluster,
    strategy: Strategies,
    devices: DeviceFailures | DeviceTimes,
    jobs: Sequence[SparingJob] | Workload,
    recovery: Recovery | None = None,
    assumptions: SparingAssumptions | None = None,
    *,
    years: float = 10.0,
    n_resamples: int = 8,
    warm_up: object = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    workers: int | None = None,
) -> SparingQueue:
    """Simulate a queue of jobs on a cluster with spares, event by event.

    Jobs start in the order of their submission, each as soon as blocks are idle for it, in one zone if one has room.
    In a zone, jobs hold at most the blocks that are not spare. A job holds its blocks to its end: a failed one is
    replaced by an idle one of its zone, and where there is none the job is blocked until a block of the zone is
    repaired or released. After every failure it goes back to its last checkpoint. No checkpoint is made at its end.

    Parameters
    ----------
    cluster, strategy, devices, assumptions
        As for `simulate_sparing`.
    jobs : sequence of SparingJob, or Workload
        Nodes of a workload are working blocks. The jobs are the same in all replications; failures differ.
    recovery : Recovery, optional
        A `checkpoint_every` of None is each job's best interval for the failures of its blocks. A `loss_limit` is not
        allowed.
    years : float
        Longest simulated time, in years of 8,760 hours.
    n_resamples, level, rng, workers
        As for `simulate_sparing`.
    warm_up : duration, optional
        Time before the first submission, in which devices fail; by default twelve mean repairs.

    Returns
    -------
    SparingQueue

    Raises
    ------
    ArgumentError
        For a job that needs more blocks than jobs may hold, and invalid settings.

    Examples
    --------
    >>> cluster = Cluster(zones=2, racks=16, trays=8, gpus=8)
    >>> jobs = [SparingJob(blocks=28, work="10 days"), SparingJob(blocks=8, work="5 days", submit="1 day")]
    >>> recovery = Recovery(save="1min", detection="1min", restart="5min")
    >>> queue = simulate_sparing_queue(cluster, Strategies(8, 1, 1), DeviceFailures(3000, 9000, 24), jobs, recovery)
    >>> bool((queue.jobs.loc[queue.jobs["job"] == 1, "waited"] > 200).all())
    True
    """
    n, end = int(whole("n_resamples", n_resamples, 2)), float(positive("years", years)) * HOURS_PER_YEAR
    level_checked(level)
    plan = prepared(cluster, strategy, devices, recovery, assumptions, warm_up, end)
    if plan.setup.limit > 0:
        raise ArgumentError("jobs of a queue do not go on with blocks missing", remedy="leave out loss_limit")
    queue, names = _queue_of(jobs, plan)
    recovery = plan.closed_form.recovery
    if recovery.checkpoint_every is not None:
        periods = np.full(len(queue), float(recovery.checkpoint_every))
    else:
        working = plan.setup.zones * (plan.setup.blocks - plan.setup.spare_blocks)
        rates = float(plan.closed_form.failure_rate[0]) * queue["blocks"] / working
        periods = best_interval(1.0 / rates, recovery.save, recovery.detection + recovery.restart, exposed=())
    generators = random_stream(rng).spawn(n)

    def one(i: int) -> pd.DataFrame:
        own = queue.copy()
        plant = simulate_queue(generators[i], plan.setup, own, periods, plan.warm_up + end)
        return _table(i, names, own, plant.account, plan.warm_up)

    tables = replicate(one, range(n), workers)
    return SparingQueue(pd.concat(tables, ignore_index=True), plan.setup.zones * plan.setup.blocks, float(level))


def _queue_of(jobs: Sequence[SparingJob] | Workload, plan: PreparedSparing) -> tuple[Records[QueuedJob], list[Any]]:
    """The jobs in order of their submission, after the warm-up, and their names."""
    if isinstance(jobs, Workload):
        columns = jobs.submit / _SECONDS, jobs.run_time / _SECONDS, jobs.nodes
        names: list[Any] = np.asarray(jobs.job_id).tolist()
    else:
        columns = (
            np.array([float(durations("submit", job.submit)) for job in jobs]),
            np.array([float(durations("work", job.work)) for job in jobs]),
            np.array([job.blocks for job in jobs], dtype=np.int64),
        )
        names = [job.name or number for number, job in enumerate(jobs)]
    if not names:
        raise ArgumentError("there are no jobs", remedy="give some, as SparingJob(blocks=8, work='5 days')")
    if len(set(names)) < len(names):
        raise ArgumentError("two jobs have one name", remedy="give each its own")
    setup = plan.setup
    most, widest = setup.zones * (setup.blocks - setup.spare_blocks), int(np.argmax(columns[2]))
    if columns[2][widest] > most:
        what = f"job {names[widest]} needs {columns[2][widest]} blocks, and jobs may hold {most}"
        raise ArgumentError(what, remedy="give it fewer, or keep fewer spare blocks")
    order = np.argsort(columns[0], kind="stable")
    queue = new_records(QueuedJob, len(names))
    queue["submit"], queue["work"], queue["blocks"] = (column[order] for column in columns)
    queue["submit"] += plan.warm_up
    queue["started"] = queue["ended"] = np.nan
    return queue, [names[number] for number in order]


def _table(
    number: int, names: Sequence[object], queue: Records[QueuedJob], account: Records[Accounts], begun: float
) -> pd.DataFrame:
    """The jobs of a replication, on the clock of their submissions."""
    columns = {name: account[name].copy() for name in ("useful", *_SPENT, *_COUNTS)}
    return pd.DataFrame(
        {
            "replication": number,
            "job": names,
            "blocks": queue["blocks"],
            "submitted": queue["submit"] - begun,
            "started": queue["started"] - begun,
            "ended": queue["ended"] - begun,
            "waited": queue["started"] - queue["submit"],
            **columns,
        }
    )
