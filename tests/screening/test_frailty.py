"""Weibull renewals with frailty: against direct integration, and on fleets of known truth in steady state."""

from __future__ import annotations

from dataclasses import replace
from math import gamma

import numpy as np
import pytest
from scipy import integrate, stats

from relfit.analyses.screening import frailty
from relfit.analyses.screening.equal_nodes import _scores, equal_nodes_p
from relfit.analyses.screening.frailty import RenewalModels, renewal_models
from relfit.log.lifedata import LifeData


def steady(rng, nodes: int, shape: float, mean: float, window: float, frailty) -> LifeData:
    """Gaps of nodes that have run for twenty mean lives before the window opens."""
    durations, observed, stationary = [], [], []
    for z in frailty:
        scale = mean / gamma(1.0 + 1.0 / shape) * z ** (-1.0 / shape)
        before = 20.0 * scale * gamma(1.0 + 1.0 / shape)
        ends = np.cumsum(scale * rng.weibull(shape, int(60 + 4 * (before + window) / (scale * gamma(1 + 1 / shape)))))
        assert ends[-1] > before + window
        ends = ends[(ends > before) & (ends < before + window)] - before
        durations.append(np.diff(np.concatenate([[0.0], ends, [window]])))
        observed.append(np.arange(ends.size + 1) < ends.size)
        stationary.append(np.arange(ends.size + 1) == 0)
    return LifeData.from_groups(durations, observed, stationary=stationary)


@pytest.mark.parametrize("shape", [0.5, 2.0])
@pytest.mark.slow
def test_identical_nodes_are_equal_and_their_shape_is_found(shape):
    words, low, high = [], 0, 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        found = renewal_models(steady(rng, 150, shape, 3000.0, 8766.0, np.ones(150)))
        words.append(found.description[0])
        low, high = low + (found.shape[0, 0] > shape), high + (found.shape[0, 2] < shape)
    assert words.count("equal") >= 5
    assert low + high <= 2


@pytest.mark.slow
def test_unequal_exponential_nodes_do_not_age_and_equal_ones_of_falling_hazard_do():
    unequal = ageing = 0
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        found = renewal_models(steady(rng, 200, 1.0, 3000.0, 8766.0, rng.gamma(2.0, 0.5, 200)))
        unequal += found.ageing[0] != 0
        found = renewal_models(steady(rng, 200, 0.7, 3000.0, 8766.0, np.ones(200)))
        ageing += found.ageing[0] == -1
    assert unequal <= 1
    assert ageing == 6


def test_five_percent_of_bad_nodes_are_two_classes():
    found = []
    for seed in range(5):
        rng = np.random.default_rng(200 + seed)
        frailty = np.where(np.arange(400) < 20, 5.0, 1.0)
        found.append(renewal_models(steady(rng, 400, 1.0, 3000.0, 8766.0, frailty)))
    assert sum(one.description[0] == "two_classes" for one in found) >= 4
    assert np.median([one.ratio[0] for one in found]) == pytest.approx(5.0, rel=0.15)
    posterior = found[0].rates()
    assert np.sort(np.argsort(posterior)[-20:])[:15].max() < 20


Z = np.exp(np.linspace(-9.0, 3.2, 1500))
"""Frailties for sums over them on the log scale."""


def summed(durations, observed, stationary, shape, scale, k, power=0.0) -> float:
    """The likelihood of one node as a sum over its frailty, times a power of it."""
    life = stats.weibull_min(shape, scale=scale * Z ** (-1.0 / shape))
    value = Z**power * stats.gamma(k, scale=1.0 / k).pdf(Z)
    for x, ended, under_way in zip(durations, observed, stationary, strict=True):
        if not under_way:
            value = value * (life.pdf(x) if ended else life.sf(x))
            continue
        if ended:
            value = value * life.sf(x) / life.mean()
            continue
        later = x * np.exp(np.linspace(0.0, 9.0, 1500))[:, None]
        value = value * integrate.trapezoid(life.sf(later), later, axis=0) / life.mean()
    return integrate.trapezoid(value * Z, np.log(Z))


@pytest.mark.slow
def test_the_likelihood_of_a_spread_is_that_of_a_sum_over_frailties():
    rng = np.random.default_rng(5)
    lives = steady(rng, 40, 0.8, 3000.0, 6000.0, rng.gamma(3.0, 1.0 / 3.0, 40))
    found = renewal_models(lives)
    assert isinstance(found, RenewalModels)
    total = 0.0
    for first, last in zip(lives.offsets, lives.offsets[1:], strict=False):
        columns = (lives.durations[first:last], lives.observed[first:last], lives.stationary[first:last])
        total += np.log(summed(*columns, found.shape[0, 1], found.scale[0, 1], 1.0 / found.variance[0, 1]))
    assert found.loglik["spread"][0] == pytest.approx(total, abs=1e-3)
    assert (~lives.observed & lives.stationary).any()  # some never failed


def test_the_posterior_of_a_node_that_never_failed_is_that_of_a_sum_over_frailties():
    rng = np.random.default_rng(5)
    lives = steady(rng, 40, 0.8, 3000.0, 6000.0, rng.gamma(3.0, 1.0 / 3.0, 40))
    found = renewal_models(lives)
    node = int(np.flatnonzero(np.diff(lives.offsets) == 1)[0])
    x = lives.durations[lives.offsets[node]]
    columns = ([x], [False], [True], found.shape[0, 1], found.scale[0, 1], 1.0 / found.variance[0, 1])
    a, b = found.posterior[node]
    assert a / b == pytest.approx(summed(*columns, 1.0) / summed(*columns), rel=1e-4)


