"""Stopping and going on, allocation, checkpoints of jobs, limits with known answers, bad input."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relfit as rf
from relfit.base.errors import ArgumentError, DataError, ReadError
from relfit.fitting.families import Weibull
from relfit.io.workloads import Workload
from relfit.simulation.batch import (
    Allocation,
    BatchCluster,
    CheckpointShares,
    EstimatedReliability,
    GroupFailures,
    NodeFailures,
    ReplayedFailures,
    Saving,
    Scheduler,
    SystemFailures,
    simulate_batches,
)
from relfit.simulation.batch import batch_driver as driver
from relfit.system.jobs import Amdahl, Checkpoint, Gustafson
from tests.batch.random_cases import random_failures, random_workload
from tests.examples import examples


def poisson_jobs(rng, n, rate, mean, n_nodes=1, nodes=1):
    run_time = rng.exponential(mean, n)
    return Workload(np.arange(n), rng.exponential(1 / rate, n).cumsum(), np.full(n, nodes), run_time, run_time, n_nodes)


# -------------------------------------------------------------- known answers


def test_waits_of_an_m_m_c_queue():
    """Erlang's C formula: 4 servers at load 0.8."""
    c, load = 4, 0.8
    offered = c * load
    last = offered**c / math.factorial(c) / (1 - load)
    wait = last / (sum(offered**k / math.factorial(k) for k in range(c)) + last) / (c * (1 - load))
    for scheduler in ("fcfs", "easy"):
        run = rf.simulate_batch(poisson_jobs(np.random.default_rng(3), 100_000, offered, 1.0, c), scheduler=scheduler)
        assert run.jobs["waited"].iloc[2000:].mean() == pytest.approx(wait, rel=0.06)
        assert run.summary["utilisation"] == pytest.approx(load, rel=0.02)


def test_failures_of_nodes_are_as_many_as_a_poisson_process_has():
    jobs = Workload([1], [0.0], [1], [3600.0 * 50_000], [np.inf], 200)
    failures = NodeFailures(life="1000h", repair="10h")
    run = rf.simulate_batch(jobs, failures=failures, until="20000h", rng=5, scheduler="fcfs", keep="attempts")
    expected = 200 * 20_000 / 1010
    assert abs(run.counts["failures"] - expected) < 4 * np.sqrt(expected)
    down = (np.minimum(run.outages["back"], run.now) - run.outages["time"]).sum() / 3600
    assert down == pytest.approx(expected * 10, rel=0.1)
    struck = np.bincount(run.outages["node"], minlength=200)
    assert 0.7 < struck.var() / struck.mean() < 1.4


def test_completion_of_one_job_with_restarts_from_zero():
    """Expected time ``(exp(T / M) - 1) M`` for a job on all nodes, repairs of no length."""
    times = []
    for seed in range(100):
        jobs = Workload([1], [0.0], [4], [3600.0], [np.inf], 4)
        times.append(rf.simulate_batch(jobs, failures=SystemFailures(mtbf="1h"), rng=seed).jobs["finish_time"][0])
    expected = 3600 * (np.e - 1)
    assert np.mean(times) == pytest.approx(expected, abs=4 * np.std(times) / np.sqrt(100))


def test_a_group_fails_as_a_whole():
    jobs = Workload([1, 2], [0.0, 0.0], [2, 2], [1e6, 1e6], [1e7, 1e7], 4)
    run = rf.simulate_batch(
        jobs, failures=GroupFailures(life="100h", groups=2, repair="1h"), rng=2, until="500h", keep="attempts"
    )
    assert run.outages.groupby("time")["node"].agg(tuple).isin([(0, 1), (2, 3)]).all()
    whole = rf.simulate_batch(jobs, failures=ReplayedFailures([5.0], [-1], [10.0]), keep="attempts")
    assert whole.jobs["starting_time"].tolist() == [15.0, 15.0]
    assert whole.counts["kills"] == 2


