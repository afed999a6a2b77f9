"""Shares of interrupted jobs against every job counted one by one in plain Python."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from relfit.fleet.job_placement import NodeOutages
from relfit.fleet.job_shares import interrupted_shares
from tests.factories import make_log

SIZES, LENGTHS = (1, 2, 3, 4, 6), (1.0, 5.0, 24.0)
NAMES = "abcdef"
EVENTS = [
    *[("a", 10, 12), ("a", 40, 41), ("b", 11, 30), ("c", 33, 34), ("c", 60, 61), ("d", 12, 13), ("f", 45, 50)],
    *[("f", 58, 70), ("e", 90, 95), ("b", 70, 71), ("d", 71, 72)],
]
WATCHED = {"a": (0, 100), "b": (0, 100), "c": (0, 100), "d": (5, 100), "e": (0, 100), "f": (0, 80)}


@pytest.fixture(scope="module")
def nodes() -> NodeOutages:
    events = [{"node": node, "start": start, "end": end} for node, start, end in EVENTS]
    events.append({"node": None, "scope": "system", "start": 50, "end": 52})
    people = [{"node": node, "entered": since, "left": until} for node, (since, until) in WATCHED.items()]
    return NodeOutages.of(make_log(events, people, window=(0, 100)))[0]


def is_up(node: str, at: float, horizon: float) -> bool:
    since, until = WATCHED[node]
    down = any(of == node and start <= at < end for of, start, end in EVENTS)
    fails = any(of == node and at < start <= min(at + horizon, until) for of, start, end in EVENTS)
    return since <= at and (at + horizon <= until or fails) and not down and not 50 <= at < 52


def is_met(node: str, at: float, length: float) -> bool:
    return any(at < start <= at + length for of, start, _ in [*EVENTS, (node, 50, 52)] if of == node)


def jobs(placement: str, up: list[str], size: int) -> list[tuple[str, ...]]:
    if placement == "packed":
        return [tuple(up[i : i + size]) for i in range(len(up) - size + 1)]
    return list(combinations(up, size))


@pytest.mark.parametrize("placement", ["packed", "random"])
def test_shares_are_those_of_all_jobs(nodes, placement):
    starts = np.array([0.5, 9.5, 11.5, 20.2, 32.5, 39.1, 47.3, 51.0, 57.1, 69.9, 72.5])
    shares = interrupted_shares(nodes, starts, SIZES, LENGTHS, placement, np.random.default_rng(1))
    assert shares.shape == (len(SIZES), len(LENGTHS), starts.size)
    compared = 0
    for (k, at), (j, length) in product(enumerate(starts), enumerate(LENGTHS)):
        up = [node for node in NAMES if is_up(node, at, length)]
        for i, size in enumerate(SIZES):
            every = jobs(placement, up, size)
            if not every:
                assert np.isnan(shares[i, j, k]), (at, size, length)
                continue
            share = sum(any(is_met(node, at, length) for node in job) for job in every) / len(every)
            assert shares[i, j, k] == pytest.approx(share, abs=1e-12), (at, size, length)
            compared += 0.0 < share < 1.0
    assert compared > 20


def test_a_spread_job_is_one_of_the_random_ones(nodes):
    starts = np.array([9.5, 57.1])
    spread = interrupted_shares(nodes, starts, (2, 6), LENGTHS, "spread", np.random.default_rng(2))
    assert set(np.unique(spread[np.isfinite(spread)] * 4.0)) <= {0.0, 1.0, 2.0, 3.0, 4.0}  # of four jobs at a start
    whole = interrupted_shares(nodes, starts[:1], (6,), LENGTHS, "packed", np.random.default_rng(2))
    np.testing.assert_array_equal(spread[1, :, 0], whole[0, :, 0])  # all nodes: there is one job


@pytest.mark.parametrize("placement", ["packed", "random", "spread"])
def test_a_length_has_the_same_shares_among_others(nodes, placement):
    starts = np.linspace(0.0, 75.0, 40)  # node f leaves after 80 hours
    among = interrupted_shares(nodes, starts, SIZES, LENGTHS, placement, np.random.default_rng(1))
    for j, length in enumerate(LENGTHS):
        alone = interrupted_shares(nodes, starts, SIZES, (length,), placement, np.random.default_rng(1))
        np.testing.assert_array_equal(among[:, j], alone[:, 0])
