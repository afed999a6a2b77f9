"""Jobs that take nodes of several classes at once: schedules by hand and by a plain simulation, and the errors."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli.app import main
from relfit.io.workloads import Workload
from relfit.simulation.batch import (
    Allocation,
    NodeClass,
    NodeFailures,
    ReplayedFailures,
    Reservation,
    Saving,
    Scheduler,
    SystemFailures,
)
from relfit.simulation.batch import batch_driver as driver
from tests.batch.slow_cluster import SlowCluster, SlowJob

CLASSES = [NodeClass(name="cpu", nodes=4), NodeClass(name="gpu", nodes=2)]


def jobs_of(*rows):
    """Rows of submit, class, nodes, length."""
    submit, classes, nodes, length = zip(*rows, strict=True)
    return Workload(range(len(rows)), submit, nodes, length, length, node_class=classes)


def test_a_schedule_by_hand():
    """0 has 2 cpu + 1 gpu to 10; 1 wants 3 + 1 and waits for its cpus; 2 (1 gpu, 5 s) is done by then; 3 (1 gpu, 20 s)
    is not: at 10 s the job ahead leaves one of two gpus over, which it takes; 4 (2 cpu, 20 s) finds 1 cpu left over.
    """
    jobs = jobs_of(
        (0, "cpu:2+gpu:1", 3, 10), (1, "cpu:3+gpu:1", 4, 10), (2, "gpu", 1, 5), (7, "gpu", 1, 20), (7, "cpu", 2, 20)
    )
    run = rf.simulate_batch(jobs, CLASSES, keep="nodes")
    assert run.jobs["starting_time"].tolist() == [0.0, 10.0, 2.0, 7.0, 20.0]
    assert run.jobs["backfilled"].tolist() == [False, False, True, True, False]
    assert run.jobs["node_class"].tolist() == ["cpu+gpu", "cpu+gpu", "gpu", "gpu", "cpu"]
    assert run.attempts["spans"].tolist() == [((0, 2), (4, 1)), ((5, 1),), ((5, 1),), ((0, 3), (4, 1)), ((0, 2),)]
    table = run.by_class("node_class")
    assert table["jobs"].to_dict() == {"cpu": 1, "gpu": 2, "cpu+gpu": 2, "all": 5}
    assert table["mean_wait"].to_dict() == {"cpu": 13.0, "gpu": 0.0, "cpu+gpu": 4.5, "all": 4.4}
    strict = rf.simulate_batch(jobs, CLASSES, "fcfs")
    assert strict.jobs["starting_time"].tolist() == [0.0, 10.0, 10.0, 15.0, 20.0]


def test_a_failure_of_one_class_kills_a_job_on_both():
    """GPU 0 is node 4. It is down from 3 to 8 s: job 0 needs both gpus and starts anew at 8 s; the cpus are free."""
    jobs = jobs_of((0, "cpu:2+gpu:2", 4, 10), (1, "cpu", 4, 5))
    gpu = NodeClass(name="gpu", nodes=2, failures=ReplayedFailures([3.0], [0], [5.0]))
    run = rf.simulate_batch(jobs, [CLASSES[0], gpu], keep="nodes")
    assert run.outages.to_numpy().tolist() == [[3.0, 4.0, 8.0]]
    assert run.jobs["starting_time"].tolist() == [8.0, 3.0]
    machine = rf.simulate_batch(jobs, CLASSES, failures=ReplayedFailures([3.0], [4], [5.0]))
    assert machine.jobs.equals(run.jobs)


def test_a_class_that_loses_a_node_rejects_the_jobs_that_need_it():
    jobs = jobs_of((0, "cpu:1+gpu:2", 3, 10), (0, "cpu:4+gpu:1", 5, 10), (0, "gpu:3+cpu:1", 4, 10), (9, "gpu", 2, 1))
    run = rf.simulate_batch(jobs, CLASSES, failures=ReplayedFailures([2.0], [5], [np.inf]))
    assert run.jobs["status"].tolist() == ["rejected", "done", "too wide", "rejected"]
    assert run.jobs["starting_time"][1] == 2.0


class SlowClasses(SlowCluster):
    """`SlowCluster` with nodes of several classes, numbered class after class."""

    def __init__(self, jobs, needs, sizes, **settings):
        super().__init__(jobs, sum(sizes), **settings)
        self.needs = needs
        self.class_of = [k for k, size in enumerate(sizes) for _ in range(size)]

    def free(self):
        return np.bincount([self.class_of[node] for node in self.idle()], minlength=2)

    def begin(self, job, now, backfilled):
        held = []
        for k, number in enumerate(self.needs[job.number]):
            held += [node for node in self.idle() if self.class_of[node] == k][:number]
        super().begin(job, now, backfilled)
        job.held = held
        self.starts[-1] = (now, job.number, tuple(held))

    def decide(self, now):
        up = np.bincount([k for node, k in enumerate(self.class_of) if node not in self.back], minlength=2)
        queue = [job for job in self.waiting() if (self.needs[job.number] <= up).all()]
        while queue and (self.needs[queue[0].number] <= self.free()).all():
            self.begin(queue.pop(0), now, False)
        if not queue or self.scheduler == "fcfs":
            return
        need = self.needs[queue[0].number]
        running = [job for job in self.jobs if job.status == "running"]
        shadow, extra = math.inf, None
        for end in sorted({job.estimate for job in running}):
            later = self.free() + sum(self.needs[job.number] for job in running if job.estimate <= end)
            if (later >= need).all():
                shadow, extra = end, later - need
                break
        for job in queue[1:]:
            own = self.needs[job.number]
            if (own > self.free()).any():
                continue
            if now + job.left <= shadow:
                self.begin(job, now, True)
            elif (own <= extra).all():
                self.begin(job, now, True)
                extra -= own


@pytest.mark.parametrize("scheduler", ["easy", "fcfs"])
@pytest.mark.parametrize("seed", range(6))
def test_every_start_is_that_of_a_plain_simulation(scheduler, seed):
    rng, n, sizes = np.random.default_rng(seed), 70, (6, 4)
    needs = np.column_stack([rng.integers(0, 5, n), rng.integers(0, 4, n)])
    needs[needs.sum(axis=1) == 0] = [1, 1]
    submit = np.sort(rng.integers(0, 400, n)).astype(float)
    length = rng.integers(1, 40, n).astype(float)
    walltime = length + rng.integers(0, 20, n)
    failures = sorted((float(t), int(node), float(r)) for t, node, r in rng.integers([1, 0, 0], [900, 10, 60], (25, 3)))
    names = [f"cpu:{a}+gpu:{b}" for a, b in needs]
    jobs = Workload(range(n), submit, needs.sum(axis=1), length, walltime, node_class=names)
    classes = [NodeClass(name=name, nodes=size) for name, size in zip(("cpu", "gpu"), sizes, strict=True)]
    replayed = ReplayedFailures(*(np.array(column) for column in zip(*failures, strict=True)))
    run = rf.simulate_batch(jobs, classes, scheduler, failures=replayed, keep="nodes")
    own = [SlowJob(i, submit[i], int(needs[i].sum()), length[i], walltime[i]) for i in range(n)]
    slow = SlowClasses(own, needs, sizes, scheduler=scheduler, failures=failures).run()
    assert run.counts["kills"] == len(slow.kills) > 2
    starts = [
        (row.start, row.job, tuple(node for first, size in row.spans for node in range(first, first + size)))
        for row in run.attempts.itertuples()
    ]
    assert starts == slow.starts
    assert run.jobs["finish_time"].tolist() == [job.finish for job in slow.jobs]
    assert run.jobs["backfilled"].tolist() == [job.backfilled for job in slow.jobs]
    assert run.jobs["backfilled"].any() == (scheduler == "easy")


def test_stopped_and_gone_on_it_is_the_same(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    names = rng.choice(["cpu", "cpu:1+gpu:1", "gpu:1+cpu:1"], 500)
    length = rng.exponential(2000.0, 500)
    jobs = Workload(range(500), rng.exponential(700.0, 500).cumsum(), [2] * 500, length, length, node_class=names)
    classes = [
        NodeClass(name="cpu", nodes=4),
        NodeClass(name="gpu", nodes=3, failures=NodeFailures(life="30h", repair="5h")),
    ]
    settings = {"failures": SystemFailures(mtbf="20h", repair="2h"), "rng": 2, "keep": "nodes"}
    expected = rf.simulate_batch(jobs, classes, **settings)
    assert expected.counts["kills"] > 5
    monkeypatch.setattr(driver, "_BUDGET", 50)
    saving = Saving(path=tmp_path / "state.npz", time_limit="1ms")
    run, times = rf.simulate_batch(jobs, classes, saving=saving, **settings), 0
    while not run.complete:
        run, times = rf.batch.resume_batch(saving.path, saving), times + 1
    assert times >= 1
    pd.testing.assert_frame_equal(run.jobs, expected.jobs)
    assert run.log.tobytes() == expected.log.tobytes()
    assert run.counts == expected.counts


FILE = """
[workload]
file = "jobs.csv"
columns = { node_class = "queue" }
[[classes]]
name = "cpu"
nodes = 4
[[classes]]
name = "gpu"
nodes = 2
[[classes.failures]]
kind = "nodes"
mtbf = "30s"
repair = "2s"
"""


def test_the_file_and_the_command(tmp_path, capsys):
    rows = "".join(f"{i},{3 * i},3,10,{'cpu:2+gpu:1' if i % 2 else 'cpu'}\n" for i in range(40))
    (tmp_path / "jobs.csv").write_text("job_id,submit,nodes,run_time,queue\n" + rows)
    (tmp_path / "cluster.toml").write_text(FILE)
    assert main(["simulate", "batch", str(tmp_path / "cluster.toml"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["done"] == 40
    assert document["counts"]["kills"] > 3
    assert [row["jobs"] for row in document["by_node_class"]] == [20, 0, 20, 40]


@pytest.mark.parametrize(
    ("row", "settings", "said"),
    [
        ((0, "cpu:2+gpu:2", 3, 1), {}, "job 1 has 3 nodes of 'cpu:2\\+gpu:2'; nodes are those of all classes"),
        ((0, "cpu:2+tpu:2", 4, 1), {}, "'tpu' has no nodes; use cpu, gpu"),
        ((0, "cpu+gpu", 2, 1), {}, "write how many of each class"),
        ((0, "cpu:1+gpu:x", 2, 1), {}, "write how many of each class"),
        ((0, "cpu", 1, 1), {"scheduler": "conservative"}, "take easy or fcfs"),
        ((0, "cpu", 1, 1), {"scheduler": Scheduler(reject_after_repairs=2)}, "reject_after_repairs"),
        ((0, "cpu", 1, 1), {"reservations": [Reservation("1h", "2h")]}, "take easy or fcfs"),
        ((0, "cpu", 1, 1), {"allocation": Allocation(policy="round_robin")}, "take first_fit"),
    ],
)
def test_what_cannot_be(row, settings, said):
    with pytest.raises(ArgumentError, match=said):
        rf.simulate_batch(jobs_of((0, "cpu:1+gpu:1", 2, 1), row), CLASSES, **settings)


def test_a_class_with_a_scheduler_of_its_own_cannot_share_jobs():
    classes = [CLASSES[0], NodeClass(name="gpu", nodes=2, scheduler=Scheduler(name="fcfs"))]
    with pytest.raises(ArgumentError, match="class gpu has scheduler of its own"):
        rf.simulate_batch(jobs_of((0, "cpu:1+gpu:1", 2, 1)), classes)
