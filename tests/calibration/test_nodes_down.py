"""Nodes that are down together, and the plans that follow from it, held to logs replayed with plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import relfit as rf
from relfit.planning import plan_checkpoints, plan_spares
from relfit.system.jobs import Checkpoint
from tests.factories import make_log

NODES, HOURS, JOB, SPARES = 64, 540 * 24.0, 32, 3
Outages = list[tuple[int, float, float]]


def _at_once(begun: float, rng: np.random.Generator) -> float:
    return begun + rng.lognormal(np.log(16.0) - 0.5, 1.0)


def _in_working_hours(begun: float, rng: np.random.Generator) -> float:
    """Two to six hours after the next morning at 8 of the first five days of a week, or at once between 8 and 17."""
    day, hour = divmod(begun, 24.0)
    if day % 7 >= 5 or hour > 17:
        day += 1.0 if day % 7 < 4 else 7.0 - day % 7
        hour = 8.0
    return day * 24.0 + max(hour, 8.0) + rng.uniform(2.0, 6.0)


def _steady(rng: np.random.Generator) -> np.ndarray:
    return np.ones(int(HOURS // 168) + 1)


def _good_and_bad(rng: np.random.Generator) -> np.ndarray:
    return rng.lognormal(-0.5, 1.0, int(HOURS // 168) + 1)


@cache
def fleet(weeks: Callable, repair: Callable, seed: int) -> tuple[rf.FailureLog, Outages]:
    """Each node fails every 500 hours, times the level of the week."""
    rng, outages = np.random.default_rng(seed), []
    level = weeks(rng)
    for node in range(NODES):
        t = 0.0
        while (t := t + rng.exponential(500.0 / level.max())) < HOURS:
            if rng.random() < level[int(t // 168)] / level.max():
                outages.append((node, t, t := repair(t, rng)))
    outages = [(node, start, min(end, HOURS)) for node, start, end in sorted(outages, key=lambda one: one[1])]
    rows = [{"node": f"n{node:02}", "start": start, "end": end} for node, start, end in outages]
    return make_log(rows, [{"node": f"n{i:02}"} for i in range(NODES)], window=(0, HOURS)), outages


def _down(outages: Outages) -> np.ndarray:
    """Number of nodes down among every JOB + SPARES consecutive nodes, each half hour."""
    down = np.zeros((NODES, int(2 * HOURS)), dtype=np.int64)
    for node, start, end in outages:
        down[node, int(2 * start + 0.5) : int(2 * end + 0.5)] = 1
    before = np.cumsum(np.vstack([np.zeros_like(down[:1]), down]), axis=0)
    return before[JOB + SPARES :] - before[: -JOB - SPARES]


def _lost(outages: Outages, every: float, minutes: float = 5.0) -> float:
    """Share of time lost by jobs without spares on the first and on the last nodes."""
    kept, cost = 0.0, minutes / 60.0
    for first in (0, NODES - JOB):
        end_of_all = 0.0
        for _, start, end in [one for one in outages if first <= one[0] < first + JOB] + [(0, HOURS, HOURS)]:
            kept += max((start - end_of_all - cost) // (every + cost), 0.0) * every
            end_of_all = max(end_of_all, end)
    return 1.0 - kept / (2 * HOURS)


def _parameters(log: rf.FailureLog) -> rf.Parameters:
    return rf.calibrate(log, parts=("mtbf", "mttr"), at="long run", period="all", window=0)


def _waiting(params: rf.Parameters) -> float:
    """The share that `plan_spares` says."""
    table = plan_spares(params, JOB, 0.05, n_draws=2).table.set_index("spares")
    return float(table.loc[SPARES, "waiting"])


@pytest.mark.parametrize("seed", [1, 2])
def test_independent_nodes_are_binomial(seed: int) -> None:
    log, outages = fleet(_steady, _at_once, seed)
    params = _parameters(log)
    scatter = params.values().get("fleet.down_scatter", 0.0)
    assert scatter < 0.05
    assert _waiting(params) == pytest.approx((_down(outages) > SPARES).mean(), rel=0.25)
    without = params.model_copy(update={"fleet": params.fleet.model_copy(update={"down_scatter": None})})
    assert _waiting(params) == pytest.approx(_waiting(without), rel=0.1)


@pytest.mark.parametrize(("weeks", "repair"), [(_steady, _in_working_hours), (_good_and_bad, _at_once)])
def test_a_job_waits_and_loses_as_long_as_in_a_replay(weeks: Callable, repair: Callable) -> None:
    """Of nodes down together in time; as independent ones they would be down less and more often."""
    log, outages = fleet(weeks, repair, 2)
    params = _parameters(log)
    assert params.fleet.down_scatter is not None
    assert params.fleet.down_scatter.low > 0.1
    counted = (_down(outages) > SPARES).mean()
    assert _waiting(params) == pytest.approx(counted, rel=0.25)
    plan = plan_checkpoints(params, Checkpoint(save="5min", restore="5min"), nodes=JOB)
    assert plan.waste == pytest.approx(_lost(outages, float(plan.checkpoint_every)), abs=0.03)
    without = params.model_copy(update={"fleet": params.fleet.model_copy(update={"down_scatter": None})})
    assert _waiting(without) < 0.6 * counted
    apart = plan_checkpoints(without, Checkpoint(save="5min", restore="5min"), nodes=JOB)
    assert apart.waste > _lost(outages, float(apart.checkpoint_every)) + 0.06


def test_for_now_a_change_over_years_is_no_scatter() -> None:
    """Failures that become five times as many half-way are independent within each half."""
    rng, rows = np.random.default_rng(5), []
    for node in range(NODES):
        t = 0.0
        while (t := t + rng.exponential(300.0)) < HOURS:
            if t > HOURS / 2 or rng.random() < 0.2:
                rows.append({"node": f"n{node:02}", "start": t, "end": t + 10.0})
    rows = sorted((row for row in rows if row["end"] < HOURS), key=lambda row: row["start"])
    log = make_log(rows, [{"node": f"n{i:02}"} for i in range(NODES)], window=(0, HOURS))
    model = rf.fleet_model(log, period="all")
    scatter = rf.calibrate(log, parts=("mtbf", "mttr"), model=model).values().get("fleet.down_scatter", 0.0)
    assert scatter < 0.05
    assert _parameters(log).fleet.down_scatter.value > 0.3


def test_racks_that_fail_as_one_are_no_scatter() -> None:
    """Outages of racks have a rate of their own."""
    rng, rows = np.random.default_rng(6), []
    for t in np.arange(10.0, HOURS - 50.0, 40.0):
        rack = int(rng.integers(NODES // 8))
        rows += [{"node": f"n{8 * rack + i:02}", "start": t, "end": t + 20.0} for i in range(8)]
    nodes = [{"node": f"n{i:02}", "rack": f"r{i // 8}"} for i in range(NODES)]
    params = rf.calibrate(make_log(rows, nodes, window=(0, HOURS)), parts=("mtbf", "mttr"), period="all")
    assert params.mtbf.rack is not None
    assert params.fleet.down_scatter is None