def test_checkpoints_that_cost_shares_of_the_run_time():
    """By hand: 990 and 100 s of work save in 30 and 3 s, restore in 20 and 2; M is the MTBF of the nodes of the job."""
    jobs = Workload([1, 2], [0.0, 5000.0], [2, 1], [990.0, 100.0], [1e6, 1e6], 8)
    shares = CheckpointShares(save=0.03, restore=0.02)
    every = np.sqrt(2 * 30.0 * 8 * 3600.0 / 2) - 30.0  # 899.5: one save
    run = rf.simulate_batch(jobs, BatchCluster(mtbf="1h"), checkpoint=shares)
    assert run.jobs["finish_time"].tolist() == [1020.0, 5100.0]
    at = every + 30.0 + 10.0  # ten seconds after the save; 990 - every of the work is left
    failures = ReplayedFailures([at], [0], [20.0])
    run = rf.simulate_batch(jobs, BatchCluster(mtbf="1h"), checkpoint=shares, failures=failures)
    assert run.jobs["finish_time"][0] == pytest.approx(at + 20.0 + 990.0 - every)


def test_a_file_says_shares_and_the_best_interval(tmp_path):
    text = '[checkpoint]\nevery = "optimal"\nsave = "3%"\nrestore = "2%"\n[workload]\nwalltime = "101%"\njobs = 1\n'
    (tmp_path / "c.toml").write_text(text)
    (tmp_path / "jobs.csv").write_text("job_id,submit,nodes,run_time,requested\n1,0,1,200,900\n2,5,1,100,900\n")
    config = rf.batch.read_batch_config(tmp_path / "c.toml")
    assert config.settings()["checkpoint"] == CheckpointShares(save=0.03, restore=0.02)
    jobs = config.read_jobs(tmp_path / "jobs.csv")
    assert jobs.requested.tolist() == [202.0]
    for wrong in ('save = "x%"', 'save = "3%"\nrestore = "5min"', 'save = "3%"\nevery = "best"'):
        (tmp_path / "c.toml").write_text(f"[checkpoint]\n{wrong}\n")
        with pytest.raises(rf.ReadError, match="checkpoint"):
            rf.batch.read_batch_config(tmp_path / "c.toml")


def test_a_job_goes_on_from_its_last_complete_checkpoint():
    """100 s of work, saved every 30 s in 5 s: killed at 80 s it has 60 s; read in 7 s, 40 s and one save remain."""
    jobs = Workload([1], [0.0], [1], [100.0], [500.0], 1)
    checkpoint = Checkpoint("30s", "5s", "7s")
    assert rf.simulate_batch(jobs, checkpoint=checkpoint).jobs["finish_time"][0] == 115.0
    run = rf.simulate_batch(jobs, checkpoint=checkpoint, failures=ReplayedFailures([80.0], [0], [20.0]))
    assert run.jobs["finish_time"][0] == 100.0 + 7.0 + 40.0 + 5.0
    assert run.jobs["waste"][0] == 80.0 - 70.0
    assert run.jobs["overhead"][0] == 10.0 + 7.0 + 5.0
    best = rf.simulate_batch(
        Workload([1], [0.0], [2], [1e5], [1e6], 8), BatchCluster(mtbf="10h"), checkpoint=Checkpoint(None, "72s", "0s")
    )
    every = np.sqrt(2 * 72 * 36_000 * 8 / 2) - 72
    assert best.jobs["finish_time"][0] == 1e5 + 72 * np.floor(1e5 / every)


def test_measures_by_their_names():
    """Job 1, of 2 nodes and 100 s, is killed at 40 s and runs again from 50 s; job 2, of 1 node and 300 s, is not."""
    jobs = Workload([1, 2], [0.0, 0.0], [2, 1], [100.0, 300.0], [400.0, 400.0], 3)
    run = rf.simulate_batch(jobs, failures=ReplayedFailures([40.0], [0], [10.0]))
    table = run.by_class("width")
    assert run.jobs["starting_time"].tolist() == [50.0, 0.0]
    for width, total, share, act, mct in (
        ("[2,4)", 40.0, 40.0, 150.0, 150.0 / (100 / 2)),
        ("[1,2)", 0.0, 0.0, 300.0, 1.0),
        ("all", 40.0, 20.0, (150.0 + 300.0) / 2, 450.0 / (50.0 + 300.0)),
    ):
        row, n = table.loc[width], table.loc[width, "jobs"]
        assert row[["total_waste", "%MWT", "ACT", "AWT"]].tolist() == pytest.approx([total, share, act, total / n])
        assert row["MCT"] == pytest.approx(mct)
        assert row["MWT"] == pytest.approx(total / {"[2,4)": 50.0, "[1,2)": 300.0, "all": 350.0}[width])
    assert run.summary["waste_node_hours"] == pytest.approx(80.0 / 3600.0)
    calm = rf.simulate_batch(jobs)
    assert calm.relative_difference(run, "ACT") == pytest.approx(100.0 * (225.0 - 200.0) / 200.0)
    assert calm.relative_difference(run, "MWT") == np.inf


