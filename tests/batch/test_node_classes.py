"""Classes of nodes: a schedule by hand, and the errors."""

from __future__ import annotations

import itertools
import os
import signal

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.fitting.families import Weibull
from relfit.io.workloads import Workload, copies
from relfit.simulation.batch import (
    Allocation,
    EstimatedReliability,
    GroupFailures,
    NodeClass,
    NodeFailures,
    ReplayedFailures,
    Saving,
    Scheduler,
    SystemFailures,
)
from relfit.simulation.batch import batch_driver as driver
from relfit.system.jobs import Checkpoint

LENGTH = [10.0, 5.0, 10.0, 4.0, 3.0]
CLASS = ["cpu", "gpu", "gpu", "cpu", "gpu"]
JOBS = Workload(list("abcde"), [0.0, 0.0, 1.0, 2.0, 3.0], [2, 3, 1, 1, 2], LENGTH, LENGTH, node_class=CLASS)
NODES = {"cpu": 2, "gpu": 3}


def simulate_classes(jobs, nodes, each=None, **settings):
    """A run with classes of so many nodes, and `each` by name what it has of its own."""
    own = each or {}
    cluster = [NodeClass(name=name, nodes=size, **own.get(name, {})) for name, size in nodes.items()]
    return rf.simulate_batch(jobs, cluster, **settings)


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
        (0, 0.0, 10.0, -1, ((0, 2),)),
        (1, 0.0, 2.0, 3, ((2, 3),)),
        (2, 2.0, 12.0, -1, ((2, 1),)),
        (4, 8.0, 11.0, -1, ((3, 2),)),
        (3, 10.0, 14.0, -1, ((0, 1),)),
        (1, 12.0, 17.0, -1, ((2, 3),)),
    ]
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


@pytest.mark.slow
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


def mixed_case():
    """Jobs of three classes; failures of nodes, of racks that lie in two classes, and outages of the whole system."""
    rng, n = np.random.default_rng(6), 900
    run_time = rng.exponential(2000.0, n)
    names = rng.choice(["cpu", "gpu", "big"], n, p=[0.6, 0.3, 0.1])
    jobs = Workload(
        [f"j{i}" for i in range(n)],
        rng.exponential(150.0, n).cumsum(),
        rng.integers(1, 4, n),
        run_time,
        1.5 * run_time,
        node_class=names,
    )
    machine = [
        GroupFailures(life="200h", groups=6, repair="1h"),
        ReplayedFailures([2e4, 9e4], [-1, -1], [3e3, 600.0]),
        NodeFailures(life=Weibull(0.7, 200.0), repair="5h"),
    ]
    own = {
        "gpu": {
            "allocation": Allocation(policy="rack"),
            "nodes_per_rack": 4,
            "failures": SystemFailures(mtbf="4h", repair="2h"),
        },
        "cpu": {"allocation": Allocation(policy="ras", reliability=EstimatedReliability(every="3h"))},
        "big": {"scheduler": Scheduler(name="conservative", fixed_nodes=True)},
    }
    return jobs, {"cpu": 17, "gpu": 8, "big": 5}, {"failures": machine, "each": own, "rng": 4, "keep": "nodes"}


def same(a, b):
    pd.testing.assert_frame_equal(a.jobs, b.jobs)
    assert a.log.tobytes() == b.log.tobytes()
    assert (a.counts, a.settings, a.now, a.notes) == (b.counts, b.settings, b.now, b.notes)


@pytest.mark.slow
def test_a_run_of_classes_that_was_stopped_again_and_again_is_the_same(tmp_path, monkeypatch):
    jobs, nodes, given = mixed_case()
    whole = simulate_classes(jobs, nodes, **given)
    assert whole.counts["kills"] > 10
    outage = whole.outages[whole.outages["time"] == 2e4]
    assert len(outage) > 20  # of 30 nodes, less those down already
    path = tmp_path / "state.npz"
    monkeypatch.setattr(driver, "_BUDGET", 150)
    saving = Saving(path=path, time_limit="1ms")
    part, stopped = simulate_classes(jobs, nodes, saving=saving, **given), []
    while not part.complete:
        assert any("Stopped" in line for line in part.findings)
        stopped.append(part.summary["unfinished"])
        part = rf.batch.resume_batch(path, saving)
    assert len(stopped) > 5
    assert all(later <= earlier for earlier, later in itertools.pairwise(stopped))
    same(whole, part)


