"""Policies that a user writes in Python: schedules by hand, and the built-in ones written again."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.io.workloads import Workload
from relfit.simulation.batch import Allocation, Saving, Scheduler, waiting_jobs
from tests.batch.random_cases import random_failures, random_workload


class ShortestFirst(Scheduler):
    """The waiting job of the shortest walltime that fits."""

    longest: float = np.inf

    def next_job(self, engine, now):
        jobs = waiting_jobs(engine)
        fits = engine.jobs["nodes"][jobs] <= engine.state["n_free"][0]
        walltimes = np.where(fits, engine.jobs["walltime"][jobs], np.inf)
        return int(jobs[np.argmin(walltimes)]) if jobs.size and walltimes.min() < self.longest else -1


class InOrder(Scheduler):
    """First come first served, once more."""

    def next_job(self, engine, now):
        jobs = waiting_jobs(engine)
        jobs = jobs[engine.jobs["nodes"][jobs] <= engine.state["n_up"][0]]
        return int(jobs[0]) if jobs.size and engine.jobs["nodes"][jobs[0]] <= engine.state["n_free"][0] else -1


class Highest(Allocation):
    """The idle nodes of the highest numbers."""

    def choose(self, engine, job, idle, now, length):
        return idle[-engine.jobs["nodes"][job] :]


def test_a_schedule_by_hand():
    """Two nodes: c (1 s) before b (5 s) once a ends at 4 s; the long d never."""
    jobs = Workload(list("abcd"), [0.0, 1.0, 2.0, 3.0], [2, 2, 2, 1], [4.0, 5.0, 1.0, 90.0], [4.0, 5.0, 1.0, 90.0], 2)
    run = rf.simulate_batch(jobs, scheduler=ShortestFirst(longest=50.0))
    assert run.jobs["starting_time"].tolist()[:3] == [0.0, 5.0, 4.0]
    assert run.jobs["status"].tolist()[3] == "waiting"
    assert run.jobs["backfilled"].tolist() == [False, False, True, False]
    taken = rf.simulate_batch(jobs, 5, "fcfs", allocation=Highest(), keep="nodes").attempts["spans"].tolist()
    assert taken[:2] == [((3, 2),), ((1, 2),)]


@pytest.mark.parametrize("seed", range(12))
def test_the_built_in_ones_written_again(seed):
    rng = np.random.default_rng(seed)
    jobs = random_workload(rng)
    failures = random_failures(rng, jobs.n_nodes)
    options = {"requeue": "tail", "offer_freed_first": bool(seed % 2)}
    own = rf.simulate_batch(jobs, scheduler=InOrder(**options), failures=failures, keep="nodes")
    same = rf.simulate_batch(jobs, scheduler=Scheduler(name="fcfs", **options), failures=failures, keep="nodes")
    for column in ("starting_time", "finish_time", "kills"):
        assert own.jobs[column].equals(same.jobs[column])
    assert own.attempts["spans"].equals(same.attempts["spans"])


def test_what_does_not_go_with_them(tmp_path):
    jobs = Workload([1], [0.0], [1], [5.0], [5.0], 2)
    with pytest.raises(ArgumentError, match="cannot be written"):
        rf.simulate_batch(jobs, scheduler=InOrder(), saving=Saving(path=tmp_path / "s.npz"))
    with pytest.raises(ArgumentError, match="reservations"):
        rf.simulate_batch(jobs, scheduler=InOrder(), reservations=[rf.batch.Reservation("1h", "2h")])
    with pytest.raises(ArgumentError, match="planned"):
        rf.simulate_batch(jobs, scheduler="conservative", allocation=Highest())
    with pytest.raises(ArgumentError, match="longest"):
        ShortestFirst(longest="much")
