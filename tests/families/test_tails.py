"""Logs of survival and of failure, far beyond where the probabilities underflow, against mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from relfit.fitting.families import (
    BirnbaumSaunders,
    Gamma,
    GeneralisedGamma,
    Gompertz,
    Hyperexponential3,
    InverseGaussian,
    LimitedFailure,
    Loglogistic,
    WeibullMixture,
    ZeroInflated,
)
from relfit.fitting.families.distribution import normal_quantile_of_hazard
from relfit.fitting.families.log_gamma import excess_exponential, log_gamma_constant, log_gamma_tail

mp.mp.dps = 50


def log_upper_gamma(a, s):
    """Log of the probability that a gamma life exceeds ``a exp(s)``, by its integral, for s above zero."""

    def exponent(y):
        return a * (mp.expm1(s) * mp.expm1(y) + mp.expm1(y) - y)

    width = 60 / (a * mp.expm1(s) + mp.sqrt(30 * a))
    total = mp.quad(lambda y: mp.exp(-exponent(y)), [0, width / 4, width, 3 * width])
    return -a * (mp.expm1(s) - s) + a * mp.log(a) - a - mp.loggamma(a) + mp.log(total)


def close(value, reference, rel=1e-11):
    reference = float(reference)
    assert float(value) == pytest.approx(reference, rel=rel), f"{float(value)!r} against {reference!r}"


@pytest.mark.parametrize("a", [0.02, 0.7, 9.0, 400.0, 9999.0, 10001.0, 1e7, 1e13])
@pytest.mark.parametrize("z", [1e-3, 0.8, 6.0, 38.0, 1400.0])
def test_upper_tail_of_gamma_of_any_shape(a, z):
    s = z / np.sqrt(a)
    if s < 20.0:
        # the argument's own last digit matters, the more the farther out
        slope = a * np.expm1(s) * s * 2e-16
        reference = log_upper_gamma(mp.mpf(a), mp.mpf(s))
        assert float(log_gamma_tail(a, s, True)) == pytest.approx(float(reference), rel=1e-12, abs=slope)


@pytest.mark.parametrize("a", [0.02, 0.7, 9.0, 400.0, 9999.0, 10001.0, 1e6])
@pytest.mark.parametrize("z", [-1e-3, -0.8, -6.0, -36.0, -500.0])
def test_lower_tail_of_gamma_of_any_shape(a, z):
    s = mp.mpf(z / np.sqrt(a))
    x = a * mp.exp(s)
    terms = mp.hyp1f1(1, mp.mpf(a) + 1, x)
    reference = a * mp.log(x) - x - mp.loggamma(mp.mpf(a) + 1) + mp.log(terms)
    close(log_gamma_tail(a, float(s), False), reference, 1e-12)


def test_gamma():
    family = Gamma([0.3, 60.0, 2e6], [100.0, 2.0, 1e-3])
    for t in (1e-200, 1e-9, 3.0, 1500.0, 9000.0, 1e6):
        for i, (shape, scale) in enumerate([(0.3, 100.0), (60.0, 2.0), (2e6, 1e-3)]):
            x = mp.mpf(t) / mp.mpf(scale)
            if shape * 30 > x:
                terms = mp.hyp1f1(1, mp.mpf(shape) + 1, x)
                reference = shape * mp.log(x) - x - mp.loggamma(mp.mpf(shape) + 1) + mp.log(terms)
                # s = log(x / a) has one rounding of its own
                error = abs(shape - float(x)) * 3e-15 * (1 + abs(np.log(t)))
                assert float(family.log_cdf(t)[i]) == pytest.approx(float(reference), rel=1e-12, abs=min(error, 1e-4))
            density = (shape - 1) * mp.log(x) - x - mp.loggamma(mp.mpf(shape)) - mp.log(mp.mpf(scale))
            assert float(family.log_pdf(t)[i]) == pytest.approx(float(density), rel=1e-11, abs=1e-8)


@pytest.mark.slow
def test_generalised_gamma_in_both_tails():
    for mu, sigma, q in [(5.0, 0.7, 0.4), (5.0, 0.7, -0.4), (-2.0, 0.3, 2.5), (1.0, 1.0, 0.003), (0.0, 2.0, -0.011)]:
        family = GeneralisedGamma(mu, sigma, q)
        a = mp.mpf(q) ** -2
        for w in (2.0, 30.0, 150.0):
            t = float(np.exp(mu + sigma * np.copysign(w, q)))
            exact = (mp.log(mp.mpf(t)) - mp.mpf(mu)) / mp.mpf(sigma)
            reference = log_upper_gamma(a, mp.mpf(q) * exact)
            if not np.isfinite(float(reference)) or t == 0.0:
                continue
            rounding = abs(a * q * mp.expm1(q * exact)) * 3e-16 * (1 + abs(mu) + w * sigma) / sigma
            far = family.log_sf(t) if q > 0 else family.log_cdf(t)
            assert float(far) == pytest.approx(float(reference), rel=1e-12, abs=float(rounding))


@pytest.mark.parametrize(("mean", "shape"), [(1.0, 1.0), (100.0, 1e-4), (2.0, 5e5), (1e6, 3.0)])
@pytest.mark.parametrize("t", [1e-9, 1e-3, 0.9, 30.0, 1e4, 3e7, 1e12])
def test_inverse_gaussian(mean, shape, t):
    family = InverseGaussian(mean, shape)
    m, k, x = mp.mpf(mean), mp.mpf(shape), mp.mpf(t)
    with mp.workdps(400):
        root = mp.sqrt(k / x)
        first, second = root * (x / m - 1), root * (x / m + 1)

        def upper(z):
            return mp.erfc(z / mp.sqrt(2)) / 2

        sf = upper(first) - mp.exp(2 * k / m) * upper(second)
        cdf = upper(-first) + mp.exp(2 * k / m) * upper(second)
        log_sf, log_cdf = mp.log(sf) if sf > 0 else None, mp.log(cdf)
    assert log_sf is not None
    rounding = 1e-15 * float(first**2)
    if log_sf > mp.mpf("-1e300"):
        assert float(family.log_sf(t)) == pytest.approx(float(log_sf), rel=3e-13, abs=rounding)
    assert float(family.log_cdf(t)) == pytest.approx(float(log_cdf), rel=3e-13, abs=rounding if cdf < 0.5 else 0.0)
    density = mp.log(k / (2 * mp.pi * x**3)) / 2 - first**2 / 2
    close(family.log_pdf(t), density, 1e-12)


def test_birnbaum_saunders():
    family = BirnbaumSaunders(0.7, 50.0)
    for t in (1e-6, 0.4, 49.0, 3000.0, 3e7):
        z = (mp.sqrt(mp.mpf(t) / 50) - mp.sqrt(50 / mp.mpf(t))) / mp.mpf(0.7)
        close(family.log_sf(t), mp.log(mp.erfc(z / mp.sqrt(2)) / 2) if z > -5 else mp.log1p(-mp.ncdf(z)), 1e-12)
        close(family.log_cdf(t), mp.log(mp.ncdf(z)) if z < 5 else mp.log1p(-mp.erfc(z / mp.sqrt(2)) / 2), 1e-12)


def test_gompertz_and_loglogistic():
    for rate, growth in [(1e-4, 1e-3), (2.0, 1e-9), (1e-30, 0.01)]:
        for t in (1e-300, 1e-4, 3.0, 2e4):
            h = mp.mpf(rate) / mp.mpf(growth) * mp.expm1(mp.mpf(growth) * mp.mpf(t))
            close(Gompertz(rate, growth).log_sf(t), -h, 1e-13)
            close(Gompertz(rate, growth).log_cdf(t), mp.log(-mp.expm1(-h)), 1e-13)
        x = mp.mpf(rate) / mp.mpf(growth)
        close(Gompertz(rate, growth).mean(), mp.expint(1, x) * mp.exp(x) / mp.mpf(growth), 1e-13)
    for t in (1e-200, 20.0, 1e250):
        odds = (mp.mpf(t) / 30) ** mp.mpf(2.5)
        close(Loglogistic(2.5, 30.0).log_sf(t), -mp.log1p(odds), 1e-13)
        close(Loglogistic(2.5, 30.0).log_cdf(t), -mp.log1p(1 / odds), 1e-13)


def test_mixtures_and_populations():
    hyper = Hyperexponential3(0.2, 0.3, 0.5, 0.02, 0.001)
    mixed = WeibullMixture(0.1, 0.6, 50.0, 3.0, 9000.0)
    some, zeros = LimitedFailure(0.2, 1.5, 50.0), ZeroInflated(0.3, 1.5, 50.0)
    for t in (1e-250, 1e-20, 1e-5, 2.0, 1e4, 1e9):
        x = mp.mpf(t)
        rates = [
            (mp.mpf(0.2), mp.mpf(0.5)),
            (mp.mpf(0.3), mp.mpf(0.02)),
            (1 - mp.mpf(0.2) - mp.mpf(0.3), mp.mpf(0.001)),
        ]
        failed, alive = sum(-w * mp.expm1(-r * x) for w, r in rates), sum(w * mp.exp(-r * x) for w, r in rates)
        close(hyper.log_sf(t), mp.log(alive) if failed > 1e-3 else mp.log1p(-failed), 1e-13)
        close(hyper.log_cdf(t), mp.log(failed) if alive > 1e-3 else mp.log1p(-alive), 1e-13)
        first, second = (x / 50) ** mp.mpf(0.6), (x / 9000) ** 3
        failed = -mp.mpf(0.1) * mp.expm1(-first) - (1 - mp.mpf(0.1)) * mp.expm1(-second)
        alive = mp.mpf(0.1) * mp.exp(-first) + (1 - mp.mpf(0.1)) * mp.exp(-second)
        close(mixed.log_cdf(t), mp.log(failed) if alive > 1e-3 else mp.log1p(-alive), 1e-12)
        close(mixed.log_sf(t), mp.log(alive) if failed > 1e-3 else mp.log1p(-failed), 1e-12)
        failed = -mp.mpf(0.2) * mp.expm1(-((x / 50) ** mp.mpf(1.5)))
        close(some.log_cdf(t), mp.log(failed), 1e-13)
        close(some.log_sf(t), mp.log1p(-failed), 1e-13)
        alive = (1 - mp.mpf(0.3)) * mp.exp(-((x / 50) ** mp.mpf(1.5)))
        close(zeros.log_sf(t), mp.log(alive), 1e-13)
        close(zeros.log_cdf(t), mp.log1p(-alive), 1e-13)


@pytest.mark.parametrize("hazard", [1e-300, 1e-20, 1e-3, 0.4, 0.6, 5.0, 50.0, 800.0, 1e5])
def test_normal_quantile_of_a_hazard_of_any_size(hazard):
    """The tail beyond it is ``exp(-hazard)``, the rest ``1 - exp(-hazard)``."""
    z = mp.mpf(float(normal_quantile_of_hazard(hazard)))
    close(hazard, -mp.log(mp.erfc(z / mp.sqrt(2)) / 2))
    close(-np.expm1(-hazard), mp.erfc(-z / mp.sqrt(2)) / 2)


def test_logs_of_gamma_without_cancellation():
    assert float(excess_exponential(1e-9)) == pytest.approx(0.500000000167e-18, rel=1e-11)
    assert float(log_gamma_constant(1e30)) == pytest.approx(-0.918938533205, rel=1e-11)
    tails = log_gamma_tail([0.5, 1e12], [20.0, -1e-4], [True, False])
    assert tails.round(4).tolist() == [-242582607.9307, -5005.3575]