def test_few_failures_take_a_constant_rate_and_none_says_so():
    lives = LifeData.from_groups([[100.0, 200.0], [300.0], [50.0]], [[True, False], [False], [False]])
    found = renewal_models(lives, [0, 0, 1])
    assert found.status.tolist() == ["few", "none"]
    assert found.shape[0, 1] == 1.0
    assert np.isnan(found.shape[0, 0])
    assert found.scale[0, 1] == pytest.approx(600.0)
    assert found.rates()[0] == pytest.approx(1.0 / 600.0)
    assert found.rates()[2] == 0.0
    assert found.ageing.tolist() == [0, 0]


@pytest.mark.parametrize("sigma", [1.0, 1.5])
@pytest.mark.slow
def test_equal_nodes_of_lognormal_times_are_equal(sigma: float) -> None:
    """By likelihood of Weibull renewals nearly all such logs are of two classes of nodes."""
    unequal = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        gaps = np.cumsum(rng.lognormal(-0.5 * sigma**2, sigma, (120, 400)) * 1000.0, axis=1)
        ends = [(row[(row > 2e4) & (row < 2.9e4)] - 2e4) for row in gaps]
        lives = LifeData.from_groups(
            [np.diff(np.concatenate([[0.0], row, [9000.0]])) for row in ends],
            [np.arange(row.size + 1) < row.size for row in ends],
            stationary=[np.arange(row.size + 1) == 0 for row in ends],
        )
        found = renewal_models(lives)
        unequal += found.description[0] != "equal"
        assert found.description[0] != "equal" or np.ptp(found.rates()) < 1e-12
    assert unequal <= 1


def test_of_a_large_fleet_some_nodes_are_fitted_and_every_node_is_told_apart(monkeypatch):
    rng = np.random.default_rng(7)
    rate = rng.gamma(2.0, 0.5, 400)
    lives = steady(rng, 400, 0.8, 2000.0, 8766.0, rate)
    every = renewal_models(lives)
    monkeypatch.setattr("relfit.analyses.screening.frailty._MOST_LIVES", lives.durations.size // 2)
    some = renewal_models(lives)
    assert every.shape[0, 0] < some.shape[0, 1] < every.shape[0, 2]
    assert np.diff(some.shape[0, [0, 2]]) > 1.1 * np.diff(every.shape[0, [0, 2]])
    assert some.failures[0] == every.failures[0]
    assert np.corrcoef(some.rates(), every.rates())[0, 1] > 0.99
    one = LifeData.from_array(rng.weibull(0.8, (1, lives.durations.size)) * 2000.0)  # a single place is never left out
    assert 0.75 < renewal_models(one).shape[0, 1] < 0.85


def test_rates_that_differ_widely_are_no_chance_at_five_failures_a_node() -> None:
    """Pooled, such lives have a heavy tail, and counts of equal nodes of a heavy tail scatter as much."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        mean = 2000.0 / rng.gamma(2.0, 0.5, 128).clip(0.01)
        ends = [np.cumsum(rng.standard_exponential(400) * one) for one in mean]
        ends = [row[row < 9000.0] for row in ends]
        lives = LifeData.from_groups(
            [np.diff(np.concatenate([[0.0], row, [9000.0]])) for row in ends],
            [np.arange(row.size + 1) < row.size for row in ends],
            stationary=[np.arange(row.size + 1) == 0 for row in ends],
        )
        assert renewal_models(lives, n_resamples=199).p[0] <= 0.01


def test_random_logs_tell_equal_nodes_from_unequal_ones() -> None:
    rng = np.random.default_rng(1)
    assert equal_nodes_p(LifeData.from_array(rng.standard_exponential((50, 20))), 99, rng) > 0.05
    rates = np.where(np.arange(50) < 5, 5.0, 1.0)[:, None]
    ends = np.cumsum(rng.standard_exponential((50, 200)) / rates, axis=1)
    gaps = [np.diff(row[row < 20.0], prepend=0.0) for row in ends]
    assert equal_nodes_p(LifeData.from_groups(gaps), 99, rng) == 0.01


def test_frailties_that_hardly_vary_have_the_likelihood_of_equal_nodes():
    rng = np.random.default_rng(5)
    lives = steady(rng, 20, 0.8, 3000.0, 6000.0, np.ones(20))
    data = frailty._Lives.of(lives, np.zeros(20, np.int64), 1)
    for variance, apart in ((1e-6, 1e-4), (0.9e-7, 2e-5), (1e-12, 1e-5)):
        free = np.array([[[np.log(0.8), 0.1, np.log(variance), 0.0]]])
        spread, equal = (data.loglik(name, free) for name in ("spread", "equal"))
        np.testing.assert_allclose(spread, equal, atol=apart)


def test_a_shape_without_an_interval_says_nothing_of_ageing() -> None:
    """Ten failures of ten nodes had a shape of 6.42, "nan to nan"."""
    rng = np.random.default_rng(5)
    found = renewal_models(steady(rng, 40, 0.8, 3000.0, 6000.0, np.ones(40)))
    assert "Weibull shape" in found.headline
    found = replace(found, shape=np.array([[np.nan, 6.42, np.nan]]))
    assert found.headline == f"{found.failures[0]} failures are too few to distinguish ageing from unequal nodes."


def test_a_node_with_too_few_failures_is_no_deviance() -> None:
    """Of ten failures half a one is expected of the first node; it has none."""
    counts, spent = np.array([[0.0, 10.0]]), np.array([[0.5, 9.5]])
    scatter = (0.5**2 - 0.0 + 0.5**2 - 10.0) / 10.0
    assert _scores(counts, spent)[0] == pytest.approx([scatter, 10.0 * np.log(10.0 / 9.5) - 0.5])
