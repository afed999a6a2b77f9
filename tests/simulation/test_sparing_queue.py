"""A queue of jobs on a cluster with spares: hand counts, a queue's closed form, the single job, a plain simulation."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

from relfit.base.errors import ArgumentError
from relfit.fitting.families import Exponential
from relfit.io.workloads import Workload
from relfit.planning.sparing import Cluster, DeviceFailures, Recovery, Strategies, evaluate_sparing
from relfit.simulation import (
    DeviceTimes,
    RepairStage,
    SparingAssumptions,
    SparingJob,
    SparingQueue,
    StagedRepairs,
    simulate_sparing_queue,
)
from tests.simulation.slow_queue import Job, SlowQueue

NEVER = DeviceFailures(1e15, math.inf, 24)
TRAYS = Cluster(zones=2, racks=8, trays=1, gpus=8)
ONE_ZONE = Cluster(zones=1, racks=8, trays=1, gpus=8)


def simulate(jobs: object, failures: object = NEVER, cluster: Cluster = ONE_ZONE, **more: object) -> SparingQueue:
    given = {"recovery": Recovery("1h", "6min"), "n_resamples": 2, "rng": 1, **more}
    return simulate_sparing_queue(cluster, Strategies(1, 0, 2), failures, jobs, **given)  # type: ignore[arg-type]


def test_a_schedule_by_hand() -> None:
    """Six blocks for jobs: a has four to 10.9 h (nine saves), b waits for them, and c behind b until both start."""
    jobs = [
        SparingJob(name="a", blocks=4, work=10),
        SparingJob(name="b", blocks=4, work="5h", submit=1),
        SparingJob(name="c", blocks=2, work=3, submit="2h"),
        SparingJob(name="d", blocks=6, work=0.5, submit=30),
    ]
    found = simulate(jobs).jobs
    first = found[found["replication"] == 0]
    assert first["job"].tolist() == ["a", "b", "c", "d"]
    assert first["started"].to_numpy() == pytest.approx([0.0, 10.9, 10.9, 30.0])
    assert first["ended"].to_numpy() == pytest.approx([10.9, 10.9 + 5.4, 10.9 + 3.2, 30.5])
    assert first["waited"].to_numpy() == pytest.approx([0.0, 9.9, 8.9, 0.0])
    assert first["saves"].to_numpy() == pytest.approx([0.9, 0.4, 0.2, 0.0])


def test_jobs_stay_in_one_zone_where_one_has_room() -> None:
    """Six blocks a zone: 4 and 5 take a zone each, 3 more are over both; the next 2 wait for any of them."""
    jobs = [SparingJob(blocks=blocks, work=10 - i) for i, blocks in enumerate((4, 5, 3, 2))]
    found = simulate(jobs, cluster=TRAYS, recovery=Recovery(100)).replications
    table = simulate(jobs, cluster=TRAYS, recovery=Recovery(100)).jobs
    assert table["started"][:4].to_numpy() == pytest.approx([0.0, 0.0, 0.0, 8.0])
    assert found["makespan"].to_numpy() == pytest.approx([15.0, 15.0])
    assert found["utilisation"].to_numpy() == pytest.approx([(40 + 45 + 24 + 14) / (16 * 15)] * 2)


def test_waits_are_those_of_six_servers() -> None:
    """Single blocks at load 0.9: each job takes the first of six servers that is free."""
    rng, free, waits = np.random.default_rng(3), [0.0] * 6, []
    submit, length = rng.exponential(1 / 5.4, 3000).cumsum(), rng.exponential(1.0, 3000)
    for time, hours in zip(submit, length, strict=True):
        start = max(heapq.heappop(free), time)
        waits.append(start - time)
        heapq.heappush(free, start + hours)
    jobs = Workload(np.arange(3000), 3600 * submit, np.ones(3000, dtype=int), 3600 * length, 3600 * length, 6)
    found = simulate(jobs, recovery=Recovery(1e6)).jobs
    assert found["waited"][:3000].to_numpy() == pytest.approx(np.array(waits), abs=1e-6)
    assert np.mean(waits) > 0.3


def test_every_hour_of_a_job_is_in_one_account() -> None:
    jobs = [
        SparingJob(blocks=int(b), work=f"{w}h") for b, w in np.random.default_rng(4).integers(1, 12, (60, 2)) * [1, 7]
    ]
    failures = DeviceFailures(200, 900, 24)
    found = simulate(jobs, failures, TRAYS, recovery=Recovery("2h", "3min", "10min", "20min", disturbed=True)).jobs
    parts = found[["useful", "saves", "rework", "detection", "restart", "blocked"]].sum(axis=1)
    assert (found["ended"] - found["started"]).to_numpy() == pytest.approx(parts.to_numpy())
    assert found["useful"][:60].tolist() == [float(job.work[:-1]) for job in jobs]
    assert found["blockings"].sum() > 5
    assert found["stops"].sum() > 100


def test_one_job_on_all_blocks_does_as_the_closed_form_says() -> None:
    cluster = Cluster(zones=2, racks=16, trays=8, gpus=8, shared_racks=False)
    strategy, failures = Strategies(8, 0, 2), DeviceFailures(6000, 20_000, 24)
    recovery = Recovery(None, "10s", "60s", "6min")
    closed = evaluate_sparing(cluster, strategy, failures, recovery)
    jobs = [SparingJob(blocks=28, work=40_000)]
    found = simulate_sparing_queue(cluster, strategy, failures, jobs, recovery, n_resamples=6, rng=1, years=20).jobs
    share = (found["useful"] / (found["ended"] - found["started"])).mean()
    assert share == pytest.approx(float(closed.cett[0]) * 32 / 28, rel=0.01)
    blocked = (found["blocked"] / (found["ended"] - found["started"])).mean()
    assert blocked == pytest.approx(float(closed.job_blocked[0]), rel=0.1)


@pytest.mark.slow
def test_waits_and_losses_are_those_of_a_plain_simulation() -> None:
    """12 jobs on 2 zones of 8 trays, two of each spare; trays fail every 60 h and are repaired in 12 h."""
    rng = np.random.default_rng(5)
    rows = [
        (5.0 * i, int(b), float(w))
        for i, (b, w) in enumerate(zip(rng.integers(1, 9, 12), rng.integers(5, 30, 12), strict=True))
    ]
    jobs = [SparingJob(blocks=blocks, work=work, submit=submit) for submit, blocks, work in rows]
    n = 250
    found = simulate(
        jobs, DeviceFailures(60, math.inf, 12), TRAYS, recovery=Recovery(2, 0.1, 0.25, 0.25), n_resamples=n
    ).replications
    slow = [
        SlowQueue([Job(s, b, w) for s, b, w in rows], 2, 8, 2, 60.0, 12.0, 0.5, 2.0, 0.1, seed).run()
        for seed in range(n)
    ]
    theirs = {
        "mean_wait": [np.mean([job.started - job.submit for job in run]) for run in slow],
        "makespan": [max(job.ended for job in run) for run in slow],
        "lost": [np.mean([job.lost + job.blocked for job in run]) for run in slow],
        "blocked": [np.mean([job.blocked for job in run]) for run in slow],
        "stops": [np.mean([job.stops for job in run]) for run in slow],
    }
    assert np.mean(theirs["blocked"]) > 0.3
    for name, values in theirs.items():
        error = np.sqrt((np.var(values) + found[name].var()) / n)
        assert abs(found[name].mean() - np.mean(values)) < 4 * error, (name, found[name].mean(), np.mean(values), error)


def test_jobs_that_no_blocks_are_left_for_do_not_end() -> None:
    never = StagedRepairs(stages=[RepairStage(time=1, success=0.0)])
    found = simulate(
        [SparingJob(blocks=6, work="9000h"), SparingJob(blocks=1, work=1, submit="20000h")],
        DeviceTimes(Exponential(1 / 500), never),
        assumptions=SparingAssumptions(whole_block_repairs=False),
        warm_up=0,
    )
    assert found.jobs["ended"].isna().all()
    assert found.jobs["started"][0] == 0.0
    assert found.jobs["blocked"][0] > 8 * 8760
    assert (found.replications["finished"] == 0.0).all()
    assert "0 % of 2 jobs end" in found.headline


def test_the_same_whatever_the_number_of_workers() -> None:
    jobs = [SparingJob(blocks=5, work=100), SparingJob(blocks=5, work=50)]
    one, two = (simulate(jobs, DeviceFailures(300, 3000, 24), n_resamples=4, workers=w) for w in (1, 2))
    assert one.jobs.equals(two.jobs)
    assert set(one.to_dict()) == {"findings", "outputs", "jobs", "level"}


@pytest.mark.parametrize(
    ("jobs", "more", "said"),
    [
        ([], {}, "there are no jobs"),
        ([SparingJob(blocks=7, work=1)], {}, "job 0 needs 7 blocks, and jobs may hold 6"),
        ([SparingJob(name="a", blocks=1, work=1)] * 2, {}, "two jobs have one name"),
        ([SparingJob(blocks=1, work=1)], {"recovery": Recovery("1h", loss_limit=1)}, "leave out loss_limit"),
    ],
)
def test_what_cannot_be(jobs: list[SparingJob], more: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        simulate(jobs, **more)


def test_settings_of_a_job_are_checked() -> None:
    with pytest.raises(ArgumentError, match="blocks"):
        SparingJob(blocks=0, work=1)
    with pytest.raises(ArgumentError, match="work"):
        SparingJob(blocks=1, work="long")
    with pytest.raises(ArgumentError, match="did you mean submit"):
        SparingJob(blocks=1, work=1, submitted=1)