# ----------------------------------------------------------------- invariants


@examples(25)
@given(
    seed=st.integers(0, 2**32 - 1),
    scheduler=st.sampled_from(["fcfs", "easy", "conservative"]),
    policy=st.sampled_from(["first_fit", "round_robin", "ras", "ljras", "ra", "rack"]),
    requeue=st.sampled_from(["submit", "head", "tail"]),
)
@pytest.mark.slow
@pytest.mark.long
def test_node_time_adds_up(seed, scheduler, policy, requeue):
    rng = np.random.default_rng(seed)
    workload = random_workload(rng)
    policy = "first_fit" if scheduler == "conservative" else policy
    run = rf.simulate_batch(
        workload,
        BatchCluster(nodes_per_rack=3),
        Scheduler(name=scheduler, requeue=requeue),
        failures=random_failures(rng, workload.n_nodes),
        allocation=Allocation(policy=policy, reliability=Weibull(0.7, 1000.0)),
        keep="nodes",
    )
    attempts, outages = run.attempts, run.outages
    used = [
        (node, start, end)
        for start, end, spans in zip(attempts["start"], attempts["end"], attempts["spans"], strict=True)
        for first, size in spans
        for node in range(first, first + size)
    ]
    down = list(zip(outages["node"], outages["time"], outages["back"], strict=True))
    for node in range(workload.n_nodes):
        busy = sorted((start, end) for n, start, end in used + down if n == node and end > start)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(busy))  # one job at a time, and none while it is down
    sizes = attempts["spans"].map(lambda spans: sum(size for _, size in spans))
    assert sizes.tolist() == workload.nodes[attempts["job"]].tolist()
    held = ((attempts["end"] - attempts["start"]) * sizes).sum()
    assert run.summary["utilisation"] * run.n_nodes * run.summary["makespan"] == pytest.approx(held)
    done = run.jobs[run.jobs["success"]]
    ran = done["finish_time"] - done["starting_time"] + done["killed_run_time"]
    assert np.allclose(ran, done["run_time"] + done["waste"])
    assert np.allclose(done["finish_time"] - done["submission_time"], done["waited"] + ran)
    assert run.states["busy"].iloc[-1] == 0 if len(run.states) and run.summary["unfinished"] == 0 else True
    assert (run.states[["waiting", "busy", "down"]] >= 0).all(axis=None)


# ----------------------------------------------------------------- allocation


def test_policies_take_the_nodes_that_they_should():
    jobs = Workload([1, 2], [0.0, 1.0], [2, 1], [10.0, 90_000.0], [10.0, 90_000.0], 6)
    nodes = Weibull(np.ones(6), np.array([10.0, 20.0, 90.0, 30.0, 80.0, 70.0]))

    def taken(policy, workload=jobs, racks=None):
        allocation = Allocation(policy=policy, reliability=nodes)
        run = rf.simulate_batch(workload, BatchCluster(racks=racks), allocation=allocation, keep="nodes")
        return run.attempts["spans"].tolist()

    assert taken("first_fit") == [((0, 2),), ((2, 1),)]
    assert taken("round_robin") == [((0, 2),), ((2, 1),)]
    assert taken("ras") == [((4, 2),), ((2, 1),)]  # 1/80 + 1/70 is the least of adjacent pairs
    assert taken("ljras") == [((0, 2),), ((2, 1),)]  # short: the least reliable pair; longer than a day: the best node
    assert taken("ra") == [((2, 1), (4, 1)), ((5, 1),)]
    assert taken("rack", racks=[0, 1, 1, 0, 0, 1]) == [((0, 1), (3, 1)), ((4, 1),)]
    again = Workload([1, 2, 3], [0.0, 20.0, 40.0], [4, 4, 1], [10.0] * 3, [10.0] * 3, 6)
    assert taken("round_robin", again) == [((0, 4),), ((4, 2), (0, 2)), ((2, 1),)]


