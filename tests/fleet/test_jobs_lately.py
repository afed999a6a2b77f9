"""Jobs are held to how many went through lately: counted by hand on fleets that fail in bursts."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.fleet import prediction
from tests.factories import make_log

HOURS, NODES = 500 * 24.0, 30


def bursts(seed: int) -> rf.FailureLog:
    """Nodes, and now and then half of the fleet, that fail three times in a row."""
    rng, rows = np.random.default_rng(seed), []
    for node in range(NODES):
        for t in rng.uniform(0, HOURS - 60, rng.poisson(25)):
            rows += [{"node": f"n{node:02}", "start": t + h, "end": t + h + 1.0} for h in (0.0, 14.0, 28.0)]
    for t in rng.uniform(0, HOURS - 60, 25):
        half = rng.choice(NODES, NODES // 2, replace=False)
        rows += [{"node": f"n{n:02}", "start": t + h, "end": t + h + 1.5} for h in (0.0, 14.0, 28.0) for n in half]
    rows = sorted(rows, key=lambda row: row["start"])  # type: ignore[arg-type, return-value]
    return make_log(rows, [{"node": f"n{i:02}"} for i in range(NODES)], window=(0, HOURS))


def ran_through(log: rf.FailureLog) -> float:
    """Share of jobs of one node that nothing interrupts in 24 hours, started every half hour."""
    start, end = (
        ((log.events[name] - log.window.start).dt.total_seconds() / 3600.0).to_numpy() for name in ("start", "end")
    )
    node = log.events["node"].astype(str).str[1:].astype(int).to_numpy()
    at, up, ran = np.arange(0.0, HOURS - 24.0, 0.5), 0, 0
    for i in range(NODES):
        begun, over = start[node == i], np.maximum.accumulate(end[node == i])
        following = np.searchsorted(begun, at, side="right")
        free = np.append(-np.inf, over)[following] <= at
        up += int(free.sum())
        ran += int((free & (np.append(begun, np.inf)[following] - at > 24.0)).sum())
    return ran / up


@pytest.mark.slow
def test_the_reliability_of_jobs_is_held_to_what_was_counted() -> None:
    errors = []
    for seed in range(3):
        log = bursts(seed)
        one = rf.fleet_model(log).interval("reliability", "24h", size=1)
        assert one.low < one.estimate < one.high
        errors.append(float(one.estimate) - ran_through(log))
    assert np.abs(errors).mean() < 0.02  # 0.06 of the model alone


def test_jobs_of_a_day_are_those_side_by_side_at_its_starts() -> None:
    """The last of 30 nodes is down for an hour every 50: 24 of the 49 hours that it is up are before a failure."""
    rows = [{"node": "n29", "start": t, "end": t + 1.0} for t in np.arange(30.0, 4770.0, 50.0)]
    lately = rf.fleet_model(make_log(rows, [{"node": f"n{i:02}"} for i in range(30)], window=(0, 4800.0))).lately
    assert lately is not None
    (system,) = lately.nodes
    for size, side_by_side, in_runs in ((1, 30, 30), (10, 3, 21)):
        ((met, jobs),) = lately.counted(0, system, size, (24.0,), "packed")
        assert jobs.max() == 24.0 * side_by_side  # hourly starts
        assert abs(met.sum() / jobs.sum() - 24.0 / 50.0 / in_runs) < 0.03 / in_runs


@pytest.mark.slow
def test_jobs_of_a_day_are_the_same_with_and_without_other_lengths_and_sizes() -> None:
    """A reliability of 0.319 was 0.317 where jobs of 72 hours had been asked about before."""
    alone, beside = (rf.fleet_model(bursts(1)).lately for _ in range(2))
    assert alone is not None
    assert beside is not None
    assert beside is not alone
    (system,) = alone.nodes
    for placement in ("packed", "random", "spread"):
        beside.count(0, system, (8, 4, 16), (72.0, 24.0, 6.0), placement)
        one = alone.counted(0, system, 4, (24.0,), placement)[0]
        among = beside.counted(0, system, 4, (6.0, 24.0, 72.0), placement)[1]
        for first, second in zip(one, among, strict=True):
            np.testing.assert_array_equal(first, second)


def test_a_job_that_hardly_ever_runs_through_has_a_small_chance_not_none() -> None:
    """96 nodes that fail every 800 hours for 2: exp(-96 * length / 800) of the jobs on all of them run through.

    A chance of 1e-16 (and a limit of 0) was said where no counted job had run through.
    """
    rng, rows = np.random.default_rng(5), []
    for node in range(96):
        t = rng.exponential(800.0)
        while t < 17_500.0:
            rows.append({"node": f"n{node:02}", "start": t, "end": t + 2.0})
            t += 2.0 + rng.exponential(800.0)
    log = make_log(rows, [{"node": f"n{i:02}"} for i in range(96)], window=(0, 17_520.0))
    lengths = np.array([6.0, 12.0, 24.0, 48.0, 72.0, 168.0])
    said = rf.fleet_model(log).interval("reliability", lengths, size=90, placement="packed")
    hazard = 90.0 * lengths / 800.0
    np.testing.assert_allclose(-np.log(said.estimate), hazard, rtol=0.15)
    assert ((said.low > 0.0) & (said.low < np.exp(-hazard)) & (np.exp(-hazard) < said.high)).all()
    for ends in (said.low, said.estimate, said.high):
        assert (np.diff(ends) < 0.0).all()


@pytest.mark.slow
def test_spread_jobs_on_all_nodes_are_the_packed_ones() -> None:
    log = bursts(2)
    lately = rf.fleet_model(log).lately
    assert lately is not None
    (system,) = lately.nodes
    size = lately.nodes[system].labels.size
    packed, spread = (lately.counted(0, system, size, (24.0,), placement)[0] for placement in ("packed", "spread"))
    np.testing.assert_array_equal(packed, spread)


def test_a_fifth_of_the_weight_stays_with_the_share_of_the_last_180_days() -> None:
    """Binomial days around 10 %: the mean of all 900 days predicts best, and has nearly all the weight without it."""
    jobs = np.full(900, 40.0)
    met = np.random.default_rng(1).binomial(40, 0.1, 900).astype(float)
    levels = prediction.levels_of(met, jobs)
    of_180_days = len(prediction.HALF_LIVES) + 1
    free = prediction.mix(levels, met, jobs, 90.0, 1.0, shares=True, trials=40.0)
    held = prediction.mix(levels, met, jobs, 90.0, 1.0, shares=True, trials=40.0, stay=(of_180_days, 0.2))
    assert free.weight[free.predictor == of_180_days].sum() < 0.15
    assert held.weight.sum() == pytest.approx(1.0)
    assert held.weight[held.predictor == of_180_days].sum() == pytest.approx(
        0.2 + 0.8 * free.weight[free.predictor == of_180_days].sum(), abs=0.01
    )
    assert held.expected - free.expected == pytest.approx(0.2 * (met[-180:].mean() / 40.0 - free.expected), abs=1e-3)


def test_the_jobs_of_a_fleet_keep_that_weight() -> None:
    lately = rf.fleet_model(bursts(1)).lately
    assert lately is not None
    (system,) = lately.nodes
    ((met, jobs),) = lately.counted(0, system, 4, (24.0,), "packed")
    mixture = lately.interrupted(0, met, jobs, {"node": 0.1}, 7)
    assert mixture is not None
    assert mixture.weight[mixture.predictor == len(prediction.HALF_LIVES) + 1].sum() >= 0.2
