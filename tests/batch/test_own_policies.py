"""Policies that a user writes in Python: schedules by hand, and the built-in ones written again."""

from __future__ import annotations

from typing import Any

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


class Given(Allocation):
    """What a function makes of the idle nodes and the size of the job."""

    nodes: Any

    def choose(self, engine, job, idle, now, length):
        return self.nodes(idle, int(engine.jobs["nodes"][job]))


class Named(Scheduler):
    """What a function makes of the waiting jobs."""

    job: Any

    def next_job(self, engine, now):
        return self.job(waiting_jobs(engine))


FOUR = Workload([1, 2, 3, 4], [0, 1, 2, 3], [3, 4, 1, 1], [10, 10, 8, 20], [10, 10, 8, 20], 4)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (lambda _, size: np.zeros(size, int), r"job 0 \[0, 0, 0\]: node 0 is named twice"),
        (lambda _, size: np.arange(size), r"job 2 \[0\]: node 0 is not idle"),
        (lambda _, size: np.arange(100, 100 + size), "nodes have the numbers 0 to 3"),
        (lambda _, size: [-1] * size, "nodes have the numbers 0 to 3"),
        (lambda idle, _: idle[:1], "the job needs 3 nodes"),
        (lambda idle, _: idle, "the job needs 3 nodes"),
        (lambda idle, size: idle[:size] + 0.5, "no numbers of nodes"),
        (lambda *_: None, "no numbers of nodes"),
        (lambda idle, size: [idle[:size]], "no numbers of nodes"),
    ],
)
def test_nodes_that_a_job_cannot_have_are_an_error(nodes, words):
    """Compiled code took them as they were: a segmentation fault, no end, or wrong results without a word."""
    with pytest.raises(ArgumentError, match=f"^Given.choose gave .*{words}"):
        rf.simulate_batch(FOUR, allocation=Given(nodes=nodes))


@pytest.mark.parametrize(
    "nodes", [lambda i, k: list(i[-k:]), lambda i, k: i[:k].astype(float), lambda i, k: i[:k][::-1]]
)
def test_idle_nodes_are_taken_in_any_form_and_order(nodes):
    run = rf.simulate_batch(FOUR, allocation=Given(nodes=nodes))
    assert run.jobs["finish_time"].tolist() == [10.0, 20.0, 10.0, 40.0]
    assert rf.simulate_batch(FOUR, allocation=Given(nodes=lambda *_: [])).jobs["finish_time"].isna().all()


def test_where_the_policy_sets_sizes_any_number_of_nodes_is_right():
    """Four nodes by Amdahl with p = 0.5: 10 s of work take 10 (0.5 + 0.5/2) = 7.5 s on two."""
    own = Given(policy="ra_opt", amdahl=0.5, nodes=lambda idle, _: idle[:2])
    assert rf.simulate_batch(FOUR, scheduler="fcfs", allocation=own).jobs["finish_time"].tolist()[:2] == [7.5, 8.5]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (lambda jobs: jobs[0] if jobs.size else -1, "returned .*1.*: it needs 4 nodes, and 1 is idle"),
        (lambda _: 0, "returned 0: this job does not wait"),
        (lambda _: 3, "returned 3: this job does not wait"),
        (lambda _: 4, "returned 4: jobs have the numbers 0 to 3"),
        (lambda _: None, "returned None: jobs have the numbers 0 to 3"),
        (lambda _: 1.7, "returned 1.7: jobs have the numbers 0 to 3"),
    ],
)
@pytest.mark.parametrize("allocation", ["first_fit", "ra"])
def test_a_job_that_cannot_start_is_an_error(job, words, allocation):
    failures = rf.batch.NodeFailures(life=rf.families.Exponential(1e-6), repair="1h")
    with pytest.raises(ArgumentError, match=f"^Named.next_job {words}"):
        rf.simulate_batch(FOUR, scheduler=Named(job=job), allocation=allocation, failures=failures)
