"""Further families against SciPy, and against families that they contain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from relfit.fitting.families import (
    BirnbaumSaunders,
    Exponential,
    Gamma,
    GeneralisedGamma,
    Gompertz,
    Hyperexponential2,
    Hyperexponential3,
    InverseGaussian,
    LimitedFailure,
    Loglogistic,
    Lognormal,
    Weibull,
    Weibull3,
    WeibullMixture,
    ZeroInflated,
)

P = np.array([1e-9, 1e-3, 0.2, 0.5, 0.8, 0.999, 1 - 1e-6])
CASES = [
    (Loglogistic(2.5, 300.0), stats.fisk(2.5, scale=300)),
    (Loglogistic(9.0, 1e-3), stats.fisk(9.0, scale=1e-3)),
    (GeneralisedGamma(5.0, 0.8, 0.6), stats.gengamma(0.6**-2, 0.6 / 0.8, scale=np.exp(5.0) * 0.6 ** (2 * 0.8 / 0.6))),
    (
        GeneralisedGamma(-2.0, 0.3, -1.4),
        stats.gengamma(1.4**-2, -1.4 / 0.3, scale=np.exp(-2) * 1.4 ** (-2 * 0.3 / 1.4)),
    ),
    (InverseGaussian(370.0, 95.0), stats.invgauss(370 / 95, scale=95)),
    (InverseGaussian(2.0, 60.0), stats.invgauss(2 / 60, scale=60)),
    (BirnbaumSaunders(1.1, 150.0), stats.fatiguelife(1.1, scale=150)),
    (BirnbaumSaunders(0.05, 7.0), stats.fatiguelife(0.05, scale=7)),
    (Gompertz(2e-3, 4e-2), stats.gompertz(0.05, scale=25)),
    (Gompertz(7.0, 0.5), stats.gompertz(14.0, scale=2)),
    (Weibull3(1.7, 200.0, 40.0), stats.weibull_min(1.7, loc=40, scale=200)),
]
IDS = [repr(case[0]) for case in CASES]


@pytest.mark.parametrize(("family", "reference"), CASES, ids=IDS)
def test_functions_agree_with_scipy(family, reference):
    t = reference.ppf(P)
    np.testing.assert_allclose(family.quantile(P), t, rtol=1e-8)
    values = {"sf": family.sf(t), "cdf": family.cdf(t), "pdf": family.pdf(t)}
    for name, value in values.items():
        np.testing.assert_allclose(value, getattr(reference, name)(t), rtol=2e-7, err_msg=name)
    np.testing.assert_allclose(family.log_pdf(t), reference.logpdf(t), rtol=1e-7)
    np.testing.assert_allclose(family.log_cdf(t), reference.logcdf(t), rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(family.mean(), reference.mean(), rtol=1e-9)


HYPER = [
    (Hyperexponential2(0.3, 0.1, 0.002), [0.3, 0.7], [stats.expon(scale=10), stats.expon(scale=500)]),
    (
        Hyperexponential3(0.2, 0.3, 0.5, 0.02, 0.001),
        [0.2, 0.3, 0.5],
        [stats.expon(scale=2), stats.expon(scale=50), stats.expon(scale=1000)],
    ),
    (
        WeibullMixture(0.1, 0.6, 50.0, 3.0, 9000.0),
        [0.1, 0.9],
        [stats.weibull_min(0.6, scale=50), stats.weibull_min(3, scale=9000)],
    ),
]


@pytest.mark.parametrize(("family", "weights", "parts"), HYPER, ids=lambda v: getattr(v, "name", ""))
def test_mixtures_are_weighted_sums(family, weights, parts):
    t = np.array([1e-3, 0.5, 20.0, 700.0, 5000.0, 12000.0])
    for name in ("sf", "cdf", "pdf"):
        reference = sum(w * getattr(part, name)(t) for w, part in zip(weights, parts, strict=True))
        np.testing.assert_allclose(getattr(family, name)(t), reference, rtol=1e-12, err_msg=name)
    mean = sum(w * part.mean() for w, part in zip(weights, parts, strict=True))
    assert family.mean() == pytest.approx(mean, rel=1e-14)


T = np.array([1e-3, 5.0, 80.0, 600.0, 4e3, 9e4])


@pytest.mark.parametrize(
    ("general", "special"),
    [
        (GeneralisedGamma(6.0, 0.7, 0.0), Lognormal(6.0, 0.7)),
        (GeneralisedGamma(6.0, 0.7, 1e-14), Lognormal(6.0, 0.7)),
        (GeneralisedGamma(6.0, 0.7, -1e-14), Lognormal(6.0, 0.7)),
        (GeneralisedGamma(6.0, 0.7, 1.0), Weibull(1 / 0.7, np.exp(6.0))),
        (GeneralisedGamma(6.0, 0.7, 0.7), Gamma(0.7**-2, np.exp(6.0) * 0.7**2)),
        (GeneralisedGamma(6.0, 0.002, 0.002), Gamma(0.002**-2, np.exp(6.0) * 0.002**2)),
        (GeneralisedGamma(6.0, 1.0, 1.0), Exponential(np.exp(-6.0))),
        (Hyperexponential2(0.3, 0.01, 0.01), Exponential(0.01)),
        (Hyperexponential3(0.3, 0.5, 0.01, 0.01, 0.01), Exponential(0.01)),
        (WeibullMixture(0.2, 1.5, 90.0, 1.5, 90.0), Weibull(1.5, 90.0)),
        (Gompertz(0.01, 1e-18), Exponential(0.01)),
        (Gompertz(0.01, 1e-9), Exponential(0.01)),
    ],
    ids=repr,
)
def test_families_contain_others(general, special):
    rough = 1e-4 if isinstance(general, Gompertz) and general.growth == 1e-9 else 1e-10
    t = T[T < 300] if isinstance(special, (Weibull, Exponential)) else T
    for name in ("log_sf", "log_cdf", "log_pdf"):
        np.testing.assert_allclose(getattr(general, name)(t), getattr(special, name)(t), rtol=rough, err_msg=name)
    np.testing.assert_allclose(general.quantile(P), special.quantile(P), rtol=rough)
    np.testing.assert_allclose(general.mean(), special.mean(), rtol=max(rough, 1e-12))


def test_generalised_gamma_does_not_jump_on_the_way_to_the_lognormal():
    q = np.concatenate([np.geomspace(0.01, 1e-25, 400), [1e-29, 1e-31, 0.0]])[:, None]
    t = np.exp(5.0 + np.array([-4.0, -1.5, 0.2, 2.0, 5.0]))
    middle = Lognormal(5.0, 1.0)
    for name in ("log_sf", "log_cdf", "log_pdf"):
        limit = getattr(middle, name)(t)
        plus, minus = (getattr(GeneralisedGamma(5.0, 1.0, side * q), name)(t) for side in (1.0, -1.0))
        # the odd part falls like q, the even part like its square; a jump or lost digits would stand out
        odd, even = 0.5 * (plus - minus), 0.5 * (plus + minus) - limit
        noise = 1e-13 * np.abs(limit)
        assert (np.abs(odd - odd[0] * q / q[0]) <= 0.1 * np.abs(odd[0]) * q / q[0] + noise).all(), name
        assert (np.abs(even) <= 1.1 * np.abs(even[0]) * (q / q[0]) ** 2 + noise).all(), name


def test_limited_failure():
    family = LimitedFailure(0.2, 0.8, 100.0)
    weibull = Weibull(0.8, 100.0)
    np.testing.assert_allclose(family.cdf(T), 0.2 * weibull.cdf(T), rtol=1e-12)
    np.testing.assert_allclose(family.pdf(T[:4]), 0.2 * weibull.pdf(T[:4]), rtol=1e-12)
    assert family.sf(np.inf) == pytest.approx(0.8)
    assert family.mean() == np.inf
    assert family.quantile([0.1, 0.2, 0.3]).tolist() == [pytest.approx(weibull.quantile(0.5)), np.inf, np.inf]
    sample = family.sample(4000, rng=3)
    assert np.isinf(sample).mean() == pytest.approx(0.8, abs=0.02)
    assert stats.kstest(sample[np.isfinite(sample)], weibull.cdf).pvalue > 1e-3
    assert family.mean_residual_life(50.0) == np.inf
    # in old age, a node that still lives is most likely one that never fails
    assert family.sf(1e6, 1e5) == pytest.approx(1.0)


def test_zero_inflated():
    family = ZeroInflated(0.4, 1.3, 100.0)
    weibull = Weibull(1.3, 100.0)
    np.testing.assert_allclose(family.sf(T), 0.6 * weibull.sf(T), rtol=1e-12)
    np.testing.assert_allclose(family.cdf([-1.0, 0.0, 50.0]), [0.0, 0.4, 0.4 + 0.6 * weibull.cdf(50.0)], rtol=1e-12)
    assert family.pdf(0.0) == pytest.approx(0.4)
    assert family.mean() == pytest.approx(0.6 * weibull.mean())
    sample = family.sample(4000, rng=4)
    assert (sample == 0.0).mean() == pytest.approx(0.4, abs=0.03)
    assert stats.kstest(sample[sample > 0.0], weibull.cdf).pvalue > 1e-3
    # a node that works has a Weibull life
    assert family.mean_residual_life(0.0) == pytest.approx(weibull.mean(), rel=1e-6)
    assert stats.kstest(family.excess_sample(0.0, 4000, rng=5), weibull.cdf).pvalue > 1e-3


def test_means_that_are_infinite():
    assert Loglogistic([0.5, 1.0, 1.001], 10.0).mean().tolist() == [np.inf, np.inf, pytest.approx(10010.0, rel=1e-3)]
    assert GeneralisedGamma(0.0, [2.0, 1.0, 0.99], -1.0).mean()[:2].tolist() == [np.inf, np.inf]
    assert GeneralisedGamma(0.0, 0.5, -1.0).mean() == pytest.approx(np.sqrt(np.pi))  # Frechet of shape 2


def test_weibull3_starts_below_the_earliest_life():
    sample = Weibull3(1.5, 100.0, 60.0).sample(500, rng=6)
    shape, scale, threshold = Weibull3.start(np.log(sample).mean(), np.log(sample).std(), sample.min())
    assert 0 < threshold < sample.min()
    assert np.isfinite(Weibull3(shape, scale, threshold).log_pdf(sample)).all()
