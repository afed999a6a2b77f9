"""Conservative backfilling, fixed nodes and reservations against a slow simulator."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.io.workloads import Workload
from relfit.simulation.batch import Reservation, Scheduler
from tests.batch.random_cases import random_failures, random_workload, slow_jobs
from tests.batch.slow_planner import SlowPlanner
from tests.batch.test_schedulers import compare


def random_reservations(rng, n_nodes):
    rows, begin = [], 0
    for _ in range(int(rng.integers(0, 4))):
        begin += int(rng.integers(1, 60))
        end = begin + int(rng.integers(1, 40))
        rows.append(
            (float(begin), float(end), np.sort(rng.permutation(n_nodes)[: rng.integers(1, n_nodes + 1)]).tolist())
        )
        begin = end
    return rows


def run_both(seed):
    rng = np.random.default_rng(seed)
    workload = random_workload(rng)
    workload = workload.with_columns({"requested": np.maximum(workload.requested, 1.0)})
    scheduler, fixed = str(rng.choice(["easy", "conservative"])), bool(rng.random() < 0.5)
    rows = random_reservations(rng, workload.n_nodes) if rng.random() < 0.5 else []
    if scheduler == "easy" and not fixed and not rows:
        rows = [(5.0, 9.0, [0])]
    failures, list_of_failures = (), ()
    if rng.random() < 0.4:
        failures = random_failures(rng, workload.n_nodes)
        list_of_failures = list(
            zip(failures.time.tolist(), failures.node.tolist(), failures.repair.tolist(), strict=True)
        )
    run = rf.simulate_batch(
        workload,
        scheduler=Scheduler(name=scheduler, fixed_nodes=fixed),
        failures=failures,
        keep="nodes",
        reservations=[Reservation(f"{start}s", f"{end}s", nodes) for start, end, nodes in rows],
    )
    slow = SlowPlanner(
        slow_jobs(workload), workload.n_nodes, scheduler, list_of_failures, fixed=fixed, reservations=rows
    ).run()
    compare(run, slow)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.slow
@pytest.mark.long
def test_random_workloads_as_the_slow_planner_has_them(seed):
    run_both(seed)


@pytest.mark.verify
def test_two_thousand_random_workloads():
    for seed in range(1000, 3000):
        run_both(seed)


@pytest.mark.parametrize("seed", range(20))
def test_easy_by_slices_is_easy_by_the_queue(seed):
    rng = np.random.default_rng(seed)
    workload = random_workload(rng)
    failures = random_failures(rng, workload.n_nodes)
    plain = rf.simulate_batch(workload, failures=failures)
    sliced = rf.simulate_batch(workload, failures=failures, reservations=[Reservation("9990h", "9991h")])
    for column in ("starting_time", "backfilled", "kills"):
        assert plain.jobs[column].equals(sliced.jobs[column])


def figures_1_and_2():
    """Seven jobs that come one after the other at time 0, as in Figures 1 and 2, whose sizes are not printed.

    Eight nodes. Jobs 1, 2 and 3 start at 0 on nodes 0-1, 2-4 and 5-7. Job 4 follows job 1 at 2 s, and job 5 follows
    job 2 at 3 s, each where the other was. At 4 s job 4 ends: nodes 0 and 1 are idle, and job 6 waits for 3. Job 5 is
    the next to end, at 6 s; 5 nodes are idle then, 2 more than job 6 needs. Job 7 needs 2, for longer than those 2 s.
    """
    nodes = [2, 3, 3, 2, 3, 3, 2]
    length = [2.0, 3.0, 9.0, 2.0, 3.0, 3.0, 4.0]
    return Workload(range(1, 8), [0.0] * 7, nodes, length, length, 8)


START, WIDTH, LENGTH = [0.0, 0.0, 0.0, 2.0, 3.0], [2, 3, 3, 2, 3], [2.0, 3.0, 9.0, 2.0, 3.0]
FIRST_FIVE = list(zip(START, [0, 2, 5, 0, 2], LENGTH, WIDTH, strict=True))
"""Of jobs 1 to 5 the start, the lowest node, how long and how wide; the two algorithms do not differ in them."""


@pytest.mark.parametrize(
    ("fixed", "last_two", "makespan"),
    [
        # Figure 1: job 6 is promised nodes 0-2, so job 7 cannot have 0-1 beyond 6 s: it starts next to job 6, on 3-4
        (True, [(6.0, 0, 3.0, 3), (6.0, 3, 4.0, 2)], 10.0),
        # Figure 2: job 6 is promised 3 nodes of the 5: job 7 starts at 4 s beside job 5, and job 6 at 6 s as before
        (False, [(6.0, 2, 3.0, 3), (4.0, 0, 4.0, 2)], 9.0),
    ],
)
def test_the_seven_jobs_of_figures_1_and_2(fixed, last_two, makespan):
    run = rf.simulate_batch(figures_1_and_2(), scheduler=Scheduler(fixed_nodes=fixed), keep="nodes")
    expected = [*FIRST_FIVE, *last_two]
    assert run.jobs["starting_time"].tolist() == [start for start, *_ in expected]
    assert run.jobs["backfilled"].tolist() == [False] * 6 + [not fixed]
    assert run.summary["makespan"] == makespan
    ax = rf.plotting.gantt(run, Figure().add_subplot())
    drawn = [(*patch.get_xy(), patch.get_width(), patch.get_height()) for patch in ax.patches]
    assert sorted(drawn) == sorted(expected)
    assert {text.get_text(): text.get_position() for text in ax.texts} == {
        str(job): (start + length / 2, first + width / 2)
        for job, (start, first, length, width) in enumerate(expected, start=1)
    }


def test_bad_reservations():
    jobs = figures_1_and_2()
    both = [Reservation("1h", "3h", "0-3"), Reservation("2h", "4h", "3")]
    for reservations, message in (
        (both, "overlap"),
        ([Reservation("1h", "1h")], "end later"),
        ([Reservation("1h", "2h", "0-8")], "nodes 0 to 7"),
        ([Reservation("1h", "2h", "0-2 2")], "node 2 twice"),
        ([Reservation("1h", "2h", "a")], "names no nodes"),
        ([Reservation("1h", "2h", announced="90min")], "announced before"),
    ):
        with pytest.raises(ArgumentError, match=message):
            rf.simulate_batch(jobs, reservations=reservations)


def test_no_job_is_on_reserved_nodes():
    jobs = Workload([1, 2, 3], [0.0, 0.0, 0.0], [4, 2, 4], [10.0, 10.0, 10.0], [10.0, 10.0, 10.0], 4)
    for scheduler in ("fcfs", "easy", "conservative"):
        run = rf.simulate_batch(
            jobs, scheduler=scheduler, reservations=[Reservation("15s", "40s", "0 1")], keep="nodes"
        )
        assert run.jobs["starting_time"].tolist() == [0.0, 10.0, 40.0]
        assert run.attempts["spans"].tolist() == [((0, 4),), ((2, 2),), ((0, 4),)]
