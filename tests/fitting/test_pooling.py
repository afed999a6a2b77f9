"""Empirical Bayes: pooled nodes are closer to the truth than nodes alone, and their limits cover."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special

import relfit as rf
from relfit.fitting import PooledFit

NODES, WINDOW = 500, 3000.0


def made_fleet(seed: int) -> tuple[rf.LifeData, np.ndarray, np.ndarray]:
    """Nodes with shapes and scales of their own, renewed at each failure, between no failure and a dozen each."""
    rng = np.random.default_rng(seed)
    shape = np.exp(rng.normal(np.log(0.8), 0.15, NODES))
    scale = np.exp(rng.normal(np.log(1000.0), 0.5, NODES))
    life = scale[:, None] * rng.weibull(shape[:, None], (NODES, 120))
    end = life.cumsum(axis=1)
    before = np.concatenate([np.zeros((NODES, 1)), end[:, :-1]], axis=1)
    kept = before < WINDOW
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    lives = rf.LifeData(
        np.where(end <= WINDOW, life, WINDOW - before)[kept],
        (end <= WINDOW)[kept],
        offsets,
        pd.RangeIndex(NODES, name="node"),
    )
    return lives, shape, scale


@pytest.fixture(scope="module")
def fleet() -> tuple[rf.LifeData, np.ndarray, np.ndarray]:
    return made_fleet(1)


@pytest.fixture(scope="module")
def pooled(fleet) -> PooledFit:
    found = rf.fit(fleet[0], "weibull").pool("weibull")
    assert found.converged
    return found


@pytest.mark.slow
def test_pooled_estimates_are_closer_to_the_truth(fleet, pooled):
    _, shape, scale = fleet
    own = np.isfinite(pooled.own).all(axis=1)
    for i, truth in enumerate((shape, scale)):
        alone = np.log(pooled.own[own, i] / truth[own])
        drawn = np.log(pooled.parameter_array[own, i] / truth[own])
        assert np.sqrt(np.mean(drawn**2)) < 0.85 * np.sqrt(np.mean(alone**2))
        assert np.median(np.abs(drawn)) < np.median(np.abs(alone))
    # and closer than the fleet's mean given to every node
    fleet_scale = float(pooled.fleet.scale)
    assert np.mean(np.log(pooled.parameters["scale"] / scale) ** 2) < 0.9 * np.mean(np.log(fleet_scale / scale) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_limits_cover(seed):
    lives, shape, scale = made_fleet(seed)
    frame = rf.fit(lives, "weibull").pool("weibull").to_frame()
    mean = scale * special.gamma(1.0 + 1.0 / shape)
    for name, truth in (("shape", shape), ("scale", scale), ("mean", mean)):
        inside = (frame[f"{name}_low"] <= truth) & (truth <= frame[f"{name}_high"])
        assert 0.92 <= inside.mean() <= 0.98, name


@pytest.mark.slow
def test_draws_spread_as_the_limits_do(fleet, pooled):
    drawn = pooled.draws(2000, rng=1)
    frame = pooled.to_frame()
    low = np.quantile(drawn.shape, 0.025, axis=0)
    np.testing.assert_allclose(np.log(low), np.log(frame["shape_low"]), atol=0.1)


def test_every_node_gets_an_estimate(fleet, pooled):
    lives = fleet[0]
    without = lives.n_failures == 0
    few = lives.n_failures < 2
    assert without.sum() > 5
    assert np.isnan(pooled.own[without]).all()
    assert np.isfinite(pooled.parameter_array).all()
    # a node that has not failed is thought better than the fleet, not equal to it
    assert (pooled.distribution.median()[without] > float(pooled.fleet.median())).all()
    assert pooled.to_frame().loc[few, "shape_own"].isna().any()


def test_shrinkage_falls_with_the_number_of_failures(fleet, pooled):
    failures = fleet[0].n_failures
    assert ((pooled.shrinkage >= 0.0) & (pooled.shrinkage <= 1.0)).all()
    for i in range(2):
        bands = [
            pooled.shrinkage[(failures >= low) & (failures < high), i].mean()
            for low, high in ((0, 2), (2, 4), (4, 8), (8, 1000))
        ]
        assert bands == sorted(bands, reverse=True)
        assert bands[0] > bands[-1] + (0.03, 0.2)[i]


def test_the_fleet_is_found(pooled):
    assert float(pooled.fleet.shape) == pytest.approx(0.8, rel=0.06)
    assert float(pooled.fleet.scale) == pytest.approx(1000.0, rel=0.12)
    assert np.sqrt(pooled.fleet_covariance[1, 1]) == pytest.approx(0.5, rel=0.25)


def test_equal_nodes_are_pooled_almost_entirely():
    rng = np.random.default_rng(4)
    lives = rf.LifeData.from_array(1000.0 * rng.weibull(0.8, (200, 4)))
    found = rf.fit(lives, "weibull").pool()
    assert np.median(found.shrinkage) > 0.8
    whole = rf.fit(lives.pooled(), "weibull")["weibull"]
    assert float(found.fleet.shape) == pytest.approx(whole.parameters["shape"][0], rel=0.08)


@pytest.mark.slow
@pytest.mark.long
def test_nodes_with_many_failures_keep_their_own():
    rng = np.random.default_rng(5)
    scale = np.exp(rng.normal(7.0, 1.0, 30))
    lives = rf.LifeData.from_array(scale[:, None] * rng.weibull(1.2, (30, 400)))
    found = rf.fit(lives, "weibull").pool()
    assert found.shrinkage[:, 1].max() < 0.02
    np.testing.assert_allclose(found.parameters["scale"], found.own[:, 1], rtol=0.06)


@pytest.mark.parametrize("family", ["exponential", "gamma", "lognormal"])
def test_other_families(family, fleet):
    part = fleet[0].take(range(60))
    found = rf.fit(part, family).pool(family)
    assert np.isfinite(found.parameter_array).all()
    assert ((found.shrinkage >= 0.0) & (found.shrinkage <= 1.0)).all()
    drawn, frame = found.draws(4000, rng=1), found.to_frame()
    for name in found.parameters:
        low, high = np.quantile(getattr(drawn, name), [0.025, 0.975], axis=0)
        width = frame[f"{name}_high"] - frame[f"{name}_low"]
        assert np.abs((frame[f"{name}_low"] - low) / width).max() < 0.15
        assert np.abs((frame[f"{name}_high"] - high) / width).max() < 0.15


def test_the_unit_of_time_does_not_matter(fleet):
    part = fleet[0].take(range(40))
    days = rf.LifeData(part.durations / 24.0, part.observed, part.offsets, part.groups)
    one, other = rf.fit(part, "weibull").pool(), rf.fit(days, "weibull").pool()
    np.testing.assert_allclose(other.parameters["shape"], one.parameters["shape"], rtol=1e-3)
    np.testing.assert_allclose(other.parameters["scale"] * 24.0, one.parameters["scale"], rtol=1e-3)


def test_pooling_needs_three_nodes_that_can_be_fitted():
    with pytest.raises(rf.ArgumentError, match="pooling needs three"):
        rf.fit(rf.LifeData.from_groups([[1.0, 2.0], [3.0], [4.0]])).pool("weibull")


def test_a_node_without_lives_or_with_zeros_stays_without(fleet):
    lives = fleet[0].take(range(20))
    flat = np.concatenate([lives.durations, [0.0, 5.0]])
    seen = np.concatenate([lives.observed, [True, True]])
    offsets = np.concatenate([lives.offsets, [lives.durations.size, flat.size]])
    more = rf.LifeData(flat, seen, offsets, pd.RangeIndex(22, name="node"))
    found = rf.fit(more, "weibull").pool()
    assert np.isfinite(found.parameter_array[:20]).all()
    assert np.isnan(found.parameter_array[20:]).all()


@pytest.mark.parametrize(("hours", "says"), [(800.0, True), (6000.0, False)])
def test_too_few_failures_a_node_are_said(hours, says):
    """Exponential nodes of mean 1,000 h, followed for so long: 0.8 and 6 failures each."""
    rng = np.random.default_rng(1)
    gaps = rng.exponential(1000.0, (40, 30))
    ends = gaps.cumsum(axis=1)
    times = {
        i: np.append(gaps[i][ends[i] <= hours], hours - np.append(0.0, ends[i][ends[i] <= hours])[-1])
        for i in range(40)
    }
    failed = {i: np.arange(len(one)) < len(one) - 1 for i, one in times.items()}
    pooled = rf.fit(rf.LifeData.from_groups(times, failed), "exponential").pool("exponential")
    assert ("rf.fit(lives.pooled())" in pooled.headline) == says
