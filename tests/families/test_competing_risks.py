"""Competing risks: a series of causes, and how often each is the one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from relfit.base.errors import ArgumentError
from relfit.fitting.families import CompetingRisks, Exponential, LimitedFailure, Lognormal, Weibull, ZeroInflated

CAUSES = {"infant": LimitedFailure(0.1, 0.6, 40.0), "wear": Weibull(3.0, 9000.0), "power": Exponential(1e-4)}
RISKS = CompetingRisks(CAUSES)
T = np.array([1e-6, 0.5, 20.0, 1e3, 8e3, 2e4])


def test_hazards_add_and_survivals_multiply():
    np.testing.assert_allclose(RISKS.sf(T), np.prod([c.sf(T) for c in CAUSES.values()], axis=0), rtol=1e-13)
    np.testing.assert_allclose(RISKS.hazard(T), sum(c.hazard(T) for c in CAUSES.values()), rtol=1e-12)
    np.testing.assert_allclose(RISKS.pdf(T), RISKS.hazard(T) * RISKS.sf(T), rtol=1e-13)
    np.testing.assert_allclose(RISKS.cdf(T), np.exp(RISKS.log_cdf(T)), rtol=1e-12)
    assert RISKS.log_cdf(1e-250) == pytest.approx(CAUSES["infant"].log_cdf(1e-250), rel=1e-12)
    np.testing.assert_allclose(RISKS.cdf(RISKS.quantile([1e-9, 0.3, 0.999])), [1e-9, 0.3, 0.999], rtol=1e-9)


def test_two_weibulls_of_one_shape_are_a_weibull():
    risks = CompetingRisks([Weibull(1.7, 100.0), Weibull(1.7, 300.0)])
    share = 100.0**-1.7 / (100.0**-1.7 + 300.0**-1.7)
    whole = Weibull(1.7, (100.0**-1.7 + 300.0**-1.7) ** (-1 / 1.7))
    np.testing.assert_allclose(risks.quantile([1e-8, 0.5, 0.99]), whole.quantile([1e-8, 0.5, 0.99]), rtol=1e-10)
    assert risks.mean() == pytest.approx(whole.mean(), rel=1e-8)
    t = np.array([1e-5, 1.0, 60.0, 200.0, 1e4, np.inf])
    np.testing.assert_allclose(risks.cumulative_incidence(0, t), share * whole.cdf(t), rtol=1e-12)
    np.testing.assert_allclose(risks.cumulative_incidence("cause_2", t), (1 - share) * whole.cdf(t), rtol=1e-12)


def test_incidences_add_up_and_agree_with_quadrature():
    total = sum(RISKS.cumulative_incidence(name, T) for name in CAUSES)
    np.testing.assert_allclose(total, RISKS.cdf(T), rtol=1e-10)
    for name, cause in CAUSES.items():
        for t in (20.0, 8e3):
            value, _ = integrate.quad(
                lambda v, cause=cause: np.exp(v) * float(cause.hazard(np.exp(v)) * RISKS.sf(np.exp(v))),
                np.log(t) - 60.0,
                np.log(t),
                limit=500,
                epsabs=0.0,
            )
            assert RISKS.cumulative_incidence(name, t) == pytest.approx(value, rel=1e-6), (name, t)


def test_incidences_against_simulated_lives():
    risks = CompetingRisks({"repair": Lognormal(4.0, 0.8), "crash": Weibull(0.7, 90.0)})
    lives = np.stack([cause.sample(20000, rng=i) for i, cause in enumerate(risks.causes.values())])
    first, which = lives.min(axis=0), lives.argmin(axis=0)
    for i, name in enumerate(risks.causes):
        for t in (10.0, 60.0, np.inf):
            share = ((which == i) & (first <= t)).mean()
            assert risks.cumulative_incidence(name, t) == pytest.approx(share, abs=0.012)
    assert stats.kstest(risks.sample(4000, rng=3), risks.cdf).pvalue > 1e-3
    assert risks.mean() == pytest.approx(first.mean(), rel=0.03)


def test_batches():
    risks = CompetingRisks([Weibull([0.5, 2.0], 100.0), Exponential(0.01)])
    assert risks.batch_shape == (2,)
    assert risks.sf(np.array([[1.0], [2.0], [3.0]])).shape == (3, 2)
    one = risks[1]
    assert one.cumulative_incidence(0, 50.0) == pytest.approx(risks.cumulative_incidence(0, 50.0)[1])
    assert one.to_dict()["causes"]["cause_1"] == {"family": "weibull", "shape": 2.0, "scale": 100.0}
    assert "cause_2=Exponential(rate=0.01)" in repr(one)
    assert CompetingRisks({"both": risks, "more": Exponential(1.0)})[0].batch_shape == ()
    assert np.isnan(CompetingRisks([Weibull([np.nan, 1.0], 5.0)]).cumulative_incidence(0, 2.0)).tolist() == [
        True,
        False,
    ]


def test_what_cannot_compete():
    with pytest.raises(ArgumentError, match="no cause"):
        CompetingRisks([])
    with pytest.raises(ArgumentError, match="cause 'disk' is not a distribution but float"):
        CompetingRisks({"disk": 3.0})
    with pytest.raises(ArgumentError, match="durations of zero"):
        CompetingRisks([ZeroInflated(0.1, 1.0, 1.0)])
    with pytest.raises(ArgumentError, match=r"do not fit together: cause_1 \(2,\), cause_2 \(3,\)"):
        CompetingRisks([Exponential([1.0, 2.0]), Exponential([1.0, 2.0, 3.0])])
    for cause in ("disc", 3, -1):
        with pytest.raises(ArgumentError, match="the causes are infant, wear, power"):
            RISKS.cumulative_incidence(cause, 1.0)
