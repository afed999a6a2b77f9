"""The engine against a slow simulator and BatSim's own schedule."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relfit as rf
from relfit.io.workloads import Workload
from relfit.simulation.batch import ReplayedFailures, Scheduler
from relfit.system.jobs import Checkpoint
from tests.batch.random_cases import random_failures, random_workload, slow_jobs
from tests.batch.slow_cluster import SlowCluster
from tests.examples import examples

SHARED = Path(os.environ.get("RELFIT_SHARED", "../shared"))
NAMES = {"late": "killed at its walltime"}


def compare(run, slow):
    """Every start, node, end, kill and loss."""
    jobs = run.jobs
    assert jobs["status"].tolist() == [NAMES.get(job.status, job.status) for job in slow.jobs]
    ended = [job.number for job in slow.jobs if job.status in ("done", "late")]
    for column, name in (("starting_time", "start"), ("finish_time", "finish")):
        assert jobs[column].to_numpy()[ended].tolist() == [getattr(slow.jobs[i], name) for i in ended]
    assert jobs["kills"].tolist() == [job.kills for job in slow.jobs]
    assert jobs["waste"].tolist() == [job.lost for job in slow.jobs]
    assert jobs["backfilled"].tolist() == [job.backfilled for job in slow.jobs]
    attempts = run.attempts
    held = [tuple(n for first, size in spans for n in range(first, first + size)) for spans in attempts["spans"]]
    starts = list(zip(attempts["start"].tolist(), attempts["job"].tolist(), held, strict=True))
    assert sorted(starts) == sorted(slow.starts)
    killed = attempts[attempts["outcome"] == "killed by a failure"]
    kills = sorted(zip(killed["end"].tolist(), killed["node"].tolist(), killed["job"].tolist(), strict=True))
    assert kills == sorted(slow.kills)
    assert run.counts["ignored_failures"] == slow.ignored


def run_both(seed):
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, priorities=bool(rng.random() < 0.3))
    scheduler = str(rng.choice(["easy", "easy", "fcfs"]))
    settings = {
        "requeue": str(rng.choice(["submit", "head", "tail"])),
        "offer_freed_first": bool(rng.random() < 0.5),
        "reject_after_repairs": int(rng.integers(1, 4)) if rng.random() < 0.5 else None,
    }
    failures, rows, more = (), (), {}
    if rng.random() < 0.7:
        failures = random_failures(rng, workload.n_nodes)
        rows = list(zip(failures.time.tolist(), failures.node.tolist(), failures.repair.tolist(), strict=True))
        if rng.random() < 0.4:
            more = {"every": float(rng.integers(3, 12)), "save": float(rng.integers(0, 3)), "restore": 2.0}
    checkpoint = Checkpoint(*(f"{more[name]}s" for name in ("every", "save", "restore"))) if more else None
    run = rf.simulate_batch(
        workload,
        scheduler=Scheduler(name=scheduler, **settings),
        failures=failures,
        checkpoint=checkpoint,
        keep="nodes",
    )
    slow = SlowCluster(
        slow_jobs(workload, **more),
        workload.n_nodes,
        scheduler,
        rows,
        settings["requeue"],
        settings["offer_freed_first"],
        settings["reject_after_repairs"],
    ).run()
    compare(run, slow)
    return run


@pytest.mark.parametrize("seed", range(40))
def test_random_workloads_as_the_slow_simulator_has_them(seed):
    run_both(seed)


@pytest.mark.verify
def test_two_thousand_random_workloads():
    kills = sum(run_both(seed).counts["kills"] for seed in range(1000, 3000))
    assert kills > 2000


@pytest.fixture(scope="module")
def published():
    path = SHARED / "data" / "batsim-easy-20k.csv.xz"
    if not path.exists():
        pytest.skip(f"no {path}")
    return pd.read_csv(path)


def test_every_start_of_batsim(published):
    jobs = Workload(*(published[name] for name in ("job_id", "submission_time", "nodes", "run_time", "walltime")), 1000)
    run = rf.simulate_batch(jobs)
    assert np.abs(run.jobs["starting_time"] - published["starting_time"]).max() < 1e-3
    assert np.abs(run.jobs["finish_time"] - published["finish_time"]).max() < 1e-3
    assert run.summary["makespan"] == pytest.approx(25_744_068.78, abs=0.01)
    assert run.summary["mean_wait"] == pytest.approx(5_497_561.53, abs=0.01)
    assert run.summary["utilisation"] == pytest.approx(0.977102, abs=1e-6)


def test_a_wide_job_is_passed_over_while_nodes_are_down():
    jobs = Workload([1, 2, 3], [0.0, 5.0, 6.0], [2, 4, 2], [20.0, 10.0, 10.0], [20.0, 10.0, 10.0], 4)
    down = ReplayedFailures([1.0], [3], [100.0])
    run = rf.simulate_batch(jobs, failures=down)
    assert run.jobs["starting_time"].tolist() == [0.0, 101.0, 20.0]
    assert run.jobs["backfilled"].tolist() == [False, False, False]
    twice = ReplayedFailures([1.0, 2.0], [3, 2], [100.0, 10.0])
    rejected = rf.simulate_batch(jobs, failures=twice, scheduler=Scheduler(reject_after_repairs=1))
    assert rejected.jobs["status"].tolist() == ["done", "rejected", "done"]


def test_failures_without_a_running_job_are_failures_of_idle_nodes():
    jobs = Workload([1, 2], [0.0, 100.0], [1, 2], [10.0, 10.0], [10.0, 10.0], 2)
    run = rf.simulate_batch(jobs, failures=ReplayedFailures([50.0], [0], [70.0]), keep="attempts")
    assert run.counts["kills"] == 0
    assert run.jobs["starting_time"].tolist() == [0.0, 120.0]
    assert run.outages.to_dict("list") == {"time": [50.0], "node": [0], "back": [120.0]}


@examples(60)
@given(seed=st.integers(0, 2**32 - 1), scheduler=st.sampled_from(["fcfs", "easy"]))
def test_the_first_job_starts_when_it_fits_and_by_its_shadow_time(seed, scheduler):
    """After every instant the job that waits first needs more nodes than idle; under EASY it starts by the time that
    was seen when it came to be first, from the walltimes of what ran then."""
    workload = random_workload(np.random.default_rng(seed))
    jobs = rf.simulate_batch(workload, scheduler=scheduler).jobs
    jobs = jobs[jobs["status"] != "too wide"].reset_index(drop=True)
    submit, start, end = (jobs[name].to_numpy() for name in ("submission_time", "starting_time", "finish_time"))
    nodes, estimate = jobs["nodes"].to_numpy(), start + jobs["requested"].to_numpy()
    for now in np.unique(np.concatenate([submit, start, end])):
        running = (start <= now) & (now < end)
        waiting = np.flatnonzero((submit <= now) & (now < start))
        if not waiting.size:
            continue
        first, idle = waiting[0], workload.n_nodes - nodes[running].sum()
        assert nodes[first] > idle
        freed = [idle + nodes[running & (estimate <= time)].sum() for time in np.unique(estimate[running])]
        shadow = np.unique(estimate[running])[np.flatnonzero(np.array(freed) >= nodes[first])[0]]
        assert start[first] <= shadow


def test_a_table_is_no_workload() -> None:
    with pytest.raises(rf.ArgumentError, match=r"not a DataFrame; read a file with rf.read_workload"):
        rf.simulate_batch(pd.DataFrame({"submit": [0.0], "nodes": [1]}), 4)  # type: ignore[arg-type]