@pytest.mark.slow
def test_ra_opt_takes_as_many_nodes_as_best_size_says():
    scales = 35_000.0 / 1.4 ** np.arange(20)
    work = 3600.0 * 1000.0
    jobs = Workload([1], [0.0], [3], [work], [np.inf], 20)
    for law in (Amdahl(0.895), Gustafson(0.3)):
        policy = Allocation(policy="ra_opt", speedup=law, reliability=Weibull(np.ones(20), scales))
        run = rf.simulate_batch(jobs, scheduler="fcfs", allocation=policy)
        best = rf.jobs.ra_opt(rf.System(Weibull(np.ones(20), scales)), rf.jobs.Job("1000h", law)).best
        assert run.jobs["nodes"][0] == best
        assert run.jobs["finish_time"][0] == pytest.approx(work / float(law.speedup(best)))
    everything = rf.simulate_batch(
        jobs,
        scheduler="fcfs",
        allocation=Allocation(policy="all", amdahl=0.895),
        failures=ReplayedFailures([1.0], [2], [60.0]),
    )
    assert everything.jobs[["nodes", "starting_time"]].iloc[0].tolist() == [20, 61.0]


def test_parameters_are_estimated_from_the_failures_so_far():
    rng = np.random.default_rng(0)
    rows = [(t, 0) for t in np.arange(1.0, 100.0) * 36_000] + [(t, 1) for t in (1e6, 2e6)]
    history = ReplayedFailures(*np.array(sorted(rows)).T[:2], np.zeros(len(rows)))
    history = ReplayedFailures(history.time, history.node.astype(int), history.repair)
    estimate = EstimatedReliability(family="exponential", history=history, since=0.0)
    shape, scale = estimate.parameters(3, np.zeros(0, dtype=rf.batch.engine_state.LINE), 3.6e6, 3.6e6)
    assert shape.tolist() == [1.0, 1.0, 1.0]
    assert scale.tolist() == pytest.approx([3.6e6 / 99, 1.8e6, np.inf])
    jobs = poisson_jobs(rng, 500, 1 / 400, 3000.0, 30, 3)
    run = rf.simulate_batch(
        jobs,
        failures=NodeFailures(life=Weibull(0.7, 60.0), repair="1h"),
        allocation=Allocation(policy="ras", estimate="weibull", every="10h"),
    )
    assert run.summary["done"] == 500
    assert run.counts["kills"] > 0


# ------------------------------------------------------------- stop and go on


def busy_case():
    jobs = poisson_jobs(np.random.default_rng(1), 3000, 1 / 60, 2000.0, 64, 2)
    return jobs, {
        "failures": [NodeFailures(life=Weibull(0.7, 200.0), repair="5h"), GroupFailures(life="300h", groups=16)],
        "allocation": Allocation(policy="ras", reliability=EstimatedReliability(every="3h")),
        "rng": 4,
        "keep": "nodes",
    }


def same(a, b):
    pd.testing.assert_frame_equal(a.jobs, b.jobs)
    assert a.log.tobytes() == b.log.tobytes()
    assert a.counts == b.counts


@pytest.mark.slow
def test_a_run_that_was_stopped_again_and_again_is_the_same(tmp_path, monkeypatch):
    jobs, given = busy_case()
    whole = rf.simulate_batch(jobs, **given)
    path = tmp_path / "state.npz"
    monkeypatch.setattr(driver, "_BUDGET", 500)
    saving = Saving(path=path, time_limit="1ms")
    part, times = rf.simulate_batch(jobs, saving=saving, **given), 0
    assert not part.complete
    assert "Stopped" in part.findings[-1]
    while not part.complete:
        part, times = rf.batch.resume_batch(path, saving), times + 1
    assert times > 3
    same(whole, part)


def test_files_at_intervals_of_simulated_time(tmp_path):
    jobs, given = busy_case()
    path = tmp_path / "state.npz"
    whole = rf.simulate_batch(jobs, saving=Saving(path=path, every_simulated="10h", keep=2), **given)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    same(whole, rf.batch.resume_batch(files[0]))


