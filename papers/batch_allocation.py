"""The studies of chapters 5 and 6 of the dissertation on reliability-aware allocation.

Chapter 5 runs two logs of the Parallel Workloads Archive, of Los Alamos and San Diego, on the failures of ASC White.
The failure log is not public: ours is the bundled sample, made in the image of that machine. The workloads are
(``relfit fetch lanl-cm5``, ``sdsc-blue``; ``--workload`` of ``papers/studies.py``); where they are not at hand, as many
jobs are drawn from the model that Lublin and Feitelson fitted to such logs. Nodes have 16 processors. All jobs are
submitted at minute 250,000, first come first served; a killed job goes to the head of the queue; parameters are
estimated again every 1,000 minutes from the failures seen so far.

Chapter 6 draws its jobs: two-stage log-uniform sizes, hyperexponential run times and some very long ones, on 10,000
nodes of unequal Weibull lives. Run times there are those on one node. How parallel jobs are, how long, which sizes
users ask for and how often nodes fail is not printed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

import relfit as rf
from papers.allocation import SCALE
from relfit.fitting.families import Weibull
from relfit.io.workloads import LublinFeitelson, TwoStage, Workload, length_classes
from relfit.simulation.batch import (
    Allocation,
    EstimatedReliability,
    NodeFailures,
    ReplayedFailures,
    Scheduler,
    simulate_batch,
)
from relfit.system.jobs import Amdahl

__all__ = ["JOBS", "PRINTED", "all_at_once", "drawn", "moldable", "unequal_failures", "waste", "white_failures"]

START = 250_000 * 60.0
JOBS = {"LANL": 122_060, "SDSC": 243_314}
PRINTED = {"LANL": {"ras": 30.0, "ljras": 53.0}, "SDSC": {"ras": 10.0, "ljras": 33.8}}
"""By how many percent a policy wastes less than round robin, at most (section 5.3.3)."""
PRINTED_6_8 = {
    "MCT": {"all": 364.0, "round_robin": 1100.0, "ra": 33.0},
    "MWT": {"all": 306.39, "round_robin": 156.64, "ra": 44.3},
}
"""By how many percent a policy is worse than RA-Opt (section 6.4.6)."""
_POLICIES = (
    ("round_robin", None),
    ("ras", "exponential"),
    ("ras", "weibull"),
    ("ljras", "exponential"),
    ("ljras", "weibull"),
)
_PROCESSORS = 16


def drawn(which: str, n_jobs: int | None = None, rng: int = 1) -> Workload:
    """Jobs in the image of one of the logs, a processor as a node."""
    source = LublinFeitelson(1024, "batch") if which == "LANL" else LublinFeitelson(1152, "all")
    jobs = source.sample(JOBS[which] if n_jobs is None else n_jobs, rng)
    if which == "LANL":
        jobs = jobs.with_columns({"nodes": np.maximum(jobs.nodes, 32)})  # that machine gave 32 or more
    return jobs


def all_at_once(jobs: Workload, load: float | None = None, rng: int = 1) -> Workload:
    """The jobs on 512 nodes of 16 processors: all submitted at once, or at a load."""
    columns = {"submit": np.full(len(jobs), START), "nodes": -(-jobs.nodes // _PROCESSORS)}
    jobs = jobs.with_columns(columns, n_nodes=512)
    if load is None:
        return jobs
    at_random = np.sort(np.random.default_rng(rng).random(len(jobs)))
    span = float(jobs.node_seconds.sum()) / (512.0 * load)
    return jobs.with_columns({"submit": START + span * at_random})


def white_failures() -> ReplayedFailures:
    """Failures of single nodes in the bundled sample; its outages of the whole system hit every policy alike."""
    failures = ReplayedFailures.from_log(rf.datasets.load("white"))
    single = failures.node >= 0
    return ReplayedFailures(failures.time[single], failures.node[single], failures.repair[single])


def unequal_failures(spread: float = 1.5, rng: int = 1) -> ReplayedFailures:
    """Failures of 512 nodes as often as in the sample, from Weibull lives whose scales are spread lognormally."""
    sample, random = white_failures(), np.random.default_rng(rng)
    end, count = sample.time[-1], sample.time.size
    scale = random.lognormal(0.0, spread, 512)
    scale *= 512.0 * end / count * np.mean(1.0 / scale) / special.gamma(1.0 + 1.0 / 0.84)
    time, node = [], []
    for k in range(512):
        lives = scale[k] * random.weibull(0.84, int(3 * end / scale[k]) + 50)
        at = np.cumsum(lives)
        time.append(at[at < end])
        node.append(np.full(time[-1].size, k))
    times, nodes = np.concatenate(time), np.concatenate(node)
    return ReplayedFailures(times, nodes, random.choice(sample.repair, times.size))


def waste(jobs: Workload, failures: ReplayedFailures | None = None) -> pd.DataFrame:
    """Figures 5.2, 5.3, 5.5 and 5.6: waste of round robin, RAS and LJRAS, with exponential and Weibull estimates.

    Parameters
    ----------
    jobs : Workload
    failures : ReplayedFailures, optional
        Those of the sample when left out.

    Returns
    -------
    pandas.DataFrame
        One row per policy: ``kills``, ``waste`` (hours of jobs, as in the paper), ``node_hours`` and by how many
        percent both are below round robin's.
    """
    failures = white_failures() if failures is None else failures
    rows = []
    for policy, family in _POLICIES:
        estimates = EstimatedReliability(family=family, history=failures, since=0.0) if family else None
        run = simulate_batch(
            jobs,
            scheduler=Scheduler(name="fcfs", requeue="head"),
            failures=failures,
            allocation=Allocation(policy=policy, reliability=estimates),
        )
        lost = run.jobs["waste"]
        rows.append(
            {
                "policy": f"{policy} {family}" if family else policy,
                "kills": run.counts["kills"],
                "waste": lost.sum() / 3600.0,
                "node_hours": float((lost * run.jobs["nodes"]).sum()) / 3600.0,
            }
        )
    table = pd.DataFrame(rows).set_index("policy")
    for column in ("waste", "node_hours"):
        table[f"{column}_less_percent"] = 100.0 * (1.0 - table[column] / table[column].iloc[0])
    return table


def moldable(
    n_jobs: int = 100,
    n_nodes: int = 10_000,
    parallel_fraction: float = 0.999,
    serial: float = 0.0,
    lives: float = 0.2,
    rng: int = 1,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Figures 6.8 and 6.9: RA-Opt against RA, round robin and all nodes, every job submitted at time 0.

    Parameters
    ----------
    parallel_fraction : float
        Of Amdahl's law; not printed.
    serial : float
        Share of the jobs whose users ask for one node; not printed.
    lives : float
        Median scale of the nodes' lives over that of Figure 6.3 (a); not printed.

    Returns
    -------
    policies : pandas.DataFrame
        One row per policy: mean ``nodes``, ``kills``, ``MCT`` and ``MWT`` (times of completion, from the submission,
        and of waste over the sum of run time on one node per node that the user asked for), ``run`` (as MCT, from the
        start), and by how many percent the first two are above those of RA-Opt, ours and printed.
    lengths : pandas.DataFrame
        By policy, ``ACT`` and ``AWT`` in hours by class of run time on one node.
    """
    jobs = TwoStage(
        n_nodes,
        None,
        serial=serial,
        short="10h",
        long="500h",
        short_share=0.7,
        longest="5000h",
        longest_share=0.02,
        walltime=np.inf,
    ).sample(n_jobs, rng)
    scale = lives * SCALE * np.random.default_rng(rng).lognormal(0.0, 1.0, n_nodes)
    failures = NodeFailures(life=Weibull(np.full(n_nodes, 0.8606), scale), repair="2h")
    unit = float((jobs.run_time / jobs.nodes).sum())
    length = np.asarray(length_classes(jobs.run_time))
    rows, columns = [], {}
    for policy in ("ra_opt", "ra", "round_robin", "all"):
        run = simulate_batch(
            jobs,
            scheduler=Scheduler(name="fcfs", requeue="head"),
            failures=failures,
            rng=rng,
            allocation=Allocation(policy=policy, speedup=Amdahl(parallel_fraction)),
        )
        table = run.jobs.assign(completion=run.jobs["finish_time"] - run.jobs["submission_time"])
        started = (run.jobs["finish_time"] - run.jobs["first_start"]).sum()
        rows.append(
            {
                "policy": policy,
                "nodes": table["nodes"].mean(),
                "kills": run.counts["kills"],
                "MCT": table["completion"].sum() / unit,
                "MWT": table["waste"].sum() / unit,
                "run": started / unit,
            }
        )
        means = table.groupby(length)[["completion", "waste"]].mean() / 3600.0
        columns[policy, "ACT"], columns[policy, "AWT"] = means["completion"], means["waste"]
    frame = pd.DataFrame(rows).set_index("policy")
    for measure in ("MCT", "MWT"):
        best = frame[measure].iloc[0]
        frame[f"{measure}_percent"] = 100.0 * (frame[measure] - best) / best
        frame[f"{measure}_printed"] = pd.Series(PRINTED_6_8[measure]).reindex(frame.index)
    order = [name for name in length_classes(jobs.run_time).categories if name in set(length)]
    return frame, pd.DataFrame(columns).reindex(order)
