from __future__ import annotations

import numpy as np
import pytest

from relfit.errors import ArgumentError
from relfit.families import Weibull
from relfit.jobs import Amdahl, Job, allocate, completion_time, ra_opt
from relfit.jobs.allocation import most_reliable, pick_all, pick_by_length, pick_round_robin, pick_window
from relfit.system import System


def test_window_agrees_with_a_plain_search() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, k = int(rng.integers(1, 15)), int(rng.integers(1, 6))
        hazards, idle = rng.integers(0, 4, n) / 10.0, rng.random(n) < 0.8
        for reliable in (True, False):
            windows = [(i, hazards[i : i + k].sum()) for i in range(n - k + 1) if idle[i : i + k].all()]
            found = pick_window(hazards, idle, k, reliable=reliable)
            if not windows:
                assert found is None
                continue
            sign = 1.0 if reliable else -1.0
            first = min(windows, key=lambda one: (round(sign * one[1], 9), one[0]))[0]
            assert found is not None
            assert found.tolist() == list(range(first, first + k))


def test_other_policies() -> None:
    idle = np.array([True, True, False, True, True])
    assert most_reliable([0.2, 0.1, 0.0, 0.1, 0.3], idle, 2).tolist() == [1, 3]
    assert most_reliable([0.2] * 5, idle, 5) is None
    assert pick_round_robin(idle, 3, after=3).tolist() == [4, 0, 1]
    assert pick_all(idle) is None
    hazards = [0.2, 0.1, 0.0, 0.1, 0.3]
    assert pick_by_length(hazards, idle, 2, "25h").tolist() == [0, 1]
    assert pick_by_length(hazards, idle, 2, "24h").tolist() == [3, 4]


def test_queue() -> None:
    rng = np.random.default_rng(1)
    system = System(Weibull(0.7, rng.uniform(500.0, 5000.0, 12)), rng.uniform(0, 100, 12))
    queue = [Job("90h", Amdahl(0.9), nodes=5, name="a"), Job("9h", Amdahl(0.9), nodes=9), Job("9h", nodes=3)]
    given = allocate(system, queue, "ra", deadline="30h")
    assert given.positions[1] is None
    assert given.positions[2] is None
    loose = allocate(system, queue, "ra", strict=False)
    assert loose.positions[1] is None
    assert loose.positions[2] is not None
    assert not set(loose.positions[0].tolist()) & set(loose.positions[2].tolist())
    table = given.to_frame()
    one = completion_time(system.take(given.positions[0]), queue[0])
    assert table["expected"][0] == pytest.approx(one.expected)
    assert table["in_time"][0] == pytest.approx(float(one.finish_probability(30.0)))
    assert table["waits"].tolist() == [False, True, True]
    assert given.idle.sum() == 7
    best = allocate(system, [Job("90h", Amdahl(0.9))], "ra_opt")
    assert best.positions[0].tolist() == sorted(ra_opt(system, "90h", Amdahl(0.9)).positions.tolist())
    waste = {p: allocate(system, queue[:1], p).completions[0].expected for p in ("ra", "ras", "rr")}
    assert waste["ra"] <= waste["ras"]
    assert waste["ra"] <= waste["rr"]


def test_own_policy_and_bad_input() -> None:
    system = System(Weibull(0.7, [500.0] * 4))
    job = Job(5.0, nodes=1)
    assert allocate(system, job, lambda s, j, idle: np.flatnonzero(idle)[-1:]).positions[0].tolist() == [3]
    with pytest.raises(ArgumentError, match="not idle"):
        allocate(system, job, lambda s, j, idle: np.array([0]), idle=[False, True, True, True])
    with pytest.raises(ArgumentError, match="use one of ra_opt"):
        allocate(system, job, "best")
    with pytest.raises(ArgumentError, match="job 0 does not say how many nodes"):
        allocate(system, Job(5.0), "rr")
    with pytest.raises(ArgumentError, match="idle has shape"):
        allocate(system, job, "rr", idle=[True])
