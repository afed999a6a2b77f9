"""Statistics and p-values of goodness of fit, against SciPy and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit.goodness import chi_square_p, kolmogorov_p
from relfit.lifedata import LifeData
from tests.fitting.reference import DISTRIBUTIONS


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 10, 37, 100, 140, 141, 500, 20_000])
def test_the_textbook_distribution_is_scipys(n):
    d = np.clip(np.linspace(0.2, 3.6, 80) / np.sqrt(n), 0.0, 1.0)
    np.testing.assert_allclose(kolmogorov_p(d, np.full(d.size, n)), stats.kstwo.sf(d, n), atol=5e-6)


def test_many_groups_of_one_size_are_interpolated_without_loss():
    d = np.random.default_rng(0).uniform(0.02, 0.5, 2000)
    np.testing.assert_allclose(kolmogorov_p(d, np.full(2000, 50)), stats.kstwo.sf(d, 50), atol=1e-6)


def test_no_statistic_no_p_value():
    assert np.isnan(kolmogorov_p([np.nan, 0.1], [5, 0])).all()


@pytest.mark.parametrize("family", list(DISTRIBUTIONS))
def test_distance_on_complete_lives_is_scipys(family):
    sample = np.round(np.random.default_rng(4).weibull(0.8, (20, 30)) * 100, 0) + 1.0  # with ties
    result = rf.fit(sample)[family]
    for row in range(20):
        frozen = DISTRIBUTIONS[family](result.parameter_array[row])
        expected = stats.kstest(sample[row], frozen.cdf)
        assert result.ks[row] == pytest.approx(expected.statistic, abs=1e-9)
        assert result.ks_p_textbook[row] == pytest.approx(expected.pvalue, abs=1e-6)


def test_distance_on_censored_lives_is_to_kaplan_meier():
    from lifelines import KaplanMeierFitter

    rng = np.random.default_rng(6)
    life, limit = rng.weibull(0.9, 60) * 100, rng.exponential(150, 60)
    t, d = np.minimum(life, limit), life <= limit
    result = rf.fit(LifeData.from_array(t, d), "weibull")["weibull"]
    curve = KaplanMeierFitter().fit(t, d).survival_function_["KM_estimate"]
    steps = curve.index.to_numpy()[1:]
    fitted = 1.0 - result.distribution[0].sf(steps)
    after, before = 1.0 - curve.to_numpy()[1:], 1.0 - curve.to_numpy()[:-1]
    expected = max(np.abs(fitted - after).max(), np.abs(fitted - before).max())
    assert result.ks[0] == pytest.approx(expected, abs=1e-12)


def test_textbook_p_values_are_uniform_for_known_parameters_only():
    """With fitted parameters they crowd near one: the reason for their name (statistics.md: 0.01 % at 5 %)."""
    sample = rf.families.Weibull(0.8, 100.0).sample((4000, 50), rng=9)
    p = rf.fit(sample.T.reshape(4000, 50) if sample.shape != (4000, 50) else sample, "weibull")["weibull"].ks_p_textbook
    assert (p < 0.05).mean() < 0.002
    exact = [stats.kstest(row, DISTRIBUTIONS["weibull"]((0.8, 100.0)).cdf).statistic for row in sample[:400]]
    assert stats.kstest(kolmogorov_p(exact, np.full(400, 50)), "uniform").pvalue > 1e-3


def test_chi_square_on_complete_lives_is_scipys():
    sample = np.random.default_rng(12).weibull(1.3, 200) * 70
    result = rf.fit(sample, "weibull")["weibull"]
    cells = int(result.chi_square.cells[0])
    edges = result.distribution[0].quantile(np.linspace(0, 1, cells + 1))
    counts = np.histogram(sample, np.append(edges[:-1], np.inf))[0]
    expected = stats.chisquare(counts, ddof=2)
    assert cells == int(2 * 200**0.4)
    assert result.chi_square.degrees[0] == cells - 3
    assert result.chi_square.statistic[0] == pytest.approx(expected.statistic, rel=1e-12)
    assert result.chi_square.p[0] == pytest.approx(expected.pvalue, rel=1e-12)


@pytest.mark.parametrize("censored", [False, True])
@pytest.mark.parametrize("family", list(DISTRIBUTIONS))
def test_chi_square_brackets_its_level(family, censored):
    rng = np.random.default_rng(20)
    parameters = {"exponential": [0.01], "weibull": [0.7, 100.0], "gamma": [0.7, 100.0], "lognormal": [4.0, 1.0]}[
        family
    ]
    life = rf.families.FAMILIES[family](*parameters).sample((4000, 150), rng=rng)
    limit = rng.exponential(200.0, life.shape) if censored else np.full(life.shape, np.inf)
    result = rf.fit(LifeData.from_array(np.minimum(life, limit), life <= limit), family)[family]
    assert (result.chi_square.cells >= 8).all()
    assert (result.chi_square.p < 0.05).mean() > 0.045
    assert (result.chi_square.p < 0.05).mean() < 0.10
    assert (result.chi_square.p_upper < 0.05).mean() < 0.06


def test_too_few_lives_for_cells():
    result = rf.fit(np.arange(1.0, 15.0), "weibull")["weibull"]
    assert result.chi_square.degrees[0] == 0
    assert np.isnan(result.chi_square.statistic[0])
    assert np.isnan(result.chi_square.p[0])
    assert np.isnan(chi_square_p(np.array([3.0]), np.array([0]))[0])
