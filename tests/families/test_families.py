"""The contract that every family keeps, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from relfit.base.errors import ArgumentError
from relfit.fitting.families import FAMILIES, Exponential, Gamma, Lognormal, Weibull, family_named
from relfit.fitting.families.rescaled import Rescaled, with_mean

CASES = [
    (Exponential(0.01), stats.expon(scale=100)),
    (Weibull(0.05, 100.0), stats.weibull_min(0.05, scale=100)),
    (Weibull(0.8606, 1542.0), stats.weibull_min(0.8606, scale=1542)),
    (Weibull(20.0, 3.0), stats.weibull_min(20.0, scale=3)),
    (Gamma(0.3, 80.0), stats.gamma(0.3, scale=80)),
    (Gamma(60.0, 8.0), stats.gamma(60.0, scale=8)),
    (Lognormal(3.0, 1.2), stats.lognorm(1.2, scale=np.exp(3))),
    (Lognormal(-5.0, 0.1), stats.lognorm(0.1, scale=np.exp(-5))),
]
IDS = [repr(case[0]) for case in CASES]
P = np.array([1e-9, 1e-3, 0.2, 0.5, 0.8, 0.999, 1 - 1e-9])


@pytest.mark.parametrize(("family", "reference"), CASES, ids=IDS)
def test_functions_agree_with_scipy(family, reference):
    t = reference.ppf(P)
    np.testing.assert_allclose(family.quantile(P), t, rtol=1e-9)
    for name in ("sf", "cdf", "pdf"):
        np.testing.assert_allclose(getattr(family, name)(t), getattr(reference, name)(t), rtol=1e-8, err_msg=name)
    np.testing.assert_allclose(family.log_sf(t), reference.logsf(t), rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(family.log_pdf(t), reference.logpdf(t), rtol=1e-8)
    np.testing.assert_allclose(family.hazard(t), reference.pdf(t) / reference.sf(t), rtol=1e-7)
    np.testing.assert_allclose(family.cumulative_hazard(t), -reference.logsf(t), rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(family.mean(), reference.mean(), rtol=1e-10)
    np.testing.assert_allclose(family.median(), reference.median(), rtol=1e-10)


@pytest.mark.parametrize(("family", "reference"), CASES, ids=IDS)
def test_edges_of_the_line(family, reference):
    assert family.sf(-1.0) == 1.0
    assert family.pdf(-1.0) == 0.0
    assert family.sf(0.0) == 1.0
    assert family.quantile(0.0) == 0.0
    assert family.quantile(1.0) == np.inf


@pytest.mark.parametrize(("family", "reference"), CASES, ids=IDS)
def test_samples_follow_the_distribution_and_the_seed(family, reference):
    sample = family.sample(4000, rng=1)
    np.testing.assert_array_equal(sample, family.sample(4000, rng=1))
    assert stats.kstest(sample, reference.cdf).pvalue > 1e-3


@pytest.mark.parametrize(("family", "reference"), CASES, ids=IDS)
def test_life_left_at_an_age(family, reference):
    age = reference.ppf(0.4)
    more = reference.ppf(0.7) - age
    assert family.sf(more, age) == pytest.approx(0.3 / 0.6, rel=1e-9)
    left = family.excess_sample(age, 4000, rng=2)
    assert stats.kstest(left, lambda x: 1 - reference.sf(age + x) / reference.sf(age)).pvalue > 1e-3
    # mean life left = integral of the conditional survival function, in log time for the long tails
    upper = np.log(max(reference.isf(1e-40) - age, 1e-9))
    value, _ = integrate.quad(
        lambda v: np.exp(v) * reference.sf(age + np.exp(v)) / reference.sf(age), upper - 60, upper, limit=2000
    )
    assert family.mean_residual_life(age) == pytest.approx(value, rel=2e-4)
    assert family.mean_residual_life(0.0) == pytest.approx(reference.mean(), rel=1e-6)


def test_batches_broadcast():
    batch = Weibull([0.5, 1.0, 2.0], 100.0)
    assert batch.batch_shape == (3,)
    assert batch.sf(np.array([[10.0], [200.0]])).shape == (2, 3)
    assert batch.sample((5, 2), rng=0).shape == (5, 2, 3)
    assert batch[1].sf(50.0) == pytest.approx(np.exp(-0.5))


def test_a_group_without_a_fit_is_nan_throughout():
    batch = Gamma([np.nan, 2.0], [np.nan, 5.0])
    assert np.isnan(batch.sf(3.0)).tolist() == [True, False]
    assert np.isnan(batch.mean()).tolist() == [True, False]


def test_the_far_tail_does_not_underflow():
    assert Gamma(0.5, 1.0).log_sf(1e4) == pytest.approx(-1e4 - 0.5 * np.log(1e4) - 0.5 * np.log(np.pi), rel=1e-6)
    assert Lognormal(0.0, 0.01).log_sf(10.0) < -2e4


@pytest.mark.parametrize("name", FAMILIES)
def test_impossible_parameters_are_rejected(name):
    count = len(FAMILIES[name].parameter_names())
    with pytest.raises(ArgumentError, match="finite"):
        FAMILIES[name](*[-1.0] * count)
    good = [0.25 if domain == "fraction" else 1.0 for domain in FAMILIES[name].domains]
    for i in range(count):
        bad = [[value, np.inf if j == i else value] for j, value in enumerate(good)]
        with pytest.raises(
            ArgumentError, match=f"{FAMILIES[name].parameter_names()[i]} of {name} is inf at position 1"
        ):
            FAMILIES[name](*bad)


def test_probabilities_outside_are_rejected():
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        Exponential(1.0).quantile(1.1)


def test_names():
    assert family_named("Weibull") is Weibull
    with pytest.raises(ArgumentError, match="did you mean lognormal"):
        family_named("log-normal")


def test_distributions_with_another_mean():
    times = Rescaled("repair", Lognormal(1.0, 1.2), 8.0)
    assert float(times.mean()) == pytest.approx(8.0)
    assert round(float(times.quantile(0.9) / times.quantile(0.5)), 3) == 4.655
    assert with_mean("failure", Weibull(0.7, 1000.0), 2000.0).mean() == pytest.approx(2000.0)
