"""Statistics and p-values of goodness of fit, against SciPy and by simulation."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, stats

import relfit as rf
from relfit.fitting import goodness_of_fit
from relfit.fitting.goodness import chi_square_of_hazards, distances_of_hazards, kolmogorov_p, null_tables, tabulated_p
from relfit.log.lifedata import LifeData
from tests.fitting.reference import DISTRIBUTIONS


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 37, 140, 141, 20_000])
def test_the_textbook_distribution_is_scipys(n):
    d = np.clip(np.linspace(0.2, 3.6, 40) / np.sqrt(n), 0.0, 1.0)
    np.testing.assert_allclose(kolmogorov_p(d, np.full(d.size, n)), stats.kstwo.sf(d, n), atol=1e-8)


def test_no_statistic_no_p_value():
    assert np.isnan(kolmogorov_p([np.nan, 0.1], [5, 0])).all()


@pytest.mark.parametrize("family", list(DISTRIBUTIONS))
def test_distance_on_complete_durations_is_scipys(family):
    sample = np.round(np.random.default_rng(4).weibull(0.8, (20, 30)) * 100, 0) + 1.0  # with ties
    result = rf.fit(sample)[family]
    for row in range(20):
        frozen = DISTRIBUTIONS[family](result.parameter_array[row])
        expected = stats.kstest(sample[row], frozen.cdf)
        assert result.ks[row] == pytest.approx(expected.statistic, abs=1e-9)
        assert result.ks_p_textbook[row] == pytest.approx(expected.pvalue, abs=1e-6)
        assert result.tests.statistic[row, 1] == pytest.approx(
            stats.cramervonmises(sample[row], frozen.cdf).statistic, abs=1e-9
        )


@pytest.mark.slow
@pytest.mark.long
def test_anderson_darling_by_its_sum():
    u = np.sort(np.random.default_rng(1).random(17))
    i = np.arange(1, 18)
    expected = -17 - np.mean((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1])))
    found = distances_of_hazards(-np.log1p(-u), np.ones(17, bool), None, np.array([0, 17]), np.array([True]))
    assert found[0, 2] == pytest.approx(expected, rel=1e-12)


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(3)
    hazards, seen, weights = rng.exponential(1.0, 12), rng.random(12) < 0.6, rng.integers(0, 4, 12)
    one = distances_of_hazards(hazards, seen, weights, np.array([0, 12]), np.array([True]))
    rows = np.repeat(np.arange(12), weights)
    other = distances_of_hazards(hazards[rows], seen[rows], None, np.array([0, rows.size]), np.array([True]))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_distance_on_censored_durations_is_to_kaplan_meier():
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
    assert result.largest_distance[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_textbook_p_values_are_uniform_for_known_parameters_only():
    """With fitted parameters they crowd near one: the reason for their name (0.01 % at 5 %)."""
    sample = rf.families.Weibull(0.8, 100.0).sample((4000, 50), rng=9)
    p = rf.fit(sample, "weibull")["weibull"].ks_p_textbook
    assert (p < 0.05).mean() < 0.002
    exact = [stats.kstest(row, DISTRIBUTIONS["weibull"]((0.8, 100.0)).cdf).statistic for row in sample[:400]]
    assert stats.kstest(kolmogorov_p(exact, np.full(400, 50)), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("family", ["exponential", "weibull", "lognormal", "gamma"])
@pytest.mark.parametrize("test", ["ks", "cvm", "ad"])
def test_tabulated_p_values_of_a_batch_are_those_of_each_alone(family, test):
    sizes, shapes = np.array([12, 5, 300, 12, 47, 5, 300, 5000]), np.geomspace(0.3, 5.0, 8)
    statistic = np.array([0.05, 0.2, 0.04, 0.1, 0.08, 0.3, 0.05, 0.01]) * (1.0 if test == "ks" else 8.0)
    together = tabulated_p(family, test, statistic, sizes, shapes)
    alone = [tabulated_p(family, test, d, n, a)[0] for d, n, a in zip(statistic, sizes, shapes, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert np.unique(together).size > 4


@pytest.mark.parametrize(("family", "parameters"), [("exponential", 1), ("weibull", 2), ("gamma", 2), ("lognormal", 2)])
def test_as_many_lives_as_parameters_say_nothing_of_the_fit(family, parameters):
    p = tabulated_p(family, "ks", [0.6, 0.6], [parameters, parameters + 3], [1.0, 1.0])
    assert p[0] == 1.0
    assert p[1] < 0.2


@pytest.mark.slow
def test_chi_square_on_complete_durations_is_scipys():
    sample = np.random.default_rng(12).weibull(1.3, 200) * 70
    result = rf.fit(sample, "weibull")["weibull"]
    cells = int(2 * 200**0.4)
    edges = result.distribution[0].quantile(np.linspace(0, 1, cells + 1))
    counts = np.histogram(sample, np.append(edges[:-1], np.inf))[0]
    found = result.goodness(("chi2",), n_resamples=0)
    assert found.statistic[0, 0] == pytest.approx(stats.chisquare(counts, ddof=2).statistic, rel=1e-12)
    assert found.source[0, 0] == "not computed"


@pytest.mark.parametrize("censored", [False, True])
def test_chi_square_lies_between_its_two_limits(censored):
    """With fitted parameters between chi-square with and without the degrees that they use (Chernoff, Lehmann 1954)."""
    rng = np.random.default_rng(20)
    life = rf.families.Weibull(0.7, 100.0).sample((4000, 150), rng=rng)
    limit = rng.exponential(200.0, life.shape) if censored else np.full(life.shape, np.inf)
    fit = rf.fit(LifeData.from_array(np.minimum(life, limit), life <= limit), "weibull")["weibull"]
    statistic = fit.goodness(("chi2",), n_resamples=0).statistic[:, 0]
    cells = (2.0 * fit.lives.n_failures**0.4).astype(int) - (not censored)
    assert 0.045 < (stats.chi2.sf(statistic, cells - 2) < 0.05).mean() < 0.10
    assert (stats.chi2.sf(statistic, cells) < 0.05).mean() < 0.06


@pytest.mark.slow
def test_too_few_durations_for_cells():
    hazards = np.arange(1.0, 15.0) / 7.0
    assert np.isnan(chi_square_of_hazards(hazards, np.ones(14, bool), np.array([0, 14]), np.array([True]), 2)[0])


def test_groups_without_a_fit_or_without_lives_have_no_distance():
    hazards, seen = np.array([0.2, 0.5, 1.7]), np.ones(3, bool)
    found = distances_of_hazards(hazards, seen, None, np.array([0, 3, 3]), np.array([False, True]))
    assert np.isnan(found).all()
    assert np.isfinite(distances_of_hazards(hazards, seen, None, np.array([0, 3]), np.array([True]))[0, 0])


def test_quantiles_between_the_sizes_of_the_table_are_linear_in_the_root_of_one_over_n():
    tables = null_tables._tables()
    root = 1.0 / np.sqrt(tables.sizes)
    line = np.stack([1.0 + root, 3.0 - 2.0 * root], axis=1)
    for n in (int(tables.sizes[0]), int(tables.sizes[2]) + 1, int(0.6 * tables.sizes[-2] + 0.4 * tables.sizes[-1])):
        near = null_tables._at_size(line, tables, n)
        assert near == pytest.approx([1.0 + n**-0.5, 3.0 - 2.0 * n**-0.5], rel=1e-12)
    assert null_tables._at_size(line, tables, 10**9) == pytest.approx(line[-1])  # beyond the table its last size


def test_two_lives_have_the_p_value_that_simulation_gives():
    life = np.sort(np.random.default_rng(1).exponential(1.0, (200_000, 2)), axis=1)
    below = -np.expm1(-life / life.mean(axis=1, keepdims=True))
    distance = np.maximum(np.maximum(below[:, 0], 0.5 - below[:, 0]), np.maximum(below[:, 1] - 0.5, 1.0 - below[:, 1]))
    for seen in (0.45, 0.5, 0.55):
        assert tabulated_p("exponential", "ks", [seen], [2])[0] == pytest.approx((distance >= seen).mean(), abs=0.01)


@pytest.mark.parametrize("family", ["exponential", "weibull", "gamma", "lognormal"])
@pytest.mark.parametrize("test", null_tables.DISTANCES)
def test_tabulated_p_values_fall_from_one(family, test):
    value = np.geomspace(1e-6, {"ks": 0.6, "cvm": 1.5, "ad": 8.0}[test], 400)
    p = tabulated_p(family, test, value, np.full(400, 30), np.full(400, 1.7))
    assert p[0] == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(p) <= 1e-12).all()
    assert np.diff(p).min() > -0.08  # without a jump
    assert p[-1] < 1e-4
    far = p > 1e-9
    assert np.diff(np.log(p[far])).min() > -1.5  # nor in the far tail


@pytest.mark.parametrize("test", null_tables.DISTANCES)
def test_the_far_tail_goes_on_as_between_one_percent_and_a_twentieth_of_that(test):
    """The log of p falls in proportion to the statistic, that of Kolmogorov and Smirnov squared."""
    power = 2.0 if test == "ks" else 1.0

    def p(value):
        return tabulated_p("exponential", test, [value ** (1.0 / power)], [50])[0]

    levels = np.array([0.01, 0.0005])
    first, second = (optimize.brentq(lambda value, level=level: p(value) - level, 1e-3, 9.0) for level in levels)
    slope = np.log(0.0005 / 0.01) / (second - first)
    near, far = second + 0.5 * (second - first), second + 2.0 * (second - first)
    assert np.log(p(far) / p(near)) == pytest.approx(slope * (far - near), rel=1e-6)


def test_tabulated_p_values_of_gamma_shapes_meet_at_the_shapes_of_the_table():
    shape = np.exp(null_tables._tables().log_shapes[3])
    for test in null_tables.DISTANCES:
        near = tabulated_p("gamma", test, [0.12] * 3, [30] * 3, [shape * 0.99999, shape, shape * 1.00001])
        np.testing.assert_allclose(near, near[1], rtol=1e-4)


def test_the_script_of_the_null_tables_gives_published_points(root: Path) -> None:
    """Upper 5 % points for 20 exponential times with the mean estimated, Stephens (1974)."""
    spec = importlib.util.spec_from_file_location("make_null_tables", root / "data" / "make_null_tables.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    at = int(np.argmin(np.abs(script.TAILS - 0.05)))
    points = script.quantiles("exponential", 20, 20_000, 1.0, np.random.default_rng(1))[:, at]
    n = 20.0
    published = [
        1.094 / (np.sqrt(n) + 0.26 + 0.5 / np.sqrt(n)) + 0.2 / n,
        0.224 / (1.0 + 0.16 / n),
        1.321 / (1.0 + 0.6 / n),
    ]
    np.testing.assert_allclose(points, published, rtol=0.025)
    assert script.OUT.is_file()


@pytest.mark.parametrize(
    ("family", "plain", "most"), [("weibull", True, 50_251), ("weibull", False, 5_025), ("gompertz", True, 100)]
)
def test_the_bootstrap_runs_by_itself_up_to_a_number_of_durations(family, plain, most):
    """199 replicates: of 10 million durations by compiled kernels, 1 million without, 20,000 of further families."""

    def stages(size):
        lives = SimpleNamespace(plain=plain, n_lives=np.array([size, 7]))
        return goodness_of_fit._stages("auto", SimpleNamespace(name=family, lives=lives), np.array([True, False]))

    assert [times for times, _ in stages(most)] == [199, 1800]
    assert stages(most + 1) == []


def test_a_group_has_the_same_distances_alone_and_among_others() -> None:
    """Also where its longest duration lies so far out that the fitted reliability there is below 1e-16."""
    rng = np.random.default_rng(0)
    life = np.append(rng.gamma(0.56, 250.0, 300), 15_000.0)
    seen = np.append(np.ones(300, bool), False)
    alone = rf.fit(rf.LifeData.from_array(life, seen), "gamma")["gamma"]
    assert float(alone.distribution[0].sf(15_000.0)) < 1e-16
    five = rf.fit(rf.LifeData.from_array(np.tile(life, (5, 1)), np.tile(seen, (5, 1))), "gamma")["gamma"]
    expected = np.tile(alone.goodness(n_resamples=0).statistic, (5, 1))
    np.testing.assert_allclose(five.goodness(n_resamples=0).statistic, expected, rtol=1e-9)