@pytest.mark.slow
def test_classes_write_files_at_intervals_of_simulated_and_of_real_time(tmp_path, monkeypatch):
    jobs, nodes, given = mixed_case()
    whole = simulate_classes(jobs, nodes, **given)
    same(whole, simulate_classes(jobs, nodes, saving=Saving(path=tmp_path / "a.npz", every_simulated="6h"), **given))
    files = sorted(tmp_path.iterdir(), key=lambda file: int(file.stem.split("-")[1]))
    assert len(files) == 2
    assert int(files[-1].stem.split("-")[1]) > 3 * 5  # three classes of some 37 hours each
    for file in files:
        same(whole, rf.batch.resume_batch(file))
    monkeypatch.setattr(driver, "_BUDGET", 50)
    monkeypatch.setattr(driver, "_SAVING_SHARE", 1.0)
    same(whole, simulate_classes(jobs, nodes, saving=Saving(path=tmp_path / "b.npz", every="1us", keep=3), **given))
    files = list(tmp_path.glob("b-*.npz"))
    assert len(files) == 3
    same(whole, rf.batch.resume_batch(files[0]))


def test_a_signal_stops_all_classes(tmp_path, monkeypatch):
    jobs, nodes, given = mixed_case()
    whole, path = simulate_classes(jobs, nodes, **given), tmp_path / "state.npz"
    monkeypatch.setattr(driver, "_BUDGET", 100)
    calls, real = [], driver.advance

    def signalled(*arguments):
        calls.append(1)
        if len(calls) == 12:
            os.kill(os.getpid(), signal.SIGUSR1)
        return real(*arguments)

    monkeypatch.setattr(driver, "advance", signalled)
    part = simulate_classes(jobs, nodes, saving=Saving(path=path), **given)
    assert not part.complete
    same(whole, rf.batch.resume_batch(path))


def test_what_is_known_of_the_machine_is_known_of_its_classes():
    """True lives for allocation, and how often nodes fail for the interval of checkpoints."""
    life = Weibull(np.ones(5), np.array([90.0, 80.0, 10.0, 20.0, 30.0]))
    jobs = JOBS.with_columns({"nodes": [1, 1, 1, 1, 1]})
    run = simulate_classes(jobs, NODES, failures=NodeFailures(life=life), allocation="ra", keep="nodes", until="1h")
    first = run.attempts.set_index("job")["spans"]
    assert (first[0], first[1]) == (((0, 1),), ((4, 1),))
    assert run.settings["failures"] == {"cpu": ["NodeFailures"], "gpu": ["NodeFailures"]}
    long = Workload([1, 2], [0.0, 0.0], [1, 2], [1e5, 1e5], node_class=["cpu", "gpu"])
    told = {name: {"mtbf": f"{1000 / size}h"} for name, size in NODES.items()}
    for failures in (SystemFailures(mtbf="200h"), NodeFailures(life="1000h")):
        known, given = (
            simulate_classes(long, NODES, failures=failures, each=each, checkpoint=Checkpoint(None, "72s"), rng=1)
            for each in (None, told)
        )
        same(known, given)
        assert known.jobs["overhead"].gt(0).all()


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
        (JOBS, {"each": {"cpu": {"saving": Saving(path="state.npz")}}}, "saving: this key is unknown"),
    ):
        with pytest.raises(ArgumentError, match=message):
            simulate_classes(workload, NODES, **given)
    with pytest.raises(ArgumentError, match="not known"):
        rf.simulate_batch(JOBS, 5).by_class("node_class")