@pytest.mark.parametrize(
    ("options", "saving"),
    [
        ({"keep": "nodes"}, {}),  # each link needs a larger log first
        ({"scheduler": "fcfs"}, {"every_simulated": "30min"}),  # shorter than between two events
    ],
)
def test_every_link_of_a_chain_goes_on_however_short_its_limit(tmp_path, options, saving):
    jobs = Workload(range(8), [7200 * i for i in range(8)], [1 + i % 5 for i in range(8)], [3600] * 8, n_nodes=8)
    settings = Saving(path=tmp_path / "state.npz", time_limit="1us", **saving)
    given = {"failures": NodeFailures(life="20h", repair="10min"), "rng": 1, **options}
    run, links = rf.simulate_batch(jobs, saving=settings, **given), 1
    while not run.complete:
        assert links < 40
        run, links = rf.batch.resume_batch(settings.path, settings), links + 1
    assert links > 1
    same(rf.simulate_batch(jobs, **given), run)


def test_files_at_intervals_of_real_time_take_a_small_share_of_it(tmp_path, monkeypatch):
    jobs, given = busy_case()
    clock, written = [0.0], []
    monkeypatch.setattr(driver, "_BUDGET", 10)
    monkeypatch.setattr(driver.time, "perf_counter", lambda: clock.__setitem__(0, clock[0] + 0.01) or clock[0])
    monkeypatch.setattr(
        "relfit.simulation.batch._simulate_batch.write_simulation",
        lambda *_: (written.append(clock[0]), clock.__setitem__(0, clock[0] + 0.5)),
    )
    rf.simulate_batch(jobs, saving=Saving(path=tmp_path / "state.npz", every="10ms"), **given)
    assert len(written) >= 1
    assert all(later - earlier > 0.5 / 0.02 for earlier, later in itertools.pairwise(written))
    assert 0.5 * len(written) <= 0.02 * clock[0] + 0.5


def test_what_cannot_be_written_is_an_error_before_the_run(tmp_path, monkeypatch):
    jobs, _ = busy_case()
    life = rf.families.CompetingRisks((Weibull(0.7, 200.0), Weibull(2.0, 900.0)))
    monkeypatch.setattr(driver, "advance", lambda *_: pytest.fail("it ran"))
    with pytest.raises(ArgumentError, match="cannot be written to a file"):
        rf.simulate_batch(jobs, failures=NodeFailures(life=life), saving=Saving(path=tmp_path / "state.npz"))


def test_a_file_of_another_version_is_an_error(tmp_path, monkeypatch):
    jobs, given = busy_case()
    path = tmp_path / "state.npz"
    monkeypatch.setattr("relfit.simulation.batch.simulation_files.VERSION", 0)
    rf.simulate_batch(jobs, saving=Saving(path=path, time_limit="1us"), **given)
    monkeypatch.undo()
    with pytest.raises(ReadError, match="version 0 of the format"):
        rf.batch.resume_batch(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ReadError, match="damaged"):
        rf.batch.resume_batch(path)
    with pytest.raises(ReadError, match="cannot be read"):
        rf.batch.resume_batch(tmp_path / "none.npz")


def described_anew(path, change):
    """The file with another description, its check sums in order."""
    with np.load(path) as file:
        tables = {name: file[name] for name in file.files}
    document = json.loads(tables.pop("description").tobytes())
    change(document)
    np.savez(path, description=np.frombuffer(json.dumps(document).encode(), dtype=np.uint8), **tables)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(parts=3),
        lambda document: document["parts"].append({}),
        lambda document: document["parts"][0].pop("stream"),
        lambda document: document["parts"][0]["setup"].update(failures=[{"class": "Nothing", "fields": {}}]),
        lambda document: document["parts"][0]["setup"].update(
            failures=[{"class": "SystemFailures", "fields": {"mtbf": -1.0}}]
        ),
        lambda document: document["parts"][0]["setup"].update(failures=[{"class": "SystemFailures", "fields": []}]),
        lambda document: document["parts"][0]["setup"].update(scheduler="fcfs"),
        lambda document: document["parts"][0]["stream"].update(parts=[{}]),
        lambda document: document.pop("saved"),
    ],
)
def test_a_damaged_description_is_an_error(tmp_path, change):
    jobs, given = busy_case()
    path = tmp_path / "state.npz"
    rf.simulate_batch(jobs, saving=Saving(path=path, time_limit="1us"), **given)
    described_anew(path, change)
    with pytest.raises(ReadError, match="damaged"):
        rf.batch.resume_batch(path)


