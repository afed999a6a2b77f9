"""Jobs that failures never let end: said before the run where the rate is known, and while it runs where it is not."""

from __future__ import annotations

import math

import pytest

import relfit as rf
from relfit.base.errors import DataError
from relfit.cli.app import main
from relfit.fitting.families import Exponential, Weibull
from relfit.io.workloads import Workload
from relfit.simulation.batch import NodeClass, NodeFailures, Saving, SystemFailures, simulate_batches
from relfit.simulation.batch import batch_driver as driver
from relfit.system.jobs import Checkpoint

HOURS = 3600.0


def jobs_of(*sizes, walltime=None, **columns):
    """A job per pair of nodes and hours, all at once on 64 nodes."""
    nodes, hours = zip(*sizes, strict=True)
    seconds = [HOURS * each for each in hours]
    limits = seconds if walltime is None else [walltime] * len(sizes)
    return Workload(list(range(1, len(sizes) + 1)), [0] * len(sizes), nodes, seconds, limits, 64, **columns)


def never(*_):
    pytest.fail("it ran")


@pytest.mark.parametrize("failures", [NodeFailures(life="100h"), SystemFailures(mtbf=100.0 / 64.0)])
def test_what_cannot_end_is_said_before_it_runs(monkeypatch, failures):
    """32 nodes for 214 h, a node fails every 100 h: e^68.48 = 10^29.7 attempts."""
    assert round(32 * 214 / 100 / math.log(10)) == 30
    monkeypatch.setattr(driver, "advance", never)
    text = r"^1 job would hardly ever end: job 2 has 32 nodes for 214 h .* every 3.1[23] h, .* about 10\^30 attempts; "
    with pytest.raises(DataError, match=text):
        rf.simulate_batch(jobs_of((1, 10), (32, 214)), failures=failures)
    classes = jobs_of((1, 10), (32, 214), node_class=["cpu", "gpu"])
    with pytest.raises(DataError, match=r"job 2 has 32 nodes"):
        rf.simulate_batch(classes, [NodeClass(name="cpu", nodes=8), NodeClass(name="gpu", nodes=56)], failures=failures)
    with pytest.raises(DataError, match=r"hardly ever end"):
        simulate_batches(jobs_of((1, 10), (32, 214)), n_runs=2, failures=failures)


@pytest.mark.parametrize(
    ("sizes", "settings"),
    [
        ([(32, 214)], {"failures": NodeFailures(life="100h"), "checkpoint": Checkpoint("10h", "5min", "5min")}),
        ([(32, 214)], {"failures": NodeFailures(life="100h"), "until": "500h"}),
        ([(32, 30)], {"failures": NodeFailures(life="100h")}),  # e^9.6
        ([(1, 214)], {"failures": NodeFailures(life=Exponential([1 / 50.0] * 63 + [1 / 400.0]))}),
        ([(80, 214)], {"failures": NodeFailures(life="100h")}),  # wider than the machine: refused, not tried
    ],
)
def test_what_can_end_is_run(sizes, settings):
    assert rf.simulate_batch(jobs_of(*sizes), **settings).complete


def test_a_job_that_its_walltime_ends_is_run():
    run = rf.simulate_batch(jobs_of((32, 214), walltime=10.0 * HOURS), failures=NodeFailures(life="100h"))
    assert run.summary["killed_at_walltime"] == 1


def test_what_shows_only_while_it_runs_is_bounded(monkeypatch, tmp_path):
    """Times to failure that depend on age: how many attempts there will be is not reckoned before."""
    monkeypatch.setattr(driver, "_MOST_KILLS", 2_000)
    failures = NodeFailures(life=Weibull(0.9, 95.0))
    with pytest.raises(DataError, match=r"killed jobs 2,000 times in a row, and none of 1 ended or saved"):
        rf.simulate_batch(jobs_of((1, 10), (32, 214)), failures=failures)
    saving = Checkpoint("3h", "5min", "5min")
    many = jobs_of(*[(32, 2140)] * 20)
    run = rf.simulate_batch(many, failures=failures, checkpoint=saving, saving=Saving(path=tmp_path / "s.npz"))
    assert run.counts["kills"] > 6_000
    assert run.complete


def test_a_run_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(driver, "_PATIENCE", 0.0)
    monkeypatch.setattr(driver, "_BUDGET", 50)
    told = []
    jobs = jobs_of(*[(4, 10)] * 200)
    rf.simulate_batch(jobs, failures=SystemFailures(mtbf="5h"), progress=lambda *word: told.append(word))
    shares = [share for _, share in told]
    assert len(told) > 3
    assert shares == sorted(shares)
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert told[-1][0].startswith(f"simulating: {round(200 * shares[-1])} of 200 jobs ended, ")
    told.clear()
    simulate_batches(jobs, n_runs=3, progress=lambda *word: told.append(word))
    assert sorted(told)[-1] == ("simulating: 3 of 3 runs", 1.0)


def test_the_command_says_it_in_one_line(tmp_path, capsys):
    (tmp_path / "jobs.csv").write_text("job_id,submission_time,nodes,run_time\nbig,0,32,770400\n")
    place = tmp_path / "c.toml"
    place.write_text(
        '[workload]\nfile = "jobs.csv"\n[cluster]\nnodes = 64\n[[failures]]\nkind = "nodes"\nmtbf = "100h"\n'
    )
    for more in ([], ["--runs", "3"], ["--resume", str(tmp_path / "state.npz")]):
        assert main(["simulate", "batch", str(place), *more]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert "job big has 32 nodes for 214 h" in error
        assert "let jobs save (checkpoint)" in error
