"""Batches that fail at different rates: jobs on the nodes of one batch are held to rates drawn with plain NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import relfit as rf
from relfit.fleet.rates_by_attribute import clear_attribute, multiples_by_attribute
from tests.factories import at, make_log

NODES, HOURS, A, B = 300, 17_544.0, 1 / 8000.0, 1 / 3000.0
NAMES = np.array([f"n{node:03d}" for node in range(NODES)])


def batches(seed: int) -> tuple[rf.FailureLog, np.ndarray, np.ndarray]:
    """Two years of 200 nodes of batch A and 100 of batch B in random order; the batch and the rate of each node."""
    rng = np.random.default_rng(seed)
    batch = rng.permutation(np.repeat(["A", "B"], [200, 100]))
    rates, rows = np.where(batch == "A", A, B), []
    for name, rate in zip(NAMES, rates, strict=True):
        starts = np.sort(rng.uniform(0.0, HOURS - 48.0, rng.poisson(rate * HOURS)))
        rows += [{"node": name, "start": start, "end": start + rng.lognormal(1.0, 0.7)} for start in starts]
    people = [
        {"node": name, "batch": each, "rack": f"r{i // 20}"}
        for i, (name, each) in enumerate(zip(NAMES, batch, strict=True))
    ]
    return make_log(sorted(rows, key=lambda row: row["start"]), people, window=(0.0, HOURS)), batch, rates


@pytest.mark.parametrize("at", ["now", "long run"])
def test_a_job_on_nodes_of_one_batch_fails_at_the_rate_of_that_batch(at: str) -> None:
    """All nodes were shrunk to one mean: hazards of A were 26 % too high, of B 26 % too low."""
    errors: dict[str, list[float]] = {"A": [], "B": [], "all": []}
    for seed in range(4):
        log, batch, rates = batches(seed)
        model = rf.fleet_model(log, "all", at=at)
        for name, error in errors.items():
            nodes = np.flatnonzero((batch == name) | (name == "all"))
            nodes = nodes[model.standing.up[nodes]][::4]
            answer = model.system(NAMES[nodes].tolist()).interval("reliability", "12h", n_draws=199)
            assert answer.low < np.exp(-12.0 * rates[nodes].sum()) < answer.high
            error.append(np.log(-np.log(float(answer.estimate)) / (12.0 * rates[nodes].sum())))
    for error in errors.values():
        assert abs(np.mean(error)) < 0.08


@pytest.mark.parametrize("mean", [0.3, 3.0, 30.0])
@pytest.mark.parametrize(
    "drawn",
    [
        lambda _: np.ones(NODES),
        lambda rng: rng.gamma(2.0, 0.5, NODES),
        lambda rng: rng.lognormal(0.0, 1.5, NODES),
        lambda _: np.where(np.arange(NODES) % 100 == 7, 20.0, 1.0),
    ],
    ids=["equal", "gamma", "heavy tail", "three bad nodes"],
)
def test_where_nodes_differ_by_chance_no_attribute_is_clear(
    drawn: Callable[[np.random.Generator], np.ndarray], mean: float
) -> None:
    rng, clear = np.random.default_rng(0), 0
    for _ in range(200):
        racks = [np.arange(NODES) // size for size in (5, 20)]
        count = rng.poisson(mean * drawn(rng)).astype(float)
        codes = [*racks, rng.integers(2, size=NODES), np.arange(NODES)]
        value, usual = clear_attribute(codes, count, np.full(NODES, count.mean()))
        assert (usual[value < 0] == 1.0).all()
        clear += int((value >= 0).any())
    assert clear <= 8


def test_the_clearest_attribute_is_taken_and_rare_values_are_not_compared() -> None:
    rng = np.random.default_rng(1)
    batch = np.repeat([0, 1, 2, -1], [196, 90, 4, 10])
    count = rng.poisson(np.array([2.0, 6.0, 30.0, 3.0])[batch]).astype(float)
    blurred = np.where(rng.random(NODES) < 0.3, 0, batch.clip(0))
    value, usual = clear_attribute([blurred, batch], count, np.full(NODES, count.mean()))
    assert value.tolist() == np.where(batch == 2, -1, batch).tolist()
    own = [count[batch == each].mean() / count.mean() for each in (0, 1)]
    assert usual[[0, 250]] == pytest.approx(own, rel=0.02)
    assert (usual[batch == 2] == 1.0).all()
    assert (usual[batch == -1] == 1.0).all()


def test_a_batch_that_was_mended_fails_as_the_other_now() -> None:
    rng = np.random.default_rng(2)
    batch, rates = np.arange(NODES) % 2, np.full((NODES, 73), 0.05)
    rates[batch == 1, :45] = 0.25
    now = multiples_by_attribute([batch], rng.poisson(rates).astype(float), np.ones(rates.shape), 10.0)
    assert now == pytest.approx(1.0, abs=0.15)
    until = multiples_by_attribute([batch], rng.poisson(rates[:, :45]).astype(float), np.ones((NODES, 45)), 10.0)
    assert until[:2] == pytest.approx([1 / 3, 5 / 3], rel=0.1)


def test_a_part_without_failures_of_nodes_of_two_batches_is_answered() -> None:
    """20 nodes of two batches over 275 days: nothing failed, so nothing tells the batches apart. It was an IndexError.

    The same holds for a value whose nodes were not there at all.
    """
    people = [{"node": f"n{i:02d}", "batch": "AB"[i % 2]} for i in range(20)]
    rows = [{"node": f"n0{day}", "start": 24.0 * day, "end": 24.0 * day + 4.0} for day in (4, 9)]
    log = make_log(rows, people, window=(0.0, 24.0 * 300))
    quiet = log.between(at(24.0 * 25), at(24.0 * 300))
    least = 20 * 275 * 24 / -np.log(0.05)  # of the mean time between failures of a node, at 95 % confidence
    for when in ("now", "long run"):
        assert f"{least:.1f} h" in str(rf.calibrate(quiet, at=when))
    with pytest.raises(rf.DataError, match="nothing failed"):
        rf.system_from_log(quiet)
    expected = np.repeat([1.0, 0.0], [200, 100])
    value, usual = clear_attribute([np.repeat([0, 1, 2], 100)], expected, expected)
    assert set(value) == {-1}
    assert set(usual) == {1.0}
