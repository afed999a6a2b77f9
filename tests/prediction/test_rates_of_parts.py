"""Multiples of nodes against simulated ones: ailing nodes are named and released soon, equal ones stay near one."""

from __future__ import annotations

import numpy as np
import pytest

from relfit.fleet.prediction import relative_rates

NODES, DAYS = 20, 10.0  # in a step


def fleet(steps: int, rng: np.random.Generator, each: float = 0.5, **ailing) -> np.ndarray:
    """Poisson counts of nodes in steps of ten days; node 7 fails ten times as often in steps ``since`` to ``until``."""
    rates = np.full((NODES, steps), each)
    if ailing:
        rates[7, ailing["since"] : ailing.get("until")] *= ailing.get("times", 10.0)
    return rng.poisson(rates).astype(float)


def now(counts: np.ndarray):
    return relative_rates(counts, np.ones(counts.shape), DAYS)


def multiples(rates, size: int, rng: np.random.Generator) -> np.ndarray:
    """Random multiples, gamma distributed as the forecast takes them, shape (size, parts)."""
    return rng.gamma(rates.shape, size=(size, rates.rate.size)) * (rates.rate / rates.shape)


def test_equal_nodes_stay_near_one():
    for seed in range(5):
        rates = now(fleet(70, np.random.default_rng(seed)))
        assert rates.rate == pytest.approx(np.ones(NODES), abs=0.2)
        assert rates.rate.mean() == pytest.approx(1.0, abs=0.01)
        assert rates.scatter < 1.15
    # their own counts, taken as they are, scatter more
    counts = [fleet(70, np.random.default_rng(seed)) for seed in range(5)]
    own = np.mean([np.std(each.sum(axis=1) / each.sum(axis=1).mean()) for each in counts])
    assert own > 2.0 * np.mean([np.std(now(each).rate) for each in counts])


def test_a_node_that_ails_is_named_within_weeks():
    for seed in range(5):
        rates = now(fleet(70, np.random.default_rng(seed), since=65))  # for fifty days
        assert rates.rate.argmax() == 7
        assert rates.rate[7] > 2.4
        assert np.delete(rates.rate, 7).max() < 1.7


def test_a_node_is_released_after_its_repair():
    for seed in range(5):
        counts = fleet(80, np.random.default_rng(seed), since=20, until=62)  # well for half a year since
        rates = now(counts)
        lifetime = counts[7].sum() / counts.sum(axis=1).mean()
        assert lifetime > 4.0
        assert rates.rate[7] < 0.45 * lifetime


def test_nodes_that_always_differed_keep_their_rates():
    rng = np.random.default_rng(1)
    multiple = rng.gamma(2.0, 0.5, NODES)
    rates = now(rng.poisson(np.repeat(multiple[:, None], 80, axis=1)).astype(float))
    assert np.corrcoef(rates.rate, multiple)[0, 1] > 0.97


def test_half_the_exposure_is_twice_the_rate():
    rng = np.random.default_rng(2)
    exposure = np.ones((NODES, 90))
    exposure[:10] = 0.5
    rates = relative_rates(rng.poisson(np.full((NODES, 90), 2.0)).astype(float), exposure, DAYS)
    assert rates.rate[:10].mean() / rates.rate[10:].mean() == pytest.approx(2.0, rel=0.1)


def test_draws_have_the_mean_and_the_spread():
    rates = now(fleet(70, np.random.default_rng(3), since=60))
    drawn = multiples(rates, 40_000, np.random.default_rng(4))
    np.testing.assert_allclose(drawn.mean(axis=0), rates.rate, rtol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), rates.rate**2 / rates.shape, rtol=0.1)


def test_limits_of_multiples_hold_them():
    rng = np.random.default_rng(5)
    multiple = rng.gamma(2.0, 0.5, 400)
    rates = relative_rates(rng.poisson(0.4 * np.repeat(multiple[:, None], 60, axis=1)) * 1.0, np.ones((400, 60)), DAYS)
    low, high = np.quantile(multiples(rates, 4000, rng), [0.05, 0.95], axis=0)
    assert 0.84 < np.mean((low <= multiple / multiple.mean()) & (multiple / multiple.mean() <= high)) <= 1.0


def test_parts_that_fail_in_bursts_have_scatter():
    rng = np.random.default_rng(6)
    bursts = rng.negative_binomial(0.5, 0.2, (50, 100)).astype(float)  # variance five times the mean
    assert 2.5 < now(bursts).scatter < 8.0


def test_a_part_never_seen_and_a_whole_without_events():
    rates = relative_rates(np.zeros((3, 20)), np.ones((3, 20)), DAYS)
    assert rates.rate == pytest.approx(np.ones(3))
    one = relative_rates(np.ones((1, 30)), np.ones((1, 30)), DAYS)
    assert one.rate == pytest.approx([1.0], abs=0.01)


def test_failures_in_a_step_without_exposure_leave_all_rates_finite():
    """As of a node that left at the instant of its failure."""
    counts, exposure = fleet(70, np.random.default_rng(1)), np.ones((NODES, 70))
    counts[3, 40], exposure[3, 40] = 1.0, 0.0
    rates = relative_rates(counts, exposure, DAYS)
    assert rates.rate == pytest.approx(now(counts).rate, rel=0.1)