def test_tables_that_were_changed_are_an_error(tmp_path):
    jobs, given = busy_case()
    path = tmp_path / "state.npz"
    rf.simulate_batch(jobs, saving=Saving(path=path, time_limit="1us"), **given)
    with np.load(path) as file:
        tables = {name: file[name] for name in file.files}
    for name, table in (("0_queue", tables["0_queue"][:3]), ("0_owner", tables["0_owner"] + 10**9)):
        np.savez(path, **{**tables, name: table})
        with pytest.raises(ReadError, match="damaged"):
            rf.batch.resume_batch(path)


def test_a_small_file_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "state.npz"
    np.savez_compressed(path, description=np.zeros(1 << 26, dtype=np.uint8))
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("it is unpacked"))
    with pytest.raises(ReadError, match="damaged"):
        rf.batch.resume_batch(path)


def test_runs_do_not_depend_on_the_number_of_threads():
    jobs, _ = busy_case()
    given = {"n_runs": 4, "failures": SystemFailures(mtbf="5h", repair="2h"), "rng": 9}
    one, two = simulate_batches(jobs, workers=1, **given), simulate_batches(jobs, workers=2, **given)
    measures = ["mean_wait", "wasted", "kills"]
    assert one.runs[measures].equals(two.runs[measures])
    assert one.runs["kills"].max() > one.runs["kills"].min()


# ------------------------------------------------------------------ bad input


def test_intervals_of_means_over_runs_end_where_values_end():
    """Three runs of one job of 1 h on one node: Student's interval, cut at 0 and for shares at 1. It went below."""
    jobs = Workload([1, 2], [0, 0], [1, 1], [3600, 3600], [9e9, 9e9], 1)
    runs = rf.batch.simulate_batches(jobs, n_runs=3, failures=SystemFailures(mtbf="2h", repair="1min"), rng=1)
    half = 4.302653 * runs.runs.std(ddof=1) / math.sqrt(3)  # t with two degrees of freedom, 95 %
    low, high = runs.runs.mean() - half, runs.runs.mean() + half
    assert low[["wasted", "kills", "waste_node_hours"]].lt(0).all()
    assert high["utilisation"] > 1.0
    most = np.where(high.index.isin(["utilisation", "goodput", "wasted", "checkpoints", "backfilled"]), 1.0, np.inf)
    measures = [name for name in runs.means.index if name != "elapsed_seconds"]
    assert runs.means.loc[measures, "low"].to_numpy() == pytest.approx(low[measures].clip(lower=0.0), rel=1e-6)
    assert runs.means.loc[measures, "high"].to_numpy() == pytest.approx(np.minimum(high, most)[measures], rel=1e-6)


def test_the_table_of_a_run_is_in_seconds_and_says_so():
    run = rf.simulate_batch(Workload([1], [0], [1], [3600], [3600], 1))
    assert run.to_frame()["run_time"].tolist() == [3600.0]
    assert "seconds" in run.to_frame.__doc__


def test_bad_input_says_what_and_what_to_do():
    jobs = Workload([1, 2], [0.0, 0.0], [2, 9], [10.0, 10.0], [10.0, 10.0], 4)
    run = rf.simulate_batch(jobs)
    assert run.jobs["status"].tolist() == ["done", "too wide"]
    assert any("wider than the machine" in line for line in run.findings)
    for wrong, message in (
        ({"scheduler": "sjf"}, "it must be 'easy', 'fcfs'"),
        ({"allocation": "ra"}, "EstimatedReliability"),
        ({"allocation": "rack"}, "needs racks"),
        ({"allocation": "all"}, "speedup"),
        ({"scheduler": Scheduler(fixed_nodes=True), "allocation": "ra"}, "first_fit"),
        ({"failures": ReplayedFailures([1.0], [4], [1.0])}, "nodes 0 to 3"),
        ({"checkpoint": Checkpoint(None, "1s")}, "BatchCluster"),
        ({"cluster": 0}, "1 or more"),
        ({"failures": NodeFailures(life=Weibull(np.ones(3), np.ones(3)))}, "one, or one each"),
    ):
        with pytest.raises(ArgumentError, match=message):
            rf.simulate_batch(jobs, **wrong)
    with pytest.raises(ArgumentError, match="give cluster"):
        rf.simulate_batch(Workload([1], [0.0], [2], [1.0]))


