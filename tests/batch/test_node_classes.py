"""Classes of nodes: a schedule by hand, and the errors."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.batch import GroupFailures, ReplayedFailures, Saving, SystemFailures, simulate_classes
from relfit.errors import ArgumentError
from relfit.workloads import Workload, copies

LENGTH = [10.0, 5.0, 10.0, 4.0, 3.0]
CLASS = ["cpu", "gpu", "gpu", "cpu", "gpu"]
JOBS = Workload(list("abcde"), [0.0, 0.0, 1.0, 2.0, 3.0], [2, 3, 1, 1, 2], LENGTH, LENGTH, node_class=CLASS)
NODES = {"cpu": 2, "gpu": 3}


def test_a_schedule_by_hand():
    """CPU nodes are 0 and 1: d waits for a until 10 s. GPU nodes are 2 to 4: node 3, down from 2 to 8 s, kills b.

    c gets node 2 at 2 s; e needs two and finds 3 and 4 at 8 s, and is done by 11 s, before c ends at 12 s; then b.
    """
    run = simulate_classes(JOBS, NODES, each={"gpu": {"failures": ReplayedFailures([2.0], [1], [6.0])}}, keep="nodes")
    jobs = run.jobs
    assert jobs["job_id"].tolist() == ["a", "b", "c", "d", "e"]
    assert jobs["node_class"].tolist() == CLASS
    assert jobs["starting_time"].tolist() == [0.0, 12.0, 2.0, 10.0, 8.0]
    assert jobs["finish_time"].tolist() == [10.0, 17.0, 12.0, 14.0, 11.0]
    assert jobs["backfilled"].tolist() == [False, False, False, False, True]
    assert (run.n_nodes, run.now, run.counts["kills"], run.summary["makespan"]) == (5, 17.0, 1, 17.0)
    assert run.outages.to_numpy().tolist() == [[2.0, 3.0, 8.0]]
    attempts = run.attempts
    expected = [
        (0, 0.0, 10.0, -1, ((0, 2),)), (1, 0.0, 2.0, 3, ((2, 3),)), (2, 2.0, 12.0, -1, ((2, 1),)),
        (4, 8.0, 11.0, -1, ((3, 2),)), (3, 10.0, 14.0, -1, ((0, 1),)), (1, 12.0, 17.0, -1, ((2, 3),)),
    ]  # fmt: skip
    assert list(attempts[["job", "start", "end", "node", "spans"]].itertuples(index=False, name=None)) == expected
    table = run.by_class("node_class")
    assert table["jobs"].to_dict() == {"cpu": 2, "gpu": 3, "all": 5}
    assert table["mean_wait"].tolist() == pytest.approx([(0 + 8) / 2, (10 + 1 + 5) / 3, 24 / 5])
    assert {"by_length", "by_width", "by_node_class"} <= set(run.to_dict())
    states = run.states.set_index("time")
    assert states.loc[8.0].tolist() == [2, 3, 5, 0]  # b and d wait; a, c and e hold 2, 1 and 2 nodes


def test_a_class_is_simulated_as_a_machine_of_its_own():
    rng = np.random.default_rng(4)
    size, n = {"cpu": 6, "big": 9, "none": 2}, 60
    run_time = rng.integers(1, 50, n).astype(float)
    names = rng.choice(["cpu", "big"], n)
    jobs = Workload(
        range(n), np.sort(rng.integers(0, 300, n)), rng.integers(1, 7, n), run_time, run_time + 5.0, node_class=names
    )
    failures = SystemFailures(mtbf="40s", repair="20s")
    run = simulate_classes(jobs, size, each={name: {"failures": failures} for name in size}, rng=2)
    assert run.counts["kills"] > 5
    for (name, nodes), own in zip(size.items(), np.random.default_rng(2).spawn(3), strict=True):
        alone = rf.simulate_batch(jobs.where(names == name), nodes, failures=failures, rng=own)
        part = run.jobs[run.jobs["node_class"] == name].drop(columns="node_class").reset_index(drop=True)
        assert part.astype(alone.jobs.dtypes).equals(alone.jobs)


def test_failures_of_the_machine_strike_all_classes_at_one_instant():
    """At 4 s the whole machine is away for 3 s, and node 3 (the second of the GPU nodes) from 20 to 22 s."""
    failures = ReplayedFailures([4.0, 20.0], [-1, 3], [3.0, 2.0])
    run = simulate_classes(JOBS, NODES, failures=failures, keep="nodes")
    early = run.outages[run.outages["time"] == 4.0]
    assert sorted(early["node"]) == [0, 1, 2, 3, 4]
    assert (early["back"] == 7.0).all()
    assert run.outages.loc[run.outages["time"] == 20.0, ["node", "back"]].to_numpy().tolist() == [[3, 22.0]]
    assert run.jobs["starting_time"].tolist() == [7.0, 7.0, 12.0, 17.0, 12.0]
    drawn = GroupFailures(life="15s", repair="2s")
    times = simulate_classes(JOBS, NODES, failures=drawn, keep="nodes", rng=3).outages
    struck = times.groupby("time")["node"].nunique()
    both = struck[struck.index < 15.0]
    assert len(both) > 0
    assert (both == 5).all()


def test_classes_come_from_a_table_and_stay_with_their_jobs(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("job,submitted,nodes,run_time,partition\n7,30,1,60,gpu\n8,10,2,60,cpu\n9,20,0,60,cpu\n")
    jobs = rf.read_workload(path, node_class="partition")
    assert (jobs.job_id.tolist(), jobs.node_class.tolist()) == ([8, 7], ["cpu", "gpu"])
    assert copies(jobs, 2, "15s").node_class.tolist() == ["cpu", "cpu", "gpu", "gpu"]
    assert jobs.where([False, True]).to_frame()["node_class"].tolist() == ["gpu"]


def test_bad_classes():
    for workload, given, message in (
        (JOBS.with_columns({"node_class": None}), {}, "no node_class"),
        (JOBS.with_columns({"node_class": ["cpu"] * 4 + ["tpu"]}), {}, "a job is of class 'tpu'"),
        (JOBS, {"each": {"tpu": {}}}, "settings are of class 'tpu'"),
        (JOBS, {"saving": Saving(path="state.npz")}, "do not save"),
        (JOBS, {"each": {"cpu": {"keep": "nodes"}}}, "one keep"),
    ):
        with pytest.raises(ArgumentError, match=message):
            simulate_classes(workload, NODES, **given)
    with pytest.raises(ArgumentError, match="not known"):
        rf.simulate_batch(JOBS, 5).by_class("node_class")
