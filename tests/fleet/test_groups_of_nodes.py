"""Fleets whose nodes often fail in groups, take long to repair and are not all there from the start, held to counts.

The log comes from a loop over hours that knows nothing of the package.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fleet.operating_time import _number_by
from relfit.planning.job_rate import rate_of_job

NODES, HOURS, OWN, GROUP, HIT, REPAIR = 60, 20_000, 1 / 600.0, 1 / 20.0, 0.1, 15.0
ENTERED = np.where(np.arange(NODES) < NODES // 2, 0, HOURS // 2)
SIZES = (1, 4, 16)


@cache
def made() -> tuple[Any, np.ndarray]:
    """A log, and which nodes were there and up in each hour."""
    rng = np.random.default_rng(8)
    back, up, rows = np.zeros(NODES), np.zeros((HOURS, NODES), bool), []
    origin = pd.Timestamp("2024-01-01", tz="UTC")
    for hour in range(HOURS):
        there = (hour >= ENTERED) & (back <= hour)
        up[hour] = there
        failed = there & (rng.random(NODES) < OWN)
        stamps = {int(node): hour + rng.uniform(0.05, 0.95) for node in np.flatnonzero(failed)}
        if rng.random() < GROUP:
            stamps |= dict.fromkeys(np.flatnonzero(there & (rng.random(NODES) < HIT)).tolist(), hour + rng.random())
        for node, start in stamps.items():
            back[node] = start + 0.1 + rng.exponential(REPAIR)
            rows.append((f"n{node:02d}", start, back[node]))
    table = pd.DataFrame(rows, columns=["node", "start", "end"])
    for name in ("start", "end"):
        table[name] = origin + pd.to_timedelta(table[name].round(4), unit="h")
    names = [f"n{node:02d}" for node in range(NODES)]
    people = pd.DataFrame({"node": names, "entered": origin + pd.to_timedelta(ENTERED, unit="h")})
    until = origin + pd.Timedelta(hours=HOURS)
    log = rf.read(table[table["start"] < until], population=people, window_start=origin, window_end=until)
    return log, up


def true_mtbf(size: int) -> float:
    return float(1.0 / (size * OWN + GROUP * (1.0 - (1.0 - HIT) ** size)))


def share_up(size: int) -> float:
    """Of the time in which all nodes of a job on consecutive nodes are there."""
    _, up = made()
    jobs = [
        (up[:, at : at + size].all(axis=1).sum(), (np.arange(HOURS) >= ENTERED[at + size - 1]).sum())
        for at in range(NODES - size + 1)
    ]
    held, watched = np.array(jobs).sum(axis=0)
    return float(held / watched)


@pytest.mark.parametrize("size", SIZES)
def test_jobs_are_hit_as_often_as_the_rates_say(size: int) -> None:
    log, _ = made()
    found = rf.fleet_model(log, "all", at="long run").interval("mtbf", size=size, placement="random")
    assert found.estimate == pytest.approx(true_mtbf(size), rel=0.1)


def test_an_incident_counts_while_another_group_is_repaired() -> None:
    log, _ = made()
    scopes = rf.fleet_model(log, "all", at="long run").scopes
    assert scopes.loc["group", "hours"] == pytest.approx(HOURS, rel=0.01)
    assert scopes.loc["group", "mtbf"] == pytest.approx(1.0 / GROUP, rel=0.15)


@pytest.mark.parametrize("size", SIZES)
def test_a_plan_without_spares_waits_as_long_as_nodes_are_down(size: int) -> None:
    log, _ = made()
    job = rate_of_job(rf.calibrate(log, period="all", parts=("mtbf", "mttr"), at="long run"), size)
    assert float(job.mtbf) == pytest.approx(true_mtbf(size), rel=0.15)
    assert float(job.mtbf / (job.mtbf + job.wait)) == pytest.approx(share_up(size), abs=0.05)
    assert job.drawn is not None
    low, high = np.quantile(job.drawn.mtbf / (job.drawn.mtbf + job.drawn.wait), [0.025, 0.975])
    assert low < share_up(size) < high


def test_one_node_of_a_group_is_back_before_the_last() -> None:
    log, _ = made()
    mttr = rf.calibrate(log, period="all", parts=("mtbf", "mttr"), at="long run").mttr
    assert mttr.group_node is not None
    assert mttr.group is not None
    assert mttr.group_node.value == pytest.approx(REPAIR, rel=0.1)
    assert mttr.group.value > 1.5 * REPAIR
    assert 0.05 < share_up(16) < share_up(1) < 0.95


@pytest.mark.parametrize("before", [False, True])
def test_numbers_at_a_place_until_an_instant(before: bool) -> None:
    rng = np.random.default_rng(0)
    place, at = rng.integers(-1, 4, 200), rng.integers(0, 50, 200) / 4
    asked, when = rng.integers(-1, 5, 100), rng.integers(0, 60, 100) / 4
    counted = [
        int(((place == p) & ((at < t) if before else (at <= t))).sum()) for p, t in zip(asked, when, strict=True)
    ]
    assert _number_by(place, at, asked, when, before=before).tolist() == counted


def test_limits_of_calibrated_rates_are_those_of_the_model() -> None:
    log = rf.datasets.load("white")
    model = rf.fleet_model(log, at="long run")
    known = rf.calibrate(log, model=model, parts=("mtbf",)).mtbf
    for name, label in (("node", "node"), ("rack", "rack"), ("system", "system")):
        found = getattr(known, name)
        assert found.low == pytest.approx(model.scopes.loc[label, "mtbf_low"])
        assert found.high == pytest.approx(model.scopes.loc[label, "mtbf_high"])


def test_a_fleet_that_fails_in_waves_has_wide_limits() -> None:
    rng = np.random.default_rng(3)
    hours = np.concatenate([np.sort(rng.uniform(at, at + 240.0, 60)) for at in range(0, 8000, 1000)])
    start = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(hours.round(4), unit="h")
    table = pd.DataFrame({"node": [f"n{i:02d}" for i in rng.integers(0, 40, hours.size)], "start": start})
    log = rf.read(table.assign(end=table["start"] + pd.Timedelta(minutes=6)), n_nodes=40)
    scopes = rf.fleet_model(log, "all", at="long run").scopes.loc["node"]
    assert scopes["mtbf_high"] / scopes["mtbf_low"] > 1.5  # 1.2 for as many failures at random