def test_a_machine_that_fails_all_the_time_is_an_error_with_a_remedy():
    """It was a ZeroDivisionError."""
    with pytest.raises(ArgumentError, match="mtbf is 0 hours; it must be above zero"):
        rf.simulate_batch(Workload([1], [0], [1], [60], [60], 1), failures=SystemFailures(mtbf="0h", repair="1h"))


def test_jobs_that_wait_for_ever_are_an_error(monkeypatch):
    monkeypatch.setattr(driver, "_MOST_IDLE", 10_000)
    jobs = Workload([1, 2], [0.0, 36_000.0], [1, 50], [10.0, 10.0], [10.0, 10.0], 50)
    failures = NodeFailures(life="1h", repair="10h")
    with pytest.raises(DataError, match="reject_after_repairs"):
        rf.simulate_batch(jobs, failures=failures)
    assert (
        rf.simulate_batch(jobs, failures=failures, scheduler=Scheduler(reject_after_repairs=5)).summary["rejected"] == 1
    )


def test_shares_of_a_run_that_is_cut_off_are_of_the_time_until_then() -> None:
    """Two nodes for 200 s: one job holds its node for 100 s and is done, one still runs."""
    jobs = rf.workloads.Workload([1, 2], [0, 0], [1, 1], [100, 1000], [100, 1000], 2)
    run = rf.simulate_batch(jobs, until="200s")
    assert run.summary["unfinished"] == 1
    assert run.summary["utilisation"] == pytest.approx((100 + 200) / 400)
    assert run.summary["goodput"] == pytest.approx(100 / 400)


def test_work_waste_and_checkpoints_add_up_to_the_utilisation() -> None:
    jobs = rf.workloads.Workload([1], [0], [1], [100], [400], 1)
    settings = {
        "checkpoint": Checkpoint("30s", "5s", "10s"),
        "failures": ReplayedFailures([80.0], [0], [20.0]),
    }
    run = rf.simulate_batch(jobs, rf.batch.BatchCluster(nodes=1), **settings)
    # 60 s of work and 2 saves, 10 s lost, 20 s of repair; a restore of 10 s, 40 s of work and a save: 155 s
    s = run.summary
    assert s["makespan"] == 155.0
    shares = [s[name] for name in ("utilisation", "goodput", "wasted", "checkpoints")]
    np.testing.assert_allclose(155.0 * np.array(shares), [135.0, 100.0, 10.0, 25.0])
    assert run.headline.endswith("; 1 job killed by failures, 6.45 % wasted; checkpoints take 16.13 %.")
    twice = rf.simulate_batch(jobs, 1, failures=ReplayedFailures([20.0, 50.0], [0, 0], [5.0, 5.0]))
    assert "; 1 job killed 2 times by failures, " in twice.headline
    runs = simulate_batches(jobs, rf.batch.BatchCluster(nodes=1), n_runs=2, **settings)
    assert runs.headline.endswith("6.45 % of the node time is work lost to failures, 16.13 % is spent on checkpoints.")
    assert "checkpoints" not in rf.simulate_batch(jobs).headline


def test_a_job_that_never_ends_holds_no_more_than_the_machine() -> None:
    """Work of 100 h at a failure every 2 h: 4000 h pass in attempts that are lost, long after the short job."""
    jobs = rf.workloads.Workload([1, 2], [0, 0], [1, 1], [60, 360_000], [60, 360_000], 2)
    run = rf.simulate_batch(jobs, failures=rf.batch.NodeFailures(life="2h", repair="1h"), until="4000h", rng=1)
    shares = [run.summary[name] for name in ("utilisation", "wasted", "goodput")]
    assert 0.3 < shares[0] <= 0.5  # of two nodes it holds one, but while both are down
    assert shares[0] >= shares[1] + shares[2] > 0.0
