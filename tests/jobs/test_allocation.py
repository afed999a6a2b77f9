from __future__ import annotations

import numpy as np
import pytest

from relfit.errors import ArgumentError
from relfit.jobs.allocation import most_reliable, pick_all, pick_by_length, pick_round_robin, pick_window


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


def test_bad_input() -> None:
    with pytest.raises(ArgumentError, match="one for each node"):
        most_reliable([0.1, 0.2], [True], 1)
    with pytest.raises(ArgumentError, match="node 1 is missing"):
        pick_window([0.1, np.nan], [True, True], 1)
    with pytest.raises(ArgumentError, match="0 nodes"):
        pick_round_robin([True], 0)
