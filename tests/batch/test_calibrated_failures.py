"""Failures of calibrated parameters: what a log's owner would count comes out of the simulated machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relfit as rf
from relfit.fleet.calibration import Parameters
from relfit.fleet.calibration.files import write_parameters
from relfit.io.workloads import Workload
from relfit.simulation.batch import CalibratedFailures, NodeClass, Saving, read_batch_config, simulate_batch
from relfit.simulation.batch.failure_processes import FailureStream

HOUR = 3600.0
KNOWN = Parameters(
    mtbf={"node": "2000h", "rack": "1000h", "group": "700h", "system": "300h"},
    mttr={"mean": "2h", "rack": "5h", "system": "3h"},
    failure={"family": "weibull", "parameters": {"shape": 0.7, "scale": 1580.0}, "spread": 0.5},
    fleet={"nodes": 256, "racks": 16, "rack_share": 0.25, "group_share": 0.02},
)

LIVES = [
    ("exponential", {"rate": 1 / 1138}),
    ("weibull", {"shape": 0.7, "scale": 2000.0}),
    ("lognormal", {"meanlog": 7.0, "sdlog": 1.0}),
]


def rows(known: Parameters, n_nodes: int, hours: float, seed: int) -> np.ndarray:
    stream = FailureStream([CalibratedFailures(parameters=known)], n_nodes, seed)
    found = [stream.take()]
    while stream.until < hours * HOUR:
        found.append(stream.take())
    every = np.concatenate(found)
    return every[every["time"] <= hours * HOUR]


def test_every_scope_fails_as_often_as_the_log_counted() -> None:
    hours, runs = 20_000.0, [rows(KNOWN, 256, 20_000.0, seed) for seed in range(3)]
    sizes = [np.unique(np.unique(run["time"], return_counts=True)[1], return_counts=True) for run in runs]
    counted = {
        size: np.mean([dict(zip(*found, strict=True)).get(size, 0) for found in sizes]) for size in (1, 4, 5, 256)
    }
    assert counted[256] == pytest.approx(hours / 303, rel=0.2)  # and three hours of repair
    assert counted[4] == pytest.approx(16 * hours / 1005, rel=0.15)  # a quarter of a rack of 16
    assert counted[5] == pytest.approx(hours / 702, rel=0.5)  # a fiftieth of the fleet
    assert counted[1] == pytest.approx(256 * hours / 2002, rel=0.1)
    own = [
        np.bincount(run["node"][~np.isin(run["time"], np.unique(run["time"])[counts > 1])], minlength=256)
        for run in runs
        for counts in [np.unique(run["time"], return_counts=True)[1]]
    ]
    assert np.mean([counts.var() / counts.mean() for counts in own]) > 2.0  # nodes differ


def test_a_node_of_a_rack_is_down_for_its_own_repair() -> None:
    known = Parameters(
        mtbf={"node": "1e9h", "rack": "100h"},
        mttr={"mean": "2h", "rack": "9h", "rack_node": "4h"},
        fleet={"nodes": 64, "racks": 4, "rack_share": 0.25},
    )
    assert np.mean(rows(known, 64, 40_000.0, 3)["repair"]) / HOUR == pytest.approx(4.0, rel=0.1)


def test_a_group_is_of_all_nodes_whatever_the_racks() -> None:
    known = Parameters(mtbf={"node": "1e9h", "group": "100h"}, mttr="1h", fleet={"nodes": 64, "group_share": 0.25})
    stream = FailureStream([CalibratedFailures(parameters=known, nodes_per_rack=8)], 64, 1)
    assert set(np.unique(stream.take()["time"], return_counts=True)[1]) == {16}


def test_repairs_have_the_shape_of_the_fit_and_the_calibrated_mean() -> None:
    fitted = {"family": "lognormal", "parameters": {"meanlog": 1.0, "sdlog": 0.5}}  # 3.1 hours on average
    known = Parameters(mtbf="500h", mttr={"mean": "7h", "node": "8h"}, repair=fitted)
    hours = rows(known, 64, 40_000.0, 3)["repair"] / HOUR
    assert hours.mean() == pytest.approx(8.0, rel=0.03)
    assert np.log(hours).std() == pytest.approx(0.5, rel=0.03)


def test_nodes_that_are_alike_fail_at_their_rate_to_a_percent() -> None:
    """Renewals in steady state: one failure per mean life and mean repair, from the first hour on."""
    life = {"family": "weibull", "parameters": {"shape": 0.7, "scale": 1580.0}}  # 2 000 hours on average
    known = Parameters(mtbf={"node": "2000h"}, mttr={"mean": "2h"}, failure=life)
    long, short = rows(known, 1000, 150_000.0, 4), rows(known, 30_000, 500.0, 5)
    assert long.size == pytest.approx(1000 * 150_000 / 2002, rel=0.015)
    assert short.size == pytest.approx(30_000 * 500 / 2002, rel=0.05)


@pytest.mark.parametrize("spread", [None, 0.5])
@pytest.mark.parametrize(("family", "parameters"), LIVES)
def test_the_mean_is_that_of_now_and_the_fit_gives_the_shape(
    family: str, parameters: dict[str, float], spread: float | None
) -> None:
    fitted = {"family": family, "parameters": parameters, "spread": spread}
    known = Parameters(mtbf={"node": "800h"}, mttr={"mean": "20h"}, failure=fitted)
    counts = [rows(known, 500, 20_000.0, seed).size for seed in range(4)]
    spare = 0.01 + (0.0 if spread is None else 0.03)
    assert np.mean(counts) == pytest.approx(500 * 20_000 / 820, rel=spare)


@pytest.mark.slow
@pytest.mark.long
def test_the_machine_of_a_log_is_interrupted_as_often_as_the_log(tmp_path: Path) -> None:
    """Instants at which something fails, in the sample by hand and in the machine that its parameters make."""
    log = rf.datasets.load("white").between("2003-01-01", "2004-10-01")
    write_parameters(rf.calibrate(log, period="all", at="long run"), tmp_path / "params.toml")
    (tmp_path / "jobs.csv").write_text("job_id,submit,nodes,run_time\n1,0,512,36000000\n")
    (tmp_path / "cluster.toml").write_text(
        '[workload]\nfile = "jobs.csv"\n[[failures]]\nkind = "calibrated"\nfile = "params.toml"\n'
    )
    source = read_batch_config(tmp_path / "cluster.toml").settings()["failures"][0]
    found, hours = rows(source.parameters, 512, 10_000.0, 2), 10_000.0
    starts = log.events["start"].astype("int64").to_numpy()
    assert np.unique(found["time"]).size / hours == pytest.approx(np.unique(starts).size / log.window.hours, rel=0.1)
    per_node = len(log.events[log.events["node"].notna()])
    whole = 512 * int(log.events["node"].isna().sum())
    assert found.size / hours == pytest.approx((per_node + whole) / log.window.hours, rel=0.15)
    run = simulate_batch(read_batch_config(tmp_path / "cluster.toml").read_jobs(), 512, failures=source, until="5000h")
    assert run.counts["failures"] / 5000 == pytest.approx((per_node + whole) / log.window.hours, rel=0.2)
    assert 0 < run.counts["kills"] < run.counts["failures"]


def test_a_run_with_calibrated_failures_goes_on_as_it_was(tmp_path: Path) -> None:
    """Nodes that differ, drawn when the run began, are the same nodes when it goes on; in classes, too."""
    n = 400
    jobs = Workload(range(n), np.arange(n) * 3e4, np.full(n, 20), np.full(n, 5e4), node_class=["a", "b"] * (n // 2))
    source = CalibratedFailures(parameters=KNOWN, nodes_per_rack=16)
    path = tmp_path / "state.npz"
    saving = Saving(path=path, every_simulated="500h", keep=1)
    for nodes in (256, [NodeClass(name="a", nodes=150), NodeClass(name="b", nodes=106)]):
        given = {"failures": source, "rng": 5, "keep": "nodes"}
        whole = simulate_batch(jobs, nodes, **given)
        simulate_batch(jobs, nodes, saving=saving, **given)
        (file,) = tmp_path.glob("state-*.npz")
        again = rf.batch.resume_batch(file)
        assert whole.counts["kills"] > 10
        assert again.log.tobytes() == whole.log.tobytes()
        assert again.jobs.equals(whole.jobs)
        file.unlink()


def test_without_a_time_between_failures_it_says_so() -> None:
    jobs = Workload([1], [0], [1], [10])
    with pytest.raises(rf.RelfitError, match="no mean time between failures"):
        simulate_batch(jobs, 4, failures=CalibratedFailures(parameters=Parameters(mttr="2h")))
