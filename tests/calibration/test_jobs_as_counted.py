"""What plans take a job to meet, held to a count of its interruptions with plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.planning import plan_checkpoints
from relfit.planning.job_rate import rate_of_job
from relfit.system.jobs import Checkpoint
from tests.factories import make_log

NODES, DAYS, SIZE = 24, 300, 8
Outages = list[tuple[int, float, float]]


def one_after_another(seed: int) -> Outages:
    """Four neighbours fail within hours of each other, while the first is still down."""
    rng, outages = np.random.default_rng(seed), []
    for t in rng.uniform(0.0, 24.0 * DAYS - 12.0, 300):
        first = int(rng.integers(NODES - 3))
        for node in range(first, first + 4):
            begun = t + rng.uniform(0.0, 3.0)
            outages.append((node, begun, begun + rng.uniform(4.0, 6.0)))
    return outages


def together(seed: int, since: float) -> Outages:
    """Groups of nodes and single ones, five times as often before an instant as after it; repairs of five hours."""
    rng, outages = np.random.default_rng(seed), []
    for begun, often in ((0.0, 1.0), (since, 0.2)):
        end = since if begun < since else 24.0 * DAYS - 12.0
        for t in rng.uniform(begun, end, rng.poisson(often * (end - begun) / 12.0)):
            some = rng.choice(NODES, int(rng.choice([1, 2, 4])), replace=False)
            outages += [(int(node), t, t + rng.uniform(4.0, 6.0)) for node in some]
    return outages


def log_of(outages: Outages) -> rf.FailureLog:
    rows = [
        {"node": f"n{node:02}", "start": start, "end": end} for node, start, end in sorted(outages, key=lambda o: o[1])
    ]
    return make_log(rows, [{"node": f"n{i:02}"} for i in range(NODES)], window=(0, 24.0 * DAYS))


def counted(outages: Outages, since: float = 0.0) -> tuple[float, float]:
    """Hours up between interruptions of jobs on consecutive nodes, and hours down after one."""
    up = down = number = 0.0
    for first in range(NODES - SIZE + 1):
        mine = sorted((s, e) for n, s, e in outages if first <= n < first + SIZE and s >= since)
        reach, total = since, 0.0
        for start, end in mine:
            if start > reach:
                number += 1
            total += max(end - max(start, reach), 0.0)
            reach = max(reach, end)
        down += total
        up += 24.0 * DAYS - since - total
    return up / number, down / number


@pytest.mark.slow
def test_a_plan_fails_as_often_as_jobs_did() -> None:
    """Not as often as the rates of its nodes say, 0.4 of that time; some jobs start between two failures of a row."""
    outages = one_after_another(3)
    between, _ = counted(outages)
    params = rf.calibrate(log_of(outages), period="all", parts=("mtbf", "mttr"), window=0)
    job = rate_of_job(params, SIZE)
    assert float(job.mtbf) == pytest.approx(between, rel=0.25)
    plan = plan_checkpoints(params, Checkpoint(save="5min", restore="5min"), nodes=SIZE, repair=0)
    assert plan.mtbf == pytest.approx(between, rel=0.25)


def test_a_wait_for_repair_is_as_long_as_after_failures_of_now() -> None:
    since = 24.0 * 0.6 * DAYS
    outages = together(4, since)
    _, wait = counted(outages, since)
    job = rate_of_job(rf.calibrate(log_of(outages), period="all", parts=("mtbf", "mttr")), SIZE)
    assert float(job.wait) == pytest.approx(wait, rel=0.15)
