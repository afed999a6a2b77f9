"""Replication against brute force, published formulas, quadrature and jobs followed from save to save."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration import Parameters
from relfit.planning import plan_replication
from relfit.planning.replication import replication_plan
from relfit.planning.replication.replication_plan import CopiedJob, failures_to_interruption
from relfit.system.jobs import Checkpoint
from relfit.system.jobs.checkpoint import best_waste, waste

TEN = Checkpoint(save="10min", restore="10min")


def counted(processes: int, replicas: int, runs: int = 4000) -> np.ndarray:
    """Failures of running nodes until a process has lost all its copies."""
    rng = np.random.default_rng(1)
    live = np.zeros(runs)
    for run in range(runs):
        up = np.ones((processes, replicas), dtype=bool)
        while up.any(axis=1).all():
            node = rng.integers(processes * replicas)
            live[run] += up.flat[node]
            up.flat[node] = False
    return live


@pytest.mark.parametrize(("processes", "replicas"), [(1, 2), (6, 2), (3, 3)])
def test_failures_to_interruption_by_brute_force(processes: int, replicas: int) -> None:
    values, mean = counted(processes, replicas), float(failures_to_interruption(processes, replicas))
    assert values.mean() == pytest.approx(mean, abs=4.5 * values.std() / np.sqrt(values.size) + 1e-9)


def test_failures_to_interruption_by_recursion_and_for_many() -> None:
    for n in (1, 2, 7, 50, 500):
        value = 1.0  # Casanova and others: with m pairs that have lost a copy, 2 n - m nodes run
        for m in range(n - 1, -1, -1):
            value = 1.0 + (2 * n - 2 * m) / (2 * n - m) * value
        assert float(failures_to_interruption(n)) == pytest.approx(value)
    assert float(failures_to_interruption(10**8)) == pytest.approx(np.sqrt(np.pi * 1e8), rel=1e-7)
    assert failures_to_interruption([5, 9], 1).tolist() == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(("processes", "replicas", "interval"), [(50, 2, 20.0), (20, 3, 60.0)])
def test_waste_against_jobs_followed(processes: int, replicas: int, interval: float) -> None:
    save, restore, restart, rng = 1.0, 2.0, 0.5, np.random.default_rng(3)
    stops = rng.exponential(1000.0, (40_000, processes, replicas)).max(axis=2).min(axis=1)
    # restarted at saves: every period begins with all copies, whatever ended the one before
    clock, kept, restoring = np.zeros(200), np.zeros(200), np.zeros(200, dtype=bool)
    for stop in stops.reshape(-1, 200):
        need = interval + save + restore * restoring
        failed = stop < need
        clock += np.where(failed, stop + restart, need)
        kept += np.where(failed, 0.0, interval)
        restoring = failed
    expected = float(CopiedJob(1000.0, save, restore, restart, replicas).waste(processes, interval))
    assert_near(kept, clock, expected)


def assert_near(kept: np.ndarray, time: np.ndarray, waste: float) -> None:
    """The ratio of sums lies within 4.5 standard errors of the expected yield."""
    rest = kept - (1.0 - waste) * time
    assert abs(rest.mean()) < 4.5 * rest.std(ddof=1) / np.sqrt(rest.size)


def test_best_interval_of_restarts() -> None:
    first_order = (3 * (1 / 60) * 43_800.0**2 / (4 * 100_000)) ** (1 / 3)  # Benoit and others 2019
    assert float(CopiedJob(43_800, "1min").best_interval(100_000)) == pytest.approx(first_order, rel=0.01)
    rng = np.random.default_rng(6)
    for _ in range(12):
        mu, n, r = np.exp(rng.uniform(4, 12)), int(np.exp(rng.uniform(0, 12))), int(rng.integers(2, 5))
        save = mu * n ** (-1 / r) * np.exp(rng.uniform(-9, 0.5))
        copies = CopiedJob(mu, save, save, 0.1 * save, r)
        best = copies.best_interval(n)
        at = float(copies.waste(n, best))

        def waste_at(log: float, copies: CopiedJob = copies, n: int = n) -> float:
            return float(copies.waste(n, np.exp(log)))

        middle = float(np.log(best))
        searched = optimize.minimize_scalar(waste_at, bounds=(middle - 6, middle + 6), method="bounded")
        assert at <= searched.fun + 1e-9


def test_break_even() -> None:
    pairs = CopiedJob(43_800, "10min", "10min")
    nodes = float(pairs.break_even())

    def gain(n: float) -> float:
        return float(pairs.useful(int(n)) - replace(pairs, replicas=1).useful(int(n)))

    assert gain(nodes) > 0.0 >= gain(nodes - 2)
    assert float(CopiedJob(43_800, "10min", replicas=1).useful(1000)) == pytest.approx(
        1 - float(best_waste(43.8, 1 / 6))
    )
    assert replace(pairs, overhead=0.2).break_even() > nodes


def test_break_even_of_cases_side_by_side() -> None:
    """Each case has the answer that it has alone, one pair of nodes among them."""
    cases = CopiedJob([1.0, 5.0, 43_800.0], 1.0)
    nodes = cases.break_even()
    assert nodes[0] == 2.0
    assert np.all(cases.useful(nodes) > replace(cases, replicas=1).useful(nodes))
    fewer = np.maximum(nodes - 2.0, 2.0)
    assert (cases.useful(fewer) > replace(cases, replicas=1).useful(fewer)).tolist() == [True, False, False]
    assert np.isinf(CopiedJob(1e-3, 1.0).break_even())  # nothing is ever kept, with copies or without


def test_two_copies_of_each_process_yield_less_than_half() -> None:
    pairs = CopiedJob(43_800, "1min", "1min")
    assert 0.45 < float(pairs.useful(1000)) < 0.5
    assert float(CopiedJob(1e-3, 1.0).useful(1000)) == pytest.approx(0.0, abs=1e-9)
    assert float(pairs.useful(1001)) < float(pairs.useful(1000))


def test_failures_that_hit_everything() -> None:
    # with nodes that never fail, only those are left: checkpoints under an exponential law
    wide = 1 / 30
    expected = float(waste(30.0, 3.0, 0.5, 0.3, 0.2))
    found = CopiedJob(1e12, 0.5, 0.3, 0.2, wide_rate=wide).waste(10, 3.0)
    assert float(found) == pytest.approx(expected, rel=1e-9)
    assert CopiedJob(1000, 0.5, wide_rate=0.01).waste(50, 5) > CopiedJob(1000, 0.5).waste(50, 5)
    known = Parameters(mtbf={"node": "43800h", "system": "50h"}, fleet={"nodes": 100_000})
    plan = plan_replication(known, TEN)
    pairs = plan.strategies.set_index("strategy").loc["pairs"]
    assert pairs["yield"] < 0.5 * (1 - float(best_waste(50.0, 1 / 6, 1 / 6))) + 1e-9


def test_with_hot_spares_the_answer_is_told_too() -> None:
    """Five spares for 64 nodes (binomial): by hand, 64 of 69 nodes work and lose what checkpoints lose."""
    plan = plan_replication("866h", Checkpoint(save="5min", restore="5min"), nodes=64, repair="17.6h")
    assert plan.best == "pairs"  # each failure of the others waits a day and more
    assert plan.with_spares is not None
    down = 17.6 / 883.6
    blocked = [float(stats.binom.sf(spares, 64 + spares, down)) for spares in range(9)]
    spares = next(i for i, share in enumerate(blocked) if share <= 0.01)
    alone = (1.0 - float(best_waste(866.0 / 64.0, 1 / 12, 1 / 12))) * (1.0 - blocked[spares]) * 64 / (64 + spares)
    assert plan.with_spares["spares"] == spares == 5
    assert plan.with_spares["checkpoints alone"] == pytest.approx(alone)
    assert plan.with_spares["pairs"] < 0.5 < alone
    assert plan.headline.startswith("At 64 nodes without spares, pairs")
    assert plan.advice[0].startswith(
        "With 5 hot spares to take over at once, of all node-hours: checkpoints alone 82 %"
    )
    assert plan_replication("866h", TEN, nodes=64, repair=0).advice == ()


def test_hot_spares_do_not_help_while_the_whole_system_is_down() -> None:
    """A system that fails every 50 h for 5 h is up 50 of 55 hours; 1 of 2 nodes of a pair is enough, by hand."""
    known = Parameters(
        mtbf={"node": "1e6h", "system": "50h"}, mttr={"node": "10h", "system": "5h"}, fleet={"nodes": 100}
    )
    plan = plan_replication(known, Checkpoint(save="5min", restore="5min"), nodes=64)
    assert plan.with_spares is not None
    spares = plan.with_spares["spares"]
    waits = float(stats.binom.sf(spares, 64 + spares, 1e-5))
    useful = 50.0 / 55.0 * (1.0 - waits) * 64 / (64 + spares)
    rates = {"checkpoints alone": 64e-6 + 1 / 50, "pairs": 1 / 50}
    for (name, rate), copies in zip(rates.items(), (1, 2), strict=True):
        expected = useful / copies * (1.0 - float(best_waste(1 / rate, 1 / 12, 1 / 12)))
        assert plan.with_spares[name] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_plan() -> None:
    plan = plan_replication(43_800, TEN, nodes=100_000, events=40, n_draws=60)
    assert plan.best == "pairs"
    assert plan.strategies["break_even"].isna().tolist() == [True] + [False] * (len(plan.strategies) - 1)
    assert plan.break_even_low < plan.break_even < plan.break_even_high
    assert plan.probability == 1.0
    assert (plan.strategies["yield_low"] <= plan.strategies["yield"]).all()
    json.dumps(plan.to_dict(), allow_nan=False)
    hopeless = plan_replication(1e-3, Checkpoint(None, 1, 1), nodes=100)
    assert "no strategy makes progress" in hopeless.headline
    small = plan_replication(43_800, TEN, nodes=1000)
    assert small.best == "checkpoints alone"
    rows = plan_replication(43_800, TEN, nodes=11).strategies.set_index("strategy")
    assert rows["processes"].tolist() == [11, 5, 3]
    known = Parameters(mtbf="43800h", fleet={"nodes": 2000})
    assert plan_replication(known, Checkpoint(None, "1min", "1min")).nodes == 2000


def test_how_much_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication_plan, "_MOST_WORK", 100)
    few = plan_replication(100, TEN, nodes=10, events=9, n_draws=50, most_replicas=3)
    assert few.strategies["replicas"].tolist() == [1, 2, 3]
    with pytest.raises(ArgumentError, match="60 draws of 2 to 3 copies are too many"):
        plan_replication(100, TEN, nodes=10, events=9, n_draws=60, most_replicas=3)
    with pytest.raises(ArgumentError, match="save is 0 hours"):
        CopiedJob(100.0, 0.0).best_interval(10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": 0}, "mtbf is 0 hours"),
        ({"checkpoint": Checkpoint()}, "save is 0 hours"),
        ({"nodes": 1}, "at least two nodes"),
        ({"most_replicas": 1}, "most_replicas is 1"),
        ({"overhead": 1.0}, "overhead is 1"),
        ({"level": 0}, "level is 0"),
    ],
)
def test_what_cannot_be(change: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        plan_replication(**({"source": 100, "checkpoint": TEN, "nodes": 10} | change))  # type: ignore[arg-type]
