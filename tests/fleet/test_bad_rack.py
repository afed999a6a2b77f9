"""A rack that goes bad is seen in the rates of its nodes and of jobs on them; the truth is set in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.fleet.prediction import multiples_now
from tests.factories import make_log

NODES, RACK, DAYS, BAD = 400, 20, 800, 60
A_YEAR = 2.0  # failures of a usual node


def fleet(seed: int, factor: float) -> rf.FailureLog:
    """Twenty racks; the eighth fails so many times as often in the last two months."""
    rng = np.random.default_rng(seed)
    rate, end = A_YEAR / 8766.0, 24.0 * DAYS
    starts = [(i, t) for i in range(NODES) for t in rng.uniform(0.0, end, rng.poisson(rate * end))]
    more = rng.poisson((factor - 1.0) * rate * 24.0 * BAD, RACK)
    starts += [(7 * RACK + i, t) for i, n in enumerate(more) for t in rng.uniform(end - 24.0 * BAD, end, n)]
    rows = [
        {"node": f"a{i:03d}", "start": t, "end": t + 1.0, "cause": "hardware"}
        for i, t in sorted(starts, key=lambda one: one[1])
    ]
    nodes = [{"node": f"a{i:03d}", "rack": f"r{i // RACK:02d}"} for i in range(NODES)]
    return make_log(rows, nodes, window=(0.0, end))


@pytest.mark.slow
def test_the_nodes_of_a_bad_rack_and_a_job_on_them() -> None:
    """Before, the mean factor was 1.0 to 1.4 and the job ran through with 0.84 to 0.9; both limits missed the truth."""
    names = [f"a{i:03d}" for i in range(7 * RACK, 8 * RACK)]
    factor = 6.0
    true = factor / ((NODES - RACK + factor * RACK) / NODES)
    held, checked, through, jobs = [], [], [], 0
    for seed in range(4):
        model = rf.fleet_model(fleet(seed, factor))
        now = model.nodes_now().set_index("node")
        rack, others = now.loc[names], now.drop(index=names)
        held.append(rack["factor_low"].le(true).mul(rack["factor_high"].ge(true)).mean())
        checked.append(rack["check"].mean())
        assert others["check"].sum() <= 1
        of_rack = model.system(names).interval("reliability", "24h", n_draws=200)
        through.append(float(of_rack.estimate))
        jobs += bool(of_rack.low <= np.exp(-24.0 / 8766.0 * RACK * A_YEAR * factor) <= of_rack.high)
    assert np.mean(held) > 0.7
    assert np.mean(checked) > 0.5
    assert np.mean(through) < 0.72
    assert jobs >= 2


def test_equal_racks_and_one_bad_node_change_nothing() -> None:
    rng, rack = np.random.default_rng(1), np.repeat(np.arange(20), 20)
    counts = rng.poisson(0.06, (400, 80)).astype(float)
    alone, with_racks = (
        multiples_now(counts, np.ones_like(counts), 10.0, attributes=codes).rate for codes in ((), (rack,))
    )
    np.testing.assert_allclose(with_racks, alone, atol=0.05)
    counts[150, -6:] += 2.0  # a node that fails twelve more times in two months
    rates = multiples_now(counts, np.ones_like(counts), 10.0, attributes=(rack,)).rate
    beside = np.delete(np.arange(140, 160), 10)
    assert rates[150] > 10.0
    assert (rates[beside] < 1.3 * rates[:140].mean()).all()


def test_a_value_of_few_nodes_is_not_followed() -> None:
    """Serial numbers are no racks."""
    counts = np.random.default_rng(2).poisson(0.2, (60, 40)).astype(float)
    plain, serial = (
        multiples_now(counts, np.ones_like(counts), 10.0, attributes=codes).weight for codes in ((), (np.arange(60),))
    )
    np.testing.assert_array_equal(serial, plain)
