"""Repairs in stages that depend on a node's history, and nodes beyond repair: hand counts and closed forms."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli.app import main
from relfit.io.workloads import Workload
from relfit.simulation import RepairStage, StagedRepairs
from relfit.simulation.batch import (
    Allocation,
    CalibratedFailures,
    GroupFailures,
    NodeFailures,
    ReplayedFailures,
    Saving,
    SystemFailures,
)
from relfit.simulation.batch import batch_driver as driver
from relfit.system.jobs import Amdahl

HOUR = 3600.0


def jobs_of(nodes, length, submit=0.0, n_nodes=4):
    n = len(nodes)
    return Workload(range(n), np.broadcast_to(submit, n), nodes, length, length, n_nodes)


def one_job_for(n_nodes):
    """A job on one node that outlives every simulation here."""
    return Workload([1], [0.0], [1], [1e12], [np.inf], n_nodes)


def test_a_node_that_is_gone_rejects_the_jobs_that_no_longer_fit():
    """Node 1 is gone at 4 s with job 0 on all four nodes; job 1 (4) is rejected, 2 (3) and 3 (1) run, 4 comes late."""
    jobs = Workload(range(5), [0.0, 1.0, 2.0, 3.0, 50.0], [4, 4, 3, 1, 4], [10.0] * 5, [10.0] * 5, 4)
    for scheduler in ("fcfs", "easy", "conservative"):
        run = rf.simulate_batch(jobs, None, scheduler, failures=ReplayedFailures([4.0], [1], [np.inf]), keep="nodes")
        assert run.jobs["status"].tolist() == ["rejected", "rejected", "done", "done", "rejected"]
        assert run.jobs["starting_time"].tolist()[2:4] == [4.0, 14.0]
        assert (run.counts["gone"], run.counts["kills"], run.counts["repairs"], run.now) == (1, 1, 0, 50.0)
        assert run.outages.to_numpy().tolist() == [[4.0, 1.0, np.inf]]


def test_a_node_that_is_down_already_may_turn_out_to_be_gone():
    """Node 0 is down from 1 to 11 s when it is found beyond repair at 5 s; later failures of it are nothing."""
    failures = ReplayedFailures([1.0, 5.0, 6.0, 7.0], [0, 0, 0, 0], [10.0, np.inf, np.inf, 1.0])
    run = rf.simulate_batch(jobs_of([2, 1], [20.0, 10.0], n_nodes=2), failures=failures)
    assert run.jobs["status"].tolist() == ["rejected", "done"]
    assert run.jobs["starting_time"][1] == 1.0
    assert (run.counts["gone"], run.counts["ignored_failures"], run.counts["repairs"]) == (1, 3, 0)


def test_the_chance_to_be_beyond_repair_is_that_of_all_stages():
    repairs = StagedRepairs(stages=[RepairStage(time=1, success=[1, 0.5]), RepairStage(time=9, success=0.8)])
    assert (repairs.beyond_repair(0), repairs.beyond_repair(4)) == (0.0, 0.1)


def test_a_cluster_that_loses_all_nodes_ends():
    never = StagedRepairs(stages=[RepairStage(time="1h", success=0.0)])
    jobs = Workload([1, 2], [0.0, 1e7], [1, 1], [9e6, 1.0], [np.inf, 1.0], 5)
    for failures in (NodeFailures(life="10h", repair=never), SystemFailures(mtbf="2h", repair=never)):
        run = rf.simulate_batch(jobs, failures=failures, rng=2, until="10000h")
        assert run.jobs["status"].tolist() == ["rejected", "rejected"]
        assert run.counts["gone"] == run.counts["failures"] == 5


def test_all_nodes_are_those_that_remain():
    allocation = Allocation(policy="all", speedup=Amdahl(1.0))
    jobs = jobs_of([1, 1], [12.0, 12.0], submit=[0.0, 5.0])
    run = rf.simulate_batch(jobs, None, "fcfs", allocation=allocation, failures=ReplayedFailures([4.0], [2], [np.inf]))
    assert run.jobs["nodes"].tolist() == [4, 3]
    assert run.jobs["finish_time"].tolist() == pytest.approx([3.0, 9.0])


def lengths_and_outcomes(run):
    """Of each node its outages in hours, rounded, with their outcomes."""
    table = run.repairs.sort_values(["node", "time"])
    hours = ((table["back"] - table["time"]) / HOUR).round(6)
    return [
        list(zip(hours[rows], table["outcome"][rows], strict=True)) for rows in table.groupby("node").groups.values()
    ]


@pytest.mark.parametrize(
    "source", [NodeFailures(life="50h"), SystemFailures(mtbf="10h"), GroupFailures(life="50h", groups=1)]
)
def test_the_time_of_a_repair_follows_from_the_earlier_ones(source):
    """1, 2 and 3 h; a third repair fails and a new node comes after 10 h more, with a history of its own."""
    stage = RepairStage(time=[1, 2, 3], success=[1, 1, 0], fixed=True)
    failures = replace(source, repair=StagedRepairs(stages=[stage], replacement=10))
    run = rf.simulate_batch(one_job_for(5), failures=failures, until="2000h", rng=3, keep="attempts")
    cycle = [(1.0, "stage 1"), (2.0, "stage 1"), (13.0, "replaced")]
    rows = lengths_and_outcomes(run)
    assert len(rows) == 5
    for node in rows:
        assert node == (cycle * len(node))[: len(node)]
    replaced = sum(outcome == "replaced" for node in rows for _, outcome in node)
    assert run.counts["replaced"] == replaced > 10
    assert run.counts["gone"] == 0


def test_a_second_repair_that_fails_loses_every_node_after_two_failures():
    stage = RepairStage(time=1, success=[1, 0], fixed=True)
    failures = NodeFailures(life="20h", repair=StagedRepairs(stages=[stage]))
    run = rf.simulate_batch(one_job_for(30), failures=failures, until="2000h", rng=4, keep="attempts")
    assert lengths_and_outcomes(run) == [[(1.0, "stage 1"), (np.inf, "gone")]] * 30
    assert (run.counts["failures"], run.counts["gone"], run.counts["repairs"]) == (60, 30, 30)


def test_shares_and_availability_are_the_closed_forms():
    """Automatic 2 h (0.7), manual 20 h (0.5), replaced after 100 h: 2 + 0.3 20 + 0.15 100 = 23 h of 223."""
    stages = [RepairStage(time=2, success=0.7), RepairStage(time=20, success=0.5)]
    repairs = StagedRepairs(stages=stages, replacement=100)
    assert repairs.long_run_mean() == pytest.approx(23.0)
    failures, hours = NodeFailures(life="200h", repair=repairs), 40_000
    run = rf.simulate_batch(one_job_for(100), failures=failures, until=hours, rng=5, keep="attempts")
    down = (np.minimum(run.outages["back"], run.now) - run.outages["time"]).sum() / HOUR / (100 * hours)
    assert down == pytest.approx(23 / 223, rel=0.03)
    shares = run.repairs["outcome"].value_counts(normalize=True)
    assert shares[["stage 1", "stage 2", "replaced"]].tolist() == pytest.approx([0.7, 0.15, 0.15], abs=0.012)


def test_the_long_run_mean_is_that_of_a_plain_simulation():
    repairs = StagedRepairs(
        stages=[RepairStage(time=[1, 2, 4], success=[0.9, 0.6, 0.2]), RepairStage(time=30, success=[0.8, 0.5])],
        replacement="4 days",
    )
    rng, times, earlier = np.random.default_rng(6), [], 0
    for _ in range(40_000):
        time, first, second = [1, 2, 4][min(earlier, 2)], [0.9, 0.6, 0.2][min(earlier, 2)], [0.8, 0.5][min(earlier, 1)]
        if rng.random() < first:
            times.append(time)
            earlier += 1
        elif rng.random() < second:
            times.append(time + 30)
            earlier += 1
        else:
            times.append(time + 30 + 96)
            earlier = 0
    assert repairs.long_run_mean() == pytest.approx(np.mean(times), rel=0.02)


def test_failures_without_stages_say_so():
    run = rf.simulate_batch(jobs_of([1], [9.0]), failures=ReplayedFailures([2.0], [0], [1.0]), keep="attempts")
    assert run.repairs["outcome"].tolist() == ["repaired"]
    assert (run.counts["replaced"], run.counts["gone"]) == (0, 0)


def test_stopped_and_gone_on_it_is_the_same(tmp_path, monkeypatch):
    stages = [RepairStage(time=["1h", "5h"], success=[0.9, 0.3]), RepairStage(time="10h", success=0.6, name="manual")]
    repairs = StagedRepairs(stages=stages, replacement="2 days")
    sources = [NodeFailures(life="60h", repair=repairs), SystemFailures(mtbf="5h", repair=StagedRepairs(stages=stages))]
    rng = np.random.default_rng(1)
    jobs = Workload(range(800), np.arange(800) * 900.0, rng.integers(1, 4, 800), *[rng.exponential(4e3, 800)] * 2, 40)
    settings = {"failures": sources, "rng": 4, "keep": "nodes", "scheduler": "easy"}
    expected = rf.simulate_batch(jobs, **settings)
    assert expected.counts["replaced"] > 5
    assert expected.counts["gone"] > 1
    monkeypatch.setattr(driver, "_BUDGET", 50)
    saving = Saving(path=tmp_path / "state.npz", time_limit="1ms")
    run, times = rf.simulate_batch(jobs, saving=saving, **settings), 0
    while not run.complete:
        run, times = rf.batch.resume_batch(saving.path, saving), times + 1
    assert times >= 1
    pd.testing.assert_frame_equal(run.jobs, expected.jobs)
    assert run.counts == expected.counts
    assert run.log.tobytes() == expected.log.tobytes()


def test_nodes_of_calibrated_failures():
    stage = RepairStage(time=3, success=[1, 0], fixed=True)
    known = rf.fleet.calibration.Parameters(mtbf={"node": "40h", "system": "300h"}, mttr={"mean": "2h", "system": "1h"})
    failures = CalibratedFailures(parameters=known, repair=StagedRepairs(stages=[stage]))
    run = rf.simulate_batch(one_job_for(10), failures=failures, until="3000h", rng=1, keep="attempts")
    own = run.repairs[run.repairs["outcome"] != "repaired"]
    assert own["outcome"].value_counts()["gone"] == run.counts["gone"] >= 9


FILE = """
[workload]
file = "jobs.csv"
[cluster]
nodes = 4
[[failures]]
kind = "nodes"
mtbf = "40s"
[failures.repair]
replacement = "1min"
stages = [
    { name = "automatic", time = "5s", success = [0.5, 0.2] },
    { name = "manual", time = ["10s", "20s"], success = 0.5, fixed = true },
]
"""


def test_the_file_and_the_command(tmp_path, capsys):
    lines = "".join(f"{i},{10 * i},2,30,30\n" for i in range(60))
    (tmp_path / "jobs.csv").write_text("job_id,submission_time,nodes,walltime,run_time\n" + lines)
    place = tmp_path / "cluster.toml"
    place.write_text(FILE)
    assert main(["simulate", "batch", str(place), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["replaced"] > 3
    source = rf.batch.read_batch_config(place).settings()["failures"][0]
    assert source.repair.stages[1].time == pytest.approx((10 / HOUR, 20 / HOUR))
    place.write_text(FILE.replace("[0.5, 0.2]", "[0.5, 1.2]"))
    assert main(["simulate", "batch", str(place)]) == 2
    said = capsys.readouterr().err
    assert "failures[0].repair" in said
    assert "success" in said
    place.write_text(FILE.replace("success = 0.5", "sucess = 0.5"))
    assert main(["simulate", "batch", str(place)]) == 2
    assert "did you mean success" in capsys.readouterr().err


def test_stages_that_do_not_go_with_the_source(tmp_path, capsys):
    with pytest.raises(ArgumentError, match="fixed is given together with repairs in stages"):
        NodeFailures(life="1h", repair=StagedRepairs(stages=[{"time": 1}]), fixed=True)
    place = tmp_path / "cluster.toml"
    place.write_text(FILE.replace('kind = "nodes"\nmtbf = "40s"', 'kind = "replay"\nfile = "failures.csv"'))
    assert main(["simulate", "batch", str(place)]) == 2
    assert "have their own times to repair" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([], "stages"),
        ([{"time": "2x"}], "time"),
        ([{"time": -1}], "time"),
        ([{"time": []}], "time"),
        ([{"time": 1, "success": -0.1}], "success"),
        ([{"time": 1, "success": "often"}], "success"),
    ],
)
def test_what_cannot_be(stages, said):
    with pytest.raises(ArgumentError, match=said):
        StagedRepairs(stages=stages)
